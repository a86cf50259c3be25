#!/usr/bin/python3
"""Fashion-MNIST as features of mobilenet.py: 10 classes.    fashion_mnist.py NODE_MODULES FOLDER"""
import gzip
import sys

import numpy as np

import feature_set
import mobilenet

IMAGES = "/usr/share/datasets/fashion-mnist/"  # Debian: dataset-fashion-mnist


def read(name, header):
    with gzip.open(IMAGES + name) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


def main():
    node_modules, folder = sys.argv[1:]
    encoder = mobilenet.Encoder(node_modules)
    parts = []
    for part in ("train", "t10k"):
        images = read(part + "-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
        parts.append((mobilenet.features(encoder, images), read(part + "-labels-idx1-ubyte.gz", 8).astype(np.int64)))
    feature_set.write(folder, "Fashion-MNIST, MobileNetV2 features", 10, *parts, expected_accuracy=(0.735, 0.747))


if __name__ == "__main__":
    main()
