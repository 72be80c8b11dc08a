#!/usr/bin/env python3
"""Makes every call of a program fail, one after another: memory, threads, reads, writes, syncs, names, and
what the program and its process that reads HDF5 say to each other.

usage: sweep_faults.py SHIM CIONIZE MRI_RECON MRI_PHANTOM [--every N | --samples N] [--kind K] [--jobs J]
                       [--case WORD]

SHIM is libfault_shim.so; or the word none, for programs that make their own calls fail (fault_own.c: allocations, under
the address sanitizer, which ends a program with another status if memory leaks or is used wrongly).

Each run has one call that fails (`once`), or one and all after it (`on`), from the first call after main begins to the
last. A run must end with success and the same files as without faults, or with one message, the exit status of that
fault, and no file at all. Signals, other statuses, other bytes and files left behind are failures. --every 1, the
default, runs them all; --samples draws that many calls for each kind and case, and always takes the first and the last.
"""
import argparse
import collections
import concurrent.futures
import gzip
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from seeds import draw  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
# HDF5 does not always say that a failure was for lack of memory: a scan may then be "unreadable", an output "unwritable".
READER, WRITER = 3, 4
# Statuses besides 0 that a fault of this kind may end with: 3 invalid input, 4 output, 5 memory.
STATUSES = {"memory": {5}, "thread": {5}, "map": {5}, "open": {3, 4, 5}, "read": {3}, "write": {4}, "sync": {4}, "name": {4},
            "send": {5}}
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?")


def content(path):
    """What must be the same in each run: all but the time in it. Of a picture, which has the time in letters, that it
    is whole."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".png":
        if not data.endswith(b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))):
            return b"not whole"
        size = struct.unpack(">I", data[16:20])[0]
        packed, at = b"", 8
        while at < len(data):
            length = struct.unpack(">I", data[at : at + 4])[0]
            packed += data[at + 8 : at + 8 + length] if data[at + 4 : at + 8] == b"IDAT" else b""
            at += 12 + length
        return b"%d wide, %d bytes" % (size, len(zlib.decompress(packed)))
    return TIME.sub(b"", data)

# Two sections of one molecule, maps, a sum.
APBS = """read mol pqr dipole.pqr end
elec name a mg-manual dime 13 13 13 grid 1 1 1 gcent mol 1 mol 1 lpbe bcfl mdh ion 1 0.1 2 ion -1 0.1 2 pdie 2 sdie 78.54 srfm mol
    srad 1.4 temp 300 calcenergy comps write pot dx a write pot gz b end
elec mg-manual dime 13 13 13 grid 1 1 1 gcent mol 1 mol 1 lpbe pdie 2 sdie 2 srfm mol srad 1.4 temp 300 end
print elecEnergy a - 2 end
"""


class Case:
    def __init__(self, name, program, arguments, outputs, inputs):
        self.name, self.program, self.arguments, self.outputs, self.inputs = name, program, arguments, outputs, inputs


def cases(options, folder):
    shutil.copy(DATA / "dipole.pqr", folder)
    subprocess.run([options.phantom, "-q", "-o", "scan.h5", "--matrix", "24,24,1", "--coils", "4", "--spokes", "20"], cwd=folder,
                   check=True)
    subprocess.run([options.phantom, "-q", "-o", "scan.mrd", "--matrix", "24,24,1", "--coils", "2"], cwd=folder, check=True)
    shutil.copy(pathlib.Path(__file__).resolve().parent / "corpus" / "hdf5" / "fastmri.h5", folder)
    (pathlib.Path(folder) / "apbs.in").write_text(APBS, encoding="ascii")
    cionize, recon = [options.cionize, "-q", "--threads", "2"], [options.recon, "-q", "--threads", "2"]
    coarse = ["dipole.pqr", "--spacing", "1"]
    return [
        Case("exact.dx", "cionize", [*cionize, *coarse, "--method", "exact", "-o", "a.dx", "--picture", "a.png"],
             ["a.dx", "a.png"], ["dipole.pqr"]),
        Case("fast.h5", "cionize", [*cionize, *coarse, "--method", "fast", "-o", "a.h5"], ["a.h5"], ["dipole.pqr"]),
        Case("ions", "cionize", [*cionize, *coarse, "--place", "SOD:3", "-o", "a.pdb", "--map", "a.mrc"], ["a.pdb", "a.mrc"],
             ["dipole.pqr"]),
        Case("apbs", "cionize", [*cionize, "--apbs", "apbs.in"], ["a.dx", "b.dx.gz"],
             ["dipole.pqr", "apbs.in"]),
        Case("plain", "mri_recon", [*recon, "scan.h5", "--iterations", "3", "-o", "i.h5"], ["i.h5"], ["scan.h5"]),
        Case("ismrmrd", "mri_recon", [*recon, "scan.mrd", "--iterations", "3", "-o", "i.nii.gz", "--picture", "i.png"],
             ["i.nii.gz", "i.png"], ["scan.mrd"]),
        Case("fastmri", "mri_recon", [*recon, "fastmri.h5", "--iterations", "3", "--coils", "walsh", "-o", "i.h5"], ["i.h5"],
             ["fastmri.h5"]),
    ]


def run(options, case, wish, source, counts=None):
    """Returns exit status, standard error, and the files that the run left."""
    with tempfile.TemporaryDirectory(prefix="sweep-") as folder:
        for name in case.inputs:
            os.link(os.path.join(source, name), os.path.join(folder, name))
        # A fixed policy of waiting: without one, a program may restart itself on a busy machine.
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "VOXFIELD_FAULT": wish}
        if options.shim != "none":
            environment["LD_PRELOAD"] = options.shim
        if counts:
            environment["VOXFIELD_FAULT_COUNTS"] = counts
        process = subprocess.Popen(case.arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            _, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return "hangs", "", {}
        left = {}
        for path in pathlib.Path(folder).rglob("*"):
            if path.name not in case.inputs:
                left[path.name] = content(path)
        return process.returncode, err.decode(errors="replace"), left


def judge(case, kind, mode, status, err, left, good):
    """None, or what is wrong. Files that were whole before the fault may stay: the map, if the picture fails."""
    wrong = [name for name in left if left[name] != good.get(name)]
    if wrong:
        return f"status {status}, and other bytes in {', '.join(sorted(wrong))}"
    if status == 0:
        return None if left.keys() == good.keys() else f"status 0 without {sorted(good.keys() - left.keys())}"
    allowed = set(STATUSES[kind])
    if kind == "memory" and case.program == "mri_recon":
        allowed.add(READER)
    if kind == "memory" and any(name.endswith(".h5") for name in case.outputs):
        allowed.add(WRITER)
    if status not in allowed:
        return f"status {status}"
    if kind == "write" and mode == "+":
        return None  # the message could not be written either
    errors = [line for line in err.splitlines() if ": error: " in line]
    if len(errors) != 1 or not errors[0].startswith(f"{case.program}: error: "):
        return f"status {status} with {len(errors)} messages"
    return None


def sweep(options, case, source, table):
    counts = os.path.join(source, "counts")
    status, err, good = run(options, case, "", source, counts)
    if status == 77:
        print("SKIP: " + err.strip())
        sys.exit(77)
    if status != 0 or sorted(good) != sorted(case.outputs):
        sys.exit(f"FAIL: {case.name}: without faults, status {status}: {err}")
    calls = {line.split()[0]: int(line.split()[1]) for line in open(counts, encoding="ascii")}
    jobs = []
    for kind, most in calls.items():
        if options.kind and kind not in options.kind:
            continue
        numbers = range(1, most + 1, options.every)
        if options.samples:
            drawn = draw(case.name, kind).sample(range(1, most + 1), min(most, options.samples))
            numbers = sorted({1, most, *drawn} if most else set())
        jobs += [(kind, n, mode) for mode in ("", "+") for n in numbers]

    def one(job):
        kind, n, mode = job
        status, err, left = run(options, case, f"{kind}:{n}{mode}", source)
        return job, status, err, judge(case, kind, mode, status, err, left, good)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (kind, n, mode), status, err, wrong in pool.map(one, jobs):
            row = table[case.name, kind, "on" if mode else "once"]
            row[0] += 1
            row[1] += status == 0
            if wrong:
                row[2] += 1
                failed += 1
                print(f"FAIL: {case.name}: VOXFIELD_FAULT={kind}:{n}{mode}: {wrong}: {err.strip()[-300:]}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shim", type=lambda name: name if name == "none" else os.path.abspath(name))
    for name in ("cionize", "recon", "phantom"):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    table = collections.defaultdict(lambda: [0, 0, 0])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sweep-") as source:
        for case in cases(options, source):
            if not options.case or case.name in options.case:
                failed += sweep(options, case, source, table)
    print(f"{'case':10} {'kind':7} {'fails':5} {'runs':>7} {'right':>7} {'message':>8} {'wrong':>6}")
    for (name, kind, mode), (runs, right, wrong) in table.items():
        print(f"{name:10} {kind:7} {mode:5} {runs:7} {right:7} {runs - right - wrong:8} {wrong:6}")
    print(f"{sum(row[0] for row in table.values())} runs, {failed} wrong")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
