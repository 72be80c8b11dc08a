#!/usr/bin/env python3
"""--lambda auto: what the image depends on, its quality, numbers as lambda, and the noise estimate.

usage: test_mri_lambda.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom

Each solution has a residual of 1e-6, so its error is within 1e-6 times the matrix's condition number. The
preconditioner assumes at least a tenth of the mean density at each frequency, so the condition number is at most 100.
Two solutions differ by at most 2 x 100 x 1e-6.
"""
import json
import os
import subprocess
import sys
import tempfile

import program
from plain_scan import cartesian, exponentials, forward, maps_of, noise_like, radial, write_scan
from program import Skip, make, refuse

PHANTOM = os.environ.get("VOXFIELD_PHANTOM") or sys.exit("VOXFIELD_PHANTOM is not set")
try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None
N, COILS, SPOKES = 32, 4, 28  # 50 spokes would be complete
EXACT, SAME = ("--tolerance", 1e-6), 2 * 100 * 1e-6
# The variance is a median over the outermost 15 % of SPOKES x 2 N samples of each coil, divided by ln 2. Its relative
# uncertainty is 1 / (ln 2 sqrt(count)); that of sigma is half of it.
SIGMA_KNOWN = 0.5 / (0.693 * (0.15 * SPOKES * 2 * N * COILS) ** 0.5)


def need_h5py():
    if h5py is None:
        raise Skip("no h5py")


def grid(n=N):
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    return x, y


def sharp(n=N):
    """Ellipses and a smooth phase; the signal reaches the edge of k-space."""
    x, y = grid(n)
    shape = (((x / 0.4) ** 2 + (y / 0.43) ** 2 < 1) + 0.7 * (((x - 0.1) / 0.1) ** 2 + ((y + 0.1) / 0.15) ** 2 < 1)
             - 0.4 * (((x + 0.15) / 0.08) ** 2 + ((y - 0.1) / 0.2) ** 2 < 1))
    return shape * numpy.exp(1j * (1.2 * x + 5 * y ** 2))


def smooth():
    """A bell that falls to exp(-14) at the faces. Where the outermost samples begin, its transform is exp(-33) of
    its centre, less than any noise here."""
    x, y = grid()
    return numpy.exp(-(x ** 2 + y ** 2) / (2 * 0.095 ** 2)).astype(complex)


class Scan:
    """Data of an object with noise, on half of the spokes of a complete scan."""

    def __init__(self, sigma, seed=0, truth=None, n=N):
        rng = numpy.random.default_rng(seed)
        self.truth = sharp(n) if truth is None else truth
        self.k, self.maps = radial(SPOKES * n // N, n), maps_of(COILS, n)
        clean = forward(self.k, self.maps * self.truth)
        self.data = clean + noise_like(clean, rng, sigma)

    def image(self, *options, **more):
        """Returns the image and the report's reconstruction."""
        write_scan("s.h5", self.k, self.data, self.maps, len(self.truth), **more)
        make("s.h5", *options, "-o", "i.h5", "--report", "r.json")
        with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
            values = file["image"][...].reshape(self.truth.shape)
            assert numpy.all(numpy.isfinite(values))
            return values, json.load(report)["reconstruction"]

    def error(self, image):
        return relative(image, self.truth)


def relative(a, b):
    return numpy.linalg.norm(a - b) / numpy.linalg.norm(b)


def expected_error(report):
    return numpy.hypot(report["expected_noise"], report["expected_bias"]) / report["expected_signal"]


def test_scale_and_order(_):
    """The data in another unit, and samples in another order, give the same image. Units are powers of two, which
    change no rounding, so only the exponents may differ."""
    need_h5py()
    for sigma, seed in ((1, 0), (2, 1), (10, 0)):
        scan = Scan(sigma, seed)
        image, report = scan.image(*EXACT)
        assert report["iterations"] <= 45, report  # measured: 31; without the preconditioner: 71
        data = scan.data
        for scale in (2.0 ** -20, 2.0 ** 20):
            scan.data = scale * data
            other, scaled = scan.image(*EXACT)
            assert numpy.array_equal(other / scale, image), (sigma, scale, relative(other / scale, image))
            for name in ("noise_sigma", "expected_noise", "expected_bias", "expected_signal"):
                assert abs(scaled[name] / scale / report[name] - 1) <= 1e-12, (name, scaled[name], report[name])
        order = numpy.random.default_rng(1).permutation(len(scan.k))
        scan.k, scan.data = scan.k[order], data[:, order]
        other = scan.image(*EXACT)[0]
        assert relative(other, image) <= SAME, (sigma, relative(other, image))


def test_mixed_coils(_):
    """Coils and maps are mixed by a unitary matrix. The noise stays white, but its estimate, a mean of the coils'
    medians, changes. The image changes by less than half of its error."""
    need_h5py()
    for sigma in (1, 10):
        scan = Scan(sigma)
        image, report = scan.image(*EXACT)
        rng = numpy.random.default_rng(2)
        mix = numpy.linalg.qr(rng.standard_normal((COILS, COILS)) + 1j * rng.standard_normal((COILS, COILS)))[0]
        scan.data, scan.maps = mix @ scan.data, numpy.tensordot(mix, scan.maps, 1)
        other, mixed = scan.image(*EXACT)
        assert abs(mixed["noise_sigma"] / report["noise_sigma"] - 1) <= 5 * 2 ** 0.5 * SIGMA_KNOWN
        assert relative(other, image) <= 0.5 * scan.error(image), (relative(other, image), scan.error(image))


def test_doubled_samples(_):
    """Every sample is acquired a second time with independent noise. Sigma stays the same. The image's expected error
    falls by at most sqrt(2) (the noise may fall less, since less of it is suppressed). The image differs from the
    first by less than the first image's expected error."""
    need_h5py()
    for sigma in (1, 10):
        scan, second = Scan(sigma), Scan(sigma, 1)
        image, report = scan.image()
        scan.k, scan.data = numpy.vstack([scan.k] * 2), numpy.hstack([scan.data, second.data])
        twice, better = scan.image()
        assert abs(better["noise_sigma"] / report["noise_sigma"] - 1) <= 5 * 2 ** 0.5 * SIGMA_KNOWN
        if sigma == 1:  # with more noise, the expected error depends on how many outer bins stand out of it
            assert 2 ** -0.5 < expected_error(better) / expected_error(report) < 1
        assert relative(twice, image) <= expected_error(report)
        assert scan.error(twice) < scan.error(image)


def test_near_the_best(_):
    """Without options, against the best of a sweep of numbers half a decade apart."""
    need_h5py()
    for sigma in (1, 10):
        scan = Scan(sigma, 3)
        auto = scan.error(scan.image()[0])
        sweep = [scan.error(scan.image("--lambda", f"{10 ** exponent:g}")[0]) for exponent in numpy.arange(-4, 1.1, 0.5)]
        assert auto <= 1.2 * min(sweep), (sigma, auto, sweep)
        assert max(sweep) > 1.2 * auto, (sigma, auto, sweep)  # lambda makes a difference


def test_factor(_):
    """auto:0.1 is sharper and noisier, auto:10 smoother. For two images with independent noise, half the mean square
    of their difference is the noise, and the mean product of their errors is the bias."""
    need_h5py()
    scans = Scan(5, 4), Scan(5, 5)
    noise, bias, told, sigma = [], [], [], []
    for word in ("auto:0.1", "auto", "auto:1", "auto:10"):
        (a, report), (b, _) = (scan.image("--lambda", word) for scan in scans)
        truth = scans[0].truth
        noise.append(numpy.linalg.norm(a - b) / 2 ** 0.5 / N)
        bias.append(numpy.vdot(a - truth, b - truth).real / N ** 2)
        told.append((report["expected_noise"], report["expected_bias"]))
        sigma.append(report["noise_sigma"])
        if word == "auto:1":
            assert noise[2] == noise[1] and bias[2] == bias[1] and told[2] == told[1]
    assert len(set(sigma)) == 1, sigma  # the noise of the data does not change
    for first, second in ((0, 1), (1, 3)):
        assert noise[first] > 1.3 * noise[second] and told[first][0] > 1.3 * told[second][0], (noise, told)
        assert bias[first] < bias[second] and told[first][1] < told[second][1], (bias, told)


def test_number(_):
    """A number as lambda gives the same bits as before: 60 iterations, the identity, relative to the diagonal, no
    preconditioner."""
    need_h5py()
    n = 20  # the dense matrix has its fourth power
    scan = Scan(2, n=n)
    first, report = scan.image("--lambda", 0.001)
    again, same = scan.image("--lambda", 0.001, "--iterations", 60, "--prior", "identity")
    assert numpy.array_equal(first, again) and report == same
    assert report["lambda_chosen_by"] == "number" and abs(report["lambda"] / 0.001 - 1) < 1e-12, report
    assert abs(report["lambda_absolute"] / (report["diagonal"] * 0.001) - 1) < 1e-12, report
    assert "60 iterations" in report["method"] or report["iterations"] <= 60, report
    assert "noise_sigma" not in report, report
    fewer = scan.image("--lambda", 0.001, "--iterations", 3)[0]
    assert not numpy.array_equal(first, fewer)
    # Against the dense matrix.
    waves = exponentials(scan.k, n).T
    gram, power = (waves.conj().T @ waves).reshape(n * n, n * n), scan.maps.reshape(COILS, -1)
    matrix = sum(numpy.outer(one.conj(), one) * gram for one in power)
    right = sum(one.conj() * (waves.conj().T @ data) for one, data in zip(power, scan.data))
    solution = numpy.linalg.solve(matrix + report["lambda_absolute"] * numpy.eye(n * n), right).reshape(n, n)
    exact = scan.image("--lambda", 0.001, *EXACT, "--iterations", 2000)[0]
    # The condition number is at most the sum of the weights over lambda, about 10 / 0.001
    # (validation/physics/test_recon_algebra.c).
    assert relative(exact, solution) <= 10 / 0.001 * 1e-6, relative(exact, solution)


def test_report(_):
    """For every prior, the report has lambda and how it was chosen."""
    need_h5py()
    scan = Scan(2)
    for prior in ("spectrum", "identity", "differences"):
        _, report = scan.image("--prior", prior)
        assert report["lambda_chosen_by"] == "noise and spectrum", report
        assert "outermost" in report["noise_rests_on"], report
        for name in ("noise_sigma", "expected_signal", "expected_noise", "expected_bias", "lambda", "lambda_absolute"):
            assert 0 < report[name] < numpy.inf, (name, report)
        assert report["expected_noise"] < report["expected_signal"] and report["expected_bias"] < report["expected_signal"]


def test_words(_):
    """Invalid weights."""
    need_h5py()
    Scan(1).image()
    for word in ("auto:", "auto:x", "auto:-1", "auto:0", "auto:nan", "auto:inf", "auto:1x", "autox", "Auto", "aut", "nan", "inf",
                 "-1", "1x", ""):
        refuse(2, "--lambda", "s.h5", "--lambda", word)
    refuse(2, "--prior", "s.h5", "--prior", "spectral")
    refuse(2, "--lambda needs --method cg", "s.h5", "--method", "adjoint", "--lambda", "auto")


def test_sigma(_):
    """Without a noise scan. If the object's signal does not reach the edge, sigma is within five times the
    estimate's own uncertainty, plus 5 % for the share that went into the solution (the forecast assumes a
    circulant matrix). If signal reaches the edge, undersampling leaves some of it in the residual: up to a tenth
    more, for noise of a fiftieth of the data."""
    need_h5py()
    for truth, more in ((smooth(), 0.05), (sharp(), 0.15)):
        for sigma in (0.2, 1, 5) if more == 0.05 else (1, 5):
            _, report = Scan(sigma, 6, truth).image()
            ratio = report["noise_sigma"] / sigma
            assert abs(ratio - 1) <= 5 * SIGMA_KNOWN + more, (sigma, more, ratio)


def test_signal_at_the_edge(_):
    """Lines of which two in three are missing, and signal that reaches the edge of k-space. The outermost samples have more than
    the noise, so each of three first images begins with less noise than the one before, and must be solved for more precisely, too.
    Undersampling leaves some of the signal: of 32 runs, the mean of four ratios was 1.16 to 1.20, and 1.26 to 1.31 with the
    first one's precision for all."""
    need_h5py()
    ratios = []
    for seed in range(4):
        scan = Scan(0)
        scan.k, scan.maps = cartesian(1, N), maps_of(2 * COILS, N)
        scan.k = scan.k[(scan.k[:, 1] % 3 == 0) | (abs(scan.k[:, 1]) < 8)]
        scan.data = forward(scan.k, scan.maps * scan.truth)
        scan.data = scan.data + noise_like(scan.data, numpy.random.default_rng(20 + seed), 0.2)
        ratios.append(scan.image()[1]["noise_sigma"] / 0.2)
    assert numpy.mean(ratios) <= 1.23, ratios


def test_weights_of_zero(_):
    """Samples of weight 0 count as if they were missing, 20 times as many as others, too. The same equations are solved, so the
    noise differs by rounding: at most, first images end an iteration apart. What solving leaves has less than 1 % of the
    noise's energy then and before: 0.5 % of sigma."""
    need_h5py()
    scan = Scan(2, 9)
    few = scan.image()[1]["noise_sigma"]
    weights = numpy.repeat([1, 0], [len(scan.k), 20 * len(scan.k)]).astype("f4")
    scan.k, scan.data = numpy.tile(scan.k, (21, 1)), numpy.tile(scan.data, (1, 21))
    many = scan.image(weights=weights)[1]["noise_sigma"]
    assert abs(many / few - 1) <= 0.005, (few, many)


def test_zero_filled(_):
    """A quarter of the lines is not acquired and written as zeros, which say nothing about the noise. Three fifths of
    the outermost 15 % of N x N samples remain in each coil. The rest is as in test_sigma."""
    need_h5py()
    scan = Scan(5)
    scan.k = cartesian(1, N)
    clean = forward(scan.k, scan.maps * scan.truth)
    scan.data = (clean + noise_like(clean, numpy.random.default_rng(0), 5)) * (scan.k[:, 1] > -N // 4)
    ratio = scan.image()[1]["noise_sigma"] / 5
    assert abs(ratio - 1) <= 5 * 0.5 / (0.693 * (0.6 * 0.15 * N * N * COILS) ** 0.5) + 0.05, ratio


def test_noise_scan(_):
    """With a noise scan, sigma is 1 after prewhitening, and the image is the same as without it, except for the
    estimate."""
    need_h5py()
    scan = Scan(5, 7)
    image, estimated = scan.image()
    noise = noise_like(numpy.empty((COILS, 4000)), numpy.random.default_rng(8), 5).astype("c8")
    white, report = scan.image(noise=noise)
    assert report["noise_sigma"] == 1 and "noise scan" in report["noise_rests_on"], report
    # Maps are whitened with the data, so the image keeps its unit; otherwise it would be off by a factor of 5. The
    # expected errors follow from sigma and the spectrum, whose outer bins are as uncertain as the noise in them.
    assert 0.5 < report["expected_noise"] / estimated["expected_noise"] < 2
    assert 0.9 < report["expected_signal"] / estimated["expected_signal"] < 1.1
    assert relative(white, image) <= 0.5 * scan.error(image), (relative(white, image), scan.error(image))


def test_spectrum_of_each_frame(_):
    """A frame's prior follows its own spectrum: beside a frame of a smooth object, one of a sharp object has the image that it
    has alone. Noise is known, but lambda grows with the cube root of its misfit, which is the second frame's there: each is
    known to 1 / sqrt(2 N SPOKES COILS), and changes the image by less than itself. Five standard deviations."""
    need_h5py()
    scans = Scan(5, 7), Scan(5, 9, smooth())
    noise = noise_like(numpy.empty((COILS, 4000)), numpy.random.default_rng(8), 5).astype("c8")
    write_scan("s.h5", scans[0].k, numpy.stack([scan.data for scan in scans]), scans[0].maps, N, noise=noise)
    options = "s.h5", "--prior", "spectrum"
    make(*options, "-o", "both.h5")
    make(*options, "--frames", 1, "-o", "one.h5")
    with h5py.File("both.h5") as both, h5py.File("one.h5") as one:
        difference = relative(both["image"][0].ravel(), one["image"][...].ravel())
        print(f"    {difference:.2g}")
        assert difference < 5 * 2 ** 0.5 / 3 / (2 * N * SPOKES * COILS) ** 0.5


def test_few_noise_samples(_):
    """128 samples of white noise show correlations of 1 / sqrt(128) by chance. Whitening by these would shade the
    image by about as much in places. Shrinking them towards zero leaves less than half of that. Real correlations
    stay: with 0.6 between neighbours, known to 0.06, whitening leaves white noise, which as many other samples
    show."""
    need_h5py()
    scan, rng = Scan(0.1, 9), numpy.random.default_rng(10)
    noise = noise_like(numpy.empty((COILS, 128)), rng, 0.1).astype("c8")
    plain, white = scan.image(*EXACT)[0], scan.image(*EXACT, noise=noise)[0]
    white = white * numpy.vdot(white, plain) / numpy.vdot(white, white)
    assert relative(white, plain) <= 0.5 / 128 ** 0.5, relative(white, plain)
    mix = numpy.linalg.cholesky(0.6 ** abs(numpy.subtract.outer(numpy.arange(COILS), numpy.arange(COILS))))
    clean = forward(scan.k, scan.maps * scan.truth)
    scan.data = clean + mix @ noise_like(clean, rng, 1)
    seen = scan.image(noise=(mix @ noise_like(numpy.empty((COILS, 128)), rng, 1)).astype("c8"))[1]
    assert seen["misfit"] < 1.5, seen  # as in test_misfit


def test_misfit(_):
    """Maps of other coils leave much more than noise. With a noise scan, a warning says so. With the right maps the
    residual is the noise of some thousand numbers: its variance is known to 5 %. The forecast of the share that
    went into the image is known to 20 %, at half of all numbers."""
    need_h5py()
    scan = Scan(1, 7)
    noise = noise_like(numpy.empty((COILS, 4000)), numpy.random.default_rng(8), 1).astype("c8")
    write_scan("s.h5", scan.k, scan.data, scan.maps, N, noise=noise)
    right = make("s.h5", "--coils", "file", "-q", "-o", "i.h5", "--report", "r.json")
    with open("r.json", encoding="ascii") as report:
        assert json.load(report)["reconstruction"]["misfit"] < 1.5
    assert "times the noise" not in right.err, right.err
    write_scan("s.h5", scan.k, scan.data, numpy.roll(scan.maps, 1, axis=0), N, noise=noise)
    wrong = make("s.h5", "--coils", "file", "-q", "-o", "i.h5")
    assert "times the noise measured by the noise scan" in wrong.err and "--coils" in wrong.err, wrong.err
    # Without a noise scan, the share of the energy tells: in a complete radial scan that is stored against its trajectory, noise
    # is 1e-4 of it, and what no image explains is more than a tenth.
    n, spokes = 64, 101
    radius = numpy.arange(n) - n / 2
    angle = numpy.arange(spokes)[:, None] * numpy.pi / spokes
    k = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle), 0 * radius * angle], axis=-1)
    y, x = (a.ravel() / n for a in numpy.mgrid[-n // 2:n // 2, -n // 2:n // 2])
    disc = ((x - 0.1) ** 2 + 2 * y ** 2 < 0.1) + 0.5 * ((x + 0.2) ** 2 + (y - 0.1) ** 2 < 0.02)
    maps = numpy.stack([numpy.exp(-(x - a) ** 2 - (y - b) ** 2) * numpy.exp(1j * (a * x + b * y)) for a in (-0.5, 0.5) for b in (-0.5, 0.5)])
    wave = numpy.exp(-2j * numpy.pi * (k[..., :1] * x + k[..., 1:2] * y))
    data = numpy.einsum("srv,cv->csr", wave, maps * disc)
    data = data + noise_like(data, numpy.random.default_rng(9), 1)
    for order, warns in ((1, False), (-1, True)):
        write_scan("r.h5", k.reshape(-1, 3), data[..., ::order].reshape(4, -1), maps.reshape(4, n, n), n)
        err = make("r.h5", "--coils", "file", "-q", "-o", "i.h5").err
        assert ("of the samples' energy unexplained" in err) == warns, (order, err)


def test_little_noise(_):
    """A good scan of little noise that a noise scan tells. What solving leaves of the samples must not pass for wrong maps: a first
    image solved to 1e-3 of F^H d, as enough at more noise, leaves 9 times the noise. Solved, it leaves about the noise, and
    what voxels cannot tell of a head with edges."""
    scan = ("--phantom", "head", "--matrix", "32", "--spokes", "400", "--coils", "4", "--image-snr", "300", "--noise-scan")
    subprocess.run([PHANTOM, "-q", "-o", "s.h5", *scan], check=True, stdin=subprocess.DEVNULL)
    err = make("s.h5", "-q", "-o", "i.h5", "--report", "r.json").err
    with open("r.json", encoding="ascii") as report:
        assert json.load(report)["reconstruction"]["misfit"] < 3 ** 2
    assert "times the noise" not in err, err


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        probe = os.path.join(folder, "probe.h5")
        subprocess.run([PHANTOM, "-q", "-o", probe, "--matrix", "8,8,1"], check=True, stdin=subprocess.DEVNULL)
        program.main(globals(), probe=(probe, "--dry-run"))
