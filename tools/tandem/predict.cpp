// tandem predict: what a network makes of images.
#include <cstdio>
#include <iostream>

#include "tandem/io/image.h"
#include "tandem/io/npy.h"
#include "tandem/ops/ops.h"
#include "tandem/train/progress.h"
#include "tandem/train/train.h"
#include "tools/tandem/commands.h"
#include "tools/tandem/file_kind.h"
#include "tools/tandem/network.h"
#include "tools/tandem/text.h"

namespace tandem::cli {
namespace {

/// Images [n, channels, height, width] from an npy file or from one image; anything else of an npy
/// file is left to the network.
Tensor read_input(const std::string& path, const Settings& s, int64_t size) {
  const FileKind kind = file_kind(path);
  Tensor x;
  if (kind == FileKind::kNpy) {
    x = load_npy(path);
  } else if (kind == FileKind::kPng || kind == FileKind::kJpeg) {
    x = io::read_image(path, s.channels == 1 ? io::ImageMode::kGray : io::ImageMode::kRGB);
    if (size == 0) size = s.size;
  } else {
    throw FileError(str(path, ": is ", name_of(kind), ", expected an npy file or an image"));
  }
  TANDEM_CHECK_AS(FileError, x.dim() > 0, path, ": holds a single number, expected images");
  if (models::info(s.model).input != models::Info::Input::kImages) return x;
  // One image, or images in grey, may leave out the dimensions that are 1.
  if (x.dim() == 3 && x.size(0) == s.channels && s.channels != 1) x = x.unsqueeze(0);
  if (x.dim() == 3 && s.channels == 1) x = x.unsqueeze(1);
  if (x.dim() == 2 && s.channels == 1) x = x.unsqueeze(0).unsqueeze(0);
  TANDEM_CHECK_AS(FileError, x.dim() == 4 && x.size(1) == s.channels, path, ": has the shape ",
                  x.sizes(), ", expected [images, ", s.channels, ", height, width]");
  TANDEM_CHECK_AS(FileError, x.numel() > 0, path, ": has the shape ", x.sizes(),
                  ": there are no images");
  if (x.scalar_type() != kByte) x = x.to(kFloat);
  return size > 0 ? io::resize_image(x, size, size) : x;
}

/// The best class of each image, for people.
void print_best(const Tensor& scores, const std::vector<std::string>& classes) {
  constexpr int64_t kLines = 20;
  const auto [best, index] = softmax(scores.to(kFloat), 1).max(1);
  Table table;
  const int64_t n = std::min(scores.size(0), kLines);
  for (int64_t i = 0; i < n; ++i) {
    char share[32];
    std::snprintf(share, sizeof share, "%.2f %%", 100 * best[i].item<double>());
    table.row({str(i), classes[static_cast<size_t>(index[i].item<int64_t>())], share});
  }
  table.print();
  if (scores.size(0) > n)
    std::printf("  ... and %s more; --output FILE keeps them all\n",
                trainer::with_commas(static_cast<double>(scores.size(0) - n)).c_str());
}

int run_predict(const Arguments& a) {
  const auto input = a.text("--input");
  if (!input) throw UsageError("of what? --input x.npy");
  if (a.has("--probabilities") && a.has("--classes"))
    throw UsageError("--probabilities or --classes, not both");
  const int64_t batch_size = a.integer("--batch-size", 256, 1);
  const int64_t size = a.integer("--size", 0, 1, 8192);
  set_threads(a);
  Loaded loaded = load_network(a);
  const Settings& s = loaded.settings;
  const Tensor x = read_input(*input, s, size);
  Model model(loaded.classifier);
  model.compile({.loss = "cross_entropy", .compiled = !a.has("--eager")});
  const Tensor scores = model.predict(x, batch_size);
  const bool classifies =
      scores.dim() == 2 && scores.size(1) == static_cast<int64_t>(s.classes.size());
  if ((a.has("--probabilities") || a.has("--classes")) && !classifies)
    throw UsageError(str("--probabilities and --classes: ", s.model, " gave ", type_text(scores),
                         ", which are not scores of classes"));
  Tensor y = scores;
  if (a.has("--probabilities")) y = softmax(scores, 1);
  if (a.has("--classes")) y = scores.argmax(1);
  if (const auto output = a.text("--output")) {
    save_npy(y, *output);
    std::printf("%s: %s from %s\n", output->c_str(), type_text(y).c_str(), type_text(x).c_str());
  } else if (classifies) {
    print_best(scores, s.classes);
  } else {
    std::cout << y << '\n';
  }
  return kOk;
}

}  // namespace

const Command& predict_command() {
  static const Command command = {
      .name = "predict",
      .summary = "what a network makes of images",
      .operands = "[CHECKPOINT]",
      .examples = {{"tandem predict run.ckpt --input x.npy --output y.npy",
                    "the scores of all classes"},
                   {"tandem predict run.ckpt --input x.npy --output y.npy --classes",
                    "the best class"},
                   {"tandem predict run.ckpt --input shoe.png", "prints the best class"},
                   {"tandem predict --model resnet18 --weights resnet18.safetensors --input "
                    "cat.jpg --size 224 \\\n"
                    "      --mean 0.485,0.456,0.406 --deviation 0.229,0.224,0.225",
                    "with published weights"}},
      .groups =
          {{"what",
            {{"--input", "FILE",
              "npy [images, channels, height, width] of bytes or of numbers from 0 to 1, or a "
              "PNG or JPEG image"},
             {"--output", "FILE", "npy; without it the best classes are printed"},
             {"--probabilities", "", "write probabilities instead of scores"},
             {"--classes", "", "write the number of the best class instead of scores"},
             {"--size", "N", "make images N x N pixels"}}},
           network_options(),
           {"how",
            {{"--batch-size", "N", "images at a time (256)"},
             {"--eager", "", "run line by line instead of compiled"},
             {"--threads", "N", "threads to compute with (all cores)"}}}},
      .notes = "",
      .run = run_predict,
  };
  return command;
}

}  // namespace tandem::cli
