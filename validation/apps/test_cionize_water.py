#!/usr/bin/env python3
"""Ions in water: which molecules they replace, compared with brute force over all oxygens, how many ions, and what the files hold.

usage: test_cionize_water.py PROGRAM [DEVICE] [test_name ...]
"""
import itertools
import json
import math
import pathlib

import program
from ion_truth import CHARGES, generator, numpy, vectors
from program import make, read, refuse, run

# Names and charges of the atoms of a molecule, the oxygen first: three, four and five points.
MODELS = {"TIP3": (("OH2", -0.834), ("H1", 0.417), ("H2", 0.417)),
          "SOL": (("OW", 0), ("HW1", 0.52), ("HW2", 0.52), ("MW", -1.04)),
          "TP5": (("O", 0), ("H1", 0.241), ("H2", 0.241), ("EP1", -0.241), ("EP2", -0.241)),
          "HOH": (("O", 0),)}
ORTHO = (21.0, 19.0, 23.0, 90, 90, 90)
TRICLINIC = (20.0, 21.0, 22.0, 80, 105, 70)


def row(name, residue, chain, number, place, charge, radius):
    return (name, residue, chain, number, *(round(float(x), 3) for x in place), round(charge, 4), radius)


def box(rng, shape, models=("TIP3",), solute=40, spacing=3.4, number=None):
    """Rows of atoms: a solute of random charges, and water on a jittered lattice of the cell, without those on the solute. Molecules
    have random orientations. number: of all residues of water; None: from 1 to 9."""
    cell = vectors(shape)
    rows = []
    for n in range(solute):
        place = 0.5 * cell.sum(0) + rng.uniform(-3.5, 3.5, 3)
        rows.append(row(f"C{n % 9}", "LIG", "A", 1 + n // 10, place, rng.uniform(-1, 1), round(rng.uniform(0, 2), 2)))
    if solute:
        rows[0] = (*rows[0][:7], round(rows[0][7] + 3 - sum(r[7] for r in rows), 4), rows[0][8])
    counts = [int(length // spacing) for length in shape[:3]]
    atoms = numpy.array([r[4:7] for r in rows]).reshape(-1, 3)
    for n, index in enumerate(itertools.product(*map(range, counts))):
        oxygen = (numpy.array(index) + rng.uniform(0.35, 0.65, 3)) / counts @ cell
        if solute and ((atoms - oxygen) ** 2).sum(1).min() < 2.0 ** 2:
            continue
        residue = models[n % len(models)]
        for name, charge in MODELS[residue]:
            step = rng.normal(size=3)
            place = oxygen if name[0] == "O" else oxygen + 0.9 * step / numpy.linalg.norm(step)
            rows.append(row(name, residue, "W", number if number is not None else 1 + n % 9, place, charge, 1.5 if name[0] == "O" else 0.0))
    return rows


def write_pqr(path, rows, shape=None):
    with open(path, "w", encoding="ascii") as stream:
        if shape:
            stream.write("CRYST1%9.3f%9.3f%9.3f%7.2f%7.2f%7.2f P 1           1\n" % tuple(shape))
        for n, (name, residue, chain, number, x, y, z, charge, radius) in enumerate(rows, 1):
            stream.write(f"ATOM {n} {name} {residue} {chain} {number} {x:.3f} {y:.3f} {z:.3f} {charge:.4f} {radius:.4f}\n")
    return path


def read_pqr(path):
    rows = []
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        words = line.split()
        if words and words[0] in ("ATOM", "HETATM"):
            rows.append((words[2], words[3], words[4], int(words[5]), *map(float, words[6:])))
    return rows


def molecules(rows):
    """[(first, behind)] of water, by their oxygens."""
    found = []
    for n, r in enumerate(rows):
        if r[1] in MODELS and r[0][0] == "O":
            found.append((n, n + len(MODELS[r[1]])))
    return found


def turns(cell, most):
    return numpy.array(list(itertools.product(range(-most, most + 1), repeat=3))) @ cell


def distances(cell, places, at):
    """Of nearest images; without a cell, plainly. Two cells to each side hold the nearest image in those used here."""
    d = numpy.asarray(places).reshape(-1, 3) - at
    if cell is None:
        return numpy.sqrt((d ** 2).sum(1))
    d -= numpy.rint(d @ numpy.linalg.inv(cell)) @ cell
    return numpy.sqrt(((d[:, None, :] + turns(cell, 2)[None]) ** 2).sum(2)).min(1)


class Field:
    """sum q / max(r, r_min)^power at points; in a cell Ewald's sum: erfc over images and waves, to exp(-25) = 1e-11 of a term."""

    def __init__(self, cell, points, r_min=0.1, power=1):
        self.cell, self.points, self.r_min, self.power = cell, numpy.asarray(points, dtype=float), r_min, power
        if cell is None:
            return
        self.cutoff, most = 11.0, 50 / 11.0
        self.alpha = 5 / self.cutoff
        reciprocal = 2 * math.pi * numpy.linalg.inv(cell).T
        reach = [int(most * numpy.linalg.norm(v) / (2 * math.pi)) for v in cell]
        k = numpy.array(list(itertools.product(range(reach[0] + 1), *(range(-n, n + 1) for n in reach[1:])))) @ reciprocal
        twice = numpy.where(k[:, 0] > 1e-9, 2.0, 1.0)  # for the other half of the space
        squares = (k ** 2).sum(1)
        used = (squares > 0) & (squares < most ** 2)
        self.k = k[used]
        self.weight = (twice * 4 * math.pi / numpy.linalg.det(cell) * numpy.exp(-squares / (4 * self.alpha ** 2)) / numpy.maximum(squares, 1e-9))[used]
        self.phase = numpy.exp(1j * self.points @ self.k.T)

    def of(self, places, charges):
        places, charges = numpy.asarray(places, dtype=float).reshape(-1, 3), numpy.asarray(charges, dtype=float)
        values = numpy.zeros(len(self.points))
        for place, charge in zip(places, charges):
            if self.cell is None:
                values += charge / numpy.maximum(distances(None, self.points, place), self.r_min) ** self.power
                continue
            d = self.points - place
            d -= numpy.rint(d @ numpy.linalg.inv(self.cell)) @ self.cell
            for shift in turns(self.cell, 1):
                r = numpy.sqrt(((d + shift) ** 2).sum(1))
                for n in numpy.flatnonzero(r < self.cutoff):
                    if r[n] > 1e-9:  # oxygens that an ion has taken are not looked at again
                        values[n] += charge * math.erfc(self.alpha * r[n]) / r[n]
        if self.cell is None or len(charges) == 0:
            return values
        structure = numpy.exp(-1j * self.k @ places.T) @ charges
        background = math.pi * charges.sum() / (numpy.linalg.det(self.cell) * self.alpha ** 2)
        return values + (self.phase @ (self.weight * structure)).real - background


def place(*arguments):
    done = make(*arguments, "--report", "r.json")
    report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    return done, report


def replay(report, rows, cell, ion_solute, ion_ion, from_surface=False, dielectric=1.0, power=1, kept=()):
    """Checks each ion of the report: it is at the oxygen of least energy of those allowed, and the report names its molecule."""
    water = molecules(rows)
    inside = {n for n, (first, behind) in enumerate(water)} - set(kept)
    solvent = {i for n in inside for i in range(*water[n])}
    solute = [r for n, r in enumerate(rows) if n not in solvent]
    atoms = numpy.array([r[4:9] for r in solute]).reshape(-1, 5)
    choices = sorted(inside)
    oxygens = numpy.array([rows[water[n][0]][4:7] for n in choices])
    reach = ion_solute + (atoms[:, 4] if from_surface else 0 * atoms[:, 4])
    free = numpy.array([bool((distances(cell, atoms[:, :3], at) >= reach).all()) for at in oxygens])
    scale = program.unit_constant("kT/e") / dielectric
    field = Field(cell, oxygens, power=power)
    values = scale * field.of(atoms[:, :3], atoms[:, 3])
    ions, said = report["ions"], report["water"]
    # The program's errors: 1e-9 of the rms potential in a cell, and energies that differ by 1e-8 C sum |q| / edge count as equal.
    total = numpy.abs(atoms[:, 3]).sum() + sum(abs(CHARGES[name]) for name in ions["name"])
    slack = scale * total * (1e-13 if cell is None else 2e-8 / numpy.linalg.det(cell) ** (1 / 3))
    replaced = []
    counts = [int(free.sum()), int((~free).sum()), 0]
    for n, name in enumerate(ions["name"]):
        charge, at = CHARGES[name], numpy.array([ions[axis][n] for axis in "xyz"])
        index = int(((oxygens - at) ** 2).sum(1).argmin())
        assert numpy.abs(oxygens[index] - at).max() < 1e-9, f"ion {n} is at no oxygen"
        assert free[index], f"ion {n} is too near an atom or an ion"
        energies = charge * values
        least = energies[free].min()
        tie = abs(charge) * slack + 1e-9 * abs(least)
        assert energies[index] <= least + tie, f"ion {n}: {energies[index]} instead of {least}"
        assert abs(ions["energy"][n] - energies[index]) <= tie, f"ion {n}: {ions['energy'][n]} instead of {energies[index]}"
        first = rows[water[choices[index]][0]]
        assert (said["replaced_residue"][n], said["replaced_chain"][n], said["replaced_number"][n]) == (first[1], first[2], str(first[3]))
        replaced.append(choices[index])
        free &= distances(cell, oxygens, at) >= ion_ion
        free[index] = False
        values = values + scale * field.of([at], [charge])
    assert len(set(replaced)) == len(replaced) == said["replaced"]
    counts[2] = counts[0] - int(free.sum())
    assert ions["waters_free_solute_ions"] == [int(free.sum()), counts[1], counts[2]], (ions["waters_free_solute_ions"], counts)
    return replaced


def check_output(path, rows, replaced, report):
    """The molecule without the replaced water, atom for atom, and the ions."""
    gone = {i for n in replaced for i in range(*molecules(rows)[n])}
    expected = [r for n, r in enumerate(rows) if n not in gone]
    found = read_pqr(path)
    count = len(report["ions"]["name"])
    assert found[:-count] == expected, [pair for pair in zip(found, expected) if pair[0] != pair[1]][:3]
    ions = [(report["ions"]["name"][n], *(report["ions"][axis][n] for axis in "xyz")) for n in range(count)]
    assert [(r[0], *r[4:7]) for r in found[-count:]] == ions


# ---- brute force ----


def test_ions_take_the_oxygens_of_least_energy(_):
    rng = generator()
    for shape, models, options, truth in (
            (None, ("TIP3",), [], {}),
            (None, ("SOL", "TP5"), ["--order", "alternate", "--from-surface", "--ion-solute", "2"], {"from_surface": True, "ion_solute": 2}),
            (None, ("HOH",), ["--distance-dielectric", "4"], {"dielectric": 4.0, "power": 2}),
            (ORTHO, ("TIP3", "HOH"), ["--order", "alternate", "--dielectric", "80"], {"dielectric": 80.0}),
            (TRICLINIC, ("SOL",), [], {}),
            (TRICLINIC, ("TP5",), ["--order", "alternate", "--ion-ion", "3.1"], {"ion_ion": 3.1})):
        rows = box(rng, shape or ORTHO, models)
        write_pqr("a.pqr", rows, shape)
        truth = {"ion_solute": 4.0, "ion_ion": 5.5, **truth}
        distances_ = ["--ion-solute", truth["ion_solute"], "--ion-ion", truth["ion_ion"]]
        cell = ["--cell", "input"] if shape else []
        done, report = place("a.pqr", *cell, "--place", "SOD:4", "--place", "CLA:3", "--place", "MG:2", *distances_, *options, "-o", "o.pqr")
        assert report["ions"]["placed"] == 9, done.out
        replaced = replay(report, rows, vectors(shape) if shape else None, **truth)
        check_output("o.pqr", rows, replaced, report)
        left = len(molecules(rows)) - 9
        assert f"{left} water molecules are left" in done.out and report["water"]["left"] == left, done.out
        assert "in the place of " + ", ".join(f"{rows[molecules(rows)[n][0]][1]} W {rows[molecules(rows)[n][0]][3]}" for n in replaced[:4]) in done.out


def test_numbers_that_are_all_alike(_):
    """Residue numbers tell nothing: a file whose water has one number, and one where the number is missing."""
    rng = generator()
    for models in (("TIP3",), ("HOH",), ("TP5",)):
        rows = box(rng, ORTHO, models, number=1)
        write_pqr("a.pqr", rows, ORTHO)
        _, report = place("a.pqr", "--cell", "input", "--place", "CLA:3", "--ion-solute", "4", "--ion-ion", "5", "-o", "o.pqr")
        assert report["water"]["molecules"] == len(molecules(rows))
        check_output("o.pqr", rows, replay(report, rows, vectors(ORTHO), 4, 5), report)


def test_water_that_is_kept(_):
    """Water within R of the rest acts, keeps ions away, and stays; so do images of the rest."""
    rng = generator()
    for shape in (None, TRICLINIC):
        rows = box(rng, shape or ORTHO, ("TIP3", "SOL"), solute=12)
        if shape:  # a second ligand at the corner, whose neighbours are on all faces
            rows[:0] = [row("C1", "MEM", "M", 1, (0.1, 0.2, 0.1), -2.0, 1.0)]
        write_pqr("a.pqr", rows, shape)
        cell = vectors(shape) if shape else None
        others = [r[4:7] for r in rows if r[1] in ("LIG", "MEM")]
        kept = [n for n, (first, _) in enumerate(molecules(rows)) if distances(cell, others, numpy.array(rows[first][4:7])).min() < 5.2]
        assert 5 < len(kept) < len(molecules(rows)) // 2
        done, report = place("a.pqr", *(["--cell", "input"] if shape else []), "--place", "SOD:3", "--place", "CLA:3", "--keep-water",
                             "within:5.2", "--ion-solute", "2.5", "--ion-ion", "4", "-o", "o.pqr")
        assert report["water"]["kept_with_solute"] == len(kept) and f"{len(kept)} more kept with the solute" in done.out
        replaced = replay(report, rows, cell, 2.5, 4, kept=kept)
        check_output("o.pqr", rows, replaced, report)
        assert not set(kept) & set(replaced)


def test_water_that_is_selected(_):
    rng = generator()
    rows = box(rng, ORTHO, ("TIP3", "HOH"), solute=12)
    write_pqr("a.pqr", rows, ORTHO)
    kept = [n for n, (first, _) in enumerate(molecules(rows)) if rows[first][1] == "HOH"]
    options = ["--cell", "input", "--place", "SOD:3", "--ion-solute", "2", "--ion-ion", "4", "-o", "o.pqr"]
    _, report = place("a.pqr", *options, "--keep-water", "resname HOH")
    assert report["water"]["kept_with_solute"] == len(kept)
    check_output("o.pqr", rows, replay(report, rows, vectors(ORTHO), 2, 4, kept=kept), report)
    done, report = place("a.pqr", *options, "--keep-water", "resname LIG")
    assert report["water"]["kept_with_solute"] == 0 and "'resname LIG' selects no water molecule" in done.err, done.err
    refuse(2, "--keep-water", "a.pqr", *options, "--keep-water", "nonsense of mine")


# ---- numbers ----


def test_numbers_of_ions(_):
    """Salt by water that is left: the closed form of a 1:1 salt around a charge, N = sqrt(n^2 + Q^2/4) -+ Q/2, with n of the water left;
    whole numbers differ from it by 1/2, and by what a molecule less changes."""
    rng = generator()
    rows = box(rng, (31.0, 31.0, 31.0, 90, 90, 90), spacing=3.1)
    write_pqr("a.pqr", rows, (31.0, 31.0, 31.0, 90, 90, 90))
    close = ["--cell", "input", "--ion-solute", "3", "--ion-ion", "3", "-o", "o.pqr"]
    water = len(molecules(rows))
    for c in (0.15, 1.0):
        done, report = place("a.pqr", "--concentration", c, *close)
        names = report["ions"]["name"]
        cations, anions = names.count("SOD"), names.count("CLA")
        n = c * (water - len(names)) / 55.345
        assert cations - anions == -3 and abs(cations - (math.sqrt(n * n + 2.25) - 1.5)) <= 0.52, (cations, anions, n)
        assert abs(report["ions"]["total_charge"]) < 1e-6 and report["water"]["left"] == water - len(names)
        assert f"{c:g} mol/L of the {water - len(names)} left" in done.out, done.out
    # By volume: that of the cell without the solute's, as where water is not in the file.
    write_pqr("dry.pqr", rows[:40], (31.0, 31.0, 31.0, 90, 90, 90))
    _, wet = place("a.pqr", "--concentration", "0.5", "--concentration-by", "volume", *close)
    _, dry = place("dry.pqr", "--concentration", "0.5", *close)
    assert sorted(wet["ions"]["name"]) == sorted(dry["ions"]["name"])
    assert wet["ions"]["solvent_volume"] == dry["ions"]["solvent_volume"]
    _, report = place("a.pqr", "--neutralize", "SOD,CLA", *close)
    assert report["ions"]["name"] == ["CLA"] * 3
    _, report = place("a.pqr", "--place", "MG:2", "--neutralize", "SOD,CLA", *close)
    assert report["ions"]["name"] == ["MG"] * 2 + ["CLA"] * 7
    # Nothing but water: the volume is the cell's.
    rows = box(rng, ORTHO, spacing=3.1, solute=0)
    write_pqr("w.pqr", rows, ORTHO)
    _, report = place("w.pqr", "--concentration", "0.5", *close)
    pairs = 0.5 * (len(molecules(rows)) - report["ions"]["placed"]) / 55.345
    assert report["ions"]["name"].count("SOD") == report["ions"]["name"].count("CLA") == round(pairs) > 0
    check_output("o.pqr", rows, replay(report, rows, vectors(ORTHO), 3, 3), report)
    _, report = place("w.pqr", "--concentration", "0.5", "--concentration-by", "volume", *close)
    assert report["ions"]["solvent_volume"] == 21 * 19 * 23


def test_too_many_ions(_):
    rng = generator()
    rows = box(rng, ORTHO)
    write_pqr("a.pqr", rows, ORTHO)
    done = run("a.pqr", "--cell", "input", "--place", "CLA:60", "--ion-solute", "4", "--ion-ion", "7", "-o", "o.pqr", "--report", "r.json")
    report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    free, near, by_ions = report["ions"]["waters_free_solute_ions"]
    assert done.status == 9 and free == 0 and near + by_ions == len(molecules(rows))
    assert f"(of {len(molecules(rows))} water molecules, the solute excludes {near} and ions {by_ions})" in done.err, done.err
    assert "4 A from the solute's atoms and 7 A from every ion" in done.err and "lower --ion-ion" in done.err, done.err
    check_output("o.pqr", rows, replay(report, rows, vectors(ORTHO), 4, 7), report)
    done = run("a.pqr", "--place", "CLA:1", "--ion-solute", "60", "-o", "o.pqr")
    assert done.status == 9 and "lower --ion-solute" in done.err, done.err
    # Every molecule replaced: the file has the ions alone.
    write_pqr("w.pqr", rows[40:40 + 6])
    _, report = place("w.pqr", "--place", "SOD:2", "--ion-ion", "0", "-o", "o.pqr")
    assert [r[0] for r in read_pqr("o.pqr")] == ["SOD", "SOD"]


# ---- maps, and what is not water ----


def test_the_map_is_of_the_solute(_):
    rng = generator()
    rows = box(rng, ORTHO)
    water = len(molecules(rows))
    write_pqr("a.pqr", rows, ORTHO)
    write_pqr("dry.pqr", rows[:40], ORTHO)
    grid = ["--cell", "input", "--spacing", "1", "--precision", "double"]
    done = make("a.pqr", *grid, "--place", "CLA:2", "--ion-solute", "4", "--map", "wet.dx", "-o", "o.pqr")
    make("dry.pqr", *grid, "-o", "dry.dx")
    assert numpy.array_equal(numpy.array(read("wet.dx").values), numpy.array(read("dry.dx").values))
    assert f"without {water} water molecules of the file" in pathlib.Path("wet.dx").read_text(encoding="ascii")[:2000], done.out
    # Without ions, the map is of what is in the file.
    make("a.pqr", *grid, "-o", "all.dx")
    assert not numpy.array_equal(numpy.array(read("all.dx").values), numpy.array(read("dry.dx").values))
    assert "without" not in pathlib.Path("all.dx").read_text(encoding="ascii")[:2000].split("object")[0]
    # The map with ions adds theirs.
    make("a.pqr", *grid, "--place", "CLA:2", "--ion-solute", "4", "--map", "with.dx", "--map-with-ions", "--ions", "i.pqr")
    ions = [r[4:7] for r in read_pqr("i.pqr")]
    cell = vectors(ORTHO)
    g = read("with.dx")
    axes = [g.origin[a] + g.spacing[a] * numpy.arange(g.counts[a]) for a in range(3)]
    z, y, x = numpy.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    points = numpy.stack([x.ravel(), y.ravel(), z.ravel()], 1)
    some = generator().integers(0, len(points), 20)
    both = numpy.concatenate([[r[4:8] for r in rows[:40]], [(*at, -1.0) for at in ions]])
    expected = program.unit_constant("kT/e") * Field(cell, points[some]).of(both[:, :3], both[:, 3])
    found = numpy.array(g.values)[some]
    size = numpy.sqrt((numpy.array(g.values) ** 2).mean())
    assert (numpy.abs(found - expected) <= 1e-5 * size).all(), numpy.abs(found - expected).max() / size  # --accuracy 1e-6, ten times that


def test_what_is_no_water(_):
    """A ligand named like water, a membrane, and a molecule without water: solute, and places as without these options."""
    rng = generator()
    ligand = [row(name, "SOL", "L", 5, (1.0 + n, 2.0, 3.0), q, 1.0) for n, (name, q) in enumerate((("C1", 0.5), ("O1", -0.7), ("H1", 0.2)))]
    lipid = [row("P", "POPC", "M", 7, (15.0, 15.0, 15.0), 0.3, 1.0)]
    rows = ligand + lipid + box(rng, ORTHO, ("TIP3",))
    write_pqr("a.pqr", rows, ORTHO)
    done, report = place("a.pqr", "--cell", "input", "--place", "CLA:3", "--ion-solute", "4", "--ion-ion", "5", "-o", "o.pqr")
    assert "1 residue has a name of water, but not its atoms (first: SOL L 5, atom 1); it counts with the solute" in done.out, done.out + done.err
    water = [(first, behind) for first, behind in molecules(rows) if rows[first][1] == "TIP3"]
    assert report["water"]["molecules"] == len(water)
    dry = ligand + lipid + rows[4:44]
    write_pqr("dry.pqr", dry)
    grid = ["--place", "SOD:3", "--spacing", "1", "--ion-solute", "4"]
    _, plain = place("dry.pqr", *grid, "-o", "o.pqr")
    _, solute = place("dry.pqr", *grid, "--water", "solute", "-o", "o.pqr")
    assert plain["ions"] == solute["ions"] and "water" not in plain


def test_water_as_solute(_):
    """--water solute and scripts: ions on grid points, away from water, too."""
    rng = generator()
    rows = box(rng, ORTHO, spacing=9.0)
    write_pqr("a.pqr", rows)
    places = numpy.array([r[4:7] for r in rows])
    _, report = place("a.pqr", "--place", "SOD:3", "--spacing", "1", "--water", "solute", "--ion-solute", "3", "-o", "o.pqr")
    for at in numpy.array([report["ions"][axis] for axis in "xyz"]).T:
        assert distances(None, places, at).min() >= 3 and numpy.abs(at - numpy.rint(at)).max() < 1e-9
    assert read_pqr("o.pqr")[:-3] == rows
    pathlib.Path("s.cfg").write_text("R_ION_SOLUTE 3\nGRIDSPACING 1\nBEGIN\nPLACEION SOD 3 1\nSAVEION pdb i.pdb\n", encoding="ascii")
    make("a.pqr", "-i", "s.cfg", "--report", "s.json")
    assert json.loads(pathlib.Path("s.json").read_text(encoding="utf-8"))["ions"]["x"] == report["ions"]["x"]


def test_renumbered(_):
    rng = generator()
    rows = box(rng, ORTHO, ("TIP3", "HOH"))
    write_pqr("a.pqr", rows, ORTHO)
    _, report = place("a.pqr", "--cell", "input", "--place", "CLA:3", "--ion-solute", "4", "--ion-ion", "5", "--renumber", "-o", "o.pqr")
    found = read_pqr("o.pqr")
    assert [r[3] for r in found if r[2] == "A"] == [1 + n // 10 for n in range(40)]
    numbers = [r[3] for r in found if r[2] == "W" and r[0][0] == "O"]
    assert numbers == list(range(1, len(molecules(rows)) - 3 + 1))
    replay(report, rows, vectors(ORTHO), 4, 5)


def test_files(_):
    """PDB and XYZ; the second run's input is the first one's output, whose ions are solute then."""
    rng = generator()
    rows = box(rng, ORTHO)
    write_pqr("a.pqr", rows, ORTHO)
    options = ["--cell", ",".join(map(str, ORTHO[:3])), "--place", "CLA:2", "--ion-solute", "4", "--ion-ion", "5"]
    _, first = place("a.pqr", *options, "-o", "o.pqr", "--ions", "i.xyz")
    make("a.pqr", *options, "-o", "o.pdb")
    pdb = [line for line in open("o.pdb", encoding="ascii") if line.startswith(("ATOM", "HETATM"))]
    assert [line[12:16].strip() for line in pdb] == [r[0] for r in read_pqr("o.pqr")]
    done, second = place("o.pqr", *options, "-o", "p.pqr")
    assert second["water"]["molecules"] == first["water"]["left"] and second["ions"]["placed"] == 2, done.out
    before = numpy.array([first["ions"][axis] for axis in "xyz"]).T
    for at in numpy.array([second["ions"][axis] for axis in "xyz"]).T:
        assert distances(vectors(ORTHO), before, at).min() >= 4
    assert len(read_pqr("p.pqr")) == len(rows) - 4 * 3 + 4
    assert "water      " in make("a.pqr", *options, "--dry-run").out


def test_refused(_):
    rng = generator()
    rows = box(rng, ORTHO)
    write_pqr("a.pqr", rows, ORTHO)
    write_pqr("dry.pqr", rows[:40], ORTHO)
    write_pqr("w.pqr", rows[40:])
    make("dry.pqr", "--spacing", "2", "-o", "m.dx")
    one = ["--place", "SOD:1"]
    for words, arguments in (
            (["--refine", "oxygen", "--water solute"], ["a.pqr", *one, "--refine"]),
            (["--mask", "--water solute"], ["a.pqr", *one, "--mask", "m2.dx"]),
            (["--read-map", "without water", "--water solute"], ["a.pqr", *one, "--read-map", "m.dx"]),
            (["no map is computed"], ["a.pqr", *one, "--part", "1/2"]),
            (["--concentration-by volume", "--cell"], ["a.pqr", "--concentration", "0.1", "--concentration-by", "volume"]),
            (["keeps all", "keep fewer"], ["a.pqr", *one, "--keep-water", "within:100"]),
            (["within:R"], ["a.pqr", *one, "--keep-water", "within:-1"]),
            (["within:R"], ["a.pqr", *one, "--keep-water", "within:2x"]),
            (["--water solvent", "no water molecules"], ["dry.pqr", *one, "--water", "solvent"]),
            (["--keep-water", "no water molecules"], ["dry.pqr", *one, "--keep-water", "within:3"]),
            (["--concentration-by water", "no water molecules"], ["dry.pqr", "--concentration", "0.1", "--concentration-by", "water"]),
            (["--keep-water", "--water solute"], ["a.pqr", *one, "--keep-water", "within:3", "--water", "solute"]),
            (["nothing but water"], ["w.pqr", *one, "--map", "x.dx"])):
        refuse(2, words, *arguments)


program.main(globals())
