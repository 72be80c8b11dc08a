#!/usr/bin/env python3
"""The molecule's surface: --surface-mesh, --surface-picture, --scene. Meshes are read by strict readers of our own, and the potential at
their vertices is compared with the map's file, interpolated here.

usage: test_cionize_surface.py PROGRAM [DEVICE] [test_name ...]
"""
import ast
import json
import math
import os
import pathlib
import struct
import zlib

try:
    import numpy
except ImportError as missing:
    print(f"SKIP: {missing}")
    raise SystemExit(77) from None

import program
from mesh_files import read_glb, read_ply
from program import make, read, refuse, run, sample

QUICK = ["--spacing", "0.8", "--border", "5"]


def write_pqr(path, atoms):
    """atoms: x, y, z, charge, radius."""
    pathlib.Path(path).write_text("".join(f"ATOM {n + 1} C RES {n + 1} {x:.3f} {y:.3f} {z:.3f} {q} {r}\n"
                                          for n, (x, y, z, q, r) in enumerate(atoms)))


def map_values(path):
    """[x][y][z] of a map's file."""
    found = read(path)
    values = numpy.array(found.values).reshape(found.counts[::-1]).transpose(2, 1, 0)
    return values, numpy.array(found.origin), numpy.array(found.spacing)


def interpolate(path, places, periodic=False):
    """The map at places, linear between its points."""
    values, origin, spacing = map_values(path)
    if periodic:  # the first points again, behind the last
        values = numpy.pad(values, [(0, 1)] * 3, mode="wrap")
    at = (places - origin) / spacing
    if periodic:
        at %= numpy.array(values.shape) - 1
    low = numpy.minimum(numpy.floor(at).astype(int), numpy.array(values.shape) - 2)
    part = at - low
    found = numpy.zeros(len(places))
    for corner in numpy.ndindex(2, 2, 2):
        weight = numpy.prod(numpy.where(corner, part, 1 - part), axis=1)
        found += weight * values[tuple((low + corner).T)]
    return found


def report():
    return json.loads(pathlib.Path("r.json").read_text())["surface"]


def pixels(path):
    """[row][column][rgb] of a PNG file without interlacing."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, packed = 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        content = data[place + 8:place + 8 + size]
        if kind == b"IHDR":
            width, height, bits, color = struct.unpack(">IIBB", content[:10])
        elif kind == b"IDAT":
            packed += content
        place += 12 + size
    assert bits == 8 and color == 2
    raw = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, 1 + 3 * width)
    out = numpy.zeros((height, width, 3), numpy.uint8)
    above = numpy.zeros(3 * width, numpy.uint8)
    for y, line in enumerate(raw):
        row = line[1:].copy()
        if line[0] == 1:
            row = numpy.cumsum(row.reshape(-1, 3), axis=0, dtype=numpy.uint8).reshape(-1)
        elif line[0] == 2:
            row += above
        elif line[0] > 2:
            done = [0, 0, 0] + row.tolist()
            up = [0, 0, 0] + above.tolist()
            for i in range(3, len(done)):
                a, b, c = done[i - 3], up[i], up[i - 3]
                guess = (a + b) // 2 if line[0] == 3 else min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
                done[i] = (done[i] + guess) & 255
            row = numpy.array(done[3:], numpy.uint8)
        out[y] = row.reshape(-1, 3)
        above = row
    return out


def test_one_atom(_):
    """A sphere of radius 2, its area and volume as the library's test of spheres has them: too small by parts of at most h^2 / R^2, h
    being 4 / 160. The potential is linear between points of the map."""
    write_pqr("a.pqr", [(0.1, 0.2, 0.3, 1.0, 2.0)])
    for offset in (0, 1.4):
        make("-q", "a.pqr", "--units", "e/A", "--spacing", "0.4", "--border", "6", "-o", "a.mrc", "--surface-mesh", "a.ply", "--report", "r.json",
             "--surface-offset", offset, "--surface", "vdw")
        mesh = read_ply("a.ply")
        mesh.check_closed()
        h = report()["spacing"]
        assert abs(h - 4 / 160) < 1e-12
        for found, exact in ((mesh.area(), 16 * math.pi), (mesh.volume(), 32 / 3 * math.pi)):
            assert 0 < 1 - found / exact < (h / 2) ** 2, (found, exact)
        away = (mesh.vertex - numpy.array([0.1, 0.2, 0.3])).astype(float)
        # Levels are linear along edges up to h^2 / 8R; floats of up to 2.5 are off by 1.2e-7.
        assert abs(numpy.linalg.norm(away, axis=1) - 2).max() < h * h / 8 / (2 - h) + 5e-7
        assert ((away * mesh.normal).sum(axis=1) > 1.999).all()
        expected = interpolate("a.mrc", mesh.vertex.astype(float) + offset * mesh.normal.astype(float))
        assert numpy.isfinite(mesh.value).all()
        assert abs(mesh.value - expected).max() < 1e-6  # values of at most 0.6, in floats
        # The map's points are 0.4 apart: 0.4^2 / 8 times the sum of curvatures, 4 / R^3 at most, below.
        assert abs(mesh.value - 1 / (2 + offset)).max() < 0.02 * 4 / (2 + offset - 0.7) ** 3


def test_all_formats_say_the_same(_):
    sample("1hpv.pqr")
    make("-q", "1hpv.pqr", *QUICK, "-o", "a.mrc", "--surface-mesh", "a.ply", "--report", "r.json")
    ply, facts = read_ply("a.ply"), report()
    make("-q", "1hpv.pqr", *QUICK, "-o", "b.dx", "--surface-mesh", "b.glb")
    glb = read_glb("b.glb")
    for name in ("vertex", "normal", "triangle"):
        assert numpy.array_equal(getattr(ply, name), getattr(glb, name)), name
    # Layers along z, and along x: sums in another order.
    assert abs(ply.value - glb.value).max() < 1e-6 * abs(ply.value).max()
    channel = numpy.arange(256) / 255
    light = numpy.rint(255 * numpy.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4))
    assert (light[ply.color] == glb.color).all(axis=1).mean() > 0.999  # a last bit of the value is another step of colours
    ply.check_closed()
    assert abs(ply.area() - facts["area"]) < 1e-6 * facts["area"] and abs(ply.volume() - facts["volume"]) < 1e-6 * facts["volume"]
    assert [len(ply.vertex), len(ply.triangle)] == [facts["vertices"], facts["triangles"]]
    assert facts["minimum"] == ply.value.min() and facts["maximum"] == ply.value.max() and facts["vertices_outside_of_the_map"] == 0
    expected = interpolate("a.mrc", ply.vertex.astype(float) + 1.4 * ply.normal.astype(float))
    # Where and what is read are floats: 1e-6 of a spacing changes a value by some 1e-6 of the largest nearby.
    assert abs(ply.value - expected).max() < 1e-5 * abs(expected).max()
    assert numpy.isfinite(expected).all() and abs(expected).max() > 100
    # The colours: red below -range, blue above it, white at 0.
    value = ply.value / facts["range"]
    assert (abs(value) <= 1).mean() >= 0.98
    assert (ply.color[value < -0.2][:, 0] > ply.color[value < -0.2][:, 2]).all()
    assert (ply.color[value > 0.2][:, 2] > ply.color[value > 0.2][:, 0]).all()
    assert (ply.color[abs(value) < 0.002] > 250).all()
    # From the map's file instead, whose origin and spacing are floats.
    make("-q", "1hpv.pqr", "--read-map", "a.mrc", "--surface-mesh", "c.ply")
    again = read_ply("c.ply")
    assert numpy.array_equal(again.vertex, ply.vertex) and abs(again.value - ply.value).max() < 1e-5 * abs(ply.value).max()


def test_kinds_of_surfaces(_):
    """The solvent-excluded surface of two atoms encloses both spheres and less than the accessible one. A hole in the grid is no hole in
    the mesh: all are closed."""
    write_pqr("a.pqr", [(0, 0, 0, 1, 1.5), (3.6, 0, 0, -1, 1.5)])
    volume = {}
    for kind in ("vdw", "ses", "sas"):
        make("-q", "a.pqr", *QUICK, "-o", "a.mrc", "--surface-mesh", "a.ply", "--surface", kind, "--probe", "1.2")
        mesh = read_ply("a.ply")
        mesh.check_closed()
        volume[kind] = mesh.volume()
    apart = 2 * 4 / 3 * math.pi * 1.5 ** 3
    assert 0 < 1 - volume["vdw"] / apart < 1e-3  # (h / R)^2
    lens = math.pi / 12 * (4 * 2.7 + 3.6) * (2 * 2.7 - 3.6) ** 2
    assert abs(volume["sas"] / (2 * 4 / 3 * math.pi * 2.7 ** 3 - lens) - 1) < 1e-3
    # The gap between the spheres is filled by what the probe cannot reach: a ring's section, by Pappus, integrated here.
    x = numpy.linspace(-1.8, 1.8, 20001)
    ring = math.sqrt(2.7 ** 2 - 1.8 ** 2)  # of the probe's centre
    end = 1.8 - 1.5 * 1.8 / 2.7  # where the probe touches
    radius = numpy.where(abs(x) < end, ring - numpy.sqrt(numpy.maximum(1.2 ** 2 - x * x, 0)), numpy.sqrt(numpy.maximum(1.5 ** 2 - (1.8 - abs(x)) ** 2, 0)))
    between = numpy.trapezoid(radius ** 2, x) if hasattr(numpy, "trapezoid") else numpy.trapz(radius ** 2, x)
    assert abs(volume["ses"] / (math.pi * between + apart / 2) - 1) < 2e-3


def test_picture(_):
    """A dipole: red where the charge is negative, blue where it is positive, on both sides; the same bits for any number of threads."""
    write_pqr("a.pqr", [(0, 0, 0, 1, 2), (6, 0, 0, -1, 2.2), (3, 0.5, 0, 0, 2.5)])
    for threads in (1, 2):
        make("-q", "a.pqr", *QUICK, "-o", "a.mrc", "--surface-picture", f"{threads}.png", "--threads", threads)
    one, two = pixels("1.png").astype(int), pixels("2.png").astype(int)
    # All but the words about the run, which are above the views.
    assert one.shape == two.shape and one.shape[1] == 2400
    assert (one == two).all()
    for side in (slice(0, 1200), slice(1200, 2400)):
        view = one[200:-260, side]
        ink = (view.max(axis=2) - view.min(axis=2)) > 60
        red, blue = ink & (view[..., 0] > view[..., 2]), ink & (view[..., 2] > view[..., 0])
        assert red.sum() > 20000 and blue.sum() > 20000, (red.sum(), blue.sum())
        middle = [numpy.nonzero(color)[1].mean() for color in (red, blue)]
        assert abs(middle[0] - middle[1]) > 300, "the charges lie side by side"
        assert (view[:, [0, -1]] == 255).all(), "the surface is cut off"
    left = one[200:-260, :1200], one[200:-260, 1200:]
    assert ((left[0] < 250).any(axis=2).sum() / (left[1] < 250).any(axis=2).sum() - 1) ** 2 < 1e-4, "both sides have the same outline"


def test_solvent_range(_):
    """In a solvent the scale ends at 5 kT/e; without, and by --surface-range, it does not."""
    write_pqr("a.pqr", [(0, 0, 0, 2, 2.0), (3, 0, 0, 1, 2.0)])
    for more, ok in ((["--solvent"], lambda r: r == 5), (["--solvent", "--solvent-dielectric", "79", "--solute-dielectric", "79", "--ionic-strength", "0"], lambda r: r == 5),
                     ([], lambda r: r > 100), (["--surface-range", "7"], lambda r: r == 7)):
        make("-q", "a.pqr", *QUICK, *more, "-o", "a.mrc", "--surface-mesh", "a.glb", "--report", "r.json")
        facts = report()
        assert ok(facts["range"]), (more, facts["range"])
        assert read_glb("a.glb").words["extras"]["high"] == facts["range"]
    make("-q", "a.pqr", *QUICK, "--solvent", "--units", "V", "-o", "a.mrc", "--surface-mesh", "a.glb", "--report", "r.json")
    assert abs(report()["range"] - 5 * 0.025693) < 1e-5  # kT/e in volts at 298.15 K


def test_outside_of_the_map(_):
    write_pqr("a.pqr", [(0, 0, 0, 1, 2.0), (5, 0, 0, 1, 2.0)])
    done = make("a.pqr", "--origin", "-4", "--counts", "9", "--spacing", "1", "-o", "a.mrc", "--surface-mesh", "a.ply")
    assert "outside of the map" in done.err
    mesh = read_ply("a.ply")
    out = ((mesh.vertex + 1.4 * mesh.normal) > 4).any(axis=1)
    assert 0.3 < out.mean() < 0.8 and (numpy.isnan(mesh.value) == out).mean() > 0.999
    grey = mesh.color[numpy.isnan(mesh.value)]
    assert (grey == grey[0]).all() and grey[0][0] == grey[0][2]
    make("a.pqr", "--origin", "-4", "--counts", "9", "--spacing", "1", "-o", "a.mrc", "--surface-mesh", "a.glb")
    assert read_glb("a.glb").value is None, "NaN is not allowed in glTF"


def test_parts_and_selections(_):
    write_pqr("a.pqr", [(0, 0, 0, 1, 2.0), (3, 0, 0, -1, 2.0)])
    make("-q", "a.pqr", *QUICK, "-o", "whole.mrc", "--surface-mesh", "whole.ply")
    for part in ("1/2", "2/2"):
        make("-q", "a.pqr", *QUICK, "-o", "m.mrc", "--surface-mesh", "m.ply", "--part", part)
        assert not os.path.exists("m.ply")
    make("-q", "a.pqr", *QUICK, "-o", "m.mrc", "--surface-mesh", "m.ply", "--join")
    assert numpy.array_equal(read_ply("m.ply").value, read_ply("whole.ply").value)
    make("-q", "a.pqr", *QUICK, "-o", "s.mrc", "--surface-mesh", "s.ply", "--select", "index 0", "--select", "index 1")
    one, two = read_ply("s_1.ply"), read_ply("s_2.ply")
    assert (one.value > 0).all() and (two.value < 0).all() and numpy.array_equal(one.vertex, two.vertex)


def test_beside_other_results(_):
    """Energies, points and ions make no map by themselves, but a surface needs one."""
    write_pqr("a.pqr", [(0, 0, 0, 1, 2.0), (3, 0, 0, -1, 2.0)])
    for more in (["--solvent", "--energies", "e.csv"], ["--points", "atoms", "--points-out", "p.csv"], ["--place", "SOD:1", "--ions", "i.pdb"]):
        make("-q", "a.pqr", *QUICK, *more, "--surface-mesh", "m.ply")
        found = read_ply("m.ply").value
        assert found.min() < -0.5 and found.max() > 0.5, more
        os.remove("m.ply")
    sample("water_box.pqr")
    make("-q", "water_box.pqr", *QUICK, "--place", "SOD:1", "--ions", "i.pdb", "--surface-mesh", "m.ply", "--solute", "index 0 to 29", "--water", "solute")
    assert numpy.isfinite(read_ply("m.ply").value).all()


def scripts(name):
    return [pathlib.Path(f"{name}.{ending}").read_text() for ending in ("pml", "cxc", "vmd")]


def test_scene(_):
    """The files name each other by the names that they have in their folder, whatever characters these have."""
    os.mkdir("in")
    os.mkdir("out")
    name = "a b'c\"d\\e$f[g]h{i};#é"
    write_pqr(f"in/{name}.pqr", [(0, 0, 0, 1, 2.0), (3, 0, 0, -1, 1.9)])
    make("-q", f"in/{name}.pqr", *QUICK, "-o", f"out/{name}.dx", "--scene", f"out/{name}", "--report", "r.json")
    assert sorted(os.listdir("out")) == sorted(f"{name}{ending}" for ending in (".dx", ".pml", ".cxc", ".vmd", "_molecule.pqr"))
    pml, cxc, vmd = scripts(f"out/{name}")
    scale = report()["range"]
    loads = [ast.parse(line, mode="eval").body for line in pml.splitlines() if line.startswith("cmd.load(")]
    assert [load.args[0].args[1].value for load in loads] == [f"{name}_molecule.pqr", f"{name}.dx"]
    assert f"[-{scale:.9g}, 0, {scale:.9g}]" in pml and "normalize_ccp4_maps, 0" in pml and "surface_ramp_above_mode, 1" in pml
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    assert f'\nclose session\nopen "{quoted}_molecule.pqr"\nopen "{quoted}.dx"\n' in cxc
    assert f"color electrostatic #1 map #2 palette -{scale:.9g},red:0,white:{scale:.9g},blue offset 1.4 key true" in cxc
    tcl = "".join("\\" + c if c in "\\\"$[]{}" else c for c in name)
    assert f'mol new [file join $here "{tcl}_molecule.pqr"] type pqr' in vmd and f'"{tcl}.dx"] type dx waitfor all\n' in vmd
    assert f"mol scaleminmax $molecule 0 -{scale:.9g} {scale:.9g}" in vmd
    for text in (pml, cxc, vmd):  # comments are two lines, and ASCII
        assert text.splitlines()[0].startswith("# electrostatic potential of in/a b'c\"d_e$f") and text.splitlines()[1].startswith("# cionize")
    written = program.read_atoms(f"out/{name}_molecule.pqr")
    assert len(written) == 2 and list(written[1][:3]) == [3, 0, 0]


def test_scene_elsewhere(_):
    """A map in another folder is named by its whole path; an ending of the scene's name is left out."""
    write_pqr("a.pqr", [(0, 0, 0, 1, 2.0)])
    os.mkdir("maps")
    os.mkdir("scenes")
    make("-q", "a.pqr", *QUICK, "-o", "maps/a.mrc", "--scene", "scenes/s.pml", "--surface", "sas", "--surface-offset", "0")
    assert sorted(os.listdir("scenes")) == ["s.cxc", "s.pml", "s.vmd", "s_molecule.pqr"]
    pml, cxc, vmd = scripts("scenes/s")
    for text in (pml, cxc, vmd):
        assert f'"{os.path.realpath("maps")}/a.mrc"' in text and '"s_molecule.pqr"' in text
    assert "surface_ramp_above_mode, 0" in pml and "surface_solvent, 1" in pml and "format='ccp4'" in pml and "type ccp4" in vmd
    make("-q", "a.pqr", "--read-map", "maps/a.mrc", "--scene", "t")
    assert pathlib.Path("t.pml").exists()


def test_refusals(_):
    sample("dipole.pqr")
    write_pqr("bare.pqr", [(0, 0, 0, 1, 0)])
    for more in (["--surface-mesh", "a.ply"], ["--surface-picture", "a.png"], ["--scene", "a"]):
        refuse(3, ["bare.pqr", "no atom has a radius", "--radii bondi"], "bare.pqr", *QUICK, "-o", "a.dx", *more)
        why = ["--scene", "periodic"] if "--scene" in more else ["triclinic", "--picture"]
        refuse(2, why, "dipole.pqr", *QUICK[:2], "--cell", "20,20,20,90,90,60", "-o", "a.dx", *more)
        make("dipole.pqr", *QUICK, "-o", "b.dx", *more, "--dry-run")
    assert not os.path.exists("a.ply") and not os.path.exists("a.png") and not os.path.exists("a.pml")
    refuse(2, ["a.stl", ".ply or .glb"], "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-mesh", "a.stl")
    refuse(2, ["a.jpg", ".png"], "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-picture", "a.jpg")
    refuse(2, ["a.h5", "--scene", ".dx"], "dipole.pqr", *QUICK, "-o", "a.h5", "--scene", "a")
    refuse(2, ["--scene", "--map"], "dipole.pqr", *QUICK, "--place", "SOD:1", "--scene", "a")
    refuse(2, ["control"], "dipole.pqr", *QUICK, "-o", "a.dx", "--scene", "a\nb")
    refuse(2, ["a.pml"], "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-mesh", "b.ply", "--report", "a.pml", "--scene", "a")
    refuse(2, ["a.ply"], "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-mesh", "a.ply", "--report", "a.ply")
    refuse(2, ["--surface-range", "needs"], "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-range", "3")
    for bad in ("0", "-1", "nan", "x"):
        refuse(2, "--surface-range", "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-mesh", "a.ply", "--surface-range", bad)
    refuse(4, "no/a.ply", "dipole.pqr", *QUICK, "-o", "a.dx", "--surface-mesh", "no/a.ply")
    refuse(4, "no/s", "dipole.pqr", *QUICK, "-o", "a.dx", "--scene", "no/s")
    write_pqr("far.pqr", [(-9000, -9000, -9000, 1, 1), (9000, 9000, 9000, 1, 1)])
    refuse(8, ["too far apart"], "far.pqr", "--counts", "4", "-o", "a.dx", "--surface-mesh", "a.ply")
    make("-q", "dipole.pqr", "--cell", "20,20,20", "-o", "cell.mrc", "--counts", "20")
    refuse(2, ["--scene", "periodic"], "dipole.pqr", "--read-map", "cell.mrc", "--scene", "a")


def test_cells(_):
    """In a rectangular cell, the map is continued beyond its faces, where half of this molecule lies: linear between its points."""
    write_pqr("edge.pqr", [(9.5, 0, 0, 1, 1.7), (10.6, 0.3, 0.2, -1, 1.5), (8.5, 9.9, -9.8, 0.3, 1.5), (8.5, 9.9, -8.7, -0.3, 1.7)])
    for name in ("m.dx", "m.mrc"):  # layers along x, and along z
        make("-q", "edge.pqr", "--cell", "20,18,19", "--origin=-10,-9,-9.5", "--spacing", "0.5", "-o", name, "--surface-mesh", "a.ply",
             "--report", "r.json")
        mesh = read_ply("a.ply")
        places = mesh.vertex + 1.4 * mesh.normal
        assert (places[:, 0] > 10).any() and (places[:, 1] > 9).any() and (places[:, 2] < -9.5).any()
        expected = interpolate(name, places, periodic=True)
        # the mesh's floats: places to 1e-6 relative, the normal's length to 1e-6, so 2e-5 angstrom; slopes below 300 kT/e/angstrom
        assert not numpy.isnan(mesh.value).any() and report()["vertices_outside_of_the_map"] == 0
        assert numpy.abs(mesh.value - expected).max() < 1e-5 * numpy.abs(expected).max() + 6e-3, name
    make("-q", "edge.pqr", "--cell", "20,18,19", "--counts", "1", "-o", "m.dx", "--surface-mesh", "a.ply")
    value = read_ply("a.ply").value
    assert numpy.ptp(value) <= 2e-7 * abs(value).max(), "one point is the same everywhere, but for the weights' sums in floats"


def test_frames(_):
    """Beside a trajectory: the surface of the file, coloured by the mean."""
    def frame(atoms):
        return f"t\n{len(atoms)}\n" + "".join(f"{1:5d}RES  {'C':>5}{n + 1:5d}{x / 10:8.3f}{y / 10:8.3f}{z / 10:8.3f}\n"
                                              for n, (x, y, z) in enumerate(atoms)) + "   9.0 9.0 9.0\n"
    write_pqr("two.pqr", [(-1.0, 0, 0, 1, 1.7), (1.0, 0, 0, -1, 1.7)])
    pathlib.Path("two.gro").write_text(frame([(-1.0, 0, 0), (1.0, 0, 0)]) + frame([(-2.0, 0, 0), (2.0, 0, 0)]))
    done = make("two.pqr", "--trajectory", "two.gro", *QUICK, "-o", "m.dx", "--surface-mesh", "a.ply", "--surface-picture", "a.png")
    assert "mean over frames" in done.out + done.err, done
    mesh = read_ply("a.ply")
    expected = interpolate("m.dx", mesh.vertex + 1.4 * mesh.normal)
    assert numpy.abs(mesh.value - expected).max() < 1e-5 * numpy.abs(expected).max() + 6e-3
    assert numpy.abs(mesh.vertex).max() < 2.8, "the surface is that of the file"


if __name__ == "__main__":
    program.main(globals())
