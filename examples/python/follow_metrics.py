"""Brings what `dpreduce fit --metrics` writes to TensorBoard or MLflow, while the run goes on.

    dpreduce fit ... --metrics metrics.jsonl --report report.json &
    python3 follow_metrics.py tensorboard metrics.jsonl runs/first
    python3 follow_metrics.py mlflow metrics.jsonl first report.json

TensorBoard needs torch and tensorboard, MLflow mlflow. The last word may be the report of the fit: MLflow gets its
settings and its promise. A tracking server has readers, so nothing is sent that is for the data's owner: no norms of a run with a
seed, no exact figures about test rows.
"""
import json
import sys
import time

_SECONDS = 0.5


def lines_of(path):
    """The lines of a file that grows, as they come, until the one that ends the run."""
    with open(path, encoding="utf-8") as file:
        text = ""
        while True:
            text += file.readline()
            if not text.endswith("\n"):
                time.sleep(_SECONDS)
                continue
            line, text = json.loads(text), ""
            yield line
            if line["phase"] == "end":
                return


def figures_of(line):
    """{name: number} of what a line tells everybody: what is spent, and of each block the released norm beside its noise."""
    spent = line["spent"] or {}
    figures = {f"spent/{name}": spent[name] for name in ("epsilon", "mu") if spent.get(name) is not None}
    if line["private"]:
        for block in line.get("blocks", []):
            name = f"{line['phase']}/{block['name']}"
            figures |= {f"{name}/norm": block["norm"], f"{name}/noise_norm": block["noise_norm"]}
    return figures


def to_tensorboard(path, folder):
    from torch.utils.tensorboard import SummaryWriter
    with SummaryWriter(folder) as writer:
        for step, line in enumerate(lines_of(path)):
            for name, number in figures_of(line).items():
                writer.add_scalar(name, number, step)


def to_mlflow(path, run_name, report=None):
    import mlflow
    with mlflow.start_run(run_name=run_name):
        for step, line in enumerate(lines_of(path)):
            for name, number in figures_of(line).items():
                mlflow.log_metric(name, number, step=step)
        if report is None:
            return
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        promise = {name: told["privacy"][name] for name in ("epsilon", "delta", "mu", "unit") if name in told["privacy"]}
        mlflow.log_params({"method": told["method"], "private": told["private"], **promise})
        if told.get("test", {}).get("figures") == "private":
            for name, figure in told["test"]["metrics"].items():
                if isinstance(figure, dict) and figure.get("value") is not None:
                    mlflow.log_metric(f"test/{name}", figure["value"])


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("tensorboard", "mlflow"):
        sys.exit(__doc__)
    {"tensorboard": to_tensorboard, "mlflow": to_mlflow}[sys.argv[1]](*sys.argv[2:])
