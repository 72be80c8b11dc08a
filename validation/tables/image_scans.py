"""Scans for image_study.py: procedural objects, coils and samples, made without mri_recon.

Objects lie on a grid of twice the resolution of the images, and samples are exact sums over it. So the data do
not come from the model that the reconstruction inverts. Arrays are [z][y][x], positions are fractions of the
field of view in [-1/2, 1/2), k [sample][3] is x, y, z in cycles per field of view, and the signal is the sum of
rho(r) exp(-i 2 pi k.r).
"""
import functools
import gzip
import struct

import numpy as np

FINER = 2  # object voxels per image voxel, along each axis


def positions(n):
    return (np.arange(n) - n // 2) / n


def mesh(shape):
    """z, y, x for broadcasting; an axis of one voxel is at 0."""
    return np.meshgrid(*(positions(n) for n in shape), indexing="ij", sparse=True)


def transform(image):
    """[..][z][y][x] to k-space, both with 0 at voxel N/2."""
    axes = (-3, -2, -1)
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image, axes), axes=axes), axes)


def inverse(spectrum):
    axes = (-3, -2, -1)
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(spectrum, axes), axes=axes), axes)


def centre_of(array, shape):
    """The middle part [z][y][x] of an array whose position 0 is at voxel N/2."""
    cut = tuple(slice(n // 2 - m // 2, n // 2 - m // 2 + m) for n, m in zip(array.shape[-3:], shape))
    return array[(..., *cut)]


# ---- objects ----


def ellipsoid(shape, centre, axes):
    z, y, x = mesh(shape)
    reach = ((x - centre[0]) / axes[0]) ** 2 + ((y - centre[1]) / axes[1]) ** 2
    return (reach + ((z - centre[2]) / axes[2]) ** 2 if shape[0] > 1 else reach) < 1


def texture(shape, rng, exponent, highest):
    """Real noise whose amplitude falls as |k|^-exponent up to |k| = highest; standard deviation 1."""
    frequencies = np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in shape), indexing="ij", sparse=True)
    radius = np.sqrt(sum(f ** 2 for f in frequencies))
    amplitude = np.where((radius > 0) & (radius < highest), np.maximum(radius, 1) ** -exponent, 0)
    noise = np.fft.ifftn(amplitude * np.fft.fftn(rng.standard_normal(shape))).real
    return noise / noise.std()


def head(shape, rng, change=None):
    """A head: scalp, skull, liquid, a folded cortex around white matter, ventricles; with texture in all tissues and
    sharp boundaries. change(image) changes tissues before they get their texture."""
    image = np.zeros(shape)
    image[ellipsoid(shape, (0, 0, 0), (0.37, 0.45, 0.44))] = 0.9
    image[ellipsoid(shape, (0, 0, 0), (0.34, 0.42, 0.41))] = 0.08
    image[ellipsoid(shape, (0, 0, 0), (0.32, 0.40, 0.39))] = 0.3
    folds = texture(shape, rng, 0.5, 14)
    z, y, x = mesh(shape)
    depth = 1 - np.sqrt((x / 0.31) ** 2 + (y / 0.39) ** 2 + ((z / 0.38) ** 2 if shape[0] > 1 else 0))
    brain = depth + 0.05 * folds > 0.03
    brain &= ellipsoid(shape, (0, 0, 0), (0.31, 0.39, 0.38))
    image[brain] = 0.6
    image[brain & (depth + 0.09 * folds > 0.22)] = 0.85
    for side in (-1, 1):
        image[ellipsoid(shape, (side * 0.06, -0.02, 0), (0.03, 0.12, 0.10))] = 0.2
        image[ellipsoid(shape, (side * 0.13, 0.04, 0), (0.035, 0.05, 0.05))] = 0.7
    if change:
        change(image)
    return np.maximum(image * (1 + 0.12 * texture(shape, rng, 1.5, min(n for n in shape if n > 1) / 2)), 0)


def still(shape, rng, t):
    """A head that does not change with the time t, from 0 to 1."""
    return head(shape, rng)


def perfused(shape, rng, t):
    """A head through which contrast agent passes. It arrives in each part at a different time, and leaves it at a
    different rate or hardly at all."""
    def passing(arrival, peak):
        """0 before the arrival, 1 at the peak after it."""
        since = max(t - arrival, 0) / peak
        return since ** 2 * np.exp(2 * (1 - since))

    def change(image):
        for side in (-1, 1):
            ventricle = ellipsoid(shape, (side * 0.06, -0.02, 0), (0.03, 0.12, 0.10))
            image[ventricle] *= 1 + 3 * passing(0.1 + 0.05 * side, 0.2)
            image[ellipsoid(shape, (side * 0.13, 0.04, 0), (0.035, 0.05, 0.05))] *= 1 + 0.7 * passing(0.2, 0.25)
        image[ellipsoid(shape, (0.17, -0.17, 0), (0.09, 0.10, 0.10))] *= 1 + 0.35 * passing(0.25, 0.25)
        image[ellipsoid(shape, (-0.16, 0.20, 0), (0.06, 0.05, 0.06))] *= 1 + 0.6 * passing(0.3, 0.7)
    return head(shape, rng, change)


def beating(shape, rng, t, beats=2):
    """A head with a heart in it: a muscle around a pool of blood contracts, and a vessel beside it moves by 6 % of
    the field of view."""
    squeeze = (1 - np.cos(2 * np.pi * beats * t)) / 2

    def change(image):
        image[ellipsoid(shape, (0, 0.05, 0), (0.18, 0.19, 0.18))] = 0.12
        outer, pool = 0.13 - 0.015 * squeeze, 0.095 - 0.045 * squeeze
        image[ellipsoid(shape, (0, 0.03, 0), (outer, 1.1 * outer, outer))] = 0.5
        image[ellipsoid(shape, (0, 0.03, 0), (pool, 1.1 * pool, pool))] = 1
        image[ellipsoid(shape, (0.06 * squeeze - 0.03, 0.205, 0), (0.025, 0.02, 0.025))] = 1.1
    return head(shape, rng, change)


def bottle(shape, rng):
    """A laboratory phantom: a bottle of liquid with slow shading, and tubes in it."""
    z, y, x = mesh(shape)
    image = ellipsoid(shape, (0, 0, 0), (0.40, 0.40, 0.40)) * (0.8 + 0.2 * x + 0.1 * y + 0 * z)
    for i, value in enumerate((0, 0.3, 0.5, 1.2, 1.5, 0, 0.15, 1)):
        turn = 2 * np.pi * i / 8
        image[ellipsoid(shape, (0.25 * np.cos(turn), 0.25 * np.sin(turn), 0), (0.05, 0.05, 0.3))] = value
    for i in range(6):  # bars
        image[ellipsoid(shape, (0.02 * i - 0.05, 0, 0), (0.004, 0.08, 0.2))] = 0
    return image


def read_nifti(path):
    """The first volume of a NIfTI-1 file as [z][y][x]."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        raw = file.read()
    order = "<" if struct.unpack("<i", raw[:4])[0] == 348 else ">"
    shape = struct.unpack(f"{order}8h", raw[40:56])[1:4]
    kinds = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2"}
    kind, start = struct.unpack(f"{order}h", raw[70:72])[0], int(struct.unpack(f"{order}f", raw[108:112])[0])
    assert kind in kinds, f"{path}: NIfTI data type {kind} is not supported here"
    return np.frombuffer(raw, np.dtype(order + kinds[kind]), int(np.prod(shape)), start).reshape(shape[::-1]).astype(float)


def template(path):
    """An object from a brain in a NIfTI file: the middle slice or the whole brain, in a cube with a margin, by linear
    interpolation."""
    whole = read_nifti(path)
    whole = np.maximum(whole, 0) / np.percentile(whole, 99.5)

    def make(shape, _):
        image = whole if shape[0] > 1 else whole[whole.shape[0] // 2:][:1]
        edge = 1.1 * max(whole.shape[1:])
        for axis, n in enumerate(shape):
            if n > 1:
                at, size = positions(n) * edge + (image.shape[axis] - 1) / 2, np.arange(image.shape[axis])
                image = np.apply_along_axis(lambda line: np.interp(at, size, line, 0, 0), axis, image)
        return image
    return make


def phase(shape):
    z, y, x = mesh(shape)
    return np.exp(1j * (0.4 + 2.5 * x * y + 1.5 * x - 2 * (y + 0.1) ** 2 + np.sin(4 * x + 3 * y) / 2 + z * (2 - 3 * x)))


# ---- coils ----


def coil_maps(shape, coils, segments=24):
    """Bx - i By of loops around the object (Biot-Savart, straight segments); in 3D on two rings. [coil][z][y][x]."""
    z, y, x = mesh(shape)
    rings = [0.0] if shape[0] == 1 else [-0.22, 0.22]
    maps = np.empty((coils, *shape), np.complex64)
    around = 2 * np.pi * (np.arange(segments) + 0.5) / segments
    for c in range(coils):
        ring = c % len(rings)
        turn = 2 * np.pi * (c + 0.3) / coils
        outward, along = np.array([np.cos(turn), np.sin(turn), 0]), np.array([-np.sin(turn), np.cos(turn), 0])
        size = max(0.62 * np.sin(np.pi / (coils / len(rings))), 0.12) * 1.1
        field = np.zeros(shape, np.complex64)
        for angle in around:
            at = 0.66 * outward + size * (np.cos(angle) * along + np.array([0, 0, np.sin(angle)])) + [0, 0, rings[ring]]
            dx, dy, dz = size * (-np.sin(angle) * along + np.array([0, 0, np.cos(angle)]))
            rx, ry, rz = (v.astype(np.float32) for v in (x - at[0], y - at[1], z - at[2]))
            cubed = (rx * rx + ry * ry + rz * rz + np.float32(2e-3)) ** np.float32(-1.5)
            # dl x r / |r|^3, its x less i times its y.
            field += ((dy * rz - dz * ry) - 1j * (dz * rx - dx * rz)).astype(np.complex64) * cubed
        maps[c] = field * np.exp(1j * 0.7 * c)
    return maps / abs(maps).mean()


# ---- trajectories ----


def radial(n, spokes):
    """Golden-angle diameters with n samples each, two per cycle."""
    radius = (np.arange(2 * n) - n) / 2
    turn = np.pi * (np.arange(spokes) * (np.sqrt(5) - 1) / 2)[:, None]
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros((spokes, 2 * n))], -1).reshape(-1, 3)


def spiral(n, arms, pitch, dense):
    """Interleaved spirals. Their arms lie one cycle apart up to a diameter of `dense` cycles, then `pitch`; samples
    lie half a cycle apart."""
    k = np.linspace(0, n / 2, 4000)
    apart = np.where(k < dense / 2, 1, np.minimum(pitch, 1 + (k - dense / 2) * pitch / 8))
    step = k[1]
    turns = np.cumsum(np.where(k > 0, step / (arms * apart), 0))
    path = np.cumsum(np.hypot(step, 2 * np.pi * k * step / (arms * apart)))
    radius = np.interp(np.arange(0, path[-1], 0.5), path, k)
    turn = 2 * np.pi * (np.interp(radius, k, turns) + np.arange(arms)[:, None] / arms)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), 0 * turn], -1).reshape(-1, 3)


def koosh_ball(n, spokes):
    """Diameters whose directions are distributed over the sphere by golden means."""
    i = np.arange(spokes)[:, None]
    z, turn = (i * 0.4656) % 1, 2 * np.pi * ((i * 0.6823) % 1)
    radius, flat = np.arange(n) - n // 2, np.sqrt(1 - z * z)
    return np.stack([radius * flat * np.cos(turn), radius * flat * np.sin(turn), radius * z], -1).reshape(-1, 3)


def cartesian(mask):
    """The points of a mask [y][x] of k-space."""
    y, x = np.nonzero(mask)
    return np.stack([x - mask.shape[1] // 2, y - mask.shape[0] // 2, 0 * x], -1).astype(float)


def every(n, step, calibration):
    """Mask [y][x]: every step-th line and the lines of the centre."""
    lines = np.arange(n)
    wanted = ((lines - n // 2) % step == 0) | ((lines >= n // 2 - calibration // 2) & (lines < n // 2 + (calibration + 1) // 2))
    return np.repeat(wanted[:, None], n, axis=1)


# ---- samples ----


def sample(image, k):
    """The exact sums over a fine image. They are separable, so they cost little. Single precision (relative error
    1e-6)."""
    z, y, x = (np.exp(-2j * np.pi * np.outer(k[:, a], positions(n))).astype(np.complex64)
               for a, n in ((2, image.shape[0]), (1, image.shape[1]), (0, image.shape[2])))
    total = np.zeros(len(k), np.complex64)
    for n, plane in enumerate(image.astype(np.complex64)):
        if plane.any():
            total += np.einsum("sy,sy->s", x @ plane.T, y) * z[:, n]
    return total


class Scan:
    """matrix (x, y, z), k, data [coil][sample] without noise, truth [z][y][x], without noise: the root of the sum of
    squares of the coils' images from the whole region of k-space that the trajectory covers (a disc, a ball, or
    everything); maps [coil][z][y][x] on the image's grid, whose squares add up to 1, so the image has the truth's
    scale; mask [y][x] if Cartesian; centre: the width in cycles of the middle of k-space that the samples cover
    without gaps, for calibration."""

    def __init__(self, make, matrix, k, coils, seed, mask=None, centre=24):
        shape, rng = tuple(reversed(matrix)), np.random.default_rng(seed)
        fine = tuple(n * FINER if n > 1 else 1 for n in shape)
        picture, sensitivity = make(fine, rng) * phase(fine), coil_maps(fine, coils)
        self.matrix, self.k, self.mask, self.centre = matrix, np.asarray(k, np.float32), mask, centre
        self.data, images = [], []
        z, y, x = mesh(shape)
        ball = np.ones(shape, bool) if mask is not None else x ** 2 + y ** 2 + (z ** 2 if shape[0] > 1 else 0) <= 0.25
        for s in sensitivity:
            spectrum = centre_of(transform(picture * s), shape)
            images.append(inverse(spectrum * ball))
            at = np.rint(self.k).astype(int) + [n // 2 for n in matrix]
            self.data.append(sample(picture * s, self.k) if mask is None else spectrum[at[:, 2], at[:, 1], at[:, 0]])
        self.data = np.array(self.data)
        self.truth = np.sqrt((abs(np.array(images)) ** 2).sum(0))
        coarse = sensitivity[(slice(None), *(slice(None, None, FINER if n > 1 else 1) for n in shape))]
        self.maps = coarse / np.sqrt((abs(coarse) ** 2).sum(0))
        self.region = region_of(self.truth)

    def noisy(self, snr, seed=5):
        """Data with noise such that an image with one sample per voxel has this ratio of mean signal to standard
        deviation."""
        return self.data + self.noise(snr, seed)

    def noise(self, snr, seed):
        rng = np.random.default_rng(seed)
        sigma = self.truth[self.region].mean() / snr * np.sqrt(self.truth.size)
        noise = rng.standard_normal((2, *self.data.shape))
        return sigma * (noise[0] + 1j * noise[1])


class Series:
    """Frames at times t from 0 to 1 of an object make(shape, rng, t), k [frame][sample][3]. Like a Scan, but data,
    truth and region have frames first. changing: where the truth changes by more than 5 % of its largest value."""

    def __init__(self, make, matrix, k, coils, seed, centre=24):
        self.frames = [Scan(functools.partial(make, t=f / len(k)), matrix, samples, coils, seed, centre=centre)
                       for f, samples in enumerate(k)]
        first = self.frames[0]
        self.matrix, self.mask, self.centre, self.maps = matrix, None, centre, first.maps
        self.k, self.data, self.truth = (np.array([getattr(frame, name) for frame in self.frames])
                                         for name in ("k", "data", "truth"))
        self.region = np.broadcast_to(region_of(self.truth.mean(0)), self.truth.shape)
        self.changing = np.broadcast_to(np.ptp(self.truth, 0) > 0.05 * self.truth.max(), self.truth.shape)

    def noisy(self, snr, seed=5):
        """Like Scan.noisy, with the same standard deviation in all frames."""
        return self.data + np.array([self.frames[0].noise(snr, seed + f) for f in range(len(self.frames))])


def region_of(truth, least=0.05):
    """The region of the object: in each row and column, from the first to the last voxel above a share of the largest
    value."""
    inside = truth > least * truth.max()

    def between(axis):
        forward = np.logical_or.accumulate(inside, axis)
        return forward & np.flip(np.logical_or.accumulate(np.flip(inside, axis), axis), axis)
    return between(-1) & between(-2)
