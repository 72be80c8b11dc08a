#!/usr/bin/env python3
"""Salt in a solvated box by cionize and by GROMACS' genion: the same box, the same numbers, and what the placements are like.

usage: test_genion.py CIONIZE

HIV-1 protease (data/1hpv.pqr) in a box of water that `gmx solvate` makes. Both get the same least distance between ions, and from
the solute. Compared are the numbers, the total charge, the least distances (of nearest images), and one energy, computed here by
one function for both: the charges of the solute and the ions in the cell, by Ewald's sum, without water. Prints the table of
docs/ions.md.
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "data"
EDGE, SOLUTE, ION_ION = 70.0, 6.0, 6.0  # angstrom
WATER = "SOL"
SPCE = (("OW", -0.8476), ("HW1", 0.4238), ("HW2", 0.4238))

try:
    import numpy
except ImportError:
    sys.exit(print("SKIP: no numpy") or 77)


def gmx(*arguments, text=""):
    done = subprocess.run(["gmx", "-nobackup", "-quiet", *map(str, arguments)], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise AssertionError(f"gmx {arguments}: {done.stdout[-3000:]}")
    return done.stdout


def read_pqr(path):
    """[(name, residue, chain, number, x, y, z, charge, radius)]"""
    atoms = []
    for line in open(path, encoding="ascii"):
        words = line.split()
        if words and words[0] in ("ATOM", "HETATM"):
            chain = words[4] if len(words) == 11 else ""
            atoms.append((words[2], words[3], chain, words[-6], *map(float, words[-5:])))
    return atoms


def write_gro(path, atoms, edge):
    with open(path, "w", encoding="ascii") as stream:
        stream.write(f"a box\n{len(atoms)}\n")
        for n, (name, residue, number, x, y, z) in enumerate(atoms, 1):
            stream.write(f"{number % 100000:5d}{residue[:5]:<5s}{name[:5]:>5s}{n % 100000:5d}{x / 10:8.3f}{y / 10:8.3f}{z / 10:8.3f}\n")
        stream.write(f"{edge / 10:10.5f}{edge / 10:10.5f}{edge / 10:10.5f}\n")


def read_gro(path):
    lines = open(path, encoding="ascii").read().splitlines()
    return [(line[10:15].strip(), line[5:10].strip(), int(line[:5]), *(10 * float(line[20 + 8 * a:28 + 8 * a]) for a in range(3)))
            for line in lines[2:2 + int(lines[1])]]


def write_box_pqr(path, protein, waters, edge):
    """waters: [n][3 atoms][3]"""
    with open(path, "w", encoding="ascii") as stream:
        stream.write(f"CRYST1{edge:9.3f}{edge:9.3f}{edge:9.3f}{90:7.2f}{90:7.2f}{90:7.2f} P 1           1\n")
        serial = 0
        for name, residue, chain, number, x, y, z, charge, radius in protein:
            serial += 1
            stream.write(f"ATOM {serial} {name} {residue} {chain or 'A'} {number} {x:.3f} {y:.3f} {z:.3f} {charge:.4f} {radius:.4f}\n")
        for n, water in enumerate(waters, 1):
            for (name, charge), place in zip(SPCE, water):
                serial += 1
                stream.write(f"ATOM {serial} {name} {WATER} W {n} " + " ".join(f"{x:.3f}" for x in place) + f" {charge:.4f} {1.5 if charge < 0 else 0:.4f}\n")
        stream.write("END\n")


def write_topology(path, protein, waters):
    with open(path, "w", encoding="ascii") as out:
        out.write("[ defaults ]\n1 2 yes 0.5 0.8333\n[ atomtypes ]\n")
        for name, mass in (("XX", 12.0), ("OW", 15.999), ("HW", 1.008), ("NA", 22.99), ("CL", 35.45)):
            out.write(f"{name} {mass} 0.0 A 0.25 0.1\n")
        out.write("[ moleculetype ]\nPROT 0\n[ atoms ]\n")
        for n, atom in enumerate(protein, 1):
            out.write(f"{n} XX 1 PRO {atom[0]} {n} {atom[7]:.4f} 12.0\n")
        out.write("[ moleculetype ]\nSOL 0\n[ atoms ]\n")
        for n, (name, charge) in enumerate(SPCE, 1):
            out.write(f"{n} {name[:2]} 1 SOL {name} 1 {charge} {15.999 if n == 1 else 1.008}\n")
        for name, charge in (("NA", 1), ("CL", -1)):
            out.write(f"[ moleculetype ]\n{name} 0\n[ atoms ]\n1 {name} 1 {name} {name} 1 {charge} 30\n")
        out.write(f"[ system ]\nbox\n[ molecules ]\nPROT 1\nSOL {len(waters)}\n")


def solvate(protein):
    """The protein in the middle of the cell, and the oxygens and hydrogens of the water: [n][3][3]."""
    places = numpy.array([atom[4:7] for atom in protein])
    places += EDGE / 2 - (places.min(0) + places.max(0)) / 2
    places = places.round(2)
    protein = [(*atom[:4], *place, *atom[7:]) for atom, place in zip(protein, places)]
    write_gro("protein.gro", [(atom[0], atom[1], 1 + n // 20, *atom[4:7]) for n, atom in enumerate(protein)], EDGE)
    gmx("solvate", "-cp", "protein.gro", "-cs", "spc216.gro", "-box", EDGE / 10, EDGE / 10, EDGE / 10, "-o", "box.gro")
    rows = [row for row in read_gro("box.gro") if row[1] == WATER]
    return protein, numpy.array([row[3:] for row in rows]).reshape(-1, 3, 3)


def nearest(d):
    return d - EDGE * numpy.round(d / EDGE)


def least(a, b=None):
    """The least distance of nearest images between two sets of places; or within one."""
    best = math.inf
    for n, place in enumerate(a):
        squares = (nearest((a if b is None else b) - place) ** 2).sum(1)
        if b is None:
            squares[n] = math.inf
        best = min(best, squares.min())
    return math.sqrt(best)


def ewald(places, charges, ions):
    """The electrostatic energy of the last `ions` charges with all others and each other, kT at 298.15 K in vacuum: Ewald's sum
    over the cube, conducting boundary, uniform background. alpha = 3.2 / cutoff leaves out terms of exp(-10) = 5e-5 of single
    pairs: some kT of 1e4, the same for both programs."""
    cutoff, alpha = 20.0, 3.2 / 20.0
    constant = 560.459322
    new, charge = places[-ions:], charges[-ions:]
    erfc = numpy.vectorize(math.erfc, otypes=[float])
    energy = 0.0
    for n, (place, q) in enumerate(zip(new, charge)):
        r = numpy.sqrt((nearest(places - place) ** 2).sum(1))
        near = (r < cutoff) & (r > 0)
        weight = numpy.ones(len(r))
        weight[-ions:] = 0.5  # pairs of ions are met twice
        energy += q * (weight[near] * charges[near] * erfc(alpha * r[near]) / r[near]).sum()
    most = int(2 * alpha * math.sqrt(10) * EDGE / (2 * math.pi)) + 1
    unit = 2 * math.pi / EDGE
    for i in range(0, most + 1):
        j, k = numpy.meshgrid(range(-most, most + 1), range(-most, most + 1), indexing="ij")
        waves = numpy.stack([numpy.full(j.size, i), j.ravel(), k.ravel()], 1) * unit
        squares = (waves ** 2).sum(1)
        waves, squares = waves[(squares > 0) & (squares < (most * unit) ** 2)], squares[(squares > 0) & (squares < (most * unit) ** 2)]
        if len(waves) == 0:
            continue
        s_rest = numpy.exp(1j * waves @ places[:-ions].T) @ charges[:-ions]
        s_new = numpy.exp(1j * waves @ new.T) @ charge
        factor = 2 * math.pi / EDGE ** 3 * numpy.exp(-squares / (4 * alpha ** 2)) / squares * (1 if i == 0 else 2)
        energy += (factor * (2 * (s_new * s_rest.conj()).real + abs(s_new) ** 2)).sum()
    energy -= alpha / math.sqrt(math.pi) * (charge ** 2).sum()
    energy -= math.pi / (EDGE ** 3 * alpha ** 2) * charge.sum() * (charges[:-ions].sum() + charge.sum() / 2)
    return constant * energy


def figures(protein, ions):
    """ions: [(x, y, z, charge)]"""
    solute = numpy.array([atom[4:8] for atom in protein])
    ions = numpy.array(ions)
    both = numpy.concatenate([solute, ions])
    return {"cations": int((ions[:, 3] > 0).sum()), "anions": int((ions[:, 3] < 0).sum()),
            "charge": round(both[:, 3].sum(), 3) + 0.0, "ion_ion": least(ions[:, :3]),
            "ion_solute": least(ions[:, :3], solute[:, :3]), "energy": ewald(both[:, :3], both[:, 3], len(ions))}


def run_cionize(program):
    done = subprocess.run([program, "--device", "cpu", "box.pqr", "--cell", "input", "--concentration", "0.15", "--order", "alternate",
                           "--ion-solute", str(SOLUTE), "--ion-ion", str(ION_ION), "-o", "ionized.pqr", "--report", "r.json"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    report = json.load(open("r.json", encoding="utf-8"))
    ions = report["ions"]
    print(f"cionize: {report['seconds']['place']:.2f} s for the placement, {sum(report['seconds'].values()):.2f} s in all")
    charges = {"SOD": 1, "CLA": -1}
    return [(x, y, z, charges[name]) for name, x, y, z in zip(ions["name"], ions["x"], ions["y"], ions["z"])]


def run_genion(cations, anions, seed):
    gmx("genion", "-s", "box.tpr", "-o", "genion.gro", "-np", cations, "-nn", anions, "-pname", "NA", "-nname", "CL", "-rmin",
        ION_ION / 10, "-seed", seed, text="SOL\n")
    rows = read_gro("genion.gro")
    return rows, [(*row[3:], 1 if row[1] == "NA" else -1) for row in rows if row[1] in ("NA", "CL")]


def main():
    if not shutil.which("gmx"):
        print("SKIP: no gmx (GROMACS)")
        return 77
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        protein, waters = solvate(read_pqr(DATA / "1hpv.pqr"))
        write_box_pqr("box.pqr", protein, waters, EDGE)
        write_topology("box.top", protein, waters)
        write_gro("all.gro", [(a[0], "PRO", 1, *a[4:7]) for a in protein] +
                  [(SPCE[k][0], WATER, 2 + n, *place) for n, water in enumerate(waters) for k, place in enumerate(water)], EDGE)
        pathlib.Path("md.mdp").write_text("integrator = steep\nnsteps = 0\ncutoff-scheme = Verlet\ncoulombtype = Cut-off\n", encoding="ascii")
        gmx("grompp", "-f", "md.mdp", "-c", "all.gro", "-p", "box.top", "-o", "box.tpr", "-po", "out.mdp", "-maxwarn", 20)
        ours = figures(protein, run_cionize(program))
        peers = []
        for seed in (1, 2, 3):
            rows, ions = run_genion(ours["cations"], ours["anions"], seed)
            peers.append(figures(protein, ions))
            assert len([row for row in rows if row[1] == WATER]) == 3 * (len(waters) - len(ions))
        print(f"box: {len(protein)} atoms of solute, {len(waters)} water molecules, cube of {EDGE:g} A")
        print("| | Na+ | Cl- | total charge | ion to ion, A | ion to solute, A | energy of the ions, kT in vacuum |\n|---|---|---|---|---|---|---|")
        for name, f in [("`cionize`", ours)] + [(f"`genion -seed {n}`", f) for n, f in enumerate(peers, 1)]:
            print(f"| {name} | {f['cations']} | {f['anions']} | {f['charge']:+g} | {f['ion_ion']:.2f} | {f['ion_solute']:.2f} | {f['energy']:.0f} |")
        # 0.15 mol in 55.34 mol of water; the ions of a charged solute are 0.5 more of one kind and less of the other, each.
        pairs = 0.15 / 55.345 * (len(waters) - ours["cations"] - ours["anions"])
        assert abs(math.sqrt(ours["cations"] * ours["anions"]) - pairs) < 1, (ours, pairs)
        assert ours["charge"] == 0 and all(f["charge"] == 0 for f in peers), (ours, peers)
        assert ours["ion_ion"] >= ION_ION - 1e-9 and ours["ion_solute"] >= SOLUTE - 1e-9, ours
        assert all(ours["energy"] < f["energy"] for f in peers), (ours, peers)
    return 0


sys.exit(main())
