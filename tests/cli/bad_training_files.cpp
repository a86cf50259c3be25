// Each kind of file, wrong; more of what may be wrong with one: common/data, common/base/paths_test.
#include "tests/cli/bad_case.hpp"

namespace dpreduce {
namespace {

using Folder = TemporaryFolder;

const std::string kFitOfPersons = kGoodFit + "--train-person bad.npy";
const std::string kFitOfWeights = kGoodFit + "--train-weight bad.npy --weight-bound 2";
const std::string kFitOfSets = kFitOfLabels + "bad.npy --max-labels 2";

// bad.npy: zeros of this element type, so many rows; of 0 columns: of one dimension.
Prepare npy(const std::string& descr, std::size_t rows, std::size_t columns = 0) {
  const std::size_t size = descr == "|O" ? 8 : std::stoul(descr.substr(2)) * (descr[1] == 'U' ? 4 : 1);
  const std::string shape = columns == 0 ? fmt::format("({},)", rows) : fmt::format("({}, {})", rows, columns);
  const std::string zeros(rows * std::max<std::size_t>(columns, 1) * size, '\0');
  return file_of("bad.npy", npy_header_bytes(npy_text(descr, shape)) + zeros);
}

// x.npy with one entry replaced.
Prepare with_entry(std::size_t row, float value) {
  return [=](const Folder& folder) {
    TrainingRows rows = make_rows({4, 4, 4}, 4);
    rows.features[row * rows.dim + 2] = value;
    write_npy(rows, folder / "bad.npy", folder / "y.npy");
  };
}

Prepare with_label(std::size_t row, std::int64_t label) {
  return [=](const Folder& folder) {
    TrainingRows rows = make_rows({4, 4, 4}, 4);
    rows.labels[row] = label;
    write_labels(folder / "bad.npy", rows.labels);
  };
}

// 12 x 3 zeros and ones, one class a row but for that one.
Prepare with_label_set(std::size_t row, const std::vector<std::int8_t>& entries) {
  return [=](const Folder& folder) {
    std::vector<std::int8_t> sets(12 * 3, 0);
    for (std::size_t one = 0; one < 12; ++one) sets[one * 3 + one % 3] = 1;
    std::copy(entries.begin(), entries.end(), sets.begin() + static_cast<std::ptrdiff_t>(row * 3));
    write_npy(folder / "bad.npy", sets, 3);
  };
}

// bad.npy, of one number a row.
Prepare numbers(const std::vector<double>& all) {
  return [=](const Folder& folder) { write_npy(folder / "bad.npy", all); };
}

// The features for some ranks' own files, each of this many columns.
Prepare features_of_ranks(const std::vector<std::size_t>& dims) {
  return [=](const Folder& folder) {
    for (std::size_t rank = 0; rank < dims.size(); ++rank) {
      write_npy(make_rows({2, 1, 1}, dims[rank]), folder / numbered_npy("x", rank), folder / numbered_npy("y", rank));
    }
  };
}

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

}  // namespace

std::vector<BadCase> bad_training_files() {
  return {
      {"TruncatedFile", kFitOfFeatures + "bad.npy", 3, "bad.npy: holds 187 bytes of elements where its shape (12, 4)",
       copy_without_end("bad.npy", "x.npy", 5)},
      {"StringLabels", kFitOfLabels + "bad.npy", 3,
       "labels are names; list all classes in a file, one name a line, and give it to fit as --class-names FILE",
       npy("<U3", 12)},
      {"FewerPersonsThanRows", kFitOfPersons, 3, "11 identifiers for 12 rows of features (x.npy)", npy("<i4", 11)},
      {"MorePersonsThanRows", kFitOfPersons, 3, "row 12 has an identifier and no features", npy("<i4", 13)},
      {"PersonsThatAreFloats", kFitOfPersons, 3,
       "bad.npy: row 0 and the rows after it have identifiers of persons that are float32", npy("<f4", 12)},
      {"PersonsOfWhomSomeAreMissing", kFitOfPersons, 3,
       "bad.npy: row 2 has the identifier nan, a float64; give each row a person",
       numbers({1, 2, std::nan(""), 4, 5.5, 6, 7, 8, 9, 10, 11, 12})},
      {"WeightsWithoutABound", kGoodFit + "--train-weight bad.npy", 2,
       "--train-weight goes with --weight-bound: give the largest weight W of a row", npy("<f4", 12)},
      {"WeightAboveItsBound", kFitOfWeights, 3, "bad.npy: row 2 has weight 3; give a number from 0 to --weight-bound 2",
       numbers({1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"FewerWeightsThanRows", kFitOfWeights, 3, "11 weights for 12 rows", npy("<f4", 11)},
      {"WeightsThatAreIntegers", kFitOfWeights, 3,
       "bad.npy: weights are int32 of shape (12,); give one float32 or float64 a row", npy("<i4", 12)},
      {"PersonsInColumns", kFitOfPersons, 3, "identifiers of persons have shape (12, 2)", npy("<i4", 12, 2)},
      {"RowWithoutAPerson", kFitOfPersons, 3, "bad.npy: row 3 has no identifier of a person",
       file_of("bad.npy", npy_header_bytes(npy_text("|S1", "(12,)")) + std::string("abc\0efghijkl", 12))},
      {"SanitizeOfARowThatIsNotFinite", "synth sanitize --x bad.npy --mu 1 --out made/deep", 3, "bad.npy: row 7",
       with_entry(7, kNotANumber)},
      {"PersonsThatAreObjects", kFitOfPersons, 3,
       "bad.npy: holds elements of type \"|O\"; save features as float16, float32 or float64, labels as integers, or "
       "as names of classes by numpy.save(file, labels.astype(str)), and identifiers of persons as integers or "
       "strings, e.g. ids.astype(str)",
       npy("|O", 12)},
      {"PersonsOfNoFile", kGoodFit + "--train-person none.npy", 3, "none.npy"},
      {"PersonsOfSomeRanksAlone", kGoodFit + "--train-person bad{rank}.npy", 2,
       "x.npy and bad{rank}.npy: features and identifiers must both use {rank}, or neither",
       file_of("bad0.npy", npy_header_bytes(npy_text("<i4", "(12,)")) + std::string(48, '\0'))},
      {"LabelSetsWithoutABound", kFitOfLabels + "bad.npy", 2,
       "give the largest number per row with --max-labels (1 to 3)", npy("<i8", 12, 3)},
      {"LabelSetsOfOtherClasses", kFitOfSets, 3, "4 columns of zeros and ones for --classes 3", npy("|b1", 12, 4)},
      {"FewerLabelSetsThanRows", kFitOfSets, 3, "12 rows but labels (bad.npy) have 11", npy("|b1", 11, 3)},
      {"MoreLabelsThanTheBound", kFitOfSets + " --method mean", 3, "bad.npy: row 8: 3 labels, more than --max-labels 2",
       with_label_set(8, {1, 1, 1})},
      {"MoreLabelsThanTheBoundForClassGrams", kFitOfSets + " --method ls", 3, "bad.npy: row 8: 3 labels, more than",
       with_label_set(8, {1, 1, 1})},
      {"MoreLabelsThanTheBoundForRangesOfFeatures", kFitOfSets + " --method mean --feature-range private", 3,
       "bad.npy: row 8: 3 labels, more than", with_label_set(8, {1, 1, 1})},
      {"LabelSetWithATwo", kFitOfSets, 3, "bad.npy: row 7 has entry 2 for class 1", with_label_set(7, {0, 2, 0})},
      {"ABoundForOneClassARow", kGoodFit + "--max-labels 2", 2, "y.npy has one class index a row"},
      {"FewerLabelsThanRows", kFitOfLabels + "bad.npy", 3, "12 rows but labels (bad.npy) have 11", npy("<i8", 11)},
      {"LabelOfNoClass", kFitOfLabels + "bad.npy", 3,
       "bad.npy: row 7 has label 3, outside 0 to 2: labels count from 0; if yours count from 1, subtract 1",
       with_label(7, 3)},
      {"NotANumber", kFitOfFeatures + "bad.npy", 3, "bad.npy: row 9", with_entry(9, kNotANumber)},
      {"PublicRowNotANumber", kGoodFit + "--center public --public-x bad.npy", 3, "bad.npy: row 3",
       with_entry(3, kNotANumber)},
      {"MissingPublicRows", kGoodFit + "--center public --public-x absent.npy", 3, "absent.npy: No such file"},
      {"MissingFeatures", kFitOfFeatures + "absent.npy", 3, "absent.npy: No such file"},
      {"MissingLabels", kFitOfLabels + "absent.npy", 3, "absent.npy: No such file"},
      {"DeviceAsFile", kFitOfFeatures + "/dev/zero", 3, "/dev/zero: is not a regular file"},
      {"UnreadableFile", kFitOfFeatures + "bad.npy", 3, "bad.npy: cannot be read: Permission denied",
       [](const Folder& folder) {
         std::filesystem::copy_file(folder / "x.npy", folder / "bad.npy");
         std::filesystem::permissions(folder / "bad.npy", std::filesystem::perms::none);
       },
       Launch::kAloneAndOnRanks, Privileges::kNone},
      {"RanksOfDifferentWidth", "fit --train-x x{rank}.npy --train-y y{rank}.npy --classes 3 --mu 1", 3,
       "but those of another rank have 5", features_of_ranks({4, 4, 5}), Launch::kOnRanksOnly},
      {"RankWithoutItsFile", "fit --train-x x{rank}.npy --train-y y{rank}.npy --classes 3 --mu 1", 3,
       "x2.npy: No such file", features_of_ranks({4, 4}), Launch::kOnRanksOnly},
      {"RankInSomePatternsOnly", kFitOfFeatures + "x{rank}.npy x.npy", 2, "x.npy: has no {rank}",
       features_of_ranks({4, 4, 4})},
      {"RankInFeaturesOnly", kFitOfFeatures + "x{rank}.npy", 2, "must both use {rank}, or neither",
       features_of_ranks({4, 4, 4})},
      {"Hdf5WithoutDataset", kFitOfFeatures + "x.h5", 3, "x.h5: is an HDF5 file; name a dataset",
       [](const Folder& folder) {
         write_hdf5(make_rows({4, 4, 4}, 4), folder / "x.h5");
       }},
      {"Hdf5ThatIsNone", kFitOfFeatures + "x.npy:/x", 3, "x.npy: cannot be opened as an HDF5 file"},
      {"MoreRanksThanRows", "fit --train-x x0.npy --train-y y0.npy --classes 3 --mu 1", 3,
       "2 rows (x0.npy) for 3 workers",
       [](const Folder& folder) {
         write_npy(make_rows({1, 1}, 4), folder / "x0.npy", folder / "y0.npy");
       },
       Launch::kOnRanksOnly},
  };
}

}  // namespace dpreduce
