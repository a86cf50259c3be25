"""A private classifier from silos that Flower connects (1.21 or later): the server sees sums over all silos, and no silo's own.

pyproject.toml beside it names both apps, and the server's files plan, roster, identity, ledger and model.

Flower may run its client app in a new process for each message, and keys of masks live in the memory of the process that
has joined. So the silo is a process of its own, which its owner starts beside the node, and which alone reads rows:

    python3 flower_fit.py plan.json roster.toml north.key north.socket x.npy y.npy

with person.npy behind them where the plan's unit is a person. y.npy has labels, or numbers where the plan has targets. The
node's own configuration (flower-supernode --node-config), which the server does not make, names that `socket`. Plan and
roster are the same text everywhere; docs/how-to/use-flower-nvflare.md says how they are agreed on.
"""
import logging
import os
import sys
from multiprocessing.connection import Client, Listener

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

import dpreduce.silos

server = ServerApp()  # one name each: Flower looks for them without running this file
client = ClientApp()


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


def serve(plan, roster, identity, socket, x, y, person=None):
    """The silo's own process: it answers its node, until it is told to "stop"."""
    silo = dpreduce.silos.Silo(read(plan), roster, identity)
    if os.path.exists(socket):
        os.unlink(socket)  # of a process that was killed
    with Listener(socket, "AF_UNIX") as listener:
        while True:
            with listener.accept() as node:
                what, message = node.recv_bytes(), node.recv_bytes()
                if what == b"stop":
                    return
                words = b""
                try:
                    match what:
                        case b"join":
                            words = silo.join(message)
                        case b"answer":
                            words = silo.answer(message, np.load(x, mmap_mode="r"), np.load(y),
                                                person=person and np.load(person)).tobytes()
                        case b"end":
                            silo.end(message)
                    node.send_bytes(b"done")
                    node.send_bytes(words)
                except Exception:  # in whatever words: they are for this silo alone
                    logging.exception("%s", what.decode())
                    node.send_bytes(b"the silo could not answer; its own log says why")


@client.query()
def answer(message, context):
    what = message.content["what"]["do"]
    with Client(context.node_config["socket"], "AF_UNIX") as silo:
        silo.send_bytes(what.encode())
        silo.send_bytes(message.content["message"].to_numpy_ndarrays()[0].tobytes())
        how = silo.recv_bytes().decode()
        if how != "done":
            raise RuntimeError(how)
        words = np.frombuffer(silo.recv_bytes(), np.uint64 if what == "answer" else np.uint8)
    return Message(RecordDict({"answer": ArrayRecord([words])}), reply_to=message)


if __name__ == "__main__":
    serve(*sys.argv[1:])
