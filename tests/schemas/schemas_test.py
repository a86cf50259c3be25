"""JSON Schemas against what the program writes: schemas_test.py DPREDUCE SOURCE

Reports of fits by many methods, lines of their ledgers, what `ledger show --format json`
prints and results of a sweep keep to the schemas of docs/reference/schemas; changed ones do not; no member of a schema is
without an example; and a page for the public is the same without the members that are for the data's owner.
"""
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema
import numpy

from golden_test import PROGRAM, SOURCE, passed, program

SCHEMAS = {name: json.loads((SOURCE / f"docs/reference/schemas/{name}.schema.json").read_text())
           for name in ("dry-run", "evaluation", "fit-report", "ledger-line", "ledger-show", "metrics",
                        "private-evaluation", "refit-intervals", "sweep", "timings")}
# Test figures of a sweep are a fit's.
SCHEMAS["sweep"]["properties"]["runs"]["items"]["properties"]["test"] = SCHEMAS["fit-report"]["properties"]["test"]["oneOf"][0]
SCHEMAS["sweep"]["$defs"] = SCHEMAS["fit-report"]["$defs"]
VALIDATORS = {name: jsonschema.Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
PUBLIC_ROWS = "--public-x one/test_x.npy"
FITS = [  # rows, options, ranks
    ("one", "--mu 1 --method mean --train-weight one/train_weight.npy --weight-bound 1", 0),
    ("persons", "--epsilon 1 --delta 1e-5 --method mean --train-person persons/train_person.npy --rows-per-person 2", 0),
    ("persons", "--epsilon 1 --delta 1e-5 --method newton --rounds 1 --train-person persons/train_person.npy", 0),
    ("persons", "--mu 1 --method fedavg --rounds 1 --local-steps 1 --train-person persons/train_person.npy --silos-per-person 1", 0),
    ("one", "--mu 1 --method mean --seed 1", 0),
    ("one", "--mu 0.01 --method mean --evaluate-share 0.01", 0),
    ("one", "--epsilon 60 --delta 1e-5 --method mean --metric euclidean --center dp", 0),
    ("one", "--rho 0.5 --method coinpress", 0),
    ("one", "--mu 1 --method ls --select 8", 0),
    ("one", "--mu 1 --method ls --shared-gram --choose --resume", 0),
    ("one", "--mu 1 --seed 5 --method fc --warm-start --rounds 3", 0),
    ("one", f"--mu 1 --method fc --pca 6 --rounds 3 {PUBLIC_ROWS}", 0),
    ("one", "--mu 1 --method fc-one-step", 0),
    ("one", "--epsilon 2 --delta 1e-6 --method gd --batch 0.2 --rounds 4 --radius 3 --learning-rate 0.1 --accountant pld", 0),
    ("one", "--mu 1 --method adam --loss sigmoid --rounds 3 --iterate average", 0),
    ("one", "--mu 1 --method newton --rounds 2 --adjacency replace-one", 0),
    ("one", "--mu 1 --method fisher --select 6 --select-by t", 0),
    ("one", "--mu 1 --method auto --imbalance-ratio 10 --rounds 3", 0),
    ("one", "--mu 1 --method auto --objective balanced --rounds 3", 0),
    ("one", f"--epsilon 2 --delta 1e-5 --method public --d-min 0.5 --d-max 1.5 --top-k 2 {PUBLIC_ROWS}", 0),
    ("one", f"--epsilon 2 --method prototypes --auto --delta 1e-5 {PUBLIC_ROWS}", 0),
    ("plain", "--mu 1 --method fedavg --rounds 2 --learning-rate 0.1", 3),
    ("one", "--non-private --method ls", 0),
    ("tested", "--mu 1 --method ls --choose --validation-x one/test_x.npy --validation-y one/test_y.npy", 0),
    ("sets", "--mu 1 --method mean --max-labels 3", 0),
    ("sets", "--mu 1 --method adam --max-labels 3 --rounds 3", 0),
    ("masked", "--mu 1 --method mean --secure-aggregation --threshold 3 --noise distributed --fault 3:kill@masked", 5),
    ("masked", "--mu 1 --method mean --secure-aggregation --threshold 3", 5),
    # Who has one label is one person.
    ("masked", "--mu 1 --method mean --secure-aggregation --train-person masked/silo{rank}/y.npy --rows-per-person 1", 5),
    # Noise of one run in forty leaves an interval that says something: the note stands where the seed is known to leave none.
    ("one", "--mu 0.01 --method mean --evaluate-share 0.01 --seed 3", 0),
]
DRY_RUNS = [  # options
    "--mu 1 --method mean --train-weight one/train_weight.npy --weight-bound 1",
    "--mu 1 --method fedavg --rounds 1 --local-steps 1 --train-person persons/train_person.npy --silos-per-person 1",
    "--epsilon 1 --delta 1e-5 --method mean --train-person persons/train_person.npy --rows-per-person 2",
    "--epsilon 1 --delta 1e-5 --method fisher --train-person persons/train_person.npy",
    "--epsilon 60 --delta 1e-5 --method mean --metric euclidean --center dp",
    "--mu 1 --method ls --shared-gram --choose",
    "--epsilon 2 --delta 1e-6 --method gd --batch 0.2 --rounds 4 --accountant pld",
    "--mu 1 --method adam --max-labels 3 --rounds 3",
    f"--epsilon 2 --delta 1e-5 --method public --top-k 2 {PUBLIC_ROWS}",
    "--non-private --method ls",
    "--mu 1 --method mean --seed 7",
    "--mu 0.5 --method auto --expected-rows 700",
]
EVALUATIONS = [  # options of the fit, of the evaluation
    ("--mu 1 --method fc-one-step", ""),
    ("--mu 1 --method ls --select 8", "--train-y one/train_y.npy"),
    ("--mu 1 --method mean --max-labels 3", ""),
    ("--mu 1 --method adam --max-labels 3 --rounds 3", "--top-k 2 --threshold 0.25"),
]
PRIVATE_EVALUATIONS = [  # options of the fit, of the evaluation
    ("--mu 1 --method fc-one-step", "--epsilon 8 --delta 1e-5"),
    ("--epsilon 1 --delta 1e-5 --method mean --train-person persons/train_person.npy --rows-per-person 2",
     "--epsilon 60 --delta 1e-5 --metrics accuracy --test-person one/test_y.npy --rows-per-person 2"),
    ("--mu 1 --method fedavg --rounds 1 --local-steps 1 --train-person persons/train_person.npy --silos-per-person 1", "--mu 2 --metrics accuracy"),
    ("--mu 1 --seed 5 --method fc --warm-start --rounds 3", "--mu 2 --seed 3 --adjacency replace-one --metrics accuracy,precision,confusion,topk,logloss,brier,calibration --top-k 2 --level 0.9"),
    ("--mu 1 --seed 5 --method fc --warm-start --rounds 3", "--mu 0.001 --seed 3 --metrics accuracy,recall,precision,topk,logloss,brier,calibration --group one/test_y.npy --groups 4"),
    ("--mu 1 --seed 5 --method fc --warm-start --rounds 3", "--mu 2 --metrics auc,roc --positive 1 --group one/test_y.npy --groups 4"),
    ("--mu 1 --seed 5 --method fc --warm-start --rounds 3", "--mu 2 --metrics accuracy --public-model"),
    ("--mu 1 --method fc-one-step", "--mu 2 --metrics accuracy --model m3"),
    ("--mu 1 --method adam --max-labels 3 --rounds 3", "--mu 2 --max-labels 3 --threshold 0.25"),
]
# Models and groups with names, and groups of classes, are evaluated elsewhere; a difference that says nothing as well,
# and a model whose classes are taken from rows (in Python alone).
WITHOUT_EXAMPLE = {("private-evaluation", place) for place in (
    ("class_names",), ("group_names",), ("models_privacy", "[]", "forfeited_by"), ("metrics", "confusion", "class_groups"), ("metrics", "difference", "note"), ("metrics", "best_f1", "note"),
    ("ledger", "goes_on_from"), ("privacy", "releases", "[]", "shown"))}
WITHOUT_EXAMPLE |= {("fit-report", ("privacy", "selections", "[]", "shown")), ("refit-intervals", ("forfeited_by",))}
WITHOUT_EXAMPLE |= {("ledger-show", ("open_runs", "[]", member)) for member in ("asked", "forfeited_by", "public_by_word")}


def kill_once_charged(folder, line, ledger, charged=1):
    """Kills the command when it has charged so many releases."""
    ledger = folder / ledger
    charges = lambda: ledger.read_text().count('"kind":"charge"') if ledger.exists() else 0
    before = charges()
    with subprocess.Popen([PROGRAM] + line.split(), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and charges() < before + charged:
            time.sleep(0.001)
        process.kill()
    if process.returncode != -signal.SIGKILL:
        raise AssertionError(f"{line}: ended before it was killed")


def make_documents(folder):
    """[(schema, what it is of, JSON)]"""
    documents = []
    run = lambda line, ranks=0: passed(program(folder, line, ranks))
    written = lambda name: (folder / name).read_text()
    keep = lambda schema, of, text: documents.append((schema, of, json.loads(text)))
    model_of = lambda fit: [options for _, options, _ in FITS].index(fit)
    one, tested = "--train-x one/train_x.npy --train-y one/train_y.npy --classes 4", "--test-x one/test_x.npy --test-y one/test_y.npy"
    data = "--rows 1200 --test-rows 300 --dim 16 --classes 4 --separation 3"
    run(f"synth --kind gaussian-mixture {data} --out one")
    run(f"synth --kind gaussian-mixture {data} --max-labels 3 --out sets")
    run(f"synth --kind gaussian-mixture {data} --rows-per-person 5 --out persons")
    run("synth partition --x one/train_x.npy --y one/train_y.npy --classes 4 --silos 3 --first-silo 0 --out plain")
    run("synth partition --x one/train_x.npy --y one/train_y.npy --classes 4 --silos 4 --out masked")
    numpy.save(folder / "one/train_weight.npy", numpy.ones(1200, numpy.float32))
    (folder / "tested").mkdir()  # on the rows that it was trained on
    for axis in "xy":
        for role in ("train", "test"):
            (folder / f"tested/{role}_{axis}.npy").symlink_to(folder / f"one/train_{axis}.npy")
    for number, (rows, options, ranks) in enumerate(FITS):
        train_x, train_y = ((f"{rows}/silo{{rank}}/{name}.npy" for name in "xy") if rows in ("plain", "masked") else
                            (f"{rows}/train_{name}.npy" for name in "xy"))
        test = rows if rows in ("sets", "tested") else "one"
        run(f"fit --train-x {train_x} --train-y {train_y} --test-x {test}/test_x.npy --test-y {test}/test_y.npy "
            f"--classes 4 --threads 1 --out m{number} --ledger l{number}.jsonl --report r{number}.json --timings r{number}.timings {options}" + ("" if "--non-private" in options else f" --metrics r{number}.metrics"), ranks)
        keep("fit-report", options, written(f"r{number}.json"))
        keep("timings", options, written(f"r{number}.timings"))
        if "--non-private" not in options:
            for line in written(f"r{number}.metrics").splitlines():
                keep("metrics", options, line)
    for options in DRY_RUNS:
        rows = "persons" if "--train-person" in options else "sets" if "--max-labels" in options else "one"
        keep("dry-run", options, run(f"fit --train-x {rows}/train_x.npy --train-y {rows}/train_y.npy --classes 4 --dry-run --format json {options}"))
    for fit, options in EVALUATIONS:
        test = "sets" if "--max-labels" in fit else "one"
        printed = run(f"evaluate --model m{model_of(fit)} --test-x {test}/test_x.npy --test-y {test}/test_y.npy --format json "
                      f"--report evaluated.json --overwrite {options}")
        keep("evaluation", options, printed)
        keep("evaluation", options, written("evaluated.json"))
    for role in ("train", "test"):
        numpy.save(folder / f"one/{role}_n.npy", numpy.load(folder / f"one/{role}_x.npy")[:, :2] * [3.0, 5.0])
    fit = "fit --train-x one/train_x.npy --targets one/train_n.npy --epsilon 1 --delta 1e-5"
    keep("dry-run", "targets", run(f"{fit} --dry-run --format json"))
    lengths = numpy.linspace(0.2, 3, 1200, dtype=numpy.float32)[:, None]
    numpy.save(folder / "one/train_l.npy", numpy.load(folder / "one/train_x.npy") * lengths)
    run(fit.replace("train_x", "train_l").replace("--epsilon 1 --delta 1e-5", "--mu 5")
        + " --out long.safetensors --ledger long.jsonl --report long.json")
    keep("fit-report", "rows of many lengths", written("long.json"))
    run(fit.replace("--epsilon 1", "--epsilon 0.001") + " --out hidden.safetensors --ledger hidden.jsonl --report hidden.json")
    keep("fit-report", "targets that noise hides", written("hidden.json"))
    run("release --statistics gram --train-x one/train_x.npy --targets one/train_n.npy --mu 5 --out numbers --ledger n.jsonl")
    run("refit numbers --lambda 0.1 --intervals i.json --intervals-x one/test_x.npy --out refitted --overwrite")
    keep("refit-intervals", "numbers", written("i.json"))
    for number, options in enumerate(("--feature-range private --normalize none --clip 4", "--target-range=-20,20 --method ls")):
        run(f"{fit} {options} --test-x one/test_x.npy --test-targets one/test_n.npy --out n{number} --ledger n.jsonl "
            f"--report n{number}.json --html n{number}.html")
        keep("fit-report", options, written(f"n{number}.json"))
        run(f"export n{number} --card n{number}.md --report n{number}.json")
        evaluated = f"--model n{number} --test-x one/test_x.npy --test-targets one/test_n.npy --format json"
        keep("evaluation", options, run(f"evaluate {evaluated}"))
        keep("private-evaluation", options, run(f"evaluate --private --mu {0.01 if number else 5} {evaluated} --ledger np{number}.jsonl"))
    for number, (fit, options) in enumerate(PRIVATE_EVALUATIONS):
        test = "sets" if "--max-labels" in fit else "one"
        keep("private-evaluation", options, run(f"evaluate --private --model m{model_of(fit)} --test-x {test}/test_x.npy --test-y {test}/test_y.npy "
                                                f"--format json --ledger evaluated{number}.jsonl {options}"))
    for role in ("train", "test"):
        numpy.save(folder / f"one/{role}_two.npy", numpy.load(folder / f"one/{role}_y.npy") // 2)
    run("fit --train-x one/train_x.npy --train-y one/train_two.npy --classes 2 --mu 5 --rounds 3 --out two --ledger two.jsonl")
    keep("private-evaluation", "two classes", run(f"evaluate --private --model two {tested.replace('test_y', 'test_two')} --mu 5 --metrics roc "
                                                  "--ledger two.jsonl --format json"))
    run(f"release --statistics gram,class_sums,class_sizes {one} --threads 1 --mu 20 --out s --ledger s.jsonl --report s.json")
    keep("fit-report", "a release", written("s.json"))
    for options in ("--lambda 1 --intervals-x one/test_x.npy", "--lambda path --select 4", "--lambda 1e-9 --features 0-3"):
        run(f"refit s --intervals i.json --out refitted --overwrite {options}")
        keep("refit-intervals", options, written("i.json"))
    run(f"release --statistics gram,class_sums {one} --threads 1 --mu 0.01 --out none --ledger s.jsonl")
    run("refit none --intervals i.json --out refitted --overwrite")
    keep("refit-intervals", "too much noise", written("i.json"))
    run(f"sweep {one} {tested} --methods mean,ls --epsilons 1,60 --imbalance 1,10 --seeds 1 --non-private")
    keep("sweep", "a sweep", written("sweep.json"))
    run(f"sweep {one} {tested.replace('/test', '/train')} --methods mean --epsilons 1 --seeds 1 --out tested/sweep")
    keep("sweep", "a sweep tested on training rows", written("tested/sweep.json"))
    # Killed runs stay open, and other runs go on from them.
    fit = ("fit --train-x other/train_x.npy --train-y other/train_y.npy --classes 4 "
           "--epsilon 2 --delta 1e-5 --method gd --rounds 300 --threads 1")
    run(f"synth --kind gaussian-mixture {data} --out other")
    for number, options in enumerate(("--batch 0.5", "--choose")):
        kill_once_charged(folder, f"{fit} {options} --out open --ledger open{number}.jsonl", f"open{number}.jsonl")
    kill_once_charged(folder, f"{fit} --out other.safetensors --ledger other.jsonl", "other.jsonl")
    run(f"synth --kind gaussian-mixture {data} --seed 2 --out other --overwrite")
    kill_once_charged(folder, f"{fit} --out other.safetensors --ledger other.jsonl --resume", "other.jsonl")
    # What the dead run has saved last is cut: it was charged, and nobody sees it.
    kill_once_charged(folder, f"{fit} --out resumed.safetensors --ledger resumed.jsonl", "resumed.jsonl", charged=2)
    saved = next(folder.glob("resumed.jsonl.*.releases"))
    os.truncate(saved, saved.stat().st_size - 1)
    run(f"{fit} --out resumed.safetensors --ledger resumed.jsonl --report resumed.json --resume")
    keep("fit-report", "a run that goes on", written("resumed.json"))
    # An earlier version wrote it.
    shutil.copy(SOURCE / "tests/data/reference/ledger_with_names.jsonl", folder / "named.jsonl")
    for ledger in sorted(folder.glob("*.jsonl")):
        for line in ledger.read_text().splitlines():
            keep("ledger-line", ledger.name, line)
        keep("ledger-show", ledger.name, run(f"ledger show {ledger} --format json"))
    return documents


def places_of(value, place=()):
    """The path of every value within a value."""
    yield place
    if isinstance(value, (dict, list)):
        for step, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_of(one, place + (step,))


def changed(document, place, change):
    """A copy in which `change` has been made of what stands at a place."""
    whole = [copy.deepcopy(document)]
    holder, last = whole, 0
    for step in place:
        holder, last = holder[last], step
    holder[last] = change(holder[last])
    return whole[0]


def subschemas_of(schema, place=()):
    yield place, schema
    for name, one in schema.get("properties", {}).items():
        yield from subschemas_of(one, place + (name,))
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from subschemas_of(schema[keyword], place + ({"items": "[]", "additionalProperties": "*"}[keyword],))
    for number, one in enumerate(schema.get("oneOf", [])):
        yield from subschemas_of(one, place + (f"oneOf {number}",))
    for name, one in schema.get("$defs", {}).items():
        yield from subschemas_of(one, place + ("$defs", name))


def members_seen(schema, value, root, place, seen):
    """Adds the place in the schema of each of the value's members."""
    if "$ref" in schema:
        place = ("$defs", schema["$ref"].rsplit("/", 1)[1])
        schema = root["$defs"][place[1]]
    for number, one in enumerate(schema.get("oneOf", [])):
        if jsonschema.Draft202012Validator({**one, "$defs": root.get("$defs", {})}).is_valid(value):
            members_seen(one, value, root, place + (f"oneOf {number}",), seen)
    if isinstance(value, dict):
        for name, one in value.items():
            if name in schema.get("properties", {}):
                seen.add(place + (name,))
                members_seen(schema["properties"][name], one, root, place + (name,), seen)
            elif isinstance(schema.get("additionalProperties"), dict):
                members_seen(schema["additionalProperties"], one, root, place + ("*",), seen)
    if isinstance(value, list):
        for one in value:
            members_seen(schema.get("items", {}), one, root, place + ("[]",), seen)


def without_owners(schema, value):
    """The value without the members that its schema calls the owner's."""
    if isinstance(value, list):
        return [without_owners(schema.get("items", {}), one) for one in value]
    if not isinstance(value, dict):
        return value
    of = {name: next((case for case in one["oneOf"] if case.get("x-for-owner")
                      and jsonschema.Draft202012Validator(case).is_valid(value.get(name))), {}) if "oneOf" in one else one
          for name, one in schema.get("properties", {}).items()}
    return {name: without_owners(of.get(name, {}), one) for name, one in value.items()
            if not of.get(name, {}).get("x-for-owner")}


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.documents = make_documents(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_are_schemas_that_describe_every_member_and_allow_no_other(self):
        for name, schema in SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            for place, one in subschemas_of(schema):
                with self.subTest(schema=name, place=place):
                    if place and isinstance(place[-1], str) and place[-1] not in ("[]", "*") and not place[-1].startswith("oneOf"):
                        self.assertTrue("description" in one or "$ref" in one)
                    if one.get("type") == "object":
                        self.assertIn("additionalProperties", one)
                        self.assertIsNot(one["additionalProperties"], True)

    def test_what_the_program_writes_keeps_to_them(self):
        for schema, of, document in self.documents:
            with self.subTest(schema=schema, of=of):
                self.assertEqual([f"{error.json_path}: {error.message[:300]}" for error in VALIDATORS[schema].iter_errors(document)], [])

    def test_a_member_of_another_name_or_type_is_refused(self):
        done = set()
        for schema, of, document in self.documents:
            for place in places_of(document):
                kind = (schema, document.get("kind"), tuple("[]" if isinstance(step, int) else step for step in place))
                if kind in done:
                    continue
                done.add(kind)
                with self.subTest(schema=schema, of=of, place=place):
                    retyped = changed(document, place, lambda _: {"of another type": []})
                    self.assertFalse(VALIDATORS[schema].is_valid(retyped))
                    named = changed(document, place, lambda one: {**one, "of another name": {}} if isinstance(one, dict) else one)
                    self.assertEqual(VALIDATORS[schema].is_valid(named), named == document)

    def test_no_member_is_without_an_example(self):
        for name, schema in SCHEMAS.items():
            seen = set()
            for of, _, document in self.documents:
                if of == name:
                    members_seen(schema, document, schema, (), seen)
            described = {place for place, _ in subschemas_of(schema)
                         if place and place[-1] not in ("[]", "*") and not place[-1].startswith("oneOf")
                         and not (len(place) == 2 and place[0] == "$defs")}
            if name == "sweep":  # reports have them
                described = {place for place in described if place[:3] != ("runs", "[]", "test") and place[0] != "$defs"}
            self.assertEqual({(name, place) for place in described - seen} - WITHOUT_EXAMPLE, set())

    def test_a_page_for_the_public_is_the_same_without_what_is_for_the_owner(self):
        pages = []
        for folder in ("whole", "public"):
            (self.folder / folder).mkdir()
            for number in range(len(FITS)):
                report = json.loads((self.folder / f"r{number}.json").read_text())
                content = report if folder == "whole" else without_owners(SCHEMAS["fit-report"], report)
                (self.folder / folder / f"r{number}.json").write_text(json.dumps(content))
            reports = " ".join(f"r{number}.json" for number in range(len(FITS)))
            passed(program(self.folder / folder, f"report {reports} --public --out page.html"))
            pages.append((self.folder / folder / "page.html").read_text())
        self.assertTrue(pages[0] == pages[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
