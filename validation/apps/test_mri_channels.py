#!/usr/bin/env python3
"""Scans as scanners write them: axes of few voxels, interference, dead and noisy channels, and coil maps that do not
fit. The image is right, or the program says in one sentence why not.

usage: test_mri_channels.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom

Objects are of ellipses; coils are of unit length (the sum of their squares is 1), so that images by estimated maps are
the object. Errors are relative root mean squares.
"""
import pathlib

from made_scan import h5py, need_h5py, numpy, run_tests
from program import make, refuse
from seeds import generator

N, COILS = 48, 6


def coordinates(n):
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    return y, x


def head(n=N):
    y, x = coordinates(n)

    def ellipse(cx, cy, rx, ry):  # with an edge of about a voxel
        return 1 / (1 + numpy.exp(25 * (numpy.hypot((x - cx) / rx, (y - cy) / ry) - 1)))
    return ellipse(0, 0, .36, .42) - .4 * ellipse(0, .02, .3, .36) + .5 * ellipse(-.12, -.1, .07, .1)


def coils_of(count=COILS, n=N, even=True):
    y, x = coordinates(n)
    angles = 2 * numpy.pi * numpy.arange(count) / count
    maps = numpy.array([numpy.exp(-((x - .45 * numpy.cos(a)) ** 2 + (y - .45 * numpy.sin(a)) ** 2) / .35
                                  + 2j * (x * numpy.cos(a + 1) + y * numpy.sin(a + 1)) + 1j * a) for a in angles])
    return maps / numpy.sqrt((abs(maps) ** 2).sum(0)) if even else maps


def transform(images):
    """[coil][z][y][x], or [coil][y][x], to k-space."""
    axes = tuple(range(1, images.ndim))
    return numpy.fft.fftshift(numpy.fft.fftn(numpy.fft.ifftshift(images, axes=axes), axes=axes), axes=axes)


def noise_like(data, sigma, *stream):
    draw = generator(*stream).standard_normal((2, *data.shape))
    return sigma * (draw[0] + 1j * draw[1]) / numpy.sqrt(2)


def write(name, data, lines=None, **more):
    """k-space [coil][z][y][x] or [coil][y][x]; `lines`: the ky that are acquired."""
    data = data if data.ndim == 4 else data[:, None]
    nz, ny, nx = data.shape[1:]
    lines = numpy.arange(ny) if lines is None else numpy.asarray(lines)
    kz, ky, kx = numpy.meshgrid(numpy.arange(nz) - nz // 2, lines - ny // 2, numpy.arange(nx) - nx // 2, indexing="ij")
    with h5py.File(name, "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = [nx, ny, nz], [5.0 * nx, 5.0 * ny, 5.0 * nz]
        scan["trajectory"] = numpy.stack([kx, ky, kz], -1).reshape(-1, 3).astype("f4")
        scan["data"] = data[:, :, lines].reshape(len(data), -1).astype("c8")
        for key, values in more.items():
            scan[key] = values.astype("c8")


def image_of(name, *options):
    """Returns the magnitude, and what the program said."""
    done = make(name, "-o", "i.h5", *options)
    with h5py.File("i.h5") as file:
        values = abs(file["image"][0]).astype(float)
    assert numpy.all(numpy.isfinite(values))
    return values, done


def error(found, truth):
    value = numpy.linalg.norm(found - truth) / numpy.linalg.norm(truth)
    print(f"    error {value:.4f}")
    return value


def same_image(name, *options):
    """Whether an option changes no bit of the image."""
    return numpy.array_equal(image_of(name)[0], image_of(name, *options)[0])


# ---- few voxels along an axis ----

def noise_for(truth, share):
    """The deviation of a sample's noise whose image has `share` of the object's root mean square."""
    return share * numpy.sqrt((truth ** 2).mean()) * numpy.sqrt(truth.size)


def test_few_partitions(_):
    """Maps by ESPIRiT of volumes of 2 to 5 partitions, and of planes of 2 to 5 voxels along an axis. The noise of a voxel
    is 1 % of the object (rms), of which the magnitude has at most all, and the maps that follow from the same noise add
    less than that again: 2 %, or 3 % where few samples make the maps. Maps of 0 gave an error of 1."""
    need_h5py()
    for nz in range(2, 6):
        truth = numpy.array([head() * (1 + .2 * z) for z in range(nz)])
        turned = truth * numpy.exp(.3j * numpy.arange(nz))[:, None, None]
        data = transform(coils_of()[:, None] * turned)
        write("s.h5", data + noise_like(data, noise_for(truth, .01), 1, nz))
        found, done = image_of("s.h5")
        assert "ESPIRiT" in done.out and done.err == "", done.out + done.err
        assert error(found, truth) < .02, nz
        rows = slice(N // 2 - nz // 2, N // 2 - nz // 2 + nz)
        truth = head()[rows]
        data = transform(coils_of()[:, rows] * truth)
        write("s.h5", data + noise_like(data, noise_for(truth, .01), 2, nz))
        found, done = image_of("s.h5")
        assert "ESPIRiT" in done.out and done.err == "", done.out + done.err
        assert error(found[0], truth) < .03, nz


def apart(nz):
    """Coils that differ from partition to partition, of unit length."""
    maps = numpy.array([coils_of() * (1 + .5 * numpy.cos(z + numpy.arange(COILS)) *
                                      numpy.exp(.4j * z * numpy.arange(COILS)))[:, None, None] for z in range(nz)])
    return (maps / numpy.sqrt((abs(maps) ** 2).sum(1, keepdims=True))).transpose(1, 0, 2, 3)


def test_coils_that_differ_between_two_partitions(_):
    """A patch of one sample cannot tell two partitions apart, but the second set of maps does. The noise is 1 %, as
    above."""
    need_h5py()
    truth = numpy.array([head(), 1.2 * head()])
    data = transform(apart(2) * truth)
    write("s.h5", data + noise_like(data, noise_for(truth, .01), 3))
    found, done = image_of("s.h5")
    assert "two sets of maps" in done.out, done.out
    assert error(found, truth) < .02


def test_maps_that_explain_little(_):
    """Coils that jump between four partitions are beyond ESPIRiT's patches. Maps of each partition are taken, and said;
    the noise is 1 %, as above. With --coils espirit the warning is that of maps that explain little. For coils that do
    not jump, nothing is said (above).

    In a plane whose coils jump every 6 voxels, Walsh's maps, which blend coils within a few voxels, explain more than one
    set of ESPIRiT's, whose patches need coils that are smooth over a sixth of the field of view: 0.69 of the error here."""
    need_h5py()
    nz = 4
    maps = numpy.array([coils_of() * numpy.exp(1j * z * z * numpy.arange(COILS))[:, None, None] for z in range(nz)])
    truth = numpy.array([head()] * nz)
    data = transform(maps.transpose(1, 0, 2, 3) * truth)
    write("s.h5", data + noise_like(data, noise_for(truth, .01), 4))
    found, done = image_of("s.h5")
    assert "ESPIRiT's coil maps explain only" in done.err and "uses maps by ESPIRiT, partition by" in done.err, done.err
    assert len(done.err.splitlines()) == 1
    assert error(found, truth) < .02
    kept, done = image_of("s.h5", "--coils", "espirit")
    assert "the coil maps explain only" in done.err and "ESPIRiT" in done.out, done.err
    assert error(kept, truth) > .2
    at = numpy.indices((N, N)) // 6
    data = transform(coils_of() * numpy.exp(2j * numpy.arange(COILS)[:, None, None] ** 3 * (at[1] + 3 * at[0])) * head())
    write("s.h5", data + noise_like(data, noise_for(head(), .01), 16))
    found, done = image_of("s.h5", "--map-sets", 1)
    assert "explain only" in done.err and "uses maps by Walsh" in done.err, done.err
    kept, _ = image_of("s.h5", "--map-sets", 1, "--coils", "espirit")
    assert error(found[0], head()) < .75 * error(kept[0], head())


def test_warnings_of_slices(_):
    """An empty slice at the end of a stack has no maps; the warning says which slice that is."""
    full = transform(coils_of() * head())
    stack = numpy.stack([full, numpy.zeros_like(full)])
    stack = stack + noise_like(stack, noise_for(head(), .01), 17)
    stack.astype("c8").tofile("stack.cfl")
    pathlib.Path("stack.hdr").write_text(f"# Dimensions\n{N} {N} 1 {COILS} {'1 ' * 9}2 1 1\n", encoding="ascii")
    said = [line for line in make("stack.cfl", "-o", "stack.h5").err.splitlines() if "explain only" in line]
    assert len(said) == 1 and "slice or slab 1, counted from 0: ESPIRiT's coil maps explain only 0 %" in said[0], said


def test_no_image_of_zeros(_):
    """ESPIRiT finds no signal in noise, and its maps are 0. The image would be, too: it is refused, and nothing is
    written. Other maps make an image of the noise, as auto does. A scan of zeros has an image of zeros."""
    need_h5py()
    data = numpy.zeros((COILS, N, N), complex)
    write("noise.h5", data + noise_like(data, 1, 5))
    refuse(3, "the image would be 0 everywhere although the samples are not", "noise.h5", "--coils", "espirit", "-o", "i.h5")
    assert image_of("noise.h5")[0].any()
    write("zeros.h5", data)
    found, done = image_of("zeros.h5", "--coils", "rss")
    assert not found.any() and "all samples are 0" in done.err, done.err


# ---- interference ----

HALF = sorted({*range(0, N, 2), *range(N // 2 - 10, N // 2 + 10)})  # every second line, and all of the centre


def test_interference(_):
    """One sample, or one line, of a hundred times the centre of k-space, in one coil or in all: left out, so the image
    is that of the scan without it, to the 2 % of two images of 1 % noise each. --spikes keep uses it: the image is
    nothing but waves. One of 2304 samples, or of 48 lines, holds little of the object far from the centre."""
    need_h5py()
    clean = transform(coils_of() * head())
    clean += noise_like(clean, noise_for(head(), .01), 6)
    for lines in None, HALF:
        for some in slice(0, COILS), slice(2, 3):
            for readout in slice(36, 37), slice(0, N):
                data = clean.copy()
                data[some, 10, readout] = 100 * abs(clean).max() * numpy.exp(.7j * numpy.arange(N)[readout])
                write("s.h5", data, lines)
                found, done = image_of("s.h5")
                count = "48 samples are" if readout.start == 0 else "1 sample is"
                number = 11 if lines is None else HALF.index(10) + 1
                assert f"interference: {count} alone" in done.err and f"of readout {number} (" in done.err, done.err
                assert error(found[0], head()) < .025
    assert error(image_of("s.h5", "--spikes", "keep")[0][0], head()) > 1


def test_interference_in_one_frame(_):
    """Frames share a trajectory. A frame with interference gets its own; the images of others keep their bits."""
    need_h5py()
    clean = transform(coils_of() * head())
    frames = numpy.array([clean + noise_like(clean, noise_for(head(), .01), 7, f) for f in range(3)])
    images = []
    for spike in False, True:
        if spike:
            frames[1, :, 40, 5] = 100 * abs(clean).max()
        write("s.h5", clean)
        with h5py.File("s.h5", "a") as file:
            del file["scan/data"]
            file["scan/data"] = frames.reshape(3, COILS, -1).astype("c8")
        done = make("s.h5", "--lambda", 0.01, "--coils", "rss", "-o", "i.h5")
        with h5py.File("i.h5") as file:
            images.append(abs(file["image"][:, 0]))
    assert "of readout 41 of volume 2" in done.err, done.err
    assert numpy.array_equal(images[0][[0, 2]], images[1][[0, 2]])
    assert error(images[1][1], images[0][1]) < .02


def test_bright_samples_that_are_the_object(_):
    """Bright samples far from the centre that must stay: a phase over the object, grids inside the object and over the
    whole field of view, a wave, a wire, a point. No bit of the image changes, and nothing is said of interference."""
    need_h5py()
    y, x = coordinates(N)
    wave = numpy.exp(2j * numpy.pi * (11 * x + 7 * y))
    bars = 1 + numpy.cos(2 * numpy.pi * 12 * x) * numpy.cos(2 * numpy.pi * 8 * y)
    checks = (numpy.indices((N, N)) // 4).sum(0) % 2
    wire, point = 1. * (abs(x - .1) < .5 / N), 1. * ((abs(x - .125) < .5 / N) & (abs(y) < .5 / N))
    for objects in head() * wave, head() * bars, bars, checks, wave, wire * wave, point:
        for maps in coils_of(), numpy.ones((1, N, N)):
            data = transform(maps * objects)
            write("s.h5", data + noise_like(data, noise_for(abs(objects), .01), 8))
            done = make("s.h5", "--dry-run")
            assert "interference" not in done.err, done.err
    write("s.h5", transform(coils_of() * head() * wave))
    assert same_image("s.h5", "--spikes", "keep")


# ---- channels ----

def channels(sigma, signal=None, share=.01):
    """A scan whose channels have noise sigma[c] times `share` of the object, and signal[c] times the signal."""
    maps = coils_of() if signal is None else coils_of() * numpy.asarray(signal)[:, None, None]
    data = transform(maps * head())
    return data + noise_like(data, 1, 9) * noise_for(head(), share) * numpy.asarray(sigma)[:, None, None]


ONES = numpy.ones(COILS)
THIRD = numpy.arange(COILS) == 3


def without_third():
    """What is seen without channel 3: the object times the length of the others' maps."""
    return head() * numpy.sqrt((abs(coils_of()[~THIRD]) ** 2).sum(0))


def test_channel_of_noise(_):
    """A channel with nothing but noise, as strong as the others' or 300 times, is left out and named; so is a dead one,
    with a noise scan or without. The image is that of the other channels: at 1 % noise the error is below 3 %."""
    need_h5py()
    samples = noise_like(numpy.zeros((COILS, 4096)), noise_for(head(), .01), 10)
    for scan, sigma in ((False, 1), (False, 300), (True, 30), (False, 0), (True, 0)):
        write("s.h5", channels(numpy.where(THIRD, sigma, 1), ~THIRD),
              **({"noise": samples * numpy.where(THIRD, sigma, 1)[:, None]} if scan else {}))
        found, done = image_of("s.h5")
        why = "channel 3 has only noise; left out" if sigma else "channel 3 is dead (0 everywhere); left out"
        assert why in done.out and done.err == "", done.out + done.err
        scale = (found[0] * without_third()).sum() / (found[0] ** 2).sum()  # whitening changes the unit
        assert error((scale if scan else 1) * found[0], without_third()) < .03
    refuse(3, "has no noise", "s.h5", "--drop-coils", "none", "-o", "i.h5")


def test_channels_that_stay(_):
    """Channels with signal stay, even with a hundredth of it or only a point; of a scan of noise all stay. No bit
    changes by --drop-coils none."""
    need_h5py()
    y, x = coordinates(N)
    point = transform(coils_of() * ((abs(x - .125) < .5 / N) & (abs(y) < .5 / N)))
    for data in (channels(ONES), channels(ONES, numpy.where(THIRD, .01, 1)), channels(ONES, 0 * ONES),
                 point + noise_like(point, noise_for(head(), .001), 11), point):
        write("s.h5", data)
        assert "left out" not in image_of("s.h5")[1].out
        assert same_image("s.h5", "--drop-coils", "none")


def test_noise_that_differs(_):
    """A channel with signal and 30 times the noise of the others, without a noise scan: the others' noise decides. By the
    true noise the channel weighs 1/900, so the image is that of the others, but for 3 % of noise, and the maps' error,
    up to 3 % more. It was 20 % off. Where noise and signal differ together, as by gains, the scaling removes both: with 5
    % noise, which exceeds the signal of the outermost 346 samples, the gains are known to 3 %, so the error is 6 %; with
    the gains it would be 10 %. Up to a factor of two nothing changes, nor without any noise."""
    need_h5py()
    write("s.h5", channels(numpy.where(THIRD, 30, 1)))
    found, done = image_of("s.h5")
    assert "the channels' noise differs" in done.out and "there is no noise scan" in done.out, done.out
    assert error(found[0], without_third()) < .06
    gain = numpy.array([1, .5, 2, 1, .25, 1.5])
    write("s.h5", channels(gain, gain, .05))
    found, done = image_of("s.h5")
    assert "the channels' noise differs" in done.out
    scale = (found[0] * head()).sum() / (found[0] ** 2).sum()  # to the median channel
    assert error(scale * found[0], head()) < .07
    for sigma in (1 + THIRD, 0 * ONES):
        write("s.h5", channels(sigma))
        assert "noise differs" not in image_of("s.h5")[1].out


def test_named_channels(_):
    """--drop-coils with numbers and ranges: the scan is that of the others, with its maps, of the file and of --coils
    FILE, and bits are those of a file without these channels; with a noise scan also its covariance, of whose
    correlations a share is left out that depends on all channels. Of 4096 samples, they are 1.6 % by chance."""
    need_h5py()
    data, maps = channels(ONES), coils_of()
    samples = noise_like(numpy.zeros((COILS, 4096)), noise_for(head(), .01), 12)
    left = numpy.array([1, 3])
    for noise, near in ({}, 0), ({"noise": samples}, .016):
        write("some.h5", data[left], sensitivity=maps[left, None], **{name: values[left] for name, values in noise.items()})
        write("s.h5", data, sensitivity=maps[:, None], **noise)
        expected = image_of("some.h5", "--coils", "file")[0]
        found, done = image_of("s.h5", "--coils", "file", "--drop-coils", "0,2,4:5")
        assert "channels 0, 2, 4 and 5 were named; left out" in done.out, done.out
        assert error(found, expected) <= near
    with h5py.File("maps.h5", "w") as file:
        file["maps"] = maps[:, None].astype("c8")
    assert numpy.array_equal(image_of("s.h5", "--coils", "maps.h5", "--drop-coils", "0,2,4:5")[0], found)
    make("s.h5", "--drop-coils", "0,2,4:5", "--coils", "espirit", "--save-coils", "saved.h5", "-o", "i.h5")
    first = image_of("s.h5", "--drop-coils", "0,2,4:5", "--coils", "espirit")[0]
    # maps of the channels that are left; single precision goes through a file
    assert error(image_of("s.h5", "--drop-coils", "0,2,4:5", "--coils", "saved.h5")[0], first) < 1e-5
    for wrong, words in (("6", "numbered from 0 to 5"), ("3:2", "numbered from 0 to 5"), ("a", "expected none"),
                         ("1,", "expected none"), ("-1", "numbered from 0"), ("0:5", "no channel of 6")):
        refuse(2, words, "s.h5", "--drop-coils", wrong, "-o", "i.h5")


# ---- coil maps of the file ----

def test_maps_of_the_file(_):
    """Maps of the scan that explain the data are used, and also those that leave up to 1 %: turned by 10 degrees. Maps that
    leave more, and much more than the noise, and maps of other coils are not: in another order, conjugate, mirrored, or noise. Then estimated maps get the
    length of the file's, and the image is as even as with the right maps: within 2 % of it, the noise of two images. Maps
    of noise say nothing of the length: the image is the root of the sum of squares."""
    need_h5py()
    maps = coils_of(even=False)
    sensitivity = numpy.sqrt((abs(maps) ** 2).sum(0))
    assert sensitivity.max() > 1.2 * sensitivity.min()
    data = transform(maps * head())
    data += noise_like(data, noise_for(head(), .01), 13)

    def made(of_file, *options):
        write("s.h5", data, sensitivity=of_file[:, None])
        found, done = image_of("s.h5", *options)
        return found[0], done

    right, done = made(maps)
    assert "maps from the file" in done.out and done.err == "", done.err
    assert error(right, head()) < .02
    y, x = coordinates(N)

    def turned(degrees):
        at = (x + 1j * y) * numpy.exp(1j * numpy.radians(degrees)) * N
        rows, columns = (numpy.clip(numpy.rint(part).astype(int) + N // 2, 0, N - 1) for part in (at.imag, at.real))
        return maps[:, rows, columns]

    found, done = made(turned(10))  # leaves 0.9 %
    assert "maps from the file" in done.out and "mri_recon uses the file's" in done.err, done.out + done.err
    assert "compare with --coils espirit" in done.err and len(done.err.splitlines()) == 1
    found, done = made(turned(18))  # leaves 2.9 %, more than six times what ESPIRiT's maps leave
    assert "uses the estimated maps" in done.err and error(found, right) < .02, done.err
    for of_file in maps[::-1], numpy.roll(maps, 2, axis=0), maps.conj(), maps[..., ::-1]:
        found, done = made(of_file)
        assert "uses the estimated maps" in done.err and "--coils file" in done.err and "total sensitivity" in done.err, done.err
        assert error(found, right) < .02
        assert "maps from the file" in made(of_file, "--coils", "file")[1].out
    found, done = made(noise_like(maps, 1, 15))
    assert "shaded by the coils" in done.err, done.err
    assert error(found, head() * sensitivity) < .02


if __name__ == "__main__":
    run_tests(globals())
