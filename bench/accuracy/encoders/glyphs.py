#!/usr/bin/python3
"""Letters and digits of many typefaces as features of mobilenet.py: 62 classes.    glyphs.py NODE_MODULES FOLDER

Each of A-Z, a-z and 0-9 is drawn from every face of the Debian packages in fonts.txt; turned, sheared, scaled and moved at
random, and made noisy. Training and test glyphs come from different faces.
"""
import hashlib
import pathlib
import string
import subprocess
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import feature_set
import mobilenet

CHARACTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits
DRAWINGS = 4  # of a character in a face
SIDE, LARGE = 28, 84


def faces():
    """(name, font) of every file of those packages that draws all characters, and no two of them alike."""
    packages = (pathlib.Path(__file__).parent / "fonts.txt").read_text().split()
    files = subprocess.check_output(["dpkg-query", "-L", *packages], text=True).split("\n")
    names = {path.rsplit("/", 1)[1]: path for path in sorted(files) if path.endswith((".otf", ".ttf"))}
    fonts = ((name, ImageFont.truetype(path, 60)) for name, path in sorted(names.items()))
    return [(name, font) for name, font in fonts
            if len({bytes(font.getmask(character)) for character in CHARACTERS}) == len(CHARACTERS)]


def drawing(font, character, rng):
    """SIDE x SIDE, 0 to 255: the character about the middle, under a random affine map, and noise."""
    large = Image.new("L", (LARGE, LARGE))
    ImageDraw.Draw(large).text((LARGE / 2, LARGE / 2), character, fill=255, font=font, anchor="mm")
    angle, shear, scale = rng.uniform(-0.25, 0.25), rng.uniform(-0.2, 0.2), rng.uniform(0.8, 1.2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = LARGE / SIDE * scale * turn @ np.array([[1, shear], [0, 1]])
    shift = LARGE / 2 - matrix @ (SIDE / 2 + rng.uniform(-2, 2, 2))
    image = large.transform((SIDE, SIDE), Image.Transform.AFFINE, [*matrix[0], shift[0], *matrix[1], shift[1]],
                            Image.Resampling.BICUBIC)
    return np.clip(np.asarray(image, np.float32) + rng.normal(0, 25, (SIDE, SIDE)), 0, 255)


def main():
    node_modules, folder = sys.argv[1:]
    encoder = mobilenet.Encoder(node_modules)
    rng = np.random.RandomState(0)
    sides = {True: ([], []), False: ([], [])}
    for name, font in faces():
        images, labels = sides[hashlib.sha256(name.encode()).digest()[0] < 0.15 * 256]
        for label, character in enumerate(CHARACTERS):
            for _ in range(DRAWINGS):
                images.append(drawing(font, character, rng))
                labels.append(label)
    parts = []
    for side in (False, True):
        order = rng.permutation(len(sides[side][1]))
        images, labels = np.array(sides[side][0])[order], np.array(sides[side][1], np.int64)[order]
        parts.append((mobilenet.features(encoder, images), labels))
    feature_set.write(folder, "letters and digits of typefaces, MobileNetV2 features", len(CHARACTERS), *parts,
                      expected_accuracy=(0.3, 0.9))


if __name__ == "__main__":
    main()
