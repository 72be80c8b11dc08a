#!/usr/bin/env python3
"""Writes a ball of random charges as PQR to standard output: make_random_molecule.py ATOMS SEED [--charge TOTAL]

For benchmarks: as dense as a protein (0.1 nuclei per cubic angstrom), of any size. The sites are the ATOMS points of a
jittered cubic lattice nearest to the origin, in the lattice's order with x fastest; no two are closer than 1.44
angstrom. The charges are drawn from a normal distribution with standard deviation 0.4 e, then shifted to the total
(default: 0), which the file stores exactly. In all other respects it is not like a real molecule.
"""
import argparse
import math
import random
import sys

from pqr_text import record, remark

DENSITY = 0.1                        # 1/angstrom^3
SPACING = (1 / DENSITY) ** (1 / 3)   # angstrom
JITTER = 0.35                        # angstrom, each way along each axis
DEVIATION = 0.4                      # e
RADIUS = 1.7                         # angstrom
UNIT = 10000                         # charges are whole multiples of e / UNIT, so they add up exactly
CENTRE = (0.2237, 0.3141, 0.4371)    # of the ball, in lattice steps: no two sites are equally far from it


def near_sites(limit):
    """Yields (i, j, k) and the squared distance from the centre, for all lattice sites with at most `limit`."""
    reach = int(math.sqrt(limit)) + 1
    for k in range(-reach, reach + 1):
        dz = (k - CENTRE[2]) ** 2
        for j in range(-reach, reach + 1):
            rest = limit - dz - (j - CENTRE[1]) ** 2
            if rest < 0:
                continue
            half = math.sqrt(rest)
            for i in range(math.ceil(CENTRE[0] - half), math.floor(CENTRE[0] + half) + 1):
                yield (i, j, k), dz + (j - CENTRE[1]) ** 2 + (i - CENTRE[0]) ** 2


def ball_sites(count):
    """The `count` lattice sites nearest to the centre."""
    limit = ((3 * count / (4 * math.pi)) ** (1 / 3) + 2) ** 2
    found = list(near_sites(limit))
    threshold = sorted(distance for _, distance in found)[count - 1]
    sites = [site for site, distance in found if distance <= threshold]
    assert len(sites) == count
    return sites


def normal(rng):
    return math.sqrt(-2 * math.log(1 - rng.random())) * math.cos(2 * math.pi * rng.random())


def draw_charges(count, total, rng):
    """Whole numbers, in units of e / UNIT, that add up to `total`."""
    raw = [DEVIATION * UNIT * normal(rng) for _ in range(count)]
    shift = (total - math.fsum(raw)) / count
    charges = [round(value + shift) for value in raw]
    # The rounding errors are less than half a unit per atom. Distribute their sum, at most one unit per atom.
    missing = total - sum(charges)
    step = 1 if missing > 0 else -1
    for n in range(abs(missing)):
        charges[n * count // abs(missing)] += step
    return charges


def main():
    parser = argparse.ArgumentParser(description="Writes a ball of random charges as PQR to standard output.")
    parser.add_argument("atoms", type=int, help="1 or more")
    parser.add_argument("seed", type=int, help="seed of the random numbers")
    parser.add_argument("--charge", default="0", metavar="TOTAL", help="total charge in e, up to 4 decimals (default: 0)")
    options = parser.parse_args()
    if options.atoms < 1:
        parser.error("ATOMS: 1 or more")
    try:
        total = float(options.charge) * UNIT
        exact = math.isfinite(total) and abs(total - round(total)) < 1e-6
    except ValueError:
        exact = False
    if not exact:
        parser.error("--charge: a number with up to 4 decimals")
    rng = random.Random(options.seed)
    sites = ball_sites(options.atoms)
    charges = draw_charges(options.atoms, round(total), rng)
    write = sys.stdout.write
    write(remark(f"{options.atoms} random charges in a ball, {DENSITY} per cubic angstrom; not a molecule"))
    write(remark(f"Made by make_random_molecule.py {options.atoms} {options.seed} --charge {options.charge}"))
    for serial, (site, charge) in enumerate(zip(sites, charges), 1):
        position = [SPACING * (s - c) + JITTER * (2 * rng.random() - 1) for s, c in zip(site, CENTRE)]
        write(record(serial, "X", "RND", 1 + serial // 10 % 9999, position, charge / UNIT, RADIUS, decimals=2))
    write("END\n")


if __name__ == "__main__":
    main()
