#!/usr/bin/env python3
"""cionize on several devices gives the same bits as on one, even if some devices fail. All devices are on the CPU,
so no GPU is needed.

usage: test_cionize_devices.py PROGRAM [test_name ...]
"""
import json
import os
import pathlib
import re

import program
from program import bits, make, refuse, sample

# Enough layers along x and z for seven slabs and more: slabs are tiles of at least 32 or 8 layers.
GRID = ["--spacing", "0.5", "--counts", "224,6,130"]


def failing(text):
    return {**os.environ, "VOXFIELD_SIMULATE_FAILURE": text}


def devices_of(report):
    return json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["devices"]


def test_several_devices_give_the_bits_of_one(_):
    sample("dipole.pqr")
    for name, more in (("m.mrc", []), ("m.dx", []), ("m.h5", ["--precision", "double"])):
        maps = []
        for devices in ("cpu", "cpu:0", "cpu:0,1", "cpu:3,1,2,0"):
            done = make("dipole.pqr", *GRID, *more, "--device", devices, "-o", name, "--report", "r.json")
            assert done.err == "", done.err
            slabs = int(re.search(r" in (\d+) slabs?$", done.out, re.M)[1])
            found = devices_of("r.json")
            assert sum(d["slabs"] for d in found.values()) == slabs and len(found) == devices.count(",") + 1, found
            assert not any("failure" in d for d in found.values()), found
            maps.append(bits(name))
        assert maps.count(maps[0]) == len(maps), f"{name}: devices differ"


def test_the_plan_says_how_many(_):
    sample("dipole.pqr")
    one, two = (make("dipole.pqr", *GRID, "--threads", "3", "--dry-run", "--device", d).out for d in ("cpu", "cpu:4,1"))
    assert re.search(r"^device +cpu \(.*, 3 threads\)$", one, re.M), one
    assert re.search(r"^device +cpu:4 \(.*, 3 threads, 2 of them\)$", two, re.M), two


# 3129 atoms, 2e5 points: each slab keeps a device busy long enough for every device to start one.
LONG = ["1hpv.pqr", *GRID, "--report", "r.json"]


def test_others_take_over(_):
    sample("1hpv.pqr")
    for name in ("m.mrc", "m.dx", "m.h5"):
        make(*LONG, "-o", name)
        expected = bits(name)
        for devices, simulated, lost in (("cpu:0,1", "cpu:1@1", {"cpu:1": 0}), ("cpu:0,1", "cpu:0@2", {"cpu:0": 1}),
                                         ("cpu:2,0,1", "cpu:2@2,cpu:1@1", {"cpu:2": 1, "cpu:1": 0})):
            # On a busy machine, other devices may finish everything before this one starts the piece at which it would
            # fail.
            for _attempt in range(20):
                os.remove(name)
                done = make(*LONG, "--device", devices, "-o", name, env=failing(simulated))
                assert bits(name) == expected, f"{name}, {simulated}: other values"
                warnings = done.err.splitlines()
                if len(warnings) == len(lost):
                    break
            assert len(warnings) == len(lost), done.err
            for device in lost:
                assert sum(f"{device} is dropped" in w and "simulated" in w for w in warnings) == 1, done.err
            found = devices_of("r.json")
            slabs = int(re.search(r" in (\d+) slabs$", done.out, re.M)[1])
            assert sum(d["slabs"] for d in found.values()) == slabs, found
            for device, entry in found.items():
                assert ("failure" in entry) == (device in lost), found
                assert device not in lost or entry["slabs"] == lost[device], found


def test_all_fail(_):
    sample("1hpv.pqr")
    for kind in ("mrc", "dx", "dx.gz", "cube", "h5"):
        for devices, simulated in (("cpu", "cpu@2"), ("cpu:0,1", "cpu:0@2,cpu:1@3")):
            refuse(6, ["simulated", devices.split(",")[0]], *LONG, "--picture", "p.png", "--device", devices, "-o",
                   f"m.{kind}", env=failing(simulated))


def test_a_device_that_was_named_must_start(_):
    sample("1hpv.pqr")
    refuse(6, ["cpu:1", "simulated"], *LONG, "--device", "cpu:0,1", "-o", "m.mrc", env=failing("cpu:1@0"))


def test_nonsense(_):
    sample("1hpv.pqr")
    for text in ("cpu", "cpu@x", "cpu@1;", "cpu:0@1", "cuda:0@1", "cpu@1,cpu@2"):
        refuse(2, ["VOXFIELD_SIMULATE_FAILURE", f"'{text}'"], *LONG, "--device", "cpu", "-o", "m.mrc", env=failing(text))


if __name__ == "__main__":
    program.main(globals())
