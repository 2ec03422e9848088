#include "tandem/inspect/module_notes.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tandem/base/error_context.h"
#include "tandem/core/node_extra.h"
#include "tandem/nn/module.h"

namespace tandem {

struct ModuleNotes::Impl final : NodeObserver {
  struct Note {
    std::vector<const nn::Module*> modules;
    const OpDef* op;
  };

  Impl() : outer(std::exchange(innermost, this)) {}
  ~Impl() override { innermost = outer; }

  // A node's address may have been another's before: a later note takes an earlier one's place.
  void note(const Node* n) override {
    std::vector<const nn::Module*> running;
    for (const ErrorContext* c = ErrorContext::current(); c; c = c->outer())
      if (const auto* scope = dynamic_cast<const nn::ForwardScope*>(c)) {
        // A holder and the layer itself both begin one.
        if (running.empty() || running.back() != &scope->module())
          running.push_back(&scope->module());
        seen.insert(&scope->module());
      }
    notes[n] = {std::move(running), n->op};
  }

  // Nodes of other threads are not noted, and may lie where a noted one was.
  const Note* find(const Node& n) const {
    const auto found = notes.find(&n);
    return found == notes.end() || found->second.op != n.op ? nullptr : &found->second;
  }

  std::unordered_set<const nn::Module*> seen;
  std::unordered_map<const Node*, Note> notes;
  Impl* outer;
  static constinit thread_local Impl* innermost;
};
constinit thread_local ModuleNotes::Impl* ModuleNotes::Impl::innermost = nullptr;

ModuleNotes::ModuleNotes() : impl_(std::make_unique<Impl>()) {}
ModuleNotes::~ModuleNotes() = default;

std::vector<const nn::Module*> ModuleNotes::modules_of(const Node& n) {
  const Impl::Note* note = Impl::innermost ? Impl::innermost->find(n) : nullptr;
  return note ? note->modules : std::vector<const nn::Module*>();
}

bool ModuleNotes::know(const Node& n) { return Impl::innermost && Impl::innermost->find(n); }

bool ModuleNotes::saw(const nn::Module& m) {
  return Impl::innermost && Impl::innermost->seen.contains(&m);
}

}  // namespace tandem
