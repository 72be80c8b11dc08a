#!/usr/bin/env python3
"""Priors for series: mri_recon's images with priors that couple frames, against BART's. Errors and bars.

    series_study.py MRI_RECON [cpu|cuda] [--json FILE] [--resume] [--quick] [--ours] [--cases REGEX] [--enforce]

The series are golden-angle radial scans of three heads: one does not change, contrast agent passes through the
second, and the third has a part that beats. For each case, the table has the errors of mri_recon without options and
with --prior spectrum; of each prior at the lambda that mri_recon chooses, and at the best multiple of it; and of BART
(ecalib with the spokes of all frames, then pics) with total variation over time, also with wavelets, and with locally
low rank, each at its best weight. An error is the root-mean-square error of the magnitudes of all frames in the
object's region after the best common scale, relative to the truth of the frames. If the head changes, there is also
the error of the voxels that change, which those that do not change would hide.

--json      the record; it has each case as soon as that is measured
--resume    keep the cases that the record has
--quick     small images and two cases, to test this program
--ours      without BART
--enforce   exit status 1 if a bar is missed

Exit status: 0; 1 if a case failed or gave NaN or infinite values; 77 without numpy or h5py.
"""
import json
import sys

import image_study  # first: it finds the other modules, and a Python with numpy
from image_study import Case, bar_of, by_bart, run_cases, simulated
import image_scans as scans
from image_errors import error_of
from mri_peers import image, np, write_scan
from sparse_study import with_prior

DEFAULT = "wavelet+temporal"  # the prior without options
PRIORS = ("temporal", DEFAULT, "llr", "wavelet")
START = {"temporal": 0.002, "wavelet": 0.0005, "llr": 0.01}  # of the search for BART's best weights
ITERATIONS = 100  # of BART

# Figure: its limit, and a description. A figure belongs to one case, except the mean.
BARS = {
    "default / BART": (1.0, "error without options over that of the best of BART"),
    "auto / best factor": (1.1, "error at the automatic lambda over that at the best factor, for each prior"),
    "mean auto / best factor": (1.05, "the same, the mean over the cases"),
    "default / spectrum": (1.0, "error without options over that of --prior spectrum"),
}


class SeriesCase(Case):
    """The files of a series: images and the file have frames first; k and data are those of all frames, one after
    another."""

    def __init__(self, scan, data):
        super().__init__(scan, data, write_scan("scan.h5", scan.matrix, scan.k, data))
        self.series, self.changing = len(data), scan.changing
        self.k, self.data = scan.k.reshape(-1, 3), np.concatenate(list(data), 1)

    def image(self, *options, file=None):
        return image(file or self.file, *options).reshape(self.truth.shape)

    def bart_samples(self):
        """With frames in dimension 10."""
        def split(array):
            frames = np.moveaxis(array.reshape(len(array), self.series, -1, *array.shape[2:]), 1, -1)
            return frames.reshape(*frames.shape[:-1], *[1] * (11 - frames.ndim), self.series)
        return tuple(split(array) for array in super().bart_samples())

    def figures(self, found):
        moved = {"changing": error_of(found, self.truth, self.region, self.changing)} if self.changing.any() else {}
        return {"error": self.error(found), **moved}


# ---- BART ----


def time_words(weight, wavelet=0):
    """The options of pics for total variation over time, and perhaps wavelets."""
    joined = ("-R", f"W:3:0:{wavelet:g}") if wavelet else ()
    return (*joined, "-R", f"T:1024:0:{weight:g}", "-i", ITERATIONS)


def rank_words(weight):
    return ("-R", f"L:3:3:{weight:g}", "-b", 8, "-e", "-i", ITERATIONS)


def by_bart_all(case):
    """BART's result at the best weights. With two priors, the search is in turn: the weight of wavelets at the best
    weight over time, then the latter again."""
    alone, _ = by_bart(case, START["temporal"], time_words, (2, 1.4))
    wavelet, _ = by_bart(case, START["wavelet"], lambda w: time_words(alone["r"], w))
    joined, _ = by_bart(case, alone["r"], lambda w: time_words(w, wavelet["r"]))
    rank, _ = by_bart(case, START["llr"], rank_words, (2, 1.4))
    joined["wavelet"] = {name: wavelet[name] for name in ("r", "tried")}
    return {"BART temporal": alone, "BART wavelet+temporal": joined, "BART llr": rank}


def best_of_bart(row):
    return min((name for name in row if name.startswith("BART")), key=lambda name: row[name]["error"], default=None)


# ---- cases ----


def measure(case, with_bart):
    row = {"untouched": case.untouched(), "spectrum": case.untouched("--prior", "spectrum")}
    row.update({prior: with_prior(case, prior) for prior in PRIORS})
    return {**row, **by_bart_all(case)} if with_bart else row


def cases_of(options):
    """As in image_study.py: (name, kind, SNR, needed tools, with BART, function)."""
    n, spokes, frames, coils, snrs = (32, 9, 4, 4, (15,)) if options.quick else (128, 13, 16, 8, (15, 60, 5))
    k = scans.radial(n, spokes * frames).reshape(frames, -1, 3)
    objects = {"static": scans.still, "contrast": scans.perfused, "motion": scans.beating}
    if options.quick:
        del objects["contrast"]
    made = {name: simulated(make, (n, n, 1), k, coils, 1, scan_type=scans.Series, case_type=SeriesCase)
            for name, make in objects.items()}
    for snr in snrs:
        for name, case in made.items():
            with_bart = not options.ours and not options.quick and snr > 5  # a search for its weights takes minutes
            yield f"{name}, SNR {snr}", "series", snr, (), with_bart, case


# ---- the record ----


def bars_of(rows):
    bars, ratios = [], {prior: [] for prior in PRIORS}
    for name, row in rows.items():
        own, best = row["untouched"]["error"], best_of_bart(row)
        if best:
            bars.append(bar_of(BARS, name, "default / BART", own / row[best]["error"]))
        bars.append(bar_of(BARS, name, "default / spectrum", own / row["spectrum"]["error"]))
        for prior, of in ratios.items():
            of.append(row[prior]["error"] / row[prior]["best error"])
            bars.append(bar_of(BARS, f"{name}, {prior}", "auto / best factor", of[-1]))
    return bars + [bar_of(BARS, f"all cases, {prior}", "mean auto / best factor", float(np.mean(of)))
                   for prior, of in ratios.items() if of]


def make_record(options):
    record = {"program": "series_study", "quick": options.quick, "cases": {}, "skipped": {}, "failed": {}}
    if options.resume and options.json and options.json.exists():
        record["cases"] = json.loads(options.json.read_text())["cases"]
    run_cases(options, cases_of(options), measure, record)
    record["bars"] = bars_of(record["cases"])
    return record


# ---- showing ----


def cells(row):
    return [f"{row['error']:.4f}", f"{row['changing']:.4f}" if "changing" in row else "-"]


def show(record):
    yield "| case | prior | auto | where it changes | best factor | at | ratio |"
    yield "|---|---|" + "---:|" * 5
    for name, row in record["cases"].items():
        yield "| " + " | ".join([name, "none given", *cells(row["untouched"]), "-", "-", "-"]) + " |"
        yield "| " + " | ".join([name, "spectrum", *cells(row["spectrum"]), "-", "-", "-"]) + " |"
        for prior in PRIORS:
            own = row[prior]
            yield "| " + " | ".join([name, prior, *cells(own), f"{own['best error']:.4f}", f"{own['best factor']:g}",
                                     f"{own['error'] / own['best error']:.3f}"]) + " |"
        for prior in (prior for prior in row if prior.startswith("BART")):
            peer = row[prior]
            weights = f"{peer['r']:.2g}" + (f", {peer['wavelet']['r']:.2g}" if "wavelet" in peer else "")
            yield "| " + " | ".join([name, prior, "-", cells(peer)[1], cells(peer)[0], weights, "-"]) + " |"
    yield from image_study.show_end(record)


def main():
    parser = image_study.options_of(__doc__)
    parser.add_argument("--resume", action="store_true", help="keep the cases that the record has")
    parser.add_argument("--ours", action="store_true", help="without BART")
    return image_study.run_study(parser, make_record, show)


if __name__ == "__main__":
    sys.exit(main())
