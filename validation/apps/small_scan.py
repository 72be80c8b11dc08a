"""A small scan of one slice as ISMRMRD acquisitions, s.h5, its image, i.h5, and how far that is from the truth, for tests of what
files say about it. Importing it needs h5py (skip_without_h5py)."""
from ismrmrd_file import acquisition, coils, complex_noise, phantom, transform
from made_scan import image, skip_without_h5py
from program import make
import seeds

skip_without_h5py()
import numpy as np  # noqa: E402 - after the check

N, COILS, FOV = 48, 5, (240, 240, 5)
TRUTH, MAPS = phantom(N, N), coils(COILS, N, N)
OTHER = TRUTH * (.3 + .7 * (np.mgrid[:N, :N][1] > N // 2))
RANDOM = seeds.generator(43)
# The noise of a sample, 0.25, is 0.25 / 48 of a voxel, 1 % of the phantom's rms of 0.5; estimated maps add about 1 %.
SIGMA, CLOSE = 0.25, 0.03


def samples(picture=TRUTH, sigma=SIGMA):
    """[coil][y][x]"""
    k = transform(picture * MAPS)
    return k + sigma * complex_noise(RANDOM, k.shape)


def lines(k, **values):
    """An acquisition for each line of [coil][y][x]."""
    return [acquisition(k[:, n], kspace_encode_step_1=n, **values) for n in range(k.shape[1])]


def run(*options):
    done = make("s.h5", "-o", "i.h5", *options)
    return done.out + done.err


def errors(*truths):
    made = abs(image("i.h5"))[:, 0]
    assert made.shape == (len(truths), *truths[0].shape) and np.isfinite(made).all(), made.shape
    return [np.linalg.norm(one - truth) / np.linalg.norm(truth) for one, truth in zip(made, truths)]
