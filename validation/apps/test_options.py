"""Command-line features of all programs: --help, --version, and errors of options.

usage: test_options.py PROGRAM [test_name ...]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import program
from program import NAME, PROGRAM, Skip

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "man" / f"{NAME}.1"
STATUS = {"cionize": "9 not all ions fitted", "mri_recon": "3 invalid input", "mri_phantom": "2 invalid options"}


def call(*arguments, **more):
    """Returns the status and the output, without the option --device, which mri_phantom does not have."""
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def refused(words, *arguments):
    status, out, err = call(*arguments)
    assert (status, out) == (2, "") and err.count("\n") == 1, (arguments, status, out, err)
    assert err.startswith(f"{NAME}: error: ") and words in err, (arguments, err)


def test_help(_):
    """The help is at most 100 columns wide and has all options of the manual page, with any other arguments."""
    for arguments in (["--help"], ["-h"], ["--he"], ["-q", "--help", "--nonsense"]):
        status, out, err = call(*arguments)
        assert (status, err) == (0, ""), (arguments, status, err)
        assert out == call("--help")[1], arguments
    lines = out.split("\n")
    assert max(map(len, lines)) <= 100, max(lines, key=len)
    assert lines[0].startswith(f"{NAME} - ") and lines[2].startswith(f"usage: {NAME} "), lines[:3]
    assert STATUS[NAME] in out
    assert "130 interrupted" in re.sub("\n", " ", out)
    manual = call("--help=man")[1]
    options = re.findall(r"^\.It .*?Fl -([a-z][a-z-]+)", manual, re.MULTILINE)
    assert len(options) > 30 and options == re.findall(r"^  (?:-[a-z], )?--([a-z-]+)", out, re.MULTILINE), options
    assert all(not line.startswith((" ", "'")) for line in manual.split("\n")), "mdoc lines begin with text or a request"


def test_ambiguous_names(_):
    """What may be meant are whole names of options, and three dots if there are more of them than the message has."""
    names = re.findall(r"^  (?:-[a-z], )?--([a-z-]+)", call("--help")[1], re.MULTILINE)
    for letter in sorted({name[0] for name in names}):
        meant = [name for name in names if name[0] == letter]
        if len(meant) == 1 or letter in names:
            continue
        err = call("--" + letter)[2]
        said = re.search(r"may be one of (.*); give more of the name", err)[1].split(", ")
        whole = [name[2:] for name in said if name != "..."]
        assert whole == meant[:len(whole)] and (len(whole) == len(meant)) == (said[-1] != "..."), (err, meant)


def test_version(_):
    status, out, err = call("--version")
    lines = out.splitlines()
    assert status == 0 and err == "" and re.fullmatch(rf"{NAME} \(Voxfield\) \d+\.\d+\.\d+", lines[0]), out
    if NAME == "mri_phantom":  # reads no files
        assert len(lines) == 1, out
        return
    about = re.fullmatch(r"HDF5 (\d+)\.(\d+)\.(\d+); files are read in (a process of its own|this process).*", lines[1])
    assert about, out
    old = tuple(map(int, about.groups()[:3])) < (2, 0, 0)
    assert len(lines) == 2 + old and (not old or lines[2].startswith("warning: this version of HDF5 has published holes")), out


def test_devices(_):
    """The CPU, and each device by CUDA and by OpenCL by the name that --device takes, or why there is none."""
    if NAME == "mri_phantom":
        return
    status, out, err = call("--devices")
    cpu, *others, meaning = out.splitlines()
    assert status == 0 and err == "" and meaning.startswith("auto, the default"), (out, err)
    about = re.fullmatch(r"cpu {6}.+; (\S+) of (\S+) GiB of memory free; (\d+) threads, (baseline|avx2|avx512)", cpu)
    assert about and 0 < float(about[1]) <= float(about[2]) and int(about[3]) >= 1, cpu
    for kind, traits, none in (("cuda", r"compute capability \d+\.\d.*", "no GPU by CUDA: (this binary was built without CUDA|.{10,})"),
                               ("opencl", r"OpenCL (GPU|CPU|accelerator), driver .+, \d+ compute units, (no )?double precision",
                                r"no device by OpenCL: (this binary was built without OpenCL|libOpenCL\.so\.1 .+)")):
        told = rf"{kind}:(\d+)\s+(.+; \S+ of \S+ GiB of memory free; {traits}|cannot be used: {kind}:.+)"
        found = [re.fullmatch(told, line) for line in others if line.startswith(f"{kind}:")]
        assert all(found) and [int(line[1]) for line in found] == list(range(len(found))), out
        assert sum(bool(re.fullmatch(none, line)) for line in others) == (not found), out
        others = [line for line in others if not line.startswith(f"{kind}:") and not re.fullmatch(none, line)]
    assert not others, out


def test_output_that_cannot_be_written(_):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 4 and done.stderr, done


def test_wrong_options(_):
    refused(f"unknown option --quite; did you mean --quiet? {NAME} --help lists the options", "--quite")
    refused("unknown option --threds; did you mean --threads?", "--threds=3")
    refused("unknown option -x; ", "-x")
    refused("unknown option --qqqqqqqqqqqq; ", "--qqqqqqqqqqqq")
    refused("-o needs a value; ", "-o")
    refused("-o needs a value, but --quiet follows", "-o", "--quiet")
    refused("--threads needs a value, but --output follows", "--threads", "--output")
    refused("--quiet takes no value", "--quiet=1")
    for text in ("0", "-1", "4097", "1.5", "nan", "", "x"):
        refused(f"--threads '{text}': expected a whole number from 1 to 4096", f"--threads={text}")


def interrupted(*arguments):
    """Returns the exit status of a run that is interrupted while it computes."""
    process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert " voxels, " in process.stdout.readline()  # printed before the signal is computed
    time.sleep(0.3)
    if process.poll() is not None:
        raise Skip("the scan was finished before the signal")
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert err.endswith("error: interrupted\n"), err
    return process.returncode


if NAME == "mri_phantom":  # other tests cover those of the others
    def test_exit_status(_):
        """mri_phantom returns each status that --help and the manual page list."""
        small, large = ("--matrix", "8", "--spokes", "4"), ("--matrix", "2048", "--coils", "1024", "--spokes", "1", "--samples", "2")
        slow = ("--matrix", "64", "--coils", "8", "--spokes", "20000", "--frames", "4", "--without", "truth")
        seen = [call(*options)[0] for options in ((*small, "-o", "a.h5"), (*small, "-o", "a.dat"), (*small, "-o", "missing/a.h5"),
                                                  (*large, "-o", "b.h5"))]
        seen.append(interrupted(*slow, "-o", "b.h5"))
        assert os.listdir(".") == ["a.h5"], os.listdir(".")
        said = " ".join(call("--help")[1].split("Exit status:")[1].split("The manual page")[0].split())
        assert seen == [int(one.split()[0]) for one in said.split(", ")], (seen, said)
        listed = PAGE.read_text(encoding="utf-8").split(".Sh EXIT STATUS\n")[1].split(".El\n")[0]
        assert seen == [int(one) for one in re.findall(r"^\.It (\d+)$", listed, re.MULTILINE)], (seen, listed)


def test_version_touches_little(_):
    """GPU code is most of a program, and is not read from disk to say a version: 16 MiB are those of the libraries."""
    if program.is_sanitized():
        raise Skip("a sanitizer has memory of its own")
    # The largest memory of a process counts what its parent had when it began. So the parent is a Python without modules: 10 MiB.
    small = ("import os, sys; child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); _, status, used = os.wait4(child, 0); "
             "sys.exit(f'{status} {used.ru_maxrss}')")
    told = subprocess.run([sys.executable, "-I", "-S", "-c", small, PROGRAM, "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    status, kilobytes = told.stderr.split()[-2:]
    assert status == "0" and 1 << 10 < int(kilobytes) < 32 << 10, told.stderr


def test_inputs(_):
    if NAME == "mri_phantom":
        refused("missing option --output FILE", "-q")
        refused("'scan.h5': unexpected argument; mri_phantom takes no input file", "-o", "a.h5", "scan.h5")
    else:
        refused(f"no input file; usage: {NAME} ", "-q")
        refused("no input file", "")
        status, out, err = call("a", "b")
        assert status == 3 and out.count("failed\n") == 2 and err.endswith("2 of 2 inputs failed; see above\n"), (status, out, err)
        assert call("a", "--", "--quiet")[2].count("error: --quiet: "), "an input, not an option"
        assert call("--", "--quiet")[2].count("--quiet"), "a file of this name"


program.main(globals())
