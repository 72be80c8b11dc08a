#!/usr/bin/env python3
"""Energies of solvation by Voxfield and by APBS, on the same grids: methanol and methoxide of APBS's examples.

usage: test_apbs.py SOLVENT_CASES

Runs APBS's own input files (srfm mol and smol, 0.25 A, 65^3), and solvent_cases at the same points of the grid. Bound: 1 %, but for
methanol with srfm mol. APBS takes the permittivity of a face from its centre, so its error is of first order in the spacing: its energy
of methanol is -36.25 at 0.25 A and -35.94 at 0.125 A, Voxfield's -35.42 and -35.08; solvent_study.py has the table. There the
bound is 3 %, and Voxfield's must be the smaller.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path("/usr/share/apbs/examples/solv")
SURFACES = {"mol": 0, "smol": 3}  # without a probe (srad 0): the atoms' spheres, sharp or smoothed
NAMES = ("methanol", "methoxide")


def by_apbs(folder, surface):
    done = subprocess.run(["apbs", f"apbs-{surface}.in"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    energies = [float(e) for e in re.findall(r"Global net ELEC energy = (\S+) kJ/mol", done.stdout)]
    assert done.returncode == 0 and len(energies) == 3, done.stdout[-3000:]
    return dict(zip(NAMES, energies))


def by_voxfield(program, path, surface):
    def energy(solvent):
        done = subprocess.run([program, path, f"surface={SURFACES[surface]}", "probe=0", f"eps_s={solvent}", "spacing=0.25", "points=65"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)["energy"]

    return energy(78) - energy(1)


def main(program):
    if not shutil.which("apbs"):
        sys.exit(print("SKIP: no apbs") or 77)
    if not EXAMPLES.is_dir():
        sys.exit(print(f"SKIP: no examples of apbs in {EXAMPLES}") or 77)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "solv"
        shutil.copytree(EXAMPLES, folder)
        for surface in SURFACES:
            theirs = by_apbs(folder, surface)
            for name in NAMES:
                ours, theirs_here = by_voxfield(program, folder / f"{name}.pqr", surface), theirs[name]
                error, rough = ours / theirs_here - 1, (name, surface) == ("methanol", "mol")
                good = abs(error) <= (0.03 if rough else 0.01) and (not rough or error < 0)
                print(f"{name:10s} {surface:5s} Voxfield {ours:9.3f}  APBS {theirs_here:9.3f} kJ/mol  {100 * error:+.2f} % {'' if good else 'FAILED'}")
                failed += not good
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) != 0)
