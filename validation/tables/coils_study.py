#!/usr/bin/env python3
"""Many coils: what mri_recon --compress auto costs in accuracy, and what it saves.

    coils_study.py MRI_PHANTOM MRI_RECON [--rounds N] [--json FILE] [--quick] [--enforce]

Scans of a head with 32 coils and a noise scan, in two and three dimensions, radial and Cartesian, with the coils' true maps and
with maps that are estimated; the truth is known. Each is reconstructed with --compress none and auto, in turn, N times (2), with
two threads. Times are processor times, user and system, which other work on the machine changes little; of each the least counts.

For Cartesian scans it also counts the coils that the same rule would keep with geometric compression along the readout (Zhang et
al., Magn. Reson. Med. 69 (2013) 571): principal components of their own at each position of the readout. Both counts are of the
data without noise.

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
LOSS = 0.1  # virtual_coils.c


def scans(quick):
    """Name, options of mri_phantom, readout's samples for Cartesian scans."""
    n, m, snr = 96 if quick else 192, 48, 20
    flat, volume = f"--matrix {n},{n},1 --image-snr {snr}", f"--matrix {m},{m},{m} --image-snr {snr}"
    yield f"2D radial, {n}^2, R = 3", f"{flat} --spokes {n // 2} --oversample 2", 0
    yield f"2D Cartesian, {n}^2, R = 3", f"{flat} --trajectory cartesian --accelerate 3", n
    if quick:
        return
    yield f"3D radial, {m}^3", f"{volume} --spokes {round(0.3 * m * m)}", 0
    yield f"3D Cartesian, {m}^3, R = 2 x 2", f"{volume} --trajectory cartesian --accelerate 2,2", m


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reconstruct(recon, compress, *words):
    seconds = run([recon, "-q", "--device", "cpu", "--threads", 2, "--compress", compress, *words, "scan.h5", "-o", "image.h5", "--compare",
                   "truth", "--report", "report.json"])
    report = json.loads(pathlib.Path("report.json").read_text())
    error = report["error"][0] if isinstance(report["error"], list) else report["error"]
    return seconds, error["scaled"]["percent"], report["reconstruction"]


def measure(recon, rounds, *words):
    row = {"none": {"seconds": []}, "auto": {"seconds": []}}
    for _ in range(rounds):
        for how, of in row.items():
            seconds, of["percent"], made = reconstruct(recon, how, *words)
            of["seconds"].append(round(seconds, 3))
    row["coils"], row["loss"] = made.get("coils_used", COILS), made.get("coil_signal_left_out_over_noise")
    row["error ratio"] = row["auto"]["percent"] / row["none"]["percent"]
    row["time ratio"] = min(row["auto"]["seconds"]) / min(row["none"]["seconds"])
    return row


def samples(name):
    import h5py
    import numpy as np
    with h5py.File(name) as file:
        values = {key: file["scan"][key][()] for key in ("data", "noise") if key in file["scan"]}
    for key, value in values.items():
        value = value["r"] + 1j * value["i"] if value.dtype.names else value if np.iscomplexobj(value) else value[..., 0] + 1j * value[..., 1]
        values[key] = value.reshape(COILS, -1).astype(complex)
    return values


def coils_needed(values, variance, samples_in_all):
    """`values`: eigenvalues of the covariance sums, [position][coil], largest first."""
    lost = values.sum(0)[::-1].cumsum()[::-1]
    return int((lost > LOSS ** 2 * COILS * variance * samples_in_all).sum())


def geometric(phantom, options, readout):
    """Coils that the rule keeps: one set of components, and one for each position along the readout."""
    import numpy as np
    run([phantom, "-q", "--phantom", "head", "--coils", COILS, *options.split(), "--noise-scan", "-o", "noisy.h5"])
    words = options.split()
    del words[words.index("--image-snr"):words.index("--image-snr") + 2]
    run([phantom, "-q", "--phantom", "head", "--coils", COILS, *words, "-o", "clean.h5"])
    variance = float(np.mean(abs(samples("noisy.h5")["noise"]) ** 2))
    data = samples("clean.h5")["data"].reshape(COILS, -1, readout)
    one = np.linalg.eigvalsh(np.einsum("alx,blx->ab", data, data.conj()))[::-1][None]
    places = np.fft.ifft(data, axis=2, norm="ortho")
    each = np.linalg.eigvalsh(np.einsum("alx,blx->xab", places, places.conj()))[:, ::-1]
    total = data.shape[1] * readout
    return {"principal": coils_needed(one, variance, total), "geometric": coils_needed(each, variance, total)}


def make_record(phantom, recon, rounds, quick):
    record = {"program": "coils_study", "quick": quick, "rounds": rounds, "cases": {}, "bars": []}
    for name, options, readout in scans(quick):
        run([phantom, "-q", "--phantom", "head", "--coils", COILS, *options.split(), "--noise-scan", "-o", "scan.h5"])
        for maps in ("file", "espirit"):
            row = record["cases"][f"{name}, maps: {maps}"] = measure(recon, rounds, "--coils", maps)
            if readout and maps == "file":
                row["needed"] = geometric(phantom, options, readout)
            print(f"{name}, {maps}: {row['coils']} coils, error {row['none']['percent']:.3f} % -> {row['auto']['percent']:.3f} % "
                  f"({row['error ratio']:.4f}), time {min(row['none']['seconds']):.2f} s -> {min(row['auto']['seconds']):.2f} s "
                  f"({row['time ratio']:.2f}) {row.get('needed', '')}", flush=True)
            for what, bar in BARS.items():
                bar = QUICK_ERROR if quick else bar
                if not (quick and what == "time"):
                    value = row[f"{what} ratio"]
                    record["bars"].append({"case": f"{name}, maps: {maps}", "what": what, "bar": bar, "measured": value, "met": value <= bar})
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
