"""Files as fastMRI and CMRxRecon write them, and the images that their own programs make of them, with numpy alone."""
try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None


def ifft2c(k):
    """The centred unitary transform of the last two axes, as in fastMRI (fftc.py) and CMRxRecon (ifft2c.m)."""
    axes = (-2, -1)
    return numpy.fft.fftshift(numpy.fft.ifft2(numpy.fft.ifftshift(k, axes=axes), axes=axes, norm="ortho"), axes=axes)


def fft2c(image):
    axes = (-2, -1)
    return numpy.fft.fftshift(numpy.fft.fft2(numpy.fft.ifftshift(image, axes=axes), axes=axes, norm="ortho"), axes=axes)


def centre_crop(image, shape):
    """fastMRI's center_crop."""
    top, left = [(n - m) // 2 for n, m in zip(image.shape[-2:], shape)]
    return image[..., top:top + shape[0], left:left + shape[1]]


def rss(images, axis):
    return numpy.sqrt((abs(images) ** 2).sum(axis=axis))


def head(shape, slices=1, crop=None):
    """Ellipses that no flip, turn or transposition maps to themselves, in the part that is kept: [slice][y][x]."""
    crop = crop or shape
    y, x = numpy.mgrid[:shape[0], :shape[1]]
    v, u = (y - shape[0] // 2) / crop[0], (x - shape[1] // 2) / crop[1]
    images = []
    for n in range(slices):
        image = 1.0 * ((u / 0.40) ** 2 + (v / 0.43) ** 2 < 1)
        image += 0.8 * (((u - 0.12) / 0.10) ** 2 + ((v + 0.20) / 0.08) ** 2 < 1)
        image += (0.5 + 0.25 * n) * (((u + 0.16) / 0.07) ** 2 + ((v + 0.05) / 0.13) ** 2 < 1)
        images.append(image)
    return numpy.array(images)


def coils(number, shape, crop=None):
    crop = crop or shape
    y, x = numpy.mgrid[:shape[0], :shape[1]]
    v, u = (y - shape[0] // 2) / crop[0], (x - shape[1] // 2) / crop[1]
    angles = 2 * numpy.pi * numpy.arange(number) / number + 0.3
    return numpy.array([numpy.exp(-((u - 0.5 * numpy.cos(a)) ** 2 + (v - 0.5 * numpy.sin(a)) ** 2) / 0.8 + 1j * a * (u + 0.3))
                        for a in angles])


def header(encoded, encoded_fov, recon, recon_fov, begin='<?xml version="1.0" encoding="utf-8"?>\n'):
    """The header of ISMRMRD; all in the order x, y, z."""
    def space(name, matrix, fov):
        def three(values):
            return "".join(f"<{a}>{v}</{a}>" for a, v in zip("xyz", values))
        return f"<{name}><matrixSize>{three(matrix)}</matrixSize><fieldOfView_mm>{three(fov)}</fieldOfView_mm></{name}>"
    return (f'{begin}<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><encoding><trajectory>cartesian</trajectory>'
            f'{space("encodedSpace", encoded, encoded_fov)}{space("reconSpace", recon, recon_fov)}'
            "</encoding></ismrmrdHeader>")


def write_fastmri(path, kspace, crop, xml="", **more):
    """`kspace`: [slice][coil][height][width] or without coils; voxels of 2 mm by 1.5 mm, slices of 4 mm."""
    height, width = kspace.shape[-2:]
    text = xml if xml else header((height, width, 1), (2.0 * height, 1.5 * width, 4.0), (*crop, 1),
                                  (2.0 * crop[0], 1.5 * crop[1], 4.0))
    with h5py.File(path, "w") as file:
        file["kspace"] = kspace.astype("c8")
        if xml is not None:
            file.create_dataset("ismrmrd_header", data=text, dtype=h5py.string_dtype("utf-8"))
        for name, value in more.items():
            file[name] = value
        file.attrs["acquisition"], file.attrs["max"], file.attrs["norm"] = "CORPD_FBK", 1.0, 2.0
        file.attrs["patient_id"] = "0" * 64


MATLAB = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan 01 00:00:00 2024 HDF5 schema 1.00 ."


def matlab_complex(values):
    """As MATLAB stores complex numbers: {real, imag}."""
    values = numpy.asarray(values)
    part = "f8" if values.dtype == numpy.complex128 else "f4"
    pairs = numpy.empty(values.shape, [("real", part), ("imag", part)])
    pairs["real"], pairs["imag"] = values.real, values.imag
    return pairs


def write_matlab(path, block=MATLAB, **variables):
    """A file of MATLAB's version 7.3, with its 512 bytes in front. The arrays have HDF5's order."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in variables.items():
            values = numpy.asarray(values)
            values = matlab_complex(values) if numpy.iscomplexobj(values) else values
            file.create_dataset(name, data=values, compression="gzip", compression_opts=3)  # MATLAB compresses
            file[name].attrs["MATLAB_class"] = numpy.bytes_("single")
    with open(path, "r+b") as stream:
        stream.write(block.ljust(116, b" ") + b"\0" * 8 + b"\0\2IM")
