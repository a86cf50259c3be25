#include "common/randomness/noise_key.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kKeyBytes = 32;

using Message = std::vector<std::byte>;

void append(Message& message, std::span<const std::byte> bytes) {
  message.insert(message.end(), bytes.begin(), bytes.end());
}

void append(Message& message, std::string_view text) {
  append(message, std::as_bytes(std::span(text)));
}

void append(Message& message, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) message.push_back(static_cast<std::byte>(number >> shift));
}

// The text that separates one use from another; none is a prefix of another, thanks to the zero at its end.
Message domain(std::string_view text) {
  Message message;
  append(message, text);
  message.push_back(std::byte{0});
  return message;
}

const unsigned char* bytes_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

NoiseKey NoiseKey::from_entropy(const EntropySource& source) {
  SecretVector<std::byte> bytes(kKeyBytes);
  secure_bytes(bytes, source);
  return NoiseKey(std::move(bytes));
}

NoiseKey NoiseKey::from_seed(std::uint64_t seed) {
  Message message = domain("dpreduce noise key from seed v1");
  append(message, seed);
  SecretVector<std::byte> bytes(kKeyBytes);
  unsigned int written = 0;
  if (EVP_Digest(message.data(), message.size(), reinterpret_cast<unsigned char*>(bytes.data()), &written, EVP_sha256(),
                 nullptr) != 1 ||
      written != kKeyBytes) {
    throw EntropyFailure("no noise key: OpenSSL's SHA-256 failed; nothing was released");
  }
  return NoiseKey(std::move(bytes));
}

NoiseKey NoiseKey::from_bytes(std::span<const std::byte, 32> bytes) {
  return NoiseKey(SecretVector<std::byte>(bytes.begin(), bytes.end()));
}

RandomStream NoiseKey::stream(std::string_view purpose, std::span<const std::byte> context) const {
  Message message = domain("dpreduce stream v1");
  append(message, std::uint64_t{purpose.size()});
  append(message, purpose);
  append(message, std::uint64_t{context.size()});
  append(message, context);
  const SecretVector<std::byte> stream_key = authenticate(message);
  return RandomStream(std::make_unique<AesBlockSource>(std::span<const std::byte, kKeyBytes>(stream_key)));
}

// HMAC-SHA256(key, message)
SecretVector<std::byte> NoiseKey::authenticate(std::span<const std::byte> message) const {
  DPREDUCE_ASSERT(bytes_.size() == kKeyBytes);
  SecretVector<std::byte> code(kKeyBytes);
  unsigned int written = 0;
  if (HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()), bytes_of(message), message.size(),
           reinterpret_cast<unsigned char*>(code.data()), &written) == nullptr ||
      written != kKeyBytes) {
    throw EntropyFailure("no random stream: OpenSSL's HMAC-SHA256 failed; nothing was released");
  }
  return code;
}

}  // namespace dpreduce
