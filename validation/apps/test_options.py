"""What all programs have in common on their command line: --help, --version, and how wrong options are refused.

usage: test_options.py PROGRAM [test_name ...]
"""
import re
import subprocess

import program
from program import NAME, PROGRAM

STATUS = {"cionize": "9 not all ions fitted", "mri_recon": "3 invalid input", "mri_phantom": "2 invalid options"}


def call(*arguments, **more):
    """The status and what was said, without the option --device, which mri_phantom does not have."""
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def refused(words, *arguments):
    status, out, err = call(*arguments)
    assert (status, out) == (2, "") and err.count("\n") == 1, (arguments, status, out, err)
    assert err.startswith(f"{NAME}: error: ") and words in err, (arguments, err)


def test_help(_):
    """At most 100 columns wide, with all options of the manual page, whatever else is on the command line."""
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


def test_version(_):
    status, out, err = call("--version")
    assert status == 0 and err == "" and re.fullmatch(rf"{NAME} \(Voxfield\) \d+\.\d+\.\d+\n", out), out


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


def test_inputs(_):
    if NAME == "mri_phantom":
        refused("missing option --output FILE", "-q")
        refused("'scan.h5': unexpected argument; mri_phantom takes no input file", "-o", "a.h5", "scan.h5")
    else:
        refused(f"no input file; usage: {NAME} ", "-q")
        refused("no input file", "")
        refused("'b': unexpected argument; ", "a", "b")
        refused("'--quiet': unexpected argument; ", "a", "--", "--quiet")
        assert call("--", "--quiet")[2].count("--quiet"), "a file of this name"


program.main(globals())
