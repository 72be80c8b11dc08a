#!/usr/bin/env python3
"""Writes the tables of measured figures in README.md and docs/accuracy.md from the newest records in validation/results.

    figures.py            rewrites what stands between the markers <!-- figures: NAME --> and <!-- end -->
    figures.py --check    exit 1 if a file says anything else than the records

Records: gpu-DEVICE-DATE.json (./run gpu), and folders cpu-DEVICE-DATE with the reports of ./run bench.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "validation" / "results"
FILES = ["README.md", "docs/accuracy.md"]


def newest(pattern):
    found = sorted(RESULTS.glob(pattern), key=lambda path: (path.name.removesuffix(".json")[-10:], path.name))
    if not found:
        sys.exit(f"figures.py: no record {pattern} in {RESULTS}")
    return found[-1]


def load():
    record, cpu = newest("gpu-*.json"), newest("cpu-*")
    gpu = json.loads(record.read_text())
    if gpu["tests"]["failed"] or gpu["tests"]["skipped"] or not gpu["tests"]["passed"]:
        sys.exit(f"figures.py: {record.name} is the record of a run that failed")
    return {
        "gpu": {name: report for name, report in gpu["benchmarks"].items()},
        "gpu_name": gpu["device"],
        "cpu": {path.stem.removesuffix("-cpu"): json.loads(path.read_text()) for path in cpu.glob("*.json")},
        "cpu_name": None,
    }


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def rate(pairs):
    return f"{pairs * 1e-9:,.0f}" if pairs >= 1e11 else f"{pairs * 1e-9:.1f}"


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


def figures(data):
    cpu, gpu = data["cpu"]["bench_coulomb_sum"], data["gpu"]["bench_coulomb_sum"]
    head = ["work", "variant", "precision", "G pairs/s", "of the ceiling", "against plain C"]
    error_head = ["variant", "largest error", "rms", "largest, 2000 A away", "rms, 2000 A away"]
    first_cpu, first_gpu = (next(iter(report["cases"].values())) for report in (cpu, gpu))
    errors = data["cpu"]["bench_accuracy"]["2000 angstrom from the origin"]["simd"]
    gpu_errors = data["gpu"]["bench_accuracy"]["2000 angstrom from the origin"]["tuned"]
    return {
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
        "cpu errors": table(error_head, error_rows(data["cpu"]["bench_accuracy"])),
        "gpu errors": table(error_head, error_rows(data["gpu"]["bench_accuracy"])),
    }


def filled(text, blocks):
    def fill(match):
        return f"<!-- figures: {match[1]} -->\n{blocks[match[1]]}\n<!-- end -->"
    return re.sub(r"<!-- figures: ([^>]*?) -->\n.*?<!-- end -->", fill, text, flags=re.DOTALL)


def main():
    blocks, wrong = figures(load()), 0
    for name in FILES:
        path = ROOT / name
        old = path.read_text()
        new = filled(old, blocks)
        if new != old and "--check" in sys.argv[1:]:
            print(f"{name} does not say what the records say: run validation/bench/figures.py")
            wrong = 1
        elif new != old:
            path.write_text(new)
            print(f"{name} rewritten")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
