"""dp_events against `ledger show`: events are composed here by formulas of their own.

Gaussians add up to mu^2 = sum 1 / z^2. With others the privacy loss distribution of all of them is made on a grid,
losses rounded up, and self-composed by Fourier transforms; delta(epsilon) = E[(1 - e^(epsilon - loss))+].
"""
import functools
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import types

import jsonschema
import numpy
import pytest

import dpreduce
from conftest import SOURCE, command, refuses, run_program

LEDGERS = SOURCE / "tests/fuzz/corpus/ledger"
DELTA = 1e-6
SCHEMA = jsonschema.Draft202012Validator(json.loads((SOURCE / "docs/reference/schemas/dp-events.schema.json").read_text()))
NORMAL = statistics.NormalDist()
ARGUMENTS = {  # of dp_accounting.dp_event
    "ComposedDpEvent": {"events"}, "SelfComposedDpEvent": {"event", "count"}, "GaussianDpEvent": {"noise_multiplier"},
    "PoissonSampledDpEvent": {"sampling_probability", "event"}, "ExponentialMechanismDpEvent": {"epsilon"},
    "PermuteAndFlipDpEvent": {"epsilon"}}


def program(folder, line):
    return run_program(folder, *line.split())


def events_of(folder, ledger, adjacency="add-remove"):
    events = dpreduce.dp_events(folder / ledger, adjacency)
    SCHEMA.validate(events)
    return events


def shown(folder, ledger, adjacency="add-remove"):
    return json.loads(program(folder, f"ledger show {ledger} --delta {DELTA} --adjacency {adjacency} --format json"))


def leaves(event, count=1):
    """[(event without events in it but for a sampled one's, how often)]"""
    assert set(event) - {"class"} == ARGUMENTS[event["class"]]
    if event["class"] == "ComposedDpEvent":
        return [leaf for one in event["events"] for leaf in leaves(one, count)]
    if event["class"] == "SelfComposedDpEvent":
        return leaves(event["event"], count * event["count"])
    return [(event, count)]


def mu_of(event):
    return math.sqrt(sum(count / one["noise_multiplier"]**2 for one, count in leaves(event) if one["class"] == "GaussianDpEvent"))


def gaussian_epsilon(mu, delta):
    """The root of Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) = delta, by bisection."""
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        at = NORMAL.cdf(mu / 2 - middle / mu) - math.exp(middle) * NORMAL.cdf(-mu / 2 - middle / mu)
        low, high = (middle, high) if at > delta else (low, middle)
    return high


def losses_of(event, step, size, adds, relation):
    """The law of an event's loss on a grid around 0, from the distribution functions of the pair that dominates it."""
    nodes = (numpy.arange(size) - size // 2) * step
    cdf = numpy.vectorize(NORMAL.cdf)
    if event["class"] == "ExponentialMechanismDpEvent":  # density e^(l/2) / (4 sinh(epsilon/2)) on [-epsilon, epsilon]
        epsilon = event["epsilon"]
        below = (numpy.exp(numpy.clip(nodes, -epsilon, epsilon) / 2) - math.exp(-epsilon / 2)) / (2 * math.sinh(epsilon / 2))
    elif event["class"] == "GaussianDpEvent":
        mu = (2 if relation == "REPLACE_ONE" else 1) / event["noise_multiplier"]
        below = cdf((nodes - mu * mu / 2) / mu)
    else:
        q, mu = event["sampling_probability"], 1 / event["event"]["noise_multiplier"]
        if relation == "REPLACE_ONE":  # (1-q) N(0) + q N(mu) against N(-mu)
            u, grid = numpy.linspace(-12, 12 + mu, 2000001), numpy.linspace(-13 - mu, 13 + mu, 20001)
            loss = numpy.log(1 - q + q * numpy.exp(mu * u - mu * mu / 2)) - numpy.log(1 - q + q * numpy.exp(-mu * u - mu * mu / 2))
            at = lambda x, on_grid=cdf(grid): numpy.interp(x, grid, on_grid)
            x = numpy.interp(nodes, loss, u)
            below = numpy.where(nodes < loss[0], 0, numpy.where(nodes > loss[-1], 1, (1 - q) * at(x) + q * at(x - mu)))
        else:  # l(x) = ln(1 - q + q exp(mu x - mu^2 / 2)), somebody there against nobody; x is where it is `nodes`.
            ratio = (numpy.exp(-nodes if adds else nodes) - (1 - q)) / q
            x = (numpy.log(numpy.where(ratio > 0, ratio, 1e-300)) + mu * mu / 2) / mu
            below = 1 - cdf(x) if adds else (1 - q) * cdf(x) + q * cdf(x - mu)  # adds: -l under N(0, 1)
    return numpy.diff(below, prepend=0.0)


def composed_epsilon(event, delta, relation="ADD_OR_REMOVE_ONE"):
    epsilons, step, size = [], 2e-4, 2**17
    for adds in (False, True):
        spectrum = numpy.ones(size // 2 + 1, dtype=complex)
        for one, count in leaves(event):
            spectrum *= numpy.fft.rfft(numpy.fft.ifftshift(losses_of(one, step, size, adds, relation)))**count
        law = numpy.fft.fftshift(numpy.fft.irfft(spectrum, size)).clip(0)
        nodes = (numpy.arange(size) - size // 2) * step
        low, high = 0.0, 10.0
        while high - low > 1e-4:
            middle = (low + high) / 2
            at = (law * -numpy.expm1(numpy.minimum(middle - nodes, 0))).sum()
            low, high = (middle, high) if at > delta else (low, middle)
        epsilons.append(high)
    return max(epsilons)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledgers")
    program(folder, "synth --kind gaussian-mixture --rows 600 --test-rows 100 --dim 8 --classes 3 --out data")
    return folder


FIT = "fit --train-x data/train_x.npy --train-y data/train_y.npy --classes 3 --threads 1 --quiet --overwrite --out model"


def fitted(folder, ledger, *fits, adjacency="add-remove"):
    """Fits with each of these options on the ledger; then its events, and what the program shows of it."""
    for options in fits:
        program(folder, f"{FIT} --ledger {ledger} {options}")
    return events_of(folder, ledger, adjacency), shown(folder, ledger, adjacency)


def count_of(event):
    return sum(count for _, count in leaves(event))


def is_loose(events):
    return ["loose" in one for run in events["runs"] for one in run["spent"]]


def test_gaussian_releases_compose_to_what_the_ledger_shows(folder):
    events, ledger = fitted(folder, "gaussian", "--method mean --mu 0.3", "--method gd --rounds 5 --mu 0.4",
                            "--method ls --mu 0.2 --adjacency replace-one", "--method mean --metric euclidean --center dp --rho 0.05")
    assert events["neighboring_relation"] == "ADD_OR_REMOVE_ONE" and events["adjacency"] == "add-remove"
    assert mu_of(events["spent"]) == pytest.approx(ledger["mu"], rel=1e-12)
    assert mu_of(events["spent"]) >= ledger["mu"]  # noise multipliers are rounded down
    exact = ledger["runs"][-1]["so_far"]["epsilon"]
    assert gaussian_epsilon(mu_of(events["spent"]), DELTA) == pytest.approx(exact, rel=1e-9)
    assert composed_epsilon(events["spent"], DELTA) == pytest.approx(exact, abs=0.01)
    assert count_of(events["spent"]) == len(ledger["releases"])
    assert [run["run"] for run in events["runs"]] == [run["run"] for run in ledger["runs"]]
    last = events["runs"][1]["spent"][-1]
    assert last["name"] == "gradient/1 to gradient/5" and last["event"]["count"] == 5
    assert events["reserved"] == {"class": "ComposedDpEvent", "events": []} and events["not_private"] == []
    # A release's mu is that of its blocks; under replace-one it may be less than that of all of them at their worst.
    for run in events["runs"][:2]:
        releases = [release for release in ledger["releases"] if release["release"].startswith(run["run"])]
        blocks = sum((block["sensitivity"] / block["sigma"])**2 for release in releases for block in release["blocks"])
        of_run = {"class": "ComposedDpEvent", "events": [one["event"] for one in run["spent"]]}
        assert mu_of(of_run) == pytest.approx(math.sqrt(blocks), rel=1e-9)


SAMPLED = "--method gd --rounds 20 --batch 0.1 --epsilon 1 --delta 1e-6 --accountant pld"


def test_rounds_on_samples_compose_to_what_the_ledger_shows(folder):
    events, ledger = fitted(folder, "sampled", SAMPLED, "--method mean --mu 0.2")
    sampled = [(one, count) for one, count in leaves(events["spent"]) if one["class"] == "PoissonSampledDpEvent"]
    assert sum(count for _, count in sampled) == 20 and {one["sampling_probability"] for one, _ in sampled} == {0.1}
    assert composed_epsilon(events["spent"], DELTA) == pytest.approx(ledger["epsilon"], abs=0.02)
    assert not any(is_loose(events))


def test_a_selection_has_the_event_of_its_mechanism(folder):
    events, ledger = fitted(folder, "selected", "--method public --epsilon 1 --public-x data/test_x.npy", "--method mean --mu 0.3")
    selection = events["runs"][0]["spent"][0]
    assert selection["event"] == {"class": "ExponentialMechanismDpEvent", "epsilon": 1.0} and "loose" not in selection
    exact = ledger["runs"][-1]["so_far"]["epsilon"]
    assert composed_epsilon(events["spent"], DELTA) == pytest.approx(exact, abs=0.001)


def test_permute_and_flip_on_earlier_lines_has_an_event_of_its_own(folder):
    (folder / "flipped").write_bytes((SOURCE / "tests/data/reference/ledger_with_permute_and_flip.jsonl").read_bytes())
    events = events_of(folder, "flipped")
    for part, epsilon in (("spent", 0.5), ("reserved", 0.3)):
        assert ({"class": "PermuteAndFlipDpEvent", "epsilon": epsilon}, 1) in leaves(events[part])


def test_an_exchange_is_two_changes_where_the_charge_was_for_one(folder):
    twice, ledger = fitted(folder, "exchange", "--method mean --mu 0.3", "--method mean --mu 0.3 --adjacency replace-one",
                           "--method public --epsilon 1 --public-x data/test_x.npy", adjacency="replace-one")
    once = events_of(folder, "exchange")
    of = [[one["event"] for run in events["runs"] for one in run["spent"]] for events in (once, twice)]
    multipliers = [[one["noise_multiplier"] for one in list_[:2]] for list_ in of]
    assert multipliers[1] == pytest.approx([multipliers[0][0] / 2, multipliers[0][1]], rel=1e-12)
    assert of[1][2]["epsilon"] == 2 * of[0][2]["epsilon"]
    assert is_loose(twice) == [True, False, True] and twice["neighboring_relation"] == "ADD_OR_REMOVE_ONE"
    exact = ledger["runs"][-1]["so_far"]["epsilon"]
    assert composed_epsilon(twice["spent"], DELTA) == pytest.approx(exact, abs=0.001)


def test_an_exchange_on_samples_composes_to_what_the_ledger_shows(folder):
    last = "--method adam --rounds 5 --batch 0.3 --epsilon 0.5 --delta 1e-6 --adjacency replace-one"
    events, ledger = fitted(folder, "exchanged", SAMPLED, "--method mean --mu 0.2 --adjacency replace-one", last, adjacency="replace-one")
    assert events["neighboring_relation"] == "REPLACE_ONE" and ledger["adjacency"] == "replace-one" and not any(is_loose(events))
    assert composed_epsilon(events["spent"], DELTA, "REPLACE_ONE") == pytest.approx(ledger["epsilon"], abs=0.02)
    # One record costs less than its exchange, and an exchange less than if all rows had been drawn.
    assert shown(folder, "exchanged")["epsilon"] < ledger["epsilon"] < gaussian_epsilon(math.sqrt(2 * ledger["rho"]), DELTA)
    assert events_of(folder, "exchanged")["neighboring_relation"] == "ADD_OR_REMOVE_ONE"


def test_seeded_runs_are_in_no_event(folder):
    events, _ = fitted(folder, "seeded", "--method mean --mu 0.3 --seed 1")
    assert events["runs"] == [] and len(events["not_private"]) == 1 and events["spent"]["events"] == []


@pytest.mark.parametrize("options", ["--method gd --rounds 400 --mu 1",
                                     "--method gd --rounds 400 --batch 0.5 --epsilon 2 --delta 1e-6 --accountant pld"])
def test_what_an_open_run_has_reserved_stands_apart(folder, options):
    ledger = f"open{'batch' in options}"
    line = f"{FIT} --ledger {ledger} {options}".split()
    with subprocess.Popen([os.environ["DPREDUCE"]] + line, cwd=folder, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and '"kind":"charge"' not in ((folder / ledger).read_text() if (folder / ledger).exists() else ""):
            time.sleep(0.001)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    events, state = fitted(folder, ledger)
    remains = state["open_runs"][0]["releases"]
    assert count_of(events["spent"]) == len(state["releases"])
    assert count_of(events["reserved"]) == sum(one["rounds"] for one in remains)
    for (one, _), remaining in zip(leaves(events["reserved"]), remains):
        assert one["class"] == ("PoissonSampledDpEvent" if "sampling_rate" in remaining else "GaussianDpEvent")
        assert one.get("event", one)["noise_multiplier"] == pytest.approx(1 / remaining["mu"], rel=1e-6)
    assert [len(run["reserved"]) for run in events["runs"]] == [len(remains)]
    if "batch" not in options:
        assert mu_of({"class": "ComposedDpEvent", "events": [events["spent"], events["reserved"]]}) == pytest.approx(1, rel=1e-9)
    program(folder, f"ledger release {events['runs'][0]['run']} {ledger}")
    after = events_of(folder, ledger)
    assert after["spent"] == events["spent"] and after["reserved"]["events"] == [] and after["runs"][0]["reserved"] == []


@pytest.mark.parametrize("name", ["signed", "signed_silos", "signed_selection_and_samples", "signed_instead_of"])
def test_ledgers_of_every_form_compose_to_what_they_show(folder, name):
    (folder / name).write_bytes((LEDGERS / name).read_bytes())
    events, ledger = fitted(folder, name)
    assert mu_of(events["spent"]) == pytest.approx(ledger["mu"], rel=1e-12)
    private = [one for one in ledger["releases"] if one["private"]]
    open_runs = [run for run in ledger["open_runs"] if run["private"]]
    assert count_of(events["spent"]) == len(private)
    assert count_of(events["reserved"]) == sum(
        sum(one["rounds"] for one in run["releases"]) + len(run["selections"]) for run in open_runs)
    assert {run["run"] for run in events["runs"] if "silos" in run} == \
        {one["release"].split("/")[0] for one in private if "silos" in one} | {run["run"] for run in open_runs if "silos" in run}


def test_the_reader_of_the_page_rebuilds_the_events(folder, monkeypatch):
    """The page's code, on a stand-in for dp_accounting that has its classes with their arguments."""
    code = re.search(r'```python title="events.py"\n(.*?)```', (SOURCE / "docs/how-to/budget.md").read_text(), re.DOTALL).group(1)
    module = types.ModuleType("dp_accounting")
    module.dp_event = types.SimpleNamespace(**{name: functools.partial(dict, {"class": name}) for name in ARGUMENTS})
    monkeypatch.setitem(sys.modules, "dp_accounting", module)
    names = {}
    exec(code, names)
    event = fitted(folder, "rebuilt", "--method gd --rounds 4 --mu 0.5")[0]["spent"]
    assert leaves(event) and names["event_of"](event) == event  # arguments of other names would make another dictionary


def test_an_edited_ledger_is_refused(folder):
    fitted(folder, "edited", "--method mean --mu 0.3")
    text = (folder / "edited").read_text()
    for edited in (re.sub(r'"mu":[0-9.]+', '"mu":0.2', text, count=1), text[:-5] + text[-4:]):
        (folder / "edited").write_text(edited)
        refuses(dpreduce.LedgerCorrupt, None, dpreduce.dp_events, folder / "edited")


def test_the_command_prints_what_the_function_returns(folder):
    events, _ = fitted(folder, "written", "--method mean --mu 0.3 --train-person data/train_y.npy")
    assert json.loads(command(folder, "dp-events", "written").stdout) == dpreduce.dp_events(folder / "written") == events
    of_exchanges = command(folder, "dp-events", "written", "--adjacency", "replace-one").stdout
    assert json.loads(of_exchanges) == events_of(folder, "written", "replace-one")
    assert events["unit"] == "person"
    refused = command(folder, "dp-events", "absent")
    assert (refused.returncode, refused.stderr) == (3, "dpreduce: absent: no such ledger; check the path\n")
    assert command(folder, "dp-events").returncode == 2
    refuses(dpreduce.UsageError, "add-remove, replace-one", dpreduce.dp_events, folder / "written", "remove")


def test_the_relation_is_the_strictest_of_the_lines(folder):
    fitted(folder, "strict", "--method mean --mu 0.3")
    assert dpreduce.dp_events(folder / "strict")["adjacency"] == "add-remove"
    fitted(folder, "strict", "--method gd --rounds 2 --batch 0.5 --epsilon 1 --delta 1e-5 --accountant pld --adjacency replace-one")
    events = dpreduce.dp_events(folder / "strict")
    assert events["adjacency"] == "replace-one" and events["neighboring_relation"] == "REPLACE_ONE"


def test_a_reader_that_has_enough_ends_the_command_without_a_word(folder):
    fitted(folder, "part", "--method mean --mu 0.3")
    with subprocess.Popen([sys.executable, "-m", "dpreduce", "dp-events", "part"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 141
