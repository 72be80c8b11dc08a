#!/usr/bin/env python3
"""What the sparse solver's choices are worth: variants of its source, by applications of F^H W F.

    sparse_variants.py FOLDER [--cases REGEX] [--variants REGEX] [--json FILE]
    sparse_variants.py --check

FOLDER gets a copy of the tree and its build, which a second run takes up again. Each variant is a text of the source that is
replaced; --check only looks whether these texts are there. For each scan of mri_phantom it prints the applications until the
image is within 1 % of the solution (an image of the unchanged solver after many more iterations), found by bisection, and those
after which the solver stops by itself, with the distance there. All are after the first image. Counts do not depend on what else
the machine does. The table of docs/image_accuracy.md is its output. Needs h5py, numpy and a C compiler; a quarter of an hour on
two cores.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import sparse_cases  # noqa: E402

NEAR, MOST = 0.01, 64  # of the solution; iterations
SOLUTION = ("--tolerance", 0, "--iterations", 150)
SLICE = "--phantom head --matrix 128,128,1 --image-snr 20 --noise-scan"
CASES = {
    "radial, 32 spokes": f"{SLICE} --coils 8 --oversample 2 --spokes 32",
    "radial, 64 spokes, one coil": f"{SLICE} --oversample 2 --spokes 64",
    "Poisson disc, R = 6": f"{SLICE} --coils 8 --trajectory cartesian --poisson 6",
    "koosh ball 32, R = 6": "--phantom head --matrix 32 --coils 6 --spokes 134 --image-snr 20 --noise-scan",
}
ADMM, SPARSE = "libcore/src/operators/admm.c", "apps/mri_recon/noise/sparse.c"
START = "apps/mri_recon/solve/solve_sparse.c"
RHO = "vf_penalties_set(penalties, i, lambda, rho * c->mean);"
REDUCTION = "static const double REDUCTION = 0.75, REDUCTION_OF_ONE = 0.6;"
RELAXATION = "static const double RELAXATION = 1.6;"
KEPT = "enum { KEPT = 3 };"
MIRRORS = "&& mirrors(j->scan, device)"
# Name: file, text that occurs once, its replacement.
VARIANTS = {
    "as it is": None,
    "from 0, not from the first image": (START, "options->warm && problem->solver == RECON_ADMM", "false"),
    "rho times 0.3": (SPARSE, RHO, RHO.replace("rho *", "0.3 * rho *")),
    "rho times 3": (SPARSE, RHO, RHO.replace("rho *", "3 * rho *")),
    "inner residual to 0.9": (SPARSE, REDUCTION, REDUCTION.replace("0.75", "0.9").replace("0.6", "0.9")),
    "inner residual to 0.4": (SPARSE, REDUCTION, REDUCTION.replace("0.75", "0.4").replace("0.6", "0.4")),
    "inner residual to 0.001": (SPARSE, REDUCTION, REDUCTION.replace("0.75", "0.001").replace("0.6", "0.001")),
    "no over-relaxation": (ADMM, RELAXATION, RELAXATION.replace("1.6", "1")),
    "over-relaxation 1.8": (ADMM, RELAXATION, RELAXATION.replace("1.6", "1.8")),
    "one direction kept": (ADMM, KEPT, KEPT.replace("3", "1")),
    "circulant matrices also in 3D": (SPARSE, MIRRORS, "&& false " + MIRRORS),
    "cosine matrices also in 2D and on the grid": (SPARSE, MIRRORS, MIRRORS.replace("mirrors(j->scan, device)", "(mirrors(j->scan, device) || true)")),
}


def call(command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def put(path, text):
    """Writes a file if it differs, so that only what changed is built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


def copy_tree(folder):
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], check=True, capture_output=True).stdout
    for name in filter(None, listed.split(b"\0")):
        path = os.fsdecode(name)
        if (SOURCE / path).is_file():
            put(folder / "tree" / path, (SOURCE / path).read_bytes())
            shutil.copymode(SOURCE / path, folder / "tree" / path)
    call(["cmake", "-S", folder / "tree", "-B", folder / "build", *(["-G", "Ninja"] if shutil.which("ninja") else []), "-DCMAKE_BUILD_TYPE=Release",
          "-DVOXFIELD_CUDA=OFF", "-DVOXFIELD_TESTS=OFF", "-DVOXFIELD_BENCHMARKS=OFF"])


def changed(file, old, new):
    """The text of a file with a variant."""
    text = (SOURCE / file).read_text(encoding="utf-8")
    if text.count(old) != 1 or old == new:
        sys.exit(f"{file} has '{old}' {text.count(old)} times, not once, or it stays as it is")
    return text.replace(old, new)


def build(folder, variant):
    """The programs of the unchanged source, or with one variant."""
    for file in {change[0] for change in VARIANTS.values() if change}:
        put(folder / "tree" / file, (changed(*variant) if variant and variant[0] == file else (SOURCE / file).read_text(encoding="utf-8")).encode())
    call(["cmake", "--build", folder / "build", "--parallel", os.cpu_count(), "--target", "mri_recon", "mri_phantom"])


def reconstruct(folder, scan, *words):
    """The image, and how many applications it took after the first image."""
    call([folder / "build/apps/mri_recon/mri_recon", "-q", "--device", "cpu", "--prior", "wavelet", *words, "--report", "report.json",
          "-o", "image.h5", scan], cwd=folder)
    return sparse_cases.image_of(folder / "image.h5"), json.loads((folder / "report.json").read_text())["reconstruction"]


def measure(folder, scan, solution):
    """Applications until the image is near the solution, None if it never is, and until the solver stops."""
    import numpy

    def distance(iterations):
        image, made = reconstruct(folder, scan, "--tolerance", 0, "--iterations", iterations)
        return float(numpy.linalg.norm(image - solution) / numpy.linalg.norm(solution)), made["applications_of_normal"]
    near, far, found = 8, 0, {}
    while near <= MOST and not found.setdefault(near, distance(near))[0] <= NEAR:
        near, far = 2 * near, near
    while near <= MOST and near - far > 1:
        middle = (near + far) // 2
        found[middle] = distance(middle)
        near, far = (middle, far) if found[middle][0] <= NEAR else (near, middle)
    applications = found[near][1] if near <= MOST else None
    image, made = reconstruct(folder, scan)
    stopped = float(numpy.linalg.norm(image - solution) / numpy.linalg.norm(solution))
    return {"near": applications, "stops": made["applications_of_normal"], "stops_at": stopped}


def line_of(name, row):
    return f"| {name} | " + " | ".join(f"{'-' if one['near'] is None else one['near']}; {one['stops']} ({100 * one['stops_at']:.1f} %)" for one in row.values()) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--cases", default="")
    parser.add_argument("--variants", default="")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    for variant in filter(None, VARIANTS.values()):
        changed(*variant)
    if options.check or not options.folder:
        return 0 if options.check else parser.error("FOLDER is missing")
    folder, rows, solutions = options.folder, {}, {}
    folder.mkdir(parents=True, exist_ok=True)
    cases = [name for name in CASES if re.search(options.cases, name)]
    copy_tree(folder)
    build(folder, None)
    for number, case in enumerate(cases):
        call([folder / "build/apps/mri_phantom/mri_phantom", "-q", *CASES[case].split(), "-o", f"scan{number}.h5"], cwd=folder)
        solutions[case] = reconstruct(folder, f"scan{number}.h5", *SOLUTION)[0]
    print("| variant | " + " | ".join(cases) + " |\n|---|" + "---|" * len(cases))
    for name in (name for name in VARIANTS if re.search(options.variants, name)):
        build(folder, VARIANTS[name])
        rows[name] = {case: measure(folder, f"scan{number}.h5", solutions[case]) for number, case in enumerate(cases)}
        print(line_of(name, rows[name]), flush=True)
        if options.json:
            options.json.write_text(json.dumps({"benchmark": "sparse variants", "cases": CASES, "variants": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
