#!/usr/bin/env python3
"""Energies in a solvent against what is known, and against APBS.

    solvent_study.py SOLVENT_CASES [--json FILE] [--quick] [--enforce] [--examples FOLDER] [--threads N]
    solvent_study.py SOLVENT_CASES --borders

- Born's ion of 3 A, Kirkwood's sphere of 10 A with six charges, two spheres: errors, and the order of convergence, as rms over two
  shifts of the grid.
- A protein, data/1hpv.pqr, turned and shifted 20 times at 0.5 A: the scatter; and at several spacings.
- If `apbs` and its examples are installed: methanol, methoxide, the proteins 451c and 1a63, and the binding of DMSO to FKBP. APBS takes the
  permittivity of a face from its centre: with srfm mol its energies are of first order in the spacing, so the table has half the
  spacing, too. With srfm smol both have the same permittivities on equal spheres (validation/peers/test_apbs.py), and APBS's spreading
  of charges is what differs.

--quick     coarse grids, without a protein and without APBS: a test that this program works
--borders   only what the distance of the grid's edge costs, for a protein in water, with and without salt, and in vacuum
--enforce   exit status 1 if a bar of spheres or of scatter is missed

Exit status: 0; 1 if a run failed or a bar is missed. 25 minutes on two cores, most of them APBS's.
"""
import argparse
import json
import math
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "validation"))
import seeds  # noqa: E402

VDW, SES, SMOOTH = 0, 2, 3  # vf_surface_kind
ORDER, SCATTER = 1.8, 0.003  # bars


class Study:
    def __init__(self, options):
        self.options, self.rows, self.missed = options, [], []

    def run(self, what, **keys):
        keys.setdefault("threads", self.options.threads)
        done = subprocess.run([self.options.program, what, *(f"{k}={v}" for k, v in keys.items())], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{what} {keys}: {done.stdout}")
        result = json.loads(done.stdout)
        if not math.isfinite(result["energy"]):
            raise SystemExit(f"{what} {keys}: {result['energy']}")
        return result

    def row(self, case, spacing, ours, reference, of, bar=None, **more):
        error = ours / reference - 1
        missed = bar is not None and not abs(error) <= bar
        self.rows.append({"case": case, "spacing": spacing, "ours": ours, of: reference, "error": error, "bar": bar, **more})
        if missed:
            self.missed.append(f"{case} at {spacing} A")
        print(f"{case:44s} {spacing:7.4g} {ours:12.4f} {reference:12.4f} {of:9s} {100 * error:+9.4f} %{' MISSED' if missed else ''}", flush=True)

    def least(self, case, value, bar, what, digits="{:.2f}"):
        missed = not value >= bar if what == "order" else not value <= bar
        self.rows.append({"case": case, what: value, "bar": bar})
        if missed:
            self.missed.append(f"{case}: {what}")
        print(f"{case:44s} {what} {digits.format(value)}{' MISSED' if missed else ''}", flush=True)


# ---- what is known ----

def known(study):
    """Name, program's case, half the grid, spacings, the last one's bar, keys."""
    quick = study.options.quick
    salts = (("", {"kappa": 0}), (", salt", {"kappa": 0.127}), (", salt at the surface", {"kappa": 0.3, "stern": 0}))
    for name, keys in salts[:2]:
        yield f"Born{name}", "born", 12, (0.75, 0.375) if quick else (0.75, 0.375, 0.1875), 0.002 if quick else 0.0005, {"eps_m": 1, **keys}
    for name, keys in salts:
        yield f"Kirkwood{name}", "sphere", 40, (2.5, 1.25) if quick else (1.25, 0.625, 0.3125), 0.016 if quick else 0.001, keys
    for name, kappa in (("", 0), (", salt at the surface", 0.5)):
        keys = {"kappa": kappa, "stern": 0, "surface": VDW, "probe": 0, "cz": 2.25}
        yield f"two spheres{name}", "pair", 12, (0.8, 0.4) if quick else (0.4, 0.2, 0.1), 0.016 if quick else 0.001, keys


def spheres(study):
    for name, case, half, spacings, bar, keys in known(study):
        rms = []
        for spacing in spacings:
            runs = [study.run(case, spacing=spacing, points=round(2 * half / spacing) + 1, shift=shift, **keys) for shift in (0.1, 0.7)]
            for n, run in enumerate(runs):
                study.row(f"{name}, shift {n + 1}", spacing, run["energy"], run["truth"], "exact", bar if spacing == spacings[-1] else None,
                          seconds=run["seconds"], iterations=run["iterations"])
            rms.append(math.sqrt(sum(run["error"] ** 2 for run in runs)))
        study.least(name, math.log2(rms[0] / rms[1]), ORDER, "order")


# ---- a protein ----

def read_atoms(path):
    return [[float(word) for word in line.split()[-5:]] for line in open(path, encoding="ascii") if line.startswith(("ATOM", "HETATM"))]


def turn(atoms, random):
    """Atoms turned about their middle, all turns alike, and shifted by up to half a unit."""
    q = [random.gauss(0, 1) for _ in range(4)]
    length = math.sqrt(sum(x * x for x in q))
    w, x, y, z = (value / length for value in q)
    rows = ((1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)), (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)))
    middle = [sum(atom[a] for atom in atoms) / len(atoms) for a in range(3)]
    shift = [random.uniform(-0.5, 0.5) for _ in range(3)]
    return [[sum(row[a] * (atom[a] - middle[a]) for a in range(3)) + s for row, s in zip(rows, shift)] + atom[3:] for atom in atoms]


def write_pqr(path, atoms):
    with open(path, "w", encoding="ascii") as stream:
        for n, (x, y, z, charge, radius) in enumerate(atoms, 1):
            stream.write(f"ATOM {n} C MOL A 1 {x:.5f} {y:.5f} {z:.5f} {charge:.5f} {radius:.5f}\n")


def protein(study, scratch):
    path = ROOT / "data" / "1hpv.pqr"
    atoms, random, place = read_atoms(path), seeds.draw("solvent_study"), pathlib.Path(scratch) / "turned.pqr"
    energies = []
    for _ in range(20):
        write_pqr(place, turn(atoms, random))
        energies.append(study.run(place, spacing=0.5, border=8, kappa=0.127)["energy"])
    mean = sum(energies) / len(energies)
    study.least("1hpv, 20 turns and shifts at 0.5 A", max(abs(e / mean - 1) for e in energies), SCATTER, "largest deviation", "{:.5f}")
    study.least("1hpv, 20 turns and shifts at 0.5 A", math.sqrt(sum((e / mean - 1) ** 2 for e in energies) / len(energies)), SCATTER, "scatter", "{:.5f}")
    spacings = (1, 0.7, 0.5, 0.35, 0.25)
    runs = {h: study.run(path, spacing=h, border=8, kappa=0.127)["energy"] for h in spacings}
    limit = runs[0.25] + (runs[0.25] - runs[0.35]) / (0.35 ** 2 / 0.25 ** 2 - 1)
    for h in spacings:
        study.row("1hpv", h, runs[h], limit, "limit")


def borders(study):
    """What the boundary costs, which is that of screened charges without the molecule's cavity: against a border of 40 A. Borders are from
    the atoms' spheres, whole spacings, so the surface falls alike on all grids."""
    path, h, far = ROOT / "data" / "1hpv.pqr", 1, 40
    for what, keys in (("water", {"kappa": 0}), ("water with salt", {"kappa": 0.127}), ("vacuum", {"kappa": 0, "eps_s": 1})):
        known = study.run(path, spacing=h, border=far, **keys)["energy"]
        for border in (5, 7, 10, 14):
            study.row(f"1hpv in {what}, border of {border} A", h, study.run(path, spacing=h, border=border, **keys)["energy"], known, "border 40")


# ---- APBS ----

BLOCK = """elec name {name}
 mg-manual
 dime {n[0]} {n[1]} {n[2]}
 grid {h} {h} {h}
 gcent {c[0]} {c[1]} {c[2]}
 mol 1
 lpbe
 bcfl mdh
 pdie 2.0
 sdie {eps}
 chgm spl0
 srfm {surface}
 srad {probe}
 swin 0.3
 sdens 10.0
 temp 298.15
 calcenergy total
 calcforce no
end
"""


def by_apbs(scratch, path, h, n, centre, surface, probe, eps_s, reference):
    text = f"read\n mol pqr {path}\nend\n"
    for name, eps in (("solvated", eps_s), ("reference", reference)):
        text += BLOCK.format(name=name, n=n, h=h, c=centre, eps=eps, surface=surface, probe=probe)
    place = pathlib.Path(scratch) / "apbs.in"
    place.write_text(text + "print elecEnergy solvated - reference end\nquit\n", encoding="ascii")
    done = subprocess.run(["apbs", place.name], cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = [float(line.split()[-2]) for line in done.stdout.splitlines() if "Global net ELEC energy" in line]
    if done.returncode != 0 or len(found) != 1:
        raise SystemExit(f"apbs: {done.stdout[-3000:]}")
    return found[0]


def by_us(study, path, h, n, centre, surface, probe, eps_s, reference):
    def one(eps):
        keys = dict(zip(("nx", "ny", "nz", "cx", "cy", "cz"), (*n, *centre)))
        return study.run(path, spacing=h, surface=surface, probe=probe, eps_s=eps, kappa=0, **keys)["energy"]

    return one(eps_s) - (one(reference) if reference != 2 else 0)


def lay_grid(atoms, h, border):
    """Numbers of points that APBS's multigrid takes, and the middle."""
    lo, hi = ([f(atom[a] + sign * atom[4] for atom in atoms) for a in range(3)] for f, sign in ((min, -1), (max, 1)))
    return [32 * math.ceil((hi[a] - lo[a] + 2 * border) / h / 32) + 1 for a in range(3)], [round((lo[a] + hi[a]) / 2, 4) for a in range(3)]


def against_apbs(study, scratch):
    examples = pathlib.Path(study.options.examples)
    if not shutil.which("apbs") or not examples.is_dir():
        print("apbs or its examples are not installed: left out")
        return
    cases = [(f"solv/{name}.pqr", h, n, 0, 78, 1) for name in ("methanol", "methoxide") for h, n in ((0.25, 65), (0.125, 129))]
    cases += [(f"bem/test_proteins/{name}.pqr", h, 0, 1.4, 78.54, 2) for name in ("451c", "1a63") for h in (1, 0.5)]
    for name, h, count, probe, eps_s, reference in cases:
        path = examples / name
        if not path.exists():
            print(f"{path} is not there: left out")
            continue
        n, centre = lay_grid(read_atoms(path), h, 8)
        n = [count] * 3 if count else n
        for surface, kind in (("mol", SES if probe else VDW), ("smol", SMOOTH)):
            theirs = by_apbs(scratch, path, h, n, centre, surface, probe, eps_s, reference)
            study.row(f"{path.stem}, srfm {surface}", h, by_us(study, path, h, n, centre, kind, probe, eps_s, reference), theirs, "APBS")
    binding(study, scratch, examples / "FKBP")


def binding(study, scratch, folder):
    names = ("1d7h-dmso-complex", "1d7h-min", "dmso-min")
    if not all((folder / f"{name}.pqr").exists() for name in names):
        print(f"{folder} is not there: left out")
        return
    h, ours, theirs = 0.45, [], []
    n, centre = lay_grid(read_atoms(folder / f"{names[0]}.pqr"), h, 5)
    for name in names:
        given = (folder / f"{name}.pqr", h, n, centre)
        theirs.append(by_apbs(scratch, *given, "mol", 0, 78, 2))
        ours.append(by_us(study, *given, VDW, 0, 78, 2))
        study.row(f"{name}, srfm mol, spheres", h, ours[-1], theirs[-1], "APBS")
    study.row("FKBP and DMSO, difference", h, ours[0] - ours[1] - ours[2], theirs[0] - theirs[1] - theirs[2], "APBS")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--enforce", action="store_true")
    parser.add_argument("--borders", action="store_true")
    parser.add_argument("--examples", default="/usr/share/apbs/examples")
    parser.add_argument("--threads", type=int, default=2)
    study = Study(parser.parse_args())
    print(f"{'case':44s} spacing       kJ/mol    reference               error")
    if study.options.borders:
        borders(study)
        return 0
    spheres(study)
    with tempfile.TemporaryDirectory() as scratch:
        if not study.options.quick:
            protein(study, scratch)
            against_apbs(study, scratch)
    if study.options.json:
        record = {"program": "solvent_study", "quick": study.options.quick, "machine": platform.processor() or platform.machine(), "rows": study.rows,
                  "missed": study.missed}
        pathlib.Path(study.options.json).write_text(json.dumps(record, indent=1) + "\n", encoding="ascii")
    print("missed: " + ", ".join(study.missed) if study.missed else "all bars are met")
    return bool(study.missed) and study.options.enforce


if __name__ == "__main__":
    sys.exit(main())
