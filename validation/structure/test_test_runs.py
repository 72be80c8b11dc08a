#!/usr/bin/env python3
"""The table at the end of `./run check` (summary.py) and the search for unlucky seeds (soak.py), on made-up tests.
usage: test_test_runs.py SOURCE
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
VALIDATION = SOURCE / "validation"

TESTS = """<?xml version="1.0"?><testsuite name="t">
<testcase name="sums" status="run" time="1"><system-out>all is well</system-out></testcase>
<testcase name="maps" status="run" time="1"><system-out>
    SKIP: no h5dump
apbs: SKIP (no multivalue of APBS)
</system-out></testcase>{more}
</testsuite>"""
SKIPPED = """<testcase name="{name}" status="notrun" time="0"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>{output}</system-out></testcase>"""
FAILED = '<testcase name="{name}" status="fail" time="0"><failure message="Failed"/><system-out>SKIP: no GPU</system-out></testcase>'


def run(*command, **environment):
    done = subprocess.run([sys.executable, *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=100, env={**os.environ, **environment}, check=False)
    return done.returncode, done.stdout


class Summary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def table(self, *options, more="", left_out=""):
        (self.folder / "tests.xml").write_text(TESTS.format(more=more))
        (self.folder / "left_out.txt").write_text(left_out)
        return run(VALIDATION / "summary.py", self.folder / "tests.xml", self.folder / "left_out.txt", *options)

    def test_counts_and_reasons(self):
        more = SKIPPED.format(name="bart", output="SKIP: no bart here") + SKIPPED.format(name="mute", output="")
        status, text = self.table(more=more, left_out="sums_gpu: no GPU\nmaps_gpu: no GPU\ntwo_gpu: one GPU here, two needed\n")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"(?m)^2 passed, 0 failed, 5 skipped$")
        self.assertRegex(text, r"(?m)^  2 skipped: no GPU\n  1 skipped: BART.*\n(.*\n)*  1 skipped: one GPU here, two needed$")
        self.assertRegex(text, r"(?m)^  1 skipped: BART is not installed; VOXFIELD_PEERS=1 ./run check installs it$")
        self.assertRegex(text, r"(?m)^  1 skipped: no reason was printed$")
        self.assertRegex(text, r"(?m)^  1 part of tests: h5dump is not installed")

    def test_a_failure_is_named_and_is_the_status(self):
        status, text = self.table(more=FAILED.format(name="physics"))
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^2 passed, 1 failed, 0 skipped$")
        self.assertRegex(text, r"(?m)^  FAILED  physics$")

    def test_a_test_that_was_not_found_has_failed(self):
        status, text = self.table(more='<testcase name="lost" status="notrun" time="0"><skipped message="Unable to find executable"/></testcase>')
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^  FAILED  lost$")

    def test_need_all(self):
        self.assertEqual(self.table("--need-all")[0], 1)  # parts of a test are missing
        (self.folder / "tests.xml").write_text('<testsuite><testcase name="sums" status="run"/></testsuite>')
        (self.folder / "left_out.txt").write_text("sums_gpu: no GPU\n")
        status, text = run(VALIDATION / "summary.py", self.folder / "tests.xml", self.folder / "left_out.txt", "--need-all")
        self.assertEqual(status, 0, text)


class Soak(unittest.TestCase):
    """A stand-in for ctest lists three tests: one that fails for some seeds, one that draws nothing, one that is skipped."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        scripts = {"draws": "import os; n = int(os.environ['VOXFIELD_SEED']); print('seed', n); assert n % 4",
                   "fixed": "print('always the same')", "absent": "import sys; print('SKIP: no GPU'); sys.exit(77)"}
        tests = [{"name": name, "command": [sys.executable, "-c", script], "properties": []} for name, script in scripts.items()]
        (self.folder / "tests.json").write_text(json.dumps({"tests": tests}))
        (self.folder / "ctest").write_text(f"#!/bin/sh\ncat '{self.folder}/tests.json'\n")
        (self.folder / "ctest").chmod(0o755)

    def soak(self, *arguments, **environment):
        return run(VALIDATION / "soak.py", self.folder, *arguments, PATH=f"{self.folder}:{os.environ['PATH']}", **environment)

    def test_finds_unlucky_seeds(self):
        status, text = self.soak("0.05", VOXFIELD_SEED="7")
        self.assertEqual(status, 1, text)
        seeds = [int(s) for s in re.findall(r"(?m)^FAILED draws, seed (\d+): status 1$", text)]
        self.assertTrue(seeds and all(s % 4 == 0 for s in seeds), text)
        self.assertIn(f"VOXFIELD_SEED={seeds[0]} {sys.executable} -c ", text)
        self.assertRegex(text, r"1 tests draw numbers, and had \d+ seeds.*; 1 were skipped; 0 had no turn")
        self.assertRegex(text, r"(?m)^  FAILED  draws: \d+ of \d+$")

    def test_what_draws_nothing_runs_once(self):
        status, text = self.soak("0.05", "fix*", "absent")
        self.assertEqual(status, 0, text)
        self.assertIn("2 runs of 2 tests: 0 failed", text)

    def test_unknown_name(self):
        status, text = self.soak("1", "nonsense")
        self.assertEqual(status, 1, text)
        self.assertIn("there is no test nonsense", text)


if __name__ == "__main__":
    unittest.main()
