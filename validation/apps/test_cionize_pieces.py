#!/usr/bin/env python3
"""cionize in parts (--part, --join), and after runs that did not end (--journal, --resume): the files are those of one run,
byte by byte.

usage: test_cionize_pieces.py PROGRAM [DEVICE] [test_name ...]
"""
import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct

import program
from ion_truth import generator, random_molecule, whole, write_dcd, write_molecule
from program import listing, make, refuse, run, sample
from seeds import draw
from two_folders import assert_same, inside, parts_in, size_of, stopped, two_folders

DRAW = draw()
FORMATS = ("mrc", "dx", "cube", "h5", "dx.gz")
GRID = ["--spacing", "2"]  # of 1hpv: 39 layers along z, 34 along x
LONG = ["--method", "exact", "--spacing", "1"]  # of 1hpv: 20 pieces, which are written slowly where a run is to be stopped
SLOW = 60  # milliseconds to write one


def in_parts(count, *arguments):
    """The same in parts, in any order and with other numbers of threads, which are then joined. Returns the last run."""
    for part in DRAW.sample(range(1, count + 1), count):
        make("-q", *arguments, "--part", f"{part}/{count}", "--threads", DRAW.choice("12"))
    return make(*arguments, "--join")


def compare(count, *arguments, names):
    """One run, and the same in parts."""
    two_folders(*names)
    with inside("one"):
        make("-q", *arguments)
    with inside("two"):
        done = in_parts(count, "-q", *arguments)
        assert done.err == "" and len(parts_in(".")) == count
    assert_same((count, *arguments))


def size_kept():
    """Bytes of the layers in the map's file beside m.mrc, which has holes where they are not yet."""
    try:
        return os.stat("m.mrc.pieces-map").st_blocks * 512
    except FileNotFoundError:
        return 0


def kept(text):
    """(kept, all) of the line about kept layers; None: there is no such line."""
    line = re.search(r"^kept +(\d+) of (\d+) layer(?:s?| sums), from \S+$", text, re.M)
    return line and (int(line[1]), int(line[2]))


# ---- parts ----


def test_parts_are_one_run(_):
    """Each format once, in any number of parts. So 4 of them meet all methods with all precisions."""
    sample("1hpv.pqr")
    ways = [(method, precision) for method in ("exact", "fast") for precision in ("single", "double")]
    for kind, (method, precision) in zip(FORMATS, [*DRAW.sample(ways, 4), DRAW.choice(ways)]):
        compare(DRAW.randint(1, 7), "1hpv.pqr", *GRID, "--method", method, "--precision", precision, "-o", f"m.{kind}",
                names=["1hpv.pqr"])


def test_parts_of_other_potentials(_):
    sample("water_box.pqr")
    for options in (["--cell", "30,31,32"], ["--cell", "30,31,32", "--smooth", "1.2"], ["--smooth", "1"],
                    ["--distance-dielectric", "4"], ["--units", "V", "--r-min", "1"], ["--accuracy", "1e-3"]):
        compare(DRAW.randint(2, 7), "water_box.pqr", "--spacing", "1.1", *options, "-o", f"m.{DRAW.choice(FORMATS)}",
                names=["water_box.pqr"])


def test_more_parts_than_layers(_):
    """Some parts have no layers. The default name, and a picture, which needs all of the map."""
    sample("dipole.pqr")
    compare(9, "dipole.pqr", "--counts", "4,5,3", "--picture", "p.png", names=["dipole.pqr"])
    assert {"dipole.dx", "p.png", "dipole.dx.part-9-of-9"} <= set(os.listdir("two"))


MANY = 100  # frames, three blocks


def make_trajectory(frames=5):
    """A molecule of 40 atoms, and frames of it."""
    numbers = generator()
    atoms = whole(random_molecule(numbers, 40), 2)
    write_molecule("a.pqr", atoms)
    write_dcd("t.dcd", atoms[:, :3] + numbers.normal(0, 0.5, (frames, len(atoms), 3)))


def test_parts_of_averages(_):
    """Few and many frames, with both methods, with and without deviations; each format once or twice."""
    kinds = [*DRAW.sample(FORMATS, 5), *DRAW.sample(FORMATS, 3)]
    for frames in (5, MANY):
        make_trajectory(frames)
        for method in ("exact", "fast"):
            for deviates in (False, True):
                kind = kinds.pop()
                deviation = ["--deviation", f"d.{kind}"] if deviates else []
                compare(DRAW.randint(2, 3) + 2 * deviates, "a.pqr", "--trajectory", "t.dcd", "--spacing", "3", "--method", method,
                        "--precision", DRAW.choice(["single", "double"]), "-o", f"m.{kind}", *deviation, names=["a.pqr", "t.dcd"])


def test_blocks_of_frames(_):
    """A part of an average with many frames has whole blocks of them, if there is a block for each: so no part repeats the
    Fourier transforms of another's frames."""
    make_trajectory(MANY)
    common = ["a.pqr", "--trajectory", "t.dcd", "--counts", "9,10,11", "-o", "m.mrc"]  # 11 layers, 3 blocks
    for parts, expected in ((1, [33]), (2, [11, 22]), (3, [11, 11, 11]), (4, [8, 8, 8, 9])):
        for part in range(1, parts + 1):
            make(*common, "--part", f"{part}/{parts}", "--report", "r.json")
            pieces = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["pieces"]
            assert pieces["what"] == "layer sum" and pieces["all"] == 33 and pieces["count"] == expected[part - 1], pieces
            os.remove(f"m.mrc.part-{part}-of-{parts}")


def test_parts_with_ions(_):
    """Ions are placed when the parts are joined."""
    sample("1hpv.pqr")
    place = ["1hpv.pqr", "--spacing", "2", "--place", "CLA:3", "--place", "SOD:2"]
    compare(3, *place, names=["1hpv.pqr"])
    assert "1hpv_ionized.pdb" in os.listdir("two")
    compare(4, *place, "-o", "all.pdb", "--ions", "i.pqr", "--mask", "k.dx", "--map", "m.mrc", "--map-with-ions",
            names=["1hpv.pqr"])
    assert {"all.pdb", "i.pqr", "k.dx", "m.mrc"} <= set(os.listdir("two"))
    compare(2, "1hpv.pqr", "--spacing", "2", "--concentration", "0.15", "--refine", names=["1hpv.pqr"])
    pathlib.Path("s.cfg").write_text("BEGIN\nSAVEGRID before.dx\nPLACEION CLA 2 -1\nSAVEION i.pdb\nSAVEGRID after.mrc\nEXIT\n",
                                     encoding="ascii")
    compare(3, "1hpv.pqr", "--spacing", "2", "-i", "s.cfg", names=["1hpv.pqr", "s.cfg"])
    assert {"before.dx", "i.pdb", "after.mrc"} <= set(os.listdir("two"))


def test_what_parts_say(_):
    sample("dipole.pqr")
    common = ["dipole.pqr", "--counts", "6,7,11", "-o", "m.mrc"]  # 11 layers
    behind = 0
    for part in (1, 2, 3):
        done = make(*common, "--part", f"{part}/3", "--report", "r.json")
        report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
        pieces = report["pieces"]
        assert pieces["what"] == "layer" and pieces["all"] == 11 and pieces["kept"] == 0, pieces
        assert pieces["part"] == part and pieces["parts"] == 3 and pieces["first"] == behind, pieces
        behind += pieces["count"]
        assert "potential" not in report, "statistics of a part are not those of the map"
        said = rf"^part +{part} of 3: {pieces['count']} of 11 layers, to m\.mrc\.part-{part}-of-3$"
        assert re.search(said, done.out, re.M) and "--join" in done.out, done.out
        assert set(os.listdir(".")) == {"dipole.pqr", "r.json", *(f"m.mrc.part-{p}-of-3" for p in range(1, part + 1))}
    assert behind == 11
    done = make(*common, "--part", "2/3", "--resume")
    assert kept(done.out) and kept(done.out)[0] == kept(done.out)[1] > 0, done.out
    done = make(*common, "--join", "--report", "r.json")
    assert re.search(r"^parts +3 of m\.mrc joined, 11 layers$", done.out, re.M), done.out
    report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    pieces = report["pieces"]
    assert pieces["joined"] == 3 and pieces["kept"] == pieces["count"] == 11 and "part" not in pieces, pieces
    assert report["potential"]["minimum"] == min(program.read("m.mrc").values)


def test_refused_options(_):
    sample("dipole.pqr")
    for text in ("0/3", "4/3", "a", "1/", "/3", "", "1", "-1/3", "1/0", "1/3x", "1/3/3", " 1/3", "1.0/3", "1/100001",
                 "4294967297/3", "1/4294967299", "99999999999999999999/3"):
        refuse(2, ["--part", "I/N"], "dipole.pqr", f"--part={text}", "-o", "m.mrc")
    for both in (["--part", "1/2", "--join"], ["--part", "1/2", "--journal", "no"], ["--join", "--resume"],
                 ["--resume", "--journal", "no"]):
        refuse(2, [f"{both[0]} cannot be combined with" if both[0] != "--part" else "--part"], "dipole.pqr", *both)
    os.symlink("/dev/null", "null.mrc")
    for option in (["--part", "1/2"], ["--resume"], ["--journal", "yes"]):
        refuse(2, "null.mrc", "dipole.pqr", *option, "-o", "null.mrc")
    refuse(4, "no/m.mrc", "dipole.pqr", "--part", "1/2", "-o", "no/m.mrc")


def test_dry_runs_write_nothing(_):
    sample("dipole.pqr")
    before = listing()
    for option in (["--part", "1/2"], ["--join"], ["--resume"], ["--journal", "yes"]):
        make("dipole.pqr", "--dry-run", *option, "-o", "m.mrc")
        assert listing() == before, option


# ---- parts that do not fit ----


def test_join_refuses(_):
    sample("dipole.pqr")
    common = ["dipole.pqr", "--counts", "6,7,11", "-o", "m.mrc"]
    join = [*common, "--join"]
    refuse(3, ["m.mrc.part-1-of-N", "--part"], *join)
    for part in (1, 3):
        make("-q", *common, "--part", f"{part}/3")
    refuse(3, "m.mrc.part-2-of-3 is missing", *join)
    make("-q", *common, "--part", "2/3")
    second = pathlib.Path("m.mrc.part-2-of-3")
    whole = second.read_bytes()

    second.write_bytes(whole[:-1])  # one record is not whole
    refuse(3, ["m.mrc", "part 2 has ", "--resume"], *join)
    second.write_bytes(whole[:100])
    refuse(3, str(second), *join)
    second.write_bytes(b"")
    refuse(3, str(second), *join)
    second.write_bytes(b"another file, that is longer than the header of a file of pieces")
    refuse(3, f"{second} is not a file of pieces", *join)
    second.write_bytes(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
    refuse(3, [str(second), "damaged"], *join)
    damaged = whole[:-1] + bytes([whole[-1] ^ 64])
    second.write_bytes(damaged)
    assert "warning" in refuse(3, [str(second), "part 2 has "], *join).err

    second.write_bytes(whole)
    with open(second, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refuse(3, [str(second), "still writing"], *join)
        refuse(4, [str(second), "another run"], *common, "--part", "2/3", "--resume")

    make("-q", *common, "--part", "1/2")
    refuse(3, ["m.mrc", "parts of 3", "parts of 2"], *join)
    os.remove("m.mrc.part-1-of-2")
    pathlib.Path("m.mrc.part-4-of-3").write_bytes(whole)  # no name of a part, like these
    for name in ("m.mrc.part-1-of-2x", "m.mrc.part-1-of-", "xm.mrc.part-1-of-2", "m.mrc.part-0-of-2", "m.mrc.pieces"):
        pathlib.Path(name).write_bytes(whole)
    make("-q", *join)


def test_parts_of_another_method(_):
    sample("1hpv.pqr")
    common = ["1hpv.pqr", *GRID, "-o", "m.mrc"]
    for part in (1, 2):
        make("-q", *common, "--method", "exact", "--part", f"{part}/2")
    refuse(2, ["--method", "exact"], *common, "--method", "fast", "--join")
    refuse(3, ["m.mrc.part-2-of-2", "method exact", "method fast"], *common, "--method", "fast", "--part", "2/2", "--resume")
    os.remove("m.mrc.part-2-of-2")
    make("-q", *common, "--method", "fast", "--part", "2/2")
    refuse(3, ["m.mrc.part-2-of-2", "method exact", "method fast"], *common, "--join")
    os.remove("m.mrc.part-2-of-2")
    make("-q", *common, "--method", "exact", "--part", "2/2")
    done = make(*common, "--join")  # whatever this run had chosen
    assert "method" not in done.err and b"direct sum" in pathlib.Path("m.mrc").read_bytes()[:1024], done.out


def test_all_that_values_depend_on(_):
    """Parts and kept layers of another map are refused, and the line that differs is named."""
    make_trajectory()
    shutil.copy("a.pqr", "b.pqr")
    with open("b.pqr", "a", encoding="ascii") as more:
        more.write("ATOM 99 X UNK A 99 0.000 0.000 0.000 0.010 1.000\n")
    write_dcd("u.dcd", generator().normal(0, 4, (5, 40, 3)))
    common = {"--counts": "6", "--origin": "1,2,3", "--spacing": "1", "--method": "exact"}
    frames = {**common, "--trajectory": "t.dcd", "--frames": "1:4"}
    cell = {"--counts": "6", "--cell": "40,41,42,90,90,89", "--spacing": "", "--origin": "1,2,3"}
    cases = [(common, "--counts", "7", "grid 6 x 6 x 6"), (common, "--origin", "1,2,4", "origin 1 2 4"),
             (common, "--spacing", "1,1,0.5", "spacing 1 1 0.5"), (common, "--units", "V", "scale"),
             (common, "--dielectric", "2", "scale"), (common, "--temperature", "300", "scale"),
             (common, "--distance-dielectric", "2", "distance-dependent"), (common, "--r-min", "0.2", "r-min 0.2"),
             (common, "--precision", "double", "precision double"), (common, "input", "b.pqr", "molecule"),
             (common, "--trajectory", "t.dcd", "frames 5"), (frames, "--trajectory", "u.dcd", "positions"),
             (frames, "--frames", "2:5", "frames 4 from 2"), (frames, "--frames", "1:3", "frames 3"),
             (frames, "--deviation", "d.dx", "deviation yes"), (cell, "--cell", "40,41,43,90,90,89", "spacing 6.6"),
             (cell, "--cell", "40,41,42,90,90,91", "cell 40"), (cell, "--boundary", "vacuum", "boundary vacuum"),
             (cell, "--smooth", "1", "smooth 1"), (cell, "--accuracy", "1e-4", "accuracy 0.0001")]

    def words(options):
        options = {"input": "a.pqr", **options}
        return [options.pop("input"), *(word for pair in options.items() if pair[1] for word in pair), "-o", "m.dx"]

    program.write_atoms("neutral.pqr", [(1, 2, 3, 0.5), (4, 4, 4, -0.5)])
    for options, name, value, said in cases:
        options = {**options, "input": "neutral.pqr"} if value == "vacuum" else options
        make("-q", *words(options), "--part", "1/1")
        other = words({**options, name: value})
        refuse(3, ["m.dx.part-1-of-1", said], *other, "--join")
        refuse(3, ["m.dx.part-1-of-1", said], *other, "--part", "1/1", "--resume")
        os.rename("m.dx.part-1-of-1", "m.dx.pieces")
        refuse(3, ["m.dx.pieces", said], *other, "--resume")
        make("-q", *words(options), "--resume")
        os.remove("m.dx")


# ---- runs that go on from where another ended ----


def test_resume_without_an_earlier_run(_):
    """It begins. The file of kept layers is gone afterwards, and the map does not tell how it was made."""
    sample("dipole.pqr")
    make("-q", "dipole.pqr", "-o", "m.mrc")
    expected = pathlib.Path("m.mrc").read_bytes()
    for options in (["--resume"], ["--journal", "yes"], ["--journal=yes", "--resume"], ["--journal", "no"], ["--resu"],
                    ["--jour=auto"]):
        os.remove("m.mrc")
        done = make("-q", *options, "dipole.pqr", "-o", "m.mrc")
        assert done.err == "" and set(os.listdir(".")) == {"dipole.pqr", "m.mrc"}, (options, done.err)
        assert pathlib.Path("m.mrc").read_bytes() == expected, options


def test_kept_layers_are_not_lost(_):
    """A file that an earlier run left is used when asked for, and not replaced."""
    sample("dipole.pqr")
    common = ["dipole.pqr", "--counts", "6,7,11", "-o", "m.mrc"]
    make("-q", *common, "--part", "1/2")
    refuse(4, ["m.mrc.part-1-of-2", "--resume"], *common, "--part", "1/2")
    os.rename("m.mrc.part-1-of-2", "m.mrc.pieces")  # the same, apart from the layers
    refuse(4, ["m.mrc.pieces", "--resume"], *common, "--journal", "yes")
    done = make(*common, "--resume")
    assert kept(done.out) and 0 < kept(done.out)[0] < kept(done.out)[1] == 11, done.out
    assert set(os.listdir(".")) == {"dipole.pqr", "m.mrc"}


def records(data):
    """(items, end) of the records of a file of pieces, after (0, end) of its header."""
    item_bytes, key_bytes, maker_bytes = struct.unpack_from("<QII", data, 24)
    found = [(0, 48 + key_bytes + maker_bytes)]
    while found[-1][1] < len(data):
        count = struct.unpack_from("<q", data, found[-1][1] + 16)[0]
        found.append((count, found[-1][1] + 32 + count * item_bytes))
    return found


def test_torn_files(_):
    """Cut off anywhere, as if the run that wrote it had been killed there."""
    make_trajectory(MANY)
    average = ["--trajectory", "t.dcd", "--deviation"]
    for trial, kind in enumerate(DRAW.sample(FORMATS, 5)):
        arguments = ["a.pqr", "--spacing", "2.5", *([*average, f"d.{kind}"] if trial % 2 == 0 else []), "-o", f"m.{kind}", "--method",
                     DRAW.choice(["exact", "fast"]), "--precision", DRAW.choice(["single", "double"])]
        two_folders("a.pqr", "t.dcd")
        with inside("one"):
            make(*arguments)
        with inside("two"):
            make(*arguments, "--part", "1/1")
            data = pathlib.Path(f"m.{kind}.part-1-of-1").read_bytes()
            os.remove(f"m.{kind}.part-1-of-1")
            left = DRAW.randrange(len(data) + 1) if trial else len(data)
            pathlib.Path(f"m.{kind}.pieces").write_bytes(data[:left])
            expected = sum(count for count, end in records(data) if end <= left)
            done = make(*arguments, "--resume")
            assert done.err == "" and (kept(done.out) or (0, 0))[0] == expected, (left, expected, done.err, done.out)
            assert parts_in(".") == set()
        assert_same((trial, left, len(data), *arguments))


def test_damaged_files(_):
    """Bits that changed on the disk: layers are made again, with a warning; the map is right."""
    make_trajectory()
    arguments = ["a.pqr", "--spacing", "1", "-o", "m.mrc"]
    two_folders("a.pqr")
    with inside("one"):
        make(*arguments)
    with inside("two"):
        make(*arguments, "--part", "1/1")
        data = pathlib.Path("m.mrc.part-1-of-1").read_bytes()
        os.remove("m.mrc.part-1-of-1")
        found = records(data)
        assert len(found) > 3
        for _ in range(10):
            damaged = bytearray(data)
            hit = sorted(DRAW.sample(range(1, len(found)), DRAW.randint(1, 2)))
            for record in hit:  # not in the record's header: layers after it would be missing, too
                damaged[DRAW.randrange(found[record - 1][1] + 32, found[record][1])] ^= 1 << DRAW.randrange(8)
            lost, every = (sum(found[r][0] for r in some) for some in (hit, range(len(found))))
            pathlib.Path("m.mrc.pieces").write_bytes(damaged)
            done = make(*arguments, "--resume")
            assert (kept(done.out) or (0, 0))[0] == every - lost, (hit, done.out)
            assert done.err.startswith(f"cionize: warning: m.mrc.pieces: {lost} piece"), done.err
            with inside(".."):
                assert_same(hit)
            os.remove("m.mrc")


def test_full_disk(_):
    """What was finished before the disk was full is kept."""
    sample("1hpv.pqr")
    arguments = ["1hpv.pqr", *GRID, "-o", "m.mrc"]
    two_folders("1hpv.pqr")
    with inside("one"):
        make("-q", *arguments)
    size = os.path.getsize("one/m.mrc")

    def limit(bytes_left):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, resource.RLIM_INFINITY))

    with inside("two"):
        before = 0
        for n in range(1, 6):
            done = run(*arguments, "--part", "1/1", *(["--resume"] if before else []), preexec_fn=limit(size * n // 6))
            assert done.status == 4 and "m.mrc.part-1-of-1: cannot write: File too large" in done.err, done.err
            now = int(re.search(r"m\.mrc\.part-1-of-1 keeps (\d+) of", done.err)[1]) if "keeps" in done.err else 0
            assert now >= before and (kept(done.out) or (0, 0))[0] == before, (before, now, done.out)
            assert (now > 0) == ("m.mrc.part-1-of-1" in os.listdir(".")) and "m.mrc" not in os.listdir(".")
            before = now
        assert before > 0
        done = make(*arguments, "--part", "1/1", "--resume")
        assert kept(done.out)[0] == before, done.out
        make("-q", *arguments, "--join")
    assert_same(arguments)


# ---- runs that are stopped ----


def one_long_run():
    """The files of a run, in the folder one. Returns its arguments and the size of the map."""
    arguments = [sample("1hpv.pqr"), *LONG, "-o", "m.mrc"]
    two_folders("1hpv.pqr")
    with inside("one"):
        make(*arguments)
        return arguments, os.path.getsize("m.mrc")


def test_kill(_):
    """At random moments of the run's time or of the file's growth, the first in the first half of it, so that layers are
    kept. A run that ends before it is killed must have made the map; the next begins anew."""
    arguments, size = one_long_run()
    before = best = 0
    with inside("two"):
        for trial in range(6):
            at = DRAW.uniform(0, 20 * SLOW / 1000) if trial % 2 else DRAW.uniform(0, 0.05)
            bytes_before = 0 if trial % 2 else DRAW.uniform(size_kept(), size if trial else size / 2)
            done = stopped(signal.SIGKILL, lambda now, at=at, least=bytes_before: now >= at and size_kept() >= least,
                           *arguments, *(["--resume"] if trial or "m.mrc.pieces" in os.listdir(".") else ["--journal=yes"]),
                           slow=SLOW)
            assert done.status in (0, -signal.SIGKILL) and done.err == "", (done.status, done.err)
            if "\nmap " in done.out:  # what comes after the line about kept layers
                now = kept(done.out)[0] if kept(done.out) else 0
                assert now >= before, f"{now} layers are kept, and {before} were before"
                before, best = now, max(best, now)
            if "m.mrc" in os.listdir("."):
                with inside(".."):
                    assert_same(trial)
                before = 0
                for name in parts_in(".") | {"m.mrc"}:  # it was killed between the map's name and the end
                    os.remove(name)
        assert best > 0, "no run went on from where another ended"
        make(*arguments, "--resume")
        assert parts_in(".") == set()
    assert_same("the last run")


def test_signals(_):
    """The first says where the layers are that are kept. Layers are lost at most where none was finished."""
    arguments, size = one_long_run()
    with inside("two"):
        for number, part in ((signal.SIGTERM, []), (signal.SIGUSR1, []), (signal.SIGINT, ["--part", "1/1"]),
                             (signal.SIGHUP, [])):
            name = "m.mrc.part-1-of-1" if part else "m.mrc.pieces"
            done = stopped(number, lambda _, name=name: (size_of(name) if part else size_kept()) > size / 20, *arguments,
                           *(part or ["--journal", "yes"]), slow=SLOW)
            lines = done.err.splitlines()
            assert done.status == 130 and lines[-1] == "cionize: error: interrupted", (number, done.status, done.err)
            warning = re.fullmatch(rf"cionize: warning: {re.escape(name)} keeps (\d+) of (\d+) layers; the same command with "
                                   "--resume goes on from there", lines[0])
            assert warning and len(lines) == 2 and 0 < int(warning[1]) <= int(warning[2]), done.err
            assert set(os.listdir(".")) == {"1hpv.pqr", name, *([] if part else ["m.mrc.pieces-map"])}, os.listdir(".")
            done = make(*arguments, *part, "--resume")
            assert kept(done.out) == (int(warning[1]), int(warning[2])), (done.out, warning[0])
            if part:
                make(*arguments, "--join")
                os.remove(name)
            assert parts_in(".") == set()
            with inside(".."):
                assert_same(number)
            os.remove("m.mrc")


program.main(globals())
