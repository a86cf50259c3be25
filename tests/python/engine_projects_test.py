"""The example projects keep to what Flower and NVFlare ask of a project before they run it.

Neither engine is a package of Debian. So their rules stand here: Flower reads pyproject.toml and the syntax tree of the apps'
module, without running it (`flwr run`, `flwr build`); NVFlare's FedJob writes a component's arguments from what the object
keeps under their names, `plan` or `_plan`.
"""
import ast
import builtins
import inspect
import json
import pathlib
import re
import shutil
import subprocess
import sys
import types

import jsonschema
import pytest

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

from conftest import SOURCE, module_of, refuses

FLOWER, NVFLARE = SOURCE / "examples/flower", SOURCE / "examples/nvflare"
FILES = {"plan", "roster", "identity", "ledger", "model"}

PROJECT = {
    "type": "object", "required": ["project", "tool"], "properties": {
        "project": {"required": ["name", "version", "description", "license"], "properties": {
            "name": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"}, "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}}},
        "tool": {"required": ["flwr"], "properties": {"flwr": {"required": ["app", "federations"], "properties": {
            "app": {"required": ["publisher", "components"], "properties": {
                "publisher": {"type": "string", "minLength": 1},
                "fab-include": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
                "components": {"required": ["serverapp", "clientapp"],
                               "additionalProperties": {"type": "string", "pattern": r"^[\w.]+:\w+$"}},
                "config": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}}},
            "federations": {"type": "object", "required": ["default"]}}}}}}}


def names_assigned(tree):
    """What Flower finds: names that an assignment gives one value each. A tuple of names, an annotated name and an import
    are none."""
    return {target.id for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)}


def keys_read(tree):
    """The keys of the run configuration that the server app reads: files["plan"], where files is context.run_config."""
    return {node.slice.value for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
            and node.value.id == "files" and isinstance(node.slice, ast.Constant)}


def faults_of_flower_project(folder, run_config=()):
    """Why Flower refuses the project, or a run with these keys in --run-config."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    faults = [f"{error.json_path}: {error.message}" for error in jsonschema.Draft202012Validator(PROJECT).iter_errors(project)]
    if faults:
        return faults
    app = project["tool"]["flwr"]["app"]
    for reference in app["components"].values():
        module, name = reference.split(":")
        path = folder / f"{module.replace('.', '/')}.py"
        if not path.is_file():
            faults.append(f"{reference}: no module")
            continue
        tree = ast.parse(path.read_text())
        if name not in names_assigned(tree):
            faults.append(f"{reference}: no such name")
        faults += [f"{key}: is read, and not declared" for key in sorted(keys_read(tree) - app.get("config", {}).keys())]
    return faults + [f"{key}: is not declared" for key in run_config if key not in app.get("config", {})]


@pytest.fixture
def flower(tmp_path):
    return pathlib.Path(shutil.copytree(FLOWER, tmp_path / "flower"))


def test_flower_takes_the_project(flower):
    assert faults_of_flower_project(flower, FILES) == []
    assert keys_read(ast.parse((flower / "flower_fit.py").read_text())) == FILES
    assert faults_of_flower_project(flower, ["plan", "rounds"]) == ["rounds: is not declared"]


def test_flower_takes_the_run_of_the_page(flower):
    page = (SOURCE / "docs/how-to/use-flower-nvflare.md").read_text()
    runs = re.findall(r"^flwr run \. (\w+) --run-config '(.*)'$", page, re.MULTILINE)
    assert runs
    for federation, config in runs:
        assert faults_of_flower_project(flower, tomllib.loads(re.sub(r'" +', '"\n', config))) == []
        assert federation in tomllib.loads((flower / "pyproject.toml").read_text())["tool"]["flwr"]["federations"]


@pytest.mark.parametrize("file, before, after, fault", [
    ("flower_fit.py", "server = ServerApp()", "server, other = ServerApp(), 0", "flower_fit:server: no such name"),
    ("flower_fit.py", "client = ClientApp()", "client: ClientApp = ClientApp()", "flower_fit:client: no such name"),
    ("pyproject.toml", 'publisher = "dpreduce"\n', "", "'publisher' is a required property"),
    ("pyproject.toml", 'version = "1.0.0"\n', "", "'version' is a required property"),
    ("pyproject.toml", 'clientapp = "flower_fit:client"\n', "", "'clientapp' is a required property"),
    ("pyproject.toml", 'ledger = "ledger.jsonl"\n', "", "ledger: is read, and not declared")])
def test_flower_refuses_a_project(file, before, after, fault, flower):
    text = (flower / file).read_text()
    assert before in text
    (flower / file).write_text(text.replace(before, after))
    faults = faults_of_flower_project(flower)
    assert faults and all(one.endswith(fault) for one in faults)


def is_matched(folder, patterns, path):
    """Whether Git's patterns match the path, which are Flower's as well."""
    (folder / "patterns").write_text(patterns)
    return subprocess.run(["git", "-c", f"core.excludesFile={folder / 'patterns'}", "check-ignore", "-q", "--no-index", path],
                          cwd=folder / "empty", check=False).returncode == 0


def bundle_of(folder, version):
    """What Flower sends of a project: pyproject.toml, and files of some kinds that .gitignore leaves; where the version is 1.28 or later
    of these what fab-include names, each pattern of which must name a file."""
    app = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    empty = folder / "empty"
    empty.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=empty, check=True)
    ignored = (folder / ".gitignore").read_text() if (folder / ".gitignore").exists() else ""
    kinds = {".py", ".toml", ".md"} | ({".json", ".jsonl", ".yaml", ".yml"} if version >= (1, 28) else set())
    files = [path.name for path in folder.iterdir()
             if path.suffix in kinds and path.name != "pyproject.toml" and not is_matched(folder, ignored, path.name)]
    if version >= (1, 28) and "fab-include" in app:
        assert all(any(is_matched(folder, pattern, name) for name in files) for pattern in app["fab-include"])
        files = [name for name in files if is_matched(folder, "\n".join(app["fab-include"]), name)]
    return {"pyproject.toml", *files}


@pytest.mark.parametrize("version", [(1, 21), (1, 27), (1, 28)])
@pytest.mark.parametrize("kept", [{".gitignore", "fab-include"}, {".gitignore"}, {"fab-include"}, set()], ids=str)
def test_flower_sends_the_program_alone(version, kept, flower):
    for name in ("plan.json", "roster.toml", "ledger.jsonl", "hub.key", "rows.py", "notes.md", "x.npy"):
        (flower / name).touch()
    project = (flower / "pyproject.toml").read_text()
    if "fab-include" not in kept:
        (flower / "pyproject.toml").write_text(re.sub("^fab-include.*$", "", project, flags=re.MULTILINE))
    if ".gitignore" not in kept:
        (flower / ".gitignore").unlink()
    sent = bundle_of(flower, version)
    if ".gitignore" in kept or (version >= (1, 28) and kept):
        assert sent == {"pyproject.toml", "flower_fit.py"}
    else:
        assert {"roster.toml", "rows.py"} < sent and ("ledger.jsonl" in sent) == (version >= (1, 28))


def exported(component):
    """{"path", "args"} of a component in a job, as FedJob writes it."""
    kept = vars(component)
    args = {}
    for name, parameter in list(inspect.signature(type(component).__init__).parameters.items())[1:]:
        place = name if name in kept else f"_{name}"
        if place in kept and kept[place] != parameter.default:
            assert type(kept[place]).__name__ in dir(builtins)
            args[name] = kept[place]
    return {"path": f"{type(component).__module__}.{type(component).__name__}", "args": args}


SILOS = ["north", "south", "west"]
TEXT = {"type": "string", "minLength": 1}
JOB = {
    "type": "object", "required": ["meta", "server", *SILOS], "additionalProperties": False, "properties": {
        "meta": {"properties": {"name": TEXT, "min_clients": {"const": len(SILOS)}}, "required": ["name", "min_clients"]},
        "server": {"type": "object", "additionalProperties": False, "required": ["path", "args"], "properties": {
            "path": {"const": "nvflare_fit.Fit"},
            "args": {"type": "object", "additionalProperties": False, "required": sorted(FILES), "properties": {name: TEXT for name in FILES}}}},
        **{silo: {"type": "object", "additionalProperties": False,
                  "required": ["script", "script_args", "framework", "server_expected_format"],
                  "properties": {"script": {"const": "nvflare_fit.py"}, "framework": {"const": "raw"},
                                 "server_expected_format": {"const": "raw"},
                                 "script_args": {"type": "string", "pattern": r"^\S+( \S+){4,5}$"}}} for silo in SILOS}}}


class FedJob:
    def __init__(self, name, min_clients):
        self.parts = {"meta": {"name": name, "min_clients": min_clients}}

    def to(self, component, target):
        assert target not in self.parts
        self.parts[target] = component.given if isinstance(component, ScriptRunner) else exported(component)

    def export_job(self, folder):
        pathlib.Path(folder).mkdir()
        (pathlib.Path(folder) / "job.json").write_text(json.dumps(self.parts))


class ScriptRunner:
    def __init__(self, **given):
        assert (NVFLARE / given["script"]).is_file()
        self.given = given


@pytest.fixture
def nvflare(monkeypatch, tmp_path):
    """The modules of the example, on doubles of the engine's."""
    doubles = {"nvflare.client.config": dict(ExchangeFormat=types.SimpleNamespace(RAW="raw")),
               "nvflare.job_config.api": dict(FedJob=FedJob),
               "nvflare.job_config.script_runner": dict(ScriptRunner=ScriptRunner, FrameworkType=types.SimpleNamespace(RAW="raw")),
               "nvflare.app_common.abstract.fl_model": dict(FLModel=dict),
               "nvflare.app_common.workflows.model_controller": dict(ModelController=type("ModelController", (), {}))}
    for name, content in doubles.items():
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(**content))
    monkeypatch.chdir(tmp_path)

    def module(name):
        loaded = module_of(NVFLARE / f"{name}.py")
        monkeypatch.setitem(sys.modules, name, loaded)
        return loaded
    return module


def job_of(writer):
    writer.main()
    return json.loads(pathlib.Path("jobs/job.json").read_text())


def test_nvflare_writes_the_job_with_all_arguments(nvflare):
    """The words of the job are the arguments of the script, in their order."""
    takes = list(inspect.signature(nvflare("nvflare_fit").answer_all).parameters)
    job = job_of(nvflare("job"))
    jsonschema.validate(job, JOB)
    assert job["server"]["args"]["ledger"].endswith("ledger.jsonl")
    names = [pathlib.Path(word).name.split(".")[0] for word in job["north"]["script_args"].split()]
    assert names == [{"identity": "silo"}.get(name, name) for name in takes[:-1]]


def test_a_job_without_arguments_is_refused(nvflare):
    """What a controller keeps under other names than its arguments is not in the job."""
    class Fit(nvflare("nvflare_fit").Fit):
        def __init__(self, plan, roster, identity, ledger, model):
            self.files = dict(plan=plan, roster=roster, identity=identity, ledger=ledger, model=model)
    writer = nvflare("job")
    writer.Fit = Fit
    job = job_of(writer)
    assert job["server"]["args"] == {}
    refuses(jsonschema.ValidationError, None, jsonschema.validate, job, JOB)
