#include "commands/rank_archive.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/crc.hpp>
#include <boost/serialization/base_object.hpp>
#include <boost/serialization/split_free.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/version.hpp"

namespace boost::serialization {

// Whether there is a value, and that.
template <typename Archive, typename T>
void save(Archive& archive, const std::optional<T>& value, unsigned) {
  const bool is_there = value.has_value();
  archive << is_there;
  if (is_there) archive << *value;
}
template <typename Archive, typename T>
void load(Archive& archive, std::optional<T>& value, unsigned) {
  bool is_there = false;
  archive >> is_there;
  value.reset();
  if (is_there) archive >> value.emplace();
}
template <typename Archive, typename T>
void serialize(Archive& archive, std::optional<T>& value, unsigned version) {
  split_free(archive, value, version);
}

// Which alternative it is, and that.
template <typename Archive, typename... T>
void save(Archive& archive, const std::variant<T...>& value, unsigned) {
  const std::size_t index = value.index();
  archive << index;
  std::visit([&](const auto& alternative) { archive << alternative; }, value);
}
template <typename Archive, typename... T>
void load(Archive& archive, std::variant<T...>& value, unsigned) {
  std::size_t index = 0;
  archive >> index;
  std::size_t candidate = 0;
  const auto load_if_chosen = [&](auto alternative) {
    if (candidate++ != index) return;
    archive >> alternative;
    value = std::move(alternative);
  };
  (load_if_chosen(T{}), ...);
  if (index >= sizeof...(T)) throw dpreduce::AggregationAborted(fmt::format("no alternative {}", index));
}
template <typename Archive, typename... T>
void serialize(Archive& archive, std::variant<T...>& value, unsigned version) {
  split_free(archive, value, version);
}

}  // namespace boost::serialization

namespace dpreduce {
namespace {

constexpr unsigned kFormat = 1;
constexpr const char* kMagic = "dpreduce archive";

template <typename Archive, typename... Member>
void all(Archive& archive, Member&... members) {
  (void)(archive & ... & members);
}

}  // namespace

// Of each struct all members: a structured binding that misses one does not compile. (BudgetOptions has a base, which
// structured bindings do not take.)

template <typename Archive>
void serialize(Archive& archive, RowsOptions& options, unsigned) {
  auto& [x, y, bad_rows] = options;
  all(archive, x, y, bad_rows);
}

template <typename Archive>
void serialize(Archive& archive, StatedBudget& options, unsigned) {
  auto& [epsilon, delta, rho, mu] = options;
  all(archive, epsilon, delta, rho, mu);
}

template <typename Archive>
void serialize(Archive& archive, BudgetOptions& options, unsigned) {
  archive& boost::serialization::base_object<StatedBudget>(options);
  all(archive, options.accountant, options.non_private);
}

template <typename Archive>
void serialize(Archive& archive, DataOptions& options, unsigned) {
  auto& [train, test, validation, public_x, imbalance_ratio, imbalance_seed, classes, max_labels] = options;
  all(archive, train, test, validation, public_x, imbalance_ratio, imbalance_seed, classes, max_labels);
}

template <typename Archive>
void serialize(Archive& archive, RowOptions& options, unsigned) {
  auto& [normalize, clip_norm, pool, center, center_share, pca, pca_share, select, select_by, select_share] = options;
  all(archive, normalize, clip_norm, pool, center, center_share, pca, pca_share, select, select_by, select_share);
}

template <typename Archive>
void serialize(Archive& archive, MethodOptions& options, unsigned) {
  auto& [name, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min, d_max, gram_share, shared_gram,
         alpha, lambda, rounds, local_steps, batch, loss, learning_rate, radius, iterate, warm_start, warm_start_share,
         choose, choose_share] = options;
  all(archive, name, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min, d_max, gram_share,
      shared_gram, alpha, lambda, rounds, local_steps, batch, loss, learning_rate, radius, iterate, warm_start,
      warm_start_share, choose, choose_share);
}

template <typename Archive>
void serialize(Archive& archive, PrivacyOptions& options, unsigned) {
  auto& [budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume] = options;
  all(archive, budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume);
}

template <typename Archive>
void serialize(Archive& archive, OutputOptions& options, unsigned) {
  auto& [out, report, checkpoint, checkpoint_every, format, dry_run] = options;
  all(archive, out, report, checkpoint, checkpoint_every, format, dry_run);
}

template <typename Archive>
void serialize(Archive& archive, MachineOptions& options, unsigned) {
  auto& [threads, memory_mib] = options;
  all(archive, threads, memory_mib);
}

template <typename Archive>
void serialize(Archive& archive, SiloOptions& options, unsigned) {
  auto& [secure_aggregation, threshold, colluding, noise, roster, identity, own_options, rows_are_own, ledger_is_own,
         log, agreed, timeout_seconds, fault, round_trip_ms, bandwidth_mbit, packet_loss_percent] = options;
  all(archive, secure_aggregation, threshold, colluding, noise, roster, identity, own_options, rows_are_own,
      ledger_is_own, log, agreed, timeout_seconds, fault, round_trip_ms, bandwidth_mbit, packet_loss_percent);
}

template <typename Archive>
void serialize(Archive& archive, FitOptions& options, unsigned) {
  auto& [data, rows, method, privacy, output, machine, silos] = options;
  all(archive, data, rows, method, privacy, output, machine, silos);
}

template <typename Archive>
void serialize(Archive& archive, PrintText& options, unsigned) {
  auto& [text] = options;
  all(archive, text);
}

template <typename Archive>
void serialize(Archive& archive, SweepOptions& options, unsigned) {
  auto& [train, test, public_x, classes, methods, epsilons, delta, ratios, seeds, adjacency, out, threads, memory_mib] =
      options;
  all(archive, train, test, public_x, classes, methods, epsilons, delta, ratios, seeds, adjacency, out, threads,
      memory_mib);
}

template <typename Archive>
void serialize(Archive& archive, PredictOptions& options, unsigned) {
  auto& [model, x, out, scores, top_k, sets, threshold, bad_rows] = options;
  all(archive, model, x, out, scores, top_k, sets, threshold, bad_rows);
}

template <typename Archive>
void serialize(Archive& archive, EvaluateOptions& options, unsigned) {
  auto& [model, test, train_y, top_k, threshold, report, format] = options;
  all(archive, model, test, train_y, top_k, threshold, report, format);
}

template <typename Archive>
void serialize(Archive& archive, CalibrateOptions& options, unsigned) {
  auto& [budget, sensitivity, steps, sampling_rate, format] = options;
  all(archive, budget, sensitivity, steps, sampling_rate, format);
}

template <typename Archive>
void serialize(Archive& archive, ConvertOptions& options, unsigned) {
  auto& [budget, sigma, sensitivity, format] = options;
  all(archive, budget, sigma, sensitivity, format);
}

template <typename Archive>
void serialize(Archive& archive, MechanismSpec& spec, unsigned) {
  auto& [kind, parameter, sampling_rate, count] = spec;
  all(archive, kind, parameter, sampling_rate, count);
}

template <typename Archive>
void serialize(Archive& archive, ComposeOptions& options, unsigned) {
  auto& [run, delta, adjacency, group, format] = options;
  all(archive, run, delta, adjacency, group, format);
}

template <typename Archive>
void serialize(Archive& archive, BlockSpec& spec, unsigned) {
  auto& [name, sensitivity, loss_weight] = spec;
  all(archive, name, sensitivity, loss_weight);
}

template <typename Archive>
void serialize(Archive& archive, SplitOptions& options, unsigned) {
  auto& [budget, blocks, format] = options;
  all(archive, budget, blocks, format);
}

template <typename Archive>
void serialize(Archive& archive, ExplainOptions& options, unsigned) {
  auto& [report, format] = options;
  all(archive, report, format);
}

template <typename Archive>
void serialize(Archive& archive, LedgerShowOptions& options, unsigned) {
  auto& [ledger, format] = options;
  all(archive, ledger, format);
}

template <typename Archive>
void serialize(Archive& archive, LedgerVerifyOptions& options, unsigned) {
  auto& [ledger, report] = options;
  all(archive, ledger, report);
}

template <typename Archive>
void serialize(Archive& archive, LedgerReleaseOptions& options, unsigned) {
  auto& [run, ledger] = options;
  all(archive, run, ledger);
}

template <typename Archive>
void serialize(Archive& archive, SynthOptions& options, unsigned) {
  auto& [kind, out_dir, rows, test_rows, dim, classes, shards, offset, stochastic, test_stochastic, adversarial, spread,
         separation, imbalance_ratio, max_labels, majority_share, seed] = options;
  all(archive, kind, out_dir, rows, test_rows, dim, classes, shards, offset, stochastic, test_stochastic, adversarial,
      spread, separation, imbalance_ratio, max_labels, majority_share, seed);
}

template <typename Archive>
void serialize(Archive& archive, SanitizeOptions& options, unsigned) {
  auto& [x, y, out_dir, normalize, clip_norm, bad_rows, budget, seed, format] = options;
  all(archive, x, y, out_dir, normalize, clip_norm, bad_rows, budget, seed, format);
}

template <typename Archive>
void serialize(Archive& archive, PartitionOptions& options, unsigned) {
  auto& [x, y, out_dir, classes, silos, first_silo, scheme, alpha, classes_per_silo, rotation, offset, seed, format] =
      options;
  all(archive, x, y, out_dir, classes, silos, first_silo, scheme, alpha, classes_per_silo, rotation, offset, seed,
      format);
}

template <typename Archive>
void serialize(Archive& archive, InspectOptions& options, unsigned) {
  auto& [rows, classes, normalize, clip_norm, format] = options;
  all(archive, rows, classes, normalize, clip_norm, format);
}

template <typename Archive>
void serialize(Archive& archive, AuditOptions& options, unsigned) {
  auto& [kind, fit, confidence, trials, canaries] = options;
  all(archive, kind, fit, confidence, trials, canaries);
}

template <typename Archive>
void serialize(Archive& archive, BenchOptions& options, unsigned) {
  auto& [kind, rows, dim, classes, count, elements, sigma, threads, repeats, kernel, format] = options;
  all(archive, kind, rows, dim, classes, count, elements, sigma, threads, repeats, kernel, format);
}

template <typename Archive>
void serialize(Archive& archive, KeygenOptions& options, unsigned) {
  auto& [out, name, format] = options;
  all(archive, out, name, format);
}

template <typename Archive>
void serialize(Archive& archive, FileIdentity& identity, unsigned) {
  auto& [machine, device, inode, bytes, modified_ns, place] = identity;
  all(archive, machine, device, inode, bytes, modified_ns, place);
}

template <typename Archive>
void serialize(Archive& archive, SeenFile& file, unsigned) {
  auto& [path, rows, identity] = file;
  all(archive, path, rows, identity);
}

namespace {

std::uint32_t crc_of(const std::string& bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

[[noreturn]] void refuse_damaged() {
  throw AggregationAborted("a message of another rank of this job is damaged; start the job again");
}

// What follows the first line. Nothing of it is parsed before it is known to be whole.
std::string checked_payload(const std::string& archive) {
  const std::size_t end = archive.find('\n');
  if (end == std::string::npos || !archive.starts_with(kMagic)) refuse_damaged();
  std::istringstream line(archive.substr(std::string(kMagic).size(), end - std::string(kMagic).size()));
  unsigned format = 0;
  std::string made_by;
  std::size_t length = 0;
  std::uint32_t crc = 0;
  if (!(line >> format >> made_by)) refuse_damaged();
  if (format != kFormat || made_by != version()) {
    throw UsageError(fmt::format(
        "this rank runs dpreduce {} (messages of format {}), but another one dpreduce {} (format {}); start "
        "the same program on all ranks",
        version(), kFormat, made_by, format));
  }
  std::string payload = archive.substr(end + 1);
  if (!(line >> length >> std::hex >> crc) || payload.size() != length || crc_of(payload) != crc) refuse_damaged();
  return payload;
}

}  // namespace

template <typename Value>
std::string archived(const Value& value) {
  std::ostringstream stream;
  {
    boost::archive::binary_oarchive archive(stream);
    archive << value;
  }
  const std::string payload = std::move(stream).str();
  return fmt::format("{} {} {} {} {:08x}\n", kMagic, kFormat, version(), payload.size(), crc_of(payload)) + payload;
}

template <typename Value>
Value unarchived(const std::string& archive) {
  std::istringstream stream(checked_payload(archive));
  Value value;
  try {
    boost::archive::binary_iarchive reader(stream);
    reader >> value;
  } catch (const std::exception&) {  // of another Boost, or of another kind of value
    refuse_damaged();
  }
  return value;
}

template std::string archived(const Command&);
template std::string archived(const SeenFiles&);
template Command unarchived(const std::string&);
template SeenFiles unarchived(const std::string&);

}  // namespace dpreduce
