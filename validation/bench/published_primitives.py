#!/usr/bin/env python3
"""The table "The published primitives, measured again" of docs/primitives.md, from a report of bench_published.

figures.py writes it. What a report does not have is left out.
"""
# Brown, PhD thesis, University of North Carolina (2015): tables 6.4 and 6.12 to 6.15; GB/s of 2^28 elements. Bytes: copy 2n,
# reduction n, scan 3n (in 2n the best scan would exceed the peak). The shapes are <warps, items>, as far as they are stated.
PEAKS = {"GTX 580": 192.4, "GTX Titan": 288.4}
PUBLISHED = [
    # what, case of bench_published, GTX 580, GTX Titan
    ("copy, one warp and one item", "copy <1,1>", (49.4, ""), (86.0, "")),
    ("copy", "copy", (175.0, ""), (236.3, "")),
    ("reduction, one warp and one item", "sum <1,1>", (24.24, ""), (40.04, "")),
    ("reduction", "sum", (172.34, " `<3,6>`"), (220.30, " `<3,8>`")),
    ("scan of three kernels, one warp and one item", "inclusive scan, three kernels <1,1>", (33.57, ""), (53.71, "")),
    ("scan of three kernels", "inclusive scan, three kernels", (163.75, " `<3,6>`"), (220.06, " `<5,4>`")),
]
# Without published figures.
BESIDE = ["fill", "gather", "scatter", "min", "max", "inclusive scan", "scan of 32 bits to 64", "sums of segments"]


def percent(rate, peak):
    return f"{100 * rate / peak:.1f} %"


def rows(report):
    """[what, GTX 580, GTX Titan, ours, GB/s, bar]. The bar is the better of the published shares; baselines have none."""
    peak, cases = (report["peak_bytes_per_second"], report["cases"]) if report else (None, {})
    for what, name, *published in PUBLISHED:
        shares = [rate / gpu_peak for (rate, _), gpu_peak in zip(published, PEAKS.values())]
        then = [percent(rate, gpu_peak) + shape for (rate, shape), gpu_peak in zip(published, PEAKS.values())]
        ours = cases.get(name)
        if not ours:
            yield [what, *then, "", "", ""]
            continue
        share = ours["bytes_per_second"] / peak
        bar = "" if name.endswith("<1,1>") else f"{100 * max(shares):.1f} %: {'met' if share >= max(shares) else 'missed'}"
        yield [what, *then, percent(ours["bytes_per_second"], peak), f"{ours['bytes_per_second'] * 1e-9:,.0f}", bar]
    for name in BESIDE:
        if name in cases:
            yield [name, "", "", percent(cases[name]["bytes_per_second"], peak), f"{cases[name]['bytes_per_second'] * 1e-9:,.0f}", ""]


def missed(report):
    """A sentence that names the bars missed."""
    names = [row[0] for row in rows(report) if row[-1].endswith("missed")]
    return f"Missed: {', '.join(names)}." if names else "No bar is missed."


def head(report):
    return ["", *PEAKS, report["device"] if report else "ours", "GB/s", "bar"]


def introduction(report):
    return (f"{report['device']}, 2^{report['elements'].bit_length() - 1} elements; peak {report['peak_bytes_per_second'] * 1e-9:,.0f} GB/s. "
            + missed(report))
