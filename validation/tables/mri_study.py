#!/usr/bin/env python3
"""The table of the published MRI case study, measured again with mri_recon, with bars for the images.

    mri_study.py run BIN_DIR OUT.json [--device all|cpu|cuda] [--limit SECONDS] [--lambda L] [--quick]    measures
    mri_study.py show OUT.json                                            prints a record as Markdown, as `run` does

BIN_DIR contains mri_recon and mri_phantom, or is a build folder. mri_phantom makes the scans: the published case
(koosh-ball, 284,592 samples, 128^3, an anatomical reference) and a smaller one of the same shape (half of each axis),
each without noise and with complex white noise. If Q and F^H d of a row would take longer than --limit on the
published case, the row is measured on two parts of its readouts, and marked. Its images are those of the smaller
case.


Exit status: 0; 1 if an image misses its bar or a row failed (the record is written anyway); 77 if --device cuda finds
no GPU. Source of the published figures: Kirk and Hwu, Programming Massively Parallel Processors (2010), chapter 8.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # exit status of a test that cannot run

SOLVER = ["--iterations", "60", "--tolerance", "0", "--prior", "reference", "--lambda"]
NOISE = ["--snr", "45", "--seed", "1"]  # decibels
# Voxels an axis, readouts, samples a readout; the smaller cases are as much undersampled as the published one.
CASES = {"published": (128, 2156, 132), "small": (64, 539, 66)}
QUICK = {"published": (32, 135, 33), "small": (24, 76, 25)}
PARTS = (64, 16)          # rows that are too slow are timed on every n-th readout
REPEATS, ENOUGH = 3, 10   # runs of a program, but none starts after this many seconds; the median counts
ABOVE_BILINEAR, FROM_DOUBLE = 10, 0.1  # bars in dB, on PSNR

DIRECT = ["--operator", "direct"]
HARDWARE = ["--trig", "hardware"]
# Key: title, device, mri_recon's arguments. The publication's seconds are below.
ROWS = {
    "bilinear": ("bilinear gridding, CPU", "cpu", ["--method", "bilinear"]),
    "cpu-double": ("direct sum, CPU, double", "cpu", [*DIRECT, "--precision", "double"]),
    "cpu-single": ("direct sum, CPU, single", "cpu", DIRECT),
    "step-naive": ("direct sum, GPU, naive", "cuda", [*DIRECT, "--variant", "naive"]),
    "step-registers": ("direct sum, GPU, registers", "cuda", [*DIRECT, "--variant", "registers"]),
    "step-arrays": ("direct sum, GPU, constant memory, arrays", "cuda", [*DIRECT, "--variant", "constant-arrays"]),
    "step-structs": ("direct sum, GPU, constant memory", "cuda", [*DIRECT, "--variant", "constant-structs"]),
    "step-hardware": ("the same, hardware trigonometry", "cuda", [*DIRECT, "--variant", "constant-structs", *HARDWARE]),
    "step-tuned": ("the same, hardware trigonometry, tuned", "cuda", [*DIRECT, "--variant", "tuned-structs", *HARDWARE]),
    "gpu-bank-4": ("ours: constant memory, four voxels a thread", "cuda", [*DIRECT, "--variant", "bank-4", *HARDWARE]),
    "gpu-double": ("ours: direct sum, GPU, double", "cuda", [*DIRECT, "--precision", "double"]),
    "gpu-tuned": ("ours: direct sum, GPU", "cuda", DIRECT),
    "gpu-hardware": ("ours: the same, hardware trigonometry", "cuda", [*DIRECT, *HARDWARE]),
    "cpu-nufft-double": ("ours: NUFFT, CPU, double", "cpu", ["--precision", "double"]),
    "cpu-default": ("**ours: default, CPU (NUFFT)**", "cpu", []),
    "gpu-default": ("**ours: default, GPU (NUFFT)**", "cuda", []),
}
# Rows of records made before the published steps had variants of their own.
OLD_ROWS = {
    "gpu-naive": ("ours: naive, phases reduced", "cuda", DIRECT),
    "gpu-constant": ("ours: constant memory with values, phases reduced", "cuda", DIRECT),
    "gpu-published": ("ours: constant memory, four voxels a thread", "cuda", [*DIRECT, *HARDWARE]),
}
DOUBLE = ("cpu-double", "gpu-double", "cpu-nufft-double")  # other images are compared with the first of these
# Figure 8.20 as printed: minutes and GFLOPS of Q, of F^H d, minutes of the solver, of F^H d and solver; then PSNR in dB (figure
# 8.19). CPU: four threads of a 2.66 GHz Core 2 Extreme; GPU: Quadro FX 5600. Its row "constant memory" does not say which layout.
PUBLISHED = {
    "bilinear": (None, None, None, None, None, 0.39, 16.8),
    "cpu-double": (4009.0, 0.3, 518.0, 0.4, 1.59, 519.59, 27.6),
    "cpu-single": (2678.7, 0.5, 342.3, 0.7, 1.61, 343.91, 27.6),
    "step-naive": (260.2, 5.1, 41.0, 5.4, 1.65, 42.65, None),
    "step-structs": (72.0, 18.6, 9.8, 22.8, 1.57, 11.37, None),
    "step-tuned": (7.5, 178.9, 1.5, 144.5, 1.69, 3.19, 27.5),
}


class Failed(Exception):
    pass


# ---- measuring ----


def find(folder, name, inside):
    for path in (folder / name, folder / inside / name / name):
        if path.is_file():
            return str(path.resolve())
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: no {name} in {folder}")


def call(command):
    """Seconds that a program took."""
    started = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        message = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Failed(f"exit status {done.returncode}: {message.removeprefix('mri_recon: error: ')}")
    return seconds


class Study:
    def __init__(self, folder, work, quick, limit, weight):
        self.recon, self.phantom = find(folder, "mri_recon", "apps"), find(folder, "mri_phantom", "apps")
        self.work, self.limit = pathlib.Path(work), limit
        self.cases, self.solver = QUICK if quick else CASES, [*SOLVER, str(weight)]

    def scan(self, case, noisy=False, part=1):
        """Path of the scan, made on first use; `part`: with every n-th readout."""
        path = self.work / f"{case}-{'noise' if noisy else 'clean'}-{part}.h5"
        matrix, readouts, samples = self.cases[case]
        if not path.exists():
            shape = ["--matrix", matrix, "--spokes", readouts // part, "--samples", samples]
            call([self.phantom, "-q", "--trajectory", "koosh-ball", "--reference", *map(str, shape),
                  *(NOISE if noisy else []), "-o", str(path)])
        return str(path)

    def once(self, key, scan):
        """Runs mri_recon once: its times and the error of its image."""
        _, device, arguments = ROWS[key]
        solver = [] if "--method" in arguments else self.solver
        report = self.work / "report.json"
        wall = call([self.recon, "-q", "--device", device, *arguments, *solver, "--compare", "truth", "-o",
                     str(self.work / "image.h5"), "--report", str(report), scan])
        said = json.loads(report.read_text())
        stages, error = said["seconds"], said["error"]
        if not all(isinstance(error[name], (int, float)) and math.isfinite(error[name]) for name in ("psnr_db", "percent")):
            raise Failed(f"the error of the image is {error}")
        return {"q": stages.get("Q"), "adjoint": stages["F^H d"], "solver": stages.get("solve"), "program": wall,
                "encoding": said["reconstruction"]["encoding"], "device": said["device"], "version": said["voxfield"],
                "psnr": error["psnr_db"], "percent": error["percent"]}

    def often(self, key, scan):
        runs = [self.once(key, scan)]
        while len(runs) < REPEATS and sum(run["program"] for run in runs) < ENOUGH:
            runs.append(self.once(key, scan))
        medians = {name: statistics.median_low(run[name] for run in runs)
                   for name in ("q", "adjoint", "solver", "program") if runs[0][name] is not None}
        return {**runs[0], **medians, "runs": len(runs)}

    def images(self, key, case, clean):
        noisy = self.once(key, self.scan(case, noisy=True))
        return {"clean": {name: clean[name] for name in ("psnr", "percent")},
                "noise": {name: noisy[name] for name in ("psnr", "percent")}}

    def small(self, key):
        clean = self.once(key, self.scan("small"))
        return {**clean, "images": self.images(key, "small", clean)}

    def from_parts(self, key):
        """Measures a row on two parts of the readouts. Q and F^H d have a fixed cost and a constant cost per sample,
        so their times lie on a straight line. The time of the solver and the files does not depend on the samples."""
        readouts = self.cases["published"][1]
        counts = [readouts // part for part in PARTS]
        few, more = (self.often(key, self.scan("published", part=part)) for part in PARTS)
        row = dict(more)
        for name in ("q", "adjoint"):
            slope = (more[name] - few[name]) / (counts[1] - counts[0])
            row[name] += max(slope, 0) * (readouts - counts[1])
            row["program"] += row[name] - more[name]
        return {**row, "parts": [*counts, readouts], "images": None}

    def published(self, key):
        if "direct" in ROWS[key][2]:
            part = self.once(key, self.scan("published", part=PARTS[1]))
            if (part["q"] + part["adjoint"]) * PARTS[1] > self.limit:
                return self.from_parts(key)
        row = self.often(key, self.scan("published"))
        return {**row, "parts": None, "images": self.images(key, "published", row)}


def skip_reasons(study, device):
    """Why rows cannot be measured: {key: reason}, and the reason why there is no GPU, or None."""
    no_gpu = None
    if device != "cpu":
        try:
            call([study.recon, "--device", "cuda", "--dry-run", study.scan("small")])
        except Failed as failure:
            no_gpu = str(failure)
    reasons = {}
    for key, (_, where, _) in ROWS.items():
        if device not in ("all", where) and key != "bilinear":
            reasons[key] = f"--device {device}"
        elif where == "cuda" and no_gpu:
            reasons[key] = no_gpu
    return reasons, no_gpu


def measure(study, device):
    skipped, no_gpu = skip_reasons(study, device)
    if device == "cuda" and no_gpu:
        print(f"SKIP: {no_gpu}")
        sys.exit(SKIPPED)
    tables, failed = {"published": {}, "small": {}}, {}
    for key, (title, _, _) in ROWS.items():
        if key in skipped:
            continue
        started = time.perf_counter()
        try:
            tables["small"][key] = study.small(key)
            tables["published"][key] = study.published(key)
        except Failed as failure:
            failed[key] = str(failure)
        print(f"{title}: {failed.get(key, f'{time.perf_counter() - started:.1f} s')}", file=sys.stderr, flush=True)
    return tables, skipped, failed


def psnr(rows, key, noise):
    images = rows.get(key, {}).get("images")
    return images[noise]["psnr"] if images else None


def from_double(rows, key, noise):
    """PSNR minus that of double precision, if both exist."""
    double = next((psnr(rows, other, noise) for other in DOUBLE if psnr(rows, other, noise) is not None), None)
    own = psnr(rows, key, noise)
    return None if double is None or own is None or key in DOUBLE else own - double


def bars_of(tables):
    """The bars of the images. `passed` is None if a row of it was not measured."""
    bars = []

    def bar(name, value, least, most):
        # NaN fails: it satisfies neither bound.
        passed = None if value is None else bool(least <= value <= most)
        bars.append({"name": name, "value": value, "least": least, "most": most, "passed": passed})

    for case, rows in tables.items():
        bilinear = psnr(rows, "bilinear", "clean")
        for key in ("cpu-default", "gpu-default"):
            own = psnr(rows, key, "clean")
            bar(f"{case} case, no noise: {key} above bilinear gridding",
                None if bilinear is None or own is None else own - bilinear, ABOVE_BILINEAR, 1000)
        for noise, words in (("clean", "no noise"), ("noise", "noise")):
            for key, (_, _, arguments) in ROWS.items():
                # On the published case the solver does not converge within its iterations, and rounding slows it down.
                if key != "bilinear" and key not in DOUBLE and (case == "small" or "hardware" in arguments):
                    bar(f"{case} case, {words}: {key} from double precision", from_double(rows, key, noise),
                        -FROM_DOUBLE, FROM_DOUBLE)
    return bars


def make_record(study, device, quick):
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    tables, skipped, failed = measure(study, device)
    rows = [row for table in tables.values() for row in table.values()]
    return {
        "program": "mri_study",
        "voxfield": rows[0]["version"] if rows else None,
        "date": date,
        "devices": sorted({row.pop("device") for row in rows}),
        "cpu_threads": len(os.sched_getaffinity(0)),
        "quick": quick,
        "cases": {name: dict(zip(("matrix", "readouts", "samples_a_readout"), case)) for name, case in study.cases.items()},
        "solver": study.solver,
        "noise": NOISE,
        "limit_seconds": study.limit,
        "tables": tables,
        "skipped": skipped,
        "failed": failed,
        "bars": bars_of(tables),
    }


def problems_of(record):
    problems = [f"{key}: {why}" for key, why in record["failed"].items()]
    problems += [f"{bar['name']}: {bar['value']:.3f} dB, not within {bar['least']} and {bar['most']}"
                 for bar in record["bars"] if bar["passed"] is False]
    if not any(bar["passed"] for bar in record["bars"]):
        problems.append("no bar was reached")
    return problems


def write(record, path):
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(record, indent=2) + "\n")
    os.replace(part, path)


# ---- showing ----


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value):
    """Three digits."""
    if value is None or not math.isfinite(value):
        return "-" if value is None else str(value)
    digits = 0 if abs(value) < 1e-9 else 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 4)}f}"


def title(key):
    return (ROWS.get(key) or OLD_ROWS[key])[0]


def is_direct(key):
    return "direct" in (ROWS.get(key) or OLD_ROWS[key])[2]


def printed(minutes):
    """Minutes as printed, with the seconds."""
    return "-" if minutes is None else f"{minutes} ({number(60 * minutes)} s)"


def image_rows(record, case):
    rows = record["tables"][case]
    for key, row in rows.items():
        if row["images"]:
            theirs = PUBLISHED[key][-1] if case == "published" and key in PUBLISHED and not record["quick"] else None
            cells = [title(key) + (f" ({theirs} dB)" if theirs else "")]
            for noise in ("clean", "noise"):
                image, away = row["images"][noise], from_double(rows, key, noise)
                cells += [f"{image['psnr']:.2f} dB", "-" if away is None or key == "bilinear" else f"{away:+.3f} dB",
                          f"{number(image['percent'])} %"]
            yield cells


def pair_rate(record, seconds):
    """G pairs of a sample and a voxel a second, of F^H d."""
    case = record["cases"]["published"]
    return case["matrix"] ** 3 * case["readouts"] * case["samples_a_readout"] * 1e-9 / seconds


def time_row(record, key, row):
    return [title(key) + (" †" if row["parts"] else ""), number(row["q"]), number(row["adjoint"]), number(row["solver"]),
            number(row["adjoint"] + (row["solver"] or 0)), number(row["program"]),
            number(pair_rate(record, row["adjoint"])) if is_direct(key) else "-"]


def published_rows(record):
    """Figure 8.20, each figure beside this machine's, if it was measured."""
    for key, (q, q_flops, adjoint, flops, solver, image, _) in PUBLISHED.items():
        row = record["tables"]["published"].get(key)
        name = title(key) + (" †" if row and row["parts"] else "")
        here = time_row(record, key, row)[1:5] if row else ["-"] * 4
        rates = [number(adjoint and pair_rate(record, 60 * adjoint)), number(row and is_direct(key) and pair_rate(record, row["adjoint"]) or None)]
        flops = [f"{value}" if value else "-" for value in (q_flops, flops)]
        yield [name, printed(q), flops[0], here[0], printed(adjoint), flops[1], here[1], printed(solver), here[2], printed(image), here[3],
               *rates]


def missing_rows(record):
    lines = [f"Not measured: {', '.join(keys)}: {why}." for why in dict.fromkeys(record["skipped"].values())
             for keys in [[key for key, reason in record["skipped"].items() if reason == why]]]
    return lines + [f"FAILED: {key}: {why}." for key, why in record["failed"].items()]


def describe(case):
    return f"{case['readouts'] * case['samples_a_readout']:,} samples, {case['matrix']}^3"


def show(record):
    cases, tables = record["cases"], record["tables"]
    parts = next((row["parts"] for row in tables["published"].values() if row["parts"]), None)
    noise = f"noise of {record['noise'][1]} dB"
    head = ["", "PSNR", "from double", "error", f"{noise}: PSNR", "from double", "error"]
    yield (f"mri_recon {record['voxfield']}, {record['date'][:10]}; {'; '.join(record['devices'])}; "
           f"{record['cpu_threads']} CPU threads.")
    case = f"{describe(cases['published'])}, {record['solver'][1]} iterations of the solver, lambda {record['solver'][-1]}"
    if not record["quick"]:  # which is a smaller case
        yield ("**Figure 8.20** of the publication as printed, in minutes (a four-core CPU of 2007, Quadro FX 5600), beside this machine, "
               f"here, in seconds: {case}. Image: F^H d and solver.")
        yield table(["", "Q, min", "GFLOPS", "here, s", "F^H d, min", "GFLOPS", "here, s", "solver, min", "here, s", "image, min", "here, s",
                     "G pairs/s", "here"], published_rows(record))
        yield ("Its last row is 357 (Q), 228 (F^H d) and 108 (image) times as fast as its CPU in single precision. Times can be compared, and so "
               "can G pairs/s (a sample and a voxel of F^H d; the publication's follow from its minutes): the work is the same, except that "
               "the trajectory is ours, since the publication prints none. GFLOPS cannot be compared: the publication does not say which "
               "operations it counts. Its rates are about 22 a pair for F^H d and 17 for Q on the doubled grid; its text has 13 and two of "
               "trigonometry. Its solver is the CPU's in all rows; ours runs on the row's device. The row of constant memory does not name "
               "the layout (ours has structures), and the last row is two steps together.")
    yield f"**Times** in seconds: {case}." if record["quick"] else "**Times** in seconds, all rows."
    yield table(["", "Q", "F^H d", "solver", "F^H d + solver", "whole program", "G pairs/s"],
                (time_row(record, key, row) for key, row in tables["published"].items()))
    if parts:
        yield (f"† Too slow to run whole: Q and F^H d are a straight line through {parts[0]:,} and {parts[1]:,} of the "
               f"{parts[2]:,} readouts, since their cost is the same for each sample; the solver ran as it is. The image is in "
               "the last table.")
    yield "**Images**, the same case; in parentheses the publication's PSNR."
    yield table(head, image_rows(record, "published"))
    yield f"**Images**, smaller case, every row whole: {describe(cases['small'])}."
    yield table(head, image_rows(record, "small"))
    yield from missing_rows(record)
    measured = [bar for bar in record["bars"] if bar["passed"] is not None]
    reached = sum(bar["passed"] for bar in measured)
    yield f"Bars: {reached} of {len(measured)} reached, {len(record['bars']) - len(measured)} not measured."
    yield from (f"WRONG: {problem}" for problem in problems_of(record))


def commands_of(doc, first, metavar):
    """The commands of a study, for more options: run FIRST OUT.json and show OUT.json. Returns the parser, the commands, and run."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument(first, type=pathlib.Path, metavar=metavar)
    for command in (run, commands.add_parser("show")):
        command.add_argument("out", type=pathlib.Path, metavar="OUT.json")
    run.add_argument("--quick", action="store_true", help="tiny cases, to test this program")
    return parser, commands, run


def main():
    parser, _, run = commands_of(__doc__, "programs", "BIN_DIR")
    run.add_argument("--device", choices=("all", "cpu", "cuda"), default="all")
    run.add_argument("--limit", type=float, help="seconds of Q and F^H d of a row that is run whole (30; --quick: 0)")
    run.add_argument("--lambda", type=float, default=50, dest="weight", help="of the solver (50)")
    options = parser.parse_args()
    if options.command == "run":
        with tempfile.TemporaryDirectory(prefix="mri_study") as work:
            limit = (0 if options.quick else 30) if options.limit is None else options.limit
            study = Study(options.programs, work, options.quick, limit, options.weight)
            record = make_record(study, options.device, options.quick)
        write(record, options.out)
    else:
        record = json.loads(options.out.read_text())
    print("\n\n".join(show(record)))
    return 1 if problems_of(record) else 0


if __name__ == "__main__":
    sys.exit(main())
