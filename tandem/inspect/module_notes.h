#pragma once

#include <memory>
#include <vector>

namespace tandem {

namespace nn {
class Module;
}
struct Node;

/// While it lives, every node that this thread makes is noted with the module whose forward() was
/// running: draw() then knows to which module it belongs.
///
///     ModuleNotes notes;
///     Tensor loss = cross_entropy(net(x), y);
///     draw(loss, "graph.html", {.module = net});
///
/// A forward() is seen to run if it is called through the module's holder, as in net(x), or begins
/// with a ForwardScope, as those of all layers do. Without notes nothing is noted, and nothing
/// is spent on it.
class ModuleNotes {
 public:
  ModuleNotes();
  ~ModuleNotes();
  ModuleNotes(const ModuleNotes&) = delete;
  ModuleNotes& operator=(const ModuleNotes&) = delete;

  /// The modules whose forward() was running when the node was made, from the innermost on, as far
  /// as this thread's innermost notes know. They may be gone by now.
  static std::vector<const nn::Module*> modules_of(const Node& n);
  /// True iff they know the node: it was made since they began.
  static bool know(const Node& n);
  /// True iff the module's forward() was seen to run. What it makes is then noted, and what was
  /// not noted for it was made by others.
  static bool saw(const nn::Module& m);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
