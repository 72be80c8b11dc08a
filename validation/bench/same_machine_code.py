#!/usr/bin/env python3
"""Checks whether changed CUDA sources still give the machine code of a record.

    same_machine_code.py REVISION [--arch sm_90] [--record]

Compiles each .cu file of the library as it is now and as it was at a git revision. Compares the functions byte
for byte: the .text sections of the cubins, under any name. Prints each file with its differences. With --record,
adds the digest of each source to the newest record (validation/results/gpu-*.json) if every .cu file that uses it
gives the same code. The record then knows both texts. Needs nvcc and git; no GPU. Exit status: 0 if everything
that could be compared is the same, 1 if not, 77 without nvcc.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cuda_sources

ROOT = cuda_sources.ROOT
FOLDERS = ("libcore/", "kernels/")


def functions(cubin):
    """The digests of the functions of an ELF file, with their counts."""
    data = cubin.read_bytes()
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    strings = headers[names][4]
    found = collections.Counter()
    for header in headers:
        start = strings + header[0]
        if data[start:data.index(b"\0", start)].startswith(b".text."):
            found[hashlib.sha256(data[header[4]:header[4] + header[5]]).hexdigest()] += 1
    return found


def includes(tree):
    kernels = sorted(path for path in (tree / "kernels").iterdir() if path.is_dir())
    folders = [tree / "libcore/include", tree / "libcore/src", tree / "kernels", *kernels]
    return [word for folder in folders for word in ("-I", str(folder))]


def compile_one(nvcc, tree, source, arch, out):
    """The functions of a source, and the CUDA files of the tree that it includes; None if it does not exist."""
    if not (tree / source).exists():
        return None, set()
    command = [nvcc, "-std=c++17", "-O3", f"-arch={arch}", *includes(tree)]
    cubin = out / (source.replace("/", "_") + ".cubin")
    done = subprocess.run([*command, "-cubin", "-o", cubin, tree / source], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(next((line for line in done.stderr.splitlines() if "error" in line), "nvcc failed"))
    made = subprocess.run([*command, "-M", tree / source], check=True, capture_output=True, text=True).stdout
    here = {os.path.relpath(word, tree) for word in re.findall(r"\S+\.cuh?", made) if os.path.realpath(word).startswith(str(tree.resolve()))}
    return functions(cubin), here | {source}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        print("SKIP: no nvcc")
        return 77
    sources = [path for path in cuda_sources.listed(ROOT) if path.endswith(".cu") and path.startswith(FOLDERS)]
    differ = set()
    with tempfile.TemporaryDirectory(prefix="machine_code") as name:
        folder = pathlib.Path(name)
        before, outs = folder / "before", [folder / "old", folder / "new"]
        for out in outs:
            out.mkdir()
        subprocess.run(["git", "worktree", "add", "--detach", "-q", before, options.revision], cwd=ROOT, check=True)
        try:
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                jobs = [[pool.submit(compile_one, nvcc, tree, source, options.arch, out) for tree, out in zip((before, ROOT), outs)]
                        for source in sources]
                for source, (old, new) in zip(sources, jobs):
                    try:
                        (was, _), (now, made_of) = old.result(), new.result()
                    except RuntimeError as error:  # cuFFT may be missing
                        print(f"SKIP:    {source}: {error}")
                        differ.add(source)
                        continue
                    if was is None:
                        print(f"new:     {source}")
                        differ |= made_of
                    elif was - now or now - was:
                        print(f"differs: {source}: {(was - now).total()} of {was.total()} functions are gone or changed, "
                              f"{(now - was).total()} of {now.total()} are new or changed")
                        differ |= made_of
                    else:
                        print(f"same:    {source}: {now.total()} functions")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", before], cwd=ROOT, check=True)
    changed = cuda_sources.changed(ROOT)
    same = {path: value for path, value in changed.items() if path not in differ and value != cuda_sources.GONE and path.startswith(FOLDERS)}
    for path in sorted(changed):
        print(f"{'same code, different text' if path in same else 'different code'}: {path}")
    if options.record and same:
        add_to_record(same)
    return 1 if differ else 0


def add_to_record(same):
    path = max((ROOT / "validation/results").glob("gpu-*.json"), key=lambda file: json.loads(file.read_text())["date"])
    record = json.loads(path.read_text())
    for source, value in same.items():
        known = record["cuda_sources"].get(source, [])
        record["cuda_sources"][source] = [*(known if isinstance(known, list) else [known]), value]
    path.write_text(json.dumps(record, indent=2) + "\n")
    print(f"{path.name}: {len(same)} sources added")


if __name__ == "__main__":
    sys.exit(main())
