#!/usr/bin/env python3
"""Compares the times that mri_recon and cionize forecast in their plans with the times that they take.

    forecast.py BUILD [--device cpu|cuda] [--threads N,N,...] [--large] [--cases REGEX] [--runs N] [--processor] [--report FILE.json]
    forecast.py show RECORD.json...

BUILD is a build folder. The cases are those of forecast_cases.py: both programs, every method and prior. --large adds cases for
workstations and GPUs, of up to a minute each. --cases is a regular expression for their names. Each number of threads (default: all
processors that this process may use) is measured. A short run is repeated, up to RUNS times (default 3); the least time counts, beside the
least forecast, so that other programs disturb neither. A line has the parts that matter, forecast/measured in ms, and the counts of
iterations, forecast/made. With --processor the processor time counts instead, and what was measured before the plan does not: for one
thread, where other programs use the machine; its forecasts are for the median of the speeds that the runs have measured.

Ctrl-C ends it early, with the record of what was measured. The record, FILE.json, is one of validation/results (forecast-...); figures.py makes the table in docs/accuracy.md of them.
Exits with 1 if a forecast is not within a factor of 1.5, 77 without a GPU for --device cuda. What it needs: idle processors; without
--large less than 3 minutes on two of them.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "tables")]
import forecast_cases  # noqa: E402
import mri_study  # noqa: E402
import time_threads  # noqa: E402

BOUND = 1.5
ENOUGH = 1.0  # s: a case whose runs have taken longer is not run again
BEFORE = {"mri_recon": ("read", "coils", "device"), "cionize": ("read", "plan")}  # stages
MEASURED = {"mri_recon": ("before",), "cionize": ("before", "compute")}  # parts whose forecasts are measured on the clock
MACHINE = ("speed", "core", "thread", "region")  # what the programs measure before the plan, if they do
COUNTS = ("first_images", "first_iterations", "iterations", "applications_of_normal")


def run(command, folder):
    """Wall and processor seconds of a command."""
    began = time.monotonic()
    with open(folder / "said.txt", "w+", encoding="utf-8") as said:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        said.seek(0)
        text = said.read()
    if status != 0:
        sys.exit(f"failed: {shlex.join(map(str, command))}\n{text}")
    return seconds, usage.ru_utime + usage.ru_stime


def one_run(command, program, folder, processor):
    """Seconds, measured and forecast, in all and by part."""
    wall, cpu = run(command, folder)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    stages = report["processor_seconds" if processor else "seconds"]
    seconds, forecast = cpu if processor else wall, report["forecast"]
    for name in ("combine", "picture", "compare", "surface", "page"):
        if name in stages:
            stages["write"] = stages.get("write", 0) + stages.pop(name)
    made = {name: time for name, time in stages.items() if name not in BEFORE[program]}
    made["before"] = seconds - sum(made.values())
    counts = {name: [forecast[name], report["reconstruction"].get(name, 0)] for name in COUNTS} if program == "mri_recon" else {}
    return {"seconds": seconds, "made": made, "forecast": forecast["seconds"], "speed": forecast.get("measured_speed"),
            "core": forecast.get("measured_core"), "thread": forecast.get("measured_thread"), "region": forecast.get("measured_region"), "counts": counts, "device": report.get("device")}


def measure(asked, case, path, files, threads, folder):
    """The fastest run, and the least forecast."""
    name, program, _, options = case
    build = asked.build.resolve()
    words = shlex.split(options.format(**{key: shlex.quote(str(file)) for key, file in files.items()}))
    if not {"-o", "--points", "--field-map"} & set(words) and not {"--trajectory", "--energies"} <= set(words):
        words += ["-o", "image.h5" if program == "mri_recon" else "map.mrc"]
    command = [build / f"apps/{program}/{program}", "-q", "--device", asked.device, "--threads", threads, "--report", "report.json", *words, path]
    rows, spent = [], 0
    for _ in range(asked.runs):
        rows.append(one_run(command, program, folder, asked.processor))
        spent += rows[-1]["seconds"]
        if spent > ENOUGH:
            break
    best = min(rows, key=lambda row: row["seconds"])
    least = min(rows, key=lambda row: sum(row["forecast"].values()))
    return {"case": name, "program": program, "threads": threads, "runs": len(rows), **best, "forecast": least["forecast"], **{name: least[name] for name in MACHINE}}


def compare(rows, processor):
    """Sets what follows from all rows: parts [forecast, measured], and ratios."""
    speeds = [row["speed"] for row in rows if row["speed"]]
    usual = statistics.median(speeds) if speeds else 1
    for row in rows:
        made, forecast = row.pop("made"), row.pop("forecast")
        if processor and row["program"] == "mri_recon":
            forecast = {name: time * usual / (row["speed"] or 1) for name, time in forecast.items()}
        if processor:
            forecast |= {name: made.get(name, 0) for name in MEASURED[row["program"]]}
        row["parts"] = {name: [forecast.get(name, 0), made.get(name, 0)] for name in {**forecast, **made}}
        row["forecast"] = sum(forecast.values())
        row["ratio"] = row["forecast"] / row["seconds"]


def within(row):
    return 1 / BOUND <= row["ratio"] <= BOUND


def line(row):
    """Of parts only those that are a twentieth of the run."""
    words = [f"{name} {1e3 * forecast:.3g}/{1e3 * made:.3g}" for name, (forecast, made) in row["parts"].items()
             if max(forecast, made) > 0.05 * row["seconds"]]
    words += [f"{name.replace('_of_normal', '')} {forecast:.0f}/{made}" for name, (forecast, made) in row["counts"].items() if made]
    words += [f"{name} {row[name]:.3g}" for name in MACHINE if row.get(name)]
    return f"{row['ratio']:.2f}{'  <--' if not within(row) else ''}  {1e3 * row['forecast']:.0f}/{1e3 * row['seconds']:.0f} ms  {row['case']}\n        " + \
        ", ".join(words)


def make_record(asked):
    most, why = time_threads.allowed()
    threads, left_out = time_threads.choose([most] if asked.threads is None else asked.threads, most, why)
    if left_out:
        print(left_out)
    chosen = [case for case in forecast_cases.cases(asked.large) if re.search(asked.cases, case[0])]
    if not chosen or not threads:
        sys.exit("nothing to measure" if not threads else f"no case has a name like {asked.cases}")
    rows, load, before = [], os.getloadavg(), None
    with tempfile.TemporaryDirectory(prefix="forecast") as name, contextlib.suppress(KeyboardInterrupt):
        folder = pathlib.Path(name)
        for case in chosen:
            if case[1:3] != before:
                path, files = forecast_cases.make_input(asked.build.resolve(), *case[1:3], folder)
                before = case[1:3]
            for n in threads:
                rows.append(measure(asked, case, path, files, n, folder))
            if sys.stderr.isatty():
                print(f"\r\033[K{len(rows)} of {len(chosen) * len(threads)}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if not rows:
        sys.exit("nothing was measured")
    compare(rows, asked.processor)
    return {"benchmark": "forecast", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "bound": BOUND,
            "device": next((row["device"] for row in rows if row["device"]), asked.device), "processors": most, "processor_time": asked.processor, "load": load, "rows": rows}


def show(record):
    """What is printed of a record, and how many forecasts are within the bound."""
    lines = []
    for n in sorted({row["threads"] for row in record["rows"]}):
        lines += [f"{n} thread{'s' * (n > 1)}: forecast over {'processor ' * record['processor_time']}time", *(line(row) for row in record["rows"] if row["threads"] == n)]
    good = sum(within(row) for row in record["rows"])
    worst = max(record["rows"], key=lambda row: max(row["ratio"], 1 / row["ratio"]))
    lines.append(f"{good} of {len(record['rows'])} forecasts within a factor of {record['bound']}; the worst is {worst['ratio']:.2f} times the time "
                 f"({worst['case']}, {worst['threads']} threads); {record['device']}")
    if record["load"][0] > 0.5:
        lines.append(f"other programs used this machine (load {record['load'][0]:.1f}): times mean little")
    return "\n".join(lines), good


def summary(records):
    """The table of docs/accuracy.md: a column for each record and number of threads."""
    columns = [(record, n) for record in records for n in sorted({row["threads"] for row in record["rows"]})]
    found = [{row["case"]: row for row in record["rows"] if row["threads"] == n} for record, n in columns]
    names = list(dict.fromkeys(name for rows in found for name in rows))
    kind = {False: "", True: ", processor time"}
    head = ["case", *(f"{re.sub(', [0-9]+ threads?', '', record['device'].split(';')[0])}, {n} thread{'s' * (n > 1)}"
                      f"{kind[record['processor_time']]}" for record, n in columns)]
    def cell(row):
        mark = "" if within(row) else "**"
        return f"{mark}{mri_study.number(row['seconds'])} s, {row['ratio']:.2f}{mark}"
    lines = [[name.replace("|", "\\|"), *(cell(rows[name]) if name in rows else "" for rows in found)] for name in names]
    good = [f"{sum(map(within, rows.values()))} of {len(rows)}" for rows in found]
    return mri_study.table(head, [*lines, [f"within a factor of {BOUND}", *good]])


def main():
    if sys.argv[1:2] == ["show"]:
        for path in sys.argv[2:]:
            print(show(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))[0])
        return 0
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("build", type=pathlib.Path)
    asked.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    asked.add_argument("--threads", type=lambda text: sorted(map(int, text.split(","))))
    asked.add_argument("--cases", default="")
    asked.add_argument("--large", action="store_true")
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--processor", action="store_true")
    asked.add_argument("--report", type=pathlib.Path)
    asked = asked.parse_args()
    if asked.device == "cuda" and not pathlib.Path("/dev/nvidiactl").exists():
        print("SKIP: no NVIDIA GPU here")
        return mri_study.SKIPPED
    record = make_record(asked)
    text, good = show(record)
    print(text)
    if asked.report:
        mri_study.write(record, asked.report)
    return 0 if good == len(record["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
