"""What the program promised earlier stays: golden_test.py DPREDUCE SOURCE [write]

Ledgers of version 0.2.0 in tests/data/golden verify and add up to the same totals. Lines of new ledgers, the members of reports and models,
exit codes and the words of options are those of tests/data/golden/golden.json. `write` makes that file anew: a change of it is
a change of the contract and is named in the commit. Numbers that follow from rows are compared by type, others to nine digits.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
KEPT = SOURCE / "tests/data/golden"
ROWS = "--train-x one/train_x.npy --train-y one/train_y.npy --classes 3 --threads 1 --quiet"
TESTED = "--test-x one/test_x.npy --test-y one/test_y.npy"
PERSONS = "--train-x persons/train_x.npy --train-y persons/train_y.npy --train-person persons/train_person.npy --classes 3 --threads 1 --quiet"
SILOS = "--train-x silos/silo{rank}/x.npy --train-y silos/silo{rank}/y.npy --classes 3 --threads 1 --quiet --secure-aggregation"
PUBLIC_ROWS = "--public-x one/test_x.npy"
FITS = {  # name: (options, ranks)
    "mean": (f"{ROWS} {TESTED} --mu 1 --method mean", 0),
    "replace-one": (f"{ROWS} --mu 1 --method newton --rounds 2 --adjacency replace-one", 0),
    "ls": (f"{ROWS} --epsilon 1 --delta 1e-6 --method ls --center dp", 0),
    "ls-choose": (f"{ROWS} --mu 1 --method ls --shared-gram --choose", 0),
    "fc": (f"{ROWS} --mu 1 --method fc --rounds 2", 0),
    "fc-public": (f"{ROWS} --mu 1 --method fc --rounds 2 --pca 4 {PUBLIC_ROWS}", 0),
    "gd-batch": (f"{ROWS} --epsilon 1 --delta 1e-5 --method gd --batch 0.2 --rounds 3", 0),
    "adam": (f"{ROWS} --rho .5 --method adam --rounds 2", 0),
    "fisher": (f"{ROWS} --mu 1 --method fisher --select 4", 0),
    "public": (f"{ROWS} --epsilon 2 --delta 1e-6 --method public --top-k 2 {PUBLIC_ROWS}", 0),
    "persons": (f"{PERSONS} --mu 1 --method mean --rows-per-person 2", 0),
    "numbers": ("--train-x one/train_x.npy --targets one/targets.npy --target-range=-20,20 --threads 1 --quiet --mu 1 --method ls", 0),
    "silos": (f"{SILOS} --mu 1 --method mean --threshold 3", 4),
}
LINES_OF_OTHERS = {  # on the ledger of "mean"
    "release": f"release --statistics gram,class_sums {ROWS} --mu 1 --seed 1 --out s --ledger mean.jsonl",
    "evaluate": f"evaluate --private --model mean.model {TESTED} --mu 1 --seed 1 --ledger mean.jsonl --metrics accuracy --public-model",
}
CODES = {  # what a script relies on
    "version": 0,
    "fit --help": 0,
    "fit --no-such-option": 2,
    "no-such-command": 2,
    f"fit {ROWS} --mu 1 --epsilon 1 --out x": 2,
    "fit --train-x absent.npy --train-y one/train_y.npy --classes 3 --mu 1 --out x": 3,
    "fit --train-x one/train_x.npy --train-y one/test_y.npy --classes 3 --mu 1 --out x": 3,
    f"fit {ROWS} --mu 1 --method mean --out x --ledger mean.jsonl --budget-epsilon 0.1 --budget-delta 1e-6": 4,
    "ledger verify cut.jsonl": 6,
    "ledger show cut.jsonl": 6,
}
NOT_THE_SAME = {"time", "previous", "signature", "public_key", "version", "since", "last_line_sha256"}


def program(folder, line, ranks=0):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_hwloc_base_binding_policy="none", EVENT_NOEPOLL="1")
    launcher = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks else []
    started = os.path.join(os.path.dirname(PROGRAM), "tests/attacks/dpreduce_attacks") if "--fault" in line else PROGRAM
    return subprocess.run(launcher + [started] + line.split(), cwd=folder, env=environment, capture_output=True, text=True)


def passed(done):
    if done.returncode != 0:
        raise AssertionError(f"{done.args}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def stable(value):
    """The value without what differs from run to run: times, keys, signatures, identifiers."""
    if isinstance(value, dict):
        return {name: stable(one) for name, one in value.items() if name not in NOT_THE_SAME}
    if isinstance(value, list):
        return [stable(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return re.sub("^[0-9a-f]{32}", "RUN", value) if isinstance(value, str) else value


def shape(value):
    """Names of members and types of values."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(one), sort_keys=True) for one in value})
    return "number" if type(value) in (int, float) else type(value).__name__


def model_header(path):
    content = path.read_bytes()
    header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
    return {name: sorted(one) if name == "__metadata__" else (one["dtype"], one["shape"]) for name, one in header.items()}


def help_of(folder, command):
    """Help with all options, where the command has more than a first page."""
    done = program(folder, f"{command} --help-all")
    return passed(done if done.returncode == 0 else program(folder, f"{command} --help"))


def words_of(folder, command):
    return sorted(set(re.findall(r"^ +(?:-\w,)?(--[a-z][a-z0-9-]*)", help_of(folder, command), re.M)))


def commands_of(folder, command=""):
    """Every command, those of commands too."""
    _, _, listed = help_of(folder, command).partition("Subcommands:")
    found = [f"{command} {name}".strip() for name in re.findall(r"^  ([a-z-]+)  ", listed, re.M)]
    return [command] * (command != "") + [name for one in found for name in commands_of(folder, one)]


def totals(folder, ledger):
    shown = json.loads(passed(program(folder, f"ledger show {ledger} --format json")))
    return stable({**shown, "releases": len(shown["releases"])})


def made(folder):
    data = "--rows 900 --test-rows 200 --dim 8 --classes 3 --seed 1"
    passed(program(folder, f"synth --kind gaussian-mixture {data} --out one"))
    passed(program(folder, f"synth --kind gaussian-mixture {data} --rows-per-person 3 --out persons"))
    passed(program(folder, "synth partition --x one/train_x.npy --y one/train_y.npy --classes 3 --silos 3 --seed 1 --out silos"))
    numpy.save(folder / "one/targets.npy", numpy.load(folder / "one/train_x.npy")[:, 0] * 3.0)
    found = {"lines": {}, "privacy": {}, "reports": {}, "models": {}}
    for name, (options, ranks) in FITS.items():
        passed(program(folder, f"fit {options} --seed 1 --out {name}.model --ledger {name}.jsonl --report {name}.json", ranks))
    for line in LINES_OF_OTHERS.values():
        passed(program(folder, line))
    for name in FITS:
        report = json.loads((folder / f"{name}.json").read_text())
        released = [{key: one[key] for key in ("name", "coordinates", "sensitivity", "sigma", "mu") if key in one}
                    for one in report["privacy"]["releases"]]
        found["privacy"][name] = stable({**report["privacy"], "releases": released})
        found["reports"][name] = shape(report)
        found["models"][name] = model_header(folder / f"{name}.model")
        found["lines"][name] = [stable(json.loads(line)) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    found["totals"] = {ledger.name: totals(folder, ledger) for ledger in sorted(KEPT.glob("*.jsonl"))}
    content = (folder / "mean.jsonl").read_text()
    (folder / "cut.jsonl").write_text(content.replace('"mu":', '"mu":1', 1))
    found["codes"] = {line: program(folder, line).returncode for line in CODES}
    found["words"] = {command: words_of(folder, command) for command in commands_of(folder)}
    return json.loads(json.dumps(found))


def written(value, depth=3):
    """JSON with a line for each part, case and entry: of the outer `depth` levels each value has its own."""
    if depth == 0 or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, sort_keys=True)
    is_list = isinstance(value, list)
    entries = [written(one, depth - 1) for one in value] if is_list else [
        f"{json.dumps(name)}: {written(one, depth - 1)}" for name, one in sorted(value.items())]
    return f"{'[' if is_list else '{'}\n" + ",\n".join(entries) + f"\n{']' if is_list else '}'}"


class Golden(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.found = made(pathlib.Path(folder))
        cls.kept = json.loads((KEPT / "golden.json").read_text())

    def test_parts_are_those_that_are_kept(self):
        parts = {"lines": "lines of ledgers", "totals": "totals of ledgers of an earlier version", "privacy": "promises of reports",
                 "reports": "members of reports", "models": "members of models", "words": "words of options"}
        for part, title in parts.items():
            with self.subTest(title):
                self.assertEqual(set(self.found[part]), set(self.kept[part]))
            for name, value in self.kept[part].items():
                with self.subTest(title, name=name):
                    self.assertEqual(self.found[part].get(name), value)

    def test_exit_codes(self):
        self.assertEqual(self.found["codes"], CODES)


if __name__ == "__main__":
    if sys.argv[3:] == ["write"]:
        with tempfile.TemporaryDirectory() as folder:
            (KEPT / "golden.json").write_text(written(made(pathlib.Path(folder))) + "\n")
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)
