#!/usr/bin/env python3
"""Helices and strands of a page's ribbon against DSSP (mkdssp 4, Debian's package dssp), which may be missing.

usage: test_backbone_dssp.py CIONIZE
Exit status: 0; 1 if a residue has another shape; 77 without mkdssp.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

CIONIZE = os.path.abspath(sys.argv[1])
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "data" / "1hpv.pqr"
KINDS = "-HEN"  # docs/pages.md, backbone_kinds
SHAPES = {"H": "H", "G": "H", "I": "H", "E": "E"}  # of DSSP's files; the others are drawn as coil


def atoms_of(path):
    """{(chain, residue number): {name: line}}, in the columns of PDB files."""
    out = {}
    for line in path.read_text().splitlines():
        if line.startswith("ATOM"):
            out.setdefault((line[21], int(line[22:26])), {})[line[12:16].strip()] = line
    return out


def write_pdb(residues, path):
    """What DSSP needs: the heavy atoms."""
    lines, last = ["HEADER    TEST                                    01-JAN-00   1XXX",
                   "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1"], None
    for (chain, _), atoms in residues.items():
        if last and last[21] != chain:
            lines.append(f"TER   {last[6:11]}      {last[17:26]}")
        for name, line in atoms.items():
            if name[0] not in "H0123456789":
                lines.append(f"{line[:12]} {name:<3} {line[17:54]}  1.00  0.00          {name[0]:>2}")
        last = lines[-1]
    path.write_text("\n".join([*lines, "TER", "END", ""]))


def shapes_of_page(path):
    html = path.read_text(encoding="utf-8")
    about = json.loads(re.search(r'id="voxfield-json">(.*?)</script>', html, re.S)[1])["arrays"]
    lines = re.search(r'id="voxfield-data">\n(.*?)</script>', html, re.S)[1].split("\n")

    def data(name):
        return zlib.decompress(base64.b64decode(lines[about[name]["line"]]))
    labels = [label.split() for label in data("backbone_labels").decode().split("\n")]
    return {(chain, int(number)): KINDS[kind & 3] for (_, _, chain, number), kind in zip(labels, data("backbone_kinds"))}


def shapes_of_dssp(path):
    done = subprocess.run(["mkdssp", "--output-format", "dssp", str(path), "/dev/stdout"], capture_output=True, text=True, check=True)
    rows = done.stdout.split("\n")
    first = next(n for n, row in enumerate(rows) if row.startswith("  #  RESIDUE")) + 1
    return {(row[11], int(row[5:10])): SHAPES.get(row[16], "-") for row in rows[first:] if len(row) > 20 and row[13] != "!"}


def main():
    if not shutil.which("mkdssp"):
        print("SKIP: no mkdssp")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        residues = atoms_of(SAMPLE)
        write_pdb(residues, pathlib.Path("m.pdb"))
        subprocess.run([CIONIZE, "-q", "--device", "cpu", str(SAMPLE), "--spacing", "4", "-o", "m.dx", "--page", "m.html"], check=True)
        ours, theirs = shapes_of_page(pathlib.Path("m.html")), shapes_of_dssp(pathlib.Path("m.pdb"))
        assert len(theirs) == 198 and set(ours) == set(theirs), set(ours) ^ set(theirs)
        differ = {key: (ours[key], theirs[key]) for key in theirs if ours[key] != theirs[key]}
        assert not differ, f"shapes of ours and of DSSP: {differ}"
        print(f"{len(theirs)} residues, {sum(shape != '-' for shape in theirs.values())} of them in helices and strands: as in DSSP")
    return 0


if __name__ == "__main__":
    sys.exit(main())
