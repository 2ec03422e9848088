#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/train/source.h"

/// Images to train on, by name or from a folder.
namespace tandem::cli {

/// Some images with their classes: bytes, or numbers from 0 to 1.
struct ImageSet {
  trainer::Source source;  // empty: there are none
  /// A few of those to train on, to find their mean and deviation from.
  Tensor some;
};

struct ImageData {
  std::string what;  // for people
  ImageSet train, test;
  std::vector<std::string> classes;
  int64_t channels = 0, height = 0, width = 0;
};

struct ImageOptions {
  /// "fashion-mnist", "digits", a folder, or an npz file.
  std::string data;
  int64_t seed = 1;
  /// Use only the first n images to train; 0: all.
  int64_t samples = 0;
  /// Make them this many pixels high and wide; 0: as they are.
  int64_t size = 0;
  /// The share of the training images that is kept for testing; 0: the data's own test images.
  double held_out = 0;
  /// Whether the training images are wanted, or only those to test with.
  bool train = true;
};

ImageData load_images(const ImageOptions& options);

/// What --data takes, for help.
extern const char* const kDataHelp;

}  // namespace tandem::cli
