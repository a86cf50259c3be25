"""A private classifier from silos that NVFlare connects (2.5 or later): the server sees sums over all silos, and no silo's own.

job.py beside it writes the job: its controller is nvflare_fit.Fit, with the files plan, roster, identity, ledger and model
as arguments. Each client runs, by the Client API,

    python3 nvflare_fit.py plan.json roster.toml north.key x.npy y.npy

with files of its own, and person.npy behind them where the plan's unit is a person. y.npy has labels, or numbers where the
plan has targets. It is one process from the join to the
last answer, as the Client API has it: keys of masks live in its memory alone. Plan and roster are the same text everywhere;
docs/how-to/use-flower-nvflare.md says how they are agreed on.
"""
import sys

import numpy as np
from nvflare.app_common.abstract.fl_model import FLModel
from nvflare.app_common.workflows.model_controller import ModelController

import dpreduce.silos


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Fit(ModelController):
    def __init__(self, plan, roster, identity, ledger, model):
        super().__init__()
        # Under the names of the arguments, where FedJob looks for what it writes into the job.
        self.plan, self.roster, self.identity, self.ledger, self.model = plan, roster, identity, ledger, model

    def ask(self, silos, what, message):
        """What every silo answers to `message`. Counts of rows are in no message."""
        asked = FLModel(params={"do": what, "message": np.frombuffer(message, np.uint8)})
        replies = self.send_model_and_wait(targets=self.sample_clients(silos), data=asked)
        if len(replies) != silos:
            raise RuntimeError(f"{what}: {len(replies)} of {silos} silos have answered; the others' own logs say why")
        return [np.asarray(reply.params["answer"]) for reply in replies]

    def run(self):
        coordinator = dpreduce.silos.Coordinator(read(self.plan), self.roster, self.identity, self.ledger)
        joins = [join.tobytes() for join in self.ask(coordinator.silos, "join", coordinator.invitation)]
        while (request := coordinator.request(joins)) is not None:
            coordinator.step(self.ask(coordinator.silos, "answer", request))
        self.ask(coordinator.silos, "end", coordinator.invitation)
        run = coordinator.result()
        run.save(self.model)
        self.info(str(run))


def answer_all(plan, roster, identity, x, y, person=None):
    import nvflare.client as flare
    silo = dpreduce.silos.Silo(read(plan), roster, identity)
    flare.init()
    while flare.is_running():
        asked = flare.receive()
        if asked is None:
            break
        message, words = np.asarray(asked.params["message"]).tobytes(), np.zeros(0, np.uint8)
        match asked.params["do"]:
            case "join":
                words = np.frombuffer(silo.join(message), np.uint8)
            case "answer":
                words = silo.answer(message, np.load(x, mmap_mode="r"), np.load(y), person=person and np.load(person))
            case "end":
                silo.end(message)
        flare.send(FLModel(params={"answer": words}))


if __name__ == "__main__":
    answer_all(*sys.argv[1:])
