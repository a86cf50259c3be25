#include "run/release_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/files/mapped_file.hpp"
#include "common/model/safetensors.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFormat = "dpreduce-checkpoint";
constexpr std::uint64_t kFormatVersion = 2;
constexpr std::string_view kManifestName = "checkpoint.json";
constexpr std::string_view kReleasesPrefix = "releases-";
constexpr std::size_t kLargestManifest = std::size_t{16} << 20;
constexpr auto kWaitForLock = std::chrono::seconds(5);  // ranks of a run that was killed may live that long
constexpr auto kLockPoll = std::chrono::milliseconds(20);

[[noreturn]] void refuse(const fs::path& folder, const std::string& what) {
  throw BadInput(fmt::format("--checkpoint {}: {}", folder.string(), what));
}

[[noreturn]] void refuse_damaged(const fs::path& file, const std::string& what) {
  throw BadInput(fmt::format(
      "{}: {}; the checkpoint is damaged: restore it, or start anew in another folder (what it held is paid for)",
      file.string(), what));
}

fs::path manifest_of(const fs::path& folder) {
  return folder / kManifestName;
}

std::size_t files_of_releases(const fs::path& folder) {
  std::size_t found = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(kReleasesPrefix)) ++found;
  }
  if (error) refuse(folder, fmt::format("cannot be listed: {}", error.message()));
  return found;
}

// SHA-256 over everything but the field that holds it.
std::string checksum_of(SafetensorsFile& file) {
  file.metadata.erase("sha256");
  return to_hex(sha256(serialize(file)));
}

std::string checksum_of(json manifest) {
  manifest.erase("sha256");
  return to_hex(sha256(json_text(manifest)));
}

std::string digest_of(const Release& sum) {
  std::string text;
  for (const ReleasedBlock& block : sum.blocks()) {
    text += fmt::format("{} {}\n", block.name(), block.values().size());
    const auto bytes = std::as_bytes(block.values());
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return to_hex(sha256(text));
}

constexpr std::string_view kPublicPrefix = "public:";

}  // namespace

LockedFolder::LockedFolder(const fs::path& path) {
  const auto give_up = std::chrono::steady_clock::now() + kWaitForLock;
  while (!try_lock(path)) {
    if (std::chrono::steady_clock::now() >= give_up) {
      refuse(path, "another run uses it; wait for its end, or name another folder");
    }
    std::this_thread::sleep_for(kLockPoll);
  }
}

// Makes and locks it. False where another run has it, or has just removed it.
bool LockedFolder::try_lock(const fs::path& path) {
  try {
    made_.make_folder(path);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("--checkpoint {}", error.what()));
  }
  folder_.emplace(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_->get() < 0) {
    if (errno == ENOENT) return false;
    refuse(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (::flock(folder_->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR || errno == EWOULDBLOCK) return false;
    refuse(path, fmt::format("cannot be locked: {}", reason_of(errno, FileFeature::kLocks)));
  }
  struct stat status {};
  return ::fstat(folder_->get(), &status) != 0 || status.st_nlink > 0;
}

ReleaseLog::ReleaseLog(const fs::path& folder, LogStart start, double seconds_between_writes)
    : folder_(folder),
      lock_(folder),
      between_writes_(
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_between_writes))),
      written_(Clock::now()) {
  if (start == LogStart::kNewRun) {
    if (files_of_releases(folder_) == 0) return;
    throw ResumeMismatch(fmt::format(
        "--checkpoint {}: holds the releases of another run; add --resume to go on with that one, or name another "
        "folder",
        folder_.string()));
  }
  read_manifest();
  verify_files();
}

fs::path ReleaseLog::file_of(std::uint64_t first) const {
  return folder_ / fmt::format("{}{:06}.safetensors", kReleasesPrefix, first);
}

void ReleaseLog::read_manifest() {
  const fs::path path = manifest_of(folder_);
  if (!fs::exists(path)) {
    if (files_of_releases(folder_) > 0) refuse_damaged(path, "is missing");
    return;  // killed before its first release, or never begun
  }
  const MappedFile file(path.string());
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > kLargestManifest) refuse_damaged(path, "is too large");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const json manifest = parse_json(text);
  if (!manifest.is_object() || manifest.value("format", json()) != kFormat) refuse_damaged(path, "is no checkpoint");
  const json found = manifest.value("format_version", json());
  if (found != kFormatVersion) {
    throw ResumeMismatch(
        fmt::format("{}: another version of dpreduce wrote this (checkpoints of version {}, known is {}); resume with "
                    "that one",
                    path.string(), ascii_json_text(found), kFormatVersion));
  }
  if (manifest.value("sha256", json()) != checksum_of(manifest) || !manifest.value("run", json()).is_string() ||
      !manifest.value("bound_to", json()).is_object()) {
    refuse_damaged(path, "does not match its SHA-256");
  }
  run_id_ = manifest["run"].get<std::string>();
  manifest_ = manifest["bound_to"];
}

std::vector<ReleaseLog::Entry> ReleaseLog::read_file(std::uint64_t first) const {
  const fs::path path = file_of(first);
  SafetensorsFile file = [&] {
    try {
      return read_safetensors(path);
    } catch (const BadInput& error) {
      refuse_damaged(path, fmt::format("cannot be read ({})", error.what()));
    }
  }();
  const std::string recorded = file.metadata["sha256"];
  if (recorded != checksum_of(file)) refuse_damaged(path, "does not match its SHA-256");
  if (file.metadata["run"] != run_id_ || file.metadata["first"] != std::to_string(first)) {
    refuse_damaged(path, "is of another run, or of another place in it");
  }
  const json labels = parse_json(file.metadata["labels"]);
  if (!labels.is_array() || labels.empty()) refuse_damaged(path, "says not what it holds");
  std::vector<Entry> entries;
  for (const json& label : labels) {
    if (!label.is_string()) refuse_damaged(path, "says not what it holds");
    Entry entry{label.get<std::string>(), {}};
    const std::string prefix = fmt::format("{:06}/", first + entries.size());
    for (auto tensor = file.tensors.lower_bound(prefix);
         tensor != file.tensors.end() && tensor->first.starts_with(prefix); ++tensor) {
      if (tensor->second.type != TensorType::kI64) refuse_damaged(path, "holds numbers that are no integers");
      entry.blocks.emplace_back(tensor->first.substr(prefix.size()), to_integers(tensor->second));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

void ReleaseLog::verify_files() {
  std::size_t files = 0;
  for (; fs::exists(file_of(on_disk_ + 1)); ++files) {
    const std::vector<Entry> entries = read_file(on_disk_ + 1);
    for (const Entry& entry : entries) labels_.push_back(entry.label);
    on_disk_ += entries.size();
  }
  if (files != files_of_releases(folder_)) {
    refuse_damaged(file_of(on_disk_ + 1), "is missing, but later releases are there");
  }
}

std::vector<std::string> ReleaseLog::release_labels() const {
  std::vector<std::string> releases;
  for (const std::string& label : labels_) {
    const bool is_one_more_part = !releases.empty() && releases.back() == label;
    if (!label.starts_with(kPublicPrefix) && !is_one_more_part) releases.push_back(label);
  }
  return releases;
}

void ReleaseLog::require_binding(const json& binding) const {
  if (manifest_.is_null()) return;
  refuse_difference(binding, Compared::kPlainValues);
  refuse_difference(binding, Compared::kLists);
}

void ReleaseLog::bind(const std::string& run_id, const json& binding) {
  if (!labels_.empty()) return;
  run_id_ = run_id;
  manifest_ = binding;
  json file{{"format", kFormat}, {"format_version", kFormatVersion}, {"run", run_id}, {"bound_to", binding}};
  file["sha256"] = checksum_of(file);
  AtomicFile out(manifest_of(folder_).string(), Existing::kReplace);
  out.write(json_text(file, 2) + "\n");
  out.commit();
}

void ReleaseLog::refuse_difference(const json& binding, Compared compared) const {
  json names = manifest_;
  names.update(binding);
  for (const auto& [name, unused] : names.items()) {
    const json there = manifest_.value(name, json());
    const json here = binding.value(name, json());
    const bool are_lists = there.is_structured() || here.is_structured();
    if (there == here || are_lists != (compared == Compared::kLists)) continue;
    constexpr std::size_t kLongestValue = 24;  // digests are longer, and say nothing to people
    const auto shown = [](const json& value) { return ascii_json_text(value); };
    const bool is_short = std::max(shown(there).size(), shown(here).size()) <= kLongestValue;
    throw ResumeMismatch(
        fmt::format("--checkpoint {}: holds another run: {} {}; resume with the options of that run, or name another "
                    "folder",
                    folder_.string(), name,
                    is_short ? fmt::format("is {} there and {} here", shown(there), shown(here)) : "is not the same"));
  }
}

std::string ReleaseLog::next_label(const PlannedRelease& planned) {
  return label_of_round(planned, ++rounds_[planned.name]);
}

ReleaseLog::Entry ReleaseLog::take(const std::string& label) {
  DPREDUCE_ASSERT(taken_ < labels_.size());
  if (taken_ == loaded_first_ - 1 + loaded_.size() || loaded_.empty()) {
    loaded_first_ = taken_ + 1;
    loaded_ = read_file(loaded_first_);
  }
  Entry entry = std::move(loaded_[taken_ + 1 - loaded_first_]);
  ++taken_;
  if (entry.label != label) {
    refuse_damaged(file_of(loaded_first_), fmt::format("holds {} where {} comes", entry.label, label));
  }
  return entry;
}

Release ReleaseLog::next(const PlannedRelease& planned) {
  Entry entry = take(next_label(planned));
  std::map<std::string, std::vector<std::int64_t>> values(std::make_move_iterator(entry.blocks.begin()),
                                                          std::make_move_iterator(entry.blocks.end()));
  std::vector<ReleasedBlock> blocks;
  for (const PlannedBlock& block : planned.blocks) {
    const auto found = values.find(block.name);
    if (found == values.end() || found->second.size() != block.elements) {
      refuse_damaged(file_of(loaded_first_),
                     fmt::format("{} has no block {} of {} numbers", entry.label, block.name, block.elements));
    }
    blocks.emplace_back(block.name, std::move(found->second), block.sigma);
  }
  return Release(std::move(blocks));
}

void ReleaseLog::add(Entry entry) {
  DPREDUCE_ASSERT(!manifest_.is_null() && taken_ == labels_.size());
  pending_.push_back(std::move(entry));
  if (Clock::now() - written_ >= between_writes_) flush();
}

void ReleaseLog::record(const PlannedRelease& planned, const Release& release) {
  Entry entry{next_label(planned), {}};
  for (const ReleasedBlock& block : release.blocks()) {
    entry.blocks.emplace_back(block.name(), std::vector(block.values().begin(), block.values().end()));
  }
  add(std::move(entry));
}

NamedIntegers ReleaseLog::next_part(const PlannedRelease& planned) {
  return take(label_of_round(planned, 1)).blocks;
}

void ReleaseLog::record_part(const PlannedRelease& planned, NamedIntegers numbers) {
  add({label_of_round(planned, 1), std::move(numbers)});
}

void ReleaseLog::refuse_part(const std::string& what) const {
  refuse_damaged(file_of(loaded_first_), what);
}

void ReleaseLog::public_sum(std::string_view name, const Release& sum) {
  const std::string stem = fmt::format("{}{} ", kPublicPrefix, name);
  const std::string label = stem + digest_of(sum);
  if (taken_ == labels_.size()) {
    add({label, {}});
    return;
  }
  if (labels_[taken_].starts_with(stem) && labels_[taken_] != label) {
    throw ResumeMismatch(
        fmt::format("--checkpoint {}: holds a run with other public rows (--public-x): their sum for {} is not the "
                    "same; resume with those",
                    folder_.string(), name));
  }
  take(label);
}

void ReleaseLog::write(const Entry& entry) {
  const std::uint64_t number = on_disk_ + 1;
  SafetensorsFile file;
  for (const auto& [name, values] : entry.blocks) {
    file.tensors.emplace(fmt::format("{:06}/{}", number, name), make_integer_tensor(values, {values.size()}));
  }
  file.metadata = {{"format", std::string(kFormat)},
                   {"run", run_id_},
                   {"first", std::to_string(number)},
                   {"labels", json_text(json::array({entry.label}))}};
  const std::string checksum = checksum_of(file);
  file.metadata["sha256"] = checksum;
  AtomicFile out(file_of(number).string(), Existing::kReplace);
  out.write(serialize(file));
  out.commit();
  ++on_disk_;
}

void ReleaseLog::flush() {
  for (; !pending_.empty(); pending_.pop_front()) write(pending_.front());
  written_ = Clock::now();
}

}  // namespace dpreduce
