#!/usr/bin/env python3
"""The comparison of forecasts with times: the grid's names and inputs, the ratios, what is printed, the table, and a case of each
program. Whether forecasts are near is not tested: other programs use this machine.

usage: test_forecast_grid.py BUILD
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import forecast  # noqa: E402
import forecast_cases as grid  # noqa: E402

CHOSEN = "^(radial, 48.2 --operator direct --method adjoint.*|300 atoms .*)$"


def test_grid():
    few, many = grid.cases(False), grid.cases(True)
    assert len(many) > len(few) > 60 and {name for name, *_ in few} < {name for name, *_ in many}
    made = [case[1:3] for case in many]
    assert len({*made}) == 1 + sum(a != b for a, b in zip(made, made[1:])), "an input is made twice"
    words = " ".join(options for *_, options in few)
    for prior in ("wavelet", "temporal", "llr", "nuclear", "tv", "tgv", "spectrum", "identity", "differences"):
        assert f"--prior {prior}" in words, prior
    for method in ("exact", "fast", "cutoff:12", "gridding", "adjoint"):
        assert f"--method {method}" in words, method


def row_of(seconds, made, expected, speed=None, case="a"):
    return {"case": case, "program": "mri_recon", "threads": 2, "seconds": seconds, "made": made, "forecast": expected, "speed": speed,
            "region": None, "counts": {"iterations": [20.4, 31]}, "device": "cpu: x, 2 threads"}


def test_ratios():
    rows = [row_of(1, {"before": 0.2, "solve": 0.8}, {"before": 0.2, "solve": 1.4}, 0.8), row_of(2, {"before": 2}, {"before": 2}, case="b|c")]
    forecast.compare(rows, False)
    assert math.isclose(rows[0]["ratio"], 1.6) and rows[1]["ratio"] == 1 and not forecast.within(rows[0]) and forecast.within(rows[1])
    assert rows[0]["parts"]["solve"] == [1.4, 0.8], rows[0]
    record = {"bound": 1.5, "device": "cpu: x, 2 threads", "processor_time": False, "load": [0, 0, 0], "rows": rows}
    text, good = forecast.show(record)
    assert good == 1 and "1.60  <--" in text and "1.00  2000/2000 ms" in text and "iterations 20/31" in text, text
    table = forecast.summary([record, {**record, "device": "cuda:0 (y)", "rows": rows[1:]}])
    assert "**1.00 s, 1.60**" in table and "b\\|c" in table and "1 of 2 | 1 of 1" in table, table
    # Processor time: forecasts are for the median speed, and what comes before is what it was.
    rows = [row_of(1, {"before": 0.5, "solve": 0.5}, {"before": 9, "solve": 2}, 4), row_of(1, {"before": 0, "solve": 1}, {"solve": 1}, 1, "b"),
            row_of(1, {"before": 0, "solve": 1}, {"solve": 1}, 1, "c")]
    forecast.compare(rows, True)
    assert math.isclose(rows[0]["forecast"], 0.5 + 2 / 4) and rows[1]["ratio"] == 1, rows


def test_runs(build):
    with tempfile.TemporaryDirectory() as name:
        report = pathlib.Path(name) / "r.json"
        done = subprocess.run([sys.executable, HERE / "forecast.py", build, "--threads", "1", "--runs", "1", "--cases", CHOSEN, "--report", report],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        record = json.loads(report.read_text(encoding="utf-8"))
    rows = record["rows"]
    assert {row["program"] for row in rows} == {"mri_recon", "cionize"} and all(re.search(CHOSEN, row["case"]) for row in rows), rows
    for row in rows:
        made = math.fsum(of for _, of in row["parts"].values())
        assert abs(made / row["seconds"] - 1) < 1e-9 and row["forecast"] > 0 and row["parts"]["before"][1] > 0, row
    good = sum(map(forecast.within, rows))
    assert done.returncode == (good < len(rows)) and f"{good} of {len(rows)} forecasts" in done.stdout, done.stdout


def main():
    test_grid()
    test_ratios()
    test_runs(pathlib.Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
