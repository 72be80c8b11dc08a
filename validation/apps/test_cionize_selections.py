#!/usr/bin/env python3
"""cionize: maps of selected atoms and studies of maps. Maps of parts add to that of the whole; sheets of charge have the profile
of a plate capacitor; a comparison finds a value that was changed.

usage: test_cionize_selections.py PROGRAM [DEVICE] [test_name ...]
"""
import csv
import json
import math
import pathlib
import re

import program
from ion_truth import generator, numpy
from program import make, read, refuse
from test_cionize_periodic import values_of, write_dcd, write_pqr

EXACT = ["--method", "exact", "--precision", "double", "--units", "e/A"]


def table(path):
    with open(path, newline="", encoding="ascii") as stream:
        rows = list(csv.reader(stream))
    return rows[0], numpy.array([[float(word) for word in row] for row in rows[1:]])


def report(path="r.json"):
    return json.loads(pathlib.Path(path).read_text())


def cloud(path, atoms, extent=8.0):
    """Charges of four residues in turn; returns positions and charges."""
    random = generator()
    places = numpy.round(random.uniform(-extent, extent, (atoms, 3)), 3)
    charges = numpy.round(random.uniform(-1, 1, atoms), 4)
    names = ["ALA", "LIG", "TIP3", "NA"]
    with open(path, "w", encoding="ascii") as stream:
        for n in range(atoms):
            x, y, z = places[n]
            stream.write(f"ATOM {n + 1} C{n % 5} {names[n % 4]} {n + 1} {x:.3f} {y:.3f} {z:.3f} {charges[n]:.4f} 1.5\n")
    return places, charges


def test_parts_add_up(_):
    """The maps of a selection and of its complement add to the map of all; --minus gives their difference. Sums of 200 terms in
    double precision, each below 1/r_min = 10: rounding is below 200 * 10 * epsilon a map, 1e-12."""
    cloud("a.pqr", 200)
    grid = ["--spacing", "1.5", "--border", "4"]
    make("-q", "a.pqr", *EXACT, *grid, "-o", "all.h5")
    whole, _ = values_of("all.h5")
    part, rest = "resname ALA or within 3 of name C1", "not (resname ALA or within 3 of name C1)"
    out = make("a.pqr", *EXACT, *grid, "-o", "part.h5", "--report", "r.json", "--select", part, "--select", rest).out
    one, two = values_of("part_1.h5")[0], values_of("part_2.h5")[0]
    assert numpy.all(numpy.isfinite(one)) and numpy.abs(one).max() > 0.1 and numpy.abs(two).max() > 0.1
    assert numpy.abs(one + two - whole).max() < 1e-11, numpy.abs(one + two - whole).max()
    selected = report("r_1.json")["selection"], report("r_2.json")["selection"]
    assert [s["select"] for s in selected] == [part, rest] and sum(s["atoms"] for s in selected) == 200, selected
    assert abs(sum(s["charge"] for s in selected) - report("r_1.json")["input"]["total_charge"]) < 1e-9
    assert f"selected   {part} (" in out, out
    make("-q", "a.pqr", *EXACT, *grid, "-o", "diff.h5", "--select", part, "--minus", rest)
    assert numpy.abs(values_of("diff.h5")[0] - (one - two)).max() < 1e-11
    make("-q", "a.pqr", *EXACT, *grid, "-o", "diff.h5", "--minus", part)
    assert numpy.abs(values_of("diff.h5")[0] - two).max() < 1e-11


def test_heads(_):
    """Each format that has comments names the selection."""
    cloud("a.pqr", 12)
    for name in ("b.dx", "b.mrc", "b.cube", "b.h5"):
        make("-q", "a.pqr", "--spacing", "2", "--select", "resname LIG", "-o", name)
        assert b"resname LIG (3 atoms" in pathlib.Path(name).read_bytes(), name
    # Atoms and charge of the file, and those of the solute.
    make("-q", "a.pqr", "--spacing", "2", "-o", "b.h5", "--report", "r.json")
    whole = report()["input"]
    for name in ("b.dx", "b.mrc", "b.cube", "b.h5"):
        make("-q", "a.pqr", "--spacing", "2", "--solute", "resname LIG", "-o", name, "--report", "r.json")
        assert name == "b.h5" or b"molecule: 12 atoms, " in pathlib.Path(name).read_bytes(), name
        assert name == "b.h5" or b"solute 3 of them, " in pathlib.Path(name).read_bytes(), name
        found, solute = report()["input"], report()["selection"]
        assert found["atoms"] == 12 and abs(found["total_charge"] - whole["total_charge"]) < 1e-12, found
        charges = [float(line.split()[-2]) for line in open("a.pqr", encoding="ascii") if " LIG " in line]
        assert len(charges) == solute["solute_atoms"] == 3 and abs(solute["solute_charge"] - sum(charges)) < 1e-12, solute
    # As many lines as there can be: MRC has ten.
    cloud("a.pqr", 12)
    make("-q", "a.pqr", "--cell", "20,20,20", "--smooth", "1", "--spacing", "2", "--select", "name C1", "-o", "b.mrc")
    head = pathlib.Path("b.mrc").read_bytes()[:1024]
    assert b"of selected atoms: name C1" in head and b"Gaussian charges" in head and b"periodic: 20" in head
    assert int.from_bytes(head[220:224], "little") == 10 and b"error asked" in head


def test_grid_and_names(_):
    """A selection leaves the grid as it is; --solute sets it. Default names get the number of the selection."""
    with open("a.pqr", "w", encoding="ascii") as stream:
        stream.write("ATOM 1 N ALA 1 0 0 0 1.0 1.5\nATOM 2 O HOH 2 40 0 0 -1.0 1.5\n")
    make("-q", "a.pqr", "--border", "5", "--spacing", "1", "--select", "protein", "--select", "water")
    assert read("a_1.dx").counts == read("a_2.dx").counts == [51, 11, 11], read("a_1.dx").counts
    make("-q", "a.pqr", *EXACT, "--border", "5", "--spacing", "1", "--solute", "protein", "-o", "b.h5")
    values, points = values_of("b.h5")
    assert list(read("b.h5").counts) == [11, 11, 11]
    far = numpy.linalg.norm(points, axis=1) > 0.5
    expected = 1 / numpy.linalg.norm(points[far], axis=1) - 1 / numpy.linalg.norm(points[far] - [40, 0, 0], axis=1)
    assert numpy.abs(values.ravel()[far] - expected).max() < 1e-13  # the water still acts; two terms below 1
    make("-q", "a.pqr", "--border", "9", "--spacing", "1", "--solute", "protein", "--water", "solute", "--place", "CLA:1",
         "-o", "b.pdb")
    written = pathlib.Path("b.pdb").read_text()
    assert "ALA" in written and "HOH" not in written and "CLA" in written, written
    refuse(2, ["--solute", "water", "--water solute"], "a.pqr", "--solute", "protein", "--place", "CLA:1", "-o", "c.pdb")


def test_ions_of_selections(_):
    """Ions keep their distance from all atoms, and feel those that are selected: near the positive ion, not near a far stronger charge
    that does not act."""
    with open("a.pqr", "w", encoding="ascii") as stream:
        stream.write("ATOM 1 N ALA 1 0 0 0 1.0 1.5\nATOM 2 ZN ZN 2 20 0 0 2.0 1.5\n")
    place = ["a.pqr", "--border", "10", "--spacing", "1", "--place", "CLA:1", "--ion-solute", "4", "--report", "r.json"]
    make("-q", *place, "-o", "b.pdb")
    assert report()["ions"]["x"][0] > 10
    make("-q", *place, "-o", "b.pdb", "--select", "protein")
    x, y, z = (report()["ions"][axis][0] for axis in "xyz")
    assert abs(math.dist((x, y, z), (0, 0, 0)) - 4) < 1e-6, (x, y, z)
    # A selected charge in the middle of atoms that do not act: the ion stays outside of them.
    with open("a.pqr", "w", encoding="ascii") as stream:
        stream.write("ATOM 1 N ALA 1 0 0 0 1.0 1.5\n")
        for n, (dx, dy, dz) in enumerate([(3, 0, 0), (-3, 0, 0), (0, 3, 0), (0, -3, 0), (0, 0, 3), (0, 0, -3)]):
            stream.write(f"ATOM {n + 2} C LIG {n + 2} {dx} {dy} {dz} 0.5 1.5\n")
    make("-q", *place, "-o", "b.pdb", "--select", "protein")
    ion = [report()["ions"][axis][0] for axis in "xyz"]
    centres = [(3, 0, 0), (-3, 0, 0), (0, 3, 0), (0, -3, 0), (0, 0, 3), (0, 0, -3), (0, 0, 0)]
    assert min(math.dist(ion, centre) for centre in centres) >= 4 - 1e-9, ion


def test_frames(_):
    """Over frames, a selection is that of the molecule's file: the mean of its parts' maps is the mean map's part. With --solute,
    too, frames have all atoms."""
    places, _ = cloud("a.pqr", 40)
    moved = places + generator().uniform(-1, 1, places.shape)
    write_dcd("a.dcd", [places, moved], [(60, 60, 60, 90, 90, 90)] * 2)
    more = ["a.pqr", "--trajectory", "a.dcd", *EXACT, "--spacing", "2"]
    make("-q", *more, "-o", "all.h5")
    make("-q", *more, "-o", "part.h5", "--select", "resname LIG NA", "--select", "not resname LIG NA")
    one, two, whole = (values_of(name)[0] for name in ("part_1.h5", "part_2.h5", "all.h5"))
    # DCD has single precision in both runs alike; sums of 40 terms below 10 in two frames round by less than 1e-12.
    assert numpy.all(numpy.isfinite(one)) and numpy.abs(one).max() > 0.1
    assert numpy.abs(one + two - whole).max() < 1e-11
    make("-q", *more, "-o", "solute.h5", "--solute", "index 5 to 20", "--select", "resname LIG NA", "--origin=-10", "--counts", "9")
    make("-q", *more, "-o", "same.h5", "--select", "resname LIG NA", "--origin=-10", "--counts", "9")
    assert numpy.array_equal(values_of("solute.h5")[0], values_of("same.h5")[0])
    make("-q", *more, "--solute", "index 5 to 20", "--concentration", "0.5", "--ion-solute", "3", "-o", "b.pdb", "--report", "r.json")
    ions = numpy.array([report()["ions"][axis] for axis in "xyz"]).T
    assert len(ions) > 0
    for frame in (places[5:21], moved[5:21]):
        distances = numpy.linalg.norm(ions[:, None] - frame[None], axis=2)
        assert distances.min() > 3 - 1e-5, distances.min()  # DCD keeps seven digits


def test_refusals(_):
    cloud("a.pqr", 12)
    refuse(2, ["--select", "protien", "expected a word"], "a.pqr", "--select", "protien")
    refuse(2, ["--minus", "character 1"], "a.pqr", "--minus", "(protein")
    refuse(2, ["--select 'resname HEM' selects none of the molecule's 12 atoms"], "a.pqr", "--select", "resname HEM")
    refuse(2, ["same atoms", "difference is 0"], "a.pqr", "--select", "resname LIG", "--minus", "name C1 C6 C9 and resname LIG or resname LIG")
    refuse(2, ["several --select", "ions"], "a.pqr", "--select", "all", "--select", "protein", "--place", "SOD:1")
    refuse(2, ["--minus"], "a.pqr", "--minus", "protein", "--place", "SOD:1")
    refuse(2, ["--refine"], "a.pqr", "--select", "protein", "--place", "SOD:1", "--refine")
    refuse(2, ["--profile 'q'", "x, y or z"], "a.pqr", "--profile", "q")
    refuse(2, ["--radial", "trajectory"], "a.pqr", "--radial", "r.csv", "--trajectory", "a.dcd")
    refuse(2, ["--read-map needs"], "a.pqr", "--read-map", "b.dx")


def test_compare(_):
    """A map and itself, a map with one value changed, a map that is another one times a factor, and other grids."""
    cloud("a.pqr", 30)
    make("-q", "a.pqr", *EXACT, "--spacing", "2", "-o", "a.h5")
    for name in ("b.h5", "b.dx", "b.cube"):  # both orders of values
        make("-q", "a.pqr", *EXACT, "--spacing", "2", "-o", name, "--compare", "a.h5", "--report", "r.json")
        got = report()["compare"]
        assert got["rms_difference"] == 0 and got["largest_difference"] == 0 and abs(got["correlation"] - 1) < 1e-12, got
    # DX keeps 12 digits of a double: one value raised by 0.25.
    make("-q", "a.pqr", *EXACT, "--spacing", "2", "-o", "a.dx")
    grid = read("a.dx")
    nx, ny, nz = grid.counts
    at = (3, 5, 2)
    lines = pathlib.Path("a.dx").read_text().split("\n")
    first = next(n for n, line in enumerate(lines) if "data follows" in line) + 1
    words = " ".join(lines[first:]).split("attribute")[0].split("object")[0].split()[:nx * ny * nz]
    number = (at[0] * ny + at[1]) * nz + at[2]
    words[number] = repr(float(words[number]) - 0.25)
    rows = [" ".join(words[n:n + 3]) for n in range(0, len(words), 3)]
    pathlib.Path("c.dx").write_text("\n".join(lines[:first] + rows) + "\n")
    out = make("a.pqr", "--read-map", "a.dx", "--units", "e/A", "--compare", "c.dx", "--report", "r.json").out
    got = report()["compare"]
    points = nx * ny * nz
    # One of n values differs by d: rms d/sqrt(n), mean d/n. Numbers of 12 digits below 10 are right to 1e-11.
    assert got["points"] == points and got["largest_point"] == list(at), got
    assert abs(got["largest_difference"] - 0.25) < 1e-10 and abs(got["rms_difference"] - 0.25 / points ** 0.5) < 1e-10, got
    assert abs(got["mean_difference"] - 0.25 / points) < 1e-12, got
    position = [grid.origin[a] + at[a] * grid.spacing[a] for a in range(3)]
    assert numpy.allclose(got["largest_position"], position, rtol=0, atol=1e-9) and "+0.25 at (" in out, (got, out)
    values = numpy.array(grid.values).ravel()
    assert abs(got["relative_rms_difference"] / (got["rms_difference"] / numpy.sqrt(numpy.mean(values ** 2))) - 1) < 1e-2
    # Another dielectric: the same shape, half as large.
    make("-q", "a.pqr", *EXACT, "--spacing", "2", "--dielectric", "2", "-o", "d.h5", "--compare", "a.h5", "--report", "r.json")
    got = report()["compare"]
    assert abs(got["correlation"] - 1) < 1e-12 and abs(got["relative_rms_difference"] - 0.5) < 1e-12, got
    assert abs(got["value"] / got["other_value"] - 0.5) < 1e-12, got
    # The correlation of two different maps, against numpy.
    make("-q", "a.pqr", *EXACT, "--spacing", "2", "--select", "resname LIG", "-o", "e.h5", "--compare", "a.h5", "--report", "r.json")
    one, two = (values_of(name)[0].ravel() for name in ("e.h5", "a.h5"))
    assert abs(report()["compare"]["correlation"] - numpy.corrcoef(one, two)[0, 1]) < 1e-12
    refused = refuse(3, ["--compare a.h5", "only be compared on one grid", "1.5 x 1.5 x 1.5 A"], "a.pqr", "--units", "e/A", "--spacing", "1.5", "--compare", "a.h5", "-o", "x.h5").err
    advice = re.search(r"use (--origin \S+ --spacing \S+ --counts \S+)", refused).group(1)
    make("-q", "a.pqr", *advice.replace("--origin ", "--origin=").split(), *EXACT, "--compare", "a.h5", "-o", "x.h5", "--report", "r.json")
    assert report()["compare"]["rms_difference"] < 1e-12


def test_capacitor(_):
    """Two sheets of opposite charges in a periodic cell: the profile is a zigzag, phi'' = -4 pi rho. A sheet is a lattice of charges q,
    b apart; its waves along the sheet decay as exp(-2 pi d / b), but a grid whose steps divide b into four only sees those of 4/b and
    more: at layers d >= b/8 from the sheet, (4 q/A') sum over waves (2 pi/k) exp(-k d) with k = 2 pi 4/b, of which four are nearest, one
    at a time below 4 (2 pi q/b^2) (b/8 pi) exp(-pi) = q/b exp(-pi), all together below twice that."""
    edge, height, b, q = 8.0, 16.0, 2.0, 0.05
    sheets = {4.25: q, 11.75: -q}
    atoms = [(b * i, b * j, z, charge) for z, charge in sheets.items() for i in range(4) for j in range(4)]
    write_pqr("a.pqr", atoms)
    more = ["a.pqr", "--cell", f"{edge},{edge},{height}", "--origin", "0", "--spacing", "0.5", "--units", "e/A", "--precision", "double"]
    out = make(*more, "-o", "b.h5", "--profile", "z", "--report", "r.json").out
    head, rows = table("a_profile_z.csv")
    assert head[0] == "z (A)" and "double integral" in head[3] and rows.shape == (32, 4), (head, rows.shape)
    z = rows[:, 0]
    # The field between the plates and outside, and a mean of 0: between z1 and z2, the slope is -4 pi s (1 - f), outside 4 pi s f.
    s, (z1, z2) = q / b ** 2, sorted(sheets)
    f = (z2 - z1) / height
    inside, outside = -4 * math.pi * s * (1 - f), 4 * math.pi * s * f
    exact = numpy.where(z < z1, outside * (z - z1), numpy.where(z < z2, inside * (z - z1), inside * (z2 - z1) + outside * (z - z2)))
    # The mean of the zigzag over the cell: trapezoids between its corners.
    nodes = numpy.array([0, z1, z2, height])
    at = numpy.array([-outside * z1, 0, inside * (z2 - z1), inside * (z2 - z1) + outside * (height - z2)])
    exact = exact - numpy.sum((at[1:] + at[:-1]) / 2 * numpy.diff(nodes)) / height
    assert numpy.abs(exact).max() > 0.2
    # The integral is exact but for rounding: 32 charges, lengths below 16.
    assert numpy.abs(rows[:, 3] - exact).max() < 1e-8, numpy.abs(rows[:, 3] - exact).max()  # nine digits in the table
    near = 2 * q / b * math.exp(-math.pi)
    off = numpy.abs(rows[:, 1] - exact)
    assert off.max() < near, (off.max(), near)
    # A wave decays by exp(-2 pi) from layer to layer, so the next layers are a thousand times better.
    beyond = numpy.minimum(numpy.abs(z - z1), numpy.abs(z - z2)) > 0.5
    assert off[beyond].max() < near * math.exp(-2 * math.pi) + 1e-6 * numpy.abs(exact).max() * 10, off[beyond].max()
    got = report()["profile"]
    assert got["axis"] == "z" and abs(got["rms_difference_from_double_integral"] - numpy.sqrt(numpy.mean((rows[:, 1] - rows[:, 3]) ** 2))) < 1e-8
    assert "rms difference from the double integral" in out
    # The charge of each sheet is in one slab.
    slab = edge * edge * 0.5
    assert abs(rows[:, 2].max() * slab - 16 * q) < 1e-7 and abs(rows[:, 2].sum()) < 1e-9
    # Along the sheets, charges of opposite signs lie at the same x, so the mean over planes is 0.
    make("-q", *more, "-o", "b.h5", "--profile", "x:x.csv")
    _, rows = table("x.csv")
    assert numpy.abs(rows[:, 3]).max() < 1e-12


def test_profiles(_):
    """Gaussian charges have no waves that the grid does not resolve: exp(-s^2 k^2/2) is below exp(-38) for s = 1.4 and k = 2 pi/1. So the
    profile is the double integral, but for the map's own error (1e-6 of the rms potential, ten times at single points, in the mean of a
    layer not more). In all orders of values, skew cells, over frames, of selections and of maps that are read."""
    places, _ = cloud("a.pqr", 40)
    for shape, axes in (("17,19,23", "xyz"), ("17,19,23,80,97,105", "z"), ("17,19,23,90,97,90", "yz")):
        for axis in axes:
            for name in ("b.dx", "b.h5") if axis == "y" else ("b.dx",):
                make("-q", "a.pqr", "--cell", shape, "--smooth", "1.4", "--spacing", "1", "--units", "e/A", "-o", name,
                     "--profile", f"{axis}:p.csv", "--report", "r.json")
                _, rows = table("p.csv")
                grid = read(name)
                values = numpy.array(grid.values).reshape(grid.counts[::-1])
                wanted = values.mean(axis=tuple({0, 1, 2} - {2 - "xyz".index(axis)}))
                rms = numpy.sqrt(numpy.mean(values ** 2))
                # Means of single precision: rounding of values, and DX's nine digits.
                assert numpy.abs(rows[:, 1] - wanted).max() < 1e-6 * numpy.abs(values).max(), (shape, axis, name)
                off = numpy.abs(rows[:, 1] - rows[:, 3])
                assert numpy.abs(rows[:, 3]).max() > 0.01 * rms and off.max() < 1e-5 * rms, (shape, axis, name, off.max(), rms)
    make("-q", "a.pqr", "--cell", "17,19,23", "--smooth", "1.4", "--spacing", "1", "--units", "e/A", "-o", "b.h5", "--profile", "z:p.csv")
    make("-q", "a.pqr", "--read-map", "b.h5", "--units", "e/A", "--profile", "z:q.csv")
    one, two = table("p.csv")[1], table("q.csv")[1]
    assert numpy.abs(one - two).max() < 1e-8, numpy.abs(one - two).max()
    make("-q", "a.pqr", "--cell", "17,19,23", "--smooth", "1.4", "--spacing", "1", "--units", "e/A", "-o", "b.h5", "--profile", "z:p.csv",
         "--select", "resname LIG", "--report", "r.json")
    assert report()["profile"]["rms_difference_from_double_integral"] < 1e-5 * report()["profile"]["rms"] + 1e-6
    # Frames whose cells change.
    write_dcd("a.dcd", [places, places * 1.1 + 0.3], [(17, 19, 23, 90, 90, 90), (18, 20, 22, 90, 90, 90)])
    make("-q", "a.pqr", "--cell", "input", "--trajectory", "a.dcd", "--smooth", "1.4", "--spacing", "1", "--units", "e/A", "-o", "b.h5",
         "--profile", "y:p.csv", "--report", "r.json")
    got = report()["profile"]
    assert got["rms"] > 0.01 and got["rms_difference_from_double_integral"] < 1e-5 * got["rms"] + 1e-6, got
    # Not periodic, or planes that are no lattice: no check, with the reason.
    for more in (["--border", "3"], ["--cell", "17,19,23,80,97,105"]):
        make("-q", "a.pqr", "--spacing", "2", *more, "-o", "b.h5", "--profile", "x:p.csv", "--report", "r.json")
        assert report()["profile"]["no_check"] and table("p.csv")[1].shape[1] == 3
    # Other laws than the one that is integrated: also of maps that are read.
    for more, why in ((["--solvent"], "in a solvent"), (["--method", "cutoff:8"], "cut off")):
        for source in (["--cell", "17,19,23", "--spacing", "1", *more, "-o", "b.h5"], ["--read-map", "b.h5"]):
            make("-q", "a.pqr", *source, "--profile", "z:p.csv", "--report", "r.json")
            assert why in report()["profile"]["no_check"] and table("p.csv")[1].shape[1] == 3, source


def test_radial(_):
    """One atom: shells of a sphere, with the potential 1/r. Two, in a cell: distances to the nearest image's surface, against all."""
    write_pqr("a.pqr", [(0.1, 0.2, 0.3, 1.0)])
    make("-q", "a.pqr", *EXACT, "--spacing", "0.5", "--border", "6", "-o", "a.h5", "--radial", "r.csv", "--radial-width", "1")
    values, points = values_of("a.h5")
    check_shells("r.csv", values.ravel(), numpy.linalg.norm(points - [0.1, 0.2, 0.3], axis=1) - 1, 1.0)
    places, _ = cloud("b.pqr", 20, 12.0)
    radius = numpy.array([1.5] * 20)
    text = pathlib.Path("b.pqr").read_text().replace(" 1.5\n", " 2.5\n", 7)
    radius[:7] = 2.5
    pathlib.Path("b.pqr").write_text(text)
    cell = numpy.array([[14.0, 0, 0], [-3.0, 13.0, 0], [2.0, -4.0, 12.0]])
    lengths = numpy.linalg.norm(cell, axis=1)
    angles = [math.degrees(math.acos(cell[i] @ cell[j] / lengths[i] / lengths[j])) for i, j in ((1, 2), (0, 2), (0, 1))]
    for name, more, most in (("b.dx", ["--border", "5"], 0), ("b.h5", ["--cell", ",".join(f"{x:.17g}" for x in [*lengths, *angles])], 4)):
        make("-q", "b.pqr", "--units", "e/A", "--precision", "double", "--spacing", "1.7", *more, "-o", name, "--radial", "r.csv")
        values, points = values_of(name)
        distance = numpy.full(len(points), numpy.inf)
        for shift in numpy.ndindex(*[2 * most + 1] * 3):
            moved = places + (numpy.array(shift) - most) @ cell
            for place, r in zip(moved, radius):
                distance = numpy.minimum(distance, numpy.linalg.norm(points - place, axis=1) - r)
        check_shells("r.csv", values.ravel(), distance, 0.5)


def check_shells(path, values, distance, width):
    """Points within 1e-6 of a bound may be on either side; the test's numbers avoid that."""
    number = distance / width
    assert numpy.abs(number - numpy.round(number)).min() > 1e-9, "a point lies on a shell's bound"
    shell = numpy.floor(number).astype(int)
    _, rows = table(path)
    assert len(rows) == len(set(shell)) and rows[:, 2].sum() == len(values), (len(rows), len(set(shell)))
    for start, end, points, mean, deviation, least, most in rows:
        here = values[shell == round(start / width)]
        scale = 1e-8 * numpy.abs(here).max()  # nine digits in the table
        assert abs(end - start - width) < 1e-9 and points == len(here), (start, points, len(here))
        assert abs(mean - here.mean()) < scale and abs(deviation - here.std()) < 10 * scale, (start, mean, here.mean())
        assert abs(least - here.min()) < scale and abs(most - here.max()) < scale


if __name__ == "__main__":
    program.main(globals())
