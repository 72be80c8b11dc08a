"""An independent solver for small grids: dense matrices in double precision, with a certificate of the optimum.

    minimise  P(x) = <x, A x> / 2 - Re <b, x> + sum_i g_i(T_i x)

Images are [frame][voxel], complex, voxels in C order of the shape (z, y, x). g_i is `weight` times a norm, so the dual
problem is

    maximise D(y) = -<r, A^-1 r> / 2,  r = b - sum_i T_i^H y_i,  over y_i whose dual norm is at most `weight`.

Any such y has D(y) <= the minimum (weak duality). The dual is solved by accelerated projected gradients (Beck and
Teboulle, IEEE Trans. Image Process. 18 (2009) 2419) with restarts. The image for y is x = A^-1 r. If P(x) - D(y) is
small, both are near the solution, regardless of how they were computed.
"""
import numpy


# ---- the penalties: T, its adjoint, the norm, and the projection onto its dual ball ----

# count(y): the number of magnitudes that the norm adds up, so the norm is at most sqrt(count) |y|. largest: the
# largest eigenvalue of T^H T.


class Sparse:
    """The sum over rows j of sqrt(sum_g |(T_g x)(j)|^2), for each frame; T: [group][row][voxel], real."""

    def __init__(self, weight, matrix):
        self.weight, self.groups = weight, len(matrix)
        self.matrix = matrix.reshape(-1, matrix.shape[-1])
        self.turned = self.matrix.T.copy()
        self.largest = numpy.linalg.eigvalsh(self.turned @ self.matrix)[-1]

    @staticmethod
    def _times(matrix, x):
        product = matrix @ numpy.ascontiguousarray(x.T).view(float)
        return numpy.ascontiguousarray(product).view(complex).T

    def forward(self, x):
        return self._times(self.matrix, x)

    def adjoint(self, y):
        return self._times(self.turned, y)

    def _sizes(self, y):
        return numpy.linalg.norm(y.reshape(len(y), self.groups, -1), axis=1)

    def count(self, y):
        return len(y) * len(self.matrix) // self.groups

    def norm(self, y):
        return self._sizes(y).sum()

    def project(self, y):
        scale = numpy.minimum(1, self.weight / numpy.maximum(self._sizes(y), 1e-300))
        return (y.reshape(len(y), self.groups, -1) * scale[:, None]).reshape(y.shape)


class Temporal:
    """The sum of magnitudes of differences between frames."""
    largest = 4

    def __init__(self, weight):
        self.weight = weight

    def forward(self, x):
        return numpy.diff(x, axis=0)

    def adjoint(self, y):
        return -numpy.diff(y, axis=0, prepend=0, append=0)

    def count(self, y):
        return y.size

    def norm(self, y):
        return abs(y).sum()

    def project(self, y):
        return y * numpy.minimum(1, self.weight / numpy.maximum(abs(y), 1e-300))


class LowRank:
    """The sum of singular values of the matrices [frame][voxels of a block]; blocks: lists of voxels."""
    largest = 1

    def __init__(self, weight, blocks):
        self.weight = weight
        sizes = {len(block) for block in blocks}
        self.blocks = [numpy.array([block for block in blocks if len(block) == size]) for size in sizes]

    def forward(self, x):
        return x

    adjoint = forward

    def count(self, y):
        return sum(len(at) * min(len(y), at.shape[1]) for at in self.blocks)

    def norm(self, y):
        return sum(numpy.linalg.svd(y[:, at].swapaxes(0, 1), compute_uv=False).sum() for at in self.blocks)

    def project(self, y):
        out = numpy.empty_like(y)
        for at in self.blocks:
            u, s, v = numpy.linalg.svd(y[:, at].swapaxes(0, 1), full_matrices=False)
            out[:, at] = ((u * numpy.minimum(s, self.weight)[:, None]) @ v).swapaxes(0, 1)
        return out


# ---- the transforms, from the formulas of wavelet.h, differences.h and low_rank.h ----

SCALING = {1: numpy.array([1, 1]) / 2 ** 0.5,  # Daubechies 1988, by vanishing moments
           2: (numpy.array([1, 3, 3, 1]) + 3 ** 0.5 * numpy.array([1, 1, -1, -1])) / (4 * 2 ** 0.5)}


def wavelet(shape, moments, shift):
    """Psi S P without the coarsest band: [1][coefficient][voxel]. `shift` along z, y, x."""
    low = SCALING[moments]
    taps, voxels = len(low), int(numpy.prod(shape))
    high = [(-1) ** k * low[taps - 1 - k] for k in range(taps)]
    levels = [max(level for level in range(5) if level == 0 or -(-n // 2 ** level) >= taps) for n in shape]
    box = numpy.zeros((voxels, *(-(-n // 2 ** level) * 2 ** level for n, level in zip(shape, levels))))
    box[(slice(None), *map(slice, shape))] = numpy.eye(voxels).reshape(voxels, *shape)
    box, rows = numpy.roll(box, shift, (1, 2, 3)), []
    for level in range(max(levels)):
        bands = {(): box}
        for axis in (a + 1 for a in range(3) if level < levels[a]):
            bands = {(*kind, detail): sum(h * numpy.roll(band, -k, axis) for k, h in enumerate(taps_of))
                     .take(range(0, band.shape[axis], 2), axis)
                     for kind, band in bands.items() for detail, taps_of in enumerate((low, high))}
        rows += [band.reshape(voxels, -1) for kind, band in bands.items() if any(kind)]
        box = next(band for kind, band in bands.items() if not any(kind))
    return numpy.concatenate(rows, axis=1).T[None]


def gradient(shape):
    """[axis][voxel][voxel], the axes with more than one voxel; 0 at the last voxel of an axis."""
    at, voxels = numpy.arange(numpy.prod(shape)).reshape(shape), int(numpy.prod(shape))
    parts = []
    for axis in (a for a in range(3) if shape[a] > 1):
        part = numpy.zeros((voxels, voxels))
        here, there = (numpy.moveaxis(at, axis, 0)[rows].ravel() for rows in (slice(-1), slice(1, None)))
        part[here, here], part[here, there] = -1, 1
        parts.append(part)
    return numpy.array(parts)


def blocks(shape, side, shift):
    """The voxels of each block; position p of an axis is voxel (p + shift) mod n."""
    axes = [[[(p + s) % n for p in range(first, min(first + side, n))] for first in range(0, n, side)]
            for n, s in zip(shape, shift)]
    at = numpy.arange(numpy.prod(shape)).reshape(shape)
    return [at[numpy.ix_(z, y, x)].ravel() for z in axes[0] for y in axes[1] for x in axes[2]]


# ---- the problem ----


class Problem:
    def __init__(self, a, b, terms):
        """a: [frame][voxel][voxel], positive definite; b: [frame][voxel]."""
        self.a, self.b, self.terms = a, b, terms
        self.inverse = numpy.linalg.inv(a)
        eigenvalues = numpy.linalg.eigvalsh(a)
        self.least, self.most = eigenvalues.min(), eigenvalues.max()

    def data(self, x):
        return numpy.vdot(x, self._each(self.a, x)).real / 2 - numpy.vdot(self.b, x).real

    def slope(self, x):
        """|A x - b|"""
        return numpy.linalg.norm(self._each(self.a, x) - self.b)

    def penalties(self, x):
        return [term.weight * term.norm(term.forward(x)) for term in self.terms]

    def objective(self, x):
        return self.data(x) + sum(self.penalties(x))

    @staticmethod
    def _each(matrices, x):
        return (matrices @ x[:, :, None])[:, :, 0]

    def _image(self, y):
        left = self.b - sum(term.adjoint(part) for term, part in zip(self.terms, y))
        x = self._each(self.inverse, left)
        return x, -numpy.vdot(left, x).real / 2

    def _step(self):
        """1 / the largest eigenvalue of T A^-1 T^H, by power iteration."""
        y = [term.forward(numpy.random.default_rng(0).standard_normal(self.b.shape) + 0j) for term in self.terms]
        size = 1
        for _ in range(60):
            x = self._each(self.inverse, sum(term.adjoint(part / size) for term, part in zip(self.terms, y)))
            y = [term.forward(x) for term in self.terms]
            size = sum(numpy.linalg.norm(part) ** 2 for part in y) ** 0.5
        return 1 / (1.1 * size)

    def solve(self, gap=5e-9, most=4000):
        """Returns the image, and the lower bound D(y) of the minimum. The objective exceeds it by about gap |P|, or
        by more if `most` iterations are not enough."""
        step, momentum = self._step(), 1
        y = [0 * term.forward(self.b) for term in self.terms]
        ahead = y
        for iteration in range(1, most + 1):
            x, _ = self._image(ahead)
            new = [term.project(part + step * term.forward(x)) for term, part in zip(self.terms, ahead)]
            if sum(numpy.vdot(s - n, n - o).real for s, n, o in zip(ahead, new, y)) > 0:
                momentum = 1
            after = (1 + (1 + 4 * momentum ** 2) ** 0.5) / 2
            ahead = [n + (momentum - 1) / after * (n - o) for n, o in zip(new, y)]
            y, momentum = new, after
            if iteration % 50 == 0 or iteration == most:
                x, lower = self._image(y)
                if self.objective(x) - lower <= gap * abs(lower):
                    break
        return x, lower
