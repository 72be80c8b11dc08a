#!/usr/bin/env python3
"""Writes the options of a program into its manual page, from the program's own table (PROGRAM --help=man).

usage: update_options.py PROGRAM PAGE [--check]     --check: change nothing; exit status 1 if the page is out of date
"""
import pathlib
import re
import subprocess
import sys

BEGIN = '.\\" Options of the program; docs/man/update_options.py writes them.\n'
END = '.\\" End of the options.\n'


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--check"]):
        sys.exit(__doc__)
    program, page = sys.argv[1], pathlib.Path(sys.argv[2])
    options = subprocess.run([program, "--help=man"], stdout=subprocess.PIPE, check=True, text=True).stdout
    old = page.read_text(encoding="utf-8")
    place = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    new, places = place.subn(lambda _: BEGIN + options + END, old)
    if places != 1:
        sys.exit(f"{page}: expected one place for the options, between the lines\n{BEGIN}{END}")
    if sys.argv[3:]:
        if new != old:
            sys.exit(f"{page}: its options differ from those of the program; run\n  {sys.argv[0]} {program} {page}")
    elif new != old:
        page.write_text(new, encoding="utf-8")


main()
