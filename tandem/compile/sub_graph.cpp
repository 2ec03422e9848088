#include "tandem/compile/sub_graph.h"

#include <ostream>

namespace tandem {

const Program& SubGraph::program() const {
  std::call_once(shared_->once,
                 [this] { shared_->program = std::make_unique<Program>(shared_->graph); });
  return *shared_->program;
}

bool operator==(const SubGraph& a, const SubGraph& b) {
  return a.shared_ == b.shared_ || (a.shared_ && b.shared_ && same(a.graph(), b.graph()));
}

std::ostream& operator<<(std::ostream& out, const SubGraph& s) {
  detail::print_quoted(out, s.graph().str());
  return out;
}

void read_field(AttrReader& in, SubGraph& s) {
  const size_t place = in.place();
  const std::string text = in.quoted();
  try {
    s = SubGraph(Graph::parse(text));
  } catch (const Error& e) {
    in.fail_at(place, std::string("in the graph within: ") + e.what());
  }
  if (!s.graph().writes.empty() || !s.graph().captured.empty())
    in.fail_at(place, "a graph within another must not capture or write tensors");
}

}  // namespace tandem
