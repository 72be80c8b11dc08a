#!/usr/bin/env python3
"""Are mri_recon's images without options as good as those of an expert? A table of errors, times and bars.

    image_study.py MRI_RECON [cpu|cuda] [--json FILE] [--quick] [--cases REGEX] [--scan FILE] [--brain FILE.nii.gz] [--enforce]

For each case, the table has these errors: mri_recon without options; mri_recon at the best --lambda, found by a
search with the same coil maps; --method gridding; BART (ecalib, then pics -l2 -r at the best r); and mri_recon at the
best --lambda with the maps of ecalib, and with the true maps. An error is the root-mean-square error of the magnitude
in the object's region after the best scale, relative to the truth. The truth is the image from all of k-space without
noise. Scans are simulated (image_scans.py), or made by ismrmrd_generate_cartesian_shepp_logan. If BART or that
program is missing, the study skips what needs it, with a message.

--quick     small images and one noise level, to test this program
--scan      a scan in the plain layout with coil maps: its best lambda is the one that predicts held-out samples best
--brain     a NIfTI image as the object in place of the procedural head
--enforce   exit status 1 if a bar is missed

Exit status: 0; 1 if a case failed or gave NaN or infinite values; 77 without numpy or h5py.
"""
import argparse
import contextlib
import functools
import json
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "peers")]
import mri_peers  # noqa: E402
from mri_peers import call, h5py, image, np, write_scan  # noqa: E402
import image_scans as scans  # noqa: E402
from image_errors import background_of, best_of, error_of, high_share, ssim_of  # noqa: E402
from test_bart import bart, read_cfl, write_cfl  # noqa: E402

GENERATOR = "ismrmrd_generate_cartesian_shepp_logan"
SNRS = (5, 15, 60)
# A random tenth of a scan is held out, this many times. It consists of readouts or, if there are so few that a tenth of
# them would leave a hole in k-space, of pieces with this many samples.
HOLD_OUTS, MANY_READOUTS, PIECE = 3, 100, 32
OUTSIDE = 17  # cycles per field of view: outside the centre that coil maps are made from

# Figure: its limit, and a description. A figure belongs to one case, except the mean.
BARS = {
    "untouched / BART": (1.0, "Cartesian: error without options over that of ecalib and pics -l2 at its best r"),
    "untouched / best lambda": (1.2, "non-Cartesian: error without options over that at the best lambda by hand"),
    "mean untouched / best lambda": (1.1, "the same, the mean over the non-Cartesian cases"),
    "untouched / gridding": (1.0, "non-Cartesian: error without options over that of gridding"),
    "from best lambda": (0.06, "--scan: difference of the image without options from that at the best lambda"),
    "maps taken / file's": (1.0, "--scan: error with which samples that were held out are predicted, with the maps that are taken "
                                 "without options over that with the file's"),
    "high frequencies": (1.2, "--scan: share of energy in the highest quarter of spatial frequencies, over that of the same"),
}


# ---- a case, measured by all programs ----


class Case:
    """A scan as files: scan.h5 for mri_recon; data [coil][sample] at k for the others."""

    def __init__(self, scan, data, file=None, frames=1):
        self.matrix, self.k, self.data, self.mask = scan.matrix, scan.k, data, scan.mask
        self.truth, self.region, self.maps = scan.truth, scan.region, scan.maps
        self.centre = getattr(scan, "centre", 24)
        self.file = file or write_scan("scan.h5", self.matrix, self.k, data)
        self.frames, self.crop = frames, file is not None

    def image(self, *options, file=None):
        return image(file or self.file, *options)[0].reshape(self.truth.shape)

    def error(self, found):
        return error_of(found, self.truth, self.region)

    def figures(self, found):
        return {"error": self.error(found), "ssim": ssim_of(found, self.truth, self.region),
                "background": background_of(found, self.truth, self.region)}

    def untouched(self, *options):
        began = time.perf_counter()
        found = self.image(*options)
        return {**self.figures(found), "seconds": (time.perf_counter() - began) / self.frames}

    def bart_samples(self):  # trajectory and data in BART's form
        return self.k.T[:, :, None], self.data.T[None, :, None, :]

    def sweep(self, start, file=None):
        figures = functools.cache(lambda value: self.figures(self.image("--lambda", value, file=file)))
        value, _, tried = best_of(lambda value: figures(value)["error"], start, (1e-6, 20))
        return {"lambda": value, **figures(value), "tried": tried}

    def with_maps(self, maps, start):
        file = write_scan("maps.h5", self.matrix, self.k, self.data, maps)
        return self.sweep(start, file)


def bart_volume(array):
    """[coil][z][y][x] in BART's form."""
    return array.transpose(3, 2, 1, 0)


def bart_data(case):
    """BART's k (data), and t (trajectory) unless Cartesian; and c, k-space of the centre for ecalib."""
    x, y, z = case.matrix
    if case.mask is not None:
        grid = np.zeros((len(case.data), y, x), complex)
        grid[:, case.mask] = case.data
        write_cfl("k", bart_volume(grid[:, None]))
        shutil.copy("k.hdr", "c.hdr")
        shutil.copy("k.cfl", "c.cfl")
        return
    for name, array in zip("tk", case.bart_samples()):
        write_cfl(name, array)
    # Least squares make the centre Cartesian, as in BART's manual.
    side = case.centre
    inside = np.linalg.norm(case.k, axis=1) <= side / 2
    write_cfl("tc", case.k[inside].T[:, :, None])
    write_cfl("kc", case.data[:, inside].T[None, :, None, :])
    depth = side if z > 1 else 1
    bart("nufft", "-i", "-l", 0.001, "-d", f"{side}:{side}:{depth}", "tc", "kc", "low")
    bart("fft", "-u", 7, "low", "lowk")
    bart("resize", "-c", 0, x, 1, y, 2, z, "lowk", "c")


def ecalib(case, *options):
    bart("ecalib", "-m", 1, "-r", case.centre, *options, "c", "s")
    return read_cfl("s").reshape((*case.matrix, -1)).transpose(3, 2, 1, 0)


def pics(case, *words):
    trajectory = ["-t", "t"] if case.mask is None else []
    bart("pics", *words, *trajectory, "k", "s", "p")
    return read_cfl("p").reshape(*case.matrix, -1).transpose(3, 2, 1, 0).reshape(case.truth.shape)


def by_bart(case, start, words=lambda r: ("-l2", "-r", r, "-i", 60), refine=(2,)):
    """Runs ecalib -c 0 and pics with words(r) at the best r, then with ecalib's crop. Returns the better, and maps."""
    began = time.perf_counter()
    bart_data(case)
    maps = ecalib(case, "-c", 0)
    calibration = time.perf_counter() - began
    value, _, tried = best_of(lambda r: case.error(pics(case, *words(r))), start, (1e-6, 20), refine)
    began = time.perf_counter()
    found = pics(case, *words(value))
    solving = time.perf_counter() - began
    figures = {"r": value, **case.figures(found), "tried": tried, "seconds": calibration + solving, "pics seconds": solving}
    ecalib(case)
    cropped = case.figures(pics(case, *words(value)))
    return {**figures, **cropped} if cropped["error"] < figures["error"] else figures, maps


def measure(case, with_bart):
    """All rows of a case."""
    row = {"untouched": case.untouched(), "gridding": case.untouched("--method", "gridding")}
    row["best"] = case.sweep(0.02)
    row["true maps"] = case.with_maps(case.maps, row["best"]["lambda"])
    if with_bart:
        row["bart"], maps = by_bart(case, 0.01)
        row["ecalib maps"] = case.with_maps(maps, row["true maps"]["lambda"])
    return row


# ---- cases ----


def simulated(*arguments, scan_type=scans.Scan, case_type=Case, **options):
    """Returns a function that makes a case for a noise level. The scan is made only once."""
    made = []

    def case(snr):
        if not made:
            made.append(scan_type(*arguments, **options))
        return case_type(made[0], made[0].noisy(snr))
    return case


def poisson_mask(n, reduction):
    """BART's Poisson disc with a full centre. The acceleration includes the centre, so it must be searched for."""
    low, high = 1.0, 6.0
    for _ in range(9):
        middle = (low + high) / 2
        bart("poisson", "-Y", n, "-Z", n, "-y", middle, "-z", middle, "-C", 24, "-v", "-e", "-s", 3, "m")
        mask = abs(read_cfl("m").reshape(n, n).T) > 0
        low, high = (low, middle) if mask.size / mask.sum() > reduction else (middle, high)
    return mask


def complex_of(dataset):
    array = dataset[...]
    return array["real"] + 1j * array["imag"]


class Generated:
    """A file of the generator, without its truth: k, data and maps of its first repetition without oversampling."""

    def __init__(self, n, step, noise):
        call(GENERATOR, "-m", n, "-c", 8, "-a", step, "-w", 24, "-n", noise, "-C", "-o", "generated.h5")
        with h5py.File("generated.h5", "a") as file:
            group = file["dataset"]
            maps, phantom = complex_of(group["csm"])[0], complex_of(group["phantom"])[0]
            for name in ("csm", "phantom", "coil_images"):
                del group[name]
            lines = [line for line in group["data"][...] if line["head"]["idx"]["repetition"] == 0
                     and not int(line["head"]["flags"]) & 1 << 18]
        self.matrix, self.mask = (n, n, 1), np.zeros((n, n), bool)
        grid = np.zeros((8, n, n), complex)
        for line in lines:
            wide = line["data"].view(np.complex64).reshape(8, 2 * n)
            row = np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(wide, 1), axis=1), 1)[:, n // 2:n // 2 + n]
            ky = int(line["head"]["idx"]["kspace_encode_step_1"])
            grid[:, ky] = np.fft.fftshift(np.fft.fft(np.fft.ifftshift(row, 1), axis=1), 1)
            self.mask[ky] = True
        self.k, self.data = scans.cartesian(self.mask), grid[:, self.mask]
        rss = np.sqrt((abs(maps) ** 2).sum(0))
        self.truth, self.maps = (abs(phantom) * rss)[None], (maps / rss)[:, None]
        self.region = scans.region_of(self.truth)


def generated(n, step, noise):
    def case(_):
        scan = Generated(n, step, noise)
        return Case(scan, scan.data, "generated.h5", frames=step)
    return case


def cases_of(options):
    """Lists (name, kind, SNR or None, needed tools, with BART, function). bars_of has the bars of each kind."""
    quick, head = options.quick, scans.template(options.brain) if options.brain else scans.head
    n, many, snrs = (48, 4, (15,)) if quick else (128, 8, SNRS)  # `many` coils
    for step in (3,) if quick else (2, 3, 4):
        for noise in (0.05,) if quick else (0.005, 0.05):
            yield (f"generated R={step} noise {noise:g}", "cartesian", None, ("bart", GENERATOR), True, generated(n, step, noise))
    for step in (4,) if quick else (4, 8):
        spokes = round(np.pi / 2 * n / step)
        case = simulated(head, (n, n, 1), scans.radial(n, spokes), many, 1, centre=min(24, 2 * round(spokes / np.pi)))
        yield from ((f"radial R={step} SNR {snr}", "other", snr, (), True, case) for snr in snrs)
    case = simulated(head, (n, n, 1), scans.spiral(n, n // 8, 4, 24), many, 1)
    yield from ((f"spiral R=4 SNR {snr}", "other", snr, (), True, case) for snr in snrs)
    m, coils = (8, 4) if quick else (40, 6)
    case = simulated(head, (m, m, m), scans.koosh_ball(m, round(np.pi * m * m / 2 / 6)), coils, 2)
    yield from ((f"koosh ball R=6 SNR {snr}", "other", snr, (), False, case) for snr in snrs)  # BART takes half a minute
    wide = 64 if quick else 160

    def poisson(snr):
        mask = poisson_mask(wide, 4 if quick else 7.9)
        return simulated(head, (wide, wide, 1), scans.cartesian(mask), many, 3, mask)(snr)
    yield (f"Poisson disc R={4 if quick else 7.9} SNR 25", "cartesian", 25, ("bart",), True, poisson)
    mask = scans.every(n, 3, 32)
    yield ("bottle, 14 coils, R=3 SNR 40", "cartesian", 40, ("bart",), True,
           simulated(scans.bottle, (n, n, 1), scans.cartesian(mask), 14, 4, mask))


# ---- a scan without a truth ----


def readouts_of(group):
    """The readout number of each sample: a new one if time decreases, or if k jumps by more than 4 median steps."""
    k = group["trajectory"][...].astype(float)
    step = np.linalg.norm(np.diff(k, axis=0), axis=1)
    fresh = step > 4 * np.median(step)
    if "time" in group:
        fresh = np.diff(group["time"][...]) < 0
    return np.concatenate([[0], np.cumsum(fresh)])


def held_out_error(found, maps, k, data):
    """The relative error of predicted samples, after the best scale."""
    predicted = []
    for s in maps:
        z, y, x = (np.exp(-2j * np.pi * np.outer(k[:, a], scans.positions(found.shape[2 - a]))) for a in (2, 1, 0))
        predicted.append(sum(np.einsum("sy,sy->s", x @ plane.T, y) * z[:, n] for n, plane in enumerate(found * s)))
    return mri_peers.nrmse(np.array(predicted), data)


def measure_scan(path):
    """Compares the images at the program's lambda and at the lambda that best predicts a tenth of the readouts, with
    the file's coil maps. Also measures the prediction with the file's maps, and with the program's own."""
    with h5py.File(path, "r") as file:
        group = file["scan"]
        if "sensitivity" not in group or group["data"].ndim != 2:
            raise ValueError("--scan needs coil maps in the file, and one frame")
        matrix, fov, k = group.attrs["matrix"], group.attrs["fov_mm"], group["trajectory"][...]
        data, maps, readouts = group["data"][...], group["sensitivity"][...], readouts_of(group)
    pieces = readouts if readouts[-1] + 1 >= MANY_READOUTS else np.arange(len(k)) // PIECE
    rng, numbers, parts = np.random.default_rng(1), np.unique(pieces), []
    for i in range(HOLD_OUTS):
        held = np.isin(pieces, rng.choice(numbers, max(len(numbers) // 10, 1), replace=False))
        parts.append((write_scan(f"part{i}.h5", matrix, k[~held], data[:, ~held], maps, fov), held))

    def predict(v):
        return float(np.mean([held_out_error(image(part, "--coils", "file", "--lambda", v)[0], maps, k[held], data[:, held])
                              for part, held in parts]))

    # Maps come from the centre of k-space, which stays complete.
    radius = np.linalg.norm(k * fov / np.max(fov) if k.shape[1] == len(fov) else k, axis=1)
    nearest = np.full(len(numbers), np.inf)
    np.minimum.at(nearest, np.searchsorted(numbers, pieces), radius)
    outer, outer_parts = numbers[nearest > OUTSIDE], []
    for i in range(HOLD_OUTS):
        held = np.isin(pieces, rng.choice(outer, max(len(outer) // 10, 1), replace=False))
        outer_parts.append((write_scan(f"outer{i}.h5", matrix, k[~held], data[:, ~held], maps, fov), held))

    def predict_with(coils):
        errors = []
        for part, held in outer_parts:
            found = image(part, "--coils", coils, "--save-coils", "maps.h5")[0]
            with h5py.File("maps.h5") as file:
                errors.append(held_out_error(found, file["maps"][...].reshape(maps.shape), k[held], data[:, held]))
        return float(np.mean(errors))
    value, predicted, tried = best_of(predict, 0.05, (1e-5, 20))
    shutil.copy(path, "scan.h5")  # images are written beside it
    best = image("scan.h5", "--coils", "file", "--lambda", value)[0]
    region = scans.region_of(abs(best), 0.1)

    def against(found):
        return {"error": error_of(found, abs(best), region), "ssim": ssim_of(found, abs(best), region),
                "high": high_share(found)}
    began = time.perf_counter()
    row = {"untouched": against(image("scan.h5", "--coils", "file")[0])}
    row["untouched"]["seconds"] = time.perf_counter() - began
    row["gridding"] = against(image("scan.h5", "--method", "gridding")[0])
    row["best"] = {"lambda": value, "predicted": predicted, "tried": tried, **against(best)}
    row["by hand"] = {f"{v:g}": against(image("scan.h5", "--coils", "file", "--lambda", v)[0]) for v in (0.01, 0.02, 0.05, 0.1, 0.2)}
    row["predicted by maps"] = {"of the file": predict_with("file"), "taken without options": predict_with("auto")}
    row["pieces"], row["held out"] = len(numbers), max(len(numbers) // 10, 1)
    return row


# ---- the record ----


def bar_of(limits, case, name, value):
    most = limits[name][0]
    return {"case": case, "bar": name, "value": value, "most": most, "met": bool(value <= most)}  # NaN misses


def bars_of(rows):
    bars = []

    def bar(case, name, value):
        bars.append(bar_of(BARS, case, name, value))

    ratios = []
    for name, row in rows.items():
        own = row["untouched"]["error"]
        if row["kind"] == "scan":
            bar(name, "from best lambda", own)
            bar(name, "maps taken / file's", row["predicted by maps"]["taken without options"] / row["predicted by maps"]["of the file"])
            bar(name, "high frequencies", row["untouched"]["high"] / row["best"]["high"])
        elif row["kind"] == "cartesian" and "bart" in row:
            bar(name, "untouched / BART", own / row["bart"]["error"])
        elif row["kind"] == "other":
            ratios.append(own / row["best"]["error"])
            bar(name, "untouched / best lambda", ratios[-1])
            bar(name, "untouched / gridding", own / row["gridding"]["error"])
    if ratios:
        bar("all non-Cartesian cases", "mean untouched / best lambda", float(np.mean(ratios)))
    return bars


def run_case(name, kind, function, record):
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=f"{record['program']}-") as folder, changed(folder):
        try:
            record["cases"][name] = {"kind": kind, **function()}
            word = f"error {record['cases'][name]['untouched']['error']:.4f}"
        except Exception as failure:
            traceback.print_exc()
            record["failed"][name], word = str(failure) or type(failure).__name__, "FAILED"
    print(f"{name}: {word}, {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


@contextlib.contextmanager
def changed(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def save(record, path):
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(record, indent=2) + "\n")
    os.replace(part, path)


def run_cases(options, cases, measure_case, record):
    """Measures the matching cases. Each is written to the record on disk as soon as it is done."""
    for name, kind, snr, needs, thorough, case in cases:
        missing = [tool for tool in needs if not shutil.which(tool)]
        if not re.search(options.cases, name) or name in record["cases"]:
            continue
        if missing:
            record["skipped"][name] = f"no {', '.join(missing)} here"
            print(f"SKIP: {name}: {record['skipped'][name]}", file=sys.stderr, flush=True)
            continue
        run_case(name, kind, lambda: measure_case(case(snr), thorough and shutil.which("bart")), record)
        if options.json:
            save(record, options.json)
    if record["cases"] and not shutil.which("bart"):
        record["skipped"]["columns BART and ecalib maps"] = "no bart here"


def make_record(options):
    record = {"program": "image_study", "quick": options.quick, "cases": {}, "skipped": {}, "failed": {}}
    if options.scan and re.search(options.cases, "scan"):
        run_case("scan", "scan", lambda: measure_scan(options.scan), record)
    run_cases(options, cases_of(options), measure, record)
    record["bars"] = bars_of(record["cases"])
    return record


# ---- showing ----


def number(row, name, figure="error", digits=4):
    return f"{row[name][figure]:.{digits}f}" if name in row and figure in row[name] else "-"


def show(record):
    columns = ("untouched", "best", "gridding", "bart", "ecalib maps", "true maps")
    yield "| case | untouched | best lambda | ratio | lambda | gridding | BART | ecalib maps | true maps | SSIM: untouched, " \
          "best, BART | background: untouched, best, BART | seconds: untouched, BART |"
    yield "|---|" + "---:|" * 11
    for name, row in record["cases"].items():
        errors = [number(row, column) for column in columns]
        ratio = row["untouched"]["error"] / row["best"]["error"] if row["best"]["error"] else math.nan
        three = [", ".join(number(row, column, figure, 3) for column in ("untouched", "best", "bart"))
                 for figure in ("ssim", "background")]
        seconds = ", ".join(number(row, column, "seconds", 2) for column in ("untouched", "bart"))
        yield "| " + " | ".join([name, errors[0], errors[1], f"{ratio:.2f}" if row["kind"] != "scan" else "-",
                                 f"{row['best']['lambda']:.3g}", *errors[2:], *three, seconds]) + " |"
    for name, row in record["cases"].items():
        if row["kind"] == "scan":
            yield ""
            yield "samples held out beyond the centre are predicted with an error of " + ", ".join(
                f"{value:.4f} with maps {name}" for name, value in row["predicted by maps"].items())
            yield (f"{name}: best lambda {row['best']['lambda']:.3g} by {row['held out']} of {row['pieces']} pieces held out; "
                   f"high frequencies: untouched {row['untouched']['high']:.4f}, best {row['best']['high']:.4f}, "
                   f"gridding {row['gridding']['high']:.4f}")
            yield "difference from it at lambda " + ", ".join(f"{v}: {at['error']:.4f}" for v, at in row["by hand"].items())
    yield from show_end(record)


def show_end(record):
    yield ""
    yield from (f"{'met   ' if bar['met'] else 'MISSED'} {bar['case']}: {bar['bar']} {bar['value']:.3f} (at most {bar['most']:g})"
                for bar in record["bars"])
    yield from (f"SKIP: {name}: {why}" for name, why in record["skipped"].items())
    yield from (f"FAILED: {name}: {why}" for name, why in record["failed"].items())
    yield f"Bars: {sum(bar['met'] for bar in record['bars'])} of {len(record['bars'])} met."


def options_of(text):
    """The options that all studies of images have."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("program", metavar="MRI_RECON")
    parser.add_argument("device", nargs="?", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="the record")
    parser.add_argument("--quick", action="store_true", help="small images, to test this program")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only cases whose names match")
    parser.add_argument("--brain", type=pathlib.Path, metavar="FILE", help="a NIfTI image as the object, instead of the head")
    parser.add_argument("--enforce", action="store_true", help="exit status 1 if a bar is missed")
    return parser


def run_study(parser, make, tell):
    """Makes a record, saves and prints it; returns the exit status."""
    options = parser.parse_args()
    for name in ("json", "scan", "brain"):
        if getattr(options, name, None):
            setattr(options, name, getattr(options, name).resolve())
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # programs run one after another, often on a busy machine
    began = time.perf_counter()
    record = make(options)
    record["seconds"] = time.perf_counter() - began
    if options.json:
        save(record, options.json)
    print("\n".join(tell(record)))
    failed = record["failed"] or (options.enforce and not all(bar["met"] for bar in record["bars"]))
    return 1 if failed else 0 if record["cases"] else 77


def main():
    parser = options_of(__doc__)
    parser.add_argument("--scan", type=pathlib.Path, metavar="FILE", help="a scan in the plain layout with coil maps")
    return run_study(parser, make_record, show)


if __name__ == "__main__":
    sys.exit(main())
