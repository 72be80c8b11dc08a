#!/usr/bin/env python3
"""Writes the tables of measured figures in README.md and docs, and the pictures, from the newest records in
validation/results.

    figures.py            rewrites the text between the markers <!-- figures: NAME --> and <!-- end -->, and the
                          pictures docs/primitives-gpu.svg, docs/primitives-cpu.svg, docs/cionize-times.svg,
                          docs/cionize-kernels.svg, docs/fast-growth.svg, docs/threads.svg and docs/cutoff-volume.svg
    figures.py --check    exit 1 if a file differs from the records

Records: gpu-DEVICE-DATE.json (./run gpu), folders cpu-DEVICE-DATE with the reports of ./run bench,
opencl-DATE.json of time_opencl (./run gpu opencl), devices-N-DEVICE-DATE.json of time_devices.py on a machine with N GPUs, images-DATE.json of image_study.py,
slopes-DATE.json of ewald_slopes.py, forecast-DEVICE-DATE.json of forecast.py, the newest of each device, auto-DATE.json of auto_study.py, threads-N-DEVICE-DATE.json of time_threads.py, the newest of each N and device, fourier-tuning-DEVICE-DATE.json of tune_fourier_sum; and
cutoff-DATE.json of cutoff_figure.py and fourier-steps-DEVICE-DATE.json of bench_fourier_steps, which count if the GPU's record has no
report of them. bench_NAME-DEVICE-DATE.json is the report of one benchmark, made after the record on the same GPU: it takes the place of
the record's.
The primitives, the study of cionize, the placement of ions, slopes, auto, threads and cutoff may be missing in a record: then their tables say
so, and there is no picture.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "validation" / "results"
FILES = ["README.md", "docs/accuracy.md", "docs/image_accuracy.md", "docs/published_mri.md", "docs/primitives.md", "docs/ions.md", "docs/multigrid.md", "docs/nufft.md", "docs/threads.md"]
sys.path.insert(0, str(ROOT / "validation" / "tables"))
sys.dont_write_bytecode = True
import auto_study  # noqa: E402  (how its tables are written)
import cionize_study  # noqa: E402
import cutoff_figure  # noqa: E402
import ewald_slopes  # noqa: E402
import forecast  # noqa: E402
import mri_study  # noqa: E402
import plot_primitives  # noqa: E402
import published_primitives  # noqa: E402
import time_threads  # noqa: E402


def newest(pattern, needed=True):
    found = sorted(RESULTS.glob(pattern), key=lambda path: (path.name.removesuffix(".json")[-10:], path.name))
    if needed and not found:
        sys.exit(f"figures.py: no record {pattern} in {RESULTS}")
    return found[-1] if found else None


def newest_of_each(pattern):
    """The newest record of each name without its date."""
    found = {path.stem[:-11]: path for path in sorted(RESULTS.glob(pattern))}
    return [json.loads(path.read_text()) for _, path in sorted(found.items())]


def load():
    record, cpu = newest("gpu-*.json"), newest("cpu-*")
    gpu = json.loads(record.read_text())
    if gpu["tests"]["failed"] or not gpu["tests"]["passed"]: # a test may be skipped for want of a Python module; the record names it
        sys.exit(f"figures.py: {record.name} is the record of a run that failed")
    for path in sorted(RESULTS.glob(f"bench_*-{record.stem[len('gpu-') : -11]}-*.json")):
        name, report = path.name.split("-")[0], json.loads(path.read_text())
        if report["started"] > gpu["benchmarks"].get(name, {}).get("started", ""):
            gpu["benchmarks"][name] = report
    several, images = newest("devices-*.json", needed=False), newest("images-*.json", needed=False)
    slopes, auto = newest("slopes-*.json", needed=False), newest("auto-*.json", needed=False)
    cutoff = newest("cutoff-*.json", needed=False)
    opencl = newest("opencl-*.json")
    steps, tuning = newest("fourier-steps-*.json", needed=False), newest("fourier-tuning-*.json", needed=False)
    return {
        "cutoff": gpu["benchmarks"].get("bench_cutoff_volume") or (json.loads(cutoff.read_text()) if cutoff else None),
        "slopes": json.loads(slopes.read_text()) if slopes else None,
        "auto": json.loads(auto.read_text()) if auto else None,
        "threads": sorted(newest_of_each("threads-*.json"), key=lambda record: -record["processors"]),
        "opencl": json.loads(opencl.read_text()),
        "forecast": newest_of_each("forecast-*.json"),
        "gpu": gpu["benchmarks"],
        "steps": gpu["benchmarks"].get("bench_fourier_steps") or (json.loads(steps.read_text()) if steps else None),
        "tuning": json.loads(tuning.read_text()) if tuning else None,
        "several": json.loads(several.read_text()) if several else gpu["benchmarks"].get("bench_devices"),
        "images": json.loads(images.read_text()) if images else None,
        "gpu_name": gpu["device"],
        "cpu": {path.stem.removesuffix("-cpu"): json.loads(path.read_text()) for path in cpu.glob("*.json")},
        "cpu_name": None,
    }


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def rate(per_second):
    """In units of 10^9 per second."""
    return f"{per_second * 1e-9:,.0f}" if per_second >= 1e11 else f"{per_second * 1e-9:.1f}"


def speed_rows(report):
    for name, case in report["cases"].items():
        share = f"{100 * case['share_of_ceiling']:.0f} %" if "share_of_ceiling" in case else ""
        plain = f"{case['times_plain_kernel']:.1f} x" if "times_plain_kernel" in case else ""
        yield [f"{case['atoms']:,} atoms, {' x '.join(map(str, case['grid']))}", case["variant"], case["precision"],
               rate(case["pairs_per_second"]), share, plain]


def error_rows(report):
    places = [key for key in report if key.endswith("from the origin")]
    for variant in report[places[0]]:
        yield [variant] + [text for place in places for text in
                           (f"{report[place][variant]['largest_in_u']:.1f} u", f"{report[place][variant]['rms']:.1e}")]


def fourier_rows(report):
    for name, case in report["cases"].items():
        yield [name, case["variant"], case["precision"], case["direction"], rate(case["pairs_per_second"]),
               f"{100 * case['share_of_ceiling']:.0f} %" if "share_of_ceiling" in case else "",
               f"{case['largest_error']:.1e}"]


def renamed(report):
    """A remark for records made before the published steps had variants of their own."""
    old = any(case["variant"] in ("constant", "published") for case in report["cases"].values())
    return ("\n\nThis record is older than the published steps: its `naive` and `registers` reduce phases, and its `constant` and "
            "`published` are today's `bank` and `bank-4`.") if old else ""


def remark(report):
    return f"; {report['note']}" if "note" in report else ""


def step_rows(report):
    """The published steps, and what each is worth over the one before, with the same trigonometry."""
    before = {}
    for case in report["steps"].values():
        trig, speed = case["trigonometry"], case["pairs_per_second"]
        theirs = case.get("published_pairs_per_second")
        yield [case["variant"], trig, rate(speed), f"{speed / before[trig]:.2f}" if trig in before else "", f"{1e-9 * theirs:.3g}" if theirs else "",
               f"{case['largest_error']:.1e}", " / ".join(map(str, case["shape"])) if case.get("shape") else ""]
        before[trig] = speed


def place_rows(report):
    """Rates of the places of k, with both kinds of trigonometry."""
    for trig in (name for name in ("accurate", "hardware") if name in report):
        for place in ("constant-arrays", "constant-structs", "registers"):
            yield [place, trig, *map(rate, report[trig][place])]


def steps_blocks(data):
    report, tuning = data["steps"], data["tuning"]
    head = ["step", "trigonometry", "G pairs/s", "times the step before", "published", "largest error", "threads / chunk / unrolling"]
    missing = no_record("gpu", "this")
    blocks = {name: missing for name in ("fourier steps", "fourier layout", "fourier unrolling", "fourier threads", "fourier search")}
    if report:
        layout = report["layout"]
        blocks["fourier steps"] = f"{report['device']}; {report['samples']:,} samples{remark(report)}.\n\n" + table(head, step_rows(report))
        blocks["fourier layout"] = table(["k", "trigonometry", *map(str, layout["accurate"]["chunk"])], place_rows(layout))
        for axis, words in (("unroll", "unrolling"), ("threads", "threads")):
            parts = [report[f"{axis}, {size} chunk"] for size in ("small", "largest") if f"{axis}, {size} chunk" in report]
            blocks[f"fourier {words}"] = missing if not parts else "\n\n".join(
                f"Chunks of {part['chunk']:,} samples, by {words}:\n\n" +
                table(["k", "trigonometry", *map(str, part["hardware"][axis])], place_rows(part)) for part in parts)
    if tuning:
        rows = []
        for step in (name for name in ("tuned-structs", "bank-4") if name in tuning):
            for trig in ("accurate", "hardware"):
                for name, found in tuning[step][trig]["searches"].items():
                    gain = f"{100 * found['gain']:+.1f} %" if "gain" in found else ""
                    rows.append([step, trig, name, " / ".join(map(str, found["shape"])), rate(found["pairs_per_second"]), gain])
        blocks["fourier search"] = f"{tuning['device']}; {tuning['samples']:,} samples{remark(tuning)}.\n\n" + table(
            ["step", "trigonometry", "search", "threads / chunk / unrolling", "G pairs/s", "over the row above"], rows)
    return blocks


def toeplitz_rows(report):
    for name, case in report["cases"].items():
        yield [name, case["precision"], f"{1e3 * case['seconds']:.3g}", f"{case['operations_per_second'] * 1e-9:,.0f}",
               f"{100 * case['share_of_copy_ceiling']:.0f} %", f"{case['relative_error']:.1e}"]


def cartesian_rows(report):
    """Times by the FFT, and how many times as long the NUFFT takes."""
    for name, case in report["cases"].items():
        def both(seconds, nufft):
            ms = 1e3 * case[seconds]
            return f"{ms:{',.0f' if ms >= 100 else '.3g'}} ({case[nufft] / case[seconds]:.1f})"
        yield [name, both("normal_seconds", "normal_nufft_seconds"), both("seconds", "nufft_seconds"), both("all_seconds", "all_nufft_seconds")]


def recon_rows(name, report):
    for case in report["cases"]:
        bars = [f"{'seconds' if key == 'seconds' else 'GB' if key == 'bytes' else 'kernels and transfers, s'} "
                f"{bar['bar'] / (1e9 if key == 'bytes' else 1):g}: {'met' if bar['met'] else 'missed'}"
                for key, bar in case["bars"].items()]
        yield [name, str(case["coils"]), f"{case['seconds']:.2f}", f"{case['device_seconds']:.3f}", f"{case['bytes'] / 1e9:.2f}",
               "; ".join(bars)]


def lanes_rows(report):
    for name, case in report["cases"].items():
        points, precision = name.split(", ")
        mine, rows = case["operations_per_second"], case["operations_per_second_of_rows"]
        yield [points, precision, f"{1e-9 * mine:.0f}", f"{case['share_of_multiply_add_ceiling']:.0%}", f"{1e-9 * rows:.0f}",
               f"{mine / rows:.2f}"]


def recon_figures(data):
    """Blocks about mri_recon."""
    cpu, gpu = data["cpu"], data["gpu"]
    head = ["case", "variant", "precision", "direction", "G pairs/s", "of the ceiling", "largest error"]
    toeplitz_head = ["case", "precision", "ms", "GFLOP/s", "of a copy's speed", "error"]
    cartesian_head = ["case", "F^H W F, ms", "F^H d and solver, ms", "from scan to image, ms"]
    devices = [(f"{cpu['bench_fourier_sum']['device']}, {cpu['bench_fourier_sum']['threads']} threads", cpu["bench_mri_recon"]),
               (f"one {data['gpu_name']}", gpu["bench_mri_recon"])]
    one = [report["cases"][0] for _, report in devices]
    bart = cpu["bench_mri_recon"].get("bart", {})
    beside = f"; BART {bart['version']}, in the same run, {bart['seconds']:.0f} s" if "seconds" in bart else ""
    return {
        "recon summary": "The published case (284,592 samples, 128^3 voxels, 60 iterations, one coil), from file to image: "
                         f"{one[0]['seconds']:.1f} s and {one[0]['bytes'] / 1e9:.2f} GB on {devices[0][0]}{beside}; "
                         f"{one[1]['seconds']:.2f} s on {devices[1][0]}, {one[1]['device_seconds']:.2f} s of it kernels and transfers. "
                         f"F^H d differs from the exact sum by {cpu['bench_mri_recon']['adjoint']['relative_error']:.1e}.",
        "recon cases": table(["device", "coils", "seconds", "of it F^H d, Q, solver", "GB", "bars"],
                             [row for name, report in devices for row in recon_rows(name, report)]),
        "recon study cpu": "\n\n".join(mri_study.show(cpu["bench_mri_study"])),
        "recon study gpu": "\n\n".join(mri_study.show(gpu["bench_mri_study"])),
        "fourier cpu": table(head, fourier_rows(cpu["bench_fourier_sum"])),
        "fourier gpu": table(head, fourier_rows(gpu["bench_fourier_sum"])) + renamed(gpu["bench_fourier_sum"]),
        "toeplitz cpu": table(toeplitz_head, toeplitz_rows(cpu["bench_toeplitz"])),
        "fft lanes": table(["points", "precision", "side by side, GFLOP/s", "of multiply-adds", "FFTW's rows, GFLOP/s", "ratio"],
                           lanes_rows(cpu["bench_fft_lanes"])),
        "toeplitz gpu": table(toeplitz_head, toeplitz_rows(gpu["bench_toeplitz"])),
        "cartesian cpu": table(cartesian_head, cartesian_rows(cpu["bench_cartesian"])),
        "cartesian gpu": table(cartesian_head, cartesian_rows(gpu["bench_cartesian"])),
    }


def primitives(data, kind):
    """The report of bench_primitives in the newest record, or None."""
    return data[kind].get("bench_primitives")


def primitives_rows(report):
    for name, case in report["shares"].items():
        operation, log = name.rsplit(", 2^", 1)
        bar = f"{case['bar']:g}: {'met' if case['met'] else 'missed'}" if "bar" in case else ""
        yield [operation.removesuffix(" of the copy's"), f"2^{log}", rate(case["bytes_per_second"]), f"{case['share']:.3f}", case["beside"], bar]


def no_record(kind, what):
    made_by = "`./run gpu`, on a GPU," if kind == "gpu" else "`./run bench`"
    return f"The newest record in `validation/results` has no measurement of {what}: {made_by} makes one."


def study_block(data):
    report = data["gpu"].get("bench_cionize_study")
    if not report:
        return no_record("gpu", "this")
    return "\n\n".join([*cionize_study.show(report), "![Seconds against atoms, on the CPU and on a GPU](cionize-times.svg)",
                        "![Rates of the kernels against the grid's size](cionize-kernels.svg)"])


def primitives_block(data, kind):
    report = primitives(data, kind)
    if not report:
        return no_record(kind, "the primitives")
    device = f"{report['device']}, {report['threads']} threads" if "threads" in report else report["device"]
    return (f"{device}; {report['copy_by']} of 2^{report['elements'][-1].bit_length() - 1} elements: "
            f"{rate(report['copy_bytes_per_second'])} GB/s, read and written.\n\n" +
            table(["primitive", "elements", "GB/s", "share", "of", "bar"], primitives_rows(report)) +
            f"\n\n![Throughput of the primitives against size on {report['device']}](primitives-{kind}.svg)")


def published_block(data):
    report = data["gpu"].get("bench_published")
    before = published_primitives.introduction(report) if report else no_record("gpu", "the published primitives")
    return before + "\n\n" + table(published_primitives.head(report), published_primitives.rows(report))


def ions_rows(kind, report):
    """A pass over all points limits an ion on a GPU; arithmetic limits it on a CPU. So the ratios are next to the
    times."""
    device = report["device"] + (f", {report['threads']} threads" if kind == "cpu" else "")
    for case in report["cases"].values():
        yield [device, f"{case['atoms']:,}", " x ".join(map(str, case["grid"])), f"{case['ions']:,}",
               f"{case['make_seconds'] + case['exclude_seconds'] + case['first_ion_seconds']:.2f}",
               f"{1e3 * case['seconds_an_ion']:.3g}", f"{100 * case['share_of_find']:.0f} %", f"{case['ions_per_second']:,.0f}",
               f"{case['passes_an_ion']:.2f}", f"{case['times_cells']:.1f}" if "times_cells" in case else ""]


def ions_block(data):
    reports = {kind: data[kind].get("bench_ion_search") for kind in ("cpu", "gpu")}
    head = ["device", "atoms", "grid", "ions", "to the first ion, s", "another, ms", "of it finding", "ions/s", "passes an ion",
            "times as fast as cells"]
    blocks = [no_record(kind, "this") for kind, report in reports.items() if not report]
    rows = [row for kind, report in reports.items() if report for row in ions_rows(kind, report)]
    return "\n\n".join(([table(head, rows)] if rows else []) + blocks)


def bins_block(data):
    report = data["gpu"].get("bench_cutoff_sum")
    if not report:
        return no_record("gpu", "this")
    rows = [[name, variant, f"{1e3 * v['plan_seconds']:.2f}", f"{1e3 * v['map_seconds']:.2f}", f"{100 * v['overflow'] / case['charges']:.2f} %"]
            for name, case in report["cases"].items() for variant, v in case.items() if isinstance(v, dict)]
    return f"{report['device']}, {report['threads']} threads.\n\n" + table(
        ["charges, points", "variant", "plan, ms", "map, ms", "summed by the CPU"], rows)


def fast_block(data):
    report = data["gpu"].get("bench_ewald")
    if not report:
        return no_record("gpu", "this")
    rows = [[name, f"{1e3 * case['plan_seconds']:.2f}", f"{1e3 * case['map_seconds']:.2f}", f"{1e3 * case['seconds']:.2f}",
             f"{1e3 * case['bar_seconds']:g}: {'met' if case['bar_reached'] else 'missed'}" if "bar_seconds" in case else "",
             f"{case['relative_error']:.1e}", f"{case['largest_error']:.1e}"] for name, case in report["cases"].items()]
    return f"{report['device']}.\n\n" + table(["case", "plan, ms", "map, ms", "both, ms", "bar, ms", "error, rms", "largest"], rows)


def slopes_block(data):
    record = data["slopes"]
    if not record:
        return "No record yet: `validation/bench/ewald_slopes.py` makes one."
    return (f"{record['device']}, {record['threads']} threads.\n\n{ewald_slopes.show(record)}\n\n"
            "![Growth of time and memory with atoms, points and accuracy](fast-growth.svg)")


def cutoff_block(data):
    record = data["cutoff"]
    if not record:
        return no_record("gpu", "`bench_cutoff_volume`")
    return (f"{record['device']}; {record['cpu']}, {record['threads']} threads.\n\n{cutoff_figure.show(record)}\n\n"
            "![Time of maps against their volume](cutoff-volume.svg)")


def auto_block(data):
    record = data["auto"]
    return auto_study.summary(record) if record else "No record yet: `validation/bench/auto_study.py` makes one."


def threads_block(data):
    """The tables of all machines, the largest first, whose picture there is."""
    records = data.get("threads")
    if not records:
        return "No record yet: `./run bench --threads 1,2,4,8,16`, on an idle machine, makes one."
    return "\n\n".join(
        f"{record['device']}, {record['processors']} processors. Medians; in brackets the parallel efficiency.\n\n{time_threads.show(record)}" +
        (f"\n\n{record['note']}" if record.get("note") else "") + ("" if n else "\n\n![Times as fast as one thread](threads.svg)")
        for n, record in enumerate(records))


def forecast_block(data):
    records = data["forecast"]
    if not records:
        return "No record yet: `python3 validation/bench/forecast.py build/release --report FILE.json`, on an idle machine, makes one."
    return forecast.summary(records)


def multigrid_block(data):
    report = data["gpu"].get("bench_multigrid")
    if not report:
        return no_record("gpu", "`bench_multigrid`")
    edge, cycle, copy = report["edge"], 1e3 * report["seconds_cycle"], 1e3 * report["seconds_copy"]
    return (f"On one {report['device']} `bench_multigrid cuda` solved a ball in a solvent at {edge}^3 points to a residual of "
            f"{report['residual']:.1e} in **{1e3 * report['seconds_solve']:.1f} ms**, {report['iterations']} iterations; making the levels "
            f"took {1e3 * report['seconds_levels']:.1f} ms more. A cycle took {cycle:.2f} ms; a copy of what its passes read and write, "
            f"{copy:.2f} ms: {copy / cycle:.2f} of the copy's speed.")


def opencl_block(data):
    report = data["opencl"]
    rows = [[name, f"{1e3 * case['cuda']:.1f}", f"{1e3 * case['opencl']:,.1f}", f"{case['opencl'] / case['cuda']:.1f}"]
            for name, case in report.items() if isinstance(case, dict)]
    return f"{report['device']}.\n\n" + table(["case", "CUDA, ms", "OpenCL, ms", "OpenCL / CUDA"], rows)


def pictures(data):
    """{path: contents; None: no such file}"""
    study = data["gpu"].get("bench_cionize_study")
    drawn = {f"primitives-{kind}": (plot_primitives.draw, primitives(data, kind)) for kind in ("gpu", "cpu")}
    drawn |= {"cionize-times": (cionize_study.draw_times, study), "cionize-kernels": (cionize_study.draw_kernels, study),
              "fast-growth": (ewald_slopes.draw, data.get("slopes")), "threads": (time_threads.draw, (data.get("threads") or [None])[0]),
              "cutoff-volume": (cutoff_figure.draw, data.get("cutoff"))}
    return {ROOT / "docs" / f"{name}.svg": draw(report, plot_primitives.Svg()).encode() if report else None
            for name, (draw, report) in drawn.items()}


def several_rows(report):
    for name, case in report["cases"].items():
        work = "map, with transfers and writing" if name.startswith("cionize") else "F^H d, Q, solver"
        for number, row in case["devices"].items():
            yield [name.split(",")[0], case["case"].removesuffix(", 60 iterations"), work, number, f"{row['seconds']:.3g}", f"{row['times']:.2f}",
                   f"{row['whole']:.3g}", f"{row['times_whole']:.2f}"]


def several_block(data):
    report = data["several"]
    if not report:
        return no_record("gpu", "several GPUs")
    same = all(case.get("same_bits", True) for case in report["cases"].values())
    return (f"{len(report['devices'])} of {report['devices'][0]}; maps have {'the same' if same else 'OTHER'} bits on any number; images take 60 iterations, but where there are no options.\n\n" +
            table(["program", "case", "timed", "GPUs", "s", "times one's speed", "whole program, s", "times one's speed"], several_rows(report)) +
            (f"\n\n{report['note']}" if report.get("note") else ""))


def images_block(data):
    """The record of validation/tables/image_study.py."""
    if not data["images"]:
        return no_record("CPU", "validation/tables/image_study.py")
    rows = []
    for name, row in data["images"]["cases"].items():
        errors = [f"{100 * row[column]['error']:.2f} %" if column in row else "-"
                  for column in ("untouched", "best", "gridding", "bart", "ecalib maps", "true maps")]
        if row["kind"] == "scan":  # the truth is unknown: errors are from the image at the best lambda
            errors[1] = "-"
        rows.append([{"scan": "a real 3D scan, 4 coils"}.get(name, name), *errors])
    bars = data["images"]["bars"]
    missed = "".join(f"\n\nMissed: {bar['case']}, {bar['bar']}: {bar['value']:.3f}, at most {bar['most']:g}."
                     for bar in bars if not bar["met"])
    return table(["case", "without options", "best lambda", "gridding", "`ecalib`, `pics -l2`, best lambda", "best lambda, its maps",
                  "best lambda, true maps"], rows) + \
        f"\n\nBars: {sum(bar['met'] for bar in bars)} of {len(bars)} met." + missed


def figures(data):
    cpu, gpu = data["cpu"]["bench_coulomb_sum"], data["gpu"]["bench_coulomb_sum"]
    head = ["work", "variant", "precision", "G pairs/s", "of the ceiling", "against plain C"]
    error_head = ["variant", "largest error", "rms", "largest, 2000 A away", "rms, 2000 A away"]
    first_cpu, first_gpu = (next(iter(report["cases"].values())) for report in (cpu, gpu))
    errors = data["cpu"]["bench_accuracy"]["2000 angstrom from the origin"]["simd"]
    gpu_errors = data["gpu"]["bench_accuracy"]["2000 angstrom from the origin"]["tuned"]
    return recon_figures(data) | steps_blocks(data) | {f"primitives {kind}": primitives_block(data, kind) for kind in ("gpu", "cpu")} | {
        "summary": table(["", "pairs of atom and grid point a second", ""], [
            [f"{cpu['device']}, {cpu['threads']} threads, {first_cpu['variant']}",
             f"{first_cpu['pairs_per_second'] * 1e-9:.0f} G/s",
             f"{first_cpu['times_plain_kernel']:.1f} times plain C with OpenMP, -O3 -march=native -ffast-math, in the same run"],
            [f"one {gpu['device']}", f"{first_gpu['pairs_per_second'] * 1e-12:.2f} T/s",
             f"{100 * first_gpu['share_of_ceiling']:.0f} % of the reciprocal square roots the chip can do, measured in the same run"],
        ]) + f"\n\nSingle precision is right to {errors['rms']:.1e} on that CPU and {gpu_errors['rms']:.1e} on the GPU (rms, the sample "
             "protein against double precision, at its place and 2000 angstrom away).",
        "cpu speed": f"{cpu['device']}, {cpu['threads']} threads; ceiling: {cpu['multiply_adds_per_second'] * 1e-9:.0f} G "
                     "multiply-adds/s / 4 a pair.\n\n" + table(head, speed_rows(cpu)),
        "gpu speed": f"{gpu['device']}; ceiling: {gpu['reciprocal_square_roots_per_second'] * 1e-12:.2f} T reciprocal square "
                     "roots/s.\n\n" + table(head[:-1], (row[:-1] for row in speed_rows(gpu))),
        "cionize study": study_block(data),
        "published primitives": published_block(data),
        "fast growth": slopes_block(data),
        "fast gpu": fast_block(data),
        "bins gpu": bins_block(data),
        "cutoff volumes": cutoff_block(data),
        "fast or exact": auto_block(data),
        "several gpus": several_block(data),
        "threads": threads_block(data),
        "forecasts": forecast_block(data),
        "images": images_block(data),
        "ions": ions_block(data),
        "multigrid": multigrid_block(data),
        "opencl": opencl_block(data),
        "cpu errors": table(error_head, error_rows(data["cpu"]["bench_accuracy"])),
        "gpu errors": table(error_head, error_rows(data["gpu"]["bench_accuracy"])),
    }


def filled(text, blocks):
    def fill(match):
        return f"<!-- figures: {match[1]} -->\n{blocks[match[1]]}\n<!-- end -->"
    return re.sub(r"<!-- figures: ([^>]*?) -->\n.*?<!-- end -->", fill, text, flags=re.DOTALL)


def update(path, new, check):
    """Updates a file. With --check, only returns True if it is out of date."""
    old = path.read_bytes() if path.exists() else None
    if new == old:
        return False
    name = path.relative_to(ROOT)
    if check:
        print(f"{name} differs from the records: run validation/bench/figures.py")
        return True
    if new is None:
        path.unlink()
    else:
        path.write_bytes(new)
    print(f"{name} {'removed' if new is None else 'rewritten'}")
    return False


def main():
    check = "--check" in sys.argv[1:]
    data = load()
    blocks = figures(data)
    for kind in ("gpu", "cpu"):
        if not primitives(data, kind):
            print(f"the newest {kind} record has no report of bench_primitives")
    new = {ROOT / name: filled((ROOT / name).read_text(), blocks).encode() for name in FILES} | pictures(data)
    return int(any([update(path, content, check) for path, content in new.items()]))


if __name__ == "__main__":
    sys.exit(main())
