#!/usr/bin/env python3
"""The NUFFT against FINUFFT (Python's finufft: PyPI's wheel, or built for the machine) at equal measured error.

    compare_finufft.py TIME_NUFFT [--device cpu|cuda] [--quick] [--cases REGEX] [--threads N,...] [--coils N,...]
                       [--precisions P,...] [--tolerances T,...] [--clock wall|processor] [--rounds N] [--json FILE]

On a GPU the other is cuFINUFFT (Python's cufinufft, with cupy), whose methods of spreading are tried as well. Positions
come from host memory, inputs and outputs are in the GPU's.

For a build for this machine: pip install --no-binary finufft finufft. The wheel's instructions stop at AVX2: where ours
has AVX-512, a native build is 1.4 to 1.8 times as fast as the wheel in the adjoint, 1.6 to 2 in two dimensions forward.

For each case, tolerance and direction FINUFFT gets the options that are fastest: both upsampling factors, and the
largest of some tolerances whose measured error is at most 1.1 times ours (where it cannot get there: the tolerance).
Without such options there is no ratio. Errors are relative, in l2, at some outputs, against exact sums in double
precision. Then runs of both alternate, each with a new plan; each runs twice and the second one counts, because a GPU has
to switch between the two processes. The last column has first runs, planning and execution: on a virtual machine ours got
memory far more slowly then, while FINUFFT did not (docs/nufft.md). Ratios are medians of FINUFFT's time over ours: above
1, Voxfield is faster. --clock processor takes the processor time of all threads instead of wall-clock time: for machines
that others use at the same time. Set OMP_WAIT_POLICY=passive then, or waiting counts.
Exit status 1 if an error is above the tolerance; 77 without finufft or numpy.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
except ImportError:
    print("SKIP: numpy is missing")
    sys.exit(77)

GOLDEN = 2.399963229728653
TOLERANCES = {"single": (1e-2, 1e-4, 1e-6), "double": (1e-6, 1e-9, 1e-12)}
PROBES = 24  # outputs that are compared with exact sums


# ---- trajectories: cycles per field of view ----


def radial(n, spokes, a_spoke):
    angle = np.pi * np.arange(spokes) / spokes
    radius = n * (np.arange(a_spoke) / a_spoke - 0.5)
    return np.stack([np.outer(np.cos(angle), radius).ravel(), np.outer(np.sin(angle), radius).ravel()], 1)


def spiral(n, arms, a_arm):
    t = np.arange(a_arm) / a_arm
    turn = 2 * np.pi * (np.arange(arms)[:, None] / arms + 16 * t)
    return np.stack([(n / 2 * t * np.cos(turn)).ravel(), (n / 2 * t * np.sin(turn)).ravel()], 1)


def koosh_ball(n, spokes, a_spoke):
    i = np.arange(spokes)
    z = 1 - (2 * i + 1) / spokes
    direction = np.stack([np.sqrt(1 - z * z) * np.cos(GOLDEN * i), np.sqrt(1 - z * z) * np.sin(GOLDEN * i), z])
    radius = n * (np.arange(a_spoke) / a_spoke - 0.5)
    return np.stack([np.outer(d, radius).ravel() for d in direction], 1)


def anywhere(n, dims, samples):
    return n * (np.random.default_rng(7).random((samples, dims)) - 0.5)


CASES = {  # name: matrix, positions
    "256^2, 1e5 radial": ((256, 256), lambda: radial(256, 390, 256)),
    "256^2, 1e6 radial": ((256, 256), lambda: radial(256, 1950, 512)),
    "256^2, 1e6 spiral": ((256, 256), lambda: spiral(256, 100, 10000)),
    "256^2, 1e6 random": ((256, 256), lambda: anywhere(256, 2, 1000000)),
    "128^3, 3e5 koosh ball": ((128,) * 3, lambda: koosh_ball(128, 2344, 128)),
    "128^3, 3e6 koosh ball": ((128,) * 3, lambda: koosh_ball(128, 11719, 256)),
    "128^3, 3e6 random": ((128,) * 3, lambda: anywhere(128, 3, 3000000)),
    "256^3, 1e7 koosh ball": ((256,) * 3, lambda: koosh_ball(256, 39063, 256)),
}
QUICK = {
    "64^2, 2e4 radial": ((64, 64), lambda: radial(64, 200, 100)),
    "32^3, 4e4 koosh ball": ((32,) * 3, lambda: koosh_ball(32, 400, 100)),
}


# ---- exact sums ----


def waves(positions, indices, n, sign):
    """exp(sign i 2 pi k_a (index - n/2) / n), for each axis."""
    return [np.exp(sign * 2j * np.pi * np.multiply.outer(i - m // 2, p) / m) for i, p, m in zip(indices, positions, n)]


def exact_adjoint(k, c, matrix, voxels):
    """c at some voxels, [coils][voxels]."""
    out = np.zeros((len(c), len(voxels)), complex)
    for v, at in enumerate(voxels):
        phase = sum((i - m // 2) / m * k[:, a] for a, (i, m) in enumerate(zip(at, matrix)))
        out[:, v] = c @ np.exp(2j * np.pi * phase)
    return out


def exact_forward(k, x, matrix, samples):
    """x [coils][(z)][y][x] at some samples."""
    out = np.zeros((len(x), len(samples)), complex)
    for s, at in enumerate(samples):
        part = x
        for a, m in enumerate(matrix):  # the last axis of x is the first of k
            part = part @ np.exp(-2j * np.pi * (np.arange(m) - m // 2) / m * k[at, a])
        out[:, s] = part
    return out


# ---- the two programs ----


class Problem:
    """A case with random data, and exact results at some outputs."""

    def __init__(self, matrix, k, coils):
        random = np.random.default_rng(1)
        self.matrix, self.coils, self.k = matrix, coils, k.astype(np.float32)
        grid = (coils, *matrix[::-1])
        self.c = random.standard_normal((coils, len(k))) + 1j * random.standard_normal((coils, len(k)))
        self.x = random.standard_normal(grid) + 1j * random.standard_normal(grid)
        exact = self.k.astype(float)
        self.voxels = [tuple(int(random.integers(m)) for m in matrix) for _ in range(PROBES)]
        self.samples = random.integers(len(k), size=PROBES)
        self.truth = {"adjoint": exact_adjoint(exact, self.c, matrix, self.voxels),
                      "forward": exact_forward(exact, self.x, matrix, self.samples)}
        self.points = [np.ascontiguousarray(2 * np.pi / m * exact[:, a]) for a, m in enumerate(matrix)]

    def error(self, direction, result):
        truth = self.truth[direction]
        if direction == "adjoint":
            got = np.stack([result[(slice(None), *at[::-1])] for at in self.voxels], 1)
        else:
            got = result[:, self.samples]
        return float(np.linalg.norm(got - truth) / np.linalg.norm(truth))


class Ours:
    def __init__(self, options, problem, tolerance, precision, threads, folder):
        program, device = options.program, options.device
        self.problem, self.folder, self.processor = problem, pathlib.Path(folder), options.clock == "processor"
        k = np.zeros((len(problem.k), 3), np.float32)
        k[:, :problem.k.shape[1]] = problem.k
        for name, array in (("k", k), ("c", problem.c), ("x", problem.x)):
            array.tofile(self.folder / f"{name}.raw")
        matrix = ",".join(str(n) for n in (*problem.matrix, 1)[:3])
        self.process = subprocess.Popen([program, device, str(threads), str(len(k)), matrix, str(tolerance), precision,
                                         str(problem.coils), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("FAIL: time_nufft ended")
        return answer.split()

    def run(self, direction):
        """Milliseconds of planning and of executing."""
        answer = self.ask(direction)
        self.plan = {"width": int(answer[2]), "grid": int(answer[3]), "bytes": int(answer[4])}
        first = 5 if self.processor else 0
        return float(answer[first]), float(answer[first + 1])

    def error(self, direction):
        self.run(direction)
        self.ask("save")
        shape = (self.problem.coils, *(self.problem.matrix[::-1] if direction == "adjoint" else (len(self.problem.k),)))
        return self.problem.error(direction, np.fromfile(self.folder / "ours.raw", complex).reshape(shape))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Finufft:
    # 0: FINUFFT chooses, since 2.5 among all factors
    SETTINGS = {direction: [{"upsampfac": factor} for factor in (2.0, 1.25, 0)] for direction in ("adjoint", "forward")}

    @staticmethod
    def load():
        """Returns the version; fails with ImportError."""
        global finufft
        import finufft
        return finufft.__version__

    def __init__(self, problem, precision, threads, clock="wall"):
        self.problem, self.threads = problem, threads
        self.clock = time.process_time if clock == "processor" else time.perf_counter
        real, self.kind = (np.float32, np.complex64) if precision == "single" else (np.float64, np.complex128)
        self.points = [p.astype(real) for p in problem.points]
        self.input = {"adjoint": problem.c.astype(self.kind), "forward": problem.x.astype(self.kind)}

    def plan(self, kind, *arguments, **options):
        plan = finufft.Plan(kind, *arguments, nthreads=self.threads, showwarn=0, **options)
        plan.setpts(*self.points[::-1])
        return plan

    def wait(self):
        pass

    def found(self):
        return self.result if self.problem.coils > 1 else self.result[None]

    def run(self, direction, eps, setting):
        """Milliseconds of planning and of executing. FINUFFT's first axis of modes is the last of the positions."""
        vector = self.input[direction]
        self.wait()
        began = self.clock()
        plan = self.plan(1 if direction == "adjoint" else 2, self.problem.matrix[::-1], n_trans=self.problem.coils, eps=eps,
                         isign=1 if direction == "adjoint" else -1, dtype=self.kind.__name__, **setting)
        self.wait()
        made = self.clock()
        self.result = plan.execute(vector if self.problem.coils > 1 else vector[0])
        self.wait()
        ended = self.clock()
        return 1e3 * (made - began), 1e3 * (ended - made)

    def best(self, direction, tolerance, error):
        """The fastest of its settings that are as accurate."""
        return self.fastest(direction, tolerance, 1.1 * error) or self.fastest(direction, tolerance, tolerance)

    def fastest(self, direction, tolerance, error):
        found = None
        for setting in self.SETTINGS[direction]:
            for factor in (10, 3, 1, 0.6, 0.3, 0.2, 0.1, 0.03):
                try:
                    self.run(direction, tolerance * factor, setting)
                except RuntimeError:  # a tolerance that it cannot do with this setting
                    continue
                own = self.problem.error(direction, self.found())
                if own <= error:
                    seconds = min(sum(self.run(direction, tolerance * factor, setting)) for _ in range(2))
                    if not found or seconds < found[0]:
                        found = seconds, tolerance * factor, setting, own
                    break
        return found


class Cufinufft(Finufft):
    """Its methods: 1 is driven by points, 2 and 3 have parts of the grid in shared memory; 3 only spreads."""
    SETTINGS = {direction: [{"upsampfac": factor, "gpu_method": method} for factor, method in itertools.product((2.0, 1.25), methods)]
                for direction, methods in (("adjoint", (1, 2, 3)), ("forward", (1, 2)))}

    @staticmethod
    def load():
        global cufinufft, cupy
        import cufinufft
        import cupy
        return cufinufft.__version__

    def __init__(self, problem, precision, threads, clock="wall"):
        super().__init__(problem, precision, threads, clock)
        self.input = {direction: cupy.asarray(vector) for direction, vector in self.input.items()}

    def plan(self, kind, *arguments, **options):
        plan = cufinufft.Plan(kind, *arguments, **options)
        plan.setpts(*(cupy.asarray(p) for p in self.points[::-1]))
        return plan

    def wait(self):
        cupy.cuda.Device().synchronize()

    def found(self):
        result = cupy.asnumpy(self.result)
        return result if self.problem.coils > 1 else result[None]


def compare(ours, theirs, direction, tolerance, rounds):
    error = ours.error(direction)
    best = theirs.best(direction, tolerance, error)
    row = {"direction": direction, "tolerance": tolerance, "error": error, "wrong": not error <= 1.2 * tolerance}
    if not best:
        return {**row, "finufft": None}
    _, eps, setting, own = best

    def twice(run):
        return [run() for _ in range(2)]

    runs = [(twice(lambda: ours.run(direction)), twice(lambda: theirs.run(direction, eps, setting))) for _ in range(rounds)]
    first, pairs = ([(own[n], other[n]) for own, other in runs] for n in range(2))
    mean = [[statistics.median(pair[who][part] for pair in pairs) for part in (0, 1)] for who in (0, 1)]

    def ratio(ms, pairs):
        return statistics.median(ms(pair[1]) / ms(pair[0]) for pair in pairs)
    return {**row, **ours.plan, "finufft": {"eps": eps, **setting, "error": own},
            "milliseconds": {"ours": mean[0], "finufft": mean[1]},
            "ratio": {"planning": ratio(lambda p: p[0], pairs), "executing": ratio(lambda p: p[1], pairs),
                      "both": ratio(sum, pairs), "first": ratio(sum, first)}}


def save(record, path):
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(record, indent=2) + "\n")
    part.replace(path)


def show(name, threads, coils, precision, row):
    if not row["finufft"]:
        return f"| {name} | {threads} | {coils} | {row['direction']} | {precision} {row['tolerance']:g} | {row['error']:.1e} | FINUFFT does not get there |"
    ratio, ms = row["ratio"], row["milliseconds"]
    return (f"| {name} | {threads} | {coils} | {row['direction']} | {precision} {row['tolerance']:g} | {row['error']:.1e} | "
            f"{row['finufft']['error']:.1e}, {row['finufft']['upsampfac']:g} | {ms['ours'][0]:.1f} + {ms['ours'][1]:.1f} | "
            f"{ms['finufft'][0]:.1f} + {ms['finufft'][1]:.1f} | {ratio['planning']:.2f} | {ratio['executing']:.2f} | {ratio['both']:.2f} | {ratio['first']:.2f} |"
            + ("  WRONG" if row["wrong"] else ""))


def tolerances_of(precision, options):
    return [float(t) for t in options.tolerances.split(",")] if options.tolerances else TOLERANCES[precision]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TIME_NUFFT")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--quick", action="store_true", help="two small cases, to test this program")
    parser.add_argument("--cases", default="", help="only cases whose names match")
    parser.add_argument("--threads", help="numbers of threads (1,2; with cuda: all)")
    parser.add_argument("--coils", default="1", help="numbers of vectors in a batch")
    parser.add_argument("--precisions", default="single,double")
    parser.add_argument("--tolerances", help="instead of three for each precision")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="record")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of tolerances that FINUFFT cannot keep: the measured errors tell
    peer = Cufinufft if options.device == "cuda" else Finufft
    threads_of = options.threads or (str(os.cpu_count()) if options.device == "cuda" else "1,2")
    try:
        version = peer.load()
    except ImportError as missing:
        print(f"SKIP: no {peer.__name__} to compare with (pip install {peer.__name__.lower()}): {missing.name} is missing")
        return 77
    record = {"benchmark": "nufft against finufft", "device": options.device, "finufft": version, "clock": options.clock, "rows": []}
    print(f"{peer.__name__} {version}; milliseconds ({options.clock}) of planning + executing; ratios above 1: Voxfield is faster")
    print("| case | threads | coils | direction | tolerance | error | its error, upsampling | ours | FINUFFT | planning | executing | both | first runs |")
    print("|---|---:|---:|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for name, (matrix, positions) in (QUICK if options.quick else CASES).items():
        if not re.search(options.cases, name):
            continue
        for coils in map(int, options.coils.split(",")):
            problem = Problem(matrix, positions(), coils)
            for precision in options.precisions.split(","):
                for tolerance in tolerances_of(precision, options):
                    for threads in map(int, threads_of.split(",")):
                        with tempfile.TemporaryDirectory() as folder:
                            ours = Ours(options, problem, tolerance, precision, threads, folder)
                            theirs = peer(problem, precision, threads, options.clock)
                            for direction in ("adjoint", "forward"):
                                row = compare(ours, theirs, direction, tolerance, options.rounds)
                                record["rows"].append({"case": name, "threads": threads, "coils": coils, "precision": precision, **row})
                                print(show(name, threads, coils, precision, row), flush=True)
                                if options.json:  # after each row, for it may take an hour
                                    save(record, options.json)
                            ours.close()
    ratios = [row["ratio"]["both"] for row in record["rows"] if row["finufft"]]
    if ratios:
        print(f"ratio of both: median {statistics.median(ratios):.2f}, least {min(ratios):.2f}, {len(ratios)} rows")
    return 1 if any(row["wrong"] for row in record["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
