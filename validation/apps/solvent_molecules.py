"""Small molecules for tests of --solvent, and the salt's constant."""
import json
import math

import program
from program import unit_constant

RADIUS, STERN, WATER = 3.0, 2.0, 78.54
GRID = ["--origin", "-8", "--counts", "33", "--spacing", "0.5"]
ION_AT = (0.02, -0.05, 0.1)


def write(path, atoms):
    """(x, y, z, charge, radius, residue name, atom name)"""
    with open(path, "w", encoding="ascii") as stream:
        for n, (x, y, z, q, r, *name) in enumerate(atoms, 1):
            stream.write(f"ATOM {n} {name[1] if name else 'X'} {name[0] if name else 'UNK'} {n // 2 + 1} "
                         f"{x:.6f} {y:.6f} {z:.6f} {q:.6f} {r:.4f}\n")
    return path


def ion(path="ion.pqr", charge=1.0):
    return write(path, [(*ION_AT, charge, RADIUS)])


def four(path="four.pqr"):
    return write(path, [(1.2, 0.3, -0.5, 0.7, 1.9), (-0.9, 0.8, 0.4, -0.4, 1.6), (0.1, -1.4, 0.9, 0.5, 1.7), (0.2, 0.4, 1.3, -0.3, 1.5)])


def energy(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def kappa(strength, temperature=298.15):
    """Of a salt 1:1, from first principles: kappa^2 = 8 pi l_B n, n ions of a kind in a volume."""
    bjerrum = unit_constant("kT/e", temperature) / WATER
    return math.sqrt(8 * math.pi * bjerrum * strength * program.AVOGADRO * 1e3 * 1e-30)
