#!/usr/bin/env python3
"""Scans that lack one side of k-space: the phase of low frequencies compensates for it, but only where it is smooth.

usage: test_mri_partial.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json

from made_scan import h5py, need_h5py, numpy, relative, run_tests
from plain_scan import cartesian, forward, maps_of, noise_like, write_scan
from program import make, refuse

N, COILS = 48, 4
SIGMA = 0.03  # noise of a voxel, for a complete scan with one coil; the object is 1


def head(phase=None):
    """Sharp ellipses with a phase of low frequencies."""
    y, x = numpy.mgrid[-(N // 2):N - N // 2, -(N // 2):N - N // 2] / N
    shape = (((x / 0.4) ** 2 + (y / 0.43) ** 2 < 1) + 0.7 * (((x - 0.1) / 0.1) ** 2 + ((y + 0.1) / 0.15) ** 2 < 1)
             - 0.4 * (((x + 0.15) / 0.08) ** 2 + ((y - 0.1) / 0.2) ** 2 < 1))
    return shape * numpy.exp(1j * (0.3 * numpy.sin(3 * x) + 0.6 * y ** 2 if phase is None else phase))


class Scan:
    def __init__(self, truth, seed=0):
        self.truth, self.maps, self.k = truth, maps_of(COILS, N), cartesian(n=N)
        clean = forward(self.k, self.maps * truth)
        self.data = clean + noise_like(clean, numpy.random.default_rng(seed), SIGMA * N)

    def image(self, keep=None, *options, scale=1, **more):
        """Returns the image of the samples to keep, and the report's reconstruction."""
        keep = numpy.ones(len(self.k), bool) if keep is None else keep
        write_scan("s.h5", self.k[keep], scale * self.data[:, keep], self.maps, N, **more)
        made = make("s.h5", *options, "-o", "i.h5", "--report", "r.json")
        assert "warning" not in made.err, made.err
        with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
            values = file["image"][...].reshape(N, N)
            assert numpy.all(numpy.isfinite(values))
            return values, json.load(report)["reconstruction"]

    def error(self, image):
        return relative(image, self.truth)


def one_side(scan, axis, share=0.625):
    """Keeps the samples of `share` of k-space along an axis, without its beginning."""
    return scan.k[:, axis] >= N // 2 - round(share * N)


def check_axis(axis):
    scan = Scan(head(), 1 + axis)
    whole, report = scan.image()
    assert "phase" not in report, report
    full, keep = scan.error(whole), one_side(scan, axis)
    image, report = scan.image(keep)
    assert "compensates for it" in report["phase"] and report["iterations"] < 100, report
    assert scan.error(image) <= 1.1 * 2 ** 0.5 * full, (scan.error(image), full)
    blurred, report = scan.image(keep, "--partial-fourier", "off")
    assert "phase" not in report, report
    assert scan.error(blurred) > 2 * scan.error(image), (scan.error(blurred), scan.error(image))


def test_lines(_):
    """A frequency without its opposite has half of the data. So the noise, and the signal that is suppressed with it,
    are at most sqrt(2) times those of the complete scan. Another tenth is for the phase, which is known only at low
    resolution. Without the phase the image is blurred."""
    need_h5py()
    check_axis(1)


def test_echo(_):
    """The same along readouts."""
    need_h5py()
    check_axis(0)


def test_with_fewer_lines(_):
    """Every second line is missing, too. The coils compensate for that, so the result is as good as from all lines
    of one side. The scan is undersampled, but the automatic prior is the one that knows of the phase."""
    need_h5py()
    scan = Scan(head(), 4)
    even = (scan.k[:, 1] % 2 == 0) | (abs(scan.k[:, 1]) < 8)
    whole = scan.error(scan.image(even, "--prior", "spectrum")[0])
    assert scan.error(scan.image(even & one_side(scan, 1))[0]) <= 2 ** 0.5 * whole


def test_lattice(_):
    """Every Rth line of 48 ends up to R lines earlier on one side than on the other: 24 against 20 for R = 4. No side is
    missing, so nothing is said of the phase, and the automatic prior of a series is the one for undersampled frames."""
    need_h5py()
    scan = Scan(head(), 11)
    for every in (3, 4, 6):
        for first in range(every):
            keep = (scan.k[:, 1] + N // 2) % every == first
            write_scan("s.h5", scan.k[keep], scan.data[:, keep], scan.maps, N)
            plan = make("s.h5", "--dry-run", "-o", "i.h5").out
            assert "one side of k-space" not in plan, (every, first, plan)
            assert "sparse" in plan or "wavelet" in plan, plan
    for missing in (0.625, 0.75):  # a lattice of which one side is missing is found
        keep = one_side(scan, 1, missing) & ((scan.k[:, 1] % 4 == 0) | (abs(scan.k[:, 1]) < 8))
        write_scan("s.h5", scan.k[keep], scan.data[:, keep], scan.maps, N)
        assert "one side of k-space" in make("s.h5", "--dry-run", "-o", "i.h5").out


def test_units(_):
    """Another unit and another constant phase give the same image. The bound is twice the residual of 1e-6 times a
    condition of 100."""
    need_h5py()
    scan = Scan(head(), 5)
    keep = one_side(scan, 1)
    image = scan.image(keep, "--tolerance", "1e-6")[0]
    for scale in (1e5, 1j, numpy.exp(2.3j) * 1e-5):
        other = scan.image(keep, "--tolerance", "1e-6", scale=scale)[0]
        assert relative(other / scale, image) <= 2e-4, (scale, relative(other / scale, image))


def test_phase_that_is_not_smooth(_):
    """A random phase in each voxel: low frequencies do not determine it. The line `phase` says so, and the image is
    the same as without compensation."""
    need_h5py()
    scan = Scan(head(numpy.random.default_rng(6).uniform(0, 2 * numpy.pi, (N, N))), 6)
    keep = one_side(scan, 1)
    image, report = scan.image(keep)
    assert "not smooth" in report["phase"], report
    plain = scan.image(keep, "--partial-fourier", "off")[0]
    assert numpy.array_equal(image, plain)


def test_noise_map(_):
    """Noise replicas pass through the same steps. The map must match the scatter of images of scans with independent
    noise, whose phases differ a little. A noise scan provides the noise. With RUNS images, as many replicas, and
    root mean squares over hundreds of voxels with correlated noise, the ratio is known to 5 % at least."""
    need_h5py()
    runs = 16
    scan = Scan(head(), 7)
    keep, noise = one_side(scan, 1), noise_like(numpy.empty((COILS, 20000)), numpy.random.default_rng(9), SIGMA * N).astype("c8")
    scan.image(keep, "--noise-map", "n.h5", "--replicas", str(runs), noise=noise)
    with h5py.File("n.h5") as file:
        found = file["noise"][...].reshape(N, N)
    images = numpy.array([Scan(head(), 100 + i).image(keep, noise=noise)[0] for i in range(runs)])
    scatter = numpy.std(images, axis=0, ddof=1)
    inside = abs(scan.truth) > 0
    ratio = numpy.linalg.norm(found[inside]) / numpy.linalg.norm(scatter[inside])
    assert 0.85 < ratio < 1.15, ratio


def test_refused(_):
    need_h5py()
    scan = Scan(head(), 8)
    write_scan("s.h5", scan.k, scan.data, scan.maps, N)
    refuse(2, ["--partial-fourier", "sometimes"], "s.h5", "--partial-fourier", "sometimes")
    for other in (("--lambda", "0.1"), ("--prior", "identity"), ("--method", "gridding")):
        refuse(2, ["--partial-fourier", "--prior spectrum"], "s.h5", "--partial-fourier", "off", *other)


if __name__ == "__main__":
    run_tests(globals())
