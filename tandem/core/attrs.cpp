#include "tandem/core/attrs.h"

#include <charconv>

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

void print_real(std::ostream& out, double v) {
  char text[32];
  out << std::string_view(text, std::to_chars(text, text + sizeof(text), v).ptr - text);
}

// A real number always shows a point, an exponent or letters, so that it is not taken for a whole
// one.
void print_scalar(std::ostream& out, const Scalar& v) {
  if (v.isBoolean()) {
    out << (v.toBool() ? "true" : "false");
  } else if (!v.isFloatingPoint()) {
    out << v.toLong();
  } else {
    char text[32];
    const std::string_view number(
        text, std::to_chars(text, text + sizeof(text), v.toDouble()).ptr - text);
    out << number << (number.find_first_of(".en") == number.npos ? ".0" : "");
  }
}

void print_quoted(std::ostream& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out << '\\' << c;
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      out << "\\x" << kDigits[c >> 4] << kDigits[c & 15];
    else
      out << c;
  }
  out << '"';
}

void cannot_be_read(const AttrReader& in) {
  in.fail("this attribute holds something that is not read from text");
}

std::string_view nth_field_name(std::string_view names, size_t n) {
  for (; n > 0; --n) names.remove_prefix(names.find(',') + 1);
  while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
  return names.substr(0, names.find(','));
}

}  // namespace detail
}  // namespace tandem
