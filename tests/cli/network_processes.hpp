// Five silos and a coordinator as processes of their own, without a launcher.
#pragma once

#include <sys/wait.h>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "commands/network_party.hpp"
#include "common/base/output_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/silos/parties.hpp"
#include "tests/attacks/lying_sessions.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce {

class NetworkProcesses : public ProgramTest {
 protected:
  static constexpr std::size_t kSilos = 5;
  static constexpr std::size_t kRowsOfEach = 60;
  static constexpr std::uint64_t kSeed = 7;
  static constexpr double kSecondsToStart = 20.0;
  static constexpr const char* kNobody = "127.0.0.1:1";  // listens there

  NetworkProcesses() {
    const TrainingRows all = make_rows({110, 90, 100}, 8);
    std::string roster = "dim = 8\nclasses = 3\n";
    for (std::size_t party = 0; party <= kSilos; ++party) {
      const Identity identity = Identity::generate();
      save_new_identity(identity, folder_ / name(party, ".key"), "");
      roster +=
          fmt::format("[{}]\nname = \"n{}\"\nkey = \"{}\"\n",
                      party == 0 ? "coordinator" : fmt::format("silo.{}", party), party, to_hex(identity.public_key()));
      if (party == 0) continue;
      write_rows(all.part((party - 1) * kRowsOfEach, kRowsOfEach), name(party, "x.npy"), name(party, "y.npy"));
      write_numbers(name(party, "p.npy"), kRowsOfEach, [](std::size_t row) { return row % 20; });
    }
    write_bytes(folder_ / "roster.toml", roster);
    say("silo-timeout = 20\n");
  }

  static std::string name(std::size_t party, const std::string& ending) { return fmt::format("n{}{}", party, ending); }
  // All parties are told this.
  void say(const std::string& common) const {
    write_bytes(folder_ / "common.toml", "classes = 3\nroster = \"roster.toml\"\nthreads = 1\n" + common);
  }

  // And what an evaluation needs: groups of classes, and of the rows of each party. Its model says what classes there
  // are.
  void say_without_classes() const {
    write_bytes(folder_ / "common.toml", "roster = \"roster.toml\"\nthreads = 1\nsilo-timeout = 20\n");
    write_labels(folder_ / "merged.npy", {0, 1, 1});
    write_numbers("n1g.npy", kRowsOfEach, [](std::size_t row) { return row % 2; });
  }

  std::vector<std::string> words_of(std::size_t party, const std::string& address, const std::string& options) const {
    const std::string own =
        fmt::format(" --config common.toml --identity {} --log {} --ledger {} --health {} ", name(party, ".key"),
                    name(party, ".log"), name(party, ".jsonl"), name(party, ".health"));
    const std::string rows =
        fmt::format("--train-x {} {} {} ", name(party, rows_), labels_option_, name(party, labels_));
    return split_arguments(party == 0
                               ? "coordinator --listen 127.0.0.1:0 --report report.json --overwrite" + own + options
                               : "silo --connect " + address + own + rows + options);
  }

  std::unique_ptr<RunningProgram> start(const std::vector<std::string>& words, Form form) const {
    return std::make_unique<RunningProgram>(
        words, RunOptions{.folder = folder_.path(), .form = form, .keeps_files = true, .timeout_seconds = 60.0});
  }
  // A party alone, whom nobody answers, to its end.
  ProgramRun run_party(std::size_t party, const std::string& options) const {
    return run_program(words_of(party, kNobody, options), {.folder = folder_.path()});
  }
  // Waits until it is so.
  static void wait_until(const std::function<bool()>& is_so, const std::string& else_said) {
    if (!is_so_within(kSecondsToStart, is_so)) throw std::runtime_error(else_said);
  }
  // The coordinator listens there, once it does.
  std::string address() const {
    wait_until([&] { return has("n0.health"); }, "the coordinator does not listen");
    return document("n0.health")["address"];
  }

  using Parties = std::vector<std::unique_ptr<RunningProgram>>;
  struct Ended {
    std::vector<ProgramRun> parties;
    std::vector<int> codes() const {
      std::vector<int> all;
      for (const ProgramRun& party : parties) all.push_back(party.exit_code);
      return all;
    }
  };
  // Says what a party is told, where that is not the same for all.
  using OptionsOf = std::function<std::string(std::size_t party)>;
  // Says where a silo dials, where that is not the coordinator's address itself.
  using AddressOf = std::function<std::string(std::size_t silo, std::string listens)>;

  // The coordinator and the first so many silos, as `begin` begins what has such words.
  template <typename Begin>
  auto begin_parties(const Begin& begin, const OptionsOf& options_of, std::size_t silos,
                     const AddressOf& address_of) const {
    std::filesystem::remove(folder_ / "n0.health");
    std::vector<std::invoke_result_t<Begin, std::vector<std::string>>> running;
    running.push_back(begin(words_of(0, "", options_of(0))));
    const std::string listens = address();
    for (std::size_t silo = 1; silo <= silos; ++silo) {
      const std::string dialed = address_of ? address_of(silo, listens) : listens;
      running.push_back(begin(words_of(silo, dialed, options_of(silo))));
    }
    return running;
  }
  Parties start_parties(const OptionsOf& options_of, std::size_t silos = kSilos, const AddressOf& address_of = nullptr,
                        Form form = Form::kFork) const {
    return begin_parties([&](const auto& words) { return start(words, form); }, options_of, silos, address_of);
  }
  static Ended finish(const Parties& running) {
    Ended ended;
    for (const auto& party : running) ended.parties.push_back(party->finish());
    return ended;
  }
  Ended run_parties(const OptionsOf& options_of) const { return finish(start_parties(options_of)); }
  Ended run_parties(const std::string& options, const AddressOf& address_of = nullptr, Form form = Form::kFork) const {
    return finish(start_parties(told_to_all(options), kSilos, address_of, form));
  }
  static OptionsOf told_to_all(const std::string& options) {
    return [options](std::size_t) { return options; };
  }

  // The same with a seed, and with a fault on purpose where there is one, which no word on the command line can give.
  // Returns all exit codes; -1 of a process that was killed.
  std::vector<int> run_seeded(const OptionsOf& options_of, const std::string& fault = "",
                              const AddressOf& address_of = nullptr,
                              const std::function<void(const std::string&)>& when_all_run = nullptr) const {
    const auto begin = [&](const auto& words) { return fork_seeded(words, fault); };
    const std::vector<pid_t> parties = begin_parties(begin, options_of, kSilos, address_of);
    if (when_all_run) when_all_run(address());
    std::vector<int> codes;
    for (const pid_t party : parties) {
      int status = 0;
      ::waitpid(party, &status, 0);
      codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    return codes;
  }
  pid_t fork_seeded(const std::vector<std::string>& words, const std::string& fault) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::chdir(folder_.path().c_str()) != 0) ::_exit(127);
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    const auto run = [&] {
      try {
        NetworkParty party = *parse_command_line(dpreduce_command(), words).target<NetworkParty>();
        party.fit.privacy.seed = kSeed;
        Communicator alone = Communicator::alone();
        party(alone, LyingSessions(fault.empty() ? std::nullopt : std::optional(parse_fault(fault))));
        return 0;
      } catch (const Error& error) {
        return static_cast<int>(error.code());
      }
    };
    ::_exit(run_guarded(run, AtomicFile::remove_unfinished));
  }

  // The model of the parties as ranks of a launcher, with the same noise.
  std::string model_under_launcher(const std::string& options) const {
    run_among(kSilos,
              "fit --secure-aggregation --config common.toml --train-x n{rank}x.npy --train-y n{rank}y.npy --identity "
              "n{rank}.key --ledger m{rank}.jsonl --out launched.safetensors --seed 7 " +
                  options,
              0);
    return bytes("launched.safetensors");
  }

  // Expects this code, and this on standard error.
  static void expect_end(const ProgramRun& run, int code, const std::string& said) {
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(said));
  }
  // Why the report of a run says that this silo is lost, and no other.
  std::string reason_of_loss(std::size_t silo) const {
    const json lost = document("report.json")["silos"]["lost"];
    EXPECT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost.at(0)["silo"], silo);
    return lost.at(0)["reason"];
  }

  // The charges on a ledger, release by release.
  std::vector<json> charged(const std::string& ledger) const {
    std::vector<json> charges;
    for (const std::string& line : charges_in(bytes(ledger))) {
      const json charge = json::parse(line);
      charges.push_back({charge["epsilon"], charge["delta"], charge["unit"], charge["silos"], charge["blocks"]});
    }
    return charges;
  }

  const std::vector<int> all_end_well_ = std::vector<int>(kSilos + 1, 0);
  // How the files of a silo end, and what it calls those of labels.
  std::string rows_ = "x.npy";
  std::string labels_ = "y.npy";
  std::string labels_option_ = "--train-y";
};

}  // namespace dpreduce
