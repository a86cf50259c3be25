#include "common/silos/plan_agreement.hpp"

#include <string_view>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/version.hpp"

namespace dpreduce {
namespace {

std::vector<std::byte> signed_part(const RunId& run, std::uint32_t party, const PublicKey& plan) {
  constexpr std::string_view kDomain = "dpreduce noise plan v1";
  PayloadWriter writer;
  return writer.text(kDomain).bytes(run).u32(party).bytes(plan).take();
}

}  // namespace

std::vector<std::byte> make_signed_plan(const Identity& identity, const RunId& run, std::uint32_t party,
                                        const PublicKey& plan) {
  PayloadWriter writer;
  return writer.bytes(plan).bytes(identity.sign(signed_part(run, party, plan))).take();
}

std::vector<std::byte> take_signed_plan(PayloadReader& reader, const PublicKey& identity, const RunId& run,
                                        std::uint32_t party, const PublicKey& plan, const std::string& name) {
  const PublicKey signed_plan = reader.array<32>();
  const Signature signature = reader.array<64>();
  if (!verifies(identity, signed_part(run, party, signed_plan), signature)) {
    throw AggregationAborted(fmt::format("the noise plan of {} is not signed by it", name));
  }
  if (signed_plan != plan) {
    throw AggregationAborted(fmt::format(
        "{} makes other noise than this party (noise plan {} there, {} here, of dpreduce {}); start one build "
        "of the program, with the same options, at all parties",
        name, short_hex(signed_plan), short_hex(plan), version()));
  }
  return PayloadWriter().bytes(signed_plan).bytes(signature).take();
}

}  // namespace dpreduce
