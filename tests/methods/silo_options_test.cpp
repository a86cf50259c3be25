#include "methods/silo_options.hpp"

#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_options_test {

TEST(SiloOptions, NothingOfSilosGoesWithoutThem) {
  EXPECT_THAT(refusal_of(SiloOptions()), IsEmpty());
  const std::pair<const char*, SiloOptions> given[] = {{"--threshold", {.threshold = 3}},
                                                       {"--colluding", {.colluding = 1}},
                                                       {"--noise", {.noise = NoiseSource::kDistributed}},
                                                       {"--roster", {.roster = "r.toml"}},
                                                       {"--identity", {.identity = "i.key"}},
                                                       {"--silo-config", {.own_options = "s.toml"}},
                                                       {"--log", {.log = "a.log"}},
                                                       {"--silo-timeout", {.timeout_seconds = 5}},
                                                       {"--round-trip", {.round_trip_ms = 40}},
                                                       {"--bandwidth", {.bandwidth_mbit = 100}},
                                                       {"--packet-loss", {.packet_loss_percent = 0}}};
  for (const auto& [option, silos] : given) {
    EXPECT_THAT(refusal_of(silos), HasSubstr(std::string(option) + " goes with --secure-aggregation"));
  }
}

TEST(SiloOptions, ARosterNeedsAnIdentity) {
  EXPECT_THAT(refusal_of(SiloOptions{.secure_aggregation = true, .roster = "r.toml"}),
              HasSubstr("--identity is missing"));
}

TEST(SiloOptions, TimesAndLinesAreWithinTheirRange) {
  const std::pair<const char*, SiloOptions> given[] = {
      {"--silo-timeout 0", {.secure_aggregation = true, .timeout_seconds = 0}},
      {"--round-trip -1: must be from 0", {.secure_aggregation = true, .round_trip_ms = -1}},
      {"--round-trip nan", {.secure_aggregation = true, .round_trip_ms = std::nan("")}},
      {"--bandwidth 0: must be from 0.001", {.secure_aggregation = true, .bandwidth_mbit = 0}},
      {"--packet-loss 100: must be from 0 to 99",
       {.secure_aggregation = true, .round_trip_ms = 40, .packet_loss_percent = 100}},
      {"--packet-loss above 0 goes with --round-trip above 0", {.secure_aggregation = true, .packet_loss_percent = 1}}};
  for (const auto& [message, silos] : given) EXPECT_THAT(refusal_of(silos), HasSubstr(message));
}

}  // namespace dpreduce::silo_options_test
