#pragma once

#include <cstdint>

/// How ops run on this thread. Guards set it for a scope and put it back.
namespace tandem {

struct Node;
class NodeObserver;
class Recorder;

struct Mode {
  bool grad = true;        // results remember how they were made
  bool inference = false;  // results are invisible to autograd for good
  bool anomaly = false;    // backward looks for NaN and names the forward op
  bool anomaly_check_nan = true;
  const Node* evaluating = nullptr;  // under anomaly: the node whose gradient is being computed
  NodeObserver* observer = nullptr;  // if set, it hears of every node that is made
  Recorder* recorder = nullptr;      // if set, it keeps what ops would do
  uint32_t made_in = 0;              // its number: what new storages get as their made_in
};
extern constinit thread_local Mode t_mode;

/// Ops run at once in its scope. What they make is a constant of what is recorded around it.
class EagerScope {
 public:
  EagerScope() : before_(t_mode.recorder) { t_mode.recorder = nullptr; }
  ~EagerScope() { t_mode.recorder = before_; }
  EagerScope(const EagerScope&) = delete;
  EagerScope& operator=(const EagerScope&) = delete;

 private:
  Recorder* before_;
};

struct GradMode {
  static bool is_enabled() { return t_mode.grad; }
  static void set_enabled(bool on) { t_mode.grad = on; }
};

/// Sets whether results remember how they were made, for a scope.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool on) : before_(t_mode.grad) { t_mode.grad = on; }
  ~AutoGradMode() { t_mode.grad = before_; }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};

/// Nothing computed in its scope can be differentiated.
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};
class AutoGradModeEnabled : public AutoGradMode {
 public:
  AutoGradModeEnabled() : AutoGradMode(true) {}
};
class EnableGradGuard : public AutoGradMode {
 public:
  EnableGradGuard() : AutoGradMode(true) {}
};

/// Like NoGradGuard, and tensors made in its scope keep no record at all: no version, no views.
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true) : before_(t_mode) {
    t_mode.inference = on;
    t_mode.grad = !on;
  }
  ~InferenceMode() { t_mode = before_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return t_mode.inference; }

 private:
  Mode before_;
};

}  // namespace tandem
