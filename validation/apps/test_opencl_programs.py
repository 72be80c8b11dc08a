"""OpenCL devices by the command line: compiled programs in the user's cache, and what is said where there is no device.

usage: test_opencl_programs.py CIONIZE [test_name ...]
"""
import os
import pathlib
import re
import shutil
import subprocess

import program
from program import PROGRAM, Skip, make, refuse, sample


def devices(**more):
    """The lines of --devices that begin with opencl or say why there is none."""
    done = subprocess.run([PROGRAM, "--devices"], capture_output=True, text=True, check=True, env={**os.environ, **more})
    return [line for line in done.stdout.splitlines() if "opencl" in line or "OpenCL" in line]


def need_device():
    lines = devices()
    if not lines[0].startswith("opencl:0 "):
        raise Skip(lines[0])


def cached(folder):
    """The contents of the cache's files by path, and when they were written."""
    files = [file for file in sorted(pathlib.Path(folder).rglob("*")) if file.is_file()]
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def run_with(cache):
    """Computes a small map with this folder for caches; returns the map. PoCL's own cache, without which it fails, is the user's: so its
    kernels are compiled once."""
    pocl = os.environ.get("POCL_CACHE_DIR") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pocl", "kcache")
    os.makedirs(pocl, exist_ok=True)
    make(sample("dipole.pqr"), "--device", "opencl", "--counts", "12,10,9", "-o", "map.mrc",
         env={**os.environ, "XDG_CACHE_HOME": str(cache), "HOME": str(cache), "POCL_CACHE_DIR": pocl})
    return pathlib.Path("map.mrc").read_bytes()[-4 * 12 * 10 * 9:]  # without the header, which has the time


def test_cache(folder):
    """Programs are compiled once. A file of the cache that is damaged, shorter or empty is made anew, and changes no map."""
    need_device()
    cache = folder / "cache"
    first = run_with(cache)
    shutil.rmtree(cache / "voxfield" / "opencl")  # with the programs of the self-test, which later runs do not need
    assert run_with(cache) == first
    made = cached(cache / "voxfield" / "opencl")
    assert made and all(re.fullmatch(r"[0-9a-f]+", os.path.basename(path)) for path in made), made.keys()
    assert run_with(cache) == first
    assert cached(cache / "voxfield" / "opencl") == made, "programs were compiled again"
    for damage in (lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:], lambda b: bytes([b[0] ^ 1]) + b[1:], lambda b: b[:-1], lambda b: b""):
        for path, (content, _) in made.items():
            pathlib.Path(path).write_bytes(damage(content))
        damaged = cached(cache / "voxfield" / "opencl")
        assert run_with(cache) == first
        now = cached(cache / "voxfield" / "opencl")
        assert now.keys() == made.keys() and all(now[path][0] != damaged[path][0] for path in made), "a damaged file was kept"


def test_no_cache(folder):
    """Without a folder to write to, the same map."""
    need_device()
    first = run_with(folder / "cache")
    (folder / "file").write_text("no folder", encoding="ascii")
    for place in (folder / "file", pathlib.Path("/proc/1/none")):
        assert run_with(place) == first
    assert (folder / "file").read_text(encoding="ascii") == "no folder"


def test_no_driver(folder):
    """No driver of any vendor, or no library that finds them: one sentence with what to install, in a run and in the list."""
    sample("dipole.pqr")
    if "was built without OpenCL" in devices()[0]:
        refuse(8, "this binary was built without OpenCL", "dipole.pqr", "--device", "opencl", "-o", "m.mrc")
        raise Skip("no OpenCL in this build")
    library = folder / "library"
    library.mkdir()
    (library / "libOpenCL.so.1").write_text("not a library\n", encoding="ascii")
    for setting, words in (({"OCL_ICD_VENDORS": "/nonexistent", "OCL_ICD_FILENAMES": ""}, "libOpenCL.so.1 knows no device: install your device's OpenCL driver"),
                           ({"LD_LIBRARY_PATH": str(library)}, "libOpenCL.so.1 is not installed (package ocl-icd-libopencl1")):
        if "no device by OpenCL" in devices()[0] and words not in devices()[0]:
            continue  # this machine has no library to begin with
        refuse(6, ["opencl:0: no device: ", words], "dipole.pqr", "--device", "opencl", "-o", "m.mrc", env={**os.environ, **setting})
        lines = devices(**setting)
        assert len(lines) == 1 and lines[0].startswith(f"no device by OpenCL: {words}"), lines


def test_no_such_device(_):
    need_device()
    sample("dipole.pqr")
    refuse(6, ["opencl:63: there ", "only opencl:0"], "dipole.pqr", "--device", "opencl:63", "-o", "m.mrc")


def test_no_doubles(_):
    """Double precision on a device without it is refused, and single precision is not."""
    need_device()
    sample("dipole.pqr")
    without = {**os.environ, "VOXFIELD_OPENCL_NO_DOUBLE": "1"}
    assert "no double precision" in devices(VOXFIELD_OPENCL_NO_DOUBLE="1")[0]
    make("dipole.pqr", "--device", "opencl", "--counts", "9", "-o", "m.mrc", env=without)


if __name__ == "__main__":
    program.main(globals())
