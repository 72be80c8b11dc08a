"""Places ions by brute force in double precision. test_cionize_ions.py and its neighbours compare the program with
this.

Everything is computed from the molecule's file and the grid that the report states: all points, all atoms, all
ions.
"""
import json
import math
import pathlib
import struct

import program
import seeds
from program import Skip

try:
    import numpy
except ImportError:
    numpy = None

CHARGES = {"SOD": 1, "CLA": -1, "MG": 2, "ZN": 2, "POT": 1, "CAL": 2, "IOD": -1}


def vectors(shape):
    """The vectors of a cell of these lengths and angles (degrees), the first along x, the second in the plane of x and y."""
    a, b, c = shape[:3]
    alpha, beta, gamma = (math.radians(angle) for angle in shape[3:])
    y = (math.cos(alpha) - math.cos(beta) * math.cos(gamma)) / math.sin(gamma)
    return numpy.array([[a, 0, 0], [b * math.cos(gamma), b * math.sin(gamma), 0],
                        [c * math.cos(beta), c * y, c * math.sqrt(1 - math.cos(beta) ** 2 - y ** 2)]])


def generator():
    """A generator of random numbers, with the same sequence for each test of a run."""
    if numpy is None:
        raise Skip("no numpy")
    return seeds.generator()


# ---- molecules ----


def random_molecule(rng, count, half=6.0):
    """[count][5]: x, y, z, charge, radius, with three decimals, so a file stores them exactly."""
    atoms = numpy.empty((count, 5))
    atoms[:, :3] = rng.uniform(-half, half, (count, 3)) + rng.uniform(-20, 20, 3)
    atoms[:, 3] = rng.uniform(-1, 1, count)
    atoms[:, 4] = rng.uniform(0, 2.5, count)
    return atoms.round(3)


def whole(atoms, charge):
    """The same with a given total charge."""
    atoms = atoms.copy()
    atoms[0, 3] = 0
    atoms[0, 3] = round(charge - atoms[:, 3].sum(), 3)
    return atoms


def write_dcd(path, frames):
    """frames: [frame][atom][3]. Little-endian without a cell, as CHARMM writes them."""
    def record(body):
        return struct.pack("<i", len(body)) + body + struct.pack("<i", len(body))
    numbers = [0] * 20
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[19] = len(frames), 1, 1, len(frames), 24
    content = record(b"CORD" + struct.pack("<20i", *numbers)) + record(struct.pack("<i80s", 1, b"a test".ljust(80)))
    content += record(struct.pack("<i", len(frames[0])))
    for frame in frames:
        for axis in range(3):
            content += record(struct.pack(f"<{len(frame)}f", *(atom[axis] for atom in frame)))
    pathlib.Path(path).write_bytes(content)


def write_molecule(path, atoms):
    with open(path, "w", encoding="ascii") as stream:
        for n, (x, y, z, q, r) in enumerate(atoms, 1):
            stream.write(f"ATOM {n} X{n % 90} UNK A {n} {x:.3f} {y:.3f} {z:.3f} {q:.3f} {r:.3f}\n")
    return path


# ---- the program's report ----


class Placed:
    """A report: the grid, and the ions in order of placement."""

    def __init__(self, path="r.json"):
        self.report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        ions, grid = self.report["ions"], self.report["grid"]
        self.names = ions["name"]
        self.places = numpy.array([ions["x"], ions["y"], ions["z"]], dtype=float).T.reshape(-1, 3)
        self.energies = numpy.array(ions["energy"], dtype=float)
        self.asked, self.placed = ions["asked"], ions["placed"]
        self.origin, self.spacing = numpy.array(grid["origin"]), numpy.array(grid["spacing"])
        self.counts = grid["counts"]
        assert len(self.names) == len(self.places) == len(self.energies) == self.placed
        assert numpy.isfinite(self.places).all() and numpy.isfinite(self.energies).all()

    def axes(self):
        return [self.origin[a] + self.spacing[a] * numpy.arange(self.counts[a]) for a in range(3)]


def run_ions(*arguments, **options):
    """Runs the program and returns its report."""
    done = program.make("-q", *arguments, "--report", "r.json", **options)
    placed = Placed()
    placed.said = done
    return placed


# ---- where a run measures the error of its map ----


def drawn(counts, points):
    """The points of the map where the error is measured, the same ones in each run: SplitMix64 from 18, an index along x, y
    and z for each (measure_error.c)."""
    state, mask = 18, 2 ** 64 - 1
    for _n in range(points):
        at = []
        for count in counts:
            state = z = (state + 0x9e3779b97f4a7c15) & mask
            z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & mask
            z = ((z ^ z >> 27) * 0x94d049bb133111eb) & mask
            at.append((z ^ z >> 31) % count)
        yield (at[2] * counts[1] + at[1]) * counts[0] + at[0]


# ---- the rules ----


def squares(axes, place):
    """Squared distances of all points from a position, [z][y][x]."""
    x, y, z = (axis - p for axis, p in zip(axes, place))
    return x * x + ((y * y)[:, None] + (z * z)[:, None, None])


class Potential:
    """C sum q/max(r, r_min) at all points, the sum of the terms' magnitudes, and the sum of the magnitudes of their
    slopes."""

    def __init__(self, axes, scale, r_min=0.1, power=1):
        self.axes, self.scale, self.r_min, self.power = axes, scale, r_min, power
        self.values = numpy.zeros([len(axis) for axis in axes[::-1]])
        self.sizes, self.slopes = self.values.copy(), self.values.copy()

    def add(self, places, charges):
        for place, charge in zip(places, charges):
            r = numpy.maximum(numpy.sqrt(squares(self.axes, place)), self.r_min)
            terms = self.scale / r ** self.power
            self.values += charge * terms
            self.sizes += abs(charge) * terms
            self.slopes += abs(charge) * self.power * terms / r
        return self

    def error(self, double=False):
        """The error bound of the program's map of these charges: 16 u S (ion_search.h); near a charge, where a
        rounded distance weighs more, also 2 P u of the slopes, with P as in program.Sum.bound; and 2e-8 of the
        value for the digits of text and for the constant, which is computed differently here (1e-9)."""
        u = 2.0 ** (-53 if double else -24)
        half = math.sqrt(sum((16.5 * (axis[1] - axis[0])) ** 2 for axis in self.axes))
        return u * (16 * self.sizes + 2 * half * self.slopes) + (1e-9 if double else 2e-8) * numpy.abs(self.values)

    def at(self, place, places, charges):
        """The value and the sum of magnitudes at any position."""
        r = numpy.maximum(numpy.linalg.norm(numpy.asarray(places).reshape(-1, 3) - place, axis=1), self.r_min)
        terms = self.scale * numpy.asarray(charges) / r ** self.power
        return terms.sum(), numpy.abs(terms).sum()


# Squared distances within this relative difference of the limit may count as either side. They have three terms of a
# few roundings each, of coordinates up to 50 times the distance: less than 50^2 * 10 * 2^-53 = 3e-12.
EDGE = 1e-11


class Room:
    """Which points are free: those that are certainly free, and those that may be."""

    def __init__(self, axes):
        self.axes = axes
        self.sure = numpy.ones([len(axis) for axis in axes[::-1]], dtype=bool)
        self.perhaps = self.sure.copy()

    def exclude(self, places, distances, edge=EDGE):
        for place, distance in zip(places, distances):
            d2 = squares(self.axes, place)
            self.sure &= d2 >= distance ** 2 * (1 + edge)
            self.perhaps &= d2 >= distance ** 2 * (1 - edge)

    def take(self, index):
        self.sure[index] = self.perhaps[index] = False


# If energies differ by less than 2^-40 of the sum of the terms' magnitudes S, the first point is taken. Both sums, of
# some hundred terms in double precision, have errors of (n + 13) 2^-53 S, 2^-45 S each, so they are within the 0.1
# here.
TIE = 2.0 ** -40


def index_of(placed, place):
    """The grid point of a position, [z][y][x]."""
    steps = (place - placed.origin) / placed.spacing
    index = numpy.rint(steps).astype(int)
    assert numpy.abs(steps - index).max() < 1e-9, f"{place} is not a point of the grid"
    assert (index >= 0).all() and (index < placed.counts).all(), f"{place} is outside the grid"
    return tuple(index[::-1])


def check_place(n, potential, room, charge, at):
    """Checks that ion n is at the free point of least energy, the first one among equals."""
    energies = charge * potential.values
    assert room.perhaps[at], f"ion {n} is too near an atom or an ion"
    least = numpy.where(room.sure, energies, numpy.inf)
    best = numpy.unravel_index(least.argmin(), least.shape)
    tie = TIE * abs(charge) * potential.sizes[best]
    assert energies[at] <= energies[best] + 1.1 * tie, (
        f"ion {n}: {energies[at]!r} at {at}, and {energies[best]!r} at {best}")
    first = numpy.flatnonzero(room.sure & (energies <= energies[best] + 0.9 * tie))
    assert not room.sure[at] or numpy.ravel_multi_index(at, least.shape) <= first[0], (
        f"ion {n}: {at} is not the first of equal points")


def replay(placed, atoms, sequence, unit="kT/e", dielectric=1.0, power=1, r_min=0.1, ion_solute=6.0, ion_ion=10.0,
           from_surface=False, refined=False, charges=None):
    """Places all ions again. `sequence`: the expected names, in order. Returns the potential with the ions."""
    assert placed.names == list(sequence), f"{placed.names}, expected {list(sequence)}"
    charges = {**CHARGES, **(charges or {})}
    scale = program.unit_constant(unit) / dielectric
    axes = placed.axes()
    potential = Potential(axes, scale, r_min, power).add(atoms[:, :3], atoms[:, 3])
    room = Room(axes)
    reach = ion_solute + (atoms[:, 4] if from_surface else numpy.zeros(len(atoms)))
    room.exclude(atoms[:, :3], reach)
    for n, (name, place) in enumerate(zip(placed.names, placed.places)):
        charge, before = charges[name], placed.places[:n]
        check_distances(n, place, atoms, reach, before, ion_ion)
        sources = numpy.concatenate([atoms[:, :3], before])
        value, size = potential.at(place, sources, [*atoms[:, 3], *(charges[k] for k in placed.names[:n])])
        # 1e-9: the constant, which is computed differently here
        assert abs(placed.energies[n] - charge * value) <= 1e-9 * abs(charge * value) + TIE * abs(charge) * size, (
            f"ion {n}: the report says {placed.energies[n]!r}, and it is {charge * value!r}")
        if refined:
            check_refined(n, placed, potential, room, charge, charge * value, place)
        else:
            at = index_of(placed, place)
            check_place(n, potential, room, charge, at)
            room.take(at)
        room.exclude([place], [ion_ion], edge=EDGE if refined else 0)  # grids of few binary digits need no rounding
        potential.add([place], [charge])
    return potential, room


def check_distances(n, place, atoms, reach, ions, ion_ion):
    d2 = ((atoms[:, :3] - place) ** 2).sum(axis=1)
    assert (d2 >= reach ** 2 * (1 - EDGE)).all(), f"ion {n} is too near atom {numpy.argmin(d2 - reach ** 2)}"
    d2 = ((ions - place) ** 2).sum(axis=1)
    assert (d2 >= ion_ion ** 2 * (1 - EDGE)).all(), f"ion {n} is too near ion {numpy.argmin(d2)}"


def check_refined(n, placed, potential, room, charge, energy, place):
    """Checks that an ion is no worse than the best point, within a spacing of it, and inside the grid."""
    energies = numpy.where(room.sure, charge * potential.values, numpy.inf)
    best = numpy.unravel_index(energies.argmin(), energies.shape)
    tie = TIE * abs(charge) * potential.sizes[best]
    assert energy <= energies[best] + 1.1 * tie, f"ion {n}: {energy!r}, and the grid has {energies[best]!r}"
    last = placed.origin + placed.spacing * (numpy.array(placed.counts) - 1)
    assert (place >= placed.origin).all() and (place <= last).all(), f"ion {n} is outside the grid"
    near = numpy.argwhere(room.perhaps & (charge * potential.values <= energies[best] + 1.1 * tie))
    points = placed.origin + placed.spacing * near[:, ::-1]
    assert (numpy.abs(points - place) <= placed.spacing * (1 + 1e-12)).all(axis=1).any(), f"ion {n} is too far from the best point"


# ---- files of ions ----


def read_ions(path):
    """Returns [(name, x, y, z, charge or None)] of a .pdb, .pqr or .xyz file, and half a unit of the coordinates'
    last digits."""
    lines = pathlib.Path(path).read_text(encoding="ascii").splitlines()
    rows, half = [], []
    if path.endswith(".xyz"):
        assert len(lines) == int(lines[0]) + 2, path
        words = [(line.split(), None) for line in lines[2:]]
    elif path.endswith(".pqr"):
        words = [([line.split()[2], *line.split()[-5:-2]], float(line.split()[-2]))
                 for line in lines if line.startswith(("ATOM", "HETATM"))]
    else:
        words = [([line[12:16].strip(), line[30:38], line[38:46], line[46:54]],
                  float(line[79] + line[78]) if line[78:80].strip() else None)
                 for line in lines if line.startswith(("ATOM", "HETATM"))]
    for (name, *numbers), charge in words:
        rows.append((name, *map(float, numbers), charge))
        half.append([0.5 * 10.0 ** -len(number.split(".")[1].strip()) for number in numbers])
    return rows, half


ELEMENTS = {"SOD": "Na", "CLA": "Cl", "MG": "Mg", "ZN": "Zn", "POT": "K", "CAL": "Ca", "IOD": "I"}


def check_file(path, names, places, charges=None, solute=None):
    """Checks that a file holds these ions, after the solute's atoms if there are any."""
    rows, half = read_ions(path)
    before = 0 if solute is None else len(solute)
    assert len(rows) == before + len(names), f"{path}: {len(rows)} atoms, expected {before} + {len(names)}"
    expected = places if solute is None else numpy.concatenate([solute[:, :3], places])
    found = numpy.array([row[1:4] for row in rows]).reshape(-1, 3)
    # 1e-9: the text of a coordinate as a double.
    assert (numpy.abs(found - expected) <= numpy.array(half).reshape(-1, 3) + 1e-9).all(), f"{path}: {numpy.abs(found - expected).max()}"
    element = ELEMENTS if path.endswith(".xyz") else {}
    assert [row[0] for row in rows[before:]] == [element.get(name, name) for name in names], path
    if path.endswith(".xyz"):
        return
    assert [row[4] for row in rows[before:]] == [{**CHARGES, **(charges or {})}[name] for name in names], path
    if solute is not None and path.endswith(".pqr"):
        assert numpy.abs(numpy.array([row[4] for row in rows[:before]]) - solute[:, 3]).max() < 1e-9, path
