// dpreduce silo --proxy, as its users see it: the way to the coordinator goes through an HTTP proxy.
#include "tests/cli/network_processes.hpp"
#include "tests/network/line_proxy.hpp"

namespace dpreduce::network_proxy_test {

class NetworkProxyTest : public NetworkProcesses {
 protected:
  // A silo whose coordinator does not listen.
  ProgramRun through(const std::string& proxy, Form form) const {
    return start(words_of(1, kNobody, "--method mean --epsilon 4 --delta 1e-5 --proxy " + proxy), form)->finish();
  }
};

constexpr const char* kTunnel = "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n";

// The built program, with noise that nobody knows. Lines of all silos but one are cut again and again, and made again
// through the proxy.
TEST_F(NetworkProxyTest, SilosReachTheCoordinatorThroughATunnelOfAnHttpProxy) {
  std::unique_ptr<LineProxy> proxy;
  const auto through_tunnel = [&](std::size_t silo, const std::string& listens) {
    if (silo == 5) return listens;
    if (!proxy) {
      proxy = std::make_unique<LineProxy>();
      proxy->set_http(kTunnel);
      proxy->cut_every(6000);
      proxy->begin(static_cast<std::uint16_t>(std::stoul(listens.substr(listens.rfind(':') + 1))));
    }
    return fmt::format("{} --proxy 127.0.0.1:{}", listens, proxy->port());
  };
  const Ended ended = run_parties("--method fc --rounds 3 --noise distributed --epsilon 4 --delta 1e-5", through_tunnel,
                                  Form::kProgram);
  EXPECT_EQ(ended.codes(), all_end_well_) << ended.parties[0].err << bytes("n1.log");
  const std::string listens = document("n0.health")["address"];
  EXPECT_EQ(proxy->asked_for(), fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", listens));
  EXPECT_GT(proxy->connections(), 4U);
  const std::string through = fmt::format("connecting through the proxy 127.0.0.1:{}", proxy->port());
  EXPECT_THAT(bytes("n1.log"), HasSubstr(through));
  EXPECT_THAT(ended.parties[1].err, HasSubstr(through));
  EXPECT_THAT(bytes("n5.log"), Not(HasSubstr("proxy")));
  EXPECT_THAT(bytes("n0.log"), testing::ContainsRegex("the connection to silo [1-4] \\(n[1-4]\\) is broken"));
  EXPECT_THAT(ended.parties[0].err, AllOf(HasSubstr("5 of 5 silos are connected"), HasSubstr("the run begins")));
  const json report = document("report.json");
  expect_members(report, {{"silos", {{"summed", kSilos}, {"lost", json::array()}}}, {"private", true}});
  EXPECT_EQ(document("n0.health")["state"], "ended");
  EXPECT_EQ(document("n1.health")["exit_code"], 0);
}

TEST_F(NetworkProxyTest, AProxyThatMakesNoTunnelIsNamedWithItsAnswer) {
  const std::string no_tunnel = " makes no tunnel to 127.0.0.1:1: ";
  const auto ended_by = [&](const std::string& answer, const std::string& more) {
    LineProxy proxy;
    proxy.set_http(answer);
    proxy.begin(1);
    return through(fmt::format("127.0.0.1:{} {}", proxy.port(), more), Form::kProgram);
  };
  for (const std::string answer :
       {"HTTP/1.1 407 Proxy Authentication Required\r\nX: y\r\n\r\n", "HTTP/1.0 403 No\r\n\r\n",
        "HTTP/1.1 407 With a page\r\nContent-Length: 4\r\n\r\npage"}) {
    const ProgramRun refused = ended_by(answer, "--run-timeout 20");
    expect_end(refused, 5, no_tunnel + answer.substr(0, answer.find('\r')));
    EXPECT_THAT(refused.err, Not(AnyOf(HasSubstr("X: y"), HasSubstr("has not begun"))));
  }
  // A proxy may reach the coordinator later, or be another program.
  for (const std::string answer : {"HTTP/1.1 503 Later\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nmore"}) {
    expect_end(ended_by(answer, "--run-timeout 2"), 5, no_tunnel + answer.substr(0, answer.find('\r')));
  }
  EXPECT_THAT(ended_by(std::string(9000, 'x'), "--run-timeout 2").err, HasSubstr("the proxy 127.0.0.1:"));
  EXPECT_THAT(ended_by("", "--run-timeout 2 --silo-timeout 1").err, HasSubstr("no answer"));
  EXPECT_THAT(through("localhost:1 --run-timeout 2", Form::kProgram).err,
              HasSubstr("the proxy localhost:1: Connection refused"));
}

TEST_F(NetworkProxyTest, ASecretOfAProxyIsRefusedAndNotShown) {
  for (const auto& [proxy, said] :
       {std::pair{"http://me:hush@proxy.example.org:3128", "--proxy: has a user name or password"},
        {"me:hush@proxy:3128", "--proxy: has a user name or password"},
        {"http://proxy:3128", "--proxy http://proxy:3128: must be HOST:PORT"},
        {"proxy", "--proxy proxy: must be HOST:PORT"}}) {
    const ProgramRun run = through(proxy, Form::kFork);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err + run.out, AllOf(HasSubstr(said), Not(HasSubstr("hush"))));
    for (const std::string& name : folder_.names()) EXPECT_THAT(bytes(name), Not(HasSubstr("hush"))) << name;
  }
}

}  // namespace dpreduce::network_proxy_test
