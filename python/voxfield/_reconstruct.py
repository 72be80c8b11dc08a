"""Images from scans: all that the program mri_recon decides, on arrays."""
from __future__ import annotations

import json
import os
from typing import Any, Sequence

import numpy as np

from . import _arrays
from ._binding import ffi, lib
from ._nufft import matrix_of
from ._results import Log, Progress, Result, arrays_of, call, path_bytes
from ._session import Session, warn

__all__ = ["Reconstruction", "Scan", "espirit", "read_scan", "reconstruct", "write_image"]

Path = "str | os.PathLike[str]"


class Reconstruction:
    """What `reconstruct` returns.

    image : complex64, [frame][z][y][x] without the axes frame and z where they are 1
    maps : coil maps, [coil][z][y][x] (more axes before it for several places or sets), if they were asked for
    noise, g_factor : standard deviation of a voxel's complex value, and the noise amplification, if they were asked for
    voxel_mm : size of a voxel along x, y, z
    report : dict, all that was decided and measured, as of `mri_recon --report`
    warnings : list of texts
    """

    def __init__(self, result: Result, warnings: list[str], like: Any) -> None:
        self._result = result
        self.warnings = warnings
        self.report: dict[str, Any] = json.loads(result.texts["report"])
        self.voxel_mm = tuple(float(v) for v in result.arrays["voxel_mm"])
        self.image = _as(_drop(result.arrays["image"], 2), like)
        self.maps = _as(_squeezed(result.arrays.get("maps"), 2), like)
        self.noise = _as(_drop(result.arrays.get("noise"), 2), like)
        self.g_factor = _as(_drop(result.arrays.get("g_factor"), 2), like)

    def write(self, path: Any) -> None:
        """Writes the image in the format of the path's extension (.h5, .nii, .nii.gz, .mrd, .cfl), with its position and the report."""
        session = Session(None)
        try:
            session.call(lib.binding_write_result, self._result.pointer, path_bytes(path))
        finally:
            session.close()

    def __repr__(self) -> str:
        return f"<voxfield.Reconstruction image {self.image.shape}, voxels of {self.voxel_mm} mm>"


def _drop(array: Any, axes: int) -> Any:
    """Without the first axes of 1: frame or place, and z."""
    if array is None:
        return None
    kept = tuple(n for i, n in enumerate(array.shape) if i >= axes or n != 1)
    return array.reshape(kept)


def _squeezed(maps: Any, axes: int) -> Any:
    """[place][set][coil][z][y][x] without places and sets of 1, and without z of 1."""
    if maps is None:
        return None
    kept = tuple(n for i, n in enumerate(maps.shape) if not (n == 1 and (i < axes or i == 3)))
    return maps.reshape(kept)


def _as(array: Any, like: Any) -> Any:
    if array is None or like is None or isinstance(like, (str, os.PathLike, np.ndarray)):
        return array
    return _arrays.of_kind(array, like)


def _matrix(shape: Sequence[int] | None) -> list[int]:
    if shape is None:
        return [0, 0, 0]
    sizes = matrix_of(shape)[0]
    if len(sizes) == 1:
        raise ValueError(f"shape must be (ny, nx) or (nz, ny, nx), not {shape!r}")
    return [*sizes[::-1], 1][:3]


def reconstruct(kspace: Any, trajectory: Any = None, maps: Any = None, prior: str = "auto", lam: Any = "auto", *,
                shape: Sequence[int] | None = None, mask: Any = None, weights: Any = None, time: Any = None, field_map: Any = None,
                phi: Any = None, reference: Any = None, noise: Any = None, truth: Any = None, fov_mm: Sequence[float] | None = None,
                slices: bool = False, noise_map: bool = False, return_maps: bool = False, device: str | None = None,
                threads: int | None = None, progress: Progress | None = None, log: Log | None = None, **options: Any) -> Reconstruction:
    """The images of a scan, with all that `mri_recon` decides: coil maps, noise, prior and its strength, devices. The same bits.

    Parameters
    ----------
    kspace : array, or the path of a file that mri_recon reads (then no other array may be given)
        Complex. With a trajectory: (coils, M) or (frames, coils, M). Without, on the grid with frequency 0 at N // 2: (coils, y, x),
        (coils, z, y, x), or (frames, coils, z, y, x); with `slices` (slices, coils, y, x). Positions that are 0 in all coils were not
        acquired, or `mask` says which were.
    trajectory : array, (M, d) or (frames, M, d)
        kx, ky, kz in cycles per field of view, within [-N/2, N/2). `shape` is needed then, unless there are maps: (ny, nx) or
        (nz, ny, nx).
    maps : array, (coils, [z,] y, x): coil maps; estimated if they are not given
    prior, lam : the options prior and lambda; "auto" leaves them to mri_recon
    weights, time : (M,): weights in the sum of squares; s since the excitation, for `field_map` (Hz, [z][y][x])
    phi, reference, truth : as in docs/scans.md
    noise : (coils, n): samples of noise alone
    fov_mm : field of view along x, y, z; voxels of 1 mm by default
    noise_map, return_maps : also return the noise map, the coil maps
    device : "cpu", "cuda", "auto", ...; by default as the program chooses
    progress : function (stage, share in [0, 1] or -1); one that returns False, or raises, stops the call
    log : function (text), for the plan and warnings, such as print
    options : all others of mri_recon by name (docs/man/mri_recon.1): tolerance=1e-3, compress=8, method="adjoint", info=True

    Arrays of a GPU are copied to the host. Data are converted to single precision. Warnings are Python's. Errors: ValueError,
    voxfield.Error with the program's message.

    >>> import numpy as np, voxfield
    >>> k = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(np.pad(np.ones((1, 20, 30)), ((0, 0), (22, 22), (17, 17))), axes=(1, 2))), axes=(1, 2))
    >>> found = voxfield.reconstruct(k.astype(np.complex64), lam=0)
    >>> found.image.shape, bool(abs(abs(found.image[32, 32]) - 1) < 1e-3)
    ((64, 64), True)
    """
    if prior != "auto":
        options["prior"] = prior
    if lam is not None and not (isinstance(lam, str) and lam == "auto"):
        options["lambda"] = lam
    options.update(device=device, threads=threads)
    if noise_map:
        options["noise_map"] = "memory"
    if return_maps:
        options["save_coils"] = "memory"
    file = path_bytes(kspace) if isinstance(kspace, (str, os.PathLike)) else None
    if kspace is None:
        raise TypeError("kspace must be a complex array, or the path of a file, not None")
    if file is None:
        kspace_of = _arrays.host_array(kspace, "kspace")
        if kspace_of.dtype.kind != "c":
            raise TypeError(f"kspace must be complex, not {kspace_of.dtype}")
    if trajectory is not None and shape is None and maps is not None:
        shape = _volume(maps, 4, "maps").shape[-3:]
    if trajectory is not None and shape is None:
        raise TypeError("shape is needed with a trajectory: (ny, nx) or (nz, ny, nx)")
    if file is None:
        _check_shapes(np.shape(kspace_of), None if trajectory is None else np.shape(trajectory))
    given = {"data": None if file else kspace_of, "trajectory": trajectory, "mask": mask, "weights": weights, "time": time, "phi": phi,
             "sensitivity": _volume(maps, 4, "maps"), "field_map": _volume(field_map, 3, "field_map"),
             "reference": _volume(reference, 3, "reference"), "truth": _volume(truth, 3, "truth"), "noise": noise}
    arrays, kept = arrays_of(given)
    fov = [0.0] * 3 if fov_mm is None else [float(v) for v in fov_mm]
    if len(fov) != 3:
        raise ValueError("fov_mm must be 3 numbers, along x, y, z")
    path = ffi.NULL if file is None else ffi.new("char[]", file)
    result, said = call(lib.binding_reconstruct, options, path, len(arrays), arrays, _matrix(shape), fov, slices, progress=progress,
                        log=log)
    del kept
    return Reconstruction(result, said, kspace)


def _check_shapes(kspace: tuple[int, ...], trajectory: tuple[int, ...] | None) -> None:
    """Shapes that other packages use: axes of readouts and samples; coils last."""
    if trajectory is not None:
        own = trajectory[:-1]
        if len(own) >= 2 and kspace[-len(own):] == own and (len(own) > 2 or len(kspace) != 3 or kspace[0] != own[0]):
            raise ValueError(f"kspace {kspace} and trajectory {trajectory} have an axis of readouts; use kspace.reshape("
                             f"{', '.join(map(str, kspace[:-len(own)] or (1,)))}, -1) and trajectory.reshape(-1, {trajectory[-1]})")
    elif len(kspace) == 3 and kspace[-1] < min(16, kspace[0]) and kspace[-1] > 1:
        warn(f"kspace {kspace} is taken as {kspace[0]} coils of an image of {kspace[1]} x {kspace[2]}; if the coils are the last axis, "
             "use numpy.moveaxis(kspace, -1, 0)", UserWarning)


def _volume(array: Any, rank: int, name: str) -> Any:
    """With an axis z of 1 if there is none."""
    if array is None:
        return None
    found = _arrays.host_array(array, name)
    return found[..., None, :, :] if found.ndim == rank - 1 else found


def espirit(kspace: Any, trajectory: Any = None, *, shape: Sequence[int] | None = None, **options: Any) -> Any:
    """Coil maps from the data, by ESPIRiT: (coils, [z,] y, x), complex64, of the kind of `kspace`.

    Arguments as of `reconstruct`; sum_c |s_c|^2 is 1 where there is signal, and fades to 0 (docs/conventions.md). Method: Uecker et
    al., Magn. Reson. Med. 71 (2014) 990.

    >>> import numpy as np, voxfield
    >>> y, x = np.mgrid[-32:32, -32:32] / 32
    >>> coils = np.stack([np.exp(-(x - a) ** 2 - (y - b) ** 2) for a in (-1, 1) for b in (-1, 1)]) * (x ** 2 + y ** 2 < 0.5)
    >>> k = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(coils, axes=(1, 2))), axes=(1, 2))
    >>> voxfield.espirit(k).shape
    (4, 64, 64)
    """
    options = {"coils": "espirit", "method": "adjoint", "compress": "none", **options}
    return reconstruct(kspace, trajectory, shape=shape, return_maps=True, **options).maps


class Scan:
    """A scan as `read_scan` found it: `arrays` and `texts` by name (also as attributes), shapes as vf_mri_read says:

    data [frame][coil][sample], trajectory [trajectory][sample][3] in cycles per field of view, frames [frame][4] (which trajectory,
    volume, slice, place), matrix, crop, fov_mm [3] along x, y, z; and if the scan has them weights, time, phi, sensitivity, field_map,
    reference, truth, noise_covariance; texts: layout, description, corrections, header.
    """

    def __init__(self, result: Result, warnings: list[str]) -> None:
        self.arrays, self.texts, self.warnings = result.arrays, result.texts, warnings

    def __getattr__(self, name: str) -> Any:
        for found in (self.__dict__.get("arrays", {}), self.__dict__.get("texts", {})):
            if name in found:
                return found[name]
        raise AttributeError(f"this scan has no {name}; it has {', '.join([*self.arrays, *self.texts])}")

    @property
    def shape(self) -> tuple[int, ...]:
        """The encoded matrix as the shape of arrays: (ny, nx) or (nz, ny, nx)."""
        x, y, z = (int(n) for n in self.arrays["matrix"])
        return (y, x) if z == 1 else (z, y, x)

    def __repr__(self) -> str:
        return f"<voxfield.Scan {self.texts.get('description', '')}>"


def read_scan(path: Any, *, log: Log | None = None, **options: Any) -> Scan:
    """Reads a scan of any format that mri_recon reads, with its options for reading (group, trajectory, slices, ...): a Scan.

    `reconstruct(path)` does all at once. Errors: voxfield.InputError, whose message names the file and the dataset.

    >>> import voxfield
    >>> scan = voxfield.read_scan("data/shepp_logan_2d.h5")                     # doctest: +SKIP
    >>> voxfield.reconstruct(scan.data[0], scan.trajectory[0], shape=scan.shape)  # doctest: +SKIP
    """
    name = ffi.new("char[]", path_bytes(path))
    result, said = call(lib.binding_read_scan, options, name, log=log)
    return Scan(result, said)


def write_image(path: Any, image: Any, voxel_mm: Sequence[float] = (1.0, 1.0, 1.0)) -> None:
    """Writes an image, ([frame,] [z,] y, x), real or complex, in the format of the extension: .h5, .nii, .nii.gz, .mrd, .cfl.

    Axes are those of the patient (LPS), the centre is the isocentre. `Reconstruction.write` keeps the scan's own position.
    Errors: ValueError, voxfield.OutputError.

    >>> import os, tempfile, numpy as np, voxfield
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     voxfield.write_image(os.path.join(folder, "image.nii"), np.ones((8, 9)), voxel_mm=(2, 2, 5))
    ...     os.path.getsize(os.path.join(folder, "image.nii")) > 8 * 9 * 4
    True
    """
    array = _arrays.host_array(image, "the image")
    if array.ndim == 2:
        array = array[None]
    arrays, kept = arrays_of({"image": array})
    sizes = [float(v) for v in voxel_mm]
    if len(sizes) != 3:
        raise ValueError("voxel_mm must be 3 numbers, along x, y, z")
    session = Session(None)
    try:
        session.call(lib.binding_write_image, arrays, sizes, path_bytes(path))
    finally:
        session.close()
        del kept
