#include "tools/tandem/images.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tandem/base/env.h"
#include "tandem/base/words.h"
#include "tandem/data/cifar.h"
#include "tandem/data/drawn_digits.h"
#include "tandem/data/image_folder.h"
#include "tandem/io/idx.h"
#include "tandem/io/image.h"
#include "tandem/io/npy.h"
#include "tandem/ops/ops.h"
#include "tools/tandem/arguments.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using data::datasets::ImageFolder;
using data::datasets::ImageFolderOptions;

constexpr int64_t kSome = 5'000, kSomeFiles = 300;

std::vector<std::string> numbers(int64_t n) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < n; ++i) names.push_back(std::to_string(i));
  return names;
}

/// Images that are all in memory.
struct Memory {
  Tensor images, labels;  // [n, channels, height, width], int64 [n]

  Memory part(const Tensor& indices) const {
    return {images.index_select(0, indices), labels.index_select(0, indices)};
  }
  Memory first(int64_t n) const {
    n = std::min(n, labels.size(0));
    return {images.narrow(0, 0, n), labels.narrow(0, 0, n)};
  }
};

/// The numbers from 0 to n in an order that depends on the seed, without a trace in the generator
/// that training uses.
Tensor shuffled(int64_t n, int64_t seed) {
  const Tensor before = default_generator().get_state();
  manual_seed(static_cast<uint64_t>(seed));
  const Tensor order = randperm(n);
  default_generator().set_state(before);
  return order;
}

/// How many of n are held out; both parts have some.
int64_t held_out_of(int64_t n, double share, const std::string& what) {
  const auto count = static_cast<int64_t>(static_cast<double>(n) * share + .5);
  TANDEM_CHECK(count > 0 && count < n, what, ": ", share, " of ", n,
               " images cannot be held out; other images must remain to train on");
  return count;
}

Tensor resized(const Tensor& images, int64_t size) {
  if (size == 0 || (images.size(2) == size && images.size(3) == size)) return images;
  std::vector<Tensor> parts;
  constexpr int64_t kChunk = 1000;
  for (int64_t at = 0; at < images.size(0); at += kChunk)
    parts.push_back(
        io::resize_image(images.narrow(0, at, std::min(kChunk, images.size(0) - at)), size, size));
  return parts.empty() ? images : cat(parts);
}

ImageSet set_of(const Memory& m) {
  const int64_t n = m.labels.size(0);
  return {trainer::Source(m.images, m.labels), m.images.narrow(0, 0, std::min(n, kSome))};
}

/// `test` may be empty: then some of the training images are held out, if that is wanted.
ImageData from_memory(const ImageOptions& o, std::string what, Memory train, Memory test,
                      std::vector<std::string> classes) {
  if (o.held_out > 0) {
    const int64_t n = train.labels.size(0), out = held_out_of(n, o.held_out, what);
    const Tensor order = shuffled(n, o.seed);
    test = train.part(order.narrow(0, 0, out));
    train = train.part(order.narrow(0, out, n - out));
  }
  if (o.samples > 0 && o.train) train = train.first(o.samples);
  ImageData d;
  d.what = std::move(what);
  d.classes = std::move(classes);
  if (o.train) {
    train.images = resized(train.images, o.size);
    d.train = set_of(train);
  }
  if (test.labels.defined()) {
    test.images = resized(test.images, o.size);
    d.test = set_of(test);
  }
  const Tensor& some = o.train ? train.images : test.images;
  TANDEM_CHECK(some.defined(), d.what, ": there are no images to test with");
  d.channels = some.size(1);
  d.height = some.size(2);
  d.width = some.size(3);
  return d;
}

Memory from_idx(const std::string& folder, const char* prefix) {
  const auto images = io::read_idx_pair(folder, prefix);
  return {images.images.unsqueeze(1), images.labels};
}

ImageData idx_folder(const ImageOptions& o, const std::string& folder, const std::string& what,
                     std::vector<std::string> classes) {
  // With images held out the test images are the training files' too.
  const bool train = o.train || o.held_out > 0;
  return from_memory(o, what, train ? from_idx(folder, "train") : Memory(),
                     o.held_out > 0 ? Memory() : from_idx(folder, "t10k"), std::move(classes));
}

ImageData digits(const ImageOptions& o) {
  const auto draw = [&](int64_t n, uint64_t seed) {
    const auto images = data::draw_digits(n, seed);
    return Memory{images.images.unsqueeze(1), images.labels};
  };
  constexpr int64_t kTrain = 20'000, kTest = 4'000;
  const bool few = o.samples > 0 && o.held_out == 0;
  const int64_t n_train = few ? std::min(kTrain, o.samples) : kTrain;
  const int64_t n_test = few ? std::min(kTest, std::max<int64_t>(1'000, o.samples)) : kTest;
  const auto seed = 2 * static_cast<uint64_t>(o.seed);
  const bool train = o.train || o.held_out > 0;
  return from_memory(o, "digits drawn by this program", train ? draw(n_train, seed) : Memory(),
                     o.held_out > 0 ? Memory() : draw(n_test, seed + 1), numbers(10));
}

template <class Set>
ImageData cifar(const ImageOptions& o, const char* what, int64_t classes) {
  const auto read = [&](typename Set::Mode mode) {
    const Set set(o.data, mode);
    return Memory{set.pixels(), set.targets()};
  };
  const bool train = o.train || o.held_out > 0;
  return from_memory(o, what, train ? read(Set::Mode::kTrain) : Memory(),
                     o.held_out > 0 ? Memory() : read(Set::Mode::kTest), numbers(classes));
}

/// x_train, y_train and, if they are there, x_test, y_test; or x and y.
ImageData npz(const ImageOptions& o) {
  const TensorDict tensors = load_npz(o.data);
  const auto read = [&](const std::string& x, const std::string& y) -> Memory {
    const auto images = tensors.find(x), labels = tensors.find(y);
    if (images == tensors.end() || labels == tensors.end()) return {};
    Tensor i = images->second, l = labels->second;
    TANDEM_CHECK_AS(FileError, i.dim() == 3 || i.dim() == 4, o.data, ": ", x, " has the shape ",
                    i.sizes(),
                    ", expected [images, height, width] or [images, channels, height, width]");
    if (i.dim() == 3) i = i.unsqueeze(1);
    // As Keras keeps colours.
    if (i.size(1) > 4 && i.size(3) <= 4) i = i.permute({0, 3, 1, 2}).contiguous();
    if (l.dim() == 2 && l.size(1) == 1) l = l.squeeze(1);
    TANDEM_CHECK_AS(FileError, l.dim() == 1 && l.size(0) == i.size(0) && l.size(0) > 0, o.data,
                    ": ", y, " has the shape ", l.sizes(), ", expected a class for each of the ",
                    i.size(0), " images");
    TANDEM_CHECK_AS(FileError, !is_floating(l.scalar_type()), o.data, ": ", y,
                    " holds fractions, expected numbers of classes");
    l = l.to(kLong);
    TANDEM_CHECK_AS(FileError, l.min().item<int64_t>() >= 0 && l.max().item<int64_t>() < 100'000,
                    o.data, ": ", y, " has classes from ", l.min().item<int64_t>(), " to ",
                    l.max().item<int64_t>());
    if (i.scalar_type() != kByte) i = i.to(kFloat);
    return {i, l};
  };
  Memory train = read("x_train", "y_train");
  if (!train.labels.defined()) train = read("x", "y");
  TANDEM_CHECK_AS(FileError, train.labels.defined(), o.data,
                  ": has neither x_train and y_train nor x and y");
  const Memory test = o.held_out > 0 ? Memory() : read("x_test", "y_test");
  int64_t classes = train.labels.max().item<int64_t>() + 1;
  if (test.labels.defined()) classes = std::max(classes, test.labels.max().item<int64_t>() + 1);
  return from_memory(o, o.data, train, test, numbers(classes));
}

/// Some of the images of a folder.
class SomeImages : public data::datasets::Dataset<SomeImages> {
 public:
  SomeImages(ImageFolder folder, std::vector<int64_t> which)
      : folder_(std::move(folder)), which_(std::move(which)) {}
  data::Example<> get(size_t i) override { return folder_.get(static_cast<size_t>(which_[i])); }
  std::optional<size_t> size() const override { return which_.size(); }

 private:
  ImageFolder folder_;
  std::vector<int64_t> which_;
};

/// A few of them, of all classes.
Tensor some_of(SomeImages images) {
  const size_t n = *images.size(), step = std::max<size_t>(1, n / kSomeFiles);
  std::vector<Tensor> some;
  for (size_t i = 0; i < n; i += step) some.push_back(images.get(i).data);
  return stack(some);
}

ImageData image_folder(const ImageOptions& o) {
  const auto below = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names)
      if (fs::is_directory(o.data + "/" + name)) return o.data + "/" + name;
    return "";
  };
  const std::string train_folder = below({"train", "training"});
  const std::string test_folder =
      o.held_out > 0 ? "" : below({"test", "val", "valid", "validation"});
  // Photographs differ in size; networks want one.
  const int64_t side = o.size > 0 ? o.size : 224;
  const ImageFolderOptions how = ImageFolderOptions({side, side}).dtype(kByte);
  const ImageFolder folder(train_folder.empty() ? o.data : train_folder, how);
  const auto n = static_cast<int64_t>(*folder.size());
  TANDEM_CHECK_AS(FileError, n > 0, o.data, ": there are no PNG or JPEG images");
  std::vector<int64_t> which(static_cast<size_t>(n));
  const Tensor order = shuffled(n, o.seed);
  std::copy_n(order.data_ptr<int64_t>(), n, which.begin());

  ImageData d;
  d.what = str("images of ", o.data);
  d.classes = folder.classes();
  d.channels = 3;
  d.height = d.width = side;
  if (o.held_out > 0) {
    const auto out = which.begin() + held_out_of(n, o.held_out, o.data);
    d.test.source = SomeImages(folder, {which.begin(), out});
    which.erase(which.begin(), out);
  } else if (!test_folder.empty()) {
    const ImageFolder test(test_folder, how);
    TANDEM_CHECK_AS(FileError, test.classes() == d.classes, test_folder,
                    ": the classes are not those of the training images");
    std::vector<int64_t> all(*test.size());
    std::iota(all.begin(), all.end(), 0);
    if (!all.empty()) d.test.source = SomeImages(test, all);
  }
  if (o.samples > 0 && o.samples < static_cast<int64_t>(which.size()))
    which.resize(static_cast<size_t>(o.samples));
  if (o.train) {
    const SomeImages images(folder, which);
    d.train = {trainer::Source(images), some_of(images)};
  }
  return d;
}

bool has_any(const std::string& folder, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return fs::exists(folder + "/" + name); });
}

}  // namespace

const char* const kDataHelp =
    "fashion-mnist (Debian's dataset-fashion-mnist); digits, drawn by this program; a folder with "
    "MNIST's or CIFAR's files, or with a folder of PNG or JPEG images for each class, also below "
    "train and test; or an npz file with x_train, y_train, x_test, y_test";

ImageData load_images(const ImageOptions& o) {
  if (o.data == "digits") return digits(o);
  if (o.data == "fashion-mnist" && !fs::exists(o.data))
    return idx_folder(o, env::fashion_mnist_dir(), "Fashion-MNIST",
                      {"T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt",
                       "sneaker", "bag", "boot"});
  if (fs::is_regular_file(o.data)) return npz(o);
  if (!fs::is_directory(o.data)) {
    const std::string nearest = nearest_word(o.data, {"digits", "fashion-mnist"});
    throw UsageError(str("--data: there is no folder '", o.data, "'",
                         nearest.empty() ? " (and no data set of that name: there are digits and "
                                           "fashion-mnist)"
                                         : "; did you mean " + nearest + "?"));
  }
  if (has_any(o.data, {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}))
    return idx_folder(o, o.data, "images of " + o.data, numbers(10));
  if (has_any(o.data, {"data_batch_1.bin", "cifar-10-batches-bin"}))
    return cifar<data::datasets::CIFAR10>(o, "CIFAR-10", 10);
  if (has_any(o.data, {"train.bin", "cifar-100-binary"}))
    return cifar<data::datasets::CIFAR100>(o, "CIFAR-100", 100);
  return image_folder(o);
}

}  // namespace tandem::cli
