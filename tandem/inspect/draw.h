#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/graph.h"
#include "tandem/inspect/module_notes.h"
#include "tandem/nn/module.h"

namespace tandem {

/// What can be drawn: the graph behind one result or several, a graph as it is, or what a compiled
/// function runs.
class Drawable {
 public:
  Drawable(const Tensor& result) : results_{result} {}
  Drawable(std::vector<Tensor> results) : results_(std::move(results)) {}
  Drawable(std::initializer_list<Tensor> results) : results_(results) {}
  /// By reference: the graph must be there until the drawing is made.
  Drawable(const Graph& graph) : graph_(&graph) {}
  /// What compile() gave: the graph of its latest call after all passes, with fused groups. The
  /// graph as it was recorded is its graph().
  template <class F>
  requires requires(const F& f) {
    { f.optimised_graph() } -> std::convertible_to<const Graph&>;
  }
  Drawable(const F& compiled) : graph_(&compiled.optimised_graph()) {}

  const Graph* graph() const { return graph_; }  // null: the graph behind results()
  const std::vector<Tensor>& results() const { return results_; }

 private:
  const Graph* graph_ = nullptr;
  std::vector<Tensor> results_;
};

/// A module by reference, from whatever holds it.
class ModuleRef {
 public:
  ModuleRef() = default;
  ModuleRef(const nn::Module& m) : module_(&m) {}
  ModuleRef(const nn::Module* m) : module_(m) {}
  template <class M>
  ModuleRef(const std::shared_ptr<M>& m) : module_(m.get()) {}
  template <class M>
  ModuleRef(const nn::ModuleHolder<M>& m) : module_(m.get()) {}
  const nn::Module* get() const { return module_; }

 private:
  const nn::Module* module_ = nullptr;
};

struct DrawOptions {
  /// Gives parameters and buffers their names, "encoder.0.weight", and puts boxes in groups: one
  /// for each module, inside that of the module that registered it. Which module a box belongs to
  /// is exact if a ModuleNotes was there when the boxes' values were computed. Otherwise it is
  /// found from parameters: what reads a parameter is its module's, and what lies between such
  /// boxes belongs to the innermost module that holds one before and one after it.
  ModuleRef module = {};
  /// Names for further tensors.
  std::vector<std::pair<std::string, Tensor>> names = {};
  /// Whether to show what functions keep for backward. After backward there is nothing to show.
  bool saved = true;
  /// Whether boxes say with which attributes an op was called. Tooltips always do.
  bool attributes = true;
  /// Whether leaves have a box of their own for what adds to their gradient.
  bool accumulate_grad = false;
  /// Whether many tensors that one op alone reads, or makes to be written back, are one box: what
  /// an optimiser remembers of hundreds of parameters says little one by one.
  bool fold = true;
  /// How many levels of groups are open; the others are one box each. -1: all of them, and on an
  /// HTML page, where a click opens more, so many that a screen can show them.
  int open = -1;
  /// Graphs with more boxes are refused: neither browsers nor readers are up to them.
  size_t max_nodes = 20'000;
  /// Above the drawing.
  std::string title = {};
};

/// Draws a graph to a file; its extension says how: .svg is a picture, .html a page on which groups
/// open and close by a click, .dot or .gv a text for Graphviz.
///
///     ModuleNotes notes;                     // boxes will know their module
///     Tensor loss = cross_entropy(net(x), y);
///     draw(loss, "graph.html", {.module = net});
///
/// The graph behind a result shows what backward would do, from the leaves at the top to the result
/// at the bottom: leaves that need a gradient are blue, saved tensors orange, results green,
/// backward functions grey. A Graph shows arguments, captured tensors, constants, ops, results and
/// what is written back, and boxes around what became one kernel.
///
/// The page is one file that needs nothing else. The file is written as a whole or not at all.
void draw(const Drawable& what, const std::string& path, const DrawOptions& options = {});

/// The same as text. Equal graphs give equal bytes.
std::string to_dot(const Drawable& what, const DrawOptions& options = {});
std::string to_svg(const Drawable& what, const DrawOptions& options = {});
std::string to_html(const Drawable& what, const DrawOptions& options = {});

}  // namespace tandem
