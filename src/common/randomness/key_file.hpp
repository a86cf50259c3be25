// The noise key on disk, so that a run that was killed can repeat the very release that it has paid for.
//
// 32 secret bytes in a file of its own, readable and writable by its owner only (0600), apart from checkpoints, models
// and ledgers. Whoever has it and a release can take the noise off: it is as private as the data.
#pragma once

#include <filesystem>

#include "dpreduce/randomness/noise_key.hpp"

namespace dpreduce {

/// The key in the file at `path`; where there is none, a new one from `source`, on the disk before it is returned. Two
/// processes that meet an absent file get one and the same key. Throws BadInput with path and reason where the file is
/// no regular file of exactly 32 bytes, others than its owner may read or write it, or it cannot be read or made;
/// EntropyFailure.
NoiseKey load_or_make_key(const std::filesystem::path& path, const EntropySource& source = openssl_private_bytes);

}  // namespace dpreduce
