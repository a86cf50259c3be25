#include "worker/registered_statistics.hpp"

#include <algorithm>
#include <array>

#include "common/base/error.hpp"
#include "worker/centred_sums.hpp"
#include "worker/class_grams.hpp"
#include "worker/class_statistics.hpp"
#include "worker/gradient_statistic.hpp"
#include "worker/gram_statistics.hpp"
#include "worker/newton_statistic.hpp"

namespace dpreduce {
namespace {

ReleaseRequest request_center(const ReleaseTerms& terms, double share) {
  return center_release(terms.dim, terms.adjacency, share);
}

ReleaseRequest request_class_means(const ReleaseTerms& terms, double share) {
  return class_means_release(terms.classes, terms.dim, terms.metric, terms.adjacency, share, terms.most_labels);
}

ReleaseRequest request_gram(const ReleaseTerms& terms, double share) {
  return gram_release(terms.dim, terms.adjacency, share);
}

ReleaseRequest request_least_squares(const ReleaseTerms& terms, double share) {
  return least_squares_release(terms.classes, terms.dim, terms.gram_share, terms.adjacency, share, terms.most_labels);
}

ReleaseRequest request_class_least_squares(const ReleaseTerms& terms, double share) {
  return class_least_squares_release(terms.classes, terms.dim, terms.alpha, terms.gram_share, terms.adjacency, share,
                                     terms.most_labels);
}

ReleaseRequest request_gradient(const ReleaseTerms& terms, double share) {
  return gradient_release(terms.classes, terms.dim, terms.rounds, terms.adjacency, share);
}

ReleaseRequest request_pca(const ReleaseTerms& terms, double share) {
  return pca_release(terms.dim, terms.adjacency, share);
}

ReleaseRequest request_feature_sums(const ReleaseTerms& terms, double share) {
  return feature_sums_release(terms.classes, terms.dim, terms.adjacency, share, terms.most_labels);
}

ReleaseRequest request_fisher(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1);
  return fisher_release(terms.classes, terms.dim, terms.adjacency, share);
}

ReleaseRequest request_newton(const ReleaseTerms& terms, double share) {
  return newton_release(terms.classes, terms.dim, terms.loss, terms.hessian_share, terms.rounds, terms.adjacency,
                        share);
}

ReleaseRequest request_centred_sums(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1);
  return centred_sums_release(terms.classes, terms.dim, terms.rounds, terms.adjacency, share);
}

ReleaseRequest request_class_sizes(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1);
  return class_sizes_release(terms.classes, terms.adjacency, share);
}

ReleaseRequest request_adaptive_gradient(const ReleaseTerms& terms, double share) {
  return adaptive_gradient_release(terms.classes, terms.dim, terms.rounds, terms.adjacency, share);
}

constexpr std::array kStatistics{
    RegisteredStatistic{"center", request_center, center_statistic},
    RegisteredStatistic{"class_means", request_class_means, class_means_statistic},
    RegisteredStatistic{"gram", request_gram, gram_statistic},
    RegisteredStatistic{"least_squares", request_least_squares, least_squares_statistic},
    RegisteredStatistic{"class_least_squares", request_class_least_squares, class_least_squares_statistic},
    RegisteredStatistic{"gradient", request_gradient, gradient_statistic},
    RegisteredStatistic{"pca", request_pca, gram_statistic},
    RegisteredStatistic{"feature_sums", request_feature_sums, class_means_statistic},
    RegisteredStatistic{"fisher", request_fisher, fisher_statistic},
    RegisteredStatistic{"newton", request_newton, newton_statistic},
    RegisteredStatistic{"centred_sums", request_centred_sums, centred_sums_statistic},
    RegisteredStatistic{"adaptive_gradient", request_adaptive_gradient, adaptive_gradient_statistic},
    RegisteredStatistic{"class_sizes", request_class_sizes, class_sizes_statistic}};

}  // namespace

std::span<const RegisteredStatistic> registered_statistics() {
  return kStatistics;
}

const RegisteredStatistic& registered_statistic(std::string_view release) {
  const auto found = std::find_if(kStatistics.begin(), kStatistics.end(),
                                  [&](const RegisteredStatistic& statistic) { return statistic.release == release; });
  DPREDUCE_ASSERT(found != kStatistics.end());
  return *found;
}

}  // namespace dpreduce
