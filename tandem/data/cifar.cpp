#include "tandem/data/cifar.h"

#include <filesystem>

#include "tandem/data/detail/images.h"
#include "tandem/io/cifar.h"
#include "tandem/ops/ops.h"

namespace tandem::data::datasets {
namespace {

/// The folder as it comes out of the archive, or what is in it.
std::string folder_of(const std::string& root, const char* inner) {
  std::error_code ignored;
  const std::string nested = root + "/" + inner;
  return std::filesystem::is_directory(nested, ignored) ? nested : root;
}

}  // namespace

template <class Self>
Example<> CIFAR<Self>::get(size_t index) {
  TANDEM_CHECK_INDEX(index < *size(), "CIFAR: image ", index, " of ", *size());
  const auto i = static_cast<int64_t>(index);
  return {data::detail::zero_to_one(pixels_[i]), targets_[i]};
}
template <class Self>
std::optional<size_t> CIFAR<Self>::size() const {
  return static_cast<size_t>(pixels_.size(0));
}
template <class Self>
Tensor CIFAR<Self>::images() const {
  return data::detail::zero_to_one(pixels_);
}
template class CIFAR<CIFAR10>;
template class CIFAR<CIFAR100>;

CIFAR10::CIFAR10(const std::string& root, Mode mode) : CIFAR(mode) {
  const std::string folder = folder_of(root, "cifar-10-batches-bin") + "/";
  std::vector<Tensor> images, labels;
  const auto read = [&](const std::string& name) {
    const io::CIFARRecords r = io::read_cifar(folder + name, {10});
    images.push_back(r.images);
    labels.push_back(r.labels.select(1, 0));
  };
  if (is_train())
    for (int i = 1; i <= 5; ++i) read(str("data_batch_", i, ".bin"));
  else
    read("test_batch.bin");
  pixels_ = cat(images);
  targets_ = cat(labels);
}

CIFAR100::CIFAR100(const std::string& root, Mode mode) : CIFAR(mode) {
  const io::CIFARRecords r = io::read_cifar(
      folder_of(root, "cifar-100-binary") + (is_train() ? "/train.bin" : "/test.bin"), {20, 100});
  pixels_ = r.images;
  coarse_targets_ = r.labels.select(1, 0).contiguous();
  targets_ = r.labels.select(1, 1).contiguous();
}

}  // namespace tandem::data::datasets
