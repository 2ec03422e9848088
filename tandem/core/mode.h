#pragma once

#include <cstdint>

/// How ops run on this thread. Guards set it for a scope and put it back.
namespace tandem {

struct Node;
struct NewNodes;
class Recorder;

struct Mode {
  bool grad = true;        // results remember how they were made
  bool inference = false;  // results are invisible to autograd for good
  bool anomaly = false;    // backward looks for NaN and names the forward op
  bool anomaly_check_nan = true;
  const Node* evaluating = nullptr;  // under anomaly: the node whose gradient is being computed
  NewNodes* new_nodes = nullptr;     // if set, every node made is entered there
  Recorder* recorder = nullptr;      // if set, it keeps what ops would do
};
extern constinit thread_local Mode t_mode;
/// A number of its own for each recorder, never 0.
uint32_t recorder_id(const Recorder& r);

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
