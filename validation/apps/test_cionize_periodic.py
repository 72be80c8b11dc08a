#!/usr/bin/env python3
"""cionize in periodic cells: where the cell comes from, Gaussian charges, boundaries, and trajectories whose cells
change, against plain sums over wave numbers and exact scaling laws.

usage: test_cionize_periodic.py PROGRAM [DEVICE] [test_name ...]
"""
import json
import math
import pathlib
import struct

import program
from ion_truth import generator, numpy, vectors
from program import make, read, refuse, sample

DOUBLE = ["--precision", "double", "--accuracy", "1e-9", "--units", "e/A"]
FINE = 1e-9  # --accuracy: rms error over the map, relative to the rms potential; DX files keep 12 digits


def cryst1(shape):
    return "CRYST1%9.3f%9.3f%9.3f%7.2f%7.2f%7.2f P 1           1\n" % tuple(shape)


def write_pqr(path, atoms, head=""):
    with open(path, "w", encoding="ascii") as stream:
        stream.write(head)
        for n, (x, y, z, q) in enumerate(atoms, 1):
            stream.write(f"ATOM {n} X UNK {n} {x:.6f} {y:.6f} {z:.6f} {q:.6f} 1.0\n")
    return path


def write_dcd(path, frames, shapes):
    """frames: [frame][atom][3]; shapes: [frame][6], lengths and angles, as NAMD writes them: A, cos gamma, B, ..."""
    def record(body):
        return struct.pack("<i", len(body)) + body + struct.pack("<i", len(body))
    numbers = [0] * 20
    numbers[0], numbers[10], numbers[19] = len(frames), 1, 24
    content = record(b"CORD" + struct.pack("<20i", *numbers)) + record(struct.pack("<i80s", 1, b"a test".ljust(80)))
    content += record(struct.pack("<i", len(frames[0])))
    for frame, (a, b, c, alpha, beta, gamma) in zip(frames, shapes):
        cosines = [math.cos(math.radians(angle)) for angle in (alpha, beta, gamma)]
        content += record(struct.pack("<6d", a, cosines[2], b, cosines[1], cosines[0], c))
        for axis in range(3):
            content += record(frame[:, axis].astype("<f4").tobytes())
    pathlib.Path(path).write_bytes(content)


def values_of(path):
    grid = read(path)
    return numpy.array(grid.values), points_of(grid)


def points_of(grid):
    axes = [grid.origin[a] + grid.spacing[a] * numpy.arange(grid.counts[a]) for a in range(3)]
    z, y, x = numpy.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    return numpy.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def waves(cell, atoms, sigma, points):
    """4 pi / V sum_(k != 0) exp(-sigma^2 k^2 / 2) / k^2 S(k) exp(i k r): terms left out are below exp(-40)."""
    most = math.sqrt(80) / sigma
    reciprocal = 2 * math.pi * numpy.linalg.inv(cell).T
    counts = [int(most * numpy.linalg.norm(v) / (2 * math.pi)) + 1 for v in cell]
    n = numpy.stack(numpy.meshgrid(*[numpy.arange(-c, c + 1) for c in counts], indexing="ij"), axis=-1).reshape(-1, 3)
    k = n @ reciprocal
    k2 = (k ** 2).sum(axis=1)
    keep = (k2 > 0) & (k2 < most ** 2)
    factor = numpy.zeros(len(k), dtype=complex)
    factor[keep] = (numpy.exp(-1j * (k[keep] @ atoms[:, :3].T)) @ atoms[:, 3] * numpy.exp(-0.5 * sigma ** 2 * k2[keep]) / k2[keep])
    # exp(i k r) is a product of three factors, each with few wave numbers.
    x, y, z = (numpy.exp(1j * numpy.outer(numpy.arange(-c, c + 1), points @ b)) for c, b in zip(counts, reciprocal))
    total = (factor.reshape(-1, len(z)) @ z).reshape(len(x), len(y), -1)
    return 4 * math.pi / abs(numpy.linalg.det(cell)) * ((total * y).sum(axis=1) * x).sum(axis=0).real


def check(found, expected, allowed, what):
    """Root mean square over the map; 1e-11: the digits in DX files."""
    error, size = numpy.sqrt(((found - expected) ** 2).mean()), numpy.sqrt((expected ** 2).mean())
    assert error <= (allowed + 1e-11) * size, (what, error, size)  # also if it is NaN


def some_atoms(rng, count, extent, neutral=True):
    atoms = numpy.empty((count, 4))
    atoms[:, :3] = numpy.round(rng.uniform(-0.2, 1.2, (count, 3)) * extent, 3)
    atoms[:, 3] = numpy.round(rng.uniform(-1, 1, count), 3)
    if neutral:
        atoms[-1, 3] = -round(atoms[:-1, 3].sum(), 3)
    return atoms


SHAPES = ([7.0, 8.0, 6.5, 90.0, 90.0, 90.0], [7.0, 8.0, 6.5, 75.0, 80.0, 70.0])


def test_smooth_against_waves(_):
    rng = generator()
    for shape in SHAPES:
        for neutral in (True, False):
            atoms = some_atoms(rng, 12, 7, neutral)
            write_pqr("a.pqr", atoms)
            for sigma in (0.5, 1.0, 1 / (math.sqrt(2) * 0.25)):  # the last is PMEPot's default, beta = 0.25
                make("-q", "a.pqr", "--cell", ",".join(map(str, shape)), "--spacing", "0.7", *DOUBLE,
                     f"--smooth={sigma!r}", "-o", "a.dx")
                found, points = values_of("a.dx")
                check(found, waves(vectors(shape), atoms, sigma, points), FINE, (shape, sigma))
                text = pathlib.Path("a.dx").read_text()
                assert "# Gaussian charges: " in text and f"sigma = {sigma:.6g}" in text
                assert ("uniform background" in text) == (not neutral), (neutral, text[:900])


def test_smooth_in_free_space(_):
    rng = generator()
    atoms = some_atoms(rng, 12, 7)
    write_pqr("a.pqr", atoms)
    make("-q", "a.pqr", "--border", "3", "--spacing", "0.9", *DOUBLE, "--smooth", "0.8", "-o", "a.dx")
    found, points = values_of("a.dx")
    expected = numpy.zeros(len(points))
    for x, y, z, q in atoms:
        r = numpy.maximum(numpy.sqrt(((points - [x, y, z]) ** 2).sum(axis=1)), 1e-9)
        expected += q / r * numpy.array([math.erf(v / (math.sqrt(2) * 0.8)) for v in r])
    check(found, expected, FINE, "free space")


def test_smooth_is_checked(_):
    sample("dipole.pqr")
    refuse(2, ["--smooth", "--place"], "dipole.pqr", "--smooth", "1", "--place", "SOD:1")
    refuse(2, ["--smooth", "--distance-dielectric"], "dipole.pqr", "--smooth", "1", "--distance-dielectric", "4")
    refuse(2, "--smooth", "dipole.pqr", "--smooth", "0")
    refuse(8, ["direct sum", "Gaussian"], "dipole.pqr", "--smooth", "1", "--method", "direct")


def test_boundaries(_):
    """Vacuum adds 4 pi D . r / (3 V), D the dipole moment."""
    rng = generator()
    atoms = some_atoms(rng, 9, 7)
    write_pqr("a.pqr", atoms)
    dipole = atoms[:, 3] @ atoms[:, :3]
    for shape in SHAPES:
        for more in ([], ["--smooth", "0.7"]):
            cell = ["--cell", ",".join(map(str, shape)), "--spacing", "0.7", *DOUBLE, *more]
            make("-q", "a.pqr", *cell, "-o", "a.dx")
            done = make("a.pqr", *cell, "--boundary", "vacuum", "-o", "b.dx", "--report", "r.json")
            tinfoil, points = values_of("a.dx")
            vacuum, _ = values_of("b.dx")
            expected = tinfoil + 4 * math.pi / (3 * abs(numpy.linalg.det(vectors(shape)))) * (points @ dipole)
            check(vacuum, expected, 2 * FINE, shape)
            assert "boundary vacuum" in done.out and ", vacuum" in pathlib.Path("b.dx").read_text()[:2000]
            assert json.loads(pathlib.Path("r.json").read_text())["potential"]["boundary"] == "vacuum"
    refuse(2, ["--boundary", "--cell"], "a.pqr", "--boundary", "vacuum")
    refuse(2, "--boundary", "a.pqr", "--cell", "7,7,7", "--boundary", "vacuum", "--place", "SOD:1")
    atoms[0, 3] += 1
    write_pqr("charged.pqr", atoms)
    refuse(2, ["vacuum", "neutral"], "charged.pqr", "--cell", "7,7,7", "--boundary", "vacuum")


def test_net_charge_is_said(_):
    write_pqr("a.pqr", [(1, 2, 3, 1.5), (4, 4, 4, -0.25)])
    done = make("a.pqr", "--cell", "9,9,9", "-o", "a.mrc", "--report", "r.json")
    report = json.loads(pathlib.Path("r.json").read_text())
    assert report["potential"]["background_charge"] == -1.25 and report["potential"]["boundary"] == "tinfoil"
    assert report["grid"]["cell"] == [9, 0, 0, 0, 9, 0, 0, 0, 9]
    assert "+1.25 e is neutralised by a uniform background" in done.out, done.out
    text = pathlib.Path("a.mrc").read_bytes()
    assert b"periodic: 9 9 9 90 90 90, tinfoil; 1.25 e neutralised by a uniform background" in text and b"command: " in text
    make("-q", "a.pqr", "--cell", "9,9,9", "--smooth", "1", "-o", "b.mrc")  # one line more than a header has labels
    text = pathlib.Path("b.mrc").read_bytes()[:1024]
    assert b"Gaussian charges: " in text and b"error asked 1e-06; measured " in text and b"command: " not in text, text


def test_cell_of_the_file(_):
    rng = generator()
    for shape in SHAPES:
        atoms = some_atoms(rng, 9, 7)
        write_pqr("a.pqr", atoms, cryst1(shape))
        write_pqr("words.pqr", atoms, "CRYST1 " + " ".join(map(str, shape)) + " P 1\n")
        written = ["--cell", ",".join(map(str, shape))]
        make("-q", "a.pqr", *written, "-o", "a.mrc" if shape[3] == 90 else "a.dx")
        for name in ("a.pqr", "words.pqr"):
            make("-q", name, "--cell", "input", "-o", "b.mrc" if shape[3] == 90 else "b.dx")
            assert (program.bits("a.mrc") == program.bits("b.mrc") if shape[3] == 90 else
                    read("a.dx").values == read("b.dx").values), (shape, name)
        # The cells of frames come first.
        frame = atoms[:, :3].astype("f4").astype(float)
        write_dcd("t.dcd", [frame, frame], [[length * 2 for length in shape[:3]] + shape[3:]] * 2)
        done = make("a.pqr", "--trajectory", "t.dcd", "--cell", "input", "-o", "c.h5")
        assert "cell       14 x 16 x 13 A" in done.out and "mean of the frames' cells" in done.out, done.out
        done = make("a.pqr", "--trajectory", "t.dcd", *written, "-o", "c.h5")
        assert "cell       7 x 8 x 6.5 A" in done.out, done.out
    write_pqr("dummy.pqr", atoms, cryst1([1, 1, 1, 90, 90, 90]))
    refuse(3, ["dummy.pqr", "1 x 1 x 1", "there is none"], "dummy.pqr", "--cell", "input")
    make("-q", "dummy.pqr", "-o", "d.dx")  # no cell was asked for
    write_pqr("bad.pqr", atoms, "CRYST1   60.000   60.000\n")
    refuse(3, ["bad.pqr", "cannot be read"], "bad.pqr", "--cell", "input")
    write_pqr("radians.pqr", atoms, cryst1([60, 60, 70, 1.57, 1.57, 1.57]))
    refuse(3, ["radians.pqr", "in radians", "--cell A,B,C,ALPHA,BETA,GAMMA"], "radians.pqr", "--cell", "input")
    write_dcd("radians.dcd", [frame, frame], [SHAPES[0], [14, 16, 13, 1.5708, 1.5708, 2.0944]])
    refuse(3, ["radians.dcd: frame 2", "in radians"], "a.pqr", "--trajectory", "radians.dcd", "--cell", "input")
    write_pqr("none.pqr", atoms)
    refuse(3, ["none.pqr", "no periodic cell", "--cell A,B,C"], "none.pqr", "--cell", "input")
    write_dcd("none.dcd", [frame, frame], [SHAPES[0], [0, 0, 0, 90, 90, 90]])
    refuse(3, ["none.dcd: frame 2", "no periodic cell"], "a.pqr", "--trajectory", "none.dcd", "--cell", "input")


def write_gro(path, frames, shapes):
    """frames in angstrom, with at most three decimals of a nm; boxes with nine numbers of ten decimals."""
    with open(path, "w", encoding="ascii") as stream:
        for places, shape in zip(frames, shapes):
            stream.write(f"frame\n{len(places)}\n")
            for n, (x, y, z) in enumerate(places, 1):
                stream.write(f"{n:5d}UNK  {'X':>5s}{n:5d}{x / 10:8.3f}{y / 10:8.3f}{z / 10:8.3f}\n")
            v = vectors(shape) / 10
            stream.write(" ".join(f"{v[i][j]:.10f}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))) + "\n")
    return path


def test_gromacs_files(_):
    """The same atoms and cells from .gro files, as coordinates, frames and for the cell alone, and from PQR and numbers.
    Positions have few decimals; the boxes' tenth moves the map by about 1e-9 of itself."""
    rng = generator()
    for shape in SHAPES:
        atoms = some_atoms(rng, 9, 7)
        atoms[:, :3] = numpy.round(atoms[:, :3] * 25) / 25  # 0.004 nm
        write_pqr("a.pqr", atoms)
        charges = "".join(f"{n:8d} A    {n:<4d} UNK  X    X    {q:10.6f} {1.0:13.4f}           0\n" for n, q in enumerate(atoms[:, 3], 1))
        pathlib.Path("a.psf").write_text(f"PSF\n\n{0:8d} !NTITLE\n\n{len(atoms):8d} !NATOM\n{charges}")
        frames = [atoms[:, :3], atoms[:, :3] + 0.25]
        write_gro("one.gro", frames[:1], [shape])
        write_gro("two.gro", frames, [shape] * 2)
        numbers = ["--cell", ",".join(map(str, shape))]
        grid = ["--counts", "9,10,8", "--origin", "0.5", *DOUBLE]
        make("-q", "a.pqr", *numbers, *grid, "-o", "a.dx")
        expected, _ = values_of("a.dx")
        for arguments in (["one.gro", "--charges", "a.psf", "--cell", "input"], ["one.gro", "--charges", "a.psf", *numbers],
                          ["a.pqr", "--cell", "one.gro"], ["one.gro", "--charges", "a.psf", "--cell", "one.gro"]):
            make("-q", *arguments, *grid, "-o", "b.dx")
            check(values_of("b.dx")[0], expected, 3 * FINE, (arguments, shape))
        write_dcd("two.dcd", frames, [shape] * 2)
        make("-q", "a.pqr", "--trajectory", "two.gro", "--cell", "input", *grid, "-o", "b.dx")
        make("-q", "a.pqr", "--trajectory", "two.dcd", "--cell", "two.gro", *grid, "-o", "c.dx")
        check(values_of("b.dx")[0], values_of("c.dx")[0], 1e-6, shape)  # DCD files have single precision
    refuse(3, ["one.gro", ".gro file", "--charges"], "one.gro", *numbers)
    refuse(3, ["none.pdb", "No such file"], "a.pqr", "--cell", "none.pdb")
    refuse(3, ["a.pqr", "no periodic cell"], "a.pqr", "--cell", "a.pqr")
    refuse(2, ["--cell 'one.xyz'", ".gro"], "a.pqr", "--cell", "one.xyz")


def test_cells_that_change(_):
    """Scaling positions and the cell by t divides the potential of points by t, at the same fractional coordinates. So
    the mean over frames is the first one's, times the mean of 1 / t; the deviation likewise. Positions and t have few
    bits, so single precision keeps them."""
    rng = generator()
    scales = [1, 1.03125, 0.96875, 1.0625]
    for shape in SHAPES:
        atoms = numpy.empty((15, 4))
        atoms[:, :3] = rng.integers(-200, 600, (15, 3)) / 64
        atoms[:, 3] = numpy.round(rng.uniform(-1, 1, 15), 3)
        write_pqr("a.pqr", atoms)
        write_dcd("t.dcd", [atoms[:, :3] * t for t in scales], [[length * t for length in shape[:3]] + shape[3:] for t in scales])
        # The origin scales with the frames; r_min, which does not, is not reached.
        options = ["--counts", "9,10,8", "--cell", "input", "--r-min", "1e-6", *DOUBLE]
        mean_scale = numpy.mean(scales)
        origin = numpy.array([0.3137, -1.2431, 0.7179])
        make("-q", "a.pqr", "--trajectory", "t.dcd", "--frames", "1", *options, "--origin", ",".join(map(repr, map(float, origin))),
             "-o", "one.dx")
        make("-q", "a.pqr", "--trajectory", "t.dcd", *options, "--origin", ",".join(map(repr, map(float, origin * mean_scale))),
             "-o", "mean.dx", "--deviation", "dev.dx")
        one, points = values_of("one.dx")
        mean, at = values_of("mean.dx")
        deviation, _ = values_of("dev.dx")
        inverse = 1 / numpy.array(scales)
        assert numpy.abs(at - points * mean_scale).max() < 1e-9, "the map has the mean cell"
        check(mean, one * inverse.mean(), 3 * FINE, shape)
        check(deviation, numpy.abs(one) * inverse.std(), 3 * FINE / inverse.std(), shape)
        # Along each axis by itself, a cell of right angles can also change.
        if shape[3] == 90:
            factors = [[1, 1, 1], [1.0625, 1, 0.96875]]
            write_dcd("t.dcd", [atoms[:, :3] * f for f in factors], [list(numpy.array(shape[:3]) * f) + shape[3:] for f in factors])
            smooth = ["--smooth", "0.6", *options, "--origin", "0"]
            make("-q", "a.pqr", "--trajectory", "t.dcd", *smooth, "-o", "mean.dx")
            mean, at = values_of("mean.dx")
            centre = numpy.mean(factors, axis=0)
            each = [waves(vectors(list(numpy.array(shape[:3]) * f) + shape[3:]), numpy.hstack([atoms[:, :3] * f, atoms[:, 3:]]),
                          0.6, at / centre * f) for f in factors]
            check(mean, numpy.mean(each, axis=0), 2 * FINE, "anisotropic")
        else:
            write_dcd("t.dcd", [atoms[:, :3]] * 2, [shape, shape[:5] + [shape[5] + 1]])
            refuse(8, ["t.dcd: frame", "shape of the cell"], "a.pqr", "--trajectory", "t.dcd", *options)


def test_measured_errors(_):
    """The exact sums that a map is compared with are of Gaussian charges, in vacuum, in each frame's cell. At 1e-9, any
    other formula or cell would be seen."""
    rng = generator()
    for shape in SHAPES:
        write_pqr("neutral.pqr", some_atoms(rng, 12, 7))
        atoms = some_atoms(rng, 12, 7, neutral=False)
        write_pqr("charged.pqr", atoms)
        scales = (1, 1.03125)
        write_dcd("t.dcd", [atoms[:, :3] * t for t in scales], [[length * t for length in shape[:3]] + shape[3:] for t in scales])
        cell = ["--cell", ",".join(map(str, shape)), "--spacing", "0.7"]
        for options in (cell, [*cell, "--boundary", "vacuum"], [*cell, "--smooth", "0.3"], [*cell, "--smooth", "2"],
                        [*cell, "--smooth", "0.7", "--boundary", "vacuum"], ["--spacing", "0.9", "--smooth", "0.8"],
                        ["--trajectory", "t.dcd", "--cell", "input", "--counts", "9,10,8"],
                        ["--trajectory", "t.dcd", "--cell", "input", "--counts", "9,10,8", "--smooth", "0.4"]):
            done = make("neutral.pqr" if "vacuum" in options else "charged.pqr", *options, *DOUBLE, "--method", "fast", "-o", "a.h5",
                        "--report", "r.json")
            error = json.loads(pathlib.Path("r.json").read_text())["potential"]["error"]
            assert 0 < error["rms"] <= 1e-9 and "less accurate" not in done.err, (shape, options, error, done.err)


def nearest_squares(cell, points, at):
    """The squares of the distances of the nearest images, at most a cell away from the image in the middle one: no angle of
    the cells here is below 70 degrees."""
    turns = numpy.stack(numpy.meshgrid(*[numpy.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) @ cell
    apart = (points - at) @ numpy.linalg.inv(cell)
    apart = (apart - numpy.rint(apart)) @ cell
    best = numpy.full(len(points), numpy.inf)
    for turn in turns:
        best = numpy.minimum(best, ((apart + turn) ** 2).sum(axis=1))
    return best


def test_ions_keep_their_distance_from_images(_):
    """Ions on a computed map, and on the same map read from files: no pair of images is nearer than asked, and each ion
    has the lowest energy. Energies are in single precision's map, to 1e-8 of it otherwise."""
    rng = generator()
    for shape in ([14.0, 15.0, 13.0, 90.0, 90.0, 90.0], [14.0, 15.0, 13.0, 75.0, 80.0, 70.0]):
        cell = vectors(shape)
        atoms = some_atoms(rng, 40, 14)
        write_pqr("a.pqr", atoms, cryst1(shape))
        options = ["--place", "SOD:9", "--place", "CLA:8", "--ion-solute", "1.5", "--ion-ion", "4"]
        done = make("a.pqr", "--cell", "input", "--spacing", "0.8", *DOUBLE, *options, "--map", "m.h5", "--ions", "i.xyz", "--report",
                    "r.json", "--mask", "mask.dx")
        ions = json.loads(pathlib.Path("r.json").read_text())["ions"]
        places = numpy.stack([ions[a] for a in "xyz"], axis=1)
        assert len(places) > 5, done.out
        close = min(nearest_squares(cell, places[:n], places[n]).min() for n in range(1, len(places)))
        assert close >= 16 * (1 - 1e-9), math.sqrt(close)
        outside = min(nearest_squares(cell, atoms[:, :3], place).min() for place in places)
        assert outside >= 2.25 * (1 - 1e-9), math.sqrt(outside)
        plain = min(((places[:n] - places[n]) ** 2).sum(axis=1).min() for n in range(1, len(places)))
        assert plain >= close
        same_grid = ["--cell", ",".join(map(str, shape)), "--spacing", "0.8", *DOUBLE, "--origin", ",".join(map(repr, read("m.h5").origin))]
        potential, points = values_of("m.h5")
        free = numpy.ones(len(points), dtype=bool)
        for atom in atoms:
            free &= nearest_squares(cell, points, atom[:3]) >= 2.25 * (1 + 1e-12)
        for n, place in enumerate(places):
            charge = 1.0 if ions["name"][n] == "SOD" else -1.0
            energies = charge * potential
            index = int(((points - place) ** 2).sum(axis=1).argmin())
            assert free[index] and energies[index] <= energies[free].min() + 1e-6 * abs(energies[index]), (n, shape)
            assert abs(ions["energy"][n] - energies[index]) <= 1e-6 * abs(energies[index])
            free &= nearest_squares(cell, points, place) >= 16 * (1 + 1e-12)
            write_pqr("ion.pqr", [(*place, charge)])
            make("-q", "ion.pqr", *same_grid, "-o", "ion.h5")
            potential += values_of("ion.h5")[0]
        # The same from files: HDF5 has the cell as an attribute, DX as a comment.
        for name in ("m.h5", "m.dx"):
            if name == "m.dx":
                make("-q", "a.pqr", "--cell", "input", "--spacing", "0.8", *DOUBLE, "-o", name)
            make("-q", "a.pqr", "--read-map", name, "--units", "e/A", *options, "-o", "b.pdb", "--report", "again.json")
            again = json.loads(pathlib.Path("again.json").read_text())["ions"]
            found = numpy.stack([again[a] for a in "xyz"], axis=1)
            assert found.shape == places.shape and numpy.abs(found - places).max() < 1e-6, name
        # A map of another program, whose cell --cell states.
        lines = [line for line in pathlib.Path("m.dx").read_text().splitlines(True) if not line.startswith("# periodic")]
        pathlib.Path("other.dx").write_text("".join(lines))
        make("-q", "a.pqr", "--read-map", "other.dx", "--cell", "input", "--units", "e/A", *options, "-o", "c.pdb", "--report",
             "again.json")
        again = json.loads(pathlib.Path("again.json").read_text())["ions"]
        assert numpy.abs(numpy.stack([again[a] for a in "xyz"], axis=1) - places).max() < 1e-6
        refuse(3, ["m.h5", "another periodic cell"], "a.pqr", "--read-map", "m.h5", "--cell", "14,15,13.5", "--units", "e/A", *options)
        # The map with ions is that of all charges.
        make("-q", "a.pqr", "--cell", "input", "--spacing", "0.8", *DOUBLE, *options, "-o", "d.pqr", "--map", "with.dx", "--map-with-ions")
        charges = numpy.array([[1.0 if name == "SOD" else -1.0] for name in ions["name"]])
        write_pqr("all.pqr", numpy.vstack([atoms, numpy.hstack([places, charges])]))
        origin = ",".join(repr(v) for v in read("with.dx").origin)
        make("-q", "all.pqr", "--cell", ",".join(map(str, shape)), "--origin", origin, "--spacing", "0.8", *DOUBLE, "-o", "all.dx")
        check(values_of("with.dx")[0], values_of("all.dx")[0], 1e-5, "ions in the map")  # six decimals of positions
        # Off the grid: no nearer than before, and where the map with the ions before them is lower.
        fewer = ["--place", "SOD:3", "--place", "CLA:2", *options[4:]]  # each takes half a second
        make("-q", "a.pqr", "--cell", "input", "--spacing", "0.8", *DOUBLE, *fewer, "--refine", "-o", "e.pqr", "--report", "refined.json")
        refined = json.loads(pathlib.Path("refined.json").read_text())["ions"]
        places = numpy.stack([refined[a] for a in "xyz"], axis=1)
        assert len(places) == 5 and refined["refined"] and refined["energy"][0] < ions["energy"][0], refined
        assert min(nearest_squares(cell, places[:n], places[n]).min() for n in range(1, len(places))) >= 16 * (1 - 1e-9)
        assert min(nearest_squares(cell, atoms[:, :3], place).min() for place in places) >= 2.25 * (1 - 1e-9)
        first = numpy.vstack([atoms, [*places[0], 1.0 if refined["name"][0] == "SOD" else -1.0]])
        write_pqr("first.pqr", first)  # the second ion's energy: all before it, at its place
        make("-q", "first.pqr", "--cell", ",".join(map(str, shape)), "--counts", "1", "--origin", ",".join(map(repr, places[1])),
             *DOUBLE, "-o", "first.dx")
        value = values_of("first.dx")[0][0] * (1.0 if refined["name"][1] == "SOD" else -1.0)
        assert abs(refined["energy"][1] - value) <= 1e-5 * abs(value), (refined["energy"][1], value)
    done = make("a.pqr", "--cell", "input", "--place", "SOD:1", "--ion-solute", "1.5", "--ion-ion", "13.5", "-o", "e.pdb")
    assert "the images of an ion are 13 A apart" in done.err, done.err


def test_maps_keep_their_cell(_):
    """An ion that is placed by a map from a file feels its images, and its distance to them, as if the map were not written. The second
    comment of a cube file has the cell, however long the other texts are; VMD reads 255 characters."""
    name = "a_name_that_leaves_little_room_for_anything_else_in_a_line_of_comments_which_viewers_cut.pqr"
    write_pqr(name, some_atoms(generator(), 9, 9))
    ions = ["--place", "SOD:1", "--place", "CLA:1", "--ion-solute", "2.5", "--ion-ion", "6", "--report", "r.json", "-o", "r.pdb"]

    def placed(*arguments):
        make("-q", name, *arguments, *ions)
        found = json.loads(pathlib.Path("r.json").read_text(encoding="ascii"))["ions"]
        return numpy.array([found[axis] for axis in "xyz"]), numpy.array(found["energy"])

    for shape, kinds in ((12, 13, 14, 90, 90, 90), ("dx", "h5", "mrc", "cube")), ((13, 13, 14, 80, 75, 65), ("dx", "h5", "cube")):
        cell = ["--cell", ",".join(map(str, shape)), "--spacing", "1"]
        places, energies = placed(*cell)
        for kind in kinds:
            make("-q", name, *cell, "--precision", "double", "-o", "map." + kind)
            again, read_energies = placed("--read-map", "map." + kind)
            assert abs(again - places).max() < 1e-5, (kind, shape)  # cube files are in bohr, of 12 digits
            assert abs(read_energies - energies).max() < 1e-4 * abs(energies).max(), (kind, shape)  # 6 digits of the potential
        make("-q", name, *cell, "--smooth", "1", "--select", "not (" + " and ".join(f"index {n}" for n in range(9)) + ")", "-o", "map.cube")
        with open("map.cube", encoding="ascii") as file:
            first, second = file.readline(), file.readline()
        assert max(len(first), len(second)) < 255 and "; periodic: " in second and "; of selected atoms: not (" in second, second


def test_read_map_of_other_kinds(_):
    write_pqr("a.pqr", [(1, 2, 3, 1.5), (4, 4, 4, -1.5)])
    for name in ("a.h5", "a.dx", "a.cube"):
        make("-q", "a.pqr", "--cell", "9,9,9", "--smooth", "1", "-o", name)
        refuse(3, [name, "--smooth 1"], "a.pqr", "--read-map", name, "--place", "SOD:1")
        make("-q", "a.pqr", "--cell", "9,9,9", "--boundary", "vacuum", "-o", name)
        refuse(3, [name, "vacuum"], "a.pqr", "--read-map", name, "--place", "SOD:1")


def test_solvent_of_a_cell(_):
    """The solvent of a periodic cell does not depend on where the cell is cut: an atom in the middle, or on a corner."""
    volumes = []
    for x in (5.0, 0.0, -20.0):
        write_pqr("a.pqr", [(x, x, x, 1.0)])
        make("-q", "a.pqr", "--cell", "10,10,10", "--origin", "0", "--spacing", "0.25", "--concentration", "0.5", "--ion-solute", "2",
             "-o", "b.pdb", "--report", "r.json")
        volumes.append(json.loads(pathlib.Path("r.json").read_text())["ions"]["solvent_volume"])
    # A sphere of radius 1, as in its PQR file. Grid points in it: to about a spacing times its surface, divided by 4.
    expected = 1000 - 4 / 3 * math.pi
    assert volumes[0] == volumes[1] == volumes[2], volumes
    assert abs(volumes[0] - expected) < 0.8, (volumes, expected)


if __name__ == "__main__":
    program.main(globals())
