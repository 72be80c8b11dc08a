#!/usr/bin/env python3
"""What cionize prints and writes besides the map: --dry-run, --quiet, --report, --picture, --help, default names,
odd inputs.

usage: test_cionize_outputs.py PROGRAM [DEVICE] [test_name ...]
"""
import gzip
import hashlib
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import time
import zlib

import program
from program import command, listing, make, read, read_atoms, refuse, run, sample

GRID = ["--spacing", "0.5,0.75,1.25", "--border", "4"]


def test_dry_run(_):
    sample("1hpv.pqr")
    before = listing()
    done = make("1hpv.pqr", "--dry-run", "--picture", "p.png", "--report", "r.json", "--spacing", "0.25", "--method", "exact",
                "-o", "big.mrc")
    assert listing() == before, "a dry run wrote something"
    counts = re.search(r"^grid +(\d+) x (\d+) x (\d+) = (\d+) points", done.out, re.M)
    assert counts, done.out
    nx, ny, nz, points = map(int, counts.groups())
    assert nx * ny * nz == points > 1e7
    for part in (r"^molecule +1hpv\.pqr: 3129 atoms", r"total charge \+5 e", r"^grid .*spacing 0\.25 A, origin \(",
                 r"^potential .*kT/e",
                 r"^device +\w+", r"^method +exact: exact, free space$", rf"^work +{3129e-9 * points:.3g} G evaluations, .*about [\d.e+-]+ (ms|s|min|h)",
                 r"[\d.]+ [KMG]iB of memory", r"^map +big\.mrc: MRC/CCP4, about [\d.]+ MiB"):
        assert re.search(part, done.out, re.M), f"no '{part}' in\n{done.out}"
    size = re.search(r"about ([\d.]+) MiB$", done.out, re.M)
    assert abs(float(size[1]) - 4 * points / 2 ** 20) <= 0.01 * float(size[1]), done.out
    assert "done" not in done.out and "the report r.json is not written" in done.out, done.out
    # 1e14 evaluations: no device can do them in this time.
    make("1hpv.pqr", "--dry-run", "--spacing", "0.02", "-o", "huge.h5", timeout=30)
    assert listing() == before


def test_why_the_cpu(_):
    """Without a GPU, the plan has no estimate for a GPU."""
    done = make(sample("dipole.pqr"), "--device", "auto", "--dry-run")
    why = re.search(r"^device +cpu .*; auto: (.*)$", done.out, re.M)
    without = why and why[1] in ("the system shows no GPU", "this binary was built without CUDA")
    assert why and (without or program.shows_gpu()), done.out


def test_size_of_small_maps(_):
    """The announced size includes headers. The text about the origin varies by some 60 characters, of a header of at
    least 800 (OpenDX). HDF5's container grows in steps of 2 KiB, of 12. So the difference is below 20 %."""
    units = {"bytes": 1, "KiB": 2 ** 10, "MiB": 2 ** 20}
    for molecule in ("dipole", "1hpv"):
        sample(f"{molecule}.pqr")
        for extension in ("dx", "dx.gz", "mrc", "cube", "h5"):
            for counts in ("1", "2,3,4"):
                name = f"{molecule}.{extension}"
                done = make(f"{molecule}.pqr", "--counts", counts, "-o", name)
                said = re.search(r"^map .*about ([\d.]+) (\w+)$", done.out, re.M)
                size, expected = os.path.getsize(name), float(said[1]) * units[said[2]]
                assert abs(expected - size) < 0.2 * size, f"{name}, {counts} points: {size} bytes, not {said[0]}"


def test_dry_run_says_the_grid_that_is_made(_):
    sample("dipole.pqr")
    dry, wet = make("dipole.pqr", *GRID, "--dry-run").out, make("dipole.pqr", *GRID).out
    line = re.compile(r"^(?:molecule|grid|potential|map) .*$", re.M)
    assert line.findall(dry) == line.findall(wet) and len(line.findall(dry)) == 4
    assert read("dipole.dx").counts == list(map(int, re.search(r"grid +(\d+) x (\d+) x (\d+)", dry).groups()))


def test_quiet(_):
    sample("dipole.pqr")
    for option in ("-q", "--quiet"):
        done = make(option, "dipole.pqr", *GRID, "--picture", "p.png", "--report", "r.json")
        assert done.out == "" and done.err == "", (done.out, done.err)
        done = make(option, "dipole.pqr", "--dry-run")
        assert done.out == "" and done.err == ""
    done = run("-q", "no.pqr")
    assert done.out == "" and done.err.startswith("cionize: error: ")
    pathlib.Path("odd.pqr").write_text("ATOM 1 X UNK 1 0.0 0.0 0.0 0.300 1.0\n")
    done = make("-q", "odd.pqr", *GRID)
    assert done.out == "" and "warning" in done.err, "warnings are not what --quiet is for"


def test_samples_give_no_warnings(_):
    for name in ("dipole.pqr", "point_charge.pqr", "1hpv.pqr", "water_box.pqr", "nacl.pqr"):
        done = make(sample(name), "--spacing", "4")
        assert done.err == "", done.err


def test_default_name_is_beside_the_input(_):
    os.mkdir("sub")
    shutil.copy(sample("dipole.pqr"), "sub/a.pqr")
    shutil.copy("dipole.pqr", "sub/B.PQR")
    shutil.copy("dipole.pqr", "sub/c.txt")
    pathlib.Path("sub/d.pqr.gz").write_bytes(gzip.compress(pathlib.Path("dipole.pqr").read_bytes()))
    cases = [("a.pqr", "a.dx"), ("B.PQR", "B.dx"), ("c.txt", "c.txt.dx"), ("d.pqr.gz", "d.dx")]
    for ending in ("pdb", "ent", "inpcrd", "rst7", "rst", "Crd"):  # the file's text shows its format
        shutil.copy("dipole.pqr", f"sub/{ending}.{ending}")
        shutil.copy("sub/d.pqr.gz", f"sub/{ending}z.{ending}.gz")
        cases += [(f"{ending}.{ending}", f"{ending}.dx"), (f"{ending}z.{ending}.gz", f"{ending}z.dx")]
    for name, expected in cases:
        before = set(os.listdir("sub"))
        done = make(f"sub/{name}", *GRID)
        assert set(os.listdir("sub")) - before == {expected}, (name, set(os.listdir("sub")) - before)
        assert f"sub/{expected}" in done.out


def test_no_default_name_beside_a_pipe(_):
    sample("dipole.pqr")
    for path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        for more in ([], ["--place", "SOD:1"]):
            with open("dipole.pqr", "rb") as stdin:
                refuse(2, [path, "-o"], path, *GRID, *more, stdin=stdin)
    with open("dipole.pqr", "rb") as stdin:
        assert "2 atoms" in make("/dev/stdin", *GRID, "-o", "a.dx", stdin=stdin).out


def test_report(_):
    atoms = read_atoms(sample("1hpv.pqr"))
    arguments = ["-q", "1hpv.pqr", "--spacing", "3,2,4", "--dielectric", "4", "--units", "V",
                 "-o", "map.mrc", "--report", "r.json"]
    began = time.time()
    make(*arguments)
    wall = time.time() - began
    report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    assert report["program"] == "cionize" and re.fullmatch(r"\d+\.\d+\.\d+", report["voxfield"])
    assert report["command"] == command(*arguments)
    started = time.strptime(report["started"], "%Y-%m-%dT%H:%M:%SZ")
    assert abs(time.mktime(started) - time.mktime(time.gmtime(began))) < 60 + wall
    assert report["input"]["path"] == "1hpv.pqr" and report["input"]["atoms"] == len(atoms)
    assert report["input"]["sha256"] == hashlib.sha256(pathlib.Path("1hpv.pqr").read_bytes()).hexdigest()
    assert abs(report["input"]["total_charge"] - math.fsum(q for *_, q in atoms)) < 1e-9
    values = read("map.mrc").values
    points = len(values)
    potential = report["potential"]
    assert potential["minimum"] == min(values) and potential["maximum"] == max(values)
    mean = math.fsum(values) / points
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / points)
    scale = max(map(abs, values))
    # Double sums of n differences from a value: n 2^-53 of the largest. The deviation comes from a difference of their squares.
    assert abs(potential["mean"] - mean) <= points * 2 ** -53 * scale
    assert abs(potential["rms_deviation"] ** 2 - deviation ** 2) <= 2 * points * 2 ** -53 * scale ** 2
    assert potential["unit"] == "V" and potential["dielectric"] == 4 and potential["r_min"] == 0.1
    assert potential["distance_dielectric"] is False
    assert abs(potential["constant"] - program.unit_constant("V")) < 1e-8
    assert report["evaluations"] == len(atoms) * points == len(atoms) * math.prod(report["grid"]["counts"])
    stated = {key: report["potential"][key] for key in ("method", "accuracy", "boundary")}
    assert stated == {"method": "exact", "accuracy": "exact", "boundary": "free space"}, stated
    assert report["potential"]["variant"] in report["method"], report["method"]
    assert report["map"] == "map.mrc" and "single" in report["method"] and report["device"].startswith(program.DEVICE)
    stages = report["seconds"]
    assert set(stages) >= {"read", "plan", "compute", "write"} and all(s >= 0 for s in stages.values()), stages
    assert 0 < sum(stages.values()) <= wall, (stages, wall)
    assert report["evaluations_per_second"] > 0 and report["estimated_seconds"] > 0


def test_every_file_is_named(_):
    """The terminal has the name of each file that a run writes, but for the report's."""
    sample("dipole.pqr")
    surface = ["--surface-mesh", "s.glb", "--surface-picture", "s.png", "--scene", "s"]
    ions = ["--place", "SOD:1", "-o", "i.pdb", "--ions", "i.xyz", "--mask", "mask.mrc", "--map", "m.dx"]
    for options in ([*surface, "--page", "p.html", "--picture", "m.png", "--profile", "z:z.csv", "--radial", "r.csv", "-o", "m.dx"],
                    [*ions, "--page", "p.html"], [*ions, "--map-with-ions"],
                    ["--points", "atoms", "--points-out", "v.h5", "--field-map", "f.mrc"],
                    ["--solvent", "--energies", "e.csv", "--solvent-map", "distance:d.mrc", "-o", "m.mrc"]):
        before = set(listing())
        done = make("dipole.pqr", "--spacing", "1", "--border", "8", *options)
        made = set(listing()) - before
        assert made and all(name in re.split(r"[\s:,]+", done.out) for name in made), (options, made, done.out)
        for name in made:
            os.remove(name)


def check_figures(said, values, terminal):
    """The figures in the report and on the terminal (six digits) are those of the values of a file."""
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    assert said["minimum"] == min(values) and said["maximum"] == max(values), said
    # As in test_report.
    scale, allowed = max(map(abs, values)), 2 * len(values) * 2 ** -53
    assert abs(said["mean"] - mean) <= allowed * scale, (said, mean)
    assert abs(said["rms_deviation"] ** 2 - deviation ** 2) <= allowed * scale ** 2, (said, deviation)
    assert f"{said['minimum']:.6g} to {said['maximum']:.6g} kT/e, mean {said['mean']:.6g}" in terminal, (said, terminal)


def test_figures_of_every_map(_):
    """Of the maps that a run writes beside that of the molecule, too: with ions, and the deviation over frames."""
    program.write_atoms("a.pqr", [(0.0, 0.0, 0.0, 1.0), (1.5, 0.5, 0.0, -0.5)])
    with open("t.gro", "w", encoding="ascii") as file:  # nm
        for x in (0.15, 0.3):
            file.write(f"frame\n2\n    1ABC      C    1   0.000   0.000   0.000\n    1ABC      C    2{x:8.3f}   0.050   0.000\n0 0 0\n")
    grid = ["--spacing", "1", "--border", "7", "--report", "r.json"]

    def potential():
        return json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["potential"]

    done = make("a.pqr", *grid, "--trajectory", "t.gro", "-o", "mean.mrc", "--deviation", "deviation.mrc")
    check_figures(potential(), read("mean.mrc").values, done.out)
    check_figures(potential()["deviation"], read("deviation.mrc").values, done.out)
    done = make("a.pqr", *grid, "--place", "SOD:2", "-o", "i.pdb", "--map", "with.mrc", "--map-with-ions")
    said = potential()
    make("-q", "a.pqr", *grid, "-o", "alone.mrc")
    check_figures(said, read("alone.mrc").values, done.out)
    check_figures(said["with_ions"], read("with.mrc").values, done.out)


def test_deviation_of_nearly_equal_values(_):
    """Far from a charge the potential hardly varies over a small grid: the mean is a million times its deviation, and the mean's
    square beside that of the deviation leaves no digits. The truth is Coulomb's law."""
    program.write_atoms("a.pqr", [(0.0, 0.0, 0.0, 1.0)])
    make("-q", "a.pqr", "--origin=99999,1,2", "--counts", "20", "--spacing", "0.01", "--units", "e/A", "--precision", "double",
         "-o", "a.dx", "--report", "r.json")
    said = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["potential"]
    steps = [0.01 * n for n in range(20)]
    values = [1 / math.sqrt((99999 + x) ** 2 + (1 + y) ** 2 + (2 + z) ** 2) for x in steps for y in steps for z in steps]
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    # A value is off by a few roundings, here and there: 10 x 2^-53 of the mean. The sum of squares adds its own, n x 2^-53.
    assert abs(said["mean"] - mean) <= 10 * 2 ** -53 * mean, (said, mean)
    assert abs(said["rms_deviation"] - deviation) <= 10 * 2 ** -53 * mean + 2 * 8000 * 2 ** -53 * deviation, (said, deviation)


def test_forecast(_):
    """The plan says the sum of the report's parts, which are the stages of what is asked for. validation/bench/forecast.py compares
    seconds."""
    sample("1hpv.pqr")
    grid, scale = ("--spacing", "1.5", "--border", "6"), {"ms": 1e-3, "s": 1}
    for options, stages in (((), {"compute", "write"}), (("--method", "exact", "--picture", "p.png"), {"compute", "write"}),
                            (("--points", "atoms", "--points-out", "p.csv"), {"points"}), (("--field-map", "f.h5"), {"field map"}),
                            (("--place", "SOD:3", "-o", "i.pdb"), {"compute", "write", "place"}),
                            (("--solvent", "--radii", "bondi", "--energies", "e.json", "-o", "m.mrc"), {"solve", "compute", "write", "energies"})):
        output = () if {"-o", "--points", "--field-map"} & set(options) else ("-o", "m.mrc")
        out = make("1hpv.pqr", *grid, *output, *options, "--report", "r.json").out
        report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
        parts, total = report["forecast"]["seconds"], report["forecast"]["total"]
        assert {name for name, seconds in parts.items() if seconds > 0} == {"before"} | stages, (options, parts)
        assert stages <= set(report["seconds"]) and all(math.isfinite(seconds) for seconds in parts.values()), (options, report["seconds"])
        assert abs(math.fsum(parts.values()) / total - 1) < 1e-12, (options, parts, total)
        printed = re.search(r"^time +about ([\d.]+) (ms|s) in all$", out, re.M)
        # vf_format_seconds prints three digits: 5e-3 of the value at most, where the first is 1.
        assert printed and abs(float(printed[1]) * scale[printed[2]] / total - 1) < 5e-3 * 1.01, (options, total, out)
        assert parts["before"] >= report["seconds"]["read"], (options, parts)  # it is measured
    # With one thread, n ions take core A + sqrt(core) B(n), where core is what each run measures of a machine that others use, too:
    # between (A + B) times the smaller and the larger of core and its root. A is 2 ms, B is 3 ms and another for each ion.
    few, many = (placing(n, *grid) for n in (2, 60))
    assert many["place"] / min(many["core"], many["core"] ** 0.5) > 3 * few["place"] / max(few["core"], few["core"] ** 0.5), (few, many)


def placing(ions, *options):
    make("1hpv.pqr", *options, "--threads", "1", "--place", f"SOD:{ions}", "-o", "i.pdb", "--report", "r.json")
    expected = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["forecast"]
    return {"place": expected["seconds"]["place"], "core": expected["measured_core"]}


def test_report_of_odd_names(_):
    for name in ('quo"te\\.pqr', "tab\t.pqr", "new\nline.pqr", "schön.pqr"):
        shutil.copy(sample("dipole.pqr"), name)
        make("-q", name, *GRID, "-o", "a.dx", "--report", "r.json")
        assert json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["input"]["path"] == name
    shutil.copy("dipole.pqr", b"latin\xe9.pqr")
    subprocess.run([*map(str.encode, command("-q", "-o", "a.dx", "--report", "r.json")), b"latin\xe9.pqr"], check=True)
    assert json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["input"]["path"] == "latin\ufffd.pqr"


def check_png(path):
    content = pathlib.Path(path).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed, kinds = 8, b"", []
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        body = content[at + 8:at + 8 + length]
        assert struct.unpack(">I", content[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body), (path, kind)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        kinds.append(kind)
        at += 12 + length
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND" and at == len(content), kinds
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    pixels = zlib.decompress(packed)
    assert len(pixels) == height * (1 + (width * channels * depth + 7) // 8), (width, height)
    assert width >= 200 and height >= 100 and len(set(pixels)) > 20, "an empty picture"
    return content


def test_picture(_):
    sample("1hpv.pqr")
    for kind in ("dx", "mrc"):  # one format's slices come from layers along x, the other's from layers along z
        make("-q", "1hpv.pqr", "--spacing", "2,3,4", "-o", f"map.{kind}", "--picture", f"{kind}.png")
    one = check_png("dx.png")
    make("-q", "1hpv.pqr", "--spacing", "2,3,4", "--units", "V", "-o", "map.dx", "--picture", "volt.png")
    assert check_png("volt.png") != one, "the unit stands in the picture"
    sample("point_charge.pqr")
    make("-q", "point_charge.pqr", "--counts", "1", "--picture", "one.png")  # a map of one point
    check_png("one.png")


def test_help_and_version(_):
    for option in ("-h", "--help"):
        done = run(option)
        assert done.status == 0 and done.err == "" and "usage: cionize" in done.out
    named = set(re.findall(r"--[a-z][a-z-]+", done.out))
    assert len(named) > 15
    sample("dipole.pqr")
    values = {"--output": "a.dx", "--picture": "a.png", "--page": "a.html", "--report": "a.json", "--units": "V", "--device": program.DEVICE,
              "--precision": "double", "--method": "exact", "--accuracy": "1e-5", "--cell": "30,30,30", "--origin": "0", "--border": "1", "--threads": "2",
              "--spacing": "1", "--smooth": "1", "--boundary": "vacuum", "--altloc": "first", "--radii": "bondi",
              "--size": "1", "--counts": "2", "--temperature": "300", "--dielectric": "2", "--distance-dielectric": "2",
              "--r-min": "0.1", "--map": "a.dx", "--ions": "i.pdb", "--mask": "m.dx", "--place": "SOD:1", "--neutralize": "CLA",
              "--concentration": "0.1", "--salt": "POT,CLA", "--ion-solute": "5", "--ion-ion": "5", "--order": "alternate", "--ion-names": "amber", "--symmetry": "none", "--water": "solute", "--concentration-by": "volume", "--points": "atoms", "--points-out": "p.csv", "--field-map": "f.h5", "--exclude": "atom",
              "--part": "1/2", "--journal": "yes", "--mpi": "no", "--ranks": "4", "--output-dir": "maps",
              "--select": "all", "--minus": "index 0", "--solute": "all", "--profile": "z", "--radial": "a.csv", "--radial-width": "1",
              "--solute-dielectric": "2", "--solvent-dielectric": "80", "--ionic-strength": "0.1", "--stern": "1", "--solvent-salt": "1:0.1,-1:0.1", "--solvent-map": "ions:i.dx", "--accuracy-energy": "0.1", "--probe": "1.5", "--surface": "sas", "--energies": "e.csv", "--ligand": "index 0", "--complex": "dipole.pqr,dipole.pqr",
              "--surface-mesh": "s.ply", "--surface-picture": "s.png", "--surface-offset": "0", "--surface-range": "5", "--scene": "s"}
    solvent = ["--solvent"]
    place = ["--place", "SOD:1"]
    of_ions = {"--ions": place, "--mask": place, "--map-with-ions": ["--map", "a.dx", *place], "--refine": place,
               "--from-surface": place, "--ion-solute": place, "--ion-ion": place, "--order": place, "--ion-names": place, "--symmetry": ["--cell", "30,30,30"], "--water": place, "--points-out": ["--points", "atoms"], "--exclude": ["--points", "atoms"], "--field": ["--points", "atoms"], "--renumber": [*place, "-o", "i.pdb"], "--concentration-by": ["--concentration", "0.1"],
               "--salt": ["--concentration", "0.1"], "--boundary": ["--cell", "30,30,30"],
               "--radial-width": ["--radial", "a.csv"], "--solute-dielectric": solvent, "--solvent-dielectric": solvent,
               "--ionic-strength": solvent, "--stern": solvent, "--solvent-salt": solvent, "--solvent-map": solvent, "--accuracy-energy": solvent, "--energy-error": [*solvent, "--energies", "e.csv"], "--non-linear": solvent, "--probe": solvent, "--surface": solvent, "--energies": solvent, "--ligand": [*solvent, "--energies", "e.csv"], "--complex": [*solvent, "--energies", "e.csv"],
               "--surface-offset": ["--scene", "s"], "--surface-range": ["--surface-mesh", "s.glb"]}
    files = {"--script", "--charges", "--trajectory", "--frames", "--read-map", "--deviation", "--list", "--compare", "--keep-water", "--apbs"}  # need a file of theirs; tested elsewhere
    for option in sorted(named - {"--help", "--version"} - files):
        value = [values[option]] if option in values else []
        make("dipole.pqr", option, *value, *of_ions.get(option, []), "--dry-run")
    done = run("--version")
    assert done.status == 0 and re.match(r"cionize \(Voxfield\) \d+\.\d+\.\d+\n", done.out) and done.err == ""
    assert all(len(line) <= 100 for line in run("--help").out.splitlines())
    with open("/dev/full", "w", encoding="ascii") as full:
        for option in ("--help", "--version"):
            assert run(option, stdout=full).status == 4, option


def test_order_of_arguments(_):
    shutil.copy(sample("dipole.pqr"), "-x.pqr")
    make("dipole.pqr", "--spacing", "1", "-o", "a.dx")
    assert read("a.dx").spacing == [1, 1, 1]
    make("--spacing", "1", "-o", "b.dx", "--", "-x.pqr")
    assert read("b.dx").spacing == [1, 1, 1]
    make("./-x.pqr", "--spacing=1", "--output=c.dx")
    refuse(2, "--help", "-x.pqr")
    refuse(2, "--help", "dipole.pqr", "--spaceing", "1")
    refuse(2, "--help", "dipole.pqr", "-o")
    refuse(2, "no input")
    refuse(2, ["a.dx", "all 2 inputs"], "dipole.pqr", "b.pqr", "-o", "a.dx")


def test_molecule_from_a_pipe_and_compressed(_):
    sample("dipole.pqr")
    make("-q", "dipole.pqr", *GRID, "-o", "a.mrc")
    with open("dipole.pqr", "rb") as stream:
        cat = subprocess.Popen(["cat"], stdin=stream, stdout=subprocess.PIPE)
        make("-q", "/dev/stdin", *GRID, "-o", "b.mrc", stdin=cat.stdout)
        cat.stdout.close()
        cat.wait()
    pathlib.Path("z.pqr.gz").write_bytes(gzip.compress(pathlib.Path("dipole.pqr").read_bytes()))
    make("-q", "z.pqr.gz", *GRID, "-o", "c.mrc")
    assert program.bits("a.mrc") == program.bits("b.mrc") == program.bits("c.mrc")


def test_molecule_from_standard_input(_):
    """- is the molecule or its charges, from a file, a pipe or a socket; compressed or not; of any form."""
    data = pathlib.Path(sample("dipole.pqr")).read_bytes()
    pathlib.Path("z.pqr.gz").write_bytes(gzip.compress(data))
    make("-q", "dipole.pqr", *GRID, "-o", "a.mrc")
    for name in ("dipole.pqr", "z.pqr.gz"):
        with open(name, "rb") as stdin:
            make("-q", "-o", "b.mrc", *GRID, "-", stdin=stdin)
        assert program.bits("a.mrc") == program.bits("b.mrc"), name
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        assert "/dev/stdin: 2 atoms" in make("-", *GRID, "-o", "b.mrc", stdin=ours).out
    assert program.bits("a.mrc") == program.bits("b.mrc")
    pathlib.Path("m.pdb").write_text("ATOM      1  NA   NA     1       0.000   0.000  -0.500  1.00  0.00\n"
                                     "ATOM      2  CL   CL     2       0.000   0.000   0.500  1.00  0.00\n")
    pathlib.Path("m.psf").write_text(
        "PSF\n\n       1 !NTITLE\n REMARKS two ions\n\n       2 !NATOM\n"
        "       1 A    1    NA   NA   NA     1.000000       22.9898           0\n"
        "       2 A    2    CL   CL   CL    -1.000000       35.4500           0\n\n")
    make("-q", "--charges", "m.psf", "m.pdb", *GRID, "-o", "c.mrc")
    for charges, places in (("-", "m.pdb"), ("m.psf", "-")):
        with open("m.psf" if charges == "-" else "m.pdb", "rb") as stdin:
            make("-q", "--charges", charges, places, *GRID, "-o", "d.mrc", stdin=stdin)
        assert program.bits("c.mrc") == program.bits("d.mrc"), charges
    pathlib.Path("s.cfg").write_text("BEGIN\nSAVEGRID m.mrc\nEXIT\n")
    for both in (["--charges", "-", "-"], ["-i", "-", "-"], ["-i", "-", "--charges", "-", "m.pdb"]):
        with open("dipole.pqr", "rb") as stdin:
            refuse(2, ["cannot both be standard input", "file for one"], *both, "-o", "e.mrc", stdin=stdin)
    with open("dipole.pqr", "rb") as stdin:
        refuse(2, ["/dev/stdin", "-o"], "-", *GRID, stdin=stdin)


def test_standard_output(_):
    """Output to an open /dev/stdout or /dev/fd/N is appended: to a file, or to a pipe."""
    sample("dipole.pqr")
    os.symlink("/dev/stdout", "out.dx")
    os.symlink("/dev/fd/1", "out.mrc")
    os.symlink("/dev/stdout", "out.h5")
    for kind, mode in itertools.product(("dx", "mrc"), ("wb", "ab", "pipe")):
        make("-q", "dipole.pqr", "--spacing", "2", "-o", f"file.{kind}")
        if mode == "pipe":
            reader, writer = os.pipe()
            with open("all", "wb") as copy:
                cat = subprocess.Popen(["cat"], stdin=reader, stdout=copy)
            stream = os.fdopen(writer, "wb")
            os.close(reader)
        else:
            with open("all", "wb") as stream:
                stream.write(b"precious\n" if mode == "ab" else b"")
            stream = open("all", mode)  # pylint: disable=consider-using-with
        if mode != "ab":
            stream.write(b"precious\n")
        stream.flush()
        assert run("-q", "dipole.pqr", "--spacing", "2", "-o", f"out.{kind}", stdout=stream).status == 0
        stream.write(b"after\n")
        stream.close()
        if mode == "pipe":
            assert cat.wait(timeout=60) == 0
        with open("all", "rb") as written, open(f"file.{kind}", "rb") as file:
            before = written.read(9)
            content, after = written.read().rsplit(b"after\n", 1)
            expected = file.read()
        assert before == b"precious\n" and after == b"", (before, after)
        if kind == "mrc":  # the header is written before the statistics are known
            least, most = struct.unpack("=ff", content[76:84])
            assert most < least and len(content) == len(expected)
        parts = (content[1024:], expected[1024:]) if kind == "mrc" else (v.split(b"# V = ")[1] for v in (content, expected))
        assert len(set(parts)) == 1
        assert os.path.islink(f"out.{kind}")
    with open("all", "wb") as stream:
        stream.write(b"precious\n")
        stream.flush()
        done = run("-q", "dipole.pqr", "--spacing", "2", "-o", "out.h5", stdout=stream)
    assert done.status == 4 and "out.h5: cannot write HDF5 to" in done.err, done.err
    with open("all", "rb") as written:
        assert written.read() == b"precious\n"
    with open("dipole.pqr", encoding="ascii") as only_read:
        done = run("-q", "dipole.pqr", "--spacing", "2", "-o", "a.dx", "--report", "/dev/fd/0", stdin=only_read)
    assert done.status == 4 and "/dev/fd/0: cannot write" in done.err, done.err


def test_messages_come_in_order(_):
    """In a combined log, an error comes after the output that preceded it."""
    sample("dipole.pqr")
    done = run("dipole.pqr", "--counts", "1000000000", stderr=subprocess.STDOUT)
    lines = done.out.splitlines()
    assert done.status == 2 and lines[0].startswith("molecule") and "error" in lines[-1], done.out


def test_locale_does_not_matter(_):
    """A locale with a decimal comma changes neither input nor output."""
    sample("dipole.pqr")
    make("-q", "dipole.pqr", *GRID, "-o", "a.dx", "--report", "a.json")
    french = {**os.environ, "LC_ALL": "fr_FR.UTF-8", "LANG": "de_DE.UTF-8"}
    make("-q", "dipole.pqr", *GRID, "-o", "b.dx", "--report", "b.json", env=french)
    assert read("a.dx").values == read("b.dx").values
    json.loads(pathlib.Path("b.json").read_text(encoding="utf-8"))


program.main(globals())
