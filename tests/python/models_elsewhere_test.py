"""Models outside of the program: dpreduce.load, ONNX graphs and model cards, against `dpreduce predict` and the report.

ONNX files are checked by onnx.checker, and computed by a few lines of NumPy an operator; launch/check-onnx runs them in
onnxruntime.
"""
import json
import os
import re

import numpy
import onnx
import onnx.checker
import pytest
import yaml

import dpreduce
from conftest import SOURCE, command, refuses
from dpreduce import BadInput, UsageError
from dpreduce.promise import at_most
from fitted_models import FITS, fit_all, parts_of, run

PROGRAM = os.environ["DPREDUCE"]


def program(folder, line, ranks=0, code=0):
    return run(PROGRAM, folder, line, ranks, code)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    fit_all(PROGRAM, folder)
    return folder


def test_every_method_tensor_and_link_occurs(folder):
    methods = re.findall(r"^METHOD\((\w+)\)", (SOURCE / "src/methods/all_methods.inc").read_text(), re.MULTILINE)
    assert {method.replace("_", "-") for method in methods} <= set(FITS)
    models = [parts_of(folder / f"{name}.model") for name in FITS]
    assert {name for tensors, _ in models for name in tensors} == \
        {"weights", "bias", "center", "projection", "projection_largest", "selected", "prototypes", "feature_center", "feature_scale"}
    assert {metadata.get("link") for _, metadata in models} == {None, "softmax", "sigmoid"}


# --- dpreduce.load


@pytest.mark.parametrize("name", FITS)
def test_load_predicts_what_the_program_does(folder, name):
    model = dpreduce.load(folder / f"{name}.model")
    x = numpy.load(folder / "x.npy")
    assert (model.predict(x) == numpy.load(folder / f"{name}.y.npy")).all()
    assert (model.decision_function(x).astype(numpy.float32) == numpy.load(folder / f"{name}.s.npy")).all()
    if model.link:
        assert (model.predict_proba(x).astype(numpy.float32) == numpy.load(folder / f"{name}.p.npy")).all()
        assert model.probabilities(x).sum(axis=1) == pytest.approx(1) or model.link == "sigmoid"
    else:
        refuses(UsageError, "there are none", model.predict_proba, x)
    if model.threshold is not None:
        assert (model.predict_sets(x) == numpy.load(folder / f"{name}.sets.npy")).all()
    else:
        refuses(UsageError, "no threshold", model.predict_sets, x)
    assert (model.classes == numpy.arange(4)).all() and model.n_features == 33


@pytest.mark.parametrize("name", FITS)
def test_load_tells_what_was_promised(folder, name):
    model, report = dpreduce.load(folder / f"{name}.model"), json.loads((folder / f"{name}.json").read_text())
    assert model.method == report["method"] and model.privacy["private"] == report["private"]
    if report["private"]:
        for figure in ("epsilon", "delta", "mu", "adjacency", "unit"):
            assert model.privacy[figure] == report["privacy"][figure]
        for figure in ("rows_per_person", "silos_per_person"):
            assert model.privacy.get(figure) == report["privacy"].get(figure)
        assert ("of one person" in repr(model)) == (name == "mean-persons")
        assert f"epsilon {at_most(model.privacy['epsilon'])}" in repr(model)
    else:
        assert model.privacy == {"private": False} and "not private" in repr(model)


def test_names_of_classes(folder):
    x = numpy.load(folder / "x.npy")
    model = dpreduce.load(folder / "mean-centers.model")
    assert model.class_names == ["plain", "a | `bar`", "*star* <b>", "Äpfel"]
    assert list(model.predict_names(x)) == [model.class_names[label] for label in model.predict(x)]
    refuses(UsageError, "no class names", lambda: dpreduce.load(folder / "mean.model").predict_names(x))


def test_rows_of_other_types_are_taken_as_the_program_takes_them(folder, tmp_path):
    model, x = dpreduce.load(folder / "auto.model"), numpy.load(folder / "x.npy")
    assert (model.predict(x.astype(numpy.float64)) == model.predict(x)).all()
    assert (model.decision_function(numpy.asfortranarray(x)) == model.decision_function(x)).all()
    assert model.predict(x[:0]).shape == (0,) and model.decision_function(x[:0]).shape == (0, 4)
    half = x[3:].astype(numpy.float16)
    numpy.save(tmp_path / "half.npy", half)
    program(tmp_path, f"predict --model {folder}/auto.model --x half.npy --out y.npy")
    assert (model.predict(half) == numpy.load(tmp_path / "y.npy")).all()


@pytest.mark.parametrize("spoil, message", [
    (lambda x: x[:, 1:], "32 features"),
    (lambda x: x[0], "X: the array has 1 dimension; reshape it to two"),
    (lambda x: numpy.where(x > 1, "Berlin", x.astype(object)), "row [0-9]+ is .Berlin., which is not a number"),
    (lambda x: x.astype(complex), "X: elements are complex128"),
    (lambda x: numpy.where(numpy.arange(300)[:, None] == 7, numpy.nan, x), "row 7"),
    (lambda x: numpy.where(numpy.arange(300)[:, None] == 9, 1e300, x.astype(float)), "row 9"),
])
def test_rows_that_do_not_fit_are_refused(folder, spoil, message):
    refuses(BadInput, message, dpreduce.load(folder / "mean.model").predict, spoil(numpy.load(folder / "x.npy")))


BAD_FILES = {  # content, or other metadata. More: tests/common/model/classifier_file_test.cpp, tests/common/data/safetensors_test.cpp
    "absent": (None, "cannot be opened: No such file"),
    "empty": (b"", "is empty; write it again"),
    "a pickle": (b"\x80\x04cos\nsystem\n(S'touch executed'\ntR.", "is it a safetensors file"),
    "clip is code": ({"clip_norm": "__import__('os').system('touch executed')"}, "not a number in range"),
    "from the future": ({"format_version": "5"}, "format version 5; this one reads up to 4.; update dpreduce"),
}


def with_metadata(model, changes):
    length = int.from_bytes(model[:8], "little")
    header = json.loads(model[8:8 + length])
    header["__metadata__"].update(changes)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + model[8 + length:]


@pytest.mark.parametrize("fault", BAD_FILES)
def test_a_bad_file_gets_one_clear_exception(folder, fault, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, message = BAD_FILES[fault]
    path = tmp_path / "bad.model"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else with_metadata((folder / "auto.model").read_bytes(), content))
    raised = refuses(BadInput, message, dpreduce.load, path)
    assert str(raised).startswith(f"{path}: ") and raised.exit_code == 3
    assert [one.name for one in tmp_path.iterdir()] == ["bad.model"] * path.exists()


# --- graphs


def computed(graph, x):
    """What the outputs of an ONNX graph are for the rows x: each operator that an exported graph has, in NumPy."""
    from onnx import helper, numpy_helper, TensorProto
    values = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
    values["x"] = x
    types = {TensorProto.FLOAT: numpy.float32, TensorProto.DOUBLE: numpy.float64, TensorProto.UINT8: numpy.uint8}

    def softmax(s, axis):
        e = numpy.exp(s - s.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    operators = {
        "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
        "Max": numpy.maximum, "Min": numpy.minimum, "Sqrt": numpy.sqrt, "Round": numpy.rint, "Equal": numpy.equal, "Where": numpy.where,
        "MatMul": numpy.matmul, "Transpose": numpy.transpose, "GreaterOrEqual": numpy.greater_equal, "Softmax": softmax,
        "Sigmoid": lambda a: 1 / (1 + numpy.exp(-a)),
        "Cast": lambda a, to: a.astype(types[to]),
        "Gather": lambda a, indices, axis: a.take(indices, axis=axis),
        "ReduceSum": lambda a, axes, keepdims: a.sum(axis=tuple(axes), keepdims=bool(keepdims)),
        "ArgMax": lambda a, axis, keepdims: a.argmax(axis=axis),
        "Pad": lambda a, pads: numpy.pad(a, list(zip(pads[:a.ndim], pads[a.ndim:]))),
        "Reshape": lambda a, shape: a.reshape([a.shape[place] if one == 0 else one for place, one in enumerate(shape)]),
    }
    for node in graph.node:
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        values[node.output[0]] = operators[node.op_type](*(values[name] for name in node.input), **attributes)
    return {output.name: values[output.name] for output in graph.output}


@pytest.mark.parametrize("width", ["float32", "float64"])
@pytest.mark.parametrize("name", FITS)
def test_onnx_computes_what_the_program_does(folder, name, width):
    graph = onnx.load(str(folder / f"{name}.{width}.onnx"))
    onnx.checker.check_model(graph, full_check=True)
    assert [(one.domain, one.version) for one in graph.opset_import] == [("", 13)] and graph.ir_version == 7
    assert {one.name for one in graph.graph.initializer} <= {one for node in graph.graph.node for one in node.input}
    _, metadata = parts_of(folder / f"{name}.model")
    assert {one.key: one.value for one in graph.metadata_props} == \
        {key: value for key, value in metadata.items() if key not in ("format", "format_version")}

    outputs = computed(graph.graph, numpy.load(folder / "x.npy"))
    assert set(outputs) == {"label", "scores"} | ({"probabilities"} if "link" in metadata else set()) | \
        ({"sets"} if "threshold" in metadata else set())
    labels, scores = numpy.load(folder / f"{name}.y.npy"), numpy.load(folder / f"{name}.s.npy")
    tolerance = {"float32": 2e-4, "float64": 2e-7}[width] * abs(scores).max()
    names = dpreduce.load(folder / f"{name}.model").class_names
    if names is not None:  # then labels are names
        outputs["label"] = numpy.array([names.index(label) for label in outputs["label"]])
    assert outputs["scores"].dtype == width and outputs["label"].dtype == numpy.int64
    assert abs(outputs["scores"] - scores).max() <= tolerance
    if width == "float64":
        assert (outputs["label"] == labels).all()
    else:  # another label only where the two scores are as near as the tolerance
        rows = numpy.arange(len(labels))
        assert (scores[rows, labels] - scores[rows, outputs["label"]]).max() <= 2 * tolerance
    if "link" in metadata:
        assert abs(outputs["probabilities"] - numpy.load(folder / f"{name}.p.npy")).max() <= {"float32": 2e-3, "float64": 2e-7}[width]
    if "threshold" in metadata and width == "float64":
        assert outputs["sets"].dtype == numpy.uint8 and (outputs["sets"] == numpy.load(folder / f"{name}.sets.npy")).all()


def test_the_command_writes_the_graph_that_the_package_writes(folder, tmp_path):
    model = folder / "mean.model"
    for width in ("float32", "float64"):
        done = command(tmp_path, "onnx", model, "a.onnx", "--width", width, "--overwrite")
        assert (done.returncode, done.stdout, done.stderr) == (0, "wrote a.onnx\n", "")
        assert (tmp_path / "a.onnx").read_bytes() == (folder / f"mean.{width}.onnx").read_bytes()
    kept = (tmp_path / "a.onnx").read_bytes()
    refused = command(tmp_path, "onnx", model, "a.onnx")
    assert refused.returncode == 3 and refused.stderr.startswith("dpreduce: a.onnx: already exists") and "--overwrite" in refused.stderr
    (tmp_path / "bad.model").write_bytes(b"no model")
    for code, words in ((3, ["bad.model", "b.onnx"]), (2, [model, "b.onnx", "--width", "float16"]), (2, [model])):
        assert command(tmp_path, "onnx", *words).returncode == code, words
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.onnx", "bad.model"] and (tmp_path / "a.onnx").read_bytes() == kept


def test_without_the_package_onnx_one_message_says_how_to_install_it(folder, tmp_path):
    (tmp_path / "onnx.py").write_text("raise ImportError(\"No module named 'onnx'\")\n")
    path = f"{tmp_path}:{os.environ['PYTHONPATH']}"
    refused = command(folder, "onnx", "mean.model", tmp_path / "a.onnx", PYTHONPATH=path)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert refused.stderr.startswith("dpreduce: onnx: ") and "apt-get install python3-onnx" in refused.stderr
    assert not (tmp_path / "a.onnx").exists()


def test_a_graph_has_the_steps_of_its_model_alone_and_projections_of_sixteen_bits(folder):
    constants = {one.name: one for one in onnx.load(str(folder / "fc.float64.onnx")).graph.initializer}
    assert constants["projection"].data_type == onnx.TensorProto.INT16
    operators = {node.op_type for node in onnx.load(str(folder / "mean.float32.onnx")).graph.node}
    assert not operators & {"Cast", "Gather", "Pad", "Reshape", "Round", "Softmax", "Sub", "Transpose"}


def test_exports_are_files_that_appear_whole_and_are_kept(folder, tmp_path):
    model = folder / "mean.model"
    program(tmp_path, f"export {model} --card a.md")
    first = (tmp_path / "a.md").read_bytes()
    assert "a.md" in program(tmp_path, f"export {model} --card a.md", code=3).stderr
    program(tmp_path, f"export {model} --card a.md --overwrite", ranks=2)
    assert (tmp_path / "a.md").read_bytes() == first
    program(tmp_path, f"export {model} --card {model} --overwrite", code=2)
    (tmp_path / "bad.model").write_bytes(b"no model")
    program(tmp_path, "export bad.model --card b.md", code=3)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.md", "bad.model"]


# --- export --card


def card_of(folder, name, report=True):
    path = folder / f"{name}.{report}.md"
    program(folder, f"export {name}.model --card {path.name}" + (f" --report {name}.json" if report else ""))
    text = path.read_text()
    front = re.match(r"---\n(.*?)---\n", text, re.DOTALL)
    return front.group(1), text[front.end():]


def table_under(text, heading):
    """The cells of the rows of the first table behind a heading, less its head."""
    rows = [line for line in text.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0].splitlines() if line.startswith("| ")]
    return [re.split(r" (?<!\\)\| ", row[2:-2]) for row in rows][2:]


@pytest.mark.parametrize("name", FITS)
def test_the_card_says_what_model_and_report_say(folder, name):
    front, text = card_of(folder, name)
    report, fields = json.loads((folder / f"{name}.json").read_text()), yaml.safe_load(front)
    assert fields["library_name"] == "dpreduce" and "license" not in fields
    assert ("differential-privacy" in fields["tags"]) == report["private"]
    test = report["test"]
    result = fields["model-index"][0]["results"][0]
    figures = {one["type"]: one["value"] for one in result["metrics"]}
    names = {"f1": "micro_f1"}
    assert figures and figures == {one: test[names.get(one, one)] for one in figures}
    assert ("accuracy" in figures) == ("accuracy" in test) and list(figures) == fields["metrics"]
    assert "outside of the guarantee" in result["dataset"]["name"]
    labels = {"f1": "micro F1", "macro_f1": "macro F1"}
    assert dict(table_under(text, "## How well the model does")) == {labels.get(one, one.replace("_", " ")): f"{value:.3f}" for one, value in figures.items()}
    assert "**Outside of the guarantee**" in text.split("## How well the model does")[1]
    explained = json.loads(program(folder, f"privacy explain {name}.json --format json").stdout)
    unescaped = re.sub(r"\\(.)", r"\1", text)
    assert all(f"- {sentence}\n" in unescaped for sentences in explained["words"].values() for sentence in sentences)
    if report["private"]:
        promise = dict(table_under(text, "## Epsilon, and what it means"))
        told = report["privacy"]
        figures = [one for one in ("epsilon", "delta", "mu") if told[one] is not None]
        assert [promise.get(one) for one in figures] == [at_most(told[one]) for one in figures]
        assert promise["neighbors"] == told["adjacency"] and ("mu" in promise) == (told["mu"] is not None)
    else:
        assert "## No guarantee" in text and "**This run is not private.**" in text
    if explained["releases"]:
        rows = table_under(text, "## Noised releases")
        repeated = sorted([float(cell) for cell in row[3:6]] for row in rows for _ in range(int(row[2])))
        told = sorted([one[figure] for figure in ("coordinates", "noise_multiplier", "sampling_rate")] for one in explained["releases"])
        assert repeated == [pytest.approx(figures, rel=0.01) for figures in told]
        assert all(row[1] <= exact[1] for row, exact in zip(repeated, told))
    assert f'dpreduce.load("{name}.model")' in text


def test_a_card_without_a_report_says_what_the_model_says(folder):
    front, text = card_of(folder, "mean-centers", report=False)
    assert "metrics" not in front and "## How well the model does" not in text and "## Noised releases" not in text
    privacy = dpreduce.load(folder / "mean-centers.model").privacy
    assert dict(table_under(text, "## Epsilon, and what it means"))["epsilon"] == at_most(privacy["epsilon"])
    assert "1. a \\| \\`bar\\`\n2. \\*star\\* \\<b\\>\n3. Äpfel\n" in text


def test_a_report_of_another_model_is_refused(folder):
    rows = "--train-x one/train_x.npy --train-y one/train_y.npy --quiet --out more.model --ledger more.ledger"
    program(folder, f"fit --method mean --mu 2 --classes 4 {rows} --report more.json")
    program(folder, f"fit --method mean --mu 1 --classes 5 {rows} --report five.json --overwrite")
    program(folder, f"fit --method mean --mu 1 --classes 4 --seed 1 {rows} --report seeded.json --overwrite")
    for report, words in [("ls.json", 'is of another model: method "ls" in the report, "mean" in the model'),
                          ("more.json", "is of another model: epsilon "),
                          ("five.json", "is of another model: classes 5 in the report, 4 in the model"),
                          ("seeded.json", "is of another model: private false in the report, true in the model"),
                          ("mean.ledger", "not a JSON file; give a report of fit or evaluate --private"), ("mean.model", "")]:
        assert words in program(folder, f"export mean.model --card other.md --report {report}", code=3).stderr
    assert not (folder / "other.md").exists()
