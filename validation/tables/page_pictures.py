#!/usr/bin/env python3
"""The pictures of pages in README.md, as Chromium shows them: docs/page_molecule.png and docs/page_scan.png; and docs/page_ribbon.png, a
part of the first page, in docs/pages.md.

usage: page_pictures.py CIONIZE MRI_PHANTOM MRI_RECON [FOLDER]     FOLDER: docs; existing pictures are replaced

Needs numpy and chromium. They are no test: browsers and fonts differ. test_cionize_page.py and test_mri_page.py look at pages.
"""
import os
import sys
import tempfile
import time

from readme_pictures import HEAD, SAMPLE, np, run, write_png

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import browser  # noqa: E402

SIZE = (1180, 860)


TRANSPARENT = "(page.view.alpha.value = '0.3', page.view.alpha.dispatchEvent(new Event('input')))"


def picture(page, path, *scripts, part=None):
    """part: the element that is shown, with a quarter of its height cut off above and below."""
    with browser.Browser("chromium", SIZE) as b, tempfile.TemporaryDirectory() as folder:
        b.open(page)
        for script in scripts:
            b.evaluate(script)
        time.sleep(1)  # what is asked of the browser is drawn in its own time
        shot = os.path.join(folder, "shot.png")
        left, top, width, height = map(round, b.box(part)) if part else (0, 0, *SIZE)
        cut = height // 4 if part else 0
        b.screenshot(shot)
        write_png(path, browser.pixels(shot)[top + cut:top + height - cut, left:left + width].astype(float))


def main(cionize, phantom, recon, folder="docs"):
    if not browser.find("chromium"):
        print("SKIP: no chromium")
        sys.exit(77)
    cionize, phantom, recon, folder = map(os.path.abspath, (cionize, phantom, recon, folder))
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, path in (("cionize", cionize), ("mri_recon", recon), ("1hpv.pqr", os.path.abspath(SAMPLE))):
            os.symlink(path, name)  # the pages show the command
        run("./cionize", "-q", "--solvent", "-o", "1hpv.mrc", "--page", "molecule.html", "1hpv.pqr")
        run(phantom, "-q", *HEAD[:2], "--matrix", "96,96,48", "--coils", "4", "--trajectory", "cartesian", "--accelerate", "2",
            "--noise", "0.02", "-o", "head.mrd")
        run("./mri_recon", "-q", "-o", "image.h5", "--page", "scan.html", "head.mrd")
        picture("molecule.html", os.path.join(folder, "page_molecule.png"))
        picture("molecule.html", os.path.join(folder, "page_ribbon.png"), TRANSPARENT, part="#stage")
        picture("scan.html", os.path.join(folder, "page_scan.png"), "page.view.move([44, 50, 22])")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    assert np is not None
    main(*sys.argv[1:])
