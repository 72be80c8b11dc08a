#!/usr/bin/env python3
"""Prints the result of a test run as a short table: passed, failed, skipped, and the skipped by reason.

usage: summary.py TESTS.xml [LEFT_OUT.txt] [--need-all | --skipped]

TESTS.xml is what `ctest --output-junit` wrote. A test that cannot run exits with 77 after a line `SKIP: reason`; one that
cannot do a part of its work prints such a line and goes on. LEFT_OUT.txt has a line `test: reason` for each test that was
not registered at all. With --need-all, the exit status is 1 if anything was skipped for want of a package of the
distribution. --skipped prints only the names of the tests that this concerns, wholly or in part, as a pattern for
`ctest -R`.
"""
import collections
import re
import sys
import xml.etree.ElementTree as ET

# What a reason says -> how the table puts it. The first that matches counts.
PEERS = "is not installed; VOXFIELD_PEERS=1 ./run check installs it"
KINDS = [
    (r"GPU, not two|not two GPUs|two needed", "one GPU here, two needed"),
    (r"no OpenCL in this build|without OpenCL", "OpenCL's headers are not installed (package opencl-c-headers)"),
    (r"no device: .*libOpenCL|no device by OpenCL", "an OpenCL device is not installed (package pocl-opencl-icd)"),
    (r"no GPU|no CUDA|cuda:|--device cuda|^devices? cuda|CPU only", "no GPU"),
    (r"no bart\b|^no .*\bbart\b", f"BART {PEERS}"),
    (r"ismrmrd[-_](tools|recon|generate)|no ismrmrd", f"ismrmrd-tools {PEERS}"),
    (r"no (\w+) to compare with \((pip install [\w-]+)\)", r"\1 is not installed; \2"),
    (r"no (h5dump|multivalue of APBS|gzip)", rf"\1 {PEERS}"),
    (r"no Python here has (ismrmrd)$", r"Python's \1 is not installed; pip install \1"),
    (r"no Python here has ([\w.]+)$", rf"Python's \1 {PEERS}"),
    (r"No module named '?(torch|jax|cupy|nbclient|ipykernel)", r"Python's \1 is not installed; pip install \1"),
    (r"No module named '?(MDAnalysisTests)", r"Python's \1 is not installed; pip install \1"),
    (r"No module named '?(\w+)", rf"Python's \1 {PEERS}"),
    (r"no (mkdssp|pymol|apbs|pdb2pqr|gemmi)", rf"\1 {PEERS}"),
    (r"no gmx\b", rf"GROMACS {PEERS}"),
    (r"(no .*[Ss]lurm|slurmctld|munge).*", "Slurm is not installed (packages slurm-wlm and munge)"),
    (r"no (Open MPI|MPICH|openmpi|mpich|mpirun[.\w]*|plugin)", r"\1: MPI is not installed (packages openmpi-bin, libopenmpi-dev, mpich, libmpich-dev)"),
    (r"no (chromium|firefox|Xvfb)", "a browser is not installed (packages chromium, firefox-esr and xvfb)"),
    (r"locale with a decimal comma", "a locale with a decimal comma is not installed (locale-gen de_DE.UTF-8)"),
    (r"([\d.]+) GiB of memory are needed|needs [\d.]+ GiB of memory", "too little free memory"),
]


def kind_of(reason):
    for pattern, text in KINDS:
        found = re.search(pattern, reason)
        if found:
            return found.expand(text)
    return reason


def is_missing(kind):
    """Whether a package of the distribution would help."""
    return "not installed" in kind and "pip install" not in kind


def reasons_in(output):
    """The reasons that a test printed, in either of the two forms `SKIP: reason` and `SKIP (reason)`."""
    for line in output.splitlines():
        found = re.search(r"\bSKIP: (.+)$", line) or re.search(r"\bSKIP \((.+)\)\s*$", line)
        if found:
            yield found[1].strip()


def read(junit):
    """The tests' results: passed, failed and skipped names, and (reason, test, whole) for what was not done."""
    passed, failed, skipped, undone = [], [], [], []
    for case in ET.parse(junit).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        reasons = list(reasons_in(case.findtext("system-out") or ""))
        if status == "run":
            passed.append(name)
            undone += [(reason, name, False) for reason in reasons]
        elif case.find("skipped") is not None and "SKIP_RETURN_CODE" in (case.find("skipped").get("message") or ""):
            skipped.append(name)
            undone.append((reasons[0] if reasons else "no reason was printed", name, True))
        else:
            failed.append(name)
    return passed, failed, skipped, undone


def rows(undone):
    """(how many tests, how many parts of others, reason), most first."""
    tests, parts = collections.Counter(), collections.Counter()
    for reason, _, whole in undone:
        (tests if whole else parts)[kind_of(reason)] += 1
    return sorted(((tests[reason], parts[reason], reason) for reason in {*tests, *parts}), key=lambda row: (-row[0], -row[1], row[2]))


def main(arguments):
    need_all = "--need-all" in arguments
    files = [a for a in arguments if not a.startswith("--")]
    if not files:
        sys.exit(__doc__)
    passed, failed, skipped, undone = read(files[0])
    if "--skipped" in arguments:
        print("|".join(sorted({re.escape(name) for reason, name, _ in undone if is_missing(kind_of(reason))})))
        return 0
    for path in files[1:2]:
        with open(path, encoding="utf-8") as stream:
            left_out = [line.strip().split(": ", 1) for line in stream if ": " in line]
        skipped += [name for name, _ in left_out]
        undone += [(reason, name, True) for name, reason in left_out]
    # CI takes a line of this form for the result of a run.
    print(f"\n{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    for name in failed:
        print(f"  FAILED  {name}")
    for tests, parts, reason in rows(undone):
        what = [f"{tests} skipped"] * (tests > 0) + [f"{parts} {'part' if parts == 1 else 'parts'} of tests"] * (parts > 0)
        print(f"  {', '.join(what)}: {reason}")
    missing = [row for row in rows(undone) if is_missing(row[2])]
    if need_all and missing:
        print("these packages should be here:", *(row[2] for row in missing), sep="\n  ")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
