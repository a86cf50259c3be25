// DP-Newton: every round releases gradients and, class by class, Hessians.
//
//     W_c <- W_c - eta min(1, 20 / (C |d_c|)) d_c,  d_c = g_c (H_c + (0.7 w + C^2) I)^-1
//
// H_c is cleaned of its known noise (gram_spectrum.hpp); g_c and H_c are sums over rows at W (release "newton"); w is
// the radius of the noise in H_c. At 0.5 w rounds were unstable, at w up to 3.7 points behind (measured). For sigmoid
// loss the Hessian consists of these blocks, and eta = 1. Softmax couples the classes: at equal probabilities the whole
// Hessian is K / (K - 1) times its blocks on the space where class weights add up to 0, so that eta = 1 - 1 / K makes
// the step that of the whole. Far from there curvature can vanish where the loss does not, and a class of few rows
// would be thrown to where no later round brings it back from: a step moves a score by at most 20.
//
// Source: [mehta2023], Algorithm 1, with corrections: sums, never means (n cancels, and so does its noise);
// sensitivities that do not grow with K; symmetric noise; the bound on steps. With a warm start H_c is the curvature of
// a bound on the residual loss (chunk_residuals.hpp), which is of one sign.
#include <cmath>

#include <nlohmann/json.hpp>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/triangle.hpp"
#include "methods/gradient_rounds.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kNewtonRounds = 6;
constexpr double kHessianShare = 0.5;
constexpr double kNewtonRidgeInRadii = 0.7;

StepRule newton_rule(TrainingRun& run, const RoundSettings& settings) {
  const auto classes = static_cast<double>(run.rows().classes());
  const double eta_of_loss = settings.loss == Loss::kSoftmax ? 1.0 - 1.0 / classes : 1.0;
  return [eta_of_loss, lattice = run.rows().lattice()](const NoisedRound& round, std::span<double> weights) {
    const ReleasedBlock& hessians = round.release.block("hessians");
    const std::vector<double> gradient = round.gradient();
    const std::size_t elements = triangle_elements(lattice.dim);
    for (std::size_t c = 0; c * lattice.dim < weights.size(); ++c) {
      const auto triangle = hessians.values().subspan(c * elements, elements);
      const GramSpectrum spectrum({hessians.name(), {triangle.begin(), triangle.end()}, hessians.sigma()}, lattice);
      const auto of_class = std::span(gradient).subspan(c * lattice.dim, lattice.dim);
      std::vector<double> direction(of_class.begin(), of_class.end());
      spectrum.solve(direction, kNewtonRidgeInRadii * spectrum.noise_radius() + lattice.clip_norm * lattice.clip_norm);
      const double reach = lattice.clip_norm * std::sqrt(squared_norm(direction));  // of a score
      const double eta = reach <= kScoreReach ? eta_of_loss : eta_of_loss * kScoreReach / reach;
      for (std::size_t a = 0; a < lattice.dim; ++a) weights[c * lattice.dim + a] -= eta * direction[a];
    }
  };
}

class NewtonMethod : public RoundsMethod {
 public:
  explicit NewtonMethod(const FitOptions& options)
      : RoundsMethod(options, round_settings(options, kNewtonRounds), newton_rule) {
    settings_.release = "newton";
    settings_.residual_norm = kWholeResidual;
    settings_.initial_score = 0.0;  // where sigmoid is steepest: far from there its curvature says nothing
  }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    const std::size_t memory_mib = options_.machine.memory_mib.value();
    const std::size_t bytes = terms.classes * triangle_elements(terms.dim + 1) * sizeof(std::int64_t);
    if (bytes >> 20 >= memory_mib) {
      throw UsageError(
          "--method newton: its {} Hessians of {} features take {} MiB a rank, and --memory is {}; raise "
          "--memory, reduce features with --pool, or use a method whose one matrix serves all classes",
          terms.classes, terms.dim + 1, (bytes >> 20) + 1, memory_mib);
    }
    terms.loss = settings_.loss;
    terms.hessian_share = kHessianShare;
    return RoundsMethod::requests(terms);
  }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    json["hessian_share"] = kHessianShare;
    return json;
  }
};

}  // namespace

const MethodEntry newton_method{.name = "newton",
                                .help = "noised gradients and Hessians of the classes",
                                .takes = with_options_of_rounds({{"--rounds", "6"}}),
                                .refuses = {{"--loss square",
                                             "with this loss the Hessian is the same for all classes and rounds; use "
                                             "a method that releases one Gram matrix"}},
                                .make = make_of<NewtonMethod>};

}  // namespace dpreduce
