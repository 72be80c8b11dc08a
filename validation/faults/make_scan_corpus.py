#!/usr/bin/env python3
"""Writes the initial inputs for fuzz_scan (corpus/scan): headers of ISMRMRD files, acquisitions, plain layouts, and those of
fastMRI and CMRxRecon, as the bytes that fuzz_scan.c expects. The folder also has the inputs that fuzz_scan has found since.

    make_scan_corpus.py FOLDER
"""
import pathlib
import sys


def space(name, matrix, fov):
    def three(values):
        return "".join(f"<{a}>{v}</{a}>" for a, v in zip("xyz", values))
    return f"<{name}><matrixSize>{three(matrix)}</matrixSize><fieldOfView_mm>{three(fov)}</fieldOfView_mm></{name}>"


def header(body):
    return f'<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">{body}</ismrmrdHeader>'


ENCODED = space("encodedSpace", (16, 8, 1), (320, 160, 5))
RECON = space("reconSpace", (8, 8, 1), (160, 160, 5))
LIMITS = ("<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>7</maximum><center>4</center>"
          "</kspace_encoding_step_1></encodingLimits>")
HEADERS = {
    "ok-cartesian": header(f"<encoding>{ENCODED}{RECON}{LIMITS}<trajectory>Cartesian</trajectory></encoding>"),
    "ok-radial": header(f"<encoding>{ENCODED}{RECON}<trajectory>radial</trajectory></encoding>"),
    "ok-bare": header(f"<encoding>{ENCODED}</encoding>"),
    "ok-latin": header(f"<a>M\xfcller</a><encoding>{ENCODED}</encoding>"),
    "ok-second": header(f"<encoding>{ENCODED}</encoding><encoding>{RECON}</encoding>"),
    "bad-no-encoding": header(""),
    "bad-no-matrix": header("<encoding><trajectory>epi</trajectory></encoding>"),
    "bad-entity": '<!DOCTYPE a [<!ENTITY b "c">]>' + header(f"<encoding>{ENCODED}</encoding>"),
    "bad-tags": header("<encoding>"),
}


def number(value):
    """The byte that fuzz_scan converts to about this number."""
    return 132 + round(64 * value)


def acquisition(flag=255, samples=8, dims=0, step=(0, 0), where=0, traj=(), data=()):
    size = samples  # below 12: no samples are discarded
    head = [flag, size, 16 * dims + 1, samples // 2, number(1)]
    for axis in range(3):  # read_dir: 1, y, z; position
        head += [] if axis == 0 else [number(0)]
        head += [number(0)]
    return bytes(head + [step[0], step[1], where, 255, 255] +
                 [number(traj[i % len(traj)]) for i in range(samples * dims)] +
                 [number(data[i % len(data)] if data else 0.5) for i in range(samples * 2 * 2)])


def acquisitions(lines, matrix=(8, 8, 1), units=0, name=0):
    spaces = [v for n in matrix for v in (n, n, n, 2 * n)]
    return bytes([len(lines) - 1, units] + spaces + [5, name]) + b"".join(lines)


def plain(sets, values=b"", matrix=(4, 3, 2), units=0):
    """sets: [type, dims] or None, in the order of fuzz_scan's names. Types: 0 float, 2 complex float."""
    out = []
    for n in matrix:
        out += [n, number(1)]
    out.append(units)
    for one in sets + [None] * (10 - len(sets)):
        out += [0] if one is None else [16 * one[0] + 1, len(one[1])] + list(one[1])
    return bytes(out) + values


K = bytes(number(v / 4) for v in range(-6, 7))
SCANS = {
    "ok-lines": acquisitions([acquisition(step=(i, 0)) for i in range(8)]),
    "ok-noise": acquisitions([acquisition(flag=18, data=(1, -1, .5))] + [acquisition(step=(i, 0)) for i in range(4)]),
    "ok-frames": acquisitions([acquisition(step=(i % 2, 0), where=i) for i in range(8)]),
    "ok-calibration": acquisitions([acquisition(flag=19 if i % 2 else 255, step=(i, 0), where=i // 4) for i in range(8)]),
    "ok-reversed": acquisitions([acquisition(flag=21, samples=7)]),
    "ok-spokes": acquisitions([acquisition(dims=2, traj=(-.5, .25, 0, 0, .4, -.1))] * 3, name=2),
    "ok-weights": acquisitions([acquisition(dims=3, traj=(-.5, .25, 1))] * 3, name=2),
    "ok-volume": acquisitions([acquisition(dims=3, traj=(-.5, .25, .3))] * 3, matrix=(8, 8, 8), name=2),
    "ok-times": acquisitions([acquisition(dims=4, traj=(-.5, .25, .3, .001))] * 3, matrix=(8, 8, 8), name=4),
    "bad-no-image": acquisitions([acquisition(flag=22)]),
    "bad-step": acquisitions([acquisition(step=(200, 0))]),
    "bad-samples": acquisitions([acquisition()], matrix=(2, 2, 1)),
}
PLAINS = {
    "ok-data": plain([(2, (2, 5)), (0, (5, 3))], K * 9),
    "ok-frames": plain([(2, (2, 2, 5)), (0, (2, 5, 3))], K * 9),
    "ok-all": plain([(2, (2, 5)), (0, (5, 3)), (0, (5,)), (0, (5,)), (2, (5,)), (2, (2, 2, 3, 4)), (0, (2, 3, 4)),
                     (0, (3, 2, 3, 4)), (0, (2, 3, 4))], bytes([number(.25)]) * 400),
    "ok-noise": plain([(2, (2, 5)), (0, (5, 3))] + 7 * [None] + [(2, (2, 4))], K * 9),
    "bad-noise": plain([(2, (2, 5)), (0, (5, 3))] + 7 * [None] + [(2, (2, 3))], K * 9),
    "ok-pairs": plain([(0, (2, 5, 2)), (0, (5, 3))], K * 9),
    "ok-flat": plain([(2, (5,)), (0, (5, 2))], K * 9, matrix=(4, 3, 1)),
    "bad-shapes": plain([(2, (2, 5)), (0, (6, 3))], K * 9),
    "bad-maps": plain([(2, (2, 5)), (0, (5, 3)), None, None, None, (2, (1, 2, 3, 4))], K * 9),
    "bad-nan": plain([(2, (2, 5)), (0, (5, 3))], bytes(9)),
    "bad-memory": plain([(2, (254, 254)), (0, (254, 3))], K * 9),
}


def grid(sets, values, encoded=(4, 5, 1), recon=(2, 4, 1), single=0):
    """sets: k-space, mask and what follows, as of plain()."""
    out = []
    for n, m in zip(encoded, recon):
        out += [n, m, number(1), number(m / n)]
    out.append(single)
    for one in sets + [None] * (5 - len(sets)):
        out += [0] if one is None else [16 * one[0] + 1, len(one[1])] + list(one[1])
    return bytes(out) + values


ONES = bytes([number(.25)]) * 400
LINES = (bytes([number(0)]) * 2 + bytes([number(.5)]) * 8) * 40  # of 5 positions; the first is 0
FASTMRI = {
    "ok-coils": grid([(2, (2, 3, 4, 5)), None, (0, (2, 2, 4))], ONES),
    "ok-mask": grid([(2, (2, 3, 4, 5)), (0, (5,))], bytes([number(1), number(0)] * 3)[:5] + ONES),
    "ok-zeros": grid([(2, (2, 3, 4, 5))], LINES),
    "ok-single": grid([(2, (2, 4, 5)), None, None, (0, (2, 2, 4))], ONES),
    "ok-other-matrix": grid([(2, (1, 4, 5))], ONES, encoded=(8, 8, 3)),
    "bad-real": grid([(0, (2, 3, 4, 5))], ONES),
    "bad-mask": grid([(2, (2, 3, 4, 5)), (0, (4,))], ONES),
    "bad-nan": grid([(2, (2, 4, 5))], bytes(90)),
    "bad-large": grid([(2, (1, 254, 253, 252))], ONES),
}
CMRXRECON = {
    "ok-full": grid([(2, (2, 1, 2, 4, 5))], LINES),
    "ok-mask": grid([(2, (2, 1, 2, 4, 5)), (0, (2, 4, 5))], ONES),
    "ok-plane": grid([(2, (4, 5))], ONES),
    "ok-single": grid([None, None, (2, (2, 3, 4, 5))], ONES, single=1),
    "bad-single": grid([None, None, (2, (2, 1, 3, 4, 5))], ONES, single=1),
    "bad-mask": grid([(2, (2, 1, 2, 4, 5)), (0, (3, 4, 5))], ONES),
    "bad-zeros": grid([(2, (2, 1, 2, 4, 5))], bytes([number(0)]) * 400),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    parts = (("xml", HEADERS), ("acquisitions", SCANS), ("plain", PLAINS), ("fastmri", FASTMRI), ("cmrxrecon", CMRXRECON))
    for part, cases in parts:
        for name, content in cases.items():
            verdict, what = name.split("-", 1)
            text = content.encode("latin-1") if isinstance(content, str) else content
            (folder / f"{verdict}-{part}-{what}").write_bytes(part[0].encode() + text)


if __name__ == "__main__":
    main()
