#!/usr/bin/env python3
"""Prints debian/changelog, made from CMakeLists.txt (the version) and CHANGELOG.md (what changed).

usage: make_changelog.py [SOURCE]

A section "## 0.1.0, not released yet" gives the version 0.1.0~20261129.170400: newer than that of any earlier commit, older than
0.1.0. The time is SOURCE_DATE_EPOCH, or that of the last commit, or that of CHANGELOG.md. "## 0.1.0, 2026-12-24" gives 0.1.0.
DEBFULLNAME and DEBEMAIL name who made the packages.
"""
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time


def time_of(source):
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    commit = subprocess.run(["git", "-C", source, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(commit.stdout) if commit.returncode == 0 else int((source / "CHANGELOG.md").stat().st_mtime)


def sections(text):
    """Of each section of CHANGELOG.md: its version, the day of its release (None: not yet), and its items as plain text."""
    for title, body in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        found = re.fullmatch(r"(\d+\.\d+\.\d+), (?:(\d{4}-\d{2}-\d{2})|not released yet)", title)
        if not found:
            sys.exit(f"CHANGELOG.md: '## {title}': expected a version, and a date or 'not released yet'")
        items = [" ".join(item.split()) for item in re.findall(r"^- (.*?)(?=^- |\n\n|\Z)", body, re.MULTILINE | re.DOTALL)]
        if not items:
            sys.exit(f"CHANGELOG.md: the section {found[1]} has no items")
        yield found[1], found[2], [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", item).replace("`", "") for item in items]


def main():
    source = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    version = re.search(r"^project\(voxfield VERSION (\S+)", (source / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]
    all_sections = list(sections((source / "CHANGELOG.md").read_text(encoding="utf-8")))
    if all_sections[0][0] != version:
        sys.exit(f"CMakeLists.txt has version {version}, and CHANGELOG.md begins with {all_sections[0][0]}")
    who = f"{os.environ.get('DEBFULLNAME', 'The Voxfield developers')} <{os.environ.get('DEBEMAIL', 'developers@voxfield.invalid')}>"
    now = time_of(source)
    for n, (number, day, items) in enumerate(all_sections):
        when = time.gmtime(now) if not day else time.strptime(day + " 12", "%Y-%m-%d %H")
        if not day:
            if n > 0:
                sys.exit(f"CHANGELOG.md: {number} is not released, but comes before {all_sections[0][0]}")
            number += time.strftime("~%Y%m%d.%H%M%S", when)
        print(f"voxfield ({number}) unstable; urgency=medium\n")
        for item in items:
            print(textwrap.fill(item, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))
        print(f"\n -- {who}  {time.strftime('%a, %d %b %Y %H:%M:%S +0000', when)}\n")


main()
