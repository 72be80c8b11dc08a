#!/usr/bin/env python3
"""Checks that trajectories of other programs (DCD, XTC, TRR, AMBER NetCDF) are read correctly: random coordinates exactly, and
boxes closely.

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
NM = 10  # angstrom
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


def compare(found, xyz, box, box_error, error=0):
    coordinates, boxes = found
    if coordinates.shape != xyz.shape or not np.abs(coordinates - xyz.astype(np.float64)).max() <= error:
        raise Wrong(f"coordinates differ ({coordinates.shape}, {xyz.shape})")
    if box is not None and not np.abs(boxes - box).max() <= box_error:
        raise Wrong(f"box {boxes[0]} for {np.asarray(box)}")


def mdanalysis(path, xyz, box=BOX, **options):
    import MDAnalysis
    universe = MDAnalysis.Universe.empty(xyz.shape[1], trajectory=True)
    with MDAnalysis.Writer(path, n_atoms=xyz.shape[1], **options) as writer:
        for frame in xyz:
            universe.atoms.positions = frame
            universe.dimensions = box
            writer.write(universe.atoms)
    return box


def mdanalysis_dcd(path, rng):
    xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
    return xyz, mdanalysis(path, xyz), 0


def mdtraj_dcd_with_box(path, rng):
    from mdtraj.formats import DCDTrajectoryFile
    xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
    with DCDTrajectoryFile(path, "w") as file:
        file.write(xyz, cell_lengths=np.tile(BOX[:3], (FRAMES, 1)), cell_angles=np.tile(BOX[3:], (FRAMES, 1)))
    return xyz, BOX, 0


def mdtraj_dcd_without_box(path, rng):
    from mdtraj.formats import DCDTrajectoryFile
    xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
    with DCDTrajectoryFile(path, "w") as file:
        file.write(xyz)
    return xyz, [0] * 6, 0


# Steps of 1 / precision nm for XTC, which stores nothing finer: like water (runs of small differences), like a gas, in one
# place, and with a few atoms (stored as floats).
def water(rng, molecules):
    oxygen = rng.integers(0, 6000, (FRAMES, molecules, 1, 3))
    return (oxygen + np.concatenate([np.zeros((FRAMES, molecules, 1, 3), int),
                                     rng.integers(-100, 101, (FRAMES, molecules, 2, 3))], 2)).reshape(FRAMES, -1, 3)


def chain(rng, atoms):
    return np.cumsum(rng.integers(-150, 151, (FRAMES, atoms, 3)), 1)


XTC_STEPS = {"water": lambda rng: water(rng, 700), "chain": lambda rng: chain(rng, 999),
             "gas": lambda rng: rng.integers(-30000, 30000, (FRAMES, 500, 3)),
             "point": lambda rng: np.full((FRAMES, 37, 3), 12345),
             "ten": lambda rng: rng.integers(-5000, 5000, (FRAMES, 10, 3))}


def xtc_writers():
    def by_mdanalysis(steps):
        def write(path, rng):
            k = steps(rng)
            return k / 100, mdanalysis(path, (k / 100).astype(np.float32)), 0
        return write

    def by_mdtraj(steps):
        def write(path, rng):
            from mdtraj.formats import XTCTrajectoryFile
            k = steps(rng)
            with XTCTrajectoryFile(path, "w") as file:
                file.write((k / 1000).astype(np.float32), box=np.tile(np.diag([3., 4, 5]), (FRAMES, 1, 1)).astype(np.float32))
            return k / 100, [30, 40, 50, 90, 90, 90], 0
        return write

    def fine(path, rng):
        """Six digits: the box of all steps takes more than 24 bits an axis. Floats have 24 bits, so steps are multiples of 64."""
        k = 64 * np.cumsum(rng.integers(-30000, 30001, (FRAMES, 999, 3)), 1)
        return k / 1e5, mdanalysis(path, (k / 1e5).astype(np.float32), precision=6), 1e-4  # the writer multiplies floats
    for name, steps in XTC_STEPS.items():
        yield f"MDAnalysis, XTC, {name}", by_mdanalysis(steps), ".xtc"
        yield f"MDTraj, XTC, {name}", by_mdtraj(steps), ".xtc"
    yield "MDAnalysis, XTC, 6 digits", fine, ".xtc"


def few_xtc(path, rng):
    """Nine atoms are floats in nm."""
    nm = rng.normal(0, 10, (FRAMES, 9, 3)).astype(np.float32)
    return NM * nm.astype(float), mdanalysis(path, NM * nm), 5e-5  # MDAnalysis divides floats by 10: 500 * 2^-24


def mdanalysis_trr(path, rng):
    xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
    return xyz, mdanalysis(path, xyz), 5e-5  # MDAnalysis divides floats by 10: 500 * 2^-24


def mdtraj_trr(path, rng):
    from mdtraj.formats import TRRTrajectoryFile
    nm = rng.normal(0, 10, (FRAMES, ATOMS, 3)).astype(np.float32)
    with TRRTrajectoryFile(path, "w") as file:
        file.write(nm, box=np.tile(np.diag([3., 4, 5]), (FRAMES, 1, 1)).astype(np.float32))
    return NM * nm.astype(float), [30, 40, 50, 90, 90, 90], 0


def gmx_xtc(path, rng):
    """GROMACS makes an XTC file of a .gro file."""
    k = water(rng, 333)
    gro = path + ".gro"
    with open(gro, "w") as file:
        for frame in k:
            file.write(f"water t= 0.0\n{len(frame):5d}\n")
            for i, (x, y, z) in enumerate(frame / 1000):
                file.write(f"{i // 3 + 1:5d}SOL  {('OW', 'HW1', 'HW2')[i % 3]:>5s}{i + 1:5d}{x:8.3f}{y:8.3f}{z:8.3f}\n")
            file.write("   6.00000   5.00000   4.00000   0.00000   0.00000   1.00000   0.00000  -1.00000   0.50000\n")
    try:
        run = subprocess.run(["gmx", "-quiet", "trjconv", "-f", gro, "-o", path], capture_output=True, text=True)
    except OSError:
        raise ImportError("no gmx")
    if run.returncode:
        raise Wrong(run.stderr[-300:])
    vectors = np.array([[60, 0, 0], [10, 50, 0], [-10, 5, 40]], float)
    length = np.linalg.norm(vectors, axis=1)
    angle = [np.degrees(np.arccos(vectors[i] @ vectors[j] / length[i] / length[j])) for i, j in ((1, 2), (0, 2), (0, 1))]
    return k / 100, [*length, *angle], 0


def mdtraj_netcdf(path, rng):
    from mdtraj.formats import NetCDFTrajectoryFile
    xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
    with NetCDFTrajectoryFile(path, "w") as file:
        file.write(xyz, cell_lengths=np.tile(BOX[:3], (FRAMES, 1)), cell_angles=np.tile(BOX[3:], (FRAMES, 1)))
    return xyz, BOX, 0


def netcdf4_amber(form):
    """The convention of AMBER, by the NetCDF library itself, in one of its formats."""
    def write(path, rng):
        from netCDF4 import Dataset
        xyz = rng.normal(0, 100, (FRAMES, ATOMS, 3)).astype(np.float32)
        with Dataset(path, "w", format=form) as file:
            file.Conventions, file.ConventionVersion, file.program = "AMBER", "1.0", "sander"
            for name, size in (("frame", None), ("spatial", 3), ("atom", ATOMS), ("cell_spatial", 3), ("label", 5),
                               ("cell_angular", 3)):
                file.createDimension(name, size)
            file.createVariable("spatial", "S1", ("spatial",))[:] = np.array(list("xyz"), "S1")
            file.createVariable("time", "f4", ("frame",)).units = "picosecond"
            file.createVariable("coordinates", "f4", ("frame", "atom", "spatial")).units = "angstrom"
            file.createVariable("cell_lengths", "f8", ("frame", "cell_spatial")).units = "angstrom"
            file.createVariable("cell_angles", "f8", ("frame", "cell_angular")).units = "degree"
            file["time"][:] = np.arange(FRAMES)
            file["coordinates"][:] = xyz
            file["cell_lengths"][:] = np.tile(BOX[:3], (FRAMES, 1))
            file["cell_angles"][:] = np.tile(BOX[3:], (FRAMES, 1))
        return xyz, BOX, 0
    return write


def writers():
    yield "MDAnalysis, DCD", mdanalysis_dcd, ".dcd"
    yield "MDTraj, DCD with boxes", mdtraj_dcd_with_box, ".dcd"
    yield "MDTraj, DCD without boxes", mdtraj_dcd_without_box, ".dcd"
    yield from xtc_writers()
    yield "MDAnalysis, XTC, 9 atoms", few_xtc, ".xtc"
    yield "GROMACS, XTC", gmx_xtc, ".xtc"
    yield "MDAnalysis, TRR", mdanalysis_trr, ".trr"
    yield "MDTraj, TRR", mdtraj_trr, ".trr"
    yield "MDAnalysis, AMBER NetCDF", lambda path, rng: mdanalysis_dcd(path, rng), ".nc"
    yield "MDTraj, AMBER NetCDF", mdtraj_netcdf, ".nc"
    for form in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"):
        yield f"NetCDF library, {form}", netcdf4_amber(form), ".nc"


def check_writers(program, folder):
    good = bad = 0
    rng = generator()
    for number, (name, writer, ending) in enumerate(writers()):
        path = os.path.join(folder, f"{number}{ending}")
        try:
            # A writer returns what it wrote, the box, and the largest error of coordinates. Boxes are stored in single
            # precision: lengths of up to 80 have errors of 4e-6, and angles from vectors or cosines 60 degrees times some 2^-24.
            xyz, box, error = writer(path, rng)
            compare(read_here(program, path), xyz, box, 2e-5, error)
            print(f"{name}: ok")
            good += 1
        except ImportError as missing:
            print(f"{name}: SKIP ({missing})")
        except Wrong as wrong:
            print(f"{name}: FAILED ({wrong})")
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
