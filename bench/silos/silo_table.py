#!/usr/bin/python3
"""One-shot sums over silos against federated averaging. launch/simulate-silos starts this; its head says what is told."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from lines import Lines

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PARTITIONS = {  # name: options of `dpreduce synth partition`
    "iid": "--scheme iid",
    "dirichlet-0.3": "--scheme dirichlet --alpha 0.3",
    "dirichlet-0.1": "--scheme dirichlet --alpha 0.1",
    "few-classes": "--scheme classes --classes-per-silo {few}",
    "quantity-0.3": "--scheme quantity --alpha 0.3",
    "feature-shift": "--scheme feature-shift --rotation 30",
}
METHODS = {  # name: options of `dpreduce fit`
    "ls": "--method ls --shared-gram --center dp",
    "mean": "--method mean --center dp",
    "fc": "--method fc --center dp",
    "fedavg": "--method fedavg --center dp",
}
DEPENDS_ON_PARTITION = {"fedavg"}
SEGMENT = 1460  # bytes of a packet that are ours
REFUSED = 5  # the exit code of a run that too few silos were left for


class Failed(Exception):
    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


@dataclass
class Row:
    partition: str
    method: str
    accuracy: float
    rounds: int
    bytes_per_silo: float
    round_trips: int
    network_seconds: float  # by the model
    seconds: float  # measured; with a network where silos mask
    phases: dict
    model: str  # beside the pooled one
    lost: list  # silos
    waits: dict  # of the coordinator for all silos together, by the kind of message that it waited for
    wire_bytes_per_silo: float = 0.0  # over a network, TLS included


def run(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}", done.returncode)
    return done.stdout


def partition_options(name, classes, silos):
    """Two classes a silo, or as many as it takes for every class to have a silo."""
    few = min(classes, max(2, -(-classes // silos)))
    return PARTITIONS[name].format(few=few).split()


class Federation:
    """One partition of the data: its files, and the runs on them."""

    wire_bytes = 0  # of the last run over a network

    def __init__(self, arguments, name, folder):
        self.arguments, self.name, self.folder = arguments, name, folder
        self.program = os.path.abspath(os.environ.get("DPREDUCE", os.path.join(ROOT, "build/release/dpreduce")))
        options = ["--x", self.data("train_x"), "--y", self.data("train_y"), "--classes", str(arguments.classes), "--silos",
                 str(arguments.silos), "--first-silo", str(int(arguments.secure)), "--seed", str(arguments.seed), "--out", folder]
        run([self.program, "synth", "partition", *options, *partition_options(name, arguments.classes, arguments.silos)])

    def data(self, stem):
        return os.path.join(self.arguments.data, stem + ".npy")

    def path(self, name):
        return os.path.join(self.folder, name)

    def options(self, method, out):
        a = self.arguments
        options = METHODS[method].split() + ["--classes", a.classes, "--epsilon", a.epsilon, "--delta", a.delta,
                                           "--ledger", self.path(out + ".jsonl"), "--out", self.path(out),
                                           "--timings", self.path(out + ".timings"), "--overwrite", "--format", "json"]
        if not a.network:  # whoever knows a seed can take the noise off: parties over a network have none
            options += ["--seed", a.seed]
        if method == "fedavg":
            options += ["--rounds", a.rounds, "--local-steps", a.local_steps]
        return [str(option) for option in options]

    def agreed_options(self):
        a = self.arguments
        options = ["--silo-timeout", str(a.silo_timeout), "--noise", a.noise]
        return options + (["--threshold", str(a.threshold)] if a.threshold else [])

    def secure_options(self):
        """Among silos that show nobody their sums, behind a coordinator: rank 0."""
        a = self.arguments
        options = ["--secure-aggregation", *self.agreed_options()]
        options += ["--round-trip", str(a.round_trip), "--bandwidth", str(a.bandwidth), "--packet-loss", str(a.packet_loss)]
        for fault in a.fault:
            options += ["--fault", fault]
        return options

    def over_silos(self, options):
        """A silo a rank, each with files of its own."""
        ranks = self.arguments.silos + int(self.arguments.secure)
        with_faults = {"DPREDUCE": os.path.join(os.path.dirname(self.program), "tests/attacks/dpreduce_attacks")} if "--fault" in options else {}
        return json.loads(run([os.path.join(ROOT, "launch/local"), str(ranks), *options], {**os.environ, **with_faults}))

    def fit(self, method):
        """The report, and the bytes of a silo: counted among silos that mask, whose lines delay them, else planned."""
        files = ["--train-x", self.path("silo{rank}/x.npy"), "--train-y", self.path("silo{rank}/y.npy")]
        test = ["--test-x", self.data("test_x"), "--test-y", self.data("test_y")]
        if self.arguments.secure:
            report = self.over_silos(["fit", *files, *test, *self.options(method, method), *self.secure_options()])
            return report, sum(kind["bytes"] for kind in report["silos"]["messages"].values()) / self.arguments.silos
        plan = self.over_silos(["fit", *files, *self.options(method, "planned"), "--dry-run"])
        return self.over_silos(["fit", *files, *test, *self.options(method, method)]), plan["cost"]["wire_bytes_per_rank"]

    def pooled(self, method):
        """The same rows in one place."""
        files = ["--train-x", self.path("silo*/x.npy"), "--train-y", self.path("silo*/y.npy")]
        run([self.program, "fit", *files, *self.options(method, method + "-pooled")])

    def model(self, method, lost):
        """What the model is beside that of the pooled rows; it must be the same where nothing sets them apart."""
        if method in DEPENDS_ON_PARTITION:
            return "other steps"
        if self.arguments.noise == "distributed" or self.arguments.network:
            return "other noise"
        if lost:
            return "other rows"
        self.pooled(method)
        if not self.same_model(method):
            raise Failed(f"{method} over silos ({self.name}) is not the model of the pooled rows")
        return "same bits"

    def same_model(self, method):
        with open(self.path(method), "rb") as spread, open(self.path(method + "-pooled"), "rb") as pooled:
            return spread.read() == pooled.read()

    def row(self, method):
        try:
            report, bytes_per_silo = self.fit(method)
        except Failed as failure:
            if failure.code != REFUSED or not self.arguments.fault:
                raise
            return Row(self.name, method, None, 0, 0, 0, 0, 0, {}, "refused: too few silos left", [], {})
        lost = [silo["silo"] for silo in report.get("silos", {}).get("lost", [])]
        labels = {release["release"] for release in report["privacy"]["releases"]}
        rounds = len(labels)
        if "local_steps" in report:  # those of a round send nothing
            gradients = sum(1 for label in labels if label.startswith("gradient"))
            rounds += gradients // report["local_steps"] - gradients
        a = self.arguments
        with open(self.path(method + ".timings"), encoding="utf-8") as file:
            timings = json.load(file)
        seconds = sum(timings["phases"].values())
        round_trips = rounds
        waits = {}
        if a.secure:
            seconds += timings["waits"]["hello"]  # before the first phase
            waits = {name: kind["waits"] for name, kind in report["silos"]["messages"].items() if kind["waits"]}
            round_trips = sum(waits.values())
        network = round_trips * a.round_trip / 1e3 + 8 * bytes_per_silo / line_rate(a)
        phases = {name: seconds for name, seconds in timings["phases"].items() if name not in ("open", "write", "test")}
        return Row(self.name, method, report["test"]["accuracy"], rounds, bytes_per_silo, round_trips, network, seconds,
                   phases, self.model(method, lost), lost, waits, self.wire_bytes / a.silos)


class NetworkFederation(Federation):
    """The same over TCP and TLS: a coordinator and silos that are processes of their own, with lines between them."""

    def __init__(self, arguments, name, folder):
        super().__init__(arguments, name, folder)
        import numpy  # the other runs need none

        dim = numpy.load(self.path("silo1/x.npy"), mmap_mode="r").shape[1]
        roster = f"dim = {dim}\nclasses = {arguments.classes}\n"
        for number in range(arguments.silos + 1):
            key = run([self.program, "keygen", "--out", self.path(f"{number}.key"), "--name", f"n{number}"])
            key = [line for line in key.splitlines() if line.startswith(("name", "key"))]
            roster += "\n".join([f"[silo.{number}]" if number else "[coordinator]", *key, ""])
        with open(self.path("roster.toml"), "w", encoding="utf-8") as file:
            file.write(roster)

    def start(self, role, number, options):
        own = ["--roster", self.path("roster.toml"), "--identity", self.path(f"{number}.key"), "--threads", "1"]
        return subprocess.Popen([self.program, role, *own, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def address(self, coordinator):
        """Where it listens, once it does."""
        while coordinator.poll() is None:
            try:
                with open(self.path("health"), encoding="utf-8") as file:
                    return json.load(file)["address"]
            except FileNotFoundError:
                time.sleep(0.01)
        raise Failed(f"the coordinator: exit {coordinator.returncode}: {coordinator.stderr.read().strip()}")

    def fit(self, method):
        a = self.arguments
        agreed = [*METHODS[method].split(), "--classes", str(a.classes), "--epsilon", str(a.epsilon), "--delta", str(a.delta),
                  *self.agreed_options()]
        test = ["--test-x", self.data("test_x"), "--test-y", self.data("test_y")]
        if os.path.exists(self.path("health")):
            os.remove(self.path("health"))
        parties = [self.start("coordinator", 0, ["--listen", "127.0.0.1:0", "--health", self.path("health"), *test,
                                                 *self.options(method, method), *self.agreed_options()])]
        line = Lines(int(self.address(parties[0]).rsplit(":", 1)[1]), a.round_trip / 1e3, line_rate(a))
        for number in range(1, a.silos + 1):
            rows = [word for axis in "xy" for word in (f"--train-{axis}", self.path(f"silo{number}/{axis}.npy"))]
            parties.append(self.start("silo", number, ["--connect", f"127.0.0.1:{line.port}", "--ledger",
                                                       self.path(f"{number}.jsonl"), *rows, *agreed]))
        said = [party.communicate() for party in parties]
        self.wire_bytes = line.bytes
        line.close()
        for party, (_, error) in zip(parties, said):
            if party.returncode != 0:
                raise Failed(f"{party.args[1]}: exit {party.returncode}: {error.strip()}", party.returncode)
        report = json.loads(said[0][0])
        return report, sum(kind["bytes"] for kind in report["silos"]["messages"].values()) / a.silos


def line_rate(arguments):
    """Bits a second of a silo's line: its bandwidth, or what TCP makes of it where packets get lost. As src/common/silos/line.hpp.

    min(bandwidth, sqrt(3/2) MSS / (round trip sqrt(loss)))   MSS 1460 bytes; [mathis1997], equation 3
    """
    bandwidth = arguments.bandwidth * 1e6
    if arguments.packet_loss == 0 or arguments.round_trip == 0:
        return bandwidth
    return min(bandwidth, math.sqrt(1.5 / (arguments.packet_loss / 100)) * 8 * SEGMENT / (arguments.round_trip / 1e3))


def accuracy_text(row):
    return "-" if row.accuracy is None else f"{row.accuracy:.4f}"


def table(rows, arguments):
    lost = f", {arguments.packet_loss:g} % lost" if arguments.packet_loss else ""
    network = f"network, s ({arguments.round_trip:g} ms, {arguments.bandwidth:g} Mbit/s{lost})"
    head = ["partition", "method", "accuracy", "model", "rounds", "MB a silo", network, "seconds by phase"]
    if arguments.secure:
        head += ["round trips", "seconds, network in them", "lost"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in row.phases.items() if seconds >= 0.005)
        lines.append([row.partition, row.method, accuracy_text(row), row.model, str(row.rounds),
                      f"{row.bytes_per_silo / 1e6:.2f}", f"{row.network_seconds:.2f}", phases])
        if arguments.secure:
            lost = ", ".join(f"silo {silo}" for silo in row.lost) or "-"
            lines[-1] += [str(row.round_trips), f"{row.seconds:.2f}", lost]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def positive(text):
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def not_negative(text):
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def percentage(text):
    number = float(text)
    if not 0 <= number <= 99:
        raise ValueError
    return number


def count(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def parse():
    parser = argparse.ArgumentParser(prog="launch/simulate-silos", allow_abbrev=False)
    parser.add_argument("data")
    parser.add_argument("classes", type=count)
    parser.add_argument("--silos", type=count, default=8)
    parser.add_argument("--epsilon", type=positive, default=1.0)
    parser.add_argument("--delta", type=positive, default=1e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partition", action="append", choices=PARTITIONS)
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--rounds", type=count, default=60)
    parser.add_argument("--local-steps", type=count, default=5)
    parser.add_argument("--round-trip", type=not_negative, default=40.0)
    parser.add_argument("--bandwidth", type=positive, default=100.0)
    parser.add_argument("--packet-loss", type=percentage, default=0.0)
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--threshold", type=count)
    parser.add_argument("--noise", choices=("central", "distributed"), default="central")
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--silo-timeout", type=positive, default=60.0)
    parser.add_argument("--out", default=os.path.join(ROOT, "build/silos"))
    parser.add_argument("--check", action="store_true", help="check the arguments alone")
    arguments = parser.parse_args()
    if arguments.network and (arguments.fault or arguments.packet_loss):
        parser.error("--fault and --packet-loss are of simulated lines: leave them out with --network")
    arguments.secure = arguments.secure or arguments.network
    if not arguments.secure and (arguments.threshold or arguments.fault or arguments.noise != "central"):
        parser.error("--threshold, --noise and --fault go with --secure")
    if arguments.packet_loss and not arguments.round_trip:
        parser.error("--packet-loss goes with a --round-trip: what is lost costs round trips")
    if arguments.secure and "fedavg" in (arguments.method or []):
        parser.error("--method fedavg: its silos release for themselves; compare it without --secure")
    for stem in ("train_x", "train_y", "test_x", "test_y"):
        if not os.path.isfile(os.path.join(arguments.data, stem + ".npy")):
            parser.error(f"{arguments.data}: has no {stem}.npy")
    arguments.data = os.path.abspath(arguments.data)
    arguments.out = os.path.abspath(arguments.out)
    return arguments


def main():
    arguments = parse()
    if arguments.check:
        return
    os.makedirs(arguments.out, exist_ok=True)
    rows = []
    for name in arguments.partition or PARTITIONS:
        folder = tempfile.mkdtemp(prefix=name + "-", dir=arguments.out)
        try:
            federation = (NetworkFederation if arguments.network else Federation)(arguments, name, folder)
            for method in arguments.method or [m for m in METHODS if not (arguments.secure and m == "fedavg")]:
                rows.append(federation.row(method))
                print(f"{name}, {method}: {accuracy_text(rows[-1])}", file=sys.stderr, flush=True)
        finally:
            shutil.rmtree(folder)
    text = (f"{arguments.silos} silos, epsilon {arguments.epsilon:g}, delta {arguments.delta:g}, seed {arguments.seed}\n\n"
            + table(rows, arguments) + "\n")
    with open(os.path.join(arguments.out, "silos.md"), "w") as file:
        file.write(text)
    with open(os.path.join(arguments.out, "silos.json"), "w") as file:
        json.dump([vars(row) for row in rows], file, indent=2)
    print(text, end="")


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"launch/simulate-silos: {failure}")
