#!/usr/bin/env python3
"""The grid of cionize: --spacing, --border, --origin, --size, --counts, one by one and together.

usage: test_cionize_grid.py PROGRAM [DEVICE] [test_name ...]

The rules. Without --origin, the origin is a whole multiple of the spacing. Without --size and --counts, the grid
is the smallest that covers the molecule and its border. With one of them, it is centred on the molecule, unless
--origin is given.
"""
import json
import math
import re
import struct

import program
from program import make, read, read_atoms, refuse, sample, write_atoms


def grid_of(*arguments):
    """Returns origin, spacing and counts from the report; the map must agree."""
    make("-q", *arguments, "-o", "grid.dx", "--report", "grid.json")
    with open("grid.json", encoding="utf-8") as stream:
        said = json.load(stream)["grid"]
    found = read("grid.dx")
    assert found.counts == said["counts"] and len(found.values) == math.prod(said["counts"])
    for a in range(3):  # 12 digits in the file
        assert abs(found.origin[a] - said["origin"][a]) <= 1e-11 * abs(said["origin"][a]), (found.origin, said)
        assert abs(found.spacing[a] - said["spacing"][a]) <= 1e-11 * said["spacing"][a], (found.spacing, said)
    return said["origin"], said["spacing"], said["counts"]


def bounds(atoms, a):
    return min(atom[a] for atom in atoms), max(atom[a] for atom in atoms)


def whole(number):
    return abs(number - round(number)) <= 1e-9 * max(1, abs(number))


def check_covers(atoms, grid, spacing, border):
    origin, found, counts = grid
    assert found == spacing, (found, spacing)
    for a in range(3):
        low, high = bounds(atoms, a)
        h, end = spacing[a], origin[a] + (counts[a] - 1) * spacing[a]
        slack = 1e-5 * h
        assert whole(origin[a] / h), ("the origin is no multiple of the spacing", a, origin)
        assert low - border - h < origin[a] <= low - border + slack, (a, origin, low - border)
        assert high + border - slack <= end < high + border + h, (a, end, high + border)


def test_spacing_and_border(_):
    for name in ("dipole.pqr", "point_charge.pqr", "1hpv.pqr"):
        atoms = read_atoms(sample(name))
        coarse = ["--spacing", "4"] if name == "1hpv.pqr" else []
        check_covers(atoms, grid_of(name, *coarse), [4.0] * 3 if coarse else [0.5] * 3, 10)
        for text, spacing in (("1", [1] * 3), ("2.5", [2.5] * 3), ("3,2.75,1.7", [3, 2.75, 1.7]), ("0.7", [0.7] * 3)):
            if name == "1hpv.pqr" and spacing[0] < 2:
                continue
            for border in (0, 3, 5.123):
                check_covers(atoms, grid_of(name, "--spacing", text, "--border", border), spacing, border)


def test_one_point(_):
    sample("point_charge.pqr")
    assert grid_of("point_charge.pqr", "--border", "0") == ([0, 0, 0], [0.5] * 3, [1, 1, 1])
    assert grid_of("point_charge.pqr", "--counts", "1") == ([0, 0, 0], [0.5] * 3, [1, 1, 1])
    assert grid_of("point_charge.pqr", "--size", "0") == ([0, 0, 0], [0.5] * 3, [1, 1, 1])


def test_bounds_on_grid_points_but_for_rounding(_):
    """0.1 * 3 is not 0.3 in binary. A bound on a grid point must not add or drop a point."""
    write_atoms("two.pqr", [(0.3, -0.7, 1.1, 1.0), (0.6, 0.9, 2.3, -1.0)])
    origin, _, counts = grid_of("two.pqr", "--spacing", "0.1", "--border", "0")
    assert counts == [4, 17, 13], counts
    for a, expected in enumerate((0.3, -0.7, 1.1)):
        assert abs(origin[a] - expected) <= 1e-12, origin


def test_counts(_):
    for name in ("dipole.pqr", "1hpv.pqr"):
        atoms = read_atoms(sample(name))
        for text, counts in (("7", [7] * 3), ("6", [6] * 3), ("5,8,11", [5, 8, 11])):
            origin, spacing, found = grid_of(name, "--counts", text, "--spacing", "1.5,2,3")
            assert found == counts and spacing == [1.5, 2, 3]
            for a in range(3):
                middle = sum(bounds(atoms, a)) / 2
                assert whole(origin[a] / spacing[a]), origin
                assert abs(origin[a] + (counts[a] - 1) * spacing[a] / 2 - middle) <= 0.5001 * spacing[a], (origin, middle)


def test_size(_):
    for name in ("dipole.pqr", "1hpv.pqr"):
        atoms = read_atoms(sample(name))
        for text, size in (("12", [12] * 3), ("10,7.3,0", [10, 7.3, 0])):
            origin, spacing, counts = grid_of(name, "--size", text, "--spacing", "1.5,2,0.3")
            for a in range(3):
                h = spacing[a]
                assert (counts[a] - 1) * h <= size[a] + 1e-5 * h < counts[a] * h, (counts, size)
                middle = sum(bounds(atoms, a)) / 2
                assert whole(origin[a] / h), origin
                assert abs(origin[a] + (counts[a] - 1) * h / 2 - middle) <= 0.5001 * h, (origin, middle)
    # 0.3 / 0.1 is below 3 in binary, as is 0.7 / 0.1 below 7; 0.8 / 0.1 is 8. All three are whole numbers of steps.
    assert 0.3 / 0.1 < 3 and 0.7 / 0.1 < 7
    assert grid_of("dipole.pqr", "--size", "0.3,0.7,0.8", "--spacing", "0.1")[2] == [4, 8, 9]


def test_origin(_):
    atoms = read_atoms(sample("dipole.pqr"))
    given = [-3.21, -4.5, -1.0625]
    text = ",".join(map(str, given))
    for border in (0, 2.5):
        origin, spacing, counts = grid_of("dipole.pqr", "--origin", text, "--spacing", "0.75,0.5,1", "--border", border)
        assert origin == given
        for a in range(3):
            end = origin[a] + (counts[a] - 1) * spacing[a]
            high = bounds(atoms, a)[1] + border
            assert high - 1e-5 <= end < high + spacing[a], (a, end, high)
    assert grid_of("dipole.pqr", "--origin", text, "--counts", "3,4,5") == (given, [0.5] * 3, [3, 4, 5])
    assert grid_of("dipole.pqr", "--origin", text, "--size", "3,4.1,0", "--spacing", "1") == (given, [1] * 3, [4, 5, 1])
    assert grid_of("dipole.pqr", "--origin", "-2", "--counts", "2")[0] == [-2, -2, -2]
    far = "1000,-2000,3000.5"
    assert grid_of("dipole.pqr", "--origin", far, "--counts", "2") == ([1000, -2000, 3000.5], [0.5] * 3, [2, 2, 2])


def test_origin_beyond_the_molecule(_):
    sample("dipole.pqr")
    refuse(2, ["--origin", "y = 20", "--counts"], "dipole.pqr", "--origin", "0,20,0")
    refuse(2, ["--origin", "z = 0.6", "--counts"], "dipole.pqr", "--origin", "0,0,0.6", "--border", "0")


def test_ccp4_keeps_every_default_origin(_):
    """The reason for multiples: formats that store the origin in whole steps store it exactly."""
    write_atoms("two.pqr", [(12.345, -0.7, 1.1, 1.0), (17.001, 0.9, 2.3, -1.0)])
    for spacing in ("0.3", "0.7,0.31,1.1"):
        for more in (["--border", "2"], ["--counts", "9"], ["--size", "5"]):
            make("-q", "two.pqr", "--spacing", spacing, *more, "-o", "a.ccp4")
            make("-q", "two.pqr", "--spacing", spacing, *more, "-o", "a.dx")
            a, b = read("a.ccp4"), read("a.dx")
            for n in range(3):
                assert abs(a.origin[n] - b.origin[n]) <= 2e-7 * abs(b.origin[n]) + 1e-12, (a.origin, b.origin)


def test_whole_steps_are_rounded(_):
    """The quotient of origin and spacing can be just below a whole number: 0.6 / 0.2, and 43 * 0.2 / 0.2. N*START is the
    nearest one."""
    assert 0.6 / 0.2 < 3 and 43 * 0.2 / 0.2 < 43
    write_atoms("one.pqr", [(0, 0, 0, 1.0)])
    for name in ("a.ccp4", "a.mrc"):
        for where, steps in ((["--origin=-0.6,0.6,1.2", "--counts", "12"], (-3, 3, 6)), (["--border", "8.6"], (-43, -43, -43))):
            make("-q", "one.pqr", "--spacing", "0.2", *where, "-o", name)
            with open(name, "rb") as file:
                assert struct.unpack("<3i", file.read(28)[16:]) == steps, (name, where)


def test_absurd_grids(_):
    sample("dipole.pqr")
    for dry in ([], ["--dry-run"]):
        refuse(2, ["20000001 x 20000001", "EiB", "--spacing"], "dipole.pqr", "--spacing", "0.001", "--border", "10000", *dry)
        refuse(2, ["1000000000 x", "EiB"], "dipole.pqr", "--counts", "1000000000", *dry)
        refuse(2, ["922337203685477580", "EiB"], "dipole.pqr", "--counts", "9223372036854775807,1,1", *dry)
        refuse(2, ["along x", "1e+06"], "dipole.pqr", "--counts", "1000000,1,1", "--spacing", "10000", *dry)
        memory = 7 if program.DEVICE == "cuda" else 5
        refuse(memory, ["one layer", "memory", "--spacing"], "dipole.pqr", "--counts", "1000000,1000000,2", "-o", "a.mrc", *dry)
        # A mesh of 28 TiB: the message has what it takes, and not that nothing may be used.
        write_atoms("far.pqr", [(0.0, 0.0, 0.0, 1.0), (80.0, 80.0, 80.0, -1.0)])
        done = refuse(5, ["one layer", "GiB of host memory, and --method fast another", "TiB, but only"], "far.pqr", "--spacing", "0.001",
                      "--method", "fast", "--device", "cpu", "-o", "a.mrc", *dry)
        assert float(re.search(r"but only ([0-9.]+) [KMGT]iB may be used", done.err)[1]) > 0, done.err
        # 2^31 points: one more than readers of these formats can count.
        for kind in ("dx", "dx.gz", "cube"):
            refuse(8, ["2147483648 points", "32 bits", ".h5"], "dipole.pqr",
                   "--counts", "2048,1024,1024", "-o", f"a.{kind}", *dry)
    for kind in ("dx", "dx.gz", "cube"):
        make("dipole.pqr", "--counts", "2047,1024,1024", "-o", f"a.{kind}", "--dry-run")
    for kind in ("mrc", "h5"):
        make("dipole.pqr", "--counts", "2048,1024,1024", "-o", f"a.{kind}", "--dry-run")


def test_large_layers_fit(_):
    """A layer may exceed the target size of a slab (128 MiB), if there is memory for it."""
    sample("dipole.pqr")
    done = make("dipole.pqr", "--counts", "6000,6000,4", "-o", "a.mrc", "--dry-run")
    assert "4 slabs" in done.out, done.out


program.main(globals())
