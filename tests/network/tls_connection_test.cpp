#include "network/tls_connection.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::tls_connection_test {

TEST(NetworkAddress, HostAndPortAreReadAndWritten) {
  for (const std::string text : {"hub.example.org:7000", "127.0.0.1:0", "[::1]:7000", "[::]:65535"}) {
    EXPECT_EQ(parse_address("--listen", text).text(), text);
  }
  EXPECT_EQ(parse_address("--listen", "[::1]:7000").host, "::1");
}

TEST(NetworkAddress, WhatIsNoneIsRefusedWithTheOptionAndTheForm) {
  for (const std::string text :
       {"", "hub", "hub:", ":7000", "hub:70000", "hub:-1", "hub:70x", "::1:7000", "a b:1", "http://hub:80"}) {
    EXPECT_THAT(refusal<UsageError>([&] { parse_address("--connect", text); }),
                AllOf(HasSubstr("--connect " + text), HasSubstr("HOST:PORT")));
  }
}

}  // namespace dpreduce::tls_connection_test
