#!/usr/bin/env python3
"""Starting a GPU must not delay runs that do not need it. The driver here takes long to report that it does
not work, and says when it is asked and when it answers: a program that waits for it ends after the answer.

usage: test_warm_up.py CIONIZE MRI_RECON FOLDER_OF_THE_DRIVER
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ASKED = "the slow driver is asked\n"


def run(*command):
    done = subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": sys.argv[3]}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert "the slow driver answers" not in done.stderr, f"{command} waits for the driver"
    return done


def test_reading_error(programs):
    pathlib.Path("no.pqr").write_text("REMARK   1 nothing\n" * 200000)
    pathlib.Path("no.h5").write_bytes(b"nothing" * 300000)
    for program, name in zip(programs, ("no.pqr", "no.h5")):
        for device in ("cuda", "auto"):
            done = run(program, "--device", device, name)
            assert done.returncode == 3 and f"{name}: " in done.stderr, (program, device, done)
            assert done.stderr.replace(ASKED, "").count("\n") == 1, done.stderr


def test_cpu_is_chosen(programs):
    """The file's size suggests a GPU, but its contents do not need one."""
    text = "REMARK   1 nothing\n" * 500000 + "ATOM 1 X UNK 1 0.0 0.0 0.0 1.0 1.0\n"
    pathlib.Path("long.pqr").write_text(text)
    done = run(programs[0], "-o", "long.mrc", "long.pqr")
    assert done.returncode == 0 and "device     cpu" in done.stdout and "done " in done.stdout, done
    assert done.stderr == ASKED, f"the driver was not asked, or something else was said: {done.stderr!r}"
    assert sorted(os.listdir()) == ["long.mrc", "long.pqr", "no.h5", "no.pqr"], os.listdir()


def test_small_files_do_not_ask(programs):
    pathlib.Path("short.pqr").write_text("ATOM 1 X UNK 1 0.0 0.0 0.0 1.0 1.0\n")
    for device in ("auto", "cpu"):
        done = run(programs[0], "--device", device, "short.pqr")
        assert done.returncode == 0 and done.stderr == "", done


def main():
    programs = [os.path.abspath(path) for path in sys.argv[1:3]]
    sys.argv[3] = os.path.abspath(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in (test_reading_error, test_cpu_is_chosen, test_small_files_do_not_ask):
            test(programs)
        os.chdir("/")
    print("ok")


main()
