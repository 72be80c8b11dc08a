#!/usr/bin/env python3
"""Checks the sample molecules of this folder against the physics that they represent, and prints the results.

It shares no code with the generators: it has its own reader and its own sums (double precision, math.fsum). Exit
status: 0 if all checks pass, else 1.
"""
import math
import os
import re
import sys
from collections import Counter, defaultdict, namedtuple

Charge = namedtuple("Charge", "name residue chain number position charge radius")
FOLDER = os.path.dirname(os.path.abspath(__file__))
failures = []


def check(holds, what):
    """Write `holds` so that NaN makes it false."""
    if not holds:
        failures.append(what)
    print(f"  {'ok  ' if holds else 'FAIL'} {what}")


def read_pqr(name):
    """The charges of a file, and its remarks as one string."""
    charges, remarks, ended = [], "", False
    with open(os.path.join(FOLDER, name), encoding="ascii", newline="") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{name}:{number}"
            if not line.endswith("\n") or "\r" in line:
                raise ValueError(f"{where}: no line feed at the end")
            fields = line.split()
            if ended:
                raise ValueError(f"{where}: text after END")
            if fields[0] == "REMARK":
                remarks += line
                # Some readers treat this word as the start of a record anywhere in a line.
                if {"ATOM", "HETATM"} & set(line.upper().split()):
                    raise ValueError(f"{where}: a remark with the word ATOM or HETATM")
            elif fields[0] == "END":
                ended = True
            elif fields[0] == "ATOM":
                if len(fields) == 10:
                    fields.insert(4, "")
                if len(fields) != 11:
                    raise ValueError(f"{where}: {len(fields)} fields")
                if int(fields[1]) != len(charges) + 1:
                    raise ValueError(f"{where}: serial numbers do not count up from 1")
                numbers = [float(field) for field in fields[6:]]
                if not all(map(math.isfinite, numbers)):
                    raise ValueError(f"{where}: not finite")
                # Fixed-column readers must find the same coordinates.
                if [float(line[c:c + 8]) for c in (30, 38, 46)] != numbers[:3]:
                    raise ValueError(f"{where}: columns and fields disagree")
                name, residue, chain, sequence = fields[2:6]
                charges.append(Charge(name, residue, chain, int(sequence), tuple(numbers[:3]), *numbers[3:]))
            elif fields[0] != "TER":
                raise ValueError(f"{where}: a {fields[0]} record")
    if not ended or not charges:
        raise ValueError(f"{name}: no END or no charges")
    return charges, remarks


def total_charge(charges):
    return math.fsum(c.charge for c in charges)


def potential(charges, point):
    """e/angstrom"""
    return math.fsum(c.charge / math.dist(c.position, point) for c in charges)


def close_pairs(charges, reach):
    """Yields pairs of charges closer than `reach`."""
    cells = defaultdict(list)
    for index, c in enumerate(charges):
        cells[tuple(math.floor(x / reach) for x in c.position)].append(index)
    steps = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    for cell, members in cells.items():
        near = [b for step in steps for b in cells.get(tuple(c + s for c, s in zip(cell, step)), ())]
        for a in members:
            for b in near:
                if a < b and math.dist(charges[a].position, charges[b].position) < reach:
                    yield charges[a], charges[b]


def closest(pairs):
    return min(math.dist(a.position, b.position) for a, b in pairs)


def summarise(name, charges):
    lo, hi = ([f(c.position[axis] for c in charges) for axis in range(3)] for f in (min, max))
    print(f"{name}: {len(charges)} charges, total {total_charge(charges):+.6f} e, "
          f"from {lo} to {hi} angstrom")


def check_tiny():
    charges, _ = read_pqr("point_charge.pqr")
    summarise("point_charge.pqr", charges)
    check([(c.charge, c.position) for c in charges] == [(1, (0, 0, 0))], "one charge, +1, at the origin")
    charges, _ = read_pqr("dipole.pqr")
    summarise("dipole.pqr", charges)
    check([(c.charge, c.position) for c in charges] == [(1, (0, 0, 0.5)), (-1, (0, 0, -0.5))],
          "+1 and -1, 1 angstrom apart")
    check(potential(charges, (3, -4, 0)) == 0, "no potential in the plane between them")


# Nuclei of an amino acid inside a chain: charged ARG, ASP, GLU, LYS; HIS with one proton.
NUCLEI = {"GLY": 7, "ALA": 10, "SER": 11, "CYS": 11, "THR": 14, "ASN": 14, "PRO": 14, "ASP": 12, "GLU": 15, "VAL": 16,
          "GLN": 17, "MET": 17, "HIS": 17, "LEU": 19, "ILE": 19, "PHE": 20, "TYR": 21, "LYS": 22, "ARG": 24, "TRP": 24}
RESIDUE_CHARGE = {"ARG": 1, "LYS": 1, "ASP": -1, "GLU": -1}
ONE_LETTER = dict(zip("GLY ALA SER CYS THR ASN PRO ASP GLU VAL GLN MET HIS LEU ILE PHE TYR LYS ARG TRP".split(),
                      "GASCTNPDEVQMHLIFYKRW"))
PROTEASE = "PQITLWQRPLVTIKIGGQLKEALLDTGADDTVLEEMSLPGRWKPKMIGGIGGFIKVRQYDQILIEICGHKAIGTVLVGPTPVNIIGRNLLTQIGCTLNF"


def check_protein():
    charges, _ = read_pqr("1hpv.pqr")
    summarise("1hpv.pqr", charges)
    residues = defaultdict(list)
    for c in charges:
        residues[c.chain, c.number].append(c)
    for chain in "AB":
        sequence = "".join(ONE_LETTER[residues[chain, n][0].residue] for n in range(1, 100) if (chain, n) in residues)
        check(sequence == PROTEASE, f"chain {chain} is the whole sequence of 99 residues")
    wrong, protonated = [], []
    for (chain, number), members in residues.items():
        name = members[0].residue
        count, charge = NUCLEI[name], RESIDUE_CHARGE.get(name, 0)
        if number == 1:  # PRO at the start has two protons on its nitrogen
            count, charge = count + 2, charge + 1
        if number == 99:  # the end is COO-
            count, charge = count + 1, charge - 1
        if name == "ASP" and "HD2" in (c.name for c in members):
            protonated.append(f"{name} {chain} {number}")
            count, charge = count + 1, charge + 1
        if len({c.name for c in members}) != len(members) or len(members) != count \
                or not abs(total_charge(members) - charge) < 1e-9:
            wrong.append(f"{name} {chain} {number}")
    check(not wrong, f"every residue has all its nuclei and a whole charge {wrong or ''}")
    check(protonated == ["ASP B 25"], f"protonated acids: {protonated}")
    check(abs(total_charge(charges) - 5) < 1e-9, f"total charge {total_charge(charges):+.12f}")
    distance = closest(close_pairs(charges, 2))
    check(distance > 0.8, f"closest nuclei {distance:.4f} angstrom apart")


def check_water():
    charges, remarks = read_pqr("water_box.pqr")
    summarise("water_box.pqr", charges)
    molecules = [charges[n:n + 3] for n in range(0, len(charges), 3)]
    shape = [("O", -0.834), ("H1", 0.417), ("H2", 0.417)]
    check(all([(c.name, c.charge) for c in m] == shape and {c.number for c in m} == {n}
              for n, m in enumerate(molecules, 1)),
          f"{len(molecules)} molecules of O -0.834, H +0.417, H +0.417")
    check(total_charge(charges) == 0, "neutral")
    # Coordinates are rounded to 1e-4 angstrom: a difference of two is off by up to 1e-4 along each axis, 1.8e-4 in all.
    bonds = [math.dist(m[0].position, h.position) for m in molecules for h in m[1:]]
    check(max(abs(b - 0.9572) for b in bonds) < 1.8e-4, f"bonds {min(bonds):.4f} to {max(bonds):.4f} angstrom")
    pairs = [math.dist(m[1].position, m[2].position) for m in molecules]
    expected = 2 * 0.9572 * math.sin(math.radians(104.52 / 2))
    check(max(abs(p - expected) for p in pairs) < 1.8e-4,
          f"H-H {min(pairs):.4f} to {max(pairs):.4f} angstrom (104.52 degrees)")
    edge = float(re.search(r"edge ([0-9.]+) angstrom", remarks).group(1))
    density = len(molecules) * 18.01528 / (6.02214076e23 * (edge * 1e-8) ** 3)
    check(abs(density - 0.997) < 1e-5, f"{density:.5f} g/cm^3 in a cube of edge {edge} angstrom, "
          f"{1000 * len(molecules) / edge ** 3:.3f} molecules/nm^3")
    check(all(0 <= x <= edge for c in charges for x in c.position), "every nucleus inside the cube")
    cells = round(len(molecules) ** (1 / 3))
    homes = {tuple(math.floor(x * cells / edge) for x in m[0].position) for m in molecules}
    check(len(homes) == len(molecules) == cells ** 3, f"one oxygen in each of {cells}^3 cells")
    arms = [[m[1].position[a] + m[2].position[a] - 2 * m[0].position[a] for a in range(3)] for m in molecules]
    mean = [math.fsum(arm[a] / math.hypot(*arm) for arm in arms) / len(arms) for a in range(3)]
    # For independent random directions 3 N |mean|^2 follows a chi-square distribution with 3 degrees of freedom: above
    # 16.3 in one box of a thousand.
    chi_square = 3 * len(arms) * math.fsum(x * x for x in mean)
    check(chi_square < 16.3,
          f"mean direction {', '.join(f'{x:+.3f}' for x in mean)} (chi-square {chi_square:.1f} for 3)")
    images = [c._replace(number=0, position=tuple(x + edge * s for x, s in zip(c.position, (i, j, k))))
              for c in charges for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)]
    images = [c for c in images if all(-3 < x < edge + 3 for x in c.position)]
    kinds = defaultdict(list)
    for a, b in close_pairs(charges + images, 3):
        if a.number != b.number:
            kinds["".join(sorted(a.name[0] + b.name[0]))].append((a, b))
    for kind, least in (("OO", 2.5), ("HO", 1.6), ("HH", 1.6)):
        distance = closest(kinds[kind])
        check(distance > least - 2e-4,
              f"closest {kind[0]}-{kind[1]} of two molecules {distance:.4f} angstrom, also across faces")


def madelung_benson():
    """Madelung's constant of rock salt by Benson's formula (Borwein et al., Lattice Sums Then and Now, 2013)."""
    odd = range(1, 32, 2)
    return 12 * math.pi * math.fsum(math.cosh(math.pi / 2 * math.hypot(m, n)) ** -2 for m in odd for n in odd)


def check_nacl():
    charges, _ = read_pqr("nacl.pqr")
    summarise("nacl.pqr", charges)
    r0, half = 2.82, 6
    site = {c: tuple(round(x / r0) for x in c.position) for c in charges}
    check(all(abs(x - r0 * s) < 1e-9 for c in charges for x, s in zip(c.position, site[c])),
          "ions on a lattice of 2.82 angstrom")
    cube = range(-half, half + 1)
    every = {(i, j, k) for i in cube for j in cube for k in cube if (i, j, k) != (0, 0, 0)}
    check(set(site.values()) == every and len(charges) == len(every), "every site of 13^3 once, but the centre")
    check(all((c.name, c.charge > 0) == (("CL", False) if sum(site[c]) % 2 else ("NA", True)) for c in charges),
          "Na+ and Cl- alternate")
    for axis in range(3):
        rows = Counter()
        for c in charges:
            rows[site[c][:axis] + site[c][axis + 1:]] += c.charge
        check({row for row, charge in rows.items() if charge != 0} == {(0, 0)} and rows[0, 0] == -1,
              f"every row along {'xyz'[axis]} is neutral, the one without its centre -1")
    madelung = madelung_benson()
    check(abs(madelung - 1.747564594633182) < 1e-14, f"Madelung's constant {madelung:.15f} (Benson)")
    value = potential(charges, (0, 0, 0))
    found = -value * r0
    # The leading term of the contribution from outside the cube (README.md). The other terms are 0.15 percent of it
    # here.
    theory = -5 / (54 * math.sqrt(3) * (half - 0.5) ** 7)
    print(f"       potential at the origin {value!r} e/angstrom, Madelung / r0 = {madelung / r0!r}")
    check(abs(found - madelung - theory) < 0.01 * abs(theory),
          f"the file's Madelung constant {found:.12f}, off by {found - madelung:+.3e} (leading term {theory:+.3e})")
    # At the centre of eight ions, the potential of the infinite crystal is 0 by symmetry. What remains is minus the
    # potential of the missing Na+.
    half_cell = (-r0 / 2, r0 / 2)
    corners = [potential(charges, (x, y, z)) for x in half_cell for y in half_cell for z in half_cell]
    expected = -2 / (math.sqrt(3) * r0)
    print(f"       potential at (r0/2, r0/2, r0/2) {corners[-1]!r} e/angstrom, -2 / (sqrt(3) r0) = {expected!r}")
    check(max(abs(v - corners[0]) for v in corners) < 1e-13, "the same at all eight of these points")
    check(max(abs(v - expected) for v in corners) < 1e-6, f"off by {corners[0] - expected:+.3e} e/angstrom")


def main():
    for part in (check_tiny, check_protein, check_water, check_nacl):
        try:
            part()
        except (OSError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            check(False, f"{part.__name__}: {type(error).__name__}: {error}")
    print(f"{len(failures)} failures" if failures else "all samples hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
