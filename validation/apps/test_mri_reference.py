#!/usr/bin/env python3
"""mri_recon --reference: other scans' images as anatomical priors, from every kind of file, wherever they lie.

usage: test_mri_reference.py PROGRAM [DEVICE] [test_name ...]
VOXFIELD_PHANTOM names mri_phantom.
"""
import json
import os
import pathlib
import shutil

from program import make, refuse, run  # first: it finds the other folders
import ismrmrd_file as mrd
from made_scan import h5py, image, numpy, phantom, relative, run_tests, skip_without_h5py
from nifti_file import affine_of, write_nifti
from seeds import generator, program_seed
from test_mri_bart import write_cfl

skip_without_h5py()
SEED = program_seed()
N = 24
GIVEN = ("--lambda", 0.3)  # a number: the image then depends on the reference alone


def scan(path="s.h5", n=N, finer=2, planes=1, **options):
    """A low-SNR scan of the head, without references of its own, and a reference of its field of view, finer: [z][y][x]."""
    words = [w for name, value in options.items() for w in ("--" + name.replace("_", "-"), value)]
    head = ("--phantom", "head", "--trajectory", "cartesian", "--seed", SEED)
    phantom(path, *head, "--matrix", f"{n},{n},{planes}", "--image-snr", 6, "--noise-scan", *words)
    phantom("fine.h5", *head, "--matrix", f"{finer * n},{finer * n},{finer * planes if planes > 1 else 1}", "--reference")
    with h5py.File("fine.h5") as file:
        return file["scan/reference"][0].astype(float)


def put_reference(path, values):
    with h5py.File(path, "r+") as file:
        file["scan/reference"] = numpy.asarray(values, "f4")


def mean_of_voxels(fine, axes):
    """Voxel n of a grid twice as coarse covers fine voxel 2 n, and half of both neighbours; at the face there is none before."""
    for axis in axes:
        fine = numpy.moveaxis(fine, axis, -1)
        before = numpy.concatenate([numpy.zeros_like(fine[..., :1]), fine[..., 1:-1:2]], -1)
        share = numpy.full(fine.shape[-1] // 2, 2.)
        share[0] = 1.5
        fine = numpy.moveaxis((before / 2 + fine[..., ::2] + fine[..., 1::2] / 2) / share, -1, axis)
    return fine


def made(*options, name="i.h5"):
    done = make(*options, "-o", name)
    return image(name), done


def told(done, word="reference"):
    return [line for line in done.out.splitlines() if line.startswith(word)]


# ---- files ----


def test_every_kind_of_file(_):
    """The same voxels on the scan's own grid, in each kind of file, give the image of /scan/reference, bit by bit."""
    same = mean_of_voxels(scan(), (1, 2)).astype("f4")
    shutil.copy("s.h5", "own.h5")
    put_reference("own.h5", same)
    expected = made("own.h5", "--prior", "reference", *GIVEN)[0]
    plain = made("s.h5", "--prior", "differences", *GIVEN)[0]
    assert relative(expected, plain) > 0.01  # else nothing would be tested
    voxel = (10, 10, 5)  # 240 mm, 5 mm thick
    for name in ("r.nii", "r.nii.gz", "p.hdr", "p.img"):
        write_nifti(name, same, voxel)
    write_nifti("d.nii", same, voxel, kind="f8")
    write_nifti("m.nii", same, [v / 1000 for v in voxel], units=1)  # metres
    write_cfl("r", same.transpose(2, 1, 0))
    with h5py.File("r.h5", "w") as file:  # of another program: without voxel sizes
        file["image"] = same
    with h5py.File("c.h5", "w") as file:  # complex, with a phase
        file["image"] = (same * numpy.float32(1)).astype("c8")
        file["image"].attrs["voxel_size"] = [float(v) for v in voxel]
    for name in ("r.nii", "r.nii.gz", "p.hdr", "p.img", "d.nii", "m.nii", "r.cfl", "r.h5", "c.h5"):
        found, done = made("s.h5", "--reference", name, *GIVEN)
        # 0.01 m in single precision is not quite 10 mm.
        assert (found == expected).all() or (name == "m.nii" and relative(found, expected) < 1e-5), (name, relative(found, expected))
        line = told(done)[0]
        assert name in line and "1 volume of 24 x 24 x 1" in line and "on 100 % of the image" in line, line
        assert ("field of view" in line) == (name in ("r.cfl", "r.h5")), line
    # A phase does not count: the magnitude does. It rounds.
    turned = numpy.exp(1j * numpy.linspace(0, 3, N))[:, None] * same
    write_cfl("t", turned.astype("c8").transpose(2, 1, 0))
    assert relative(made("s.h5", "--reference", "t.cfl", *GIVEN)[0], expected) < 1e-5
    # Integers of 1/1000 are off by up to 5e-4, of values up to 1.3.
    write_nifti("i.nii", numpy.round((same - 0.3) * 1000), voxel, kind="i2", slope=1e-3, intercept=0.3)
    assert relative(made("s.h5", "--reference", "i.nii", *GIVEN)[0], expected) < 1e-2


def test_our_images_as_references(_):
    """A water image that mri_recon made, in each of its formats that it reads, is a reference."""
    scan()
    phantom("w.h5", "--phantom", "head", "--trajectory", "cartesian", "--matrix", f"{2 * N},{2 * N},1", "--seed", SEED)
    images = []
    for ending in (".h5", ".nii", ".cfl"):
        make("w.h5", "-o", "w" + ending if ending != ".h5" else "water.h5")
        images.append(made("s.h5", "--reference", "water.h5" if ending == ".h5" else "w" + ending, *GIVEN)[0])
    assert (images[1] == images[2]).all() or relative(images[1], images[2]) < 1e-5
    assert relative(images[0], images[1]) < 1e-5


def test_finer(_):
    """A finer reference is averaged over the image's voxels, in 2D and 3D; a coarser one interpolated."""
    for planes, axes in ((1, (1, 2)), (12, (0, 1, 2))):
        fine = scan(planes=planes)
        shutil.copy("s.h5", "own.h5")
        put_reference("own.h5", mean_of_voxels(fine, axes))
        with h5py.File("s.h5") as file:
            fov = file["scan"].attrs["fov_mm"]
        voxel = fov / numpy.array(fine.shape[::-1])
        write_nifti("fine.nii", fine, voxel)
        expected = made("own.h5", "--prior", "reference", *GIVEN)[0]
        found, _ = made("s.h5", "--reference", "fine.nii", *GIVEN)
        every = numpy.ascontiguousarray(fine[:: 2 if planes > 1 else 1, ::2, ::2])
        # The means are sums of 27 products in double precision, and round to single: 6e-8 of each, which the solver's
        # tolerance of 1e-4 exceeds. Picking every other voxel is off by more.
        assert relative(found, expected) < 1e-5, planes
        shutil.copy("s.h5", "picked.h5")
        put_reference("picked.h5", every)
        assert relative(made("picked.h5", "--prior", "reference", *GIVEN)[0], expected) > 1e-3
    fine = scan(n=32)
    shutil.copy("s.h5", "own.h5")
    coarse = fine[:, ::4, ::4]
    put_reference("own.h5", numpy.stack([numpy.stack([numpy.interp(
        numpy.minimum(numpy.arange(32) / 2, 15), numpy.arange(16), row) for row in plane]) for plane in [numpy.stack([numpy.interp(
            numpy.minimum(numpy.arange(32) / 2, 15), numpy.arange(16), column) for column in coarse[0].T], 1)]]))
    write_nifti("coarse.nii", coarse, (15, 15, 5))
    away = relative(made("s.h5", "--reference", "coarse.nii", *GIVEN)[0], made("own.h5", "--prior", "reference", *GIVEN)[0])
    assert away < 1e-4, away  # the solver's tolerance


def test_several_volumes(_):
    """Several volumes are several references, as in /scan/reference."""
    fine = scan()
    same = mean_of_voxels(fine, (1, 2)).astype("f4")
    both = numpy.stack([same, numpy.roll(same, 5, 2)])
    put_reference("s.h5", both)
    expected = made("s.h5", "--prior", "reference", *GIVEN)[0]
    write_nifti("r.nii", both, (10, 10, 5))
    found, done = made("s.h5", "--reference", "r.nii", *GIVEN)  # in place of the scan's own
    assert (found == expected).all() and "2 volumes of" in told(done)[0]


# ---- positions ----


def stack(path, places, n=N, seed=0, fov=(240, 240, 5)):
    """2D slices, each with a position and axes of its own, in the patient's coordinates (LPS)."""
    rho = mrd.phantom(n, n)
    rows = []
    for number, (position, axes) in enumerate(places):
        rng = generator(seed + number)
        data = mrd.transform(rho) + 2 * n / 6 * mrd.complex_noise(rng, (n, n))
        rows += [mrd.acquisition(data[y][None], axes=axes, position=position, kspace_encode_step_1=y, slice=number)
                 for y in range(n)]
    mrd.write(path, mrd.header(mrd.encoding((n, n, 1), fov)), rows)


def turn(a, b, c):
    """A rotation: columns are axes."""
    def about(axis, angle):
        i, k = [x for x in range(3) if x != axis]
        m = numpy.eye(3)
        m[i, i] = m[k, k] = numpy.cos(angle)
        m[i, k], m[k, i] = -numpy.sin(angle), numpy.sin(angle)
        return m
    return about(0, a) @ about(1, b) @ about(2, c)


def smooth(at):
    """A smooth function of the patient's coordinates in mm (RAS) that differs along all axes, [...]."""
    x, y, z = at[..., 0], at[..., 1], at[..., 2]
    return numpy.tanh((x - 20) / 30) + 0.7 * numpy.tanh((y + 0.3 * z + 10) / 25) + 0.5 * numpy.cos(z / 40 + x / 90)


def sampled(affine, shape):
    """The function on a grid: [z][y][x]."""
    z, y, x = numpy.meshgrid(*map(numpy.arange, shape), indexing="ij")
    return smooth(numpy.stack([x, y, z], -1) @ affine[:, :3].T + affine[:, 3])


def fine_grid(rotation, centre, step, count):
    affine = numpy.empty((3, 4))
    affine[:, :3] = rotation * step
    affine[:, 3] = centre - affine[:, :3] @ (numpy.array(count) // 2)
    return affine


def test_orientations_and_positions(_):
    """A scan with a position. A reference on its grid, stored in any order and direction of axes, gives the same image; a finer one
    that is rotated and shifted gives nearly that; one that is said to lie elsewhere gives another."""
    axes = turn(0.2, -0.3, 0.5)
    stack("s.mrd", [((12, -7, 30), axes.T)])
    make("s.mrd", "-o", "i.nii")
    own = affine_of("i.nii")
    values = sampled(own, (1, N, N))
    write_nifti("own.nii", values, affine=own)
    expected, done = made("s.mrd", "--reference", "own.nii", *GIVEN)
    assert "placed by the positions" in told(done)[0], done.out
    assert relative(expected, made("s.mrd", "--prior", "differences", *GIVEN)[0]) > 0.01
    # Stored [x][z][y], y backwards.
    other = numpy.stack([own[:, 2], -own[:, 1], own[:, 0], own[:, 3] + (N - 1) * own[:, 1]], 1)[:, [1, 0, 2, 3]]
    stored = values.transpose(2, 0, 1)[:, :, ::-1]
    write_nifti("stored.nii", stored, affine=other)
    # The affine of a file is in single precision: the grid is off by 1e-6 voxels, and box and share of a neighbour with it.
    assert relative(made("s.mrd", "--reference", "stored.nii", *GIVEN)[0], expected) < 1e-4
    # Rotated, 3 mm, with thickness: the mean over a slice of 5 mm and voxels of 10 mm. Interpolation and mean of this function
    # are off by h^2 f'' / 8 of 3 mm and (10 mm)^2 f'' / 24, f'' < 1 / 30^2: 0.006 of values near 1.
    fine = fine_grid(turn(-0.4, 0.1, 0.9), own[:, :3] @ [N // 2, N // 2, 0] + own[:, 3] + [4, -3, 5], 3, (110, 110, 110))
    write_nifti("turned.nii", sampled(fine, (110, 110, 110)), affine=fine)
    found, done = made("s.mrd", "--reference", "turned.nii", *GIVEN)
    assert "on 100 %" in told(done)[0], done.out
    assert relative(found, expected) < 0.01, relative(found, expected)
    moved = fine + numpy.array([[0, 0, 0, 25], [0, 0, 0, 0], [0, 0, 0, 0]])
    write_nifti("moved.nii", sampled(fine, (110, 110, 110)), affine=moved)
    assert relative(made("s.mrd", "--reference", "moved.nii", *GIVEN)[0], expected) > 2 * relative(found, expected)


def test_quaternions(_):
    """The qform says the same as the sform."""
    stack("s.mrd", [((12, -7, 30), numpy.eye(3))])
    b, c, d = 0.1, -0.3, 0.25
    a = (1 - b * b - c * c - d * d) ** 0.5
    rotation = numpy.array([[a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
                            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
                            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b]])
    for flip in (1., -1.):
        affine = fine_grid(rotation, numpy.array([-12, 7, 30.]), 4, (90, 90, 90))
        affine[:, 2] *= flip
        affine[:, 3] = numpy.array([-12, 7, 30.]) - affine[:, :3] @ [45, 45, 45]
        values = sampled(affine, (90, 90, 90))
        write_nifti("s.nii", values, (4, 4, 4), affine=affine)
        write_nifti("q.nii", values, (4, 4, 4), quaternion=(b, c, d, *affine[:, 3]), flip=flip)
        # Quaternion and affine are in single precision: 1e-7 of 200 mm.
        assert relative(made("s.mrd", "--reference", "q.nii", *GIVEN)[0], made("s.mrd", "--reference", "s.nii", *GIVEN)[0]) < 1e-4


def test_slices_of_several_orientations(_):
    """Each slice has its own resampling: the image of each is that of a scan of this slice alone."""
    places = [((12, -7, 30), turn(0.2, 0.1, 0).T), ((-5, 0, -20), turn(0, 1.4, 0.3).T)]
    fine = fine_grid(numpy.eye(3), numpy.zeros(3), 4, (120, 120, 120))
    write_nifti("r.nii", sampled(fine, (120, 120, 120)), affine=fine)
    alone = []
    for number, one in enumerate(places):
        stack("one.mrd", [one], seed=7 + number)
        alone.append(made("one.mrd", "--reference", "r.nii", *GIVEN)[0].reshape(N, N))
    stack("all.mrd", places, seed=7)
    found = made("all.mrd", "--reference", "r.nii", *GIVEN)[0].reshape(-1, N, N)
    plain = made("all.mrd", "--prior", "differences", *GIVEN)[0].reshape(-1, N, N)
    for one, slice_of_all, without in zip(alone, found, plain):
        assert relative(slice_of_all, one) < 1e-5 and relative(slice_of_all, without) > 0.01
    # A file that does not say where it lies cannot be placed.
    write_cfl("r", numpy.ones((N, N, 1), "c8") * numpy.arange(N)[:, None, None])
    refuse(3, ["r.cfl", "2 places"], "all.mrd", "--reference", "r.cfl", "-o", "x.h5")


def test_oversampling_and_matrix(_):
    """The reference follows the image: with readout oversampling, and with --matrix."""
    fine = scan("s.mrd", oversample=2)
    write_nifti("r.nii", fine, (5, 5, 5))
    wide = numpy.zeros((1, 2 * N, 4 * N))  # the same within twice the field of view along x; the head ends before
    wide[..., N:3 * N] = fine
    write_nifti("wide.nii", wide, (5, 5, 5))
    a, done = made("s.mrd", "--reference", "r.nii", *GIVEN)
    assert a.shape == (1, 1, N, N) and "on 100 %" in told(done)[0]
    b, _ = made("s.mrd", "--reference", "wide.nii", *GIVEN)
    # Outside the field of view nothing is known in the first, and that is not quite the same: h is of known differences, of which
    # the wide one has twice as many. So images differ, but hardly.
    assert 0 < relative(a, b) < 0.2, relative(a, b)
    scan("p.h5")
    found, done = made("p.h5", "--reference", "r.nii", "--matrix", "16,16,1", *GIVEN)
    # Voxels of 15 mm: of the first along an axis, a third is outside; of the one in the corner, more than half.
    assert found.shape == (1, 1, 16, 16) and "on 99.6 %" in told(done)[0], told(done)
    assert relative(found, made("p.h5", "--prior", "differences", "--matrix", "16,16,1", *GIVEN)[0]) > 0.01


# ---- what is refused ----


def test_bad_files(_):
    fine = scan()
    good = write_nifti("good.nii", fine, (5, 5, 5))
    refuse(3, "nowhere.nii", "s.h5", "--reference", "nowhere.nii", "-o", "x.h5")
    refuse(3, ["bad.txt"], "s.h5", "--reference", "bad.txt", "-o", "x.h5")
    bad = fine.copy()
    bad[0, 3, 5] = numpy.nan
    write_nifti("nan.nii", bad, (5, 5, 5))
    refuse(3, ["nan.nii", "(5, 3, 0)", "NaN"], "s.h5", "--reference", "nan.nii", "-o", "x.h5")
    write_nifti("complex.nii", fine, (5, 5, 5), kind="c8")
    refuse(3, ["complex.nii", "real numbers"], "s.h5", "--reference", "complex.nii", "-o", "x.h5")
    write_nifti("even.nii", numpy.ones_like(fine), (5, 5, 5))
    refuse(3, ["even.nii", "no edges"], "s.h5", "--reference", "even.nii", "-o", "x.h5")
    write_nifti("small.nii", fine[:, :6, :6], (5, 5, 5))  # 1.6 % of the image
    refuse(3, ["small.nii", "covers 1.", "10 %"], "s.h5", "--reference", "small.nii", "-o", "x.h5")
    write_cfl("wide", fine[:, ::2].transpose(2, 1, 0).astype("c8"))  # 48 x 24 for a square image
    refuse(3, ["wide.cfl", "48 x 24 x 1", "24 x 24 x 1"], "s.h5", "--reference", "wide.cfl", "-o", "x.h5")
    with h5py.File("deep.h5", "w") as file:
        file["image"] = numpy.ones((1, 1, 1, 4, 4))
    refuse(3, ["deep.h5", "[frame][z][y][x]"], "s.h5", "--reference", "deep.h5", "-o", "x.h5")
    pathlib.Path("short.nii").write_bytes(pathlib.Path(good).read_bytes()[:-100])
    refuse(3, ["short.nii", "incomplete"], "s.h5", "--reference", "short.nii", "-o", "x.h5")
    os.remove(write_nifti("pair.img", fine, (5, 5, 5)))
    refuse(3, ["pair.img"], "s.h5", "--reference", "pair.hdr", "-o", "x.h5")
    refuse(2, ["--reference", "--prior reference"], "s.h5", "--reference", good, "--prior", "wavelet", "-o", "x.h5")
    refuse(2, ["--reference", "--method cg"], "s.h5", "--reference", good, "--method", "gridding", "-o", "x.h5")
    refuse(3, ["--reference", "/scan/reference"], "s.h5", "--prior", "reference", "-o", "x.h5")
    refuse(2, ["good.nii", "reference"], "s.h5", "--reference", good, "-o", good)


def test_elsewhere(_):
    """A reference that does not overlap the image is refused."""
    stack("s.mrd", [((12, -7, 30), numpy.eye(3))])
    far = fine_grid(numpy.eye(3), numpy.array([500., 0, 0]), 4, (60, 60, 60))
    write_nifti("far.nii", sampled(far, (60, 60, 60)), affine=far)
    refuse(3, ["far.nii", "covers 0 %"], "s.mrd", "--reference", "far.nii", "-o", "x.h5")
    with h5py.File("places.h5", "w") as file:
        file["image"] = sampled(far, (2, 8, 8))[:, None]
        file["affine"] = numpy.stack([numpy.eye(4)[:3], numpy.eye(4)[:3] + 1])
    refuse(3, ["places.h5", "different places"], "s.mrd", "--reference", "places.h5", "-o", "x.h5")


# ---- strength ----


def percent(path="report.json"):
    return json.loads(pathlib.Path(path).read_text())["error"]["scaled"]["percent"]


def strength(path="report.json"):
    return json.loads(pathlib.Path(path).read_text())["reconstruction"]["reference"]


def auto(*options):
    done = make("s.h5", *options, "-o", "a.h5", "--compare", "truth", "--report", "report.json")
    return percent(), done


def test_strength_from_the_data(_):
    """With --lambda auto, a reference whose edges are the image's gains much. What says nothing of the image costs nothing: a risk
    that is estimated from n numbers is off by its share of about sqrt(2 / n), here 2 % of the risk and so 1 % of the error. A
    mirrored one is noticed."""
    fine = scan(n=64)
    voxel = (240 / 128, 240 / 128, 5)
    rng = generator()
    spectrum, _ = auto("--prior", "spectrum")
    write_nifti("r.nii", fine, voxel)
    with_reference, done = auto("--reference", "r.nii")
    facts = strength()
    print("    percent error", spectrum, with_reference, facts["agreement"])
    assert with_reference < 0.85 * spectrum and "by SURE" in done.out and not done.err, done.err
    assert facts["strength_of_differences"] > 0 and facts["agreement"] > 0.4 and facts["risk_gain"] > 0
    read = json.loads(pathlib.Path("report.json").read_text())["input"]["reference"]
    assert read["matrix"] == [128, 128, 1] and len(read["voxels_sha256"]) == 64 and read["covered"] == 1, read
    write_nifti("m.nii", fine[:, :, ::-1], voxel)
    mirrored, done = auto("--reference", "m.nii")
    assert "mirrored along x" in done.err and mirrored < 1.01 * spectrum, (mirrored, done.err)
    write_nifti("n.nii", rng.standard_normal(fine.shape), voxel)
    noise, done = auto("--reference", "n.nii")
    assert "hardly those of the image" in done.err and noise < 1.01 * spectrum, (noise, done.err)
    assert abs(strength()["agreement"]) < 0.1
    # With a number, there is no search, but the reference is checked as well.
    done = make("s.h5", "--reference", "m.nii", "--lambda", 1, "-o", "b.h5")
    assert "mirrored along x" in done.err and "strength" not in done.out, done.err
    # The references of the scan itself.
    put_reference("s.h5", mean_of_voxels(fine, (1, 2)))
    own, _ = auto("--prior", "reference")
    assert abs(own / with_reference - 1) < 0.03, (own, with_reference)


def test_no_noise(_):
    """Without noise there is nothing to gain."""
    phantom("s.h5", "--phantom", "head", "--trajectory", "cartesian", "--matrix", f"{N},{N},1", "--reference")
    assert make("s.h5", "--prior", "reference", "-o", "a.h5").out.count("reference  agreement") == 1


def test_frames_and_coils(_):
    """Several frames and coils share a reference; all devices and parts make the same image."""
    fine = scan(frames=3, coils=3)
    write_nifti("r.nii", fine, (5, 5, 5))
    whole = made("s.h5", "--reference", "r.nii")[0]
    assert whole.shape == (3, 1, N, N)
    for part in ("1/2", "2/2"):
        make("s.h5", "--reference", "r.nii", "--part", part, "-o", "p.h5")
    assert (made("s.h5", "--reference", "r.nii", "--join", name="p.h5")[0] == whole).all()
    # Another reference under the same name is another result.
    make("s.h5", "--reference", "r.nii", "--part", "1/2", "-o", "q.h5")
    write_nifti("r.nii", fine[:, ::-1], (5, 5, 5))
    make("s.h5", "--reference", "r.nii", "--part", "2/2", "-o", "q.h5")
    done = run("s.h5", "--reference", "r.nii", "--join", "-o", "q.h5")
    assert done.status != 0 and "other options" in done.err or "differ" in done.err or "part" in done.err, done.err
    # So for both files of a pair.
    write_nifti("p.img", fine, (5, 5, 5))
    make("s.h5", "--reference", "p.hdr", "--part", "1/2", "-o", "t.h5")
    write_nifti("p.img", fine[:, ::-1], (5, 5, 5))
    make("s.h5", "--reference", "p.hdr", "--part", "2/2", "-o", "t.h5")
    assert run("s.h5", "--reference", "p.hdr", "--join", "-o", "t.h5").status != 0
    # A noise map, and several inputs.
    make("s.h5", "--reference", "r.nii", "-o", "n.h5", "--noise-map", "m.h5", "--replicas", 4)
    shutil.copy("s.h5", "s2.h5")
    make("s.h5", "s2.h5", "--reference", "r.nii", "--output-dir", "out")
    assert (image("out/s_image.h5") == image("out/s2_image.h5")).all()


def test_plan(_):
    """The plan and --info say what reference is used, and where it lies."""
    fine = scan()
    write_nifti("r.nii", fine, (5, 5, 5))
    for how in ("--dry-run", "--info"):
        line, = told(make("s.h5", "--reference", "r.nii", how))
        assert line.startswith("reference  r.nii: 1 volume of 48 x 48 x 1, voxels of 5 x 5 x 5 mm, on 100 % of the image; "), line


if __name__ == "__main__":
    run_tests(globals())
