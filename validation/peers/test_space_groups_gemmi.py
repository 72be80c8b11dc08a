#!/usr/bin/env python3
"""Space groups by name against gemmi's tables, setting by setting; and mmCIF files that gemmi writes.

usage: test_space_groups_gemmi.py PRINT_OPERATORS CIONIZE
Exit status: 0; 1 if any differ; 77 without gemmi or spglib.
"""
import math
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import gemmi
except ImportError:
    print("SKIP: gemmi is missing")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from seeds import generator  # noqa: E402

CELLS = [(31, 37, 43, 71, 83, 97), (31, 37, 43, 90, 101, 90), (31, 37, 43, 90, 90, 101), (31, 37, 43, 101, 90, 90),
         (31, 37, 43, 90, 90, 90), (31, 31, 43, 90, 90, 90), (43, 31, 31, 90, 90, 90), (31, 43, 31, 90, 90, 90),
         (31, 31, 43, 90, 90, 120), (31, 31, 31, 77, 77, 77), (31, 31, 31, 90, 90, 90)]


def operators(group):
    """[(turn, shift)] in twenty-fourths, of gemmi."""
    found = set()
    for op in group.operations():
        turn = tuple(value // gemmi.Op.DEN for row in op.rot for value in row)
        found.add((turn, tuple(value * 24 // gemmi.Op.DEN % 24 for value in op.tran)))
    return found


def fits(cell, ops):
    """Whether the operators leave the metric of the cell as it is."""
    angle = [math.cos(math.radians(value)) for value in cell[3:]]
    metric = [[cell[a] * cell[b] * (1 if a == b else angle[3 - a - b]) for b in range(3)] for a in range(3)]
    for turn, _ in ops:
        for a in range(3):
            for b in range(3):
                value = sum(turn[3 * i + a] * metric[i][j] * turn[3 * j + b] for i in range(3) for j in range(3))
                if abs(value - metric[a][b]) > 1e-6:
                    return False
    return True


def ask(program, rows):
    """The operators that the program finds for each (cell, name): a set; None: not found."""
    text = "".join(" ".join(map(str, cell)) + f" {name}\n" for cell, name in rows)
    lines = iter(subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines())
    answers = []
    for line in lines:
        count = int(line)
        if count < 0:
            print("SKIP: built without spglib")
            sys.exit(77)
        answer = set()
        for _ in range(count):
            words = next(lines).split()
            answer.add((tuple(map(int, words[:9])), tuple(int(round(float(word))) for word in words[9:])))
        answers.append(answer if count else None)
    return answers


def compare_tables(program):
    rows, expected = [], []
    for group in gemmi.spacegroup_table():
        ops = operators(group)
        cell = next(cell for cell in CELLS if fits(cell, ops))
        for name in {group.xhm(), group.hm + (f" :{group.ext}" if group.ext and group.ext != "\0" else "")}:
            rows.append((cell, name))
            expected.append(ops)
    found = ask(program, rows)
    unknown = [name for (_, name), answer in zip(rows, found) if answer is None]
    wrong = [name for (_, name), answer, ops in zip(rows, found, expected) if answer is not None and answer != ops]
    print(f"{len(rows)} names of {len(list(gemmi.spacegroup_table()))} settings: {len(unknown)} not known here, {len(wrong)} differ")
    print("    not known:", ", ".join(sorted(set(unknown))))
    if wrong:
        print("    FAILED:", ", ".join(wrong))
    # International Tables A has 530 settings; the rest of gemmi's are not among them.
    return not wrong and len(rows) - len(unknown) >= 530


def compare_mmcif(cionize, folder):
    """An mmCIF of gemmi: the same names and positions, and as many copies as operators, where gemmi puts them."""
    rng = generator()
    crystal = gemmi.Structure()
    crystal.cell = gemmi.UnitCell(38, 40, 47, 90, 98, 90)
    crystal.spacegroup_hm = "C 1 2 1"
    model = gemmi.Model("1")
    for name in ("A", "BB"):
        chain = gemmi.Chain(name)
        for number in range(1, 5):
            residue = gemmi.Residue()
            residue.name, residue.seqid = "ALA", gemmi.SeqId(str(100 + number))
            for atom_name in ("N", "CA", "C", "O", "CB", "O5'"):
                atom = gemmi.Atom()
                atom.name, atom.element = atom_name, gemmi.Element(atom_name[0])
                atom.pos = gemmi.Position(*(float(value) for value in rng.uniform(2, 15, 3).round(3)))
                residue.add_atom(atom)
            chain.add_residue(residue)
        model.add_chain(chain)
    crystal.add_model(model)
    crystal.setup_entities()
    crystal.make_mmcif_document().write_file(str(folder / "c.cif"))
    atoms = [(cra.chain.name, cra.residue.seqid.num, cra.atom.name, cra.atom.pos) for cra in crystal[0].all()]
    (folder / "c.psf").write_text(f"PSF NAMD\n{len(atoms)} !NATOM\n" + "".join(
        f"{n + 1} P {number} ALA {name} C {0.25 * (-1) ** n} 12.0 0\n" for n, (_, number, name, _) in enumerate(atoms)))
    run = subprocess.run([cionize, "c.cif", "--charges", "c.psf", "--cell", "input", "--symmetry", "expand", "--spacing", "4",
                          "--ion-solute", "0", "--place", "SOD:1", "-o", "o.pqr"], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        print("    FAILED:", run.stderr.strip())
        return False
    found = []
    for line in (folder / "o.pqr").read_text().splitlines():
        words = line.split()
        if line.startswith(("ATOM", "HETATM")) and "SOD" not in words:
            found.append((words[2], gemmi.Position(*map(float, words[-5:-2]))))
    wanted = [(name, crystal.cell.orthogonalize(gemmi.Fractional(*op.apply_to_xyz(crystal.cell.fractionalize(pos).tolist()))))
              for _, _, name, pos in atoms for op in gemmi.SpaceGroup("C 1 2 1").operations()]
    far = 0.0
    for name, pos in wanted:
        far = max(far, min(crystal.cell.find_nearest_image(pos, other).dist() for same, other in found if same == name))
    print(f"mmCIF of gemmi: {len(found)} atoms for {len(wanted)}, at most {far:.4f} A apart")
    # Outputs have three decimals: at most 0.0005 sqrt(3) = 0.00087 A.
    return len(found) == len(wanted) and far <= 0.0009


def main():
    with tempfile.TemporaryDirectory() as folder:
        good = [compare_tables(sys.argv[1]), compare_mmcif(os.path.abspath(sys.argv[2]), pathlib.Path(folder))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
