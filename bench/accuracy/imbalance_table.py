"""Tables of balanced and minority accuracy from the JSON of `dpreduce sweep`, and a data set's split for it.

    imbalance_table.py split DATA OUT PUBLIC    first rows of DATA/train_x.npy to OUT, the last PUBLIC to OUT/public_x.npy
    imbalance_table.py rows FILE.npy            how many rows the file's header tells; needs no NumPy
    imbalance_table.py print SWEEP.json         medians over seeds, as Markdown
    imbalance_table.py write FILE [SWEEP.json NAME WHAT]...    the same of several sets, a section each, in the place of
        @SECTIONS@ in bench/accuracy/imbalance.md, and @BUILD@ and @COMMAND@; NAME of the set, WHAT rows
"""

import ast
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from page_part import build_id, write_whole  # noqa: E402


def split(data, out, public_rows):
    import numpy

    os.makedirs(out, exist_ok=True)
    features = numpy.load(os.path.join(data, "train_x.npy"), mmap_mode="r")
    labels = numpy.load(os.path.join(data, "train_y.npy"))
    private_rows = len(features) - int(public_rows)
    numpy.save(os.path.join(out, "train_x.npy"), features[:private_rows])
    numpy.save(os.path.join(out, "train_y.npy"), labels[:private_rows])
    numpy.save(os.path.join(out, "public_x.npy"), features[private_rows:])


def rows(path):
    """The first dimension of an .npy file (NumPy's format, versions 1 to 3)."""
    try:
        with open(path, "rb") as file:
            magic, version = file.read(6), file.read(2)
            if magic != b"\x93NUMPY":
                raise ValueError("no .npy file")
            length = int.from_bytes(file.read(2 if version[0] == 1 else 4), "little")
            return ast.literal_eval(file.read(length).decode("utf-8"))["shape"][0]
    except (OSError, ValueError, SyntaxError, LookupError) as error:
        sys.exit(f"launch/imbalance: {path}: {error}")


def median(runs, key):
    values = [run["test"][key] for run in runs if run["test"].get(key) is not None]
    return f"{statistics.median(values):.3f}" if values else "-"


def tables(sweep):
    """One table a ratio: methods by epsilons, balanced / minority accuracy, the best balanced one bold."""
    lines = []
    for ratio in sweep["imbalance_ratios"]:
        what = "balanced accuracy" if ratio == 1 else "balanced / minority accuracy"
        lines += [f"### Imbalance ratio {ratio:g}: {what}", ""]
        lines += ["| method | " + " | ".join(f"eps {epsilon:g}" for epsilon in sweep["epsilons"]) + " |"]
        lines += ["|---" * (1 + len(sweep["epsilons"])) + "|"]
        cells = {}
        for method in sweep["methods"]:
            for epsilon in sweep["epsilons"]:
                runs = [r for r in sweep["runs"] if (r["imbalance_ratio"], r["method"], r["epsilon"]) == (ratio, method, epsilon)]
                cells[method, epsilon] = (median(runs, "balanced_accuracy"), median(runs, "minority_accuracy"))
        for method in sweep["methods"]:
            row = [f"`{method}`"]
            for epsilon in sweep["epsilons"]:
                balanced, minority = cells[method, epsilon]
                is_best = balanced == max(cells[other, epsilon][0] for other in sweep["methods"])
                cell = f"**{balanced}**" if is_best else balanced
                row.append(cell if ratio == 1 else f"{cell} / {minority}")
            lines.append("| " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join(lines)


def standings(sweep):
    """In how many columns of the long tails a method has the best figure, of all methods that have any; most first."""
    best = {"balanced_accuracy": {}, "minority_accuracy": {}}
    columns = [(r, e) for r in sweep["imbalance_ratios"] if r != 1 for e in sweep["epsilons"]]
    for ratio, epsilon in columns:
        runs = [r for r in sweep["runs"] if (r["imbalance_ratio"], r["epsilon"]) == (ratio, epsilon)]
        for key, wins in best.items():
            of = {m: median([r for r in runs if r["method"] == m], key) for m in sweep["methods"]}
            for method in (m for m in sweep["methods"] if of[m] == max(of.values())):
                wins[method] = wins.get(method, 0) + 1
    if not columns:
        return ""
    text = lambda wins: ", ".join(f"`{m}` {n}" for m, n in sorted(wins.items(), key=lambda win: -win[1]))
    return (f"Best on the {len(columns)} columns of long tails (ties count for each): balanced {text(best['balanced_accuracy'])}; "
            f"minority {text(best['minority_accuracy'])}.")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def command():
    """What made the page, with the variables that made it smaller."""
    stated = [f"{name}={os.environ[name]}" for name in ("METHODS", "EPSILONS", "RATIOS", "SEEDS") if name in os.environ]
    return " ".join([*stated, "launch/imbalance"])


def section(sweep, name, what):
    seeds = "1 seed" if sweep["seeds"] == 1 else f"{sweep['seeds']} seeds"
    return f"## {name}\n\n{what}, {seeds}. {standings(sweep)}\n\n{tables(sweep).rstrip()}"


def write(path, sections):
    with open(os.path.join(HERE, "imbalance.md"), encoding="utf-8") as file:
        text = file.read().replace("@SECTIONS@", "\n\n".join(sections)).replace("@BUILD@", build_id()).replace("@COMMAND@", command())
    write_whole(path, text)


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "split":
        split(*arguments[1:])
    elif len(arguments) == 2 and arguments[0] == "rows":
        print(rows(arguments[1]))
    elif len(arguments) == 2 and arguments[0] == "print":
        print(tables(load(arguments[1])))
    elif len(arguments) > 2 and arguments[0] == "write" and len(arguments) % 3 == 2:
        write(arguments[1], [section(load(sweep), name, what) for sweep, name, what in zip(*[iter(arguments[2:])] * 3)])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
