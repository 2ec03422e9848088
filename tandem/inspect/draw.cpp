#include "tandem/inspect/draw.h"

#include <algorithm>
#include <cctype>

#include "tandem/inspect/formats_detail.h"
#include "tandem/io/file.h"

namespace tandem {

using namespace inspect;

std::string to_dot(const Drawable& what, const DrawOptions& options) {
  return dot_text(make_picture(what, options), options.open);
}
std::string to_svg(const Drawable& what, const DrawOptions& options) {
  return svg_text(make_picture(what, options), options.open);
}
std::string to_html(const Drawable& what, const DrawOptions& options) {
  return html_text(make_picture(what, options), options.open);
}

void draw(const Drawable& what, const std::string& path, const DrawOptions& options) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  std::string kind;
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash))
    kind = path.substr(dot + 1);
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string (*text)(const Drawable&, const DrawOptions&) = nullptr;
  if (kind == "dot" || kind == "gv") text = to_dot;
  if (kind == "svg") text = to_svg;
  if (kind == "html" || kind == "htm") text = to_html;
  TANDEM_CHECK_AS(ValueError, text, "draw: '", path,
                  "' does not end in .svg, .html, .dot or .gv, so it does not say what to write");
  const std::string bytes = text(what, options);
  try {
    io::AtomicFile file(path);
    file.write(bytes);
    file.commit();
  } catch (const FileError& e) {
    throw FileError(str("draw: ", e.what()));
  }
}

}  // namespace tandem
