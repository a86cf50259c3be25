"""A feature set on disk: train_x, train_y, test_x, test_y as .npy, where whose rows they are is known train_person as well,
and about.json last, which makes it complete."""
import hashlib
import json
import os

import numpy as np


def nearest_direction_accuracy(train_x, train_y, test_x, test_y):
    """Accuracy of the nearest class mean by angle, without privacy: one number that says whether features are sound."""
    unit = lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    rows = unit(train_x)
    means = unit(np.array([rows[train_y == c].sum(axis=0) for c in range(train_y.max() + 1)]))
    return float((np.argmax(unit(test_x) @ means.T, axis=1) == test_y).mean())


def write(folder, title, classes, train, test, expected_accuracy, persons=None):
    """Checks the rows, writes them, and then about.json: title, classes, sizes, digest of all bytes.

    persons: an integer a training row, the same for all rows of one person.
    expected_accuracy: (low, high) for nearest_direction_accuracy; outside, something is wrong with encoder or data.
    """
    parts = {"train_x": train[0], "train_y": train[1], "test_x": test[0], "test_y": test[1]}
    for name, values in parts.items():
        if name.endswith("_x") and not np.isfinite(values).all():
            raise SystemExit(f"{title}: {name} has values that are not finite")
        if name.endswith("_y") and not (0 <= values.min() and values.max() < classes):
            raise SystemExit(f"{title}: {name} has labels that are not in 0 to {classes - 1}")
    if len(np.unique(train[1])) != classes:  # a rare class may have no test row
        raise SystemExit(f"{title}: train_y does not hold every class from 0 to {classes - 1}")
    if persons is not None and len(persons) != len(train[0]):
        raise SystemExit(f"{title}: {len(persons)} identifiers for {len(train[0])} rows")
    accuracy = nearest_direction_accuracy(*parts.values())
    low, high = expected_accuracy
    if not low <= accuracy <= high:
        raise SystemExit(f"{title}: the nearest class mean is right on {accuracy:.3f} of rows, not {low} to {high}")
    if persons is not None:
        parts["train_person"] = np.asarray(persons, np.int64)
    about = {"title": title, "classes": classes, "features": train[0].shape[1], "rows": len(train[0]),
             "test_rows": len(test[0]), "rarest_class": int(np.bincount(train[1]).min()),
             "commonest_class": int(np.bincount(train[1]).max()),
             "nearest_direction_accuracy": accuracy}
    write_parts(folder, about, parts)


def write_parts(folder, about, parts):
    """Each part as .npy, and then about.json, with the digest of all their bytes and what persons have."""
    os.makedirs(folder, exist_ok=True)
    digest = hashlib.sha256()
    for name, values in parts.items():
        path = f"{folder}/{name}.npy"
        np.save(path, values)
        digest.update(open(path, "rb").read())
    about["sha256"] = digest.hexdigest()
    if "train_person" in parts:
        rows_of = np.unique(parts["train_person"], return_counts=True)[1]
        about["persons"] = len(rows_of)
        about["rows_of_a_person"] = {"median": float(np.median(rows_of)), "most": int(rows_of.max())}
    with open(folder + "/about.json.partial", "w") as f:
        json.dump(about, f, indent=1)
    os.rename(folder + "/about.json.partial", folder + "/about.json")
