"""dpreduce.silos, and the examples for Flower and NVFlare on doubles of these engines: each message as bytes, some of them
twice."""
import contextlib
import functools
import io
import json
import logging
import os
import pathlib
import queue
import random
import re
import sys
import threading
import time
import types

import numpy as np
import pandas as pd
import pytest

import dpreduce
import dpreduce.silos
from conftest import CLASSES, DIM, SOURCE, TERMS, bytes_of, module_of, refuses, run_program, words_of
from dpreduce import BadInput, UsageError

NAMES = ["hub", "north", "south", "west"]


@pytest.fixture
def hub(program, tmp_path):
    """The files of the coordinator, with a roster of three silos."""
    roster = f"dim = {DIM}\nclasses = {CLASSES}\n"
    for section, name in zip(["coordinator", "silo.1", "silo.2", "silo.3"], NAMES):
        told = program("keygen", "--out", f"{name}.key", "--name", name)
        roster += f"[{section}]\n" + "".join(line + "\n" for line in told.splitlines() if line.startswith(("name", "key")))
    (tmp_path / "roster.toml").write_text(roster)
    files = {"roster": "roster.toml", "identity": "hub.key", "plan": "plan.json", "ledger": "ledger.jsonl", "model": "model.safetensors"}
    return {name: str(tmp_path / file) for name, file in files.items()}


@pytest.fixture
def silos(hub, tmp_path):
    """The files of each silo."""
    return [{"roster": hub["roster"], "plan": hub["plan"], "identity": str(tmp_path / f"{name}.key"), "socket": str(tmp_path / f"{silo}.socket"),
             "x": str(tmp_path / f"x{silo}.npy"), "y": str(tmp_path / f"y{silo}.npy")} for silo, name in enumerate(NAMES[1:], 1)]


@pytest.fixture
def federation(hub, silos, x, y):
    """plan(method, **options) writes the plan's text, and each silo's rows; returns what fit() makes of all rows."""

    def plan(method, numbers=0, **options):
        """Of so many numbers a row, in the place of labels."""
        terms = {**TERMS, "method": method, **options}
        values = np.stack([3 + x[:, 0], 1e3 * x[:, 1]], axis=1)[:, :numbers] if numbers else y
        for place, own in enumerate(silos):
            np.save(own["x"], x[place::3])
            np.save(own["y"], values[place::3])
        if not numbers:
            write_plan(hub, **terms)
            return bytes_of(x, y, **terms)
        del terms["classes"]
        predict_numbers(hub, numbers, **terms)
        return bytes_of(x, targets=values, **terms)
    return plan


SILOS = {}


@pytest.fixture(autouse=True)
def no_silos():
    SILOS.clear()


def silo_of(own, **other):
    """The silo of these files: one object, as in a process that lives as long as the session."""
    terms = {**own, **other}
    name = (pathlib.Path(terms["plan"]).read_text(), *terms.values())
    if name not in SILOS:
        SILOS[name] = new_silo(terms)
    return SILOS[name]


def new_silo(terms):
    return dpreduce.silos.Silo(pathlib.Path(terms["plan"]).read_text(), terms["roster"], terms["identity"])


def coordinator_of(hub, **other):
    terms = {**hub, **other}
    return dpreduce.silos.Coordinator(pathlib.Path(terms["plan"]).read_text(), terms["roster"], terms["identity"], terms["ledger"])


def write_plan(hub, features=DIM, **options):
    pathlib.Path(hub["plan"]).write_text(dpreduce.Plan(features, **options).to_json())


def predict_numbers(hub, targets, **terms):
    """Roster and plan are for so many numbers a row, in the place of classes."""
    roster = pathlib.Path(hub["roster"])
    roster.write_text(roster.read_text().replace(f"classes = {CLASSES}", f"classes = {targets}"))
    write_plan(hub, targets=targets, **terms)


def joined(hub, silos, **other):
    """A coordinator, and the joins of all silos."""
    coordinator = coordinator_of(hub, **other)
    return coordinator, [silo_of(own).join(coordinator.invitation) for own in silos]


def asked(hub, silos, **other):
    """A coordinator that all silos have joined, and its first request."""
    coordinator, joins = joined(hub, silos, **other)
    return coordinator, coordinator.request(joins)


def run_of(coordinator, joins, answers):
    """What a session fits by these answers to each request."""
    while (request := coordinator.request(joins)) is not None:
        coordinator.step(answers(request))
    return coordinator.result()


def rows_of(own):
    return np.load(own["x"]), np.load(own["y"])


def answers(silos, request):
    return [silo_of(own).answer(request, *rows_of(own)) for own in silos]


def fails_quietly(caplog, reason, call, /, *given, **terms):
    """What a silo raises is the same error whatever its reason: engines send the class, the words and the chain to the server.
    The reason, a pattern, is in the silo's own log."""
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        raised = refuses(dpreduce.Error, None, call, *given, **terms)
    assert type(raised) is dpreduce.Error
    assert str(raised) == "the silo could not answer; the reason is in its own log (dpreduce.silos)"
    assert raised.__cause__ is None and raised.__context__ is None
    assert re.search(reason, caplog.text)


NUMBERS = [("ls", {"numbers": 1}), ("auto", {"numbers": 2, "rounds": 3})]  # ranges of targets and lengths are releases, too


@pytest.mark.parametrize("method, options", [("mean", {"center": "dp"}), ("fc", {"rounds": 3}), *NUMBERS])
def test_silos_make_the_model_of_all_rows(method, options, hub, silos, federation):
    expected = federation(method, **options)
    coordinator, joins = joined(hub, silos)
    run = run_of(coordinator, joins[::-1], lambda request: answers(silos, request))
    assert run.classifier.to_bytes() == expected and run.account["runs"] == 1
    for own in silos:
        silo_of(own).end(coordinator.invitation)


def test_silos_predict_numbers_whose_types_end_no_run(hub, silos, rows):
    x, targets = rows[0][:300], np.arange(300.0) % 7 + 0.5
    targets[4] = 3
    terms = {"epsilon": 4, "delta": 1e-6, "seed": 7, "method": "ls", "target_range": (0, 8)}
    predict_numbers(hub, 1, **terms)
    numbers = [[3 if number == 3 else number for number in targets[place::3].tolist()] for place in range(3)]  # an int among floats
    assert {type(number) for number in numbers[1]} == {int, float}
    run = run_of(*joined(hub, silos), lambda request: [silo_of(own).answer(request, x[place::3], numbers[place])
                                                       for place, own in enumerate(silos)])
    assert run.classifier.to_bytes() == bytes_of(x, targets=targets, **terms)


def test_answers_that_do_not_add_up_leave_the_session_as_it_was(hub, silos, federation):
    expected = federation("mean")
    coordinator, joins = joined(hub, silos)
    refuses(UsageError, "no request", coordinator.step, [])
    refuses(dpreduce.AggregationAborted, r"silo 2 \(south\) has not joined", coordinator.request, [joins[0], joins[2]])
    given = answers(silos, coordinator.request(joins))
    for wrong, words in (([given[0], given[1]], "do not add up"), ([given[0], given[1], given[1]], "do not add up"),
                         ([given[0], given[1], given[2][:-1]], "not a uint64 vector"), ([one.astype(float) for one in given], "not a uint64 vector")):
        refuses(dpreduce.AggregationAborted, words, coordinator.step, wrong)
    assert not pathlib.Path(hub["ledger"]).exists()
    coordinator.step(given)
    assert coordinator.result().classifier.to_bytes() == expected


def test_answers_look_random_and_differ_between_sessions(hub, silos, federation):
    federation("mean")
    seen = []
    for ledger in ("first.jsonl", "second.jsonl"):
        _, request = asked(hub, silos, ledger=hub["ledger"] + ledger)
        seen += answers(silos, request)
    bits = np.unpackbits(np.concatenate(seen).view(np.uint8))
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / len(bits) ** 0.5  # five standard deviations
    assert all((one != other).all() for place, one in enumerate(seen) for other in seen[:place])


@pytest.mark.parametrize("method, options", [("mean", {"metric": "euclidean"}), ("fc", {"rounds": 2})])  # weighed, clipped
def test_persons_count_as_among_the_silos_of_the_program(method, options, hub, silos, federation, tmp_path):
    terms = dict(method=method, rows_per_person=2, silos_per_person=2, **options, **TERMS)
    federation(method)
    write_plan(hub, **terms)
    persons = []
    for silo, own in enumerate(silos, 1):  # five rows of each person in each of two silos
        rows = len(np.load(own["y"]))
        persons.append(np.array([f"person {row % (rows // 5) + 100 * (silo == 3)}" for row in range(rows)]))
        np.save(tmp_path / f"p{silo}.npy", persons[-1])
    run_program(tmp_path, *"fit --secure-aggregation --train-x x{rank}.npy --train-y y{rank}.npy --train-person p{rank}.npy "
                "--out silos.safetensors".split(), *words_of(terms), ranks=4)
    run = run_of(*joined(hub, silos), lambda request: [
        silo_of(own).answer(request, *rows_of(own), person=of_silo) for own, of_silo in zip(silos, persons)])
    assert run.classifier.to_bytes() == (tmp_path / "silos.safetensors").read_bytes()
    assert (run.privacy.unit, run.privacy.rows_per_person, run.report["privacy"]["silos_per_person"]) == ("person", 2, 2)


def test_numbers_are_summed_as_among_the_silos_of_the_program(hub, silos, federation, tmp_path, caplog):
    expected = federation("ls", numbers=2)
    run_program(tmp_path, *"fit --secure-aggregation --method ls --epsilon 1 --delta 1e-6 --seed 7 "
                "--train-x x{rank}.npy --targets y{rank}.npy --out silos.safetensors".split(), ranks=4)
    assert (tmp_path / "silos.safetensors").read_bytes() == expected
    _, request = asked(hub, silos)
    (x, y), silo = rows_of(silos[0]), silo_of(silos[0])
    for wrong in (y[:, 0], np.c_[y, y], np.where(y > 3, np.nan, y)):
        fails_quietly(caplog, "number|target nan", silo.answer, request, x, wrong)
    once = silo.answer(request, x, y)
    assert (silo.answer(request, x, pd.DataFrame(y)) == once).all()


def test_a_silo_says_what_it_lacks_of_persons(hub, silos, federation, caplog):
    federation("mean")
    plan = functools.partial(write_plan, hub, method="mean", **TERMS)
    plan(rows_per_person=2)
    refuses(UsageError, r"also set silos_per_person .* \(3 if that is unknown\)", silo_of, silos[0])
    plan(rows_per_person=2, silos_per_person=4)
    refuses(UsageError, "there are 3 silos", silo_of, silos[0])
    refuses(UsageError, "silos_per_person: goes with rows_per_person", plan, silos_per_person=2)
    plan(rows_per_person=2, silos_per_person=2)
    for_silos = dpreduce.Plan.from_json(pathlib.Path(hub["plan"]).read_text())
    x, y = rows_of(silos[0])
    each = np.arange(len(y))
    refuses(UsageError, "the plan is for silos", for_silos.count, each, "a")
    refuses(UsageError, "the plan is for silos", for_silos.partial, x, y, "a", person=each)
    _, request = asked(hub, silos)
    answer = functools.partial(silo_of(silos[0]).answer, request, x, y)
    for person, words in ((None, "the person of each row"), (each[:3], "3 identifiers"), (np.linspace(0, 1, len(y)), "identifiers")):
        fails_quietly(caplog, words, answer, person=person)
    once = answer(person=each)
    assert (answer(person=each) == once).all()
    fails_quietly(caplog, "", answer, person=each // 4)  # the same rows of other persons are other rows


def test_what_a_silo_raises_shows_no_row(hub, silos, federation, caplog):
    federation("mean")
    _, request = asked(hub, silos)
    (x, y), silo = rows_of(silos[0]), silo_of(silos[0])
    for wrong_x, wrong_y, words in ((x, y.astype(float), "labels"), (np.where(np.arange(DIM) == 2, np.nan, x), y, "row 0"),
                                    (np.where(x > 2, "Berlin", x.astype(object)), y, "Berlin"), (x[:, 1:], y, "features"), (x, y[1:], "rows")):
        fails_quietly(caplog, words, silo.answer, request, wrong_x, wrong_y)
    assert len(silo.answer(request, x, y))  # nothing of that was an answer


def test_a_label_that_the_plan_does_not_list_ends_no_silo(hub, silos, federation):
    """Whoever wrote the plan would learn whether there is one. Its row counts nowhere, as one of zeros in no class."""
    models = []
    for label in (None, 9, -1):
        federation("mean")
        for own in silos:
            x, y = rows_of(own)
            y[5] = 0 if label is None else label
            np.save(own["x"], np.delete(x, 5, 0) if label is None else x)
            np.save(own["y"], np.delete(y, 5) if label is None else y)
        coordinator, request = asked(hub, silos)
        coordinator.step(answers(silos, request))
        models.append(coordinator.result().classifier.to_bytes())
    assert models[1] == models[0] and models[2] == models[0]


def test_silos_have_the_columns_of_the_plan(hub, silos, federation, rows, caplog):
    federation("mean")
    names = [f"f{a}" for a in range(DIM)]
    write_plan(hub, names, method="mean", **TERMS)
    coordinator, request = asked(hub, silos)
    frames = [pd.DataFrame(np.load(own["x"]), columns=names) for own in silos]
    for wrong, words in ((frames[0][names[::-1]], 'column 0 is "f15", but in the plan it is "f0"'), (frames[0].to_numpy(), "have no names")):
        fails_quietly(caplog, words, silo_of(silos[0]).answer, request, wrong, np.load(silos[0]["y"]))
    coordinator.step([silo_of(own).answer(request, frame, np.load(own["y"])) for own, frame in zip(silos, frames)])
    expected = bytes_of(pd.DataFrame(rows[0], columns=names), rows[1], method="mean", **TERMS)
    assert coordinator.result().classifier.to_bytes() == expected


def test_a_silo_answers_a_step_once_and_has_no_key_where_it_is_made_anew(hub, silos, federation, caplog):
    federation("mean")
    _, request = asked(hub, silos)
    (x, y), silo = rows_of(silos[0]), silo_of(silos[0])
    fails_quietly(caplog, "mask keys exist only in the memory of the process that joins", new_silo(silos[0]).answer, request, x, y)
    once = silo.answer(request, x, y)
    assert (silo.answer(request, x[::-1], y[::-1]) == once).all()  # the same rows
    fails_quietly(caplog, "step 0 of this session was already answered", silo.answer, request, x[1:], y[1:])
    fails_quietly(caplog, "", new_silo(silos[0]).answer, request, x, y)
    assert (silo.answer(request, x, y) == once).all()  # what was sent, and no other


def test_parties_with_another_plan_or_roster_find_out(hub, silos, federation, tmp_path, caplog):
    federation("mean")
    coordinator = coordinator_of(hub)
    other = tmp_path / "other.json"
    other.write_text(dpreduce.Plan(DIM, method="mean", **{**TERMS, "epsilon": 2}).to_json())
    fails_quietly(caplog, "parties need the same plan", silo_of(silos[0], plan=other).join, coordinator.invitation)
    refuses(UsageError, "does not belong to a silo", silo_of, silos[0], identity=hub["identity"])
    refuses(UsageError, "roster's coordinator", coordinator_of, hub, identity=silos[0]["identity"])
    refuses(BadInput, "roster .*cannot be read", lambda: silo_of(silos[0], roster=str(tmp_path / "nowhere.toml")))
    other.write_text(dpreduce.Plan(DIM + 1, method="mean", **TERMS).to_json())
    refuses(BadInput, "17 features", silo_of, silos[0], plan=other)


def as_on_the_wire(arrays):
    """Arrays as engines send them: written without pickle, and read again."""
    buffer = io.BytesIO()
    np.savez(buffer, *arrays)
    buffer.seek(0)
    return list(np.load(buffer, allow_pickle=False).values())


def example(engine, monkeypatch, **modules):
    for module, content in modules.items():
        monkeypatch.setitem(sys.modules, module.replace("__", "."), types.SimpleNamespace(**content))
    return module_of(SOURCE / "examples" / engine / f"{engine}_fit.py")


@contextlib.contextmanager
def served(flower, silos):
    """The silos' own processes, as threads; their nodes, which know no file of rows."""
    names = ("plan", "roster", "identity", "socket", "x", "y", "person")
    threads = [threading.Thread(target=flower.serve, args=[own[name] for name in names if name in own]) for own in silos]
    for thread, own in zip(threads, silos):
        thread.start()
        while not os.path.exists(own["socket"]):
            assert thread.is_alive()
            time.sleep(0.01)
    try:
        yield {70 + place: {"socket": own["socket"]} for place, own in enumerate(silos)}
    finally:
        for thread, own in zip(threads, silos):
            with flower.Client(own["socket"], "AF_UNIX") as silo:
                silo.send_bytes(b"stop")
                silo.send_bytes(b"")
            thread.join()


def make_persons(hub, silos):
    """Every row is a person: the plan says so, and each silo has a file of them. The model stays what it was."""
    plan = json.loads(pathlib.Path(hub["plan"]).read_text())
    plan["options"] |= {"rows-per-person": ["1"], "silos-per-person": ["1"]}
    pathlib.Path(hub["plan"]).write_text(json.dumps(plan))
    for own in silos:
        own["person"] = own["y"] + ".person.npy"
        np.save(own["person"], np.arange(len(np.load(own["y"]))))


class App:
    """ServerApp and ClientApp: each has one function."""

    def main(self):
        return lambda function: setattr(self, "function", function) or function

    query = main


class ArrayRecord:
    def __init__(self, arrays):
        self.arrays = as_on_the_wire(arrays)

    def to_numpy_ndarrays(self):
        return [array.copy() for array in self.arrays]


class Message:
    def __init__(self, content, message_type=None, dst_node_id=None, reply_to=None):
        assert (reply_to is None) == (message_type == "query")
        assert all(isinstance(record, (ArrayRecord, dict)) for record in content.values())
        self.content, self.node, self.error = content, dst_node_id, None

    def has_error(self):
        return self.error is not None


class Grid:
    def __init__(self, nodes, answer):
        self.nodes, self.answer, self.random, self.delivered_twice = nodes, answer, random.Random(4), 0

    def get_node_ids(self):
        return list(self.nodes)

    def send_and_receive(self, messages):
        replies = []
        for message in messages:
            context = types.SimpleNamespace(node_config=self.nodes[message.node])
            try:
                reply = self.answer(message, context)
                if self.random.random() < 0.3:
                    self.delivered_twice += 1
                    reply = self.answer(message, context)
            except Exception as failure:  # as Flower: the server is told the words
                reply = types.SimpleNamespace(error=str(failure), has_error=lambda: True)
            replies.append(reply)
        self.random.shuffle(replies)
        return replies


def fit_in_flower(monkeypatch, hub, silos):
    flower = example("flower", monkeypatch, flwr__app=dict(ArrayRecord=ArrayRecord, ConfigRecord=dict, Message=Message, RecordDict=dict),
                     flwr__clientapp=dict(ClientApp=App), flwr__serverapp=dict(ServerApp=App))
    with served(flower, silos) as nodes:
        grid = Grid(nodes, flower.client.function)
        flower.server.function(grid, types.SimpleNamespace(run_config=hub))
    return grid


@pytest.mark.parametrize("has_persons", [False, True])
@pytest.mark.parametrize("method, options", [("mean", {}), ("fc", {"rounds": 3}), *NUMBERS])
def test_flower(method, options, has_persons, hub, silos, federation, monkeypatch):
    expected = federation(method, **options)
    if has_persons:
        make_persons(hub, silos)
    assert fit_in_flower(monkeypatch, hub, silos).delivered_twice
    assert pathlib.Path(hub["model"]).read_bytes() == expected


def test_a_failing_silo_ends_a_fit_in_flower(hub, silos, federation, monkeypatch):
    federation("mean")
    np.save(silos[1]["x"], np.load(silos[1]["x"]) * np.float32("nan"))
    refuses(RuntimeError, "answer: not all of the 3 silos have answered", fit_in_flower, monkeypatch, hub, silos)
    assert not pathlib.Path(hub["model"]).exists() and not pathlib.Path(hub["ledger"]).exists()


class FLModel:
    def __init__(self, params):
        names = [name for name, value in params.items() if isinstance(value, np.ndarray)]
        self.params = {**params, **dict(zip(names, as_on_the_wire([params[name] for name in names])))}


class ModelController:
    """Its clients are threads, each with a queue of what it is asked and one of what it answers."""

    clients: list = []

    def sample_clients(self, number):
        assert number == len(self.clients)
        return list(range(number))

    def send_model_and_wait(self, targets, data):
        for target in targets:
            self.clients[target][0].put(data)
        return [self.clients[target][1].get(timeout=60) for target in reversed(targets)]

    def info(self, words):
        self.said = words


@pytest.mark.parametrize("has_persons", [False, True])
@pytest.mark.parametrize("method, options", [("adam", {"rounds": 3}), *NUMBERS])
def test_nvflare(method, options, has_persons, hub, silos, federation, monkeypatch):
    expected = federation(method, **options)
    if has_persons:
        make_persons(hub, silos)
    own_queues = threading.local()
    client = types.SimpleNamespace(init=lambda: None, is_running=lambda: True, receive=lambda: own_queues.asked.get(timeout=60),
                                   send=lambda model: own_queues.answers.put(model))
    monkeypatch.setitem(sys.modules, "nvflare", types.SimpleNamespace(client=client))
    nvflare = example("nvflare", monkeypatch, nvflare__app_common__abstract__fl_model=dict(FLModel=FLModel),
                      nvflare__app_common__workflows__model_controller=dict(ModelController=ModelController))
    monkeypatch.setitem(sys.modules, "nvflare.client", client)

    def run_client(own, queues):
        own_queues.asked, own_queues.answers = queues
        nvflare.answer_all(*(own[name] for name in ("plan", "roster", "identity", "x", "y", "person") if name in own))
    ModelController.clients = [(queue.Queue(), queue.Queue()) for _ in silos]
    threads = [threading.Thread(target=run_client, args=pair) for pair in zip(silos, ModelController.clients)]
    for thread in threads:
        thread.start()
    fit = nvflare.Fit(**hub)
    fit.run()
    for asked, _ in ModelController.clients:
        asked.put(None)
    for thread in threads:
        thread.join()
    assert pathlib.Path(hub["model"]).read_bytes() == expected and method in fit.said
