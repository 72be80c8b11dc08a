"""Completion in bash and zsh: the functions that `PROGRAM --help=bash` and `--help=zsh` print, called as the shells call them, and
typed at an interactive shell.

usage: test_completion.py PROGRAM [test_name ...]
"""
import os
import re
import select
import shutil
import subprocess
import time

import program
from program import NAME, PROGRAM, Skip

INPUT = {"cionize": "molecule.pqr", "mri_recon": "scan.h5", "mri_phantom": None}[NAME]
CHOICE = {"cionize": "units", "mri_recon": "prior", "mri_phantom": "phantom"}[NAME]  # words of the table


def printed(form):
    return subprocess.run([PROGRAM, f"--help={form}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def offered(folder, *words, at=None):
    """What bash offers for the last of the words (or that at this place), with COMP_WORDS set as bash sets it."""
    script = folder / "completion.bash"
    if not script.exists():
        script.write_text(printed("bash"))
    call = f'compopt() {{ :; }}; . ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD={at or len(words)}; _{NAME}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-uc", call, NAME, NAME, *words], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == "", done.stderr
    return sorted(set(done.stdout.split("\n")) - {"", "completion.bash"})


def options_with_values():
    """Of each option in the script for bash: its name, the words and the endings that it offers."""
    for line in printed("bash").splitlines():
        row = re.fullmatch(r" +(?:-\w \| )?--([a-z-]+)\)(.*) ;;", line)
        if row:
            lists = {name: re.findall(r"'([^']+)'", text) for name, text in re.findall(r"(words|endings)=\(([^)]*)\)", row[2])}
            yield row[1], lists.get("words", []), lists.get("endings", [])


def test_options(folder):
    """All options of --help, and those that begin as the word does; none after --, or for a number."""
    names = re.findall(r"^  (?:-[a-z], )?(--[a-z-]+)", subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout,
                       re.MULTILINE)
    assert len(names) > 30 and offered(folder, "-") == sorted(names), offered(folder, "-")
    assert offered(folder, "--qu") == ["--quiet"]
    assert offered(folder, "-q", "--thr") == ["--threads"]
    assert offered(folder, "--", "--thr") == [] and offered(folder, "--threads", "") == []
    assert offered(folder, "--nonsense") == []


def test_words(folder):
    """Words that are offered begin as what was typed, and the program takes each of them."""
    count = 0
    for name, words, _ in options_with_values():
        taken = [word for word in words if not word.endswith(":") and word != "-"]
        for word in taken:
            done = subprocess.run([PROGRAM, f"--{name}={word}", "--help"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (name, word, done.stderr)
            count += 1
        if taken:
            assert set(taken) <= set(offered(folder, f"--{name}", "")), name
            assert set(taken) <= set(offered(folder, f"--{name}", "=")), name
            assert taken[-1] in offered(folder, f"--{name}", "=", taken[-1][:-1]), name
            assert taken[0] not in offered(folder, f"--{name}", "?"), name
    assert count > 8 and any(name == CHOICE for name, *_ in options_with_values()), count


def test_files(folder):
    """Files with the endings of the option, and folders; all files if none has such an ending."""
    (folder / "a folder").mkdir()
    for name, _, endings in options_with_values():
        if not endings:
            continue
        for ending in endings:
            (folder / f"that is.{ending}").touch()
        (folder / "other.txt~").touch()
        wanted = sorted(["a folder", *(f"that is.{ending}" for ending in endings)])
        have = offered(folder, f"--{name}", "")
        assert set(wanted) <= set(have) and "other.txt~" not in have, (name, have)
        assert offered(folder, f"--{name}", "oth") == ["other.txt~"], name
        for ending in endings:
            (folder / f"that is.{ending}").unlink()
    if INPUT:
        (folder / INPUT).touch()
        assert offered(folder, "") == ["a folder", INPUT] == offered(folder, "-q", "")
        assert offered(folder, "--", "") == ["a folder", INPUT]
        assert offered(folder, "--output-dir", "") == ["a folder"]
        assert offered(folder, "-q", "molecule", "--quiet", at=2) == ([INPUT] if NAME == "cionize" else [])


def test_endings_of_outputs(folder):
    """The program takes each ending that is offered for --output."""
    endings = dict((name, endings) for name, _, endings in options_with_values())["output"]
    data = {"cionize": "dipole.pqr", "mri_recon": "shepp_logan_2d.h5"}.get(NAME)
    for ending in endings:
        words = [program.DATA / data, "--dry-run"] if data else ["--matrix", "8,8,1", "--spokes", "2"]
        if ending in ("pdb", "pqr", "gro", "xyz"):
            words += ["--place", "SOD:1"]
        done = subprocess.run([PROGRAM, *words, "-o", f"out.{ending}"], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (ending, done.stderr)


class Typist:
    """Types at an interactive shell, and reads what a line has become by having it printed instead of run."""

    def __init__(self, folder, command, environment, ready):
        self.master, slave = os.openpty()
        self.process = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C", **environment})
        os.close(slave)
        os.write(self.master, ready.encode() + b"; printf 'rea%s\\n' dy\n")
        self.wait_for("ready\r\n")

    def wait_for(self, text):
        shown, ends = "", time.monotonic() + 60
        while text not in shown:
            assert time.monotonic() < ends, f"no {text!r} in a minute, but {shown!r}"
            if select.select([self.master], [], [], 1)[0]:
                shown += os.read(self.master, 65536).decode(errors="replace")
        return shown

    def completed(self, line):
        """The arguments of the line after the Tab key at its end."""
        # Ctrl-A goes to the beginning of the line.
        os.write(self.master, f"{line}\t\x01printf '<%s>' \nprintf 'en%s\\n' d\n".encode())
        shown = self.wait_for("end\r\n")
        return re.findall(r"<([^<>%]*)>", shown)

    def close(self):
        os.close(self.master)
        self.process.kill()
        self.process.wait()


def type_lines(typist, folder):
    choice = {"units": ("kc", "kcal/mol/e"), "prior": ("dif", "differences"), "phantom": ("elli", "ellipsoids")}[CHOICE]
    (folder / "my data").mkdir()
    (folder / "my data" / "it's (1).png").touch()
    (folder / "my data" / "notes").touch()
    cases = [("--qui", ["--quiet"]), (f"--{CHOICE} {choice[0]}", [f"--{CHOICE}", choice[1]]),
             (f"--{CHOICE}={choice[0]}", [f"--{CHOICE}={choice[1]}"])]
    if INPUT:
        cases += [(r"--picture my\ data/", ["--picture", "my data/it's (1).png"]), ('--picture "my data/it', ["--picture", "my data/it's (1).png"]),
                  ("--picture my", ["--picture", "my data/"]), ("--picture ~/my\\ data/i", ["--picture", f"{folder}/my data/it's (1).png"])]
        (folder / INPUT).touch()
        cases += [(f"-q {INPUT[:2]}", ["-q", INPUT])]
    for line, wanted in cases:
        found = typist.completed(f"{NAME} {line}")
        assert found == [NAME, *wanted], (line, found)


def test_bash_by_keys(folder):
    (folder / "completion.bash").write_text(printed("bash"))
    typist = Typist(folder, ["bash", "--norc", "--noprofile", "-i"], {}, ". ./completion.bash; rm completion.bash; PS1=")
    try:
        type_lines(typist, folder)
    finally:
        typist.close()


def test_zsh_by_keys(folder):
    if not shutil.which("zsh"):
        raise Skip("zsh is not installed (package zsh)")
    functions = folder / ".functions"
    functions.mkdir()
    (functions / f"_{NAME}").write_text(printed("zsh"))
    typist = Typist(folder, ["zsh", "-f", "-i"], {}, "fpath=($PWD/.functions $fpath); autoload -Uz compinit; compinit -u -D; bindkey -e; PS1=; unsetopt promptcr promptsp autoremoveslash")
    try:
        type_lines(typist, folder)
    finally:
        typist.close()


program.main(globals())
