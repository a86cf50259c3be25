// Each term of a consent passes and refuses, on the plan that a silo makes by itself.
#include "fit/silo_terms.hpp"

#include "common/base/version.hpp"
#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce::silo_terms_test {

constexpr std::size_t kDim = 8;
const SiloTerms kSilos{.silos = 5, .threshold = 4, .colluding = 1, .options = {}};

FitOptions options_of(const std::string& method) {
  FitOptions fit;
  fit.data.train = {.x = {"x{rank}.npy"}, .y = {"y{rank}.npy"}};
  fit.data.classes = 3;
  fit.method.name = method;
  fit.privacy.budget.mu = 0.5;
  fit.silos.secure_aggregation = true;
  fit.silos.noise = NoiseSource::kDistributed;
  return fit;
}

ResolvedFit fit_of(const FitOptions& options) {
  return ResolvedFit(validated(options), kDim);
}

// The message of the refusal; empty where there is none.
template <typename Refusal = UsageError>
std::string refusal(const SiloConsent& consent, const FitOptions& options = options_of("mean"),
                    const LedgerState& ledger = {}) {
  return dpreduce::refusal<Refusal>([&] { require_met(compared_terms(consent, fit_of(options), kSilos, ledger)); });
}

struct Term {
  std::string name;
  std::function<void(SiloConsent&, bool)> set;  // so that it is met or not
  std::function<void(FitOptions&)> ask = [](FitOptions&) {};
  std::string method = "mean";
};

TEST(SiloTerms, EachTermPassesAndRefusesByItsName) {
  const auto of_persons = [](FitOptions& fit) {
    fit.data.train.person = {"p{rank}.npy"};
    fit.data.rows_per_person = 2;
    fit.silos.silos_per_person = 3;
  };
  const std::vector<Term> terms{
      {"methods",
       [](auto& c, bool met) {
         c.methods = std::vector<std::string>{met ? "mean" : "ls", "newton"};
       }},
      {"least-silos", [](auto& c, bool met) { c.least_silos = met ? 5 : 6; }},
      {"least-threshold", [](auto& c, bool met) { c.least_threshold = met ? 4 : 5; }},
      {"least-colluding", [](auto& c, bool met) { c.least_colluding = met ? 1 : 2; }},
      {"most-colluding", [](auto& c, bool met) { c.most_colluding = met ? 1 : 0; }},
      {"adjacency", [](auto& c, bool met) { c.adjacency = met ? Adjacency::kAddRemove : Adjacency::kReplaceOne; }},
      {"unit", [](auto& c, bool met) { c.unit = met ? PrivacyUnit::kRecord : PrivacyUnit::kPerson; }},
      {"unit", [](auto& c, bool met) { c.unit = met ? PrivacyUnit::kPerson : PrivacyUnit::kRecord; }, of_persons},
      {"rows-per-person", [](auto& c, bool met) { c.rows_per_person = met ? 2 : 1; }, of_persons},
      {"least-silos-per-person", [](auto& c, bool met) { c.least_silos_per_person = met ? 3 : 4; }, of_persons},
      {"most-clip-norm", [](auto& c, bool met) { c.most_clip_norm = met ? 1.0 : 0.5; }},
      {"losses", [](auto& c, bool met) { c.losses = met ? std::vector{Loss::kSoftmax} : std::vector{Loss::kSigmoid}; },
       [](FitOptions& fit) { fit.method.loss = Loss::kSoftmax; }, "gd"},
      {"most-rounds", [](auto& c, bool met) { c.most_rounds = met ? 7 : 6; },
       [](FitOptions& fit) { fit.method.rounds = 7; }, "gd"},
      {"noise", [](auto& c, bool met) { c.noise = met ? NoiseSource::kCentral : NoiseSource::kDistributed; },
       [](FitOptions& fit) { fit.silos.noise = NoiseSource::kCentral; }},
      {"least-version", [](auto& c, bool met) { c.least_version = met ? "0.0.1" : "99.0"; }}};
  for (const Term& term : terms) {
    FitOptions options = options_of(term.method);
    term.ask(options);
    SiloConsent consent;
    term.set(consent, true);
    EXPECT_EQ(refusal<Error>(consent, options), "") << term.name;
    term.set(consent, false);
    const std::string message = refusal(consent, options);
    EXPECT_THAT(message, HasSubstr("refuses the run: " + term.name + ": "));
    EXPECT_THAT(message, HasSubstr(" requested, "));
    EXPECT_THAT(message, HasSubstr(" allowed; no row was read"));
  }
}

// Of one that may be evaluated and one that may not: the digest alone decides.
TEST(SiloTerms, ModelsAreKnownByTheirDigests) {
  ClassifierParts parts{.method = "mean",
                        .privacy = {},
                        .preprocessing = {.input_dim = kDim, .center = {}},
                        .classes = 3,
                        .weights = {},
                        .bias = {},
                        .cosine_head = {}};
  parts.weights.assign(3 * kDim, 1.0);
  parts.bias.assign(3, 0.0);
  const std::vector<std::byte> bytes = to_bytes(Classifier(std::move(parts)));
  FitOptions options = options_of("evaluate");
  options.rows.normalize = Normalize::kNone;
  options.rows.center = Centering::kNone;
  options.evaluation.models = {std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  options.evaluation.models_are_public = true;
  options.evaluation.input_dim = kDim;
  options.evaluation.terms.classes = 3;
  options.evaluation.terms.metrics = {EvaluationMetric::kAccuracy};
  const std::string digest = to_hex(sha256(options.evaluation.models.front()));
  EXPECT_EQ(refusal<Error>({.models = {std::string(64, '0'), digest}}, options), "");
  EXPECT_THAT(refusal({.models = {std::string(64, '0')}}, options), HasSubstr("models: " + digest + " requested"));
  EXPECT_EQ(refusal<Error>({.models = {std::string(64, '0')}}), "") << "a fit evaluates none";
  options.evaluation.models_are_public = false;
  EXPECT_THAT(refusal<BudgetRefused>({.models = {digest}}, options), HasSubstr("a run that is not private requested"));
}

// B and s bound nothing where the unit is a row: a promise about persons is not kept by it.
TEST(SiloTerms, TermsOfPersonsRefuseRows) {
  EXPECT_THAT(refusal({.rows_per_person = 1}), HasSubstr("rows-per-person: the unit is a row requested"));
  EXPECT_THAT(refusal({.least_silos_per_person = 1}), HasSubstr("least-silos-per-person: the unit is a row"));
}

TEST(SiloTerms, MuOfARunIsABudget) {
  EXPECT_EQ(refusal<Error>({.most_mu = 0.5}), "");
  EXPECT_THAT(refusal<BudgetRefused>({.most_mu = 0.4}), HasSubstr("most-mu: 0.5 requested, at most 0.4 allowed"));
}

// A cost and another term: what the run asks must change, whatever it costs.
TEST(SiloTerms, AllThatIsRefusedIsNamedAtOnce) {
  EXPECT_THAT(refusal<UsageError>({.methods = {"ls"}, .most_mu = 0.4}),
              AllOf(HasSubstr("methods: mean requested, ls allowed; most-mu: "), Not(HasSubstr("least"))));
}

TEST(SiloTerms, ARunThatIsNotPrivateIsRefusedByEveryConsent) {
  FitOptions seeded = options_of("mean");
  seeded.privacy.seed = 1;
  EXPECT_THAT(refusal<BudgetRefused>({}, seeded), HasSubstr("private: a run that is not private requested"));
  FitOptions bare = options_of("mean");
  bare.privacy.budget = kWithoutNoise;
  EXPECT_THAT(refusal<BudgetRefused>({.most_mu = 1.0}, bare), HasSubstr("most-mu: no noise requested"));
}

// A silo's own ledger with an open run of mu 0.3, which a run of mu 0.4 comes to.
class MuInAll : public testing::Test {
 protected:
  MuInAll() { options_.privacy.budget.mu = 0.4; }

  const LedgerState& ledger_with_an_open_run(Adjacency adjacency) {
    Reservation open;
    open.run_id = "00112233445566778899aabbccddeeff";
    open.terms = fit_of(options_of("mean")).terms();
    open.terms.is_private = true;
    open.terms.adjacency = adjacency;
    open.releases = {{.name = "class_sums", .rounds = 1, .mu = 0.3}};
    ledger_.reserve(open);
    return ledger_.current();
  }

  const TemporaryFolder folder_;
  Ledger ledger_{folder_ / "ledger.jsonl"};
  FitOptions options_ = options_of("mean");
};

// Charges on file, what an open run has reserved, and the run add up: 0.3^2 + 0.4^2 = 0.5^2.
TEST_F(MuInAll, IsComposedOverTheSilosOwnLedger) {
  const LedgerState& state = ledger_with_an_open_run(Adjacency::kAddRemove);
  EXPECT_EQ(refusal<Error>({.most_mu_in_all = 0.5000001}, options_, state), "");
  EXPECT_THAT(refusal<BudgetRefused>({.most_mu_in_all = 0.45}, options_, state), HasSubstr("most-mu-in-all: 0."));
  EXPECT_EQ(refusal<Error>({.most_mu_in_all = 0.45}, options_), "") << "on an empty ledger";
}

// As budgets do: beside a line of replace-one a run of add-remove counts twice. 0.3^2 + (2 0.4)^2 = 0.854^2.
TEST_F(MuInAll, GoesByTheStrictestRelationOfTheLedger) {
  const LedgerState& state = ledger_with_an_open_run(Adjacency::kReplaceOne);
  EXPECT_EQ(refusal<Error>({.most_mu_in_all = 0.855}, options_, state), "");
  EXPECT_THAT(refusal<BudgetRefused>({.most_mu_in_all = 0.85}, options_, state), HasSubstr("most-mu-in-all: 0.85"));
}

TEST(VersionNumbers, AreInTheOrderOfNumbers) {
  EXPECT_LT(version_numbers("0.9.2"), version_numbers("0.10"));
  EXPECT_EQ(version_numbers("0.10.0"), version_numbers("0.10"));
  EXPECT_TRUE(version_numbers(version()).has_value());
  for (const char* text : {"", "1.", ".1", "a", "1.2-dev", "-1", "1.2.3.4.5", "12345678901"}) {
    EXPECT_FALSE(version_numbers(text).has_value()) << text;
  }
}

}  // namespace dpreduce::silo_terms_test
