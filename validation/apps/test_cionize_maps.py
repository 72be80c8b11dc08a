#!/usr/bin/env python3
"""Maps of cionize in each format: compared with an independent sum, with each other, and across numbers of threads.

usage: test_cionize_maps.py PROGRAM [DEVICE] [test_name ...]
"""
import gzip
import json
import re
import shutil
import subprocess

import program
from program import compare, make, read, read_atoms, sample, Skip

KINDS = ["dx", "dx.gz", "mrc", "ccp4", "cube", "h5"]
# Three different axes, so that swapped axes show. The origin is a multiple of the spacing, as .ccp4 requires.
DIPOLE_GRID = ["--spacing", "0.5,0.75,1.25", "--border", "5"]
PROTEIN_GRID = ["--spacing", "3,2,4", "--border", "4"]


def test_every_format_holds_the_sum(_):
    scale = program.unit_constant("kT/e")
    cases = [("dipole.pqr", DIPOLE_GRID, None), ("1hpv.pqr", PROTEIN_GRID, 80)]
    for name, grid, points in cases:
        atoms = read_atoms(sample(name))
        for kind in KINDS:
            if kind == "h5" and not shutil.which("h5dump"):
                program.skip_part("no h5dump")
                continue
            make("-q", name, *grid, "-o", f"map.{kind}")
            rms = compare(f"map.{kind}", atoms, scale, points, text=program.DIGITS[kind])
            # The average error of single precision is far below its bound: about u sqrt(256) / 2 of sum |q| / r, 5e-7.
            assert rms < 1e-6 + program.DIGITS[kind], f"{name} {kind}: {rms:.3g} of sum |q|/r off on average"


def test_double_precision(_):
    atoms = read_atoms(sample("1hpv.pqr"))
    make("-q", "1hpv.pqr", *PROTEIN_GRID, "--precision", "double", "--units", "e/A", "-o", "map.dx")
    # 12 digits in a text file.
    rms = compare("map.dx", atoms, 1.0, 200, double=True, text=0.5e-11)
    assert rms < 1e-12, rms
    make("-q", "1hpv.pqr", *PROTEIN_GRID, "--precision", "double", "--units", "e/A", "-o", "map.h5")
    rms = compare("map.h5", atoms, 1.0, 200, double=True)
    assert rms < 1e-14, rms


def test_formats_hold_the_same_bits(_):
    sample("1hpv.pqr")
    for kind in KINDS:
        make("-q", "1hpv.pqr", *PROTEIN_GRID, "-o", f"map.{kind}")
    mrc = read("map.mrc")
    assert len(set(mrc.counts)) == 3 and len(set(mrc.values)) > 0.99 * len(mrc.values), "values must tell the points apart"
    for kind in KINDS:
        if kind == "h5" and not shutil.which("h5dump"):
            program.skip_part("no h5dump")
            continue
        other = read(f"map.{kind}")
        assert other.counts == mrc.counts, kind
        for a in range(3):
            # MRC files store cell lengths in single precision; cube files store lengths in bohr with 12 digits.
            assert abs(other.origin[a] - mrc.origin[a]) <= 1e-6 * abs(mrc.origin[a]), (kind, other.origin, mrc.origin)
            assert abs(other.spacing[a] - mrc.spacing[a]) <= 1e-6 * mrc.spacing[a], (kind, other.spacing, mrc.spacing)
        if kind == "cube":
            for a, b in zip(other.values, mrc.values):
                assert abs(a - b) <= 0.5001e-5 * abs(b), (kind, a, b)
        else:
            assert program.bits(f"map.{kind}") == program.bits("map.mrc"), f"{kind} and mrc differ"


def test_blocks_of_text(_):
    """Text is formatted in blocks of 24,576 values: one, two and three of them, whole and not."""
    sample("dipole.pqr")
    for counts in ("32,32,24", "24577,1,1", "37,26,32", "32,32,48", "49153,1,1"):
        for kind in ("mrc", "dx", "dx.gz"):
            make("-q", "dipole.pqr", "--counts", counts, "-o", f"map.{kind}")
            assert program.bits(f"map.{kind}") == program.bits("map.mrc"), (counts, kind)


def test_atoms_of_cube_files(_):
    """Atoms are formatted in blocks of 1,024, as many at a time as there are threads: below, at and above whole ones."""
    bohr, elements = 0.529177210544, {"C": 6, "N": 7, "O": 8}
    for count in (1, 1023, 1024, 1025, 2 * 1024, 5000):
        atoms = [("CNO"[n % 3], n % 50 + 0.25, n // 50 % 50 + 0.5, n / 100 - 3, 0.001 * (n % 700)) for n in range(count)]
        with open("many.pqr", "w", encoding="ascii") as file:
            file.writelines(f"ATOM {n % 9999 + 1} {name} ALA {n // 8 % 9999 + 1} {x:.3f} {y:.3f} {z:.3f} {q + 0.001:.4f} 1.5\n"
                            for n, (name, x, y, z, q) in enumerate(atoms))
        for threads in (1, 3):
            make("-q", "many.pqr", "--counts", "3,3,3", "--threads", threads, "-o", "map.cube")
            with open("map.cube", encoding="ascii") as file:
                lines = file.read().splitlines()
            assert int(lines[2].split()[0]) == count
            for line, (name, x, y, z, q) in zip(lines[6:6 + count], atoms, strict=True):
                number, charge, *place = line.split()
                # 12 digits; PQR positions and charges have 3 and 4 decimals.
                assert int(number) == elements[name] and abs(float(charge) - q - 0.001) < 1e-9, (count, line)
                assert all(abs(float(a) * bohr - round(b, 3)) < 5e-9 for a, b in zip(place, (x, y, z), strict=True)), (count, line, x, y, z)
            assert len(lines) == 6 + count + 9, (count, len(lines))


def test_figures_of_every_order(_):
    """Minimum, maximum and mean of the report, whether x or z is fastest in the file."""
    sample("1hpv.pqr")
    said = {}
    for kind in ("mrc", "dx"):
        make("-q", "1hpv.pqr", *PROTEIN_GRID, "-o", f"map.{kind}", "--report", "r.json")
        with open("r.json", encoding="utf-8") as file:
            said[kind] = json.load(file)["potential"]
    for name in ("minimum", "maximum"):
        assert said["dx"][name] == said["mrc"][name], (name, said)
    assert abs(said["dx"]["mean"] - said["mrc"]["mean"]) <= 1e-12 * said["mrc"]["maximum"], said  # another order of the sum


def without_provenance(path):
    """Returns what must not depend on when and how a map was made: everything except comments, labels and
    attributes."""
    name = str(path)
    if name.endswith(".dx.gz"):
        return re.sub(rb"(?m)^#.*\n", b"", gzip.decompress(open(path, "rb").read()))
    content = open(path, "rb").read()
    if name.endswith(".dx"):
        return re.sub(rb"(?m)^#.*\n", b"", content)
    if name.endswith(".cube"):
        return content.split(b"\n", 2)[2]
    if name.endswith((".mrc", ".ccp4")):
        return content[:224] + content[1024:]
    if not shutil.which("h5dump"):
        raise Skip("no h5dump")
    subprocess.run(["h5dump", "-d", "/potential", "-o", "values", "-b", "FILE", name], check=True, stdout=subprocess.DEVNULL)
    return open("values", "rb").read()


def test_bits_do_not_depend_on_threads(_):
    sample("water_box.pqr")
    for kind in KINDS:
        contents = set()
        for threads in (1, 2, 3, 8):
            make("-q", "water_box.pqr", "--spacing", "1", "--border", "3", "--threads", threads, "-o", f"map.{kind}")
            contents.add(without_provenance(f"map.{kind}"))
        assert len(contents) == 1, f"{kind}: {len(contents)} different maps from 4 numbers of threads"
        assert max(map(len, contents)) > 4 * 1000


def test_two_runs_differ_only_in_provenance(_):
    sample("dipole.pqr")
    for kind in KINDS:
        make("-q", "dipole.pqr", "-o", f"a.{kind}")
        make("-q", "dipole.pqr", "-o", f"b.{kind}")
        assert without_provenance(f"a.{kind}") == without_provenance(f"b.{kind}"), kind


def test_file_names_do_not_break_a_header(_):
    for name in ("new\nline.pqr", 'quo"te.pqr', "schön.pqr", "with space.pqr", "x" * 200 + ".pqr"):
        shutil.copy(sample("dipole.pqr"), name)
        for kind in KINDS:
            if kind == "h5" and not shutil.which("h5dump"):
                continue
            make("-q", name, *DIPOLE_GRID, "-o", f"map.{kind}")
            read(f"map.{kind}")  # strict: fails on an extra line
    shutil.copy("dipole.pqr", b"latin\xe9.pqr")
    for kind in KINDS:
        subprocess.run([*map(str.encode, program.command("-q", *DIPOLE_GRID,
                       "-o", f"map.{kind}")), b"latin\xe9.pqr"], check=True)


program.main(globals())
