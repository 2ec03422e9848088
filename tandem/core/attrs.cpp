#include "tandem/core/attrs.h"

#include "tandem/base/memory.h"

namespace tandem {

AttrBox::AttrBox(AttrRef a) : type_(a.type) {
  if (!a.type) return;
  data_ = memory::detail::allocate_object(a.type->size);
  a.type->copy(data_, a.data);
}

AttrBox::~AttrBox() {
  if (!data_) return;
  type_->destroy(data_);
  memory::detail::free_object(data_, type_->size);
}

namespace detail {

std::string_view nth_field_name(std::string_view names, size_t n) {
  for (; n > 0; --n) names.remove_prefix(names.find(',') + 1);
  while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
  return names.substr(0, names.find(','));
}

}  // namespace detail
}  // namespace tandem
