#!/usr/bin/env python3
"""Echo-planar scans: the phase of reversed readouts, by navigators and by the images, and sampling on the gradient's ramps,
each with its opposite, which must be left alone.

usage: test_mri_epi.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom

The object is a sum of soft ellipses on 32 x 32 voxels, and the signal its exact transform at the true k, so without noise an
image by the right k is the object, to the solver's tolerance and the little light between voxels (ramps): below 1 %, while
the errors that are corrected are 10 % to 40 %. With noise of 0.5 % of the object's rms, 2 % are allowed.
"""
import re

import program
from made_scan import h5py, numpy, run_tests, skip_without_h5py

skip_without_h5py()
import made_acquisitions as made  # noqa: E402  (needs h5py)

N, OVER, COILS = 32, 2, 4
READOUT = OVER * N
RIGHT, WRONG = 0.02, 0.08  # largest error of a right image, least of a wrong one


def grid():
    steps = (numpy.arange(N) - N // 2) / N
    return numpy.meshgrid(steps, steps, indexing="ij")


def phantom():
    y, x = grid()
    image = numpy.zeros((N, N))
    for cx, cy, rx, ry, value in ((0, 0, .34, .38, 1), (0, .02, .27, .32, -.4), (-.12, -.1, .07, .1, .5), (.17, -.14, .06, .06, .9)):
        edge = numpy.clip((numpy.hypot((x - cx) / rx, (y - cy) / ry) - 1) * 12, -60, 60)
        image += value / (1 + numpy.exp(edge))
    return image


def coil_maps(count=COILS):
    y, x = grid()
    maps = []
    for c in range(count):
        t = 2 * numpy.pi * c / count
        maps.append(numpy.exp(-((x - .45 * numpy.cos(t)) ** 2 + (y - .45 * numpy.sin(t)) ** 2) / .35)
                    * numpy.exp(1j * (2 * x * numpy.cos(t + 1) + 2 * y * numpy.sin(t) + t)))
    maps = numpy.array(maps)
    return maps / numpy.sqrt((abs(maps) ** 2).sum(0))


class Ramps:
    """Samples under a trapezoid, and k as its integral, summed numerically: 1 ns steps, unlike the program's formula."""

    def __init__(self, samples, up=120, flat=320, down=120, share=0.9):
        whole = up + flat + down
        self.samples, self.dwell = samples, share * whole / samples
        self.up, self.flat, self.down, self.delay = up, flat, down, (whole - share * whole) / 2
        t = numpy.linspace(0, whole, 10 * whole * 10 + 1)
        gradient = numpy.interp(t, [0, up, up + flat, whole], [0, 1, 1, 0])
        area = numpy.concatenate([[0], numpy.cumsum((gradient[1:] + gradient[:-1]) / 2 * numpy.diff(t))])
        times = self.delay + (numpy.arange(samples) + .5) * self.dwell
        ends = numpy.interp([self.delay, whole - self.delay], t, area)
        self.k = READOUT / (ends[1] - ends[0]) * (numpy.interp(times, t, area) - area[-1] / 2)

    def xml(self):
        longs = {"rampUpTime": self.up, "flatTopTime": self.flat, "rampDownTime": self.down,
                 "acqDelayTime": round(self.delay), "numSamples": self.samples}
        words = "".join(f"<userParameterLong><name>{n}</name><value>{v}</value></userParameterLong>" for n, v in longs.items())
        return ("<trajectoryDescription><identifier>ConventionalEPI</identifier>" + words + "<userParameterDouble><name>dwellTime"
                f"</name><value>{self.dwell:.9g}</value></userParameterDouble></trajectoryDescription>")


EVEN = numpy.arange(READOUT) - READOUT // 2


class Signal:
    """Readouts of the phantom. A reversed one has the true k `shift` below the nominal one, and is turned by `turn` rad."""

    def __init__(self, k=EVEN, conjugate=False, noise=0.):
        self.k, self.conjugate, self.noise = k, conjugate, noise
        self.truth = phantom()
        seen = self.truth * coil_maps()
        self.rows = numpy.fft.fftshift(numpy.fft.fft(numpy.fft.ifftshift(seen, axes=1), axis=1), axes=1)
        self.x = (numpy.arange(N) - N // 2) / READOUT
        self.random = program.seeds.generator()

    def readout(self, line, reverse=False, shift=0., turn=0., scale=1.):
        k = self.k[::-1] - shift if reverse else self.k
        samples = scale * self.rows[:, line] @ numpy.exp(-2j * numpy.pi * numpy.outer(self.x, k))
        samples = samples * numpy.exp(1j * turn) if reverse else samples
        samples = samples + self.noise * self.random.normal(size=(2, *samples.shape)).T.dot([1, 1j]).T
        return samples.conj() if self.conjugate else samples


def header(trajectory="epi", rest="", vendor=""):
    xml = made.header((READOUT, N, 1), (240 * OVER, 240, 5), (N, N, 1), (240, 240, 5), trajectory, rest)
    known = f"<acquisitionSystemInformation><systemVendor>{vendor}</systemVendor></acquisitionSystemInformation>"
    return xml.replace("<encoding>", known + "<encoding>", 1) if vendor else xml


def shot(signal, lines, shift=0., turn=0., navigators=3, **counters):
    """Navigators + - +, then lines of alternating polarity."""
    flag = (0, made.REVERSE)
    counts = {"slice": 0, "repetition": 0, "position": (0, 0, 0), **counters}
    marks = counts.pop("marks", {})  # other counters of navigators
    made_of = [made.acquisition(signal.readout(N // 2, j % 2 == 1, shift, turn), N // 2, 0, made.PHASE_CORRECTION | flag[j % 2],
                                **{**counts, **marks}) for j in range(navigators)]
    return made_of + [made.acquisition(signal.readout(y, j % 2 == 1, shift, turn), y, 0, flag[j % 2], **counts)
                      for j, y in enumerate(lines)]


def reconstruct(*options):
    """The images' magnitudes, and what the program says."""
    done = program.run("s.h5", "-o", "i.h5", *options)
    assert done.status == 0, done.err
    with h5py.File("i.h5") as file:
        return abs(file["image"][...].astype(complex)), " ".join((done.out + done.err).split())


def error(image, truth):
    """Relative, after the best factor."""
    fit = (image * truth).sum() / (image ** 2).sum()
    value = numpy.linalg.norm(fit * image - truth) / numpy.linalg.norm(truth)
    assert numpy.isfinite(value)
    return value


def both(signal, least=WRONG):
    """Errors with and without the correction, and what is said with it. Nothing may be called folded."""
    image, said = reconstruct()
    without, _ = reconstruct("--epi", "off")
    right, wrong = error(image.squeeze(), signal.truth), error(without.squeeze(), signal.truth)
    print(f"    error {right:.4f}, without {wrong:.4f}")
    assert right <= RIGHT and wrong >= least, (right, wrong, said)
    assert "folded" not in said and "two sets" not in said, said
    return said


def figures(said):
    """The shifts and turns that are said, least and most."""
    found = re.search(r"shifted by (\S+)(?: to (\S+))? samples and turned by (\S+)(?: to (\S+))? degrees", said)
    assert found, said
    a, b, c, d = found.groups()
    return [float(v) for v in (a, b or a, c, d or c)]


# ---- navigators ----

def test_navigators():
    """A shift of 0.31 samples and 0.42 rad = 24.06 degrees, as said to the last digit, from three navigators; in two shots from
    six."""
    signal = Signal()
    for shots in (1, 2):
        parts = [one for s in range(shots) for one in shot(signal, range(s, N, shots), 0.31, 0.42)]
        made.write("s.h5", header(), parts)
        said = both(signal)
        assert figures(said) == [0.31, 0.31, 24, 24] and f"from {3 * shots} navigators" in said, said


def test_each_shot_has_its_own():
    """Shots, slices and repetitions differ by up to a radian: the navigators' other average, set and segment do not matter."""
    signal = Signal()
    parts = []
    for repetition in range(2):
        for place in range(2):
            for half in range(2):
                parts += shot(signal, range(half, N, 2), 0.3 + 0.2 * place, 0.5 * half - 0.4 * repetition, slice=place,
                              repetition=repetition, position=(0, 0, 5 * place), marks={"average": 7, "set": 2, "segment": 1})
    made.write("s.h5", header(), parts)
    image, said = reconstruct()
    assert image.shape == (2, 2, N, N)
    errors = [error(one, signal.truth) for volume in image for one in volume]
    assert max(errors) <= RIGHT, errors
    assert figures(said) == [0.3, 0.5, -23, 29] and "from 24 navigators" in said, said  # -0.4 and 0.5 rad


def test_siemens():
    """Data of the other phase sign are conjugated, and so must the navigators be."""
    signal = Signal(conjugate=True)
    made.write("s.h5", header(vendor="SIEMENS"), shot(signal, range(N), 0.31, -0.42))
    assert figures(both(signal)) == [0.31, 0.31, -24, -24]


def test_navigators_of_one_polarity():
    """They say nothing, which is said; then the image decides."""
    signal = Signal()
    parts = shot(signal, range(N), 0.31, 0.42)
    made.write("s.h5", header(), parts[:1] + parts[2:])  # + +
    said = both(signal)
    assert "do not tell a phase" in said and "from the images" in said, said


# ---- by the image ----

def test_by_the_image():
    """The object leaves parts of the field of view empty, so ghosts show: found to the digits that are said, but for 0.01
    samples and a degree that the overlap may cost."""
    signal = Signal(noise=0.05)
    for shift, turn in ((0.4, 24), (-0.3, -40)):
        made.write("s.h5", header(), shot(signal, range(N), shift, numpy.radians(turn), navigators=0))
        said = both(signal)
        numbers = figures(said)
        assert abs(numbers[0] - shift) <= 0.011 and abs(numbers[2] - turn) <= 1.01 and "from the images" in said, said


def test_reversed_readouts_in_forward_order():
    """GE's converter puts reversed readouts into forward order and flags none, also of navigators: every second readout of a shot
    is one. The opposite: without a delay, or without the word EPI, nothing changes."""
    signal = Signal(noise=0.05)

    def scan(lines, shift, turn, trajectory="epi", shots=1, post=0):
        parts = []
        for s in range(shots):
            for j, y in enumerate([N // 2] * 3 + list(lines)[s::shots]):
                odd = (j - 3) % 2 == 1
                samples = signal.readout(y, odd, shift, numpy.radians(turn))[:, ::-1 if odd else 1].copy()
                samples[:, READOUT - post:] = 99
                one = made.acquisition(samples, y, 0, made.PHASE_CORRECTION if j < 3 else 0)
                one["head"]["discard_post"] = post
                parts.append(one)
        made.write("s.h5", header(trajectory, vendor="" if trajectory == "epi" else "GE"), parts)
    for shots, lines in ((1, range(N)), (2, range(N)), (1, range(N - 1, -1, -1)), (1, range(6, N))):
        for shift, turn in ((0.4, 24), (-0.3, -40)):
            scan(lines, shift, turn, shots=shots)
            said = both(signal)
            numbers = figures(said)
            assert abs(numbers[0] - shift) <= 0.011 and abs(numbers[2] - turn) <= 1.01 and "every second one" in said, said
    scan(range(N), 0.4, 24, post=3)
    image, _ = reconstruct()
    assert error(image.squeeze(), signal.truth) < WRONG / 2  # without 3 of 64 samples at alternating ends
    scan(range(N), 0, 0)
    image, said = reconstruct()
    without, _ = reconstruct("--epi", "off")
    assert "EPI" not in said and "warning" not in said and numpy.array_equal(image, without), said
    scan(range(N), 0.4, 24, "cartesian")
    assert "EPI" not in reconstruct()[1]


def test_reversed_readouts_without_flags():
    """A converter that has forgotten the flags: the readouts are in the order of their acquisition. Images of half of the lines
    tell, also where every second line is missing. That center_sample counts the samples as stored makes a shift of 1 more."""
    signal = Signal(noise=0.05)
    for shift, turn, lines, shots in ((0.4, 24, range(N), 1), (0, 0, range(N), 1), (-1.5, -60, range(N), 2), (0.4, 24, range(0, N, 2), 1)):
        parts = [one for s in range(shots) for one in shot(signal, lines[s::shots], shift, numpy.radians(turn), navigators=0)]
        for one in parts:
            one["head"]["flags"] = 0
        made.write("s.h5", header(), parts)
        image, said = reconstruct()
        assert "no readout is flagged as reversed" in said, said
        if len(lines) == N:
            assert error(image.squeeze(), signal.truth) <= RIGHT, said
            numbers = figures(said)
            assert abs(numbers[0] - shift - 1) <= 0.011 and abs(numbers[2] - turn) <= 1.01, said


class Views:
    """An EPI scan as GE's converter writes it: the views without phase encoding come first in the file, but were acquired before or
    after the lines. Every second view was reversed and is in forward order, none is flagged, and the sign of every second one is
    changed where it was not in the lines. The first of four shows something else."""

    def __init__(self, signal, lines=range(N), after=False):
        self.signal, self.lines, self.after, self.parts = signal, lines, after, []

    def image(self, shift, degrees, **counters):
        count = len(self.lines)
        views = [(j + (count if self.after else 0), N // 2) for j in range(4)]
        views += [(i + (0 if self.after else 4), y) for i, y in enumerate(self.lines)]
        for n, (view, y) in enumerate(views):
            odd = view % 2 == 1
            samples = self.signal.readout(y, odd, shift, numpy.radians(degrees))[:, ::-1 if odd else 1]
            if n < 4:
                samples = (0.3j if n == 0 else (-1) ** view) * samples
            self.parts.append(made.acquisition(samples, y, 0, made.PHASE_CORRECTION if n < 4 else 0, dwell=0., **counters))
        return self

    def write(self, rest=""):
        made.write("s.h5", header(rest=rest, vendor="GE MEDICAL SYSTEMS"), self.parts)


def test_navigators_in_forward_order():
    """Nothing says which navigators were reversed. The images tell the sign of their phase, and they tell the phase: to the last
    digit, also where every second line is missing and the image alone is 5 degrees off; of each repetition; on ramps."""
    signal = Signal(noise=0.05)
    for after in (False, True):
        for shift, turn in ((0.4, 24), (-1.5, -60)):
            Views(signal, after=after).image(shift, turn).write()
            said = both(signal)
            assert figures(said) == [shift, shift, turn, turn] and "from 3 navigators" in said, said
            Views(signal, range(0, N, 2), after).image(shift, turn).write()
            _, said = reconstruct()
            assert figures(said) == [shift, shift, turn, turn] and "from 3 navigators" in said, said
    Views(signal, range(1, N)).image(0.4, 24).image(0.3, -30, repetition=1).write()  # an odd number of lines
    image, said = reconstruct()
    assert max(error(one.squeeze(), signal.truth) for one in image) <= RIGHT and figures(said) == [0.3, 0.4, -30, 24], said
    for samples in (80, READOUT):
        ramps = Ramps(samples)
        uneven = Signal(ramps.k, noise=0.05)
        Views(uneven).image(0.4, 24).write(ramps.xml())
        said = both(uneven)
        assert figures(said) == [0.4, 0.4, 24, 24] and "on the gradient's ramps" in said, said


def test_navigators_that_do_not_fit():
    """Navigators of another phase than the image's, in forward order, are not used; nor where nothing needs a correction."""
    signal = Signal(noise=0.05)
    views = Views(signal).image(0.4, 24)
    views.parts[:4] = Views(signal).image(1.2, -70).parts[:4]
    views.write()
    said = both(signal)
    assert "from the images" in said, said
    views = Views(signal).image(0, 0)
    views.write()
    image, said = reconstruct()
    without, _ = reconstruct("--epi", "off")
    assert "EPI" not in said and numpy.array_equal(image, without), said


def test_ramps_that_differ():
    """All readouts forward, on ramps of two lengths: none of them can be a reversed one that a converter has turned."""
    ramps = Ramps(80, up=60, down=240)
    signal = Signal(ramps.k)
    made.write("s.h5", header(rest=ramps.xml()), [made.acquisition(signal.readout(y), y) for y in range(N)])
    image, said = reconstruct()
    assert error(image.squeeze(), signal.truth) <= RIGHT and "every second one" not in said, said


def test_nothing_to_correct():
    """Without a delay the images with and without the correction are the same bytes."""
    signal = Signal(noise=0.05)
    made.write("s.h5", header(), shot(signal, range(N), navigators=0))
    image, said = reconstruct()
    without, _ = reconstruct("--epi", "off")
    assert "not corrected" in said and "may have ghosts" not in said and numpy.array_equal(image, without), said


def test_noise_decides_nothing():
    """Of noise alone no phase is better than another."""
    signal = Signal(noise=1.)
    signal.rows *= 0
    made.write("s.h5", header(), shot(signal, range(N), navigators=0))
    _, said = reconstruct("--coils", "rss")
    assert "not corrected" in said, said


def test_bipolar_echoes():
    """A gradient echo whose even echoes are reversed: each image has one polarity, so its readouts are right as they are, the
    shift of an echo being a phase of its image. Navigators or not, nothing changes."""
    signal = Signal()
    parts = shot(signal, [], 0.8, 0.9)
    for echo in range(3):
        flag = made.REVERSE if echo == 1 else 0
        parts += [made.acquisition(signal.readout(y, echo == 1, 0.8, 0.9), y, 0, flag, contrast=echo) for y in range(N)]
    made.write("s.h5", header("cartesian"), parts)
    image, said = reconstruct()
    without, _ = reconstruct("--epi", "off")
    assert "EPI" not in said and numpy.array_equal(image, without), said
    assert max(error(one.squeeze(), signal.truth) for one in image) <= RIGHT


# ---- ramps ----

def test_ramps():
    """More samples than voxels, and as many, on ramps of 120 us about 320 us: the matrix is the header's. With a delay, too."""
    for samples, shift, turn in ((80, 0, 0), (READOUT, 0, 0), (80, 0.4, 0.42)):
        ramps = Ramps(samples)
        signal = Signal(ramps.k)
        made.write("s.h5", header(rest=ramps.xml()), shot(signal, range(N), shift, turn))
        said = both(signal)
        assert "on the gradient's ramps" in said, said
        assert figures(said) == ([0.4, 0.4, 24, 24] if shift else [0, 0, 0, 0]), said


def test_references_of_a_gradient_echo():
    """Every second line on ramps, with calibration lines of the same encoding: of a gradient echo, which are even and all forward
    or have another dwell time, or of echo-planar trains, on ramps in both directions. Maps of samples at the wrong k leave 14 %.
    Maps that are estimated from 16 lines of few coils leave up to twice as much again as a right image."""
    ramps = Ramps(READOUT)
    signal, even = Signal(ramps.k), Signal()
    middle = range(N // 2 - 8, N // 2 + 8)
    for kind in ("forward", "dwell", "train"):
        calibration = []
        for j, y in enumerate(middle):
            back = j % 2 == 1 and kind != "forward"
            samples = (signal if kind == "train" else even).readout(y, back, scale=2)
            calibration.append(made.acquisition(samples, y, 0, made.CALIBRATION | (made.REVERSE if back else 0),
                                                dwell=8. if kind == "dwell" else 5.))
        made.write("s.h5", header(rest=ramps.xml()), calibration + shot(signal, range(0, N, 2)))
        image, said = reconstruct()
        assert error(image.squeeze(), signal.truth) < 3 * RIGHT and "on the gradient's ramps" in said, (kind, said)


def test_ramps_without_navigators():
    ramps = Ramps(80)
    signal = Signal(ramps.k)
    made.write("s.h5", header(rest=ramps.xml()), shot(signal, range(N), 0.4, 0.42, navigators=0))
    numbers = figures(both(signal))
    assert abs(numbers[0] - 0.4) <= 0.011 and abs(numbers[2] - 24) <= 1.01, numbers


def test_interpolated_already():
    """A converter interpolated the samples to even steps and kept the header: with the number of samples as measured, which is
    another, or as it is now."""
    signal = Signal()
    for samples in (80, READOUT):
        made.write("s.h5", header(rest=Ramps(samples).xml()), shot(signal, range(N), 0.31, 0.42))
        said = both(signal)
        assert "ramps" not in said and figures(said) == [0.31, 0.31, 24, 24], said


def test_ramps_not_described():
    """Without a description samples are even: more of them than the matrix has is evidence of ramps, as many is none."""
    for samples, warned in ((80, True), (READOUT, False)):
        signal = Signal(Ramps(samples).k)
        made.write("s.h5", header(), shot(signal, range(N)))
        _, said = reconstruct()
        assert ("taken as sampled evenly" in said) == warned, said


if __name__ == "__main__":
    run_tests(globals())
