"""A model as an ONNX graph, its preparation of rows included.

    input     x               [n, d_in]  float32
    outputs   label           [n]        int64, or the class's name where the model has names; the smallest class of the
                                         largest score; none where the model predicts numbers
              scores          [n, K]     as `dpreduce predict --scores`
              probabilities   [n, K]     where scores have some
              sets            [n, K]     uint8, where the model has a threshold: 1 where score >= threshold

The graph computes with one width of floats. Rows of a projection are rounded to the lattice, so that in float64 its
products are exact integers. The graph cannot refuse a row with a NaN or an infinity, nor shrink a row that the lattice
refuses by an ulp. In float32 entries above 1e18 overflow in the norm.

Operators are of opset 13 (ONNX 1.8 of 2020), so that runtimes since then read it.
"""
import json
import math
import struct

import numpy

from . import _library
from .errors import BadInput, UsageError

OPSET = 13
_IR_VERSION = 7  # of opset 13
_LATTICE_NORM = 32767  # S of src/common/lattice/lattice_rows.hpp
_LARGEST_FILE = 2**31 - 1  # of a protobuf message
_TYPES = {"F64": "<f8", "I64": "<i8", "I16": "<i2"}


def _parts_of(model):
    """The tensors of a model file by their names, and its metadata."""
    length, = struct.unpack_from("<Q", model)
    header, numbers = json.loads(model[8:8 + length]), model[8 + length:]
    metadata = header.pop("__metadata__")
    return {name: numpy.frombuffer(numbers[slice(*entry["data_offsets"])], _TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}, metadata


class _Graph:
    """Nodes in the order in which they are added; each is named by its one output."""

    def __init__(self, onnx, width):
        self.onnx, self.width, self.nodes, self.constants = onnx, numpy.dtype(width), [], {}

    def node(self, operator, *inputs, output=None, **attributes):
        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name, values, kind=None):
        """`values` under `name`, once; of the graph's width where no kind is given."""
        self.constants.setdefault(name, numpy.asarray(values, kind or self.width))
        return name

    def type_of(self, kind):
        return self.onnx.helper.mapping.NP_TYPE_TO_TENSOR_TYPE[numpy.dtype(kind)]


class _ClassifierGraph(_Graph):
    """The steps of docs/reference/files.md, each with its equation."""

    def __init__(self, onnx, width, tensors, metadata):
        super().__init__(onnx, width)
        self.tensors, self.metadata = tensors, metadata
        self.clip_norm, self.classes = float(metadata["clip_norm"]), len(tensors["bias"])
        self.input_dim = int(metadata["input_dim"])
        self.names = json.loads(metadata["class_names"]) if "class_names" in metadata else None

    def norm_of(self, u):
        """||u||, n x 1"""
        return self.node("Sqrt", self.node("ReduceSum", self.node("Mul", u, u), self.constant("last_axis", [1], "i8"), keepdims=1))

    def one_for_zero(self, v):
        """v, and 1 where it is 0"""
        return self.node("Where", self.node("Equal", v, self.constant("zero", 0)), self.constant("one", 1), v)

    def scaled(self, u):
        """u C / ||u||, or u C / max(||u||, C)"""
        clip_norm, norm = self.constant("clip_norm", self.clip_norm), self.norm_of(u)
        divisor = self.one_for_zero(norm) if self.metadata["normalize"] == "l2" else self.node("Max", norm, clip_norm)
        return self.node("Mul", u, self.node("Div", clip_norm, divisor))

    def pooled(self, u, pool):
        """Averages of `pool` consecutive features: groups are filled up with zeros, and divided by what they hold."""
        dim = -(-self.input_dim // pool)
        missing = dim * pool - self.input_dim
        if missing:
            u = self.node("Pad", u, self.constant("padding", [0, 0, 0, missing], "i8"))
        u = self.node("Reshape", u, self.constant("groups", [0, dim, pool], "i8"))
        u = self.node("ReduceSum", u, self.constant("group_axis", [2], "i8"), keepdims=0)
        return self.node("Div", u, self.constant("group_sizes", [pool] * (dim - 1) + [pool - missing]))

    def within_ranges(self, u):
        """clamp((x_a - c_a) / h_a, -1, 1)"""
        centered = self.node("Sub", u, self.constant("feature_center", self.tensors["feature_center"]))
        scaled = self.node("Div", centered, self.constant("feature_scale", self.tensors["feature_scale"]))
        return self.node("Max", self.node("Min", scaled, self.constant("upper_end", 1)), self.constant("lower_end", -1))

    def projected(self, u):
        """w_j = sum_a round(scale u_a) p_ja factor_j, p the integer projection, factor_j = largest_j / (scale S)"""
        values, largest = self.tensors["projection"], self.tensors["projection_largest"]
        scale = (_LATTICE_NORM - math.ceil(math.sqrt(values.shape[1]) / 2)) / self.clip_norm
        factors = [1 / (scale * (_LATTICE_NORM / one)) if one else 0 for one in largest]
        q = self.node("Round", self.node("Mul", u, self.constant("lattice_scale", scale)))
        p = self.node("Cast", self.constant("projection", values, "i2"), to=self.type_of(self.width))
        return self.node("Mul", self.node("MatMul", q, self.node("Transpose", p)), self.constant("projection_factors", factors))

    def prepared(self, x):
        u = x if self.width == numpy.float32 else self.node("Cast", x, to=self.type_of(self.width))
        if int(self.metadata["pool"]) > 1:
            u = self.pooled(u, int(self.metadata["pool"]))
        if "feature_center" in self.tensors:
            u = self.within_ranges(u)
        u = self.scaled(u)
        if "center" in self.tensors:
            u = self.node("Sub", u, self.constant("center", self.tensors["center"]))
            if "center_factor" in self.metadata:
                u = self.node("Mul", u, self.constant("center_factor", float(self.metadata["center_factor"])))
            u = self.scaled(u)
        if "projection" in self.tensors:
            u = self.scaled(self.projected(u))
        if "selected" in self.tensors:
            u = self.scaled(self.node("Gather", u, self.constant("selected", self.tensors["selected"], "i8"), axis=1))
        return u

    def add_scores(self, u):
        products = self.node("MatMul", u, self.constant("weights", self.tensors["weights"].T))
        bias = self.constant("bias", self.tensors["bias"])
        if "prototypes" not in self.tensors:
            return self.node("Add", products, bias, output="scores")
        of_weights = self.node("Softmax", self.node("Add", products, bias), axis=1)
        lengths = numpy.linalg.norm(self.tensors["prototypes"], axis=1, keepdims=True)
        directions = self.tensors["prototypes"] / numpy.where(lengths == 0, 1, lengths)
        cosines = self.node("Div", self.node("MatMul", u, self.constant("directions", directions.T)), self.one_for_zero(self.norm_of(u)))
        return self.node("Add", of_weights, self.node("Softmax", cosines, axis=1), output="scores")

    def add_label(self, scores):
        index = self.node("ArgMax", scores, axis=1, keepdims=0, output="class_index" if self.names else "label")
        if self.names:
            self.node("Gather", self.constant("class_names", self.names, object), index, axis=0, output="label")

    def add_probabilities(self, scores):
        if "prototypes" in self.tensors:
            self.node("Div", scores, self.constant("heads", 2), output="probabilities")
        elif self.metadata["link"] == "softmax":
            self.node("Softmax", scores, axis=1, output="probabilities")
        else:
            self.node("Sigmoid", scores, output="probabilities")

    def add_sets(self, scores):
        at_least = self.node("GreaterOrEqual", scores, self.constant("threshold", float(self.metadata["threshold"])))
        self.node("Cast", at_least, to=self.type_of("u1"), output="sets")

    def add(self):
        """Adds all nodes; returns the outputs."""
        scores = self.add_scores(self.prepared("x"))
        per_class = ["n", self.classes]
        outputs = [("scores", self.type_of(self.width), per_class)]
        if "targets" not in self.metadata:  # else scores are the numbers
            self.add_label(scores)
            outputs.insert(0, ("label", self.type_of(object if self.names else "i8"), ["n"]))
        if "link" in self.metadata:
            self.add_probabilities(scores)
            outputs.append(("probabilities", self.type_of(self.width), per_class))
        if "threshold" in self.metadata:
            self.add_sets(scores)
            outputs.append(("sets", self.type_of("u1"), per_class))
        return outputs


def bytes_of(classifier, width):
    """The bytes of an ONNX file; a function of classifier and width alone. Its metadata_props are the metadata of the model file but
    for the format's own two. Throws UsageError where the package onnx is not installed, or `width` is not known, BadInput where
    the graph passes the 2 GiB of a protobuf message."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise UsageError(f"onnx: the Python package that writes ONNX graphs cannot be imported ({error}); install it: apt-get install "
                         "python3-onnx, or pip install onnx") from error
    if width not in ("float32", "float64"):
        raise UsageError(f"width={width}: must be float32 or float64")
    tensors, metadata = _parts_of(classifier.to_bytes())
    graph = _ClassifierGraph(onnx, width, tensors, metadata)
    outputs = [onnx.helper.make_tensor_value_info(*output) for output in graph.add()]
    x = onnx.helper.make_tensor_value_info("x", graph.type_of("f4"), ["n", graph.input_dim])
    constants = [onnx.numpy_helper.from_array(values, name) for name, values in graph.constants.items()]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "dpreduce_classifier", [x], outputs, constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION, producer_name="dpreduce",
        producer_version=_library.core().version())
    onnx.helper.set_model_props(model, {key: value for key, value in metadata.items() if key not in ("format", "format_version")})
    if model.ByteSize() > _LARGEST_FILE:
        raise BadInput("onnx: the graph passes the 2 GiB that an ONNX file can have; try width float32")
    return model.SerializeToString()
