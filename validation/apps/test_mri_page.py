#!/usr/bin/env python3
"""mri_recon --page in real browsers, without a network: what is shown agrees with the image and the other files of the run.

usage: test_mri_page.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom

A value on the page is off by at most half a step of its array, which the page says, and by the five digits in which it is printed.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import browser
import program
from program import Skip, make, refuse

PHANTOM = os.environ.get("VOXFIELD_PHANTOM") or sys.exit("VOXFIELD_PHANTOM is not set")
try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None
COUNTS, FOV, FRAMES, COILS = (24, 20, 12), 240, 3, 3
HOSTILE = "<img src=x onerror=document.title='broken'>&.mrd"
BROWSERS = [name for name in browser.NAMES if browser.find(name)]
OFFLINE = browser.without_network()


def page_object(path):
    """The page's JSON object, and the page."""
    with open(path, encoding="utf-8") as file:
        html = file.read()
    return json.loads(re.search(r'<script type="application/json" id="voxfield-json">(.*?)</script>', html, re.S)[1]), html


MADE = {}  # the files of the run, which all tests share


def make_page():
    """The run of all tests, in the current folder."""
    if MADE:
        for name, data in MADE.items():
            pathlib.Path(name).write_bytes(data)
        return page_object("page.html")
    subprocess.run([PHANTOM, "-q", "-o", "made.mrd", "--phantom", "head", "--matrix", ",".join(map(str, COUNTS)), "--fov", str(FOV),
                    "--trajectory", "cartesian", "--coils", str(COILS), "--noise", "0.02", "--frames", str(FRAMES)],
                   check=True, stdin=subprocess.DEVNULL)
    os.replace("made.mrd", HOSTILE)
    make(HOSTILE, "-q", "-o", "other.h5", "--method", "adjoint")
    make(HOSTILE, "-q", "-o", "image.h5", "--page", "page.html", "--noise-map", "noise.h5", "--replicas", "4", "--save-coils",
         "coils.h5", "--compare", "other.h5", "--report", "report.json")
    MADE.update({str(path): path.read_bytes() for path in pathlib.Path(".").iterdir()})
    return page_object("page.html")


def need_browser():
    browser.need(BROWSERS, OFFLINE, None if numpy else "no Python here has h5py")


def show(b, layer):
    b.evaluate(f"(() => {{ const s = document.getElementById('layer'); s.value = '{layer}'; s.dispatchEvent(new Event('change')); }})()")
    b.wait(f"page.view.layer === page.view.about.layers['{layer}'] && page.view.volume === page.view.volumes['{layer}']")


def truths(about):
    """{layer: (array [frame][z][y][x], title)}: what the run's files say."""
    with h5py.File("image.h5") as file:
        image = file["image"][...]
    with h5py.File("other.h5") as file:
        other = file["image"][...]
    with h5py.File("noise.h5") as file:
        noise, g = file["noise"][...], file["g_factor"][...]
    with h5py.File("coils.h5") as file:
        maps = file[next(iter(k for k in file if "sens" in k or "maps" in k))][...]
    maps = maps.reshape((-1, *maps.shape[-3:]))[:COILS]
    magnitude = numpy.abs(image).reshape((FRAMES, *COUNTS[::-1]))
    scale = [numpy.sum(m * o) / numpy.sum(m * m) for m, o in zip(magnitude, numpy.abs(other).reshape(magnitude.shape))]
    scaled = "scaled" in about["images"]["layers"]["difference"]["title"]
    difference = numpy.array([(s if scaled else 1) * m for s, m in zip(scale, magnitude)]) - numpy.abs(other).reshape(magnitude.shape)
    return {"magnitude": magnitude, "phase": numpy.angle(image).reshape(magnitude.shape), "difference": difference,
            "noise": noise.reshape((-1, *COUNTS[::-1])), "g_factor": g.reshape((-1, *COUNTS[::-1])), "coils": numpy.abs(maps),
            "coil_phases": numpy.angle(maps)}


def check_value(b, about, layer, truth, voxel, frame):
    """The page's number at the voxel that it names."""
    said = browser.readout(b)
    i, j, k = voxel
    assert said["voxel"] == f"{i}, {j}, {k}", (said, voxel)
    value, expected = float(said[about["images"]["layers"][layer]["title"]]), float(truth[frame, k, j, i])
    off = abs(value - expected)
    if "phase" in layer:
        off = min(off, abs(off - 2 * math.pi))
    # twice the float of the image, whose rounding moves a value across the middle between two levels
    bound = about["arrays"][layer]["error"] * (1 + 1e-3) + 0.5e-4 * abs(expected) + 1e-6 * numpy.max(numpy.abs(truth))
    assert off <= bound, f"{layer} at {voxel} of frame {frame}: {value}, not {expected} (+- {bound})"


def check_pointer(b, about, truth):
    """Clicks: the first view has the patient's left at its right and the front above, the second the head above."""
    nx, ny, nz = COUNTS
    for fx, fy in ((0.3, 0.43), (0.52, 0.62), (0.81, 0.28)):
        left, top, width, height = b.box(".views figure:nth-child(1) canvas")
        b.click(left + fx * width, top + fy * height)
        k = b.evaluate("page.view.voxel[2]")
        voxel = (int(fx * nx), int(fy * ny), k)
        check_value(b, about, "magnitude", truth, voxel, b.evaluate("page.view.frame"))
        mm = [float(x) for x in browser.readout(b)["mm (left, back, head)"].split(",")]
        expected = [(n - c // 2) * FOV / c for n, c in zip(voxel, COUNTS)]  # voxel N/2 is the centre
        assert all(abs(a - e) <= 0.051 for a, e in zip(mm, expected)), (mm, expected)
        left, top, width, height = b.box(".views figure:nth-child(2) canvas")
        b.click(left + fx * width, top + fy * height)
        check_value(b, about, "magnitude", truth, (int(fx * nx), voxel[1], nz - 1 - int(fy * nz)), b.evaluate("page.view.frame"))
    edges = b.evaluate("[...document.querySelectorAll('.views figure')].map(f => ['left', 'right', 'top', 'bottom']"
                       ".map(s => f.querySelector('.edge.' + s).textContent).join(''))")
    assert edges == ["RLAP", "RLHF", "APHF"], edges


def check_hands(b):
    """Wheel, keys, window, frames."""
    left, top, width, height = b.box(".views figure:nth-child(1) canvas")
    x, y = left + width / 2, top + height / 2
    b.click(x, y)
    before = b.evaluate("page.view.voxel[2]")
    b.wheel(x, y, 100)
    b.wait(f"page.view.voxel[2] === {before + 1}")
    b.key("ArrowDown")
    b.wait(f"page.view.voxel[2] === {before}")
    low, high = b.evaluate("page.view.window")
    b.drag(x, y, 60, 0, button=2)
    b.wait(f"page.view.window[1] - page.view.window[0] > {1.2 * (high - low)}")
    b.key("r")
    b.wait(f"page.view.window[1] === {high}")
    b.key(".")
    b.wait("page.view.frame === 1 && document.querySelector('#readout').textContent.includes('frame1')")
    b.evaluate("document.getElementById('play').click()")
    b.wait("page.view.frame === 0")
    b.evaluate("document.getElementById('play').click()")
    b.key("m")
    b.wait("page.view.montage.canvas.clientHeight > 50")
    b.key("m")


def check_screenshot(b, name, truth):
    """The first view on the screen is the slice: their grey values agree when both are reduced to the slice's voxels."""
    b.evaluate("(() => { page.view.cross = false; page.view.setFrame(0); document.activeElement.blur(); })()")
    left, top, width, height = (round(n) for n in b.box(".views figure:nth-child(1) canvas"))
    b.screenshot(f"{name}.png")
    shown = browser.pixels(f"{name}.png")[top:top + height, left:left + width].astype(float)
    assert numpy.all(shown[:, :, 0] == shown[:, :, 1]) or numpy.mean(numpy.abs(shown[:, :, 0] - shown[:, :, 1])) < 8, "not grey"
    k, (low, high) = b.evaluate("page.view.voxel[2]"), b.evaluate("page.view.window")
    expected = numpy.clip((truth[0, k] - low) / (high - low), 0, 1) * 255
    ny, nx = expected.shape
    centres = shown[((numpy.arange(ny) + 0.5) * height / ny).astype(int)][:, ((numpy.arange(nx) + 0.5) * width / nx).astype(int), 1]
    inner = (slice(2, -2), slice(2, -2))  # the edges have letters
    off = numpy.abs(centres - expected)[inner]
    assert numpy.max(expected) > 100 and numpy.mean(off) < 3, f"mean difference {numpy.mean(off)} of 255"
    b.evaluate("(() => { page.view.cross = true; page.view.draw(); })()")


def check_browser(name):
    about, html = make_page()
    assert len(html) < 300000 and "<img src=x" not in html
    truth = truths(about)
    with browser.Browser(name) as b:
        b.open("page.html")
        assert b.evaluate("document.querySelector('h1').textContent") == HOSTILE
        assert b.evaluate("document.querySelectorAll('img').length") == 1, "the preview only"
        check_pointer(b, about, truth["magnitude"])
        check_screenshot(b, name, truth["magnitude"])
        check_hands(b)
        for layer in ("phase", "difference", "noise", "g_factor", "coils", "coil_phases"):
            show(b, layer)
            frame = min(1, truth[layer].shape[0] - 1)
            b.evaluate(f"(() => {{ page.view.setFrame({frame}); page.view.move([9, 11, 5]); }})()")
            check_value(b, about, layer, truth[layer], (9, 11, 5), frame)
        assert b.evaluate("document.querySelector('svg.plot polyline').getAttribute('points').split(' ').length") > 2
        assert b.evaluate("document.querySelector('#figures').textContent.includes('noise sigma')")
        assert b.evaluate("document.title") == HOSTILE
        b.resize(390, 800)
        b.wait("innerWidth === 390")
        assert b.evaluate("document.documentElement.scrollWidth") <= 390, "wider than a phone"
        assert not b.unnamed(), b.unnamed()
        if name == "chromium":
            b.dark()
            b.wait("getComputedStyle(document.body).backgroundColor === 'rgb(22, 24, 27)'")
        assert not b.errors, b.errors
        print(f"    {name}: {b.evaluate('navigator.userAgent')}")


def test_chromium(_):
    need_browser()
    if "chromium" not in BROWSERS:
        raise Skip("no chromium")
    check_browser("chromium")


def test_firefox(_):
    need_browser()
    if "firefox" not in BROWSERS:
        raise Skip("no firefox")
    check_browser("firefox")


def test_file(_):
    """What needs no browser: the page is one file, its figures are the report's, and it says what it shows."""
    if numpy is None:
        raise Skip("no Python here has h5py")
    about, html = make_page()
    assert not re.search(r"(?:src|href)=[\"'](?!data:)", html) and "import " not in html, "the page would load something"
    assert set(about["images"]["layers"]) == {"magnitude", "phase", "difference", "noise", "g_factor", "coils", "coil_phases"}
    with open("report.json", encoding="ascii") as file:
        report = json.load(file)
    for part in ("reconstruction", "scan", "input"):
        assert about["run"].get(part) == report.get(part), part
    assert about["plots"]["convergence"]["values"][-1] <= report["reconstruction"]["residual"] * 1.0001
    refuse(4, "page", HOSTILE, "-o", "x.h5", "--page", "nowhere/page.html")


def test_index(_):
    """A batch has an index with the pages' names, which end in _image like those of the images."""
    for name in ("a.h5", "b <i>.h5"):
        subprocess.run([PHANTOM, "-q", "-o", name, "--matrix", "16,16,1"], check=True, stdin=subprocess.DEVNULL)
    for more in ([], ["--output-dir", "out"]):
        make("-q", "a.h5", "b <i>.h5", "--page", ".html", *more)
        folder = pathlib.Path("out" if more else ".")
        html = (folder / "mri_recon-pages.html").read_text(encoding="utf-8")
        links = [urllib.parse.unquote(link) for link in re.findall(r'<a href="([^"]*)"><img alt=""', html)]
        assert links == ["a_image.html", "b <i>_image.html"] and "no page" not in html and "<i>" not in html, html
        assert all((folder / link).exists() for link in links)


if __name__ == "__main__":
    program.main(globals())
