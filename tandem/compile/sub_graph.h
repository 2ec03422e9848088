#pragma once

#include <memory>
#include <mutex>

#include "tandem/compile/program.h"

namespace tandem {

/// A graph within a node, such as the body of a loop. All of its inputs are arguments, and it
/// writes to none of them.
class SubGraph {
 public:
  SubGraph() = default;
  explicit SubGraph(Graph g) : shared_(std::make_shared<Shared>(std::move(g))) {}
  const Graph& graph() const { return shared_->graph; }
  /// Made ready at the first call.
  const Program& program() const;

  friend bool operator==(const SubGraph& a, const SubGraph& b);
  friend std::ostream& operator<<(std::ostream& out, const SubGraph& s);
  friend void read_field(AttrReader& in, SubGraph& s);

 private:
  struct Shared {
    explicit Shared(Graph g) : graph(std::move(g)) {}
    Graph graph;
    std::once_flag once;
    std::unique_ptr<Program> program;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace tandem

template <>
struct std::hash<tandem::SubGraph> {
  size_t operator()(const tandem::SubGraph& s) const { return tandem::structural_hash(s.graph()); }
};
