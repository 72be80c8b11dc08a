#!/usr/bin/env python3
"""Lists the CUDA sources that have changed since the newest GPU record.

    cuda_sources.py [--write | --list]

Sources are *.cu, *.cuh, and the *.inc that they include, also by way of others. --list names them, one a line, and says on standard
error whether git or a search found them. A record (validation/results/gpu-*.json) holds the SHA-256 of each source that it measured. Sources that differ
must be listed in validation/results/not-yet-run.txt, so that nobody takes them for measured. --write writes that
list, or removes it if it is empty. Without --write: exit status 1, and a line for each source, if the list is
wrong.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "validation/results/not-yet-run.txt"
HEAD = """# CUDA sources, and what they include, that have changed since the newest record of a GPU, and have not run on one.
# `./run gpu` makes a new record; `python3 validation/bench/cuda_sources.py --write` makes this list.
"""
GONE = "-" * 64


def found_by_git(root):
    """Files that git does not ignore; empty without git."""
    try:
        found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.cu", "*.cuh", "*.inc"], cwd=root, capture_output=True, text=True,
                               check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for path in found if path and (root / path).exists()] if any(path.endswith(".cu") for path in found) else []


def found_by_search(root):
    """All files outside build folders."""
    found = []
    for folder, folders, files in os.walk(root):
        top = pathlib.Path(folder) == root
        folders[:] = [name for name in folders if not name.startswith(".") and not (top and (name.startswith("build") or name == "out"))]
        found += [str((pathlib.Path(folder) / name).relative_to(root)) for name in files if name.endswith((".cu", ".cuh", ".inc"))]
    return found


def included(root, found):
    """The CUDA sources of the files: names of files are unique."""
    texts = {pathlib.Path(path).name: path for path in found if path.endswith(".inc")}
    sources, left = set(), [path for path in found if not path.endswith(".inc")]
    while left:
        path = left.pop()
        if path not in sources:
            sources.add(path)
            names = re.findall(r'^\s*#\s*include\s+"(?:[^"]*/)?([^"/]+\.inc)"', (root / path).read_text(errors="replace"), re.MULTILINE)
            left += [texts[name] for name in names if name in texts]
    return sorted(sources)


def listed(root):
    return included(root, found_by_git(root) or found_by_search(root))


def digests(root):
    return {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in listed(root)}


def newest_record(root):
    records = [json.loads(path.read_text()) for path in (root / "validation/results").glob("gpu-*.json")]
    return max(records, key=lambda record: record["date"], default={"cuda_sources": {}})


def changed(root):
    """The digest of each source that differs from the record; GONE for a deleted one. A record may hold several
    digests of a source, for texts that give the same machine code (same_machine_code.py)."""
    record, now = newest_record(root)["cuda_sources"], digests(root)
    known = {path: value if isinstance(value, list) else [value] for path, value in record.items()}
    out = {path: value for path, value in now.items() if value not in known.get(path, [])}
    return {**out, **{path: GONE for path in known if path not in now and GONE not in known[path]}}


def read_list(root):
    path = root / LIST
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")] if path.exists() else []
    return {line.split()[1]: line.split()[0] for line in lines}


def main():
    if sys.argv[1:] == ["--list"]:
        print("git" if found_by_git(ROOT) else "find", file=sys.stderr)
        print("".join(f"{path}\n" for path in listed(ROOT)), end="")
        return 0
    found = changed(ROOT)
    if sys.argv[1:] == ["--write"]:
        if found:
            (ROOT / LIST).write_text(HEAD + "".join(f"{value}  {path}\n" for path, value in sorted(found.items())))
        else:
            (ROOT / LIST).unlink(missing_ok=True)
        print(f"{LIST}: {len(found)} of {len(digests(ROOT))} sources")
        return 0
    told = read_list(ROOT)
    for path in sorted(set(found) | set(told)):
        if found.get(path) != told.get(path):
            print(f"{path}: {LIST} has {told.get(path, 'no entry')}; the source: {found.get(path, 'as in the record')}")
    if found != told:
        print(f"{LIST} is out of date: run python3 validation/bench/cuda_sources.py --write")
    return found != told


if __name__ == "__main__":
    sys.exit(main())
