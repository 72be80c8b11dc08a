#!/usr/bin/env python3
"""The script `run` in situations that cannot be tried for real: on a machine with a GPU (with stand-ins for the
GPU's tools), without one, and with missing packages. usage: test_run_script.py SOURCE
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
# The PATH has nothing else, so a real GPU or a real apt-get has no effect.
TOOLS = """basename bash cat chmod cut date dirname env find flock git grep head id ls mkdir mktemp mv nproc python3 rm rmdir sed
           sha256sum sort tail tee timeout uniq xargs""".split()

CASES = 36  # the number of runs of compute-sanitizer with each tool

JUNIT = """<?xml version="1.0"?><testsuite name="t">
<testcase name="test_sum_gpu" status="run" time="1.5"/>{more}
</testsuite>"""
SKIPPED = '<testcase name="test_other" status="notrun" time="0"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
FAILED = '<testcase name="test_other" status="fail" time="0"><failure message="Failed"/></testcase>'

STAND_INS = {
    "cc": "exit 0",
    "c++": "exit 0",
    "ninja": "exit 0",
    "pkg-config": "exit 0",
    "nvidia-smi": 'case "$*" in *driver_version*) echo "NVIDIA H200, 580.1, 143771 MiB, 700 W, 1980 MHz";; *) echo "NVIDIA H200";; esac',
    "nvcc": 'echo "Cuda compilation tools, release 13.0, V13.0.88"',
    # Configures nothing; "builds" a test and a benchmark.
    "cmake": """
case $1 in
--version) echo "cmake version 4.4.0" ;;
--preset) echo "-- Voxfield: stand-in" && echo "$*" >"$4/configured" ;;
--build)
    mkdir -p "$2/validation/unit" "$2/validation/bench" "$2/apps/mri_phantom"
    printf '#!/bin/bash\\nexit 0\\n' | tee "$2/validation/unit/test_coulomb_sum" >"$2/apps/mri_phantom/mri_phantom"
    printf '#!/bin/bash\\necho "{\\\\"command\\\\": \\\\"$0 $2\\\\"}" >"$2"; echo benchmark >>"${STAND_IN_CALLS:-/dev/null}"\\n' \\
        >"$2/validation/bench/bench_coulomb_sum"
    printf '#!/bin/bash\\nexit 1\\n' >"$2/validation/bench/tune_fourier_sum" # is no benchmark, so nobody runs it
    chmod +x "$2"/validation/*/* "$2"/apps/*/*
    ;;
esac""",
    "ctest": 'while [ "$1" != --output-junit ]; do shift; done; cp_xml=$2; cat "$STAND_IN_TESTS" >"$cp_xml"',
    "compute-sanitizer": """
case $2 in
racecheck) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
initcheck) echo "========= Error: Device not supported. Please refer to the manual"; exit 99 ;;
synccheck) exec sleep_forever ;;
*) echo "========= ERROR SUMMARY: ${STAND_IN_ERRORS:-0} errors"; [ -z "${STAND_IN_ERRORS-}" ] || exit 99 ;;
esac""",
    "sleep_forever": 'python3 -c "import time; time.sleep(60)"',
}


class RunScript(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="run script "))
        self.addCleanup(shutil.rmtree, self.folder)
        self.tree, self.bin = self.folder / "tree", self.folder / "bin"
        self.bin.mkdir()
        for name in ("run", "validation/bench/record_gpu.sh", "validation/bench/gpu_record.py", "validation/bench/cuda_sources.py"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.tree / name)
        (self.tree / "CMakeLists.txt").write_text("# a tree\n")
        wanting_a_gpu = ("validation/bench/time_mri_recon.py", "validation/tables/mri_study.py", "validation/tables/cionize_study.py")
        for name in wanting_a_gpu:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text("raise SystemExit(0)\n")
        (self.tree / "validation/tables/mri_study.py").write_text("import sys\nopen(sys.argv[3], 'w').write('{}')\n")
        for name in TOOLS:
            where = sys.executable if name == "python3" else shutil.which(name)
            if where:
                (self.bin / name).symlink_to(where)
        self.environment = {"PATH": str(self.bin), "HOME": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def stand_in(self, name, script):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)

    def run_script(self, *arguments, **environment):
        done = subprocess.run([self.tree / "run", *arguments], env=self.environment | environment, cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        return done.returncode, done.stdout

    # ---- commands ----

    def test_usage(self):
        for arguments in ((), ("help",), ("--help",)):
            status, text = self.run_script(*arguments)
            self.assertEqual(status, 0, text)
            for command in ("demo", "check", "soak", "bench", "gpu"):
                self.assertRegex(text, rf"(?m)^  {command} ")

    def test_wrong_words(self):
        for arguments in (("nonsense",), ("demo", "nonsense"), ("packages", "nonsense"), ("bench", "nonsense"), ("gpu", "tests", "nonsense")):
            status, text = self.run_script(*arguments)
            self.assertEqual(status, 2, text)
            self.assertIn("nonsense", text)

    # ---- packages ----

    def apt_get(self):
        self.calls = self.folder / "apt-get.calls"
        self.stand_in("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>"{self.calls}"')
        self.stand_in("apt-cache", "exit 0")

    def test_nothing_missing_calls_no_apt_get(self):
        for name, script in STAND_INS.items():
            self.stand_in(name, script)
        self.stand_in("python3", "exit 0")
        self.apt_get()
        status, text = self.run_script("packages")
        self.assertEqual(status, 0, text)
        self.assertFalse(self.calls.exists(), text)

    def test_gpu_code_can_be_left_out(self):
        """Earlier settings of a build folder have no effect."""
        for name, script in STAND_INS.items():
            self.stand_in(name, script)
        for value, expected in (("OFF", "OFF"), (None, "NATIVE"), ("ON", "ON")):
            self.environment.pop("VOXFIELD_CUDA", None)
            self.environment.update({"VOXFIELD_INSTALL": "no"} | ({"VOXFIELD_CUDA": value} if value else {}))
            text = self.run_script("demo")[1]  # the next step needs programs that do not exist
            configured = (self.tree / "build/release/configured").read_text() + " "
            self.assertIn(f"-DVOXFIELD_CUDA={expected} ", configured, text)
            self.assertNotIn("Python3", configured, "CMake warns of variables that a build without tests does not use")

    def test_check_compiles_gpu_code_for_what_is_there(self):
        for name, script in STAND_INS.items():
            self.stand_in(name, script)
        self.stand_in("ctest", "exit 0")
        self.environment["VOXFIELD_INSTALL"] = "no"
        status, text = self.run_script("check")
        self.assertEqual(status, 0, text)
        self.assertIn("-DVOXFIELD_CUDA=TEST ", (self.tree / "build/release/configured").read_text() + " ")

    def test_bench_of_threads(self):
        """Only that benchmark runs, with the list as given; its picture follows its report. A wrong list is told."""
        for name, script in STAND_INS.items():
            self.stand_in(name, script)
        calls = self.folder / "benchmarks.calls"
        self.environment |= {"VOXFIELD_INSTALL": "no", "STAND_IN_CALLS": str(calls)}
        (self.tree / "validation/bench/time_threads.py").write_text("import sys\nprint('threads:', *sys.argv[1:])\n")
        status, text = self.run_script("bench", "--threads", "1,2")
        self.assertEqual(status, 0, text)
        report, build = self.tree / "out/bench/threads.json", self.tree / "build/release"
        self.assertIn(f"threads: run {build} {report} --threads 1,2\n", text)
        self.assertIn(f"threads: plot {report} {report.with_suffix('.svg')}\n", text)
        self.assertFalse(calls.exists(), "other benchmarks ran")
        for words in (("--threads",), ("--threads", "1", "2")):
            status, text = self.run_script("bench", *words)
            self.assertEqual(status, 2, text)
            self.assertIn("one list of numbers", text)
        (self.tree / "validation/bench/time_threads.py").write_text("raise SystemExit('wrong bits')\n")
        status, text = self.run_script("bench", "--threads", "1,2")
        self.assertEqual(status, 1, text)
        self.assertNotIn("reports:", text)

    def test_missing_without_root_names_packages(self):
        self.apt_get()
        self.stand_in("id", "echo 1000")
        for sudo in (None, "exit 1"):
            if sudo:
                self.stand_in("sudo", sudo)
            status, text = self.run_script("packages")
            self.assertEqual(status, 1, text)
            for package in ("gcc", "cmake", "ninja-build", "zlib1g-dev", "libpng-dev", "libhdf5-dev", "libcmocka-dev"):
                self.assertRegex(text, rf"As root: apt-get install .*\b{package}\b")
            self.assertFalse(self.calls.exists(), text)

    def test_missing_as_root_installs_without_questions(self):
        self.apt_get()
        self.stand_in("id", "echo 0")
        status, text = self.run_script("packages")
        self.assertEqual(status, 1, text)  # because the stand-in installs nothing
        self.assertIn("still missing", text)
        calls = self.calls.read_text().splitlines()
        self.assertEqual([call.split()[-1] if "update" in call else "install" for call in calls], ["update", "install", "install"])
        for call in calls:
            self.assertRegex(call, r"^noninteractive .*-y ")
        self.assertRegex(calls[1], r"\blibhdf5-dev\b")

    # ---- gpu ----

    def prepare_gpu(self, more_tests="", **environment):
        """A test may have its own stand-ins: self.sanitizer, self.ctest, self.nproc."""
        own = {"compute-sanitizer": getattr(self, "sanitizer", None), "ctest": getattr(self, "ctest", None),
               "nproc": getattr(self, "nproc", None)}
        for name, script in {**STAND_INS, **{name: script for name, script in own.items() if script}}.items():
            self.stand_in(name, script)
        tests = self.folder / "tests.xml"
        tests.write_text(JUNIT.format(more=more_tests))
        self.environment |= {"STAND_IN_TESTS": str(tests), "SANITIZER_SECONDS": "1", **environment}
        for name, text in (("b/two.cu", "two\n"), ("a.cuh", "one\n"), ("B.cu", "three\n")):
            (self.tree / name).parent.mkdir(exist_ok=True)
            (self.tree / name).write_text(text)

    def gpu_part(self, part, more_tests="", **environment):
        """Runs one part, and returns what is kept of it."""
        self.prepare_gpu(more_tests, **environment)
        status, text = self.run_script("gpu", part)
        self.assertEqual(self.parts(), [f"gpu-nvidia-h200-{part}.json"], text)
        self.assertEqual(list((self.tree / "validation/results").glob("*.json")), [])
        return status, text, json.loads((self.tree / f"validation/results/parts/gpu-nvidia-h200-{part}.json").read_text())

    def gpu(self, more_tests="", **environment):
        self.prepare_gpu(more_tests, **environment)
        status, text = self.run_script("gpu")
        records = list((self.tree / "validation/results").glob("*.json"))
        self.assertEqual(len(records), 1, text)
        self.assertEqual(self.parts() == [], status == 0, "a complete record needs its parts only to be made again")
        self.assertRegex(records[0].name, r"^gpu-nvidia-h200-\d{4}-\d\d-\d\d\.json$")
        return status, text, json.loads(records[0].read_text())

    def test_gpu_without_gpu(self):
        status, text = self.run_script("gpu")
        self.assertEqual(status, 77, text)
        self.assertIn("SKIP: no GPU", text)
        self.stand_in("nvidia-smi", 'echo "NVIDIA-SMI has failed" && exit 9')
        status, text = self.run_script("gpu")
        self.assertEqual(status, 77, text)
        self.assertIn("NVIDIA-SMI has failed", text)
        self.assertFalse((self.tree / "validation/results").exists())

    def test_gpu_record(self):
        status, text, record = self.gpu(VOXFIELD_COMMIT="0123abc")
        self.assertEqual(status, 0, text)
        self.assertEqual((record["device"], record["driver"], record["cuda"]), ("NVIDIA H200", "580.1", "13.0.88"))
        self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(record["commit"], "0123abc")
        self.assertEqual(record["cuda_sources_listed_by"], "find")
        # The order of LC_ALL=C sort: B.cu, a.cuh, b/two.cu.
        self.assertEqual(record["cuda_sources_sha256"], hashlib.sha256(b"three\none\ntwo\n").hexdigest())
        self.assertEqual(record["cu_and_cuh_sha256"], record["cuda_sources_sha256"])  # no *.inc here
        self.assertEqual(record["cuda_sources"], {path: hashlib.sha256(text).hexdigest()
                                                  for path, text in (("B.cu", b"three\n"), ("a.cuh", b"one\n"), ("b/two.cu", b"two\n"))})
        tests = record["tests"]
        self.assertEqual((tests["passed"], tests["failed"], tests["skipped"]), (1, 0, 0))
        results = {tool: entry["result"] for tool, entry in record["compute_sanitizer"].items()}
        self.assertEqual(results, {"memcheck": "no errors", "racecheck": "no errors", "initcheck": "cannot run here",
                                   "synccheck": "not finished"})
        self.assertIn("bench_coulomb_sum", record["benchmarks"]["bench_coulomb_sum"]["command"])
        self.assertNotIn(str(self.folder), json.dumps(record))
        self.assertIn("native", (self.tree / "build/gpu/configured").read_text())

    def parts(self):
        return sorted(path.name for path in (self.tree / "validation/results").glob("parts/*"))

    def test_gpu_parts(self):
        """The machine goes away after each part. Parts of other sources and of another device are no parts of the record."""
        results = self.tree / "validation/results"
        self.prepare_gpu()
        self.stand_in("nvidia-smi", STAND_INS["nvidia-smi"].replace("H200", "L4"))
        self.assertEqual(self.run_script("gpu", "studies")[0], 0)
        self.stand_in("nvidia-smi", STAND_INS["nvidia-smi"])
        status, text = self.run_script("gpu", "tests", VOXFIELD_COMMIT="old")
        self.assertEqual(status, 0, text)
        self.assertEqual(self.parts(), ["gpu-nvidia-h200-tests.json", "gpu-nvidia-l4-studies.json"])
        for part in "sanitizer", "benchmarks", "studies":
            self.assertIn(f"the record lacks the part {part}: ./run gpu {part}\n", text)
        self.assertNotIn("lacks the part tests", text)
        self.assertEqual(list(results.glob("*.json")), [])
        (self.tree / "B.cu").write_text("changed\n")
        status, text = self.run_script("gpu", "sanitizer", "benchmarks", "studies")
        self.assertEqual(status, 0, text)
        self.assertIn("gpu-nvidia-h200-tests.json is of other CUDA sources, so the record lacks the part tests: ./run gpu tests\n", text)
        self.assertEqual(list(results.glob("*.json")), [])
        self.stand_in("nvidia-smi", STAND_INS["nvidia-smi"].replace("580.1", "590.2"))
        status, text = self.run_script("gpu", "tests", VOXFIELD_COMMIT="new")
        self.assertEqual(status, 0, text)
        self.assertEqual(self.parts(), ["gpu-nvidia-l4-studies.json"])
        path, = results.glob("*.json")
        record = json.loads(path.read_text())
        self.assertEqual((record["tests"]["passed"], record["compute_sanitizer"]["memcheck"]["result"]), (1, "no errors"))
        self.assertEqual(sorted(record["benchmarks"]), ["bench_coulomb_sum", "bench_mri_study"])
        self.assertEqual(record["cuda_sources_sha256"], hashlib.sha256(b"changed\none\ntwo\n").hexdigest())
        self.assertEqual((record["commit"], record["commit_note"]), ("new", "the parts are of several commits and drivers"))
        self.assertEqual({name: part["commit"] for name, part in record["parts"].items()},
                         {"tests": "new", "sanitizer": None, "benchmarks": None, "studies": None})

    def test_gpu_shares_of_tests(self):
        """Both shares of the same sources are the part; a share of other sources is not. The longest tests of the newest record begin."""
        results = self.tree / "validation/results"
        self.ctest = 'echo "$*" >>"$CALLS"; ' + STAND_INS["ctest"]
        self.prepare_gpu(CALLS=str(self.folder / "calls"))
        self.assertEqual(self.run_script("gpu", "sanitizer", "benchmarks", "studies")[0], 0)
        self.assertEqual(self.run_script("gpu", "tests-1of2")[0], 0)
        self.assertEqual(self.run_script("gpu", "tests-1of2")[0], 0)  # again
        self.assertEqual(list(results.glob("*.json")), [])
        self.assertIn("gpu-nvidia-h200-tests-1of2.json", self.parts())
        (self.folder / "tests.xml").write_text(JUNIT.format(more="").replace("test_sum_gpu", "test_scan_gpu").replace("1.5", "20"))
        status, text = self.run_script("gpu", "tests-2of2")
        self.assertEqual(status, 0, text)
        self.assertEqual(self.parts(), [])
        record, = results.glob("*.json")
        tests = json.loads(record.read_text())["tests"]
        self.assertEqual((tests["passed"], tests["failed"], tests["seconds"]), (2, 0, {"test_sum_gpu": 1.5, "test_scan_gpu": 20}))
        calls = (self.folder / "calls").read_text()
        self.assertIn("-I 1,,2 ", calls)
        self.assertIn("-I 2,,2 ", calls)
        (self.tree / "B.cu").write_text("changed\n")
        self.assertEqual(self.run_script("gpu", "tests-1of2")[0], 0)
        (self.tree / "B.cu").write_text("again\n")
        status, text = self.run_script("gpu", "tests-2of2")
        self.assertIn("the record lacks the part tests", text)
        (self.tree / "build/gpu/Testing/Temporary/CTestCostData.txt").unlink()
        self.assertEqual(self.run_script("gpu", "tests-1of2")[0], 0)
        costs = (self.tree / "build/gpu/Testing/Temporary/CTestCostData.txt").read_text()
        self.assertEqual(costs, "test_sum_gpu 1 1.5\ntest_scan_gpu 1 20.0\n---\n")

    def test_gpu_parts_of_an_older_record(self):
        """A machine that was lent for the tests and the benchmarks only: the record has the sources that the tests ran with, and says
        of which the others are."""
        results = self.tree / "validation/results"
        self.assertEqual(self.gpu()[0], 0)
        older, = results.glob("*.json")
        first = json.loads(older.read_text())
        (self.tree / "B.cu").write_text("changed\n")
        self.assertEqual(self.run_script("gpu", "tests", "benchmarks")[0], 0)
        fill = [sys.executable, self.tree / "validation/bench/gpu_record.py", "--fill-from", older, results]
        subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
        record = json.loads(older.read_text())
        old, new = first["cuda_sources_sha256"], record["cuda_sources_sha256"]
        self.assertNotEqual(old, new)
        self.assertEqual({name: part["cuda_sources_sha256"] for name, part in record["parts"].items()},
                         {"tests": new, "sanitizer": old, "benchmarks": new, "studies": old})
        self.assertEqual(sorted(record["benchmarks"]), ["bench_coulomb_sum", "bench_mri_study"])
        self.assertEqual(record["compute_sanitizer"], first["compute_sanitizer"])
        self.assertIn("several CUDA sources", record["commit_note"])
        done = subprocess.run(fill, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no tests on NVIDIA H200", done.stderr)

    def test_cuda_sources_include_others(self):
        """What a CUDA source includes is a CUDA source, too, but not what only C includes."""
        folder = self.tree / "deep"
        folder.mkdir()
        for name, text in (("a.cu", '#include "b.cuh"\n'), ("b.cuh", '#  include "deep/one.inc"\n'), ("one.inc", '#include "two.inc"\n'), ("two.inc", ""),
                           ("of_c.inc", ""), ("c.c", '#include "of_c.inc"\n')):
            (folder / name).write_text(text)
        done = subprocess.run([sys.executable, self.tree / "validation/bench/cuda_sources.py", "--list"], cwd="/", env=self.environment, check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), ["deep/a.cu", "deep/b.cuh", "deep/one.inc", "deep/two.inc"])
        self.assertEqual(done.stderr, "find\n")

    def test_gpu_part_is_done_again(self):
        """A part with a problem is replaced, and the others are still there."""
        self.assertEqual(self.gpu(FAILED)[0], 1)
        self.prepare_gpu()
        status, text = self.run_script("gpu", "tests")
        self.assertEqual(status, 0, text)
        record, = (self.tree / "validation/results").glob("*.json")
        tests = json.loads(record.read_text())["tests"]
        self.assertEqual((tests["passed"], tests["failed"]), (1, 0))

    def test_gpu_test_of_another_run(self):
        """A test that failed for want of a package takes its result from another run of the same sources, and the part says so."""
        def part(name, sources, failed):
            path = self.folder / name
            tests = {"passed": 2 - len(failed), "failed": len(failed), "skipped": 0, "seconds": {"a": 1, "b": 2 if failed else 3},
                     "not_passed": dict.fromkeys(failed, "failed")}
            path.write_text(json.dumps({"device": "NVIDIA H200", "driver": "1", "cuda": "13", "cuda_sources_sha256": sources, "tests": tests,
                                        "date": f"of {name}", "commit": f"c of {name}"}))
            return path
        def again(path, other):
            return subprocess.run([sys.executable, self.tree / "validation/bench/gpu_record.py", "--again", path, other],
                                  capture_output=True, text=True, check=False)
        path = part("one.json", "1", ["b"])
        done = again(path, part("elsewhere.json", "2", []))
        self.assertEqual((done.returncode, "another cuda_sources_sha256" in done.stderr), (1, True))
        self.assertEqual(again(path, part("two.json", "1", ["b"])).returncode, 1)  # it failed there, too
        self.assertNotIn("again", json.loads(path.read_text())["tests"])
        done = again(path, part("three.json", "1", []))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("b: failed in that run, passed in the run of of three.json at c of three.json", done.stdout)
        tests = json.loads(path.read_text())["tests"]
        self.assertEqual(tests, {"passed": 2, "failed": 0, "skipped": 0, "seconds": {"a": 1, "b": 3}, "not_passed": {},
                                 "again": {"b": {"was": "failed", "date": "of three.json", "commit": "c of three.json"}}})

    def test_gpu_record_names_the_commit(self):
        git = shutil.which("git")
        if not git:
            self.skipTest("git is not installed")
        for command in (["init", "-q"], ["add", "CMakeLists.txt"],
                        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "tree"]):
            subprocess.run([git, *command], cwd=self.tree, check=True, env=self.environment)
        (self.tree / "B.cu").write_text("three\n")
        subprocess.run([git, "add", "B.cu"], cwd=self.tree, check=True, env=self.environment)
        (self.tree / "new.cuh").write_text("four\n")
        (self.tree / "old.cuh").write_text("five\n")
        (self.tree / ".gitignore").write_text("/old.cuh\n/a.cuh\n/b/\n")
        status, text, record = self.gpu_part("tests")
        self.assertEqual(status, 0, text)
        self.assertRegex(record["commit"], "^[0-9a-f]{40}$")
        self.assertIn("not committed", record["commit_note"])
        self.assertEqual(record["cuda_sources_listed_by"], "git")
        # A build uses untracked sources as well; but not ignored ones.
        self.assertEqual(record["cuda_sources_sha256"], hashlib.sha256(b"three\nfour\n").hexdigest())

    def test_gpu_skip_is_a_failure(self):
        status, text, record = self.gpu_part("tests", SKIPPED)
        self.assertEqual(status, 1, text)
        self.assertIn("WRONG: test test_other: skipped", text)
        self.assertEqual((record["tests"]["passed"], record["tests"]["skipped"]), (1, 1))

    def test_gpu_failed_test(self):
        status, text, record = self.gpu_part("tests", FAILED)
        self.assertEqual(status, 1, text)
        self.assertEqual((record["tests"]["passed"], record["tests"]["failed"]), (1, 1))

    def test_gpu_sanitizers_run_in_a_pool_after_the_tests(self):
        calls = self.folder / "sanitizer.calls"
        self.sanitizer = """echo "begin $2 $*" >>"$STAND_IN_CALLS"
            read -rt 0.2 <> <(:)
            echo "========= ERROR SUMMARY: 0 errors"
            echo "end $2" >>"$STAND_IN_CALLS\""""
        # If a sanitizer ran in parallel with the tests, it would start before they end.
        self.ctest = """read -rt 0.5 <> <(:)
            echo tests >>"$STAND_IN_CALLS"
            """ + STAND_INS["ctest"]
        self.nproc = "echo 20"
        status, text, record = self.gpu(STAND_IN_CALLS=str(calls), SANITIZER_SECONDS="60")
        self.assertEqual(status, 0, text)
        lines = calls.read_text().splitlines()
        running, most = 0, 0
        for line in lines:
            running += line.startswith("begin ") - line.startswith("end ")
            most = max(most, running)
        self.assertTrue(4 < most <= 6, most)  # more than one tool at a time
        begun = [line for line in lines if line.startswith("begin ")]
        self.assertEqual(len(begun), len(set(begun)))
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            cases = sum(line.startswith(f"begin {tool} ") for line in begun)
            self.assertEqual(cases, CASES)
            self.assertIn(f"{tool}: status 0, {CASES} cases: ", text)
            self.assertEqual((self.tree / f"build/gpu/record/sanitizer/{tool}.log").read_text().count("SUMMARY"), CASES)
            for name in ("copy", "reduce", "scan", "histogram", "sort", "reduce_operators"):
                self.assertTrue(any(f"/test_{name} " in line for line in begun if f" {tool} " in line), name)
        self.assertEqual(lines.index("tests"), 0, lines)  # before the sanitizers
        self.assertEqual(lines.index("benchmark"), len(lines) - 1)  # nothing ran in parallel with the benchmark

    def test_gpu_sanitizer_cases_name_tests_that_exist(self):
        cases = re.findall(r'"\$unit/(test_\w+) cuda ([\w ]+)"', (SOURCE / "validation/bench/record_gpu.sh").read_text())
        self.assertGreater(len(cases), 3)
        for program, names in cases:
            path, = SOURCE.glob(f"validation/unit/**/{program}.c")
            for name in names.split():
                self.assertIn(f"cmocka_unit_test({name})", path.read_text())

    def test_gpu_cases_are_there(self):
        text = re.sub(r"(?m)#.*$", "", (SOURCE / "validation/gpu_cases.cmake").read_text())
        cases = re.findall(r"set\(gpu_cases_of_(\w+) ([\w\s]+)\)", text)
        self.assertGreater(len(cases), 10)
        for name, names in cases:
            program = name if name.startswith("test_") else f"test_{name}"
            path, = (path for path in SOURCE.glob(f"validation/**/{program}.*") if path.suffix in (".c", ".py"))
            for case in names.split():
                self.assertRegex(path.read_text(), rf"(?m)^def {case}\(|cmocka_unit_test\({case}\)", program)

    def test_gpu_sanitizer_error_counts_more_than_time(self):
        self.sanitizer = """case $* in
            *" naive "*) echo "========= ERROR SUMMARY: 2 errors"; exit 99 ;;
            *" bank "*) exec sleep_forever ;;
            *) echo "========= ERROR SUMMARY: 0 errors" ;;
            esac"""
        status, text, record = self.gpu_part("sanitizer")
        self.assertEqual(status, 1, text)
        self.assertIn("memcheck: status 99: ", text)
        self.assertIn(f"memcheck: status 99, {CASES} cases: ", text)
        self.assertEqual(record["compute_sanitizer"]["memcheck"]["result"], "errors")

    def test_gpu_sanitizer_error(self):
        status, text, record = self.gpu_part("sanitizer", STAND_IN_ERRORS="3")
        self.assertEqual(status, 1, text)
        self.assertIn("WRONG: compute-sanitizer memcheck: ERROR SUMMARY: 3 errors", text)
        self.assertEqual(record["compute_sanitizer"]["memcheck"]["result"], "errors")


if __name__ == "__main__":
    unittest.main(verbosity=2)
