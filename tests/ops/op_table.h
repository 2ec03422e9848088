#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/ops/ops.h"

/// The op table: a row for every public function, with sample inputs. op_checks_test.cpp derives
/// every check from it; a new function gets a row in one of the op_samples_*.cpp files and nothing
/// else.
///
///   rows.push_back({.name = "tanh",
///                   .ops = {"tanh"},
///                   .fn = FN1(tanh),
///                   .reference = pointwise([](double x) { return std::tanh(x); }),
///                   .inplace = INPLACE(a[0].tanh_()),
///                   .samples = {{.inputs = {real({3, 4})}}},
///                   .out = Out::kFloat,
///                   .pointwise = true});
namespace tandem::table {

using List = std::vector<Tensor>;
using Sizes = std::vector<int64_t>;

/// Numbers with a shape, row-major: what references compute with. They never touch a Tandem kernel.
struct Values {
  Sizes sizes;
  std::vector<double> v;

  int64_t numel() const { return static_cast<int64_t>(v.size()); }
  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  /// The number at these indices.
  double& at(const Sizes& index);
  double at(const Sizes& index) const { return const_cast<Values*>(this)->at(index); }
};
using ValuesList = std::vector<Values>;

int64_t count(const Sizes& sizes);
/// All of this shape, zero.
Values zeros_of(Sizes sizes);
/// Calls fn with every index of a shape, in row-major order.
void each_index(const Sizes& sizes, const std::function<void(const Sizes&)>& fn);
Sizes broadcast(const Sizes& a, const Sizes& b);
/// `x` repeated to a larger shape by NumPy's rule.
Values expand_to(const Values& x, const Sizes& sizes);

/// One input of a sample: its shape, and how its numbers are made from a seed.
struct Input {
  enum Kind {
    kReal,      // takes the dtype under test; the gradient is by these
    kConstant,  // takes the dtype under test; no gradient by it
    kIndex,     // int64, whatever the dtype under test
    kMask,      // bool
  };
  Sizes sizes;
  Kind kind = kReal;
  double low = -2, high = 2;
  bool all_different = false;    // numbers from low in steps of one, in random order
  std::vector<double> excluded;  // no number closer than `margin` to one of these
  double margin = 0.1;
  std::vector<double> given;  // the numbers themselves, if not empty

  // To be chained: real({3}).in(0, 1).avoiding({0.5}).
  Input in(double lo, double hi) const;
  Input avoiding(std::vector<double> points, double distance = 0.1) const;
  Input constant() const;
  Input of_shape(Sizes s) const;

  std::vector<double> numbers(uint64_t seed) const;
  /// The dtype this input has when the table is run with `t`.
  DType dtype_for(DType t) const;
  /// The numbers as this dtype can hold them; what was not 0 stays so if 0 is excluded.
  Values values(uint64_t seed, DType t) const;
};
/// Numbers in [-2, 2].
Input real(Sizes sizes, double low = -2, double high = 2);
/// Numbers that differ by one or more: for what orders values.
Input distinct(Sizes sizes);
Input given(Sizes sizes, std::vector<double> numbers);
/// Whole numbers in [low, high), as int64.
Input index(Sizes sizes, int64_t low, int64_t high);
Input given_index(Sizes sizes, std::vector<double> numbers);
Input mask(Sizes sizes);
Input given_mask(Sizes sizes, std::vector<double> numbers);

using Fn = std::function<List(const List&)>;
using Reference = std::function<ValuesList(const ValuesList&)>;
/// Works in place on the first of its arguments.
using InPlace = std::function<void(List&)>;

struct Sample {
  std::string label;
  std::vector<Input> inputs;
  Fn fn = nullptr;  // each of these three: the row's, if null
  Reference reference = nullptr;
  InPlace inplace = nullptr;
  bool grad = true;         // False: only the forward checks
  bool big = false;         // True: many elements, so that the kernel runs on several threads
  bool no_inplace = false;  // True: the row's in-place form does not go with this sample
  uint32_t dtypes = ~0u;    // the row's dtypes that this sample is for
};

enum class Grad { kNo, kOnce, kTwice };
/// Which dtype results have.
enum class Out {
  kPromoted,  // that of the inputs under test
  kFloat,     // the same, integers becoming the default float
  kBool,
  kLong,
  kSum,        // the same, integers becoming int64
  kUnchecked,  // the row's own reference or another test knows
};

constexpr uint32_t bit(DType t) { return 1u << static_cast<int>(t); }
inline constexpr uint32_t kSixteenBit = bit(kHalf) | bit(kBFloat16);
inline constexpr uint32_t kFloats = bit(kFloat) | bit(kDouble) | kSixteenBit;
inline constexpr uint32_t kFullFloats = bit(kFloat) | bit(kDouble);
inline constexpr uint32_t kInts = bit(kByte) | bit(kChar) | bit(kShort) | bit(kInt) | bit(kLong);
inline constexpr uint32_t kAllButBool = kFloats | kInts;
inline constexpr uint32_t kIntsAndBool = kInts | bit(kBool);
inline constexpr uint32_t kEvery = kAllButBool | bit(kBool);

struct Row {
  std::string name;              // of the public function
  std::vector<std::string> ops;  // the OpDefs that running and differentiating it must reach
  Fn fn = nullptr;
  Reference reference = nullptr;
  InPlace inplace = nullptr;
  std::vector<Sample> samples = {};
  Grad grad = Grad::kTwice;
  uint32_t dtypes = kEvery;  // all others must be refused with an error that names the function
  Out out = Out::kPromoted;
  bool pointwise = false;  // samples with 0-d, empty, broadcast and special values are derived
  bool special = true;     // False: no inf, nan and the like among the derived samples
  bool dynamic = false;    // the shape of the result depends on values: no meta device
  bool random = false;     // seeded before each run; compared with itself only
  bool unwritten = false;  // results have no defined values (empty_like)
  bool contiguous_only = false;  // refuses some layouts (view)
  bool refuses_others = true;    // False: other dtypes than `dtypes` are not looked at
  double tolerance64 = 1e-12;    // relative, against the reference
  double tolerance32 = 4e-6;
  // 0: float16 results are the rounded float32 results, bit for bit; negative: they are not
  // compared.
  double tolerance16 = 0;
  double tolerance_layout = 0;  // 0: non-contiguous inputs give the same bits
  double grad_tolerance = 1e-5;
};

/// How GoogleTest names a row.
inline void PrintTo(const Row* row, std::ostream* out) { *out << row->name; }

/// Every row, each with its derived samples.
const std::vector<Row>& all_rows();

// The families; each appends its rows.
void add_pointwise_rows(std::vector<Row>& rows);
void add_compare_rows(std::vector<Row>& rows);
void add_activation_rows(std::vector<Row>& rows);
void add_reduce_rows(std::vector<Row>& rows);
void add_sort_rows(std::vector<Row>& rows);
void add_matmul_rows(std::vector<Row>& rows);
void add_linalg_rows(std::vector<Row>& rows);
void add_linalg_function_rows(std::vector<Row>& rows);
void add_view_rows(std::vector<Row>& rows);
void add_index_rows(std::vector<Row>& rows);
void add_arrange_rows(std::vector<Row>& rows);
void add_misc_rows(std::vector<Row>& rows);
void add_more_rows(std::vector<Row>& rows);
void add_creation_rows(std::vector<Row>& rows);
void add_special_rows(std::vector<Row>& rows);
void add_softmax_rows(std::vector<Row>& rows);
void add_control_rows(std::vector<Row>& rows);
void add_rnn_rows(std::vector<Row>& rows);
void add_norm_rows(std::vector<Row>& rows);
void add_loss_rows(std::vector<Row>& rows);
void add_conv_rows(std::vector<Row>& rows);
void add_attention_rows(std::vector<Row>& rows);
void add_padding_rows(std::vector<Row>& rows);
void add_pool_rows(std::vector<Row>& rows);
void add_vision_rows(std::vector<Row>& rows);
void add_optim_rows(std::vector<Row>& rows);

// -- references -------------------------------------------------------------------------------

/// A formula on numbers, with the inputs broadcast.
Reference pointwise(double (*f)(double));
Reference pointwise(double (*f)(double, double));
Reference pointwise(double (*f)(double, double, double));
/// Element i of the result is the element of the first input that `from` names: views and gathers.
Reference picking(std::function<Sizes(const ValuesList&)> out_sizes,
                  std::function<Sizes(const Sizes& out_index, const Sizes& in_sizes)> from);
/// What `f` makes of each run along `dims` of the first input.
Values reduce(const Values& x, Sizes dims, bool keepdim,
              const std::function<double(const std::vector<double>&)>& f);
/// Replaces each run along `dim` by what `f` makes of it.
Values along(const Values& x, int64_t dim,
             const std::function<std::vector<double>(const std::vector<double>&)>& f);

// -- tensors without Tandem's kernels -----------------------------------------------------------

enum class Layout {
  kContiguous,
  kStrided,     // every dimension has gaps; starts at an odd address
  kTransposed,  // dimensions in reverse order in memory
};
const char* name_of(Layout l);
/// A tensor over a block of memory whose gaps hold a pattern.
Tensor make_tensor(const Values& x, DType t, Layout layout = Layout::kContiguous);
/// False if something was written between the elements of a tensor that make_tensor made.
bool gaps_intact(const Tensor& t);
/// Reads a tensor element by element.
Values read(const Tensor& t);
/// The bytes of the elements in row-major order: equality bit for bit.
std::string bytes_of(const Tensor& t);

/// The inputs of a sample in that dtype.
ValuesList make_values(const Row& row, const Sample& sample, DType t);
List make_inputs(const Row& row, const Sample& sample, DType t,
                 Layout layout = Layout::kContiguous);

Fn fn_of(const Row& row, const Sample& sample);
Reference reference_of(const Row& row, const Sample& sample);
InPlace inplace_of(const Row& row, const Sample& sample);
/// Runs a sample; seeds first if the row is random.
List run(const Row& row, const Sample& sample, const List& inputs);
bool supports(const Row& row, const Sample& sample, DType t);

/// "" if the tensor has these values to within the tolerance; otherwise what differs.
std::string compare(const Tensor& got, const Values& expected, double tolerance);
std::string describe(const List& tensors);

}  // namespace tandem::table

#define FN(...)                                                                  \
  []([[maybe_unused]] const ::tandem::table::List& a) -> ::tandem::table::List { \
    return {__VA_ARGS__};                                                        \
  }
#define FN1(f) FN(f(a[0]))
#define FN2(f) FN(f(a[0], a[1]))
#define FN3(f) FN(f(a[0], a[1], a[2]))
#define INPLACE(...) [](::tandem::table::List& a) { __VA_ARGS__; }
