#include <set>
#include <sstream>

#include "tandem/inspect/formats_detail.h"
#include "tandem/inspect/text_detail.h"

namespace tandem::inspect {
namespace {

class Dot {
 public:
  Dot(const Picture& picture, int open)
      : picture_(picture),
        open_(picture.open_groups(open)),
        inside_(picture.groups.size()),
        children_(picture.groups.size()) {
    for (size_t g = 1; g < picture.groups.size(); ++g)
      children_[static_cast<size_t>(picture.groups[g].parent)].push_back(static_cast<int>(g));
    for (size_t b = 0; b < picture.boxes.size(); ++b)
      inside_[static_cast<size_t>(picture.boxes[b].group)].push_back(static_cast<int>(b));
  }

  std::string text() {
    out_ << "digraph " << dot_string(picture_.title.empty() ? "graph" : picture_.title) << " {\n"
         << "  graph [rankdir=TB, fontname=monospace, fontsize=12";
    if (!picture_.title.empty()) out_ << ", labelloc=t, label=" << dot_string(picture_.title);
    out_ << "];\n"
         << "  node [shape=box, style=filled, fontname=monospace, fontsize=10, height=0.2];\n"
         << "  edge [color=\"#5b6570\", arrowsize=0.7];\n";
    groups();
    lines();
    out_ << "}\n";
    return out_.str();
  }

 private:
  // Groups inside groups, without recursion: a negative entry closes the group it names.
  void groups() {
    std::vector<int> stack = {0};
    while (!stack.empty()) {
      const int g = stack.back();
      stack.pop_back();
      if (g < 0) {
        out_ << "  }\n";
        continue;
      }
      if (g > 0) {
        const Picture::Group& group = picture_.groups[static_cast<size_t>(g)];
        const GroupLook look = look_of_group(group.fused);
        if (!open_[static_cast<size_t>(g)]) {
          out_ << "  g" << g << " [label=" << dot_string(group.name)
               << ", tooltip=" << dot_string(group.tip) << ", shape=box3d, fillcolor=\""
               << look.fill << "\", color=\"" << look.stroke << "\"];\n";
          continue;
        }
        out_ << "  subgraph cluster_" << g << " {\n  label=" << dot_string(group.name)
             << "; tooltip=" << dot_string(group.tip) << "; labeljust=l; style=\"filled,rounded\"; "
             << "fillcolor=\"" << look.fill << "\"; color=\"" << look.stroke << "\";\n";
        stack.push_back(-g);
      }
      for (const int b : inside_[static_cast<size_t>(g)]) box(b);
      const auto& children = children_[static_cast<size_t>(g)];
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
  }

  void box(int b) {
    const Picture::Box& box = picture_.boxes[static_cast<size_t>(b)];
    const Look& look = look_of(box.kind, picture_.autograd);
    std::string label;
    for (const std::string& line : box.lines) label += (label.empty() ? "" : "\n") + clean(line);
    out_ << "  n" << b << " [label=" << dot_string(label) << ", tooltip=" << dot_string(box.tip)
         << ", fillcolor=\"" << look.fill << "\", color=\"" << look.stroke << "\"];\n";
  }

  // What stands for the box: itself, or the outermost closed group around it.
  std::string shown(int b) const {
    std::string name = "n" + std::to_string(b);
    for (int g = picture_.boxes[static_cast<size_t>(b)].group; g > 0;
         g = picture_.groups[static_cast<size_t>(g)].parent)
      if (!open_[static_cast<size_t>(g)]) name = "g" + std::to_string(g);
    return name;
  }

  void lines() {
    std::set<std::pair<std::string, std::string>> seen;
    for (const Picture::Line& l : picture_.lines) {
      const std::string from = shown(l.from), to = shown(l.to);
      if (from == to || !seen.emplace(from, to).second) continue;
      out_ << "  " << from << " -> " << to;
      if (l.dashed) out_ << " [style=dashed, color=\"#c98414\"]";
      out_ << ";\n";
    }
  }

  const Picture& picture_;
  const std::vector<bool> open_;
  std::vector<std::vector<int>> inside_, children_;  // by group: boxes, groups
  TextStream out_;
};

}  // namespace

std::string dot_text(const Picture& picture, int open) { return Dot(picture, open).text(); }

}  // namespace tandem::inspect
