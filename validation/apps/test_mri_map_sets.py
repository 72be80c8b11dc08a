#!/usr/bin/env python3
"""An object larger than the field of view, whose parts fold onto one another: two sets of coil maps.

usage: test_mri_map_sets.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import program
from made_scan import h5py, need_h5py, numpy, run_tests
from program import make, refuse

N, COILS, SIGMA = 64, 8, 0.005  # noise of a voxel in one coil's image, relative to the brightest voxel


class Folded:
    """A head that is `tall` fields of view high along y, with coils around it. The scan has every second line, and
    24 in the middle."""

    def __init__(self, tall, step=2, seed=1):
        y, x = numpy.mgrid[-N:N, -(N // 2):N - N // 2] / N
        inside = (x / 0.38) ** 2 + (2 * y / tall) ** 2 < 1
        skull = inside & ((x / 0.33) ** 2 + (2 * y / (tall - 0.1)) ** 2 >= 1)
        blob = ((x - 0.1) / 0.1) ** 2 + ((y - 0.1) / 0.2) ** 2 < 1
        self.object = (0.4 * inside + 0.6 * skull + 0.3 * blob) * numpy.exp(1j * (1.2 * x + 2 * y ** 2))
        angles = 2 * numpy.pi * (numpy.arange(COILS) + 0.3) / COILS
        self.maps = numpy.array([numpy.exp(-((x - 0.55 * numpy.cos(a)) ** 2 + (y - 0.7 * numpy.sin(a)) ** 2) / 0.35
                                           + 1j * (a + numpy.cos(a) * x + numpy.sin(a) * y)) for a in angles])
        coils = self.fold(self.maps * self.object)
        self.truth = root(coils)
        rng = numpy.random.default_rng(seed)
        noise = rng.standard_normal((2, *coils.shape)) * SIGMA * self.truth.max() / numpy.sqrt(2)
        self.noisy = coils + noise[0] + 1j * noise[1]
        k_space = numpy.fft.fftshift(numpy.fft.fft2(numpy.fft.ifftshift(self.noisy, axes=(1, 2))), axes=(1, 2))
        self.lines = [ky for ky in range(-N // 2, N // 2) if ky % step == 0 or -12 <= ky < 12]
        self.data = k_space[:, numpy.array(self.lines) + N // 2]

    @staticmethod
    def fold(tall):
        """[.., 2 N, x] -> [.., N, x], voxel N/2 in the middle of both."""
        middle = tall[..., N // 2:N // 2 + N, :].copy()
        middle[..., N // 2:, :] += tall[..., :N // 2, :]
        middle[..., :N // 2, :] += tall[..., N // 2 + N:, :]
        return middle

    def write(self, name):
        ky, kx = numpy.meshgrid(self.lines, numpy.arange(N) - N // 2, indexing="ij")
        with h5py.File(name, "w") as file:
            scan = file.create_group("scan")
            scan.attrs["matrix"], scan.attrs["fov_mm"] = [N, N, 1], [240.0, 240.0, 5.0]
            scan["trajectory"] = numpy.stack([kx, ky, 0 * kx], -1).reshape(-1, 3).astype("f4")
            scan["data"] = self.data.reshape(COILS, -1).astype("c8")

    def by_true_maps(self):
        """Least squares from every second line alone, with exact maps: each voxel has up to four places of the tall
        object."""
        half, solved = N // 2, numpy.zeros_like(self.object)
        folded = (self.noisy + numpy.roll(self.noisy, half, axis=1)) / 2  # every second of N lines
        for x in range(N):
            for y in range(half):
                at = [i for i in range(y, 2 * N, half) if abs(self.object[i, x]) > 0]
                if at:
                    solved[at, x] = numpy.linalg.lstsq(self.maps[:, at, x] / 2, folded[:, y, x], rcond=None)[0]
        return root(self.fold(self.maps * solved))


def root(coils):
    return numpy.sqrt((abs(coils) ** 2).sum(0))


def image(scan, *options):
    done = make(scan, "-o", "i.h5", *options)
    with h5py.File("i.h5") as file:
        found = file["image"][0, 0]
    assert numpy.isfinite(found).all() and abs(found).max() > 0
    return found, done


def off(found, truth):
    """The relative error in the object."""
    return numpy.linalg.norm((abs(found) - truth)[truth > 0]) / numpy.linalg.norm(truth)


def test_folded(_):
    """Two sets must reach the error of least squares with the exact maps of all parts: they have more lines and a
    prior, but estimated maps. One set cannot reach it: its ghosts are several times as large. Each part is a
    third of the signal of the folded voxels, which are a fifth of all voxels. That is far more than noise. ESPIRiT's one
    set explains so little that auto takes other maps."""
    need_h5py()
    scan = Folded(1.3)
    scan.write("scan.h5")
    best = off(scan.by_true_maps(), scan.truth)
    found, done = image("scan.h5", "--save-coils", "two.h5")
    assert "two sets of maps" in done.out and "explain" not in done.err, done.out + done.err
    two, (ghosts, said) = off(found, scan.truth), image("scan.h5", "--map-sets", 1, "--coils", "espirit")
    one = off(ghosts, scan.truth)
    print(f"    error: one set {one:.4f}, two {two:.4f}, least squares with exact maps {best:.4f}")
    assert two < 1.1 * best and one > 4 * two
    assert "larger than the field of view" in said.err, said.err
    other, said = image("scan.h5", "--map-sets", 1)
    assert "larger than the field of view" in said.err and "so mri_recon uses maps by" in said.err, said.err
    assert two < off(other, scan.truth) < one
    forced, _ = image("scan.h5", "--map-sets", 2)
    assert forced.tobytes() == found.tobytes()
    # The NUFFT makes the same image, up to the solver's tolerance (1e-5) times the condition number (below 1e2).
    other, _ = image("scan.h5", "--operator", "nufft")
    assert abs(other - found).max() < 1e-3 * abs(found).max()
    # So do two devices, which share the coils.
    if program.DEVICE == "cpu":
        other, _ = image("scan.h5", "--device", "cpu:0,1")
        assert abs(other - found).max() < 1e-3 * abs(found).max()
    for prior in ("identity", "differences"):
        other, _ = image("scan.h5", "--prior", prior)
        assert off(other, scan.truth) < 2 * best, prior


def test_saved(_):
    """Files of both kinds store two sets and give the same bits. The first set alone can be read from either."""
    need_h5py()
    Folded(1.3).write("scan.h5")
    found, _ = image("scan.h5", "--save-coils", "two.h5")
    with h5py.File("two.h5") as file:
        maps = file["maps"][...]
        assert maps.shape == (1, 2, COILS, 1, N, N) and file["maps"].attrs["weighted"] == 1
    # The second map is nonzero only where parts overlap. Together the maps have at most two unit vectors.
    power = (abs(maps[0, :, :, 0]) ** 2).sum(1)
    assert power.sum(0).max() < 2 + 1e-4 and power[0].max() < 1 + 1e-4
    assert (power[1] > 0.5).mean() > 0.05 and (power[1, N // 2 - 8:N // 2 + 8] == 0).all()
    image("scan.h5", "--coils", "two.h5", "--save-coils", "two.cfl")
    for name in ("two.h5", "two.cfl"):
        again, done = image("scan.h5", "--coils", name)
        assert again.tobytes() == found.tobytes() and f"two sets of maps from {name}" in done.out, done.out
    dims = open("two.hdr", encoding="ascii").read().split("\n")[1].split()
    assert dims[:5] == [str(N), str(N), "1", str(COILS), "2"]
    first, _ = image("scan.h5", "--coils", "two.h5", "--map-sets", 1)
    other, _ = image("scan.h5", "--coils", "two.cfl", "--map-sets", 1)
    assert first.tobytes() == other.tobytes() != found.tobytes()


def test_one_set_is_enough(_):
    """An object that fits: every option gives the same bits as one set."""
    need_h5py()
    scan = Folded(0.9)
    scan.write("scan.h5")
    found, done = image("scan.h5", "--save-coils", "m.h5")
    one, _ = image("scan.h5", "--map-sets", 1)
    assert found.tobytes() == one.tobytes() and "two sets" not in done.out
    with h5py.File("m.h5") as file:
        assert file["maps"].shape == (COILS, 1, N, N)
    two, _ = image("scan.h5", "--map-sets", 2)  # the second map is 0, except by chance
    assert off(two, scan.truth) < 1.2 * off(found, scan.truth)


def test_noise_map(_):
    """All lines and almost no prior: noise is not amplified, with maps of length 1, one or two a voxel. With 100
    replicas, each voxel's deviation has an uncertainty of 1 / (2 sqrt 100) = 5 %, the mean of 50 voxels 0.7 %. At the rim, fading maps leave
    more to the prior."""
    need_h5py()
    scan = Folded(1.3, step=1)
    scan.write("scan.h5")
    make("scan.h5", "-o", "i.h5", "--noise-map", "n.h5", "--replicas", 100, "--save-coils", "m.h5", "--lambda", 1e-4, "--prior",
         "identity", "--tolerance", 1e-5)
    with h5py.File("n.h5") as file, h5py.File("m.h5") as of:
        g, power = file["g_factor"][0, 0], (abs(of["maps"][0, :, :, 0]) ** 2).sum(1)
    for name, where in (("one", (power[0] > 0.99) & (power[1] == 0)), ("two", (power[0] > 0.99) & (power[1] > 0.99))):
        assert where.sum() > 50
        print(f"    g where {name} part is: {g[where].mean():.3f}")
        assert abs(g[where].mean() - 1) < 0.03, name  # NaN fails


def test_refused(_):
    need_h5py()
    Folded(1.3).write("scan.h5")
    refuse(2, "--map-sets 'three'", "scan.h5", "--map-sets", "three")
    refuse(2, "--map-sets needs --method cg", "scan.h5", "--map-sets", 2, "--method", "adjoint")
    for coils in ("rss", "walsh"):
        refuse(2, "--map-sets 2 needs --coils auto, espirit", "scan.h5", "--map-sets", 2, "--coils", coils)
    with h5py.File("scan.h5", "a") as file:
        file["scan/sensitivity"] = numpy.ones((COILS, 1, N, N), "c8")
    refuse(3, ["scan.h5", "--map-sets 2"], "scan.h5", "--map-sets", 2)


if __name__ == "__main__":
    run_tests(globals())
