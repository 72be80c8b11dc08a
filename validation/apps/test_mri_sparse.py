#!/usr/bin/env python3
"""--prior wavelet, tv and tgv: the solvers against each other, errors of undersampled scans, scans without signal,
units, identical bits, lambda, shapes of scans, the automatic choice, memory, and invalid combinations.

usage: test_mri_sparse.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import os
import subprocess
import sys
import tempfile

import program
from made_scan import peak
from plain_scan import along, forward, maps_of, noise_like, radial, write_scan
from program import Skip, make, refuse
from seeds import generator, program_seed

PHANTOM = os.environ.get("VOXFIELD_PHANTOM") or sys.exit("VOXFIELD_PHANTOM is not set")
SEED = program_seed()
try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None
N, COILS, SPOKES, SIGMA = 32, 4, 14, 1.0  # 50 spokes would be complete


def need_h5py():
    if h5py is None:
        raise Skip("no h5py")


def phantom(path, *options):
    subprocess.run([PHANTOM, "-q", "-o", path, *map(str, options)], check=True, stdin=subprocess.DEVNULL)


def truth_of(n=N):
    """Flat ellipses in a disc."""
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    return ((x / 0.4) ** 2 + (y / 0.43) ** 2 < 1) + 0.7 * (((x - 0.1) / 0.1) ** 2 + ((y + 0.1) / 0.15) ** 2 < 1)


def write(path, signal=1.0, n=N, coils=COILS, scale=1.0, spokes=SPOKES):
    """Writes a radial scan with noise, and a noise scan, both times `scale`."""
    rng = generator()
    k, maps = radial(spokes, n), maps_of(coils, n)
    clean = forward(k, maps * truth_of(n))
    data = signal * clean + noise_like(clean, rng, SIGMA)
    noise = noise_like(numpy.empty((coils, 4000)), rng, SIGMA)
    write_scan(path, k, scale * data, maps, n, noise=(scale * noise).astype("c8"))


def image(scan, *options):
    """Returns the image, and the report's reconstruction."""
    make(scan, *options, "-q", "-o", "i.h5", "--report", "r.json")
    with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
        values = file["image"][...]
        assert numpy.all(numpy.isfinite(values)), options
        return values, json.load(report)["reconstruction"]


def relative(a, b):
    return numpy.linalg.norm(a - b) / numpy.linalg.norm(b)


def rms(a):
    return numpy.linalg.norm(a) / a.size ** 0.5


# ---- the solvers ----


def test_solvers_agree(_):
    """The objective P is convex. At a point with a primal residual p and a dual one d (relative to |T x| and
    |b|), P exceeds the minimum by at most d |b| |x - x*| + p |T x| |y|, where y is a subgradient. If |A x| <= |b|,
    |b| |x| is at most twice the data's part of P. The same holds for |y| |T x|, because T^H y = b - A x. So
    objectives agree to a few times the tolerance times the largest term; 10 leaves room for both solvers. P grows
    at least with the smallest eigenvalue m of A: |x - x*|^2 <= 2 (P - P*) / m, and with 28 spokes m is a few
    hundredths of the mean eigenvalue. So images certainly differ by less than sqrt(2 x 10 x 1e-5 / 0.02) = 0.1. The
    bound is a tenth of that, three times the measured value."""
    need_h5py()
    write("s.h5", spokes=28)
    exact = ("--tolerance", 1e-5, "--iterations", 20000, "--precision", "double", "--coils", "file")
    one = ("--prior", "wavelet", "--wavelet", "haar", "--shifts", 1)
    two = ("--prior", "wavelet+tv", "--shifts", 2)
    field = ("--prior", "tgv")
    for prior, solvers in ((one, ("admm", "primal-dual", "fista")), (two, ("admm", "primal-dual")),
                           (field, ("admm", "primal-dual"))):
        found = {solver: image("s.h5", *prior, *exact, "--solver", solver) for solver in solvers}
        first, report = found["admm"]
        assert report["residual"] <= 1e-5, report
        for solver in solvers[1:]:
            other, of_other = found[solver]
            assert of_other["residual"] <= 1e-5, (solver, of_other)
            off = abs(of_other["objective"] - report["objective"]) / abs(report["objective"])
            print(f"    {prior[1]} {solver}: objective off by {off:.1e}, image by {relative(other, first):.1e}")
            assert off <= 10 * 1e-5, (prior, solver, off)
            assert relative(other, first) <= 1e-2, (prior, solver, relative(other, first))


def test_lower_error(_):
    """An undersampled head: the wavelet prior has a lower error than the prior spectrum."""
    need_h5py()
    flat = ("--matrix", "96,96,1", "--coils", 8, "--trajectory", "golden-angle")
    deep = ("--matrix", "24,24,24", "--coils", 4, "--trajectory", "koosh-ball")
    for name, options in {"R = 4": (*flat, "--spokes", 38), "R = 8": (*flat, "--spokes", 19),
                          "koosh": (*deep, "--spokes", 300)}.items():
        phantom("s.h5", *options, "--phantom", "head", "--image-snr", 20, "--noise-scan", "--seed", SEED)
        errors = {}
        for prior in "spectrum", "wavelet":
            values = abs(image("s.h5", "--prior", prior, "--coils", "file")[0])
            with h5py.File("s.h5") as file:
                truth = abs(file["scan/truth"][...]).reshape(values.shape)
            errors[prior] = relative(values * (values * truth).sum() / (values ** 2).sum(), truth)
        print(f"    {name}: {errors}")
        assert 0 < errors["wavelet"] < errors["spectrum"], (name, errors)


def test_start(_):
    """The solver starts from the first image, that of the prior spectrum, with multipliers that fit it: an iteration later it is
    nearer to the solution. One iteration from 0 is not near either: ADMM's first multipliers are 0, and the result 0.3 to 0.7 off."""
    need_h5py()
    write("s.h5")
    common = ("--coils", "file", "--prior")
    solution = image("s.h5", *common, "wavelet", "--tolerance", 1e-5, "--iterations", 1000)[0]
    first = image("s.h5", *common, "spectrum")[0]
    for prior in "wavelet", "tgv":
        once = image("s.h5", *common, prior, "--iterations", 1)[0]
        print(f"    {prior}: {relative(once, solution):.3f} after an iteration, first image {relative(first, solution):.3f}")
        assert relative(once, solution) < 1.3 * relative(first, solution), prior
    assert relative(first, solution) < 0.2, relative(first, solution)


# ---- no signal ----


def test_noise_alone(_):
    """In pure noise, coefficients of the finest bands of F^H W n have the standard deviation lambda, so |c|^2 /
    lambda^2 is exponentially distributed. After a threshold t lambda, the variance is multiplied by E max(0, |c| -
    t lambda)^2 / lambda^2 = exp(-t^2) - t sqrt(pi) erfc(t). Its root is 0.30 for t = 1 and 0.04 for t = 2. Coarser
    bands have more noise in F^H W n, because more samples see them, and so less in the image. The coarsest band, at
    most a 64th of the numbers, keeps all its noise: a root of 0.12. So on a complete scan, at most 0.42 and 0.16 of
    gridding's noise remains, plus 20 % for other bands and chance. With few samples, small eigenvalues of F^H W F
    amplify the rest: at most to the noise of gridding, and at 2 lambda to a fifth of it."""
    need_h5py()
    write("s.h5", signal=0)
    write("full.h5", signal=0, spokes=50)
    for scan, most in ("s.h5", (1, 0.2)), ("full.h5", (1.2 * 0.42, 1.2 * 0.16)):
        plain = rms(image(scan, "--method", "gridding", "--coils", "file")[0])
        one = rms(image(scan, "--prior", "wavelet", "--coils", "file")[0])
        two = rms(image(scan, "--prior", "wavelet", "--lambda", "auto:2", "--coils", "file")[0])
        print(f"    {scan}: gridding {plain:.3g}, wavelet {one:.3g}, auto:2 {two:.3g}")
        assert 0 < plain and one <= most[0] * plain and two <= most[1] * plain, (scan, plain, one, two)


def test_unit(_):
    """The unit of lambda is the root mean square of Haar's finest coefficients, in all bands with details, of F^H n. Some 1,000
    independent coefficients give it to 2 %. The kernel that spreads samples to their density is some frequencies wide, a tenth of
    these k-spaces: the response of the bands changes by a fifth over that at most, its root by a tenth."""
    need_h5py()
    for options in (("--matrix", "64,64,1", "--spokes", 32), ("--matrix", 24, "--spokes", 300),
                    ("--matrix", "32,32,1", "--trajectory", "cartesian", "--accelerate", 2)):
        phantom("u.h5", *options)
        with h5py.File("u.h5", "a") as file:
            scan = file["scan"]
            k, data = scan["trajectory"][...].reshape(-1, 3), scan["data"]
            data[...] = noise_like(data, generator(), SIGMA)
            noise, counts = data[...].ravel(), scan.attrs["matrix"]
            scan["noise"] = noise_like(numpy.empty((1, 4000)), generator(), SIGMA).astype("c8")
        _, report = image("u.h5", "--prior", "wavelet")
        x, y, z = (along(k[:, a], counts[a]).conj() for a in range(3))
        values = (z.T @ (noise[:, None, None] * y[:, :, None] * x[:, None, :]).reshape(len(k), -1)).reshape(counts[::-1])
        smooth, total = values, (abs(values) ** 2).sum()
        for axis in range(3):
            if counts[axis] > 1:
                smooth = numpy.moveaxis(smooth, 2 - axis, 0)
                smooth = numpy.moveaxis((smooth[::2] + smooth[1::2]) / 2 ** 0.5, 0, 2 - axis)
        expected = ((total - (abs(smooth) ** 2).sum()) / (values.size - smooth.size)) ** 0.5 / SIGMA
        print(f"    {options}: unit {report['noise_unit']:.4g}, coefficients {expected:.4g}")
        assert abs(report["noise_unit"] / expected - 1) < 0.12, (options, report["noise_unit"], expected)


def test_zeros(_):
    """All-zero data give an all-zero image, with and without a noise scan."""
    need_h5py()
    write("s.h5")
    with h5py.File("s.h5", "a") as file:
        file["scan/data"][...] = 0
    for _ in range(2):
        for prior in "wavelet", "tv", "tgv", "wavelet+tv":
            values, report = image("s.h5", "--prior", prior, "--coils", "file")
            assert not numpy.any(values) and report["objective"] == 0, (prior, report)
        with h5py.File("s.h5", "a") as file:
            if "noise" in file["scan"]:
                del file["scan/noise"]


# ---- units, bits ----


def test_scale(_):
    """Data in another unit, a power of two, give the same bits in the mantissas. Either the noise scan has the same
    unit, or lambda comes from the data. (With a noise scan, data are divided by the noise, so the image keeps its
    numbers and the maps the scale.)"""
    need_h5py()
    for keeps in True, False:
        images = []
        for scale in 1, 4:
            write("s.h5", scale=scale)
            if not keeps:
                with h5py.File("s.h5", "a") as file:
                    del file["scan/noise"]
            images.append(image("s.h5", "--prior", "wavelet+tv", "--coils", "file")[0])
        assert numpy.any(images[0])
        assert numpy.array_equal(images[1], 4 * images[0]), (keeps, relative(images[1], 4 * images[0]))


def test_same_bits(_):
    """The same input, and any number of threads, give the same bits. Two devices add up their coils in another
    order, so single-precision sums differ by 1e-6, and the solutions by about the solver's tolerance."""
    need_h5py()
    write("s.h5", n=33)
    settings = ("--prior", "wavelet+tv", "--coils", "file", "--tolerance", 1e-4)
    first = image("s.h5", *settings, "--threads", 1)[0]
    assert numpy.array_equal(first, image("s.h5", *settings, "--threads", 4)[0])
    assert numpy.array_equal(first, image("s.h5", *settings, "--threads", 1, "--seed", 1)[0])
    assert not numpy.array_equal(first, image("s.h5", *settings, "--threads", 1, "--seed", 2)[0])
    if program.DEVICE == "cpu":
        pair = image("s.h5", *settings, "--threads", 2, "--device", "cpu:0,1")[0]
        assert relative(pair, first) <= 1e-3, relative(pair, first)
        assert numpy.array_equal(pair, image("s.h5", *settings, "--threads", 2, "--device", "cpu:0,1")[0])


# ---- lambda ----


def test_lambda(_):
    """auto:F multiplies the lambda of each prior. A number is lambda in units of the noise. 0 switches the prior
    off. A larger lambda makes the penalty's sum smaller: sum |c| = term / lambda."""
    need_h5py()
    write("s.h5", spokes=28)
    reports = {word: image("s.h5", "--prior", "wavelet+tv", "--coils", "file", "--lambda", word)[1]
               for word in ("auto", "auto:1", "auto:2", "2", "0")}
    one = reports["auto"]
    assert one == {**reports["auto:1"], "method": one["method"]}, reports
    for prior in "wavelet", "tv":
        values = {word: report[prior]["lambda"] for word, report in reports.items()}
        assert 0 < values["auto"] and abs(values["auto:2"] / values["auto"] - 2) <= 1e-12, values
        assert abs(values["2"] / one["noise_unit"] - 2) <= 1e-12 and values["0"] == 0, (values, one)
        sums = {word: reports[word][prior]["term"] / values[word] for word in ("auto", "auto:2")}
        assert 0 < sums["auto:2"] < sums["auto"], sums
        assert reports["0"][prior]["term"] == 0, reports["0"]
    for word, number in ("auto", 1), ("auto:2", 2), ("2", 2), ("0", 0):
        assert reports[word]["lambda"] == number, (word, reports[word])
        assert reports[word]["lambda_chosen_by"] == ("noise" if "auto" in word else "number"), reports[word]


def test_report(_):
    """The objective is the sum of the data's part, |F x - d|^2 / 2 - |d|^2 / 2, and the terms. It is negative at a
    solution. F is accurate to 1e-6, and the solver updates F^H W F x in single precision: 1e-4 of |d|^2 / 2 leaves
    room for both, and every term is larger than that. Without a noise scan, data are not whitened."""
    need_h5py()
    write("s.h5")
    with h5py.File("s.h5", "a") as file:
        k, data, maps = (file[f"scan/{name}"][...] for name in ("trajectory", "data", "sensitivity"))
        noise = file["scan/noise"][...]
        del file["scan/noise"]
    for prior in "wavelet", "tv", "tgv", "wavelet+tv", "tgv+wavelet":
        values, report = image("s.h5", "--prior", prior, "--coils", "file", "--lambda", "auto:10")
        left = forward(k, maps[:, 0] * values.reshape(N, N)) - data
        whole = numpy.linalg.norm(data) ** 2 / 2
        terms = [report[name]["term"] for name in prior.split("+")]
        part = numpy.linalg.norm(left) ** 2 / 2 - whole
        assert abs(part + sum(terms) - report["objective"]) <= 1e-4 * whole, (part, terms, report["objective"])
        assert min(terms) > 1e-3 * whole, (terms, whole)
    with h5py.File("s.h5", "a") as file:
        file["scan/noise"] = noise
    for prior, solver in ("wavelet", "admm"), ("tv", "primal-dual"), ("wavelet+tv", "admm"):
        _, report = image("s.h5", "--prior", prior, "--coils", "file", "--solver", solver)
        assert report["prior"] == prior, report
        assert report["solver"] == {"admm": "ADMM", "primal-dual": "primal-dual method"}[solver], report
        assert 0 < report["noise_unit"] and report["applications_of_normal"] >= report["iterations"] > 0, report
        assert 0 < report["residual"] < 1 and report["noise_sigma"] == 1, report
        terms = [report[name]["term"] for name in prior.split("+")]
        assert all(term > 0 for term in terms) and report["objective"] < 0, report
        for name in "lambda_absolute", "expected_noise", "expected_bias":
            assert name not in report, (name, report)


# ---- shapes of scans ----


def test_shapes(_):
    """One coil, no maps, two sets of maps, odd matrices, several frames, 3D."""
    need_h5py()
    write("one.h5", coils=1, spokes=50)
    write("odd.h5", n=33, spokes=50)
    phantom("frames.h5", "--matrix", "32,32,1", "--frames", 3, "--coils", 4, "--image-snr", 30, "--noise-scan")
    phantom("deep.h5", "--matrix", "12,14,16", "--trajectory", "koosh-ball", "--spokes", 200, "--coils", 2,
            "--image-snr", 30, "--noise-scan")
    print("    error relative to the prior spectrum:")
    for scan, options in (("one.h5", ()), ("odd.h5", ()), ("odd.h5", ("--coils", "rss")),
                          ("frames.h5", ("--coils", "espirit", "--map-sets", 2)), ("frames.h5", ()),
                          ("deep.h5", ())):
        # On a nearly complete scan, both priors show the same object.
        plain = image(scan, *options)[0]
        for prior in "wavelet", "tv", "tgv":
            values = image(scan, "--prior", prior, *options)[0]
            print(f"      {scan} {options} {prior}: {relative(abs(values), abs(plain)):.3f}")
            assert values.shape == plain.shape and relative(abs(values), abs(plain)) < 0.3, (
                scan, options, prior, relative(abs(values), abs(plain)))


def test_volume(_):
    """A koosh ball with gaps, off resonance. The cosine preconditioner and kept directions need 24 applications of F^H W F, a
    circulant one 48. The image is within 0.6 % of the solution; the bar is twice that."""
    need_h5py()
    phantom("ball.h5", "--phantom", "head", "--matrix", 32, "--spokes", 270, "--coils", 4, "--field-hz", 60, "--readout-ms", 8,
            "--image-snr", 20)
    values, made = image("ball.h5", "--prior", "wavelet")
    solution = image("ball.h5", "--prior", "wavelet", "--tolerance", 3e-4)[0]
    print(f"    {made['applications_of_normal']} applications, {relative(values, solution):.4f} from the solution")
    assert made["applications_of_normal"] <= 34, made
    assert relative(values, solution) <= 0.012, relative(values, solution)


# ---- the automatic choice ----


def test_automatic_prior(_):
    """Without --prior, the program chooses wavelets for undersampled images, with differences in time for series of
    at least four frames, and otherwise the spectrum. Giving that prior by name changes nothing. Frames with
    different contrasts are not a series."""
    need_h5py()
    write("under.h5")
    write("complete.h5", spokes=60)
    phantom("three.h5", "--matrix", "32,32,1", "--spokes", 12, "--frames", 3, "--image-snr", 20, "--noise-scan")
    phantom("four.h5", "--matrix", "32,32,1", "--spokes", 12, "--frames", 4, "--image-snr", 20, "--noise-scan")
    for scan, options, same in (("under.h5", (), "wavelet"), ("complete.h5", (), "spectrum"),
                                ("under.h5", ("--noise-map", "n.h5"), "spectrum"), ("three.h5", (), "wavelet"),
                                ("three.h5", ("--lambda", "sure"), "wavelet"),
                                ("four.h5", (), "wavelet+temporal")):
        chosen, report = image(scan, *options)[:2]
        named = image(scan, "--prior", same, *options)[0]
        assert numpy.isfinite(chosen).all() and (chosen == named).all(), (scan, same)
        assert report["prior"] == ("the image's spectrum" if same == "spectrum" else same), report
        assert report["prior_chosen_because"], report
    assert (image("complete.h5")[0] == image("complete.h5", "--prior", "auto")[0]).all()
    assert "--lambda sure has no effect" in make("complete.h5", "--lambda", "sure", "-o", "i.h5").err
    assert image("under.h5", "--lambda", 2)[1]["prior"] == "identity"
    refuse(2, "--prior auto needs --lambda auto", "under.h5", "--prior", "auto", "--lambda", 2)


# ---- memory ----


def test_memory(_):
    """The plan includes the vectors of ADMM: one more for each shift of each of two wavelets, with at most 1 % of
    padding. The peak must not exceed the estimate by more than it does without a prior. Seven more shifts make the
    solver the stage that needs the most memory (on some machines that is otherwise reading or calibration). From
    one shift to eight, estimate and peak rise equally. 2 MiB are allowed for pages and for the digits of the plan's
    text."""
    need_h5py()
    side, slack = 384, 2 ** 21
    phantom("s.h5", "--matrix", f"{side},{side},1", "--spokes", 60, "--coils", 2, "--image-snr", 20, "--noise-scan")
    plain, *others = [peak("s.h5", "--coils", "file", "--iterations", 2, *options) for options in (
        ("--prior", "spectrum"), ("--prior", "tv"), ("--prior", "wavelet", "--shifts", 1), ("--prior", "wavelet", "--shifts", 8),
        ("--prior", "tgv"))]
    print(f"    estimates and peaks: {plain}, {others}")
    more = others[2][0] - others[1][0] - 14 * 8 * side ** 2
    assert -slack <= more <= 0.02 * 14 * 8 * side ** 2 + slack, others
    if program.DEVICE == "cuda" or program.is_sanitized():
        return  # the estimate is for the device's memory, or a sanitizer uses additional memory
    for expected, found in others:
        assert found - plain[1] <= expected - plain[0] + slack, (plain, others)
    rise = others[2][1] - others[1][1]
    assert abs(rise - more - 14 * 8 * side ** 2) <= slack, (plain, others)


# ---- invalid combinations ----


def test_refused(_):
    """Invalid words and combinations."""
    need_h5py()
    write("s.h5")
    sparse = ("s.h5", "--prior", "wavelet")
    for option in ("--solver", "fista"), ("--wavelet", "db2"), ("--shifts", 2), ("--seed", 3):
        refuse(2, "need a sparse prior", "s.h5", *option)
        refuse(2, "need a sparse prior", "s.h5", "--prior", "spectrum", *option)
    for options in ((*sparse, "--wavelet", "db2", "--shifts", 2), (*sparse, "--shifts", 1),
                    (*sparse, "--wavelet", "db2"), ("s.h5", "--prior", "tv"), ("s.h5", "--prior", "tgv"),
                    ("s.h5", "--prior", "wavelet+tv", "--wavelet", "db2", "--shifts", 1)):
        refuse(2, "--solver fista needs --prior wavelet", *options, "--solver", "fista")
    for word in "wavelet+wavelet", "wavelet+spectrum", "spectrum+wavelet", "wavelet+tv+wavelet", "auto+tv":
        refuse(2, "only two different sparse priors", "s.h5", "--prior", word)
    for word in "wavelet+", "+wavelet", "wavelets", "wavelet,tv", "":
        refuse(2, "--prior", "s.h5", "--prior", word)
    refuse(2, "--partial-fourier needs --prior spectrum", *sparse, "--partial-fourier", "auto")
    refuse(2, "--noise-map needs a linear method", *sparse, "--noise-map", "n.h5")
    refuse(2, "--prior needs --method cg", *sparse, "--method", "adjoint")
    refuse(2, "--wavelet needs --prior wavelet", "s.h5", "--prior", "tv", "--wavelet", "db2")
    refuse(2, "--shifts needs --prior wavelet or llr", "s.h5", "--prior", "temporal", "--shifts", 2)
    phantom("odd.h5", "--matrix", "50,50,1", "--spokes", 20)
    refuse(2, "wavelets do not have to pad", "odd.h5", "--prior", "wavelet", "--wavelet", "db2", "--shifts", 1, "--solver", "fista")
    wrong = {"--shifts": ("0", "9", "x"), "--wavelet": ("db5", "1"), "--solver": ("cg",), "--seed": ("-1",)}
    for option, words in wrong.items():
        for word in words:
            refuse(2, option, *sparse, option, word)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        probe = os.path.join(folder, "probe.h5")
        subprocess.run([PHANTOM, "-q", "-o", probe, "--matrix", "8,8,1"], check=True, stdin=subprocess.DEVNULL)
        program.main(globals(), probe=(probe, "--dry-run"))
