#!/usr/bin/env python3
"""cionize on an OpenCL device: maps as those of the CPU, pools of both, and what happens when the device fails or computes wrongly.

usage: test_cionize_opencl.py PROGRAM opencl [test_name ...]
"""
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import time

import program
from program import Skip, bits, compare, listing, make, read, read_atoms, refuse, sample, unit_constant

CPU, POOL = ["--device", "cpu"], ["--device", "cpu,opencl:0"]
COARSE = ["1hpv.pqr", "--spacing", "3"]


def with_words(**words):
    return {**os.environ, **words}


def difference(one, other):
    """The rms of the difference of two maps over the rms of the second."""
    a, b = read(one).values, read(other).values
    assert len(a) == len(b) and all(math.isfinite(v) for v in [*a, *b])
    return math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b)) / math.fsum(y * y for y in b))


def test_exact_map(_):
    sample("nacl.pqr")
    for more, double in ([], False), (["--precision", "double"], True), (["--method", "exact:dcs3"], False):
        done = make("nacl.pqr", "--method", "exact", "--counts", "14,11,9", "--spacing", "0.7", "-o", "m.h5" if double else "m.mrc", *more)
        assert re.search(r"^device +opencl:0 \(", done.out, re.M), done.out
        compare("m.h5" if double else "m.mrc", read_atoms("nacl.pqr"), unit_constant("kT/e"), points=300, double=double)


def test_methods_give_the_map_of_the_cpu(_):
    """Both maps keep the accuracy of 1e-6 that is the default, of the rms; sums of single precision are better than that on
    average."""
    sample("1hpv.pqr")
    for method in ("exact", "fast", "cutoff:12", "cutoff:12:switched"):
        make(*COARSE, "--method", method, "-o", "a.mrc")
        make(*COARSE, "--method", method, *CPU, "-o", "b.mrc")
        off = difference("a.mrc", "b.mrc")
        assert 0 < off <= 2e-6, f"{method}: {off}"


def test_water_in_a_cell(_):
    sample("water_box.pqr")
    cell = ["water_box.pqr", "--cell", "20,20,20", "--method", "fast", "--spacing", "1"]
    make(*cell, "-o", "a.mrc")
    make(*cell, *CPU, "-o", "b.mrc")
    assert difference("a.mrc", "b.mrc") <= 2e-6


def test_ions_are_those_of_the_cpu(_):
    """The search compares energies exactly where the map's errors could decide. Without double precision it is the host's."""
    sample("dipole.pqr")
    place = ["dipole.pqr", "--place", "SOD:3", "--place", "CLA:2", "--spacing", "1"]
    make(*place, *CPU, "--ions", "b.pdb")
    for words in ({}, {"VOXFIELD_OPENCL_NO_DOUBLE": "1"}):
        make(*place, "--ions", "a.pdb", env=with_words(**words))
        assert pathlib.Path("a.pdb").read_text() == pathlib.Path("b.pdb").read_text()


def test_pool_with_the_cpu(_):
    """Each value is that of one of the kinds. If the device fails, all are the CPU's."""
    sample("1hpv.pqr")
    thin = ["1hpv.pqr", "--counts", "32,6,130", "--spacing", "0.5", "--method", "exact"]
    make(*thin, "-o", "opencl.mrc")
    make(*thin, *CPU, "-o", "cpu.mrc")
    done = make(*thin, *POOL, "-o", "pool.mrc", "--report", "r.json")
    assert re.search(r"^device +cpu \(.+\) and opencl:0 \(.+\), whose last digits differ$", done.out, re.M), done.out
    assert set(json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["devices"]) == {"cpu", "opencl:0"}
    assert all(p in pair for p, *pair in zip(*(read(f).values for f in ("pool.mrc", "cpu.mrc", "opencl.mrc"))))
    # It may not get a slab on a busy machine, and then does not fail.
    done = make(*thin, *POOL, "-o", "pool.mrc", env=with_words(VOXFIELD_SIMULATE_FAILURE="opencl:0@1"))
    assert bits("pool.mrc") == bits("cpu.mrc") and done.err.count("opencl:0 is dropped") <= 1, done.err
    refuse(6, ["opencl:0", "simulated"], *thin, "-o", "none.mrc", env=with_words(VOXFIELD_SIMULATE_FAILURE="opencl:0@1"))
    assert "none.mrc" not in listing()


def test_wrong_device_is_refused(_):
    sample("dipole.pqr")
    for devices in ([], POOL):
        refuse(6, ["opencl:0 (", "driver", "computes the Coulomb sum wrongly in single precision"], "dipole.pqr", *devices, "-o", "m.mrc",
               env=with_words(VOXFIELD_SIMULATE_WRONG="opencl:0"))
    refuse(6, "computes the Ewald sum wrongly in single precision", "dipole.pqr", "-o", "m.mrc",
           env=with_words(VOXFIELD_SIMULATE_WRONG="opencl:0@the Ewald sum"))
    assert "m.mrc" not in listing()


def test_without_double_precision(_):
    sample("1hpv.pqr")
    single = with_words(VOXFIELD_OPENCL_NO_DOUBLE="1")
    for method in ("exact", "fast", "cutoff:12"):
        make(*COARSE, "--method", method, "-o", "a.mrc", env=single)
        make(*COARSE, "--method", method, *CPU, "-o", "b.mrc")
        off = difference("a.mrc", "b.mrc")
        assert off <= 2e-6, f"{method}: {off}"
    refuse(8, ["no double precision", "--precision single"], *COARSE, "--precision", "double", "--method", "exact", env=single)


def test_interrupt(_):
    """Exit status 130 and no map. LLVM, which some drivers are made of, takes the signals for itself when a program is compiled."""
    sample("1hpv.pqr")
    for number in (signal.SIGINT, signal.SIGUSR1):
        process = subprocess.Popen(program.command("-q", "1hpv.pqr", "--spacing", "0.25", "--method", "exact", "-o", "m.mrc"),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        time.sleep(4)
        if process.poll() is not None:
            raise Skip("a device so fast that the map is done already")
        process.send_signal(number)
        err = process.communicate(timeout=120)[1].decode()
        assert process.returncode == 130 and "interrupted" in err, (process.returncode, err)
        assert not os.path.exists("m.mrc"), os.listdir(".")


if __name__ == "__main__":
    program.main(globals())
