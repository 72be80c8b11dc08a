#!/usr/bin/env python3
"""The molecule's surface in other programs: PyMOL runs the scene, and trimesh reads the meshes. Either may be missing.

usage: test_surface_viewers.py CIONIZE
Exit status: 0; 1 if a program shows or reads something else; 77 if both are missing.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CIONIZE = os.path.abspath(sys.argv[1])
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "data" / "1hpv.pqr"

# What PyMOL has after the scene, as JSON. The map's value at a point of the grid shows that it was not normalised.
LOOK = """
python
import json, numpy
field = cmd.get_volume_field("potential")
print("LOOK", json.dumps({
    "names": cmd.get_names(), "atoms": cmd.count_atoms("molecule"), "shape": field.shape,
    "rms": float(numpy.sqrt((field.astype(float) ** 2).mean())), "color": cmd.get("surface_color", "molecule"),
    "charge": sum(a.partial_charge for a in cmd.get_model("molecule").atom)}))
python end
viewport 300, 200
disable scale
ray 300, 200
png look.png
"""


def make(*arguments):
    subprocess.run([CIONIZE, "-q", "--device", "cpu", *arguments], check=True)


def run_pymol(folder):
    """The scene from another folder, by PyMOL without a window."""
    pathlib.Path("look.pml").write_text(f"@{folder}/s s.pml\n{LOOK}")
    path = "/usr/bin:/bin:" + os.environ.get("PATH", "")  # Debian's wrapper takes the first python3
    done = subprocess.run(["pymol", "-cq", "look.pml"], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "PATH": path})
    lines = [line for line in done.stdout.splitlines() if line.startswith("LOOK ")]
    assert lines, f"PyMOL did not run the scene:\n{done.stdout}\n{done.stderr}"
    return json.loads(lines[0][5:]), done.stdout


def check_pymol(ending):
    os.makedirs("maps", exist_ok=True)
    make("1hpv.pqr", "--spacing", "1", "--solvent", "-o", f"maps/m{ending}", "--scene", "maps/s s", "--report", "r.json")
    report = json.loads(pathlib.Path("r.json").read_text())
    found, out = run_pymol("maps")
    grid, potential = report["grid"], report["potential"]
    rms = (potential["mean"] ** 2 + potential["rms_deviation"] ** 2) ** 0.5
    assert found["names"] == ["molecule", "potential", "scale"] and found["color"] == "scale", found
    assert found["atoms"] == report["input"]["atoms"] and abs(found["charge"] - report["input"]["total_charge"]) < 1e-3, found
    assert found["shape"] == grid["counts"] and abs(found["rms"] / rms - 1) < 1e-4, (found, grid, rms)
    assert "error" not in out.lower().replace("errors", ""), out
    assert os.path.getsize("look.png") > 10000, "PyMOL drew nothing"
    print(f"ok: PyMOL shows the scene with a map in {ending}")


def check_trimesh(trimesh):
    make("1hpv.pqr", "--spacing", "1", "-o", "t.mrc", "--surface-mesh", "t.ply", "--report", "r.json")
    make("1hpv.pqr", "--read-map", "t.mrc", "--surface-mesh", "t.glb")
    facts = json.loads(pathlib.Path("r.json").read_text())["surface"]
    for name in ("t.ply", "t.glb"):
        mesh = trimesh.load(name, process=False, force="mesh")
        assert mesh.is_watertight and mesh.is_winding_consistent, name
        assert len(mesh.vertices) == facts["vertices"] and len(mesh.faces) == facts["triangles"], name
        assert abs(mesh.volume / facts["volume"] - 1) < 1e-5 and abs(mesh.area / facts["area"] - 1) < 1e-5, name
        assert name != "t.ply" or mesh.visual.kind == "vertex"
    print("ok: trimesh reads the meshes")


def main():
    ran = False
    try:
        import trimesh
        check_trimesh(trimesh)
        ran = True
    except ImportError:
        print("SKIP: trimesh is missing")
    if shutil.which("pymol"):
        for ending in (".dx", ".mrc", ".cube"):
            check_pymol(ending)
        ran = True
    else:
        print("SKIP: PyMOL is missing (package pymol)")
    return 0 if ran else 77


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        shutil.copy(SAMPLE, "1hpv.pqr")
        sys.exit(main())
