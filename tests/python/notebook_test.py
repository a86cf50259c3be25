"""examples/notebooks, from the first cell to the last, in one process: as a notebook's kernel does, without one."""
import ast
import json
import pathlib
import warnings

import numpy as np
import pytest

import dpreduce
from conftest import SOURCE

NOTEBOOKS = SOURCE / "examples/notebooks"


def shown(cell, names):
    """Runs a cell; what its last line shows, as a kernel would take it: HTML where there is some."""
    body = ast.parse("".join(cell["source"])).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    value = eval(compile(last, "cell", "eval"), names) if last else None
    return value._repr_html_() if hasattr(value, "_repr_html_") else value


@pytest.fixture
def plots(monkeypatch, tmp_path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    yield plt
    plt.close("all")


def test_pytorch_features(plots, capsys):
    notebook = json.loads((NOTEBOOKS / "pytorch_features.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4 and len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    names = {}
    with warnings.catch_warnings(record=True) as caught:
        outputs = [shown(cell, names) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [one.category for one in caught if issubclass(one.category, dpreduce.PrivacyWarning)] == [dpreduce.RepeatedFitWarning]
    accuracies = names["accuracies"]
    assert accuracies[0] > 0.65 and accuracies[-1] > 0.78 and accuracies[0] < accuracies[-1] <= names["without_noise"] + 0.02

    lines = plots.gcf().axes[0].lines
    np.testing.assert_allclose(lines[0].get_data(), [names["epsilons"], accuracies])
    plots.gcf().savefig("picture.png")
    assert pathlib.Path("picture.png").stat().st_size > 10_000
    assert "epsilon 1 at delta 1e-06" in capsys.readouterr().out  # the promise in words
    table = next(output for output in outputs if isinstance(output, str) and "what is promised" in output)
    assert "epsilon 1 at delta 1e-06" in table
    assert len(dpreduce.read_ledger("ledger.jsonl")["runs"]) == len(names["epsilons"])
    assert outputs[-1] == 1  # the model elsewhere: all labels


def test_notebooks_are_stored_with_what_they_show():
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [output for cell in cells for output in cell["outputs"]]
        assert any("image/png" in output.get("data", {}) for output in outputs)
        assert any("epsilon 1 at delta 1e-06" in "".join(output.get("text", "")) for output in outputs)
        assert not any(output["output_type"] == "error" for output in outputs)
        assert not any(folder in path.read_text(encoding="utf-8") for folder in ("/home/", "/root/", "/tmp/", "/work/"))
