#include "run/class_solutions.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "common/base/error.hpp"
#include "run/release_log.hpp"

namespace dpreduce {
namespace {

// The blocks of an entry in the log: the classes, and the bits of their numbers.
constexpr const char* kClasses = "classes";
constexpr const char* kSolutions = "solutions";

}  // namespace

ClassSolutions::ClassSolutions(Communicator& ranks, std::size_t classes, std::size_t width,
                               const PlannedRelease* planned, ReleaseLog* log, std::uint64_t recorded)
    : ranks_(ranks),
      width_(width),
      planned_(planned),
      log_(log),
      is_known_(classes, std::byte{0}),
      all_(ranks.is_coordinator() ? classes * width : 0, 0.0) {
  DPREDUCE_ASSERT(log == nullptr || planned != nullptr);
  ranks_.together([&] {
    if (log_ != nullptr) take_recorded(recorded);
  });
  if (recorded > 0) ranks_.broadcast(std::span(is_known_));
}

void ClassSolutions::take_recorded(std::uint64_t recorded) {
  for (std::uint64_t entry = 0; entry < recorded; ++entry) {
    NamedIntegers numbers = log_->next_part(*planned_);
    const auto find = [&](const char* name) -> const std::vector<std::int64_t>* {
      const auto found =
          std::find_if(numbers.begin(), numbers.end(), [&](const auto& some) { return some.first == name; });
      return found == numbers.end() ? nullptr : &found->second;
    };
    const std::vector<std::int64_t>* labels = find(kClasses);
    const std::vector<std::int64_t>* solutions = find(kSolutions);
    if (labels == nullptr || solutions == nullptr || solutions->size() != labels->size() * width_) {
      log_->refuse_part("has no solutions of classes");
    }
    for (std::size_t place = 0; place < labels->size(); ++place) {
      const auto label = static_cast<std::uint64_t>((*labels)[place]);
      if (label >= is_known_.size() || is_known_[label] != std::byte{0})
        log_->refuse_part("has a class twice, or none");
      is_known_[label] = std::byte{1};
      std::transform(solutions->begin() + static_cast<std::ptrdiff_t>(place * width_),
                     solutions->begin() + static_cast<std::ptrdiff_t>((place + 1) * width_),
                     all_.begin() + static_cast<std::ptrdiff_t>(label * width_),
                     [](std::int64_t bits) { return std::bit_cast<double>(bits); });
    }
  }
}

std::vector<std::size_t> ClassSolutions::left_of(std::vector<std::size_t> order) const {
  std::erase_if(order, [&](std::size_t label) { return is_known_[label] != std::byte{0}; });
  return order;
}

void ClassSolutions::add(std::size_t label, std::vector<double> solution) {
  DPREDUCE_ASSERT(!own_ && label < is_known_.size() && is_known_[label] == std::byte{0} && solution.size() == width_);
  own_.emplace(label, std::move(solution));
}

// Each rank has a slot: 1 + the class, then the bits of its numbers; zeros where it has no class. Only one rank writes
// at each place, so the sum over ranks is what that rank has written.
void ClassSolutions::end_round() {
  const std::size_t slot = 1 + width_;
  const auto owners = static_cast<std::size_t>(ranks_.owners());
  std::vector<std::uint64_t> words(owners * slot, 0);
  if (own_) {
    const std::size_t first = owners == 1 ? 0 : static_cast<std::size_t>(ranks_.rank()) * slot;
    words[first] = 1 + own_->first;
    std::transform(own_->second.begin(), own_->second.end(), words.begin() + static_cast<std::ptrdiff_t>(first + 1),
                   [](double number) { return std::bit_cast<std::uint64_t>(number); });
    own_.reset();
  }
  if (owners > 1) ranks_.sum_to_coordinator(words);
  ranks_.together([&] {
    if (!ranks_.is_coordinator()) return;
    std::vector<std::int64_t> labels;
    std::vector<std::int64_t> solutions;
    for (std::size_t first = 0; first < words.size(); first += slot) {
      if (words[first] == 0) continue;
      const std::size_t label = words[first] - 1;
      const auto numbers = std::span<const std::uint64_t>(words).subspan(first + 1, width_);
      std::transform(numbers.begin(), numbers.end(), all_.begin() + static_cast<std::ptrdiff_t>(label * width_),
                     [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
      labels.push_back(static_cast<std::int64_t>(label));
      solutions.insert(solutions.end(), numbers.begin(), numbers.end());
    }
    if (log_ != nullptr)
      log_->record_part(*planned_, {{kClasses, std::move(labels)}, {kSolutions, std::move(solutions)}});
  });
}

}  // namespace dpreduce
