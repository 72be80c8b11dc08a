#!/usr/bin/env python3
"""Writes a box of TIP3P water as PQR to standard output: make_water_box.py [--edge N] [--seed S]

The box is synthetic, not equilibrated. N^3 molecules are on a simple cubic lattice with the density of liquid water.
Each is moved a little and rotated at random. If it comes too close to a molecule already placed, it is drawn again.
The box is cubic, has a corner at the origin and contains every nucleus. It can be repeated periodically, because
distances across its faces are checked, too.

Model: Jorgensen et al., J. Chem. Phys. 79, 926 (1983).
"""
import argparse
import math
import random
import sys

from pqr_text import record, remark

OXYGEN_CHARGE, HYDROGEN_CHARGE = -0.834, 0.417  # e
OXYGEN_RADIUS, HYDROGEN_RADIUS = 1.7682, 0.0    # angstrom: half the Lennard-Jones minimum; hydrogen has none
BOND, ANGLE = 0.9572, math.radians(104.52)      # angstrom, radian
DENSITY = 0.997                                 # g/cm^3: water at 298 K
MOLAR_MASS, AVOGADRO = 18.01528, 6.02214076e23  # g/mol, 1/mol
JITTER = 0.3                                    # angstrom, each way along each axis
# The smallest allowed distance of nuclei of two molecules, in angstrom: about where the pair distributions of liquid
# water begin.
CLOSEST = {("O", "O"): 2.5, ("O", "H"): 1.6, ("H", "O"): 1.6, ("H", "H"): 1.6}
DRAWS = 10000


def random_rotation(rng):
    """Rows of a rotation matrix, uniform over all rotations: a quaternion uniform on the sphere (Shoemake 1992)."""
    u, v, w = rng.random(), 2 * math.pi * rng.random(), 2 * math.pi * rng.random()
    a, b = math.sqrt(1 - u), math.sqrt(u)
    x, y, z, s = a * math.sin(v), a * math.cos(v), b * math.sin(w), b * math.cos(w)
    return ((1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)),
            (2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)),
            (2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)))


def draw_molecule(rng, centre):
    """((element, position), ...) of one molecule: oxygen near the centre, hydrogens around it."""
    oxygen = tuple(c + JITTER * (2 * rng.random() - 1) for c in centre)
    rotation = random_rotation(rng)
    nuclei = [("O", oxygen)]
    for side in (-1, 1):
        arm = (side * BOND * math.sin(ANGLE / 2), 0.0, BOND * math.cos(ANGLE / 2))
        nuclei.append(("H", tuple(o + sum(r * a for r, a in zip(row, arm)) for o, row in zip(oxygen, rotation))))
    return nuclei


def apart(molecule, other, shift):
    return all(math.dist(p, [c + s for c, s in zip(q, shift)]) >= CLOSEST[e, f] for e, p in molecule for f, q in other)


def fill_box(edge, spacing, rng):
    """The molecules, in the order of the lattice with x fastest."""
    side = edge * spacing
    steps = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)]
    cells = [(i, j, k) for k in range(edge) for j in range(edge) for i in range(edge)]
    placed = {}
    # In random order. In the lattice's order, hydrogens would point away from the side that is filled first, and the
    # box would have a dipole.
    for cell in sorted(cells, key=lambda _: rng.random()):
        neighbours = []
        for step in steps:
            at = [c + s for c, s in zip(cell, step)]
            home = tuple(c % edge for c in at)
            if home in placed:
                neighbours.append((placed[home], [side * (c // edge) for c in at]))
        centre = [(c + 0.5) * spacing for c in cell]
        for _ in range(DRAWS):
            molecule = draw_molecule(rng, centre)
            if all(apart(molecule, other, shift) for other, shift in neighbours):
                break
        else:
            raise RuntimeError(f"cell {cell}: no orientation without overlap in {DRAWS} draws; try another seed")
        placed[cell] = molecule
    return [placed[cell] for cell in cells]


def main():
    parser = argparse.ArgumentParser(description="Writes a synthetic box of TIP3P water as PQR to standard output.")
    parser.add_argument("--edge", type=int, default=11, metavar="N", help="molecules per edge, 3..21 (default: 11)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the random numbers (default: 1)")
    options = parser.parse_args()
    if not 3 <= options.edge <= 21:
        parser.error("--edge: 3..21 (more would not fit the columns)")
    spacing = (MOLAR_MASS / (DENSITY * AVOGADRO)) ** (1 / 3) * 1e8
    molecules = fill_box(options.edge, spacing, random.Random(options.seed))
    side = options.edge * spacing
    lines = [remark(f"{len(molecules)} TIP3P water molecules in a cube of edge {side:.4f} angstrom, {DENSITY} g/cm^3"),
             remark("Synthetic: a jittered lattice with random orientations, not an equilibrated liquid"),
             remark(f"Made by make_water_box.py --edge {options.edge} --seed {options.seed}")]
    serial = 0
    for number, molecule in enumerate(molecules, 1):
        for name, (element, position) in zip(("O", "H1", "H2"), molecule):
            serial += 1
            charge, radius = ((OXYGEN_CHARGE, OXYGEN_RADIUS) if element == "O" else (HYDROGEN_CHARGE, HYDROGEN_RADIUS))
            lines.append(record(serial, name, "WAT", number, position, charge, radius, decimals=4))
    sys.stdout.write("".join(lines) + "END\n")


if __name__ == "__main__":
    main()
