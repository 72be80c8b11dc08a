#!/usr/bin/env python3
"""Several inputs in one call of cionize or mri_recon: the files are those of one run for each input, byte by byte, whether one
of them fails, the inputs are divided (--part), or the run is stopped and goes on (--resume).

usage: test_batch.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom, for mri_recon
"""
import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import program
from program import NAME, command, listing, make, refuse, run
from seeds import draw
from two_folders import inside

DRAW = draw()
IONS = NAME == "cionize"
if not IONS:
    import made_scan

JOURNAL = f"{NAME}-batch.pieces"
KIND, SUFFIX = (".pqr", "") if IONS else (".h5", "_image")
FIRST, OTHER = (".dx", ".mrc") if IONS else (".h5", ".nii")  # the default, and another
SMALL = ["--counts", "5,6,7"] if IONS else ["--iterations", 3, "--lambda", 0.1]
# A run of a tenth of a second, of larger molecules, and one that nobody waits for.
LONGER = ["--method", "exact", "--spacing", 0.5] if IONS else ["--iterations", 500, "--tolerance", 0, "--lambda", 0.1]
ENDLESS = [*LONGER[:-1], 0.1] if IONS else ["--iterations", 10 ** 6, *LONGER[2:]]
# Options with names of outputs, and the extensions of the files.
NAMED = [([], [FIRST]), (["-o", ".mrc"], [".mrc"]), (["--output=.h5", "--picture", ".png"], [".h5", ".png"]),
         (["-o.dx.gz", "--deviation=.dx", "--trajectory", "t.gro"], [".dx.gz", ".dx"]),
         (["--place", "SOD:1", "--ion-solute", 1, "--ions", ".xyz", "-o", ".pdb", "--mask", ".ccp4", "--map", ".mrc"],
          [".pdb", ".xyz", ".ccp4", ".mrc"])] if IONS else [
    ([], [".h5"]), (["-o", ".nii"], [".nii"]), (["--output=.nii.gz"], [".nii.gz"]),
    (["-o.mrd", "--picture", ".png"], [".mrd", ".png"]), (["--output", ".cfl", "--save-coils=.h5"], [".cfl", ".hdr", ".h5"]),
    (["--noise-map", ".nii", "--replicas", 2, "--save-q", ".q.h5"], [".h5", ".nii", ".q.h5"])]
STEMS = ["a", "two words", "x=1", "-dash", "#hash", "in/deep", "UPPER", "--part", "b.c", "\u00e4", "in/-list"]


def make_input(path, atoms):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if IONS:
        charges = [round(DRAW.uniform(-2, 2), 3) for _ in range(atoms - 1)]
        program.write_atoms(path, [(*(DRAW.uniform(-4, 4) for _ in "xyz"), q) for q in (*charges, -sum(charges))])
    else:
        made_scan.phantom("made.h5", "--matrix", "12,12,1", "--coils", 2, "--image-snr", 20, "--seed", DRAW.randrange(1, 10 ** 6))
        os.rename("made.h5", path)
    return path


def folders(stems, atoms=6):
    """The same inputs in the folders one and two; returns their names in any order."""
    for folder in ("one", "two"):
        shutil.rmtree(folder, ignore_errors=True)
    os.mkdir("one")
    with inside("one"):
        names = [make_input(stem + (KIND.upper() if stem == "UPPER" else KIND), atoms) for stem in stems]
        if IONS:  # a frame of each of them
            rows = [f"    1RES      X{n:5}" + "".join(f"{DRAW.uniform(-.4, .4):8.3f}" for _ in "xyz") for n in range(1, 7)]
            pathlib.Path("t.gro").write_text("\n".join(["t= 0", "6", *rows, "4 4 4\n"]), encoding="ascii")
    shutil.copytree("one", "two")
    return DRAW.sample(names, len(names))


def output_of(name, extension, folder=None):
    stem = (os.path.basename(name) if folder else name)[:-len(KIND)]
    return os.path.join(folder or "", stem + SUFFIX + extension)


def files(folder="."):
    """{name: contents} of the files in a folder and below."""
    return {name: content for name, (_, content) in listing(folder).items() if content is not None}


def made_by_single_runs(names, *options):
    """The outputs of one run for each input, in the folder one: {name: contents}. A batch puts -- before the name."""
    with inside("one"):
        before = set(files())
        for name in names:
            make(*options, "--", name)
        return {name: content for name, content in files().items() if name not in before}


def assert_made(expected, before, what):
    """The current folder has what single runs made, and no other new files."""
    now = files()
    assert set(now) - before == set(expected), (what, sorted((set(now) - before) ^ set(expected)))
    assert all(now[name] == content for name, content in expected.items()), f"{what}: the contents differ"


def lines_of(out):
    """[(n, count, name, time or failed)] of the lines about inputs."""
    return [(int(n), int(count), name, how) for n, count, name, how in re.findall(r"^(\d+) of (\d+)  (.*)  (.*)$", out, re.M)]


def write_list(path, names):
    """With comments, empty lines, the ends of lines of other systems, perhaps a byte order mark and no end of the last one."""
    ends = ["\n", "\r\n", "\n\n", "\n\r\n", "\n#a.pqr\n", "\n# \n"]
    text = "".join([DRAW.choice(["", "\ufeff"]), "# inputs\n\n", *(name + DRAW.choice(ends) for name in names)])
    pathlib.Path(path).write_bytes((text.rstrip() if DRAW.randrange(2) else text).encode())
    return path


def batch(names, how, *options):
    """Gives the inputs in one of several ways. Requires success, and a line for each of them."""
    count = {"words": len(names), "both": 1, "list": 0, "stdin": 0, "mixed": len(names)}[how]
    words, listed = names[:count], names[count:]
    if how == "mixed":  # between options
        words.sort(key=lambda name: name[0] == "-")
        plain = sum(name[0] != "-" for name in words)
        arguments = [*words[:plain // 2], *options, *words[plain // 2:plain], "--", *words[plain:]]
    else:
        at = {"words": [], "stdin": ["--list", "-"]}.get(how, ["--list=../list"])
        arguments = [*at, *options, "--", *words]
    write_list("../list", listed)
    with open("../list", "rb") as stream:
        done = make(*arguments, stdin=stream)
    said = [(n, len(names), name) for n, name in enumerate(words + listed, 1)]
    assert [line[:3] for line in lines_of(done.out)] == said, done.out
    assert done.out.endswith(f"done       all {len(names)} inputs\n") and len(done.out.splitlines()) == len(names) + 1, done.out


def test_same_as_single_runs(_):
    hows = DRAW.sample(["words", "list", "stdin", "both", "mixed"], 5)
    for n, (options, extensions) in enumerate(NAMED):
        how = hows[n % 5]
        names = folders(STEMS if n < 2 else DRAW.sample(STEMS, 3))
        if how in ("list", "both", "stdin"):  # a line that begins with # is a comment
            names = [("./" if name[0] == "#" else "") + name for name in names]
        expected = made_by_single_runs(names, *SMALL, *options)
        assert set(expected) == {os.path.normpath(output_of(name, e)) for name in names for e in extensions}, sorted(expected)
        with inside("two"):
            before = set(files())
            batch(names, how, *SMALL, *options)
            assert_made(expected, before, (how, *options))


def test_output_dir(_):
    """The folder is made if it is missing, for one input as well. Only outputs named by extensions are in it."""
    names = folders(["a", "in/b", "in/c.d"])
    arguments = [*SMALL, "-o", OTHER, "--picture=.png", "--output-dir", "new"]
    expected = made_by_single_runs(names, *arguments)
    assert set(expected) == {output_of(name, e, "new") for name in names for e in (OTHER, ".png")}
    with inside("two"):
        before = set(files())
        for how in ("words", "list"):  # the second time it is there
            batch(names, how, *arguments)
            assert_made(expected, before, how)
        refuse(4, ["no/new", "folder"], *SMALL, "--output-dir", "no/new", *names)
        make("-q", *SMALL, "-o", f"named{OTHER}", "--picture", ".png", "--output-dir", "other", names[0])
        assert os.path.exists(f"named{OTHER}") and os.listdir("other") == [os.path.basename(output_of(names[0], ".png"))]
        make("-q", *SMALL, "--output-dir", os.path.abspath("all"), *names)
        assert sorted(os.listdir("all")) == sorted(os.path.basename(output_of(name, FIRST)) for name in names)


def test_abbreviated_options(_):
    """Unique beginnings of --list and --part are these options. (A run that gets them starts runs of its own, without end.)"""
    names = folders(["a", "b"])
    expected = made_by_single_runs(names, "-q", *SMALL)
    with inside("two"):
        before = set(files())
        write_list("../list", names)
        for arguments in (["--lis", "../list"], ["--lis=../list"], *([["--par=1/1", *names]] if IONS else [])):
            make("-q", *SMALL, *arguments)
            assert_made(expected, before, arguments)
            for name in expected:
                os.remove(name)


def test_bad_inputs(_):
    """The exit status is the worst of those of single runs. The good ones' files are there, and no others."""
    *good, bad, blocked, missing = (stem + KIND for stem in ("a", "b", "broken", "blocked", "missing"))
    arguments = [*SMALL, "-q", "-o", OTHER]
    folders(["a", "b", "broken", "blocked"])
    expected = made_by_single_runs(good, *arguments)
    for broken in ([], [bad], [blocked], [bad, blocked], [missing], [blocked, missing]):
        shutil.rmtree("two")
        shutil.copytree("one", "two", ignore=shutil.ignore_patterns(*expected))
        inputs = DRAW.sample(good + broken, 2 + len(broken))
        with inside("two"):
            pathlib.Path(bad).write_bytes(DRAW.choice([b"", b"bad\n", pathlib.Path(bad).read_bytes()[:20]]))
            os.mkdir(output_of(blocked, OTHER))
            before, statuses = set(files()), [run(*arguments, "--", name).status for name in broken]
            assert statuses == [4 if name == blocked else 3 for name in broken]
            done = run(*arguments, *DRAW.choice([inputs, ["--list", write_list("../list", inputs)]]))
            assert done.status == max([0, *statuses]) and done.out == "", (done.status, inputs)
            assert_made(expected, before, inputs)
            errors = [line for line in done.err.splitlines() if "error: " in line]
            said = [name[:-len(KIND)] for name in inputs if name in broken]
            said += [f"{NAME}: error: {len(broken)} of {len(inputs)} inputs failed; see above"] if broken else []
            assert len(errors) == len(said) and all(word in error for word, error in zip(said, errors)), done.err
            out = run(*SMALL, "-o", OTHER, *inputs).out
            assert [how == "failed" for *_, how in lines_of(out)] == [name in broken for name in inputs], out


def test_parts(_):
    """Each output is made in one part, with a journal or without; some parts may have none."""
    for parts in (1, DRAW.randint(2, 4), 7):
        names = folders(DRAW.sample([stem for stem in STEMS if stem[0] != "#"], 5))
        expected = made_by_single_runs(names, *SMALL, "-o", OTHER)
        with inside("two"):
            before, made = set(files()), []
            for part in DRAW.sample(range(1, parts + 1), parts):
                there, option = set(files()), DRAW.choice([["--part", f"{part}/{parts}"], [f"--part={part}/{parts}", "--resume"]])
                inputs = DRAW.choice([["--", *names], ["--list", write_list("../list", names)]])
                said = lines_of(make(*SMALL, "-o", OTHER, *option, *inputs).out)
                new = set(files()) - there
                made += [name for *_, name, _ in said]
                assert {os.path.normpath(output_of(name, OTHER)) for *_, name, _ in said} == new, said
                assert [line[0] for line in said] == list(range(1, len(new) + 1)) and {line[1] for line in said} <= {len(new)}
                assert 5 // parts <= len(new) <= -(-5 // parts), (part, parts, new)
            assert sorted(made) == sorted(names), made
            assert_made(expected, before, parts)


def living(group):
    states = subprocess.run(["ps", "-e", "-o", "pgid=,state="], check=True, capture_output=True, text=True).stdout
    return any(int(line.split()[0]) == group and line.split()[1] not in "ZX" for line in states.splitlines())


def stop(number, seconds, *arguments, group=False):
    """A batch that gets a signal, or its group does; nobody may be left then. Returns program.Done, and how long it took."""
    with open("../said", "w+b") as said, open("../errors", "w+b") as errors, subprocess.Popen(
            command(*arguments), stdin=subprocess.DEVNULL, stdout=said, stderr=errors, start_new_session=True) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
        began = time.monotonic()
        if process.returncode is None:
            (os.killpg if group else os.kill)(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10 if number else 300)
        took = time.monotonic() - began
        while group and living(process.pid) and time.monotonic() - began < took + 10:
            time.sleep(0.02)  # the others of the group end when they can
        left = living(process.pid)
        if left:
            os.killpg(process.pid, signal.SIGKILL)
    assert not left, "a run goes on"
    return program.Done(process, *(pathlib.Path(name).read_bytes() for name in ("../said", "../errors"))), took


def identity(name, folder=None):
    return os.stat(output_of(name, FIRST, folder)).st_ino, os.stat(output_of(name, FIRST, folder)).st_mtime_ns


def test_kill(_):
    """At random moments. Inputs that a run said were done are left alone by the next ones."""
    for extra, journal in (([], JOURNAL), (["--part=2/2", "--output-dir", "new"], f"new/{NAME}-batch-part-2.pieces")):
        names = folders("abcdef", 3000)
        mine, folder = (names[3:], "new") if extra else (names, None)
        began = time.monotonic()
        expected = made_by_single_runs(mine, *LONGER, *extra[1:], "--resume")
        most, done = 0.8 * (time.monotonic() - began), {}
        with inside("two"):
            before = set(files())
            for trial in range(6):
                number = signal.SIGKILL if trial < 5 else 0  # nothing: the last run ends
                stopped, _ = stop(number, DRAW.uniform(0, most), *LONGER, *extra, "--resume", *names, group=True)
                assert stopped.status in (0, -number) and "error" not in stopped.err, (stopped.status, stopped.err)
                assert all(identity(name, folder) == was for name, was in done.items()), "what was done was made again"
                now = [name for *_, name, _ in lines_of(stopped.out)]
                rest = [name for name in mine if name not in done]
                if trial and now and now != rest[:len(now)]:  # the last run was killed after its note of an input, before its line
                    done[rest[0]] = identity(rest.pop(0), folder)
                assert now == rest[:len(now)], (stopped.out, done)
                done.update({name: identity(name, folder) for name in now})
                if len(done) == len(mine):
                    break
                assert not done or os.path.exists(journal), os.listdir(".")
            if os.path.exists(journal):  # killed after the last input
                make("-q", *LONGER, *extra, "--resume", *names)
            assert set(done) == set(mine) and all(identity(name, folder) == was for name, was in done.items())
            assert_made(expected, before, extra)  # the journal is gone


def blocked_batch():
    """A batch in the folder two that could not write the outputs of one input. Returns all inputs, and that one."""
    names = folders(["a", "b", "c"])
    blocked = DRAW.choice(names)
    with inside("two"):
        os.mkdir(output_of(blocked, FIRST))
        done = run(*SMALL, "--resume", *names)
        assert done.status in (2, 4) and f"{JOURNAL} keeps 2 of 3 inputs; the same command with --resume" in done.err, done.err
        os.rmdir(output_of(blocked, FIRST))
    return names, blocked


def test_resume_only_what_failed(_):
    names, blocked = blocked_batch()
    expected = made_by_single_runs(names, *SMALL, "--resume")
    with inside("two"):
        made = {name: identity(name) for name in names if name != blocked}
        assert [name for *_, name, _ in lines_of(make(*SMALL, "--resume", *names).out)] == [blocked]
        assert all(identity(name) == was for name, was in made.items())
        assert_made(expected, {*names, "t.gro"} if IONS else set(names), "resumed")


def test_resume_another_batch(_):
    """What is kept does not fit other inputs or options. Those that are done have not made other outputs."""
    names, blocked = blocked_batch()
    with inside("two"):
        for other in (names[:2], names[::-1], [SMALL[0], 9, *names], ["--precision", "double", *names]):
            refuse(3, [JOURNAL, "does not fit"], *SMALL, "--resume", *other)
        done = next(name for name in names if name != blocked)
        os.utime(done, (1, 1))  # changed: it is made again
        assert [name for *_, name, _ in lines_of(make(*SMALL, "--resume", *names).out)] == [n for n in names if n in (done, blocked)]
    for option in (["-o", OTHER], ["--picture", ".png"]):
        names, _ = blocked_batch()
        with inside("two"):
            done = run(*SMALL, *option, "--resume", *names)
            missing = [name for name in names if not os.path.exists(output_of(name, option[1]))]
            assert done.status == 3 or not missing, f"{option}: exit {done.status}, and nothing was made for {missing}"


def test_signals(_):
    """To the batch alone, as from a scheduler, or to the group, as from a terminal. The run of the moment ends as well."""
    names = folders("ab", 3000)
    for number, extra in ((signal.SIGTERM, []), (signal.SIGUSR1, ["--resume"]), (signal.SIGINT, [])):
        with inside("two"):
            before = set(files())
            stopped, took = stop(number, DRAW.uniform(0.2, 0.5), *ENDLESS, *extra, *names, group=number == signal.SIGINT)
            assert stopped.status == 130 and took < 5 and stopped.out == "", (stopped.status, took, stopped.err)
            assert stopped.err.splitlines()[-1] == f"{NAME}: error: interrupted" and "failed" not in stopped.err, stopped.err
            for name in set(files()) - before:  # only layers of the first map
                assert extra and name == output_of(names[0], FIRST) + ".pieces", name
                os.remove(name)


def test_refusals(_):
    folders(["a", "b", "x/same", "y/same"])
    a, b, one, two = (stem + KIND for stem in ("a", "b", "x/same", "y/same"))
    with inside("two"):
        cases = [(["-o", f"m{OTHER}"], [f"m{OTHER}", "2 inputs", "extension"]), (["--output", f"./{OTHER}"], "extension"),
                 (["--picture", "p.png"], ["--picture p.png", ".png"]), (["--report=r.json"], ["r.json", ".json"]),
                 (["--join"], "--join"), (["--part", "3/2"], "I/N"), (["--part=1/2", "--join"], ["--part", "--join"])]
        for option, words in [*cases, *([(["--script", "t.gro"], "--script")] if IONS else [])]:
            refuse(2, words, *SMALL, *option, a, b)
            refuse(2, words, *SMALL, *option, "--list", write_list("../list", [a, b]))
        for same in ((one, two), (a, a), (a, b, a)):
            refuse(2, ["two inputs", "same outputs"], *SMALL, "--output-dir", ".", *same)
        refuse(2, ["two inputs", "same outputs"], *SMALL, a, "--list", write_list("../list", [b, a]))
        refuse(3, ["--list none", "No such file"], *SMALL, a, "--list", "none")
        for empty in ("", "\n\n", "# a\n#b", "\r\n"):
            pathlib.Path("../list").write_text(empty, encoding="ascii")
            refuse(3, ["--list ../list", "no names"], *SMALL, "--list", "../list")
        refuse(3, ["--list -", "no names"], *SMALL, "--list", "-")


def test_one_file_by_two_names(_):
    folders(["in/a"])
    with inside("two"):
        for other in ("./in/a", "in//a", "in/../in/a"):
            refuse(2, "same outputs", *SMALL, "in/a" + KIND, other + KIND)


def test_runs_that_make_no_folder(_):
    names = folders(["a", "in/a", "b"])
    with inside("two"):
        before, two = listing(), [f"a{KIND}", f"b{KIND}"]
        for status, arguments in ((0, ["--dry-run", *two[:1]]), (0, ["--dry-run", *two]), (0, ["--dry-run", "--resume", *two]),
                                  (3, ["--list", "none"]), (2, names), (2, ["-o", f"m{OTHER}", *two])):
            done = run(*SMALL, "--output-dir", "new", *arguments)
            assert done.status == status and listing() == before, (arguments, done.status, done.err)


def test_messages(_):
    names = folders(["a", "b", "c"])
    with inside("two"):
        for option, inputs in itertools.product(("--help", "--version", "-h"), (names, ["--list", "none"])):
            assert make(*inputs, option).out == make(option).out, option
        assert make("--quiet", *SMALL, "--report", ".json", *names).out == ""
        for name in names:
            report = json.loads(pathlib.Path(output_of(name, ".json")).read_bytes())
            assert report["input"]["path"] == name and report["command"][-2:] == ["--", name], report["command"]


def test_dry_run(_):
    """Nothing is written, with an earlier batch's journal or without. Bad inputs fail as they do otherwise."""
    names, _ = blocked_batch()
    with inside("two"):
        for there in (True, False):
            before = listing()
            for extra in ([], ["-o", OTHER], ["--report", ".json"], ["--part", "1/2"], ["--part=2/2", "--resume"], ["--resume"]):
                done = run(*SMALL, "--dry-run", *extra, *names)
                assert listing() == before and (there or done.status == 0), (extra, there, done.err)
            assert run(*SMALL, "--dry-run", "--resume", *names, "missing" + KIND).status == 3 and listing() == before
            pathlib.Path(JOURNAL).unlink(missing_ok=True)


(program.main if IONS else made_scan.run_tests)(globals())
