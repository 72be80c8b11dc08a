#!/usr/bin/env python3
"""Makes the GPU code of a build again, for generations of GPUs that the build leaves out: warnings are errors, nothing is kept.

usage: device_code.py BUILD_FOLDER GENERATION...     for example: device_code.py build/release 75 90

A file that the build has compiled becomes machine code for each GENERATION, without its host code, which the build has made.
What the build left out, because only a machine with a GPU runs it, is compiled with its host code, to PTX for the first
GENERATION. Exit status 1 if the compiler or the assembler has something to say.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def command(entry, generations):
    """What makes one file's code, and whether that includes host code."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    at = words.index("-o")
    is_built = pathlib.Path(entry["directory"], words[at + 1]).exists()
    kept = [word for word in [*words[:at], *words[at + 2:]] if word != "-c" and not word.startswith("--generate-code")]
    kept += ["-Werror=all-warnings", "-Xcompiler=-Werror"]
    if "-Xcicc" not in kept:  # little optimisation, as where the code is only a test
        kept += ["-Xcicc", "-O1", "-Xptxas", "-O1"]
    if is_built:
        return [*kept, "-fatbin", *(f"--generate-code=arch=compute_{n},code=[sm_{n}]" for n in generations)], False
    return [*kept, "-c", f"--generate-code=arch=compute_{generations[0]},code=[compute_{generations[0]}]"], True


def make(entry, generations):
    """What the compiler says of one file."""
    words, _ = command(entry, generations)
    done = subprocess.run([*words, "-o", "/dev/null"], cwd=entry["directory"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    return done.stdout + done.stderr if done.returncode or "warning" in done.stderr else ""


def main(folder, *generations):
    entries = json.loads(pathlib.Path(folder, "compile_commands.json").read_text(encoding="utf-8"))
    entries = list({entry["file"]: entry for entry in entries if entry["file"].endswith(".cu")}.values())
    entries.sort(key=lambda entry: -os.path.getsize(entry["file"]))  # long ones first: no processor idles at the end
    whole = sum(command(entry, generations)[1] for entry in entries)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(filter(None, pool.map(lambda entry: make(entry, generations), entries)))
    print("".join(said), end="")
    print(f"GPU code for {', '.join(generations)}: {len(entries) - whole} files of the build, {whole} that it left out, "
          f"{len(said)} with warnings or errors")
    return 1 if said or whole == len(entries) else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
