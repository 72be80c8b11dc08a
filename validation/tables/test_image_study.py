#!/usr/bin/env python3
"""The figures of image_study.py on images and samples with known results.

    test_image_study.py MRI_RECON"""
import math
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import image_study as study  # noqa: E402 - first: it finds a Python with numpy
import image_errors as errors  # noqa: E402
import image_scans as scans  # noqa: E402
from mri_peers import np  # noqa: E402


def refused(function, *arguments):
    try:
        function(*arguments)
    except ValueError:
        return True
    return False


def test_errors():
    rng = np.random.default_rng(1)
    truth = 1 + rng.random((1, 32, 32))
    region = np.zeros(truth.shape, bool)
    region[:, 8:24, 8:24] = True
    assert errors.error_of(-3j * truth, truth, region) < 1e-12, "neither scale nor phase counts"
    # An error of norm e that is orthogonal to the truth keeps its size after the best scale, up to a factor of sqrt(1 +
    # e^2).
    wrong = rng.standard_normal(truth.shape) * region
    wrong -= truth * region * (wrong * truth).sum() / (truth[region] ** 2).sum()
    wrong *= 0.1 * np.linalg.norm(truth[region]) / np.linalg.norm(wrong)
    assert abs(errors.error_of(truth + wrong, truth, region) - 0.1 / math.sqrt(1.01)) < 1e-9
    outside = np.where(region, truth, 7)
    assert errors.error_of(outside, truth, region) < 1e-12, "only the region counts"
    assert abs(errors.background_of(outside, truth, region) - 7 / np.sqrt((truth[region] ** 2).mean())) < 1e-9
    assert abs(errors.ssim_of(2 * truth, truth, region) - 1) < 1e-9 > errors.ssim_of(truth + wrong, truth, region) - 1
    assert errors.ssim_of(truth + wrong, truth, region) < 0.999
    for value in (math.nan, math.inf):
        broken = truth.copy()
        broken[0, 0, 0] = value  # outside the region, too
        assert refused(errors.error_of, broken, truth, region), value
    assert refused(errors.error_of, 0 * truth, truth, region) and refused(errors.error_of, truth[:, 1:], truth, region)


def test_high_share():
    n = 32
    z, y, x = scans.mesh((1, n, n))
    smooth = np.exp(2j * np.pi * 3 * x) + 0 * y
    checkerboard = smooth * np.exp(2j * np.pi * 15 * y)
    assert errors.high_share(smooth) < 1e-20 and abs(errors.high_share(checkerboard) - 1) < 1e-9
    assert abs(errors.high_share(3 * smooth + checkerboard) - 0.1) < 1e-9
    for cycles, share in ((12, 0), (13, 1), (-12, 0), (-13, 1)):  # of 16
        assert abs(errors.high_share(np.exp(2j * np.pi * cycles * x) + 0 * y) - share) < 1e-9, cycles


def test_best_of():
    for optimum in (1e-4, 0.013, 0.9):
        calls = []

        def measure(value):
            calls.append(value)
            return 1 + math.log(value / optimum) ** 2
        value, figure, tried = errors.best_of(measure, 0.02, (1e-6, 20))
        # Factors of 2 around the optimum: the best is within a factor of sqrt(2).
        assert abs(math.log2(value / optimum)) <= 0.5 + 1e-9 and figure == tried[value], (value, optimum)
        assert len(calls) == len(set(calls)), "nothing is measured twice"
        finer, least, more = errors.best_of(measure, 0.02, (1e-6, 20), (2, 1.4))
        assert least <= figure and set(tried) < set(more) and finer in (value, value * 1.4, value / 1.4)
    assert errors.best_of(lambda v: 1 / v, 0.02, (1e-6, 20))[0] <= 20, "the limits are kept"
    assert refused(errors.best_of, lambda v: math.nan, 0.02, (1e-6, 20))


def test_best_among():
    values = [2.0 ** i for i in range(-4, 5)]
    for start in values:
        for best in values:
            calls = []

            def measure(value):
                calls.append(value)
                return abs(math.log2(value / best))
            found, figure, tried = errors.best_among(measure, values, start)
            assert found == best and figure == 0 and len(calls) == len(set(calls)) == len(tried), (start, best)
            # All from the start to the best, and a neighbour of each end, if there is one.
            assert len(calls) <= abs(math.log2(best / start)) + 3, (start, best, calls)
    assert refused(errors.best_among, lambda v: math.nan, values, 1)


def test_bars():
    def row(kind, own, **others):
        return {"kind": kind, **{name: {"error": e, "high": e} for name, e in {"untouched": own, **others}.items()}}
    rows = {"a": row("cartesian", 0.2, best=0.1, bart=0.1), "b": row("other", 0.11, best=0.1, gridding=0.2),
            "c": row("other", 0.15, best=0.1, gridding=0.1), "s": row("scan", 0.05, best=1)}
    rows["s"]["predicted by maps"] = {"of the file": 0.2, "taken without options": 0.3}
    met = {(bar["case"], bar["bar"]): bar["met"] for bar in study.bars_of(rows)}
    assert met == {("a", "untouched / BART"): False, ("b", "untouched / best lambda"): True, ("b", "untouched / gridding"): True,
                   ("c", "untouched / best lambda"): False, ("c", "untouched / gridding"): False, ("s", "from best lambda"): True,
                   ("s", "maps taken / file's"): False, ("s", "high frequencies"): True, ("all non-Cartesian cases", "mean untouched / best lambda"): False}, met
    nan = study.bars_of({"b": row("other", math.nan, best=0.1, gridding=0.2)})
    assert nan and not any(bar["met"] for bar in nan), "NaN meets no bar"


def plain_sum(image, k):
    """The sum itself, over the nonzero voxels."""
    total = np.zeros(len(k), complex)
    for at in np.argwhere(image):
        r = [(i - n // 2) / n for i, n in zip(at, image.shape)]
        total += image[tuple(at)] * np.exp(-2j * np.pi * (k[:, 0] * r[2] + k[:, 1] * r[1] + k[:, 2] * r[0]))
    return total


def test_samples():
    rng = np.random.default_rng(2)
    for shape in ((1, 12, 10), (6, 8, 10)):
        image = np.where(rng.random(shape) < 0.1, rng.standard_normal(shape), 0)
        k = rng.uniform(-5, 5, (40, 3)) * [1, 1, shape[0] > 1]
        # Single precision: 6e-8 a term, some tens of terms.
        assert np.linalg.norm(scans.sample(image, k) - plain_sum(image, k)) < 1e-5 * np.linalg.norm(plain_sum(image, k))
    # At whole k the transform is the same sum; Cartesian samples come from it.
    k = scans.cartesian(np.ones((12, 10), bool))
    image = rng.standard_normal((1, 12, 10))
    assert np.allclose(scans.transform(image).ravel(), plain_sum(image, k), atol=1e-9)


def test_scans():
    n = 64
    mask = scans.every(n, 1, 0)
    scan = scans.Scan(scans.head, (n, n, 1), scans.cartesian(mask), 4, 1, mask)
    images = scans.inverse(scan.data.reshape(4, 1, n, n))
    assert errors.error_of(np.sqrt((abs(images) ** 2).sum(0)), scan.truth, scan.region) < 1e-6, "all data make the truth"
    # The maps fit the coils' images, up to the object's fine detail at this resolution (measured 0.011).
    combined = (np.conj(scan.maps) * images).sum(0)
    left = np.linalg.norm(images - scan.maps * combined) / np.linalg.norm(images)
    assert left < 0.02, left
    noise = scans.inverse((scan.noisy(20) - scan.data).reshape(4, 1, n, n))
    ratio = scan.truth[scan.region].mean() / noise.real.std()
    assert abs(ratio / 20 - 1) < 0.05, ratio  # 16,384 values: 0.6 %, three times that and more
    assert 0.3 < scan.region.mean() < 0.7 and np.isfinite(scan.maps).all()


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")


main()
