#!/usr/bin/env python3
"""Draws the primitives' throughput against size, as PNG or SVG, from a report of bench_primitives.

    plot_primitives.py REPORT.json FILE...      reads a report of bench_primitives, or a GPU record that contains
                                                one, and draws each FILE.png or FILE.svg

figures.py draws the pictures in docs/primitives.md from the newest records. Needs only Python: PNG files take
their letters from libcore/src/picture/canvas_font.inc, and smooth lines from each pixel's distance to the line.
Our own curves are solid, those of the peers dashed.
"""
import json
import math
import os
import pathlib
import re
import struct
import sys
import zlib
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTH, HEIGHT = 1640, 1000
LEFT, RIGHT, TOP, BOTTOM = 130, 1120, 110, 880  # the axes' box
DARK, GREY, WHITE = (64, 64, 64), (216, 216, 216), (255, 255, 255)
# Okabe and Ito's colours, which all kinds of colour vision can distinguish.
COLORS = [(0, 114, 178), (86, 180, 233), (213, 94, 0), (230, 159, 0), (0, 158, 115), (204, 121, 167), (0, 0, 0), (150, 130, 0)]
PEER_OF = {"cudaMemcpyAsync": "copy", "cudaMemsetAsync": "fill", "cub::DeviceReduce::Sum": "sum",
           "cub::DeviceScan::InclusiveSum": "inclusive scan", "cub::DeviceHistogram::HistogramEven": "histogram of bytes",
           "cub::DeviceRadixSort::SortPairs": "sort of pairs"}


# ---- drawing: the same calls for both kinds of file ----

class Svg:
    def __init__(self):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                      f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="DejaVu Sans, sans-serif">',
                      f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']

    def line(self, points, color, width, dashed=False):
        coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="12 8"' if dashed else ""
        self.parts.append(f'<polyline points="{coordinates}" fill="none" stroke="#{bytes(color).hex()}" stroke-width="{width}" '
                          f'stroke-linecap="round" stroke-linejoin="round"{dash}/>')

    def text(self, x, y, text, align="left", large=False, upwards=False):
        anchor = {"left": "start", "center": "middle", "right": "end"}[align]
        turn = f' transform="rotate(-90 {x} {y})"' if upwards else ""
        self.parts.append(f'<text x="{x}" y="{y}" font-size="{36 if large else 26}" fill="#{bytes(DARK).hex()}" '
                          f'text-anchor="{anchor}"{turn}>{escape(text)}</text>')

    def encode(self):
        return ("\n".join(self.parts) + "\n</svg>\n").encode()


def read_fonts():
    """{"small": {character: (advance, left, top, width, rows of coverage 0-15)}, ...}: see make_canvas_font.py."""
    alphabet = [chr(c) for c in range(ord("#"), ord("~") + 1) if chr(c) not in "?\\"]
    fonts, source = {}, (ROOT / "libcore" / "src" / "picture" / "canvas_font.inc").read_text()
    for name, table in re.findall(r"static const glyph (\w+)_glyphs\[\] = \{(.*?)\n\};", source, re.DOTALL):
        fonts[name] = {}
        for head, strings in re.findall(r"\{(0x[^\"]*?),\s*((?:\"[^\"]*\"\s*)+)\}", table):
            code, advance, left, top, width, height = (int(field, 0) for field in head.split(","))
            levels = []
            for run in re.sub(r"[\"\s]", "", strings):
                number = alphabet.index(run)
                levels += [0] * (number + 1) if number < 38 else [15] * (number - 37) if number < 76 else [number - 75]
            if len(levels) != width * height:
                sys.exit(f"canvas_font.inc: glyph {code:#x} has {len(levels)} pixels, not {width} x {height}")
            fonts[name][chr(code)] = (advance, left, top, width, levels)
    return fonts


class Png:
    def __init__(self):
        self.pixels = bytearray(WHITE * (WIDTH * HEIGHT))
        self.fonts = read_fonts()

    def blend(self, x, y, color, share):
        if 0 <= x < WIDTH and 0 <= y < HEIGHT and share > 0:
            at = 3 * (y * WIDTH + x)
            for i in range(3):
                self.pixels[at + i] = round(self.pixels[at + i] + min(share, 1) * (color[i] - self.pixels[at + i]))

    def line(self, points, color, width, dashed=False):
        covered, half = {}, width / 2
        for (x0, y0), (x1, y1) in dashes(points) if dashed else zip(points, points[1:]):
            length = (x1 - x0) ** 2 + (y1 - y0) ** 2
            for y in range(math.floor(min(y0, y1) - half - 1), math.ceil(max(y0, y1) + half + 1)):
                for x in range(math.floor(min(x0, x1) - half - 1), math.ceil(max(x0, x1) + half + 1)):
                    along = ((x + 0.5 - x0) * (x1 - x0) + (y + 0.5 - y0) * (y1 - y0)) / length if length else 0
                    along = min(max(along, 0), 1)
                    share = half + 0.5 - math.hypot(x + 0.5 - x0 - along * (x1 - x0), y + 0.5 - y0 - along * (y1 - y0))
                    if share > covered.get((x, y), 0):
                        covered[x, y] = share
        for (x, y), share in covered.items():
            self.blend(x, y, color, share)

    def text(self, x, y, text, align="left", large=False, upwards=False):
        font = self.fonts["large" if large else "small"]
        glyphs = [font.get(character, font["?"]) for character in text]
        at = -{"left": 0, "center": 0.5, "right": 1}[align] * sum(glyph[0] for glyph in glyphs)
        at = round(at)
        for advance, left, top, width, levels in glyphs:
            for i, level in enumerate(levels):
                across, down = at + left + i % width, i // width - top
                self.blend(*((round(x) + down, round(y) - across - 1) if upwards else (round(x) + across, round(y) + down)), DARK,
                           level / 15)
            at += advance

    def encode(self):
        def chunk(name, data):
            return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        rows = b"".join(b"\0" + self.pixels[3 * WIDTH * y:3 * WIDTH * (y + 1)] for y in range(HEIGHT))
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def dashes(points, on=12, off=8):
    """The visible pieces of a dashed line: `on` pixels, with gaps in between, around corners."""
    at = 0.0
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        length = math.hypot(x1 - x0, y1 - y0)
        period, begin = on + off, 0.0
        while begin < length:
            phase = (at + begin) % period
            end = min(length, begin + (on if phase < on else period) - phase)
            if phase < on and length:
                yield ((x0 + (x1 - x0) * begin / length, y0 + (y1 - y0) * begin / length),
                       (x0 + (x1 - x0) * end / length, y0 + (y1 - y0) * end / length))
            begin = max(end, begin + 1e-6)
        at += length


# ---- the plot ----

class LogAxes:
    """Logarithmic axes: sizes from the first to the last, and values over whole decades."""

    def __init__(self, sizes, values):
        self.sizes = sizes
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)

    def x(self, size):
        low, high = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return LEFT + (math.log2(size) - low) / max(high - low, 1) * (RIGHT - LEFT)

    def y(self, value):
        return BOTTOM - (math.log10(value) - self.low) / (self.high - self.low) * (BOTTOM - TOP)


class Axes(LogAxes):
    """Axis labels: elements, and bytes per second as GB/s."""

    def __init__(self, report):
        rates = [rate for curve in report["bytes_per_second"].values() for rate in curve if rate]
        super().__init__(report["elements"], [rate * 1e-9 for rate in rates + [report["copy_bytes_per_second"]]])

    def y(self, rate):
        return super().y(rate * 1e-9)


def amount(elements):
    for scale, unit in ((1 << 20, " Mi"), (1 << 10, " Ki")):
        if elements >= scale:
            return f"{elements // scale}{unit}"
    return str(elements)


def draw_axes(canvas, axes, labels, across, upwards):
    """`labels`: {size: text}."""
    for decade in range(axes.low, axes.high + 1):
        y = LogAxes.y(axes, 10.0 ** decade)
        canvas.line([(LEFT, y), (RIGHT, y)], GREY, 1)
        canvas.text(LEFT - 14, round(y) + 9, f"{10 ** decade:,}" if decade >= 0 else f"{10.0 ** decade:g}", "right")
    for size, text in labels.items():
        x = axes.x(size)
        canvas.line([(x, TOP), (x, BOTTOM)], GREY, 1)
        canvas.text(round(x), BOTTOM + 38, text, "center")
    canvas.line([(LEFT, TOP), (RIGHT, TOP), (RIGHT, BOTTOM), (LEFT, BOTTOM), (LEFT, TOP)], DARK, 2)
    canvas.text((LEFT + RIGHT) // 2, BOTTOM + 88, across, "center")
    canvas.text(34, (TOP + BOTTOM) // 2, upwards, "center", upwards=True)


def draw_curve(canvas, points, color, width, dashed, key, name):
    """A curve, and its label at height `key`."""
    canvas.line(points, color, width, dashed=dashed)
    canvas.line([(RIGHT + 24, key), (RIGHT + 74, key)], color, width, dashed=dashed)
    canvas.text(RIGHT + 88, key + 9, name)


def draw(report, canvas):
    axes, curves = Axes(report), report["bytes_per_second"]
    own = [name for name in curves if name not in PEER_OF]
    if len(own) > len(COLORS):
        sys.exit(f"plot_primitives.py: {len(own)} curves, and {len(COLORS)} colours")
    color = dict(zip(own, COLORS))
    canvas.text(LEFT, 60, f"Primitives on {report['device']}", large=True)
    draw_axes(canvas, axes, {size: amount(size) for size in axes.sizes[::2]}, "elements", "GB/s, read and written")
    ceiling = axes.y(report["copy_bytes_per_second"])
    canvas.line([(LEFT, ceiling), (RIGHT, ceiling)], DARK, 1.5, dashed=True)
    key = TOP + 12
    for name in sorted(curves, key=lambda name: (own.index(PEER_OF.get(name, name)), name in PEER_OF)):
        peer = name in PEER_OF
        points = [(axes.x(size), axes.y(rate)) for size, rate in zip(axes.sizes, curves[name]) if rate]
        draw_curve(canvas, points, color[PEER_OF.get(name, name)], 3 if peer else 4, peer, key,
                   name.replace("inclusive scan, three kernels", "scan, three kernels"))
        key += 44
    canvas.line([(RIGHT + 24, key), (RIGHT + 74, key)], DARK, 1.5, dashed=True)
    canvas.text(RIGHT + 88, key + 9, "largest copy by the device" if report["copy_by"] in PEER_OF else "largest streaming copy")
    return canvas


def canvas_for(path):
    return {".png": Png, ".svg": Svg}[path.suffix]()


def write(canvas, path):
    data = canvas.encode()
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)
    print(path)


def report_of(path):
    report = json.loads(path.read_text())
    return report.get("benchmarks", {}).get("bench_primitives") if "benchmarks" in report else report


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    report = report_of(pathlib.Path(sys.argv[1]))
    if not report or "bytes_per_second" not in report:
        sys.exit(f"{sys.argv[1]}: contains no report of bench_primitives")
    for name in sys.argv[2:]:
        if pathlib.Path(name).suffix not in (".png", ".svg"):
            sys.exit(f"{name}: unknown file extension; use .png or .svg")
        write(draw(report, canvas_for(pathlib.Path(name))), pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
