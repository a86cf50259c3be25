#include "dpreduce/config/method_options.hpp"

#include "dpreduce/config/option_kinds.hpp"

namespace dpreduce {

void add_method(CLI::App& app, FitOptions& options) {
  add_choice(app, "--method", options.method, "how to train")->group("Method");
  add_choice(app, "--objective", options.objective,
             "auto: accuracy over rows, or balanced over classes: scores adjusted by noised class sizes, or prototypes "
             "of --public-x where the smallest classes would drown")
      ->group("Method");
  add_choice(app, "--metric", options.metric, "mean: nearest direction, or nearest centre")->group("Method");
  app.add_flag("--auto", options.adaptive,
               "prototypes: mean or public, whichever public knowledge speaks for; both centred by --public-x")
      ->group("Method");
  app.add_option("--expected-rows", options.expected_rows,
                 "prototypes, --objective balanced: about how many training rows there are, where that is public")
      ->type_name("N")
      ->group("Method");
  app.add_option(
         "--smallest-share", options.smallest_share,
         "prototypes, --objective balanced: about which share of the training rows the smallest class has, where "
         "that is public; default: 1 / K")
      ->type_name("S")
      ->group("Method");
  add_count(app, "--top-k", options.top_k, "public: prototypes of a class, chosen among --public-x; default: 1")
      ->group("Method");
  app.add_option("--d-min", options.d_min, "public: 1 + cos of two rows is clipped from below here; default: 0")
      ->group("Method");
  app.add_option("--d-max", options.d_max, "public: and from above here; default: 2")->group("Method");
  add_choice(app, "--normalize", options.normalize, "scale every row to norm C, or only clip longer ones")
      ->group("Method");
  app.add_option("--clip", options.clip_norm, "C: the clip norm")->capture_default_str()->group("Method");
  add_optional_choice(
      app, "--center", options.center,
      "centre rows by a released mean, or that of --public-x, then scale or clip again; moments (ls): by the mean in "
      "its own release, without scaling again; default: dp with --method auto")
      ->group("Method");
  app.add_flag("--shared-gram", options.shared_gram, "ls: one Gram matrix for all classes")->group("Method");
  add_number_or_auto(app, "--alpha", options.alpha, "ls: weight of all rows beside a class's own rows")
      ->group("Method");
  add_number_or_auto(app, "--lambda", options.lambda, "ls: ridge in units of feature^2; auto: from the noise")
      ->group("Method");
  app.add_option("--gram-share", options.gram_share, "ls, fc: share of mu^2 that the Gram matrix takes")
      ->group("Method");
  add_count(
      app, "--rounds", options.rounds,
      "fc, gd, adam, newton, global-adapt, fedavg: each releases its gradient with a share of mu^2; default: 20, 300, "
      "150, 6, 300, 60; on samples at most 400; coinpress: steps, 2")
      ->group("Method");
  add_count(app, "--local-steps", options.local_steps,
            "fedavg: gradient steps of each silo (rank) on its own rows in a round; default: 5")
      ->group("Method");
  app.add_option("--batch", options.batch,
                 "gd, adam: a row enters a round by a secret coin of this probability (Poisson sampling); accounted by "
                 "pld, or rdp; 1, the default: all rows")
      ->type_name("Q")
      ->group("Method");
  add_optional_choice(
      app, "--loss", options.loss,
      "fc, gd, adam, newton, fedavg: what is descended on; default: softmax, or sigmoid with --max-labels above "
      "1")
      ->group("Method");
  add_optional_choice(app, "--iterate", options.iterate,
                      "fc, gd, adam, newton, fedavg: the last weights, or the average of all rounds'; default: last")
      ->group("Method");
  app.add_option(
         "--learning-rate", options.learning_rate,
         "gd, fedavg: W changes by so much of a summed gradient; adam: by so much an entry; default: chosen from "
         "noised values")
      ->group("Method");
  app.add_option("--radius", options.radius, "gd: W is kept within this Frobenius norm; default: not")->group("Method");
  app.add_flag("--warm-start", options.warm_start,
               "fc, gd, adam, newton: release class means first; rounds then learn what their cosines leave open")
      ->group("Method");
  app.add_option("--warm-start-share", options.warm_start_share, "share of mu^2 that those means take; default: 0.2")
      ->group("Method");
  app.add_option("--center-share", options.center_share, "share of mu^2 that the released mean takes (0.02; ls: 0.05)")
      ->group("Method");
  add_count(app, "--pca", options.pca, "project rows on the first k principal components, of --public-x where given")
      ->group("Method");
  app.add_option("--pca-share", options.pca_share, "share of mu^2 that private components take (0.1)")->group("Method");
  add_count(app, "--select", options.select, "keep the m features in which class means are farthest apart")
      ->group("Method");
  add_optional_choice(app, "--select-by", options.select_by,
                      "distance of class means, or (fisher) that over the standard deviation; default: distance")
      ->group("Method");
  app.add_option("--select-share", options.select_share, "ls, fc: share of mu^2 that the selection takes (0.1)")
      ->group("Method");
  add_count(app, "--pool", options.pool, "average k consecutive features into one")
      ->capture_default_str()
      ->group("Method");
}

}  // namespace dpreduce
