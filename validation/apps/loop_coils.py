"""Cartesian scans of a head inside an array of small loops, as heads are scanned. The coils of mri_phantom, whose Fourier transform
is known in closed form, have more in common than loops have. Needs h5py and numpy."""
import h5py
import numpy
import seeds

RANDOM = seeds.generator(44)

# Semi-axes, centre (m) and intensity of ellipsoids; intensities add up.
ELLIPSOIDS = (((.075, .095, .085), (0, 0, 0), 1), ((.068, .088, .078), (0, 0, 0), -.3), ((.03, .04, .03), (.02, .01, 0), .2),
              ((.012, .03, .02), (-.02, 0, 0), -.4), ((.01, .01, .01), (.03, -.04, .02), .3))
HELMET, LOOP, PIECES = (.1235, .143, .13), .045, 24  # m: semi-axes of the array, and radius of a loop of straight pieces
FOV = (.24, .24, .192)
OWN_NOISE = .3  # of the receivers, beside that of the object, whose covariance is that of the loops' fields in it


def head(at):
    value = numpy.zeros(at.shape[:-1])
    for axes, centre, intensity in ELLIPSOIDS:
        value[(((at - centre) / axes) ** 2).sum(-1) < 1] += intensity
    return value


def loop_field(centre, normal, at):
    """Biot and Savart: the field of a loop, turning with the spins, Bx - i By, [point]."""
    across = numpy.cross(normal, (0, 0, 1.))
    across /= numpy.linalg.norm(across)
    other = numpy.cross(normal, across)
    field = numpy.zeros(len(at), complex)
    for angle in 2 * numpy.pi * numpy.arange(PIECES) / PIECES:
        place = centre + LOOP * (numpy.cos(angle) * across + numpy.sin(angle) * other)
        along = numpy.cos(angle) * other - numpy.sin(angle) * across
        x, y, z = (at - place).T
        distance = (x * x + y * y + z * z) ** 1.5
        field += (along[1] * z - along[2] * y - 1j * (along[2] * x - along[0] * z)) / distance
    return field


def helmet(coils):
    """Centres and normals of loops, evenly on three quarters of an ellipsoid."""
    i = numpy.arange(coils)
    z = 1 - 1.5 * (i + .5) / coils
    angle = numpy.pi * (1 + 5 ** .5) * i
    normals = numpy.stack([numpy.sqrt(1 - z * z) * numpy.cos(angle), numpy.sqrt(1 - z * z) * numpy.sin(angle), z], 1)
    return normals * HELMET, normals


def transform(image, matrix):
    """K-space [z][y][x] of an image on a finer grid, up to the frequencies of the matrix (x, y, z), 0 in the middle."""
    k = numpy.fft.fftshift(numpy.fft.fftn(numpy.fft.ifftshift(image)))
    first = [(fine - n) // 2 for fine, n in zip(image.shape, matrix[::-1])]
    return k[tuple(slice(f, f + n) for f, n in zip(first, matrix[::-1]))] * numpy.prod(matrix) / image.size


def make(path, matrix, skip, snr, coils=32, fine=2, centre=24):
    """Writes a plain scan: every skip-th line and, in 3D, partition, and all of the `centre`. Noise is correlated, for `snr` in the
    mean of the head in an image of all lines; a noise scan is in the file. The truth is the image that whitened coils give
    together."""
    volume = matrix[2] > 1
    axes = [(numpy.arange(fine * n if n > 1 else 1) / (fine * n if n > 1 else 1) - (.5 if n > 1 else 0)) * fov
            for n, fov in zip(matrix, FOV)]
    at = numpy.stack(numpy.meshgrid(*axes[::-1], indexing="ij")[::-1], -1) + (0, 0, 0 if volume else .02)
    image = head(at)
    inside = image > 0
    fields = numpy.array([loop_field(*loop, at[inside]) for loop in zip(*helmet(coils))])
    fields /= numpy.sqrt((abs(fields) ** 2).mean())
    mixture = numpy.linalg.cholesky(fields @ fields.conj().T / fields.shape[1] + OWN_NOISE * numpy.eye(coils))
    seen = numpy.zeros(image.shape, complex)
    k = []
    for field in fields:
        seen[inside] = field * image[inside]
        k.append(transform(seen, matrix))
    k = numpy.array(k)
    images = numpy.fft.ifftn(numpy.fft.ifftshift(k, (1, 2, 3)), axes=(1, 2, 3))
    truth = numpy.fft.fftshift(numpy.sqrt((abs(numpy.tensordot(numpy.linalg.inv(mixture), images, 1)) ** 2).sum(0)))
    sigma = truth[truth > .2 * truth.max()].mean() / snr * numpy.prod(matrix) ** .5

    def noise(samples):
        white = RANDOM.standard_normal((coils, samples, 2)) @ (1, 1j) * (sigma / 2 ** .5)
        return (mixture @ white).astype("c8")

    lines = numpy.zeros(matrix[:0:-1], bool)
    lines[::skip if volume else 1, ::skip] = True
    middle = tuple(slice(max(n // 2 - centre // 2, 0), n // 2 + centre // 2 if n > 1 else 1) for n in matrix[:0:-1])
    lines[middle] = True
    z, y = numpy.nonzero(lines)
    data = k[:, z, y].reshape(coils, -1)
    samples = numpy.arange(matrix[0]) - matrix[0] // 2
    at = [numpy.tile(samples, len(z)), numpy.repeat(y - matrix[1] // 2, matrix[0]), numpy.repeat(z - matrix[2] // 2, matrix[0])]
    with h5py.File(path, "w") as file:
        scan = file.create_group("scan")
        scan["trajectory"] = numpy.stack(at, 1).astype("f4")
        scan["data"] = data.astype("c8") + noise(data.shape[1])
        scan["noise"] = noise(4096)
        scan["truth"] = truth.astype("f4")
        scan.attrs["matrix"] = matrix
        scan.attrs["fov_mm"] = [1e3 * fov if n > 1 else 5 for n, fov in zip(matrix, FOV)]
    return path


def error(image, scan):
    """What is missing from the truth, in per cent, if the image is scaled to it."""
    with h5py.File(image) as file:
        found = abs(file["image"][...]).astype(float).ravel()
    with h5py.File(scan) as file:
        truth = file["scan/truth"][...].astype(float).ravel()
    value = 100 * numpy.linalg.norm(found * (found @ truth) / (found @ found) - truth) / numpy.linalg.norm(truth)
    assert numpy.isfinite(value)
    return value
