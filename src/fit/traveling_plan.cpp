#include "fit/traveling_plan.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include <unistd.h>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/silos/payload_archive.hpp"
#include "fit/ranked_rows.hpp"
#include "methods/fit_plan.hpp"
#include "methods/registry.hpp"
#include "worker/person_rows.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {
namespace {

[[noreturn]] void cannot_travel(const std::string& option, const std::string& reason) {
  throw UsageError("{}: {}; leave it out of a fit from partial sums", option, reason);
}

// Refuses what needs more of the rows than sums over all of them.
void require_sums_alone(const ResolvedFit& fit) {
  const FitOptions& options = fit.options();
  const FitPlan& plan = fit.plan();
  const std::string method = "--method " + options.method.name;
  if (method_entry(options.method).each_rank_is_a_silo)
    cannot_travel(method, "its ranks are silos with rows of their own");
  if (plan.public_selection) cannot_travel(method, "it chooses among public rows, which every worker would need");
  if (plan.choice) cannot_travel("--choose", "it counts correct predictions of every row");
  for (const ReleaseRequest& request : plan.requests) {
    if (request.sampling_rate < 1) cannot_travel("--batch", "its samples depend on the place of a row among all rows");
  }
}

void require_own_options(const FitOptions& options) {
  if (!options.data.public_x.empty()) cannot_travel("--public-x", "public rows are read by ranks");
  if (!options.data.validation.x.empty()) cannot_travel("--validation-x", "validation rows are read by ranks");
  if (options.data.weight_bound) cannot_travel("--weight-bound", "weights are read by ranks");
  if (options.data.imbalance_ratio != 1.0) cannot_travel("--imbalance-ratio", "the tail is drawn among all rows");
  if (options.privacy.resume) cannot_travel("--resume", "a session ends with its driver");
  if (options.silos.silos_per_person && !options.data.rows_per_person) {
    throw UsageError("--silos-per-person: goes with --rows-per-person, by which a plan's unit is a person");
  }
}

constexpr const char* kUnitIsARow =
    "the plan's unit is a row: make it with rows_per_person for one whose unit is a person";

void require_no_silos(const TravelingPlan& plan) {
  if (!plan.options.silos.under_engine) return;
  throw UsageError(
      "--silos-per-person: the plan is for silos, each of which counts its own persons (dpreduce.silos); leave it out "
      "where persons are counted over all partitions");
}

void require_uncounted_persons(const TravelingPlan& plan) {
  if (!plan.options.data.has_units()) throw UsageError(kUnitIsARow);
  require_no_silos(plan);
  if (plan.persons) throw UsageError("the plan already has the counts of its persons");
}

// A worker sees the rows of its own partition: how many there are in all is counted ahead.
void require_counted(const TravelingPlan& plan) {
  if (!plan.options.data.has_units() || plan.persons || plan.options.silos.under_engine) return;
  throw UsageError(
      "the plan's persons have not been counted: count those of every partition, and go on with the plan that has the "
      "counts");
}

// Checks the options of a fit that is charged to `ledger`, or elsewhere. A fit of rows with numbers is not told how
// many numbers a row has, since it sees the rows.
FitOptions checked(FitOptions options, const std::optional<std::string>& ledger) {
  if (ledger) options.privacy.ledger = *ledger;
  const std::size_t targets = options.data.has_targets() ? std::exchange(options.data.classes, 0) : 0;
  options = checked_call(std::move(options), Communicator::alone(), ledger ? Accounts::kLedger : Accounts::kElsewhere);
  if (targets > 0) options.data.classes = targets;
  return options;
}

}  // namespace

DPREDUCE_ARCHIVE(Prior, directions, features)
DPREDUCE_ARCHIVE(GradientPoint, weights, loss, prior, residual_norm)
DPREDUCE_ARCHIVE(ClassBalls, centers, radii)
DPREDUCE_ARCHIVE(StatisticTask, release, preprocessing, point, part, secret, label)
DPREDUCE_ARCHIVE(SumTicket, session, step, task, secret)
DPREDUCE_ARCHIVE(PersonHash, high, low)
DPREDUCE_ARCHIVE(CountedPartition, name, digest)

template <typename Archive>
void serialize(Archive& archive, PersonTable& table, unsigned) {
  archive_all(archive, table.partitions, table.shared.persons, table.shared.rows);
}

DPREDUCE_ARCHIVE(TravelingPlan, options, dim, ticket, persons)
DPREDUCE_ARCHIVE(TravelingTask, session, step, task)

TravelingPlan TravelingPlan::made(FitOptions options, std::size_t dim, std::size_t targets) {
  require_own_options(options);
  RowsInMemory rows;
  if (options.data.rows_per_person) rows.train_person.emplace();
  options.silos.under_engine = options.silos.silos_per_person.has_value();
  options = with_rows_in_memory(std::move(options), rows);
  if (targets > 0) options.data.classes = targets;
  options = checked(std::move(options), PrivacyOptions{}.ledger);
  require_sums_alone(ResolvedFit(options, dim));
  TravelingPlan plan{.options = std::move(options), .dim = dim, .ticket = {}};
  secure_bytes(std::as_writable_bytes(std::span(plan.ticket.session)));
  secure_bytes(std::as_writable_bytes(std::span(plan.ticket.secret)));
  return plan;
}

TravelingPlan TravelingPlan::counted(const PersonCounts& counts) const {
  require_uncounted_persons(*this);
  TravelingPlan plan = *this;
  plan.persons = counts.opened(ticket);
  secure_bytes(std::as_writable_bytes(std::span(plan.ticket.session)));
  return plan;
}

std::uint64_t TravelingPlan::tasks() const {
  const ResolvedFit fit(options, dim);
  std::uint64_t tasks = 0;
  for (const ReleaseRequest& request : fit.plan().requests) {
    tasks += request.in_parts ? 1 + options.data.classes : request.rounds;  // sums of all classes, then a Gram of each
  }
  return tasks;
}

void TravelingPlan::require_for_silos(std::uint64_t engine_silos) const {
  if (options.data.has_units() && !options.silos.under_engine) {
    throw UsageError(
        "--rows-per-person: silos do not compare their persons; also set --silos-per-person in the plan, "
        "the most silos that have rows of one person ({} if that is unknown)",
        engine_silos);
  }
  require_silos_per_person(options.silos, engine_silos);
}

std::string TravelingPlan::to_bytes() const {
  return message_of("plan", *this);
}

TravelingPlan TravelingPlan::from_bytes(const std::string& bytes) {
  return value_of_message<TravelingPlan>("plan", bytes);
}

SumTicket TravelingTask::ticket(const TravelingPlan& plan) const {
  SumTicket ticket = plan.ticket;
  ticket.step = step;
  const auto digest = sha256(to_bytes());
  std::copy(digest.begin(), digest.end(), std::as_writable_bytes(std::span(ticket.task)).begin());
  return ticket;
}

std::string TravelingTask::to_bytes() const {
  return message_of("task", *this);
}

TravelingTask TravelingTask::from_bytes(const std::string& bytes) {
  return value_of_message<TravelingTask>("task", bytes);
}

PersonCounts person_counts(const TravelingPlan& plan, const ArrayView& persons, const std::string& partition) {
  require_uncounted_persons(plan);
  ShardedArray identifiers(std::make_unique<MemoryArray>(persons, "identifiers of persons in memory"),
                           ArrayRole::kPersons);
  return PersonCounts::sealed(traveling_persons(identifiers, {0, identifiers.rows()}, plan.ticket).persons, plan.ticket,
                              partition);
}

Statistic partition_statistic(const TravelingPlan& plan, const TravelingTask& task, const RowsInMemory& rows,
                              const std::string& partition, unsigned threads, const OnChunk& on_chunk) {
  if (task.session != plan.ticket.session) {
    throw UsageError("the task is of another plan; use a task from a session of this plan");
  }
  const ResolvedFit fit(plan.options, plan.dim);
  Communicator alone = Communicator::alone();
  WorkerRows own = ranked_rows_in_memory(rows.train_x, rows.train_y, plan.options.data.train, alone);
  if (own.dim() != plan.dim) {
    throw BadInput("partition {}: its rows have {} features, but the plan is for {}; all need the same",
                   shown_partition(partition), own.dim(), plan.dim);
  }
  require_fitting_labels(own, plan.options.data);
  if (own.targets() != (plan.options.data.has_targets() ? plan.options.data.classes : 0)) {
    throw BadInput("partition {}: its rows have {} numbers, but the plan is for {}", shown_partition(partition),
                   own.targets(), plan.options.data.classes);
  }
  if (rows.train_person.has_value() != plan.options.data.has_units()) {
    throw UsageError(rows.train_person ? kUnitIsARow
                                       : "the plan's unit is a person: give the person of each row of the partition");
  }
  if (rows.train_person) {
    require_counted(plan);
    std::optional<ShardedArray> persons =
        open_beside(ArrayRole::kPersons, plan.options.data.train, own, alone, rows.train_person);
    weigh(own, &*persons, plan.options.data.bounded_rows(),
          plan.options.silos.under_engine ? count_in_silo(*plan.options.silos.silos_per_person)
                                          : count_over_partitions(*plan.persons, plan.ticket, partition),
          alone, {.whole = fit.plan().clips_units()});
  }
  const StreamPlan stream = fit.stream_over(own, threads == 0 ? default_threads() : threads);
  if (own.goes_by_unit()) require_room_for_units(fit.plan().preprocessing, stream);
  return statistic_of_rows(task.task, fit.plan(), own, stream, on_chunk);
}

PartialSum partial_sum(const TravelingPlan& plan, const TravelingTask& task, const RowsInMemory& rows,
                       const std::string& partition, unsigned threads, const OnChunk& on_chunk) {
  require_no_silos(plan);
  return PartialSum::sealed(partition_statistic(plan, task, rows, partition, threads, on_chunk), rows.train_x.rows > 0,
                            task.ticket(plan), partition);
}

// The partitions that each sum must hold; nothing where any will do.
std::optional<std::vector<std::string>> partitions_of(const TravelingPlan& plan,
                                                      std::optional<std::vector<std::string>> expected) {
  require_counted(plan);
  if (!plan.persons) return expected;
  std::vector<std::string> counted;
  for (const CountedPartition& partition : plan.persons->partitions) counted.push_back(partition.name);
  if (expected) require_partitions(counted, *expected, "count of persons");
  return counted;
}

// The thread that trains, and those that own the session, take turns: each waits while the other works.
class FitSession::Exchange final : public StatisticSource {
 public:
  Exchange(const TravelingPlan& plan, const std::optional<std::string>& ledger,
           std::optional<std::vector<std::string>> partitions)
      : plan_(plan),
        fit_(std::make_shared<const ResolvedFit>(checked(plan.options, ledger), plan.dim)),
        partitions_(partitions_of(plan, std::move(partitions))),
        rows_(WorkerRows::none(plan.dim, plan.options.data.has_targets() ? plan.options.data.classes : 0)) {
    if (plan.options.data.has_units()) rows_.set_weights({});
    if (fit_->plan().clips_units()) rows_.set_units({.are_whole = true});
    take_blas_memory();
    std::optional<FitAccount> account = open_account(*fit_, ranks_, ledger ? Accounts::kLedger : Accounts::kElsewhere);
    trainer_ = std::thread([this, account = std::move(account)]() mutable { train_here(std::move(account)); });
    std::unique_lock lock(mutex_);
    wait_for_trainer(lock);
    if (!failure_) return;
    lock.unlock();
    trainer_.join();
    std::rethrow_exception(failure_);
  }
  ~Exchange() override {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_all();
    trainer_.join();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool is_of_this_process() const { return process_ == ::getpid(); }

  std::optional<TravelingTask> task() const {
    require_this_process();
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return task_;
  }

  void give(const PartialSum& sum) {
    const std::optional<TravelingTask> task = this->task();
    if (!task) throw UsageError("the session waits for no sum: its fit has ended, or another thread has given one");
    if (partitions_) require_partitions(sum.partitions(), *partitions_, "sum");
    Statistic opened = sum.opened(task->ticket(plan_), shape_of(task->task, fit_->plan()));
    std::unique_lock lock(mutex_);
    if (!task_ || task_->step != task->step) throw UsageError("another thread has given a sum for this task");
    given_ = std::move(opened);
    task_.reset();
    changed_.notify_all();
    wait_for_trainer(lock);
    if (failure_) std::rethrow_exception(failure_);
  }

  FittedRun& fitted() {
    require_this_process();
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (!fitted_) throw UsageError("the fit waits for the sum of its task; it has a result after its last task");
    return *fitted_;
  }

  // On the training thread.
  Statistic sum(const StatisticTask& task) override {
    std::unique_lock lock(mutex_);
    task_ = TravelingTask{plan_.ticket.session, next_step_++, task};
    changed_.notify_all();
    changed_.wait(lock, [this] { return given_.has_value() || is_stopped_; });
    if (!given_) throw Interrupted("the session was given up");
    Statistic given = std::move(*given_);
    given_.reset();
    return given;
  }

 private:
  void require_this_process() const {
    if (is_of_this_process()) return;
    throw UsageError("a session belongs to the process that started it; a forked process can only make partial sums");
  }

  void train_here(std::optional<FitAccount> account) {
    std::exception_ptr failure;
    std::optional<FittedRun> fitted;
    try {
      fitted = train(fit_, rows_, {}, ranks_, std::move(account), {.source = this});
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (fitted) fitted_.emplace(std::move(*fitted));
    failure_ = failure;
    changed_.notify_all();
  }

  void wait_for_trainer(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return task_ || failure_ || fitted_; });
  }

  const TravelingPlan plan_;
  const pid_t process_ = ::getpid();
  std::shared_ptr<const ResolvedFit> fit_;
  std::optional<std::vector<std::string>> partitions_;
  Communicator ranks_ = Communicator::alone();
  WorkerRows rows_;
  std::thread trainer_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::optional<TravelingTask> task_;  // that the trainer waits for
  std::optional<Statistic> given_;
  std::uint64_t next_step_ = 0;
  bool is_stopped_ = false;
  std::exception_ptr failure_;
  std::optional<FittedRun> fitted_;
};

TravelingTask first_task(const TravelingPlan& plan) {
  const ResolvedFit fit(plan.options, plan.dim);
  const ReleaseRequest& first = fit.plan().requests.front();
  if (first.in_parts || registered_statistic(first.name).is_round()) {
    throw UsageError("the first task of this plan needs weights or a secret: start the session, and use its task");
  }
  return {plan.ticket.session, 0, task_of(first.name, fit.plan().preprocessing, {})};
}

FitSession::FitSession(const TravelingPlan& plan, const std::optional<std::string>& ledger,
                       std::optional<std::vector<std::string>> partitions)
    : exchange_(std::make_unique<Exchange>(plan, ledger, std::move(partitions))) {}

FitSession::~FitSession() {
  // The thread that trains is the other process's: what it would do there is not done here.
  if (!exchange_->is_of_this_process()) static_cast<void>(exchange_.release());
}

std::optional<TravelingTask> FitSession::task() const {
  return exchange_->task();
}

void FitSession::give(const PartialSum& sum) {
  exchange_->give(sum);
}

FittedRun& FitSession::fitted() {
  return exchange_->fitted();
}

}  // namespace dpreduce
