#!/usr/bin/env python3
"""Times mri_recon on the published case, from file to image, against its bars.

    time_mri_recon.py BUILD cpu|cuda REPORT.json [--bart]

BUILD is a build folder. Case: 284,592 samples on a koosh-ball trajectory (132 x 2,156), 128^3 voxels, conjugate
gradients, 60 iterations, one coil and eight. First, the adjoint by the NUFFT at its default accuracy is compared
with the exact sum. Times are medians of RUNS whole runs; the peak memory is the program's. With --bart, BART (if
installed) reconstructs the same one-coil scan in the same run, for the ratio. Exits with 1 if a bar is missed.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 3
# Seconds and bytes of the whole program (two cores; one GPU), and seconds of kernels and transfers (one GPU).
BARS = {"cpu": {1: {"seconds": 10, "bytes": 1.5e9}, 8: {"seconds": 70, "bytes": 2.5e9}},
        "cuda": {1: {"seconds": 1.5, "device_seconds": 0.25}, 8: {}}}
ADJOINT_BAR = 1e-5
STAGES = ("F^H d", "Q", "solve")


def run(command, folder):
    """Wall seconds and peak bytes of a command."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.monotonic() - began, usage.ru_maxrss * 1024


def image(path):
    """The complex image, flat, in double precision."""
    import h5py
    with h5py.File(path) as file:
        return file["image"][...].astype("complex128").ravel()


def adjoint_error(recon, device, folder):
    """Relative l2 difference of the NUFFT's adjoint from the exact sum, in double precision."""
    try:
        import numpy
        import h5py  # noqa: F401
    except ImportError:
        return None
    run([recon, "-q", "--device", device, "--method", "adjoint", "--operator", "nufft", "-o", "nufft.h5", "case1.h5"], folder)
    run([recon, "-q", "--device", device, "--method", "adjoint", "--operator", "direct", "--precision", "double", "-o", "exact.h5",
         "case1.h5"], folder)
    nufft, exact = image(folder / "nufft.h5"), image(folder / "exact.h5")
    return float(numpy.linalg.norm(nufft - exact) / numpy.linalg.norm(exact))


def time_case(recon, device, coils, folder):
    walls, memory, reports = [], [], []
    for _ in range(RUNS):
        wall, peak = run([recon, "-q", "--device", device, "--lambda", "0.001", "--iterations", "60", "--tolerance", "0", "--report",
                          "report.json", "-o", "image.h5", f"case{coils}.h5"], folder)
        walls.append(wall)
        memory.append(peak)
        reports.append(json.loads((folder / "report.json").read_text()))
    stages = {name: statistics.median(r["seconds"].get(name, 0) for r in reports) for name in reports[0]["seconds"]}
    row = {"coils": coils, "iterations": reports[0]["reconstruction"]["iterations"], "seconds": statistics.median(walls),
           "seconds_of_runs": walls, "bytes": max(memory), "device_seconds": sum(stages.get(name, 0) for name in STAGES),
           "stages": stages, "device": reports[0]["device"], "encoding": reports[0]["reconstruction"]["encoding"]}
    bars = BARS[device][coils]
    row["bars"] = {name: {"bar": bar, "measured": row[name], "met": bool(row[name] <= bar)} for name, bar in bars.items()}
    return row


def bart(folder):
    """BART's conjugate gradients on the same samples: seconds, or the reason why there are none."""
    try:
        import h5py
        import numpy
    except ImportError:
        return {"skipped": "no h5py"}
    if not shutil.which("bart"):
        return {"skipped": "no bart"}

    def write(name, array):  # column-major, dimensions in a text file beside
        dims = list(array.shape[::-1]) + [1] * (16 - array.ndim)
        (folder / f"{name}.hdr").write_text("# Dimensions\n" + " ".join(map(str, dims)) + "\n")
        array.astype("complex64").tofile(folder / f"{name}.cfl")

    with h5py.File(folder / "case1.h5") as file:
        k, data = file["scan/trajectory"][...], file["scan/data"][...].reshape(-1)
    write("t", k.reshape(2156, 132, 3))
    write("d", data.reshape(2156, 132, 1))
    write("s", numpy.ones((1, 128, 128, 128)))
    wall, peak = run(["bart", "pics", "-i", "60", "-l2", "-r", "0.001", "-t", "t", "d", "s", "x"], folder)
    version = subprocess.run(["bart", "version"], capture_output=True, text=True, check=False).stdout.strip()
    return {"version": version, "seconds": wall, "bytes": peak}


def main():
    build, device, report = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    recon, phantom = build / "apps/mri_recon/mri_recon", build / "apps/mri_phantom/mri_phantom"
    out = {"benchmark": "mri_recon", "case": "284592 samples, koosh-ball, 128^3, 60 iterations", "runs": RUNS}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for coils in (1, 8):
            run([phantom, "-q", "--case", "128", "--coils", str(coils), "-o", f"case{coils}.h5"], folder)
        error = adjoint_error(recon, device, folder)
        out["adjoint"] = {"relative_error": error, "bar": ADJOINT_BAR, "met": error is not None and error <= ADJOINT_BAR}
        print("adjoint, NUFFT against the exact sum: "
              + ("not compared: no numpy or h5py" if error is None else f"{error:.2e} (bar {ADJOINT_BAR})"))
        out["cases"] = []
        for coils in (1, 8):
            row = time_case(recon, device, coils, folder)
            out["cases"].append(row)
            print(f"{coils} coil{'s' if coils > 1 else ''}: {row['seconds']:.2f} s, {row['bytes'] / 1e9:.2f} GB, "
                  f"{row['device_seconds']:.3f} s of it for F^H d, Q and solver; bars "
                  + (", ".join(f"{n} {b['bar']:g}: {'met' if b['met'] else 'MISSED'}" for n, b in row["bars"].items()) or "none"))
        if "--bart" in sys.argv:
            out["bart"] = bart(folder)
            print("bart:", out["bart"])
    report.write_text(json.dumps(out, indent=2) + "\n")
    missed = [row for row in out["cases"] if not all(b["met"] for b in row["bars"].values())]
    sys.exit(1 if missed or (error is not None and not out["adjoint"]["met"]) else 0)


if __name__ == "__main__":
    main()
