#pragma once

#include <unordered_map>

#include "tandem/inspect/picture_detail.h"

namespace tandem::inspect {

/// The modules below the one that a drawing is about, and what their tensors are called.
class ModuleTree {
 public:
  struct Entry {
    std::string path;   // "layer1.0"; empty for the module itself
    std::string label;  // "0: BasicBlock"
    int parent;         // -1 for the module itself
    int depth;
    bool seen;         // notes tell what its forward() made
    bool leaf = true;  // it holds no other modules
  };
  struct Name {
    std::string text;
    int module = -1;  // that owns it; -1: the name was given by itself
  };

  explicit ModuleTree(const DrawOptions& options);

  const std::vector<Entry>& entries() const { return entries_; }
  /// The one that made the node, by a ModuleNotes; -1: none of these.
  int maker_of(const Node& n) const;
  /// Null if it has none.
  const Name* name_of(const TensorImpl* t) const;
  const Name* name_of_leaf(const Node* leaf) const;
  /// The innermost module that holds both; -1 stands for outside of all.
  int common(int a, int b) const;

 private:
  void add_tensor(const Tensor& t, Name name);
  std::vector<Entry> entries_;
  std::unordered_map<const nn::Module*, int> modules_;
  std::unordered_map<const TensorImpl*, Name> tensors_;
  std::unordered_map<const Node*, const TensorImpl*> leaves_;
};

/// What is known of a box before its group is chosen.
struct Origin {
  int owner = -1;      // the module whose tensor it is
  bool known = false;  // a ModuleNotes knows it,
  int noted = -1;      // and the module that made it
  /// True iff it also reads what has no box: values that need no gradient.
  bool reads_more = false;
};

/// Puts the boxes into groups, one for each module; groups that are there (fused ones) stay whole.
///
/// The module of a box: that of the tensor it is; else the innermost that holds all modules whose
/// parameters it reads; else the innermost that holds both something that comes next before it and
/// something that comes next after it on the way from parameter to parameter. What lies on no such
/// way is outside of all modules, but what is written back to a tensor without a name is where it
/// is made. Notes come first: a box that they know is in no other module whose forward() they have
/// seen running than the one they name.
///
/// If the picture `trains`, it goes through the modules forwards and backwards, and what lies
/// between two uses of one layer may be everything behind that layer: it belongs to the module
/// around it.
///
/// A module whose results come back to it through others is shown once for each such visit, so that
/// its closed group has no way around back into it.
void group_by_module(Picture& picture, const ModuleTree& tree, const std::vector<Origin>& origins,
                     bool trains);

}  // namespace tandem::inspect
