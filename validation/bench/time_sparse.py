#!/usr/bin/env python3
"""Applications of F^H W F, and seconds, until the sparse solver is near its solution, against their bars.

    time_sparse.py BUILD cpu|cuda REPORT.json [--matrix N]

BUILD is a build folder. Case: a head of N^3 voxels (default 128), 8 coils with maps in the file, a koosh ball of pi
N^2 / 12 readouts (R = 6 at the edge of k-space), noise of 2 % of the data, wavelets, lambda from the noise. The solution
is an image of many more iterations with a tolerance that stops none of them. Then the program runs with more and more
iterations; its distance is |image - solution| / |solution|, in l2. The first run within 1 % counts, and the program's
own tolerance is listed beside. Exits with 1 if a bar is missed, or the solution is not finite.
"""
import json
import math
import pathlib
import sys
import tempfile

from time_mri_recon import image, run

SERIES = (4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20)  # iterations
SOLUTION = 60
NEAR = 0.01
BARS = {"applications": {"cpu": 40, "cuda": 40}, "solve_seconds": {"cpu": 15, "cuda": 0.5}}


def reconstruct(recon, device, folder, *words):
    """Returns an image and its figures."""
    seconds, peak = run([recon, "-q", "--device", device, "--prior", "wavelet", *words, "--report", "report.json", "-o",
                         "image.h5", "head.h5"], folder)
    report = json.loads((folder / "report.json").read_text())
    made = report["reconstruction"]
    return image(folder / "image.h5"), {
        "iterations": made["iterations"], "applications": made["applications_of_normal"], "residual": made["residual"],
        "solve_seconds": report["seconds"]["solve"], "seconds": seconds, "bytes": peak}


def measure(build, device, n, folder):
    import numpy as np
    recon = build / "apps/mri_recon/mri_recon"
    run([build / "apps/mri_phantom/mri_phantom", "-q", "--phantom", "head", "--matrix", str(n), "--coils", "8", "--spokes",
         str(round(math.pi * n * n / 12)), "--noise", "0.02", "-o", "head.h5"], folder)
    solution, _ = reconstruct(recon, device, folder, "--tolerance", "0", "--iterations", str(SOLUTION))
    if not np.isfinite(solution).all():
        sys.exit("failed: the solution is not finite")

    def row(*words):
        found, figures = reconstruct(recon, device, folder, *words)
        figures["distance"] = float(np.linalg.norm(found - solution) / np.linalg.norm(solution))
        print("{iterations:4d} iterations, {applications:4d} applications, {solve_seconds:7.2f} s, distance {distance:.4f}".format(**figures),
              flush=True)
        return figures
    out = {"benchmark": "sparse solver", "device": device, "matrix": n, "default": row(), "series": []}
    for iterations in SERIES:
        out["series"].append(row("--tolerance", "0", "--iterations", str(iterations)))
        if out["series"][-1]["distance"] <= NEAR:
            break
    near = out["series"][-1]
    reached = near["distance"] <= NEAR
    out["bars"] = {name: {"bar": bar[device], "measured": near[name] if reached else None, "met": reached and near[name] <= bar[device]}
                   for name, bar in BARS.items()}
    return out


def main():
    words = sys.argv[1:]
    n = 128
    if "--matrix" in words:
        at = words.index("--matrix")
        n = int(words[at + 1])
        del words[at:at + 2]
    if len(words) != 3 or words[1] not in ("cpu", "cuda"):
        sys.exit(__doc__)
    try:
        import h5py  # noqa: F401
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: no numpy or h5py")
        return 77
    with tempfile.TemporaryDirectory() as name:
        out = measure(pathlib.Path(words[0]).resolve(), words[1], n, pathlib.Path(name))
    for name, bar in out["bars"].items():
        print(f"{name} to {NEAR:.0%}: {bar['measured']} (bar {bar['bar']}): {'met' if bar['met'] else 'MISSED'}")
    pathlib.Path(words[2]).write_text(json.dumps(out, indent=2) + "\n")
    return 0 if all(bar["met"] for bar in out["bars"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
