#!/usr/bin/env python3
"""Whether `cionize --method auto` takes the faster method: times both over many sizes, and compares.

    auto_study.py run BUILD OUT.json [--quick] [--rounds N] [--limit SECONDS] [--threads N] [--cpu-time] [--no-bar]
    auto_study.py show OUT.json

BUILD is a build folder. Charges of random molecules, 0.1 atoms in a cubic angstrom as in proteins, on cubic grids of
half an angstrom around them, from a fixed seed; the sizes are those of ATOMS and EDGES, the accuracies and precisions
those of ACCURACIES. A time is that of planning and computing, as the program's report has it, without reading and
writing files, and the least of N rounds: other programs only add to it. With --cpu-time it is the processor's time of
the whole program, for a machine that is not idle; use --threads 1 with it. The methods take turns in a round. `exact` is
not run where its time, which grows with atoms times points, must be LONG times that of `fast`: it is extrapolated from
the last case of the same precision, and marked. `auto` says its choice in a run without work (--dry-run).

In periodic cells only `fast` applies: the study checks that `auto` takes it, and times nothing.

Bar: the chosen method takes at most NOISE longer than the better one, wherever the better one takes SHORT seconds or
more. Exit status: 0; 1 if the bar is missed or a run failed (the record is written anyway).
"""
import datetime
import itertools
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "validation" / "tables"))
import mri_study  # noqa: E402  (tables, records)

ATOMS, QUICK_ATOMS = (100, 300, 1000, 3000, 10000, 20000), (100, 300)
EDGES, QUICK_EDGES = (33, 65, 97, 129), (17, 33)
ACCURACIES = ((1e-3, "single"), (1e-6, "single"), (1e-6, "double"), (1e-10, "double"))
NOISE, SHORT, LONG = 0.2, 0.05, 5.0
# Waiting threads sleep, because other programs may use the machine.
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}


class Failed(Exception):
    pass


class Study:
    def __init__(self, build, work, options):
        self.program, self.work = mri_study.find(build, "cionize", "apps"), pathlib.Path(work)
        self.rounds, self.more = options.rounds, ["--threads", str(options.threads)] if options.threads else []
        self.limit, self.began = options.limit, time.perf_counter()
        self.last_exact = {}  # {precision: seconds a pair}
        self.cpu_time = options.cpu_time

    def late(self):
        return time.perf_counter() - self.began > self.limit

    def molecule(self, atoms):
        path, edge, draw = self.work / f"{atoms}.pqr", (atoms / 0.1) ** (1 / 3), random.Random(atoms).random
        if not path.exists():
            path.write_text("".join(f"ATOM {n} X RND 1 {edge * draw():.3f} {edge * draw():.3f} {edge * draw():.3f} "
                                    f"{2 * draw() - 1:.4f} 1.7\n" for n in range(1, atoms + 1)))
        return path

    def call(self, method, case, *more):
        atoms, edge, accuracy, precision = case
        middle = (atoms / 0.1) ** (1 / 3) / 2 - (edge - 1) / 4
        command = [self.program, "--device", "cpu", "--method", method, "--counts", str(edge), "--origin", f"{middle:.3f}",
                   *(() if method == "exact" else ("--accuracy", str(accuracy))), "--precision", precision, "-o", str(self.work / "map.mrc"), *self.more, *more,
                   str(self.molecule(atoms))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
        self.spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done.stdout

    def seconds(self, method, case):
        """Of planning and computing; and what the plan estimated for the latter."""
        self.call(method, case, "-q", "--report", str(self.work / "report.json"))
        said = json.loads((self.work / "report.json").read_text())
        wall = said["seconds"]["plan"] + said["seconds"]["compute"]
        return self.spent if self.cpu_time else wall, said["estimated_seconds"]

    def choice(self, case, *more):
        for line in self.call("auto", case, "--dry-run", *more).splitlines():
            if line.startswith("method "):
                return line.split()[1]
        raise Failed(f"{case}: the plan names no method")

    def measure(self, case):
        atoms, edge, accuracy, precision = case
        pairs, row = atoms * edge ** 3, dict(zip(("atoms", "edge", "accuracy", "precision"), case))
        row["chosen"] = self.choice(case)
        times = {"fast": [self.seconds("fast", case)], "exact": []}
        expected = pairs * self.last_exact.get(precision, 0)
        if not expected > LONG * times["fast"][0][0]:
            times["exact"].append(self.seconds("exact", case))
        for _ in range(self.rounds - 1):
            for method, list_ in times.items():
                if list_:
                    list_.append(self.seconds(method, case))
        for method, list_ in times.items():
            row[method] = min(one[0] for one in list_) if list_ else expected
            row[f"{method}_estimated"] = min(list_)[1] if list_ else None
        if times["exact"] and row["exact"] >= SHORT:  # else, it is mostly what does not grow
            self.last_exact[precision] = row["exact"] / pairs
        best = min(row["fast"], row["exact"])
        row["slower"] = row[row["chosen"]] / best - 1
        row["counts"] = best >= SHORT
        return row


def make_record(study, quick):
    rows, failed, periodic = [], [], []
    sizes = itertools.product(ACCURACIES, QUICK_ATOMS if quick else ATOMS, QUICK_EDGES if quick else EDGES)
    for (accuracy, precision), atoms, edge in sizes:
        case = (atoms, edge, accuracy, precision)
        if study.late():
            failed.append(f"{case}: not measured within {study.limit} s")
            continue
        try:
            rows.append(study.measure(case))
            side = max((atoms / 0.1) ** (1 / 3), edge / 2)
            periodic.append(study.choice(case, "--cell", f"{side:.3f},{side:.3f},{side:.3f}"))
        except Failed as why:
            failed.append(str(why))
    counted = [row for row in rows if row["counts"]]
    return {"program": "auto_study", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "cpu_threads": len(os.sched_getaffinity(0)), "load": os.getloadavg(), "rounds": study.rounds, "quick": quick, "cpu_time": study.cpu_time,
            "rows": rows, "failed": failed, "noise": NOISE, "short": SHORT,
            "worst": max((row["slower"] for row in counted), default=0),
            "periodic_fast": all(method == "fast" for method in periodic) if periodic else None}


def problems_of(record):
    problems = list(record["failed"])
    problems += [f"{row['atoms']} atoms, {row['edge']}^3, {row['accuracy']:g}, {row['precision']}: {row['chosen']} is "
                 f"{100 * row['slower']:.0f} % slower" for row in record["rows"] if row["counts"] and row["slower"] > record["noise"]]
    if record["periodic_fast"] is False:
        problems.append("in periodic cells, auto took another method than fast")
    return problems


def show(record):
    rows = [[f"{row['atoms']:,}", f"{row['edge']}³", f"{row['accuracy']:g}, {row['precision']}", mri_study.number(1e3 * row["exact"])
             + ("" if row["exact_estimated"] is not None else " *"), mri_study.number(1e3 * row["fast"]), row["chosen"],
             f"{100 * row['slower']:.0f} %" + ("" if row["counts"] else " (short)")] for row in record["rows"]]
    lines = [mri_study.table(("atoms", "grid", "accuracy", "exact, ms", "fast, ms", "auto", "slower"), rows),
             "\\* extrapolated.", f"At most {100 * record['worst']:.0f} % slower than the better method, where that takes "
             f"{1e3 * record['short']:.0f} ms or more."]
    return "\n\n".join(lines + [f"- {problem}" for problem in problems_of(record)])


def summary(record):
    """For docs: a line a number of atoms and accuracy, the method that auto chose on each grid, and what it lost."""
    edges = sorted({row["edge"] for row in record["rows"]})
    lines = {}
    for row in record["rows"]:
        lost = f", {100 * row['slower']:.0f} %" if row["counts"] and row["slower"] > 0 else ""
        lines.setdefault((row["accuracy"], row["precision"], row["atoms"]), {})[row["edge"]] = row["chosen"] + lost
    rows = [[f"{accuracy:g}, {precision}", f"{atoms:,}", *(cells.get(edge, "-") for edge in edges)]
            for (accuracy, precision, atoms), cells in lines.items()]
    return mri_study.table(("accuracy", "atoms", *(f"{edge}³" for edge in edges)), rows) + (
        f"\n\nAt most {100 * record['worst']:.0f} % slower than the better method, where that takes {1e3 * record['short']:.0f} ms or "
        f"more ({sum(row['counts'] for row in record['rows'])} of {len(record['rows'])} cases).")


def main():
    parser, _, run = mri_study.commands_of(__doc__, "build", "BUILD")
    run.add_argument("--rounds", type=int, default=3)
    run.add_argument("--threads", type=int, default=0)
    run.add_argument("--limit", type=float, default=1200, help="seconds for all, about (1200)")
    run.add_argument("--cpu-time", action="store_true")
    run.add_argument("--no-bar", action="store_true", help="exit 0 whatever the times, to test this program")
    options = parser.parse_args()
    if options.command == "show":
        print(show(json.loads(options.out.read_text())))
        return 0
    with tempfile.TemporaryDirectory(prefix="auto_study") as work:
        record = make_record(Study(options.build.resolve(), work, options), options.quick)
    mri_study.write(record, options.out)
    print(show(record))
    return 1 if record["failed"] or (not options.no_bar and problems_of(record)) else 0


if __name__ == "__main__":
    sys.exit(main())
