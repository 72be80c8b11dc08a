#!/usr/bin/env python3
"""CPU against GPU, from small tasks to large ones: all of cionize, its kernels, and the choice of --device auto.

    cionize_study.py run BIN_DIR OUT.json [--device all|cpu|cuda] [--limit SECONDS] [--quick]    measures
    cionize_study.py show OUT.json                                prints a record as Markdown, as `run` does
    cionize_study.py plot OUT.json TIMES.svg KERNELS.svg          draws it (or .png)

BIN_DIR is a build folder with the benchmarks. Molecules are random, from a fixed seed, in a box on a fixed grid; each
is a part of the next larger one. The first table has the program's time from start to end on the CPU, on a GPU and
with `auto`, and the time of one launch of the kernel. The second table has the rates of the kernels on grids of many
sizes. Times are medians.

Runs on the CPU that would take more than a twentieth of --limit are extrapolated from the last measured one, and
marked. Cases that remain when the limit is reached are not measured. `all` means `cuda` if there is a GPU, else
`cpu`; the rest is then recorded as not measured.

Exit status: 0; 1 if `auto` chose a device that takes more than NOISE longer, or a row failed (the record is written
anyway); 77 if --device cuda finds no GPU. Source of the comparison: Stone et al., J. Comput. Chem. 28 (2007) 2618,
where the CPU wins below some 400 atoms.
"""
import datetime
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "bench"))
import mri_study  # noqa: E402  (running programs, tables)
import plot_primitives as plot  # noqa: E402

SPACING = 0.5          # angstrom
SIZES, QUICK_SIZES = (100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000), (100, 300)
EDGE, QUICK_EDGE = 128, 24  # points along each axis of the first table's grid
EDGES, QUICK_EDGES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384), (16, 24)
ATOMS = 4096           # of the second table
VARIANTS = {"cpu": ("simd",), "cuda": ("tuned", "roots", "const1", "const4", "const8")}
REPEATS, ENOUGH = 3, 2  # runs of a program, but none starts after this many seconds
NOISE = 0.2            # the largest extra cost of a choice over the better device
PUBLISHED_CROSSING = 400
SEED = 1


# ---- measuring ----


class Study:
    def __init__(self, folder, work, quick, limit):
        self.program = mri_study.find(folder, "cionize", "apps")
        self.kernels = mri_study.find(folder / "validation" / "bench", "time_coulomb_kernels", "")
        self.work, self.limit, self.began = pathlib.Path(work), limit, time.perf_counter()
        self.sizes, self.edge = (QUICK_SIZES, QUICK_EDGE) if quick else (SIZES, EDGE)
        self.edges = QUICK_EDGES if quick else EDGES
        self.lines = []

    def late(self):
        return time.perf_counter() - self.began > self.limit

    def most(self):
        """The time limit of one run in seconds."""
        return self.limit / 20

    def molecule(self, atoms):
        """Writes a molecule and returns its path. Smaller molecules are its first atoms."""
        path, edge = self.work / f"{atoms}.pqr", (self.edge - 1) * SPACING
        draw = random.Random(SEED + len(self.lines)).random
        # Fields with blanks between them, and nothing else: pqr_text.record would take ten seconds for a million.
        self.lines += [f"ATOM {serial} X RND 1 {edge * draw():.3f} {edge * draw():.3f} {edge * draw():.3f} {serial % 2 - 0.5:.4f} 1.7\n"
                       for serial in range(len(self.lines) + 1, atoms + 1)]
        path.write_text("".join(self.lines[:atoms]))
        return path

    def once(self, device, molecule):
        report = self.work / "report.json"
        grid = ["--method", "direct", "--spacing", str(SPACING), "--origin", "0,0,0", "--counts", str(self.edge)]
        whole = mri_study.call([self.program, "-q", "--device", device, *grid, "-o", str(self.work / "map.mrc"), "--report",
                                str(report), str(molecule)])
        said = json.loads(report.read_text())
        start = said.get("gpu_start", {})
        return {"whole": whole, "device": said["device"], "version": said["voxfield"], "start": start.get("seconds"),
                "waited": start.get("waited")}

    def often(self, device, molecule):
        """The medians of some runs."""
        runs = [self.once(device, molecule)]
        while len(runs) < REPEATS and sum(run["whole"] for run in runs) < ENOUGH and not self.late():
            runs.append(self.once(device, molecule))
        medians = {name: statistics.median_low(run[name] for run in runs) for name in ("whole", "start", "waited")
                   if runs[0][name] is not None}
        return {**runs[0], **medians, "runs": len(runs)}

    def kernel_seconds(self, device, cases):
        """Returns {case: seconds} for the cases that do not take too long."""
        report = self.work / "kernels.json"
        mri_study.call([self.kernels, device, str(report), str(self.most()), *cases])
        said = json.loads(report.read_text())
        return said["seconds"], said["device"]


def along_line(rows, atoms, key):
    """Extrapolates the last measured row to more atoms: the kernel's time grows with them, the rest does not."""
    known = max((size for size in rows if rows[size].get("kernel")), default=None)
    if known is None or known >= atoms:
        return None
    kernel = rows[known]["kernel"] * atoms / known
    return kernel if key == "kernel" else rows[known]["whole"] - rows[known]["kernel"] + kernel


def measure_device(study, device):
    """{atoms: row} of one device, and its name. Rows of the CPU that would take too long are extrapolated from
    earlier ones."""
    variant, rows = VARIANTS[device][0], {}
    kernels, name = study.kernel_seconds(device, [f"{variant}:{atoms}:{study.edge}" for atoms in study.sizes])
    for atoms in study.sizes:
        kernel = kernels.get(f"{variant}:{atoms}:{study.edge}")
        expected = along_line(rows, atoms, "whole")
        if kernel is None or study.late():
            if expected is not None:
                rows[atoms] = {"whole": expected, "expected": True, "kernel": None}
            continue
        rows[atoms] = {**study.often(device, study.molecule(atoms)), "kernel": kernel, "expected": False}
    return rows, name


def judge(row):
    """Whether auto's device is the faster one, within the noise; None if one of them was not measured."""
    auto, chosen = row.get("auto"), None
    if auto:
        chosen = "cuda" if auto["device"].startswith("cuda") else "cpu"
    if not auto or not row.get("cpu") or not row.get("cuda"):
        return chosen, None
    best = min(row[device]["whole"] for device in ("cpu", "cuda"))
    return chosen, bool(row[chosen]["whole"] <= (1 + NOISE) * best)


def measure_auto(study, table):
    for atoms in study.sizes:
        row = table[atoms]
        expected = [row[device]["whole"] for device in ("cpu", "cuda") if row.get(device)]
        if expected and min(expected) <= study.most() and not study.late():
            row["auto"] = study.often("auto", study.molecule(atoms))
        row["chosen"], row["right"] = judge(row)


def measure_kernels(study, device):
    """{variant: [seconds for each edge]}; None: too long."""
    cases = {variant: [f"{variant}:{ATOMS}:{edge}" for edge in study.edges] for variant in VARIANTS[device]}
    seconds, _ = study.kernel_seconds(device, [case for one in cases.values() for case in one])
    return {variant: [seconds.get(case) for case in one] for variant, one in cases.items()}


def find_gpu(study, device):
    """The reason why there is no GPU to measure on, or None."""
    if device == "cpu":
        return "--device cpu"
    try:
        mri_study.call([study.program, "--device", "cuda", "--dry-run", str(study.molecule(study.sizes[0]))])
    except mri_study.Failed as failure:
        return str(failure)
    return None


def make_record(study, device, quick):
    no_gpu = find_gpu(study, device)
    if device == "cuda" and no_gpu:
        print(f"SKIP: {no_gpu}")
        sys.exit(mri_study.SKIPPED)
    table, kernels, names, failed = {atoms: {} for atoms in study.sizes}, {}, {}, {}
    for where in ("cuda", "cpu"):
        if where == "cuda" and no_gpu:
            continue
        try:
            kernels |= measure_kernels(study, where)
            rows, names[where] = measure_device(study, where)
            for atoms, row in rows.items():
                table[atoms][where] = row
        except mri_study.Failed as failure:
            failed[where] = str(failure)
        print(f"{where}: {time.perf_counter() - study.began:.1f} s since the start", file=sys.stderr, flush=True)
    try:
        measure_auto(study, table)
    except mri_study.Failed as failure:
        failed["auto"] = str(failure)
    versions = {row[device]["version"] for row in table.values() for device in ("cpu", "cuda") if "version" in row.get(device, {})}
    return {
        "program": "cionize_study",
        "voxfield": min(versions, default=None),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "devices": names,
        "cpu_threads": len(os.sched_getaffinity(0)),
        "quick": quick,
        "limit_seconds": study.limit,
        "seconds": time.perf_counter() - study.began,
        "edge": study.edge,
        "rows": [{"atoms": atoms, **row} for atoms, row in table.items()],
        "kernel_atoms": ATOMS,
        "edges": study.edges,
        "kernels": kernels,
        "no_gpu": no_gpu,
        "failed": failed,
    }


def problems_of(record):
    problems = [f"{what}: {why}" for what, why in record["failed"].items()]
    if not record["quick"]:  # too short to be meaningful
        problems += [f"{row['atoms']:,} atoms: auto chose {row['chosen']}, which takes "
                     f"{row[row['chosen']]['whole'] / min(row[name]['whole'] for name in ('cpu', 'cuda')):.2f} times as long"
                     for row in record["rows"] if row.get("right") is False]
    return problems


# ---- showing ----


def seconds_text(value):
    return mri_study.number(value) if value is None or value >= 0.01 else f"{value:.2g}"


def cell(row, device, key):
    value = row.get(device, {}).get(key)
    mark = " †" if value is not None and key == "whole" and row[device].get("expected") else ""
    return seconds_text(value) + mark


def time_row(row):
    right = {True: "yes", False: "**no**", None: "-"}[row.get("right")]
    return [f"{row['atoms']:,}", *(cell(row, device, "whole") for device in ("cpu", "cuda", "auto")),
            row.get("chosen") or "-", right, *(cell(row, device, "kernel") for device in ("cpu", "cuda")),
            cell(row, "cuda", "start"), cell(row, "cuda", "waited")]


def both(record):
    return [row for row in record["rows"] if row.get("cpu") and row.get("cuda")]


def crossing(record):
    """The sizes between which the GPU becomes faster: (last of the CPU, first of the GPU); one may be None."""
    faster = [(row["atoms"], row["cuda"]["whole"] < row["cpu"]["whole"]) for row in both(record)]
    first = next((atoms for atoms, gpu in faster if gpu), None)
    return max((atoms for atoms, gpu in faster if not gpu and (first is None or atoms < first)), default=None), first


def besides(record):
    """The seconds that a GPU costs in addition to its work and start, from the smallest task, where nothing hides the
    start."""
    row = next(iter(both(record)), None)
    if not row or row["cuda"].get("waited") is None or not row["cuda"]["kernel"] or not row["cpu"]["kernel"]:
        return None
    gpu, cpu = row["cuda"], row["cpu"]
    return (gpu["whole"] - gpu["kernel"] - gpu["waited"]) - (cpu["whole"] - cpu["kernel"])


def kernel_rows(record):
    for variant, seconds in record["kernels"].items():
        pairs = [record["kernel_atoms"] * edge ** 3 for edge in record["edges"]]
        yield [variant, *(mri_study.number(n / s * 1e-9) if s else "-" for n, s in zip(pairs, seconds))]


def show(record):
    devices = record["devices"]
    yield (f"cionize {record['voxfield']}, {record['date'][:10]}; {'; '.join(devices[name] for name in ('cpu', 'cuda') if name in devices)}; "
           f"{record['cpu_threads']} CPU threads.")
    yield (f"**Times** in seconds, a grid of {record['edge']}^3 points, an MRC map. Whole: from start to end of the program. Kernel: one "
           "launch by itself. Right: what `auto` chose is the faster one, or takes at most "
           f"{100 * NOISE:.0f} % longer.")
    yield mri_study.table(["atoms", "whole, CPU", "whole, GPU", "whole, auto", "auto chose", "right", "kernel, CPU", "kernel, GPU",
                           "GPU's start", "of it waited for"], map(time_row, record["rows"]))
    if any(row.get(device, {}).get("expected") for row in record["rows"] for device in ("cpu", "cuda")):
        yield "† Too long to run: the last row that ran, with its kernel's time in proportion to the atoms."
    last, first = crossing(record)
    if first:
        yield (f"The GPU is first the faster one at {first:,} atoms" + (f", the CPU still at {last:,}" if last else "") +
               f"; in the publication from some {PUBLISHED_CROSSING} atoms on.")
    if besides(record) is not None:
        yield f"Besides its start and its work a GPU costs {seconds_text(besides(record))} s."
    yield f"**Kernels**, G pairs of an atom and a point a second, {record['kernel_atoms']:,} atoms; grids by their edge."
    yield mri_study.table(["variant", *(f"{edge}^3" for edge in record["edges"])], kernel_rows(record))
    if record["no_gpu"]:
        yield f"Not measured: the GPU: {record['no_gpu']}."
    yield from (f"WRONG: {problem}" for problem in problems_of(record))


# ---- drawing ----


def draw_all(canvas, title, axes, labels, across, upwards, curves):
    """`curves`: (name, points, colour, dashed)."""
    canvas.text(plot.LEFT, 60, title, large=True)
    plot.draw_axes(canvas, axes, labels, across, upwards)
    for i, (name, points, color, dashed) in enumerate(curves):
        plot.draw_curve(canvas, [(axes.x(size), axes.y(value)) for size, value in points], color, 3 if dashed else 4, dashed,
                        plot.TOP + 12 + 44 * i, name)
    return canvas


def drawn_study(doc, metavar, arguments, make_record, show, draw):
    """The main of a study of one benchmark whose record makes one picture: run, show, plot. arguments: {option of run: keywords
    of add_argument}. make_record gets the options. Returns the exit status."""
    parser, commands, run = mri_study.commands_of(doc, "bench", metavar)
    run.add_argument("--device", default="cpu")
    for name, keywords in arguments.items():
        run.add_argument(name, **keywords)
    drawing = commands.add_parser("plot")
    drawing.add_argument("out", type=pathlib.Path, metavar="OUT.json")
    drawing.add_argument("picture", type=pathlib.Path, metavar="FILE.svg")
    options = parser.parse_args()
    if options.command == "run":
        record = make_record(options)
        mri_study.write(record, options.out)
    else:
        record = json.loads(options.out.read_text())
    if options.command == "plot":
        plot.write(draw(record, plot.canvas_for(options.picture)), options.picture)
        return 0
    print(show(record))
    return 0 if record["right"] else 1


def draw_times(record, canvas):
    """Seconds against atoms: whole programs solid, kernels dashed; measured values only."""
    names = {"cpu": "CPU", "cuda": "GPU", "auto": "auto"}
    curves = []
    for (device, name), color in zip(names.items(), plot.COLORS[::2]):
        for key, dashed in (("whole", False), ("kernel", True)):
            points = [(row["atoms"], row[device][key]) for row in record["rows"]
                      if row.get(device, {}).get(key) and not row[device].get("expected")]
            if points:
                curves.append((f"{name}, {'kernel alone' if dashed else 'whole program'}", points, color, dashed))
    sizes = [row["atoms"] for row in record["rows"]]
    axes = plot.LogAxes(sizes, [value for _, points, _, _ in curves for _, value in points])
    return draw_all(canvas, f"cionize, {record['edge']}³ points", axes, {size: f"{size:,}" for size in sizes[::2]}, "atoms", "seconds",
                    curves)


def draw_kernels(record, canvas):
    """Pairs per second against points."""
    points = [edge ** 3 for edge in record["edges"]]
    curves = []
    for (variant, seconds), color in zip(record["kernels"].items(), plot.COLORS[::2] + plot.COLORS[1::2]):
        rates = [(n, record["kernel_atoms"] * n / s * 1e-9) for n, s in zip(points, seconds) if s]
        if rates:
            curves.append((variant if variant != "simd" else "simd (CPU)", rates, color, False))
    axes = plot.LogAxes(points, [value for _, rates, _, _ in curves for _, value in rates])
    labels = {edge ** 3: f"{edge}³" for edge in record["edges"][::2]}
    return draw_all(canvas, f"Kernels, {record['kernel_atoms']:,} atoms", axes, labels, "grid points", "G pairs/s", curves)


def main():
    parser, commands, run = mri_study.commands_of(__doc__, "programs", "BIN_DIR")
    run.add_argument("--device", choices=("all", "cpu", "cuda"), default="all")
    run.add_argument("--limit", type=float, default=50, help="seconds for all, about (50)")
    drawing = commands.add_parser("plot")
    for name in ("out", "times", "kernels"):
        drawing.add_argument(name, type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "run":
        with tempfile.TemporaryDirectory(prefix="cionize_study") as work:
            record = make_record(Study(options.programs, work, options.quick, options.limit), options.device, options.quick)
        mri_study.write(record, options.out)
    else:
        record = json.loads(options.out.read_text())
    if options.command == "plot":
        plot.write(draw_times(record, plot.canvas_for(options.times)), options.times)
        plot.write(draw_kernels(record, plot.canvas_for(options.kernels)), options.kernels)
        return 0
    print("\n\n".join(show(record)))
    return 1 if problems_of(record) else 0


if __name__ == "__main__":
    sys.exit(main())
