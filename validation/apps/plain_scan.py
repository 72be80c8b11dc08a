"""Scans of small objects in the plain layout, written with numpy: k in cycles per field of view, F as an explicit
sum."""
try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None


def disc(n=24):
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    return (x ** 2 + y ** 2 < 0.4 ** 2).astype(float)


def maps_of(coils, n=24):
    """Coils around the object: the sensitivity decays and the phase turns."""
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    angles = 2 * numpy.pi * numpy.arange(coils) / coils + 0.3
    return numpy.array([numpy.exp(-((x - 0.5 * numpy.cos(a)) ** 2 + (y - 0.5 * numpy.sin(a)) ** 2) / 0.4 + 1j * a * x)
                        for a in angles])


def cartesian(step=1, n=24):
    ky, kx = numpy.meshgrid(numpy.arange(-(n // 2), n - n // 2, step), numpy.arange(n) - n // 2, indexing="ij")
    return numpy.stack([kx, ky, 0 * kx], -1).reshape(-1, 3).astype("f4")


def radial(spokes=30, n=24):
    angle, r = numpy.meshgrid(numpy.pi * numpy.arange(spokes) / spokes, numpy.arange(-n, n) / 2, indexing="ij")
    return numpy.stack([r * numpy.cos(angle), r * numpy.sin(angle), 0 * r], -1).reshape(-1, 3).astype("f4")


def along(k, n):
    """The factor of F along an axis: [sample][voxel]."""
    return numpy.exp(-2j * numpy.pi * numpy.outer(k.astype(float), (numpy.arange(n) - n // 2) / n))


def exponentials(k, n):
    """The matrix of F: [voxel][sample], with voxels in the order [y][x]."""
    return (along(k[:, 1], n)[:, :, None] * along(k[:, 0], n)[:, None]).reshape(len(k), -1).T


def forward(k, images):
    """F as an explicit sum, axis after axis: [coil][sample] from images [coil][y][x]."""
    x, y = along(k[:, 0], images.shape[-1]).T, along(k[:, 1], images.shape[-2]).T
    return numpy.array([((image @ x) * y).sum(0) for image in images])


def noise_like(data, rng, sigma):
    return sigma / numpy.sqrt(2) * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))


def write_scan(path, k, data, maps=None, n=24, **more):
    with h5py.File(path, "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = [n, n, 1], [240.0, 240.0, 5.0]
        scan["trajectory"], scan["data"] = k, data.astype("c8")
        if maps is not None:
            scan["sensitivity"] = maps[:, None].astype("c8")
        for name, values in more.items():
            scan[name] = values
