"""The programs as commands of the wheel: each becomes the binary in the package's folder bin."""
from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn

__all__ = ["path_of"]


def path_of(program: str) -> str:
    """The path of "cionize", "mri_recon" or "mri_phantom". Raises FileNotFoundError where a package has none (Debian's is apart)."""
    path = pathlib.Path(__file__).with_name("bin") / program
    if not path.is_file():
        raise FileNotFoundError(f"this installation of the Python package has no program {program}: {path}")
    return str(path)


def _become(program: str) -> NoReturn:
    path = path_of(program)
    os.execv(path, [program, *sys.argv[1:]])


def cionize() -> NoReturn:
    """cionize: potentials and ions."""
    _become("cionize")


def mri_recon() -> NoReturn:
    """mri_recon: images from scans."""
    _become("mri_recon")


def mri_phantom() -> NoReturn:
    """mri_phantom: scans whose images are known."""
    _become("mri_phantom")
