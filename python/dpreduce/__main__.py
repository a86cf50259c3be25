"""The command `dpreduce`, in Python's process: `python3 -m dpreduce`, and what a wheel installs."""
import os
import sys

from . import _library


def main():
    return _library.core().run_program([os.fsencode(word) for word in sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
