#!/usr/bin/python3
"""Short descriptions of Debian packages as features of sentence_encoder.py.    descriptions.py NODE_MODULES FOLDER

Rows: the descriptions that apt knows (apt-get update first), each once for a label. Split by source package, so that
none is on both sides. What rows there are depends on the day's package lists. Sets, by label:
  debshort     the package's archive section, where it has 100 descriptions or more
  teams45      its maintainer, where it is one of the 45 that have most
  libraries2   whether its section is of libraries or of what compiles against them
  maintainers  as debshort; persons are the maintainers, of whom none is on both sides
"""
import hashlib
import re
import subprocess
import sys
from collections import Counter

import numpy as np

import feature_set
from sentence_encoder import SentenceEncoder


def packages():
    """Descriptions, sections, maintainers and source packages of what apt can install."""
    for package in subprocess.check_output(["apt-cache", "dumpavail"], text=True).split("\n\n"):
        fields = dict(re.findall(r"^(\w+): (.*)$", package, re.M))
        text, section = fields.get("Description"), fields.get("Section", "").split("/")[-1]
        if text and section and "Filename" in fields:
            yield text, section, fields["Maintainer"], (fields.get("Source") or fields["Package"]).split(" ")[0]


def labeled(rows, keep):
    """[(description, label, source package)], each pair of the first two once, and the labels that `keep` keeps."""
    first = {}
    for text, label, source in rows:
        first.setdefault((text, label), source)
    kept = keep(sorted(Counter(label for _, label in first).items(), key=lambda entry: (-entry[1], entry[0])))
    return [(text, label, source) for (text, label), source in first.items() if label in kept], kept


def write(folder, title, rows, labels, encode, expected_accuracy, has_persons=False):
    """Rows of one origin are on one side; with has_persons origins are persons."""
    x = encode([text for text, _, _ in rows])
    y = np.array([labels.index(label) for _, label, _ in rows], np.int64)
    hashes = np.array([int(hashlib.sha256(source.encode()).hexdigest()[:8], 16) / 2.0**32 for _, _, source in rows])
    order = np.random.RandomState(0)
    parts = [order.permutation(np.flatnonzero(side)) for side in (hashes >= 0.2, hashes < 0.2)]
    persons = np.unique([origin for _, _, origin in rows], return_inverse=True)[1][parts[0]] if has_persons else None
    feature_set.write(folder, title, len(labels), *[(x[part], y[part]) for part in parts], expected_accuracy, persons)


SETS = {
    "debshort": (lambda text, section, team, source: (text, section, source),
                 lambda counts: [label for label, count in counts if count >= 100],
                 "Debian package descriptions, sentence features", (0.35, 0.47)),
    "teams45": (lambda text, section, team, source: (text, team, source),
                lambda counts: [label for label, _ in counts[:45]],
                "Debian package descriptions by maintainer, sentence features", (0.2, 0.8)),
    "libraries2": (lambda text, section, team, source: (text, section in ("libs", "libdevel", "oldlibs"), source),
                   lambda counts: [False, True],
                   "Debian package descriptions, library or not, sentence features", (0.5, 0.95)),
    "maintainers": (lambda text, section, team, source: (text, section, team),
                    lambda counts: [label for label, count in counts if count >= 100],
                    "Debian package descriptions of maintainers, sentence features", (0.2, 0.6), True),
}


def main():
    node_modules, folder = sys.argv[1:]
    rows = list(packages())
    if len(rows) < 30000:
        raise SystemExit(f"apt knows {len(rows)} packages, 30000 or more expected: run apt-get update first")
    label, keep, title, *rest = SETS[folder.rstrip("/").rsplit("/", 1)[-1]]
    write(folder, title, *labeled([label(*row) for row in rows], keep), SentenceEncoder(node_modules), *rest)


if __name__ == "__main__":
    main()
