#!/usr/bin/env python3
"""The notebooks of docs/notebooks run, and their own checks hold; as notebooks of Jupyter, too, if nbclient is there and VOXFIELD_PEERS
is set, which takes three times as long.

usage: test_python_notebooks.py [test_name ...]      with the variable VOXFIELD_DATA
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from python_cases import Skip, main, module

MAKE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "make_notebooks.py"


def make(*arguments, **variables):
    done = subprocess.run([sys.executable, "-W", "ignore", MAKE, *map(str, arguments)], env={**os.environ, **variables}, capture_output=True,
                          text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_cells():
    module("matplotlib")
    with tempfile.TemporaryDirectory() as folder:
        make("run", FOLDER=folder)
        pictures = sorted(path.name for path in pathlib.Path(folder).glob("*.png") if path.stat().st_size > 20000)
    assert pictures == ["protein.png", "radial_scan.png", "undersampled_scan.png"], pictures


def test_jupyter():
    if os.environ.get("VOXFIELD_PEERS") != "1":
        raise Skip("notebooks by Jupyter: only with VOXFIELD_PEERS=1")
    for name in ("nbclient", "ipykernel", "matplotlib"):
        module(name)
    with tempfile.TemporaryDirectory() as folder:
        make("notebooks", folder)
        for path in pathlib.Path(folder).glob("*.ipynb"):
            assert '"image/png"' in path.read_text(encoding="utf-8"), path


if __name__ == "__main__":
    main(globals())
