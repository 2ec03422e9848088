#include <sstream>

#include "tandem/inspect/picture_detail.h"
#include "tandem/inspect/text_detail.h"

namespace tandem::inspect {

const Look& look_of(Kind kind, bool autograd) {
  static constexpr Look kLooks[kKinds] = {
      {"leaf", "#add8e6", "#4f8fae", "leaf that needs a gradient"},
      {"function", "#e1e4e8", "#8a9199", "op"},
      {"saved", "#ffc266", "#c98414", "saved tensor"},
      {"result", "#b5e58b", "#5f9a2c", "result"},
      {"argument", "#fff2a8", "#b59b1d", "argument"},
      {"captured", "#add8e6", "#4f8fae", "captured tensor"},
      {"constant", "#e2d9f3", "#8a75b5", "constant"},
      {"write", "#f8c8d4", "#bd5b77", "written back"},
  };
  static constexpr Look kFunction = {"function", "#e1e4e8", "#8a9199", "backward function"};
  if (kind == Kind::function && autograd) return kFunction;
  return kLooks[static_cast<int>(kind)];
}

int Picture::depth_of(int group) const {
  int depth = 0;
  for (; group > 0; group = groups[static_cast<size_t>(group)].parent) ++depth;
  return depth;
}

std::vector<bool> Picture::open_groups(int open) const {
  std::vector<bool> is_open(groups.size(), true);
  for (size_t g = 1; g < groups.size() && open >= 0; ++g)
    is_open[g] = depth_of(static_cast<int>(g)) <= open;
  return is_open;
}

int Picture::levels_within(size_t most) const {
  std::vector<size_t> at;  // by depth: boxes and groups that stand there
  const auto count = [&](int depth) {
    if (at.size() <= static_cast<size_t>(depth)) at.resize(static_cast<size_t>(depth) + 1);
    ++at[static_cast<size_t>(depth)];
  };
  for (const Box& b : boxes) count(depth_of(b.group));
  for (size_t g = 1; g < groups.size(); ++g) count(depth_of(groups[g].parent));
  size_t seen = at.empty() ? 0 : at[0];
  int levels = 0;
  for (size_t d = 1; d < at.size(); ++d) {
    // The first level is most of what there is to see, so it may be somewhat larger.
    seen += at[d];
    if (seen > (d == 1 ? 4 * most : most)) break;
    levels = static_cast<int>(d);
  }
  return levels;
}

std::string short_type(const TensorType& t) {
  if (t.dtype == DType::Undefined) return "undefined";
  TextStream out;
  if (t.dtype != DType::Float) out << name_of(t.dtype) << ' ';
  out << '[';
  for (size_t i = 0; i < t.sizes.size(); ++i) out << (i ? ", " : "") << t.sizes[i];
  out << ']';
  return out.str();
}

std::string attribute_text(AttrRef attrs, size_t longest) {
  if (!attrs.type) return {};
  TextStream out;
  attrs.type->print(out, attrs.data);
  return shorten(clean(out.str()), longest);
}

void expect_drawable(size_t boxes, const DrawOptions& options) {
  TANDEM_CHECK(boxes <= options.max_nodes, "draw: the graph has at least ", boxes,
               " nodes, more than the ", options.max_nodes,
               " of DrawOptions::max_nodes (draw a part of it, leave out what was saved with "
               ".saved = false, or allow more)");
}

Picture make_picture(const Drawable& what, const DrawOptions& options) {
  Picture p = what.graph() ? picture_of_graph(*what.graph(), options)
                           : picture_of_results(what.results(), options);
  p.title = options.title;
  return p;
}

}  // namespace tandem::inspect
