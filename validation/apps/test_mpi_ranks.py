#!/usr/bin/env python3
"""cionize as a job whose ranks would choose differently, as those of a cluster of unlike machines do: rank 0 decides, and the
files are those of one process that decides like it.

usage: test_mpi_ranks.py CIONIZE [DEVICE] [test_name ...]; environment: mpi_jobs.py
"""
import pathlib
import sys

import mpi_jobs as mpi
import program
from program import make
from two_folders import assert_same, inside

METHODS = ("exact", "fast", "exact:baseline")  # of one molecule: three maps that differ


def bytes_of(method, *arguments):
    make(*arguments, "--method", method)
    return pathlib.Path("m.mrc").read_bytes()


def test_methods(_):
    """Rank 0 has each of the methods; the others have others, and more threads."""
    arguments = "1hpv.pqr", "--spacing", "2", "-q", "-o", "m.mrc"
    mpi.inputs(arguments[0])
    with inside("one"):
        assert len({bytes_of(method, *arguments)[1024:] for method in METHODS}) == len(METHODS), "maps of methods do not differ"
    for first in METHODS:
        others = [method for method in METHODS if method != first]
        mpi.DRAW.shuffle(others)
        with inside("one"):
            bytes_of(first, *arguments)
        with inside("two"):
            done = mpi.job(3, *arguments, each=[["--method", first, "--threads", "1"], ["--method", others[0], "--threads", "2"],
                                                ["--method", others[1]]])
            assert not done.own, done.own
        assert_same((first, *others))


def test_averages(_):
    """The same for an average of 130 frames, whose blocks and slabs follow from rank 0's method."""
    arguments = "a.pqr", "--trajectory", "l.dcd", "--spacing", "1.2", "-q", "-o", "m.mrc", "--deviation", "d.mrc"
    mpi.inputs("a.pqr", "l.dcd")
    for first, other in (("exact", "fast"), ("fast", "exact")):
        with inside("one"):
            bytes_of(first, *arguments)
        with inside("two"):
            mpi.job(2, *arguments, each=[["--method", first], ["--method", other]])
        assert_same((first, other))


if __name__ == "__main__":
    if mpi.why_not():
        print(f"SKIP: {mpi.why_not()}")
        sys.exit(77)
    program.main(globals())
