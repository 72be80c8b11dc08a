#!/usr/bin/env python3
"""Energies of solvation by Voxfield and by APBS, on the same grids: methanol and methoxide of APBS's examples.

usage: test_apbs.py SOLVENT_CASES

Runs APBS's own input files (srfm mol and smol, 0.25 A, 65^3, the atoms' spheres), as they are and with charges spread by quadratic splines
(chgm spl2), and solvent_cases at the same points of the grid.

smol: the permittivities of all faces must be those of APBS. What is left is its spreading of charges: 0.5 % with splines, and 2 % with
linear ones (spl0), whose energy depends on where a charge lies between points. mol: APBS takes the permittivity of a face from its
centre, an error of first order in the spacing: 1 % of methoxide's, which is Born's of the whole charge, and 3 % of methanol's.
solvent_study.py shows that APBS comes closer at half the spacing.
"""
import array
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
BOUNDS = {("smol", "spl2"): (0.005, 0.005), ("smol", "spl0"): (0.02, 0.01), ("mol", "spl0"): (0.03, 0.01), ("mol", "spl2"): (0.03, 0.01)}
N = 65


def by_apbs(folder, surface, charges):
    """The energies of both molecules. Writes the first solvated molecule's faces."""
    text = (folder / f"apbs-{surface}.in").read_text(encoding="ascii").replace("chgm spl0", f"chgm {charges}")
    writes = "".join(f"\n write diel{a} dx diel{a}" for a in "xyz")
    text = re.sub(r"(elec name methanol-solv.*?)(\nend)", rf"\1{writes}\2", text, count=1, flags=re.S)
    (folder / "run.in").write_text(text, encoding="ascii")
    done = subprocess.run(["apbs", "run.in"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    energies = [float(e) for e in re.findall(r"Global net ELEC energy = (\S+) kJ/mol", done.stdout)]
    assert done.returncode == 0 and len(energies) == 3, done.stdout[-3000:]
    return energies


def by_voxfield(program, path, surface):
    atoms = [line.split()[-5:-2] for line in path.read_text(encoding="ascii").splitlines() if line.startswith("ATOM")]
    centre = [(min(values) + max(values)) / 2 for values in ([float(word) for word in column] for column in zip(*atoms))]  # gcent mol

    def energy(solvent, *more):
        done = subprocess.run([program, path, f"surface={SURFACES[surface]}", "probe=0", f"eps_s={solvent}", "spacing=0.25", f"points={N}",
                               *(f"c{a}={value}" for a, value in zip("xyz", centre)), *more],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)["energy"]

    return energy(78, f"faces={path.with_suffix('.faces')}") - energy(1)


def read_dx(path):
    """Its values, z fastest."""
    lines = path.read_text(encoding="ascii").split("data follows\n")[1].splitlines()
    return [float(word) for line in lines[:(N ** 3 + 2) // 3] for word in line.split()]


def differing_faces(folder):
    """How many faces within the grid have another permittivity, and how many there are in or at the molecule."""
    ours = array.array("f", (folder / "methanol.faces").read_bytes())
    first = differing = inside = 0
    for axis, name in enumerate("xyz"):
        theirs = read_dx(folder / f"diel{name}-PE0.dx")
        assert len(theirs) == N ** 3, len(theirs)
        along = [N + (axis == a) for a in range(3)]
        for x in range(N - (axis == 0)):
            for y in range(N - (axis == 1)):
                for z in range(N - (axis == 2)):
                    here = ours[first + ((z + (axis == 2)) * along[1] + y + (axis == 1)) * along[0] + x + (axis == 0)]
                    there = theirs[(x * N + y) * N + z]
                    differing += not abs(here - there) <= 1e-4 * there  # six digits in the file
                    inside += there < 77.9
        first += along[0] * along[1] * along[2]
    return differing, inside


def main(program):
    if not shutil.which("apbs"):
        sys.exit(print("SKIP: no apbs") or 77)
    if not EXAMPLES.is_dir():
        sys.exit(print(f"SKIP: no examples of apbs in {EXAMPLES}") or 77)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "solv"
        shutil.copytree(EXAMPLES, folder)
        for (surface, charges), bounds in BOUNDS.items():
            for name, bound, theirs in zip(NAMES, bounds, by_apbs(folder, surface, charges)):
                ours = by_voxfield(program, folder / f"{name}.pqr", surface)
                good = abs(ours / theirs - 1) <= bound
                print(f"{name:10s} {surface:5s} {charges} Voxfield {ours:9.3f}  APBS {theirs:9.3f} kJ/mol  {100 * (ours / theirs - 1):+.2f} % {'' if good else 'FAILED'}",
                      flush=True)
                failed += not good
            if surface == "smol":
                differing, inside = differing_faces(folder)
                print(f"{differing} of {inside} faces in or at methanol have another permittivity")
                failed += differing > 0 or inside < 1000
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) != 0)
