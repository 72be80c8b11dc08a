#!/usr/bin/env python3
"""Makes canvas_font.inc: the glyphs that canvas.c draws text with, out of a TrueType font.

    python3 make_canvas_font.py DejaVuSans.ttf > canvas_font.inc

Needs Pillow. The sizes are pixels per em; 16 levels of coverage are kept. A glyph's pixels are run-length coded,
row by row, one printable character a run (all of ASCII from '#' to '~' but '?' and the backslash, 90 characters,
numbered from 0): 0-37 is a run of 1-38 empty pixels, 38-75 a run of 1-38 full ones, 76-89 one pixel of level 1-14
of 15. Runs cross rows.
"""
import sys

from PIL import ImageFont, __version__ as pillow_version

SIZES = (("small", 26), ("large", 36))
TEXT = [chr(c) for c in range(0x20, 0x7F)] + list("°±²³µ·") + [chr(c) for c in range(0xC0, 0x100)] + list("…−")
ALPHABET = [chr(c) for c in range(ord("#"), ord("~") + 1) if chr(c) not in "?\\"]
LONGEST, LEVELS = 38, 15
NOTICE = """\
 * DejaVu Sans is derived from Bitstream Vera; the changes that DejaVu made are in the public domain.
 *
 * Copyright (c) 2003 by Bitstream, Inc. All Rights Reserved. Bitstream Vera is a trademark of Bitstream, Inc.
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of the fonts accompanying this
 * license ("Fonts") and associated documentation files (the "Font Software"), to reproduce and distribute the Font
 * Software, including without limitation the rights to use, copy, merge, publish, distribute, and/or sell copies of
 * the Font Software, and to permit persons to whom the Font Software is furnished to do so, subject to the following
 * conditions:
 *
 * The above copyright and trademark notices and this permission notice shall be included in all copies of one or
 * more of the Font Software typefaces. The Font Software may be modified, altered, or added to, and in particular
 * the designs of glyphs or characters in the Fonts may be modified and additional glyphs or characters may be added
 * to the Fonts, only if the fonts are renamed to names not containing either the words "Bitstream" or the word
 * "Vera". This License becomes null and void to the extent applicable to Fonts or Font Software that has been
 * modified and is distributed under the "Bitstream Vera" names. The Font Software may be sold as part of a larger
 * software package but no copy of one or more of the Font Software typefaces may be sold by itself.
 *
 * THE FONT SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED
 * TO ANY WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT OF COPYRIGHT, PATENT,
 * TRADEMARK, OR OTHER RIGHT. IN NO EVENT SHALL BITSTREAM OR THE GNOME FOUNDATION BE LIABLE FOR ANY CLAIM, DAMAGES OR
 * OTHER LIABILITY, INCLUDING ANY GENERAL, SPECIAL, INDIRECT, INCIDENTAL, OR CONSEQUENTIAL DAMAGES, WHETHER IN AN
 * ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF THE USE OR INABILITY TO USE THE FONT SOFTWARE OR FROM
 * OTHER DEALINGS IN THE FONT SOFTWARE.
 *
 * Except as contained in this notice, the names of Gnome, the Gnome Foundation, and Bitstream Inc., shall not be
 * used in advertising or otherwise to promote the sale, use or other dealings in this Font Software without prior
 * written authorization from the Gnome Foundation or Bitstream Inc., respectively."""


def encode(pixels):
    """The run-length code of a list of coverages 0-255."""
    levels = [(p * LEVELS + 127) // 255 for p in pixels]
    code, i = "", 0
    while i < len(levels):
        level, run = levels[i], 1
        if level in (0, LEVELS):
            while i + run < len(levels) and levels[i + run] == level and run < LONGEST:
                run += 1
            code += ALPHABET[(0 if level == 0 else LONGEST) + run - 1]
        else:
            code += ALPHABET[2 * LONGEST + level - 1]
        i += run
    return code


def trim(rows):
    """Cuts empty rows and columns off: the left and top cut, and what is left."""
    used = [y for y, row in enumerate(rows) if any(row)]
    if not used:
        return 0, 0, []
    rows = rows[used[0]:used[-1] + 1]
    columns = [x for x in range(len(rows[0])) if any(row[x] for row in rows)]
    return columns[0], used[0], [row[columns[0]:columns[-1] + 1] for row in rows]


def glyph(font, character):
    """One line of the table: code point, advance, left, top above the baseline, width, height, code."""
    mask, (left, top) = font.getmask2(character, mode="L", anchor="ls")
    width, height = mask.size
    cut_left, cut_top, rows = trim([[mask[y * width + x] for x in range(width)] for y in range(height)])
    left, top = (left + cut_left, -(top + cut_top)) if rows else (0, 0)
    code = encode([p for row in rows for p in row])
    lines = [code[i:i + 108] for i in range(0, len(code), 108)] or [""]
    head = f"    {{0x{ord(character):04x}, {round(font.getlength(character))}, {left}, {top}, "
    head += f"{len(rows[0]) if rows else 0}, {len(rows)},"
    return head + "\n" + "\n".join(f'     "{line}"' for line in lines) + "},"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_canvas_font.py FONT.ttf > canvas_font.inc")
    name = ImageFont.truetype(sys.argv[1], 10).getname()
    print(f"""/* Generated by make_canvas_font.py from {' '.join(name)} (Pillow {pillow_version}): do not edit.
 *
{NOTICE} */
/* clang-format off */""")
    for label, size in SIZES:
        font = ImageFont.truetype(sys.argv[1], size, layout_engine=ImageFont.Layout.BASIC)
        ascent, descent = font.getmetrics()
        capital = -font.getbbox("H", anchor="ls")[1]
        print(f"static const glyph {label}_glyphs[] = {{")
        print("\n".join(glyph(font, c) for c in TEXT))
        print("};")
        print(f"enum {{ {label.upper()}_ASCENT = {ascent}, {label.upper()}_DESCENT = {descent}, "
              f"{label.upper()}_CAPITAL = {capital} }};")
    print("/* clang-format on */")


main()
