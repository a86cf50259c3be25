#include "common/model/classifier_file.hpp"

#include "common/base/error.hpp"
#include "common/data/safetensors.hpp"
#include "tests/common/special_values.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::classifier_file_test {

// Figures that no short decimal text holds, and the ends of the range.
ClassifierParts full_parts() {
  ClassifierParts parts;
  parts.method = "fc";
  parts.privacy = PrivacyStatement{1.0 / 3.0, 1e-5, 0.1 + 0.2, 5e-324, Adjacency::kReplaceOne};
  parts.preprocessing = {
      .input_dim = 5, .pool = 2, .normalize = Normalize::kNone, .clip_norm = 1.0 / 7.0, .center = {0.1, -0.2, 1e-300}};
  parts.classes = 2;
  parts.weights = {1.0 / 3.0, -0.0, std::numeric_limits<double>::max(), 5e-324, 1e-310, -1.0};
  parts.bias = {0.1, -1e300};
  parts.cosine_head = {1, 2, 3, 4, 5, 6};
  return parts;
}

ClassifierParts plain_parts() {
  ClassifierParts parts = full_parts();
  parts.privacy.reset();
  parts.preprocessing.center.clear();
  parts.cosine_head.clear();
  return parts;
}

// Five features by pairs: three, projected on two, of which the second is kept.
ClassifierParts reduced_parts() {
  ClassifierParts parts = full_parts();
  parts.preprocessing.projection = {1.0 / 3.0, 0.0, -0.25, 5e-324, 1.0, 2.0};
  parts.preprocessing.selected = {1};
  parts.weights = {0.1, -0.2};
  parts.cosine_head = {1, 2};
  return parts;
}

std::vector<std::byte> bytes_of(const ClassifierParts& parts) {
  return to_bytes(Classifier(parts));
}

SafetensorsFile file_of(const ClassifierParts& parts) {
  return parse_safetensors(bytes_of(parts), "f");
}

ClassifierParts parts_in(const SafetensorsFile& file) {
  return classifier_from_bytes(serialize(file), "f").parts();
}

// What a file of that model is read as; which has the file's bytes, too.
ClassifierParts reread(const ClassifierParts& parts) {
  const std::vector<std::byte> bytes = bytes_of(parts);
  const Classifier read = classifier_from_bytes(bytes, "f");
  EXPECT_EQ(to_bytes(read), bytes);
  return read.parts();
}

bool same_bits(const std::vector<double>& left, const std::vector<double>& right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(double)) == 0);
}

// But for the projection, which a file rounds to a lattice.
void expect_same(const ClassifierParts& left, ClassifierParts right) {
  right.preprocessing.projection = left.preprocessing.projection;
  EXPECT_TRUE(left.preprocessing == right.preprocessing);
  EXPECT_EQ(left.method, right.method);
  EXPECT_EQ(left.privacy, right.privacy);
  EXPECT_EQ(left.classes, right.classes);
  EXPECT_TRUE(same_bits(left.preprocessing.center, right.preprocessing.center));
  EXPECT_TRUE(same_bits(left.weights, right.weights));
  EXPECT_TRUE(same_bits(left.bias, right.bias));
  EXPECT_TRUE(same_bits(left.cosine_head, right.cosine_head));
}

TEST(ClassifierFile, FullAndPlainModelsReturnBitForBitWithTheirLink) {
  for (const ClassifierParts& parts : {full_parts(), plain_parts()}) {
    expect_same(reread(parts), parts);
    EXPECT_EQ(bytes_of(parts), bytes_of(parts));
  }
  for (const Link link : {Link::kSoftmax, Link::kSigmoid}) {
    ClassifierParts parts = plain_parts();
    parts.link = link;
    EXPECT_EQ(reread(parts).link, link);
    EXPECT_EQ(file_of(parts).metadata.at("link"), to_string(link));
  }
  EXPECT_FALSE(reread(plain_parts()).link);
}

TEST(ClassifierFile, AReducedModelReturnsWithItsProjectionOnTheLattice) {
  const ClassifierParts read = reread(reduced_parts());
  expect_same(read, reduced_parts());
  const std::vector<double>& projection = reduced_parts().preprocessing.projection;
  const std::vector<double> largest = {1.0 / 3.0, 2.0};
  for (std::size_t entry = 0; entry < projection.size(); ++entry) {
    EXPECT_NEAR(read.preprocessing.projection[entry], projection[entry], largest[entry / 3] / 32767 / 2 + 1e-15);
  }
  const SafetensorsFile file = file_of(reduced_parts());
  EXPECT_EQ(file.metadata.at("format_version"), "2");
  EXPECT_EQ(file.tensors.size(), 7U);
  EXPECT_EQ(file.tensors.at("projection").type, DType::kInt16);
  EXPECT_EQ(file.tensors.at("projection").shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(entries_of<std::int16_t>(file.tensors.at("projection")),
            (std::vector<std::int16_t>{32767, 0, -24575, 0, 16384, 32767}));
  EXPECT_EQ(entries_of<double>(file.tensors.at("projection_largest")), largest);
  EXPECT_EQ(file.tensors.at("selected").type, DType::kInt64);
  EXPECT_EQ(file.tensors.at("center").shape, (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(file.tensors.at("weights").shape, (std::vector<std::uint64_t>{2, 1}));
}

TEST(ClassifierFile, ALoadedModelPredictsTheSameBits) {
  ClassifierParts full = full_parts();
  full.weights[2] = 2.0;
  const std::vector<float> rows = {1, 2, 3, 4, 5, -1, 0.5F, 7, 8, -3};
  const TemporaryFolder folder;
  for (const ClassifierParts& parts : {full, reduced_parts()}) {
    const std::vector<std::byte> bytes = bytes_of(parts);
    write_bytes(folder / "model.safetensors", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const Classifier loaded = load_classifier(folder / "model.safetensors");
    EXPECT_TRUE(same_bits(loaded.predict_scores(rows), Classifier(parts).predict_scores(rows)));
  }
  expect_refusal<BadInput>([] { load_classifier("no/such/model.safetensors"); }, {"no/such/model.safetensors"});
}

// d x d, scaled to norm C behind it or only clipped: what a file keeps of the matrix is all that predictions take of
// it.
TEST(ClassifierFile, AWhitenedModelPredictsTheSameBitsOnceLoaded) {
  constexpr std::size_t kDim = 19;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const Normalize normalize : {Normalize::kL2, Normalize::kNone}) {
    ClassifierParts parts = plain_parts();
    parts.preprocessing = {.input_dim = kDim, .pool = 1, .normalize = normalize, .clip_norm = 0.7, .center = {}};
    parts.preprocessing.projection.resize(kDim * kDim);
    for (double& entry : parts.preprocessing.projection) entry = normal(random) * std::exp(3.0 * normal(random));
    std::fill_n(parts.preprocessing.projection.begin(), kDim, 0.0);  // a direction that nothing is left of
    parts.weights.resize(2 * kDim);
    for (double& entry : parts.weights) entry = normal(random);
    parts.bias = {0.1, -0.3};
    std::vector<float> rows(40 * kDim);
    for (float& entry : rows) entry = static_cast<float>(normal(random));
    const Classifier loaded = classifier_from_bytes(bytes_of(parts), "f");
    EXPECT_TRUE(same_bits(loaded.predict_scores(rows), Classifier(parts).predict_scores(rows)));
    EXPECT_EQ(to_bytes(loaded), bytes_of(parts));
  }
}

TEST(ClassifierFile, NamesOfClassesAndFeaturesComeBack) {
  ClassifierParts parts = plain_parts();
  EXPECT_TRUE(reread(parts).class_names.empty());
  parts.class_names = {"b \"quoted\", c", "ä\\n"};
  for (std::size_t a = 0; a < parts.preprocessing.input_dim; ++a) parts.feature_names.push_back(fmt::format("ä {}", a));
  EXPECT_EQ(reread(parts).class_names, parts.class_names);
  EXPECT_EQ(reread(parts).feature_names, parts.feature_names);
  parts.feature_names.pop_back();
  expect_refusal<UsageError>([&] { Classifier{parts}; }, {"names of features: there are"});
}

TEST(ClassifierFile, ItsTensorsAndMetadataAreTheDocumentedOnes) {
  const SafetensorsFile file = file_of(full_parts());
  EXPECT_EQ(file.tensors.at("weights").shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(file.tensors.at("prototypes").shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(file.tensors.at("bias").shape, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(file.tensors.at("center").shape, (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(file.tensors.size(), 4U);

  std::map<std::string, std::string> metadata = file.metadata;
  EXPECT_FALSE(metadata.at("version").empty());
  metadata.erase("version");
  EXPECT_EQ(metadata, (std::map<std::string, std::string>{
                          {"format", "dpreduce-classifier"},
                          {"format_version", "1"},
                          {"method", "fc"},
                          {"classes", "2"},
                          {"input_dim", "5"},
                          {"pool", "2"},
                          {"normalize", "none"},
                          {"clip_norm", "0.14285714285714285"},
                          {"privacy", R"({"adjacency":"replace-one","delta":1e-05,"epsilon":0.3333333333333333,)"
                                      R"("mu":0.30000000000000004,"private":true,"rho":5e-324})"}}));
  const SafetensorsFile plain = file_of(plain_parts());
  EXPECT_EQ(plain.tensors.size(), 2U);
  EXPECT_EQ(plain.metadata.at("format_version"), "1");
  EXPECT_EQ(plain.metadata.at("privacy"), R"({"private":false})");
}

TEST(ClassifierFile, ItSaysOfWhomItsPromiseIsWhereThatIsAPerson) {
  const auto statement_of = [](const PersonStatement& person) {
    ClassifierParts parts = full_parts();
    parts.privacy = PrivacyStatement{{}, {}, 0.5, {}, Adjacency::kAddRemove, person};
    EXPECT_EQ(reread(parts).privacy, parts.privacy);
    return file_of(parts).metadata.at("privacy");
  };
  EXPECT_EQ(statement_of({}), R"({"adjacency":"add-remove","delta":null,"epsilon":null,"mu":0.5,"private":true,)"
                              R"("rho":null,"rows_per_person":1,"unit":"person"})");
  EXPECT_EQ(statement_of({.rows = 3, .silos = 2}),
            R"({"adjacency":"add-remove","delta":null,"epsilon":null,"mu":0.5,"private":true,)"
            R"("rho":null,"rows_per_person":3,"silos_per_person":2,"unit":"person"})");
}

// Older files may also say how a person is held to B rows.
TEST(ClassifierFile, UnitsAreReadAsOlderFilesHaveThem) {
  SafetensorsFile file = file_of(full_parts());
  const auto person_of = [&](const std::string& rest) {
    file.metadata["privacy"] = R"({"private":true,"mu":1,"adjacency":"add-remove","unit":)" + rest + "}";
    return parts_in(file).privacy->person;
  };
  for (const std::string bound : {R"(,"person_bound":"clip")", R"(,"person_bound":"weight")", ""}) {
    EXPECT_EQ(person_of(R"("person","rows_per_person":2)" + bound), (PersonStatement{.rows = 2})) << bound;
  }
  EXPECT_FALSE(person_of(R"("record")"));
}

TEST(ClassifierFile, AFactorOfCenteredRowsHasAFormatOfItsOwnAndANewerOneSaysToUpdate) {
  ClassifierParts parts = full_parts();
  parts.preprocessing.center_factor = 1.0 + 1.0 / 3.0;
  expect_same(reread(parts), parts);
  EXPECT_EQ(file_of(parts).metadata.at("format_version"), "3");
  SafetensorsFile file = file_of(full_parts());
  file.metadata["format_version"] = "5";
  expect_refusal<BadInput>([&] { parts_in(file); }, {"a newer dpreduce wrote this"});
}

using Damage = std::function<void(SafetensorsFile&)>;

Damage metadata(const std::string& name, const std::string& value) {
  return [=](SafetensorsFile& file) { file.metadata[name] = value; };
}
Damage without(const std::string& name) {
  return [=](SafetensorsFile& file) { EXPECT_EQ(file.metadata.erase(name) + file.tensors.erase(name), 1U); };
}
Damage tensor(const std::string& name, const std::vector<double>& values, const std::vector<std::uint64_t>& shape) {
  return [=](SafetensorsFile& file) { file.tensors[name] = make_tensor(values, shape); };
}
Damage projection(const std::vector<std::int16_t>& entries, const std::vector<std::uint64_t>& shape) {
  return [=](SafetensorsFile& file) { file.tensors["projection"] = make_tensor(entries, shape); };
}
Damage selected(const std::vector<std::int64_t>& indices) {
  return [=](SafetensorsFile& file) { file.tensors["selected"] = make_tensor(indices, {indices.size()}); };
}
Damage statement(const std::string& rest) {
  return metadata("privacy", R"({"private":true)" + rest + "}");
}
Damage person(const std::string& rest) {
  return statement(R"(,"mu":1,"adjacency":"add-remove","unit":"person")" + rest);
}
Damage all_of(const std::vector<Damage>& damages) {
  return [=](SafetensorsFile& file) {
    for (const Damage& damage : damages) damage(file);
  };
}

void expect_refused(const ClassifierParts& parts, const std::vector<std::pair<Damage, std::string>>& damages) {
  for (const auto& [damage, complaint] : damages) {
    SafetensorsFile file = file_of(parts);
    damage(file);
    SCOPED_TRACE(complaint);
    EXPECT_THAT(
        refusal<BadInput>([&] { classifier_from_bytes(serialize(file), "some/model"); }),
        AllOf(StartsWith("some/model: "), HasSubstr(complaint), HasSubstr("was this file written by dpreduce?")));
  }
}

TEST(ClassifierFile, ADamagedOneIsRefusedWithItsReasonAndName) {
  std::vector<std::pair<Damage, std::string>> damages{
      {[](SafetensorsFile& file) { file.metadata.clear(); }, "'format' is missing"},
      {metadata("format", "pt"), "its format is \"pt\""},
      {metadata("format_version", "0"), "format version 0 is unknown"},
      {metadata("format_version", "one"), "not a number in range"},
      {metadata("format_version", "99999999999999999999"), "not a number"},
      {metadata("method", "L S"), "method"},
      {metadata("classes", "3"), "[2, 3] instead of [3, 3]"},
      {metadata("classes", "-2"), "not a number in range"},
      {metadata("classes", "2 "), "not a number in range"},
      {metadata("input_dim", "9"), "[3] instead of [5]"},
      {metadata("input_dim", "18446744073709551615"), "input_dim"},
      {metadata("pool", "0"), "pool"},
      {metadata("pool", "18446744073709551615"), "pool"},
      {metadata("normalize", "L2"), "'normalize' is \"L2\", which is unknown"},
      {metadata("clip_norm", "nan"), "clip"},
      {metadata("clip_norm", ""), "not a number in range"},
      {metadata("center_factor", "0.5"), "the factor of centered rows is 0.5"},
      {metadata("center_factor", "11"), "the factor of centered rows is 11"},
      {metadata("center_factor", "nan"), "the factor of centered rows is nan"},
      {metadata("link", "probit"), "'link' is \"probit\", which is unknown"},
      {metadata("class_names", R"(["a"])"), "there are 1 for 2 classes"},
      {metadata("privacy", "{"), "'privacy' must be an object"},
      {metadata("privacy", "true"), "'privacy' must be an object"},
      {metadata("privacy", R"({"private":1})"), "true or false"},
      {statement(R"(,"adjacency":"add-remove")"), "is needed"},
      {statement(R"(,"adjacency":"add-remove","epsilon":"1","delta":0)"), "'privacy.epsilon' must be a number"},
      {statement(R"(,"mu":1)"), "'privacy.adjacency' is missing"},
      {statement(R"(,"mu":1,"adjacency":"x")"), "'privacy.adjacency' is \"x\", which is unknown"},
      {statement(R"(,"mu":1,"adjacency":"add-remove","unit":"house")"),
       "'privacy.unit' is \"house\", which is unknown"},
      {statement(R"(,"mu":1,"adjacency":"add-remove","unit":1)"), "'privacy.unit' must be a text"},
      {statement(R"(,"mu":1,"adjacency":"add-remove","rows_per_person":2)"), "needs the unit person"},
      {person(""), "'privacy.rows_per_person' is missing"},
      {person(R"(,"rows_per_person":0)"), "'privacy.rows_per_person' must be a whole number above 0"},
      {person(R"(,"rows_per_person":1,"silos_per_person":-1)"), "'privacy.silos_per_person' must be a whole number"},
      {tensor("weights", {1, 2, 3, 4, 5, 6}, {6}), "two dimensions"},
      {tensor("weights", {1, 2, 3, 4, 5, 6}, {3, 2}), "[3, 2] instead"},
      {all_of({tensor("weights", {}, {2, 0}), tensor("prototypes", {}, {2, 0})}), "weights has 0 entries"},
      {tensor("weights", {1, 2, 3, 4, kNan, 6}, {2, 3}), "weights has nan"},
      {[](SafetensorsFile& file) {
         file.tensors["weights"] = Tensor{DType::kFloat32, {2, 3}, std::vector<std::byte>(24)};
       },
       "weights is F32, not F64"},
      {tensor("bias", {1, 2, 3}, {3}), "bias has the shape [3] instead of [2]"},
      {tensor("center", {1}, {1}), "center has the shape"},
      {tensor("prototypes", {1}, {1, 1}), "prototypes has the shape"},
      {tensor("more", {1}, {1}), "unknown tensor \"more\""},
  };
  for (const char* name : {"method", "classes", "input_dim", "pool", "normalize", "clip_norm", "privacy"}) {
    damages.emplace_back(without(name), fmt::format("'{}' is missing", name));
  }
  for (const char* name : {"weights", "bias"}) damages.emplace_back(without(name), fmt::format("no tensor {}", name));
  for (const char* names : {"a, b", "[]", "[1, 2]", "{\"a\": 1}"}) {
    damages.emplace_back(metadata("class_names", names), "class_names is not a JSON list of names");
  }
  expect_refused(full_parts(), damages);
}

TEST(ClassifierFile, BrokenReductionsAreRefused) {
  expect_refused(reduced_parts(),
                 {
                     {projection({1, 2, 3, 4}, {2, 2}), "[2, 2] instead of [2, 3]"},
                     {projection({1, 2, 3}, {3}), "projection must have two dimensions"},
                     {all_of({projection(std::vector<std::int16_t>(12, 1), {4, 3}),
                              tensor("projection_largest", {1, 1, 1, 1}, {4})}),
                      "up to 3 rows"},
                     {tensor("projection", {1, 1, 1, 1, 1, 1}, {2, 3}), "projection is F64, not I16"},
                     {projection({1, 2, 3}, {1, 3}), "projection_largest has the shape [2] instead of [1]"},
                     {projection({1, 2, 3, 4, 5, -32768}, {2, 3}), "projection has an entry below -32767"},
                     {without("projection_largest"), "no tensor projection_largest"},
                     {tensor("projection_largest", {1.0, kNan}, {2}), "not finite"},
                     {selected({2}), "selected feature 2"},
                     {selected({-1}), "selected feature -1"},
                     {selected({1, 1}), "selected feature 1"},
                     {tensor("selected", {1}, {1}), "selected is F64, not I64"},
                 });
}

}  // namespace dpreduce::classifier_file_test
