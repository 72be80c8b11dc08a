#!/usr/bin/env python3
"""Writes a cube of rock salt as PQR to standard output.

    make_nacl.py [--half-width M] [--weights smooth|evjen] [--complete]

Sites (i, j, k), -M <= i, j, k <= M, lie r0 = 2.82 angstrom apart; Na+ where i + j + k is even, Cl- where it is odd. The
central Na+ is left out, so that the potential at the origin is that of all the other ions, -Madelung / r0, unless
--complete is given.

The potential of a plain cube of ions would converge slowly. So each ion's charge is multiplied by w(i) w(j) w(k):
  evjen    w = 1/2 in the outermost layer (faces 1/2, edges 1/4, corners 1/8; Evjen, Phys. Rev. 39, 675 (1932))
  smooth   w = 1/4 in the outermost layer and 3/4 in the next: the mean of Evjen's boxes of half-width M - 1 and M,
           for each axis separately
With both, the weighted charges of every row add up to zero. README.md derives the error of each in Madelung's
constant.
"""
import argparse
import sys

from pqr_text import record, remark

SPACING = 2.82                                 # angstrom: half the lattice constant 5.64
SODIUM_RADIUS, CHLORIDE_RADIUS = 1.02, 1.81    # angstrom, six-coordinate (Shannon, Acta Cryst. A32, 751 (1976))
WEIGHTS = {"evjen": (0.5,), "smooth": (0.25, 0.75)}  # from the outermost layer inwards


def weight(kind, half_width, site):
    depth = half_width - abs(site)
    return WEIGHTS[kind][depth] if depth < len(WEIGHTS[kind]) else 1.0


def ions(half_width, kind):
    """Yields (i, j, k), charge for every site, x fastest."""
    sites = range(-half_width, half_width + 1)
    weights = {site: weight(kind, half_width, site) for site in sites}
    for k in sites:
        for j in sites:
            for i in sites:
                sign = 1 if (i + j + k) % 2 == 0 else -1
                yield (i, j, k), sign * weights[i] * weights[j] * weights[k]


def main():
    parser = argparse.ArgumentParser(description="Writes a cube of rock salt as PQR to standard output.")
    parser.add_argument("--half-width", type=int, default=6, metavar="M", help="sites to each side, 2..10 (default: 6)")
    parser.add_argument("--weights", choices=sorted(WEIGHTS), default="smooth",
                        help="weights of the outer layers (default: smooth)")
    parser.add_argument("--complete", action="store_true", help="keep the central ion")
    options = parser.parse_args()
    if not 2 <= options.half_width <= 10:
        parser.error("--half-width: 2..10 (more would not fit the columns)")
    edge = 2 * options.half_width + 1
    lines = [remark(f"Rock salt, {edge} x {edge} x {edge} sites {SPACING} angstrom apart, "
                    + ("complete" if options.complete else "without the Na+ at the origin")),
             remark(f"Charges of the outer layers weighted ({options.weights}), so that every row is neutral"),
             remark(f"Made by make_nacl.py --half-width {options.half_width} --weights {options.weights}"
                    + (" --complete" if options.complete else ""))]
    serial = 0
    for site, charge in ions(options.half_width, options.weights):
        if site == (0, 0, 0) and not options.complete:
            continue
        serial += 1
        sodium = charge > 0
        # Six decimals hold every product of quarters, so that the charges in the file are exact.
        name, radius = ("NA", SODIUM_RADIUS) if sodium else ("CL", CHLORIDE_RADIUS)
        lines.append(record(serial, name, name, serial, [SPACING * s for s in site], charge, radius, charge_decimals=6))
    sys.stdout.write("".join(lines) + "END\n")


if __name__ == "__main__":
    main()
