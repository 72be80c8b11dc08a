#!/usr/bin/env python3
"""Checks that other programs read cionize's map files correctly: values, order of the axes, and positions.

usage: read_map.py MAP EXPECTED [READER ...]      check one file with the readers for its format (default: all)
       read_map.py --samples PROGRAM              write a set of small maps with PROGRAM (write_sample_map) and
                                                  check each

EXPECTED is the text file that write_sample_map makes. Every reader gets a line: "ok", "SKIP (reason)", "FAILED
(what)", or "off (what)" for a reader's known fault, listed in docs/formats.md. Exit status: 0; 1 if any failed;
77 if none could be tried.

The readers are in map_readers.py.
"""
import os
import subprocess
import sys
import tempfile

from map_readers import (READERS, Map, Off, Skip, Wrong, compare, h5dump, own_cube, own_dx, own_dx_gz, own_mrc)  # noqa: F401


def read_expected(path):
    with open(path, encoding="ascii") as stream:
        head = [stream.readline().split() for _ in range(3)]
        if [h[0] for h in head] != ["counts", "origin", "spacing"] or stream.readline().strip() != "values":
            sys.exit(f"{path}: not a file of write_sample_map")
        return Map(*(h[1:] for h in head), stream.read().split())


def kind_of(path):
    name = path.lower()
    for ending, kind in ((".dx.gz", "dx.gz"), (".dx", "dx"), (".mrc", "mrc"), (".ccp4", "mrc"), (".map", "mrc"), (".cube", "cube"),
                         (".cub", "cube"), (".h5", "h5"), (".hdf5", "h5")):
        if name.endswith(ending):
            return kind
    sys.exit(f"{path}: no such format")


skipped = set()


def check(path, expected, only=()):
    """Prints a line for every reader (for a missing one: only once); returns how many agreed and how many did not."""
    good = bad = 0
    for name, reader, digits in READERS[kind_of(path)]:
        if only and name not in only:
            continue
        try:
            compare(reader(path, expected), expected, digits)
            word = "ok"
            good += 1
        except Skip as skip:
            if str(skip) in skipped:
                continue
            skipped.add(str(skip))
            word = f"SKIP ({skip})"
        except Off as off:
            word = f"off ({off})"
            good += 1
        except Wrong as wrong:
            word = f"FAILED ({wrong})"
            bad += 1
        except Exception as error:  # one of our readers fails on an invalid file
            word = f"FAILED ({type(error).__name__}: {error})"
            bad += 1
        print(f"{os.path.basename(path):14} {name}: {word}", flush=True)
    return good, bad


SAMPLES = [  # origin, spacing, counts
    ("-1.5 2.0 -3 0.5 0.25 0.75", "7 5 4"),
    ("-20.4 -10.2 30.6 0.6 0.6 0.6", "13 6 17"),
    ("0 0 0 1 1 1", "3 2 9"),
]
BETWEEN_STEPS = ("-1.3 2.07 -3.1 0.5 0.25 0.75", "7 5 4")  # the origin is not a multiple of the spacing: not for .ccp4


def check_samples(program):
    good = bad = 0
    names = ["map.dx", "map.dx.gz", "map.mrc", "map.ccp4", "map.map", "map.cube", "map.h5"]
    with tempfile.TemporaryDirectory() as folder:
        truth = os.path.join(folder, "expected.txt")
        for grid, counts in SAMPLES + [BETWEEN_STEPS]:
            for name in names:
                if (grid, counts) == BETWEEN_STEPS and name in ("map.ccp4", "map.map"):
                    continue
                for kind in ("f32", "f64"):
                    path = os.path.join(folder, name)
                    subprocess.run([program, path, kind, *grid.split(), *counts.split(), truth], check=True)
                    print(f"-- {kind}, origin and spacing {grid}, counts {counts}")
                    g, b = check(path, read_expected(truth))
                    good, bad = good + g, bad + b
    return good, bad


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--samples":
        good, bad = check_samples(arguments[1])
    elif len(arguments) >= 2:
        good, bad = check(arguments[0], read_expected(arguments[1]), arguments[2:])
    else:
        sys.exit(__doc__)
    if bad:
        return 1
    if not good:
        print("SKIP: no reader is installed")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
