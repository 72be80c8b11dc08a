#!/usr/bin/env python3
"""cionize --method cutoff:R: the map against the laws as they are defined, in free space and in cells; the difference from the
full sum that a run tells; ions by the same law; what is refused.

usage: test_cionize_cutoff.py PROGRAM [DEVICE] [test_name ...]
"""
import json
import pathlib

import program
from ion_truth import drawn, generator, numpy, random_molecule, run_ions, vectors, write_dcd, write_molecule
from program import make, read, refuse

R, R_MIN = 5.000123456789, 0.1  # no pair of the positions below, of three decimals, is at this distance
LAWS = {"": "plain", ":plain": "plain", ":shifted": "shifted", ":smoothed": "smoothed", ":switched": "switched",
        ":switched:2.5": "switched"}
COMMON = ["--spacing", "0.9", "--units", "e/A", "--r-min", str(R_MIN)]
GRID = [*COMMON, "--border", "3"]
DOUBLE = [*GRID, "--precision", "double"]


def law(name, r, r_on=None):
    """S(r) of docs/conventions.md."""
    s = numpy.maximum(r, R_MIN)
    r_on = 5 / 6 * R if r_on is None else r_on
    inside = {"plain": lambda: 1 / s, "shifted": lambda: 1 / s - 1 / R, "smoothed": lambda: (1 - s ** 2 / R ** 2) ** 2 / s,
              "switched": lambda: numpy.where(s < r_on, 1, (R ** 2 - s ** 2) ** 2 * (R ** 2 + 2 * s ** 2 - 3 * r_on ** 2)
                                              / (R ** 2 - r_on ** 2) ** 3) / s}[name]()
    return numpy.where(r < R, inside, 0), s


def points_of(grid):
    """[z][y][x][3]"""
    x, y, z = (grid.origin[a] + grid.spacing[a] * numpy.arange(grid.counts[a]) for a in range(3))
    return numpy.stack(numpy.meshgrid(z, y, x, indexing="ij")[::-1], axis=-1)


def shifts(cell):
    """All that bring an image of an atom near a point of the grid."""
    if cell is None:
        return [numpy.zeros(3)]
    return [numpy.array(n) @ cell for n in numpy.ndindex(7, 7, 7) for n in [[m - 3 for m in n]]]


def summed(charges, points, name, r_on=None, cell=None):
    """The sum, and what its error is at most in double precision. With n terms, each is rounded 80 times and added n times at most:
    (n + 80) 2^-53 of sum |q| / s. Positions, of the order of 100 angstrom with their shifts, are rounded some 10 times: 1000
    2^-53 angstrom times the slopes, which are at most 1 / s^2 + 8 / (R^2 - r_on^2)."""
    value, size, slope = (numpy.zeros(points.shape[:-1]) for _ in range(3))
    on = (5 / 6 * R if r_on is None else r_on) if name == "switched" else 0
    moved = shifts(cell)
    for x, y, z, q in charges:
        for shift in moved:
            r = numpy.sqrt(((points - numpy.array([x, y, z]) - shift) ** 2).sum(axis=-1))
            if r.min() >= R:
                continue
            s, distance = law(name, r, r_on)
            value += q * s
            size += numpy.where(r < R, abs(q) / distance, 0)
            slope += numpy.where(r < R, abs(q) * (1 / distance ** 2 + 8 / (R ** 2 - on ** 2)), 0)
    return value, 2.0 ** -53 * ((len(charges) * 3 + 80) * size + 1000 * slope)


def check(path, charges, name, r_on=None, cell=None):
    grid = read(path)
    truth, most = summed(charges, points_of(grid), name, r_on, cell)
    got = numpy.array(grid.values, dtype=float).reshape(truth.shape)
    assert (abs(got - truth) <= most).all(), (path, abs(got - truth).max())  # false for NaN
    return got


def words(argument):
    parts = argument.split(":")
    return LAWS[argument], float(parts[2]) if len(parts) > 2 else None


def test_laws(_):
    atoms = random_molecule(generator(), 60)
    write_molecule("a.pqr", atoms)
    for argument in LAWS:
        name, r_on = words(argument)
        done = make("a.pqr", *DOUBLE, "--method", f"cutoff:{R}{argument}", "-o", "m.h5", "--report", "r.json")
        check("m.h5", atoms[:, :4], name, r_on)
        potential = json.loads(pathlib.Path("r.json").read_text())["potential"]
        told = f"cut off at 5.00012 A ({name})" if name != "switched" else \
            f"cut off at 5.00012 A (switched from {5 / 6 * R if r_on is None else r_on:g} A)"
        assert potential["accuracy"] == told and f"cutoff: {told}, free space" in done.out, (potential, done.out)
        assert potential["method"] == "cutoff" and potential["cutoff"] == R and potential["cutoff_law"] == name
        assert "accurate" not in done.err, done.err


def test_cells(_):
    rng = generator()
    atoms = random_molecule(rng, 25, 3.5)
    write_molecule("a.pqr", atoms)
    for shape in ((8, 9, 10, 90, 90, 90), (8, 9, 10, 80, 95, 70)):
        for argument in (":plain", ":switched:2.5"):
            name, r_on = words(argument)
            done = make("a.pqr", *COMMON, "--precision", "double", "--cell", ",".join(map(str, shape)), "--method", f"cutoff:{R}{argument}", "-o", "m.h5")
            check("m.h5", atoms[:, :4], name, r_on, vectors(shape))
            assert "periodic, images within the cutoff" in done.out and "background" not in done.out, done.out


def test_difference(_):
    """That from the full sum, as parts of the map's rms, at the points that are drawn; in the headers of maps, too."""
    write_molecule("a.pqr", random_molecule(generator(), 200))
    make("-q", "a.pqr", *DOUBLE, "--method", "exact", "-o", "exact.h5")
    done = make("a.pqr", *DOUBLE, "--method", f"cutoff:{R}:shifted", "-o", "m.h5", "--report", "r.json")
    told = json.loads(pathlib.Path("r.json").read_text())["potential"]["difference"]
    cut, full = (numpy.array(read(path).values, dtype=float) for path in ("m.h5", "exact.h5"))
    there = (abs(cut - full) / numpy.sqrt(numpy.mean(cut ** 2)))[list(drawn(read("m.h5").counts, told["points"]))]
    for key, own in (("rms", numpy.sqrt(numpy.mean(there ** 2))), ("largest", there.max())):
        assert abs(told[key] - own) <= 1e-9 * own, (key, told, own)
    assert told["rms"] > 0.01 and "difference from the sum over all atoms:" in done.out and "accurate" not in done.err
    assert "error" not in json.loads(pathlib.Path("r.json").read_text())["potential"]
    for name in ("m.dx", "m.mrc", "m.cube"):
        make("-q", "a.pqr", *GRID, "--method", f"cutoff:{R}:shifted", "-o", name, "--report", "r.json")
        told = json.loads(pathlib.Path("r.json").read_text())["potential"]["difference"]
        line = f"cut off at 5 A: from the full sum {told['rms']:.2g} rms, {told['largest']:.2g} at most"
        assert line in pathlib.Path(name).read_bytes()[:2000].decode("latin-1"), (name, line)


def test_frames(_):
    """Over a trajectory, the mean of the frames' maps, and its difference from the mean of the full sums."""
    rng = generator()
    atoms = random_molecule(rng, 40)
    write_molecule("a.pqr", atoms)
    frames = (atoms[:, :3] + rng.uniform(-1, 1, (3, len(atoms), 3))).astype("f4").astype(float)
    write_dcd("a.dcd", frames)
    common = ["-q", "a.pqr", "--trajectory", "a.dcd", *DOUBLE]
    make(*common, "--method", f"cutoff:{R}:shifted", "-o", "m.h5", "--report", "r.json")
    points = points_of(read("m.h5"))
    parts = [summed([(*place, q) for place, q in zip(frame, atoms[:, 3])], points, "shifted") for frame in frames]
    got = numpy.array(read("m.h5").values, dtype=float).reshape(points.shape[:-1])
    truth, most = (sum(part[n] for part in parts) / len(frames) for n in (0, 1))
    # frames are added in double precision: three roundings of the mean more
    assert (abs(got - truth) <= most + 4 * 2.0 ** -53 * abs(truth)).all(), abs(got - truth).max()
    make(*common, "--method", "exact", "-o", "exact.h5")
    told = json.loads(pathlib.Path("r.json").read_text())["potential"]["difference"]
    there = abs(got.ravel() - numpy.array(read("exact.h5").values, dtype=float)) / numpy.sqrt(numpy.mean(got ** 2))
    own = there[list(drawn(read("m.h5").counts, told["points"]))].max()
    assert abs(told["largest"] - own) <= 1e-9 * own, (told, own)


def test_far_beyond_the_molecule(_):
    """The plain law, cut off beyond all distances, is the exact sum: both are within a few roundings of the same terms."""
    write_molecule("a.pqr", random_molecule(generator(), 50))
    make("-q", "a.pqr", *DOUBLE, "--method", "exact", "-o", "exact.h5")
    make("-q", "a.pqr", *DOUBLE, "--method", "cutoff:1000", "-o", "m.h5")
    got, exact = (numpy.array(read(path).values, dtype=float) for path in ("m.h5", "exact.h5"))
    assert (abs(got - exact) <= 1e-10).all() and abs(exact).max() > 0.1  # 50 terms up to 10, slopes up to 100, positions to 1e-14


def test_variants_and_threads(_):
    """Every variant of the CPU computes the same potential, to what single precision allows; slabs and threads change no bit."""
    atoms = random_molecule(generator(), 300)
    write_molecule("a.pqr", atoms)
    truth = None
    for variant in ("ref", "simd", "baseline", "scatter"):
        make("-q", "a.pqr", *GRID, "--device", "cpu", "--method", f"cutoff:{R}:smoothed:{variant}", "-o", f"{variant}.mrc")
        values = numpy.array(read(f"{variant}.mrc").values, dtype=float)
        truth = values if truth is None else truth
        # 300 terms of up to 1 / r_min = 10, whose slopes are up to 100 with distances good to 1e-6
        assert (abs(values - truth) <= 300 * 2.0 ** -24 * abs(truth).max() + 2e-4).all(), variant
    make("-q", "a.pqr", *GRID, "--device", "cpu", "--threads", "1", "--method", f"cutoff:{R}:smoothed", "-o", "one.mrc")
    assert program.bits("one.mrc") == program.bits("simd.mrc")


def test_ions(_):
    """Each ion is at the free point of least energy by the law of the map, which ions that are there add to."""
    atoms = random_molecule(generator(), 40, 4.0)
    write_molecule("a.pqr", atoms)
    for cell in (None, (9, 10, 11, 90, 90, 90), (9, 10, 11, 85, 95, 80)):
        place = ["--place", "SOD:5", "--place", "CLA:2", "--ion-solute", "1", "--ion-ion", "2"]
        common = [*(GRID if cell is None else [*COMMON, "--cell", ",".join(map(str, cell))]), "--precision", "double", "--method",
                  f"cutoff:{R}:switched"]
        told = run_ions("a.pqr", *common, *place, "--map", "m.h5")
        box = None if cell is None else vectors(cell)
        points = points_of(read("m.h5"))
        potential, _most = summed(atoms[:, :4], points, "switched", None, box)
        free = numpy.ones(points.shape[:-1], dtype=bool)

        def exclude(place, distance):
            for shift in shifts(box):
                free[((points - place - shift) ** 2).sum(axis=-1) < distance ** 2] = False

        for atom in atoms:
            exclude(atom[:3], 1)
        for name, place_of, energy in zip(told.names, told.places, told.energies):
            charge = {"SOD": 1, "CLA": -1}[name]
            least = (charge * potential)[free].min()
            here = (abs(points - place_of).max(axis=-1) < 1e-6) & free
            assert here.sum() == 1, (name, place_of)
            # In a cell the table of g is exact; sums of 40 terms of order 1 in double precision
            assert abs(energy - least) <= 1e-9 and abs(charge * potential[here][0] - energy) <= 1e-9, (name, energy, least)
            potential += summed([(*place_of, charge)], points, "switched", None, box)[0]
            exclude(place_of, 2)
        refined = run_ions("a.pqr", *common, *place[:1], "SOD:1", "--ion-solute", "1", "--refine", "--map", "m.h5")
        assert refined.energies[0] <= told.energies[0], (refined.energies, told.energies)
        alone, _most = summed(atoms[:, :4], refined.places[:1], "switched", None, box)
        assert abs(alone[0] - refined.energies[0]) <= 1e-6, (alone, refined.energies)  # places have some digits in the report


def test_ions_of_maps_that_are_read(_):
    """Ions would act on each other by Coulomb's whole law, and in a cell by all images, next to a molecule that is cut off."""
    pathlib.Path("a.pqr").write_text("ATOM 1 O UNK 1 2.0 3.0 4.0 -1.0 1.5\nATOM 2 C UNK 1 5.0 3.0 4.0 1.0 1.5\n", encoding="ascii")
    for cell in ([], ["--cell", "12,13,14"]):
        for kind in ("dx", "dx.gz", "mrc", "cube", "h5"):
            make("-q", "a.pqr", "--spacing", "1", *cell, "--method", "cutoff:6", "-o", f"map.{kind}")
            refuse(3, [f"map.{kind}", "cut off at 6 A", "--method cutoff"], "a.pqr", "--read-map", f"map.{kind}", "--place", "SOD:1")
            make("-q", "a.pqr", "--read-map", f"map.{kind}", "--profile", "z")  # other uses need no law of ions
        make("-q", "a.pqr", "--spacing", "1", *cell, "-o", "map.dx")
        make("-q", "a.pqr", "--read-map", "map.dx", "--place", "SOD:1", "--ion-solute", "3")


def test_refusals(_):
    write_molecule("a.pqr", random_molecule(generator(), 5))
    for bad in ("cutoff", "cutoff:", "cutoff:0", "cutoff:-3", "cutoff:nan", "cutoff:inf", "cutoff:1e300", "cutoff:2e6", "cutoff:5A",
                "cutoff:abc", "cutoff:5,6"):
        refuse(2, [bad, "distance in angstrom"], "a.pqr", "--method", bad)
    refuse(2, ["cutoff 900000", "spacings"], "a.pqr", "--method", "cutoff:900000", "--device", "cpu")
    refuse(2, ["minimal distance", "0.01"], "a.pqr", "--method", "cutoff:0.01")
    for bad in ("cutoff:5:switched:5", "cutoff:5:switched:-1", "cutoff:5:switched:2x"):
        refuse(2, [bad, "switch"], "a.pqr", "--method", bad)
    for bad in ("cutoff:5:shift", "cutoff:5:plain:2", "cutoff:5:avx", "cutoff:5:plain:shifted"):
        refuse(2, [bad, "neither a law"], "a.pqr", "--method", bad)
    refuse(2, "no variant", "a.pqr", "--method", "exact:scatter", "--device", "cpu")
    refuse(2, ["--method cutoff", "--points"], "a.pqr", "--method", "cutoff:5", "--points", "atoms")
    refuse(8, "distance-dependent", "a.pqr", "--method", "cutoff:5", "--distance-dielectric", "2")
    refuse(8, "Gaussian", "a.pqr", "--method", "cutoff:5", "--smooth", "1")
    refuse(8, "vacuum", "a.pqr", "--method", "cutoff:5", "--cell", "30,30,30", "--boundary", "vacuum")
    refuse(8, "images", "a.pqr", "--method", "cutoff:100000", "--cell", "30,30,30")
    make("-q", "a.pqr", "--method", "cutoff:5", "-o", "m.mrc", "--part", "1/2")
    make("-q", "a.pqr", "--method", "cutoff:6", "-o", "m.mrc", "--part", "2/2")
    refuse(3, "cutoff", "a.pqr", "--method", "cutoff:5", "-o", "m.mrc", "--join")
    pathlib.Path("m.mrc.part-2-of-2").unlink()
    make("-q", "a.pqr", "--method", "cutoff:5", "-o", "m.mrc", "--part", "2/2")
    make("-q", "a.pqr", "--method", "cutoff:5", "-o", "m.mrc", "--join")
    make("-q", "a.pqr", "--method", "cutoff:5", "-o", "whole.mrc")
    assert program.bits("m.mrc") == program.bits("whole.mrc")
    assert "cutoff" not in make("a.pqr", "--dry-run").out  # auto never chooses it


program.main(globals())
