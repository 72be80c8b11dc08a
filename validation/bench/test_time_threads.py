#!/usr/bin/env python3
"""The benchmark of numbers of threads: what it takes for a list, which numbers it leaves out and why, its figures and its picture,
and that other bits, NaN and zeros stop it. With a build folder also the whole benchmark on small cases.

usage: test_time_threads.py [BUILD]
"""
import argparse
import array
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import figures  # noqa: E402
import plot_primitives as plot  # noqa: E402
import time_threads as bench  # noqa: E402


def stops(words, call, *arguments):
    try:
        call(*arguments)
    except (SystemExit, argparse.ArgumentTypeError) as error:
        assert words in str(error), f"{error}, expected '{words}'"
        return
    raise AssertionError(f"{arguments}: expected '{words}'")


def test_lists():
    for text, expected in (("1,2,4", [1, 2, 4]), ("8", [1, 8]), ("4,2,4,1", [1, 2, 4]), ("9999", [1, 9999])):
        assert bench.numbers(text) == expected, (text, bench.numbers(text))
    for text in ("", "0", "1,0", "1,,2", "1,", ",1", "1;2", "two", "-1", "+1", "1.5", " 1", "10000", "1,2\n", "\u0661"):
        stops("expected numbers of threads", bench.numbers, text)


def test_left_out():
    """One sentence, with the reason."""
    for asked, here, there, share, kept, said in (
            ([1, 2, 4, 8], 2, 2, math.inf, [1, 2], "4 and 8 threads are left out: this machine has 2 processors"),
            ([1, 2, 4, 8], 1, 1, math.inf, [1], "2, 4 and 8 threads are left out: this machine has 1 processor"),
            ([1, 2, 8], 4, 64, math.inf, [1, 2], "8 threads are left out: this process may use 4 of 64 processors"),
            ([1, 2, 4], 4, 64, 2.5, [1, 2], "4 threads are left out: a control group allows 2.5 processors"),
            ([1, 2], 4, 4, 0.5, [1], "2 threads are left out: a control group allows 0.5 processors"),
            ([1, 2, 4], 4, 4, 4.0, [1, 2, 4], None)):
        assert bench.choose(asked, *bench.allowed(here, there, share)) == (kept, said), bench.choose(asked, *bench.allowed(here, there, share))


def test_quota():
    """Of control groups of both versions, the tightest one on the way up counts; what does not exist limits nothing."""
    with tempfile.TemporaryDirectory() as name:
        root, own = pathlib.Path(name, "cgroup"), pathlib.Path(name, "own")
        for group, limit in (("a", "max 100000"), ("a/b", "150000 100000"), ("a/b/c", "400000 100000"), ("other", "1000 100000")):
            (root / group).mkdir(parents=True)
            (root / group / "cpu.max").write_text(limit + "\n")
        for line, expected in (("0::/a/b/c", 1.5), ("0::/a/b", 1.5), ("0::/a", math.inf), ("0::/", math.inf), ("0::/a/gone/deep", math.inf)):
            own.write_text(line + "\n")
            assert bench.quota(root, own) == expected, (line, bench.quota(root, own))
        (root / "cpu.max").write_text("300000 100000\n")  # as a container shows its own group
        own.write_text("0::/\n")
        assert bench.quota(root, own) == 3
        (root / "cpu.max").unlink()
        for group, limit in (("cpu,cpuacct/x", "50000"), ("memory/x", "1")):
            (root / group).mkdir(parents=True)
            (root / group / "cpu.cfs_quota_us").write_text(limit + "\n")
            (root / group / "cpu.cfs_period_us").write_text("100000\n")
        own.write_text("7:memory:/x\n4:cpu,cpuacct:/x\n")
        assert bench.quota(root, own) == 0.5
        (root / "cpu,cpuacct/x/cpu.cfs_quota_us").write_text("-1\n")
        assert bench.quota(root, own) == math.inf
        assert bench.quota(root, pathlib.Path(name, "none")) == math.inf


def made_up(threads):
    rows = [{"case": f"case {i}", "part": "solver", "seconds": {str(n): 8 / n ** 0.5 for n in threads},
             "efficiency": {str(n): n ** -0.5 for n in threads}} for i in range(5)]
    return {"device": "A <CPU>", "processors": 16, "threads": threads, "rows": rows}


def test_figures():
    """The efficiency is that of rounds, in pairs: here 1 and 0.5 and 0.75, whose median is not that of the medians' quotient."""
    times = {1: iter([4.0, 2.0, 6.0]), 2: iter([2.0, 2.0, 4.0])}
    bench.one_run = lambda build, case, n, folder: {"seconds": {"solve": next(times[n])}, "whole": 1.0, "device": "cpu: X"}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        rows, device = bench.measure(None, ("a case", None, None, None, {}, {"solver": "solve"}), [1, 2], 3, None)
    assert "the same bits with 1 and 2 threads" in said.getvalue()
    assert (rows[0]["seconds"], rows[0]["efficiency"], device) == ({"1": 4.0, "2": 2.0}, {"1": 1.0, "2": 0.75}, "cpu: X"), rows[0]
    assert [row["part"] for row in rows] == ["solver", "whole program"]


def test_table_and_picture():
    record = made_up([1, 4, 16])
    assert "| case 0 | solver | 8.00 | 4.00 (0.50) | 2.00 (0.25) |" in figures.threads_block({"threads": [record, record]}).split("threads.svg)")[1]
    assert "No record yet" in figures.threads_block({})
    svg = xml.etree.ElementTree.fromstring(bench.draw(record, plot.Svg()).encode())
    texts = [node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "Threads on A <CPU>" in texts and "case 4: solver" in texts and {"1", "4", "16"} <= {*texts}, texts


def test_verify():
    case = ("a case", None, None, None, {"image.cfl": 4}, None)

    def runs(values):
        expected = {}
        with tempfile.TemporaryDirectory() as name:
            for threads, numbers in values.items():
                pathlib.Path(name, "image.cfl").write_bytes(b"head" + array.array("f", numbers).tobytes())
                bench.verify(case, threads, pathlib.Path(name), expected)

    for values, words in (({1: [1, 2], 2: [1, 2.5]}, "other bits with 2 threads than in the first run, with 1"), ({1: [1, 2], 2: [1]}, "other bits"),
                          ({1: [1, math.nan]}, "not finite"), ({1: [1, math.inf]}, "not finite"), ({1: [0, 0]}, "zeros"), ({1: []}, "zeros")):
        stops(words, runs, values)
    runs({1: [1, 2], 2: [1, 2]})


def test_small_cases(build):
    with tempfile.TemporaryDirectory() as name:
        report, script = pathlib.Path(name, "threads.json"), HERE / "time_threads.py"
        done = subprocess.run([sys.executable, script, "run", build, report, "--quick", "--rounds", "1", "--threads", "2,9999"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "9999 threads are left out: " in done.stdout and done.stdout.count("the same bits") == 5, done.stdout
        record = json.loads(report.read_text())
        assert len(record["rows"]) == 13 and all(seconds > 0 for row in record["rows"] for seconds in row["seconds"].values()), record
        assert bench.show(record) in done.stdout
        done = subprocess.run([sys.executable, script, "run", build, report, "--quick", "--rounds", "1", "--threads", "1", "--cases", "^fast",
                               "--busy", "1"], capture_output=True, text=True, check=False)
        assert "\n1 other process computes meanwhile" in done.stdout and len(json.loads(report.read_text())["rows"]) == 4, done.stdout + done.stderr
        done = subprocess.run([sys.executable, script, "plot", report, pathlib.Path(name, "threads.svg")], check=True, capture_output=True)
        xml.etree.ElementTree.parse(pathlib.Path(name, "threads.svg"))
        done = subprocess.run([sys.executable, script, "run", build, report, "--threads", "1,x"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "'1,x': expected numbers of threads" in done.stderr, done.stderr


if __name__ == "__main__":
    if len(sys.argv) > 1:
        test_small_cases(sys.argv[1])
    for test_name, test in list(globals().items()):
        if test_name.startswith("test_") and test is not test_small_cases:
            test()
            print("ok", test_name)
