#!/usr/bin/env python3
"""mri_recon and BART on the same files: mri_recon reads BART's k-space, trajectories and maps, and writes images and
maps. `bart nrmse` compares them without searching for the best scale, since both have BART's.

    test_bart_files.py MRI_RECON [cpu|cuda] [test_name ...]

Both minimise |F s rho - d|^2 + penalty |rho|^2. BART's F is unitary, so its r is a penalty of r times the number
of voxels here. --lambda is relative to the number of samples if the maps' squares add up to 1, so it is that
penalty divided by this number.
"""
import mri_peers
from mri_peers import bounded, call, recon


def bart(*words):
    return call("bart", *words)


def nrmse(reference, found):
    """|found - reference| / |reference|, computed by BART from its files."""
    value = float(bart("nrmse", reference, found).split()[-1])
    assert value == value
    return value


def unit_maps(size, coils, out):
    """BART's simulated coils, with squares that add up to 1."""
    bart("phantom", "-x", size, "-S", coils, "raw")
    bart("rss", 8, "raw", "sum")
    bart("invert", "sum", "inverse")
    bart("fmac", "raw", "inverse", out)


SOLVED = ["--tolerance", 1e-6, "--iterations", 200]
# BART prints six decimals. Single precision and the solvers' tolerance leave 2e-6 of the exact inverse: measured
# 0.000000 to 0.000003. Another centre of an odd axis, a conjugate or a wrong scale would be off by more than 0.1.
EXACT = 2e-5


def test_cartesian_is_the_transform(_):
    """Complete sampling: `fft -iu`, on even and odd axes."""
    for size in (64, 63):
        bart("phantom", "-x", size, "-k", "k")
        bart("fft", "-iu", 7, "k", "peer")
        recon("k.cfl", "--lambda", 0, *SOLVED)
        bounded(f"Cartesian, {size} voxels", nrmse("peer", "k_image"), EXACT)
        bart("flip", 1, "k_image", "wrong")
        assert nrmse("peer", "wrong") > 0.1


def test_cartesian_parallel(_):
    """Poisson-disc sampling, 8 coils: `pics`. Both at the minimum, in single precision; BART's stops after 200
    iterations: measured 2.6e-5."""
    size, r = 64, 0.01
    unit_maps(size, 8, "s")
    bart("phantom", "-x", size, "-k", "-s", 8, "full")
    bart("poisson", "-Y", size, "-Z", size, "-y", 2, "-z", 2, "-C", 16, "-e", "pattern")
    bart("transpose", 0, 2, "pattern", "flat")
    bart("fmac", "full", "flat", "k")
    out = recon("k.hdr", "--coils", "s.hdr", "--dry-run")
    samples = int(out.split(" of 4096 positions")[0].split()[-1])
    assert 500 < samples < 2500, out
    recon("k.cfl", "--coils", "s.cfl", "-o", "ours.cfl", "--lambda", r * size ** 2 / samples, *SOLVED)
    bart("pics", "-S", "-l2", "-r", r, "-i", 200, "k", "s", "peer")
    bounded("Cartesian, 8 coils, Poisson-disc", nrmse("peer", "ours"), 1e-4)


def test_radial(_):
    """Golden angles, 4 coils. The matrix is that of the maps; without maps, the smallest that covers the trajectory.
    The difference is BART's interpolation: measured 5e-3, as in test_bart.py; half as much again is allowed."""
    size, spokes, r = 64, 101, 0.1
    unit_maps(size, 4, "s")
    bart("traj", "-r", "-G", "-x", size, "-y", spokes, "t")
    bart("phantom", "-k", "-s", 4, "-t", "t", "k")
    # The phantom's transform is that of a continuous object, with its own scale. Both programs see the same data.
    recon("k.cfl", "--trajectory", "t.cfl", "--coils", "s.cfl", "-o", "ours.cfl", "--lambda", r * size ** 2 / (size * spokes), *SOLVED)
    bart("pics", "-S", "-l2", "-r", r, "-i", 100, "-t", "t", "k", "s", "peer")
    bounded("radial, 4 coils", nrmse("peer", "ours"), 8e-3)
    assert f"{size} x {size} x 1" in recon("k.cfl", "--trajectory", "t.cfl", "--dry-run")


def test_our_maps_in_bart(_):
    """BART's `pics` uses maps estimated by mri_recon, and mri_recon uses BART's own maps, two sets of them."""
    size, r = 64, 0.01
    bart("phantom", "-x", size, "-k", "-s", 8, "k")
    options = ["--lambda", r, *SOLVED]  # complete sampling: as many samples as voxels
    recon("k.cfl", "--save-coils", "m.cfl", "-o", "ours.cfl", *options)
    bart("pics", "-S", "-l2", "-r", r, "-i", 200, "k", "m", "peer")
    # Where maps fade, our image is the one that the coils see: times the root of the sum of their squares.
    bart("rss", 8, "m", "length")
    bart("fmac", "peer", "length", "even")
    bounded("mri_recon's maps", nrmse("even", "ours"), 1e-4)
    bart("ecalib", "-c", 0, "k", "two")
    bart("slice", 4, 0, "two", "one")
    recon("k.cfl", "--coils", "two.cfl", "--map-sets", 1, "-o", "ours.cfl", *options)
    bart("pics", "-S", "-l2", "-r", r, "-i", 200, "k", "one", "peer")
    bounded("ecalib's maps", nrmse("peer", "ours"), 1e-4)
    # Two images; ours is the root of their sum of squares.
    recon("k.cfl", "--coils", "two.cfl", "-o", "ours.cfl", *options)
    bart("pics", "-S", "-l2", "-r", r, "-i", 200, "k", "two", "peer")
    bart("rss", 16, "peer", "both")
    bart("cabs", "ours", "magnitude")
    bounded("ecalib's maps, both sets", nrmse("both", "magnitude"), 1e-4)


def test_frames_and_slices(_):
    """Frames are in dimension 10, slices are stacked along z; each matches its own k-space."""
    bart("phantom", "-x", 32, "-k", "a")
    bart("phantom", "-x", 32, "-k", "-B", "b")
    bart("join", 10, "a", "b", "frames")
    bart("join", 13, "frames", "frames", "k")
    recon("k.cfl", "--lambda", 0, *SOLVED)
    for frame, name in enumerate(("a", "b")):
        bart("fft", "-iu", 7, name, "peer")
        for z in range(2):
            bart("slice", 10, frame, "k_image", "one")
            bart("extract", 2, z, z + 1, "one", "plane")
            bounded(f"frame {frame}, slice {z}", nrmse("peer", "plane"), EXACT)


if __name__ == "__main__":
    mri_peers.main(globals(), ["bart"])
