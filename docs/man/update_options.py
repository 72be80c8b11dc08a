#!/usr/bin/env python3
"""Writes the options of a program into its manual page, from the program's own table (PROGRAM --help=man).

usage: update_options.py PROGRAM PAGE [--check]

--check: change nothing; exit status 1 if the page is out of date, or if its SYNOPSIS has other calls than the usage in --help
"""
import pathlib
import re
import subprocess
import sys

BEGIN = '.\\" Options of the program; docs/man/update_options.py writes them.\n'
END = '.\\" End of the options.\n'


def check_synopsis(program, page, text):
    """The options that calls have in --help and in the page, call by call."""
    said = subprocess.run([program, "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
    usage = said[said.index("usage: "):].split("\n\n", 1)[0].splitlines()
    synopsis = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh ", text, re.DOTALL | re.MULTILINE)[1].split(".Nm\n")[1:]
    calls = [re.findall(r" (-[-a-z]*)", line) for line in usage]
    stated = [["-" + option for option in re.findall(r"^\.Fl ?([-a-z]*)", call, re.MULTILINE)] for call in synopsis]
    if calls != stated:
        sys.exit(f"{page}: SYNOPSIS has calls with the options {stated}, but --help has {calls}")


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
        check_synopsis(program, page, old)
        if new != old:
            sys.exit(f"{page}: its options differ from those of the program; run\n  {sys.argv[0]} {program} {page}")
    elif new != old:
        page.write_text(new, encoding="utf-8")


main()
