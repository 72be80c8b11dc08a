#!/usr/bin/env python3
"""Other programs read maps of cionize (validation/peers/read_map.py): each must find the values, axes and positions.

usage: test_cionize_readers.py PROGRAM [DEVICE] [test_name ...]
"""
import program
import read_map
from program import make, read, sample, Skip

# ASE's entry in read_map.py is only for the sample maps there, whose atoms it knows.
READERS = {kind: [name for name, _, _ in readers if name != "ASE"] for kind, readers in read_map.READERS.items()}


def check(name, grid):
    sample(name)
    make("-q", name, *grid, "-o", "truth.mrc")
    truth = read("truth.mrc")
    make("-q", name, *grid, "-o", "truth.dx")
    exact = read("truth.dx")  # 12 digits of the grid, more than an MRC file has
    truth.origin, truth.spacing = exact.origin, exact.spacing
    good = 0
    for kind in ("dx", "dx.gz", "mrc", "ccp4", "cube", "h5"):
        make("-q", name, *grid, "-o", f"map.{kind}")
        agreed, failed = read_map.check(f"map.{kind}", truth, READERS[read_map.kind_of(f"map.{kind}")])
        assert failed == 0, kind
        good += agreed
    if not good:
        raise Skip("none of the readers is here")


def test_dipole(_):
    check("dipole.pqr", ["--spacing", "0.5,0.75,1.25", "--border", "4"])


def test_protein(_):
    check("1hpv.pqr", ["--spacing", "4,5,6", "--border", "4"])


program.main(globals())
