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
import sys
import threading
import time
import types

import numpy as np
import pandas as pd
import pytest

import dpreduce
import dpreduce.silos
from conftest import CLASSES, DIM, SOURCE, TERMS, module_of, run_program, words_of

NAMES = ["hub", "north", "south", "west"]


@pytest.fixture
def parties(program, tmp_path):
    """A roster of three silos; returns (files of the coordinator, [files of a silo])."""
    sections = ["coordinator", "silo.1", "silo.2", "silo.3"]
    roster = f"dim = {DIM}\nclasses = {CLASSES}\n"
    for section, name in zip(sections, NAMES):
        told = program("keygen", "--out", f"{name}.key", "--name", name)
        roster += f"[{section}]\n" + "".join(line + "\n" for line in told.splitlines() if line.startswith(("name", "key")))
    (tmp_path / "roster.toml").write_text(roster)
    files = [{"roster": str(tmp_path / "roster.toml"), "identity": str(tmp_path / f"{name}.key"), "plan": str(tmp_path / "plan.json")}
             for name in NAMES]
    hub = {**files[0], "ledger": str(tmp_path / "ledger.jsonl"), "model": str(tmp_path / "model.safetensors")}
    return hub, [{**own, "socket": str(tmp_path / f"{name}.socket"), "x": str(tmp_path / f"x-{name}.npy"), "y": str(tmp_path / f"y-{name}.npy")}
                 for own, name in zip(files[1:], NAMES[1:])]


@pytest.fixture
def hub(parties):
    return parties[0]


@pytest.fixture
def silos(parties):
    return parties[1]


@pytest.fixture
def federation(hub, silos, x, y):
    """plan(method, **options) writes the plan's text, and each silo's rows; returns what fit() makes of all rows."""

    def plan(method, numbers=0, **options):
        """Of so many numbers a row, in the place of labels."""
        terms = {**TERMS, "method": method, **options}
        told = {"y": y}
        if numbers:
            del terms["classes"]
            roster = pathlib.Path(hub["roster"])
            roster.write_text(roster.read_text().replace(f"classes = {CLASSES}", f"classes = {numbers}"))
            told = {"targets": np.stack([3 + x[:, 0], 1e3 * x[:, 1]], axis=1)[:, :numbers]}
        write_plan(hub, **({"targets": numbers} if numbers else {}), **terms)
        (values,) = told.values()
        for place, own in enumerate(silos):
            np.save(own["x"], x[place::3])
            np.save(own["y"], values[place::3])
        return dpreduce.fit(x, **told, **terms).classifier.to_bytes()
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


@contextlib.contextmanager
def fails_quietly(caplog, *reasons):
    """What a silo raises is the same error whatever its reason: engines send the class, the words and the chain to the server.
    One of the reasons is in the silo's own log."""
    caplog.clear()
    with caplog.at_level(logging.ERROR), pytest.raises(dpreduce.Error) as raised:
        yield
    assert type(raised.value) is dpreduce.Error
    assert str(raised.value) == "the silo could not answer; the reason is in its own log (dpreduce.silos)"
    assert raised.value.__cause__ is None and raised.value.__context__ is None
    assert any(reason in caplog.text for reason in reasons)


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
    roster = pathlib.Path(hub["roster"])
    roster.write_text(roster.read_text().replace(f"classes = {CLASSES}", "classes = 1"))
    terms = {"epsilon": 4, "delta": 1e-6, "seed": 7, "method": "ls", "target_range": (0, 8)}
    write_plan(hub, targets=1, **terms)
    numbers = [[3 if number == 3 else number for number in targets[place::3].tolist()] for place in range(3)]  # an int among floats
    assert {type(number) for number in numbers[1]} == {int, float}
    run = run_of(*joined(hub, silos), lambda request: [silo_of(own).answer(request, x[place::3], numbers[place])
                                                       for place, own in enumerate(silos)])
    assert run.classifier.to_bytes() == dpreduce.fit(x, targets=targets, **terms).classifier.to_bytes()


def test_answers_that_do_not_add_up_leave_the_session_as_it_was(hub, silos, federation):
    expected = federation("mean")
    coordinator, joins = joined(hub, silos)
    with pytest.raises(dpreduce.UsageError, match="no request"):
        coordinator.step([])
    with pytest.raises(dpreduce.AggregationAborted, match=r"silo 2 \(south\) has not joined"):
        coordinator.request([joins[0], joins[2]])
    given = answers(silos, coordinator.request(joins))
    for wrong, words in (([given[0], given[1]], "do not add up"), ([given[0], given[1], given[1]], "do not add up"),
                         ([given[0], given[1], given[2][:-1]], "not a uint64 vector"), ([one.astype(float) for one in given], "not a uint64 vector")):
        with pytest.raises(dpreduce.AggregationAborted, match=words):
            coordinator.step(wrong)
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
def test_persons_count_as_among_the_silos_of_the_program(method, options, hub, silos, federation, x, y, tmp_path):
    terms = dict(rows_per_person=2, silos_per_person=2, **options)
    federation(method)
    write_plan(hub, method=method, **TERMS, **terms)
    for place, own in enumerate(silos):  # five rows of each person in each of two silos
        of_silo = [f"person {row % (len(y[place::3]) // 5) + 100 * (place == 2)}" for row in range(len(y[place::3]))]
        np.save(own["x"] + ".person.npy", np.array(of_silo))
        for name, values in (("x", x[place::3]), ("y", y[place::3]), ("p", np.array(of_silo))):
            np.save(tmp_path / f"{name}{place + 1}.npy", values)
    run_program(tmp_path, *"fit --secure-aggregation --train-x x{rank}.npy --train-y y{rank}.npy --train-person p{rank}.npy "
                "--out silos.safetensors".split(), *words_of({"method": method, **TERMS, **terms}), ranks=4)

    run = run_of(*joined(hub, silos), lambda request: [
        silo_of(own).answer(request, *rows_of(own), person=np.load(own["x"] + ".person.npy")) for own in silos])
    assert run.classifier.to_bytes() == (tmp_path / "silos.safetensors").read_bytes()
    assert (run.privacy.unit, run.privacy.rows_per_person, run.report["privacy"]["silos_per_person"]) == ("person", 2, 2)


def test_numbers_are_summed_as_among_the_silos_of_the_program(hub, silos, federation, tmp_path, caplog):
    expected = federation("ls", numbers=2)
    for place, own in enumerate(silos):
        for name in ("x", "y"):
            np.save(tmp_path / f"{name}{place + 1}.npy", np.load(own[name]))
    run_program(tmp_path, *"fit --secure-aggregation --method ls --epsilon 1 --delta 1e-6 --seed 7 "
                "--train-x x{rank}.npy --targets y{rank}.npy --out silos.safetensors".split(), ranks=4)
    assert (tmp_path / "silos.safetensors").read_bytes() == expected

    _, request = asked(hub, silos)
    x, y = rows_of(silos[0])
    for wrong in (y[:, 0], np.c_[y, y], np.where(y > 3, np.nan, y)):
        with fails_quietly(caplog, "number", "target nan"):
            silo_of(silos[0]).answer(request, x, wrong)
    once = silo_of(silos[0]).answer(request, x, y)
    assert (silo_of(silos[0]).answer(request, x, pd.DataFrame(y)) == once).all()


def test_a_silo_says_what_it_lacks_of_persons(hub, silos, federation, caplog):
    federation("mean")
    plan = functools.partial(write_plan, hub, method="mean", **TERMS)
    plan(rows_per_person=2)
    with pytest.raises(dpreduce.UsageError, match=r"also set silos_per_person .* \(3 if that is unknown\)"):
        silo_of(silos[0])
    plan(rows_per_person=2, silos_per_person=4)
    with pytest.raises(dpreduce.UsageError, match="there are 3 silos"):
        silo_of(silos[0])
    with pytest.raises(dpreduce.UsageError, match="silos_per_person: goes with rows_per_person"):
        plan(silos_per_person=2)
    plan(rows_per_person=2, silos_per_person=2)
    for_silos = dpreduce.Plan.from_json(pathlib.Path(hub["plan"]).read_text())
    x, y = rows_of(silos[0])
    for work in (lambda: for_silos.count(np.arange(len(y)), "a"), lambda: for_silos.partial(x, y, "a", person=np.arange(len(y)))):
        with pytest.raises(dpreduce.UsageError, match="the plan is for silos"):
            work()

    _, request = asked(hub, silos)
    for person, words in ((None, "the person of each row"), (np.arange(3), "3 identifiers"), (np.linspace(0, 1, len(y)), "identifiers")):
        with fails_quietly(caplog, words):
            silo_of(silos[0]).answer(request, x, y, person=person)
    once = silo_of(silos[0]).answer(request, x, y, person=np.arange(len(y)))
    assert (silo_of(silos[0]).answer(request, x, y, person=np.arange(len(y))) == once).all()
    with fails_quietly(caplog, ""):  # the same rows of other persons are other rows
        silo_of(silos[0]).answer(request, x, y, person=np.arange(len(y)) // 4)


def test_what_a_silo_raises_shows_no_row(hub, silos, federation, caplog):
    federation("mean")
    _, request = asked(hub, silos)
    x, y = rows_of(silos[0])
    for wrong_x, wrong_y, words in ((x, y.astype(float), "labels"), (np.where(np.arange(DIM) == 2, np.nan, x), y, "row 0"),
                                    (np.where(x > 2, "Berlin", x.astype(object)), y, "Berlin"), (x[:, 1:], y, "features"), (x, y[1:], "rows")):
        with fails_quietly(caplog, words):
            silo_of(silos[0]).answer(request, wrong_x, wrong_y)
    assert len(silo_of(silos[0]).answer(request, x, y))  # nothing of that was an answer


def test_a_label_that_the_plan_does_not_list_ends_no_silo(hub, silos, federation):
    """Whoever wrote the plan would learn whether there is one. Its row counts nowhere, as one of zeros in no class."""
    models = []
    for label in (None, 9, -1):
        federation("mean")
        coordinator, request = asked(hub, silos)
        answers = []
        for own in silos:
            x, y = rows_of(own)
            x, y = (np.delete(x, 5, 0), np.delete(y, 5)) if label is None else (x, np.where(np.arange(len(y)) == 5, label, y))
            answers.append(silo_of(own).answer(request, x, y))
        coordinator.step(answers)
        models.append(coordinator.result().classifier.to_bytes())
    assert models[1] == models[0] and models[2] == models[0]


def test_silos_have_the_columns_of_the_plan(hub, silos, federation, rows, caplog):
    federation("mean")
    names = [f"f{a}" for a in range(DIM)]
    write_plan(hub, names, method="mean", **TERMS)
    coordinator, request = asked(hub, silos)
    frames = [pd.DataFrame(np.load(own["x"]), columns=names) for own in silos]
    for wrong, words in ((frames[0][names[::-1]], 'column 0 is "f15", but in the plan it is "f0"'), (frames[0].to_numpy(), "have no names")):
        with fails_quietly(caplog, words):
            silo_of(silos[0]).answer(request, wrong, np.load(silos[0]["y"]))
    coordinator.step([silo_of(own).answer(request, frame, np.load(own["y"])) for own, frame in zip(silos, frames)])
    expected = dpreduce.fit(pd.DataFrame(rows[0], columns=names), rows[1], method="mean", **TERMS)
    assert coordinator.result().classifier.to_bytes() == expected.classifier.to_bytes()


def test_a_silo_answers_a_step_once_and_has_no_key_where_it_is_made_anew(hub, silos, federation, caplog):
    federation("mean")
    _, request = asked(hub, silos)
    x, y = rows_of(silos[0])
    with fails_quietly(caplog, "mask keys exist only in the memory of the process that joins"):
        new_silo(silos[0]).answer(request, x, y)
    once = silo_of(silos[0]).answer(request, x, y)
    assert (silo_of(silos[0]).answer(request, x[::-1], y[::-1]) == once).all()  # the same rows
    with fails_quietly(caplog, "step 0 of this session was already answered"):
        silo_of(silos[0]).answer(request, x[1:], y[1:])
    with fails_quietly(caplog, ""):
        new_silo(silos[0]).answer(request, x, y)
    assert (silo_of(silos[0]).answer(request, x, y) == once).all()  # what was sent, and no other


def test_parties_with_another_plan_or_roster_find_out(hub, silos, federation, tmp_path, caplog):
    federation("mean")
    coordinator = coordinator_of(hub)
    other = tmp_path / "other.json"
    other.write_text(dpreduce.Plan(DIM, method="mean", **{**TERMS, "epsilon": 2}).to_json())
    with fails_quietly(caplog, "parties need the same plan"):
        silo_of(silos[0], plan=other).join(coordinator.invitation)
    with pytest.raises(dpreduce.UsageError, match="does not belong to a silo"):
        silo_of(silos[0], identity=hub["identity"])
    with pytest.raises(dpreduce.UsageError, match="roster's coordinator"):
        coordinator_of(hub, identity=silos[0]["identity"])
    with pytest.raises(dpreduce.BadInput, match="roster .*cannot be read"):
        silo_of(silos[0], roster=str(tmp_path / "nowhere.toml"))
    other.write_text(dpreduce.Plan(DIM + 1, method="mean", **TERMS).to_json())
    with pytest.raises(dpreduce.BadInput, match="17 features"):
        silo_of(silos[0], plan=other)


def as_on_the_wire(arrays):
    """Arrays as engines send them: written without pickle, and read again."""
    buffers = [io.BytesIO() for _ in arrays]
    for buffer, array in zip(buffers, arrays):
        np.save(buffer, array, allow_pickle=False)
    return [np.load(io.BytesIO(buffer.getvalue()), allow_pickle=False) for buffer in buffers]


def example(engine, monkeypatch, **modules):
    for module, content in modules.items():
        monkeypatch.setitem(sys.modules, module.replace("__", "."), types.SimpleNamespace(**content))
    return module_of(SOURCE / "examples" / engine / f"{engine}_fit.py")


def flower_example(monkeypatch):
    return example("flower", monkeypatch, flwr__app=dict(ArrayRecord=ArrayRecord, ConfigRecord=dict, Message=Message, RecordDict=dict),
                   flwr__clientapp=dict(ClientApp=App), flwr__serverapp=dict(ServerApp=App))


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


@pytest.mark.parametrize("has_persons", [False, True])
@pytest.mark.parametrize("method, options", [("mean", {}), ("fc", {"rounds": 3}), *NUMBERS])
def test_flower(method, options, has_persons, hub, silos, federation, monkeypatch):
    expected = federation(method, **options)
    if has_persons:
        make_persons(hub, silos)
    flower = flower_example(monkeypatch)
    with served(flower, silos) as nodes:
        grid = Grid(nodes, flower.client.function)
        flower.server.function(grid, types.SimpleNamespace(run_config=hub))
    assert pathlib.Path(hub["model"]).read_bytes() == expected
    assert grid.delivered_twice


def test_a_failing_silo_ends_a_fit_in_flower(hub, silos, federation, monkeypatch):
    federation("mean")
    flower = flower_example(monkeypatch)
    np.save(silos[1]["x"], np.load(silos[1]["x"]) * np.float32("nan"))
    with served(flower, silos) as nodes:
        grid = Grid(nodes, flower.client.function)
        with pytest.raises(RuntimeError, match="answer: not all of the 3 silos have answered"):
            flower.server.function(grid, types.SimpleNamespace(run_config=hub))
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
