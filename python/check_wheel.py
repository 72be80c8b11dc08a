#!/usr/bin/env python3
"""Installs a wheel in a new environment, where no compiler is found, and runs the package's tests there.

    python3 python/check_wheel.py [out/wheel/voxfield-....whl]

Prints the time of pip install (the wheel alone, its dependencies already there) and the result of each test. The bar of 10 s
is for the clock, and where more programs want to run than there are processors, for the processor's time.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LARGEST = 60e6  # bytes, the bar
LIBRARY = "voxfield/lib/"  # what has the sums inside, once; module and programs have some 10 kB of their own


def of_children():
    """Seconds of the processor in programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    wheel = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else max((ROOT / "out" / "wheel").glob("voxfield-*.whl"))
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB (at most {LARGEST / 1e6:.0f})")
    failed = wheel.stat().st_size > LARGEST
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.infolist():
            if item.file_size > 1e6 and not item.filename.startswith(LIBRARY):
                print(f"FAILED: {item.filename} has {item.file_size / 1e6:.1f} MB: another copy of the library?")
                failed = True
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        bin_folder = pathlib.Path(folder, "bin")
        pip = [bin_folder / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        if subprocess.run([*pip, "numpy", "scipy", "cffi", "h5py"], check=False).returncode != 0:
            print("SKIP: PyPI did not give NumPy and what else the tests need (above)")
            return 77
        start, before = time.monotonic(), of_children()
        subprocess.run([*pip, "--no-deps", wheel.resolve()], check=True)
        clock, processor = time.monotonic() - start, of_children() - before
        busy = os.getloadavg()[0] > os.cpu_count()
        which = "of the processor, which is busy" if busy else "by the clock"
        print(f"pip install: {clock:.1f} s, {processor:.1f} of the processor (at most 10 {which})")
        failed |= (processor if busy else clock) > 10
        # Only the environment's own programs: no compiler, no other Python.
        environment = {"PATH": str(bin_folder), "HOME": folder, "OMP_WAIT_POLICY": "passive", "VOXFIELD_DATA": str(ROOT / "data"),
                       "CIONIZE": str(bin_folder / "cionize"), "MRI_RECON": str(bin_folder / "mri_recon")}
        for name in ("VOXFIELD_SEED",):
            environment.update({name: os.environ[name]} if name in os.environ else {})
        for program in ("cionize", "mri_recon", "mri_phantom"):
            done = subprocess.run([bin_folder / program, "--version"], env=environment, capture_output=True, text=True, check=False)
            print(done.stdout.splitlines()[0] if done.returncode == 0 else f"{program} FAILED: {done.stderr}")
            failed |= done.returncode != 0
        for test in sorted((ROOT / "validation" / "python").glob("test_python_*.py")):
            done = subprocess.run([bin_folder / "python", test], env=environment, cwd=folder, capture_output=True, text=True, check=False)
            skipped = [line for line in done.stdout.splitlines() if "SKIP" in line]
            print(f"{test.name}: {'passed' if done.returncode == 0 else 'skipped' if done.returncode == 77 else 'FAILED'}", *skipped, sep="\n  ")
            if done.returncode not in (0, 77):
                failed = True
                print(done.stdout, done.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
