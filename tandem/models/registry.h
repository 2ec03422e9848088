#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/nn/modules/container/any.h"

namespace tandem::models {

/// What a network made by name is to be like. What is left out is as published; what a network
/// does not have is an error.
struct CreateOptions {
  // Networks that classify.
  std::optional<int64_t> num_classes = {};
  // Networks for images.
  std::optional<int64_t> in_channels = {};
  // Networks for text: how many symbols there are, and how many are looked at together.
  std::optional<int64_t> vocab_size = {}, context_size = {};
  // Networks whose size may be chosen.
  std::optional<int64_t> hidden_size = {}, num_layers = {}, num_heads = {};
  std::optional<double> dropout = {};
  /// A safetensors file with the weights: see load_weights. Without it they are random.
  std::string weights = {};
};

/// A network of any class: net.forward(x) and net(x) call it, net-> is the module.
class Network : public nn::AnyModule {
 public:
  using nn::AnyModule::AnyModule;

  nn::Module* operator->() const { return ptr().get(); }
  nn::Module& operator*() const { return *ptr(); }
  template <class... Args>
  Tensor operator()(Args&&... args) {
    return forward(std::forward<Args>(args)...);
  }
};

/// What is known of a network before it is made.
struct Info {
  std::string name;
  std::string what;  // in a few words
  /// What forward() takes: images [batch, channels, height, width], or numbers of symbols [batch,
  /// steps], or what its class says: two sequences, trees, scenes with programs.
  enum class Input { kImages, kSymbols, kStructures } input = Input::kImages;
  // For images: as many channels and pixels a side as the network was published for, and the
  // fewest pixels that it can do with.
  int64_t channels = 0, image_size = 0, least_image_size = 0;
  int64_t num_classes = 0;
};

/// The network of that name:
///
///     auto net = models::create("resnet18", {.num_classes = 10});
///     Tensor scores = net(images);
///     Model model(net);
///
/// An unknown name is answered with the nearest one that is known.
Network create(const std::string& name, const CreateOptions& options = {});

/// All names, in the order of the alphabet.
std::vector<std::string> names();
const Info& info(const std::string& name);

}  // namespace tandem::models
