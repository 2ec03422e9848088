#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/data/datasets.h"
#include "tandem/io/image.h"

namespace tandem::data::datasets {

struct ImageFolderOptions {
  ImageFolderOptions() = default;
  ImageFolderOptions(std::vector<int64_t> size) : size_(std::move(size)) {}

  /// What images are resized to when they are loaded: {height, width}, or {n} for a shorter side of
  /// n pixels with the proportions kept. Empty: they stay as they are, and only those of one size
  /// can be stacked.
  TANDEM_ARG(std::vector<int64_t>, size);
  TANDEM_ARG(io::ImageMode, mode) = io::ImageMode::kRGB;
  /// Float: numbers from 0 to 1. Byte: from 0 to 255, which is less to move around; ToFloat
  /// (transforms) converts them later.
  TANDEM_ARG(DType, dtype) = kFloat;
};

/// PNG and JPEG images, one folder for each class:
///
///     root/cat/tom.jpg   root/cat/2023/felix.png   root/dog/rex.jpeg
///
/// Classes are numbered in the order of their names. Folders below a class's folder are searched
/// too. Images are read when they are asked for, so a set may be larger than the memory.
class ImageFolder : public Dataset<ImageFolder> {
 public:
  struct Sample {
    std::string path;
    int64_t target;
  };
  explicit ImageFolder(const std::string& root, ImageFolderOptions options = {});
  /// An image [channels, height, width] and its class, int64 without dimensions.
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return list_->samples.size(); }

  const std::vector<std::string>& classes() const { return list_->classes; }
  /// All files in the order of their classes and names.
  const std::vector<Sample>& samples() const { return list_->samples; }
  /// The class of every image, int64 [n].
  Tensor targets() const;

 private:
  struct List {
    std::vector<std::string> classes;
    std::vector<Sample> samples;
  };
  ImageFolderOptions options_;
  std::shared_ptr<const List> list_;  // shared by the workers' copies
};

}  // namespace tandem::data::datasets
