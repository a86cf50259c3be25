"""Writes the NVFlare job of nvflare_fit.py (2.5 or later), for `nvflare job submit -j jobs/dpreduce-silos`:

    python3 job.py

Change what stands in capitals. All paths are on the machine of the party that reads them: a silo's folder is its own, and
nothing of it is sent anywhere.
"""
from nvflare.client.config import ExchangeFormat
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

from nvflare_fit import Fit

SILOS = ["north", "south", "west"]
SERVER = "/srv/dpreduce"
SILO = "/srv/dpreduce"  # with person.npy at the end of its files where the plan's unit is a person


def main():
    job = FedJob(name="dpreduce-silos", min_clients=len(SILOS))
    job.to(Fit(plan=f"{SERVER}/plan.json", roster=f"{SERVER}/roster.toml", identity=f"{SERVER}/hub.key",
               ledger=f"{SERVER}/ledger.jsonl", model=f"{SERVER}/model.safetensors"), "server")
    files = " ".join(f"{SILO}/{file}" for file in ("plan.json", "roster.toml", "silo.key", "x.npy", "y.npy"))
    for silo in SILOS:
        # Raw: what is asked has a word beside its numbers, and none of it is weights.
        job.to(ScriptRunner(script="nvflare_fit.py", script_args=files, framework=FrameworkType.RAW,
                            server_expected_format=ExchangeFormat.RAW), silo)
    job.export_job("jobs")


if __name__ == "__main__":
    main()
