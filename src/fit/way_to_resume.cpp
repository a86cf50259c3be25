#include "fit/way_to_resume.hpp"

#include <fmt/format.h>

#include "common/base/peer_failed.hpp"

namespace dpreduce {

void with_way_to_resume(const Releaser& releaser, const Warn& warn, const std::function<void()>& work) {
  const auto way = [&] {
    return fmt::format(
        "run {} has charged releases: the same command with --resume repeats them at no charge, `dpreduce ledger "
        "release {}` gives them up",
        releaser.run_id(), releaser.run_id());
  };
  try {
    work();
  } catch (const PeerFailed&) {  // that rank prints its error
    if (releaser.can_be_resumed() && warn) warn(way());
    throw;
  } catch (const Error& error) {
    if (!releaser.can_be_resumed()) throw;
    throw Error(error.code(), fmt::format("{}; {}", error.what(), way()));
  }
}

}  // namespace dpreduce
