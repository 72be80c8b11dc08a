#!/usr/bin/env python3
"""How time and memory of fast potentials grow with atoms, with points and with accuracy: slopes in one run.

    ewald_slopes.py run BENCH_EWALD OUT.json [--device cpu|cuda] [--quick]
    ewald_slopes.py show OUT.json                prints a record as Markdown, as `run` does
    ewald_slopes.py plot OUT.json FILE.svg       draws it (or .png)

BENCH_EWALD is the benchmark's program (validation/bench of a build folder). It computes whole maps, in free space, of
0.1 atoms in a cubic angstrom and a point every half angstrom, checks each against the exact sum, and gives medians of
the seconds from the charges to the values, and the most memory beside the map. A series changes one thing:

    atoms      in the same map, which they fill in the end
    points     around the same atoms, which fill the first map
    both       a larger piece of the same matter
    accuracy   digits of it, -log10 of the tolerance, in double precision

A slope is that of a straight line through the logarithms, by least squares: seconds grow with the slope's power of
what changes. The slope at the end is that of the last three cases. Exit status: 0; 1 if a map was wrong.
"""
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "validation" / "tables"))
sys.path.insert(0, str(ROOT / "validation" / "bench"))
import cionize_study  # noqa: E402  (drawing, main)
import mri_study  # noqa: E402  (tables, records)
import plot_primitives as plot  # noqa: E402

# {series: [(what changes, atoms, points along an axis, tolerance, precision)]}
SERIES = {
    "atoms": [(n, n, 193, 1e-6, "single") for n in (1000, 2000, 4000, 8000, 16000, 32000, 64000)],
    "points": [(n ** 3, 16000, n, 1e-6, "single") for n in (113, 129, 161, 193, 225, 257, 321)],
    "both": [(n, n, round(2 * (n / 0.1) ** (1 / 3)) + 20, 1e-6, "single") for n in (2000, 8000, 32000, 128000, 256000, 512000)],
    "accuracy": [(digits, 16000, 129, 10.0 ** -digits, "double") for digits in (3, 4, 5, 6, 7, 8, 9, 10)],
}
QUICK = {
    "atoms": [(n, n, 33, 1e-3, "single") for n in (100, 200, 400)],
    "points": [(n ** 3, 100, n, 1e-3, "single") for n in (25, 33, 41)],
    "both": [(n, n, round(2 * (n / 0.1) ** (1 / 3)) + 20, 1e-3, "single") for n in (100, 200)],
    "accuracy": [(digits, 100, 33, 10.0 ** -digits, "double") for digits in (3, 6)],
}
WORDS = {"atoms": "atoms", "points": "points", "both": "atoms and points", "accuracy": "digits of accuracy"}


def slope(pairs):
    """Of a line through logarithms."""
    x, y = ([math.log(pair[i]) for pair in pairs] for i in (0, 1))
    middle = sum(x) / len(x)
    return sum((a - middle) * b for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)


def fit(rows):
    size = [row["size"] for row in rows]
    seconds, memory = ([row[key] for row in rows] for key in ("seconds", "bytes"))
    return {"seconds": slope(list(zip(size, seconds))), "seconds_at_the_end": slope(list(zip(size, seconds))[-3:]),
            "bytes": slope(list(zip(size, memory))), "bytes_at_the_end": slope(list(zip(size, memory))[-3:])}


def measure(program, device, series, work):
    """Every case once, though it is in several series. Returns {series: rows}, and what the benchmark says of itself."""
    def name(case):
        return f"{case[1]}:{case[2]}:{case[3]:g}:{case[4]}"
    names = list(dict.fromkeys(name(case) for cases in series.values() for case in cases))
    out = pathlib.Path(work) / "ewald.json"
    done = subprocess.run([program, device, str(out), *names], stdin=subprocess.DEVNULL, check=False)
    if done.returncode == 77 or not out.exists():
        sys.exit(done.returncode or 1)
    said = json.loads(out.read_text())
    rows = {key: [{"size": case[0], "atoms": case[1], "edge": case[2], "tolerance": case[3], "precision": case[4],
                   "seconds": said["cases"][name(case)]["seconds"], "bytes": said["cases"][name(case)]["most_plan_bytes"],
                   "error": said["cases"][name(case)]["relative_error"]} for case in cases] for key, cases in series.items()}
    return rows, said, done.returncode


def make_record(options):
    with tempfile.TemporaryDirectory(prefix="ewald_slopes") as work:
        rows, said, status = measure(str(options.bench.resolve()), options.device, QUICK if options.quick else SERIES, work)
    return {"program": "ewald_slopes", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "device": said.get("device"), "threads": said.get("threads"), "load": os.getloadavg(), "quick": options.quick,
            "right": status == 0, "rows": rows, "slopes": {key: fit(list_) for key, list_ in rows.items()}}


def show(record):
    def span(rows):
        return f"{rows[0]['size']:,} to {rows[-1]['size']:,}"
    lines = []
    for key, rows in record["rows"].items():
        found = record["slopes"][key]
        lines.append([WORDS[key], span(rows), mri_study.number(rows[0]["seconds"]), mri_study.number(rows[-1]["seconds"]),
                      f"{found['seconds']:.2f}", f"{found['seconds_at_the_end']:.2f}",
                      mri_study.number(rows[0]["bytes"] / 2 ** 20), mri_study.number(rows[-1]["bytes"] / 2 ** 20),
                      f"{found['bytes']:.2f}", f"{found['bytes_at_the_end']:.2f}"])
    return mri_study.table(("growth with", "from, to", "s", "s at the end", "slope", "at the end", "memory, MiB", "at the end",
                            "slope", "at the end"), lines)


def draw(record, canvas):
    """Seconds (solid) and memory (dashed) against what changes, each in multiples of the first case's."""
    curves, sizes = [], set()
    for (key, rows), color in zip(record["rows"].items(), plot.COLORS[::2]):
        for value, dashed, word in (("seconds", False, "time"), ("bytes", True, "memory")):
            points = [(row["size"] / rows[0]["size"], row[value] / rows[0][value]) for row in rows]
            sizes.update(x for x, _ in points)
            curves.append((f"{WORDS[key]}: {word}", points, color, dashed))
    sizes = sorted(sizes)
    axes = plot.LogAxes(sizes, [y for _, points, _, _ in curves for _, y in points])
    labels = {x: f"{x:g}" for x in (1, 2, 4, 8, 16, 32, 64, 128, 256) if x <= sizes[-1]}
    return cionize_study.draw_all(canvas, f"Fast potentials on {record['device']}", axes, labels, "growth", "time, memory", curves)


def main():
    return cionize_study.drawn_study(__doc__, "BENCH_EWALD", {}, make_record, show, draw)


if __name__ == "__main__":
    sys.exit(main())
