#!/usr/bin/env python3
"""Sparse priors: mri_recon's images with --prior wavelet and tv against BART's. A table of errors, times and bars.

    sparse_study.py MRI_RECON [cpu|cuda] [--json FILE] [--resume] [--quick] [--ours] [--sure] [--cases REGEX] [--brain FILE.nii.gz]
                    [--enforce]

For each case, the table has the errors (as in image_study.py) of mri_recon with --prior spectrum; of each prior at the
lambda that mri_recon chooses, and at the best multiple of it; and of BART (ecalib, then pics -R W or T) at its best
weight. Times are those of whole programs, and of the solver alone.

The case "time to BART's objective" solves BART's own wavelet problem, with BART's coil maps, weight and scaling, in both
programs with more and more iterations. One function of this file computes the objective of both images.

--json      the record; it has each case as soon as that is measured
--resume    keep the cases that the record has
--quick     small images and one noise level, to test this program
--ours      without BART
--sure      also with --lambda sure, and with the cases of a bottle, which differs from a head
--brain     a NIfTI image as the object in place of the procedural head
--enforce   exit status 1 if a bar is missed

Exit status: 0; 1 if a case failed or gave NaN or infinite values; 77 without numpy or h5py.
"""
import json
import pathlib
import re
import sys
import time

import image_study  # first: it finds the other modules, and a Python with numpy
from image_study import bar_of, bart_data, by_bart, ecalib, pics, poisson_mask, run_cases, simulated
import image_scans as scans
from image_errors import best_among
from mri_peers import call, np, write_scan
from test_bart import bart, read_cfl, write_cfl

FACTORS = (0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8)  # of the automatic lambda
PRIORS = {"wavelet": "W", "tv": "T"}  # and their names in BART
START = {"wavelet": 0.001, "tv": 0.0005}  # of the search for BART's best weight
ITERATIONS = 100  # of BART; TV counts those of conjugate gradients
SERIES = (3, 6, 12, 25, 50, 100, 200)  # iterations of the case of times
QUICK = {"ITERATIONS": 25, "SERIES": (3, 12)}  # with --quick
WEIGHT = 0.0005  # of BART's wavelet problem in that case: near its best value
TIMES = "time to BART's objective"
# BART's objective counts as reached at this multiple of its last value, because mri_recon's wavelet transform differs
# at the image's edges and does not shrink the coarsest band.
SAME_OBJECTIVE = 1.005

# Figure: its limit, and a description. A figure belongs to one case, except the mean.
BARS = {
    "auto / BART": (1.0, "error at the automatic lambda over that of BART at its best weight, for each prior"),
    "auto / best factor": (1.1, "error at the automatic lambda over that at the best factor"),
    "mean auto / best factor": (1.05, "the same, the mean over the cases"),
    "auto / untouched": (1.0, "error at the automatic lambda over that of --prior spectrum, the default without sparse priors"),
    "seconds / BART": (0.2, "time of the whole program to BART's objective, over that of pics -e -n"),
}


# ---- errors ----


def reported(case, *options, file=None):
    """Returns an image, its figures, and its part of the report."""
    began = time.perf_counter()
    found = case.image(*options, "--report", "report.json", file=file)
    seconds = time.perf_counter() - began
    report = json.loads(pathlib.Path("report.json").read_text())
    made = report["reconstruction"]
    return found, {**case.figures(found), "seconds": seconds, "solve seconds": report["seconds"]["solve"],
                   "iterations": made["iterations"], "residual": made["residual"]}, made


def with_prior(case, prior, sure=False):
    """Measures a prior at the automatic lambda, at the best multiple of it, and optionally at that of SURE."""
    def measured(factor):
        return reported(case, "--prior", prior, "--lambda", f"auto:{factor:g}")[1]
    row = measured(1)
    best, error, tried = best_among(lambda f: row["error"] if f == 1 else measured(f)["error"], FACTORS, 1)
    row.update({"best factor": best, "best error": error, "tried": tried})
    if sure:
        _, figures, made = reported(case, "--prior", prior, "--lambda", "sure")
        row["sure"] = {"error": figures["error"], "solve seconds": figures["solve seconds"], **made["sure"]}
    return row


def bart_words(case, prior):
    """The options of pics for a weight."""
    axes = 7 if case.matrix[2] > 1 else 3
    fista = ("-e",) if prior == "wavelet" else ()  # BART solves TV by ADMM
    return lambda weight: ("-R", f"{PRIORS[prior]}:{axes}:0:{weight:g}", "-i", ITERATIONS, *fista)


def measure(case, with_bart, sure=False):
    row = {"untouched": case.untouched("--prior", "spectrum")}
    for prior in PRIORS:
        row[prior] = with_prior(case, prior, sure)
        if with_bart:
            row[f"BART {prior}"], _ = by_bart(case, START[prior], bart_words(case, prior), (2, 1.4))
    return row


# ---- times ----


class BartProblem:
    """|F s x / sqrt(N) - d / scale|^2 / 2 + WEIGHT |W x|_1, for the image x that pics writes. W is BART's wavelet
    transform."""

    def __init__(self, case, maps, scale):
        self.case, self.maps, self.scale, self.root = case, maps, scale, np.sqrt(case.truth.size)

    def objective(self, image):
        misfit = sum((abs(scans.sample(image * s, self.case.k) / self.root - d / self.scale) ** 2).sum()
                     for s, d in zip(self.maps, self.case.data))
        write_cfl("x", image.transpose(2, 1, 0))
        bart("wavelet", 3, "x", "w")
        return float(misfit / 2 + WEIGHT * abs(read_cfl("w")).sum())

    def of_ours(self, image):
        """The image in BART's units: mri_recon's F is sqrt(N) times BART's, and its data are not scaled."""
        return image * (self.root / self.scale)

    @property
    def our_weight(self):
        return WEIGHT * self.scale * self.root


def time_to(series, objective):
    """Seconds of the first run that reaches the objective, or None."""
    return next((row["seconds"] for row in series if row["objective"] <= objective), None)


def measure_times(case, with_bart):
    """Both programs with more and more iterations."""
    row = {"untouched": case.untouched("--prior", "spectrum"), "bart": [], "ours": []}
    if not with_bart:
        return row
    bart_data(case)
    maps = ecalib(case, "-c", 0)
    words = ("-e", "-n", "-R", f"W:3:0:{WEIGHT:g}")
    told = call("bart", "pics", "-d", 5, *words, "-i", 1, "-t", "t", "k", "s", "p")
    problem = BartProblem(case, maps, float(re.search(r"Scaling: ([\d.e+]+)", told)[1]))
    for iterations in SERIES:
        began = time.perf_counter()
        found = pics(case, *words, "-i", iterations)
        seconds = time.perf_counter() - began
        row["bart"].append({"iterations": iterations, "seconds": seconds, "objective": problem.objective(found),
                            "error": case.error(found)})
    file = write_scan("maps.h5", case.matrix, case.k, case.data, maps)
    words = ("--coils", "file", "--prior", "wavelet", "--wavelet", "db2", "--shifts", 1, "--tolerance", 0)
    for iterations in SERIES:
        # The noise comes from a first image, whose iterations have the same limit.
        unit = reported(case, *words, "--lambda", 1, "--iterations", iterations, file=file)[2]["noise_unit"]
        found, figures, made = reported(case, *words, "--lambda", problem.our_weight / unit, "--iterations", iterations, file=file)
        if not np.isclose(made["wavelet"]["lambda"], problem.our_weight, rtol=1e-6):
            raise ValueError(f"a weight of {made['wavelet']['lambda']:g}, not {problem.our_weight:g}")
        row["ours"].append({"iterations": iterations, "seconds": figures["seconds"], "solve seconds": figures["solve seconds"],
                            "objective": problem.objective(problem.of_ours(found)), "error": figures["error"]})
    final = row["bart"][-1]["objective"] * SAME_OBJECTIVE
    row["seconds"] = {"BART": time_to(row["bart"], final), "ours": time_to(row["ours"], final)}
    return row


# ---- cases ----


def cases_of(options):
    """As in image_study.py: (name, kind, SNR, needed tools, with BART, function)."""
    quick, head, peer = options.quick, scans.template(options.brain) if options.brain else scans.head, not options.ours
    n, m, coils, snrs = (48, 8, 4, (15,)) if quick else (192, 64, 8, (15, 60, 5))
    radial = {spokes: simulated(head, (n, n, 1), scans.radial(n, spokes), coils, 1, centre=min(24, 2 * round(spokes / np.pi)))
              for spokes in ((24,) if quick else (48, 24))}
    mask = []

    def poisson(snr):
        if not mask:
            drawn = poisson_mask(n, 4 if quick else 8)
            mask.append(simulated(head, (n, n, 1), scans.cartesian(drawn), coils, 3, drawn))
        return mask[0](snr)
    lines = {step: simulated(head, (n, n, 1), scans.cartesian(mask), coils, 3, mask)
             for step in ((3,) if quick else (2, 3)) for mask in [scans.every(n, step, 24)]}
    spiral = simulated(head, (n, n, 1), scans.spiral(n, n // 8, 4, 24), coils, 1)
    koosh = simulated(head, (m, m, m), scans.koosh_ball(m, round(np.pi * m * m / 2 / 6)), coils, 2)
    bottle = simulated(scans.bottle, (n, n, 1), scans.radial(n, 48), coils, 1)
    for snr in snrs:
        if options.sure:
            yield f"bottle, 48 spokes, SNR {snr}", "sparse", snr, (), peer and not quick, bottle
        for spokes, case in radial.items():
            yield f"radial, {spokes} spokes, SNR {snr}", "sparse", snr, (), peer, case
        yield f"Poisson disc, R = {4 if quick else 8}, SNR {snr}", "sparse", snr, ("bart",), peer, poisson
        for step, case in lines.items():
            yield f"lines, R = {step}, SNR {snr}", "sparse", snr, (), peer and not quick, case
        yield f"spiral, R = 4, SNR {snr}", "sparse", snr, (), peer and not quick, spiral
    for snr in snrs:
        yield f"koosh ball, R = 6, SNR {snr}", "sparse", snr, (), peer and not quick, koosh


def times_of(options):
    n, spokes = (32, 16) if options.quick else (192, 48)
    head = scans.template(options.brain) if options.brain else scans.head
    yield (TIMES, "time", 15, ("bart",), not options.ours,
           simulated(head, (n, n, 1), scans.radial(n, spokes), 8, 1, centre=min(24, 2 * round(spokes / np.pi))))


# ---- the record ----


def bars_of(rows):
    bars, ratios = [], {prior: [] for prior in PRIORS}
    for name, row in rows.items():
        for prior in (prior for prior in PRIORS if prior in row):
            case, own = f"{name}, {prior}", row[prior]["error"]
            if f"BART {prior}" in row:
                bars.append(bar_of(BARS, case, "auto / BART", own / row[f"BART {prior}"]["error"]))
            ratios[prior].append(own / row[prior]["best error"])
            bars.append(bar_of(BARS, case, "auto / best factor", ratios[prior][-1]))
            bars.append(bar_of(BARS, case, "auto / untouched", own / row["untouched"]["error"]))
        if row.get("seconds"):
            ours = row["seconds"]["ours"]
            bars.append(bar_of(BARS, name, "seconds / BART", np.inf if ours is None else ours / row["seconds"]["BART"]))
    bars += [bar_of(BARS, f"all cases, {prior}", "mean auto / best factor", float(np.mean(values)))
             for prior, values in ratios.items() if values]
    return bars


def make_record(options):
    record = {"program": "sparse_study", "quick": options.quick, "cases": {}, "skipped": {}, "failed": {}}
    if options.quick:
        globals().update(QUICK)
    if options.resume and options.json and options.json.exists():
        record["cases"] = json.loads(options.json.read_text())["cases"]
    run_cases(options, cases_of(options), lambda case, with_bart: measure(case, with_bart, options.sure), record)
    run_cases(options, times_of(options), measure_times, record)
    record["bars"] = bars_of(record["cases"])
    return record


# ---- showing ----


def show(record):
    rows = {name: row for name, row in record["cases"].items() if row["kind"] == "sparse"}
    yield "| case | untouched | prior | auto | best factor | at | ratio | BART | at | seconds: whole, solve | BART: whole, pics |"
    yield "|---|---:|---|" + "---:|" * 8
    for name, row in rows.items():
        for prior in PRIORS:
            own, peer = row[prior], row.get(f"BART {prior}")
            theirs = [f"{peer['error']:.4f}", f"{peer['r']:.2g}"] if peer else ["-", "-"]
            times = f"{peer['seconds']:.1f}, {peer['pics seconds']:.1f}" if peer else "-"
            yield "| " + " | ".join([name, f"{row['untouched']['error']:.4f}", prior, f"{own['error']:.4f}",
                                     f"{own['best error']:.4f}", f"{own['best factor']:g}",
                                     f"{own['error'] / own['best error']:.3f}", *theirs,
                                     f"{own['seconds']:.1f}, {own['solve seconds']:.1f}", times]) + " |"
    if any("sure" in row[prior] for row in rows.values() for prior in PRIORS):
        yield "\n| case | prior | auto | sure | at | best factor | at | sure / best factor |\n|---|---|" + "---:|" * 6
        for name, row in rows.items():
            for prior in (prior for prior in PRIORS if "sure" in row[prior]):
                own, sure = row[prior], row[prior]["sure"]
                yield (f"| {name} | {prior} | {own['error']:.4f} | {sure['error']:.4f} | {sure['factor']:.2g} | "
                       f"{own['best error']:.4f} | {own['best factor']:g} | {sure['error'] / own['best error']:.3f} |")
    for name, row in record["cases"].items():
        if row["kind"] == "time":
            yield f"\n{name}\n\n| iterations | BART: seconds | objective | error | ours: seconds | objective | error |"
            yield "|---:|" + "---:|" * 6
            for theirs, own in zip(row["bart"], row["ours"]):
                yield f"| {own['iterations']} | " + " | ".join(
                    f"{one['seconds']:.2f} | {one['objective']:.6g} | {one['error']:.4f}" for one in (theirs, own)) + " |"
    yield from image_study.show_end(record)


def main():
    parser = image_study.options_of(__doc__)
    parser.add_argument("--resume", action="store_true", help="keep the cases that the record has")
    parser.add_argument("--ours", action="store_true", help="without BART")
    parser.add_argument("--sure", action="store_true", help="also with --lambda sure, and with the cases of a bottle")
    return image_study.run_study(parser, make_record, show)


if __name__ == "__main__":
    sys.exit(main())
