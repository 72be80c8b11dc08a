#!/usr/bin/env python3
"""cionize and mri_recon as jobs of several ranks, started by mpirun: the files of one process, byte by byte; ranks and jobs
that are killed, stopped or fail; what is said.

usage: test_mpi.py PROGRAM [DEVICE] [test_name ...]
Environment: mpi_jobs.py.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import sys
import time
import zlib

import program
from mpi_jobs import DRAW, inputs, ITEM, job, Job, KIND, MPIRUN, refuse_job, share, why_not
from program import listing, make, NAME, PROGRAM, refuse, skip_part
from two_folders import assert_same, inside, parts_in

# ---- the bytes of one process ----

TINY = "dipole.pqr --counts 4,5,3 --picture p.png"
CIONIZE = ("1hpv.pqr --spacing 2 --method exact -o m.mrc", "1hpv.pqr --spacing 2 --method fast --precision double -o m.dx",
           "1hpv.pqr --spacing 2 --method exact --precision double -o m.cube", "1hpv.pqr --spacing 1.5 --method fast -o m.h5",
           "water_box.pqr --cell 30,31,32 --spacing 1.1 -o m.dx.gz", "1hpv.pqr --spacing 2 --place CLA:3 --place SOD:2",
           TINY, "dipole.pqr -o m.mrc --distance-dielectric 4",
           "a.pqr --trajectory t.dcd --spacing 1.2 --method exact -o m.mrc --deviation d.mrc",
           "a.pqr --trajectory l.dcd --spacing 2.4 --method fast -o m.mrc --deviation d.mrc",
           "a.pqr --trajectory l.dcd --spacing 1.6 --method exact -o m.dx",
           "a.pqr --trajectory t.dcd --spacing 1.2 --method fast --precision double -o m.dx --deviation d.dx",
           "1hpv.pqr --spacing 2 -o all.pdb --mask k.dx --place CLA:2 --map m.h5 --map-with-ions --picture p.png")
MRI = ("s.h5 -o i.h5", "s.h5 --prior wavelet --shifts 2 --seed 5 -o i.nii", "s.h5 --lambda sure -o i.cfl",
       "s.h5 --prior wavelet+temporal --window 4 -o i.h5", "s.h5 --prior llr --window 4 --lambda sure -o i.nii.gz",
       "m.mrd --coils rss -o i.mrd", "s.h5 --prior llr --window 4 --spokes-per-frame 5 -o i.h5", "m.mrd --coils walsh -o i.h5",
       "one.h5 -o i.h5", "s.h5 --method adjoint --picture p.png -o i.h5", "s.h5 --iterations 3 --tolerance 0 -o i.h5")


def test_same_bytes(_):
    """All cases, with 1 to 7 ranks. Some on one core, where they take turns in another order. Some with more ranks than work,
    again and again, because it is a matter of moments."""
    cases = share(list({"cionize": CIONIZE, "mri_recon": MRI}[NAME])) + 3 * [{"cionize": TINY.split(" --picture")[0], "mri_recon": "one.h5 -o i.h5"}[NAME]]
    DRAW.shuffle(cases)
    counts = DRAW.sample(range(1, 8), 7) + DRAW.choices(range(2, 8), k=len(cases))
    for case, count in zip(cases, counts):
        arguments = case.split()
        quiet = DRAW.choice([["-q"], []])
        alone = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") and DRAW.random() < 0.3 else []
        inputs(arguments[0], *(name for name in ("t.dcd", "l.dcd") if name in case))
        with inside("one"):
            one = make(*arguments, *quiet)
        with inside("two"):
            two = job(count, *arguments, *quiet, prefix=alone)
            assert not parts_in("."), (count, case, os.listdir("."))
        assert_same((count, *arguments, *quiet))
        assert two.own == one.err, f"{count} ranks, {case}: {two.own} instead of {one.err}"
        said = re.findall(r"^ranks +(\d+), (\d+) of them on this machine; (?:Open MPI|MPICH)", two.out, re.M)
        assert said == ([(str(count),) * 2] if count > 1 and not quiet else []), (count, quiet, two.out)
        assert bool(two.out) == (not quiet), two.out
        first = [line.split()[0] for line in one.out.splitlines() if line[:1] != " "]
        assert [line.split()[0] for line in two.out.splitlines() if line[:1] not in " r"] == first, (case, two.out)


def records(data):
    """(where it begins, its end, the items) of each whole record of a file of pieces."""
    if len(data) < 48:
        return []
    version = struct.unpack_from("<I", data, 8)[0]
    item_bytes, key_bytes, maker_bytes = struct.unpack_from("<QII", data, 24)
    at, found = 48 + key_bytes + maker_bytes, []
    while at + 32 <= len(data):
        first, count = struct.unpack_from("<qq", data, at + 8)
        end = at + 32 + (count * item_bytes if version == 1 else 0)
        if end > len(data):
            break
        found.append((at, end, set(range(first, first + count))))
        at = end
    return found


def placed(data, at, items):
    """Whether a record's items are in the map's file, from byte 1024 on, with the record's checksum."""
    item_bytes = struct.unpack_from("<Q", data, 24)[0]
    with contextlib.suppress(FileNotFoundError), open("m.mrc.pieces-map", "rb") as file:
        file.seek(1024 + min(items) * item_bytes)
        return zlib.crc32(file.read(len(items) * item_bytes)) == struct.unpack_from("<I", data, at + 4)[0]
    return False


def kept_items():
    """All items that the files of pieces here have."""
    found = set()
    for name in parts_in(".") - {"m.mrc.pieces-map"}:
        try:
            data = pathlib.Path(name).read_bytes()
        except FileNotFoundError:  # a job that ends has put its pieces together meanwhile
            continue
        for at, _, items in records(data):
            if struct.unpack_from("<I", data, 8)[0] == 1 or placed(data, at, items):
                found |= items
    return found


def kept(text):
    """The number in the line about kept items; 0: there is no such line."""
    line = re.search(rf"^kept +(\d+) of \d+ {ITEM}s?, from \S+$", text, re.M)
    return int(line[1]) if line else 0


PIECES = 20  # about so many of a long run
SLOW = 100    # milliseconds to write one


def long_run(*more, longer=False):
    """The files of a run, in the folder one. Returns its arguments, the output, the number of items, and the seconds that it
    takes to write them slowly. It computes little, so others can use the processor."""
    arguments = {"cionize": ["1hpv.pqr", "--method", "exact", "--spacing", "1", *more, "-o", "m.mrc"],
                 "mri_recon": ["longer.h5" if longer else "long.h5", "--prior", "wavelet",
                               *DRAW.choice([[], ["--lambda", "sure"]]), *more, "-o", "i.h5"]}[NAME]
    inputs(arguments[0])
    with inside("one"):
        make(*arguments)
        layers = struct.unpack_from("<i", pathlib.Path(arguments[-1]).read_bytes(), 8)[0]  # of an MRC file
    items = {"cionize": layers, "mri_recon": 24 if longer else 12}[NAME]
    return arguments, arguments[-1], items, PIECES * SLOW / 1000


def any_run(*arguments):
    """A run that goes on: with ranks of this MPI or of the other, or with none."""
    way = DRAW.choice([None, *MPIRUN, KIND])
    return make(*arguments) if way is None else job(DRAW.randint(1, 4), *arguments, kind=way)


def test_files_of_other_ranks(_):
    """Of a job that was killed, perhaps while a rank began its file: they are joined, and removed. Others with such names are
    left alone."""
    case = {"cionize": "dipole.pqr --counts 6,7,11 -o m.mrc", "mri_recon": "s.h5 --method adjoint -o i.h5"}[NAME].split()
    output = case[-1]
    inputs(case[0])
    with inside("one"):
        make(*case)
    for trial in range(3):
        with inside("two"):
            make("-q", *case, "--part", "1/1")
            data = pathlib.Path(f"{output}.part-1-of-1").read_bytes()
            os.remove(f"{output}.part-1-of-1")
            found = records(data)
            header, some = data[:found[0][0]], DRAW.sample(found, DRAW.choice([len(found), DRAW.randint(1, len(found))]))
            names = DRAW.sample([f"{output}.pieces{end}" for end in ("", "-1", "-2", "-3", "-11", "-99999")], DRAW.randint(1, 4))
            for n, name in enumerate(names):
                mine = b"".join(data[at:end] for at, end, _ in some[n::len(names)] + some[:DRAW.randrange(2)])
                pathlib.Path(name).write_bytes((header + mine)[:-1 if trial == 2 and n == 0 else None])
            pathlib.Path(f"{output}.pieces-7").write_bytes(header[:DRAW.randrange(len(header))])
            left = [pathlib.Path(name) for name in (f"{output}.pieces-1x", f"x{output}.pieces-1", f"{output}.pieces-")]
            for path in left:
                path.write_bytes(header)
            there = len(kept_items())
            for count in (1, 3) if trial == 0 else ():
                refuse_job(4, [".pieces", "--resume"], count, *case, *(["--journal", "yes"] if count == 1 else []))
            done = any_run(*case, "--resume")
            assert kept(done.out) == there and parts_in(".") == {f"x{output}.pieces-1"}, (trial, names, there, done.out)
            for path in left:
                assert path.read_bytes() == header
                path.unlink()
        assert_same((trial, names))


# ---- killed and stopped ----


def test_kill(_):
    """One rank, all ranks, or mpirun, at random moments of the job's time or of what is done. Then ranks of another number, of
    another MPI, or one process go on."""
    arguments, output, items, seconds = long_run()
    before, best = set(), 0
    with inside("two"):
        for trial in range(5):
            running = Job(DRAW.randint(2, 5), *arguments, *(["--resume"] if trial else []), kind=DRAW.choice([*MPIRUN, KIND]),
                          slow=SLOW)
            after, least = (0, DRAW.uniform(len(before), items)) if trial % 2 else (DRAW.uniform(0, seconds), 0)
            began = time.monotonic()
            while running.process.poll() is None and not (time.monotonic() >= began + after and len(kept_items()) >= least
                                                          and running.ranks()):
                time.sleep(0.002)
            ranks = running.ranks()
            chosen = DRAW.choice(["one", "one", "all", "mpirun"])
            running.send(signal.SIGKILL, {"one": DRAW.sample(ranks, min(1, len(ranks))), "all": ranks,
                                          "mpirun": [running.process.pid]}[chosen])
            done = running.done()
            what = (trial, chosen, len(ranks), done.status, done.out, done.err, sorted(os.listdir(".")))
            now = kept_items()
            if re.search("^(kept|map|image) ", done.out, re.M):
                assert kept(done.out) == len(before), (len(before), *what)
                best = max(best, len(before))
            assert done.status != 0 or os.path.exists(output), what
            if os.path.exists(output):
                assert_same(what, "../")
                os.remove(output)
                before = now
            assert now >= before, ("lost", sorted(before - now), *what)
            before = now
        if best == 0:
            skip_part("no job went on from where another ended: all were killed too early or too late")
        done = any_run(*arguments, "--resume")
        assert kept(done.out) == len(before) and not parts_in("."), (len(before), done.out, os.listdir("."))
    assert_same("the last run")


def interrupted(number, to, arguments):
    """A job that gets a signal when it has some items. Open MPI's mpirun passes SIGTERM on after a second. After a signal,
    MPICH's mpirun may exit with 0 whatever its processes do: one time in 24 with a script that exits with 130."""
    for _ in range(3):
        running = Job(DRAW.randint(2, 4), *arguments, slow=SLOW)
        while running.process.poll() is None and not kept_items():
            time.sleep(0.002)
        running.send(number, [running.process.pid] if to == "mpirun" else running.ranks())
        done = running.done()
        if not os.path.exists(arguments[-1]):
            assert done.status != 0 or (KIND == "mpich" and to == "mpirun"), (number, to, done.err, os.listdir("."))
            return done
        assert not parts_in("."), os.listdir(".")
        assert_same((number, to), "../")
        os.remove(arguments[-1])
    return None


def test_signals(_):
    """To mpirun, which passes them on, or to all ranks: what is done is kept, and there is no output."""
    arguments, output, _, _ = long_run(longer=True)
    with inside("two"):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            for to in ("mpirun", "ranks"):
                done = interrupted(number, to, arguments)
                if not done:
                    skip_part(f"jobs end before signal {number} to {to} reaches them")
                    continue
                what = (number, to, done.status, done.err, sorted(os.listdir(".")))
                there = len(kept_items())
                assert there > 0, what
                if to == "ranks":  # mpirun may kill them a second later
                    assert done.status == 130 and done.own.count("--resume") == done.own.count("error: interrupted") == 1, what
                assert done.own.count("error:") <= 1 and done.own.count("warning:") <= 1, what
                done = any_run(*arguments, "--resume")
                assert kept(done.out) == there and not parts_in("."), (there, done.out, *what)
                assert_same(what, "../")
                os.remove(output)


def test_ranks_that_fail(_):
    """Others do their work. If rank 0 of mri_recon cannot even measure the noise and choose lambda, the job ends."""
    arguments, output, _, _ = long_run("--report", "../r.json")
    piece = {"cionize": "123", "mri_recon": "1"}[NAME]
    met = set()
    with inside("two"):
        for trial, rank in enumerate((0, 0, 1, 2, 1)):
            failing = {rank: f"cpu@{DRAW.choice(piece if trial else '1')}"}
            if rank == 0 and NAME == "mri_recon":
                refuse_job(6, ["simulated"], 2, *arguments, failing=failing)
                continue
            done = job(max(rank + 1, DRAW.randint(2, 3)), *arguments, failing=failing, slow=SLOW)
            job_said = json.loads(pathlib.Path("../r.json").read_bytes())["job"]
            errors = [n for n in range(job_said["ranks"]) if "simulated" in job_said[f"rank {n}"].get("error", "")]
            said = list(map(int, re.findall(rf"^{NAME}: warning: rank (\d+) on \S+ failed", done.err, re.M)))
            assert said == errors == [rank] * len(errors), (failing, done.err, job_said)
            assert done.own.count("warning:") == len(errors), done.err  # none: the others were faster
            met.update(errors)
            assert not parts_in("."), os.listdir(".")
            assert_same(failing, "../")
            os.remove(output)
        assert len(met) > 0, "no rank failed"
        done = Job(3, *arguments, failing={rank: "cpu@1" for rank in range(3)}).done()
        assert done.status == 6 and done.own.count("error:") == 1 and "simulated" in done.own, (done.status, done.err)
        assert not os.path.exists(output) and not parts_in("."), os.listdir(".")


def small_case():
    case = {"cionize": "dipole.pqr -o m.mrc", "mri_recon": "s.h5 --method adjoint -o i.h5"}[NAME].split()
    inputs(case[0])
    return case


def test_refused(_):
    """Once, though each rank finds it. Again and again: whether a rank fails before or after rank 0 is a matter of moments."""
    case = small_case()
    for _ in range(2):
        refuse_job(2, ["--nonsense"], DRAW.randint(2, 6), *case, "--nonsense")
        refuse_job(3, ["none.in"], DRAW.randint(2, 6), "none.in", *case[1:])
    refuse_job(4, ["no/such"], 3, *case[:-1], "no/such.h5")
    for option in (["--part", "1/2"], ["--join"]):
        refuse_job(2, [option[0]], 2, *case, *option)
    if NAME == "cionize":
        refuse_job(2, ["standard input"], 2, "-", *case[1:])
    refuse(2, ["srun", "4", "--mpi"], *case, env={**os.environ, "SLURM_STEP_NUM_TASKS": "4"})
    alone = job(2, *case, "--mpi", "no", "--dry-run")  # each for itself
    assert len(re.findall("^device ", alone.out, re.M)) == 2, alone.out
    make(*case, "--mpi", "no", env={**os.environ, "SLURM_STEP_NUM_TASKS": "4"})


def test_dry_run(_):
    case = small_case()
    before = listing()
    one, many = make(*case, "--dry-run"), job(3, *case, "--dry-run")
    first = [[line.split()[0] for line in done.out.splitlines() if line[:1] != " "] for done in (one, many)]
    assert first[0] == first[1] != [] and listing() == before, many.out


def test_report(_):
    """It says what each rank has done: ranges that rank 0 handed out."""
    case = small_case()
    job(4, *case, "--report", "r.json")
    report = json.loads(pathlib.Path("r.json").read_bytes())
    ranks = {name: of for name, of in report["job"].items() if name.startswith("rank ")}
    assert list(ranks) == [f"rank {n}" for n in range(4)] and report["job"]["ranks"] == 4, report["job"]
    assert report["job"]["mpi"].startswith({"openmpi": "Open MPI", "mpich": "MPICH"}[KIND]), report["job"]
    done = sum(of["done"] for of in ranks.values())
    pieces = report["pieces"]
    assert 0 < done <= pieces["all"] == pieces["count"] and (NAME == "cionize" or done == pieces["all"]), report
    assert all(of["host"] == os.uname().nodename and "error" not in of for of in ranks.values()), report["job"]
    if NAME == "mri_recon":
        make(*case, "--report", "one.json")
        one = json.loads(pathlib.Path("one.json").read_bytes())
        assert one["reconstruction"] == report["reconstruction"], (one["reconstruction"], report["reconstruction"])


def test_without_its_plugin(_):
    """A program that was copied away from lib/voxfield says what is missing, once, and still works alone."""
    case = small_case()
    os.makedirs("away/from/here")
    exe = shutil.copy(PROGRAM, os.path.abspath("away/from/here"))
    refuse_job(8, [f"voxfield_{KIND}.so", "lib/voxfield", "--mpi no", "--part"], DRAW.randint(2, 5), *case, exe=exe)
    job(1, *case, exe=exe)


def test_several_inputs(_):
    """Ranks share the inputs, each of which is made once. One that fails leaves the others alone; --resume makes it alone."""
    source, options = {"cionize": ("dipole.pqr", ["--counts", "4,5,6"]), "mri_recon": ("s.h5", ["--method", "adjoint"])}[NAME]
    inputs(source)
    ending = os.path.splitext(source)[1]
    names = [f"in{n}{ending}" for n in range(5)]
    for folder in ("one", "two"):
        for name in names:
            shutil.copy(source, os.path.join(folder, name))
    arguments = [*options, "--resume", "--output-dir", "out", *names]
    with inside("one"):
        make(*arguments)
    with inside("two"):
        os.rename(names[2], "away")
        done = Job(3, *arguments).done()
        assert done.status == 3 and f"{NAME}: error: 1 of 5 inputs failed" in done.own, (done.status, done.err)
        assert len([name for name in os.listdir("out") if ".pieces" not in name]) == 4, os.listdir("out")
        os.rename("away", names[2])
        times = {name: os.stat(os.path.join("out", name)).st_mtime_ns for name in os.listdir("out")}
        done = job(2, *arguments)
        assert "done       all 5 inputs" in done.out, done.out
        made = {name for name in os.listdir("out") if os.stat(os.path.join("out", name)).st_mtime_ns != times.get(name)}
        assert len(made) == 1 and "in2" in made.pop(), made
    for name in sorted(os.listdir("one/out")):
        assert pathlib.Path("one/out", name).read_bytes() == pathlib.Path("two/out", name).read_bytes(), name
    assert sorted(os.listdir("one/out")) == sorted(os.listdir("two/out"))


if __name__ == "__main__":
    if why_not():
        print(f"SKIP: {why_not()}")
        sys.exit(77)
    program.main(globals())
