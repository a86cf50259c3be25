#include "fit/masked_silo.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include "aggregator/release/statistic_fingerprint.hpp"
#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/silos/masked_sum.hpp"
#include "common/silos/payload.hpp"
#include "fit/silo_terms.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kInvitationDomain = "dpreduce masked invitation v1";
constexpr std::string_view kJoinDomain = "dpreduce masked join v1";
constexpr std::string_view kRequestDomain = "dpreduce masked request v1";
constexpr std::string_view kSumDomain = "dpreduce masked sum v1";
constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kJoinBytes = 4 + kDigestBytes + kSignatureBytes;
constexpr std::size_t kCheckWords = FingerprintPart{}.size();

using Session = std::array<std::uint8_t, 16>;

// Bytes that a signature signs: a domain, the session, what all have agreed on, and the message so far.
std::vector<std::byte> to_sign(std::string_view domain, const Session& session, const MaskedPlan& plan,
                               std::span<const std::byte> message) {
  return PayloadWriter().text(domain).plain(session).bytes(plan.digest).bytes(message).take();
}

// A message with the signature behind it.
std::string signed_message(const Identity& identity, std::string_view domain, const Session& session,
                           const MaskedPlan& plan, std::vector<std::byte> message) {
  const Signature signature = identity.sign(to_sign(domain, session, plan, message));
  message.insert(message.end(), signature.begin(), signature.end());
  return std::string(text_in(message));
}

struct Join {
  std::uint32_t silo = 0;
  PublicKey key{};
  Signature signature{};

  std::vector<std::byte> signed_part() const { return PayloadWriter().u32(silo).bytes(key).take(); }
};

Join read_join(PayloadReader& reader) {
  return {reader.u32(), reader.array<kDigestBytes>(), reader.array<kSignatureBytes>()};
}

void require_join(const Join& join, const Session& session, const MaskedPlan& plan) {
  const Roster& roster = plan.roster;
  if (join.silo == 0 || join.silo > roster.silos()) {
    throw AggregationAborted("a join is of silo {}, and the roster has {}", join.silo, roster.silos());
  }
  const Member& member = roster.members[join.silo];
  if (!verifies(member.key, to_sign(kJoinDomain, session, plan, join.signed_part()), join.signature)) {
    throw AggregationAborted(
        "the join of silo {} ({}) is not signed by it for this session; silos need the same plan, the same "
        "roster and the same version of dpreduce",
        join.silo, member.name);
  }
  if (gives_secret(join.key)) return;
  throw AggregationAborted("the key in the join of silo {} ({}) is a point of small order: no silo can mask with it",
                           join.silo, member.name);
}

struct Request {
  Session session{};
  std::uint64_t step = 0;
  std::vector<Join> joins;  // [u - 1] of silo u
  std::string task;
  RunId run{};  // names the sum: all that its masks depend on beside the keys
};

// A message that ends with the coordinator's signature of all before it. Nothing else of it is looked at before that
// is verified, but for the session.
std::span<const std::byte> verified(const std::string& message, std::string_view domain, const MaskedPlan& plan,
                                    Session& session) {
  const std::span<const std::byte> bytes = bytes_in(message);
  if (bytes.size() < session.size() + kSignatureBytes) throw AggregationAborted("a message is too short");
  const std::span<const std::byte> signed_part = bytes.first(bytes.size() - kSignatureBytes);
  session = PayloadReader(signed_part).plain<Session>();
  const auto signature = PayloadReader(bytes.last(kSignatureBytes)).array<kSignatureBytes>();
  if (verifies(plan.roster.members.front().key, to_sign(domain, session, plan, signed_part), signature)) {
    return signed_part.subspan(session.size());
  }
  throw AggregationAborted(
      "a message is not signed by the roster's coordinator for this plan; parties need the same plan, the same roster "
      "and the same version of dpreduce");
}

Request read_request(const std::string& message, const MaskedPlan& plan) {
  Request request;
  PayloadReader reader(verified(message, kRequestDomain, plan, request.session));
  request.step = reader.u64();
  const std::span<const std::byte> joins = reader.bytes(plan.roster.silos() * kJoinBytes);
  PayloadReader of_joins(joins);
  for (std::uint32_t silo = 1; silo <= plan.roster.silos(); ++silo) {
    request.joins.push_back(read_join(of_joins));
    if (request.joins.back().silo != silo) {
      throw AggregationAborted("a request lacks the join of silo {}; all silos take part", silo);
    }
  }
  request.task = text_in(reader.rest());
  PayloadWriter writer;
  writer.text(kSumDomain).plain(request.session).bytes(plan.digest);
  writer.bytes(joins).u64(request.step).bytes(sha256(request.task));
  request.run = sha256(writer.take());
  return request;
}

// Fingerprint against mistakes, not against silos: the coefficients are no secret. The sum of fingerprints follows from
// the sum of the statistics, and reveals nothing more of one silo's.
FingerprintPart sum_check(const RunId& run, const Statistic& statistic) {
  RandomStream coefficients = NoiseKey::from_bytes(run).stream("masked sum's fingerprint", {});
  return fingerprint_part(statistic, coefficients);
}

}  // namespace

MaskedPlan::MaskedPlan(TravelingPlan own_plan, const std::string& text, Roster own_roster)
    : plan(std::move(own_plan)), roster(std::move(own_roster)) {
  plan.require_for_silos(roster.silos());
  if (roster.dim != plan.dim || roster.classes != plan.options.data.classes) {
    throw BadInput(
        "the plan is for {} features and {} classes, the roster for {} and {}; all parties need "
        "the same of both",
        plan.dim, plan.options.data.classes, roster.dim, roster.classes);
  }
  const PublicKey noise = noise_plan_digest(ResolvedFit(plan.options, plan.dim), std::nullopt);
  digest = sha256(fmt::format("dpreduce masked plan v2\n{}\n{}\n{}\n{}\n", version(), to_hex(sha256(text)),
                              to_hex(roster.digest()), to_hex(noise)));
}

MaskedCoordinator::MaskedCoordinator(MaskedPlan plan, Identity identity)
    : plan_(std::move(plan)), identity_(std::move(identity)) {
  if (identity_.public_key() == plan_.roster.members.front().key) return;
  throw UsageError("identity: does not belong to the roster's coordinator, whose public key is in the roster");
}

std::string MaskedCoordinator::invitation() const {
  const Session& session = plan_.plan.ticket.session;
  return signed_message(identity_, kInvitationDomain, session, plan_, PayloadWriter().plain(session).take());
}

std::string MaskedCoordinator::request(const TravelingTask& task, const std::vector<std::string>& joins) const {
  const Session& session = plan_.plan.ticket.session;
  std::vector<const std::string*> by_silo(silos(), nullptr);
  for (const std::string& bytes : joins) {
    PayloadReader reader(bytes_in(bytes));
    const Join join = read_join(reader);
    reader.end();
    require_join(join, session, plan_);
    if (std::exchange(by_silo[join.silo - 1], &bytes) != nullptr) {
      throw AggregationAborted("the join of silo {} appears twice", join.silo);
    }
  }
  PayloadWriter writer;
  writer.plain(session).u64(task.step);
  for (std::size_t place = 0; place < by_silo.size(); ++place) {
    if (by_silo[place] == nullptr) {
      throw AggregationAborted("silo {} ({}) has not joined; all silos of the roster take part", place + 1,
                               plan_.roster.members[place + 1].name);
    }
    writer.text(*by_silo[place]);
  }
  writer.text(task.to_bytes());
  return signed_message(identity_, kRequestDomain, session, plan_, writer.take());
}

PartialSum MaskedCoordinator::opened(const std::string& request, const TravelingTask& task,
                                     std::span<const std::uint64_t> sum) const {
  const ResolvedFit fit(plan_.plan.options, plan_.plan.dim);
  Statistic statistic(shape_of(task.task, fit.plan()));
  const std::size_t words = statistic.words().size();
  const char* const kNoSum =
      "the answers do not add up: each silo of the roster must give one answer, all to the same request";
  if (sum.size() != words + kCheckWords) throw AggregationAborted(kNoSum);
  std::copy_n(sum.begin(), words, statistic.words().begin());
  FingerprintPart came{};
  std::copy_n(sum.begin() + static_cast<std::ptrdiff_t>(words), kCheckWords, came.begin());
  const RunId run = read_request(request, plan_).run;
  if (fingerprint_of(came) != fingerprint_of(sum_check(run, statistic))) throw AggregationAborted(kNoSum);
  return PartialSum::sealed(statistic, true, task.ticket(plan_.plan), "all silos");
}

struct MaskedSilo::Memory {
  struct Answered {
    RunId run{};
    PublicKey digest{};  // of its words
  };
  struct OwnSession {
    AgreementKey key = AgreementKey::generate();
    std::map<std::uint64_t, Answered> answered;  // by step
  };

  std::mutex mutex;
  pid_t process = ::getpid();
  std::map<Session, OwnSession> sessions;
};

MaskedSilo::MaskedSilo(MaskedPlan plan, Identity identity)
    : plan_(std::move(plan)), identity_(std::move(identity)), memory_(std::make_unique<Memory>()) {
  const std::vector<Member>& members = plan_.roster.members;
  const auto own = std::ranges::find(members.begin() + 1, members.end(), identity_.public_key(), &Member::key);
  if (own == members.end()) {
    throw UsageError("identity: does not belong to a silo of the roster, which has their public keys");
  }
  number_ = static_cast<std::uint32_t>(own - members.begin());
}

MaskedSilo::MaskedSilo(MaskedSilo&&) noexcept = default;
MaskedSilo::~MaskedSilo() = default;

std::string MaskedSilo::join(const std::string& invitation) {
  Session session{};
  if (!verified(invitation, kInvitationDomain, plan_, session).empty()) {
    throw AggregationAborted("an invitation has data after the session");
  }
  const std::lock_guard lock(memory_->mutex);
  if (memory_->process != ::getpid()) {
    throw AggregationAborted(
        "a silo belongs to the process that created it; create one in this process, and join again");
  }
  const Join join{.silo = number_, .key = memory_->sessions[session].key.public_key(), .signature = {}};
  return signed_message(identity_, kJoinDomain, session, plan_, join.signed_part());
}

std::vector<std::uint64_t> MaskedSilo::answer(const std::string& message, const RowsInMemory& rows, unsigned threads,
                                              const OnChunk& on_chunk) {
  const Request request = read_request(message, plan_);
  for (const Join& join : request.joins) require_join(join, request.session, plan_);
  const std::lock_guard lock(memory_->mutex);
  const auto joined = memory_->sessions.find(request.session);
  if (joined == memory_->sessions.end() || memory_->process != ::getpid()) {
    throw AggregationAborted(
        "this process has not joined the session: mask keys exist only in the memory of the process that joins; keep "
        "one process alive from the join to the last answer, or start a new session and join it");
  }
  Memory::OwnSession& own = joined->second;
  if (request.joins[number_ - 1].key != own.key.public_key()) {
    throw AggregationAborted("the request has another join instead of this silo's");
  }
  if (request.step >= plan_.plan.tasks()) {
    throw AggregationAborted("the request is for step {}, and the plan has {}", request.step, plan_.plan.tasks());
  }
  const auto before = own.answered.find(request.step);
  const auto require = [&](bool is_same) {
    if (is_same) return;
    throw AggregationAborted(
        "step {} of this session was already answered, for another request or with other rows; a silo can "
        "only repeat the same answer",
        request.step);
  };
  if (before != own.answered.end()) require(before->second.run == request.run);

  TravelingPlan plan = plan_.plan;
  plan.ticket.session = request.session;
  plan.options.data.train.unlisted_labels = UnlistedLabels::kInAnyNumber;
  const TravelingTask task = TravelingTask::from_bytes(request.task);
  if (task.step != request.step) throw AggregationAborted("the request's task is of another step");
  const Statistic statistic = partition_statistic(plan, task, rows, "of this silo", threads, on_chunk);
  std::vector<std::uint64_t> words(statistic.words().begin(), statistic.words().end());
  const FingerprintPart check = sum_check(request.run, statistic);
  words.insert(words.end(), check.begin(), check.end());
  MaskStreams masks;
  const SumAttempt sum{.run = request.run, .round = request.step};
  for (const Join& other : request.joins) {
    if (other.silo != number_) add_pair_mask(masks, sum, number_, other.silo, own.key, other.key);
  }
  masks.apply(0, words);

  const PublicKey digest = sha256(std::as_bytes(std::span(words)));
  const auto answered = own.answered.try_emplace(request.step, Memory::Answered{request.run, digest}).first;
  require(answered->second.digest == digest);
  return words;
}

void MaskedSilo::end(const std::string& message) {
  Session session{};
  try {
    verified(message, kRequestDomain, plan_, session);
  } catch (const AggregationAborted&) {
    verified(message, kInvitationDomain, plan_, session);
  }
  const std::lock_guard lock(memory_->mutex);
  memory_->sessions.erase(session);
}

}  // namespace dpreduce
