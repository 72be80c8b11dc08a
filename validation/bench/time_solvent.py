#!/usr/bin/env python3
"""Times cionize --solvent and its parts, beside APBS.

    time_solvent.py BUILD [--points N...] [--atoms N] [--runs N] [--no-apbs] [--json FILE]

BUILD is a build folder with benchmarks. The molecule is a ball of 16,000 random charges as dense as a protein, in a cube with 10 angstrom
around it, at 129^3 and 257^3 points (--points; 513 takes 8 GB). First the energy at 65^3 is compared with that of a solution in double
precision to 1e-10: it must agree to 1e-5. Then, of each grid:

- time_solvent_parts: processor time and time on the clock of the surface with the matrix, of the right side and of the solution;
  iterations to 1e-6; the memory that was planned and that was taken;
- cionize --solvent: the whole run, from the PQR file to the MRC map;
- apbs, where it is installed (Debian's package): mg-manual, lpbe, srfm mol, bcfl sdh, the same grid, without a map. It has one thread.
  Its energy contains that of charges on the grid, so only times and memory are compared.

The least of N runs (1) counts. Exit status 1 if the energy is wrong or a program fails.
"""
import argparse
import array
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
BORDER, RADIUS = 10.0, 1.7
PARTS = ("surface", "right_side", "solve")
APBS = """read
    mol pqr ball.pqr
end
elec
    mg-manual
    dime {n} {n} {n}
    glen {edge} {edge} {edge}
    gcent 0 0 0
    mol 1
    lpbe
    bcfl sdh
    ion charge 1 conc 0.15 radius 2.0
    ion charge -1 conc 0.15 radius 2.0
    pdie 2
    sdie 78.54
    srfm mol
    chgm spl2
    sdens 10
    srad 1.4
    swin 0.3
    temp 298.15
    calcenergy total
    calcforce no
end
quit
"""


def measured(command, folder, runs):
    """Processor time, time on the clock and peak memory of a command, the least of each; and its output."""
    best = None
    for _ in range(runs):
        began = time.monotonic()
        with open(folder / "out.txt", "w", encoding="utf-8") as out:
            process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
        clock = time.monotonic() - began
        if status != 0:
            sys.exit(f"failed: {' '.join(map(str, command))}\n" + (folder / "out.txt").read_text(encoding="utf-8"))
        now = (usage.ru_utime + usage.ru_stime, clock, usage.ru_maxrss * 1024)
        best = now if best is None else tuple(map(min, best, now))
    return {"processor": best[0], "clock": best[1], "bytes": best[2]}


def make_ball(folder, atoms):
    with open(folder / "ball.pqr", "w", encoding="ascii") as file:
        subprocess.run([sys.executable, DATA / "make_random_molecule.py", str(atoms), "1"], check=True, stdout=file)
    rows = array.array("d")
    for line in open(folder / "ball.pqr", encoding="ascii"):
        if line.startswith("ATOM"):
            rows.extend(float(word) for word in line.split()[-5:])
    with open(folder / "atoms", "wb") as file:
        rows.tofile(file)
    return 2 * (max(abs(x) for n, x in enumerate(rows) if n % 5 < 3) + RADIUS + BORDER)


def parts_of(build, folder, n, edge, *more):
    command = [build / "validation/bench/time_solvent_parts", folder / "atoms", n, f"{edge:.6f}", *more]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                          env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def check(build, folder, edge):
    found = parts_of(build, folder, 65, edge, "check")
    off = abs(found["energy"] / found["energy_double"] - 1)
    print(f"energy at 65^3: {found['energy']:.9g}; in double precision {found['energy_double']:.9g}, {off:.1e} apart")
    if not off <= 1e-5:
        sys.exit("the energy is wrong")
    return off


def apbs_run(folder, n, edge, runs):
    (folder / "apbs.in").write_text(APBS.format(n=n, edge=f"{edge:.6f}"), encoding="ascii")
    return measured(["apbs", "apbs.in"], folder, runs)


def time_grid(build, folder, n, edge, options, with_apbs):
    parts = min((parts_of(build, folder, n, edge) for _ in range(options.runs)),
                key=lambda found: sum(found[part][0] for part in PARTS))
    case = {"points": n, "parts": parts}
    print(f"{n}^3: {parts['iterations']} iterations to {parts['residual']:.2g}, {parts['peak_bytes'] / 1e9:.2f} GB "
          f"({parts['planned_bytes'] / 1e9:.2f} planned)")
    for part in PARTS:
        print(f"  {part.replace('_', ' '):<12} {parts[part][0]:7.2f} s of processor time, {parts[part][1]:7.2f} s on the clock")
    whole = [build / "apps/cionize/cionize", "--solvent", "ball.pqr", "--counts", n, "--spacing", repr(edge / (n - 1)),
             "--map", "map.mrc"]
    case["cionize"] = measured(whole, folder, options.runs)
    if with_apbs:
        case["apbs"] = apbs_run(folder, n, edge, options.runs)
    for name in ("cionize", "apbs"):
        if name in case:
            used = case[name]
            print(f"  {name:<12} {used['processor']:7.2f} s of processor time, {used['clock']:7.2f} s on the clock, "
                  f"{used['bytes'] / 1e9:.2f} GB")
    if with_apbs:
        case["ratio"] = case["apbs"]["processor"] / case["cionize"]["processor"]
        print(f"  apbs takes {case['ratio']:.1f} times the processor time and "
              f"{case['apbs']['bytes'] / case['cionize']['bytes']:.1f} times the memory")
    return case


def main():
    parser = argparse.ArgumentParser(description="Times cionize --solvent and its parts, beside APBS.")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--points", type=int, nargs="+", default=[129, 257], metavar="N")
    parser.add_argument("--atoms", type=int, default=16000, metavar="N")
    parser.add_argument("--runs", type=int, default=1, metavar="N")
    parser.add_argument("--no-apbs", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    build = options.build.resolve()
    with_apbs = not options.no_apbs and shutil.which("apbs") is not None
    if not with_apbs:
        print("without apbs")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        edge = make_ball(folder, options.atoms)
        report = {"atoms": options.atoms, "edge": edge, "threads": os.cpu_count(), "load": os.getloadavg()[0],
                  "energy_difference": check(build, folder, edge)}
        report["grids"] = [time_grid(build, folder, n, edge, options, with_apbs) for n in options.points]
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
