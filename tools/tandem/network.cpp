#include "tools/tandem/network.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <sstream>

#include "tandem/base/deterministic.h"
#include "tandem/base/parallel.h"
#include "tandem/models/weights.h"
#include "tandem/ops/ops.h"
#include "tandem/train/checkpoint.h"

namespace tandem::cli {

Preparation::Preparation(std::vector<double> mean, std::vector<double> deviation)
    : mean_(std::move(mean)), deviation_(std::move(deviation)) {
  TANDEM_CHECK(mean_.size() == deviation_.size(), "a mean for ", mean_.size(),
               " channels, but a deviation for ", deviation_.size());
  for (const double d : deviation_) TANDEM_CHECK(d > 0, "a deviation of ", d, ": must be above 0");
  if (mean_.empty()) return;
  const auto n = static_cast<int64_t>(mean_.size());
  shift_ = tensor(mean_).to(kFloat).view({1, n, 1, 1});
  scale_ = tensor(deviation_).to(kFloat).reciprocal().view({1, n, 1, 1});
}

Preparation Preparation::of(const Tensor& images) {
  const Tensor x = Preparation()(images).to(kDouble);
  std::vector<double> mean, deviation;
  for (int64_t c = 0; c < x.size(1); ++c) {
    const Tensor channel = x.select(1, c);
    mean.push_back(channel.mean().item<double>());
    // Images of one colour have none.
    deviation.push_back(std::max(channel.std(/*unbiased=*/false).item<double>(), 1e-3));
  }
  return {mean, deviation};
}

Tensor Preparation::operator()(const Tensor& x) const {
  Tensor y = x.scalar_type() == kByte ? x.to(kFloat) / 255 : x;
  if (mean_.empty()) return y;
  return (y - shift_) * scale_;
}

namespace {

/// Calls f(name, member) for all settings: what is written is what is read.
template <class S, class F>
void each(S& s, const F& f) {
  f("model", s.model);
  f("data", s.data);
  f("channels", s.channels);
  f("size", s.size);
  f("mean", s.mean);
  f("deviation", s.deviation);
  f("seed", s.seed);
  f("samples", s.samples);
  f("validation", s.validation);
  f("optimizer", s.optimizer);
  f("schedule", s.schedule);
  f("lr", s.lr);
  f("momentum", s.momentum);
  f("weight_decay", s.weight_decay);
  f("warmup", s.warmup);
  f("clip", s.clip);
  f("epochs", s.epochs);
  f("batch_size", s.batch_size);
  f("patience", s.patience);
  f("eager", s.eager);
  f("deterministic", s.deterministic);
  f("log", s.log);
}

void get(const IValue& v, std::string& to) { to = v.toStringRef(); }
void get(const IValue& v, int64_t& to) { to = v.toInt(); }
void get(const IValue& v, bool& to) { to = v.toBool(); }
void get(const IValue& v, double& to) { to = v.toDouble(); }
void get(const IValue& v, std::vector<double>& to) { to = v.toDoubleVector(); }

}  // namespace

double Settings::held_out() const {
  if (validation == "test" || validation == "none") return 0;
  double share = 0;
  const char* end = validation.data() + validation.size();
  const auto [rest, error] = std::from_chars(validation.data(), end, share);
  if (error != std::errc() || rest != end || !(share > 0 && share < 1))
    throw UsageError(str("--validation: '", validation,
                         "' is neither test nor none nor a share of the images such as 0.1"));
  return share;
}

std::map<std::string, IValue> Settings::values() const {
  std::map<std::string, IValue> result;
  each(*this, [&](const char* name, const auto& value) { result[name] = IValue(value); });
  std::string names;
  for (const std::string& c : classes) names += (names.empty() ? "" : "\n") + c;
  result["classes"] = IValue(names);
  return result;
}

Settings Settings::from(std::map<std::string, IValue> values, const std::string& path) {
  Settings s;
  const auto value = [&](const char* name) -> const IValue& {
    const auto found = values.find(name);
    TANDEM_CHECK_AS(FileError, found != values.end(), path,
                    ": is a checkpoint, but none of tandem train: it has no '", name, "'");
    return found->second;
  };
  try {
    each(s, [&](const char* name, auto& member) { get(value(name), member); });
    std::istringstream names(value("classes").toStringRef());
    std::string name;
    while (std::getline(names, name)) s.classes.push_back(name);
  } catch (const FileError&) {
    throw;
  } catch (const Error& e) {
    throw FileError(str(path, ": a setting is of the wrong kind: ", e.what()));
  }
  TANDEM_CHECK_AS(FileError, !s.classes.empty() && s.channels > 0, path,
                  ": does not say what classes and images the network is for");
  return s;
}

Settings read_settings(const std::string& path) {
  return Settings::from(load_checkpoint(path, {}), path);
}

models::Network create_network(const std::string& model, int64_t num_classes, int64_t channels) {
  const models::Info& info = models::info(model);
  models::CreateOptions options;
  if (num_classes != info.num_classes) options.num_classes = num_classes;
  if (channels > 0 && channels != info.channels) options.in_channels = channels;
  return models::create(model, options);
}

namespace {

std::vector<double> list_of(const Arguments& arguments, const char* option) {
  std::vector<double> values;
  std::istringstream parts(arguments.text(option, ""));
  std::string part;
  while (std::getline(parts, part, ',')) {
    double value = 0;
    const char* end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, value);
    if (error != std::errc() || rest != end)
      throw UsageError(str(option, ": '", part, "' is not a number"));
    values.push_back(value);
  }
  return values;
}

Loaded load_checkpoint_file(const std::string& path) {
  Settings s = read_settings(path);
  models::Network net = create_network(s.model, static_cast<int64_t>(s.classes.size()), s.channels);
  load_checkpoint(path, {.module = *net});
  return {Classifier(std::move(net), Preparation(s.mean, s.deviation)), std::move(s)};
}

}  // namespace

Loaded load_network(const Arguments& arguments) {
  const auto& files = arguments.operands();
  if (files.size() > 1) throw UsageError("one checkpoint at a time");
  if (files.size() == 1) {
    for (const char* option : {"--model", "--weights", "--mean", "--deviation"})
      if (arguments.has(option))
        throw UsageError(str(option, " is not wanted: the checkpoint knows it"));
    return load_checkpoint_file(files[0]);
  }
  const auto model = arguments.text("--model");
  const auto weights = arguments.text("--weights");
  if (!model || !weights)
    throw UsageError("which network? Give a checkpoint, or --model NAME --weights FILE");
  const models::Info& info = models::info(*model);
  const int64_t num_classes = arguments.integer("--num-classes", info.num_classes, 1);
  const int64_t channels = arguments.integer("--channels", info.channels, 1);
  models::Network net = create_network(*model, num_classes, channels);
  models::load_weights(*net, *weights);
  Settings s;
  s.model = *model;
  s.channels = channels;
  for (int64_t i = 0; i < num_classes; ++i) s.classes.push_back(std::to_string(i));
  s.mean = list_of(arguments, "--mean");
  s.deviation = list_of(arguments, "--deviation");
  return {Classifier(std::move(net), Preparation(s.mean, s.deviation)), std::move(s)};
}

OptionGroup network_options() {
  return {"the network, if it does not come from a checkpoint",
          {{"--model", "NAME", "resnet18, vgg16, lenet, ...; 'tandem info --models' lists them"},
           {"--weights", "FILE", "safetensors with torchvision's or Hugging Face's names"},
           {"--num-classes", "N", "as many as the weights are for (those published)"},
           {"--channels", "N", "of the images (those published)"},
           {"--mean", "X,Y,Z", "taken off each channel of the images (nothing)"},
           {"--deviation", "X,Y,Z", "each channel is divided by it (1)"}}};
}

void set_threads(const Arguments& arguments) {
  if (arguments.has("--threads"))
    set_num_threads(static_cast<int>(arguments.integer("--threads", 1, 1, 1024)));
}

}  // namespace tandem::cli
