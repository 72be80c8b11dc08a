#!/usr/bin/env python3
"""What mri_recon prints is in the report too: every line of a run is known here, and its numbers and texts are those of
the report's keys, to the digits that are printed.

usage: test_mri_facts.py PROGRAM [DEVICE] [test_name ...]
VOXFIELD_PHANTOM names mri_phantom.
"""
import json
import re
from decimal import Decimal

from made_scan import phantom, run_tests
from program import make
from seeds import program_seed

N = r"(-?[\d.]+(?:e[-+]\d+)?|-?inf|-?nan)"
SIZE = r"(\d+) x (\d+) x (\d+)"
TIME = r"[\d.]+(?: m?s|:[\d:]+).*?"
FIGURES = rf"MSE {N}, PSNR {N} dB, SNR {N} dB, {N} %"

# A line, and the report's keys of its groups. What has no group is only printed: what the user asked for, memory and times,
# sizes that follow from others, and names of files that the user gave.
LINES = [
    (rf"scan       (.+): (\S+), (\d+) coils?, (\d+) volumes?, (\d+) samples?",
     "input.path input.layout input.coils input.frames input.samples"),
    (rf"           (.*trajector.*|.* samples.*, k in .*)", "input.description"),
    (rf"           ([^ ].*removed.*|delays.*)", "input.corrections"),
    (rf"           matrix {SIZE} over {N} x {N} x {N} mm(?:, cropped to [\dx ]+)?(?:, position known)?",
     "input.matrix.0 input.matrix.1 input.matrix.2 input.fov_mm.0 input.fov_mm.1 input.fov_mm.2"),
    (rf"           undersampled, R = {N}, {N} at the edge of k-space; .*", "input.undersampling input.undersampling_at_the_edge"),
    (r"device     (.+)", "device"),
    (r"method     .*, at most \d+ iterations?, tolerance \S+(?: or less)?, lambda \S+ \((.+)\), (?:single|double) precision, "
     r"about .* of memory, about .*", "reconstruction.prior"),
    (r"method     .*, (?:single|double) precision, about .* of memory, about .*", ""),
    (r"prior      (.+), because (.+)", "reconstruction.prior reconstruction.prior_chosen_because"),
    (r"series     (\d+) frames are solved together", "reconstruction.window_frames"),
    (r"series     (\d+) windows of (\d+) frames are solved; each shares at least (\d+) frames with the next",
     "reconstruction.windows reconstruction.window_frames reconstruction.window_overlap"),
    (r"part       (\d+) of (\d+): (\d+) of (\d+) frames, to .+",
     "pieces.part pieces.parts pieces.count pieces.all"),
    (r"parts      (\d+) of .+ joined, (\d+) frames", "pieces.joined pieces.count"),
    (r"kept       (\d+) of (\d+) frames, from .+", "pieces.kept pieces.count"),
    (r"image      (.+): \d+ volumes? of [\dx ]+", "image"),
    (r"coils      (.+)", "reconstruction.coils"),
    (r"encoding   (.+)", "reconstruction.encoding"),
    (rf"noise      {N} per sample, (.+)", "reconstruction.noise_sigma reconstruction.noise_rests_on"),
    (rf"           the residual of all samples is {N} times the noise: .*", "misfit"),
    (rf"           \d+ of (\d+) frames have other noise, .*", "input.frames"),
    (rf"lambda     {N} times that of auto, by SURE: the least predicted risk of (\d+), found with (\d+) applications of "
     r"F\^H W F", "reconstruction.sure.factor tried reconstruction.sure.applications_of_normal"),
    (rf"sparsity   (\d+) applications of F\^H W F, objective {N}",
     "reconstruction.applications_of_normal reconstruction.objective"),
    (rf"           expected error relative to the image's RMS: noise {N} %, bias {N} %", "expected_noise expected_bias"),
    (r"phase      (.+)", "reconstruction.phase"),
    (rf"           lambda relative to the diagonal: {N}", "reconstruction.lambda"),
    (rf"done       {TIME}, (\d+) iterations?(?: in all frames)?, residual {N}(?: \(the tolerance was not reached\))?",
     "reconstruction.iterations reconstruction.residual"),
    (rf"done       {TIME}", ""),
    (rf"error      {FIGURES}(?: \(of the first volume\))?", "error.mse error.psnr_db error.snr_db error.percent"),
    (rf"(?:error     |          ) volume (\d+): {FIGURES}(?: \(the worst\))?", "volume mse psnr_db snr_db percent"),
    (rf"           mean of (\d+) volumes: {FIGURES}",
     "input.frames error_mean.mse error_mean.psnr_db error_mean.snr_db error_mean.percent"),
    (r"noise map  .+, from \d+ replicas", ""),
    (r"picture    .+", ""),
]


def value_of(report, key, groups):
    """The report's value of a dotted key, or what follows from several."""
    made = report["reconstruction"]
    if key == "misfit":
        return made["misfit"] ** 0.5
    if key == "tried":
        return len(made["sure"]["factors_tried"])
    if key.startswith("expected_"):
        return 100 * made[key] / made["expected_signal"]
    if key in ("volume", "mse", "psnr_db", "snr_db", "percent"):
        return int(groups[0]) if key == "volume" else report["error_of_volumes"][groups[0]][key]
    at = report
    for part in key.split("."):
        at = at[int(part)] if isinstance(at, list) else at[part]
    return at


def agrees(text, value):
    """Whether a printed text is the value: at most half a unit of its last digit off, which is what printf rounds by, and
    1e-9 of that for the double that is just above a half. %g leaves out zeros at the end, so there it may be more."""
    if isinstance(value, str):
        return text == value
    if value is None:  # infinite, or NaN
        return not Decimal(text).is_finite()
    digit = Decimal(text)
    slack = Decimal("0.5").scaleb(digit.as_tuple().exponent) * (1 + Decimal("1e-9"))
    return abs(digit - Decimal(value)) <= slack


def told(*arguments):
    """Runs, and compares the lines with the report. Returns the lines' numbers in LINES."""
    out = make(*arguments, "-o", "i.h5", "--report", "r.json").out
    with open("r.json") as file:
        report = json.load(file)
    seen = set()
    for line in out.splitlines():
        known = [(n, re.fullmatch(form, line), keys.split()) for n, (form, keys) in enumerate(LINES)]
        known = [one for one in known if one[1]]
        assert known, f"a line that this test does not know; is it in the report? {line!r}"
        number, match, keys = known[0]
        seen.add(number)
        assert len(match.groups()) == len(keys), (line, keys)
        for text, key in zip(match.groups(), keys):
            value = value_of(report, key, match.groups())
            assert agrees(text, value), f"{line!r}: {text} is {value} in the report, {key}"
    return seen


def heads(seen):
    return {LINES[n][0].split()[0].strip() for n in seen if not LINES[n][0].startswith(("           ", "(?:"))}


HEAD = ("--phantom", "head", "--matrix", "48,48,1", "--seed", program_seed())


def test_one_image():
    phantom("s.h5", *HEAD, "--spokes", 30, "--image-snr", 30)
    seen = heads(told("s.h5", "--compare", "truth", "--picture", "p.png"))
    assert {"scan", "device", "method", "prior", "image", "coils", "encoding", "noise", "done", "error", "picture"} <= seen, seen
    told("s.h5", "--lambda", 0.05, "--prior", "identity", "--iterations", 3)
    told("s.h5", "--prior", "differences")
    told("s.h5", "--method", "gridding")


def test_coils():
    scan = (*HEAD, "--coils", 4, "--trajectory", "cartesian")
    phantom("p.h5", *scan, "--partial-fourier", 0.625, "--image-snr", 30)
    phantom("a.h5", *scan, "--accelerate", 2, "--image-snr", 30, "--without", "sensitivity")
    assert "phase" in heads(told("p.h5", "--prior", "spectrum"))
    assert "noise" in heads(told("p.h5", "--noise-map", "n.h5", "--replicas", 3))
    assert {"lambda", "sparsity"} <= heads(told("a.h5", "--prior", "wavelet", "--lambda", "sure"))


def test_series():
    phantom("s.h5", "--phantom", "head", "--matrix", "24,24,1", "--frames", 10, "--coils", 3, "--spokes", 10, "--continue",
            "--image-snr", 20, "--seed", program_seed())
    assert {"series", "sparsity"} <= heads(told("s.h5", "--compare", "truth"))
    told("s.h5", "--prior", "temporal", "--window", 6)
    for part in 1, 2:
        assert "part" in heads(told("s.h5", "--prior", "spectrum", "--part", f"{part}/2"))
    assert "parts" in heads(told("s.h5", "--prior", "spectrum", "--join"))


run_tests(globals())
