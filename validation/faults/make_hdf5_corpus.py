#!/usr/bin/env python3
"""Writes the files that mutate_hdf5 damages (corpus/hdf5): scans of all layouts, coil maps and a map, in HDF5's
oldest and newest formats, contiguous and compressed. Their names say which reader reads them.

    make_hdf5_corpus.py MRI_PHANTOM CIONIZE FOLDER          needs h5py
"""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import layout_files  # noqa: E402


def convert(source, target, **more):
    """The same content in HDF5's newest format."""
    with h5py.File(source) as old, h5py.File(target, "w", libver="latest") as new:
        for name in old:
            old.copy(name, new, **more)
        for name, value in old.attrs.items():
            new.attrs[name] = value


def grids(folder, rng):
    """K-space of fastMRI, with a mask, and of CMRxRecon."""
    def noise(*shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype("c8")
    mask = numpy.arange(10) % 3 > 0
    layout_files.write_fastmri(folder / "fastmri.h5", noise(2, 2, 8, 10) * mask, (4, 8), mask=mask,
                               reconstruction_rss=numpy.ones((2, 4, 8), "f4"))
    layout_files.write_matlab(folder / "cmrxrecon.h5", kspace_full=noise(2, 2, 2, 6, 8), mask=numpy.ones((2, 6, 8), "f4"))
    convert(folder / "fastmri.h5", folder / "fastmri-latest.h5")


def main():
    phantom, cionize, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(exist_ok=True)
    scan = ["--matrix", "8,8,1", "--coils", "3", "-q"]
    subprocess.run([phantom, *scan, "-o", folder / "plain.h5"], check=True)
    subprocess.run([phantom, *scan, "--compress", "6", "-o", folder / "plain-packed.h5"], check=True)
    subprocess.run([phantom, *scan, "--layout", "ismrmrd", "-o", folder / "ismrmrd.h5"], check=True)
    subprocess.run([phantom, *scan, "--trajectory", "cartesian", "--frames", "2", "--layout", "ismrmrd",
                    "-o", folder / "ismrmrd-frames.h5"], check=True)
    convert(folder / "plain.h5", folder / "plain-latest.h5")
    convert(folder / "ismrmrd.h5", folder / "ismrmrd-latest.h5")
    rng = numpy.random.default_rng(1)
    maps = rng.standard_normal((3, 1, 8, 8)) + 1j * rng.standard_normal((3, 1, 8, 8))
    with h5py.File(folder / "coils.h5", "w") as file:
        file.create_dataset("maps", data=maps.astype("c8"), chunks=(1, 1, 8, 8), compression="gzip", fletcher32=True)
    grids(folder, rng)
    with tempfile.TemporaryDirectory() as place:
        atoms = pathlib.Path(place, "a.pqr")
        atoms.write_text("ATOM 1 C AAA 1 0.0 0.0 0.0 1.0 1.5\nATOM 2 C AAA 1 2.0 0.0 0.0 -1.0 1.5\n", encoding="ascii")
        subprocess.run([cionize, "-q", atoms, "--counts", "8", "-o", folder / "potential.h5"], check=True)
    convert(folder / "potential.h5", folder / "potential-latest.h5")


main()
