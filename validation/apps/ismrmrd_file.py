"""ISMRMRD files with any headers, written with h5py alone, and a phantom whose left and right, top and bottom differ."""
import os

import seeds  # noqa: F401 - its folder is on the path of all tests

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = np = None

NOISE, CALIBRATION, REVERSE, PHASE_CORRECTION = 19, 20, 22, 24  # flags


def transform(image, axes=(-2, -1)):
    """d(k) = sum of rho(r) exp(-i 2 pi k.r), k and r counted from the middle."""
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image, axes=axes), axes=axes), axes=axes)


def phantom(ny, nx):
    """Smooth ellipses, and a bright spot at +x and -y: no turn or flip leaves it as it is. [y][x]"""
    y, x = np.mgrid[:ny, :nx]
    u, v = (x - nx // 2) / nx, (y - ny // 2) / ny
    image = np.zeros((ny, nx))
    for cx, cy, rx, ry, value in ((0, 0, .36, .42, 1), (0, .02, .3, .36, -.4), (-.12, -.1, .07, .1, .5), (.18, -.2, .06, .06, .9)):
        image += value / (1 + np.exp(25 * (np.hypot((u - cx) / rx, (v - cy) / ry) - 1)))
    return image


def coils(number, ny, nx):
    """Maps whose squares add up to 1: [coil][y][x]."""
    y, x = np.mgrid[:ny, :nx]
    u, v = (x - nx // 2) / nx, (y - ny // 2) / ny
    maps = []
    for n in range(number):
        angle = 2 * np.pi * n / number
        far = (u - .45 * np.cos(angle)) ** 2 + (v - .45 * np.sin(angle)) ** 2
        maps.append(np.exp(-far / .35 + 1j * (2 * u * np.cos(angle + 1) + 2 * v * np.sin(angle) + angle)))
    maps = np.array(maps)
    return maps / np.sqrt((abs(maps) ** 2).sum(axis=0))


def complex_noise(random, shape):
    """Complex noise of variance 1."""
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)) / 2 ** .5


def encoding(matrix, fov, recon=None, recon_fov=None, trajectory="cartesian", centers=None, more=""):
    """An element `encoding`; all in the order x, y, z. `centers`: of steps 1 and 2, None: not stated."""
    def three(name, values):
        return f"<{name}>" + "".join(f"<{a}>{v}</{a}>" for a, v in zip("xyz", values)) + f"</{name}>"

    def space(name, n, mm):
        return f"<{name}>{three('matrixSize', n)}{three('fieldOfView_mm', mm)}</{name}>"
    centers = [round(float(n)) // 2 for n in matrix[1:]] if centers is None else centers
    limits = "".join(f"<kspace_encoding_step_{i + 1}><minimum>0</minimum><maximum>{round(float(matrix[i + 1])) - 1}</maximum>"
                     f"<center>{c}</center></kspace_encoding_step_{i + 1}>" for i, c in enumerate(centers) if c is not None)
    return (f"<encoding>{space('encodedSpace', matrix, fov)}{space('reconSpace', recon or matrix, recon_fov or fov)}"
            f"<encodingLimits>{limits}</encodingLimits><trajectory>{trajectory}</trajectory>{more}</encoding>")


def header(*encodings, vendor=None):
    system = f"<acquisitionSystemInformation><systemVendor>{vendor}</systemVendor></acquisitionSystemInformation>" if vendor else ""
    return (f'<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">{system}<experimentalConditions>'
            f"<H1resonanceFrequency_Hz>123000000</H1resonanceFrequency_Hz></experimentalConditions>{''.join(encodings)}</ismrmrdHeader>")


COUNTERS = ("kspace_encode_step_1", "kspace_encode_step_2", "average", "slice", "contrast", "phase", "repetition", "set", "segment")


def types():
    idx = np.dtype([(name, "<u2") for name in COUNTERS] + [("user", "<u2", 8)])
    vector = ("<f4", 3)
    head = np.dtype([
        ("version", "<u2"), ("flags", "<u8"), ("measurement_uid", "<u4"), ("scan_counter", "<u4"),
        ("acquisition_time_stamp", "<u4"), ("physiology_time_stamp", "<u4", 3), ("number_of_samples", "<u2"),
        ("available_channels", "<u2"), ("active_channels", "<u2"), ("channel_mask", "<u8", 16), ("discard_pre", "<u2"),
        ("discard_post", "<u2"), ("center_sample", "<u2"), ("encoding_space_ref", "<u2"), ("trajectory_dimensions", "<u2"),
        ("sample_time_us", "<f4"), ("position", *vector), ("read_dir", *vector), ("phase_dir", *vector), ("slice_dir", *vector),
        ("patient_table_position", *vector), ("idx", idx), ("user_int", "<i4", 8), ("user_float", "<f4", 8)])
    floats = h5py.vlen_dtype(np.dtype("<f4"))
    return np.dtype([("head", head), ("traj", floats), ("data", floats)])


def acquisition(data, traj=None, flags=(), center=None, axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), user=(), **values):
    """A record: data [channel][sample], traj [sample][dimension]; `values` are members of the header or of idx."""
    record = np.zeros(1, types())[0]
    head, idx = record["head"], record["head"]["idx"]
    data = np.ascontiguousarray(data, "c8")
    head["version"], head["number_of_samples"], head["sample_time_us"] = 1, data.shape[1], 5
    head["available_channels"] = head["active_channels"] = data.shape[0]
    head["center_sample"] = data.shape[1] // 2 if center is None else center
    head["flags"] = sum(1 << (flag - 1) for flag in flags)
    head["read_dir"], head["phase_dir"], head["slice_dir"] = axes
    for n, value in enumerate(user):
        idx["user"][n] = value
    for name, value in values.items():
        (idx if name in COUNTERS else head)[name] = value
    record["data"] = data.view("f4").ravel()
    record["traj"] = np.zeros(0, "f4") if traj is None else np.ascontiguousarray(traj, "f4").ravel()
    head["trajectory_dimensions"] = 0 if traj is None else np.shape(traj)[1]
    return record


def write(path, xml, acquisitions, group="dataset", mode="w"):
    with h5py.File(path, mode) as file:
        file.create_dataset(f"{group}/xml", data=[xml], dtype=h5py.string_dtype("ascii"))
        stored = file.create_dataset(f"{group}/data", (len(acquisitions),), types())
        for n, record in enumerate(acquisitions):
            record["head"]["scan_counter"] = n
            stored[n] = record
    return os.fspath(path)
