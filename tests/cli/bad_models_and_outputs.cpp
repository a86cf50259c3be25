// More of what may be wrong with a model or a ledger: common/model/classifier_file_test, common/ledger.
#include "tests/cli/bad_case.hpp"

namespace dpreduce {
namespace {

using Folder = TemporaryFolder;
namespace fs = std::filesystem;

const std::string kPredict = "predict --x x.npy --out labels.npy --model ";

void read_only_folder(const Folder& folder) {
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
}

void wider_rows(const Folder& folder) {
  write_npy(make_rows({4, 4, 4}, 5), folder / "wide.npy", folder / "wide_y.npy");
}

}  // namespace

std::vector<BadCase> bad_models_and_outputs() {
  return {
      {"ModelMissing", kPredict + "absent.safetensors", 3, "absent.safetensors: cannot be"},
      {"ModelTruncated", kPredict + "bad.safetensors", 3,
       "bad.safetensors: ", copy_without_end("bad.safetensors", "model.safetensors", 3)},
      {"ModelThatIsADirectory", kPredict + ".", 3, ".: "},
      {"PredictOnOtherFeatures", "predict --model model.safetensors --x wide.npy --out labels.npy", 3,
       "wide.npy: rows have 5 features, but the model was trained on 4", wider_rows},
      {"EvaluateOnOtherFeatures", "evaluate --model model.safetensors --test-x wide.npy --test-y y.npy", 3,
       "wide.npy: rows have 5 features", wider_rows},
      {"EvaluateOnOtherLabels", "evaluate --model model.safetensors --test-x x.npy --test-y bad.npy", 3,
       "bad.npy: row 1 has label 9",
       [](const Folder& folder) {
         write_labels(folder / "bad.npy", {0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
       }},
      {"TestFeaturesMissing", kGoodFit + "--test-x absent.npy --test-y y.npy", 3, "absent.npy: No such file"},
      {"TestLabelsMissing", kGoodFit + "--test-x x.npy --test-y absent.npy", 3, "absent.npy: No such file"},
      {"TestOnOtherFeatures", kGoodFit + "--test-x wide.npy --test-y wide_y.npy", 3, "wide.npy: rows have 5 features",
       wider_rows},
      {"ModelIntoMissingFolder", kGoodFit + "--out absent/model.safetensors", 3, "absent/model.safetensors: cannot be"},
      {"ModelOntoDirectory", kGoodFit + "--out folder", 3, "folder: is a directory",
       [](const Folder& folder) { fs::create_directory(folder / "folder"); }},
      {"ReportIntoMissingFolder", kGoodFit + "--report absent/report.json", 3, "absent/report.json: cannot be"},
      {"ReportIntoClosedFolder", kGoodFit + "--report closed/report.json", 3,
       "closed/report.json: cannot be written in directory closed: Permission denied", read_only_folder,
       Launch::kAloneAndOnRanks, Privileges::kNone},
      {"LabelsIntoMissingFolder", "predict --x x.npy --model model.safetensors --out absent/labels.npy", 3,
       "absent/labels.npy: cannot be"},
      {"SynthOntoAFile", "synth --out x.npy --rows 10", 3, "x.npy: cannot be made"},
      {"LedgerEdited", kGoodFit, 6, "ledger.jsonl:3: the signature does not match this line",
       [](const Folder& folder) {
         std::string text = read_bytes(folder / "ledger.jsonl");
         text.replace(text.find("\"elements\":12"), 13, "\"elements\":10");
         write_bytes(folder / "ledger.jsonl", text);
       }},
      {"LedgerOfGarbage", kGoodFit, 6, "ledger.jsonl:1: not a ledger line", file_of("ledger.jsonl", "no ledger\n")},
      {"LedgerNotWritable", kGoodFit, 3, "ledger.jsonl: cannot be written",
       [](const Folder& folder) { fs::permissions(folder / "ledger.jsonl", fs::perms::owner_read); },
       Launch::kAloneAndOnRanks, Privileges::kNone},
      {"LedgerIntoMissingFolder", kGoodFit + "--ledger absent/ledger.jsonl", 3,
       "absent/ledger.jsonl: cannot be written"},
      {"LedgerIntoClosedFolder", kGoodFit + "--ledger closed/ledger.jsonl", 3, "closed/ledger.jsonl: cannot be written",
       read_only_folder, Launch::kAloneAndOnRanks, Privileges::kNone},
      {"BudgetOfTheDataSpent",
       "fit --train-x x.npy --train-y y.npy --classes 3 --method mean --mu 1 --report report.json --ledger spent.jsonl "
       "--budget-epsilon 1e-3 --budget-delta 1e-9",
       4, "spent.jsonl"},
      {"VerifyOfNoLedger", "ledger verify absent.jsonl", 3, "absent.jsonl: "},
      {"ShowOfNoLedger", "ledger show absent.jsonl", 3, "absent.jsonl: "},
  };
}

}  // namespace dpreduce
