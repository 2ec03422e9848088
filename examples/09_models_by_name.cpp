// Listing 9: models by name; weights saved and loaded.
#include <tandem/tandem.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

using namespace tandem;

namespace {

int64_t parameters_of(const models::Network& net) {
  int64_t n = 0;
  for (const Tensor& p : net->parameters()) n += p.numel();
  return n;
}

/// A file that is gone when the program ends.
struct TemporaryFile {
  std::string path;
  TemporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    TANDEM_CHECK(fd >= 0, "there is no room for a temporary file in ", name);
    ::close(fd);
    path = name;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

}  // namespace

int main() {
  manual_seed(0);
  const NoGradGuard no_grad;
  bool good = true;
  const auto check = [&](bool ok, const char* what) {
    if (!ok) std::printf("WRONG: %s\n", what);
    good &= ok;
  };

  std::printf("models:");
  for (const std::string& name : models::names()) std::printf(" %s", name.c_str());

  // The sizes are those that torchvision publishes.
  std::printf("\n\n%-10s %12s  %s\n", "name", "parameters", "scores of an image");
  const std::pair<const char*, int64_t> published[] = {
      {"alexnet", 61'100'840}, {"vgg16", 138'357'544}, {"resnet101", 44'549'160}};
  for (const auto& [name, size] : published) {
    models::Network net = models::create(name);
    net->eval();
    const Tensor scores = net(randn({1, 3, 64, 64}));
    std::printf("%-10s %12lld  [%lld, %lld]\n", name, static_cast<long long>(parameters_of(net)),
                static_cast<long long>(scores.size(0)), static_cast<long long>(scores.size(1)));
    check(parameters_of(net) == size, "the number of parameters");
    check(scores.sizes() == IntArrayRef({1, 1000}) && scores.isfinite().all().item<bool>(),
          "the scores");
  }

  // Weights go to a file under torchvision's names, and from there to another network.
  const TemporaryFile file;
  models::Network trained = models::create("resnet101", {.num_classes = 10});
  trained->eval();
  models::save_weights(trained, file.path, {{"classes", "ten"}});
  models::Network loaded = models::create("resnet101", {.num_classes = 10, .weights = file.path});
  loaded->eval();
  const Tensor image = randn({1, 3, 64, 64});
  check(equal(trained(image), loaded(image)), "the scores after loading");
  std::printf(
      "\nresnet101 for 10 classes: %.0f MB saved and loaded, the scores are the same bits\n",
      static_cast<double>(std::filesystem::file_size(file.path)) / 1e6);

  // What does not fit is refused as a whole, and a name that is not known answered.
  for (const auto& mistake : std::initializer_list<std::function<void()>>{
           [&] { models::create("resnet50", {.weights = file.path}); },
           [] { models::create("alexnut"); }}) {
    std::string text;
    try {
      mistake();
    } catch (const Error& e) {
      text = e.what();
    }
    std::printf("\n%s\n", text.substr(0, text.find(" There are:")).c_str());
    check(!text.empty(), "a mistake went unnoticed");
  }
  return good ? 0 : 1;
}
