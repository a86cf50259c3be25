#!/usr/bin/python3
"""What launch/scaling makes of records and times: bench/scaling_page.py without a simulation."""
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, sys.argv.pop(1))
import scaling_page  # noqa: E402


def text_of(*parts):
    return pathlib.Path(*parts).read_text(encoding="utf-8")


def line(ranks, seconds, source="simulated", scaling="strong"):
    return {"source": source, "scaling": scaling, "method": "fc", "network": "100g", "ranks": ranks, "rows": 10, "seconds": seconds, "phases": "{}"}


class Charges(unittest.TestCase):
    def records(self, calls_of_data):
        """Runs whose records have these calls, each time slower. A charged run takes what it charges a rank."""
        def run(command, folder):
            if "--charge" in command:
                charges = text_of(folder, "charge").splitlines()
                return json.dumps({"seconds": sum(float(line.split()[2]) for line in charges if line.startswith("c 1"))})
            data = command[command.index("--train-x") + 1].split("/")[0]
            slower = 0.5 * runs.count(data)
            runs.append(data)
            pathlib.Path(folder, "record").write_text("".join(
                f"{rank} {kind} {length} {seconds + slower}\n" for rank in (0, 1) for kind, length, seconds in calls_of_data[data]))
            return json.dumps({"seconds": 1.0 + slower})
        runs = []
        return mock.patch.object(scaling_page, "run", run)

    def test_a_place_takes_a_constant_and_a_part_for_each_row(self):
        few, (one, two) = scaling_page.FEW, scaling_page.RECORDED
        wide = lambda rows: [("A", 8, 0.25), ("R", 80000, 0.5 + 0.001 * rows / few)]
        calls = {"narrow": [("A", 8, 0.0), ("R", 800, 0.0)], "one": wide(one), "two": wide(two)}
        with tempfile.TemporaryDirectory() as folder, self.records(calls):
            charges = scaling_page.Charges("mean", folder, "narrow", ["one", "two"])
            charges.write([["A", "R80000"], ["A", "R80000"]], 100.0, 16)
            told = text_of(folder, "charge").splitlines()
        self.assertEqual(charges.lengths, {("R", 800): 80000})
        constant, slope = charges.places["1|A.R80000<"]
        self.assertAlmostEqual(slope, 0.001)
        self.assertEqual(told, ["b R800 80000", *(line for role in (0, 1) for line in (f"c {role} 0.250000000", f"c {role} {constant + 100.0 * slope:.9f}"))])

    def test_whole_runs_stand_beside_the_scaled_one(self):
        calls = {data: [("A", 8, 0.25)] for data in ("narrow", "one", "two")}
        with tempfile.TemporaryDirectory() as folder, self.records(calls):
            checked = scaling_page.Charges("mean", folder, "narrow", ["one", "two"]).check("two")
        self.assertEqual((checked["scaling"], checked["ranks"], checked["whole"], checked["even"], checked["seconds"]), ("check", scaling_page.CHECKED, 2.0, 1.25, 0.25))

    def test_a_place_is_known_by_the_calls_around_it_and_parts_go_to_ranks(self):
        names = ["R", "A", "B", "A", "I"]
        self.assertEqual(list(scaling_page.keys(1, names, 3))[:2], ["1|R.A.B.A<I", "1|A.B.A<I"])
        self.assertEqual(list(scaling_page.keys(1, names, 3))[-1], "1|A<")
        few, parts = scaling_page.FEW, scaling_page.SHARED["R", "A", "B"]
        self.assertEqual(scaling_page.share(0, names, 3, 4 * parts), 1 / len(range(0, parts, few)))
        self.assertEqual(scaling_page.share(1, names, 1, 4 * parts), 1.0)

    def test_lines_far_from_the_formula_are_named(self):
        lines = [{**line(4, 80.0), "formula": "79.0"}, {**line(256, 2.0), "formula": "1.5"}, line(8, 1.0)]
        self.assertEqual(scaling_page.off_formula(lines), "fc on 256 ranks (100g, strong)")
        self.assertEqual(scaling_page.off_formula(lines[:1]), "none")

    def test_what_forbids_an_efficiency_is_told(self):
        lines = [{**line(4, 80.0), "floor": "0.5"}, {**line(256, 2.0), "floor": "0.75", "coordinator": "1.75", "floor_phases": '{"whiten": 0.4}'}]
        text = scaling_page.bound([{field: str(value) for field, value in each.items()} for each in lines])
        self.assertIn("the rows alone take 1.25 s", text)
        self.assertIn("leaves\n0.31 s beside them; 0.75 s are taken, an efficiency of 0.62. Without rows the coordinator computes 0.75 s", text)
        self.assertIn("whiten 0.40.\nMessages, and waiting for them, take 0.25 s", text)
        self.assertEqual(scaling_page.bound([]), "")

    def test_calls_that_depend_on_the_rows_are_refused(self):
        calls = {"narrow": [("A", 8, 0.0)], "one": [("A", 8, 0.0)], "two": [("B", 8, 0.0)]}
        with tempfile.TemporaryDirectory() as folder, self.records(calls), self.assertRaisesRegex(SystemExit, "call 0 of rank 0"):
            scaling_page.Charges("mean", folder, "narrow", ["one", "two"])


class Lines(unittest.TestCase):
    def test_efficiency_is_beside_the_fewest_ranks_of_the_same_kind(self):
        strong = [line(4, 8.0), line(8, 5.0), line(8, 1.0, source="measured")]
        self.assertEqual([scaling_page.efficiency(each, strong) for each in strong], [1.0, 0.8, 1.0])
        weak = [line(4, 8.0, scaling="weak"), line(64, 10.0, scaling="weak")]
        self.assertEqual(scaling_page.efficiency(weak[1], weak), 0.8)

    def test_wrong_arguments_are_refused_before_anything_is_measured(self):
        def refused(*words):
            with mock.patch("sys.stderr", io.StringIO()) as told, self.assertRaises(SystemExit) as ended:
                scaling_page.main("absent", *words)
            self.assertEqual(ended.exception.code, 2)
            return told.getvalue()
        self.assertIn("--network 1g: there is none", refused("simulate", "16", "100g,1g", "strong", "mean"))
        for ranks in ("16,x", "16,", "0", "1.5"):
            self.assertRegex(refused("simulate", ranks, "100g", "strong", "mean"), "RANKS '.*': must be a whole number, at least 1")
            self.assertIn("RANKS", refused("rates", ranks))

    def test_a_folder_that_has_silos_alone_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("sys.stderr"), mock.patch("builtins.print"):
            scaling_page.add(folder, [line(4, 9.0, scaling="silos")])
            scaling_page.draw(folder)
            self.assertTrue(pathlib.Path(folder, "fits.svg").exists())

    def test_parts_are_those_of_the_program(self):
        for path, words in {"src/aggregator/release/block_noise.hpp": "kNoisePiece = std::size_t{1} << 16;", "src/aggregator/solvers/least_squares.cpp": "kMostRows = 192;"}.items():
            self.assertIn(words, text_of(scaling_page.ROOT, path))

    def test_a_newer_line_takes_an_older_ones_place_and_both_sources_are_drawn(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("sys.stderr"), mock.patch("builtins.print"):
            scaling_page.add(folder, [line(4, 9.0), line(8, 5.0), line(4, 8.0)])
            scaling_page.add(folder, [{**line(4, 8.5, source="measured"), "network": ""}])
            self.assertEqual([each["seconds"] for each in scaling_page.known(folder)], ["5.0", "8.0", "8.5"])
            for name in ("assets", "explanation"):
                pathlib.Path(folder, name).mkdir()
            scaling_page.draw(folder, f"{folder}/explanation/cost.md", "a build")
            self.assertIn("| fc | 100g | 8 | 5.00 | 0.80 |", text_of(folder, "explanation/cost.md"))
            self.assertRegex(text_of(folder, "fits.svg"), "<polyline.*\n.*<circle")


if __name__ == "__main__":
    unittest.main()
