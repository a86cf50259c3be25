#!/usr/bin/python3
"""Tables with a number to predict, as features.    tables.py NODE_MODULES FOLDER/NAME, of which only the last is used

Numeric columns are mapped to -1 .. 1 by a range that counts as public here: the smallest one in steps of a tenth of its
power of ten that holds 99 of 100 training values; what lies beyond counts as its end. Columns of words become one
column of zeros and ones a word. Rows with a missing value are dropped. A fifth of the rows, drawn once, are test rows;
of persons, a fifth of the persons; of drawn sets of six, 4,000 rows. train_raw and test_raw are the same columns as they were, where some are numeric.

    diamonds   prices of diamonds (Debian's r-cran-ggplot2)
    ames       sale prices of houses in Ames, Iowa (r-cran-modeldata)
    insteval   ratings 1 to 5 of lectures at ETH Zurich, whose students are the persons (r-cran-lme4)
    lending    interest rates of loans (r-cran-modeldata)
    heavy      drawn: features of Student's t with 3 degrees of freedom, noise of t with 2
    cps1988    weekly wages in the United States (r-cran-aer)
    chicago    riders a day at a station of Chicago's trains (r-cran-modeldata)

and six that are drawn, a linear function and noise; R^2 of the function itself is .8 but for `even` (.99):

    few        normal columns
    even       uniform columns
    offset     uniform columns, targets 1,000 deviations from 0
    alike      normal columns, each .9 like the one before
    tails      Student's t with 3 degrees of freedom, noise of t with 2
    factors    normal columns of 8 common factors
"""
import hashlib
import math
import os
import sys

import numpy as np

import feature_set
import r_data

TABLES = {  # package, its folder, frame, target, columns that are left out, title
    "diamonds": ("r-cran-ggplot2", "ggplot2", "diamonds", "price", (), "prices of diamonds"),
    "ames": ("r-cran-modeldata", "modeldata", "ames", "Sale_Price", (), "sale prices of houses in Ames"),
    "insteval": ("r-cran-lme4", "lme4", "InstEval", "y", ("s",), "students' ratings of lectures"),
    "lending": ("r-cran-modeldata", "modeldata", "lending_club", "int_rate", ("sub_grade", "Class"),
                "interest rates of loans"),
    "cps1988": ("r-cran-aer", "AER", "CPS1988", "wage", (), "weekly wages"),
    "chicago": ("r-cran-modeldata", "modeldata", "Chicago", "ridership", (), "riders at a station"),
}
DRAWN = {"few": (500, 10), "even": (2000, 5), "offset": (10000, 10), "alike": (5000, 20), "tails": (20000, 40),
         "factors": (50000, 100)}  # training rows, columns
TEST_SHARE = 0.2
DRAWN_TEST_ROWS = 4000


def numbers(values):
    """R's missing integer is the smallest one."""
    return np.array([math.nan if value is None or value == -2**31 else value for value in values], float)


def columns_of(frame, left_out):
    """(n x d, whether a column is numeric)"""
    columns, numeric = [], []
    for name, values in frame.items():
        if name in left_out:
            continue
        if any(isinstance(value, str) for value in values):
            words = np.array([value or "" for value in values])
            levels = sorted(set(words) - {""})
            columns.append(np.where(words[:, None] == "", math.nan, words[:, None] == np.array(levels)))
        else:
            columns.append(numbers(values)[:, None])
        numeric += [not isinstance(next(v for v in values if v is not None), str)] * columns[-1].shape[1]
    return np.concatenate(columns, axis=1), np.array(numeric)


def public_range(values):
    low, high = np.percentile(values, [0.5, 99.5])
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1) if high > low else 1.0
    return math.floor(low / step) * step, (math.floor(high / step) + 1) * step


def mapped(raw, numeric, training):
    """Numeric columns to -1 .. 1."""
    x = raw.copy()
    for column in np.flatnonzero(numeric):
        low, high = public_range(raw[training, column])
        x[:, column] = np.clip((raw[:, column] - (low + high) / 2) / ((high - low) / 2), -1, 1)
    return x


def heavy_tails():
    random = np.random.RandomState(5)
    rows, dim = 20000, 20
    x = random.standard_t(3, size=(rows, dim)) @ (0.3 * random.standard_normal((dim, dim)) + np.eye(dim))
    y = x @ random.standard_normal(dim)
    y += 0.3 * np.std(y) * random.standard_t(2, size=rows)
    return x * np.exp(3 * random.standard_normal(dim)), np.ones(dim, bool), 1000 * y + 3000, None


def drawn(name):
    """(columns, targets), in units of their own: where noise hides a range, no fallback of 1 is right by chance."""
    rows, dim = DRAWN[name]
    rows += DRAWN_TEST_ROWS
    random = np.random.RandomState(list(DRAWN).index(name))
    x = random.standard_normal((rows, dim))
    if name in ("even", "offset"):
        x = random.uniform(-1, 1, (rows, dim))
    if name == "alike":
        for column in range(1, dim):
            x[:, column] = 0.9 * x[:, column - 1] + math.sqrt(0.19) * x[:, column]
    if name == "tails":
        x = random.standard_t(3, (rows, dim))
    if name == "factors":
        x = random.standard_normal((rows, 8)) @ random.standard_normal((8, dim)) + 0.5 * x
    y = x @ random.standard_normal(dim)
    noise = random.standard_t(2, rows) / 2 if name == "tails" else random.standard_normal(rows)
    y = y / y.std() + (0.1 if name == "even" else 0.5) * noise + (1000 if name == "offset" else 0)
    return x * np.exp(random.standard_normal(dim)), np.ones(dim, bool), 1000 * y, None


def table(name):
    if name == "heavy":
        return heavy_tails()
    if name in DRAWN:
        return drawn(name)
    package, folder, frame_name, target, left_out, _ = TABLES[name]
    frame = r_data.frame_of_package(package, folder, frame_name)
    raw, numeric = columns_of(frame, (target, *left_out))
    return raw, numeric, numbers(frame[target]), numbers(map(int, frame["s"])) if name == "insteval" else None


def main():
    folder = sys.argv[-1]
    name = os.path.basename(folder)
    raw, numeric, y, persons = table(name)
    whole = np.isfinite(raw).all(axis=1) & np.isfinite(y)
    raw, y = raw[whole], y[whole]
    if persons is None:
        order = np.random.RandomState(0).permutation(len(y))
        test, train = np.split(order, [DRAWN_TEST_ROWS if name in DRAWN else int(TEST_SHARE * len(y))])
    else:
        persons = persons[whole].astype(np.int64)
        is_test = np.array([hashlib.sha256(str(person).encode()).digest()[0] for person in persons]) < 256 * TEST_SHARE
        order = np.random.RandomState(0).permutation(len(y))
        train, test = order[~is_test[order]], order[is_test[order]]
    x = mapped(raw, numeric, train)
    kinds = {"x": x.astype(np.float32), "y": y, **({"raw": raw} if numeric.any() else {})}
    parts = {f"{side}_{kind}": values[rows] for side, rows in (("train", train), ("test", test))
             for kind, values in kinds.items()}
    if persons is not None:
        parts["train_person"] = persons[train]
    title = TABLES[name][-1] if name in TABLES else "drawn, heavy tails" if name == "heavy" else "drawn"
    about = {"title": title, "features": x.shape[1], "rows": len(train), "test_rows": len(test),
             "numeric": [int(column) for column in np.flatnonzero(numeric)]}
    feature_set.write_parts(folder, about, parts)


if __name__ == "__main__":
    main()
