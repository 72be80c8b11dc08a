#!/usr/bin/env python3
"""Two builds of mri_recon on sparse problems of every kind: applications of F^H W F, processor time and errors.

    sparse_cases.py BEFORE AFTER [--cases REGEX] [--solutions] [--pictures FOLDER] [--json FILE]

BEFORE and AFTER are build folders. Each case is a scan of mri_phantom (of AFTER), reconstructed by both programs with two
threads. Applications are those of first images and of ADMM. Times are user and system time of the whole program: the two
runs of a case follow each other, so that a busy machine slows both. The error is against the truth, as --compare truth
has it. Exits with 1 if an image of AFTER has an error more than 0.5 % above that of BEFORE, relative, or one is not
finite.

--solutions   also the distance of both images from the solution: BEFORE's image after many more iterations, which takes
              ten times as long
--pictures    keeps both pictures of each case
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SLICE = "--phantom head --matrix 192,192,1 --coils 8"
BALL = "--phantom head --matrix 64 --spokes 1072 --coils 8"
SMALL_BALL = "--phantom head --matrix 48 --spokes 800 --coils 8"
SERIES = "--phantom head --matrix 96,96,1 --coils 8 --frames 12 --continue --image-snr 20 --noise-scan"
# Name: words of mri_phantom; words of mri_recon. Most have no noise scan: the noise comes from the data.
CASES = {
    "radial, 48 spokes, SNR 20, noise scan": (f"{SLICE} --spokes 48 --oversample 2 --image-snr 20 --noise-scan", ""),
    "radial, 24 spokes, SNR 60": (f"{SLICE} --spokes 24 --oversample 2 --image-snr 60", ""),
    "radial, 24 spokes, SNR 20": (f"{SLICE} --spokes 24 --oversample 2 --image-snr 20", ""),
    "radial, 24 spokes, SNR 5": (f"{SLICE} --spokes 24 --oversample 2 --image-snr 5", ""),
    "spiral, R = 4, SNR 15": (f"{SLICE} --trajectory spiral --interleaves 4 --turns 6 --image-snr 15", ""),
    "spiral, R = 4, SNR 60": (f"{SLICE} --trajectory spiral --interleaves 4 --turns 6 --image-snr 60", ""),
    "Poisson disc, R = 6, SNR 15": (f"{SLICE} --trajectory cartesian --poisson 6 --image-snr 15", ""),
    "Poisson disc, R = 6, SNR 60": (f"{SLICE} --trajectory cartesian --poisson 6 --image-snr 60", ""),
    "lines, R = 3, SNR 20": (f"{SLICE} --trajectory cartesian --accelerate 3 --image-snr 20", ""),
    "radial, one coil, SNR 20": ("--phantom head --matrix 192,192,1 --spokes 96 --oversample 2 --image-snr 20", ""),
    "Poisson disc, one coil, SNR 20": ("--phantom head --matrix 128,128,1 --trajectory cartesian --poisson 3 --image-snr 20", ""),
    "koosh ball 48, one coil, SNR 20": ("--phantom head --matrix 48 --spokes 600 --image-snr 20", ""),
    "koosh ball 48, one coil, the demo": ("--matrix 48 --trajectory koosh-ball --spokes 460 --snr 50 --without time", ""),
    "koosh ball 48, SNR 20": ("--phantom head --matrix 48 --spokes 600 --coils 8 --image-snr 20", ""),
    "koosh ball 64, 2 % noise": (f"{BALL} --noise 0.02", ""),
    "koosh ball 64, SNR 5": (f"{BALL} --image-snr 5", ""),
    "koosh ball 64, SNR 60": (f"{BALL} --image-snr 60", ""),
    "Poisson disc 64, R = 6, SNR 20": ("--phantom head --matrix 64 --trajectory cartesian --poisson 6 --coils 8 --image-snr 20", ""),
    "stack of stars, SNR 20": ("--phantom head --matrix 64,64,32 --trajectory stack-of-stars --spokes 20 --oversample 2 "
                               "--coils 8 --image-snr 20", ""),
    "series, wavelet+temporal": (f"{SERIES} --spokes 10 --oversample 2", ""),
    "series, temporal": (f"{SERIES} --spokes 10 --oversample 2", "--prior temporal"),
    "series, llr": (f"{SERIES} --spokes 10 --oversample 2", "--prior llr"),
    "series, frame by frame": (f"{SERIES} --spokes 24 --oversample 2", "--prior wavelet"),
    "radial, 48 spokes, tv": (f"{SLICE} --spokes 48 --oversample 2 --image-snr 20", "--prior tv"),
    "radial, 48 spokes, tgv": (f"{SLICE} --spokes 48 --oversample 2 --image-snr 20", "--prior tgv"),
    "radial, 48 spokes, sure": (f"{SLICE} --spokes 48 --oversample 2 --image-snr 20", "--lambda sure"),
    "Poisson disc, R = 6, sure": (f"{SLICE} --trajectory cartesian --poisson 6 --image-snr 15", "--lambda sure"),
    "radial, 48 spokes, espirit": (f"{SLICE} --spokes 48 --oversample 2 --image-snr 20", "--coils espirit"),
    "radial, 24 spokes, SNR 5, espirit": (f"{SLICE} --spokes 24 --oversample 2 --image-snr 5", "--coils espirit"),
    "lines, R = 3, SNR 20, espirit": (f"{SLICE} --trajectory cartesian --accelerate 3 --image-snr 20", "--coils espirit"),
    "koosh ball 64, SNR 20, espirit": (f"{BALL} --image-snr 20", "--coils espirit"),
    "koosh ball 48, 2 % noise, espirit": (f"{SMALL_BALL} --noise 0.02", "--coils espirit"),
    "koosh ball 48, 2 % noise, espirit, tv": (f"{SMALL_BALL} --noise 0.02", "--coils espirit --prior tv"),
    "koosh ball 64, 16 coils, espirit": ("--matrix 64 --spokes 2800 --coils 16 --noise 0.02", "--coils espirit --compress 4"),
    "stack of stars, espirit": ("--phantom head --matrix 96,96,24 --trajectory stack-of-stars --spokes 50 --coils 8 --image-snr 20", "--coils espirit"),
    "series, llr, espirit": (SERIES + " --spokes 16", "--coils espirit --prior llr"),
}
WORSE = 1.005  # the most that an error may be of that of BEFORE
SOLUTION = ("--tolerance", "3e-5", "--iterations", "200")


def seconds_of(command, folder):
    """Runs a program and returns its processor time."""
    before = os.times()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def run_case(build, folder, words, name):
    """Returns the figures of a run; its image is NAME.h5."""
    seconds = seconds_of([build / "apps/mri_recon/mri_recon", "-q", "--device", "cpu", "--threads", "2", *words, "--compare", "truth",
                          "--picture", f"{name}.png", "--report", "report.json", "-o", f"{name}.h5", "scan.h5"], folder)
    report = json.loads((folder / "report.json").read_text())
    made = report["reconstruction"]
    return {"first": made.get("first_iterations", 0), "applications": made.get("applications_of_normal", made["iterations"]),
            "iterations": made["iterations"], "sure": made.get("sure", {}).get("applications_of_normal", 0), "seconds": seconds,
            "error": report["error"]["percent"]}


def image_of(path):
    import h5py
    with h5py.File(path) as file:
        image = file["image"][()]
    return image["r"] + 1j * image["i"] if image.dtype.names else image


def measure(before, after, folder, case, with_solution):
    scan, words = (text.split() for text in CASES[case])
    subprocess.run([after / "apps/mri_phantom/mri_phantom", "-q", *scan, "-o", "scan.h5"], cwd=folder, check=True)
    row = {name: run_case(build, folder, words, name) for name, build in (("before", before), ("after", after))}
    if with_solution:
        import numpy
        row["solution"] = run_case(before, folder, [*words, *SOLUTION], "solution")
        there = image_of(folder / "solution.h5")
        for name in ("before", "after"):
            row[name]["distance"] = float(numpy.linalg.norm(image_of(folder / f"{name}.h5") - there) / numpy.linalg.norm(there))
    return row


def line_of(case, row):
    own = [row[name] for name in ("before", "after")]
    cells = [case, *(f"{one['first']} + {one['applications']}" + (f" + {one['sure']}" if one["sure"] else "") for one in own),
             *(f"{one['seconds']:.2f}" for one in own), *(f"{one['error']:.2f} %" for one in own),
             f"{100 * (own[1]['error'] / own[0]['error'] - 1):+.2f} %"]
    if "solution" in row:
        cells += [f"{row['solution']['error']:.2f} %", *(f"{100 * one['distance']:.2f} %" for one in own)]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("before", "after"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--cases", default="")
    parser.add_argument("--solutions", action="store_true")
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows, bad = {}, []
    print("| case | applications before | after | seconds | after | error | after | change |" +
          (" solution | distance | after |" if options.solutions else ""))
    print("|---|" + "---:|" * (10 if options.solutions else 7))
    for case in (case for case in CASES if re.search(options.cases, case)):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            rows[case] = measure(options.before, options.after, folder, case, options.solutions)
            for which in ("before", "after") if options.pictures else ():
                options.pictures.mkdir(parents=True, exist_ok=True)
                text = re.sub("[^a-z0-9]+", "-", case.lower())
                (options.pictures / f"{text}-{which}.png").write_bytes((folder / f"{which}.png").read_bytes())
        print(line_of(case, rows[case]), flush=True)
        if not rows[case]["after"]["error"] <= WORSE * rows[case]["before"]["error"]:  # true for NaN
            bad.append(case)
        if options.json:
            options.json.write_text(json.dumps({"program": "sparse_cases", "cases": rows}, indent=1) + "\n")
    for which in ("before", "after"):
        print(f"{which}: {sum(row[which]['first'] + row[which]['applications'] + row[which]['sure'] for row in rows.values())} "
              f"applications, {sum(row[which]['seconds'] for row in rows.values()):.1f} s")
    print("\n".join(f"worse by more than {WORSE - 1:.1%}: {case}" for case in bad) or "no image is worse")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
