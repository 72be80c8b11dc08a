#!/usr/bin/env python3
"""mri_recon on ISMRMRD files whose counters and sizes do not tell everything: directions of diffusion in other counters, averages
that differ, partial echoes in a matrix of their own. Each kind with a file that looks like it and is not.

usage: test_mri_counters.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import re

import made_scan
from ismrmrd_file import NOISE, acquisition, complex_noise, encoding, header, transform, write
from made_scan import h5py, image
from program import refuse
from small_scan import CLOSE, COILS, FOV, MAPS, N, OTHER, RANDOM, SIGMA, TRUTH, errors, lines, run, samples, np


def affine(path):
    with h5py.File(path) as file:
        return file["affine"][...]


def diffusion(name):
    words = f"<sequenceParameters><diffusionDimension>{name}</diffusionDimension></sequenceParameters>" if name else ""
    return header(encoding((N, N, 1), FOV)).replace("</ismrmrdHeader>", words + "</ismrmrdHeader>")


# ---- what is measured several times ----

def test_directions_of_diffusion():
    """Directions in the counter that the header names are images, also beside sets and averages."""
    for name, values in (("average", {"average": 1}), ("segment", {"segment": 1}), ("user_0", {"user": (1,)}),
                         ("USER_7", {"user": (0,) * 7 + (1,)})):
        write("s.h5", diffusion(name), lines(samples()) + lines(samples(OTHER), **values))
        said = run()
        assert f"diffusionDimension is {name.lower()}: each of its values, 0 to 1" in said and "warning" not in said, said
        assert max(errors(TRUTH, OTHER)) < CLOSE, (name, errors(TRUTH, OTHER))
    # Two sets of two directions of two averages.
    write("s.h5", diffusion("segment"), [a for n in range(8) for a in lines(samples(OTHER if n & 2 else TRUTH), set=n >> 2,
                                                                             segment=n >> 1 & 1, average=n & 1)])
    run()
    assert max(errors(TRUTH, OTHER, TRUTH, OTHER)) < CLOSE
    # The opposite: counters that the image has anyway, and values that are all the same.
    for name, values in (("repetition", {"repetition": 1}), ("contrast", {"contrast": 1})):
        write("s.h5", diffusion(name), lines(samples()) + lines(samples(OTHER), **values))
        assert "diffusionDimension" not in run() and max(errors(TRUTH, OTHER)) < CLOSE
    write("s.h5", diffusion("average"), lines(samples()))
    assert "diffusionDimension" not in run() and errors(TRUTH)[0] < CLOSE


def test_averages_that_differ():
    """Of two averages whose phase differs by a, the mean has cos(a / 2): 0.73 for 1.5, and 0.97 for 0.5, which is not told.
    Noise changes neither, even if it has a tenth of the centre's amplitude. Readouts that repeat others without an average are
    counted."""
    for how, values in (("`average` tells", {"average": 1}), ("`segment` tells", {"segment": 1}), ("with the same counters, and differ", {})):
        write("s.h5", diffusion(None), lines(samples()) + lines(samples() * np.exp(1.5j), **values))
        said = run()
        assert f"{N} readouts repeat others" in said and how in said and "loses 27 %" in said, said
    write("s.h5", diffusion(None), lines(samples()) + lines(samples(OTHER), average=1))
    assert "differ from them" not in run()  # 0.65 and 1 of the object: 3 % are lost
    for angle in (0, .5):
        for sigma in (SIGMA, .1 * N * N * TRUTH.mean() / COILS ** .5):
            write("s.h5", diffusion(None), lines(samples(sigma=sigma)) + lines(samples(sigma=sigma) * np.exp(1j * angle), average=1))
            said = run()
            assert "repeat others" not in said, (angle, sigma, said)
    write("s.h5", diffusion(None), lines(samples()) + lines(samples()))
    assert f"{N} readouts repeat others with the same counters" in run() and errors(TRUTH)[0] < CLOSE
    write("s.h5", diffusion(None), lines(samples(0 * TRUTH)) + lines(samples(0 * TRUTH), average=1))
    assert "repeat others" not in run("--coils", "rss")  # noise alone


def spokes(count, picture, first=0):
    """Radial samples by direct sums: [coil][spoke][sample], k in cycles per field of view."""
    angle = np.pi * (first + np.arange(count)) / count
    k = np.stack([np.cos(angle), np.sin(angle)], -1)[:, None] * np.arange(-N // 2, N // 2)[:, None]
    y, x = (np.mgrid[:N, :N] - N // 2) / N
    along = [np.exp(-2j * np.pi * np.multiply.outer(k[..., a], r)) for a, r in ((0, x[0]), (1, y[:, 0]))]
    data = np.einsum("smx,smy,cyx->csm", along[0], along[1], picture * MAPS, optimize=True)
    return k, data + SIGMA * complex_noise(RANDOM, data.shape)


def test_spokes_that_differ():
    """Stored trajectories: spokes repeat others if k is the same. Frames that are cut anew are no averages."""
    def scan(turn, angle, **values):
        made = []
        for n, phase in ((0, 0), (1, angle)):
            k, d = spokes(60, TRUTH, first=n * turn)
            made += [acquisition(d[:, s] * np.exp(1j * phase), traj=k[s] / N, **(values if n else {})) for s in range(60)]
        write("s.h5", header(encoding((N, N, 1), FOV, trajectory="radial")), made)
    scan(0, 1.5, average=1)
    assert "60 readouts repeat others" in run()
    assert "repeat others" not in run("--spokes-per-frame", "60")
    scan(.5, 1.5, average=1)
    assert "repeat others" not in run()


# ---- centres and sizes ----

def test_partial_echo_in_its_own_matrix():
    """Siemens' converter states the samples that a partial echo has as the encoded matrix, over the field of view of the whole
    one: the voxels are the image's. The part that is missing costs up to 1 % of this smooth phantom."""
    wide = np.zeros((COILS, N, 2 * N), complex)
    wide[..., N // 2:N // 2 + N] = TRUTH * MAPS
    k = transform(wide)
    k += SIGMA * 2 ** .5 * complex_noise(RANDOM, k.shape)
    for cut in (3, 6, 8, 12, 30):
        write("s.h5", header(encoding((2 * N - cut, N, 1), (480, 240, 5), recon=(N, N, 1), recon_fov=FOV)),
              [acquisition(k[:, n, cut:], kspace_encode_step_1=n, center=N - cut) for n in range(N)])
        said = run()
        assert "are partial echoes" in said or "are oversampled" in said, (cut, said)
        assert "warning" not in said and errors(TRUTH)[0] < CLOSE + .01, (cut, errors(TRUTH), said)
    # The opposite: a centre beside the middle of a whole readout is no partial echo.
    write("s.h5", header(encoding((2 * N, N, 1), (480, 240, 5), recon=(N, N, 1), recon_fov=FOV)),
          [acquisition(k[:, n], kspace_encode_step_1=n, center=N - 1) for n in range(N)])
    assert "where the header has" not in run() and errors(TRUTH)[0] < CLOSE


def test_field_of_view_without_the_oversampling():
    """A header that has the oversampling in its matrix alone: the object would be half as wide. The message names the option that
    gives the right image."""
    wide = np.zeros((COILS, N, 2 * N), complex)
    wide[..., N // 2:N // 2 + N] = TRUTH * MAPS
    k = transform(wide)
    write("s.h5", header(encoding((2 * N, N, 1), FOV, recon=(N, N, 1))), lines(k + SIGMA * 2 ** .5 * complex_noise(RANDOM, k.shape)))
    assert "give --oversampling 2" in run()
    assert "warning" not in run("--oversampling", "2") and errors(TRUTH)[0] < CLOSE


def test_interpolation_of_the_scanner():
    """GE's files state the matrix after filling with zeros, twice as fine here: a note says that the image keeps what was measured.
    A matrix that is coarser, or coarser along one axis, is another matter."""
    for recon, warned in (((2 * N, 2 * N, 1), False), ((N, 2 * N, 1), False), ((N, N // 2, 1), True), ((N // 2, 2 * N, 1), True)):
        write("s.h5", header(encoding((N, N, 1), FOV, recon=recon), vendor="GE MEDICAL SYSTEMS"), lines(samples()))
        said = run()
        assert "reconSpace has" in said and ("warning" in said) == warned, (recon, said)
        assert errors(TRUTH)[0] < CLOSE


def test_slices_counted_in_step_2():
    """Positions tell slices from partitions, whatever the header has along z. Partitions have one position, and places that
    are not even are a patient's who was followed: those are no slices."""
    def scan(nz, fov_z, places, axes=((1, 0, 0), (0, 1, 0), (0, 0, 1))):
        made = [acquisition(one, kspace_encode_step_1=n, kspace_encode_step_2=s, position=place, axes=axes)
                for s, (k, place) in enumerate(zip(slices, places)) for n, one in enumerate(k.transpose(1, 0, 2))]
        write("s.h5", header(encoding((N, N, nz), (240, 240, fov_z))), made)
        return run()
    truths = [TRUTH, OTHER, .5 * TRUTH]
    slices = [samples(one) for one in truths]
    even = [(3, -5, 8. * s) for s in range(3)]
    for nz, fov_z, places in ((1, 5, even), (3, 24, even), (4, 32, even[::-1])):
        said = scan(nz, fov_z, places)
        assert "counts slices" in said and "warning" not in said, said
        made = abs(image("i.h5"))[0]
        order = truths if places == even else truths[::-1]
        assert max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(made, order)) < 2 * CLOSE
        step = np.array(affine("i.h5"))[0, :, 2]
        assert np.allclose(step, (0, 0, 8)), step
    for places in ([(3, -5, 8)] * 3, [(3, -5, 0), (3, -5, 8), (3, -5, 9)], [(3, -5, 0), (9, -5, 0), (15, -5, 0)]):
        assert "counts slices" not in scan(3, 24, places)


def test_partitions_counted_as_slices():
    """GE's converter counts partitions in idx.slice, each with the place of a slice, states the thickness of one as the field of view
    and calls the scan 3D. Voxel z lies where the file says that slice z does. Without that word, the energy is evidence, but a
    warning is all; it is none for slices, of a scan that is called 2D or nothing."""
    nz, gap = 12, 4
    volume = np.array([(0.3 + np.sin(np.pi * (z + .5) / nz)) * (OTHER if z % 3 else TRUTH) for z in range(nz)])
    k = transform(volume * MAPS[:, None], axes=(-3, -2, -1))
    k = k + 3 * SIGMA * complex_noise(RANDOM, k.shape)  # a voxel has nz^-0.5 of the noise of a slice with SIGMA, times 3

    def scan(kind, planes, sign=1, header_nz=nz, places=True):
        middle = f"<slice><minimum>0</minimum><maximum>{nz - 1}</maximum><center>{nz // 2}</center></slice></encodingLimits>"
        xml = header(encoding((N, N, header_nz), (240, 240, gap), centers=(N // 2, 0)).replace("</encodingLimits>", middle))
        word = f"<userParameterString><name>mrAcquisitionType</name><value>{kind}</value></userParameterString>" if kind else ""
        write("s.h5", xml.replace("</ismrmrdHeader>", f"<userParameters>{word}</userParameters></ismrmrdHeader>"),
              [a for z in range(nz) for a in lines(planes[:, z], slice=z, position=(0, 0, sign * gap * z if places else 0))])
        return run()

    for sign, places in ((1, True), (-1, True), (1, False)):
        said = scan("3D", k, sign, places=places)
        made = abs(image("i.h5"))[0]
        assert np.linalg.norm(made - volume) / np.linalg.norm(volume) < CLOSE
        assert "counts the 12 partitions of a volume" in said and "warning" not in said, said
        for z in (0, nz - 1) if places else ():
            assert np.allclose(affine("i.h5")[0] @ (N // 2, N // 2, z, 1), (0, 0, sign * gap * z), atol=1e-4), affine("i.h5")
    assert "seem to be partitions of a volume" in scan("", k)
    assert "if they count partitions, the image is wrong" in scan("3D", k, header_nz=5)
    planes = np.array([samples(picture) for picture in volume]).swapaxes(0, 1)
    for kind in ("2D", ""):
        said = scan(kind, planes)
        assert "partitions" not in said and "warning" not in said, said
        assert np.linalg.norm(abs(image("i.h5"))[0] - volume) / np.linalg.norm(volume) < CLOSE


def test_slices_without_counters():
    """Slices that their positions alone tell apart, in any order, with a counter of images in the place of theirs, with other
    counters, and with calibration lines. A position that follows a patient makes no slices."""
    truths = [TRUTH, OTHER, .5 * TRUTH]
    axes, normal = ((0, 1, 0), (0, 0, -1), (-1, 0, 0)), np.array((-1, 0, 0))

    def scan(gap, values=lambda s: {}, order=(0, 2, 1), count=3, more=(), moved=(0, 0, 0), fov=FOV):
        slices = [samples(one) for one in truths[:count]]
        places = [np.array((30, 4, 5)) + gap * s * normal + s * np.array(moved) for s in range(count)]
        made = [acquisition(slices[s][:, n], kspace_encode_step_1=n, position=places[s], axes=axes, **values(s), **extra)
                for extra in (more or [{}]) for n in range(N) for s in order if s < count]
        write("s.h5", header(encoding((N, N, 1), fov)), made)
        return run(), slices, places
    for values in (lambda s: {}, *(lambda s, name=name: {name: s} for name in ("repetition", "phase", "set", "contrast", "average"))):
        said, _, places = scan(6, values)
        assert "acquisitions lie at 3 places along the normal" in said and "warning" not in said, said
        made = abs(image("i.h5"))
        assert made.shape == (1, 3, N, N) and max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(made[0], truths)) < 2 * CLOSE
        place = np.array(affine("i.h5"))[0]
        assert np.allclose(place[:, 2], 6 * normal) and np.allclose(place @ (N // 2, N // 2, 0, 1), places[0], atol=1e-3), place
    scan(6, more=[{"repetition": r, "slice": 7} for r in range(2)])
    assert image("i.h5").shape == (2, 3, N, N)
    # Slabs of one slice number each time the table has moved.
    write("s.h5", header(encoding((N, N, 2), (240, 240, 10))), [
        acquisition(one, kspace_encode_step_1=n, kspace_encode_step_2=p, position=(0, 0, 10 * s))
        for s in range(2) for p in range(2) for n, one in enumerate(samples(truths[s]).transpose(1, 0, 2))])
    assert "2 slabs" in run() and image("i.h5").shape[0] == 2
    # The opposite: what is followed, a few lines elsewhere, places beside the normal.
    for gap, values, moved in ((1, lambda s: {"average": s}, (0, 0, 0)), (.2, lambda s: {}, (0, 0, 0)), (0, lambda s: {}, (0, 6, 0))):
        said, _, _ = scan(gap, values, moved=moved)
        assert "places along the normal" not in said and "acquisitions of slice 0 lie up to" in said, said
    write("s.h5", header(encoding((N, N, 1), FOV)), [acquisition(one, kspace_encode_step_1=n, position=(0, 0, 6 * (n > 40)))
                                                     for n, one in enumerate(samples().transpose(1, 0, 2))])
    assert "acquisitions of slice 0 lie up to 6 mm" in run()


def test_orientations_without_counters():
    """Localizers whose orientations only the directions tell apart: each is a volume with its own place. A turn of two degrees
    is a patient's who was followed."""
    truths = [TRUTH, OTHER, .5 * TRUTH]
    whole = [((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, -1), (-1, 0, 0)), ((0, 1, 0), (-1, 0, 0), (0, 0, 1))]

    def scan(orientations, values):
        write("s.h5", header(encoding((N, N, 1), FOV)), [a for o, axes in enumerate(orientations)
                                                         for a in lines(samples(truths[o]), axes=axes, position=(9, 4, 5), **values(o))])
        return run()
    for values in (lambda o: {}, lambda o: {"repetition": o}, lambda o: {"set": o, "slice": 3}):
        said = scan(whole, values)
        assert "3 places of several orientations" in said and "warning" not in said, said
        assert max(errors(*truths)) < CLOSE, errors(*truths)
        for axes, place in zip(whole, np.array(affine("i.h5"))):
            assert np.allclose(place[:, :3], 5 * np.array(axes).T, atol=1e-5), place
            assert np.allclose(place @ (N // 2, N // 2, 0, 1), (9, 4, 5), atol=1e-4), place
    turned = ((np.cos(.035), np.sin(.035), 0), (-np.sin(.035), np.cos(.035), 0), (0, 0, 1))
    said = scan([whole[0], turned], lambda o: {"repetition": o})
    assert "of several orientations" not in said and "differ in orientation" in said, said


def test_counters_from_one():
    """Writers that count from 1: step 2 of a plane is 1 then, whose centre the header has at 0."""
    k = samples()
    for slices in (1, 2):
        write("s.h5", header(encoding((N, N, 1), FOV, centers=(N // 2 + 1, 0))), [
            acquisition(k[:, n], kspace_encode_step_1=n + 1, kspace_encode_step_2=1, average=1, slice=s + 1, contrast=1, phase=1,
                        repetition=1, set=1, segment=1, position=(0, 0, 5 * s)) for s in range(slices) for n in range(N)])
        assert "warning" not in run()
        made = abs(image("i.h5"))
        assert made.shape == (1, slices, N, N)
        assert max(np.linalg.norm(one - TRUTH) / np.linalg.norm(TRUTH) for one in made[0]) < CLOSE


def test_slices_with_neither_counters_nor_positions():
    """What the header has, or the difference of the readouts, tells them from averages."""
    limits = "<slice><minimum>0</minimum><maximum>{}</maximum><center>0</center></slice></encodingLimits>"
    for slices, words in ((2, "and the header has 2 slices, but the acquisitions 1"), (1, "they are averaged")):
        xml = header(encoding((N, N, 1), FOV)).replace("</encodingLimits>", limits.format(slices - 1))
        write("s.h5", xml, lines(samples()) + lines(samples()))
        said = run()
        assert words in said and ("warning" in said) == (slices > 1), said
    write("s.h5", diffusion(None), lines(samples()) + lines(samples(OTHER)))  # the mean loses 3 %
    assert "count them in `slice`" in run()
    # The mean of slices that differ in their details alone loses 0.1 % at the centre, and a tenth and more of the energy beside it.
    # An object that moves by a third of a voxel, or turns its phase by 0.1, loses 1 % at most.
    y, x = (np.mgrid[:N, :N] - N // 2) / N
    inside = 1 / (1 + np.exp(40 * (np.hypot(x / .36, y / .42) - .8)))
    waves = [TRUTH + .35 * inside * np.cos(2 * np.pi * (4 * x + 3 * y) + phase) for phase in (0, 2)]
    for sigma in (SIGMA, 5 * SIGMA):
        write("s.h5", diffusion(None), lines(samples(waves[0], sigma)) + lines(samples(waves[1], sigma)))
        said = run()
        assert "signal beside the centre of k-space" in said, said
        moved = samples(TRUTH, sigma) * np.exp(-2j * np.pi * (np.arange(N) - N // 2) / N / 3 + .1j)
        write("s.h5", diffusion(None), lines(samples(TRUTH, sigma)) + lines(moved))
        said = run()
        assert "they are averaged" in said and "warning" not in said, said


def test_lines_before_the_declared_centre():
    """Every second line, numbered without gaps: they end before the header's centre, as of a scan that was stopped, but their
    energy peaks in their middle. (What was left out nobody can tell.)"""
    k = samples()
    write("s.h5", header(encoding((N, N, 1), FOV)), [acquisition(k[:, n], kspace_encode_step_1=n // 2) for n in range(0, N, 2)])
    said = run()
    assert f"centre of kspace_encoding_step_1 is {N // 2}, but the energy of the samples peaks at {N // 4}" in said, said


def test_trajectories_that_say_nothing():
    """Cartesian scans whose writer has made room for trajectories and left them at 0, or empty. Of spokes, that is an error."""
    k = samples()
    for dims in (2, 3):
        stored = [acquisition(k[:, n], np.zeros((N, dims)), kspace_encode_step_1=n) for n in range(N)]
        noise = [acquisition(SIGMA * complex_noise(RANDOM, (COILS, 512)), np.zeros((512, dims)), flags=[NOISE])]
        for noisy in (False, True):
            write("s.h5", header(encoding((N, N, 1), FOV)), noise * noisy + stored)
            assert f"have {dims} trajectory_dimensions, but no k that is not 0" in run()
            made = abs(image("i.h5")).squeeze()
            assert np.linalg.norm(made * (made * TRUTH).sum() / (made ** 2).sum() - TRUTH) < CLOSE * np.linalg.norm(TRUTH)
        for one in stored:
            one["traj"] = np.zeros(0, "f4")
        write("s.h5", header(encoding((N, N, 1), FOV)), stored)
        assert "no k that is not 0" in run() and errors(TRUTH)[0] < CLOSE
    spoiled = [acquisition(k[:, n], np.zeros((N, 2)), kspace_encode_step_1=n) for n in range(N)]
    write("s.h5", header(encoding((N, N, 1), FOV, trajectory="radial")), spoiled)
    refuse(3, "k is 0 at all samples", "s.h5", "-o", "x.h5")


def test_negative_steps():
    """Lines counted from the centre of k-space: the negative ones are 65512 to 65535 in the file. The centre is 0, whatever the
    header says; Philips' converter states half of the range."""
    k = samples()
    for first, centre in ((0, 0), (0, N // 2), (0, N // 2 - 1), (0, None), (14, (N - 15) // 2)):
        write("s.h5", header(encoding((N, N, 1), FOV, centers=(centre, 0))),
              [acquisition(k[:, n], kspace_encode_step_1=(n - N // 2) % 65536) for n in range(first, N)])
        said = run()
        assert f"down to -{N // 2 - first}" in said and "warning" not in said, (centre, said)
        assert errors(TRUTH)[0] < CLOSE, (centre, errors(TRUTH))
    # The opposite: steps whose energy peaks elsewhere.
    write("s.h5", header(encoding((N, N, 1), FOV)), [acquisition(k[:, n], kspace_encode_step_1=(n - 4) % 65536) for n in range(N)])
    assert f"but the energy of the samples peaks at {N // 2 - 4}" in run() and errors(TRUTH)[0] < CLOSE


def test_partitions_of_a_stack():
    """Stacks of spokes without the first partitions, whose centre of step 2 is that of the whole matrix, or missing: the image
    is the same as with the right centre."""
    nz, first, count, images = 12, 3, 24, []
    k, d = spokes(count, TRUTH)
    profile = np.exp(-.5 * ((np.arange(nz) - nz // 2) / 1.2) ** 2)
    made = [acquisition(profile[p] * d[:, s], traj=k[s] / N, kspace_encode_step_1=s, kspace_encode_step_2=p - first)
            for p in range(first, nz) for s in range(count)]
    for centre, words in ((nz // 2 - first, None), (nz // 2, f"step_2 is {nz // 2}, but the energy"), (None, "no centre of")):
        write("s.h5", header(encoding((N, N, nz), (240, 240, 40), trajectory="radial", centers=(0, centre))), made)
        said = run("--method", "adjoint", "--coils", "rss")
        assert words in said if words else "step_2" not in said, (centre, said)
        images.append(image("i.h5"))
    assert all(np.array_equal(images[0], other) for other in images[1:])


def test_third_component_of_slices():
    """Planes whose trajectories have the slice's own kz, 0 in one of them: no weights. The images are those without it."""
    k, d = spokes(24, TRUTH)
    images = []
    for kz in (0, .1, -.1):
        made = [acquisition((z + 1) * d[:, s], traj=np.c_[k[s] / N, np.full(len(k[s]), z * kz)], kspace_encode_step_1=s, slice=z,
                            position=(0, 0, 5 * z)) for z in range(3) for s in range(24)]
        write("s.h5", header(encoding((N, N, 1), (240, 240, 5), trajectory="radial")), made)
        run("--method", "adjoint", "--coils", "rss")
        images.append(image("i.h5"))
    assert np.array_equal(images[0], images[1]) and np.array_equal(images[0], images[2])


def test_warning_of_delays():
    """Spokes whose samples were taken later than the trajectory says, by 0.8 and 0.5 steps of half a cycle; in spokes and in a
    stack of them. By a twentieth nothing is said, nor of trajectories that are no spokes."""
    def scan(late, kind="whole"):
        k, made = np.zeros((60, 2 * N, 2)), []
        for s in range(60):
            angle = 2.39996 * s
            k[s] = np.outer(np.arange(2 * N) / 2 - N // 2, (np.cos(angle), np.sin(angle)))
        if kind == "bent":
            k = k * np.linspace(.5, 1, 2 * N)[:, None] ** 2
        step = k[:, 1:2] - k[:, :1]
        y, x = (np.mgrid[:N, :N] - N // 2) / N
        true = k - late * step
        phase = [np.exp(-2j * np.pi * np.multiply.outer(true[..., a], r)) for a, r in ((0, x[0]), (1, y[:, 0]))]
        data = np.einsum("smx,smy,cyx->csm", phase[0], phase[1], TRUTH * MAPS, optimize=True)
        data = data + SIGMA * complex_noise(RANDOM, data.shape)
        nz = 4 if kind == "stack" else 1
        for p in range(nz):
            made += [acquisition(data[:, s] * (p == nz // 2 or .1), traj=k[s] / N, kspace_encode_step_1=s, kspace_encode_step_2=p)
                     for s in range(60)]
        write("s.h5", header(encoding((N, N, nz), (240, 240, 5 * nz), trajectory="radial")), made)
        return run("--method", "adjoint")
    late = np.array((.8, .5))
    for kind in ("whole", "stack"):
        said = scan(late, kind)
        told = re.search(r"late by (\S+), (\S+), 0.00 samples along x, y, z", said)
        assert told and "--delays auto" in said, (kind, said)
        assert np.allclose([float(one) for one in told.groups()], late, atol=.03), told.group()  # as noise of 1 % leaves them
        assert "late by" not in run("--method", "adjoint", "--delays", "off")
        assert "late by" not in run("--method", "adjoint", "--delays", "auto")
        assert "late by" not in scan(late / 20, kind), kind
    assert "late by" not in scan(late, "bent")


def test_k_scaled_by_one_number():
    """KomaMRI divides k by twice the largest |k| of all axes. Where voxels are not square, units per voxel fit one axis only."""
    k, words = samples(), "along all axes, scaled by one number"

    def scan(fov, extent, **more):
        """Lines of half the resolution along y, or of the whole, in the units of `extent`, k at the edges."""
        kx = np.arange(-N // 2, N // 2) / N * 2 * extent[0]
        write("s.h5", header(encoding((N, N, 1), fov, trajectory="custom", **more)),
              [acquisition(k[:, n], traj=np.stack([kx, 0 * kx + (n - N // 2) / N * 2 * extent[1]], 1)) for n in range(N)])
        return run()
    for fov, extent in (((240, 120, 5), (.25, .5)), ((240, 300, 5), (.5, .4)), ((240, 300, 5), (np.pi, .8 * np.pi))):
        said = scan(fov, extent)
        assert words in said and errors(TRUTH)[0] < CLOSE, (fov, extent, errors(TRUTH), said)
        scale = np.array(affine("i.h5"))[0, :2, :2]
        assert np.allclose(scale, np.diag([fov[0] / N, fov[1] / N])), scale
    # The opposite: units that fit as they are, square voxels, and what the user says.
    for fov, extent in (((240, 120, 5), (.5, .5)), ((240, 300, 5), (100, 80)), (FOV, (.5, .5))):
        assert words not in scan(fov, extent) and errors(TRUTH)[0] < CLOSE, (fov, extent)
    scan((240, 120, 5), (.25, .5))
    assert words not in run("--trajectory-units", "normalized") and errors(TRUTH)[0] > .15


# ---- directions ----

def test_directions_that_are_not_whole():
    """Directions with a length, one that is missing, and readouts without a place beside others: the patient is known. Directions
    that are not orthogonal, or two of them missing, or cut as by Bruker's converter, say nothing, with a warning; none at all, as Philips' converter leaves them,
    without."""
    axes = np.array(((0, 1, 0), (0, 0, -1), (-1, 0, 0)), float)
    place, k = np.array((12, -8, 15)), samples()
    lost = axes.copy()
    lost[1:] = 0
    skew = axes.copy()
    skew[2] = (-.6, .8, 0)
    for kind, given, words in (("whole", axes, None), ("scaled", axes * [[5], [.9], [1.02]], "48 acquisitions are no unit vectors"),
                               *((f"without {d}", np.where(np.arange(3)[:, None] == d, 0, axes), "is 0 in 48 acquisitions")
                                 for d in range(3)),
                               ("skew", skew, "not orthogonal"), ("cut", ((1, 0, 0), (0, 0, 0), (0, 1, 1)), "not orthogonal"), ("one", lost, "not orthogonal"), ("none", 0 * axes, None)):
        write("s.h5", header(encoding((N, N, 1), FOV)), lines(k, axes=given, position=place))
        said = run()
        assert words in said if words else "warning" not in said, (kind, said)
        known = kind not in ("skew", "cut", "one", "none")
        right = np.linalg.det(axes) > 0
        expected = 5 * axes.T + 0 if known else 5 * np.eye(3)
        assert right and np.allclose(np.array(affine("i.h5"))[0, :, :3], expected, atol=1e-5), (kind, affine("i.h5"))
    made = lines(k, axes=axes, position=place)
    for n in (0, 1, 20):
        for name in ("read_dir", "phase_dir", "slice_dir", "position"):
            made[n]["head"][name] = 0
    write("s.h5", header(encoding((N, N, 1), FOV)), made)
    assert "warning" not in run()
    assert np.allclose(np.array(affine("i.h5"))[0] @ (N // 2, N // 2, 0, 1), place, atol=1e-4)


# ---- noise ----

def test_noise_scan_of_another_gain():
    """Noise of ten and a hundred times the image's, as of another gain, would smooth the image; the outermost samples show
    that it cannot be. Correlations between channels are the noise scan's. Noise of 1.3 times the image's is believed. The
    scale is that of data whose noise would be 1 by the noise scan."""
    mix = np.eye(COILS) + .4 * np.eye(COILS, k=1)
    k = transform(TRUTH * MAPS)
    k = k + SIGMA * np.tensordot(mix, complex_noise(RANDOM, k.shape), 1)
    shape = np.linalg.inv(np.linalg.cholesky(SIGMA ** 2 * mix @ mix.T))
    truth = TRUTH * np.sqrt((abs(np.tensordot(shape, MAPS, 1)) ** 2).sum(axis=0))
    for gain in (1, 1.3, 10, 100):
        noise = acquisition(gain * SIGMA * mix @ complex_noise(RANDOM, (COILS, 4096)), flags=[NOISE])
        write("s.h5", header(encoding((N, N, 1), FOV)), [noise] + lines(k))
        assert ("is of another gain" in run()) == (gain > 2), gain
        assert errors(truth / gain)[0] < 2 * CLOSE, (gain, errors(truth / gain))


if __name__ == "__main__":
    made_scan.run_tests(globals())
