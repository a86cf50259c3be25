// Real processes: every one killed at every message that it sends, and a line cut at every record of TLS. The model is
// that of all silos, or that of all but the one that is lost, bit for bit; else the run is refused. This is for the
// long form, but for one story; tests/network/line_matrix_test.cpp does the same with parties in one process.
#include <sys/resource.h>

#include "common/silos/frame.hpp"
#include "tests/cli/network_processes.hpp"
#include "tests/network/line_proxy.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::network_matrix_test {

using testing::AnyOf;

// A broken line has half a second, a dead one as long again. With the noise of all, and a seed, there are two models.
const std::string kOptions =
    "--method mean --noise distributed --threshold 4 --silo-timeout 2 --run-timeout 8 --epsilon 4 --delta 1e-5 ";
// A silo that has had no welcome when the coordinator is killed waits for another one: as long as a run may take.
constexpr double kLongest = 30.0;  // seconds, on a busy machine

class NetworkMatrixTest : public NetworkProcesses {
 protected:
  void forget_run() const {
    for (std::size_t party = 0; party <= kSilos; ++party) {
      for (const char* ending : {".jsonl", ".log", ".health"}) std::filesystem::remove(folder_ / name(party, ending));
    }
    for (const char* file : {"model.safetensors", "report.json"}) std::filesystem::remove(folder_ / file);
  }

  // Runs once more; says whether that ended as it may, and what it came to.
  std::string play(const std::string& fault, const AddressOf& address_of = nullptr,
                   const std::function<void(const std::string&)>& when_all_run = nullptr) {
    forget_run();
    const double began = seconds_now();
    codes_ = run_seeded(told_to_all(kOptions), fault, address_of, when_all_run);
    longest_ = std::max(longest_, seconds_now() - began);
    const std::string word = seconds_now() - began > kLongest ? "wrong: too late" : word_of_run();
    ++outcomes_[word];
    return word;
  }
  std::string word_of_run() const {
    if (codes_[0] != 0) {
      // Killed with its last words: the model is there, whole.
      if (has("model.safetensors")) return model() == whole_ ? "right, and killed then" : "wrong: a model";
      for (std::size_t silo = 1; silo <= kSilos; ++silo) {
        if (codes_[silo] == 0) return "wrong: a silo says that all is well";
        if (bytes(name(silo, ".log")).find("end: exit code") == std::string::npos) return "wrong: no reason";
      }
      return "refused";
    }
    const json lost = document("report.json")["silos"]["lost"];
    for (std::size_t silo = 1; silo <= kSilos; ++silo) {
      const bool is_lost = !lost.empty() && lost[0]["silo"] == silo;
      const bool is_killed = codes_[silo] == -1;  // perhaps after the report, which then knows of no loss
      if (!is_killed && (codes_[silo] == 0) == is_lost) {
        return fmt::format("wrong: exit code {} of silo {}", codes_[silo], silo);
      }
      if (!is_lost && charged(name(silo, ".jsonl")) != charges_.at(silo)) return "wrong: charges of a silo";
    }
    if (lost.empty()) return model() == whole_ ? "right" : "wrong: another model";
    if (lost.size() != 1 || lost[0]["reason"].get<std::string>().empty()) return "wrong: who is lost";
    const auto without = models_without_.find(lost[0]["silo"]);
    const bool is_right = model() == whole_ || (without != models_without_.end() && model() == without->second);
    return is_right ? "right, without a silo" : "wrong: another model";
  }
  void learn_whole() {
    forget_run();
    EXPECT_EQ(run_seeded(told_to_all(kOptions)), all_end_well_);
    whole_ = model();
    for (std::size_t silo = 1; silo <= kSilos; ++silo) {
      charges_[silo] = charged(name(silo, ".jsonl"));
      EXPECT_FALSE(charges_[silo].empty());
    }
  }
  // The model of the others, from a run that this silo does not come to.
  void learn_without(std::size_t silo) {
    forget_run();
    run_seeded(told_to_all(kOptions), fmt::format("{}:kill@hello", silo));
    EXPECT_EQ(document("report.json")["silos"]["lost"].size(), 1U);
    models_without_[silo] = model();
    EXPECT_NE(model(), whole_);
  }

  ~NetworkMatrixTest() override {
    const char* const path = std::getenv("DPREDUCE_FIGURES");
    if (path == nullptr || outcomes_.empty()) return;
    std::size_t runs = 0;
    for (const auto& [word, count] : outcomes_) runs += count;
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const json figures{{"stories", stories_},   {"runs", runs},
                       {"outcomes", outcomes_}, {"seconds", seconds_now() - began_},
                       {"longest", longest_},   {"peak_mib", static_cast<double>(used.ru_maxrss) / 1024.0}};
    std::ofstream(path, std::ios::app) << figures.dump() << '\n';
  }

  std::string stories_;
  std::vector<int> codes_;
  std::string whole_;
  std::map<std::size_t, std::vector<json>> charges_;
  std::map<std::size_t, std::string> models_without_;
  std::map<std::string, std::size_t> outcomes_;
  double longest_ = 0;
  double began_ = seconds_now();
};

// Every message of that kind in turn: until there is none of that number, so that nobody was killed.
TEST_F(NetworkMatrixTest, ASiloKilledAtAnyMessageLeavesTheModelOfTheOthers) {
  stories_ = "process of a silo is killed";
  learn_whole();
  for (const std::size_t killed : runs_slow_tests() ? std::vector<std::size_t>{1, 2, 5} : std::vector<std::size_t>{2}) {
    learn_without(killed);
    for (const auto& [kind, frame] : spellings<FrameKind>) {
      if (!runs_slow_tests() && frame != FrameKind::kMasked) continue;
      for (int number = 1;; ++number) {
        const std::string fault = fmt::format("{}:kill@{}#{}", killed, kind, number);
        const std::string word = play(fault);
        if (codes_[killed] != -1) {
          EXPECT_EQ(word, "right") << fault;
          break;
        }
        EXPECT_THAT(word, StartsWith("right")) << fault << bytes("n0.log");
        if (!runs_slow_tests()) break;
      }
    }
  }
}

TEST_F(NetworkMatrixTest, ACoordinatorKilledAtAnyMessageIsFoundGoneByEverySilo) {
  if (!runs_slow_tests()) GTEST_SKIP() << "a long test";
  stories_ = "process of the coordinator is killed";
  learn_whole();
  for (const auto& [kind, frame] : spellings<FrameKind>) {
    for (int number = 1;; number += 3) {  // of five silos in each phase, in another place each time
      const std::string fault = fmt::format("0:kill@{}#{}", kind, number);
      const std::string word = play(fault);
      if (codes_[0] == 0) {
        EXPECT_EQ(word, "right") << fault;
        break;
      }
      EXPECT_THAT(word, AnyOf("refused", "right, and killed then")) << fault;
    }
  }
}

// With a proxy on the line of silo 1 that fails once. It begins when all processes run: none with threads is forked.
TEST_F(NetworkMatrixTest, ALineCutAtAnyRecordChangesNoBit) {
  if (!runs_slow_tests()) GTEST_SKIP() << "a long test";
  stories_ = "line between processes is cut";
  learn_whole();
  std::unique_ptr<LineProxy> proxy;
  const auto play_over = [&](const std::optional<LineFault>& fault) {
    proxy = std::make_unique<LineProxy>();
    if (fault) proxy->set_fault(*fault);
    const std::string through = fmt::format("127.0.0.1:{}", proxy->port());
    const std::string word = play(
        "", [&](std::size_t silo, const std::string& listens) { return silo == 1 ? through : listens; },
        [&](const std::string& listens) {
          proxy->begin(static_cast<std::uint16_t>(std::stoul(listens.substr(listens.rfind(':') + 1))));
        });
    EXPECT_EQ(word, "right") << (fault ? fmt::format("record {}", fault->record) : "") << bytes("n0.log")
                             << bytes("n1.log");
    return std::pair(proxy->records(true), proxy->records(false));
  };
  const auto [up, down] = play_over(std::nullopt);
  using Place = LineFault::Place;
  for (const bool to_coordinator : {true, false}) {
    for (std::uint64_t record = 1; record <= (to_coordinator ? up : down); ++record) {
      for (const Place place : {Place::kBefore, Place::kWithin, Place::kAfter}) {
        play_over(LineFault{to_coordinator, record, place, LineFault::Kind::kReset});
      }
    }
  }
}

}  // namespace dpreduce::network_matrix_test
