#pragma once

#include "tandem/inspect/picture_detail.h"

/// Where everything stands, in two steps.
///
/// arrange() gives every group rows of its own: what a group holds (boxes, and inner groups as one
/// item each) stands in rows so that lines lead downwards, in an order in which few of them cross.
/// Lines that pass a row have a place in it, a bend; lines that leave or enter a group do so at a
/// port on its lower or upper border. None of that depends on which groups are open.
///
/// place() gives coordinates: it spaces the rows out, from the innermost groups to the outermost.
/// The HTML page does the same in the browser when a group is opened or closed (html_script.cpp).
///
/// What follows from the construction: inside of a row lines are vertical, at places that no box
/// has, and between rows there are no boxes, so no line runs through a box; a group is an item of
/// its row, so nothing else is inside of it.
namespace tandem::inspect {

struct Arrangement {
  enum class What : uint8_t { box, group, in_port, out_port, bend };
  struct Item {
    What what;
    int ref;  // the box or group; of ports and bends the box that the line comes from
    int row = 0;
  };
  /// A line's part from one row to the next, or, of a line too long to be given bends, to a later
  /// one.
  struct Link {
    int from, to;                      // items of the level; `from` is in the upper row
    int from_port = -1, to_port = -1;  // where the item is a group: which item of its own level
    int source = 0;                    // the box that the line comes from
    bool dashed = false;
    bool upwards = false;  // the line leads from `to` to `from`: groups that depend on each other
  };
  struct Level {
    std::vector<Item> items;
    std::vector<std::vector<int>> rows;  // items, from left to right
    std::vector<Link> links;
  };
  std::vector<Level> levels;  // by group
};

Arrangement arrange(const Picture& picture);

/// Finds the order in the rows that makes few links cross; a part of arrange().
void order_rows(Arrangement& arrangement, size_t level);
/// How many pairs of links cross.
size_t crossings(const Arrangement::Level& level);

struct Size {
  double w = 0, h = 0;
};
struct Rect {
  double x = 0, y = 0, w = 0, h = 0;  // w is 0 for what is not shown
};
/// From (x1, y1) straight down to y2, in a curve to (x2, y3), straight down to y4.
struct Wire {
  double x1, y1, y2, x2, y3, y4;
  int source;
  bool dashed;
  bool arrow;    // at the lower end
  bool upwards;  // at the upper end instead
};
struct Placement {
  Size size;
  std::vector<Rect> boxes, groups;
  std::vector<Wire> wires;
};

Placement place(const Picture& picture, const Arrangement& arrangement,
                const std::vector<bool>& open);

Size size_of(const Picture::Box& box);
/// Of a closed group.
Size size_of(const Picture::Group& group);
/// What the name of an open group takes.
double label_width(const Picture::Group& group);

constexpr double kTitleFont = 12, kTextFont = 10;
/// What a group leaves free inside: at the sides, above for its name, below.
constexpr double kSide = 16, kHeader = 24, kFoot = 12;
/// Height of a line of text of that size.
constexpr double line_height(double font) { return font * 1.3; }

}  // namespace tandem::inspect
