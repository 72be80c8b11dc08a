#!/usr/bin/env python3
"""Breaks the source on purpose, one line at a time, and counts what the tests notice.

usage: run_mutants.py [--folder FOLDER] [--jobs N] [--list] [PATTERN ...]

Every file *.txt of this folder lists mutants of a room of the tree:

    kernels/density/density.c          the file
    - the line as it is                one line, which occurs once; blanks at its ends do not count
    + the line broken                  empty: the line is left out
    tests: test_density mri_scans:test_density_weights
                                       tests of ctest, any of which may notice; after a colon, functions of their file
    equivalent: why no test can        instead of tests, where the results are the same

in paragraphs; lines with # are comments. The tree is copied to FOLDER (by default a temporary one; a FOLDER that is kept
saves the first build). Each mutant whose file or lines contain a PATTERN is applied to the copy, and its tests are built,
without GPU code, and run, one after the other, until one fails. A test that fails must pass on the unbroken tree.

Exit status 1 if a mutant is missed, or its tests cannot be built or run; 2 if the list is wrong.
"""
import argparse
import collections
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SLOWEST, MOST_WORK, MOST_MEMORY = 150, 30, 3 << 30  # seconds of a test, of its processor time, bytes; more counts as failed
ROOMS = ("libcore", "kernels", "apps/cionize", "apps/mri_recon", "apps/program")


class Mutant:
    def __init__(self, place, lines):
        self.place = place
        self.file, self.old, self.new, self.tests, self.equivalent = lines[0].strip(), None, None, [], None
        for line in lines[1:]:
            key, _, rest = line.partition(" ")
            if key == "-":
                self.old = rest.strip()
            elif key == "+":
                self.new = rest.strip()
            elif key == "tests:":
                self.tests += rest.split()
            elif key == "equivalent:":
                self.equivalent = rest.strip()
            else:
                wrong(f"{place}: what is '{line}'?")
        if not self.old or self.new is None or self.old == self.new or bool(self.tests) == bool(self.equivalent):
            wrong(f"{place}: needs a line -, another +, and either tests or a reason why it is equivalent")

    def room(self):
        return next((room for room in ROOMS if self.file.startswith(room + "/")), "elsewhere")

    def broken(self):
        """The text of the file with the line replaced."""
        lines = (SOURCE / self.file).read_text().split("\n")
        at = [n for n, line in enumerate(lines) if line.strip() == self.old]
        if len(at) != 1:
            wrong(f"{self.place}: {self.file} has {len(at)} lines '{self.old}', not one")
        indent = lines[at[0]][:len(lines[at[0]]) - len(lines[at[0]].lstrip())]
        lines[at[0]] = indent + self.new if self.new else ""
        return "\n".join(lines)


def wrong(text):
    print(text, file=sys.stderr)
    sys.exit(2)


def read_list():
    found = []
    for path in sorted(HERE.glob("*.txt")):
        lines = []
        for number, line in enumerate([*path.read_text().split("\n"), ""], 1):
            if line.strip() and not line.startswith("#"):
                lines.append(line)
            elif not line.strip() and lines:
                found.append(Mutant(f"{path.name}:{number - len(lines)}", lines))
                lines = []
    return found


def python():
    """An interpreter with the modules that tests want, if there is one: without them they skip."""
    for found in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([found, "-c", "import h5py, numpy"], capture_output=True, check=False).returncode == 0:
            return found
    return sys.executable


def put(path, text):
    """Writes a file if it differs, so that only what changed is built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


class Copy:
    """A copy of the tree, and its build."""

    def __init__(self, folder, jobs):
        self.tree, self.build, self.jobs = folder / "tree", folder / "build", jobs
        listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "-z"], check=True, capture_output=True)
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
        for name in names:
            if (SOURCE / name).is_file():
                put(self.tree / name, (SOURCE / name).read_bytes())
                shutil.copymode(SOURCE / name, self.tree / name)
        for path in [p for p in self.tree.rglob("*") if p.is_file()]:
            if not (SOURCE / path.relative_to(self.tree)).exists():
                path.unlink()
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        configured = (self.build / "CMakeCache.txt").exists()
        self.call(["cmake", "--preset", "release", "-B", self.build, *([] if configured else generator), "-DVOXFIELD_CUDA=OFF",
                   "-DVOXFIELD_BENCHMARKS=OFF", f"-DPython3_EXECUTABLE={python()}"], cwd=self.tree)
        self.call(["cmake", "--build", self.build, "--parallel", jobs])  # ctest knows only commands that exist
        shown = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], check=True, capture_output=True)
        self.known = {test["name"]: test for test in json.loads(shown.stdout)["tests"]}

    def call(self, command, **options):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", check=False, **options)
        if done.returncode != 0:
            wrong(f"{command}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")

    def command(self, name):
        """The command of a test and its environment."""
        test, _, functions = name.partition(":")
        if test not in self.known:
            wrong(f"there is no test {test}")
        words = self.known[test].get("command") or wrong(f"{test} has no command")
        if functions and not any(word.endswith(".py") for word in words):
            words = words[:2]  # DEVICE: device_fixture.h
        have = {p["name"]: p["value"] for p in self.known[test].get("properties", [])}
        environment = dict(item.split("=", 1) for item in have.get("ENVIRONMENT", []))
        return [*words, *filter(None, functions.split(","))], {**os.environ, "OMP_WAIT_POLICY": "passive", **environment}, have["WORKING_DIRECTORY"]

    def targets(self, names):
        """What to build for tests: the programs that their commands and environments name."""
        found = set()
        for name in names:
            words, environment, _ = self.command(name)
            for word in [*words, environment.get("VOXFIELD_PHANTOM", "")]:
                if word.startswith(str(self.build)) and not pathlib.Path(word).suffix:
                    found.add(pathlib.Path(word).name)
        return sorted(found)

    def make(self, targets):
        done = subprocess.run(["cmake", "--build", str(self.build), "--parallel", str(self.jobs), "--target", *targets],
                              capture_output=True, text=True, errors="replace", check=False)
        return done.returncode == 0

    def passes(self, name):
        """None if a test could not run here, and if it does not build."""
        if not self.make(self.targets([name])):
            return None
        words, environment, folder = self.command(name)

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_WORK, MOST_WORK))
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))

        process = subprocess.Popen(words, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit)
        try:
            status = process.wait(timeout=SLOWEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        return None if status == 77 else status == 0


def judge(copy, mutant, sound):
    """How a mutant ends, and the test that says so. `sound`: tests known to pass on the unbroken tree."""
    place = copy.tree / mutant.file
    whole = place.read_bytes()
    end, by = "MISSED", ""
    place.write_text(mutant.broken())
    try:
        for name in mutant.tests:
            passes = copy.passes(name)
            if passes is None:
                end, by = "not run", name
                break
            if not passes:
                end, by = "caught", name
                break
    finally:
        place.write_bytes(whole)
    if end == "caught" and by not in sound:
        if not copy.passes(by):
            wrong(f"{by} does not pass on the unbroken tree")
        sound.add(by)
    return end, by


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("pattern", nargs="*")
    asked = parser.parse_args()
    mutants = [m for m in read_list() if not asked.pattern or any(p in f"{m.place} {m.file} {m.old} {m.new}" for p in asked.pattern)]
    for mutant in mutants:
        mutant.broken()
    if asked.list:
        for mutant in mutants:
            print(f"{mutant.place:20} {mutant.file}: {mutant.equivalent or ' '.join(mutant.tests)}")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        copy = Copy((asked.folder or pathlib.Path(temporary)).resolve(), asked.jobs)
        sound, counts = set(), collections.defaultdict(collections.Counter)
        for mutant in mutants:
            began = time.monotonic()
            end, by = ("equivalent", mutant.equivalent) if mutant.equivalent else judge(copy, mutant, sound)
            counts[mutant.room()][end] += 1
            print(f"{end:10} {time.monotonic() - began:5.0f} s  {mutant.place:18} {mutant.file}  {by}", flush=True)
            if end in ("MISSED", "not run"):
                print(f"    - {mutant.old}\n    + {mutant.new}", flush=True)
    total = sum(counts.values(), collections.Counter())
    for room, count in [*counts.items(), ("together", total)]:
        broken = sum(count.values()) - count["equivalent"]
        print(f"{room:15} {broken} mutants, {count['caught']} caught ({100 * count['caught'] / max(broken, 1):.0f} %), "
              f"{count['MISSED']} missed, {count['not run']} not run; and {count['equivalent']} equivalent")
    return 1 if total["MISSED"] or total["not run"] else 0


sys.exit(main())
