#!/usr/bin/env python3
"""Checks that other programs read cionize's ion files correctly: names, elements, residue numbers, positions.

usage: read_ions.py PROGRAM      writes files with PROGRAM (write_sample_ions) and reads each with every available
                                 reader

Every reader gets a line: "ok", "SKIP (reason)" or "FAILED (what)". Exit status: 0; 1 if any failed; 77 if none
could be tried. A reader prints a JSON list of [name, element, residue number, x, y, z], with null for missing
values.
"""
import json
import os
import subprocess
import sys
import tempfile

from map_readers import Skip, Wrong, interpreter_for

GEMMI = """
import gemmi
atoms = []
for chain in gemmi.read_pdb(path)[0]:
    for residue in chain:
        for atom in residue:
            atoms.append((atom.serial, [atom.name, atom.element.name, residue.seqid.num, *atom.pos.tolist()]))
serials = [serial for serial, _ in atoms]  # hybrid-36: one a record, and one for TER
assert serials == sorted(serials) and len(set(serials)) == len(serials) and serials[-1] - len(serials) in (0, 1), serials[-1]
show([atom for _, atom in atoms])
"""
ASE = """
import ase.io
atoms = ase.io.read(path)
names = list(atoms.arrays.get("atomtypes", [None] * len(atoms)))
show([[name, symbol, None, *position] for name, symbol, position in zip(names, atoms.get_chemical_symbols(), atoms.positions.tolist())])
"""
PYMOL = """
import pymol2
session = pymol2.PyMOL()  # without a thread of its own: finish_launching's makes get_model fail once in 400 runs
session.start()
cmd = session.cmd
cmd.set("retain_order", 1)
cmd.load(path, "m", quiet=1)
# Where the file has no elements it makes them from names, and the other way round.
show([[None if path.endswith(".xyz") else a.name, a.symbol if path.endswith(".pdb") else None, None if path.endswith(".xyz") else int(a.resi), *a.coord] for a in cmd.get_model("m").atom])
"""
OPEN_BABEL = """
from openbabel import openbabel as ob
ob.obErrorLog.StopLogging()
conversion, m = ob.OBConversion(), ob.OBMol()
conversion.SetInFormat(path.rsplit(".", 1)[1])
# Else it looks for bonds, for minutes.
conversion.AddOption("b", ob.OBConversion.INOPTIONS)
assert conversion.ReadFile(m, path)
symbol = ob.GetSymbol if not path.endswith(".pqr") else lambda number: None
show([[a.GetResidue().GetAtomID(a).strip() if a.GetResidue() and path.endswith(".pdb") else None, symbol(a.GetAtomicNum()), None,
       a.GetX(), a.GetY(), a.GetZ()] for a in ob.OBMolAtomIter(m)])
"""
READERS = [("gemmi", GEMMI, ("pdb",)), ("ase", ASE, ("pdb", "xyz")), ("pymol", PYMOL, ("pdb", "pqr", "xyz")),
           ("openbabel", OPEN_BABEL, ("pdb", "pqr", "xyz"))]
# Atoms and ions: both; ions alone; and, for gemmi, serial and residue numbers with too many digits for decimal columns.
SIZES = [(25, 9), (0, 5), (100020, 10010)]
LARGE = ("gemmi",)


def read(module, program, path):
    head = "import json, sys\npath = sys.argv[1]\ndef show(atoms):\n    print(json.dumps(atoms))\n"
    done = subprocess.run([interpreter_for(module), "-c", head + program, path], capture_output=True, text=True, timeout=500)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if not lines:
        raise Wrong(((done.stderr or done.stdout).strip() or f"exit status {done.returncode}").splitlines()[-1])
    return json.loads(lines[-1])


def compare(found, expected):
    """Positions to half a unit of the third decimal, which all formats have, and single precision, 3e-5 at 500."""
    if len(found) != len(expected):
        raise Wrong(f"{len(found)} atoms, not {len(expected)}")
    for number, (f, e) in enumerate(zip(found, expected), 1):
        if f[0] is not None and f[0] != e[0]:
            raise Wrong(f"atom {number} is named {f[0]!r}, not {e[0]!r}")
        if f[1] is not None and f[1].upper() != e[1].upper():
            raise Wrong(f"atom {number} is of {f[1]!r}, not {e[1]!r}")
        if f[2] is not None and f[2] != int(e[2]):
            raise Wrong(f"atom {number} is in residue {f[2]}, not {e[2]}")
        if not all(abs(f[3 + a] - float(e[3 + a])) <= 6e-5 for a in range(3)):
            raise Wrong(f"atom {number} is at {f[3:]}, not {e[3:]}")


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for atoms, ions in SIZES:
            for kind in ("pdb", "pqr", "xyz"):
                path, truth = os.path.join(folder, "ions." + kind), os.path.join(folder, "expected.txt")
                subprocess.run([arguments[0], path, str(atoms), str(ions), truth], check=True)
                with open(truth, encoding="ascii") as stream:
                    expected = [line.split() for line in stream]
                for module, program, kinds in READERS:
                    if kind not in kinds or (atoms > 1000 and module not in LARGE):
                        continue
                    try:
                        compare(read(module, program, path), expected)
                        word, good = "ok", good + 1
                    except Skip as skip:
                        word = f"SKIP ({skip})"
                    except Wrong as wrong:
                        word, bad = f"FAILED ({wrong})", bad + 1
                    print(f"{kind}, {atoms} atoms, {ions} ions, {module}: {word}", flush=True)
    if bad:
        return 1
    if not good:
        print("SKIP: no reader is installed")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
