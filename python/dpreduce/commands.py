"""Commands of dpreduce as functions: what a fit leaves for others to read, and experiments.

    export_page(run, path="report.html")
    export_onnx(model, "model.onnx")
    sweep(train_x=X, train_y=y, test_x=Xt, test_y=yt, classes=10, methods="mean,auto", epsilons=[0.3, 1], out="sweep")
    audit(method="mean", epsilon=1, delta=1e-5)
"""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
import typing

from . import _library, onnx_graph
from .errors import UsageError
from .keywords import words_of

__all__ = ["export_onnx", "export_card", "export_page", "sweep", "audit"]

if typing.TYPE_CHECKING:
    from .estimators import DPClassifier
    from .fitting import FittedRun
    from .model import Model

    Fitted = typing.Union[FittedRun, DPClassifier]

Path = typing.Union[str, "os.PathLike[str]"]


def _classifier_of(model):
    for name in ("classifier", "classifier_", "_classifier"):  # of a FittedRun, an estimator, a Model
        if hasattr(model, name):
            return getattr(model, name)
    raise UsageError(f"{type(model).__name__}: is not a fitted dpreduce model; give the result of fit(), a fitted estimator, or "
                     "load(...)")


def _report_of(fitted):
    for name in ("report", "report_"):
        if hasattr(fitted, name):
            return json.dumps(getattr(fitted, name))
    return None


def export_onnx(model: Fitted | Model, path: Path, *, width: str = "float32", overwrite: bool = False) -> None:
    """Writes the model as an ONNX graph, from raw features to labels, scores and probabilities: `python3 -m
    dpreduce onnx`.
    Labels are strings where the model has names of classes, as after an estimator's fit on labels that are not 0 to K - 1.
    `width` is what the graph computes with; with float64 its labels are predict's."""
    _library.core().write_file(os.fspath(path), onnx_graph.bytes_of(_classifier_of(model), width), overwrite)


def export_card(model: Fitted | Model, path: Path, *, overwrite: bool = False) -> None:
    """Writes a model card, Markdown with YAML front matter: `dpreduce export --card`. Of a fit it says what is promised in
    words, and what was released; of load(...) what the file says. The model is named as it was saved, else as the card."""
    report = _report_of(model)
    saved = json.loads(report).get("model") if report else None
    name = pathlib.Path(saved).name if saved else pathlib.Path(path).stem + ".safetensors"
    _classifier_of(model).save_card(os.fspath(path), name, report, overwrite)


def export_page(*fits: Fitted | Path, path: Path = "report.html", public: bool = False, overwrite: bool = False) -> None:
    """Writes one HTML page that needs no network: `dpreduce report`. `fits` are fits, or files of reports and
    ledgers. `public` leaves out what is for the data's owner."""
    reports, files = [], []
    for fit in fits:
        if isinstance(fit, (str, os.PathLike)):
            files.append(os.fspath(fit))
        elif (report := _report_of(fit)) is not None:
            reports.append(report)
        else:
            raise UsageError(f"{type(fit).__name__}: has no report; give the result of fit(), a fitted estimator, or a file")
    if not fits:
        raise UsageError("export_page: give a fit, or a file of a report or a ledger")
    _library.core().save_page(os.fspath(path), reports, files, public, overwrite)


def _called(name, options):
    """The result of the command. Arrays are files to it: files in memory, which are gone with this process, however it ends.
    A process that is killed leaves a folder of links to nothing."""
    with tempfile.TemporaryDirectory(prefix="dpreduce-") as folder, contextlib.ExitStack() as files:
        for option, value in options.items():
            if hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0 and option.endswith(("_x", "_y")):
                import numpy
                file = files.enter_context(open(os.memfd_create(option), "wb"))
                numpy.save(file, value, allow_pickle=False)
                file.flush()
                options[option] = os.path.join(folder, option + ".npy")  # what messages name
                os.symlink(f"/proc/self/fd/{file.fileno()}", options[option])
            elif isinstance(value, os.PathLike):
                options[option] = os.fspath(value)
        return json.loads(_library.core().call(name, words_of(options)))


def sweep(**options: typing.Any) -> dict[str, typing.Any]:
    """Many fits on the same rows: `dpreduce sweep`, with its options as keywords. Returns what OUT.json says; OUT.csv and
    OUT.json are written (default: sweep.csv, sweep.json). An experiment: none of its runs is private. Arrays stay in memory, and
    are gone when this process ends, however it does.

    Keywords: train_x, train_y, test_x, test_y, public_x (arrays, or names of files); classes, methods (one string with
    commas, or a list), epsilons, delta, seeds, imbalance, non_private, out, overwrite, ..."""
    return _called("sweep", options)


def audit(**options: typing.Any) -> dict[str, typing.Any]:
    """Tries to refute a claim of privacy: `dpreduce audit`, with its options as keywords. Returns what `--format json`
    prints. Throws ClaimRefuted where the claim does not hold.

    Keywords: method and its options; epsilon and delta, or mu; adjacency, confidence, trials; one_run with canaries,
    train_x, train_y (arrays, or names of files) and classes."""
    return _called("audit", options)
