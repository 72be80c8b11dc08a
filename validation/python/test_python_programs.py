#!/usr/bin/env python3
"""The programs as functions of the Python package: the bits of the programs, arrays in and out, progress, errors, Ctrl-C.

usage: test_python_programs.py [test_name ...]      with the variables CIONIZE, MRI_RECON (programs) and VOXFIELD_DATA (samples)

Images of the same data must have the same bits, so there is no tolerance.
"""
import os
import pathlib
import subprocess
import tempfile
import warnings

import numpy as np
import voxfield
from python_cases import Skip, generator, main, refuses

SLICE = pathlib.Path(os.environ.get("VOXFIELD_DATA", "data")) / "shepp_logan_2d.h5"


def program(name, *arguments):
    """What a program prints; its outputs are files."""
    path = os.environ.get(name.upper())
    if not path:
        raise Skip(f"no {name} to compare with: the variable {name.upper()} is not set")
    return subprocess.run([path, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=300).stdout


def image_of(path):
    try:
        import h5py
    except ImportError as error:
        raise Skip(str(error)) from error
    with h5py.File(path) as file:
        values = file["image"][()]
    return values if values.dtype.kind == "c" else values["r"] + 1j * values["i"]


def scan():
    return voxfield.read_scan(SLICE)


QUICK = {"prior": "identity", "lam": 1e-3, "iterations": 5}


def test_read_scan():
    found = scan()
    assert found.shape == (96, 96) and found.data.shape == (1, 4, 3456) and found.trajectory.shape == (1, 3456, 3)
    assert found.sensitivity.shape == (1, 1, 4, 1, 96, 96) and list(found.fov_mm) == [240, 240, 5]
    assert "samples" in repr(found)
    refuses(AttributeError, "has no sound", lambda: found.sound)
    error = refuses(voxfield.InputError, "nothing.h5", voxfield.read_scan, "nothing.h5")
    assert isinstance(error, OSError) and error.status == "VF_ERR_INPUT"


def test_the_bits_of_the_program():
    found = scan()
    from_arrays = voxfield.reconstruct(found.data[0], found.trajectory[0], found.sensitivity[0, 0, :, 0], shape=found.shape,
                                       fov_mm=found.fov_mm, **QUICK)
    from_file = voxfield.reconstruct(SLICE, **QUICK)
    assert from_file.image.shape == (96, 96) and from_file.image.dtype == np.complex64
    assert np.array_equal(from_arrays.image, from_file.image), "arrays and file have other bits"
    assert from_file.voxel_mm == (2.5, 2.5, 5.0) and from_file.report["program"] == "mri_recon"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "image.h5")
        program("mri_recon", SLICE, "-o", path, "--prior", "identity", "--lambda", "1e-3", "--iterations", "5")
        written = image_of(path)
    assert np.array_equal(written.reshape(96, 96), from_file.image), "function and program have other bits"


def test_maps_and_noise():
    found = scan()
    made = voxfield.reconstruct(found.data[0], found.trajectory[0][:, :2], shape=found.shape, coils="walsh", noise_map=True,
                                return_maps=True, replicas=2, **QUICK)
    assert made.maps.shape == (4, 96, 96) and made.noise.shape == (96, 96) and made.g_factor.shape == (96, 96)
    assert np.isfinite(made.noise).all() and made.noise.max() > 0
    plain = voxfield.reconstruct(found.data[0], found.trajectory[0], shape=found.shape, coils="walsh", **QUICK)
    assert plain.maps is None and plain.noise is None
    double = voxfield.reconstruct(found.data[0].astype(complex), found.trajectory[0].astype(float), shape=found.shape, coils="walsh",
                                  **QUICK)
    assert np.array_equal(double.image, plain.image)
    given = voxfield.reconstruct(found.data[0], found.trajectory[0], made.maps, **QUICK)  # their shape is the image's
    assert given.image.shape == (96, 96)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("image.nii.gz", "image.h5"):
            plain.write(pathlib.Path(folder, name))
            assert pathlib.Path(folder, name).stat().st_size > 1000
        voxfield.write_image(pathlib.Path(folder, "again.h5"), plain.image)
        assert np.array_equal(image_of(pathlib.Path(folder, "again.h5")).reshape(96, 96), plain.image)
        refuses(voxfield.Error, "", voxfield.write_image, pathlib.Path(folder, "image.bmp"), plain.image)
        refuses(voxfield.OutputError, "", voxfield.write_image, pathlib.Path(folder, "no", "image.h5"), plain.image)
        refuses(voxfield.Error, "", voxfield.write_image, pathlib.Path(folder, "image.h5"), np.full((8, 8), np.nan))


def test_progress_and_log():
    stages, lines = [], []
    voxfield.reconstruct(SLICE, progress=lambda stage, share: stages.append((stage, share)), log=lines.append, **QUICK)
    assert stages and all(share == -1 or 0 <= share <= 1 for _, share in stages), stages
    assert any("matrix" in line for line in lines), lines

    def fails(stage, share):
        raise KeyError("mine")

    refuses(KeyError, "mine", voxfield.reconstruct, SLICE, progress=fails, **QUICK)
    refuses(voxfield.Interrupted, "interrupted", voxfield.reconstruct, SLICE, progress=lambda *_: False, **QUICK)
    try:
        voxfield.reconstruct(SLICE, log=lambda _: (_ for _ in ()).throw(KeyboardInterrupt()), **QUICK)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("KeyboardInterrupt was lost")
    assert voxfield.reconstruct(SLICE, **QUICK).image.shape == (96, 96)


def test_refusals():
    found = scan()
    data, k = found.data[0], found.trajectory[0]
    make = voxfield.reconstruct
    refuses(TypeError, "shape is needed", make, data, k)
    refuses(ValueError, "shape must be", make, data, k, shape=(96,))
    refuses(voxfield.Error, "lamda", make, data, k, shape=(96, 96), lamda=3)
    refuses(ValueError, "expected", make, data, k, shape=(96, 96), prior="hope")
    refuses(ValueError, "writes no files", make, data, k, shape=(96, 96), picture="image.png")
    refuses(voxfield.Error, "", make, data[:, :-1], k, shape=(96, 96))
    nan = data.copy()
    nan[2, 3] = np.nan
    refuses(voxfield.Error, "nan", make, nan, k, shape=(96, 96))
    refuses(TypeError, "complex", make, np.float32(np.abs(data)), k, shape=(96, 96), **QUICK)
    refuses(TypeError, "None", make, None)
    refuses(TypeError, "numbers", make, data, k, shape=(96, 96), weights=np.full(3456, "a"))
    refuses(voxfield.Error, "", make, SLICE, k, shape=(96, 96))
    refuses(voxfield.Error, "", make, data[None, None, None], k, shape=(96, 96))


def test_shapes_of_other_packages():
    """Axes of readouts (SigPy), coils last, and k-space in the order of numpy.fft."""
    found = scan()
    data, k, n = found.data[0], found.trajectory[0][:, :2], found.shape
    coils, spokes = len(data), 3
    assert coils != spokes and data.shape[1] % spokes == 0
    folded = data.reshape(coils, spokes, -1), k.reshape(spokes, -1, 2)
    refuses(ValueError, f"kspace.reshape({coils}, -1) and trajectory.reshape(-1, 2)", voxfield.reconstruct, *folded, shape=n)
    refuses(ValueError, "kspace.reshape(1, -1)", voxfield.reconstruct, folded[0][0], folded[1], shape=n)
    y, x = np.mgrid[-32:32, -32:32] / 32
    maps = np.stack([np.exp(-(x - a) ** 2 - (y - b) ** 2) for a in (-1, 1) for b in (-1, 1)]) * (x ** 2 + 2 * y ** 2 < 0.5)
    plain = np.fft.fft2(np.fft.ifftshift(maps, axes=(1, 2)))
    for kspace, words in ((plain, "along x y; k = 0"), (np.fft.fftshift(plain, axes=1), "along x; k = 0"),
                          (np.fft.fftshift(plain, axes=(1, 2)), None), (np.moveaxis(plain, 0, -1), "moveaxis(kspace, -1, 0)")):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            voxfield.reconstruct(kspace, coils="rss", **QUICK)
        told = [str(w.message) for w in said]
        assert words is None and not told or words is not None and any(words in t for t in told), (words, told)


def test_warnings_are_pythons():
    found = scan()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = voxfield.reconstruct(found.data[0], found.trajectory[0], shape=found.shape, coils="walsh", tolerance=1e-12, **QUICK)
    assert [str(w.message) for w in said] == made.warnings
    assert all(w.category is voxfield.ProgramWarning and w.filename == __file__ for w in said), [w.filename for w in said]


def test_espirit():
    rng = generator(1)
    y, x = np.mgrid[-32:32, -32:32] / 32
    truth = np.stack([np.exp(-(x - a) ** 2 - (y - b) ** 2 + 1j * a * y) for a in (-1, 1) for b in (-1, 1)])
    truth /= np.sqrt((abs(truth) ** 2).sum(0))
    body = (x ** 2 + y ** 2 < 0.6) * (1 + 0.3 * np.sin(7 * x))
    k = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(truth * body, axes=(1, 2))), axes=(1, 2))
    k += 0.01 * (rng.standard_normal(k.shape) + 1j * rng.standard_normal(k.shape))
    maps = voxfield.espirit(k)
    inside = x ** 2 + y ** 2 < 0.4
    # Maps are known up to a phase; theirs agree with the truth to the noise and the kernel's smoothness, a few percent.
    agree = abs((maps.conj() * truth).sum(0))[inside]
    assert agree.min() > 0.95, agree.min()


if __name__ == "__main__":
    main(globals())
