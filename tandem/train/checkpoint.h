#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tandem/nn/module.h"
#include "tandem/optim/schedulers/lr_scheduler.h"
#include "tandem/serialize/archive.h"

namespace tandem {

/// Anything that can be saved to an archive and loaded again, by reference: a module, its holder,
/// an optimiser, a schedule, a data loader.
class Saveable {
 public:
  Saveable() = default;
  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, Saveable>) Saveable(T& thing) {
    if constexpr (requires(serialize::OutputArchive & a) { thing.save(a); }) {
      bind(&thing);
    } else if constexpr (std::is_base_of_v<optim::LRScheduler, T>) {
      bind_schedule(&thing);
    } else {
      // A holder or a pointer.
      using Pointed = std::remove_reference_t<decltype(*thing)>;
      if constexpr (std::is_base_of_v<optim::LRScheduler, Pointed>)
        bind_schedule(&*thing);
      else
        bind(&*thing);
    }
  }
  explicit operator bool() const { return static_cast<bool>(save); }

  std::function<void(serialize::OutputArchive&)> save;
  std::function<void(serialize::InputArchive&)> load;

 private:
  template <class T>
  void bind(T* thing) {
    save = [thing](serialize::OutputArchive& a) { thing->save(a); };
    load = [thing](serialize::InputArchive& a) { thing->load(a); };
  }
  void bind_schedule(optim::LRScheduler* schedule);
};

/// What a training run is made of. Parts that are left out are neither saved nor loaded.
struct Checkpoint {
  Saveable module = {}, optimizer = {}, scheduler = {}, loader = {};
  /// What a training loop remembers beside these.
  Saveable progress = {};
  /// Numbers and texts of the program's own: the epoch, the best loss.
  std::map<std::string, IValue> values = {};
};

/// Saves everything that a run needs to go on exactly as if it had not been stopped: the parts, and
/// where the random numbers are. The file is replaced as a whole and has a checksum: whenever the
/// process or the machine stops, it is the old one or the new one.
void save_checkpoint(const std::string& path, const Checkpoint& parts);

/// Puts everything back, and gives the program's own values. If the file is damaged, or something
/// in it does not fit, an error says what, and nothing has changed.
std::map<std::string, IValue> load_checkpoint(const std::string& path, const Checkpoint& parts);

}  // namespace tandem
