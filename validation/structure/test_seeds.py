#!/usr/bin/env python3
"""What VOXFIELD_SEED does, in C and in Python: the line that names the seed, once and only if numbers are drawn, and
values that are refused.

    test_seeds.py DRAWING_TEST OTHER_TEST      (unit tests; the second draws nothing)
"""
import os
import pathlib
import subprocess
import sys

VALIDATION = pathlib.Path(__file__).resolve().parents[1]
TWICE = "import seeds; print(seeds.draw(1).random(), seeds.draw(2).random(), seeds.draw(1).random())"
BAD = ("", "x", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x", "0xg", "1_0", "18446744073709551616", "0x10000000000000000")


def run(command, seed):
    environment = {name: value for name, value in os.environ.items() if name != "VOXFIELD_SEED"}
    environment.update({"PYTHONPATH": str(VALIDATION), "PYTHONDONTWRITEBYTECODE": "1"}, **({} if seed is None else {"VOXFIELD_SEED": seed}))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    return done, [line for line in done.stdout.splitlines() if "seed" in line.lower()]


def main():
    drawing, other = sys.argv[1:]
    for command in ([drawing], [sys.executable, "-c", TWICE]):
        for given, seed in ((None, 1), ("2", 2), ("007", 7), ("0x2a", 42), ("0", 0), ("18446744073709551615", 2 ** 64 - 1)):
            done, lines = run(command, given)
            assert done.returncode == 0 and lines == [f"seed {seed} (VOXFIELD_SEED={seed} repeats it)"], (command, given, done)
        for given in BAD:
            done, lines = run(command, given)
            assert done.returncode == 2 and not lines, (command, given, done)
            assert done.stderr.startswith(f"VOXFIELD_SEED '{given}': expected ") and done.stderr.count("\n") == 1, done
    for command in ([other], [sys.executable, "-c", "import seeds"]):
        done, lines = run(command, "x")
        assert done.returncode == 0 and not lines, (command, done)
    numbers = [run([sys.executable, "-c", TWICE], seed)[0].stdout.splitlines()[1].split() for seed in ("1", "1", "2")]
    assert numbers[0] == numbers[1] and numbers[0][0] == numbers[0][2], numbers
    assert len({number for found in numbers for number in found}) == 4, numbers
    print("ok")


main()
