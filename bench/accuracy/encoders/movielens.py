#!/usr/bin/python3
"""MovieLens ratings (Debian's r-cran-dslabs) as features of sentence_encoder.py.    movielens.py NODE_MODULES FOLDER

Rows: the ratings of 671 users, 20 to 2391 each: a film's title through the encoder. Label: the film's first genre, where
that is one of the four that most ratings have. Persons: the users, of whom none is on both sides. Films are on both: what
is private is who rated which.
"""
import hashlib
import sys

import numpy as np

import feature_set
import r_data
from sentence_encoder import SentenceEncoder

GENRES = ["Action", "Comedy", "Drama", "Adventure"]


def main():
    node_modules, folder = sys.argv[1:]
    frame = r_data.frame_of_package("r-cran-dslabs", "dslabs", "movielens")
    genres = [genre.split("|")[0] for genre in frame["genres"]]
    kept = [row for row, genre in enumerate(genres) if genre in GENRES and frame["title"][row]]
    titles = sorted({frame["title"][row] for row in kept})
    place = {title: at for at, title in enumerate(titles)}
    x = SentenceEncoder(node_modules)(titles)[[place[frame["title"][row]] for row in kept]]
    y = np.array([GENRES.index(genres[row]) for row in kept], np.int64)
    users = np.array([frame["userId"][row] for row in kept])
    side = np.array([hashlib.sha256(str(user).encode()).digest()[0] for user in users]) < 51  # a fifth, to test
    order = np.random.RandomState(0)
    train, test = (order.permutation(np.flatnonzero(part)) for part in (~side, side))
    feature_set.write(folder, "MovieLens: genres of rated films, sentence features of titles", len(GENRES),
                      (x[train], y[train]), (x[test], y[test]), (0.3, 0.95), users[train])


if __name__ == "__main__":
    main()
