#!/usr/bin/env python3
"""Time of potential maps against their volume: direct sums, the published kernels with a cutoff, and ours. It is figure 10.3 of
Kirk and Hwu, Programming Massively Parallel Processors (2010), after Rodrigues et al. (CF '08), on this hardware.

    cutoff_figure.py run BENCH_CUTOFF_VOLUME OUT.json [--device cpu|cuda] [--most VOLUME] [--limit SECONDS] [--quick]
    cutoff_figure.py show OUT.json                prints a record as Markdown, as `run` does
    cutoff_figure.py plot OUT.json FILE.svg       draws it (or .png)

BENCH_CUTOFF_VOLUME is the benchmark's program (validation/bench of a build folder), whose head says what is timed; each map is
checked first. A crossing is where the straight line through the logarithms of two curves' ratios is 1, between two volumes
that were measured. Exit status: 0; 1 if a map was wrong.
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

NAMES = {"direct": "direct", "large-bin": "large-bin", "small-bin": "small-bin", "small-bin-overlap": "small-bin-overlap",
         "bins": "bins (ours)", "scatter": "scatter, one core", "simd": "simd (ours), all cores"}
# (what is faster first, what beyond the crossing, the publication's words)
CROSSINGS = [("scatter", "direct", "between 1,000 and 2,000: the CPU is faster at 1,000, direct from 2,000 on"),
             ("direct", "scatter", "between 500,000 and 1,000,000: direct is far ahead up to 500,000, slower at 1,000,000"),
             ("large-bin", "small-bin", "about 8,000, where large-bin is slightly ahead"),
             ("direct", "bins", "-"), ("direct", "simd", "-"), ("scatter", "bins", "-")]
RATIOS = [("scatter", "small-bin-overlap", "17"), ("scatter", "small-bin", "slightly below 17"), ("scatter", "large-bin", "-"),
          ("small-bin", "small-bin-overlap", "slightly above 1"), ("scatter", "bins", "-"), ("small-bin-overlap", "bins", "-"),
          ("scatter", "simd", "-")]


def make_record(options):
    most, limit = (4000, 1) if options.quick else (options.most, options.limit)
    with tempfile.TemporaryDirectory(prefix="cutoff_figure") as work:
        out = pathlib.Path(work) / "volumes.json"
        done = subprocess.run([str(options.bench.resolve()), options.device, str(out), str(most), str(limit)],
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 77 or not out.exists():
            sys.exit(done.returncode or 1)
        said = json.loads(out.read_text())
    return {"program": "cutoff_figure", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "load": os.getloadavg(), "quick": options.quick, "right": done.returncode == 0,
            **{key: said[key] for key in ("device", "cpu", "threads", "cutoff", "spacing", "density", "volumes")}}


def curve(record, name, key="seconds"):
    """[(volume, value)]"""
    return [(float(volume), case[name][key]) for volume, case in record["volumes"].items() if name in case]


def crossing(record, first, then):
    """Every volume where `first` ceases to be faster than `then`."""
    a, b = dict(curve(record, first)), dict(curve(record, then))
    both = sorted(set(a) & set(b))
    logs = [(math.log(v), math.log(a[v] / b[v])) for v in both]
    return [math.exp(x + (u - x) * y / (y - w)) for (x, y), (u, w) in zip(logs, logs[1:]) if y < 0 <= w]


def ratio(record, slow, fast):
    """At the largest volume that both have."""
    a, b = dict(curve(record, slow)), dict(curve(record, fast))
    both = set(a) & set(b)
    return (max(both), a[max(both)] / b[max(both)]) if both else None


def curves_of(record):
    return [name for name in NAMES if curve(record, name)]


def show(record):
    names = curves_of(record)
    rows = [[f"{float(volume):,.0f}", f"{case['charges']:,}", f"{case['edge']}³",
             *(mri_study.number(1e3 * case[name]["seconds"]) if name in case else "" for name in names),
             *([f"{100 * case['small-bin']['overflow']:.2f} %"] if "small-bin" in case else [""])]
            for volume, case in record["volumes"].items()]
    table = mri_study.table(("volume, A³", "charges", "points", *(f"{NAMES[name]}, ms" for name in names), "overflow"), rows)
    found = [[f"{NAMES[first]}, then {NAMES[then]}", ", ".join(f"{v:,.0f}" for v in crossing(record, first, then)) or "none", printed]
             for first, then, printed in CROSSINGS if first in names and then in names]
    times = [[f"{NAMES[slow]} / {NAMES[fast]}", f"{value[1]:.3g}, at {value[0]:,.0f}", printed]
             for slow, fast, printed in RATIOS for value in [ratio(record, slow, fast)] if value]
    parts = [table]
    if found:
        parts.append(mri_study.table(("faster, then faster", "crossing, A³", "published"), found))
    if times:
        parts.append(mri_study.table(("ratio of times", "here, at A³", "published"), times))
    return "\n\n".join(parts)


def draw(record, canvas):
    """Seconds against volume: on the GPU solid, on the CPU dashed, unless all is on the CPU."""
    gpu = "bins" in curves_of(record)
    curves = [(NAMES[name], curve(record, name), color, gpu and name in ("scatter", "simd"))
              for name, color in zip(curves_of(record), plot.COLORS)]
    volumes = sorted(float(volume) for volume in record["volumes"])
    axes = plot.LogAxes(volumes, [seconds for _, points, _, _ in curves for _, seconds in points])
    labels = {v: f"{v:,.0f}" for v in (1e3, 1e4, 1e5, 1e6, 1e7) if volumes[0] <= v <= volumes[-1]}
    title = f"Maps with a cutoff of {record['cutoff']:g} A on {record['device']}"
    return cionize_study.draw_all(canvas, title, axes, labels, "volume, cubic angstrom", "seconds", curves)


def main():
    arguments = {"--most": {"type": int, "default": 10 ** 7, "help": "largest volume, cubic angstrom (10^7)"},
                 "--limit": {"type": int, "default": 3, "help": "seconds of a case that is still run (3)"}}
    return cionize_study.drawn_study(__doc__, "BENCH_CUTOFF_VOLUME", arguments, make_record, show, draw)


if __name__ == "__main__":
    sys.exit(main())
