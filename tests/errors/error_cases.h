#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/autograd/autograd.h"
#include "tandem/ops/ops.h"

/// Users' mistakes, one case each: what is done, which kind of error it must raise and what the
/// message must say. errors_test.cpp runs them and checks that nothing half done stays behind.
namespace tandem::errors {

/// Tensors for the cases to make mistakes with. No case may change them.
struct Things {
  Tensor x = counting({2, 3});  // 0 ... 5
  Tensor y = counting({4});
  Tensor m = counting({3, 3}) + 1;
  Tensor ints = counting({2, 3}).to(kLong);
  Tensor truth = counting({2, 3}).to(kBool);
  Tensor wide = counting({2, 3}).to(kDouble);
  Tensor meta = empty({2, 3}, device(kMeta));
  Tensor none;  // undefined
  Tensor w = counting({2, 3}).requires_grad_();
  Tensor v = counting({3}).requires_grad_();

  static Tensor counting(IntArrayRef sizes);
};

enum class Kind { kError, kIndex, kType, kShape };

struct Case {
  const char* name;
  Kind kind;
  std::function<void(Things&)> mistake;
  std::vector<std::string> says;  // the op and the values, in the message
};

/// How GoogleTest names a case.
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Every case of all families.
const std::vector<Case>& all_cases();

void add_shape_cases(std::vector<Case>& cases);
void add_type_cases(std::vector<Case>& cases);
void add_autograd_cases(std::vector<Case>& cases);
void add_op_cases(std::vector<Case>& cases);
void add_index_cases(std::vector<Case>& cases);
void add_linalg_cases(std::vector<Case>& cases);
void add_compile_cases(std::vector<Case>& cases);
void add_transform_cases(std::vector<Case>& cases);
void add_loss_cases(std::vector<Case>& cases);
void add_nn_cases(std::vector<Case>& cases);

}  // namespace tandem::errors
