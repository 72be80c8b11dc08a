#!/usr/bin/env python3
"""debian/ agrees with the files that it repeats or follows: the version, the licences, the changelog. usage: test_packages.py SOURCE"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(voxfield VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]


def changelog(source, **environment):
    return subprocess.run([sys.executable, SOURCE / "debian" / "make_changelog.py", source], capture_output=True, text=True, check=False,
                          env={"PATH": os.environ["PATH"], **environment})


def words(text):
    return " ".join(line.strip() if line.strip() != "." else "" for line in text.splitlines()).split()


class Packages(unittest.TestCase):
    def test_name_of_the_library(self):
        """The package of the shared library is named as its soname."""
        name = f"libvoxfield{VERSION.rpartition('.')[0]}"
        control = (SOURCE / "debian" / "control").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^Package: (libvoxfield[\d.]+)$", control, re.MULTILINE), [name])
        self.assertEqual(set(re.findall(r"libvoxfield\d[\d.]*\d", control)), {name})
        self.assertEqual([file.name for file in (SOURCE / "debian").glob("libvoxfield[0-9]*")], [f"{name}.install"])
        self.assertEqual(set(re.findall(r"libvoxfield\d[\d.]*\d", (SOURCE / "docs" / "packages.md").read_text(encoding="utf-8"))), {name})

    def test_licences(self):
        """debian/copyright has the text of both licences."""
        text = " ".join(words((SOURCE / "debian" / "copyright").read_text(encoding="utf-8")))
        bsd = (SOURCE / "LICENSE").read_text(encoding="utf-8").split("-----")[0]
        vera = (SOURCE / "LICENSE.DejaVu").read_text(encoding="utf-8")
        for licence, begin in ((bsd, "Redistribution and use"), (vera, "Permission is hereby")):
            self.assertIn(" ".join(words(licence[licence.index(begin):])), text)
        self.assertIn("GNU General Public License", text)

    def test_changelog_of_a_commit(self):
        done = changelog(SOURCE, SOURCE_DATE_EPOCH="1782000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        first = re.match(r"voxfield \((\S+)\) unstable; urgency=medium\n\n  \* ", done.stdout)
        title = re.search(r"^## (.*)$", (SOURCE / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
        self.assertEqual(first[1], VERSION + ("~20260621.000000" if "not released yet" in title else ""))
        self.assertNotRegex(done.stdout, r"`|\]\(")

    def test_changelog_of_releases(self):
        """A released version, one that is not, their order, and what is refused."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            (source / "CMakeLists.txt").write_text("project(voxfield VERSION 0.2.0 LANGUAGES C)\n")
            earlier = "## 0.1.0, 2026-12-24\n\n- the first, with\n  [words](page.md) and `code`\n- more\n"
            now = {"SOURCE_DATE_EPOCH": "1800000000"}
            versions = []
            for title in ("## 0.2.0, not released yet", "## 0.2.0, 2027-02-01"):
                (source / "CHANGELOG.md").write_text(f"# Changes\n\n{title}\n\nText.\n\n- new\n\n{earlier}")
                done = changelog(source, DEBFULLNAME="A B", DEBEMAIL="a@b.de", **now)
                self.assertEqual(done.returncode, 0, done.stderr)
                versions += re.findall(r"^voxfield \((.*)\)", done.stdout, re.MULTILINE)
                self.assertIn("  * the first, with words and code\n  * more\n\n -- A B <a@b.de>  Thu, 24 Dec 2026 12:00:00 +0000\n", done.stdout)
            self.assertEqual(versions, ["0.2.0~20270115.080000", "0.1.0", "0.2.0", "0.1.0"])
            if shutil.which("dpkg"):
                for less, more in ((versions[1], versions[0]), (versions[0], versions[2])):
                    subprocess.run(["dpkg", "--compare-versions", less, "lt", more], check=True)
            (source / "CHANGELOG.md").write_text(earlier)
            self.assertIn("CMakeLists.txt has version 0.2.0, and CHANGELOG.md begins with 0.1.0", changelog(source, **now).stderr)
            (source / "CHANGELOG.md").write_text("## 0.2.0, soon\n\n- new\n")
            self.assertIn("expected a version, and a date", changelog(source, **now).stderr)


unittest.main()
