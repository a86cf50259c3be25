// Who steals the machine after a run has ended tries to take the noise off what was published: with every file that is
// there, every part of which may be the secret. It must fail; and it succeeds as long as the run's journal is there.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <set>
#include <span>

#include "aggregator/release/block_noise.hpp"
#include "common/ledger/ledger.hpp"
#include "common/model/safetensors.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/signing_key.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::noise_recovery_test {

namespace fs = std::filesystem;

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kEntries = 4;  // of one release: sigma is above 1e4, so that chance gives none of them away
using Secret = std::array<std::byte, kSecretBytes>;

// Rows of zeros: every exact sum of them is zero, and what is published is the noise itself. So is their fingerprint.
const std::string kFingerprintOfZeros(32, '0');

int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

int value_in_base64(char digit) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t place = kDigits.find(digit);
  return place == std::string::npos ? -1 : static_cast<int>(place);
}

// The bytes that runs of digits of `bits` bits stand for, from every digit on.
std::vector<std::string> decoded(const std::string& text, unsigned bits, int (*value)(char)) {
  std::vector<std::string> found;
  const std::size_t period = bits == 4 ? 2 : 4;
  for (std::size_t shift = 0; shift < period; ++shift) {
    std::string bytes;
    unsigned held = 0;
    unsigned pending = 0;
    for (std::size_t k = shift; k < text.size(); ++k) {
      const int digit = value(text[k]);
      if (digit < 0) {
        if (std::isspace(static_cast<unsigned char>(text[k])) != 0 && bits == 6) continue;  // lines of a PEM file
        held = 0;
        if (bytes.size() >= kSecretBytes) found.push_back(bytes);
        bytes.clear();
        pending = 0;
        continue;
      }
      pending = (pending << bits | static_cast<unsigned>(digit)) & 0xFFFF;
      held += bits;
      if (held >= 8) {
        held -= 8;
        bytes += static_cast<char>(pending >> held & 0xFF);
      }
    }
    if (bytes.size() >= kSecretBytes) found.push_back(bytes);
  }
  return found;
}

// Everything of 32 bytes in the file: as they lie there, written in digits, and what SHA-256 makes of them.
std::set<Secret> secrets_in(const std::string& content) {
  std::vector<std::string> texts{content};
  for (auto& text : decoded(content, 4, value_of)) texts.push_back(std::move(text));
  for (auto& text : decoded(content, 6, value_in_base64)) texts.push_back(std::move(text));
  std::set<Secret> secrets;
  for (const std::string& text : texts) {
    for (std::size_t first = 0; first + kSecretBytes <= text.size(); ++first) {
      Secret secret;
      const auto bytes = std::as_bytes(std::span(text)).subspan(first, kSecretBytes);
      std::copy(bytes.begin(), bytes.end(), secret.begin());
      secrets.insert(secret);
      secrets.insert(sha256({text.data() + first, kSecretBytes}));
    }
  }
  secrets.insert(sha256(content));
  return secrets;
}

struct Published {
  LedgerEntry charge;
  std::vector<std::int64_t> values;
};

// The first release of the run, as its checkpoint holds it, and its line.
Published published(const TemporaryFolder& folder) {
  Published found;
  const SafetensorsFile file = read_safetensors(folder / "run/releases-000001.safetensors");
  found.values = to_integers(file.tensors.at("000001/class_sums"));
  const LedgerState state = Ledger::read(folder / "ledger.jsonl");
  found.charge = state.charges().front().entry;
  return found;
}

bool makes_the_noise(const NoiseKey& key, const Published& published) {
  const LedgerBlock& charged = published.charge.blocks.front();
  const PlannedBlock block{.name = charged.name,
                           .elements = charged.elements,
                           .squared_sensitivity = 1,
                           .sensitivity = charged.sensitivity,
                           .sigma = charged.sigma,
                           .mu = 1.0};
  const auto streams = [&](const std::string& context, std::size_t) {
    return key.stream("noise", std::as_bytes(std::span(context)));
  };
  std::vector<std::int64_t> noise(kEntries, 0);
  add_noise(streams, block, published.charge.release_id + "/" + kFingerprintOfZeros, block.name, noise);
  return std::equal(noise.begin(), noise.end(), published.values.begin());
}

// Names of the files, of all under the folder, that give the noise away.
std::set<std::string> files_that_tell(const TemporaryFolder& folder) {
  const Published target = published(folder);
  std::set<std::string> telling;
  for (const auto& [name, content] : content_of(folder.path())) {
    for (const Secret& secret : secrets_in(content)) {
      if (makes_the_noise(NoiseKey::from_bytes(secret), target)) telling.insert(name);
    }
  }
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    if (makes_the_noise(NoiseKey::from_seed(seed), target)) telling.insert("a small seed");
  }
  return telling;
}

TEST(NoiseRecovery, FailsWithAllFilesOnceTheRunHasFinished) {
  const TemporaryFolder folder;
  TrainingRows rows{.dim = 4, .features = std::vector<float>(4 * 60, 0.0F), .labels = {}};
  for (std::size_t row = 0; row < 60; ++row) rows.labels.push_back(static_cast<std::int64_t>(row % 2));
  write_npy(rows, folder / "x.npy", folder / "y.npy");
  const std::string fit =
      "fit --train-x x.npy --train-y y.npy --classes 2 --method mean --mu 0.5 --checkpoint run --report ";

  // Its report cannot be written: the journal stays, so that the run can be resumed.
  const ProgramRun failed = run_program(split_arguments(fit + "/dev/full"), {.folder = folder.path()});
  ASSERT_EQ(failed.exit_code, 3) << failed.err;
  const Published before = published(folder);
  ASSERT_GE(before.values.size(), kEntries);
  ASSERT_GT(before.charge.blocks.front().sigma, 1e4);
  const std::set<std::string> telling = files_that_tell(folder);
  ASSERT_EQ(telling.size(), 1U) << "the attack is no attack";
  EXPECT_TRUE(telling.begin()->ends_with(".journal")) << *telling.begin();

  const ProgramRun done = run_program(split_arguments(fit + "report.json --resume"), {.folder = folder.path()});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(published(folder).values, before.values);
  EXPECT_EQ(files_that_tell(folder), std::set<std::string>{});
}

}  // namespace dpreduce::noise_recovery_test
