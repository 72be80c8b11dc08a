#!/usr/bin/env python3
"""Has another compiler read all C files of a build, with the build's own flags: its warnings are errors, nothing is compiled.

usage: compiler_warnings.py BUILD_FOLDER COMPILER [FLAG...]

BUILD_FOLDER has compile_commands.json (CMAKE_EXPORT_COMPILE_COMMANDS). Exit status 1 if the compiler has something to say.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def read(entry, compiler, flags):
    """What the compiler says of one file."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    at = words.index("-o")
    # What the compiler of the build has and others lack.
    kept = [word for word in [*words[1:at], *words[at + 2:]] if not word.startswith(("-fsanitize", "-fno-sanitize"))]
    command = [compiler, *kept, "-fsyntax-only", "-Werror", *flags]
    done = subprocess.run(command, cwd=entry["directory"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode or "warning:" in done.stderr else ""


def main(folder, compiler, *flags):
    entries = json.loads(pathlib.Path(folder, "compile_commands.json").read_text(encoding="utf-8"))
    entries = list({entry["file"]: entry for entry in entries if entry["file"].endswith(".c")}.values())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(filter(None, pool.map(lambda entry: read(entry, compiler, flags), entries)))
    print("".join(said), end="")
    print(f"{compiler}: {len(entries)} files, {len(said)} with warnings")
    return 1 if said or not entries else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
