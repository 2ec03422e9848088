#include "tandem/models/registry.h"

#include <algorithm>
#include <map>

#include "tandem/base/words.h"
#include "tandem/models/cifar_resnet.h"
#include "tandem/models/resnet.h"
#include "tandem/models/vgg.h"
#include "tandem/models/weights.h"
#include "tandem/nn/init.h"

namespace tandem::models {
namespace {

using Field = std::optional<int64_t> CreateOptions::*;

struct NamedField {
  const char* name;
  Field field;
};
constexpr NamedField kFields[] = {
    {"num_classes", &CreateOptions::num_classes},
    {"in_channels", &CreateOptions::in_channels},
};

struct Entry {
  Info info;
  /// The options that this network has.
  std::vector<Field> takes;
  Network (*make)(const Info& info, const CreateOptions& options);
};
using Entries = std::map<std::string, Entry>;

void add(Entries& all, Entry entry) {
  std::string name = entry.info.name;
  all.emplace(std::move(name), std::move(entry));
}

/// A network for images, from a function of the number of classes and of channels.
template <auto make_net>
void add_images(Entries& all, const char* name, const char* what, int64_t channels, int64_t size,
                int64_t least_size, int64_t classes) {
  add(all, {{name, what, Info::Input::kImages, channels, size, least_size, classes},
            {&CreateOptions::num_classes, &CreateOptions::in_channels},
            [](const Info& info, const CreateOptions& o) {
              return Network(make_net(o.num_classes.value_or(info.num_classes),
                                      o.in_channels.value_or(info.channels)));
            }});
}

Entries make_entries() {
  Entries all;
  add_images<lenet>(all, "lenet", "LeNet-5 with ReLU and max pooling", 1, 28, 12, 10);
  add_images<alexnet>(all, "alexnet", "AlexNet", 3, 224, 63, 1000);
  add_images<vgg11>(all, "vgg11", "VGG, 11 layers", 3, 224, 32, 1000);
  add_images<vgg13>(all, "vgg13", "VGG, 13 layers", 3, 224, 32, 1000);
  add_images<vgg16>(all, "vgg16", "VGG, 16 layers", 3, 224, 32, 1000);
  add_images<vgg19>(all, "vgg19", "VGG, 19 layers", 3, 224, 32, 1000);
  add_images<resnet18>(all, "resnet18", "residual network, 18 layers", 3, 224, 1, 1000);
  add_images<resnet34>(all, "resnet34", "residual network, 34 layers", 3, 224, 1, 1000);
  add_images<resnet50>(all, "resnet50", "residual network, 50 layers", 3, 224, 1, 1000);
  add_images<resnet101>(all, "resnet101", "residual network, 101 layers", 3, 224, 1, 1000);
  add_images<resnet152>(all, "resnet152", "residual network, 152 layers", 3, 224, 1, 1000);
  add_images<resnet20>(all, "resnet20", "residual network for CIFAR, 20 layers", 3, 32, 1, 10);
  add_images<resnet32>(all, "resnet32", "residual network for CIFAR, 32 layers", 3, 32, 1, 10);
  add_images<resnet44>(all, "resnet44", "residual network for CIFAR, 44 layers", 3, 32, 1, 10);
  add_images<resnet56>(all, "resnet56", "residual network for CIFAR, 56 layers", 3, 32, 1, 10);
  add_images<resnet110>(all, "resnet110", "residual network for CIFAR, 110 layers", 3, 32, 1, 10);
  return all;
}

const Entries& entries() {
  static const Entries all = make_entries();
  return all;
}

const Entry& entry(const std::string& name) {
  const auto found = entries().find(name);
  TANDEM_CHECK_AS(ValueError, found != entries().end(), "there is no model '", name, "'",
                  did_you_mean(name, names()));
  return found->second;
}

void expect_options(const Entry& e, const CreateOptions& options) {
  for (const auto& [name, field] : kFields) {
    const auto& value = options.*field;
    if (!value) continue;
    const bool known = std::find(e.takes.begin(), e.takes.end(), field) != e.takes.end();
    TANDEM_CHECK_AS(ValueError, known, "model ", e.info.name, " has no option ", name);
    TANDEM_CHECK_AS(ValueError, *value >= 1, "model ", e.info.name, ": option ", name, " is ",
                    *value, ", expected at least 1");
  }
}

}  // namespace

Network create(const std::string& name, const CreateOptions& options) {
  const Entry& e = entry(name);
  expect_options(e, options);
  if (options.weights.empty()) return e.make(e.info, options);
  Network net = [&] {
    const nn::init::SkipGuard skip;
    return e.make(e.info, options);
  }();
  load_weights(net, options.weights);
  return net;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, e] : entries()) all.push_back(name);
  return all;
}

const Info& info(const std::string& name) { return entry(name).info; }

}  // namespace tandem::models
