#!/usr/bin/env python3
"""Whether a change of the program changes its images: runs of every solver, prior and kind of scan, and a digest of each image.

    image_digests.py make BUILD FILE.json      makes the runs, and keeps digests and projections of their images
    image_digests.py compare BUILD FILE.json   makes them again: which have the same bits, and how far others are

Made scans, one CPU, two threads. A projection is the sum of an image times a pattern of signs, drawn with a fixed seed, over the
image's norm: a difference of the image of the relative norm e changes each of the 16 by about e. Bits depend on the processor's
instruction set, so a file is for processors of one kind: make one of the old program first. compare exits with 1 if an image
differs by more than 1e-5 where the file has another digest, or the runs' numbers of iterations do.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

SLICE = "--phantom head --matrix 96,96,1 --image-snr 20"
SCANS = {
    "radial": f"{SLICE} --coils 6 --spokes 48 --oversample 2 --noise-scan",
    "one-coil": f"{SLICE} --spokes 150",
    "grid": f"{SLICE} --coils 6 --trajectory cartesian --accelerate 2",
    "poisson": f"{SLICE} --coils 6 --trajectory cartesian --poisson 3",
    "full": f"{SLICE} --coils 4 --trajectory cartesian",
    "one-sided": f"{SLICE} --coils 1 --trajectory cartesian --partial-fourier 0.65",
    "field": f"{SLICE} --coils 4 --field-hz 60 --spokes 150",
    "volume": "--phantom head --matrix 32,32,24 --image-snr 20 --coils 4 --spokes 500",
    "frames": "--phantom head --matrix 64,64,1 --image-snr 20 --coils 4 --frames 6 --spokes 24 --continue",
    "grid-frames": "--phantom head --matrix 64,64,1 --image-snr 20 --coils 4 --frames 5 --trajectory cartesian --accelerate 3",
    "reference": "--matrix 48,48,1 --coils 2 --spokes 40 --image-snr 20 --reference",
}
RUNS = {
    "radial": ["", "--prior identity --lambda 0.01 --coils walsh", "--prior differences --lambda auto", "--prior spectrum",
               "--prior wavelet", "--prior wavelet+tv --coils nlinv", "--prior tgv --iterations 30", "--lambda sure",
               "--map-sets 2 --coils espirit --prior spectrum", "--map-sets 2 --coils espirit --prior wavelet", "--method gridding", "--method bilinear",
               "--method adjoint", "--precision double --prior spectrum", "--coils rss", "--coils rss --prior wavelet",
               "--operator direct --prior spectrum --iterations 12", "--noise-map noise.h5 --replicas 3 --prior spectrum",
               "--prior wavelet --solver fista --wavelet haar --shifts 1 --iterations 20", "--prior tv --solver primal-dual --iterations 60"],
    "one-coil": ["", "--prior differences --lambda 0.01", "--prior tv"],
    "grid": ["", "--prior spectrum", "--map-sets 2 --coils espirit"],
    "poisson": ["", "--prior spectrum", "--lambda sure"],
    "full": ["", "--prior identity --lambda 0.01"],
    "one-sided": ["", "--prior spectrum", "--partial-fourier off --prior spectrum", "--noise-map noise.h5 --replicas 2"],
    "field": ["", "--prior wavelet"],
    "volume": ["", "--prior spectrum", "--prior wavelet --iterations 20"],
    "frames": ["", "--prior spectrum", "--prior temporal", "--prior temporal+wavelet --window 4", "--prior llr --iterations 30",
               "--prior nuclear --iterations 20", "--prior temporal --lambda sure"],
    "grid-frames": ["", "--prior temporal+wavelet", "--prior spectrum", "--prior temporal --coils rss"],
    "reference": ["--prior reference --lambda 0.1"],
}


def describe(path, report):
    with h5py.File(path) as file:
        image = file["image"][()]
    image = image["r"] + 1j * image["i"] if image.dtype.names else image.astype(complex)
    generator = numpy.random.default_rng(1)
    norm = float(numpy.linalg.norm(image))
    signs = (generator.integers(0, 2, image.size, dtype=numpy.int8) * 2 - 1 for _ in range(16))
    dots = [complex(numpy.dot(sign, image.ravel())) / norm for sign in signs]
    facts = json.loads(report.read_text())
    return {"digest": hashlib.sha256(numpy.ascontiguousarray(image).tobytes()).hexdigest(), "norm": norm,
            "projections": [[dot.real, dot.imag] for dot in dots], "iterations": facts.get("iterations"),
            "peak_bytes": facts.get("peak_memory_bytes")}


def make(build):
    apps, made = pathlib.Path(build, "apps").resolve(), {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for scan, words in SCANS.items():
            subprocess.run([apps / "mri_phantom/mri_phantom", "-q", *words.split(), "-o", "scan.h5"], cwd=folder, check=True)
            for options in RUNS[scan]:
                done = subprocess.run([apps / "mri_recon/mri_recon", "-q", "--device", "cpu", "--threads", "2", *options.split(),
                                       "scan.h5", "-o", "image.h5", "--report", "report.json"],
                                      cwd=folder, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"{scan} {options}: {done.stderr}")
                made[f"{scan} {options}".strip()] = describe(folder / "image.h5", folder / "report.json")
                (folder / "image.h5").unlink()
    return made


def difference(a, b):
    """Of the projections, times sqrt(1/2): about the relative norm of the images' difference."""
    pairs = zip([complex(*p) * a["norm"] for p in a["projections"]], [complex(*p) * b["norm"] for p in b["projections"]])
    return float(numpy.sqrt(numpy.mean([abs(p - q) ** 2 for p, q in pairs])) / b["norm"])


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("make", "compare"):
        sys.exit(__doc__)
    path, made = pathlib.Path(sys.argv[3]), make(sys.argv[2])
    if sys.argv[1] == "make":
        path.write_text(json.dumps(made, indent=1) + "\n")
        return
    known, wrong, same = json.loads(path.read_text()), 0, 0
    for name, run in made.items():
        if run["digest"] == known[name]["digest"]:
            same += 1
            continue
        off, iterations = difference(run, known[name]), (known[name]["iterations"], run["iterations"])
        bad = not off <= 1e-5 or iterations[0] != iterations[1]  # true for NaN
        wrong += bad
        print(f"{name}: {off:.1e} of the norm, iterations {iterations[0]} -> {iterations[1]}{'  <--' if bad else ''}")
    print(f"{same} of {len(made)} runs have the same bits; {wrong} are wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
