#include "common/onnx/onnx_classifier.hpp"

#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/lattice_weights.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/model/classifier_file.hpp"

namespace dpreduce {
namespace {

constexpr std::int64_t kIrVersion = 7;  // that of opset 13
constexpr const char* kRows = "n";      // the dimension that is free

using Shape = std::vector<std::int64_t>;

template <typename Number>
std::string raw(const std::vector<Number>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)};
}

// Nodes in the order in which they are added; each is named by its one output.
class GraphWriter {
 public:
  GraphWriter(onnx::GraphProto& graph, FloatWidth width) : graph_(graph), width_(width) {}

  onnx::TensorProto_DataType float_type() const {
    return width_ == FloatWidth::kFloat32 ? onnx::TensorProto_DataType_FLOAT : onnx::TensorProto_DataType_DOUBLE;
  }

  std::string node(const char* op, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<const char*, std::int64_t>>& attributes = {}, std::string output = {}) {
    if (output.empty()) output = fmt::format("{}_{}", op, graph_.node_size());
    onnx::NodeProto& added = *graph_.add_node();
    added.set_op_type(op);
    added.set_name(output);
    for (const std::string& input : inputs) added.add_input(input);
    added.add_output(output);
    for (const auto& [name, value] : attributes) {
      onnx::AttributeProto& attribute = *added.add_attribute();
      attribute.set_name(name);
      attribute.set_type(onnx::AttributeProto_AttributeType_INT);
      attribute.set_i(value);
    }
    return output;
  }

  std::string cast(const std::string& input, onnx::TensorProto_DataType type, std::string output = {}) {
    return node("Cast", {input}, {{"to", type}}, std::move(output));
  }

  // A constant of the graph's width.
  std::string floats(const std::string& name, const std::vector<double>& values, const Shape& shape) {
    if (width_ == FloatWidth::kFloat64) return constant(name, float_type(), raw(values), shape);
    return constant(name, float_type(), raw(std::vector<float>(values.begin(), values.end())), shape);
  }
  std::string number(const std::string& name, double value) { return floats(name, {value}, {}); }
  std::string indices(const std::string& name, const std::vector<std::int64_t>& values) {
    return constant(name, onnx::TensorProto_DataType_INT64, raw(values), {static_cast<std::int64_t>(values.size())});
  }
  std::string words(const std::string& name, const std::vector<std::string>& values) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto_DataType_STRING);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::string& value : values) tensor.add_string_data(value);
    return name;
  }
  std::string shorts(const std::string& name, std::span<const std::int16_t> values, const Shape& shape) {
    return constant(name, onnx::TensorProto_DataType_INT16,
                    raw(std::vector<std::int16_t>(values.begin(), values.end())), shape);
  }

 private:
  std::string constant(const std::string& name, onnx::TensorProto_DataType type, std::string bytes,
                       const Shape& shape) {
    if (!constants_.insert(name).second) return name;
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    tensor.set_raw_data(std::move(bytes));
    return name;
  }

  onnx::GraphProto& graph_;
  FloatWidth width_;
  std::set<std::string> constants_;  // by name: each is added once
};

// The transpose of a rows x columns matrix, row-major.
std::vector<double> transposed(std::span<const double> matrix, std::size_t rows) {
  const std::size_t columns = matrix.size() / rows;
  std::vector<double> result(matrix.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      result[column * rows + row] = matrix[row * columns + column];
    }
  }
  return result;
}

// Adds the nodes of the legend of row_transform.hpp and of classifier.hpp, each with its equation.
class ClassifierGraph {
 public:
  ClassifierGraph(const ClassifierParts& parts, GraphWriter& graph)
      : parts_(parts), rows_(parts.preprocessing), graph_(graph) {}

  void add() {
    const std::string u = prepared("x");
    const std::string scores = scores_of(u);
    if (rows_.targets.count > 0) return;  // scores are the numbers
    const std::vector<std::string>& names = parts_.class_names;
    const std::string index =
        graph_.node("ArgMax", {scores}, {{"axis", 1}, {"keepdims", 0}}, names.empty() ? "label" : "class_index");
    if (!names.empty()) graph_.node("Gather", {graph_.words("class_names", names), index}, {{"axis", 0}}, "label");
    if (parts_.link) add_probabilities(scores);
    if (parts_.threshold) {
      const std::string threshold = graph_.number("threshold", *parts_.threshold);
      graph_.cast(graph_.node("GreaterOrEqual", {scores, threshold}), onnx::TensorProto_DataType_UINT8, "sets");
    }
  }

 private:
  static std::int64_t extent(std::size_t size) { return static_cast<std::int64_t>(size); }

  // ||u||, n x 1
  std::string norm_of(const std::string& u) {
    return graph_.node("Sqrt", {graph_.node("ReduceSum", {graph_.node("Mul", {u, u}), graph_.indices("last_axis", {1})},
                                            {{"keepdims", 1}})});
  }
  // v, and 1 where it is 0
  std::string one_for_zero(const std::string& v) {
    return graph_.node("Where", {graph_.node("Equal", {v, graph_.number("zero", 0.0)}), graph_.number("one", 1.0), v});
  }

  // u C / ||u||, or u C / max(||u||, C)
  std::string scaled(const std::string& u) {
    const std::string clip_norm = graph_.number("clip_norm", rows_.clip_norm);
    const std::string norm = norm_of(u);
    const std::string divisor =
        rows_.normalize == Normalize::kL2 ? one_for_zero(norm) : graph_.node("Max", {norm, clip_norm});
    return graph_.node("Mul", {u, graph_.node("Div", {clip_norm, divisor})});
  }

  // Averages of `pool` consecutive features: groups are filled up with zeros, and divided by what they hold.
  std::string pooled(std::string u) {
    const std::size_t pool = rows_.pool;
    const std::size_t dim = rows_.pooled_dim();
    if (const std::size_t missing = dim * pool - rows_.input_dim; missing > 0) {
      u = graph_.node("Pad", {u, graph_.indices("padding", {0, 0, 0, extent(missing)})});
    }
    u = graph_.node("Reshape", {u, graph_.indices("groups", {0, extent(dim), extent(pool)})});
    u = graph_.node("ReduceSum", {u, graph_.indices("group_axis", {2})}, {{"keepdims", 0}});
    std::vector<double> sizes(dim, static_cast<double>(pool));
    sizes.back() = static_cast<double>(rows_.input_dim - (dim - 1) * pool);
    return graph_.node("Div", {u, graph_.floats("group_sizes", sizes, {extent(dim)})});
  }

  // clamp((x_a - c_a) / h_a, -1, 1)
  std::string within_ranges(const std::string& u) {
    const Shape shape{extent(rows_.input_dim)};
    const std::string centered = graph_.node("Sub", {u, graph_.floats("feature_center", rows_.columns.center, shape)});
    const std::string scaled =
        graph_.node("Div", {centered, graph_.floats("feature_scale", rows_.columns.scale, shape)});
    const std::string below = graph_.node("Min", {scaled, graph_.number("upper_end", 1.0)});
    return graph_.node("Max", {below, graph_.number("lower_end", -1.0)});
  }

  // w_j = sum_a round(scale u_a) p_ja factor_j, p the integer projection
  std::string projected(const std::string& u) {
    const Lattice lattice{rows_.clip_norm, rows_.pooled_dim()};
    const LatticeWeights projection(rows_.projection, lattice);
    const std::size_t kept = rows_.projected_dim();
    const std::string q =
        graph_.node("Round", {graph_.node("Mul", {u, graph_.number("lattice_scale", lattice.scale())})});
    const std::string p = graph_.cast(
        graph_.shorts("projection", {projection.values(), kept * lattice.dim}, {extent(kept), extent(lattice.dim)}),
        graph_.float_type());
    const std::string products = graph_.node("MatMul", {q, graph_.node("Transpose", {p})});
    const std::vector<double> factors(projection.factors().begin(), projection.factors().end());
    return graph_.node("Mul", {products, graph_.floats("projection_factors", factors, {extent(kept)})});
  }

  std::string prepared(const std::string& x) {
    std::string u = graph_.float_type() == onnx::TensorProto_DataType_FLOAT ? x : graph_.cast(x, graph_.float_type());
    if (rows_.pool > 1) u = pooled(u);
    if (!rows_.columns.center.empty()) u = within_ranges(u);
    u = scaled(u);
    if (!rows_.center.empty()) {
      u = graph_.node("Sub", {u, graph_.floats("center", rows_.center, {extent(rows_.center.size())})});
      if (rows_.center_factor != 1.0) u = graph_.node("Mul", {u, graph_.number("center_factor", rows_.center_factor)});
      u = scaled(u);
    }
    if (!rows_.projection.empty()) u = scaled(projected(u));
    if (!rows_.selected.empty()) {
      const std::vector<std::int64_t> kept(rows_.selected.begin(), rows_.selected.end());
      u = scaled(graph_.node("Gather", {u, graph_.indices("selected", kept)}, {{"axis", 1}}));
    }
    return u;
  }

  std::string scores_of(const std::string& u) {
    const Shape shape{extent(rows_.dim()), extent(parts_.classes)};
    const std::string weights = graph_.floats("weights", transposed(parts_.weights, parts_.classes), shape);
    const std::string bias = graph_.floats("bias", parts_.bias, {extent(parts_.classes)});
    const std::string products = graph_.node("MatMul", {u, weights});
    if (parts_.cosine_head.empty()) return graph_.node("Add", {products, bias}, {}, "scores");
    const std::string g = graph_.node("Softmax", {graph_.node("Add", {products, bias})}, {{"axis", 1}});
    const std::string directions =
        graph_.floats("directions", transposed(unit_prototypes(parts_), parts_.classes), shape);
    const std::string cosines = graph_.node("Div", {graph_.node("MatMul", {u, directions}), one_for_zero(norm_of(u))});
    return graph_.node("Add", {g, graph_.node("Softmax", {cosines}, {{"axis", 1}})}, {}, "scores");
  }

  void add_probabilities(const std::string& scores) {
    if (!parts_.cosine_head.empty()) {
      graph_.node("Div", {scores, graph_.number("heads", 2.0)}, {}, "probabilities");
    } else if (*parts_.link == Link::kSoftmax) {
      graph_.node("Softmax", {scores}, {{"axis", 1}}, "probabilities");
    } else {
      graph_.node("Sigmoid", {scores}, {}, "probabilities");
    }
  }

  const ClassifierParts& parts_;
  const Preprocessing& rows_;
  GraphWriter& graph_;
};

// A tensor of n rows, and of `width` columns where it has two dimensions.
void describe(onnx::ValueInfoProto& value, const char* name, int type, std::optional<std::size_t> width) {
  value.set_name(name);
  onnx::TypeProto_Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_param(kRows);
  if (width) tensor.mutable_shape()->add_dim()->set_dim_value(static_cast<std::int64_t>(*width));
}

}  // namespace

std::string onnx_bytes(const Classifier& classifier, FloatWidth width) {
  const ClassifierParts& parts = classifier.parts();
  DPREDUCE_ASSERT(parts.preprocessing.intercept == 0.0);  // folded into weights and bias, as in model files
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("dpreduce");
  model.set_producer_version(version());
  onnx::OperatorSetIdProto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOnnxOpset);
  for (const auto& [key, value] : metadata_of(classifier)) {
    if (key == "format" || key == "format_version") continue;  // of the model file
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }

  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("dpreduce_classifier");
  GraphWriter writer(graph, width);
  ClassifierGraph(parts, writer).add();
  const std::size_t classes = parts.classes;
  describe(*graph.add_input(), "x", onnx::TensorProto_DataType_FLOAT, classifier.input_dim());
  const auto label_type =
      parts.class_names.empty() ? onnx::TensorProto_DataType_INT64 : onnx::TensorProto_DataType_STRING;
  if (!classifier.predicts_numbers()) describe(*graph.add_output(), "label", label_type, std::nullopt);
  describe(*graph.add_output(), "scores", writer.float_type(), classes);
  if (parts.link) describe(*graph.add_output(), "probabilities", writer.float_type(), classes);
  if (parts.threshold) describe(*graph.add_output(), "sets", onnx::TensorProto_DataType_UINT8, classes);

  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw BadInput("--onnx: the model passes the 2 GiB that an ONNX file can have; try --onnx-width float32");
  }
  return model.SerializeAsString();
}

}  // namespace dpreduce
