#pragma once

#include <string>
#include <variant>

/// Names that stand for a choice, as LibTorch's options use them: .mode(kReflect).
///
/// Each is a type of its own, so that an option says in its type which choices it has:
/// std::variant<enumtype::kConstant, enumtype::kReflect>.
#define TANDEM_ENUM_NAMES(_)                                                                       \
  _(kLinear)                                                                                       \
  _(kConv1D) _(kConv2D) _(kConv3D) _(kConvTranspose1D) _(kConvTranspose2D) _(kConvTranspose3D)     \
      _(kSigmoid) _(kTanh) _(kReLU) _(kGELU) _(kSiLU) _(kMish) _(kLeakyReLU) _(kFanIn) _(kFanOut)  \
          _(kConstant) _(kReflect) _(kReplicate) _(kCircular) _(kNearest) _(kBilinear) _(kBicubic) \
              _(kTrilinear) _(kArea) _(kNearestExact) _(kSum) _(kMean) _(kMax) _(kNone)            \
                  _(kBatchMean) _(kZeros) _(kBorder) _(kReflection) _(kRNN_TANH) _(kRNN_RELU)      \
                      _(kLSTM) _(kGRU) _(kValid) _(kSame)

namespace tandem {
namespace enumtype {

#define TANDEM_ENUM_TYPE(name)                                    \
  struct name {                                                   \
    static constexpr const char* text = #name;                    \
    friend constexpr bool operator==(name, name) { return true; } \
  };
TANDEM_ENUM_NAMES(TANDEM_ENUM_TYPE)
#undef TANDEM_ENUM_TYPE

/// "kReflect" for a variant that holds it.
template <class... Ts>
std::string get_enum_name(const std::variant<Ts...>& v) {
  return std::visit([](const auto& e) -> std::string { return e.text; }, v);
}

}  // namespace enumtype

// Each file has its own, so that none is mistaken for an op of that name, such as kSum, when a
// program and the library are linked.
#define TANDEM_ENUM_VALUE(name) static constexpr enumtype::name name{};
TANDEM_ENUM_NAMES(TANDEM_ENUM_VALUE)
#undef TANDEM_ENUM_VALUE

}  // namespace tandem
