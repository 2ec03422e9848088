#pragma once

#include "tandem/inspect/picture_detail.h"

/// A picture as text. `open` is DrawOptions::open.
namespace tandem::inspect {

std::string dot_text(const Picture& picture, int open);
std::string svg_text(const Picture& picture, int open);
std::string html_text(const Picture& picture, int open);

/// The script of the HTML page: it spaces out and shows what it is given.
extern const char* const kPageScript;
/// How boxes, groups and lines look, for SVG and HTML.
std::string style_sheet(const Picture& picture);
/// The kinds of boxes in the picture, in the order of their declaration.
std::vector<Kind> kinds_in(const Picture& picture);
/// The colours of module groups and fused ones.
struct GroupLook {
  const char *fill, *stroke, *text;
};
GroupLook look_of_group(bool fused);

}  // namespace tandem::inspect
