"""Errors of an image against the truth, and the search for the best value of a parameter, for image_study.py.

Images are [z][y][x], complex or magnitudes. The truth is a magnitude. The region, where the object is, is
boolean.
"""
import math

import numpy as np

from image_scans import positions, transform


def scaled(found, truth, region):
    """The magnitude, scaled to fit the truth best in the region. ValueError if the image is all zeros or not
    finite."""
    found = abs(np.asarray(found, np.complex128))
    if found.shape != truth.shape:
        raise ValueError(f"an image of {found.shape}, not {truth.shape}")
    size = (found[region] ** 2).sum()
    if not (np.isfinite(found).all() and size > 0):
        raise ValueError("an image with NaN or infinite values, or all zeros")
    return found * ((found[region] * truth[region]).sum() / size)


def error_of(found, truth, region, part=None):
    """The error in the region or in a part of it, with the scale that fits the whole region."""
    part = region if part is None else part
    difference = scaled(found, truth, region)[part] - truth[part]
    return float(np.sqrt((difference ** 2).sum() / (truth[part] ** 2).sum()))


def windows(array, width=7):
    """Means over windows of `width` voxels, along the axes that have at least that many."""
    for axis, n in enumerate(array.shape):
        if n >= width:
            sums = np.cumsum(np.concatenate([np.zeros_like(array.take([0], axis)), array], axis), axis)
            array = (sums.take(range(width, n + 1), axis) - sums.take(range(n - width + 1), axis)) / width
    return array


def ssim_of(found, truth, region):
    """Structural similarity (Wang et al. 2004, uniform windows of 7 voxels per axis), mean over windows near the
    region."""
    found, top = scaled(found, truth, region), truth.max()
    a, b = windows(found), windows(truth)
    aa, bb, ab = (windows(p * q) - r for p, q, r in ((found, found, a * a), (truth, truth, b * b), (found, truth, a * b)))
    c, d = (0.01 * top) ** 2, (0.03 * top) ** 2
    similarity = (2 * a * b + c) * (2 * ab + d) / ((a * a + b * b + c) * (aa + bb + d))
    return float(similarity[windows(region.astype(float)) > 0.5].mean())


def background_of(found, truth, region):
    """Root mean square outside the region divided by that inside."""
    found = scaled(found, truth, region)
    if region.all():
        return 0.0
    return float(np.sqrt((found[~region] ** 2).mean() / (found[region] ** 2).mean()))


def high_share(found):
    """Share of an image's energy in the highest quarter of spatial frequencies along any axis."""
    energy = abs(transform(found)) ** 2
    high = np.zeros(energy.shape, bool)
    for axis, n in enumerate(energy.shape):
        if n > 1:
            far = abs(positions(n)) > 0.375
            high |= far.reshape([-1 if a == axis else 1 for a in range(energy.ndim)])
    return float(energy[high].sum() / energy.sum())


# ---- the best value of a parameter ----


class Tried(dict):
    """{value: figure}. Measures each value once. A NaN or infinite figure is an error."""

    def __init__(self, measure):
        super().__init__()
        self.measure = measure

    def __missing__(self, value):
        figure = self.measure(value)
        if not math.isfinite(figure):
            raise ValueError(f"error {figure} at {value:g}")
        self[value] = figure
        return figure

    def sorted(self):
        return dict(sorted(self.items()))


def best_of(measure, start, limits, refine=(2,)):
    """Returns the value with the least figure, that figure, and {value: figure} of all tried values. Tries factors of
    4 in the direction that lowers the figure, then those of `refine`. Calls `measure` once per value."""
    tried = Tried(measure)

    def at(value):
        return tried[value] if limits[0] <= value <= limits[1] else math.inf

    best = start
    for factor in (4, 0.25):
        while at(best * factor) < at(best):
            best *= factor
    for factor in refine:
        best = min((best, best * factor, best / factor), key=at)
    return best, tried[best], tried.sorted()


def best_among(measure, values, start):
    """The same over a sorted list: starts at `start` and moves to neighbours while that lowers the figure."""
    tried, best = Tried(measure), values.index(start)
    for step in (1, -1):
        while 0 <= best + step < len(values) and tried[values[best + step]] < tried[values[best]]:
            best += step
    return values[best], tried[values[best]], tried.sorted()
