#!/usr/bin/env python3
"""mri_recon on ISMRMRD files as scanners and converters write them: what their headers claim is not always what their
samples are. Each kind with the right image, and with a file that looks like it and is not.

usage: test_mri_scanners.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import re

import made_scan
from ismrmrd_file import (CALIBRATION, NOISE, REVERSE, acquisition, coils, complex_noise, encoding, header, phantom, transform,
                          write)
from made_scan import h5py, image, skip_without_h5py
from program import make, refuse
import seeds

skip_without_h5py()
import numpy as np  # noqa: E402 - after the check

N, COILS, FOV = 48, 5, (240, 240, 5)
TRUTH, MAPS = phantom(N, N), coils(COILS, N, N)
RANDOM = seeds.generator(38)
SIGMA = 0.25
# The noise of a sample, 0.25, is 0.25 / 48 of a voxel, 1 % of the phantom's rms of 0.5; estimated maps add about 1 %. The
# faults that are looked for make 15 % and more.
CLOSE, FAR = 0.03, 0.15


def samples(picture=TRUTH, maps=MAPS, sigma=SIGMA):
    """[coil][y][x]"""
    k = transform(picture * maps)
    return k + sigma * complex_noise(RANDOM, k.shape)


def error(path, truth=TRUTH, volume=0, plane=0):
    made = abs(image(path)[volume, plane])
    assert made.shape == truth.shape and np.isfinite(made).all(), (made.shape, truth.shape)
    return np.linalg.norm(made - truth) / np.linalg.norm(truth)


def lines(k, **values):
    """An acquisition for each line of [coil][y][x]."""
    return [acquisition(k[:, n], kspace_encode_step_1=n, **values) for n in range(k.shape[1])]


def affine(path):
    with h5py.File(path) as file:
        return file["affine"][...]


def run(*options):
    done = make("s.h5", "-o", "i.h5", *options)
    return done.out + done.err


# ---- the sign of the Fourier transform ----

def test_phase_sign():
    """Siemens' converter writes samples with the other sign: conjugates of those of an image that is conjugated, too."""
    k = samples()
    for vendor, conjugate in (("Siemens Healthineers", True), ("GE MEDICAL SYSTEMS", False), (None, False)):
        write("s.h5", header(encoding((N, N, 1), FOV), vendor=vendor), lines(k.conj() if conjugate else k))
        said = run()
        assert error("i.h5") < CLOSE
        assert ("phase sign +, because the scanner is Siemens'" in said) == conjugate, said
        run("--phase-sign", "-" if conjugate else "+")  # turned by 180 degrees
        assert error("i.h5") > FAR
    write("s.h5", header(encoding((N, N, 1), FOV), vendor="SIEMENS"), lines(k))
    run("--phase-sign", "-")
    assert error("i.h5") < CLOSE


# ---- planes and volumes ----

def test_planes_with_voxels_along_z():
    for z, recon_z, center in ((2, 1, 0), (2, 1, 1), (3, 3, 1)):
        space = encoding((N, N, z), (240, 240, 5 if recon_z == 1 else 15), (N, N, recon_z), (240, 240, 5 if recon_z == 1 else 15),
                         centers=(N // 2, center))
        write("s.h5", header(space), [a for s in range(3) for a in lines(samples((1 + s) * TRUTH), slice=s, position=(0, 0, 8 * s))])
        said = run()
        assert "these are planes of 5 mm" in said, said
        assert image("i.h5").shape == (1, 3, N, N)
        for s in range(3):
            assert error("i.h5", (1 + s) * TRUTH, plane=s) < CLOSE
        assert affine("i.h5")[0][2, 2] == 8


def test_volume_whose_image_is_a_plane():
    """The opposite: partitions were encoded, and the image keeps the middle one."""
    nz = 6
    volume = np.array([(1 + 0.2 * z) * TRUTH for z in range(nz)])
    k = transform(volume * MAPS[:, None], axes=(-3, -2, -1))
    k += SIGMA * nz ** .5 * complex_noise(RANDOM, k.shape)
    write("s.h5", header(encoding((N, N, nz), (240, 240, 30), (N, N, 1), (240, 240, 5))),
          [acquisition(k[:, z, n], kspace_encode_step_1=n, kspace_encode_step_2=z) for z in range(nz) for n in range(N)])
    run()
    assert image("i.h5").shape == (1, 1, N, N)
    assert error("i.h5", volume[nz // 2]) < CLOSE


def test_steps_that_number_slices():
    """Some converters write the slice's number in kspace_encode_step_2, too: these are planes."""
    for z in (1, 3):
        write("s.h5", header(encoding((N, N, z), (240, 240, 5 * z))),
              [a for s in range(3)
               for a in lines(samples((1 + s) * TRUTH), slice=s, kspace_encode_step_2=s, position=(0, 0, 5 * s))])
        assert "never vary within a slice: these are planes of 5 mm" in run()
        assert image("i.h5").shape == (1, 3, N, N)
        for s in range(3):
            assert error("i.h5", (1 + s) * TRUTH, plane=s) < CLOSE


def test_places_of_a_slice():
    """Repetitions of one slice that lie elsewhere: motion was followed. (Half a slice and more apart, they are other slices.)"""
    for step, words in ((2, "acquisitions of slice 0 lie up to 2 mm from its first one"), (0, "done")):
        write("s.h5", header(encoding((N, N, 1), FOV)),
              [a for r in range(2) for a in lines(samples(), repetition=r, position=(0, 0, step * r))])
        said = run()
        assert words in said and ("warning" in said) == (step > 0), said


def test_orientations():
    axes = (((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, -1), (-1, 0, 0)), ((1, 0, 0), (0, 0, -1), (0, 1, 0)))
    for each in (1, 2):
        pictures = [[(1 + 0.2 * s + 0.5 * n) * TRUTH for n in range(each)] for s in range(3)]
        write("s.h5", header(encoding((N, N, 1), FOV)),
              [a for n in range(each) for s in range(3)
               for a in lines(samples(pictures[s][n]), slice=3 * n + s, axes=axes[s],
                              position=[10 * n * c for c in axes[s][2]])])
        said = run("-o", "i.h5")
        assert f"3 volumes of {each} slice" in said, said
        assert image("i.h5").shape == (3, each, N, N)
        for s in range(3):
            columns = affine("i.h5")[s][:, :3].T
            # single precision in the file's directions
            assert np.allclose(columns, [5 * np.array(axes[s][0]), 5 * np.array(axes[s][1]),
                                         (10 if each == 2 else 5) * np.array(axes[s][2])], atol=1e-5), columns
            for n in range(each):
                assert error("i.h5", pictures[s][n], volume=s, plane=n) < CLOSE
        make("s.h5", "-o", "i.nii")
        with open("i_3.nii", "rb") as file:  # srow_y: y is to the front; its z column is -5 or -10 mm
            rows = np.frombuffer(file.read()[280:328], "<f4").reshape(3, 4)
        assert np.allclose(rows[1][:3], [0, 0, -(10 if each == 2 else 5)], atol=1e-5), rows
    run("--slices", "2")
    assert image("i.h5").shape == (3, 1, N, N) and error("i.h5", pictures[1][1], volume=1) < CLOSE
    refuse(2, "--slices '5'", "s.h5", "--slices", "5", "-o", "x.h5")


def test_slices():
    write("s.h5", header(encoding((N, N, 1), FOV)),
          [a for s in range(4) for a in lines(samples((1 + s) * TRUTH), slice=s, position=(0, 0, 6 * s))])
    said = run("--slices", "2::2")
    assert image("i.h5").shape == (1, 2, N, N) and "slices 2::2 of 4" in said, said
    for n, s in enumerate((1, 3)):
        assert error("i.h5", (1 + s) * TRUTH, plane=n) < CLOSE
    assert affine("i.h5")[0][2, 2] == 12 and affine("i.h5")[0][2, 3] == 6


# ---- the centre of k-space ----

FIRST = N // 4  # partial Fourier: lines before it are missing


def phased(cycles=0.0):
    """The truth with a smooth phase, and `cycles` of linear phase along y."""
    y, x = np.mgrid[:N, :N] / N
    return TRUTH * np.exp(1j * (np.sin(2 * np.pi * x) + np.cos(2 * np.pi * y) + 2 * np.pi * cycles * y))


def test_centre_of_lines():
    k = samples(phased())
    true = N // 2 - FIRST
    for center, user, warns in ((true, 0, False), (N // 2, true, False), (N // 2, 0, True), (N // 2, 3, True), (0, 0, True)):
        write("s.h5", header(encoding((N, N, 1), FOV, centers=(center, 0)), vendor="SIEMENS"),
              [acquisition(k[:, n].conj(), kspace_encode_step_1=n - FIRST, user=[0] * 5 + [user]) for n in range(FIRST, N)])
        said = run()
        assert f"center_sample of line {true}" in said, said
        assert ("the energy of the samples peaks at" in said) == warns, (center, user, said)
        if warns:
            assert f"is {center}, but" in said and f"{true} is taken as the centre" in said
        # A quarter of k-space follows from the phase, which the program estimates.
        assert error("i.h5") < 0.06


def test_centre_of_partitions():
    nz, first = 24, 6
    volume = np.array([phased() * (0.2 + np.sin(np.pi * (z + .5) / nz)) for z in range(nz)])
    k = transform(volume * MAPS[:, None], axes=(-3, -2, -1))
    write("s.h5", header(encoding((N, N, nz), (240, 240, 48), centers=(N // 2, nz // 2))),
          [acquisition(k[:, z, n], kspace_encode_step_1=n, kspace_encode_step_2=z - first) for z in range(first, nz) for n in range(N)])
    assert f"of partition {nz // 2 - first}" in run("--dry-run")


def test_centre_that_is_not_stated():
    k = samples(phased())
    write("s.h5", header(encoding((N, N, 1), FOV, centers=(None, None))),
          [acquisition(k[:, n], kspace_encode_step_1=n - FIRST) for n in range(FIRST, N)])
    said = run()
    assert f"no centre of kspace_encoding_step_1 in encodingLimits; {N // 2 - FIRST} is taken, where" in said, said
    assert said.count("warning") == 1 and error("i.h5") < 0.06


def test_stopped_before_the_centre():
    """The last line of a scan that was stopped is no centre of k-space, and a slice without its centre is named."""
    k = samples()
    write("s.h5", header(encoding((N, N, 1), FOV)), lines(k)[:N // 2 - 4])
    said = run()
    assert f"of line {N // 2}" in said and "peaks" not in said, said
    assert "1 of 1 image has no sample near the centre of k-space along y" in said, said
    write("s.h5", header(encoding((N, N, 1), FOV)),
          [a for s in range(3) for a in lines(samples(), slice=s, position=(0, 0, 5 * s))][:2 * N + N // 2 - 4])
    assert "1 of 3 images has no sample near the centre" in run()
    assert error("i.h5", plane=1) < CLOSE


def test_centre_with_interference():
    """A spike with all the energy of k-space is not its centre, and does not hide it where the header is wrong."""
    k = samples(phased())
    k[:, N - 6, 30] += 50 * abs(k).max()
    for center in (N // 2 - FIRST, N // 2):
        write("s.h5", header(encoding((N, N, 1), FOV, centers=(center, 0))),
              [acquisition(k[:, n], kspace_encode_step_1=n - FIRST) for n in range(FIRST, N)])
        said = run()
        assert f"of line {N // 2 - FIRST}" in said and ("peaks at" in said) == (center == N // 2), said
        assert error("i.h5") < 0.06


def test_centre_is_kept():
    """The opposite: a linear phase moves the peak by less than the axis could tell, or where all lines are there."""
    for cycles, first in ((1.5, FIRST), (9, 0)):
        k = samples(phased(cycles))
        write("s.h5", header(encoding((N, N, 1), FOV, centers=(N // 2 - first, 0))),
              [acquisition(k[:, n], kspace_encode_step_1=n - first) for n in range(first, N)])
        said = run()
        assert f"of line {N // 2 - first}" in said and "peaks" not in said, said
        assert error("i.h5") < 0.06


def test_centre_sample():
    k = samples(np.pad(TRUTH, ((0, 0), (N // 2, N // 2))), np.pad(MAPS, ((0, 0), (0, 0), (N // 2, N // 2)), mode="edge"))
    space = encoding((2 * N, N, 1), (480, 240, 5), (N, N, 1), FOV)
    write("s.h5", header(space), lines(k[:, :, 30:], center=N))
    said = run()
    assert "center_sample is 48, but the energy of the readouts peaks at sample 18" in said, said
    assert error("i.h5") < 0.06
    write("s.h5", header(space), lines(k[:, :, 30:], center=N - 30))
    assert "peaks" not in run()


def test_reversed_partial_echoes():
    """Both readings of center_sample in reversed readouts, of whole and of partial echoes."""
    wide = np.pad(MAPS, ((0, 0), (0, 0), (N // 2, N // 2)), mode="edge")
    for missing in (0, 30):
        kept = 2 * N - missing
        for center_of_reversed in (N - missing, kept - 1 - (N - missing)):
            records = []
            for echo in range(3):
                k = samples((1 - .2 * echo) * np.pad(TRUTH, ((0, 0), (N // 2, N // 2))), wide)[:, :, missing:]
                records += lines(k[:, :, ::-1] if echo == 1 else k, contrast=echo, flags=[REVERSE] if echo == 1 else [],
                                 center=center_of_reversed if echo == 1 else N - missing)
            write("s.h5", header(encoding((2 * N, N, 1), (480, 240, 5), (N, N, 1), FOV)), records)
            run()
            for echo in range(3):
                assert error("i.h5", (1 - .2 * echo) * TRUTH, volume=echo) < 0.04, (missing, center_of_reversed, echo)


# ---- readout oversampling ----

def test_oversampling():
    wide = np.pad(TRUTH, ((0, 0), (N // 2, N // 2)))
    wide_maps = np.pad(MAPS, ((0, 0), (0, 0), (N // 2, N // 2)), mode="edge")
    k, k2 = samples(), samples(wide, wide_maps)
    cases = {  # header's matrix and field of view along x, samples
        "as the header says": (2 * N, 480, k2, False), "removed by a converter": (2 * N, 480, k, True),
        "not in the header": (N, 240, k2, True), "in the header's field of view only": (N, 480, k2, True)}
    for name, (n, fov, data, noted) in cases.items():
        write("s.h5", header(encoding((n, N, 1), (fov, 240, 5), (N, N, 1), FOV)), lines(data))
        said = run()
        assert ("--oversampling says otherwise" in make("s.h5", "-o", "i.h5").out + said) == noted, (name, said)
        assert image("i.h5").shape == (1, 1, N, N), name
        assert error("i.h5") < CLOSE, (name, error("i.h5"))
    write("s.h5", header(encoding((2 * N, N, 1), (480, 240, 5), (N, N, 1), FOV)), lines(k))
    run("--oversampling", "1")
    assert error("i.h5") < CLOSE
    # The opposite: a partial echo of an oversampled readout, with as many samples as the image has voxels.
    write("s.h5", header(encoding((2 * N, N, 1), (480, 240, 5), (N, N, 1), FOV)), lines(k2[:, :, N - 8:2 * N - 8], center=8))
    assert "--oversampling" not in run() and "matrix 96 x 48" in run()


def test_discarded_samples():
    """center_sample counts the samples to be discarded, which make a readout no longer; or those that are kept."""
    k, junk = samples(), np.full((COILS, N, 12), 1000)
    for center, warns in ((8 + N // 2, False), (N // 2, True)):
        write("s.h5", header(encoding((N, N, 1), FOV)),
              lines(np.concatenate([junk[:, :, :8], k, junk[:, :, 8:]], axis=2), discard_pre=8, discard_post=4, center=center))
        said = run()
        assert "oversampl" not in said and ("peaks at sample 32" in said) == warns, said
        assert error("i.h5") < CLOSE
    # The opposite: such readouts that are oversampled, which the header does not say.
    wide = samples(np.pad(TRUTH, ((0, 0), (N // 2, N // 2))), np.pad(MAPS, ((0, 0), (0, 0), (N // 2, N // 2)), mode="edge"))
    write("s.h5", header(encoding((N, N, 1), FOV)),
          lines(np.concatenate([junk[:, :, :8], wide], axis=2), discard_pre=8, center=8 + N))
    assert "96 voxels over 480 mm" in run() and error("i.h5") < CLOSE


def test_short_readouts():
    """Readouts of an odd number of samples, however few, are not oversampled."""
    for n in (1, 5, 9):
        truth = phantom(N, n)
        write("s.h5", header(encoding((n, N, 1), FOV)), lines(samples(truth, coils(COILS, N, n), SIGMA / 4)))
        said = run()
        assert "oversampl" not in said and "kx is 0" not in said, said
        # the noise of a voxel is 0.0625 / sqrt(48) or less, 2 % of 0.5; estimated maps add as much
        assert error("i.h5", truth) < 0.06, n


def test_small_and_large_numbers():
    """Squares of such samples are beyond single precision; the samples are not."""
    k = samples()
    for scale in (1e-25, 1e18):
        write("s.h5", header(encoding((N, N, 1), FOV)), lines(scale * k))
        assert "zeros" not in run()
        assert error("i.h5", scale * TRUTH) < CLOSE, scale


# ---- encodings ----

def test_encodings():
    """Calibration lines in an encoding of their own; a navigator's encoding; --encoding."""
    k = samples()
    sparse = [a for a in lines(k) if a["head"]["idx"]["kspace_encode_step_1"] % 2 == 0]
    middle = k[:, N // 2 - 10:N // 2 + 10]
    own = [acquisition(middle[:, n], kspace_encode_step_1=n, encoding_space_ref=1, flags=[CALIBRATION]) for n in range(20)]
    image_space = encoding((N, N, 1), FOV)
    write("s.h5", header(image_space, encoding((N, 20, 1), FOV)), sparse + own)
    said = run()
    assert "maps estimated from" in said and "(ESPIRiT)" in said, said
    assert error("i.h5") < CLOSE
    # References of another gain, as they mostly have: in the same encoding, or in their own.
    for gain in (0.3, 10):
        for space in (0, 1):
            other = [acquisition(gain * middle[:, n], kspace_encode_step_1=n + (0 if space else N // 2 - 10),
                                 encoding_space_ref=space, flags=[CALIBRATION]) for n in range(20)]
            write("s.h5", header(image_space, encoding((N, 20, 1), FOV)), sparse + other)
            run()
            assert error("i.h5") < CLOSE, (gain, space, error("i.h5"))
    # The opposite: of an unknown field of view.
    write("s.h5", header(image_space, encoding((N, 20, 1), (0, 0, 0))), sparse + own)
    assert "20 calibration lines of another encoding are not used" in run()
    navigator = [acquisition(0 * k[:, 0], encoding_space_ref=0) for n in range(3)]
    for a in lines(k):
        a["head"]["encoding_space_ref"] = 1
        navigator.append(a)
    write("s.h5", header(encoding((N, 3, 1), FOV), image_space), navigator)
    assert "number 2 is reconstructed" in run() and error("i.h5") < CLOSE
    assert "number 2" not in run("--encoding", "2") and error("i.h5") < CLOSE
    refuse(2, "the header has 2 encodings", "s.h5", "--encoding", "3", "-o", "x.h5")


def test_multiband():
    band = "<parallelImaging><multiband><multiband_factor>{}</multiband_factor></multiband></parallelImaging>"
    write("s.h5", header(encoding((N, N, 1), FOV, more=band.format(2))), lines(samples()))
    refuse(8, ["multiband_factor is 2", "must be separated first"], "s.h5", "-o", "x.h5")
    write("s.h5", header(encoding((N, N, 1), FOV, more=band.format(1))), lines(samples()))
    run()
    assert error("i.h5") < CLOSE


# ---- off-centre ----

def spokes(shift):
    """Radial samples of a phantom that lies `shift` voxels to the left of the isocentre: [coil], k in cycles per voxel."""
    y, x = np.mgrid[:N, :N] - N // 2
    records = []
    for n in range(70):
        angle = n * np.pi * 0.618034
        k = np.outer(np.arange(-N, N) / (2 * N), [np.cos(angle), np.sin(angle)])
        phase = np.exp(-2j * np.pi * (np.outer(k[:, 0], (x + shift).ravel()) + np.outer(k[:, 1], y.ravel())))
        data = (phase @ (TRUTH * MAPS).reshape(COILS, -1).T).T
        records.append((data + SIGMA * complex_noise(RANDOM, data.shape), k))
    return records


def test_fov_shift():
    space = encoding((N, N, 1), FOV, trajectory="radial")
    stored = [acquisition(d, k, position=(30, 0, 0)) for d, k in spokes(6)]
    write("s.h5", header(space), stored)
    assert "--fov-shift header" in run() and error("i.h5") > FAR  # off by 30 mm
    for option in ("header", "30,0,0"):
        said = run("--fov-shift", option)
        assert "field of view shifted by 30, 0, 0 mm" in said and "isocentre" not in said, said
        assert error("i.h5") < CLOSE
    write("s.h5", header(space), [acquisition(d, k, position=(30, 0, 0)) for d, k in spokes(0)])
    assert "isocentre" not in run("--fov-shift", "off") and error("i.h5") < CLOSE
    write("s.h5", header(space), [acquisition(d, k) for d, k in spokes(0)])
    assert "isocentre" not in run() and error("i.h5") < CLOSE
    refuse(2, "--fov-shift 'left'", "s.h5", "--fov-shift", "left", "-o", "x.h5")


# ---- lines that are missing, or that should not be there ----

def test_zeros_that_were_not_measured():
    k = samples()
    kept = np.arange(N) % 3 == 0
    kept[N // 2 - 8:N // 2 + 8] = True
    write("s.h5", header(encoding((N, N, 1), FOV)), [a for a in lines(k) if kept[a["head"]["idx"]["kspace_encode_step_1"]]])
    run()
    without = image("i.h5")
    k[:, ~kept] = 0
    write("s.h5", header(encoding((N, N, 1), FOV)), lines(k))
    said = run()
    assert f"{N - kept.sum()} lines hold only zeros" in said, said
    assert np.array_equal(image("i.h5"), without)
    # Zeros at the ends of readouts.
    k = samples(phased())
    k[:, :, :10] = 0
    write("s.h5", header(encoding((N, N, 1), FOV)), lines(k))
    said = run()
    assert "the first 10 and last 0 samples of readouts are 0" in said, said
    filled = image("i.h5")
    write("s.h5", header(encoding((N, N, 1), FOV)), lines(k[:, :, 10:], center=N // 2 - 10))
    run()
    assert np.array_equal(image("i.h5"), filled)


def test_aborted_repetition():
    def repetitions(last):
        return [a for r in range(3) for a in lines(samples((1 + r) * TRUTH), repetition=r)[:last if r == 2 else N]]
    write("s.h5", header(encoding((N, N, 1), FOV)), repetitions(20))
    said = run()
    assert "the last repetition was aborted: 20 of its 20 lines" in said, said
    assert image("i.h5").shape[0] == 2 and error("i.h5", 2 * TRUTH, volume=1) < CLOSE
    run("--frames", ":")
    assert image("i.h5").shape[0] == 3
    write("s.h5", header(encoding((N, N, 1), FOV)), repetitions(N))
    assert "aborted" not in run() and image("i.h5").shape[0] == 3


def test_matrix_that_is_almost_whole():
    write("s.h5", header(encoding((N, f"{N - 0.0004}", 1), FOV)), lines(samples()))
    assert "sizes that are not whole were rounded" in make("s.h5", "--info").out
    run()
    assert error("i.h5") < CLOSE
    write("s.h5", header(encoding((N, f"{N - 0.5}", 1), FOV)), lines(samples()))
    refuse(3, "matrixSize of encodedSpace is missing", "s.h5", "-o", "x.h5")


# ---- noise ----

def test_noise_elsewhere():
    k = samples(sigma=2)
    noise = [acquisition(2 * complex_noise(RANDOM, (COILS, 512)), flags=[NOISE])]
    xml = header(encoding((N, N, 1), FOV))
    write("s.h5", xml, lines(k), group="dataset_1")
    assert "noise scan" not in run()
    write("n.h5", xml, noise)
    expected = "1 per sample, after prewhitening with the noise scan"
    for option in ("n.h5", "n.h5:dataset"):
        assert expected in run("--noise", option)
    refuse(3, "no group of this file has noise acquisitions", "s.h5", "--noise", "s.h5", "-o", "x.h5")
    refuse(3, "none.h5", "s.h5", "--noise", "none.h5", "-o", "x.h5")
    write("s.h5", xml, noise, mode="a")
    assert expected in run() and expected in run("--group", "dataset_1")
    write("s.h5", xml, lines(k), group="other", mode="a")
    refuse(3, "2 groups contain scans (/dataset_1, /other); choose one with --group", "s.h5", "-o", "x.h5")


# ---- --info ----


def test_noise_of_two_dwell_times():
    """The variance of noise is as the inverse of the dwell time: both scans say the same of the image's samples."""
    for dwells in ((5, 0.05), (0.05, 5)):
        noise = [acquisition(SIGMA * (5 / t) ** .5 * complex_noise(RANDOM, (COILS, 4096)), flags=[NOISE], sample_time_us=t)
                 for t in dwells]
        write("s.h5", header(encoding((N, N, 1), FOV)), noise + lines(samples()))
        told = [float(word) for word in re.findall(r"noise of channel \d: ([\d.e-]+)", make("s.h5", "--info").out)]
        # 8192 samples know sigma to 0.8 %; five deviations
        assert len(told) == COILS and all(abs(t / SIGMA - 1) < 0.04 for t in told), told


def test_info():
    k = samples(phased())
    write("s.h5", header(encoding((N, N, 1), FOV, centers=(N // 2, 0)), vendor="SIEMENS"),
          [acquisition(complex_noise(RANDOM, (COILS, 64)), flags=[NOISE])] +
          [acquisition(k[:, n].conj(), kspace_encode_step_1=n - FIRST, user=[0] * 5 + [N // 2 - FIRST], slice=s,
                       position=(10, 20, 6 * s)) for s in range(2) for n in range(FIRST, N)])
    said = make("s.h5", "--info").out
    for words in ("scanner: siemens; the samples are conjugated", "encoding 1 (reconstructed): cartesian, encoded 48 x 48 x 1",
                  "numbers of slices 0 to 1", "other acquisitions: 1 noise", "noise of channel 4:", "2 slices, 6 mm apart",
                  "centre 10, 20, 0 mm", "the header's centre is 24, idx.user[5] says 12, the energy peaks at 1"):
        assert words in said, (words, said)
    assert "image      " not in said
    band = "<parallelImaging><multiband><multiband_factor>2</multiband_factor></multiband></parallelImaging>"
    write("s.h5", header(encoding((N, N, 1), FOV, more=band)), lines(k))
    done = refuse(8, "multiband_factor is 2", "s.h5", "--info")
    assert "multiband factor 2" in done.out, done.out  # what was found out before


if __name__ == "__main__":
    made_scan.run_tests(globals())
