#!/usr/bin/env python3
"""--lambda sure: the predicted error and the error of the image against a sweep of lambda, objects for which the
automatic lambda is bad, series, the report, one choice for all frames, identical bits, scans without noise, and
invalid options.

usage: test_mri_sure.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json

import program
from made_scan import h5py, need_h5py, numpy, phantom, relative, run_tests
from plain_scan import exponentials, maps_of, noise_like, radial, write_scan
from program import make, refuse
from seeds import generator, program_seed

SEED = program_seed()
FACTORS = (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4)  # of the automatic lambda
HEAD = ("--phantom", "head", "--matrix", "64,64,1", "--coils", 6, "--oversample", 2, "--noise-scan", "--seed", SEED)


def image(scan, *options, prior="wavelet"):
    """Returns the complex image, the report, and the program's output."""
    done = make(scan, "--prior", prior, *options, "-o", "i.h5", "--report", "r.json")
    with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
        values = file["image"][...]
        values = values.view("c8") if values.dtype.kind == "V" else values
        assert numpy.all(numpy.isfinite(values)), options
        return values, json.load(report), done.out


def made(scan, *options, **more):
    values, report, _ = image(scan, *options, **more)
    return values, report["reconstruction"]


def choice(report):
    """Returns the report's part on the choice, after checks that every choice must pass."""
    sure = report["sure"]
    risks, factors = sure["risks"], sure["factors_tried"]
    assert len(risks) == len(factors) == len(sure["degrees_of_freedom"]) >= 3, sure
    assert factors[0] == 1 and sure["factor"] == factors[risks.index(min(risks))], sure
    assert all(1 / 8 <= factor <= 8 for factor in factors), sure
    assert report["lambda_chosen_by"] == "noise and SURE" and sure["applications_of_normal"] > 0, report
    return sure


# ---- against a sweep ----


def plain(path, rng, sigma, n=40, spokes=16, coils=4):
    """Writes a radial scan of a disc with a texture; returns a function that computes F (x - x0). The object
    consists of voxels, so the data have no errors except noise."""
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    truth = (((x / 0.4) ** 2 + (y / 0.43) ** 2 < 1) * (1 + 0.3 * numpy.cos(40 * x + 9 * rng.random()))
             + 0.7 * (((x - 0.1) / 0.1) ** 2 + ((y + 0.1) / 0.15) ** 2 < 1))
    k, maps = radial(spokes, n), maps_of(coils, n).reshape(coils, -1)
    waves = exponentials(k, n)
    clean = (maps * truth.ravel()) @ waves
    noise = noise_like(numpy.empty((coils, 20000)), rng, sigma)
    write_scan(path, k, clean + noise_like(clean, rng, sigma), maps.reshape(coils, n, n), n, noise=noise.astype("c8"))
    return lambda values: (maps * values.ravel()) @ waves - clean


def test_predicted_error(_):
    """P = |F (x - x0)|^2 / sigma^2 of the chosen image is the least of a sweep, up to chance and the spacing of the
    factors.

    Chance: the difference of the risks of two images x and x' is the difference of their P plus 2 (e - Re <x' - x,
    F^H n> / sigma^2), where e is the estimate of f' - f; the mean of this is 0. Both terms come from the change J
    of the estimate's derivative. Its eigenvalues are below 1 and of one sign, so each term has a variance of at
    most their sum |f' - f|. The second term has an additional |F (x' - x)|^2 / (2 sigma^2).

    Spacing: the factors are 1.41 apart. If P is a parabola, the lowest P of the sweep exceeds its
    minimum by less than it differs from its neighbour. The search itself has a finer spacing.

    Noise: a share of the misfit counts as noise, and whitening knows sigma to 1 %. A relative error s of the
    variance changes the difference of the risks by 2 s |f' - f|."""
    need_h5py()
    rng = generator()
    for sigma in 0.5, 3:
        error = plain("s.h5", rng, sigma)
        for prior in "wavelet", "tv":
            swept = {}
            for factor in FACTORS:
                left = error(made("s.h5", "--coils", "file", "--lambda", f"auto:{factor}", prior=prior)[0])
                swept[factor] = (numpy.linalg.norm(left / sigma) ** 2, left / sigma)
            values, report = made("s.h5", "--coils", "file", "--lambda", "sure", prior=prior)
            sure, left = choice(report), error(values) / sigma
            best = min(swept, key=lambda factor: swept[factor][0])
            found, least = numpy.linalg.norm(left) ** 2, swept[best][0]
            at = FACTORS.index(best)
            near = min(swept[f][0] for f in FACTORS[max(0, at - 1):at + 2] if f != best) - least
            tried = sorted(zip(numpy.log(sure["factors_tried"]), sure["degrees_of_freedom"]))
            freedom = abs(numpy.interp(numpy.log(sure["factor"]), *zip(*tried)) - numpy.interp(numpy.log(best), *zip(*tried)))
            chance = 2 * (numpy.linalg.norm(left - swept[best][1]) ** 2 / 2 + 2 * freedom) ** 0.5
            unsure = 2 * (min(report["misfit"] ** (1 / 3), 3) - 1 + 0.02) * freedom
            most = least + near + 4 * chance + unsure
            worst = max(value for value, _ in swept.values())
            print(f"    sigma {sigma}, {prior}: factor {sure['factor']:.2f}, P {found:.0f}; sweep: factor {best}, P {least:.0f} "
                  f"to {worst:.0f}; bound {most:.0f}")
            assert found <= most, (sigma, prior, found, most)
            assert most < worst, (sigma, prior, most, worst)


def errors(scan, words, prior):
    """Returns the error of the image for each lambda, as the program reports it, and the last report."""
    found = {}
    for word in words:
        report = image(scan, "--lambda", word, "--compare", "truth", prior=prior)[1]
        found[word] = report["error"]["scaled"]["percent"]
        assert numpy.isfinite(found[word]) and found[word] > 0, (word, report)
    return found, report["reconstruction"]


def test_error(_):
    """Undersampled heads. SURE cannot see errors that affect no sample, so it gives no bound for the error of the
    image. Measured with five seeds: 0.99 to 1.08 of the least error of the sweep."""
    need_h5py()
    for spokes, snr in (16, 5), (32, 15), (32, 60):
        phantom("s.h5", *HEAD, "--spokes", spokes, "--image-snr", snr)
        found, report = errors("s.h5", [f"auto:{factor}" for factor in FACTORS[1:-1]] + ["sure"], "wavelet")
        least = min(value for word, value in found.items() if word != "sure")
        print(f"    {spokes} spokes, SNR {snr}: sure {found['sure']:.2f} % at {choice(report)['factor']:.2f}, "
              f"auto {found['auto:1']:.2f} %, least {least:.2f} %, ratio {found['sure'] / least:.3f}")
        assert found["sure"] <= 1.1 * least, (spokes, snr, found)


def test_other_objects(_):
    """Noisy objects with fewer edges than a head: as near to the least error of the sweep as heads."""
    need_h5py()
    phantom("s.h5", "--phantom", "ellipsoids", *HEAD[2:], "--spokes", 21, "--image-snr", 5)
    found, report = errors("s.h5", [f"auto:{factor}" for factor in FACTORS[1:-1]] + ["sure"], "tv")
    print(f"    {found}, factor {report['sure']['factor']:.2f}")
    assert found["sure"] <= 1.1 * min(value for word, value in found.items() if word != "sure"), found


def test_series(_):
    """Frames that are solved together, and two priors that share one factor."""
    need_h5py()
    phantom("s.h5", "--matrix", "40,40,1", "--coils", 4, "--spokes", 8, "--frames", 5, "--continue", "--oversample", 2,
            "--image-snr", 8, "--noise-scan", "--seed", SEED)
    for prior in "llr", "wavelet+temporal":
        found, report = errors("s.h5", ("auto", "sure"), prior)
        automatic = made("s.h5", prior=prior)[1]
        factor = choice(report)["factor"]
        print(f"    {prior}: {found}, factor {factor:.2f}")
        for name in prior.split("+"):
            assert abs(report[name]["lambda"] / automatic[name]["lambda"] / factor - 1) <= 1e-9, (report, automatic)
        assert found["sure"] <= 1.1 * found["auto"], found


# ---- output, and the choice for several frames ----


def flat(path, *options):
    """An object that is not a head."""
    phantom(path, "--phantom", "ellipsoids", "--matrix", "40,40,1", "--coils", 3, "--spokes", 20, "--image-snr", 4,
            "--noise-scan", "--seed", SEED, *options)


def test_one_choice(_):
    """All frames have the same factor, with and without maps. --lambda auto with that factor gives the same image,
    up to rounding in the solver."""
    need_h5py()
    flat("s.h5", "--frames", 3)
    for options in (), ("--coils", "rss"):
        values, whole, said = image("s.h5", *options, "--lambda", "sure", prior="tv")
        report = whole["reconstruction"]
        factor = choice(report)["factor"]
        other, automatic = made("s.h5", *options, "--lambda", f"auto:{factor:.17g}", prior="tv")
        assert relative(values, other) <= 1e-5, relative(values, other)
        assert "sure" not in automatic and report["iterations"] == automatic["iterations"], automatic
        assert report["applications_of_normal"] == automatic["applications_of_normal"], automatic
        assert abs(report["tv"]["lambda"] / automatic["tv"]["lambda"] - 1) <= 1e-12, automatic
        assert "lambda sure (tv)" in said and f"lambda     {factor:.2f} times that of auto, by SURE" in said, said


def test_risk(_):
    """The risk is 2 (objective - terms) / variance + 2 f, for one image or for all coils. The reported image is the
    one whose risk was computed: the solver takes the same steps, up to the rounding of lambda, in single precision.
    Terms and data's part are below |d|^2 / 2, which is near the objective."""
    need_h5py()
    flat("s.h5")
    for options in (), ("--coils", "rss"):
        report = made("s.h5", *options, "--lambda", "sure", prior="tv")[1]
        sure = choice(report)
        at = sure["factors_tried"].index(sure["factor"])
        variance = report["noise_sigma"] ** 2 * min(report["misfit"] ** (1 / 3), 3)
        risk = 2 * (report["objective"] - report["tv"]["term"]) / variance + 2 * sure["degrees_of_freedom"][at]
        assert abs(sure["risks"][at] / risk - 1) <= 1e-4, (sure, risk)


def test_coarse(_):
    """Even far from convergence, the solver takes the same steps for both images of a factor. f counts degrees of
    freedom, so it is above 0 and at most the number of voxels, up to the randomness of the probe. Different steps
    would change the image by the tolerance, a hundred times the effect of the probe."""
    need_h5py()
    flat("s.h5", "--frames", 3)
    for prior, voxels in ("tv", 1600), ("llr", 4800):
        sure = choice(made("s.h5", "--tolerance", 0.1, "--lambda", "sure", prior=prior)[1])
        for freedom in sure["degrees_of_freedom"]:
            assert 0 < freedom <= voxels + 6 * voxels ** 0.5, (prior, sure)


def test_same_bits(_):
    """The same bits with any number of threads. The seed determines the probe (tv has no shifts). With two devices,
    risks differ only by rounding."""
    need_h5py()
    phantom("s.h5", "--matrix", "40,40,1", "--coils", 3, "--spokes", 16, "--image-snr", 10, "--noise-scan", "--seed", SEED)
    words = ("--lambda", "sure", "--seed")
    first, report = made("s.h5", *words, 7, "--threads", 1, prior="tv")
    for threads in 2, 3:
        other, again = made("s.h5", *words, 7, "--threads", threads, prior="tv")
        assert numpy.array_equal(first, other) and again["sure"] == report["sure"], (report["sure"], again["sure"])
    moved = made("s.h5", *words, 8, "--threads", 1, prior="tv")[1]["sure"]["degrees_of_freedom"][0]
    freedom = report["sure"]["degrees_of_freedom"][0]
    assert moved != freedom and abs(moved - freedom) <= 8 * freedom ** 0.5, (moved, freedom)
    if program.DEVICE == "cpu":
        pair = made("s.h5", *words, 7, "--device", "cpu:0,1", prior="tv")[1]["sure"]
        assert abs(pair["degrees_of_freedom"][0] - freedom) <= 0.01 * freedom, (pair, freedom)


def test_no_noise(_):
    """All-zero data: with a noise scan, the image is 0. Without one there is no noise to measure, so lambda is that
    of auto."""
    need_h5py()
    plain("s.h5", generator(), 1)
    with h5py.File("s.h5", "a") as file:
        file["scan/data"][...] = 0
    values, whole, _ = image("s.h5", "--lambda", "sure")
    sure = whole["reconstruction"]["sure"]
    assert not numpy.any(values) and sure["factor"] == 1 and min(sure["risks"]) >= 0, sure
    with h5py.File("s.h5", "a") as file:
        del file["scan/noise"]
    values, whole, said = image("s.h5", "--lambda", "sure")
    report = whole["reconstruction"]
    assert not numpy.any(values) and report["sure"]["factor"] == 1 and report["sure"]["risks"] == [], report
    assert "lambda     that of auto, because there is no noise" in said, said
    assert report["lambda_chosen_by"] == "noise", report


def test_refused(_):
    """Priors that have no factor, and invalid words."""
    phantom("s.h5", "--matrix", "8,8,1", "--coils", 2)
    for options in ("--prior", "spectrum"), ("--prior", "identity"), ("--prior", "differences"):
        refuse(2, ("--lambda sure needs a sparse prior, such as --prior wavelet", "--lambda auto"), "s.h5", *options,
               "--lambda", "sure")
    for word in "sure:2", "sures", "SURE", "sur":
        refuse(2, "--lambda", "s.h5", "--prior", "wavelet", "--lambda", word)
    refuse(2, "--lambda needs --method cg", "s.h5", "--method", "adjoint", "--lambda", "sure")


if __name__ == "__main__":
    run_tests(globals())
