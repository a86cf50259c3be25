#include "tests/cli/every_fit.hpp"

#include "methods/registry.hpp"
#include "tests/testing.hpp"

namespace dpreduce {
namespace {

// Public rows, and labels of them; a relation.
const std::string kPublic = " --public-x @/public.npy";
const std::string kReplace = " --adjacency replace-one";
const std::string kValidation = " --validation-x @/public.npy --validation-y @/labels.npy";

// Each center and relation of the methods that have most of both.
std::vector<EveryFit> centers_and_relations() {
  std::vector<EveryFit> all;
  const std::vector<EveryFit> methods = {{"mean_cosine", "--method mean"},
                                         {"mean_euclidean", "--method mean --metric euclidean"},
                                         {"ls_shared", "--method ls --shared-gram"},
                                         {"ls_by_class", "--method ls --alpha 0.5"},
                                         {"fc", "--method fc --rounds 3"}};
  for (const EveryFit& method : methods) {
    for (const std::string center : {"none", "dp"}) {
      for (const std::string adjacency : {"add-remove", "replace-one"}) {
        all.push_back({method.name + "_center_" + center + "_" + adjacency.substr(0, adjacency.find('-')),
                       method.options + " --center " + center + " --adjacency " + adjacency});
      }
    }
  }
  return all;
}

// Among silos a choice under add-remove is drawn at half the rate of one among ranks (selection_sampler.hpp), and may
// come out otherwise: choices are of replace-one.
std::vector<EveryFit> others() {
  return {
      {"auto", "--method auto --rounds 2"},
      {"auto_balanced", "--method auto --rounds 2 --objective balanced"},
      {"auto_balanced_public",
       "--method auto --rounds 2 --objective balanced --imbalance-ratio 10" + kPublic + kReplace, Reach::kSilos},
      {"mean_public", "--method mean --metric euclidean --pool 2 --center public" + kPublic, Reach::kSilos},
      {"auto_refined",
       "--method auto --rounds 2 --objective balanced --expected-rows 6000 --imbalance-ratio 16 --imbalance-seed 3" +
           kPublic + kReplace,
       Reach::kSilos},
      {"mean_select", "--method mean --metric euclidean --select 5", Reach::kSilos},
      {"mean_pca", "--method mean --pca 3"},
      {"public_add", "--method public" + kPublic, Reach::kRanks},
      {"public_replace", "--method public" + kPublic + kReplace, Reach::kSilos},
      {"public_sets", "--method public --public-x @/public*.npy --top-k 4 --d-min 0.7 --d-max 1.6" + kReplace,
       Reach::kSilos},
      {"public_center_pca", "--method public --center public --pca 5 --top-k 2" + kPublic + kReplace, Reach::kSilos},
      {"prototypes", "--method prototypes --auto" + kPublic + kReplace, Reach::kSilos},
      {"prototypes_many", "--method prototypes --auto --expected-rows 1000000" + kPublic + kReplace, Reach::kSilos},
      {"coinpress", "--method coinpress"},
      {"ls_auto", "--method ls --center dp --lambda auto --alpha auto"},
      {"ls_moments", "--method ls --alpha 2 --center moments"},
      {"ls_feature_range", "--method ls --feature-range private --normalize none"},
      {"ls_pca", "--method ls --shared-gram --center dp --pca 4"},
      {"ls_public_pca", "--method ls --shared-gram --pca 5 --center public" + kPublic, Reach::kSilos},
      {"ls_select", "--method ls --shared-gram --center dp --select 5", Reach::kSilos},
      {"ls_choose", "--method ls --shared-gram --choose --choose-share 0.3" + kReplace, Reach::kSilos},
      {"ls_by_class_choose", "--method ls --alpha 2 --choose --center dp --adjacency replace-one", Reach::kSilos},
      {"fc_sigmoid", "--method fc --gram-share 0.5 --rounds 2 --loss sigmoid"},
      {"fc_square", "--method fc --gram-share 0.5 --rounds 2 --loss square"},
      {"fc_pca_select", "--method fc --rounds 2 --pca 6 --select 5 --pca-share 0.2 --select-share 0.05", Reach::kSilos},
      {"fc_warm", "--method fc --rounds 2 --warm-start --warm-start-share 0.4 --center dp"},
      {"fc_choose", "--method fc --rounds 4 --choose" + kValidation, Reach::kSilos},
      {"fisher", "--method fisher --center dp --adjacency replace-one"},
      {"fisher_select_t", "--method fisher --select 5 --select-by t --normalize none --clip 3", Reach::kSilos},
      {"gd", "--method gd --rounds 3 --center dp"},
      {"gd_ball", "--method gd --rounds 3 --radius 2 --learning-rate 0.5 --iterate average --loss sigmoid"},
      {"gd_pca", "--method gd --rounds 2 --pca 4" + kPublic, Reach::kSilos},
      {"gd_warm", "--method gd --rounds 2 --warm-start"},
      {"gd_warm_choose", "--method gd --rounds 5 --warm-start --choose" + kReplace, Reach::kSilos},
      {"gd_batch", "--method gd --rounds 5 --batch 0.3 --center dp --accountant rdp", Reach::kRanks},
      {"global_adapt", "--method global-adapt --rounds 2"},
      {"global_adapt_replace", "--method global-adapt --rounds 2 --adjacency replace-one"},
      {"adam", "--method adam --rounds 3 --adjacency replace-one"},
      {"adam_choose", "--method adam --rounds 5 --choose" + kReplace, Reach::kSilos},
      {"adam_batch", "--method adam --rounds 3 --batch 0.1 --warm-start --accountant rdp", Reach::kRanks},
      {"newton", "--method newton --rounds 2 --center dp --adjacency replace-one"},
      {"newton_sigmoid", "--method newton --rounds 2 --loss sigmoid --iterate average"},
      {"newton_warm", "--method newton --rounds 2 --warm-start --adjacency replace-one"},
      {"newton_choose", "--method newton --rounds 4 --warm-start --choose" + kValidation, Reach::kSilos},
  };
}

}  // namespace

std::vector<EveryFit> every_fit() {
  std::vector<EveryFit> all = centers_and_relations();
  for (EveryFit& fit : others()) all.push_back(std::move(fit));
  for (const MethodEntry* method : all_methods()) {
    const std::string name(method->name);
    const bool is_there = std::ranges::any_of(
        all, [&](const EveryFit& fit) { return (fit.options + " ").starts_with("--method " + name + " "); });
    // A model of fedavg depends on whose each row is.
    if (is_there || method->each_rank_is_a_silo) continue;
    std::string word = name;
    std::ranges::replace(word, '-', '_');
    all.push_back({word, "--method " + name});
  }
  return all;
}

std::string with_folder(std::string text, const std::string& folder) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + folder.size())) {
    text.replace(at, 1, folder);
  }
  return text;
}

}  // namespace dpreduce
