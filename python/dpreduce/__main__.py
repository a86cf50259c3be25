"""The command `dpreduce`, in Python's process: `python3 -m dpreduce`, and what a wheel installs. It has two more commands:

    python3 -m dpreduce onnx MODEL OUT
    python3 -m dpreduce dp-events LEDGER
"""
import argparse
import json
import os
import sys

from . import _library


def _onnx(words):
    parser = argparse.ArgumentParser("dpreduce onnx", allow_abbrev=False,
                                     description="Writes a model as an ONNX graph: from raw features to labels, scores and probabilities.")
    parser.add_argument("model", metavar="MODEL", help="written by fit")
    parser.add_argument("out", metavar="OUT", help="the graph")
    parser.add_argument("--width", choices=["float32", "float64"], default="float32",
                        help="what the graph computes with; float64 has the program's labels")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    options = parser.parse_args(words)
    from . import commands, model
    commands.export_onnx(model.load(options.model), options.out, width=options.width, overwrite=options.overwrite)
    print(f"wrote {options.out}")


def _dp_events(words):
    parser = argparse.ArgumentParser("dpreduce dp-events", allow_abbrev=False,
                                     description="Prints what a ledger's runs have charged as event trees of Google's dp_accounting: JSON "
                                                 "with the class and arguments of each node.")
    parser.add_argument("ledger", metavar="LEDGER", help="the ledger file")
    parser.add_argument("--adjacency", choices=["add-remove", "replace-one"],
                        help="the neighbors that the composition is for; default: the strictest of the lines")
    options = parser.parse_args(words)
    from . import ledger_events
    print(json.dumps(ledger_events.dp_events(options.ledger, options.adjacency), indent=2))


_COMMANDS = {"onnx": _onnx, "dp-events": _dp_events}


def main():
    if len(sys.argv) > 1 and sys.argv[1] in _COMMANDS:
        from .errors import Error
        try:
            _COMMANDS[sys.argv[1]](sys.argv[2:])
            sys.stdout.flush()
        except BrokenPipeError:  # whoever reads has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its end
            return 141
        except Error as error:
            print("dpreduce: " + str(error).replace("overwrite=True", "--overwrite"), file=sys.stderr)
            return error.exit_code
        return 0
    return _library.core().run_program([os.fsencode(word) for word in sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
