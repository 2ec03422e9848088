// Data loading (W12): images a second that are decoded and augmented, with and without workers, and
// the share of a training step that is spent waiting for them.
//
//   data [SECONDS]   how long each line is measured (4)

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>

#include "bench/timing.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

namespace fs = std::filesystem;

/// A folder that is there as long as the object.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "tandem-bench-XXXXXX").string();
    TANDEM_CHECK(::mkdtemp(name.data()), "no folder for images could be made");
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

/// Something with edges and noise, as photographs have: a file of noise alone, or of one colour,
/// takes another time to decode.
Tensor picture(int64_t side) {
  const Tensor coarse = randint(256, {3, side / 8, side / 8}, kByte);
  const Tensor smooth = io::resize_image(coarse, side, side).to(kFloat);
  return smooth.add_(randn({3, side, side}).mul_(6)).clamp_(0, 255).to(kByte);
}

constexpr int kFiles = 512, kClasses = 10;

void write_pictures(const std::string& root, int64_t side, bool jpeg) {
  for (int i = 0; i < kFiles; ++i) {
    const std::string folder = root + "/" + std::to_string(i % kClasses);
    fs::create_directories(folder);
    const std::string name = folder + "/" + std::to_string(i);
    if (jpeg)
      io::write_jpeg(picture(side), name + ".jpg", 85);
    else
      io::write_png(picture(side), name + ".png");
  }
}

/// The files again and again, so that an epoch is long.
struct Repeated : data::datasets::Dataset<Repeated> {
  explicit Repeated(data::datasets::ImageFolder files) : files(std::move(files)) {}
  data::Example<> get(size_t i) override { return files.get(i % *files.size()); }
  std::optional<size_t> size() const override { return 1 << 20; }
  data::datasets::ImageFolder files;
};

struct Workload {
  std::string name;
  int64_t side;  // of the files
  bool jpeg;
  std::vector<int64_t> size;  // what they are resized to, if anything
  int64_t crop, padding;
  size_t batch;
};

auto make_loader(const Workload& w, const std::string& root, size_t workers) {
  using namespace data::transforms;
  const auto options = data::datasets::ImageFolderOptions(w.size).dtype(kByte);
  return data::make_data_loader(Repeated(data::datasets::ImageFolder(root, options))
                                    .map(RandomCrop<>(RandomCropOptions(w.crop).padding(w.padding)))
                                    .map(RandomHorizontalFlip<>())
                                    .map(ToFloat<>())
                                    .map(Normalize<>({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}))
                                    .map(Stack<>()),
                                data::DataLoaderOptions(w.batch).workers(workers));
}

/// Three convolutions and a linear layer.
nn::Sequential small_cnn() {
  const auto conv = [](int64_t in, int64_t out) {
    return nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
  };
  return nn::Sequential(conv(3, 32), nn::BatchNorm2d(32), nn::ReLU(), nn::MaxPool2d(2),
                        conv(32, 64), nn::BatchNorm2d(64), nn::ReLU(), nn::MaxPool2d(2),
                        conv(64, 128), nn::BatchNorm2d(128), nn::ReLU(), nn::AdaptiveAvgPool2d(1),
                        nn::Flatten(), nn::Linear(128, kClasses));
}

/// Of all threads of this process: what else the machine does hardly changes it.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Loading {
  double images, processor;  // a second, processor seconds an image
};

/// When nobody looks at the images.
Loading loading(const Workload& w, const std::string& root, size_t workers, double limit) {
  const auto loader = make_loader(w, root, workers);
  auto it = loader->begin();
  (void)*it;
  size_t batches = 0;
  double time = 0;
  const double start = processor_seconds();
  for (; time < limit; ++batches) time += seconds([&] { ++it; });
  const auto images = static_cast<double>(batches * w.batch);
  return {images / time, (processor_seconds() - start) / images};
}

struct Training {
  double images, step, waiting;  // a second, seconds, share
};

Training training(const Workload& w, const std::string& root, size_t workers, double limit) {
  manual_seed(0);
  nn::Sequential net = small_cnn();
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  });
  const auto loader = make_loader(w, root, workers);
  auto it = loader->begin();
  // The first steps record, compile and fill the queue.
  for (int i = 0; i < 10; ++i, ++it) (void)step((*it).data, (*it).target).item<float>();
  double waiting = 0, working = 0;
  size_t steps = 0;
  for (; waiting + working < limit; ++steps) {
    working += seconds([&] { (void)step((*it).data, (*it).target).item<float>(); });
    waiting += seconds([&] { ++it; });
  }
  const double n = static_cast<double>(steps), all = waiting + working;
  return {n * static_cast<double>(w.batch) / all, working / n, waiting / all};
}

}  // namespace

int main(int argc, char** argv) {
  const double limit = argc > 1 ? std::atof(argv[1]) : 4;
  if (!(limit > 0)) {
    std::fprintf(stderr, "data: expected a number of seconds, got '%s'\n", argv[1]);
    return 1;
  }
  set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const Workload workloads[] = {
      {"PNG 32 x 32, crop with border 4", 32, false, {}, 32, 4, 128},
      {"JPEG 256 x 256, resized to 72, crop 64", 256, true, {72, 72}, 64, 0, 64},
  };
  for (const Workload& w : workloads) {
    const Folder folder;
    manual_seed(0);
    write_pictures(folder.path, w.side, w.jpeg);
    std::printf("%s, mirrored, normalised; batches of %zu\n", w.name.c_str(), w.batch);
    std::printf("  %-8s %14s %12s %16s %10s %9s\n", "workers", "loaded img/s", "CPU us/img",
                "training img/s", "step ms", "waiting");
    for (const size_t workers : {0, 1, 2}) {
      const Loading l = loading(w, folder.path, workers, limit);
      const Training t = training(w, folder.path, workers, limit);
      std::printf("  %-8zu %14.0f %12.0f %16.0f %10.2f %8.1f%%\n", workers, l.images,
                  l.processor * 1e6, t.images, t.step * 1e3, t.waiting * 100);
      std::fflush(stdout);
    }
  }
}
