"""The map readers of read_map.py: those of other programs and its own. Each returns a Map.

Readers written in Python run in the first interpreter that has their module: this one, those in VOXFIELD_PYTHON
(separated by colons), /usr/bin/python3.
"""
import atexit
import gzip
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile

BOHR = 0.529177210544  # angstrom, CODATA 2022


class Skip(Exception):
    pass


class Wrong(Exception):
    pass


class Off(Exception):
    """A known fault of the reader, with the expected size."""


class Map:
    """A map as a reader sees it: values with x fastest; position of the first point and steps, in angstrom."""

    def __init__(self, counts, origin, spacing, values):
        self.counts = [int(n) for n in counts]
        self.origin = [float(v) for v in origin]
        self.spacing = [float(v) for v in spacing]
        self.values = [float(v) for v in values]


def x_fastest(values, counts):
    """From z fastest."""
    nx, ny, nz = counts
    if len(values) != nx * ny * nz:
        raise Wrong(f"{len(values)} values, not {nx * ny * nz}")
    return [values[(i * ny + j) * nz + k] for k in range(nz) for j in range(ny) for i in range(nx)]


def compare(found, expected, digits=6):
    """Compares values to `digits` digits of the largest, and positions to single precision, which most readers use:
    1e-6 of the box's size and its distance from zero. An axis of one point has no step."""
    if found.counts != expected.counts:
        raise Wrong(f"{found.counts} points, not {expected.counts}")
    for a in range(3):
        span = abs(expected.origin[a]) + expected.counts[a] * expected.spacing[a]
        if not abs(found.origin[a] - expected.origin[a]) <= 1e-6 * span:
            raise Wrong(f"origin {found.origin}, not {expected.origin}")
        steps = expected.counts[a] - 1
        if steps and not abs(found.spacing[a] - expected.spacing[a]) * steps <= 1e-6 * span:
            raise Wrong(f"steps {found.spacing}, not {expected.spacing}")
    largest = max(abs(v) for v in expected.values)
    if len(found.values) != len(expected.values):
        raise Wrong(f"{len(found.values)} values, not {len(expected.values)}")
    for at, (f, e) in enumerate(zip(found.values, expected.values)):
        if not abs(f - e) <= 0.6 * 10 ** (1 - digits) * abs(e) + 1e-12 * largest:
            raise Wrong(f"value {at} is {f!r}, not {e!r}")


# ---- this file's own readers: standard library only, and strict ----


def strict_dx(lines):
    """Only the form that APBS writes."""
    at = 0
    while lines[at].startswith("#"):
        at += 1

    def take(begin, n):
        nonlocal at
        line = lines[at]
        at += 1
        if not line.startswith(begin):
            raise Wrong(f"line {at} is '{line}', not '{begin}...'")
        fields = line[len(begin):].split()
        if len(fields) != n:
            raise Wrong(f"line {at} has {len(fields)} fields after '{begin}', not {n}")
        return fields

    counts = [int(v) for v in take("object 1 class gridpositions counts ", 3)]
    origin = [float(v) for v in take("origin ", 3)]
    rows = [[float(v) for v in take("delta ", 3)] for _ in range(3)]
    if any(rows[a][b] != 0 for a in range(3) for b in range(3) if a != b):
        raise Wrong("the axes are not straight")
    if [int(v) for v in take("object 2 class gridconnections counts ", 3)] != counts:
        raise Wrong("connections and positions differ")
    total = counts[0] * counts[1] * counts[2]
    take(f"object 3 class array type double rank 0 items {total} data follows", 0)
    values = []
    while len(values) < total:
        tokens = lines[at].split(" ")
        at += 1
        if len(tokens) != min(3, total - len(values)):
            raise Wrong(f"line {at} has {len(tokens)} values")
        if any(len(t) >= 20 or not math.isfinite(float(t)) for t in tokens):
            raise Wrong(f"line {at} has a value that some readers cannot read")
        values += [float(t) for t in tokens]
    footer = ['attribute "dep" string "positions"', 'object "regular positions regular connections" class field',
              'component "positions" value 1', 'component "connections" value 2', 'component "data" value 3', ""]
    if lines[at:] != footer:
        raise Wrong("the end is not the usual one")
    return Map(counts, origin, [rows[a][a] for a in range(3)], x_fastest(values, counts))


def own_dx(path, _):
    with open(path, encoding="ascii", newline="") as stream:
        return strict_dx(stream.read().split("\n"))


def own_dx_gz(path, _):
    with gzip.open(path, "rt", encoding="ascii", newline="") as stream:
        return strict_dx(stream.read().split("\n"))


def own_mrc(path, _):
    with open(path, "rb") as stream:
        header, body = stream.read(1024), stream.read()
    words = struct.unpack("<256i", header)
    reals = struct.unpack("<256f", header)
    counts = words[0:3]
    if words[3] != 2 or words[16:19] != (1, 2, 3) or words[22] != 1 or words[23] != 0:
        raise Wrong("mode, axes, space group or extended header")
    if header[208:216] != b"MAP \x44\x44\0\0" or reals[13:16] != (90, 90, 90):
        raise Wrong("magic, byte order or angles")
    spacing = [reals[10 + a] / words[7 + a] for a in range(3)]
    if any(words[4:7]) and any(reals[49:52]):
        raise Wrong("both N*START and ORIGIN are set")
    origin = [reals[49 + a] + words[4 + a] * spacing[a] for a in range(3)]
    values = struct.unpack(f"<{len(body) // 4}f", body)
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    for name, word, value in (("DMIN", 19, min(values)), ("DMAX", 20, max(values)), ("DMEAN", 21, mean), ("RMS", 54, deviation)):
        if not abs(reals[word] - value) <= 1e-5 * max(abs(value), deviation, 1e-30):
            raise Wrong(f"{name} is {reals[word]}, not {value}")
    return Map(counts, origin, spacing, values)


def own_cube(path, _):
    with open(path, encoding="ascii", newline="") as stream:
        lines = stream.read().split("\n")
    atoms, *origin = lines[2].split()
    axes = [line.split() for line in lines[3:6]]
    if int(atoms) < 1 or any(int(axis[0]) < 1 for axis in axes) or any(
            float(axes[a][1 + b]) != 0 for a in range(3) for b in range(3) if a != b):
        raise Wrong("header")
    counts = [int(axis[0]) for axis in axes]
    values, at = [], 6 + int(atoms)
    for _ in range(counts[0] * counts[1]):
        row = []
        while len(row) < counts[2]:
            tokens = [lines[at][c:c + 13] for c in range(0, len(lines[at]), 13)]
            if len(tokens) != min(6, counts[2] - len(row)):
                raise Wrong(f"line {at + 1} has {len(tokens)} values")
            row += [float(t) for t in tokens]
            at += 1
        values += row
    if lines[at:] != [""]:
        raise Wrong("something follows the values")
    return Map(counts, [float(v) * BOHR for v in origin], [float(axes[a][1 + a]) * BOHR for a in range(3)],
               x_fastest(values, counts))


# ---- readers in other interpreters: a program prints counts, origin, spacing and values of the file `path` as JSON ----

interpreters = {}


def interpreter_for(module):
    if module not in interpreters:
        candidates = [sys.executable, *filter(None, os.environ.get("VOXFIELD_PYTHON", "").split(":")), "/usr/bin/python3"]
        for python in candidates:
            if shutil.which(python) and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
                interpreters[module] = python
                break
        else:
            interpreters[module] = None
    if not interpreters[module]:
        raise Skip(f"no Python here has {module}")
    return interpreters[module]


class Reader:
    """A program in the interpreter that has its module: started once, for all files, because imports take a second. It gets a
    path a line, and runs anew for each, with names of its own."""

    SERVE = """
import sys, traceback
code = compile(sys.argv[1], "reader", "exec")
for line in sys.stdin:
    try:
        exec(code, {"__name__": "reader", "path": line.removesuffix("\\n")})
        print("END", flush=True)
    except SystemExit as end:
        print("END" if end.code in (None, 0) else "WRONG: " + str(end.code).replace("\\n", " "), flush=True)
    except BaseException:
        print("WRONG: " + traceback.format_exc().strip().splitlines()[-1], flush=True)
"""

    def __init__(self, module, program):
        self.module, self.program, self.process, self.complaints = module, PRINT + program, None, None

    def __call__(self, path, _):
        if self.process is None or self.process.poll() is not None:  # a reader may have crashed at the file before
            self.complaints = tempfile.TemporaryFile("w+", errors="replace")
            atexit.register(self.end)
            self.process = subprocess.Popen([interpreter_for(self.module), "-c", self.SERVE, self.program], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints)
        self.process.stdin.write(os.path.abspath(path) + "\n")
        self.process.stdin.flush()
        found = None
        for line in self.process.stdout:
            if line.startswith("{"):
                found = json.loads(line)
            elif line.startswith("SKIP: "):
                found = Skip(line.removeprefix("SKIP: ").strip())
            elif line.startswith("WRONG: "):
                raise Wrong(line.removeprefix("WRONG: ").strip())
            elif line == "END\n":
                break
        else:
            self.complaints.seek(0)
            words = self.complaints.read().strip() or f"exit status {self.process.wait()}"
            raise Wrong(words.splitlines()[-1])
        if isinstance(found, Skip):
            raise found
        if found is None:
            raise Wrong("it printed nothing")
        return Map(found["counts"], found["origin"], found["spacing"], found["values"])

    def end(self):
        self.process.kill()
        self.process.communicate()


PRINT = """
def show(array_xyz, origin, spacing):
    import json
    print(json.dumps({"counts": list(array_xyz.shape), "origin": [float(v) for v in origin],
                      "spacing": [float(v) for v in spacing], "values": [float(v) for v in array_xyz.ravel(order="F")]}))
import sys
"""


grid_data_formats = Reader("gridData", """
from gridData import Grid
g = Grid(path, file_format="MRC") if path.lower().endswith(".map") else Grid(path)  # it does not know that ending
show(g.grid, g.origin, g.delta)
""")

mrcfile = Reader("mrcfile", """
import mrcfile, io
complaints = io.StringIO()
if not mrcfile.validate(path, print_file=complaints):
    sys.exit("mrcfile.validate: " + complaints.getvalue())
with mrcfile.open(path) as m:
    assert m.is_volume()
    h, v = m.header, m.voxel_size
    step = [float(v.x), float(v.y), float(v.z)]
    n, o = m.nstart, h.origin  # it leaves the position to its user: ORIGIN unless that is zero
    origin = [float(o.x), float(o.y), float(o.z)]
    if origin == [0, 0, 0]:
        origin = [int(n.x) * step[0], int(n.y) * step[1], int(n.z) * step[2]]
    show(m.data.transpose(2, 1, 0), origin, step)
""")

# gemmi treats a map as a part of a periodic cell: grid point (0,0,0) is at zero, and the map begins at N*START.
gemmi = Reader("gemmi", """
import gemmi, numpy
m = gemmi.read_ccp4_map(path)
start = [m.header_i32(5 + a) for a in range(3)]
shape = [m.header_i32(1 + a) for a in range(3)]
cell = m.grid.unit_cell
step = [cell.a / shape[0], cell.b / shape[1], cell.c / shape[2]]
m.setup(float("nan"))
try:
    values = m.grid.get_subarray(start, shape)
except RuntimeError as error:  # of 0.5, for some maps
    if "XYZ order" not in str(error):
        raise
    print("SKIP: this version of gemmi takes no part of this grid")
    sys.exit()
p = m.grid.get_position(*start)
show(numpy.array(values), [p.x, p.y, p.z], step)
""")

h5py = Reader("h5py", """
import h5py
with h5py.File(path, "r") as f:
    d = f["potential"]
    a = d.attrs
    assert isinstance(a["unit"], str) and isinstance(f.attrs["command"], str) and f.attrs["format_version"] == 1
    assert list(a["counts"]) == list(d.shape[::-1])
    v = d[...].astype(float)
    for name, value in (("minimum", v.min()), ("maximum", v.max()), ("mean", v.mean()), ("rms", v.std())):
        assert abs(a[name] - value) <= 1e-5 * max(abs(value), v.std(), 1e-30), name
    assert d.shuffle and d.compression == "gzip"
    show(v.transpose(2, 1, 0), a["origin"], a["spacing"])
""")

ase = Reader("ase", """
from ase.io.cube import read_cube
import numpy
with open(path) as f:
    r = read_cube(f)
if "spacing" not in r:
    print("SKIP: this version of ASE does not return the steps")
    sys.exit()
s = r["spacing"]
assert abs(s - numpy.diag(numpy.diag(s))).max() == 0
show(r["data"], r["origin"], numpy.diag(s))
""")

# PyMOL: values and the corners of the box.
pymol = Reader("pymol", """
import numpy, pymol2
session = pymol2.PyMOL()  # without a thread of its own, unlike pymol.finish_launching
session.start()
cmd = session.cmd
cmd.set("normalize_ccp4_maps", 0)
cmd.load(path, "m", quiet=1)
v = numpy.array(cmd.get_volume_field("m"))
lo, hi = cmd.get_extent("m")
show(v, lo, [(hi[a] - lo[a]) / max(v.shape[a] - 1, 1) for a in range(3)])
session.stop()
""")

# VMD's readers are plugins, which PyMOL's library has, too (ABI 17). In VMD, axes are the distances from the first to
# the last point.
VMD_PLUGIN = """
import ctypes, numpy, os
from pymol import _cmd
class Head(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_int)] + [(n, ctypes.c_char_p) for n in ("type", "name", "pretty", "author")] + [
        (n, ctypes.c_int) for n in ("major", "minor", "reentrant")] + [("extensions", ctypes.c_char_p)]
class Volume(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256)] + [(n, ctypes.c_float * 3) for n in ("origin", "x", "y", "z")] + [
        (n, ctypes.c_int) for n in ("nx", "ny", "nz", "color")]
P, I = ctypes.c_void_p, ctypes.c_int
FUNCTIONS = ("open_file_read", "read_structure", "read_bonds", "read_next_timestep", "close_file_read", "open_file_write",
             "write_structure", "write_timestep", "close_file_write", "read_volumetric_metadata", "read_volumetric_data")
class Plugin(ctypes.Structure):
    _fields_ = [("head", Head)] + [(n, P) for n in FUNCTIONS]
library = ctypes.CDLL(_cmd.__file__)
kind = KIND
plugins = []
Register = ctypes.CFUNCTYPE(I, P, ctypes.POINTER(Plugin))
take = Register(lambda user, plugin: plugins.append(plugin) or 0)
getattr(library, f"molfile_{kind}plugin_init")()
getattr(library, f"molfile_{kind}plugin_register")(None, take)
plugin = plugins[0].contents
assert plugin.head.abi == 17, plugin.head.abi
atoms = I(-7)
handle = ctypes.CFUNCTYPE(P, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(I))(plugin.open_file_read)(
    path.encode(), kind.encode(), ctypes.byref(atoms))
if not handle:
    sys.exit("the plugin cannot open the file")
sets, volumes = I(), ctypes.POINTER(Volume)()
status = ctypes.CFUNCTYPE(I, P, ctypes.POINTER(I), ctypes.POINTER(ctypes.POINTER(Volume)))(plugin.read_volumetric_metadata)(
    handle, ctypes.byref(sets), ctypes.byref(volumes))
v = volumes[0]
if status or sets.value != 1:
    sys.exit(f"status {status}, {sets.value} data sets")
data = numpy.empty(v.nx * v.ny * v.nz, numpy.float32)
if ctypes.CFUNCTYPE(I, P, I, P, P)(plugin.read_volumetric_data)(handle, 0, data.ctypes.data, None):
    sys.exit("the plugin cannot read the values")
off = max(abs(t) for t in (v.x[1], v.x[2], v.y[0], v.y[2], v.z[0], v.z[1]))
assert off <= 1e-6 * max(v.x[0], v.y[1], v.z[2]), off  # cos 90 degrees in single precision
show(data.reshape(v.nx, v.ny, v.nz, order="F"), v.origin, [v.x[0] / max(v.nx - 1, 1), v.y[1] / max(v.ny - 1, 1),
     v.z[2] / max(v.nz - 1, 1)])
"""
vmd_dx = Reader("pymol._cmd", VMD_PLUGIN.replace("KIND", "'dx'"))
vmd_mrc = Reader("pymol._cmd", VMD_PLUGIN.replace("KIND", "'ccp4'"))
vmd_cube = Reader("pymol._cmd", VMD_PLUGIN.replace("KIND", "'cube'"))
OPEN_BABEL = """
from openbabel import openbabel as ob
import numpy
ob.obErrorLog.SetOutputLevel(0)
c = ob.OBConversion()
assert c.SetInFormat(FORMAT)
m = ob.OBMol()
if not c.ReadFile(m, path):
    sys.exit("cannot read the file")
d = ob.toGridData(m.GetData(ob.GridData))
lo, hi = d.GetOriginVector(), d.GetMaxVector()
x, y, z = d.GetXAxis().GetX(), d.GetYAxis().GetY(), d.GetZAxis().GetZ()
n = [round((hi.GetX() - lo.GetX()) / x) + 1, round((hi.GetY() - lo.GetY()) / y) + 1, round((hi.GetZ() - lo.GetZ()) / z) + 1]
assert n[0] * n[1] * n[2] == d.GetNumberOfPoints()
values = numpy.array([[[d.GetValue(i, j, k) for k in range(n[2])] for j in range(n[1])] for i in range(n[0])])
show(values, [lo.GetX(), lo.GetY(), lo.GetZ()], [x, y, z])
"""
open_babel_dx = Reader("openbabel", OPEN_BABEL.replace("FORMAT", "'dx'"))
open_babel_cube = Reader("openbabel", OPEN_BABEL.replace("FORMAT", "'cube'"))


def shifted(reader):
    """VMD and PyMOL treat a cube file as a periodic cell of n steps: the first point is half a step too low, the last
    one half a step too high. Passes if a newer version is right."""

    def read(path, expected):
        found = reader(path, expected)
        steps = [expected.spacing[a] * expected.counts[a] / max(expected.counts[a] - 1, 1) for a in range(3)]
        first = [expected.origin[a] - expected.spacing[a] / 2 for a in range(3)]
        try:
            compare(found, expected)
        except Wrong:
            compare(found, Map(expected.counts, first, steps, expected.values))
            raise Off("stretched by half a step at either end") from None
        return found

    return read


def without_origin(reader):
    """gemmi, like all crystallography programs, ignores ORIGIN, which holds a position between grid steps."""

    def read(path, expected):
        found = reader(path, expected)
        steps = [expected.origin[a] / expected.spacing[a] for a in range(3)]
        try:
            compare(found, expected)
        except Wrong:
            if all(abs(s - round(s)) < 1e-4 for s in steps):
                raise  # N*START holds this position
            compare(found, Map(expected.counts, [0, 0, 0], expected.spacing, expected.values))
            raise Off("ignores ORIGIN") from None
        return found

    return read


# ---- APBS: its tool interpolates at points ----


def apbs(path, expected):
    tool = next((t for t in ("/usr/lib/apbs/tools/bin/multivalue", shutil.which("multivalue"), shutil.which("apbs-multivalue"))
                 if t and os.access(t, os.X_OK)), None)
    if not tool:
        raise Skip("no multivalue of APBS")
    nx, ny, nz = expected.counts
    if min(nx, ny, nz) < 2:
        raise Skip("APBS interpolates between points, and an axis has only one")
    points = [tuple(expected.origin[a] + (i, j, k)[a] * expected.spacing[a] for a in range(3))
              for k in range(nz) for j in range(ny) for i in range(nx)]
    with tempfile.TemporaryDirectory() as folder:
        csv, out = os.path.join(folder, "points.csv"), os.path.join(folder, "values.csv")
        with open(csv, "w", encoding="ascii") as stream:
            stream.writelines("%.9f,%.9f,%.9f\n" % p for p in points)
        done = subprocess.run([tool, csv, os.path.abspath(path), out], capture_output=True, text=True, cwd=folder)
        if done.returncode != 0 or not os.path.exists(out):
            raise Wrong((done.stderr or done.stdout).strip().splitlines()[-1:])
        with open(out, encoding="ascii") as stream:
            values = [float(line.split(",")[3]) for line in stream if line.strip()]
    return Map(expected.counts, expected.origin, expected.spacing, values)


def h5dump(path, expected):
    if not shutil.which("h5dump"):
        raise Skip("no h5dump")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "values")
        done = subprocess.run(["h5dump", "-d", "/potential", "-o", out, "-b", "LE", path], capture_output=True, text=True)
        if done.returncode != 0:
            raise Wrong(done.stderr.strip())
        with open(out, "rb") as stream:
            body = stream.read()
    code = "f" if "H5T_IEEE_F32LE" in done.stdout else "d"
    return Map(expected.counts, expected.origin, expected.spacing, struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body))


# name of the reader, its function, and how many digits of the values must survive
READERS = {
    "dx": [("strict", own_dx, 9), ("GridDataFormats", grid_data_formats, 9), ("PyMOL", pymol, 6), ("VMD plugin", vmd_dx, 6),
           ("APBS", apbs, 6), ("OpenBabel", open_babel_dx, 9)],
    "dx.gz": [("gzip + strict", own_dx_gz, 9), ("GridDataFormats", grid_data_formats, 9), ("PyMOL", pymol, 6)],
    "mrc": [("own", own_mrc, 6), ("mrcfile", mrcfile, 6), ("gemmi", without_origin(gemmi), 6), ("GridDataFormats", grid_data_formats, 6),
            ("PyMOL", pymol, 6), ("VMD plugin", vmd_mrc, 6)],
    "cube": [("own", own_cube, 6), ("ASE", ase, 6), ("PyMOL", shifted(pymol), 6), ("VMD plugin", shifted(vmd_cube), 6),
             ("OpenBabel", open_babel_cube, 6)],
    "h5": [("h5py", h5py, 6), ("h5dump", h5dump, 6)],
}
