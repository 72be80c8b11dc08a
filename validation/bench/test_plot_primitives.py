#!/usr/bin/env python3
"""The plot of the primitives' throughput: in both kinds of file, curves match their numbers, and other reports are
rejected. Also what figures.py makes of such a report (a table, and a picture that is compared byte by byte) and
of reports of bench_ion_search, with and without records."""
import contextlib
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import figures  # noqa: E402
import plot_primitives as plot  # noqa: E402

SIZES = [1 << log for log in range(10, 29)]


def made_up():
    """Like a GPU's record: separate curves, one of them shorter."""
    names = ["copy", "cudaMemcpyAsync", "fill", "sum", "cub::DeviceReduce::Sum", "dot", "inclusive scan", "sort of pairs"]
    curves = {name: [1e9 * 1.7 ** (1 + i) * min(1 + step, 10) for step in range(len(SIZES))] for i, name in enumerate(names)}
    curves["sort of pairs"].pop()
    return {"device": "NVIDIA <H200> & co", "elements": SIZES, "bytes_per_second": curves, "copy_by": "cudaMemcpyAsync",
            "copy_bytes_per_second": 4.27e12}


def read_png(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, rows = 8, b""
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(name + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], f"checksum of {name}"
        if name == b"IHDR":
            width, height, *kind = struct.unpack(">IIBBBBB", body)
            assert kind == [8, 2, 0, 0, 0], "not 8-bit RGB"
        rows += body if name == b"IDAT" else b""
        at += 12 + length
    pixels = zlib.decompress(rows)
    assert len(pixels) == height * (1 + 3 * width) and not any(pixels[::1 + 3 * width]), "rows"
    return lambda x, y: tuple(pixels[y * (1 + 3 * width) + 1 + 3 * x:][:3])


def test_axes(report):
    """The smallest size is at the left, the largest at the right. Decades have equal distances; the last is at the
    top."""
    axes = plot.Axes(report)
    assert [axes.x(size) for size in (1 << 10, 1 << 19, 1 << 28)] == [plot.LEFT, (plot.LEFT + plot.RIGHT) / 2, plot.RIGHT]
    assert (axes.low, axes.high) == (0, 4), (axes.low, axes.high)
    quarter = (plot.BOTTOM - plot.TOP) / 4
    for decade in range(5):
        assert abs(axes.y(1e9 * 10 ** decade) - (plot.BOTTOM - decade * quarter)) < 1e-6, decade


def test_png(report):
    pixel, axes = read_png(plot.draw(report, plot.Png()).encode()), plot.Axes(report)
    for name, color in zip(["copy", "fill", "sum", "dot", "inclusive scan", "sort of pairs"], plot.COLORS):
        for size, rate in list(zip(SIZES, report["bytes_per_second"][name]))[1:]:
            x, y = int(axes.x(size)), int(axes.y(rate))
            near = [pixel(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
            assert color in near, f"{name}, {size}: {near[4]} at {x}, {y}, not {color}"
    assert pixel(3, 3) == plot.WHITE
    dark = sum(pixel(x, y) == plot.DARK for x in range(plot.LEFT, plot.LEFT + 400) for y in range(30, 65))
    assert dark > 200, f"the title has {dark} dark pixels"


def test_svg(report):
    root = xml.etree.ElementTree.fromstring(plot.draw(report, plot.Svg()).encode())
    space, axes = "{http://www.w3.org/2000/svg}", plot.Axes(report)
    lines = [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
             for line in root.iter(space + "polyline")]
    for name, curve in report["bytes_per_second"].items():
        wanted = [(round(axes.x(size), 1), round(axes.y(rate), 1)) for size, rate in zip(SIZES, curve)]
        assert any(len(line) == len(wanted) and all(abs(a - c) + abs(b - d) < 0.3 for (a, b), (c, d) in zip(line, wanted))
                   for line in lines), f"no curve of {name}"
    texts = [text.text for text in root.iter(space + "text")]
    for text in ("Primitives on NVIDIA <H200> & co", "1 Ki", "256 Mi", "1,000", "cub::DeviceReduce::Sum", "sort of pairs"):
        assert text in texts, f"{text!r} is not written: {texts}"


def test_files(report, folder):
    def run(*arguments):
        return subprocess.run([sys.executable, str(HERE / "plot_primitives.py"), *map(str, arguments)], capture_output=True,
                              text=True, cwd=folder)
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "record.json").write_text(json.dumps({"benchmarks": {"bench_primitives": report}}))
    (folder / "other.json").write_text(json.dumps({"benchmarks": {"bench_toeplitz": {}}}))
    for name in ("report", "record"):
        done = run(f"{name}.json", f"{name}.png", f"{name}.svg")
        assert done.returncode == 0, done.stderr
    assert (folder / "report.png").read_bytes() == (folder / "record.png").read_bytes()
    for arguments in (["other.json", "a.png"], ["report.json", "a.jpg"], ["report.json"]):
        done = run(*arguments)
        assert done.returncode == 1 and done.stderr and "Traceback" not in done.stderr, (arguments, done.stderr)
    assert not list(folder.glob("a.*")) and not list(folder.glob(".*"))


def test_table(report):
    shares = {"sum, 2^20": {"bytes_per_second": 922e9, "beside": "cub::DeviceReduce::Sum", "share": 2.0706, "bar": 1, "met": True},
              "inclusive scan, three kernels, 2^28": {"bytes_per_second": 1.33e12, "beside": "cudaMemcpyAsync", "share": 0.321},
              "inclusive scan of the copy's, 2^28": {"bytes_per_second": 1.5e12, "beside": "cudaMemcpyAsync", "share": 0.3624,
                                                     "bar": 0.85, "met": False}}
    data = {"gpu": {"bench_primitives": report | {"shares": shares}}, "cpu": {}}
    text = figures.primitives_block(data, "gpu").splitlines()
    for row in ("| sum | 2^20 | 922 | 2.071 | cub::DeviceReduce::Sum | 1: met |",
                "| inclusive scan, three kernels | 2^28 | 1,330 | 0.321 | cudaMemcpyAsync |  |",
                "| inclusive scan | 2^28 | 1,500 | 0.362 | cudaMemcpyAsync | 0.85: missed |"):
        assert row in text, f"{row} is not in {text}"
    assert text[0].endswith("cudaMemcpyAsync of 2^28 elements: 4,270 GB/s, read and written."), text[0]
    assert "primitives-gpu.svg" in text[-1]
    assert "no measurement" in figures.primitives_block(data, "cpu")
    drawn = {path.name: content for path, content in figures.pictures(data).items()}
    assert drawn.pop("primitives-gpu.svg") == plot.draw(report, plot.Svg()).encode()
    rest = ("primitives-cpu.svg", "cionize-times.svg", "cionize-kernels.svg", "fast-growth.svg", "threads.svg", "cutoff-volume.svg")
    assert drawn == dict.fromkeys(rest), "what no record has is not drawn"


def test_ions():
    case = {"atoms": 20000, "grid": [256, 256, 256], "ions": 1000, "make_seconds": 0.5, "exclude_seconds": 0.25,
            "first_ion_seconds": 0.125, "seconds_an_ion": 4.21e-3, "share_of_find": 0.756, "ions_per_second": 1234.5, "passes_an_ion": 0.3}
    cpu = {"device": "A CPU", "threads": 2, "cases": {"a": case}}
    gpu = {"device": "A GPU", "threads": 16, "cases": {"a": case | {"passes_an_ion": 1.25, "times_cells": 20.04}}}
    both = figures.ions_block({"cpu": {"bench_ion_search": cpu}, "gpu": {"bench_ion_search": gpu}}).splitlines()
    assert both[2:] == ["| A CPU, 2 threads | 20,000 | 256 x 256 x 256 | 1,000 | 0.88 | 4.21 | 76 % | 1,234 | 0.30 |  |",
                        "| A GPU | 20,000 | 256 x 256 x 256 | 1,000 | 0.88 | 4.21 | 76 % | 1,234 | 1.25 | 20.0 |"], both
    one = figures.ions_block({"cpu": {"bench_ion_search": cpu}, "gpu": {}})
    assert "A CPU" in one and one.endswith("no measurement of this: `./run gpu`, on a GPU, makes one."), one
    none = figures.ions_block({"cpu": {}, "gpu": {}})
    assert none.count("no measurement") == 2 and "|" not in none, none


def test_update(folder):
    """Differences are found and written; figures without a record are removed."""
    figures.ROOT, path = folder, folder / "picture.svg"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for old, new in ((None, b"new"), (b"old", b"new"), (b"old", None)):
            path.write_bytes(old) if old else path.unlink(missing_ok=True)
            assert figures.update(path, new, check=True) and path.exists() == bool(old), (old, new)
            assert not figures.update(path, new, check=False) and path.exists() == bool(new), (old, new)
            assert not figures.update(path, new, check=True), (old, new)
            assert not new or path.read_bytes() == new
            path.unlink(missing_ok=True)
    assert said.getvalue().count("picture.svg differs from the records") == 3, said.getvalue()


def main():
    report = made_up()
    test_table(report)
    test_ions()
    test_axes(report)
    test_png(report)
    test_svg(report)
    with tempfile.TemporaryDirectory() as folder:
        test_files(report, pathlib.Path(folder))
        test_update(pathlib.Path(folder))
    print("ok")


main()
