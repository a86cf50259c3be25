#include "methods/fit_plan.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {

bool FitPlan::has_request(std::string_view name) const {
  return std::ranges::any_of(requests, [&](const ReleaseRequest& request) { return request.name == name; });
}

const ReleaseRequest& FitPlan::request(std::string_view name) const {
  const auto found = std::find_if(requests.begin(), requests.end(), [&](const auto& r) { return r.name == name; });
  DPREDUCE_ASSERT(found != requests.end());
  return *found;
}

bool FitPlan::clips_units() const {
  return std::ranges::any_of(requests, &ReleaseRequest::clips_units);
}

bool FitPlan::makes_class_grams() const {
  return std::any_of(requests.begin(), requests.end(), [](const ReleaseRequest& request) { return request.in_parts; });
}

}  // namespace dpreduce
