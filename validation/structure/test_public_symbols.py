#!/usr/bin/env python3
"""The shared library exports exactly what the public headers declare.

    test_public_symbols.py NM LIBRARY HEADER...
"""
import pathlib
import re
import subprocess
import sys


def declared(text):
    """The functions that a header declares, except those that it also defines."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.MULTILINE)
    text = re.sub(r'extern "C" \{|VF_API_BEGIN|VF_API_END', " ", text)
    inline = r"static inline[^{;]*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
    text = re.sub(inline, " ", text)
    text = re.sub(r"\{(?:[^{}]|\{[^{}]*\})*\}", " ", text)  # the members of structures and enumerations
    found = set()
    for statement in text.split(";"):
        match = re.search(r"\(?\b(vf_\w+)\)?\s*\(", re.sub(r"\bvf_status(?=\()", "vf_status ", statement))
        if match and "typedef" not in statement:
            name = match.group(1)
            found.add(re.search(r"\((vf_\w+)\)", statement).group(1) if name == "vf_status" else name)
    return found


def main():
    nm, library, *headers = sys.argv[1:]
    names = set().union(*(declared(pathlib.Path(header).read_text()) for header in headers))
    listing = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    shown = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
    for name in sorted(shown - names):
        print(f"FAIL: {name} is exported, but no public header declares it")
    for name in sorted(names - shown):
        print(f"FAIL: {name} is declared in a public header, but not exported")
    print(f"{len(headers)} headers, {len(names)} functions, {len(shown)} visible symbols")
    return 0 if names and names == shown else 1


if __name__ == "__main__":
    sys.exit(main())
