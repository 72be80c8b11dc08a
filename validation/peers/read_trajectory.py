#!/usr/bin/env python3
"""Checks that trajectories of other programs are read correctly: random coordinates exactly, and boxes closely.

usage: read_trajectory.py PROGRAM    (PROGRAM: print_trajectory)

Every writer gets a line: "ok", "SKIP (reason)" or "FAILED (what)". If MDAnalysisTests is installed, its
trajectories of CHARMM, NAMD and LAMMPS are compared with what MDAnalysis reads. Exit status: 0; 1 if any failed;
77 if nothing could be tried.
"""
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
except ImportError:
    print("SKIP: numpy is missing")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from seeds import generator  # noqa: E402

warnings.filterwarnings("ignore")
FRAMES, ATOMS = 5, 17
BOX = [30.5, 40.25, 50.125, 80.0, 95.0, 110.0]  # a, b, c, alpha, beta, gamma


class Wrong(Exception):
    pass


def read_here(program, path):
    """Returns coordinates [frame][atom][3] and boxes [frame][6]."""
    run = subprocess.run([program, path], capture_output=True, text=True)
    if run.returncode:
        raise Wrong(run.stderr.strip())
    lines = run.stdout.split("\n")
    atoms, frames = map(int, lines[0].split())
    rows = [[float.fromhex(word) for word in line.split()] for line in lines[1:] if line]
    if len(rows) != frames * (atoms + 1):
        raise Wrong(f"{len(rows)} lines for {frames} frames of {atoms} atoms")
    frames = [rows[i:i + atoms + 1] for i in range(0, len(rows), atoms + 1)]
    return np.array([f[1:] for f in frames]), np.array([f[0] for f in frames])


def compare(found, xyz, box, box_error):
    coordinates, boxes = found
    if coordinates.shape != xyz.shape or not np.array_equal(coordinates, xyz.astype(np.float64)):
        raise Wrong(f"coordinates differ ({coordinates.shape}, {xyz.shape})")
    if box is not None and not np.abs(boxes - box).max() <= box_error:
        raise Wrong(f"box {boxes[0]} for {np.asarray(box)}")


def mdanalysis(path, xyz):
    import MDAnalysis
    universe = MDAnalysis.Universe.empty(ATOMS, trajectory=True)
    with MDAnalysis.Writer(path, n_atoms=ATOMS) as writer:
        for frame in xyz:
            universe.atoms.positions = frame
            universe.dimensions = BOX
            writer.write(universe.atoms)
    return BOX


def mdtraj_with_box(path, xyz):
    from mdtraj.formats import DCDTrajectoryFile
    with DCDTrajectoryFile(path, "w") as file:
        file.write(xyz, cell_lengths=np.tile(BOX[:3], (FRAMES, 1)), cell_angles=np.tile(BOX[3:], (FRAMES, 1)))
    return BOX


def mdtraj_without_box(path, xyz):
    from mdtraj.formats import DCDTrajectoryFile
    with DCDTrajectoryFile(path, "w") as file:
        file.write(xyz)
    return [0] * 6


def check_writers(program, folder):
    good = bad = 0
    rng = generator()
    for number, writer in enumerate((mdanalysis, mdtraj_with_box, mdtraj_without_box)):
        xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
        path = os.path.join(folder, f"{number}.dcd")
        try:
            # Writers store boxes in single precision: 50 and 110 have an error of 2^-24, and cosines that times 60
            # degrees.
            box = writer(path, xyz)
            compare(read_here(program, path), xyz, box, 2e-5)
            print(f"{writer.__name__}: ok")
            good += 1
        except ImportError as error:
            print(f"{writer.__name__}: SKIP ({error})")
        except Wrong as error:
            print(f"{writer.__name__}: FAILED ({error})")
            bad += 1
    return good, bad


def check_samples(program):
    """The test trajectories of MDAnalysis."""
    good = bad = 0
    try:
        from MDAnalysis.lib.formats.libdcd import DCDFile
        from MDAnalysisTests import datafiles
    except ImportError as error:
        print(f"trajectories of MDAnalysisTests: SKIP ({error})")
        return 0, 0
    for path in sorted({str(p) for p in vars(datafiles).values() if str(p).endswith(".dcd") and os.path.isfile(str(p))}):
        name = os.path.basename(path)
        try:
            with DCDFile(path) as file:
                expected = np.array([frame.xyz.copy() for frame in file])  # all frames share one buffer
        except OSError as error:
            print(f"{name}: SKIP (MDAnalysis does not read it either: {error})")
            continue
        try:
            compare(read_here(program, path), expected, None, 0)
            print(f"{name}: ok ({expected.shape[0]} frames, {expected.shape[1]} atoms)")
            good += 1
        except Wrong as error:
            print(f"{name}: FAILED ({error})")
            bad += 1
    return good, bad


def main():
    with tempfile.TemporaryDirectory() as folder:
        counts = [check_writers(sys.argv[1], folder), check_samples(sys.argv[1])]
    good, bad = (sum(column) for column in zip(*counts))
    return 1 if bad else 0 if good else 77


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
