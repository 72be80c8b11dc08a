#!/usr/bin/env python3
"""Another scan as an anatomical prior: what mri_recon --reference gains, and what it costs where it is wrong.

    reference_study.py MRI_RECON [cpu|cuda] [--json FILE] [--quick] [--cases REGEX] [--picture FILE.png] [--enforce]

The case of sodium: an image of little signal, and a water image of the same head at twice the matrix and a high
signal-to-noise ratio. Both are simulated from tissues with boundaries on a grid of four times the sodium's resolution; they
differ in contrast, and each has a texture of its own. Water is reconstructed by FFT with its own noise, and written as NIfTI.
Kinds of cases:

    same      both have the same structures
    own       besides, a lesion that only the sodium has, and one that only the water has
    mirrored  the water image of another orientation: a wrong reference
    elsewhere the water image moved by a tenth of the field of view
    blocks    flat tissues of whole voxels in both, which water of three times the matrix shows exactly

For each case and signal-to-noise ratio (mean signal over the standard deviation of the real part of a voxel's noise), the
table has the errors of --prior spectrum, the default without a reference; of identity, differences and the reference at
lambda auto, and of each at its best lambda, found by a search with the truth. They are those of the complex image in the
object's region, after the best complex scale; `magnitude` has the error of the magnitude, which noise across the signal hardly
changes, so that it is least with less smoothing. `oracle`, for blocks, takes the mean of each tissue: the least error there
can be. `kept` is the contrast of the lesion that only the sodium has, over the true one; `ghost` is the contrast where only
the water has one, relative to that of the water.

--quick     small images and few cases: a test that this program works, with the same bars
--picture   truth, water, --prior spectrum and --reference, side by side
--enforce   exit status 1 if a bar is missed

Exit status: 0; 1 if a case failed or gave NaN or infinite values; 77 without numpy or h5py.
"""
import json
import pathlib
import struct
import sys
import tempfile
import zlib

import image_study  # first: it finds the other modules, and a Python with numpy
from image_study import Case, bar_of, run_cases
import image_scans as scans
from image_errors import best_of, scaled
from mri_peers import h5py, np
from nifti_file import write_nifti

FOV = 240.0
# The value that scans.head gives a tissue, and what water and sodium have in it: liquid is bright in sodium.
TISSUES = ((0.9, 0.9, 0.25), (0.08, 0.08, 0.05), (0.3, 0.3, 1.0), (0.6, 0.6, 0.5), (0.85, 0.85, 0.38), (0.2, 0.2, 1.0), (0.7, 0.7, 0.45))
TEXTURE = 0.03
OWN_SODIUM, OWN_WATER = ((0.16, -0.17, 0), 1.8), ((-0.16, 0.20, 0), 1.4)  # centre and contrast of lesions, and their radius:
RADIUS = 0.05
WATER_SNR = 40

BARS = {
    "auto / spectrum": (1.01, "error with the reference at lambda auto over that of --prior spectrum, in every case"),
    "magnitude, auto / spectrum": (1.02, "the same of the magnitude"),
    "mean auto / spectrum, same": (0.95, "the same, the mean over the cases with the same structures"),
    # The mean of n voxels has 1 / n of the noise. Between knowing nothing of the boundaries (1) and all (0), half must be gained:
    # weights at edges are small, not 0, and the strength is found from noisy data.
    "share of the oracle, missed": (0.5, "blocks: the share of the squared error between spectrum and oracle that is left"),
    "auto / best lambda": (1.05, "error at lambda auto over that of the reference alone at its best lambda"),
    "contrast": (0.1, "own: by how much more the contrast of the sodium's own lesion is wrong than with --prior spectrum"),
    "ghost": (0.1, "own: contrast where only the water has a lesion, less that with --prior spectrum"),
}


class Heads:
    """Water and sodium on the fine grid, the tissues' labels, and masks of the lesions on a grid of the image's size."""

    def __init__(self, matrix, seed, own):
        self.matrix, shape = matrix, tuple(reversed(matrix))
        fine = tuple(4 * n if n > 1 else 1 for n in shape)
        rng, labels = np.random.default_rng(seed), []
        scans.head(fine, rng, lambda image: labels.append(image.copy()))
        self.water, self.sodium = np.zeros(fine), np.zeros(fine)
        for value, water, sodium in TISSUES:
            here = np.isclose(labels[0], value)
            self.water[here], self.sodium[here] = water, sodium
        highest = min(n for n in shape if n > 1) / 2
        axes = (RADIUS, RADIUS, RADIUS)
        self.masks = {}
        for name, image, (centre, contrast) in (("sodium", self.sodium, OWN_SODIUM), ("water", self.water, OWN_WATER)):
            if own:
                image[scans.ellipsoid(fine, centre, axes)] *= contrast
            inner, outer = (scans.ellipsoid(shape, centre, [s * a for a in axes]) for s in (0.7, 1.8))
            near = scans.ellipsoid(shape, centre, [1.25 * a for a in axes])
            self.masks[name] = (inner, outer & ~near)
        for image in (self.water, self.sodium):
            image *= 1 + TEXTURE * scans.texture(fine, rng, 1.5, highest)

    def at(self, image, factor):
        """What a scan of `factor` times the matrix sees of it: its middle frequencies."""
        shape = tuple(factor * n if n > 1 else 1 for n in reversed(self.matrix))
        spectrum = scans.centre_of(scans.transform(image), shape)
        return scans.inverse(spectrum) * (np.prod(shape) / image.size)

    def reference(self, seed):
        image = self.at(self.water, 2)
        rng = np.random.default_rng(seed)
        sigma = self.water[self.water > 0].mean() / WATER_SNR / np.sqrt(2)
        return abs(image + sigma * (rng.standard_normal(image.shape) + 1j * rng.standard_normal(image.shape)))


class Blocks:
    """Ellipses of whole voxels, each of one value: the same interface as Heads, but the sodium's voxels are the object."""
    PARTS = (((0, 0, 0), 0.42), ((0.1, 0.1, 0), 0.25), ((-0.15, -0.1, 0), 0.2), ((0.18, -0.2, 0), 0.1), ((-0.1, 0.2, 0), 0.12),
             ((0.1, 0.1, 0), 0.1))

    def __init__(self, matrix):
        self.matrix, shape = matrix, tuple(reversed(matrix))
        self.label, self.masks = np.zeros(shape, int), {}
        for number, (centre, size) in enumerate(self.PARTS, 1):
            self.label[scans.ellipsoid(shape, centre, (size, 0.8 * size, size))] = number
        self.sodium = np.array([0, 0.5, 1, 0.3, 0.9, 1.2, 0.6])[self.label]
        self.fine = np.array([0, 0.7, 0.4, 1, 0.55, 0.8, 1.1])[self.label]
        for axis, n in enumerate(shape):
            self.fine = np.repeat(self.fine, 3 if n > 1 else 1, axis)
            if n > 1:  # voxel 3 n is in the middle of voxel n
                self.fine = np.roll(self.fine, -1 if n % 2 == 0 else 0, axis)

    def at(self, image, _):
        return image.astype(complex)

    def reference(self, seed):
        return self.fine + np.random.default_rng(seed).standard_normal(self.fine.shape) / 100

    def oracle(self, noisy):
        """The mean of each tissue."""
        found = np.zeros(noisy.shape, complex)
        for number in np.unique(self.label):
            found[self.label == number] = noisy[self.label == number].mean()
        return found


class Sodium:
    """As image_scans.Scan, with one coil."""

    def __init__(self, heads, k, seed, grid):
        self.matrix, self.k, self.mask, self.maps, self.seed = heads.matrix, np.asarray(k, np.float32), None, None, seed
        whole = heads.at(heads.sodium, 1)
        z, y, x = scans.mesh(whole.shape)
        ball = np.ones(whole.shape, bool) if grid else x ** 2 + y ** 2 + (z ** 2 if whole.shape[0] > 1 else 0) <= 0.25
        spectrum = scans.transform(whole) * ball
        self.complex = scans.inverse(spectrum)
        self.truth = abs(self.complex)
        self.region = scans.region_of(self.truth)
        if grid:
            at = np.rint(self.k).astype(int) + [n // 2 for n in self.matrix]
            self.data = scans.transform(whole)[at[:, 2], at[:, 1], at[:, 0]][None]
        else:
            self.data = scans.sample(heads.sodium, self.k)[None] * (whole.size / heads.sodium.size)

    noise = scans.Scan.noise
    noisy = scans.Scan.noisy


def contrast(found, mask):
    inner, ring = mask
    return float(found[inner].mean() - found[ring].mean())


def complex_error(case, found):
    """Of the complex image in the region, with the best complex scale."""
    found, true = found[case.region], case.complex[case.region]
    found = found * (np.vdot(found, true) / np.vdot(found, found))
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


def with_noise(heads, k, grid, kind, seed):
    """A function that makes a case for an SNR."""
    made = []

    def case(snr):
        if not made:
            made.append(Sodium(heads, k, seed, grid))
        one = Case(made[0], made[0].noisy(snr))
        rng = np.random.default_rng(seed + 1)
        sigma = one.truth[one.region].mean() / snr
        with h5py.File("scan.h5", "r+") as file:  # a noise scan
            noise = rng.standard_normal((2, 1, 4096))
            file["scan/noise"] = (sigma * np.sqrt(one.truth.size) * (noise[0] + 1j * noise[1])).astype("c8")
        one.complex = made[0].complex
        water = heads.reference(seed + 2)
        if kind == "mirrored":
            water = water[..., ::-1]
        if kind == "elsewhere":
            water = np.roll(water, water.shape[-1] // 10, -1)
        voxel = [FOV / n if n > 1 else FOV for n in reversed(water.shape)]
        write_nifti("water.nii", water, voxel)
        one.kind, one.heads, one.water = kind, heads, water
        return one
    return case


# ---- one case ----


METHODS = {"identity": ("--prior", "identity"), "differences": ("--prior", "differences"), "reference": ("--reference", "water.nii")}


def measure(case, _):
    found = {"spectrum": case.image("--prior", "spectrum")}
    row = {"untouched": {"error": complex_error(case, found["spectrum"]), "magnitude": case.error(found["spectrum"])}}
    for name, words in METHODS.items():
        report = ("--report", "report.json") if name == "reference" else ()
        image = found[name] = case.image(*words, *report)
        row[name] = {"error": complex_error(case, image), "magnitude": case.error(image)}
        if case.kind in ("same", "own"):
            best, error, _ = best_of(lambda value: complex_error(case, case.image(*words, "--lambda", value)), 1, (1e-3, 1e3))
            row[name].update({"best": best, "best error": error})
    if case.kind == "blocks":
        row["oracle"] = {"error": complex_error(case, case.heads.oracle(scans.inverse(case.data[0].reshape(case.truth.shape))))}
    made = json.loads(pathlib.Path("report.json").read_text())["reconstruction"]["reference"]
    row["reference"].update({k: made[k] for k in ("agreement", "agreement_mirrored", "strength_of_spectrum",
                                                  "strength_of_differences", "sharpness", "strengths_tried")})
    if case.kind == "own":
        true = contrast(case.truth, case.heads.masks["sodium"])
        own = contrast(case.water[tuple(slice(None, None, 2 if n > 1 else 1) for n in case.water.shape)], case.heads.masks["water"])
        for name, of in (("spectrum", "untouched"), ("reference", "reference")):
            image = scaled(found[name], case.truth, case.region)
            row[of]["kept"] = contrast(image, case.heads.masks["sodium"]) / true
            row[of]["ghost"] = (contrast(image, case.heads.masks["water"]) - contrast(case.truth, case.heads.masks["water"])) / own
    return {"structures": case.kind, **row}


def grid_of(matrix):
    return np.stack(np.meshgrid(*(np.arange(m) - m // 2 for m in reversed(matrix)), indexing="ij")[::-1], -1).reshape(-1, 3)


def cases_of(options):
    sizes = (("2D", (48, 48, 1)),) if options.quick else (("2D", (64, 64, 1)), ("3D", (32, 32, 32)))
    snrs = (4,) if options.quick else (2, 4, 8, 16)
    kinds = ("same", "mirrored", "blocks") if options.quick else ("same", "own", "mirrored", "elsewhere", "blocks")
    for name, matrix in sizes:
        n = matrix[0]
        ways = [("Cartesian", grid_of(matrix), True)]
        if matrix[2] == 1 and not options.quick:
            ways.append(("radial", scans.radial(n, round(np.pi * n / 2)), False))
        for way, k, on_grid in ways:
            for kind in kinds:
                if kind == "blocks" and not on_grid:
                    continue
                heads = Blocks(matrix) if kind == "blocks" else Heads(matrix, 1, kind == "own")
                case = with_noise(heads, k, on_grid, kind, 5)
                for snr in snrs:
                    yield f"{name}, {way}, {kind}, SNR {snr}", "reference", snr, (), False, case


# ---- the record ----


def bars_of(rows):
    bars, same = [], []
    for name, row in rows.items():
        own, without = row["reference"], row["untouched"]
        ratio = own["error"] / without["error"]
        bars.append(bar_of(BARS, name, "auto / spectrum", ratio))
        bars.append(bar_of(BARS, name, "magnitude, auto / spectrum", own["magnitude"] / without["magnitude"]))
        if row["structures"] == "same":
            same.append(ratio)
        if "oracle" in row:
            least = row["oracle"]["error"] ** 2
            bars.append(bar_of(BARS, name, "share of the oracle, missed", (own["error"] ** 2 - least) / (without["error"] ** 2 - least)))
        if "best error" in own:
            bars.append(bar_of(BARS, name, "auto / best lambda", own["error"] / own["best error"]))
        if row["structures"] == "own":
            bars.append(bar_of(BARS, name, "contrast", abs(own["kept"] - 1) - abs(without["kept"] - 1)))
            bars.append(bar_of(BARS, name, "ghost", abs(own["ghost"]) - abs(without["ghost"])))
    if same:
        bars.append(bar_of(BARS, "all cases", "mean auto / spectrum, same", float(np.mean(same))))
    return bars


def make_record(options):
    record = {"program": "reference_study", "quick": options.quick, "cases": {}, "skipped": {}, "failed": {}}
    run_cases(options, cases_of(options), measure, record)
    record["skipped"].pop("columns BART and ecalib maps", None)
    record["bars"] = bars_of(record["cases"])
    if options.picture:
        draw(options.picture)
    return record


def show(record):
    yield ("| case | oracle | spectrum | identity: auto, best | differences: auto, best | reference: auto, best | auto / spectrum | "
           "magnitude: spectrum, reference | agreement | kept: spectrum, reference | ghost: the same |")
    yield "|---|" + "---:|" * 10

    def percent(row, figure="error"):
        return f"{100 * row[figure]:.1f}" if figure in row else "-"
    for name, row in record["cases"].items():
        pairs = [f"{percent(row[m])}, {percent(row[m], 'best error')}" for m in METHODS]
        lesions = [f"{row['untouched'][f]:.2f}, {row['reference'][f]:.2f}" if f in row["untouched"] else "-" for f in ("kept", "ghost")]
        yield "| " + " | ".join([name, percent(row.get("oracle", {})), percent(row["untouched"]), *pairs,
                                 f"{row['reference']['error'] / row['untouched']['error']:.3f}",
                                 f"{percent(row['untouched'], 'magnitude')}, {percent(row['reference'], 'magnitude')}",
                                 f"{row['reference']['agreement']:.2f}", *lesions]) + " |"
    yield from image_study.show_end(record)


# ---- the picture ----


def draw(path):
    """Truth, water, spectrum, reference, of a slice at an SNR of 4 with lesions of their own."""
    n = 128
    heads = Heads((n, n, 1), 1, True)
    with tempfile.TemporaryDirectory() as folder, image_study.changed(folder):
        case = with_noise(heads, grid_of((n, n, 1)), True, "own", 5)(4)
        images = [case.truth, None, case.image("--prior", "spectrum"), case.image("--reference", "water.nii")]
        errors = [case.error(one) for one in images[2:]]
    panels = [scaled(one, case.truth, case.region) / np.percentile(case.truth, 99) if one is not None
              else case.water[:, ::2, ::2] / np.percentile(case.water, 99) for one in images]
    rows = 7 * (36 * np.clip(np.hstack([np.kron(p[0], np.ones((2, 2))) for p in panels]), 0, 1) + 0.5).astype("u1")

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows), 9)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", packed) + chunk(b"IEND", b""))
    print(f"{path.name}: truth, water, spectrum {100 * errors[0]:.1f} %, reference {100 * errors[1]:.1f} %")


def main():
    parser = image_study.options_of(__doc__)
    parser.add_argument("--picture", type=lambda text: pathlib.Path(text).resolve(), metavar="FILE", help="the picture")
    return image_study.run_study(parser, make_record, show)


if __name__ == "__main__":
    sys.exit(main())
