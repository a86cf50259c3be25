#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <vector>

#include <dpreduce/common/model/classifier_file.hpp>
#include <dpreduce/fit/fit.hpp>

int main() {
  try {
    dpreduce::Communicator ranks = dpreduce::Communicator::join();

    constexpr std::size_t rows = 3000, dim = 16, classes = 3;
    std::vector<float> x;         // rows x dim, one row a record: this rank's own
    std::vector<std::int64_t> y;  // rows class indices, 0 to classes - 1
    std::mt19937 engine(1 + ranks.rank());
    std::normal_distribution<float> normal;
    for (std::size_t row = 0; row < rows; ++row) {
      y.push_back(row % classes);
      for (std::size_t a = 0; a < dim; ++a) x.push_back(normal(engine) + (a == row % classes ? 3.0F : 0.0F));
    }

    dpreduce::FitOptions options;
    options.data.classes = classes;
    options.method.name = "mean";
    options.privacy.budget.epsilon = 1.0;
    options.privacy.budget.delta = 1e-5;
    options.privacy.ledger = "ledger.jsonl";

    dpreduce::FittedRun run =
        dpreduce::fit(options, {.train_x = dpreduce::array_view(x, dim), .train_y = dpreduce::array_view(y)}, ranks);
    ranks.together([&] {  // where it fails on one rank, it fails on all
      if (!ranks.is_coordinator()) return;
      const std::vector<std::byte> model = dpreduce::to_bytes(run.classifier);
      std::ofstream file("model.safetensors", std::ios::binary);
      file.write(reinterpret_cast<const char*>(model.data()), static_cast<std::streamsize>(model.size()));
      file.close();
      if (!file) throw dpreduce::BadInput("model.safetensors: cannot be written");
    });
    run.finish();  // the model is on disk: the secret that its noise was drawn from is destroyed
    const std::vector<std::int32_t> labels = run.classifier.predict_labels(x);
    if (!ranks.is_coordinator()) return 0;
    std::printf("epsilon %g, delta %g; the first row is of class %d\n", *run.classifier.parts().privacy->epsilon,
                *run.classifier.parts().privacy->delta, labels.front());
  } catch (const dpreduce::PeerFailed& failure) {  // another rank says why
    return static_cast<int>(failure.code());
  } catch (const dpreduce::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
