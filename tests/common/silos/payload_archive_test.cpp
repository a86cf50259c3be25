#include "common/silos/payload_archive.hpp"

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "common/ledger/loss.hpp"
#include "common/randomness/signing_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::payload_archive_test {

struct Everything {
  bool flag = false;
  double number = 0.0;
  std::int16_t small = 0;
  Loss loss = Loss::kSoftmax;
  std::string text;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::optional<std::uint64_t> maybe;
  std::variant<std::monostate, std::string> either;

  bool operator==(const Everything&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, Everything& everything, unsigned) {
  auto& [flag, number, small, loss, text, numbers, texts, maybe, either] = everything;
  archive_all(archive, flag, number, small, loss, text, numbers, texts, maybe, either);
}

const Everything kValue{.flag = true,
                        .number = -0.5,
                        .small = -32768,
                        .loss = Loss::kSquare,
                        .text = "a text",
                        .numbers = {1.0, 2.0},
                        .texts = {"", "b"},
                        .maybe = 7,
                        .either = std::string("c")};

Everything read(const std::string& message) {
  return value_of_message<Everything>("everything", message);
}

// The value's bytes with `bytes` written over them from `place` on.
std::string with(std::size_t place, const std::vector<std::byte>& bytes) {
  const std::string message = message_of("everything", kValue);
  const std::span<const std::byte> value = value_in(message, "everything");
  std::vector<std::byte> changed(value.begin(), value.end());
  std::ranges::copy(bytes, changed.begin() + static_cast<std::ptrdiff_t>(place));
  return framed_message("everything", changed);
}

std::vector<std::byte> word(std::uint64_t number) {
  return PayloadWriter().u64(number).take();
}

TEST(PayloadArchiveTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(read(message_of("everything", kValue)), kValue);
  EXPECT_EQ(read(message_of("everything", Everything{})), Everything{});
}

// A flag in byte 0, a number in 1 to 8, two bytes of a small one, a choice in 11 to 14, the length of a text in 15
// to 22.
TEST(PayloadArchiveTest, WhatIsOutOfRangeIsRefused) {
  EXPECT_THROW(read(with(0, {std::byte{2}})), BadInput);
  for (const double number : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(read(with(1, word(std::bit_cast<std::uint64_t>(number)))), BadInput);
  }
  EXPECT_THROW(read(with(11, {std::byte{3}})), BadInput);
  EXPECT_THROW(read(with(13, {std::byte{1}})), BadInput);
  for (const std::uint64_t length : {std::uint64_t{1000}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_THROW(read(with(15, word(length))), BadInput) << "of a text";
    EXPECT_THROW(read(with(29, word(length))), BadInput) << "of numbers";
    EXPECT_THROW(read(with(53, word(length))), BadInput) << "of texts";
  }
}

TEST(PayloadArchiveTest, WhatIsCutOffDamagedOrOfAnotherKindIsRefused) {
  const std::string message = message_of("everything", kValue);
  EXPECT_THROW(value_of_message<Everything>("something", message), BadInput);
  for (std::size_t length = 0; length < message.size(); ++length) {
    EXPECT_THROW(read(message.substr(0, length)), BadInput) << length;
  }
  for (std::size_t place = 0; place < message.size(); ++place) {
    std::string damaged = message;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    EXPECT_THROW(read(damaged), BadInput) << place;
  }
  const std::span<const std::byte> value = value_in(message, "everything");
  std::vector<std::byte> longer(value.begin(), value.end());
  longer.push_back(std::byte{0});
  EXPECT_THROW(read(framed_message("everything", longer)), BadInput);
}

// The digest has no key: what another version is called anybody can make up.
TEST(PayloadArchiveTest, AnotherVersionIsShownInPrintableCharactersAndNotManyOfThem) {
  const auto made_by = [](const std::string& version) {
    PayloadWriter body;
    for (const std::string& text : {std::string("everything"), version}) {
      body.u32(static_cast<std::uint32_t>(text.size())).text(text);
    }
    const std::vector<std::byte> head = body.take();
    return std::string(text_in(PayloadWriter().bytes(head).bytes(sha256(head)).take()));
  };
  const auto said_of = [&](const std::string& version) {
    return refusal<UsageError>([&] { value_in(made_by(version), "everything"); });
  };
  EXPECT_THAT(said_of("0.0.9"), HasSubstr("of dpreduce 0.0.9, but this is dpreduce " + version()));
  EXPECT_THAT(said_of("9\n2026-01-01 end\x1b[2J\xc2\x9b"), HasSubstr("of dpreduce 9?2026-01-01 end?[2J??,"));
  EXPECT_THAT(said_of(std::string(1000, 'v')), HasSubstr("of dpreduce " + std::string(32, 'v') + ","));
}

}  // namespace dpreduce::payload_archive_test
