#pragma once

#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// What a user-defined function does in backward; see autograd/function.h.
struct CustomBackward {
  virtual ~CustomBackward() = default;
  /// The gradients by the node's inputs. `needed` says which of them are used.
  virtual std::vector<Tensor> run(const Node& node, std::vector<Tensor> grads,
                                  const bool* needed) = 0;
  /// Frees what was saved: backward has passed and will not come again.
  virtual void release() = 0;
  virtual std::string name() const = 0;
  /// True iff it gives what differentiating the ops of forward one by one would give.
  virtual bool repeats_forward() const { return false; }
};

/// The op of nodes whose gradient is a CustomBackward.
extern const OpDef kCustom;

/// Hears of every node that this thread makes while it lives. Those around it hear of them too.
class NodeObserver {
 public:
  NodeObserver() : outer_(std::exchange(t_mode.observer, this)) {}
  virtual ~NodeObserver() { t_mode.observer = outer_; }
  NodeObserver(const NodeObserver&) = delete;
  NodeObserver& operator=(const NodeObserver&) = delete;

  void made(const Node* n) {
    note(n);
    if (outer_) outer_->made(n);
  }

 private:
  virtual void note(const Node* n) = 0;
  NodeObserver* outer_;
};

/// The nodes that a thread has made since some moment. A node that lives is among them iff it was
/// made since then: addresses of freed nodes may be used again, but only by new ones.
class NewNodes final : public NodeObserver {
 public:
  bool has(const Node* n) const { return nodes_.contains(n); }

 private:
  void note(const Node* n) override { nodes_.insert(n); }
  std::unordered_set<const Node*> nodes_;
};

/// The parts of a node that few nodes have.
struct NodeExtra {
  struct Hook {
    unsigned number;
    uint32_t output;
    std::function<Tensor(const Tensor&)> call;
  };
  std::mutex mutex;           // guards grads: threads may share leaves
  std::vector<Tensor> grads;  // by output: a leaf's gradient, or one kept by retain_grad
  std::vector<bool> retain;   // by output
  std::vector<Hook> hooks;
  unsigned next_hook = 0;
  std::unique_ptr<CustomBackward> custom;

  /// Under DetectAnomalyGuard: the call that made the node; then, if it was made while another
  /// node's gradient was computed, the call that made that one, and so on.
  struct Call {
    std::string function;  // name of the node
    std::string text;      // "mul(float32 [2], float32 [2])"
  };
  std::vector<Call> made_by;
};

}  // namespace tandem
