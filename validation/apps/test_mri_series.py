#!/usr/bin/env python3
"""mri_recon on series. --spokes-per-frame cuts one long golden-angle scan into frames: the images must equal those
of a scan that was made with these frames, bit for bit, in every layout. Also tests --frames.

usage: test_mri_series.py PROGRAM [DEVICE] [test_name ...]
VOXFIELD_PHANTOM names mri_phantom.
"""
import json

from made_scan import h5py, image, need_h5py, numpy, phantom, relative, run_tests
from program import make, refuse
from seeds import generator, program_seed
from test_mri_bart import write_cfl

SPOKES, FRAMES, SAMPLES, COILS = 24, 4, 64, 4
SEED = program_seed()
PER_SAMPLE = {"trajectory": 1, "data": 2, "time": 0, "weights": 0}  # the axis of samples in a scan of many frames


def made(path, *options):
    """Makes a series: the golden angle continues from frame to frame, and each frame has a different contrast."""
    return phantom(path, "--phantom", "head", "--matrix", "32,32,1", "--coils", COILS, "--spokes", SPOKES,
                   "--frames", FRAMES, "--continue", "--oversample", 2, "--image-snr", 30, "--seed", SEED, *options)


def spokes_of(path):
    """All readouts of a plain series by name, [readout][...]. The readouts of a frame are consecutive."""
    with h5py.File(path) as file:
        k, data, when = (file["scan"][name][...] for name in ("trajectory", "data", "time"))
    data = data.reshape(len(data), COILS, -1, SAMPLES).transpose(0, 2, 1, 3).reshape(-1, COILS, SAMPLES)
    k = k.reshape(-1, SAMPLES, 3)
    weights = generator().uniform(0.5, 1, k.shape[:2]).astype("f4")
    times = numpy.tile(when.reshape(-1, SAMPLES), (FRAMES, 1))
    return {"trajectory": k, "data": data, "time": times, "weights": weights}


def write_frames(path, like, readouts, frames):
    """Writes a plain scan with these frames, each a list of readouts. Everything except the samples comes from the
    scan `like`."""
    with h5py.File(like) as source, h5py.File(path, "w") as file:
        source.copy("scan", file)
        scan = file["scan"]
        for name in {*PER_SAMPLE, "truth"} & {*scan}:
            del scan[name]
        for name in readouts:
            rows = [readouts[name][frame] for frame in frames]
            if name == "data":
                rows = [row.transpose(1, 0, 2).reshape(COILS, -1) for row in rows]
            else:
                rows = [row.reshape(-1, *row.shape[2:]) for row in rows]
            scan[name] = numpy.array(rows) if len(frames) > 1 else rows[0]
    return path


def write_acquisitions(path, like, frames):
    """Writes an ISMRMRD scan whose repetition n has the acquisitions frames[n] of `like`."""
    with h5py.File(like) as source, h5py.File(path, "w") as file:
        all_rows = source["dataset/data"][...]
        rows = numpy.concatenate([all_rows[list(frame)] for frame in frames])
        rows["head"]["idx"]["repetition"] = numpy.repeat(range(len(frames)), [len(frame) for frame in frames])
        file["dataset/xml"] = source["dataset/xml"][...]
        file.create_dataset("dataset/data", data=rows, dtype=source["dataset/data"].dtype)
        if "csm" in source["dataset"]:
            source.copy("dataset/csm", file["dataset"])
    return path


def windows(length, step, readouts=SPOKES * FRAMES):
    return [range(first, first + length) for first in range(0, readouts - length + 1, step)]


def reconstruct(scan, *options, name="i"):
    make(scan, "-o", f"{name}.h5", "--report", f"{name}.json", *options)
    with open(f"{name}.json", encoding="utf-8") as file:
        return image(f"{name}.h5"), json.load(file)["input"]


def expect_same(whole, whole_options, separate, *options):
    """The image of a regrouped scan has the same bits as that of a scan with these frames."""
    if "--method" not in options:
        options = (*options, "--iterations", 8, "--tolerance", 0)  # bits differ from the first one on
    ours, of_ours = reconstruct(whole, *whole_options, *options)
    theirs, of_theirs = reconstruct(separate, *options)
    assert ours.shape == theirs.shape, (whole_options, options, ours.shape, theirs.shape)
    assert numpy.isfinite(ours).all() and abs(ours).max() > 0, (whole_options, options)
    off = abs(ours - theirs).max() / abs(ours).max()
    assert ours.tobytes() == theirs.tobytes(), f"{whole_options}, {options}: {off:.2e}"
    assert of_ours["trajectory_sha256"] == of_theirs["trajectory_sha256"], (whole_options, options)
    return ours


def test_one_long_frame(_):
    """A series cut into its own frames, also if maps, noise and lambda are estimated from the samples."""
    need_h5py()
    made("s.h5", "--field-hz", 40)
    readouts = spokes_of("s.h5")
    separate = write_frames("frames.h5", "s.h5", readouts, windows(SPOKES, SPOKES))
    whole = write_frames("long.h5", "s.h5", readouts, windows(SPOKES * FRAMES, 1))
    for options in ([], ["--coils", "espirit"], ["--coils", "nlinv"], ["--coils", "rss", "--method", "gridding"],
                    ["--lambda", 0.01, "--prior", "differences"], ["--method", "bilinear"], ["--threads", 1]):
        expect_same(whole, ["--spokes-per-frame", SPOKES], separate, *options)
    deviations = []
    for scan, cut in ((whole, ["--spokes-per-frame", SPOKES]), (separate, [])):
        make(scan, "-o", "i.h5", "--noise-map", "n.h5", "--replicas", 4, *cut)
        with h5py.File("n.h5") as file:
            deviations.append(file["noise"][...].tobytes())
    assert deviations[0] == deviations[1] and any(deviations[0])
    made("s.mrd", "--noise-scan")
    with h5py.File("s.mrd") as file:
        noise = sum(file["dataset/data"]["head"]["flags"] == 1 << 18)
    numbers = [range(noise)] + [range(noise + SPOKES * f, noise + SPOKES * (f + 1)) for f in range(FRAMES)]
    write_acquisitions("long.mrd", "s.mrd", [[n for part in numbers for n in part]])
    for options in ([], ["--coils", "espirit"]):
        expect_same("long.mrd", ["--spokes-per-frame", SPOKES], "s.mrd", *options)


def test_sliding_windows(_):
    """Frames that share readouts, and frames with gaps in between, against scans with these frames. The maps are
    those of the file, because estimated maps use each readout only once."""
    need_h5py()
    made("s.h5", "--field-hz", 40)
    readouts = spokes_of("s.h5")
    whole = write_frames("long.h5", "s.h5", readouts, windows(SPOKES * FRAMES, 1))
    made("s.mrd")
    every = range(SPOKES * FRAMES)
    for length, step in ((24, 10), (20, 35), (96, 1), (95, 1)):
        cut = ["--spokes-per-frame", length, "--frame-step", step]
        write_frames("frames.h5", "s.h5", readouts, windows(length, step))
        write_acquisitions("frames.mrd", "s.mrd", windows(length, step))
        ours = expect_same(whole, cut, "frames.h5", "--coils", "file")
        assert len(ours) == (96 - length) // step + 1
        expect_same(write_acquisitions("long.mrd", "s.mrd", [every]), cut, "frames.mrd", "--coils", "file")
        expect_same("s.mrd", cut, "frames.mrd", "--coils", "file")  # the scan's own frames do not matter


def test_maps_of_all_readouts(_):
    """Estimated maps do not depend on the frames: they are those of one long frame."""
    need_h5py()
    made("s.mrd")
    write_acquisitions("long.mrd", "s.mrd", [range(SPOKES * FRAMES)])
    maps = []
    for options in ([], ["--spokes-per-frame", 24], ["--spokes-per-frame", 30, "--frame-step", 7],
                    ["--spokes-per-frame", 12, "--frames", 3]):
        make("long.mrd", "-o", "i.h5", "--coils", "espirit", "--save-coils", "maps.h5", *options)
        with h5py.File("maps.h5") as file:
            maps.append(file["maps"][...].tobytes())
    assert len(set(maps)) == 1 and any(maps[0])


def test_frames(_):
    """Selected frames of a series. The adjoint of a frame does not depend on other frames, and the maps are those
    of all readouts, so the bits are the same. For the scan's own frames, ESPIRiT sees the samples in another order,
    which changes the last bits of the maps. With the maps of only one frame, the image differs far more."""
    need_h5py()
    made("s.mrd")
    cut = ["--spokes-per-frame", 12, "--coils", "espirit", "--method", "adjoint"]
    whole, _ = reconstruct("s.mrd", *cut)
    assert len(whole) == 8
    for text, chosen in (("2:6:2", [1, 3, 5]), ("-1", [7]), (":2", [0, 1])):
        some, report = reconstruct("s.mrd", *cut, "--frames", text)
        assert some.tobytes() == whole[chosen].tobytes() and report["frames"] == len(chosen), text
    make("s.mrd", *cut, "--frames", "2:6:2", "-o", "o.mrd")
    with h5py.File("o.mrd") as file:
        assert list(file["dataset/image_0/header"]["repetition"]) == [1, 3, 5]
    for options, bound in ((["--coils", "file"], 0), (["--coils", "espirit"], 1e-4)):
        whole, _ = reconstruct("s.mrd", "--method", "adjoint", *options)
        some, report = reconstruct("s.mrd", "--method", "adjoint", *options, "--frames", "3:4")
        assert report["trajectories"] == 2 and relative(some, whole[2:]) <= bound, (options, relative(some, whole[2:]))
    one, _ = reconstruct(write_acquisitions("one.mrd", "s.mrd", [range(2 * SPOKES, 3 * SPOKES)]), "--method", "adjoint",
                         "--coils", "espirit")
    assert relative(one[0], whole[2]) > 1e-3


def test_cartesian(_):
    """Lines are readouts, too: they are cropped and regrouped, also in repetitions that share a trajectory."""
    need_h5py()
    options = ("--phantom", "head", "--matrix", "32,32,1", "--coils", 2, "--trajectory", "cartesian", "--oversample", 2,
               "--frames", 3, "--seed", SEED, "--image-snr", 30)
    phantom("s.mrd", *options)
    write_acquisitions("long.mrd", "s.mrd", [range(96)])
    for scan in ("long.mrd", "s.mrd"):
        ours, report = reconstruct(scan, "--spokes-per-frame", 32, "--coils", "file")
        theirs, _ = reconstruct("s.mrd", "--coils", "file")
        assert "cropped" in report["description"] and report["trajectories"] == 1, report
        assert ours.tobytes() == theirs.tobytes()
    write_acquisitions("half.mrd", "s.mrd", windows(16, 16, 96))
    expect_same("s.mrd", ["--spokes-per-frame", 16], "half.mrd", "--coils", "file", "--keep-oversampling")
    # Of 8 frames of 12 lines of -16 to 15, over and over, the first, third, sixth and last have none within 2 of k = 0.
    said = make("long.mrd", "--coils", "file", "--spokes-per-frame", 12, "-o", "i.h5").err
    assert "4 of 8 images have no sample near the centre of k-space along y" in said and "--spokes-per-frame" in said, said
    write_acquisitions("single.mrd", "s.mrd", [[n] for n in range(96)])  # a line each, but 32 of them make a whole image
    said = make("single.mrd", "--coils", "file", "--spokes-per-frame", 32, "-o", "i.h5").err
    assert "near the centre" not in said, said


def test_bart(_):
    """BART's layout, [samples][spokes], with or without frames."""
    need_h5py()
    readouts = spokes_of(made("s.h5"))
    for name, frames in (("long", windows(96, 1)), ("frames", windows(24, 24)), ("sliding", windows(40, 20))):
        shape = [1] * 7 + [len(frames)] + [1] * 5
        k, data = (numpy.array([readouts[n][frame] for frame in frames]) for n in ("trajectory", "data"))
        write_cfl(name, data.transpose(3, 1, 2, 0), [1, SAMPLES, k.shape[1], COILS, *shape[1:7], *shape[7:]])
        write_cfl(name + "_t", k.transpose(3, 2, 1, 0), [3, SAMPLES, k.shape[1], 1, *shape[1:7], *shape[7:]])
    options = ["--coils", "rss", "--lambda", 0.01]
    images = {}
    for name, cut in (("long", []), ("frames", []), ("sliding", []), ("long", [24, 24]), ("frames", [24, 24]),
                      ("frames", [40, 20])):
        more = ["--spokes-per-frame", cut[0], "--frame-step", cut[1]] if cut else []
        images[name, *cut], _ = reconstruct(f"{name}.cfl", "--trajectory", f"{name}_t.cfl", *options, *more)
    for a, b in (("long", 24, 24), ("frames",)), (("frames", 24, 24), ("frames",)), (("frames", 40, 20), ("sliding",)):
        assert images[a].shape == images[b].shape and images[a].tobytes() == images[b].tobytes(), a
    write_cfl("c", numpy.ones((8, 8, 1, 2)))
    refuse(3, "in what order", "c.cfl", "--spokes-per-frame", 4)


def test_where_readouts_begin(_):
    """Without times, k shows where readouts begin. If it does not, the user must give --readout-samples."""
    need_h5py()
    readouts = spokes_of(made("s.h5"))
    expected, _ = reconstruct("s.h5", "--spokes-per-frame", 32, "--coils", "rss", "--lambda", 0.01)
    del readouts["time"], readouts["weights"]
    write_frames("k.h5", "s.h5", readouts, windows(96, 1))
    for options in ([], ["--readout-samples", SAMPLES]):
        ours, _ = reconstruct("k.h5", "--spokes-per-frame", 32, "--coils", "rss", "--lambda", 0.01, *options)
        assert ours.tobytes() == expected.tobytes(), options
    halves, _ = reconstruct("k.h5", "--spokes-per-frame", 64, "--readout-samples", SAMPLES // 2, "--coils", "rss",
                            "--lambda", 0.01)
    assert halves.tobytes() == expected.tobytes()
    readouts["trajectory"] = generator().uniform(-16, 16, readouts["trajectory"].shape).astype("f4")
    write_frames("random.h5", "s.h5", readouts, windows(96, 1))
    refuse(3, ["random.h5", "--readout-samples"], "random.h5", "--spokes-per-frame", 32)


def test_truth_and_compression(_):
    """Each frame is compared with the truth of the original frame of its middle readout.

    Virtual coils are the principal components of all readouts, each counted once. The root sum of squares depends
    only on the space that they span. It is compared with numpy's result: samples are rounded to 6e-8, and sums of
    1920 samples in single precision have errors of 1e-6 of the image."""
    need_h5py()
    made("s.h5")
    with h5py.File("s.h5") as file:
        truth = file["scan/truth"][...].astype("f8")
    for cut, source in ((["--spokes-per-frame", 12], [0, 0, 1, 1, 2, 2, 3, 3]), (["--frames", "2:4:2"], [1, 3]),
                        (["--spokes-per-frame", 40, "--frame-step", 8, "--frames", "1:-1:7"], [0, 3])):
        ours, _ = reconstruct("s.h5", "--coils", "file", "--compare", "truth", *cut)
        with open("i.json", encoding="utf-8") as file:
            errors = json.load(file)["error_of_volumes"]
        assert len(errors) == len(ours) == len(source)
        for v, of in enumerate(source):
            expected = numpy.mean((abs(ours[v].astype("c16")) - truth[of]) ** 2)
            assert abs(errors[str(v)]["mse"] / expected - 1) < 1e-5, (cut, v)
    # Data of one coil less than there are: whatever the samples weigh, the components span the same coils.
    readouts = spokes_of("s.h5")
    samples = readouts["data"].transpose(1, 0, 2).reshape(COILS, -1).astype("c16")
    kept = numpy.linalg.eigh(samples @ samples.conj().T)[1][:, 1:]
    readouts["data"] = numpy.einsum("wv,rvm->rwm", kept @ kept.conj().T, readouts["data"]).astype("c8")
    write_frames("fewer.h5", "s.h5", {name: readouts[name] for name in ("trajectory", "data")}, [range(SPOKES * f, SPOKES * (f + 1)) for f in range(FRAMES)])
    readouts["data"] = numpy.einsum("cv,rcm->rvm", kept.conj(), readouts["data"]).astype("c8")
    with h5py.File("s.h5") as source, h5py.File("virtual.h5", "w") as file:
        scan = file.create_group("scan")
        scan.attrs.update(source["scan"].attrs)
        scan["trajectory"] = numpy.array([readouts["trajectory"][w].reshape(-1, 3) for w in windows(30, 11)])
        rows = [readouts["data"][w].transpose(1, 0, 2) for w in windows(30, 11)]
        scan["data"] = numpy.array([row.reshape(COILS - 1, -1) for row in rows])
    options = ["--method", "adjoint", "--coils", "rss"]
    ours, _ = reconstruct("fewer.h5", "--spokes-per-frame", 30, "--frame-step", 11, "--compress", COILS - 1, *options)
    theirs, _ = reconstruct("virtual.h5", *options)
    assert relative(ours, theirs) < 1e-5, relative(ours, theirs)


def test_said(_):
    """The plan, and errors that are reported before any work."""
    need_h5py()
    made("s.mrd")
    out = make("s.mrd", "--dry-run", "--spokes-per-frame", 20, "--frame-step", 15, "--frames", "2:").out
    assert "regrouped: 6 frames of 20 readouts, one every 15, 1 of 96 readouts in no frame; frames 2: of 6" in out, out
    assert "5 volumes" in out and "image      s_image.h5: 5 volumes of 32 x 32 x 1" in out, out
    refuse(2, "has only 96 readouts", "s.mrd", "--spokes-per-frame", 97)
    refuse(2, "--readout-samples", "s.mrd", "--spokes-per-frame", 9, "--readout-samples", 64)
    refuse(2, "spokes-per-frame", "s.mrd", "--frame-step", 9)
    refuse(2, "the scan has 4", "s.mrd", "--frames", 5)
    refuse(2, "the scan has 9", "s.mrd", "--spokes-per-frame", 10, "--frames", "3:10")
    refuse(2, "one trajectory, but the frames have 5", "s.mrd", "--spokes-per-frame", 19, "--save-q", "q.h5")
    make("s.mrd", "--spokes-per-frame", 19, "--frames", 2, "--save-q", "q.h5")


if __name__ == "__main__":
    run_tests(globals())
