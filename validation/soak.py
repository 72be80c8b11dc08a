#!/usr/bin/env python3
"""Runs tests again and again with new seeds, two at a time (more with more than four cores), and prints each failure with the seed that repeats it.

usage: soak.py BUILD_FOLDER [MINUTES] [TEST...]

MINUTES: 10 unless given; the tests at work by then are finished. TEST: names of tests, or patterns such as 'mri_*'; all
unless given. A test that draws random numbers prints `seed N`; one that prints no such line is the same each time and
runs once. GPU tests run one at a time. Exit status 1 if a test failed.

The seed of each run is the variable VOXFIELD_SEED (random_fixture.h, seeds.py). They are drawn from the system's random
numbers; with VOXFIELD_SEED set, from that, so that a soak can be repeated.
"""
import fnmatch
import json
import os
import random
import re
import shlex
import subprocess
import sys
import threading
import time

AT_ONCE = max(2, os.cpu_count() // 2)
DRAWS = re.compile(r"^\W*seed (\d+)\b", re.MULTILINE)


class Test:
    def __init__(self, entry):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name = entry["name"]
        self.command = entry.get("command", [])
        self.folder = properties.get("WORKING_DIRECTORY")
        self.limit = properties.get("TIMEOUT", 600)
        self.environment = dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", []))
        self.alone = properties.get("RUN_SERIAL") or properties.get("PROCESSORS", 1) > 1 or any(label in ("gpu", "gpus") for label in properties.get("LABELS", []))
        self.runs = self.failures = 0
        self.skips = self.draws = False
        self.seconds = 0.0

    def how_to_repeat(self, seed):
        words = [f"{name}={value}" for name, value in {**self.environment, "VOXFIELD_SEED": seed}.items()]
        return " ".join(map(shlex.quote, [*map(str, words), *self.command]))

    def run(self, seed):
        """The exit status and the output; a status of None stands for a test that ran out of time."""
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **self.environment, "VOXFIELD_SEED": str(seed)}
        began = time.monotonic()
        try:
            done = subprocess.run(self.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.limit, check=False)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = None, late.stdout or b""
        self.seconds += time.monotonic() - began
        return status, output.decode("utf-8", "replace")


def list_tests(folder, patterns):
    text = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout
    tests = [Test(entry) for entry in json.loads(text)["tests"] if entry.get("command")]
    for pattern in patterns:
        if not any(fnmatch.fnmatch(test.name, pattern) for test in tests):
            sys.exit(f"soak: there is no test {pattern}; `ctest --test-dir {folder} -N` lists them")
    return [test for test in tests if not patterns or any(fnmatch.fnmatch(test.name, p) for p in patterns)]


class Soak:
    """Workers take the test that has had the least time, of those that a new seed can change."""

    def __init__(self, tests, seconds):
        self.tests, self.end = tests, time.monotonic() + seconds
        self.seeds = random.Random(int(os.environ["VOXFIELD_SEED"], 0) if os.environ.get("VOXFIELD_SEED") else None)
        self.lock, self.busy, self.interrupted = threading.Condition(), {}, False

    def next(self):
        with self.lock:
            while time.monotonic() < self.end:
                ready = [t for t in self.tests if t not in self.busy and (t.runs == 0 or t.draws)]
                if not ready and not self.busy:
                    return None
                test = min(ready, key=lambda t: (t.runs > 0, t.seconds), default=None)
                if test and not (self.busy and (test.alone or any(t.alone for t in self.busy))):
                    self.busy[test] = True
                    return test, self.seeds.randrange(2 ** 31)
                self.lock.wait(1)
            return None

    def work(self):
        while taken := self.next():
            test, seed = taken
            status, output = test.run(seed)
            with self.lock:
                del self.busy[test]
                if self.interrupted:
                    continue
                test.runs += 1
                test.draws = bool(DRAWS.search(output)) and status != 77
                test.skips = status == 77
                if status not in (0, 77):
                    test.failures += 1
                    what = "out of time" if status is None else f"status {status}"
                    print(f"\nFAILED {test.name}, seed {seed}: {what}\n  again: {test.how_to_repeat(seed)}", flush=True)
                    print("\n".join("  | " + line for line in output.splitlines()[-25:]), flush=True)
                self.lock.notify_all()

    def run(self):
        workers = [threading.Thread(target=self.work) for _ in range(AT_ONCE)]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:  # the tests at work get the signal, too
            print("interrupted: waiting for the tests at work", flush=True)
            self.interrupted, self.end = True, 0
            for worker in workers:
                worker.join()


def main(folder, minutes="10", *patterns):
    if not re.fullmatch(r"[\d.]+", minutes):
        minutes, patterns = "10", (minutes, *patterns)
    tests = list_tests(folder, patterns)
    print(f"{len(tests)} tests, {float(minutes):g} minutes, {AT_ONCE} at a time", flush=True)
    soak = Soak(tests, 60 * float(minutes))
    soak.run()
    drew = [t for t in tests if t.draws]
    print(f"\n{sum(t.runs for t in tests)} runs of {len(tests)} tests: {sum(t.failures for t in tests)} failed")
    print(f"{len(drew)} tests draw numbers, and had {sum(t.runs for t in drew)} seeds, at least {min((t.runs for t in drew), default=0)} each; "
          f"{sum(t.skips for t in tests)} were skipped; {sum(t.runs == 0 for t in tests)} had no turn")
    for test in tests:
        if test.failures:
            print(f"  FAILED  {test.name}: {test.failures} of {test.runs}")
    return 1 if any(t.failures for t in tests) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
