#!/usr/bin/python3
"""How fits scale: simulates or measures them, and draws what was found. launch/scaling starts this.

    scaling_page.py OUT rates RANKS                                                OUT/scaling.csv, OUT/scaling.svg
    scaling_page.py OUT simulate|silos|measure RANKS NETWORKS SCALINGS METHODS     adds to OUT/fits.csv
    scaling_page.py OUT draw [PAGE BUILD]                                          OUT/fits.svg; PAGE: its part of it

rates: of Gram matrices and training rounds alone; simulate: whole fits by build/release/bench/simulated_ranks; silos:
whole runs among so many silos; measure: the fits on real ranks. LAUNCHER (launch/local) starts the ranks of rates and
measure; those of rates run bench/dpreduce_bench. Lists have commas: 16,64,256 100g,25g strong,weak mean,ls,ls-shared,fc.

ROWS, DIM, CLASSES (those of ImageNet), ROWS_A_RANK (100000, weak scaling) and ROUNDS (20) may be set; of rates REPEATS
(3) and THREADS (1) as well.
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time

from measured_machine import bench_beside, machine
from page_part import ROOT, build_id, write_part

BUILD = os.path.join(ROOT, "build/release")


def refuse(why):
    print(f"launch/scaling: {why}", file=sys.stderr)
    sys.exit(2)


def whole(name, text):
    if not text.isdecimal() or int(text) == 0:
        refuse(f"{name} '{text}': must be a whole number, at least 1")
    return int(text)


ROWS, DIM, CLASSES, ROWS_A_RANK, ROUNDS, REPEATS, THREADS = (whole(name, os.environ.get(name, usual)) for name, usual in [
    ("ROWS", "1281167"), ("DIM", "1664"), ("CLASSES", "1000"), ("ROWS_A_RANK", "100000"), ("ROUNDS", "20"), ("REPEATS", "3"), ("THREADS", "1")])
LAUNCHER = os.path.abspath(os.environ.get("LAUNCHER", os.path.join(ROOT, "launch/local")))
METHODS = {"mean": [], "ls": [], "ls-shared": ["--shared-gram"], "fc": ["--rounds"]}
FEW, NARROW, CONTEXT = 8, 16, 6  # ranks whose computation is measured with whole rows; features of the rows that many ranks hold; calls before a place
RECORDED = (2 * 1024, 64 * 1024)  # rows of the two records, from which follows what a row takes: about as few a rank as thousands of ranks have, and many
CHECKED, FEW_ROUNDS = 16, 3  # ranks of the whole run that a scaled one is compared with; rounds of what is whole
FIELDS = ["source", "scaling", "method", "network", "ranks", "rows", "seconds", "formula", "coordinator", "floor", "floor_phases", "others", "bytes", "phases", "whole", "even", "machine", "build"]
# What ranks share in parts, after which calls: noise in pieces (block_noise.hpp), fc's eigenvectors and regressions of ls in groups
# (least_squares.cpp), once all have the coordinator's spectrum (gram_spectrum.cpp).
GROUPS = lambda rows: 1 if rows <= 192 else 2 * -(-rows // 384)
SPECTRUM = ("B", f"B{8 * DIM}", f"B{8 * (DIM - 1)}", f"B{8 * DIM * DIM}", f"B{8 * DIM * DIM}")
SHARED = {("R", "A", "B"): -(-CLASSES * DIM // 65536), (*SPECTRUM, "A", f"B{8 * DIM}"): GROUPS(DIM),
          (f"B{8 * CLASSES * DIM}", "A", *SPECTRUM): GROUPS(CLASSES)}
SILO_ROWS, SILO_DIM, SILO_CLASSES = 1000, 256, 10
RATES, LATENCY = {"100g": 12.5e9, "25g": 3.125e9, "dragonfly": 25e9}, 2e-6


def run(command, folder, program=None):
    for name in os.listdir(folder):
        if name.startswith("ledger"):
            os.remove(os.path.join(folder, name))
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=folder, env={**os.environ, **({"DPREDUCE": program} if program else {})})
    if done.returncode != 0:
        sys.exit(f"launch/scaling: {' '.join(map(str, command[:12]))} ...: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def fit(method, data, classes=CLASSES, rounds=ROUNDS, seed=("--seed", 1)):
    return ["fit", "--train-x", f"{data}/train_x*.npy", "--train-y", f"{data}/train_y*.npy", "--classes", classes,
            "--epsilon", 8, "--delta", 1e-7, "--threads", 1, *seed, "--method", method.split("-")[0], *METHODS[method], *([rounds] if method == "fc" else []), "--out", "model",
            "--report", "report.json", "--timings", "timings.json", "--ledger", "ledger.jsonl", "--overwrite"]


def synth(folder, name, rows, dim, shards=1, classes=CLASSES):
    path = os.path.join(folder, name)
    run([f"{BUILD}/dpreduce", "synth", "--kind", "gaussian-mixture", "--overwrite", "--out", path, "--rows", rows, "--test-rows", classes, "--dim", dim,
         "--classes", classes, "--shards", shards], folder)
    return path


def phases_of(folder):
    with open(os.path.join(folder, "timings.json"), encoding="utf-8") as file:
        return json.load(file)["phases"]


def calls_of(path):
    """Of each rank, its collectives in order: (kind, bytes, seconds of computation before)."""
    ranks = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            rank, kind, length, seconds = line.split()
            ranks.setdefault(int(rank), []).append((kind, int(length), float(seconds)))
    return ranks


class Charges:
    """What computation takes at each place in the program, a + b rows, and how long messages of whole rows are. A place is known by the calls around it."""

    def __init__(self, method, folder, narrow, wide):
        self.method, self.folder, self.narrow, self.lengths = method, folder, narrow, {}
        records = [self.record(FEW, data, FEW_ROUNDS) for data in (narrow, *wide)]
        for rank, calls in records[0].items():
            for place, (kind, length, _) in enumerate(calls):
                at = [record[rank][place] for record in records]
                full = at[1][1] if at[1][1] > 8 * length else length  # texts have a few bytes more or less
                if {call[0] for call in at} != {kind} or full != length and at[1][1] != at[2][1]:
                    sys.exit(f"launch/scaling: {method}: call {place} of rank {rank} depends on the rows: {at}")
                if full != length and self.lengths.setdefault((kind, length), full) != full:
                    sys.exit(f"launch/scaling: {method}: {length} narrow bytes stand for messages of several lengths; choose other CLASSES")
        seconds = {}
        for rank, calls in records[0].items():
            names = self.names(calls)
            for place in range(len(calls)):
                for key in keys(min(rank, 1), names, place):
                    seconds.setdefault(key, []).append((records[1][rank][place][2], records[2][rank][place][2]))
        mean = lambda numbers: sum(numbers) / len(numbers)
        few, more = (rows / FEW for rows in RECORDED)
        self.places = {}
        for key, pairs in seconds.items():  # a row takes as long on any rank, and the coordinator is one of many
            of_all = [pair for role in "01" for pair in seconds.get(role + key[1:], [])]
            slope = max(0.0, mean([two - one for one, two in of_all]) / (more - few))
            self.places[key] = (max(0.0, mean([one - slope * few + two - slope * more for one, two in pairs]) / 2), slope)

    def record(self, ranks, data, rounds, times=2):
        best = None
        for _ in range(times):  # the faster one, call by call: other work makes a call slower, never faster
            self.simulated(ranks, "100g", data, rounds, "record")
            calls = calls_of(os.path.join(self.folder, "record"))
            best = calls if best is None else {rank: [(*one[:2], min(one[2], two[2])) for one, two in zip(best[rank], calls[rank])] for rank in calls}
        return best

    def names(self, calls):
        return [f"{kind}{self.lengths[kind, length]}" if (kind, length) in self.lengths else kind for kind, length, _ in calls]

    def of_ranks(self, ranks, rounds=ROUNDS):
        """What so many ranks call, in order: of the coordinator, and of another rank."""
        record = self.record(ranks, self.narrow, rounds, times=1)
        other = min(1, max(record))  # of one rank: itself
        for kind, length, _ in record[other]:  # a sum of solutions is of as many classes as there are ranks
            if kind == "R" and length > 64 and length % (8 * (NARROW + 1)) == 0:
                self.lengths.setdefault((kind, length), length // (NARROW + 1) * (DIM + 1))
        return [self.names(record[role]) for role in (0, other)]

    def write(self, calls, rows_of_rank, ranks):
        with open(os.path.join(self.folder, "charge"), "w", encoding="utf-8") as file:
            file.writelines(f"b {kind}{length} {full}\n" for (kind, length), full in self.lengths.items())
            for role, names in enumerate(calls):
                for place in range(len(names)):
                    a, b = next((self.places[key] for key in keys(role, names, place) if key in self.places), (0.0, 0.0))
                    file.write(f"c {role} {(a + b * rows_of_rank) * share(role, names, place, ranks):.9f}\n")

    def scaled(self, calls, rows_of_rank, ranks, network, rounds=ROUNDS):
        self.write(calls, rows_of_rank, ranks)
        return self.simulated(ranks, network, self.narrow, rounds, "charge")

    def simulated(self, ranks, network, data, rounds, what):
        return json.loads(run([f"{BUILD}/bench/simulated_ranks", ranks, network, f"--{what}", what, "--", *fit(self.method, data, rounds=rounds)], self.folder).splitlines()[-1])

    def check(self, wide):
        """A whole run, of more ranks than were recorded; the same where no rank computes longer than another; and the scaled run that stands for it."""
        whole = self.simulated(CHECKED, "100g", wide, FEW_ROUNDS, "record")["seconds"]
        calls = calls_of(os.path.join(self.folder, "record"))
        with open(os.path.join(self.folder, "charge"), "w", encoding="utf-8") as file:
            file.writelines(f"c 0 {call[2]:.9f}\n" for call in calls[0])
            file.writelines(f"c 1 {sum(call[2] for call in same) / len(same):.9f}\n" for same in zip(*(calls[rank] for rank in calls if rank > 0)))
        even = self.simulated(CHECKED, "100g", wide, FEW_ROUNDS, "charge")["seconds"]
        told = self.scaled(self.of_ranks(CHECKED, FEW_ROUNDS), RECORDED[1] / CHECKED, CHECKED, "100g", FEW_ROUNDS)
        return {"source": "simulated", "scaling": "check", "method": self.method, "network": "100g", "ranks": CHECKED, "rows": RECORDED[1], "seconds": told["seconds"], "whole": whole, "even": even}


def keys(role, names, place):
    """From what is told most exactly of a place to what is told least."""
    for following in (*names[place + 1:place + 2], ""):
        for context in range(min(place, CONTEXT), -1, -1):
            if following and context < 2:
                break
            yield f"{role}|{'.'.join(names[place - context:place + 1])}<{following}"


def share(role, names, place, ranks):
    """Of what ranks share in parts: those of such a rank, beside those of the rank that was recorded."""
    for before, parts in SHARED.items():
        if names[max(0, place - len(before)):place + 1] == [*before, "A"]:
            return len(range(role, parts, ranks)) / max(1, len(range(role, parts, FEW)))
    return 1.0


def simulate(ranks, networks, scalings, methods, out):
    with tempfile.TemporaryDirectory(dir=out) as folder:
        narrow = synth(folder, "narrow", max(8192, 2 * max(ranks)), NARROW)
        wide = [synth(folder, f"wide{count}", count, DIM) for count in RECORDED]
        for method in methods:
            charges = Charges(method, folder, narrow, wide)
            yield charges.check(wide[1])
            for count in sorted({4, *ranks}):
                calls = charges.of_ranks(count)
                for network, scaling in ((n, s) for n in networks for s in scalings):
                    rows = ROWS if scaling == "strong" else ROWS_A_RANK * count
                    if scaling == scalings[0]:
                        without_rows, floor_phases = charges.scaled(calls, 0, count, network), json.dumps(phases_of(folder))
                    told = charges.scaled(calls, rows / count, count, network)
                    formula = told["coordinator_computes"] + 2 * told["bytes"] / RATES[network] + 2 * LATENCY * math.log2(count) * told["calls"]
                    yield {"source": "simulated", "scaling": scaling, "method": method, "network": network, "ranks": count, "rows": rows,
                           "seconds": told["seconds"], "formula": formula, "coordinator": told["coordinator_computes"],
                           "floor": without_rows["coordinator_computes"], "floor_phases": floor_phases, "others": told["others_compute"], "bytes": told["bytes"], "phases": json.dumps(phases_of(folder))}


def simulate_silos(silos, networks, _, methods, out):
    """Whole and unscaled: masks, frames and keys take what they take here."""
    with tempfile.TemporaryDirectory(dir=out) as folder:
        for count in silos:
            synth(folder, f"silos{count}", (count + 1) * SILO_ROWS, SILO_DIM, count + 1, SILO_CLASSES)
            for name in ("train_x_0.npy", "train_y_0.npy"):  # the coordinator has none
                os.remove(f"{folder}/silos{count}/{name}")
            for method, network in ((m, n) for m in methods for n in networks):
                words = [word.replace("train_x*", "train_x_{rank}").replace("train_y*", "train_y_{rank}") if isinstance(word, str) else word
                         for word in fit(method, f"silos{count}", SILO_CLASSES, seed=())]
                told = json.loads(run([f"{BUILD}/bench/simulated_ranks", count + 1, network, "--", *words, "--secure-aggregation"], folder).splitlines()[-1])
                yield {"source": "simulated", "scaling": "silos", "method": method, "network": network, "ranks": count, "rows": count * SILO_ROWS,
                       "seconds": told["seconds"], "formula": told["coordinator_computes"] + told["others_compute"] + count * told["bytes"] / RATES[network],
                       "coordinator": told["coordinator_computes"], "others": told["others_compute"], "bytes": told["bytes"], "phases": json.dumps(phases_of(folder))}


def measure(ranks, _, scalings, methods, out):
    with tempfile.TemporaryDirectory(dir=out) as folder:
        for scaling, count in ((s, r) for s in scalings for r in ranks):
            rows = ROWS if scaling == "strong" else ROWS_A_RANK * count
            data = synth(folder, "rows", rows, DIM, count)
            for method in methods:
                began = time.monotonic()
                run([LAUNCHER, count, *fit(method, data)], folder)
                yield {"source": "measured", "scaling": scaling, "method": method, "network": "", "ranks": count, "rows": rows,
                       "seconds": time.monotonic() - began, "phases": json.dumps(phases_of(folder))}


def rates(ranks, out):
    lines, program = [], bench_beside(os.environ.get("DPREDUCE", f"{BUILD}/dpreduce"))
    with tempfile.TemporaryDirectory(dir=out) as folder:
        for part, scaling, count in ((b, s, r) for b in ("gram", "round") for s in ("strong", "weak") for r in ranks):
            rows = ROWS if scaling == "strong" else ROWS * count
            classes = CLASSES if part == "round" else ""
            told = json.loads(run([LAUNCHER, count, part, "--rows", rows, "--dim", DIM, "--threads", THREADS, "--repeats", REPEATS, "--format", "json",
                                   *(["--classes", classes] if classes else [])], folder, program))
            lines.append({"source": "measured", "scaling": scaling, "method": part, "network": "", "ranks": count, "threads": THREADS, "rows": rows, "dim": DIM,
                          "classes": classes, "seconds": told["seconds"], "gmac_per_second": told["gmac_per_second"]})
    with open(os.path.join(out, "scaling.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["bench", "scaling", "ranks", "threads", "rows", "dim", "classes", "seconds", "gmac_per_second", "efficiency"])
        for line in lines:
            told = [line[field] for field in ("method", "scaling", "ranks", "threads", "rows", "dim", "classes", "seconds", "gmac_per_second")]
            writer.writerow([*told, f"{efficiency(line, lines):.3f}"])
    with open(os.path.join(out, "scaling.svg"), "w", encoding="utf-8") as file:
        file.write(picture(lines, ("gram", "round"), ""))
    print(os.path.join(out, "scaling.csv"), os.path.join(out, "scaling.svg"), sep="\n")


def known(out):
    path = os.path.join(out, "fits.csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def add(out, lines, measured_on="", build=""):
    """Each line as it comes, so that what is interrupted keeps what it has. A newer line takes the place of an older."""
    for line in lines:
        line["machine"], line["build"] = measured_on, build
        key = [str(line[field]) for field in FIELDS[:5]]
        lines_so_far = [old for old in known(out) if [old[field] for field in FIELDS[:5]] != key] + [line]
        with open(os.path.join(out, "fits.csv.new"), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, restval="")
            writer.writeheader()
            writer.writerows(lines_so_far)
        os.replace(os.path.join(out, "fits.csv.new"), os.path.join(out, "fits.csv"))
        print(f"{line['source']} {line['scaling']} {line['method']} {line['network']} {line['ranks']} ranks: {line['seconds']:.2f} s", file=sys.stderr, flush=True)


def efficiency(line, lines):
    """Beside the fewest ranks of the same kind."""
    same = [other for other in lines if all(other[field] == line[field] for field in FIELDS[:4])]
    first = min(same, key=lambda other: int(other["ranks"]))
    share = int(line["ranks"]) / int(first["ranks"]) if line["scaling"] == "strong" else 1.0
    return float(first["seconds"]) / share / float(line["seconds"])


def picture(lines, names, network):
    """Efficiency by ranks, both scalings; circles are measured."""
    left = {"strong": 50, "weak": 390}
    most = max((int(line["ranks"]) for line in lines), default=1)
    colors = dict(zip(names, ("#1b6ca8", "#c0392b", "#e59866", "#2e8b57")))
    at = lambda scaling, ranks, share: (left[scaling] + 290 * math.log2(max(ranks, 1)) / max(math.log2(most), 1), 260 - 220 * min(share, 1.1))
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" width="720" height="320" font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for scaling in left:
        svg.append(f'<text x="{left[scaling]}" y="12">{scaling} scaling{network}: efficiency by ranks</text>')
        for share in (0, 0.5, 1):
            (x, y), (end, _) = at(scaling, 1, share), at(scaling, most, share)
            svg.append(f'<line x1="{x}" y1="{y}" x2="{end}" y2="{y}" stroke="#ccc"/><text x="{x - 25}" y="{y + 4}">{share}</text>')
        for ranks in sorted({int(line["ranks"]) for line in lines if line["scaling"] == scaling}):
            svg.append(f'<text x="{at(scaling, ranks, 0)[0]}" y="278" text-anchor="middle">{ranks}</text>')
    for number, (method, color) in enumerate(colors.items()):
        svg.append(f'<text x="{60 + 150 * number}" y="305" fill="{color}">{method}</text>')
        for scaling in left:
            of = sorted((line for line in lines if line["scaling"] == scaling and line["method"] == method), key=lambda line: int(line["ranks"]))
            points = [(line["source"], *at(scaling, int(line["ranks"]), efficiency(line, lines))) for line in of if line["network"] in ("100g", "")]
            for kind in ("simulated", "measured"):
                svg.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for source, x, y in points if source == kind)}"/>')
            svg += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="none" stroke="{color}"/>' for source, x, y in points if source == "measured"]
    return "\n".join([*svg, "</svg>"]) + "\n"


def in_words(phases):
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in json.loads(phases).items() if seconds >= 0.01)


def bound(lines, ranks=256, asked=0.8):
    """Whether what does not shrink with more ranks leaves room for that efficiency."""
    kind = ("simulated", "strong", "fc", "100g")
    seconds, floor = ({int(line["ranks"]): line[field] for line in lines if tuple(line[field] for field in FIELDS[:4]) == kind} for field in ("seconds", "floor"))
    if ranks not in seconds:
        return ""
    first = min(seconds)
    ideal = float(seconds[first]) * first / ranks
    of_ranks = next(line for line in lines if tuple(line[field] for field in FIELDS[:5]) == (*kind, str(ranks)))
    taken = float(of_ranks["seconds"])
    return (f"On {ranks} ranks the rows alone take {ideal:.2f} s, since {first} ranks take {float(seconds[first]):.1f} s. An efficiency of {asked} leaves\n"
            f"{ideal / asked - ideal:.2f} s beside them; {taken - ideal:.2f} s are taken, an efficiency of {ideal / taken:.2f}. Without rows the coordinator computes {float(floor[ranks]):.2f} s,\n"
            f"on a network without delay, too. Phases of such a run: {in_words(of_ranks['floor_phases'])}.\n"
            f"Messages, and waiting for them, take {taken - float(of_ranks['coordinator']):.2f} s: sums in segments beside computing could take off no more than that.")


def off_formula(lines, most=1.15):
    """The lines whose seconds are above the formula's by more than that, in words."""
    return ", ".join(f"{line['method']} on {line['ranks']} ranks ({line['network']}, {line['scaling']})" for line in lines
                     if line.get("formula") and float(line["seconds"]) > most * float(line["formula"])) or "none"


def table(lines, every):
    head = ["method", "network", "ranks", "seconds", "efficiency", "formula", "coordinator computes", "of that without rows", "others compute", "MB a rank", "phases (s)", "build"]
    cells = []
    for line in lines:
        number = lambda field, digits, scale=1: f"{float(line[field]) / scale:.{digits}f}" if line.get(field) else ""
        cells.append([line["method"], line["network"], line["ranks"], number("seconds", 2), f"{efficiency(line, every):.2f}", number("formula", 2),
                      number("coordinator", 2), number("floor", 2), number("others", 2), number("bytes", 0, 1e6), in_words(line["phases"]), line.get("build", "").rpartition("(")[2].rstrip(")")])
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *cells])


def draw(out, page=None, build=None):
    lines = sorted(known(out), key=lambda line: (line["source"], line["scaling"], list(METHODS).index(line["method"]), line["network"], int(line["ranks"])))
    for path in [os.path.join(out, "fits.svg"), *([os.path.join(os.path.dirname(page), "../assets/scaling.svg")] if page else [])]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(picture([line for line in lines if line["scaling"] in ("strong", "weak")], METHODS, ", 100 Gb/s"))
        print(path)
    if page:
        with open(os.path.join(ROOT, "bench/scaling.md"), encoding="utf-8") as file:
            text = file.read()
        tables = {scaling: table([line for line in lines if line["scaling"] == scaling], lines) for scaling in ("strong", "weak", "silos")}
        checks = "; ".join(f"{line['method']} {float(line['whole']):.2f}, {float(line['even']):.2f} and {float(line['seconds']):.2f}" for line in lines if line["scaling"] == "check")
        write_part(page, "launch/scaling", text.format(build=build, rows=ROWS, dim=DIM, classes=CLASSES, rows_a_rank=ROWS_A_RANK, rounds=ROUNDS, few=FEW, narrow=NARROW,
                                                       one=RECORDED[0], two=RECORDED[1], silo_rows=SILO_ROWS, silo_dim=SILO_DIM, silo_classes=SILO_CLASSES, bound=bound(lines), off=off_formula(lines), checked=CHECKED, few_rounds=FEW_ROUNDS, checks=checks, machines=" and of ".join(sorted({line["machine"] for line in lines})), **tables))
        print(page)


def main(out, what, *words):
    out = os.path.abspath(out)
    if what == "draw":
        return draw(out, *words)
    ranks, networks, scalings, methods = ([whole("RANKS", word) for word in words[0].split(",")], *([word.split(",") for word in words[1:]] or [[]] * 3))
    unknown = {"--network": set(networks) - {*RATES, ""}, "METHODS": set(methods) - set(METHODS), "SCALINGS": set(scalings) - {"strong", "weak", "silos"}}
    for name, values in unknown.items():
        if values:
            refuse(f"{name} {min(values)}: there is none; see launch/scaling --help")
    os.makedirs(out, exist_ok=True)
    if what == "rates":
        return rates(ranks, out)
    add(out, {"simulate": simulate, "silos": simulate_silos, "measure": measure}[what](ranks, networks, scalings, methods, out), machine(f"{BUILD}/dpreduce"), build_id())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
