#!/usr/bin/env python3
"""Many coils: what mri_recon --compress auto costs in accuracy, and what it saves.

    coils_study.py MRI_PHANTOM MRI_RECON [--rounds N] [--json FILE] [--quick] [--enforce]

Scans of a head with 32 coils and a noise scan, in two and three dimensions, radial and Cartesian, with the coils' true maps and
with maps that are estimated; the truth is known. The coils of mri_phantom are smooth, and have more in common than real ones; so
the last scans have small loops (loop_coils.py), and estimated maps. Each is reconstructed with --compress none, with auto, and with
auto among principal components alone, in turn, N times (2), with two threads. Times are processor times, user and system, which
other work on the machine changes little; of each the least counts.

--quick     small scans in two dimensions, and no bar on time: a test that this program works
--enforce   exit status 1 if a bar is missed

Exit status: 0; 1 if a run failed, an image has NaN, or a bar is missed; 77 without numpy or h5py.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

COILS = 32
BARS = {"error": 1.01, "time": 0.4}  # auto over none
QUICK_ERROR = 1.03  # errors of small scans scatter by 1 %
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in (".", "apps")]


def scans(quick):
    """Name, options of mri_phantom."""
    n, m, snr = 96 if quick else 192, 48, 20
    flat, volume = f"--matrix {n},{n},1 --image-snr {snr}", f"--matrix {m},{m},{m} --image-snr {snr}"
    yield f"2D radial, {n}^2, R = 3", f"{flat} --spokes {n // 2} --oversample 2"
    yield f"2D Cartesian, {n}^2, R = 3", f"{flat} --trajectory cartesian --accelerate 3"
    if quick:
        return
    yield f"3D radial, {m}^3", f"{volume} --spokes {round(0.3 * m * m)}"
    yield f"3D Cartesian, {m}^3, R = 2 x 2", f"{volume} --trajectory cartesian --accelerate 2,2"


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


HOW = {"none": ("none",), "auto": ("auto",), "principal": ("auto", "--compress-method", "principal")}  # --compress


def reconstruct(recon, compress, *words):
    seconds = run([recon, "-q", "--device", "cpu", "--threads", 2, "--compress", *compress, *words, "scan.h5", "-o", "image.h5", "--compare",
                   "truth", "--report", "report.json"])
    report = json.loads(pathlib.Path("report.json").read_text())
    error = report["error"][0] if isinstance(report["error"], list) else report["error"]
    return seconds, error["scaled"]["percent"], report["reconstruction"]


def measure(recon, rounds, *words):
    row = {how: {"seconds": []} for how in HOW}
    for _ in range(rounds):
        for how, of in row.items():
            seconds, of["percent"], made = reconstruct(recon, HOW[how], *words)
            of["seconds"].append(round(seconds, 3))
            of["coils"] = made.get("coils_used", COILS)
            of["along"], of["loss"] = made.get("coils_combined_along"), made.get("coil_signal_left_out_over_noise")
    row["error ratio"] = row["auto"]["percent"] / row["none"]["percent"]
    row["time ratio"] = min(row["auto"]["seconds"]) / min(row["none"]["seconds"])
    return row


def loop_scans(quick):
    """Name, and the arguments of loop_coils.make."""
    if quick:
        yield "loops, 3D Cartesian, 32 x 40 x 32, R = 2 x 2", ((32, 40, 32), 2, 10, 24, 2, 20)
        return
    yield "loops, 2D Cartesian, 192^2, R = 3", ((192, 192, 1), 3, 20)
    yield "loops, 3D Cartesian, 64 x 64 x 48, R = 2 x 2", ((64, 64, 48), 2, 20)


def add_row(record, name, row):
    record["cases"][name] = row
    auto = row["auto"]
    along = f" along {auto['along']}" if auto["along"] else ""
    times = ", ".join(f"{how} {min(row[how]['seconds']):.2f} s" for how in HOW)
    print(f"{name}: {auto['coils']} coils{along}, {row['principal']['coils']} principal; "
          f"error {row['none']['percent']:.3f} % -> {auto['percent']:.3f} % ({row['error ratio']:.4f}), principal "
          f"{row['principal']['percent']:.3f} %; time {times} ({row['time ratio']:.2f})", flush=True)
    for what, bar in BARS.items():
        bar = QUICK_ERROR if record["quick"] else bar
        if not (record["quick"] and what == "time"):
            value = row[f"{what} ratio"]
            record["bars"].append({"case": name, "what": what, "bar": bar, "measured": value, "met": value <= bar})


def make_record(phantom, recon, rounds, quick):
    import loop_coils
    record = {"program": "coils_study", "quick": quick, "rounds": rounds, "cases": {}, "bars": []}
    for name, options in scans(quick):
        run([phantom, "-q", "--phantom", "head", "--coils", COILS, *options.split(), "--noise-scan", "-o", "scan.h5"])
        for maps in ("file", "espirit"):
            add_row(record, f"{name}, maps: {maps}", measure(recon, rounds, "--coils", maps))
    for name, how in loop_scans(quick):
        loop_coils.make("scan.h5", *how)
        add_row(record, name, measure(recon, rounds))
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("phantom")
    parser.add_argument("recon")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--enforce", action="store_true")
    options = parser.parse_args()
    try:
        import h5py  # noqa: F401
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: no numpy or h5py")
        return 77
    phantom, recon, out = (pathlib.Path(p).resolve() if p else None for p in (options.phantom, options.recon, options.json))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        record = make_record(phantom, recon, 1 if options.quick else options.rounds, options.quick)
        os.chdir("/")
    if out:
        out.write_text(json.dumps(record, indent=1) + "\n")
    missed = [bar for bar in record["bars"] if not bar["met"]]
    for bar in missed:
        print(f"missed: {bar['case']}: {bar['what']} {bar['measured']:.4f}, bar {bar['bar']}")
    return 1 if missed and options.enforce else 0


if __name__ == "__main__":
    sys.exit(main())
