#!/usr/bin/env python3
"""Times what cionize does at points and in water: the figures of docs/points.md and docs/ions.md.

    time_molecules.py BUILD [--runs N] [--threads N]

BUILD is a build folder. Points: 20,000 of them in a ball of 100,000 random atoms, to 1e-6: potentials, fields too, and both in a
cell. Water: HIV-1 protease in a box of about 8,000 water molecules, ionised to 0.15 mol/L. Prints the time of the whole program
(reading, measuring the error, writing), the least of N runs (3) with N threads (2), and the error that the run measured. Exit status
1 if an error is larger than asked, or if the box is not neutral.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
ATOMS, POINTS, ACCURACY = 100000, 20000, 1e-6
EDGE, APART = 21, 2.6  # water molecules along an edge; angstrom between their oxygens and the protein
SHIFT = (20.0, 9.0, 23.0)  # puts the protein into the box


def seconds(command, folder, runs):
    """The least processor time of a command and the least time on the clock, in words."""
    times, clock = [], []
    for _ in range(runs):
        began = time.monotonic()
        process = subprocess.Popen(list(map(str, command)), cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"failed: {' '.join(map(str, command))}")
        clock.append(time.monotonic() - began)
        times.append(usage.ru_utime + usage.ru_stime)
    return f"{min(times):.2f} s of processor time, {min(clock):.2f} s on the clock"


def write(path, command):
    with open(path, "w", encoding="ascii") as file:
        subprocess.run([sys.executable, *map(str, command)], check=True, stdout=file)


def place(line):
    return [float(word) for word in line.split()[-5:-2]]


def cell_of(place):
    return tuple(int(x // APART) for x in place)


def write_box(path, water):
    """The protein, and the water that is not too near to it."""
    atoms = [line for line in open(DATA / "1hpv.pqr", encoding="ascii") if line.startswith(("ATOM", "HETATM"))]
    protein, near = [], {}
    for number, line in enumerate(atoms, 1):
        words = line.split()
        at = [x + shift for x, shift in zip(place(line), SHIFT)]
        near.setdefault(cell_of(at), []).append(at)
        protein.append(f"ATOM {number} {words[2]} {words[3]} A {words[-6].lstrip('AB')} " +
                       " ".join(f"{x:.3f}" for x in at) + f" {words[-2]} {words[-1]}\n")
    lines = [line for line in open(water, encoding="ascii") if line.startswith(("ATOM", "HETATM"))]
    kept = []
    for n in range(0, len(lines), 3):
        x = place(lines[n])
        i = cell_of(x)
        around = (at for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)
                  for at in near.get((i[0] + a, i[1] + b, i[2] + c), ()))
        if all(sum((p - q) ** 2 for p, q in zip(at, x)) > APART ** 2 for at in around):
            kept += lines[n:n + 3]
    pathlib.Path(path).write_text("".join(protein + kept) + "END\n", encoding="ascii")
    return len(protein) + len(kept)


def time_points(command, folder, runs):
    rng = random.Random(1)
    write(folder / "ball.pqr", [DATA / "make_random_molecule.py", ATOMS, 1])
    places = [place(line) for line in open(folder / "ball.pqr", encoding="ascii") if line.startswith("ATOM")]
    reach = max(abs(x) for at in places for x in at)
    with open(folder / "points.csv", "w", encoding="ascii") as file:
        for _ in range(POINTS):
            file.write(",".join(f"{rng.uniform(-reach, reach):.4f}" for _ in range(3)) + "\n")
    cell = ["--cell", ",".join([f"{2 * reach + 4:.1f}"] * 3)]
    good = True
    for title, more in (("potentials", []), ("and fields", ["--field"]), ("in a cell", cell), ("in a cell, and fields", [*cell, "--field"])):
        taken = seconds([*command, "--points", "points.csv", "--points-out", "out.csv", "--report", "r.json",
                         "--accuracy", ACCURACY, *more, "ball.pqr"], folder, runs)
        report = json.loads((folder / "r.json").read_text())["points"]
        errors = [report[name]["rms"] for name in ("error", "field_error") if name in report]
        good = good and all(error <= ACCURACY for error in errors)
        print(f"{POINTS} points, {ATOMS} atoms, {title}: {taken}; rms error {', '.join(f'{error:.2g}' for error in errors)}")
    return good


def time_water(command, folder, runs):
    write(folder / "water.pqr", [DATA / "make_water_box.py", "--edge", EDGE])
    atoms = write_box(folder / "box.pqr", folder / "water.pqr")
    edge = 34.1815 / 11 * EDGE  # data/README.md: 11 molecules along 34.1815 angstrom
    taken = seconds([*command, "--cell", ",".join([f"{edge:.4f}"] * 3), "--concentration", 0.15, "-o", "ionised.pdb",
                     "--report", "r.json", "box.pqr"], folder, runs)
    ions = json.loads((folder / "r.json").read_text())["ions"]
    print(f"{atoms} atoms, {ions['placed']} ions in the place of water: {taken}")
    return abs(ions["total_charge"]) < 0.01


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    command = [(arguments.build / "apps/cionize/cionize").resolve(), "--device", "cpu", "--threads", arguments.threads, "-q"]
    with tempfile.TemporaryDirectory() as folder:
        good = time_points(command, pathlib.Path(folder), arguments.runs)
        good = time_water(command, pathlib.Path(folder), arguments.runs) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
