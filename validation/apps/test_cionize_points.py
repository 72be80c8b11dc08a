#!/usr/bin/env python3
"""cionize at points: every format of points, formulas of physics, exclusions, frames, field maps, bad input.

usage: test_cionize_points.py PROGRAM [DEVICE] [test_name ...]

Bounds. CSV has 12 digits of values, of positions 9: a value is off by 1e-11 of itself, where not stated otherwise. Sums by
the method fast are off by 10 times --accuracy of the rms, at most.
"""
import csv
import json
import math
import pathlib

import program
from ion_truth import generator, numpy
from program import make, read, refuse, run, sample, Skip

NEAR = 1e-11
E_PER_A = ["--units", "e/A"]


def write_pqr(path, atoms, residues=None, head=""):
    with open(path, "w", encoding="ascii") as stream:
        stream.write(head)
        for n, (x, y, z, q) in enumerate(atoms, 1):
            residue = residues[n - 1] if residues else n
            stream.write(f"ATOM {n} X UNK {residue} {x:.6f} {y:.6f} {z:.6f} {q:.6f} 1.0\n")
    return path


def rows(path):
    with open(path, encoding="ascii", newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


def numbers(path, names=("potential",)):
    found = [[float(row[name]) for name in names] for row in rows(path)]
    assert found and all(math.isfinite(value) for row in found for value in row), path
    return found


FIELD = ("potential", "Ex", "Ey", "Ez")


def close(value, expected, bound, what=""):
    assert abs(value - expected) <= bound, f"{what}: {value!r} instead of {expected!r}, more than {bound:g} away"


def coulomb(atoms, point, skip=()):
    """Potential and field in e/A and e/A^2."""
    out = [0.0] * 4
    for i, (x, y, z, q) in enumerate(atoms):
        d = [point[0] - x, point[1] - y, point[2] - z]
        r = math.sqrt(sum(a * a for a in d))
        if i in skip:
            continue
        out[0] += q / r
        for a in range(3):
            out[a + 1] += q * d[a] / r ** 3
    return out


def cloud(draw, count, edge):
    return [(*(round(x, 6) for x in draw.uniform(0, edge, 3)), round(q, 6)) for q in draw.uniform(-1, 1, count)]


def test_formats(_):
    """The same points from every kind of file."""
    points = [(1.5, -2.25, 3.125), (0.5, 0.25, -4.0), (10.0, 20.0, -30.5)]
    atoms = [(0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0, -0.5)]
    write_pqr("a.pqr", atoms)
    text = {
        "plain.txt": "".join(f"{x} {y} {z}\n" for x, y, z in points),
        "tabs.dat": "# comment\n\n" + "".join(f"{x}\t{y}\t{z}\tmore\n" for x, y, z in points),
        "header.csv": "name,z,x,y\n" + "".join(f'"a b",{z},{x},{y}\n' for x, y, z in points),
        "commented.txt": "# x y z q\n" + "".join(f"{x} {y} {z} 0.5\n" for x, y, z in points),
        "words.txt": "# sites of water, y before z\n" + "".join(f"{x} {y} {z}\n" for x, y, z in points),
        "numbered.txt": "n x_A y_A z_A\n" + "".join(f"{n} {x} {y} {z}\n" for n, (x, y, z) in enumerate(points)),
        "titles.csv": "first;second;third\r\n" + "".join(f"{x}; {y}; {z}\r\n" for x, y, z in points),
        "units.csv": "site,x (A),y (A),z (A)\n" + "".join(f"ASP 25,{x},{y},{z}\n" for x, y, z in points),
        "sites.csv": "site;note;x;y;z\n" + "".join(f"ASP 25;1,5;{x};{y};{z}\n" for x, y, z in points),
        "sites.tsv": "site\tnote\tx\ty\tz\n" + "".join(f"ASP 25\t\t{x}\t{y}\t{z}\n" for x, y, z in points),
        "aligned.dat": "".join(f"  {x}\t\t{y} \t{z}\n" for x, y, z in points),
        "spaced.txt": "x y z\n" + "".join(f"{x} ,{y},  {z}, \n" for x, y, z in points),
        "a.xyz": "3\ntitle 1 2 3\n" + "".join(f"O {x} {y} {z} 7\n" for x, y, z in points),
        "ovito.xyz": "3\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=id:I:1:species:S:1:q:R:1:pos:R:3:v:R:3\n" + "".join(
            f"{n} O 0.5 {x} {y} {z} 7 8 9\n" for n, (x, y, z) in enumerate(points)),
        "a.pdb": "".join(f"ATOM  {n:5d}  O   HOH A{n:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           O\n"
                         for n, (x, y, z) in enumerate(points, 1)) + "END\n",
        "b.pqr": "".join(f"ATOM {n} O HOH {n} {x:.4f} {y:.4f} {z:.4f} 0.5 1.0\n"
                         for n, (x, y, z) in enumerate(points, 1)),
    }
    for name, content in text.items():
        pathlib.Path(name).write_text(content, encoding="ascii")
    names = list(text)
    try:
        import h5py
        with h5py.File("p.h5", "w") as file:
            file["points"] = numpy.array(points)
        names.append("p.h5")
    except ImportError:
        program.skip_part("no h5py")
    for name in names:
        make("a.pqr", "--points", name, "--field", *E_PER_A, "--points-out", "out.csv")
        got = numbers("out.csv", FIELD)
        assert len(got) == 3, name
        for point, values in zip(points, got):
            for value, expected in zip(values, coulomb(atoms, point)):
                close(value, expected, NEAR * 2, name)
    assert not pathlib.Path("a.dx").exists(), "only points were asked for"
    make("a.pqr", "--points", "plain.txt", "-o", "map.dx", "--spacing", "4")
    assert read("map.dx").values and pathlib.Path("a_points.csv").exists()
    make("a.pqr", "--points", "a_points.csv", "--points-out", "again.csv")  # its own output
    assert [row["potential"] for row in rows("again.csv")] == [row["potential"] for row in rows("a_points.csv")]


def test_charge_and_dipole(_):
    """Units: the field of a charge in V/A; the far field of a dipole, off by 2 (a / r)^2 of itself, a half its
    length: 1.25e-5."""
    write_pqr("one.pqr", [(0.0, 0.0, 0.0, 1.0)])
    pathlib.Path("p.txt").write_text("2 0 0\n0 0 0.05\n", encoding="ascii")
    make("one.pqr", "--points", "p.txt", "--field", "--units", "V", "--dielectric", "2", "--points-out", "o.csv")
    (v, ex, ey, ez), inside = numbers("o.csv", FIELD)
    close(v, program.unit_constant("V") / 4, 1e-9, "potential")
    close(ex, program.unit_constant("V") / 8, 1e-9, "field")
    close(abs(ey) + abs(ez), 0, 1e-12)
    close(inside[0], program.unit_constant("V") / 0.2, 1e-7, "within r_min")
    assert inside[1:] == [0, 0, 0], "the field within --r-min"
    write_pqr("dipole.pqr", [(0.0, 0.0, 0.5, 1.0), (0.0, 0.0, -0.5, -1.0)])
    pathlib.Path("p.txt").write_text("0 0 200\n200 0 0\n", encoding="ascii")
    make("dipole.pqr", "--points", "p.txt", "--field", *E_PER_A, "--points-out", "o.csv")
    along, across = numbers("o.csv", FIELD)
    close(along[3], 2 / 200 ** 3, 2e-5 * 2 / 200 ** 3)
    close(across[3], -1 / 200 ** 3, 2e-5 / 200 ** 3)
    make("one.pqr", "--points", "p.txt", "--field", *E_PER_A, "--distance-dielectric", "4", "--points-out", "o.csv")
    close(numbers("o.csv", FIELD)[0][3], 2 / 4 / 200 ** 3, 1e-11 / 200 ** 3, "a distance-dependent dielectric")


def test_madelung(_):
    """Rock salt: -1.74756459... of the charge over the distance; the field is 0. The word exact means Ewald's own sum."""
    edge = 5.64
    sites = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    write_pqr("salt.pqr", [(x * edge / 2, y * edge / 2, z * edge / 2, 1.0 - 2 * ((x + y + z) % 2)) for x, y, z in sites])
    for method, bound in ((["exact"], 1e-10), (["fast", "--accuracy", "1e-8"], 1e-7)):
        make("salt.pqr", "--points", "atoms", "--field", "--cell", f"{edge},{edge},{edge}", *E_PER_A, "--method",
             *method, "--points-out", "o.csv")
        for (x, y, z), (v, *e) in zip(sites, numbers("o.csv", FIELD)):
            close(v * edge / 2, -1.7475645946331822 * (1 - 2 * ((x + y + z) % 2)), bound, method)
            for component in e:
                close(component, 0, bound, method)


def test_third_law(_):
    """The forces of the atoms on each other add up to 0: in free space, by exact sums, to rounding; in a cell, to the
    accuracy of the fields, n forces independently."""
    draw = generator()
    atoms = cloud(draw, 300, 20.0)
    write_pqr("a.pqr", atoms)
    for options, accuracy in (([], 1e-12), (["--cell", "20,20,20,80,70,85"], 1e-7), (["--cell", "25,20,22"], 1e-7)):
        make("a.pqr", "--points", "atoms", "--field", *E_PER_A, *options, "--accuracy", "1e-7", "--points-out", "o.csv")
        fields = numbers("o.csv", FIELD)
        size = math.sqrt(sum(e * e for row in fields for e in row[1:]))
        for a in range(3):
            close(sum(q * row[a + 1] for (_, _, _, q), row in zip(atoms, fields)), 0, 10 * accuracy * size, str(options))


def test_exclusions(_):
    """atom, residue and nothing, against the formula; at an atom itself, the potential of nothing excluded is its own,
    q / r_min, more."""
    draw = generator()
    atoms = cloud(draw, 12, 8.0)
    residues = [1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 5, 5]
    write_pqr("a.pqr", atoms, residues)
    for what in ("atom", "residue", "nothing"):
        make("a.pqr", "--points", "atoms", "--field", "--exclude", what, *E_PER_A, "--points-out", "o.csv")
        got = numbers("o.csv", FIELD)
        for i, values in enumerate(got):
            skip = [n for n in range(12) if n == i or (what == "residue" and residues[n] == residues[i])]
            expected = coulomb(atoms, atoms[i], skip)
            expected[0] += atoms[i][3] / 0.1 if what == "nothing" else 0
            for value, right in zip(values, expected):
                close(value, right, 1e-10 * max(1, abs(right)), what)
        labels = rows("o.csv")
        assert [row["residue_number"] for row in labels] == [str(n) for n in residues]
        assert all(row["name"] == "X" and row["residue"] == "UNK" for row in labels)


def test_molecules_that_share_a_number(_):
    """Water molecules and ions with one number for all are residues of their own: at an atom its own molecule is left out, not its
    neighbours. Of a ligand, names may repeat: it is one residue."""
    draw = generator()
    waters = [(name, "SOL") for names in ("OW HW1 HW2", "H1 O H2", "O H H") for name in names.split() * 3]
    names = waters + [("NA", "NA"), ("NA", "NA")] + [("C", "LIG"), ("H", "LIG"), ("C", "LIG"), ("H", "LIG")]
    residues = [n // 3 for n in range(len(waters))] + [100, 101] + [102] * 4
    atoms = cloud(draw, len(names), 12.0)
    pathlib.Path("m.pqr").write_text("".join(
        f"ATOM {n} {name} {residue} 7 {x:.6f} {y:.6f} {z:.6f} {q:.6f} 1.0\n" + ("TER\n" if n in (9, 18) else "")
        for n, ((name, residue), (x, y, z, q)) in enumerate(zip(names, atoms), 1)), encoding="ascii")
    make("m.pqr", "--points", "atoms", "--exclude", "residue", *E_PER_A, "--points-out", "o.csv")
    for i, (value,) in enumerate(numbers("o.csv")):
        right = coulomb(atoms, atoms[i], [n for n in range(len(atoms)) if residues[n] == residues[i]])[0]
        close(value, right, 1e-10 * max(1, abs(right)), str(names[i]))
    for selection, count in (("ions", 2), ("same residue as index 0", 3), ("same residue as index 10", 3), ("same residue as index 24", 3),
                             ("same residue as index 27", 1), ("same residue as (resname LIG and name C)", 4)):
        make("m.pqr", "--select", selection, "--spacing", "3", "-o", "m.dx", "--report", "r.json")
        found = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["selection"]["atoms"]
        assert found == count, (selection, found)


def test_drude_particles(_):
    """An atom and its Drude particle, 0.03 A away, leave out each other, where they would add 50 e/A; other atoms feel both."""
    names = ["C", "DC", "N", "DN", "H", "DX"]
    pairs = [(0, 1), (0, 1), (2, 3), (2, 3), (4,), (5,)]
    atoms = [(0, 0, 0, 1.7), (0.03, 0, 0, -1.5), (1.4, 0.2, 0, 1.1), (1.4, 0.2, 0.03, -1.4), (1.9, 1.1, 0, 0.4), (5, 5, 5, -0.3)]
    pathlib.Path("m.pqr").write_text("".join(
        f"ATOM {n} {name} LIG 1 {x:.6f} {y:.6f} {z:.6f} {q:.6f} 1.0\n" for n, (name, (x, y, z, q)) in enumerate(zip(names, atoms), 1)),
        encoding="ascii")
    make("m.pqr", "--points", "atoms", *E_PER_A, "--points-out", "o.csv")
    for atom, left_out, (value,) in zip(atoms, pairs, numbers("o.csv")):
        right = coulomb(atoms, atom, left_out)[0]
        close(value, right, 1e-10 * max(1, abs(right)), str(atom))


def test_translation(_):
    """Atoms and points moved together: positions are on a grid of 2^-4, so the differences are the same bits."""
    draw = generator()
    atoms = [(*(draw.integers(0, 160, 3) / 16), round(q, 6)) for q in draw.uniform(-1, 1, 40)]
    points = draw.integers(-40, 200, (20, 3)) / 16
    found = []
    for move in (0, 64.0):
        write_pqr("a.pqr", [(x + move, y - move, z + move, q) for x, y, z, q in atoms])
        pathlib.Path("p.txt").write_text("".join(f"{x + move} {y - move} {z + move}\n" for x, y, z in points),
                                         encoding="ascii")
        make("a.pqr", "--points", "p.txt", "--field", "--points-out", "o.csv")
        found.append([row[name] for row in rows("o.csv") for name in FIELD])
    assert found[0] == found[1]


def test_fast_and_exact(_):
    """The two methods, in free space and in a cell, at the accuracy asked; the program measures the same."""
    draw = generator()
    atoms = cloud(draw, 4000, 40.0)
    write_pqr("a.pqr", atoms)
    points = draw.uniform(-5, 45, (3000, 3))
    pathlib.Path("p.txt").write_text("".join(f"{x:.6f} {y:.6f} {z:.6f}\n" for x, y, z in points), encoding="ascii")
    for options in ([], ["--cell", "40,41,42"], ["--smooth", "1.5"]):
        found = []
        for method in ("fast", "exact"):
            if method == "exact":  # of some points only: Ewald's own sum takes a second for hundreds
                pathlib.Path("p.txt").write_text("".join(f"{x:.6f} {y:.6f} {z:.6f}\n" for x, y, z in points[:100]),
                                                 encoding="ascii")
            choice = ["--method", method] if method == "fast" or "--smooth" not in options else ["--accuracy", "1e-9"]
            done = make("a.pqr", "--points", "p.txt", "--field", *E_PER_A, *options, *choice, "--points-out", "o.csv")
            assert "less accurate" not in done.err, done.err
            found.append(numpy.array(numbers("o.csv", FIELD))[:100])
        pathlib.Path("p.txt").write_text("".join(f"{x:.6f} {y:.6f} {z:.6f}\n" for x, y, z in points), encoding="ascii")
        for columns in (slice(0, 1), slice(1, 4)):
            fast, exact = (values[:, columns] for values in found)
            off = numpy.sqrt(((fast - exact) ** 2).sum(1))
            size = math.sqrt((exact ** 2).sum(1).mean())
            assert math.sqrt((off ** 2).mean()) <= 1.4e-6 * size, options  # 1 + 4 / sqrt(100) of 1e-6
            assert off.max() <= 1.4e-5 * size, options


def write_dcd(path, frames):
    import struct

    def record(body):
        return struct.pack("<i", len(body)) + body + struct.pack("<i", len(body))
    head = [0] * 20
    head[0], head[19] = len(frames), 24
    content = record(b"CORD" + struct.pack("<20i", *head)) + record(struct.pack("<i80s", 1, b"a test".ljust(80)))
    content += record(struct.pack("<i", len(frames[0])))
    for frame in frames:
        for axis in range(3):
            content += record(frame[:, axis].astype("<f4").tobytes())
    pathlib.Path(path).write_bytes(content)


def test_frames(_):
    """Mean and deviation over frames, and each frame in HDF5, at atoms and at fixed points; coordinates are exact in
    single precision."""
    draw = generator()
    charges = [round(q, 6) for q in draw.uniform(-1, 1, 9)]
    frames = [draw.integers(0, 160, (9, 3)) / 16 for _ in range(4)]
    write_pqr("a.pqr", [(*place, q) for place, q in zip(frames[0], charges)])
    write_dcd("a.dcd", frames)
    pathlib.Path("p.txt").write_text("20.5 1 2\n-8 3 4\n", encoding="ascii")
    for points in ("atoms", "p.txt"):
        expected = []
        for frame in frames:
            atoms = [(*place, q) for place, q in zip(frame, charges)]
            expected.append([coulomb(atoms, atoms[i], [i]) for i in range(9)] if points == "atoms" else
                            [coulomb(atoms, (20.5, 1, 2)), coulomb(atoms, (-8, 3, 4))])
        expected = numpy.array(expected)
        make("a.pqr", "--trajectory", "a.dcd", "--points", points, "--field", *E_PER_A, "--points-out", "o.csv")
        names = [name for column in FIELD for name in (column, column + "_sd")]
        got = numpy.array(numbers("o.csv", names))
        assert numpy.abs(got[:, ::2] - expected.mean(0)).max() <= 1e-10 * max(1, numpy.abs(expected).max())
        assert numpy.abs(got[:, 1::2] - expected.std(0)).max() <= 1e-5 * max(1, numpy.abs(expected).max())
        try:
            import h5py
        except ImportError:
            program.skip_part("no h5py")
            continue
        make("a.pqr", "--trajectory", "a.dcd", "--points", points, "--field", *E_PER_A, "--points-out", "o.h5")
        with h5py.File("o.h5") as file:
            assert numpy.abs(file["potential"][:] - expected[:, :, 0]).max() <= 1e-10
            assert numpy.abs(file["field"][:] - expected[:, :, 1:]).max() <= 1e-10
            assert file["potential"].attrs["unit"] == "e/A" and file["field"].attrs["unit"] == "e/A/A"
            places = file["points"][:]
            assert numpy.array_equal(places, numpy.array(frames) if points == "atoms" else [[20.5, 1, 2], [-8, 3, 4]])


def test_field_maps(_):
    """Field maps against fields at the grid's points, in HDF5 and MRC, in free space and in a cell."""
    draw = generator()
    atoms = cloud(draw, 500, 12.0)
    write_pqr("a.pqr", atoms)
    try:
        import h5py
    except ImportError:
        raise Skip("no h5py") from None
    for options in ([], ["--cell", "12,13,14"]):
        make("a.pqr", "--field-map", "f.h5", "--spacing", "1.25", "--precision", "double", *options)
        make("a.pqr", "--field-map", "f.mrc", "--spacing", "1.25", *options)
        with h5py.File("f.h5") as file:
            field, origin, spacing = file["field"][:], file["field"].attrs["origin"], file["field"].attrs["spacing"]
        _, nz, ny, nx = field.shape
        with open("p.txt", "w", encoding="ascii") as stream:
            for k in range(nz):
                for j in range(ny):
                    for i in range(nx):
                        stream.write("%.15g %.15g %.15g\n" % tuple(origin + spacing * (i, j, k)))
        make("a.pqr", "--points", "p.txt", "--field", *options, "--points-out", "o.csv")
        expected = numpy.array(numbers("o.csv", FIELD[1:])).T.reshape(field.shape)
        rms = math.sqrt((expected ** 2).sum(0).mean())
        assert numpy.abs(field - expected).max() <= 2 * 1e-5 * rms, options
        for a, name in enumerate("xyz"):
            values = numpy.frombuffer(pathlib.Path(f"f_{name}.mrc").read_bytes()[1024:], "<f4").reshape(nz, ny, nx)
            assert numpy.abs(values - field[a]).max() <= 2e-5 * rms + 6e-8 * numpy.abs(field).max(), options
    refuse(2, ["--field-map", ".mrc"], "a.pqr", "--field-map", "f.dx")


def test_refusals(_):
    """Bad files, each named with its line; options without effect."""
    sample("dipole.pqr")
    for content, line, words in (("x;y;z\n1,5;2,5;3,5\n", 2, "'1,5' has a decimal comma"), ("1,5 2,5 3,5\n", 1, "'5 2'"),
                                 ("id,x1,y1,z1\n1,2,3,4\n", 1, "more than three columns"),
                                 ("x (nm),y (nm),z (nm)\n1,2,3\n", 1, "other than angstrom"),
                                 ("1 2 3\n4 5\n", 2, "no z coordinate"), ("1 2 3\n4 x 6\n", 2, "'x'"), ("1 2 nan\n", 1, "nan"),
                                 ("a b c\nd e f\n", 2, "'d'"), ("x,y,w\n1,2,3\n", 1, "header"), ("1 2 1e9\n", 1, "farther"),
                                 ("x,x,y,z\n1,2,3,4\n", 1, "header"), ("x,x,z\n1,2,3\n", 1, "header"), ("1 2 inf\n", 1, "inf"), ("nan nan nan\n1 2 3\n", 1, "nan"),
                                 ("O 1 2 3\nO 4 5 6\n", 1, "'O'"), ('"1 2 3\n', 1, "coordinate"),
                                 ("x_nm,y_nm,z_nm\n1,2,3\n", 1, "other than angstrom"), ("pos.x (nm);b;c\n1;2;3\n", 1, "other than angstrom"),
                                 ("a/bohr b/bohr c/bohr\n1 2 3\n", 1, "other than angstrom"),
                                 ("# i x y z\n7 1 2 3\n", 1, "a comment names columns"), ("#z y x\n1 2 3\n", 1, "a comment names columns"),
                                 ("# x (nm), y (nm), z (nm)\n1, 2, 3\n", 1, "a comment names columns"),
                                 ("#\n1 7 2 3\n2 4 5 6\n", 2, "the first column counts"), ("0,7.5,2,3\n1,4,5,6\n", 1, "the first column counts"),
                                 ("1 7.5 2 3\n", 1, "the first column counts")):
        pathlib.Path("p.csv").write_text(content, encoding="ascii")
        refuse(3, [f"p.csv:{line}:", words], "dipole.pqr", "--points", "p.csv")
    for content in ("1 2 3 4\n", "1 7 2 3\n3 4 5 6\n", "1.0 7 2 3\n2.0 4 5 6\n", "1 2 3\n2 3 4\n", "# i x y z\n1 2 3\n", "a b c\n1 2 3\n"):
        pathlib.Path("p.csv").write_text(content, encoding="ascii")
        make("dipole.pqr", "--points", "p.csv", "--points-out", "good.csv")
    for content, words in (("", "empty"), ("# nothing\n", "no points"), ("x y z\n", "no points")):
        pathlib.Path("p.csv").write_text(content, encoding="ascii")
        refuse(3, ["p.csv", words], "dipole.pqr", "--points", "p.csv")
    for content, line in (("3\nt\nO 1 2 3\n", 3), ("0\nt\n", 1), ("1\nt\nO 1 2 x\n", 3), ("1\nProperties=species:S:1:x:R:3\nO 1 2 3\n", 2),
                          ("1\nProperties=species\nO 1 2 3\n", 2), ("1\nt\nO 1 2 3\n1\nt\nO 1 2 3\n", 4)):
        pathlib.Path("p.xyz").write_text(content, encoding="ascii")
        refuse(3, [f"p.xyz:{line}:"], "dipole.pqr", "--points", "p.xyz")
    pathlib.Path("bad.h5").write_text("not HDF5", encoding="ascii")
    refuse(3, "bad.h5", "dipole.pqr", "--points", "bad.h5")
    refuse(3, "missing.txt", "dipole.pqr", "--points", "missing.txt")
    pathlib.Path("p.csv").write_text("1 2 3\n", encoding="ascii")
    refuse(2, ["--points-out", ".csv"], "dipole.pqr", "--points", "p.csv", "--points-out", "o.txt")
    refuse(2, ["--exclude", "atoms"], "dipole.pqr", "--points", "p.csv", "--exclude", "atom")
    refuse(2, ["--field", "--points"], "dipole.pqr", "--field")
    refuse(2, ["p.csv"], "dipole.pqr", "--points", "p.csv", "--points-out", "p.csv")
    done = run("dipole.pqr", "--points", "p.csv", "--dry-run")
    assert done.status == 0 and not pathlib.Path("dipole_points.csv").exists()


if __name__ == "__main__":
    program.main(globals())
