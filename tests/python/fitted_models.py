#!/usr/bin/python3
"""One small model of every method of the registry, with every step of preparation among them, and one of numbers.

    fitted_models.py DPREDUCE FOLDER

Fits them in the folder, and writes beside NAME.model what the program predicts for the rows of x.npy (NAME.y.npy
labels, NAME.s.npy scores, NAME.p.npy probabilities, NAME.sets.npy), and its graphs NAME.float32.onnx and NAME.float64.onnx.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys

import dpreduce
import numpy

PUBLIC = "--public-x one/test_x.npy"
FITS = {  # name: (rows, options, ranks)
    "auto": ("one", "--method auto --normalize l2 --mu 1 --rounds 3", 0),  # which is no question, so no matter of noise
    "auto-columns": ("one", "--method auto --feature-range private --mu 1 --rounds 3", 0),
    "mean": ("one", "--method mean --mu 1", 0),
    "mean-centers": ("one", "--method mean --metric euclidean --center dp --mu 1 --class-names names.txt", 0),
    "mean-persons": ("one", "--method mean --mu 1 --train-person person.npy --rows-per-person 2", 0),
    "mean-sets": ("sets", "--method mean --max-labels 3 --mu 1", 0),
    "public": ("one", f"--method public --epsilon 3 {PUBLIC}", 0),
    "ls": ("one", "--method ls --mu 1 --select 8", 0),
    "ls-plain": ("one", "--method ls --non-private --pool 4", 0),
    "fc": ("one", f"--method fc --mu 1 --pca 6 --rounds 3 {PUBLIC}", 0),
    "fc-warm": ("one", "--method fc --mu 1 --warm-start --rounds 3 --pool 2 --select 9 --center dp --normalize none --clip 2", 0),
    "gd": ("one", "--method gd --epsilon 2 --delta 1e-6 --batch 0.2 --rounds 4 --radius 3 --learning-rate 0.1 --accountant pld", 0),
    "adam": ("one", "--method adam --loss sigmoid --rounds 3 --mu 1 --pool 5 --normalize none --clip 0.5", 0),
    "adam-sets": ("sets", "--method adam --max-labels 3 --rounds 3 --mu 1", 0),
    "newton": ("one", "--method newton --rounds 2 --adjacency replace-one --rho 0.5", 0),
    "fisher": ("one", "--method fisher --select 6 --select-by t --mu 1", 0),
    "prototypes": ("one", f"--method prototypes --auto --epsilon 3 --delta 1e-5 {PUBLIC}", 0),
    "coinpress": ("one", "--method coinpress --rho 0.5", 0),
    "global-adapt": ("one", "--method global-adapt --mu 1", 0),
    "fedavg": ("one", "--method fedavg --rounds 2 --learning-rate 0.1 --mu 1", 2),
    "fc-one-step": ("one", "--method fc-one-step --mu 1", 0),
}


def run(program, folder, line, ranks=0, code=0):
    """What the program printed; fails where it ends with another exit code."""
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    done = subprocess.run(launcher + [program] + line.split(), cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, f"{line}: exit code {done.returncode}\n{done.stderr}"
    return done


def parts_of(path):
    """The tensors' bytes by name, and the metadata: as docs/how-to/load-a-model.md reads them."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, numbers = json.loads(data[8:8 + length]), data[8 + length:]
    metadata = header.pop("__metadata__")
    return {name: (entry["dtype"], entry["shape"], numbers[slice(*entry["data_offsets"])]) for name, entry in header.items()}, metadata


def fit_all(program, folder):
    shape = "--rows 1500 --test-rows 300 --dim 33 --classes 4 --spread 0.6"
    run(program, folder, f"synth --kind gaussian-mixture {shape} --out one")
    run(program, folder, f"synth --kind gaussian-mixture {shape} --max-labels 3 --out sets")
    (folder / "names.txt").write_text("plain\na | `bar`\n*star* <b>\nÄpfel\n")
    numpy.save(folder / "person.npy", numpy.arange(1500) // 3)
    x = numpy.load(folder / "one/test_x.npy")
    x[0] = 0
    x[1] *= 1e-12
    x[2] *= 1e12
    numpy.save(folder / "x.npy", x)
    for name, (rows, options, ranks) in FITS.items():
        for rank in range(ranks):
            for kind in "xy":
                numpy.save(folder / f"{rows}/train{rank}_{kind}.npy", numpy.load(folder / f"{rows}/train_{kind}.npy")[rank::ranks])
        of_rank = "{rank}" if ranks else ""
        run(program, folder, f"fit --train-x {rows}/train{of_rank}_x.npy --train-y {rows}/train{of_rank}_y.npy "
                             f"--test-x {rows}/test_x.npy --test-y {rows}/test_y.npy --classes 4 --threads 1 --quiet "
                             f"--out {name}.model --ledger {name}.ledger --report {name}.json {options}", ranks)
        _, metadata = parts_of(folder / f"{name}.model")
        probabilities = f"--probabilities {name}.p.npy" if "link" in metadata else ""
        run(program, folder, f"predict --model {name}.model --x x.npy --out {name}.y.npy --scores {name}.s.npy {probabilities}")
        if "threshold" in metadata:
            run(program, folder, f"predict --model {name}.model --x x.npy --sets --out {name}.sets.npy")
        write_graphs(folder, name)
    fit_numbers(program, folder)


def write_graphs(folder, name):
    for width in ("float32", "float64"):
        dpreduce.export_onnx(dpreduce.load(folder / f"{name}.model"), folder / f"{name}.{width}.onnx", width=width)


def fit_numbers(program, folder):
    """A regression on two numbers, in the same files: it has scores, and no labels."""
    x = numpy.load(folder / "one/train_x.npy").astype(numpy.float64)
    numpy.save(folder / "one/train_t.npy", numpy.stack([40 + x[:, 0] - 3 * x[:, 1], 2 * x[:, 2]], axis=1))
    run(program, folder, "fit --train-x one/train_x.npy --targets one/train_t.npy --feature-range -4,4 --mu 3 --threads 1 --quiet "
                         "--out numbers.model --ledger numbers.ledger")
    run(program, folder, "predict --model numbers.model --x x.npy --out numbers.s.npy")
    write_graphs(folder, "numbers")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    fit_all(os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]))
