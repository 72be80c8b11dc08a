#!/usr/bin/env python3
"""mri_recon in parts (--part, --join), and after runs that did not end (--journal, --resume): the files are those of one
run, byte by byte.

usage: test_mri_pieces.py PROGRAM [DEVICE] [test_name ...]
VOXFIELD_PHANTOM names mri_phantom.
"""
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

import program
from made_scan import h5py, need_h5py, numpy, phantom, run_tests
from program import listing, make, refuse, Skip
from seeds import draw, generator, program_seed
from test_mri_bart import write_cfl
from test_mri_series import write_acquisitions
from two_folders import assert_same, inside, parts_in, size_of, stopped, two_folders

SEED = program_seed()
DRAW = draw()
FRAMES = 6
FORMATS = ("h5", "cfl", "mrd", "nii", "nii.gz")


def series(path, *options, spokes=8, matrix=20):
    return phantom(path, "--phantom", "head", "--matrix", f"{matrix},{matrix},1", "--coils", 3, "--spokes", spokes, "--frames",
                   FRAMES, "--continue", "--image-snr", 20, "--noise-scan", "--seed", SEED, *options)


def uneven(path):
    """Frames of 2 to 30 spokes. Their operators differ, and so may the way in which F is computed."""
    series("all.mrd", spokes=30)
    with h5py.File("all.mrd") as file:
        first = int(sum(file["dataset/data"]["head"]["flags"] == 1 << 18))  # behind the noise scan
    lengths = DRAW.sample([2, DRAW.randint(2, 30), DRAW.randint(2, 30), 30], 4)
    rows = [list(range(first + 30 * f if f else 0, first + 30 * f + length)) for f, length in enumerate(lengths)]
    write_acquisitions(path, "all.mrd", rows)


def stack(path):
    """3 slices of 3 Cartesian frames, which share a trajectory, line by line in turn. Each slice has another signal."""
    phantom("plane.mrd", "--phantom", "head", "--matrix", "20,20,1", "--coils", 4, "--trajectory", "cartesian", "--accelerate",
            2, "--calibration-lines", 12, "--frames", 3, "--image-snr", 30, "--seed", SEED)
    with h5py.File("plane.mrd") as old, h5py.File(path, "w") as new:
        rows = numpy.repeat(old["dataset/data"][...], 3)
        for n, row in enumerate(rows):
            row["head"]["idx"]["slice"], row["head"]["position"] = n % 3, (0, 0, 5 * (n % 3))
            row["data"] = row["data"] * numpy.float32(1 + n % 3)
        new["dataset/xml"] = old["dataset/xml"][...]
        new.create_dataset("dataset/data", data=rows, dtype=old["dataset/data"].dtype)


def bart(path):
    """2 echoes at 3 times, of 2 slices."""
    numbers, shape = generator(), [8, 18, 1, 2, 1, 2, 1, 1, 1, 1, 3, 1, 1, 2, 1, 1]
    write_cfl(path.removesuffix(".cfl"), numbers.normal(size=shape) + 1j * numbers.normal(size=shape), shape)


SCANS = {"s.h5": series, "m.mrd": series, "dense.h5": lambda path: series(path, spokes=40), "uneven.mrd": uneven,
         "stack.mrd": stack, "k.cfl": bart, "field.h5": lambda path: series(path, "--field-hz", 40, "--reference"),
         "volume.h5": lambda path: phantom(path, "--matrix", 10, "--coils", 2, "--spokes", 60, "--frames", 3, "--continue",
                                           "--trajectory", "koosh-ball-golden", "--image-snr", 20, "--seed", SEED)}


def folders(scan):
    """Folders with the scan."""
    if not os.path.exists(scan):
        SCANS[scan](scan)
    two_folders(*([scan, "k.hdr"] if scan == "k.cfl" else [scan]))


def line_of(pattern, text):
    """The numbers in the line that the pattern is all of; None: there is no such line."""
    found = re.search(f"^{pattern}$", text, re.M)
    return tuple(map(int, found.groups())) if found else None


def kept(text):
    return line_of(r"kept +(\d+) of (\d+) frames?, from \S+", text)


def compare(scan, *options, output=None, count=0):
    """One run, and the same in parts, in any order and with other numbers of threads, which are then joined."""
    count = count or DRAW.randint(2, 3)
    arguments = [scan, *options, "-o", output or f"i.{DRAW.choice(FORMATS)}"]
    folders(scan)
    with inside("one"):
        make("-q", *arguments)
    with inside("two"):
        before = {*os.listdir(".")}
        for part in DRAW.sample(range(1, count + 1), count):
            make("-q", *arguments, "--part", f"{part}/{count}", "--threads", DRAW.choice("123"))
        assert {*os.listdir(".")} - parts_in(".") == before and len(parts_in(".")) == count
        make("-q", *arguments, "--join")
    assert_same((count, *arguments))


PRIORS = ("s.h5", "dense.h5", "s.h5 --prior wavelet --shifts 2 --seed 5", "s.h5 --prior tgv", "s.h5 --prior spectrum",
          "s.h5 --prior wavelet --wavelet db2 --shifts 1 --solver fista", "s.h5 --prior wavelet+tv --solver primal-dual",
          "field.h5 --prior reference --lambda 0.1", "s.h5 --prior differences --precision double",
          "s.h5 --iterations 3 --tolerance 0")
WINDOWS = ("s.h5 --prior llr", "s.h5 --prior llr --window 4", "s.h5 --prior temporal --window 5", "s.h5 --prior nuclear",
           "s.h5 --prior wavelet+temporal --window 4 --coils rss", "s.h5 --prior llr --window 4 --spokes-per-frame 5",
           "stack.mrd --prior temporal")
SURE = tuple(f"{case} --lambda sure" for case in ("s.h5", "stack.mrd --prior wavelet", "s.h5 --prior llr --window 4"))
COILS = tuple(f"m.mrd --coils {coils}" for coils in ("rss", "walsh", "nlinv", "espirit --map-sets 2", "espirit --compress 2"))
METHODS = ("s.h5 --method gridding", "s.h5 --method adjoint", "s.h5 --method bilinear", "s.h5 --operator direct", "field.h5",
           "s.h5 --operator nufft --accuracy 1e-4", "s.h5 --frames 2:6:2", "m.mrd --spokes-per-frame 20 --frame-step 7",
           "volume.h5", "uneven.mrd", "uneven.mrd --prior wavelet", "uneven.mrd --lambda 0.1", "stack.mrd",
           "stack.mrd --prior wavelet", "stack.mrd --method adjoint", "k.cfl --lambda 0.02 --coils rss")
CASES = (*PRIORS, *WINDOWS, *SURE, *COILS, *METHODS)


def test_parts(_):
    """Some cases of each kind. Frames that are solved together are made in each part that needs one of them, and parts may cut a
    window. The factor on lambda of --lambda sure is found from a frame that may be in another part."""
    need_h5py()
    for case in (case for cases, count in ((PRIORS, 2), (WINDOWS, 2), (SURE, 1), (COILS, 1), (METHODS, 4))
                 for case in DRAW.sample(cases, count)):
        compare(*case.split())
    compare("stack.mrd", count=DRAW.randint(4, 9))


def test_formats(_):
    """All formats, a picture, and a copy of the scan with the images."""
    need_h5py()
    for kind in FORMATS:
        compare("m.mrd", "--method", "adjoint", "--picture", "p.png", output=f"i.{kind}", count=2)
        assert {f"i.{kind}", "p.png"} <= set(os.listdir("two"))
    compare("m.mrd", "--append-to-copy", output="copy.mrd", count=1)

def test_few_frames(_):
    """More parts than frames, and a scan of one frame: some parts have none."""
    compare("s.h5", "--method", "adjoint", count=FRAMES + 2)
    phantom("single.h5", "--matrix", "16,16,1", "--coils", 2, "--spokes", 12, "--seed", SEED)
    compare("single.h5", output="i.h5", count=3)
    with inside("two"):
        for part, frames in ((1, 0), (2, 0), (3, 1)):
            out = make("single.h5", "-o", "i.h5", "--part", f"{part}/3", "--resume").out
            assert f" of 3: {frames} of 1 frame" in out and kept(out) == ((1, 1) if frames else None), out


# ---- what is said, and refused ----


def test_what_parts_say(_):
    series("s.h5")
    common, report = ["s.h5", "-o", "i.h5", "--report", "r.json", "--method", "adjoint"], pathlib.Path("r.json")
    parts = DRAW.randint(2, 4)
    behind, whole = 0, {"what": "frame", "all": FRAMES, "first": 0, "count": FRAMES, "kept": 0}
    for part in range(1, parts + 1):
        done = make(*common, "--part", f"{part}/{parts}")
        pieces = json.loads(report.read_bytes())["pieces"]
        count = FRAMES * part // parts - behind
        assert pieces == {**whole, "part": part, "parts": parts, "first": behind, "count": count}, pieces
        behind += count
        said = line_of(rf"part +(\d+) of (\d+): (\d+) of (\d+) frames?, to i\.h5\.part-{part}-of-{parts}", done.out)
        assert said == (part, parts, count, FRAMES) and not kept(done.out), done.out
        assert re.search("^done .*--join instead of --part", done.out, re.M), done.out
        assert set(os.listdir(".")) == {"s.h5", "r.json", *(f"i.h5.part-{p}-of-{parts}" for p in range(1, part + 1))}
    done = make(*common, "--part", f"{parts}/{parts}", "--resume")
    assert kept(done.out) == (count, count) and json.loads(report.read_bytes())["pieces"] == {**pieces, "kept": count}, done.out
    done = make(*common, "--join")
    assert line_of(r"parts +(\d+) of i\.h5 joined, (\d+) frames", done.out) == (parts, FRAMES), done.out
    assert json.loads(report.read_bytes())["pieces"] == {**whole, "joined": parts, "kept": FRAMES}
    done = make(*common, "--journal", "yes")
    assert json.loads(report.read_bytes())["pieces"] == whole and "i.h5.pieces" not in os.listdir(".") and not kept(done.out)
    assert not re.search("^(kept|part)", make(*common).out, re.M) and "pieces" not in json.loads(report.read_bytes())


def test_report_of_joined_parts(_):
    """What the report says of the reconstruction is what it says after one run, or is left out."""
    series("s.h5")
    for more in ([], ["--part", "1/2"], ["--part", "2/2"], ["--join"]):
        make("s.h5", "--prior", "wavelet", "--lambda", "sure", "-o", "i.h5", "--report", f"{len(more)}.json", *more)
    one, joined = (json.loads(pathlib.Path(name).read_text(encoding="utf-8"))["reconstruction"] for name in ("0.json", "1.json"))
    other = {name: (value, one.get(name)) for name, value in joined.items() if value != one.get(name)}
    assert not other, f"joined, one run: {other}"


def test_refused_options(_):
    series("s.h5")
    phantom("fixed.h5", "--matrix", "16,16,1", "--coils", 2, "--frames", 2, "--seed", SEED)  # one trajectory
    for text in ("0/3", "4/3", "", "1/0", "1/3x", "1/100001", "4294967297/3"):
        refuse(2, ["--part", "I/N"], "s.h5", f"--part={text}", "-o", "i.h5")
    for both in ("--part=1/2 --join", "--part=1/2 --journal=no", "--join --resume", "--resume --journal=no"):
        refuse(2, [both.split("=")[0].split()[0], "cannot be combined with"], "s.h5", *both.split())
    os.symlink("/dev/null", "null.h5")
    before = {*listing(), "i.h5", "m.h5"}
    for option in (["--part", "1/2"], ["--join"], ["--resume"], ["--journal", "yes"]):
        for more in ("--save-coils", "--save-q", "--noise-map"):
            refuse(2, [more, "leave it out"], "fixed.h5", "--operator", "nufft", *option, more, "m.h5", "-o", "i.h5")
        if option != ["--join"]:
            refuse(2, "null.h5", "s.h5", *option, "-o", "null.h5")
        make("s.h5", "--dry-run", *option, "-o", "i.h5")
    refuse(4, "no/i.h5", "s.h5", "--part", "1/2", "-o", "no/i.h5")
    make("-q", "s.h5", "--save-coils", "m.h5", "-o", "i.h5", "--journal", DRAW.choice(["no", "auto"]))
    assert before == {*listing()}


def test_join_refuses(_):
    series("s.h5")
    common = ["s.h5", "-o", "i.h5", "--method", "adjoint"]
    join, second = [*common, "--join"], pathlib.Path("i.h5.part-2-of-3")
    refuse(3, ["i.h5.part-1-of-N", "--part"], *join)
    for part in (1, 3):
        make("-q", *common, "--part", f"{part}/3")
    refuse(3, "i.h5.part-2-of-3 is missing", *join)
    make("-q", *common, "--part", "2/3")
    refuse(4, ["i.h5.part-2-of-3", "--resume"], *common, "--part", "2/3")
    whole = second.read_bytes()
    for text, said in ((whole[:-1], "part 2 has 1 of 2"), (whole[:100], str(second)), (b"another", "not a file of pieces")):
        second.write_bytes(text)
        refuse(3, said, *join)
    second.write_bytes(whole)
    with open(second, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refuse(3, [str(second), "still writing"], *join)
        refuse(4, [str(second), "another run"], *common, "--part", "2/3", "--resume")
    shutil.copy(second, "i.h5.part-1-of-2")
    refuse(3, ["i.h5", "parts of 3", "parts of 2"], *join)
    os.remove("i.h5.part-1-of-2")
    for name in ("i.h5.part-1-of-2x", "i.h5.part-4-of-3", "xi.h5.part-1-of-2", "i.h5.pieces"):
        shutil.copy(second, name)  # no names of parts of this output
    make("-q", *join)


def expect_refusal(arguments, others, said, change=lambda: None):
    """A part of a run is no part of another run, and the other does not go on from it."""
    way = DRAW.choice([["--join"], ["--part", "1/1", "--resume"], ["--resume"]])
    name = "i.h5.pieces" if way == ["--resume"] else "i.h5.part-1-of-1"
    make("-q", *arguments, "--part", "1/1")
    os.rename("i.h5.part-1-of-1", name)
    change()
    refuse(3, [f"{name} does not fit", *said], *others, *way)
    os.remove(name)


def test_all_that_images_depend_on(_):
    """Parts and kept frames of another image are refused, and the line that differs is named."""
    need_h5py()
    series("s.h5")
    for coils, name in (("walsh", "maps.h5"), ("espirit", "others.h5")):
        make("-q", "s.h5", "--coils", coils, "--save-coils", name, "-o", "x.h5")
    common = {"-o": "i.h5", "--prior": "wavelet", "--lambda": 0.01, "--coils": "file"}
    cases = [("--prior", "tv"), ("--lambda", 0.02), ("--lambda", None), ("--coils", "maps.h5"), ("--precision", "double"),
             ("--iterations", 7), ("--tolerance", 1e-2), ("--frames", "1:5"), ("--frames", "1:6"), ("--wavelet", "haar"),
             ("--shifts", 1), ("--seed", 2), ("--spokes-per-frame", 6), ("--operator", "direct"), ("--accuracy", 1e-3),
             ("--compress", 2), ("--frame-noise", "equal")]

    def words(options):
        return ["s.h5", *(str(word) for pair in options.items() if pair[1] is not None for word in pair)]

    def line(name, value):
        return f"'no {name}'" if value is None else f"'{name} with the" if value == "maps.h5" else f"'{name} {value}'"

    for name, value in cases:
        both = [words(common), words({**common, name: value})]
        DRAW.shuffle(both)
        expect_refusal(*both, [line(name, common.get(name)), line(name, value)])
    expect_refusal(words(common), [*words(common), "--keep-oversampling"], ["'no --keep-oversampling'", "'--keep-oversampling'"])
    maps = words({**common, "--coils": "maps.h5"})
    expect_refusal(maps, maps, ["'--coils with the"], lambda: shutil.copy("others.h5", "maps.h5"))

    def change_scan():
        with h5py.File("s.h5", "r+") as file:
            at = tuple(DRAW.randrange(n) for n in file["scan/data"].shape)
            file["scan/data"][at] = file["scan/data"][at] * numpy.float32(1.5) + numpy.float32(1e-3)

    expect_refusal(words(common), words(common), ["'input with the"], change_scan)


def test_changed_scan_of_bart(_):
    """Its data, or its header."""
    need_h5py()
    arguments = ["k.cfl", "--coils", "rss", "--lambda", 0.02, "-o", "i.h5"]
    bart("k.cfl")
    expect_refusal(arguments, arguments, ["checksum"], lambda: numpy.fromfile("k.cfl", "c8")[::-1].tofile("k.cfl"))
    bart("k.cfl")
    text = pathlib.Path("k.hdr").read_text(encoding="ascii").replace("8 18", "18 8")
    expect_refusal(arguments, arguments, [], lambda: pathlib.Path("k.hdr").write_text(text, encoding="ascii"))


def test_options_that_change_nothing(_):
    """Parts may have other files, threads and messages than the run that joins them. The scan may have been moved."""
    folders("s.h5")
    with inside("one"):
        one = make("s.h5", "--compare", "truth").out
    with inside("two"):
        shutil.copy("s.h5", "t.h5")
        make("t.h5", "-o", "s_image.h5", "--part", "1/3", "--report", "r.json", "--threads", 1, "--compare", "truth")
        make("s.h5", "-o", "../two/s_image.h5", "--part", "2/3", "--progress", "--picture", "p.png", stderr=subprocess.DEVNULL)
        make("-q", "s.h5", "-o", os.path.abspath("s_image.h5"), "--part", "3/3", "--resume", "--journal=yes")
        two = make("s.h5", "--compare", "truth", "--join").out
        os.remove("t.h5")
        os.remove("r.json")
    assert_same("joined")
    assert re.findall("^error .*", one, re.M) == re.findall("^error .*", two, re.M) != [], two


# ---- runs that go on from where another ended ----


def test_resume(_):
    """Files that have some of the frames, in any order, and that are cut off anywhere, as if the run that wrote them had been
    killed there, or in which a bit has changed."""
    need_h5py()
    for trial in range(3):
        scan, *options = DRAW.choice(CASES).split()
        output = f"i.{DRAW.choice(FORMATS)}"
        arguments, pieces = [scan, *options, "-o", output], pathlib.Path(f"{output}.pieces")
        folders(scan)
        with inside("one"):
            make(*arguments)
        with inside("two"):
            make(*arguments, "--part", "1/1", "--threads", DRAW.choice("12"))
            os.rename(f"{output}.part-1-of-1", pieces)
            data = pieces.read_bytes()
            item_bytes, *texts = struct.unpack_from("<QII", data, 24)  # a header with texts, and a record for each frame
            cuts = range(48 + sum(texts), len(data) + 1, 32 + item_bytes)
            assert cuts[-1] == len(data)
            header, found = data[:cuts[0]], [data[a:b] for a, b in zip(cuts, cuts[1:])]
            some = DRAW.sample(found, DRAW.randint(1, len(found)))
            data = bytearray(header + b"".join(some))
            number = len(some)
            damaged = trial % 3 == 0
            if damaged:  # behind a record's header: frames after it would be missing, too
                data[len(data) - 1 - DRAW.randrange(len(some[0]) - 32)] ^= 1 << DRAW.randrange(8)
                number -= 1
            elif trial % 3 == 1:
                del data[DRAW.choice([0, DRAW.randrange(len(header)), DRAW.randrange(len(header), len(data))]):]
                number = max(0, len(data) - len(header)) // len(some[0])
            pieces.write_bytes(data)
            done = make(*arguments, "--resume")
            assert kept(done.out) == ((number, len(found)) if number else None), (arguments, len(data), number, done.out)
            assert (f"{pieces}: 1 piece" in done.err) == damaged and not pieces.exists(), done.err
        assert_same((trial, len(data), *arguments))


def one_long_run():
    """The files of a run, in the folder one. Returns its arguments, its seconds and about the size of the file of frames."""
    series("long.h5", matrix=64, spokes=12)
    prior = DRAW.choice([["wavelet"], ["wavelet+temporal", "--window", 4]])
    arguments = ["long.h5", "--prior", *prior, "-o", "i.h5"]
    folders("long.h5")
    with inside("one"):
        began = time.monotonic()
        make(*arguments)
        return arguments, time.monotonic() - began, 64 * 64 * 8 * FRAMES


def test_kill(_):
    """At random moments of the run's time or of the file's growth, the first in the first half of it, so that frames are
    kept. A run that ends before it is killed must have made the image; the next begins anew."""
    arguments, seconds, size = one_long_run()
    before = best = 0
    with inside("two"):
        for trial in range(4):
            most = size if trial else size / 2
            at, least = (DRAW.uniform(0, seconds), 0) if trial % 2 else (0, DRAW.uniform(size_of("i.h5.pieces"), most))
            done = stopped(signal.SIGKILL, lambda now, at=at, least=least: now >= at and size_of("i.h5.pieces") >= least,
                           *arguments, *(["--resume"] if trial else ["--journal=yes"]))
            assert done.status in (0, -signal.SIGKILL), (done.status, done.err)
            if "\nimage " in done.out:  # what comes after the line about kept frames
                now = (kept(done.out) or [0])[0]
                assert now >= before, f"{now} frames are kept, and {before} were before"
                before, best = now, max(best, now)
            if os.path.exists("i.h5"):
                before *= os.path.exists("i.h5.pieces")
                assert_same(trial, "../")
                os.remove("i.h5")
        assert best > 0 or program.DEVICE == "cuda", "no run went on from where another ended"
        make(*arguments, "--resume")
    assert_same("the last run")


def test_signals(_):
    """The first says where the frames are that are kept."""
    arguments, _, size = one_long_run()
    with inside("two"):
        for number, part in ((signal.SIGTERM, []), (signal.SIGUSR1, []), (signal.SIGINT, ["--part", "1/1"])):
            name = "i.h5.part-1-of-1" if part else "i.h5.pieces"
            done = stopped(number, lambda _, name=name: size_of(name) > size / 9, *arguments, *(part or ["--journal", "yes"]))
            if done.status == 0 and program.DEVICE == "cuda":
                raise Skip("the GPU ends the run before a signal can")
            assert done.status == 130 and done.err.endswith("mri_recon: error: interrupted\n"), (number, done.status, done.err)
            said = line_of(rf"mri_recon: warning: {re.escape(name)} keeps (\d+) of (\d+) frames; the same command with --resume "
                           "goes on from there", done.err)
            assert said and 0 < said[0] <= said[1] == FRAMES, done.err
            assert set(os.listdir(".")) == {"long.h5", name}, os.listdir(".")
            assert kept(make(*arguments, *part, "--resume").out) == said, done.err
            if part:
                make(*arguments, "--join")
            assert_same(number, "../")
            os.remove("i.h5")


if __name__ == "__main__":
    run_tests(globals())
