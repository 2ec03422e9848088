#pragma once

#include <string>
#include <vector>

#include "tandem/inspect/draw.h"

/// What is to be seen, before anybody asks where: boxes, lines and groups.
namespace tandem::inspect {

enum class Kind : uint8_t { leaf, function, saved, result, argument, captured, constant, write };
constexpr int kKinds = 8;
/// True iff data flows through such boxes; the others are where it begins or ends.
constexpr bool flows(Kind k) { return k == Kind::function || k == Kind::argument; }

/// How a kind of box looks and what the legend calls it.
struct Look {
  const char* name;  // as a class in style sheets
  const char* fill;
  const char* stroke;
  const char* words;
};
const Look& look_of(Kind kind, bool autograd);

/// Invariants: lines lead from a box to one with a larger number; groups come after the one around
/// them; groups[0] is the whole picture and has no box.
struct Picture {
  struct Box {
    Kind kind;
    std::vector<std::string> lines;  // the first is its name
    std::string tip;                 // everything that is known
    int group = 0;
  };
  struct Line {
    int from, to;
    bool dashed = false;  // the value is kept, but no gradient flows this way
  };
  struct Group {
    std::string name;
    std::string tip;
    int parent = -1;
    bool fused = false;  // one kernel; otherwise a module
  };

  std::vector<Box> boxes;
  std::vector<Line> lines;
  std::vector<Group> groups{Group{}};
  bool autograd = false;
  std::string title;

  int depth_of(int group) const;
  /// By group: whether it is shown open if `open` levels are; see DrawOptions::open.
  std::vector<bool> open_groups(int open) const;
  /// How many levels may be open if about so many boxes are to be seen at most.
  int levels_within(size_t boxes) const;
};

/// Throws an Error where there is nothing to draw, or too much.
Picture make_picture(const Drawable& what, const DrawOptions& options);

// By kind of graph; parts of make_picture.
Picture picture_of_results(const std::vector<Tensor>& results, const DrawOptions& options);
Picture picture_of_autograd(const Graph& graph, const DrawOptions& options);
Picture picture_of_graph(const Graph& graph, const DrawOptions& options);

/// "[2, 3]", with the dtype before it unless that is float32.
std::string short_type(const TensorType& t);
/// The attributes as printed, at most so many characters of them.
std::string attribute_text(AttrRef attrs, size_t longest);
void expect_drawable(size_t boxes, const DrawOptions& options);

}  // namespace tandem::inspect
