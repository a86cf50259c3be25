// Owners of OpenSSL objects, for all sources that call OpenSSL.
#pragma once

#include <string>
#include <type_traits>

#include "common/base/error.hpp"

namespace dpreduce {

/// An operation that can fail only where OpenSSL itself does.
inline void require_openssl(bool done, const char* operation) {
  if (!done) throw EntropyFailure(std::string("OpenSSL failed: ") + operation);
}

template <typename Byte>
auto openssl_bytes(Byte* bytes) {
  if constexpr (std::is_const_v<Byte>) {
    return reinterpret_cast<const unsigned char*>(bytes);
  } else {
    return reinterpret_cast<unsigned char*>(bytes);
  }
}

}  // namespace dpreduce
