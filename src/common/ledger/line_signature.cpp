#include "common/ledger/line_signature.hpp"

#include <optional>
#include <span>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// The text that separates these signatures from those of other uses, with the zero at its end.
std::vector<std::byte> signed_part(const std::string& unsigned_line) {
  std::string message("dpreduce ledger line v2");
  message.push_back('\0');
  message += unsigned_line;
  const auto bytes = std::as_bytes(std::span(message));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string with_signature(const std::string& unsigned_line, std::string_view signature) {
  DPREDUCE_ASSERT(unsigned_line.size() > 2 && unsigned_line.back() == '}');
  std::string line = unsigned_line.substr(0, unsigned_line.size() - 1);
  return line.append(R"(,"signature":")").append(signature).append("\"}");
}

std::string sign_line(const std::string& unsigned_line, const SigningKey& key) {
  return with_signature(unsigned_line, to_hex(key.sign(signed_part(unsigned_line))));
}

bool is_signed_by(const std::string& unsigned_line, std::string_view signature, const PublicKey& signer) {
  const std::optional<Signature> bytes = signature_of_hex(signature);
  return bytes && verifies(signer, signed_part(unsigned_line), *bytes);
}

}  // namespace dpreduce
