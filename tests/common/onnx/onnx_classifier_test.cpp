// The form of ONNX graphs; what they compute is tested in tests/python/models_elsewhere_test.py.
#include "common/onnx/onnx_classifier.hpp"

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include "common/model/classifier_file.hpp"
#include "tests/testing.hpp"

namespace dpreduce::onnx_classifier_test {

// Three classes, five features in groups of two, of which two are kept.
ClassifierParts all_steps() {
  ClassifierParts parts{.method = "fc",
                        .privacy = PrivacyStatement{1.0, 1e-6, 0.2, 0.02, "add-remove"},
                        .preprocessing = {.input_dim = 5,
                                          .pool = 2,
                                          .normalize = Normalize::kNone,
                                          .clip_norm = 2.0,
                                          .center = {0.1, 0.2, 0.3}},
                        .classes = 3,
                        .weights = {1, 2, 3, 4, 5, 6},
                        .bias = {0.5, -0.5, 0},
                        .cosine_head = {1, 0, 0, 1, 0, 0},
                        .threshold = 0.25,
                        .class_names = {"a", "b", "c"},
                        .link = Link::kSoftmax};
  parts.preprocessing.projection = {1, 0, 0, 0, 0.5, 0, 0, 0, 0.25};
  parts.preprocessing.selected = {0, 2};
  parts.preprocessing.center_factor = 1.25;
  return parts;
}

onnx::ModelProto model_of(const ClassifierParts& parts, FloatWidth width) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(onnx_bytes(Classifier(parts), width)));
  return model;
}

std::vector<std::string> names_of(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& value : values) names.push_back(value.name());
  return names;
}

TEST(OnnxClassifier, GraphsOfEveryStepAreValid) {
  for (const FloatWidth width : {FloatWidth::kFloat32, FloatWidth::kFloat64}) {
    const onnx::ModelProto model = model_of(all_steps(), width);
    EXPECT_NO_THROW(onnx::checker::check_model(model));
    EXPECT_THAT(names_of(model.graph().input()), ElementsAre("x"));
    EXPECT_THAT(names_of(model.graph().output()), ElementsAre("label", "scores", "probabilities", "sets"));
    EXPECT_EQ(model.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto_DataType_FLOAT);
    EXPECT_EQ(model.graph().output(0).type().tensor_type().elem_type(), onnx::TensorProto_DataType_STRING);
    EXPECT_EQ(model.opset_import(0).version(), kOnnxOpset);
  }
}

TEST(OnnxClassifier, StepsThatAModelHasNotAreNotThere) {
  ClassifierParts parts = all_steps();
  parts.preprocessing = {.input_dim = 2, .normalize = Normalize::kL2, .clip_norm = 1.0, .center = {}};
  parts.cosine_head.clear();
  parts.class_names.clear();
  parts.threshold.reset();
  parts.link.reset();
  const onnx::ModelProto model = model_of(parts, FloatWidth::kFloat32);
  EXPECT_NO_THROW(onnx::checker::check_model(model));
  EXPECT_THAT(names_of(model.graph().output()), ElementsAre("label", "scores"));
  EXPECT_EQ(model.graph().output(0).type().tensor_type().elem_type(), onnx::TensorProto_DataType_INT64);
  std::set<std::string> operators;
  for (const onnx::NodeProto& node : model.graph().node()) operators.insert(node.op_type());
  for (const char* absent : {"Cast", "Gather", "Pad", "Reshape", "Round", "Softmax", "Sub", "Transpose"}) {
    EXPECT_EQ(operators.count(absent), 0U) << absent;
  }
}

TEST(OnnxClassifier, TheProjectionKeepsItsSixteenBits) {
  const onnx::ModelProto model = model_of(all_steps(), FloatWidth::kFloat64);
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() != "projection") continue;
    EXPECT_EQ(tensor.data_type(), onnx::TensorProto_DataType_INT16);
    EXPECT_EQ(tensor.raw_data().size(), 9 * sizeof(std::int16_t));
    return;
  }
  FAIL() << "no projection";
}

TEST(OnnxClassifier, MetadataAreThoseOfTheModelFileWithoutItsFormat) {
  const Classifier classifier(all_steps());
  std::map<std::string, std::string> expected = metadata_of(classifier);
  expected.erase("format");
  expected.erase("format_version");
  std::map<std::string, std::string> found;
  const onnx::ModelProto model = model_of(all_steps(), FloatWidth::kFloat32);
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    found[entry.key()] = entry.value();
  }
  EXPECT_EQ(found, expected);
}

TEST(OnnxClassifier, BytesAreAFunctionOfTheModel) {
  const Classifier classifier(all_steps());
  EXPECT_EQ(onnx_bytes(classifier, FloatWidth::kFloat32), onnx_bytes(classifier, FloatWidth::kFloat32));
  EXPECT_NE(onnx_bytes(classifier, FloatWidth::kFloat32), onnx_bytes(classifier, FloatWidth::kFloat64));
}

}  // namespace dpreduce::onnx_classifier_test
