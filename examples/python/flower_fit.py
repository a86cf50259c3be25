"""A private classifier from silos that Flower connects (1.21 or later): the server sees sums over all silos, and no silo's own.

Apps are `server = "flower_fit:server"` and `client = "flower_fit:client"` in pyproject.toml. The server's run configuration
names the files plan, roster, identity, ledger and model. Each node's own configuration (flower-supernode --node-config),
which the server does not make, names plan, roster, identity, state, x and y, and person where the plan's unit is a person.
Plan and roster are the same text everywhere;
docs/how-to/use-flower-nvflare.md says how they are agreed on.
"""
import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

import dpreduce.silos

server, client = ServerApp(), ClientApp()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def ask(grid, silos, what, message):
    """What every silo answers to `message`. Counts of rows are in no message: Flower's metrics would show them."""
    content = {"message": ArrayRecord([np.frombuffer(message, np.uint8)]), "what": ConfigRecord({"do": what})}
    replies = list(grid.send_and_receive([Message(RecordDict(content), message_type="query", dst_node_id=node)
                                          for node in grid.get_node_ids()]))
    if len(replies) != silos or any(reply.has_error() for reply in replies):
        raise RuntimeError(f"{what}: not all of the {silos} silos have answered; their own logs say why")
    return [reply.content["answer"].to_numpy_ndarrays()[0] for reply in replies]


@server.main()
def fit(grid, context):
    files = context.run_config
    coordinator = dpreduce.silos.Coordinator(read(files["plan"]), files["roster"], files["identity"], files["ledger"])
    joins = [join.tobytes() for join in ask(grid, coordinator.silos, "join", coordinator.invitation)]
    while (request := coordinator.request(joins)) is not None:
        coordinator.step(ask(grid, coordinator.silos, "answer", request))
    ask(grid, coordinator.silos, "end", coordinator.invitation)
    run = coordinator.result()
    run.save(files["model"])
    print(run)


@client.query()
def answer(message, context):
    files = context.node_config
    silo = dpreduce.silos.Silo(read(files["plan"]), files["roster"], files["identity"], files["state"])
    received = message.content["message"].to_numpy_ndarrays()[0].tobytes()
    words = np.zeros(0, np.uint8)
    match message.content["what"]["do"]:
        case "join":
            words = np.frombuffer(silo.join(received), np.uint8)
        case "answer":
            person = np.load(files["person"]) if "person" in files else None
            words = silo.answer(received, np.load(files["x"], mmap_mode="r"), np.load(files["y"]), person=person)
        case "end":
            silo.end(received)
    return Message(RecordDict({"answer": ArrayRecord([words])}), reply_to=message)
