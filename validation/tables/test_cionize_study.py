#!/usr/bin/env python3
"""The study of cionize on a made-up record: which choices are right, where the GPU becomes faster, and the plots.
Also its measurements, with made-up programs."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "bench")]
import cionize_study as study  # noqa: E402
import figures  # noqa: E402
import plot_primitives as plot  # noqa: E402

START, USE, BASE = 0.2, 0.1, 0.03  # seconds of the made-up GPU, and of any run
CPU_RATE, GPU_RATE = 1e11, 1e12    # pairs a second


def times(atoms):
    pairs = atoms * study.EDGE ** 3
    return {"cpu": pairs / CPU_RATE, "cuda": pairs / GPU_RATE}


def made_up(chosen):
    """`chosen`: {atoms: device}, if it is not the faster one."""
    rows = []
    for atoms in study.SIZES:
        kernel = times(atoms)
        whole = {"cpu": BASE + kernel["cpu"], "cuda": BASE + START + USE + kernel["cuda"]}
        row = {"atoms": atoms} | {name: {"whole": whole[name], "kernel": kernel[name], "expected": False} for name in whole}
        row["cuda"] |= {"start": START, "waited": START}
        if atoms == study.SIZES[-1]:
            row["cpu"] |= {"expected": True, "kernel": None}
        device = chosen.get(atoms, min(whole, key=whole.get))
        row["auto"] = {"whole": whole[device], "device": f"{device} (made up); auto: because"}
        row["chosen"], row["right"] = study.judge(row)
        rows.append(row)
    return {"voxfield": "0.1.0", "date": "2026-01-02T03:04:05Z", "devices": {"cpu": "A <CPU>", "cuda": "A GPU"}, "cpu_threads": 4,
            "quick": False, "edge": study.EDGE, "rows": rows, "kernel_atoms": study.ATOMS, "edges": list(study.EDGES),
            "kernels": {name: [study.ATOMS * edge ** 3 / 1.5e9 / (1 + i) if edge < 384 or i else None for edge in study.EDGES]
                        for i, name in enumerate(("tuned", "const1", "const4", "const8", "simd"))},
            "no_gpu": None, "failed": {}}


def test_right():
    # 0.3 s against 1.9e-5 s per atom: the GPU is faster from 15,900 atoms on. At 10,000 it takes 0.351 s and the CPU
    # 0.240 s, a factor of 1.46; at 30,000 0.393 s and 0.659 s.
    record = made_up({})
    assert study.crossing(record) == (10000, 30000), study.crossing(record)
    assert all(row["right"] is True for row in record["rows"]) and not study.problems_of(record)
    for atoms, device, ratio in ((10000, "cuda", 1.46), (30000, "cpu", 1.68)):
        record = made_up({atoms: device})
        wrong = [row for row in record["rows"] if row["right"] is False]
        assert [row["atoms"] for row in wrong] == [atoms] and wrong[0]["chosen"] == device, wrong
        problems = study.problems_of(record)
        assert len(problems) == 1 and f"{atoms:,} atoms: auto chose {device}, which takes {ratio} times" in problems[0], problems
        assert not study.problems_of(record | {"quick": True})
    row = {"cpu": {"whole": 1.0}, "cuda": {"whole": 1.19}, "auto": {"device": "cuda:0 (x)"}}
    assert study.judge(row) == ("cuda", True)  # within the noise
    assert study.judge(row | {"cuda": {"whole": 1.21}}) == ("cuda", False)
    assert study.judge(row | {"cuda": {"whole": float("nan")}}) == ("cuda", False)
    assert study.judge({key: row[key] for key in ("cpu", "auto")}) == ("cuda", None)
    assert study.judge({"cpu": {"whole": 1.0}}) == (None, None)
    assert abs(study.besides(made_up({})) - USE) < 1e-12


def test_along_line():
    rows = {100: {"whole": 1.5, "kernel": 1.0, "expected": False}, 300: {"whole": 3.5, "kernel": 3.0, "expected": False}}
    assert study.along_line(rows, 1000, "whole") == 10.5 and study.along_line(rows, 1000, "kernel") == 10
    rows[1000] = {"whole": 10.5, "expected": True, "kernel": None}
    assert study.along_line(rows, 3000, "whole") == 30.5 and study.along_line({}, 100, "whole") is None


def test_show():
    text = "\n".join(study.show(made_up({30000: "cpu"})))
    for part in ("| 100 | 0.0321 | 0.330 | 0.0321 | cpu | yes | 0.0021 | 0.00021 | 0.200 | 0.200 |", "| cpu | **no** |",
                 "| 1,000,000 | 21.0 † |", "first the faster one at 30,000 atoms, the CPU still at 10,000",
                 "Besides its start and its work a GPU costs 0.1", "WRONG: 30,000 atoms", "| tuned | 1.50 | 1.50 |"):
        assert part in text, f"{part!r} is not in\n{text}"
    row = next(line for line in text.splitlines() if line.startswith("| tuned"))
    assert row.endswith("| 1.50 | - |"), row
    block = figures.study_block({"gpu": {"bench_cionize_study": made_up({})}})
    assert "cionize-times.svg" in block and "WRONG" not in block
    assert "no measurement" in figures.study_block({"gpu": {}})


def curves(canvas):
    root = xml.etree.ElementTree.fromstring(canvas.encode())
    space = "{http://www.w3.org/2000/svg}"
    lines = [[tuple(map(float, point.split(","))) for point in line.get("points").split()] for line in root.iter(space + "polyline")]
    return lines, [text.text for text in root.iter(space + "text")]


def has(lines, points):
    return any(len(line) == len(points) and all(abs(a - c) + abs(b - d) < 0.2 for (a, b), (c, d) in zip(line, points))
               for line in lines)


def test_drawings():
    record = made_up({})
    lines, texts = curves(study.draw_times(record, plot.Svg()))
    # From 2.1e-4 s (the GPU's kernel, 100 atoms) to 6.3 s (the CPU, 300,000, the last measured): axis from 1e-4 to 10.
    axes = plot.LogAxes(study.SIZES, [1e-4, 10])
    for name, key, sizes in (("cpu", "whole", study.SIZES[:-1]), ("cuda", "whole", study.SIZES), ("cuda", "kernel", study.SIZES)):
        values = {row["atoms"]: row[name][key] for row in record["rows"]}
        assert has(lines, [(axes.x(size), axes.y(values[size])) for size in sizes]), f"no curve of {name}, {key}"
    for text in ("CPU, whole program", "GPU, kernel alone", "1,000,000", "0.01"):
        assert text in texts, (text, texts)
    lines, texts = curves(study.draw_kernels(record, plot.Svg()))
    points = [edge ** 3 for edge in study.EDGES]
    axes = plot.LogAxes(points, [1, 10])
    assert has(lines, [(axes.x(n), axes.y(1.5)) for n in points[:-1]]) and has(lines, [(axes.x(n), axes.y(7.5)) for n in points])
    assert "simd (CPU)" in texts and "const8" in texts and "16³" in texts


PROGRAM = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
device = words[words.index("--device") + 1] if "--device" in words else None
if device is None:  # time_coulomb_kernels: 1e-6 s an atom
    seconds = {case: int(case.split(":")[1]) * 1e-6 for case in words[3:] if int(case.split(":")[1]) * 1e-6 < float(words[2])}
    json.dump({"seconds": seconds, "device": words[0]}, open(words[1], "w"))
elif device == "cuda" and not %r:
    sys.exit("cionize: error: cuda:0: no GPU")
elif "--dry-run" not in words:
    atoms = sum(line.startswith("ATOM") for line in open(words[-1]))
    assert words[words.index("--counts") + 1] == "24", words
    where = "cuda:0" if device == "cuda" or (device == "auto" and atoms > 150) else "cpu"
    json.dump({"device": where + " (x); auto: y", "voxfield": "9.9", "gpu_start": {"seconds": 1, "waited": 0.5}},
              open(words[words.index("--report") + 1], "w"))
"""


def measured(folder, gpu, device, limit=100):
    work = folder / f"work{gpu}{device}{limit}"
    for place in (folder / "apps/cionize", folder / "validation/bench", work):
        place.mkdir(parents=True, exist_ok=True)
    for path in (folder / "apps/cionize/cionize", folder / "validation/bench/time_coulomb_kernels"):
        path.write_text(PROGRAM % gpu)
        path.chmod(0o755)
    one = study.Study(folder, work, True, limit)
    one.late = lambda: limit < 0
    return study.make_record(one, device, True), work


def test_measuring(folder):
    record, work = measured(folder, True, "all")
    assert [row["chosen"] for row in record["rows"]] == ["cpu", "cuda"] and not record["failed"] and record["voxfield"] == "9.9"
    assert all(row["cuda"]["waited"] == 0.5 and row["cuda"]["kernel"] == row["atoms"] * 1e-6 for row in record["rows"])
    assert sorted(record["kernels"]) == ["const1", "const4", "const8", "roots", "simd", "tuned"]
    few, many = ((work / f"{atoms}.pqr").read_text() for atoms in study.QUICK_SIZES)
    assert many.startswith(few) and many.count("ATOM") == 300, "a molecule is a part of the next"
    assert few == (measured(folder, False, "cpu")[1] / "100.pqr").read_text(), "the same molecules every time"
    json.dumps(record)
    record, _ = measured(folder, False, "all")
    assert "no GPU" in record["no_gpu"] and list(record["kernels"]) == ["simd"]
    assert all(row["right"] is None and "cuda" not in row for row in record["rows"])
    record, _ = measured(folder, True, "cpu", limit=20 * 2e-4)  # 2e-4 s per run: 300 atoms take longer, by the kernel's rate
    few, many = (row["cpu"] for row in record["rows"])
    assert (few["expected"], many["expected"], many["kernel"]) == (False, True, None)
    assert abs(many["whole"] - few["whole"] - 2e-4) < 1e-12
    assert not any(row.keys() & {"cpu", "auto"} for row in measured(folder, True, "cpu", limit=-1)[0]["rows"]), "all is late"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            measured(folder, False, "cuda")
        except SystemExit as ended:
            assert ended.code == 77 and said.getvalue().startswith("SKIP: ")
        else:
            raise AssertionError("--device cuda without a GPU was not skipped")


def main():
    test_right()
    test_along_line()
    test_show()
    test_drawings()
    with tempfile.TemporaryDirectory() as folder:
        test_measuring(pathlib.Path(folder))
    print("ok")


main()
