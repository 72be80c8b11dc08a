#!/usr/bin/env python3
"""mri_recon against BART (the Berkeley Advanced Reconstruction Toolbox), on BART's own trajectories and phantoms.

    test_bart.py MRI_RECON [cpu|cuda] [test_name ...]

BART's conventions, as its programs show them: arrays have the first dimension fastest, x, y, z; k in cycles per
field of view; exp(-i 2 pi k.r) from image to data; voxel n at (n - N/2)/N. Voxfield's are the same, so only the
layouts are converted, with one exception: on axes of an odd number of voxels BART's N/2 is a half more than an
integer, and here it is rounded down. (BART 0.8's `nufft` is wrong on such axes, by 60 %; its `nufft -s`, the
direct sum, is right.) BART's F^H F is this project's divided by the number of voxels, so BART's penalty r is r
times the number of voxels here. Lambda is relative to the largest diagonal element of F^H F. If the maps' squares
add up to 1, it is that penalty divided by the number of samples.
"""
import mri_peers
from mri_peers import Exact, bounded, call, exact_cg, image, np, nrmse, write_scan

# ---- BART's files ----


def read_cfl(name):
    with open(f"{name}.hdr", encoding="ascii") as header:
        shape = [int(n) for n in header.read().split("\n")[1].split()]
    return np.fromfile(f"{name}.cfl", np.complex64).reshape(shape, order="F")


def write_cfl(name, array):
    shape = [*array.shape, *[1] * (16 - array.ndim)]
    with open(f"{name}.hdr", "w", encoding="ascii") as header:
        header.write("# Dimensions\n" + " ".join(map(str, shape)) + "\n")
    array.astype(np.complex64).ravel(order="F").tofile(f"{name}.cfl")


def volumes(name):
    """Converts BART's images, [x][y][z][coil], to [coil][z][y][x]."""
    array = read_cfl(name)
    return array.reshape(array.shape[:4]).transpose(3, 2, 1, 0).astype(np.complex128)


def bart(*words):
    call("bart", *words)


class Scan:
    """A phantom of BART, sampled by BART on a trajectory of BART: as BART's files t, k (and s), and as our file
    scan.h5."""

    def __init__(self, matrix, trajectory, coils=1, maps=False, swap=()):
        self.matrix = matrix
        bart("traj", *trajectory, "t")
        t = read_cfl("t")
        if swap:  # the same directions along other axes
            t[list(swap)] = t[list(reversed(swap))]
            write_cfl("t", t)
        solid = ["-3"] if matrix[2] > 1 else []
        bart("phantom", "-k", *solid, *(["-s", coils] if coils > 1 else []), "-t", "t", "k")
        self.k = t.reshape(3, -1, order="F").real.T  # [sample][3]
        data = read_cfl("k")
        self.data = data.reshape(len(self.k), coils, order="F").T
        self.sensitivity = None
        if maps:
            # Normalised like estimated maps: squares add up to 1. BART's phantom has maps of any scale.
            bart("phantom", *solid, "-x", matrix[0], "-S", coils, "s")
            s = read_cfl("s")
            write_cfl("s", s / np.sqrt((abs(s) ** 2).sum(axis=3, keepdims=True)))
            self.sensitivity = volumes("s")
        self.file = write_scan("scan.h5", matrix, self.k, self.data, self.sensitivity)
        self.exact = Exact(matrix, self.k)

    @property
    def size(self):
        return "x".join(map(str, self.matrix))

    def bart_adjoint(self, *options):
        bart("nufft", "-a", *options, "-d", self.size.replace("x", ":"), "t", "k", "a")
        return volumes("a")

    def our_lambda(self, r):
        return r * np.prod(self.matrix) / len(self.k)


# ---- the adjoint: conventions ----

# After the best scale, BART's adjoint was measured 0.7e-4 to 1.6e-4 off the exact sum on these trajectories, because of
# its interpolation; twice that is allowed. Ours keeps its tolerance and single precision. A conjugate, a flipped or
# swapped axis, or a grid shifted by half a voxel would be off by more than 0.02.
BART_ADJOINT, OUR_ADJOINT = 3e-4, 1e-5


def check_adjoint(matrix, trajectory, **options):
    scan = Scan(matrix, trajectory, **options)
    peer, ours, truth = scan.bart_adjoint()[0], image(scan.file, "--method", "adjoint")[0], scan.exact.adjoint(scan.data[0])
    bounded(f"{scan.size}: adjoint, BART against the exact sum", nrmse(peer, truth), BART_ADJOINT)
    bounded(f"{scan.size}: adjoint, mri_recon against the exact sum", nrmse(ours, truth), OUR_ADJOINT)
    bounded(f"{scan.size}: adjoint, mri_recon against BART", nrmse(ours, peer), BART_ADJOINT)
    return scan, ours


def test_even_axes(_):
    """2D and 3D, different sides, every order of the axes; and a check that a wrong convention would be detected."""
    check_adjoint((96, 96, 1), ["-r", "-x", 96, "-y", 151])
    scan, ours = check_adjoint((64, 74, 1), ["-r", "-x", 64, "-y", 101])
    check_adjoint((74, 64, 1), ["-r", "-G", "-x", 64, "-y", 101], swap=(0, 1))
    check_adjoint((32, 32, 32), ["-3", "-r", "-x", 32, "-y", 500])
    check_adjoint((30, 26, 24), ["-3", "-r", "-G", "-x", 24, "-y", 300], swap=(0, 2))
    truth = scan.exact.adjoint(scan.data[0])
    half = np.exp(1j * np.pi * scan.k[:, 0] / scan.matrix[0])  # half a voxel along x
    wrong = {"the other sign": Exact(scan.matrix, -scan.k).adjoint(scan.data[0]), "flipped along x": truth[:, :, ::-1],
             "flipped along y": truth[:, ::-1], "half a voxel off": scan.exact.adjoint(scan.data[0] * half)}
    for name, array in wrong.items():
        error = nrmse(ours, array)
        assert error > 0.02, f"{name}: {error}"


def test_odd_axes(_):
    """BART's direct sum. On odd axes its voxels lie half a voxel before ours, so the shift theorem moves them. It
    computes in single precision: 2e-6."""
    for matrix, trajectory in (((33, 32, 1), ["-r", "-x", 32, "-y", 55]), ((32, 35, 1), ["-r", "-x", 32, "-y", 55]),
                               ((17, 16, 15), ["-3", "-r", "-x", 16, "-y", 100])):
        scan = Scan(matrix, trajectory)
        peer = scan.bart_adjoint("-s")[0]
        turns = sum(scan.k[:, a] * 0.5 / n for a, n in enumerate(matrix) if n > 1 and n % 2)
        moved = write_scan("moved.h5", matrix, scan.k, scan.data * np.exp(-2j * np.pi * turns))
        ours = image(moved, "--method", "adjoint")[0]
        bounded(f"{scan.size}: adjoint, mri_recon against BART", nrmse(ours, peer), OUR_ADJOINT)


# ---- the inverse ----

# BART's iterations miss the exact minimum by its interpolation error, which small eigenvalues amplify. Each test
# measures this against the minimum in double precision: 2.1e-2 (nufft -i), 4.6e-3 and 5.2e-3 (pics, r = 0.1) and 1.9e-3
# (r = 1). Half as much again is allowed for BART's error, and for the distance from BART. mri_recon must be within
# OUR_INVERSE of the same minimum: measured 4e-6 to 2e-4. The bound is the tolerance of its sums times at most the
# number of samples over the penalty, some hundreds.
BART_INVERSE = 3e-2
OUR_INVERSE = 5e-4


def test_inverse_2d(_):
    """bart nufft -i: one coil, conjugate gradients with an l2 penalty."""
    scan = Scan((64, 64, 1), ["-r", "-x", 64, "-y", 101])
    r = 0.1
    bart("nufft", "-i", "-l", r, "-d", "64:64:1", "t", "k", "i")
    peer = volumes("i")[0]
    ours = image(scan.file, "--iterations", 100, "--tolerance", 1e-7, "--lambda", scan.our_lambda(r))[0]
    truth = exact_cg(scan.exact, [1], scan.data, r * np.prod(scan.matrix), 100)
    bounded("inverse, BART against the minimum", nrmse(peer, truth), BART_INVERSE)
    bounded("inverse, mri_recon against the minimum", nrmse(ours, truth), OUR_INVERSE)
    bounded("inverse, mri_recon against BART", nrmse(ours, peer), BART_INVERSE)


def check_pics(scan, r, allowed):
    bart("pics", "-l2", "-r", r, "-i", 100, "-t", "t", "k", "s", "p")
    peer = volumes("p")[0]
    ours = image(scan.file, "--iterations", 100, "--tolerance", 1e-7, "--lambda", scan.our_lambda(r))[0]
    truth = exact_cg(scan.exact, scan.sensitivity, scan.data, r * np.prod(scan.matrix), 150)
    bounded(f"{scan.size}, r = {r}: pics, BART against the minimum", nrmse(peer, truth), allowed)
    bounded(f"{scan.size}, r = {r}: pics, mri_recon against the minimum", nrmse(ours, truth), OUR_INVERSE)
    bounded(f"{scan.size}, r = {r}: pics, mri_recon against BART", nrmse(ours, peer), allowed)


def test_sense_2d(_):
    """bart pics -l2 with the same maps: 4 coils, half the spokes that one coil would need."""
    scan = Scan((64, 64, 1), ["-r", "-x", 64, "-y", 51], coils=4, maps=True)
    for r, allowed in ((0.1, 7e-3), (1, 3e-3)):
        check_pics(scan, r, allowed)


def test_sense_3d(_):
    scan = Scan((24, 24, 24), ["-3", "-r", "-G", "-x", 24, "-y", 300], coils=3, maps=True)
    check_pics(scan, 0.1, 8e-3)


if __name__ == "__main__":
    mri_peers.main(globals(), ["bart"])
