#!/usr/bin/env python3
"""Frames that are solved together: --prior temporal, llr and nuclear, alone and with wavelet.

usage: test_mri_joint.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import os

from made_scan import h5py, need_h5py, numpy, phantom, relative, run_tests
from program import make, refuse
from seeds import generator, program_seed

SEED = program_seed()
FRAMES = 6


def series(path, *options):
    need_h5py()
    phantom(path, "--phantom", "head", "--matrix", "48,48,1", "--coils", 6, "--spokes", 8, "--frames", FRAMES, "--continue",
            "--image-snr", 20, "--noise-scan", "--seed", SEED, *options)


def images(scan, *options):
    """Returns the images [frame][voxels], and the report's reconstruction."""
    make(scan, *options, "-q", "-o", "i.h5", "--report", "r.json")
    with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
        values = file["image"][...]
        values = values.view("c8") if values.dtype.kind == "V" else values
        assert numpy.all(numpy.isfinite(values)), options
        return values.reshape(FRAMES, -1), json.load(report)["reconstruction"]


def truth():
    with h5py.File("s.h5") as file:
        return numpy.broadcast_to(file["scan/truth"][...].reshape(-1, 48 * 48), (FRAMES, 48 * 48))


def test_lower_error(_):
    """8 of 75 spokes per frame: priors that couple frames have a lower error than solving frame by frame. Measured
    ratios with six seeds: temporal 0.81 to 0.84, the others 0.46 to 0.58."""
    series("s.h5")
    alone = relative(abs(images("s.h5", "--prior", "spectrum")[0]), truth())
    for prior, most in (("temporal", 0.95), ("llr", 0.8), ("nuclear", 0.8), ("wavelet+temporal", 0.8), ("llr+wavelet", 0.8)):
        found, report = images("s.h5", "--prior", prior)
        error = relative(abs(found), truth())
        print(f"    {prior}: error {error:.3f}, {error / alone:.2f} of frame by frame, "
              f"{report['applications_of_normal']} applications")
        assert error <= most * alone, (prior, error, alone)
        assert report["prior"] == prior, report["prior"]


def test_strong_temporal(_):
    """With a very large lambda all frames are the same image. |T x| is at most the tolerance times the largest |T
    x| so far, which is at most twice |x|. So frames differ from their mean by a few tolerances; 50 leave room."""
    series("s.h5")
    found, _ = images("s.h5", "--prior", "temporal", "--lambda", 1e4, "--tolerance", 1e-4, "--iterations", 2000)
    mean = numpy.broadcast_to(found.mean(axis=0), found.shape)
    print(f"    frames differ from their mean by {relative(found, mean):.1e}")
    assert relative(found, mean) <= 50 * 1e-4
    assert relative(found[:1], images("s.h5", "--prior", "temporal", "--lambda", "auto:0.2")[0][:1]) > 1e-2  # else they differ


def test_order_of_frames(_):
    """Reversed data give reversed images: low-rank priors do not depend on the order of frames, and differences are
    the same in reverse order. With the tolerance 1e-4 the solutions differ by 1e-3 (measured); 1e-2 leaves room."""
    series("s.h5", "--without", "truth")
    exact = ("--lambda", "auto:0.2", "--tolerance", 1e-4, "--iterations", 2000, "--coils", "file")  # the frames differ enough
    first = {prior: images("s.h5", "--prior", prior, *exact)[0] for prior in ("nuclear", "temporal")}
    with h5py.File("s.h5", "r+") as file:
        for name in ("data", "trajectory", "weights", "time"):
            if name in file["scan"] and file["scan"][name].shape[0] == FRAMES:
                file["scan"][name][...] = file["scan"][name][...][::-1]
    for prior, before in first.items():
        after = images("s.h5", "--prior", prior, *exact)[0]
        print(f"    {prior}: off by {relative(after[::-1], before):.1e}")
        assert relative(after[::-1], before) <= 1e-2, prior
        assert relative(after, before) > 1e-2, prior


def test_same_bits(_):
    """The same bits for any number of threads, also if all frames have one trajectory."""
    series("s.h5")
    for options in (("--prior", "wavelet+temporal"), ("--prior", "llr", "--coils", "rss")):
        options = (*options, "--iterations", 10, "--tolerance", 0)
        few = images("s.h5", *options, "--threads", 1)[0]
        assert few.tobytes() == images("s.h5", *options, "--threads", 4)[0].tobytes(), options


def test_shared_trajectory(_):
    """Frames with one trajectory share its F^H W F. The images are the same as if each frame has its own copy."""
    series("s.h5", "--without", "truth")
    with h5py.File("s.h5", "r+") as file:
        k = file["scan/trajectory"][...]
        if k.ndim == 3:
            k[:] = k[0]
            file["scan/trajectory"][...] = k
    each = images("s.h5", "--prior", "temporal", "--coils", "file", "--lambda", 1)[0]
    with h5py.File("s.h5", "r+") as file:
        del file["scan/trajectory"]
        file["scan/trajectory"] = k[0] if k.ndim == 3 else k
    once = images("s.h5", "--prior", "temporal", "--coils", "file", "--lambda", 1)[0]
    assert relative(once, each) <= 1e-5, relative(once, each)


def plain(frames=2, coils=3, shape=(1, 10, 9)):
    """Writes a small scan with noise and maps, with samples on the grid of k-space."""
    need_h5py()
    rng = generator()
    at = [(numpy.arange(n) - n // 2) / n for n in shape]
    r = numpy.stack([axis.ravel() for axis in numpy.meshgrid(*at, indexing="ij")[::-1]], axis=-1)
    k, voxels = numpy.round(r * shape[::-1]), len(r)
    maps = numpy.exp(-((r - rng.uniform(-0.5, 0.5, (coils, 1, 3))) ** 2).sum(axis=2))
    images = numpy.array([1 + (r > 0.1 * frame).sum(axis=1) for frame in range(frames)])
    data = (images[:, None] * maps) @ numpy.exp(-2j * numpy.pi * k @ r.T).T
    noise = rng.standard_normal((2, frames, coils, voxels))
    with h5py.File("p.h5", "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = shape[::-1], [200.0] * 3
        scan["trajectory"], scan["data"] = k.astype("f4"), (data + noise[0] + 1j * noise[1]).astype("c8")
        scan["sensitivity"] = maps.reshape(coils, *shape).astype("c8")


def solve(prior, *options):
    make("p.h5", "--prior", prior, "--coils", "file", *options, "-q", "-o", "i.h5")
    with h5py.File("i.h5") as file:
        x = file["image"][...].astype(complex)
        assert numpy.all(numpy.isfinite(x)), (prior, options)
        return x


def test_small_scans(_):
    """Two frames; one coil; matrices with one or two axes of one voxel, and of a single voxel. The images are near
    those without a prior. The noise of a sample is at most a tenth of the signal, so lambda is small."""
    for more in {}, {"coils": 1}, *({"shape": shape} for shape in ((1, 1, 12), (12, 1, 1), (5, 1, 6), (1, 1, 1))):
        plain(**more)
        free = solve("identity", "--lambda", 0)
        for prior in "temporal", "llr", "nuclear", "wavelet+temporal", "llr+tv":
            if "+" in prior and more.get("shape") == (1, 1, 1):
                refuse(2, "needs more than one voxel", "p.h5", "--prior", prior, "--coils", "file", "-o", "x.h5")
                continue
            found = solve(prior, "--lambda", 0.1)
            assert found.shape == free.shape and relative(found, free) < 0.3, (more, prior, relative(found, free))


def test_zeros(_):
    """All-zero data give all-zero images. If only the first frame is 0, lambda and the balance still follow the
    scale of the maps: maps that are 4 times as large give a fourth of the image, with the same bits in the
    mantissas."""
    plain(frames=3)
    with h5py.File("p.h5", "r+") as file:
        file["scan/data"][0] = 0
    for prior in "temporal", "nuclear", "wavelet", "llr+wavelet":
        first = solve(prior)
        assert numpy.any(first[1:]), prior
        with h5py.File("p.h5", "r+") as file:
            file["scan/sensitivity"][...] *= 4
        assert numpy.array_equal(4 * solve(prior), first), (prior, relative(4 * solve(prior), first))
        with h5py.File("p.h5", "r+") as file:
            file["scan/sensitivity"][...] /= 4
    with h5py.File("p.h5", "r+") as file:
        file["scan/data"][...] = 0
    for prior in "temporal", "llr", "nuclear":
        assert not numpy.any(solve(prior)), prior


def test_refused(_):
    phantom("one.h5", "--matrix", "32,32,1", "--coils", 4, "--spokes", 20)
    for prior in ("temporal", "llr", "wavelet+nuclear"):
        refuse(2, ["one.h5", "need several frames"], "one.h5", "--prior", prior, "-o", "i.h5")
    assert not os.path.exists("i.h5")
    plain()
    refuse(2, "need several frames", "p.h5", "--prior", "llr", "--frames", "2:2")
    for prior in "temporal", "llr", "wavelet+nuclear":
        refuse(2, "one set of coil maps", "p.h5", "--prior", prior, "--map-sets", 2, "--coils", "espirit")
    with h5py.File("p.h5", "r+") as file:
        file["scan/data"][1, 0, 3] = numpy.nan
    refuse(3, ["p.h5", "[1, 0, 3]", "nan"], "p.h5", "--prior", "llr")


if __name__ == "__main__":
    run_tests(globals())
