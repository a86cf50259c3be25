// fashion_mnist_features: Debian's Fashion-MNIST -> wavelet scattering features in .npy shards.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "common/base/error.hpp"
#include "feature_rows.hpp"
#include "feature_set.hpp"
#include "idx_file.hpp"
#include "progress.hpp"
#include "scattering.hpp"

namespace dpreduce::fashion_mnist {
namespace {

struct Options {
  std::string folder;
  SetParameters set{.dataset = "/usr/share/datasets/fashion-mnist", .rows = {}};
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
};

void declare(CLI::App& app, Options& options) {
  const std::map<std::string, Standardize> standardize{
      {"none", Standardize::kNone}, {"channel", Standardize::kChannel}, {"group", Standardize::kGroup}};
  app.add_option("output", options.folder, "Folder for train_x_NN.npy, train_y_NN.npy, test_x.npy, test_y.npy")
      ->required()
      ->type_name("FOLDER");
  app.add_option("--dataset", options.set.dataset, "Folder with the four *-ubyte.gz files")
      ->capture_default_str()
      ->type_name("FOLDER");
  app.add_option("--grid", options.set.rows.grid, "Positions a side that a channel keeps: 4 (d = 1296) or 8 (d = 5184)")
      ->check(CLI::IsMember({4, 8}).description(""))
      ->capture_default_str()
      ->type_name("4|8");
  app.add_option_function<std::string>(
         "--standardize",
         [&options, standardize](const std::string& mode) { options.set.rows.standardize = standardize.at(mode); },
         "Within each image: not at all, each channel, or each group of three channels")
      ->check(CLI::IsMember({"none", "channel", "group"}).description(""))
      ->default_str("group")
      ->type_name("none|channel|group");
  app.add_option_function<std::string>(
         "--dtype",
         [&](const std::string& dtype) { options.set.dtype = dtype == "float16" ? DType::kFloat16 : DType::kFloat32; },
         "Type of the features")
      ->check(CLI::IsMember({"float16", "float32"}).description(""))
      ->default_str("float16")
      ->type_name("float16|float32");
  app.add_option("--shards", options.set.shards, "Files that the training rows are split into")
      ->check(CLI::Range(1, 99).description(""))
      ->capture_default_str()
      ->type_name("1..99");
  app.add_option("--threads", options.threads, "Threads; the features do not depend on it")
      ->check(CLI::Range(1, 1024).description(""))
      ->capture_default_str()
      ->type_name("N");
}

// Encodes images [begin, end) and writes them as one pair of files.
void write_shard(const Scattering& scattering, const Options& options, const LabeledImages& images, std::size_t begin,
                 std::size_t end, std::string_view part, std::string_view suffix, Progress& progress, FeatureSet& set) {
  std::vector<float> rows((end - begin) * options.set.rows.dimension());
  encode(scattering, std::span(images.pixels).subspan(begin * kImagePixels, (end - begin) * kImagePixels),
         options.set.rows, options.threads, rows, [&](std::size_t done) { progress.advance(done); });
  set.write(part, suffix, rows, std::span(images.labels).subspan(begin, end - begin));
}

void run(const Options& options) {
  FeatureSet set(options.folder, options.set);
  if (set.is_complete()) {
    fmt::print("{} is complete: nothing to do\n", options.folder);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  const LabeledImages train = read_labeled_images(options.set.dataset, "train");
  const LabeledImages test = read_labeled_images(options.set.dataset, "t10k");
  set.begin();
  {
    const Scattering scattering;
    Progress progress(train.count() + test.count());
    const std::size_t shards = options.set.shards;
    for (std::size_t shard = 0; shard < shards; ++shard) {
      write_shard(scattering, options, train, train.count() * shard / shards, train.count() * (shard + 1) / shards,
                  "train", fmt::format("_{:02}", shard), progress, set);
    }
    write_shard(scattering, options, test, 0, test.count(), "test", "", progress, set);
  }
  set.finish();
  fmt::print("{}: {} training and {} test rows, d = {}, {}, in {:.1f} s\n", options.folder, train.count(), test.count(),
             options.set.rows.dimension(), to_string(options.set.dtype),
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace
}  // namespace dpreduce::fashion_mnist

int main(int argc, char** argv) {
  using namespace dpreduce;
  fashion_mnist::Options options;
  CLI::App app("Fashion-MNIST as wavelet scattering features (81 channels of J = 2, L = 8, orders 0 to 2)",
               "fashion_mnist_features");
  fashion_mnist::declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  try {
    fashion_mnist::run(options);
    return static_cast<int>(ExitCode::kDone);
  } catch (const Error& error) {
    fmt::print(stderr, "fashion_mnist_features: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "fashion_mnist_features: {}\n", error.what());
    return static_cast<int>(ExitCode::kInternal);
  }
}
