#!/usr/bin/env python3
"""Times the programs on one device, two devices, and so on, to measure the speed-up by several devices.

    time_devices.py BUILD REPORT.json [--devices cuda] [--counts 1,2,4] [--seconds S] [--rounds N]
    [--cases REGEX] [--quick]

BUILD is a build folder. --devices is cuda (all GPUs) or cpu (devices on the CPU share its cores, which only shows
that this program works). --counts: by default 1, 2, 4, ... and all GPUs.

cionize: a molecule of random atoms, on a grid of 512^3 points, written to an MRC file, by the exact and by the fast method.
It has as many atoms as take one device about S seconds by the exact one. Every number of devices must make the same
file, bit for bit.
mri_recon: the published case with eight coils, which takes one GPU less than a second, 256^3 with 8 and 32 coils, a series of
64 frames, and 192^3 with 16 coils and no options, from the file to the image.

Each round of a case runs every number of devices in turn. Ratios compare times of the same round; the result is the median over
the rounds. Bars: on N devices the exact map, from the first slab to the last one written, is BAR times N as fast as on one, and
the series SERIES_BAR times N. The report is written after each case. Exit status: 0; 1 if a bar is missed, a program failed,
or files differ.
"""
import argparse
import hashlib
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

BAR, BAR_OF_MORE, SERIES_BAR = 0.97, 0.95, 0.9  # BAR_OF_MORE: for more than four devices
EDGE, PILOT_ATOMS = 512, 20000
# Stages in the programs' reports: those of the map, and those of images; several devices that share frames report "frames".
MAP, SOLUTION = ("compute", "write"), ("F^H d", "Q", "frames", "solve", "combine")
LARGE = ("--matrix", "256", "--spokes", "20000", "--without", "truth")
# Scans: the phantom's options.
SCANS = {"mri_recon": ("128^3, the published scan, 8 coils", ("--case", "128", "--coils", "8")),
         "mri_recon, large": ("256^3, 20,000 spokes, 8 coils", (*LARGE, "--coils", "8")),
         "mri_recon, series": ("96^3, 64 frames of 1,200 spokes, 8 coils",
                               ("--matrix", "96", "--frames", "64", "--spokes", "1200", "--without", "truth", "--coils", "8")),
         "mri_recon, 32 coils": ("256^3, 20,000 spokes, 32 coils", (*LARGE, "--coils", "32")),
         "mri_recon, no options": ("192^3, 25,000 spokes, 16 coils without maps, no options",
                                   ("--matrix", "192", "--spokes", "25000", "--coils", "16", "--noise", "0.02", "--without", "sensitivity,truth"))}
# Conjugate gradients, as published; the last case has what users get who give no options.
OPTIONS = ("--lambda", "0.001", "--iterations", "60", "--tolerance", "0")
QUICK = {"mri_recon, series": ("12^3, 6 frames of 60 spokes, 2 coils",
                               ("--matrix", "12", "--frames", "6", "--spokes", "60", "--without", "truth", "--coils", "2"))}


def run(command, folder):
    """Runs a command; returns its seconds and its report."""
    began = time.perf_counter()
    done = subprocess.run([*map(str, command), "-q", "--report", "report.json"], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return seconds, json.loads((folder / "report.json").read_text())


def write_molecule(path, atoms):
    """Random atoms within 100 A, neutral in pairs."""
    rng = random.Random(1)
    with open(path, "w", encoding="ascii") as stream:
        for n in range(atoms):
            x, y, z = (rng.uniform(-50, 50) for _ in range(3))
            stream.write(f"ATOM {n + 1} C UNK {n + 1} {x:.3f} {y:.3f} {z:.3f} {1 if n % 2 else -1:.3f} 1.5\n")


def digest(path):
    """The digest of an MRC file's values; its header has the time of writing."""
    result = hashlib.sha256()
    with open(path, "rb") as stream:
        stream.seek(1024)
        while block := stream.read(1 << 24):
            result.update(block)
    return result.hexdigest()


def cuda_sources():
    """The digest of the CUDA sources here, as ./run gpu writes it; None if git does not list them."""
    root = pathlib.Path(__file__).resolve().parents[2]
    try:
        done = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.cu", "*.cuh"], capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return hashlib.sha256(b"".join((root / name).read_bytes() for name in sorted(done.stdout.split()))).hexdigest()


def map_arguments(molecule, edge):
    return [molecule, "--counts", f"{edge},{edge},{edge}", "--spacing", f"{150 / (edge - 1):.6f}", "-o", "map.mrc"]


def choose_atoms(program, spec, edge, wanted, folder):
    """Returns the number of atoms that takes that many seconds. The rate is that of additional atoms, because writing
    the file dominates the time of a small molecule's map."""
    few, many = PILOT_ATOMS, 4 * PILOT_ATOMS
    seconds = {}
    for atoms in (few, few, many):  # the first run starts the driver
        write_molecule(folder / "pilot.pqr", atoms)
        _, report = run([program, *map_arguments("pilot.pqr", edge), "--method", "exact", "--device", spec], folder)
        seconds[atoms] = report["seconds"]["compute"]
    each = max(seconds[many] - seconds[few], 1e-4) / (many - few)
    return max(2, 2 * round((wanted - seconds[many]) / each / 2) + many)


def one_round(case, specs, folder):
    """{number: row}"""
    command, stages, check = case
    rows = {}
    for number, spec in specs.items():
        whole, report = run([*command, "--device", spec], folder)
        rows[number] = {"whole": whole, "stages": report["seconds"],
                        "slabs": {device: row["slabs"] for device, row in report.get("devices", {}).items() if "slabs" in row},
                        "seconds": sum(report["seconds"].get(stage, 0) for stage in stages),
                        "digest": digest(folder / check) if check else None}
        print(f"{number:>6}: {rows[number]['seconds']:8.3f} s, whole program {whole:8.3f} s", flush=True)
    return rows


def summarise(rows, specs):
    """Returns the medians over the rounds of a case, and whether all files are equal."""
    first = min(specs)
    out = {"devices": {}}
    for number in specs:
        out["devices"][str(number)] = {
            "seconds": statistics.median(row[number]["seconds"] for row in rows),
            "whole": statistics.median(row[number]["whole"] for row in rows),
            "stages": {key: statistics.median(row[number]["stages"].get(key, 0) for row in rows) for key in rows[0][number]["stages"]},
            "slabs_of_rounds": [row[number]["slabs"] for row in rows],
            "times_of_rounds": [row[first]["seconds"] / row[number]["seconds"] for row in rows],
            "times": statistics.median(row[first]["seconds"] / row[number]["seconds"] for row in rows),
            "times_whole": statistics.median(row[first]["whole"] / row[number]["whole"] for row in rows)}
    if rows[0][first]["digest"] is not None:
        out["same_bits"] = len({row[number]["digest"] for row in rows for number in specs}) == 1
    return out


def gpus():
    """[(name, driver)]"""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                              check=False)
    except FileNotFoundError:
        return []
    return [tuple(field.strip() for field in line.split(",")) for line in done.stdout.splitlines()] if done.returncode == 0 else []


def prepare(options, programs, specs, folder):
    """Makes the cases one after the other: yields name, what the report says of it, and (command, stages that count, file to compare)."""
    if options.cases.search("cionize"):
        atoms = choose_atoms(programs["cionize"], specs[min(specs)], options.edge, options.seconds, folder)
        write_molecule(folder / "large.pqr", atoms)
        for name, method in (("cionize", "exact"), ("cionize, fast", "fast")):
            yield (name, f"{options.edge}^3 points, {atoms:,} atoms, {method}",
                   ([programs["cionize"], *map_arguments("large.pqr", options.edge), "--method", method], MAP, "map.mrc"))
    for name, (text, scan) in (QUICK if options.quick else SCANS).items():
        if options.cases.search(name):
            subprocess.run([options.build.resolve() / "apps/mri_phantom/mri_phantom", "-q", *scan, "-o", "scan.h5"], cwd=folder, check=True)
            given = () if name.endswith("no options") else OPTIONS
            yield (name, f"{text}, 60 iterations" if given else text,
                   ([programs["mri_recon"], *given, "-o", "image.h5", "scan.h5"], SOLUTION, None))


def bar_of(case, number):
    if case == "cionize":
        return BAR if number <= 4 else BAR_OF_MORE
    return SERIES_BAR if case == "mri_recon, series" else 0


def judge(case, result):
    """Writes into each row whether its bar is met; returns whether all are, and files are equal."""
    first = min(map(int, result["devices"]))
    for number, row in result["devices"].items():
        row["met"] = row["times"] >= bar_of(case, int(number)) * int(number) / first
    return result.get("same_bits", True) and all(row["met"] for row in result["devices"].values())


def show(result):
    for number, row in result["devices"].items():
        print(f"{number:>6}: {row['times']:.3f} times as fast; whole program {row['times_whole']:.3f} times{'' if row['met'] else '  BELOW THE BAR'}")
    if not result.get("same_bits", True):
        print("FILES DIFFER")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--devices", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--counts", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--edge", type=int, default=EDGE, help="points of the map's edge")
    parser.add_argument("--cases", type=re.compile, default=re.compile(""), help="only cases whose names it matches")
    parser.add_argument("--quick", action="store_true", help="only small cases, to test this program")
    parser.add_argument("--no-bar", action="store_true", help="exit 0 for any ratio, to test this program")
    options = parser.parse_args()
    there = gpus() if options.devices == "cuda" else [("CPU", "")] * 2
    if len(there) < 2:
        print("SKIP: fewer than two GPUs here")
        return 77
    counts = options.counts or sorted({1 << n for n in range(len(there).bit_length()) if 1 << n <= len(there)} | {len(there)})
    specs = {n: options.devices + ":" + ",".join(map(str, range(n))) for n in counts}
    programs = {name: options.build.resolve() / "apps" / name / name for name in ("cionize", "mri_recon")}
    out = {"benchmark": "devices", "devices": [row[0] for row in there], "driver": there[0][1],
           "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cuda_sources_sha256": cuda_sources(),
           "bars": {"map": BAR, "map, more than 4": BAR_OF_MORE, "series": SERIES_BAR}, "rounds": options.rounds, "cases": {}}
    good = same = True
    with tempfile.TemporaryDirectory(prefix="time_devices") as folder:
        for name, about, case in prepare(options, programs, specs, pathlib.Path(folder)):
            print(f"{name}: {about}", flush=True)
            result = {"case": about, **summarise([one_round(case, specs, pathlib.Path(folder)) for _ in range(options.rounds)], specs)}
            out["cases"][name] = result
            good = judge(name, result) and good
            same = same and result.get("same_bits", True)
            show(result)
            options.report.write_text(json.dumps(out, indent=2) + "\n")
    if not out["cases"]:
        sys.exit("no case has such a name")
    return 0 if good or (options.no_bar and same) else 1


if __name__ == "__main__":
    sys.exit(main())
