#pragma once

/// LibTorch's macros, so that `namespace torch = tandem;` is all that most programs written for it
/// need.

#include "tandem/base/arg.h"
#include "tandem/base/error.h"
#include "tandem/base/warning.h"
#include "tandem/core/dtype.h"
#include "tandem/nn/pimpl.h"

// The version of LibTorch whose interface this is.
#define TORCH_VERSION_MAJOR 1
#define TORCH_VERSION_MINOR 13
#define TORCH_VERSION_PATCH 1
#define TORCH_VERSION "1.13.1"

#define TORCH_ARG(type, name) TANDEM_ARG(type, name)

#define TORCH_MODULE_IMPL(Name, ImplType) TANDEM_MODULE_IMPL(Name, ImplType)
#define TORCH_MODULE(Name) TANDEM_MODULE(Name)

#define TORCH_CHECK(condition, ...) TANDEM_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TANDEM_CHECK_INDEX(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TANDEM_CHECK_TYPE(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) \
  TANDEM_CHECK_AS(::tandem::ValueError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  TANDEM_CHECK_AS(::tandem::NotImplementedError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_ARG(condition, argument, ...) \
  TANDEM_CHECK(condition, "invalid argument ", argument, ": " __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_ARG_CHECK(condition, argument, ...) \
  TORCH_CHECK_ARG(condition, argument __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) TANDEM_WARN(__VA_ARGS__)
#define TORCH_WARN_ONCE(...) TANDEM_WARN_ONCE(__VA_ARGS__)
#define AT_ERROR(...) TANDEM_CHECK(false, __VA_ARGS__)
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)

// AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "name", [&] { scalar_t* p = x.data_ptr<scalar_t>();
// ... })
#define AT_DISPATCH_CASE(dtype, ...)                                                 \
  case dtype: {                                                                      \
    using scalar_t [[maybe_unused]] = typename ::tandem::type_of_dtype<dtype>::type; \
    return __VA_ARGS__();                                                            \
  }
#define AT_DISPATCH_SWITCH(type, name, ...)                                          \
  [&] {                                                                              \
    const ::tandem::DType tandem_type = (type);                                      \
    switch (tandem_type) {                                                           \
      __VA_ARGS__                                                                    \
      default:                                                                       \
        ::tandem::detail::raise<::tandem::NotImplementedError>(                      \
            ::tandem::str('"', name, "\" not implemented for '", tandem_type, "'")); \
    }                                                                                \
  }()
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)       \
  AT_DISPATCH_CASE(::tandem::kDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)     \
  AT_DISPATCH_CASE(::tandem::kByte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kChar, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kInt, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::tandem::kLong, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kShort, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...)      \
  AT_DISPATCH_SWITCH(type, name,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(::tandem::kHalf, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(extra, type, name, ...)    \
  AT_DISPATCH_SWITCH(type, name,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(extra, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(extra1, extra2, type, name, ...)            \
  AT_DISPATCH_SWITCH(type, name,                                                    \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE( \
                         extra1, __VA_ARGS__) AT_DISPATCH_CASE(extra2, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(extra, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name,                          \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(extra, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(extra1, extra2, type, name, ...)                                \
  AT_DISPATCH_SWITCH(type, name,                                                                   \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(extra1, __VA_ARGS__) \
                         AT_DISPATCH_CASE(extra2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(extra1, extra2, extra3, type, name, ...)                        \
  AT_DISPATCH_SWITCH(type, name,                                                                   \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(extra1, __VA_ARGS__) \
                         AT_DISPATCH_CASE(extra2, __VA_ARGS__)                                     \
                             AT_DISPATCH_CASE(extra3, __VA_ARGS__))
