#include "tandem/models/registry.h"

#include <algorithm>
#include <map>

#include "tandem/base/words.h"
#include "tandem/models/bert.h"
#include "tandem/models/cifar_resnet.h"
#include "tandem/models/gpt.h"
#include "tandem/models/lstm_lm.h"
#include "tandem/models/module_network.h"
#include "tandem/models/resnet.h"
#include "tandem/models/seq2seq.h"
#include "tandem/models/tree.h"
#include "tandem/models/vgg.h"
#include "tandem/models/vit.h"
#include "tandem/models/weights.h"
#include "tandem/nn/init.h"

namespace tandem::models {
namespace {

using O = CreateOptions;
using Field = std::optional<int64_t> O::*;

struct NamedField {
  const char* name;
  Field field;
};
constexpr NamedField kFields[] = {
    {"num_classes", &O::num_classes}, {"in_channels", &O::in_channels},
    {"vocab_size", &O::vocab_size},   {"context_size", &O::context_size},
    {"hidden_size", &O::hidden_size}, {"num_layers", &O::num_layers},
    {"num_heads", &O::num_heads},
};

struct Entry {
  Info info;
  /// The options that this network has.
  std::vector<Field> takes;
  bool takes_dropout;
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
            {&O::num_classes, &O::in_channels},
            /*takes_dropout=*/false,
            [](const Info& info, const CreateOptions& o) {
              return Network(make_net(o.num_classes.value_or(info.num_classes),
                                      o.in_channels.value_or(info.channels)));
            }});
}

/// A network for text, from a function of options.
template <auto make_net>
void add_symbols(Entries& all, const char* name, const char* what, std::vector<Field> takes) {
  Info info{name, what};
  info.input = Info::Input::kSymbols;
  add(all, {std::move(info), std::move(takes), /*takes_dropout=*/true,
            [](const Info&, const O& o) { return Network(make_net(o)); }});
}

/// Characters of a text in Latin letters; what somebody who names a model for text, and nothing
/// else, wants to see running.
constexpr int64_t kCharacters = 65;

LSTMLanguageModel lstm_lm(const O& o) {
  const int64_t width = o.hidden_size.value_or(128);
  return LSTMLanguageModel(LSTMLanguageModelOptions(o.vocab_size.value_or(kCharacters))
                               .embedding_size(width)
                               .hidden_size(width)
                               .num_layers(o.num_layers.value_or(2))
                               .dropout(o.dropout.value_or(0)));
}

/// The options of a transformer for text, with those that were asked for.
template <class Options>
Options as_asked(Options options, const O& o) {
  return options.vocab_size(o.vocab_size.value_or(options.vocab_size()))
      .context_size(o.context_size.value_or(options.context_size()))
      .hidden_size(o.hidden_size.value_or(options.hidden_size()))
      .num_layers(o.num_layers.value_or(options.num_layers()))
      .num_heads(o.num_heads.value_or(options.num_heads()))
      .dropout(o.dropout.value_or(options.dropout()));
}

GPT gpt_small(const O& o) { return GPT(as_asked(GPTOptions(), o)); }
GPT gpt_medium(const O& o) { return GPT(as_asked(GPTOptions::medium(), o)); }
GPT gpt_large(const O& o) { return GPT(as_asked(GPTOptions::large(), o)); }
GPT gpt_xl(const O& o) { return GPT(as_asked(GPTOptions::xl(), o)); }

BERT bert(const BERTOptions& published, const O& o) {
  BERTOptions options = as_asked(published, o);
  return BERT(options.mlp_size(4 * options.hidden_size()));
}
BERT bert_of_base_size(const O& o) { return bert(BERTOptions(), o); }
BERT bert_of_large_size(const O& o) { return bert(BERTOptions::large(), o); }

/// A network whose input differs from sample to sample, from a function of options.
template <auto make_net>
void add_structures(Entries& all, const char* name, const char* what, std::vector<Field> takes,
                    bool takes_dropout) {
  Info info{name, what};
  info.input = Info::Input::kStructures;
  add(all, {std::move(info), std::move(takes), takes_dropout,
            [](const Info&, const O& o) { return Network(make_net(o)); }});
}

Seq2Seq seq2seq(const O& o) {
  const int64_t symbols = o.vocab_size.value_or(kCharacters);
  return Seq2Seq(Seq2SeqOptions(symbols, symbols)
                     .hidden_size(o.hidden_size.value_or(128))
                     .num_layers(o.num_layers.value_or(1))
                     .dropout(o.dropout.value_or(0)));
}

RecursiveNet recursive(const O& o) {
  return RecursiveNet(
      RecursiveNetOptions(o.vocab_size.value_or(kCharacters), o.num_classes.value_or(10))
          .hidden_size(o.hidden_size.value_or(64)));
}

/// With words for scenes of coloured shapes.
ModuleNetwork module_network(const O& o) {
  return ModuleNetwork(ModuleNetworkOptions(o.in_channels.value_or(3), o.num_classes.value_or(12))
                           .hidden_size(o.hidden_size.value_or(32))
                           .find({"red", "green", "blue", "circle", "square", "triangle"})
                           .relocate({"left_of", "right_of", "above", "below"})
                           .describe({"colour", "shape"})
                           .measure({"exists", "count"})
                           .compare({"more", "same"}));
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
  add_images<vit_b_16>(all, "vit_b_16", "vision transformer, squares of 16", 3, 224, 224, 1000);
  add_images<vit_b_32>(all, "vit_b_32", "vision transformer, squares of 32", 3, 224, 224, 1000);
  add_images<vit_l_16>(all, "vit_l_16", "large vision transformer, squares of 16", 3, 224, 224,
                       1000);
  add_images<vit_l_32>(all, "vit_l_32", "large vision transformer, squares of 32", 3, 224, 224,
                       1000);
  add_symbols<lstm_lm>(all, "lstm_lm", "LSTM language model",
                       {&O::vocab_size, &O::hidden_size, &O::num_layers});
  const std::vector<Field> transformer = {&O::vocab_size, &O::context_size, &O::hidden_size,
                                          &O::num_layers, &O::num_heads};
  add_symbols<bert_of_base_size>(all, "bert-base", "encoder of text, 109 million parameters",
                                 transformer);
  add_symbols<bert_of_large_size>(all, "bert-large", "encoder of text, 335 million parameters",
                                  transformer);
  add_symbols<gpt_small>(all, "gpt2", "generative transformer, 124 million parameters",
                         transformer);
  add_symbols<gpt_medium>(all, "gpt2-medium", "generative transformer, 355 million parameters",
                          transformer);
  add_symbols<gpt_large>(all, "gpt2-large", "generative transformer, 774 million parameters",
                         transformer);
  add_symbols<gpt_xl>(all, "gpt2-xl", "generative transformer, 1.6 billion parameters",
                      transformer);
  add_structures<seq2seq>(all, "seq2seq", "encoder and decoder with attention",
                          {&O::vocab_size, &O::hidden_size, &O::num_layers}, true);
  add_structures<recursive>(all, "recursive", "long short-term memory along trees",
                            {&O::vocab_size, &O::num_classes, &O::hidden_size}, false);
  add_structures<module_network>(all, "module_network", "modules put together by programs",
                                 {&O::num_classes, &O::in_channels, &O::hidden_size}, false);
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
  if (!options.dropout) return;
  TANDEM_CHECK_AS(ValueError, e.takes_dropout, "model ", e.info.name, " has no option dropout");
  TANDEM_CHECK_AS(ValueError, *options.dropout >= 0 && *options.dropout < 1, "model ", e.info.name,
                  ": option dropout is ", *options.dropout,
                  ", expected 0 or more, but less than 1");
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
