#!/usr/bin/env python3
"""The table of the published primitives: shares, bars, and what a report lacks."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import published_primitives as published  # noqa: E402


def report(**cases):
    return {"device": "a GPU", "elements": 1 << 28, "peak_bytes_per_second": 4e12,
            "cases": {name.replace("_", " "): {"bytes_per_second": rate} for name, rate in cases.items()}}


class Table(unittest.TestCase):
    def row(self, what, made):
        return next(row for row in published.rows(made) if row[0] == what)

    def test_shares_and_bars(self):
        made = report(copy=3.7e12, sum=3.5e12)
        self.assertEqual(self.row("copy", made), ["copy", "91.0 %", "81.9 %", "92.5 %", "3,700", "91.0 %: met"])
        self.assertEqual(self.row("reduction", made),
                         ["reduction", "89.6 % `<3,6>`", "76.4 % `<3,8>`", "87.5 %", "3,500", "89.6 %: missed"])
        self.assertIn("Missed: reduction.", published.introduction(made))
        self.assertIn("No bar is missed.", published.introduction(report(copy=3.7e12)))

    def test_a_baseline_has_no_bar(self):
        made = report()
        made["cases"]["sum <1,1>"] = {"bytes_per_second": 1e12}
        self.assertEqual(self.row("reduction, one warp and one item", made)[3:], ["25.0 %", "1,000", ""])

    def test_what_is_not_measured_is_left_out(self):
        self.assertEqual(self.row("copy", None), ["copy", "91.0 %", "81.9 %", "", "", ""])
        self.assertEqual(len(list(published.rows(None))), len(published.PUBLISHED))
        self.assertEqual([row[0] for row in published.rows(report(gather=1e12))][-1], "gather")


if __name__ == "__main__":
    unittest.main()
