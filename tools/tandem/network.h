#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/autograd/ivalue.h"
#include "tandem/models/registry.h"
#include "tools/tandem/arguments.h"

/// Networks as the tool trains and uses them: from a checkpoint, or by name with weights.
namespace tandem::cli {

/// What is done to images before a network sees them: bytes become numbers from 0 to 1, then the
/// mean is taken off and the rest divided by the deviation, channel by channel.
class Preparation {
 public:
  Preparation() = default;
  Preparation(std::vector<double> mean, std::vector<double> deviation);
  /// From some of the images.
  static Preparation of(const Tensor& images);
  Tensor operator()(const Tensor& x) const;
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& deviation() const { return deviation_; }

 private:
  std::vector<double> mean_, deviation_;
  Tensor shift_, scale_;  // [1, channels, 1, 1]
};

/// A network and what comes before it, as Model takes it. Its module is the network's alone, so
/// that files have the network's own names.
class Classifier {
 public:
  Classifier(models::Network net, Preparation prepare)
      : net_(std::move(net)), prepare_(std::move(prepare)) {}
  std::shared_ptr<nn::Module> ptr() const { return net_.ptr(); }
  Classifier* operator->() { return this; }
  Tensor forward(const Tensor& x) { return net_.forward(prepare_(x)); }
  models::Network& net() { return net_; }
  const Preparation& preparation() const { return prepare_; }

 private:
  models::Network net_;
  Preparation prepare_;
};

/// Everything that makes a run what it is. A checkpoint holds it, so that resuming a run,
/// evaluating and predicting need no more than the file.
struct Settings {
  std::string model, data;
  std::vector<std::string> classes;
  int64_t channels = 0, size = 0;  // of the images; 0: as they are in the data
  std::vector<double> mean, deviation;
  int64_t seed = 1, samples = 0;
  std::string validation = "test";  // or "none", or the share of the images that is held out
  std::string optimizer = "adam", schedule = "cosine";
  double lr = 1e-3, momentum = 0.9, weight_decay = 0, warmup = 0, clip = 0;
  int64_t epochs = 5, batch_size = 128, patience = 0;
  bool eager = false, deterministic = false;
  std::string log;  // a file

  bool validates() const { return validation != "none"; }
  /// 0: none are, the data has test images.
  double held_out() const;

  std::map<std::string, IValue> values() const;
  static Settings from(std::map<std::string, IValue> values, const std::string& path);
};

/// Whether the file is a checkpoint of `tandem train`; throws FileError if it is damaged.
Settings read_settings(const std::string& path);

models::Network create_network(const std::string& model, int64_t num_classes, int64_t channels);

/// The network of `FILE` or of `--model NAME --weights FILE`, whichever was given, and what is
/// known of its run.
struct Loaded {
  Classifier classifier;
  Settings settings;
};
Loaded load_network(const Arguments& arguments);

/// The options that load_network looks at.
OptionGroup network_options();

/// --threads and --deterministic.
void set_threads(const Arguments& arguments);

}  // namespace tandem::cli
