#!/usr/bin/env python3
"""cionize --page in real browsers, without a network: what is shown agrees with the map and the molecule.

usage: test_cionize_page.py PROGRAM [DEVICE] [test_name ...]

The molecule is two ions in vacuum, whose potential is known everywhere: V = C (1 / |r - a| - 1 / |r - b|).
"""
import base64
import json
import math
import os
import re
import urllib.parse
import zlib

import browser
import program
from program import Skip, make, refuse

try:
    import numpy
except ImportError:
    numpy = None
BROWSERS = [name for name in browser.NAMES if browser.find(name)]
OFFLINE = browser.without_network()
C = 560.459322  # kT/e angstrom / e, docs/conventions.md
PLUS, MINUS = (-3.1, 0.2, 0.1), (3.1, 0.2, 0.1)
RADIUS = 2.0
HOSTILE = "<b id=x>&'.pqr"


def potential(place):
    return C * (1 / math.dist(place, PLUS) - 1 / math.dist(place, MINUS))


def page_object(path):
    with open(path, encoding="utf-8") as file:
        html = file.read()
    return json.loads(re.search(r'<script type="application/json" id="voxfield-json">(.*?)</script>', html, re.S)[1]), html


def make_page(*options):
    """Names of atoms are hostile, too: eight characters are enough for a tag."""
    with open(HOSTILE, "w", encoding="ascii") as file:
        for n, (name, place, charge) in enumerate((("<script>", PLUS, 1), ("CL&\"'", MINUS, -1)), 1):
            file.write(f"ATOM {n} {name} <i>x</i> {n} {place[0]} {place[1]} {place[2]} {charge} {RADIUS}\n")
    make(HOSTILE, "-q", "-o", "map.dx", "--spacing", "0.25", "--border", "6", "--method", "exact", "--page", "page.html",
         "--report", "report.json", *options)
    return page_object("page.html")


def need_browser():
    browser.need(BROWSERS, OFFLINE, None if numpy else "no Python here has numpy")


def pixel_of(b, place):
    """Where a place of the scene is in the window."""
    return b.evaluate(f"(() => {{ const s = page.view.stage, p = s.seen({place[0]}, {place[1]}, {place[2]}), c = s.canvas; "
                      "c.scrollIntoView({block: 'center'}); const b = c.getBoundingClientRect(), h = s.halfHeight(); "
                      "return [b.left + b.width / 2 + p[0] / h * b.height / 2, b.top + b.height / 2 - p[1] / h * b.height / 2]; })()")


def settle(b):
    """Waits for what was asked to be drawn."""
    b.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def point_of(said):
    return [float(x) for x in said["point (angstrom)"].split(",")]


def check_slices(b):
    """Numbers under the pointer are the map's to 12 bits of asinh(V / unit): half a step, a part of V, and 4 digits."""
    about = b.evaluate("page.json")
    array, unit = about["arrays"]["map"], about["scene"]["map"]["sinh"]
    assert array["bits"] == 12 and array["reduced"] == [1, 1, 1]
    for fx, fy in ((0.22, 0.31), (0.5, 0.77), (0.71, 0.42)):
        left, top, width, height = b.box(".views figure:nth-child(1) canvas")
        b.click(left + fx * width, top + fy * height)
        said = browser.readout(b)
        place, value = point_of(said), float(said["potential (kT/e)"])
        expected = potential(place)
        # the place has two decimals: 0.005 along each axis of the largest slope, C / r^2 of both ions
        slope = sum(C / math.dist(place, ion) ** 2 for ion in (PLUS, MINUS))
        bound = array["error"] * 1.01 * math.hypot(expected, unit) + 1e-3 * abs(expected) + 0.0087 * slope
        assert abs(value - expected) <= bound, f"{value} at {place}, not {expected} (+- {bound})"


    # what is drawn in that voxel, x to the right and y upwards, has the value's colour: four digits, and the rounding of bytes
    for fx, fy in ((0.3, 0.6), (0.62, 0.2)):
        left, top, width, height = b.box(".views figure:nth-child(1) canvas")
        b.move(left + fx * width, top + fy * height)
        said = browser.readout(b)
        value, (x, y, _), grid, counts = float(said["potential (kT/e)"]), point_of(said), about["scene"]["map"], array["shape"][:0:-1]
        right, up = ((round((p - o) / h) + 0.5) / n for p, o, h, n in zip((x, y), grid["origin"], grid["spacing"], counts))
        drawn, expected = b.evaluate(f"""(() => {{
            const c = document.querySelector(".views figure:nth-child(1) canvas"), r = page.view.range;
            const one = new OffscreenCanvas(1, 1).getContext("2d", {{ willReadFrequently: true }});
            one.drawImage(c, -Math.floor({right} * c.width), -Math.floor({1 - up} * c.height));
            return [[...one.getImageData(0, 0, 1, 1).data].slice(0, 3),
                redWhiteBlue(Math.min(1, Math.max(0, ({value} + r) / (2 * r))))];
        }})()""")
        assert all(abs(d - e) < 2.5 for d, e in zip(drawn, expected)), (drawn, expected, value)


def check_surface(b, name):
    """Both sides have their colours, and the value under the pointer is the potential there."""
    settle(b)
    centres = [pixel_of(b, ion) for ion in (PLUS, MINUS)]
    b.screenshot(f"{name}.png")
    image = browser.pixels(f"{name}.png").astype(int)
    blue, red = (image[int(y), int(x)] for x, y in centres)
    assert blue[2] > blue[0] + 60 and red[0] > red[2] + 60, (blue, red)
    for sign, ion, (x, y) in zip((1, -1), (PLUS, MINUS), centres):
        b.move(x + 3, y + 2)
        b.wait("document.querySelectorAll('#readout dt').length > 1")
        said = browser.readout(b)
        place, value = point_of(said), float(next(v for k, v in said.items() if k.startswith("potential")))
        # the surface is a sphere here, but for the mesh: its spacing, and what linear values miss of 1 / r between points
        # 0.25 angstrom apart, h^2 / 8 * 3 * 2 V / r^2 < 1.5 %
        assert abs(math.dist(place, ion) - RADIUS) < 0.1, place
        assert math.dist(pixel_of(b, place), (x + 3, y + 2)) < 1.5, "the place is not under the pointer"  # it has two decimals
        offset = b.evaluate("page.view.about.surface_offset")  # along the normal
        place = [i + (p - i) * (1 + offset / math.dist(place, ion)) for p, i in zip(place, ion)]
        assert abs(value - potential(place)) < 0.03 * abs(potential(place)), (value, potential(place))
        assert sign * value > 50 and said["nearest atom"].startswith("<script>" if sign > 0 else "CL&\"'"), said


def check_atoms(b):
    b.evaluate("(() => { const v = page.view; v.alpha.value = '0'; v.alpha.dispatchEvent(new Event('input')); "
               "v.atomSelect.value = 'spheres'; v.showAtoms(); })()")
    x, y = pixel_of(b, MINUS)
    b.move(x, y)
    b.wait("document.querySelector('#readout').textContent.includes('atom')")
    said = browser.readout(b)
    assert said["atom"] == "CL&\"' <i>x</i> - 2" and all(abs(p - m) < 0.011 for p, m in zip(point_of(said), MINUS)), said
    # one behind the other, the nearer one is seen
    for turn, kind in ((1, "<script>"), (-2, "CL&\"'")):
        b.evaluate(f"(page.view.stage.rotate({turn} * Math.PI / 2, 0), page.view.draw())")
        settle(b)
        x, y = pixel_of(b, [(p + m) / 2 for p, m in zip(PLUS, MINUS)])
        b.move(x, y - 200)  # beside them
        b.wait("!document.querySelector('#readout').textContent")
        b.move(x, y)
        b.wait("document.querySelector('#readout').textContent.includes('atom')")
        front = browser.readout(b)["atom"].split(" ")[0]
        assert front == kind, front
        b.screenshot("front.png")
        red, green, _ = browser.pixels("front.png")[int(y), int(x)].astype(int)
        assert (green > red + 40) == (front != "<script>"), (front, red, green)  # chlorine is green, sulphur yellow
    b.evaluate("(page.view.stage.reset(), page.view.draw())")
    bonds = 'bondsOf(new Float32Array([0, 0, 0, 1.5, 0, 0, 2.5, 0, 0, 10, 0, 0, 0, 2, 0]), ["C", "C", "H", "H", "C"])'
    assert b.evaluate(bonds) == [[0, 1], [1, 2]]  # carbons are bonded up to 1.9 angstrom
    b.evaluate("(() => { const v = page.view; v.alpha.value = '1'; v.alpha.dispatchEvent(new Event('input')); })()")


def check_isosurface(b):
    """It is closed, and at each of its vertices the potential is the level, but for the part of a cell between."""
    b.key("i")
    b.wait("page.view.iso.plus && page.view.iso.minus")
    found = b.evaluate("""(() => {
        const level = page.view.levels.plus, mesh = isosurface(page.view.map, level), edges = new Map(), t = mesh.triangles;
        for (let n = 0; n < t.length; n++) {
            const a = t[n], b = n % 3 === 2 ? t[n - 2] : t[n + 1], key = Math.min(a, b) + " " + Math.max(a, b);
            edges.set(key, (edges.get(key) ?? 0) + (a < b ? 1 : -1) + 1000);
        }
        return { level, open: [...edges.values()].filter(n => n !== 2000).length, vertices: [...mesh.vertices] };
    })()""")
    assert found["open"] == 0 and len(found["vertices"]) > 300, "the isosurface is not closed"
    level, far = found["level"], 0
    places = numpy.array(found["vertices"]).reshape(-1, 3)
    for place in places[:: max(1, len(places) // 200)]:
        slope = abs(level) / min(math.dist(place, PLUS), math.dist(place, MINUS))
        far = max(far, abs(potential(place) - level) / slope)  # about the distance to the level, angstrom
    assert far < 0.25, f"a vertex is {far} angstrom from the level"


def check_hands(b):
    turn = b.evaluate("page.view.stage.turn")
    left, top, width, height = b.box("#stage")
    b.drag(left + width / 2, top + height / 2, 80, 10)
    assert b.evaluate("page.view.stage.turn") != turn
    half = b.evaluate("page.view.stage.half")
    b.wheel(left + width / 2, top + height / 2, -200)
    b.wait(f"page.view.stage.half < {half}")
    b.drag(left + width / 2, top + height / 2, 30, 0, button=2)
    assert b.evaluate("page.view.stage.shift[0]") > 0
    b.key("r")
    b.wait(f"page.view.stage.half === {half}")
    assert b.evaluate("page.view.stage.turn") == turn and b.evaluate("page.view.stage.shift") == [0, 0]
    b.key("ArrowLeft")
    b.wait(f"page.view.stage.turn[0] !== {turn[0]}")
    b.evaluate("(() => { const r = document.getElementById('range'); r.value = '77'; r.dispatchEvent(new Event('change')); })()")
    assert b.evaluate("page.view.items.surface.uniforms.range") == 77
    # the picture of the view: as large as the canvas, and not of one colour
    data = b.evaluate("(() => { page.view.stage.draw(); const c = page.view.canvas, g = page.view.stage.gl, p = new Uint8Array(4 * c.width * "
                      "c.height); g.readPixels(0, 0, c.width, c.height, g.RGBA, g.UNSIGNED_BYTE, p); "
                      "return [c.toDataURL().length, new Set(new Uint32Array(p.buffer)).size]; })()")
    assert data[0] > 5000 and data[1] > 200, data


def check_webgl(name, on_display):
    about, html = make_page()
    scripts = sum(map(len, re.findall(r"<style>.*?</style>|<script>.*?</script>", html, re.S)))
    assert scripts < 60000, f"the page's program has {scripts} bytes"
    assert len(html) < 5e6 and "<b id=x>" not in html and "<i>x" not in html
    assert about["scene"]["range"] > 0 and "axes" in about["scene"]
    with browser.Browser(name, on_display=on_display) as b:
        b.open("page.html")
        assert b.evaluate("!!page.view.stage.gl"), "no WebGL 2"
        assert b.evaluate("document.querySelector('h1').textContent") == HOSTILE
        assert b.evaluate("document.querySelector('#preview').clientHeight") == 0, "the preview hides"
        check_surface(b, name)
        check_atoms(b)
        check_isosurface(b)
        check_hands(b)
        check_slices(b)
        assert not b.unnamed(), b.unnamed()
        assert not b.errors, b.errors
        print(f"    {name}: {b.evaluate('navigator.userAgent')}")


def test_chromium(_):
    need_browser()
    if "chromium" not in BROWSERS:
        raise Skip("no chromium")
    check_webgl("chromium", False)


def test_firefox(_):
    need_browser()
    if "firefox" not in BROWSERS:
        raise Skip("no firefox")
    if not browser.find_display():
        raise Skip("no Xvfb")
    check_webgl("firefox", True)


def test_without_webgl(_):
    """The picture and the slices stay: headless Firefox has no WebGL; Chromium is told so."""
    need_browser()
    make_page()
    for name in BROWSERS[-1:]:
        with browser.Browser(name, (420, 900)) as b:
            b.open("page.html")
            if b.evaluate("!!page.view.stage.gl"):
                b.evaluate("(location.hash = '#without-webgl', location.reload())")
                b.wait("document.body.dataset.ready === 'yes' && !page.view.stage.gl")
            assert "no WebGL 2" in b.evaluate("document.getElementById('message').textContent")
            assert b.evaluate("document.querySelector('#preview').clientHeight") > 100
            assert b.evaluate("document.documentElement.scrollWidth") <= 420, "wider than a phone"
            check_slices(b)
            assert not [e for e in b.errors if "WebGL" not in e], b.errors


def test_file(_):
    """What needs no browser: figures, the map's numbers, molecules without a surface, and options."""
    about, html = make_page()
    with open("report.json", encoding="ascii") as file:
        report = json.load(file)
    for part in ("potential", "input", "grid"):
        assert about["run"].get(part) == report.get(part), part
    assert not re.search(r"(?:src|href)=[\"'](?!data:)", html) and set(about["arrays"]) == {
        "map", "surface_vertices", "surface_normals", "surface_values", "surface_triangles", "atoms", "atoms_radii", "atoms_labels",
        "atoms_elements"}
    assert about["arrays"]["surface_triangles"]["shape"][0] <= 120000
    make(HOSTILE, "-q", "--spacing", "0.5", "--border", "8", "--page", "ions.html", "--place", "SOD:3", "--ions", "ions.pdb")
    about, _ = page_object("ions.html")
    assert about["arrays"]["ions"]["shape"] == [3, 3] and "without the ions" in about["scene"]["note"]
    make(HOSTILE, "-q", "-o", "map.dx", "--spacing", "1", "--cell", "20,20,20,90,90,60", "--page", "cell.html")
    about, _ = page_object("cell.html")
    assert "surface_vertices" not in about["arrays"] and "triclinic" in about["scene"]["note"]
    make(HOSTILE, "-q", "-o", "map.dx", "--spacing", "1", "--cell", "20,20,20", "--page", "cell.html", "--surface-range", "7")
    about, _ = page_object("cell.html")
    assert "surface_vertices" in about["arrays"] and about["scene"]["range"] == 7
    make(HOSTILE, "-q", "--read-map", "map.dx", "--cell", "20,20,20", "--page", "read.html")
    assert page_object("read.html")[0]["arrays"]["map"]["shape"] == about["arrays"]["map"]["shape"]
    program.run(HOSTILE, "-q", "-o", "map.dx", "--spacing", "1", "--origin", "30,30,30", "--counts", "6", "--page", "away.html")
    about, _ = page_object("away.html")  # all of the surface is outside of the map
    assert 0 < about["scene"]["range"] < 100 and about["scene"]["map"]["sinh"] > 0, about["scene"]
    assert "grey" in about["scene"]["note"]
    assert about["scene"]["description"].endswith("electrostatic potential"), about["scene"]
    make(HOSTILE, "-q", "-o", "map.dx", "--spacing", "2", "--select", "index 0", "--page", "part.html")
    assert "electrostatic potential of index 0 (1 atom, " in page_object("part.html")[0]["scene"]["description"]
    refuse(4, "page", HOSTILE, "-o", "m.dx", "--page", "nowhere/page.html")


def volume_of(about, html):
    """The page's map [z][y][x]."""
    array, unit = about["arrays"]["map"], about["scene"]["map"]["sinh"]
    line = re.search(r'id="voxfield-data">\n(.*?)</script>', html, re.S)[1].split("\n")[array["line"]]
    data = zlib.decompress(base64.b64decode(line))
    count = len(data) // 2
    levels = numpy.cumsum([low + 256 * high for low, high in zip(data[:count], data[count:])]) % 65536
    return unit * numpy.sinh(array["offset"][0] + array["step"][0] * levels).reshape(array["shape"][1:])


def test_reduced(_):
    """A map of more than 112 points along an axis: means of blocks, at their middles."""
    if not numpy:
        raise Skip("no Python here has numpy")
    with open("two.pqr", "w", encoding="ascii") as file:
        file.write(f"ATOM 1 C C 1 -3.1 0.2 0.1 1 {RADIUS}\nATOM 2 C C 2 3.1 0.2 0.1 -1 {RADIUS}\n")
    make("two.pqr", "-q", "-o", "map.dx", "--counts", "113,9,10", "--spacing", "0.25", "--origin=-14,4,-1", "--surface-range", "50",
         "--page", "two.html")
    about, html = page_object("two.html")
    array, where = about["arrays"]["map"], about["scene"]["map"]
    assert array["bits"] == 12 and array["shape"] == [1, 10, 9, 56] and where["spacing"] == [0.5, 0.25, 0.25]
    assert where["origin"] == [-13.875, 4, -1]
    found = program.read("map.dx")
    whole = numpy.array(found.values).reshape(10, 9, 113)[:, :, :112]
    expected = whole.reshape(10, 9, 56, 2).mean(axis=3)
    # half a step of asinh(V / unit)
    bound = array["error"] * 1.01 * numpy.hypot(expected, where["sinh"])
    assert (abs(volume_of(about, html) - expected) <= bound).all()


def ribbon_page(path):
    """A strand of five alpha carbons along x, 3.4 angstrom apart, a gap, three nucleotides, and an atom beside them."""
    lines = []

    def add(name, residue, number, place):
        x, y, z = place
        lines.append(f"ATOM {len(lines) + 1} {name} {residue} A {number} {x} {y} {z} {len(lines) % 2 - 0.5} 1.7")
    for n in range(5):
        add("CA", "ALA", n + 1, (3.4 * n, 0.8 * (n % 2), 0))
    for n in range(3):
        for name, y, z in (("C4'", 20, 0), ("C1'", 18, 0), ("N3", 14, 0)):
            add(name, "DC", n + 11, (6 * n, y, z))
    add("ZN", "ZN", 20, (8, 10, 0))
    with open("r.pqr", "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    program.run("r.pqr", "-q", "-o", "map.dx", "--spacing", "1", "--border", "4", "--page", path)
    return page_object(path)


def check_ribbon(b):
    """The curve passes through the residues, the pointer names them, and atoms of no ribbon stay."""
    about = b.evaluate("page.json.arrays")
    assert about["backbone"]["shape"] == [8, 3] and about["backbone_rungs"]["shape"] == [6, 3]
    assert b.evaluate("[...page.view.backbone.kinds]") == [4, 0, 0, 0, 0, 7, 3, 3]
    assert b.evaluate("page.view.atomSelect.value") == "ribbon"
    meshes = b.evaluate("page.view.ribbons.map(m => [m.triangles.length / 3, m.normals.every(Number.isFinite) && m.vertices.every(Number.isFinite)])")
    # rings of ten corners, two triangles each between rings: seven rings a residue, and two to close both ends
    assert meshes == [[20 * (7 * 4 + 1), True], [0, True], [0, True], [20 * (7 * 2 + 1), True]], meshes
    # at each residue, a corner of the ring is half a width away
    far = b.evaluate("(() => { const { places } = page.view.backbone, v = page.view.ribbons[0].vertices; return [0, 1, 2, 3, 4].map(n => { "
                     "let d = Infinity; for (let k = 0; k < v.length; k += 3) d = Math.min(d, Math.hypot(v[k] - places[3 * n], "
                     "v[k + 1] - places[3 * n + 1], v[k + 2] - places[3 * n + 2])); return d; }); })()")
    assert all(d <= 0.31 for d in far), far
    b.evaluate("(() => { const v = page.view; v.alpha.value = '0'; v.alpha.dispatchEvent(new Event('input')); })()")
    settle(b)
    for place, name, text in (((6.8, 0, 0), "coil", "ALA A 3"), ((6, 20, 0), "nucleic acid", "DC A 12"), ((8, 10, 0), "atom", "ZN ZN A 20")):
        b.move(*pixel_of(b, place))
        b.wait(f"document.querySelector('#readout').textContent.includes({json.dumps(name)})")
        assert browser.readout(b)[name] == text, browser.readout(b)
    for how in ("sticks", "spheres", "none", "ribbon"):
        b.key("a")
        b.wait(f"page.view.atomSelect.value === {json.dumps(how)}")
    assert b.evaluate("page.view.groups.map(g => [!!g.ribbon, g.balls.shown])") == [[True, False], [False, True]]


def test_ribbon(_):
    ribbon_page("ribbon.html")
    if "chromium" not in BROWSERS:
        need_browser()
        raise Skip("no chromium")
    with browser.Browser("chromium") as b:
        b.open("ribbon.html")
        check_ribbon(b)
        assert not b.errors, b.errors


def test_far(_):
    """Atoms so far apart that no grid finds their surface: the page comes without it."""
    with open("far.pqr", "w", encoding="ascii") as file:
        file.write(f"ATOM 1 C C 1 -9000 -9000 -9000 1 {RADIUS}\nATOM 2 C C 2 9000 9000 9000 -1 {RADIUS}\n")
    make("far.pqr", "-q", "--counts", "8", "-o", "map.dx", "--page", "far.html")
    about, _ = page_object("far.html")
    assert "surface_vertices" not in about["arrays"] and "too far apart" in about["scene"]["note"]


def test_index(_):
    """A batch gets a page of links with previews; names that mean something in HTML or in a URL do not harm it."""
    names = [HOSTILE, "50%#?.pqr", "javascript:alert(1).pqr", "missing.pqr"]
    for name in names[:3]:
        with open(name, "w", encoding="ascii") as file:
            file.write(f"ATOM 1 C C 1 0 0 0 1 {RADIUS}\n")
    done = program.run("--spacing", "1", "-o", ".dx", "--page", ".html", "--output-dir", "out", *names)
    assert done.status != 0 and "cionize-pages.html" in done.out, done.out
    with open("out/cionize-pages.html", encoding="utf-8") as file:
        html = file.read()
    links = re.findall(r'<a href="([^"]*)"><img alt="" loading="lazy" src="data:image/png;base64,[A-Za-z0-9+/=]+">', html)
    pages = [urllib.parse.unquote(link) for link in links]
    assert pages == [name.removesuffix(".pqr") + ".html" for name in names[:3]] and all(":" not in link for link in links), links
    assert all(os.path.exists(os.path.join("out", page)) for page in pages)
    assert "<b id=x>" not in html and "missing.pqr: no page" in html
    if BROWSERS:
        with browser.Browser(BROWSERS[0]) as b:
            b.open("out/cionize-pages.html", ready="document.images.length === 3 && [...document.images].every(i => i.complete)")
            b.evaluate("document.links[1].click()")
            b.wait("document.title === '50%#?.pqr'")
            assert not b.errors, b.errors


if __name__ == "__main__":
    program.main(globals())
