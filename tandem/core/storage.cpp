#include "tandem/core/storage.h"

#include <new>

#include "tandem/base/error.h"
#include "tandem/base/memory.h"
#include "tandem/core/mode.h"

namespace tandem {
namespace {

constexpr size_t kHeader = (sizeof(Storage) + 63) / 64 * 64;
constexpr int64_t kLargestInline = 4096 - kHeader;

}  // namespace

intrusive_ptr<Storage> Storage::make(int64_t nbytes, Device device) {
  TANDEM_CHECK(is_available(device.type()), "device ", device,
               " is not available in this build of Tandem; tensors can live on: cpu, meta");
  if (device.is_meta()) {
    auto* s = new (memory::detail::allocate_object(kHeader)) Storage;
    s->kind = Kind::kMeta;
    s->device = device;
    s->nbytes = nbytes;
    return intrusive_ptr<Storage>::adopt(s);
  }
  const bool is_inline = nbytes <= kLargestInline;
  void* data = is_inline ? nullptr : memory::detail::allocate_data(static_cast<size_t>(nbytes));
  const size_t block = is_inline ? kHeader + static_cast<size_t>(nbytes) : kHeader;
  auto* s = new (memory::detail::allocate_object(block)) Storage;
  s->data = is_inline ? reinterpret_cast<char*>(s) + kHeader : data;
  s->nbytes = nbytes;
  s->device = device;
  s->kind = is_inline ? Kind::kInline : Kind::kBlock;
  s->made_in = t_mode.made_in;
  memory::detail::count_storage(nbytes);
  return intrusive_ptr<Storage>::adopt(s);
}

intrusive_ptr<Storage> Storage::make_pending(int64_t nbytes, Device device, Recorder* recorder) {
  auto* s = new (memory::detail::allocate_object(kHeader)) Storage;
  s->kind = Kind::kPending;
  s->device = device;
  s->nbytes = nbytes;
  s->pending.store(recorder, std::memory_order_release);
  return intrusive_ptr<Storage>::adopt(s);
}

void Storage::fill() {
  TANDEM_ASSERT(kind == Kind::kPending, "only a pending storage lacks memory");
  data = memory::detail::allocate_data(static_cast<size_t>(nbytes));
  kind = Kind::kBlock;
  memory::detail::count_storage(nbytes);
}

intrusive_ptr<Storage> Storage::foreign(void* data, int64_t nbytes,
                                        std::function<void(void*)> deleter) {
  auto* s = new (memory::detail::allocate_object(kHeader)) Storage;
  s->data = data;
  s->nbytes = nbytes;
  s->kind = Kind::kForeign;
  s->exposed = true;
  s->made_in = t_mode.made_in;
  if (deleter) s->deleter = new std::function<void(void*)>(std::move(deleter));
  return intrusive_ptr<Storage>::adopt(s);
}

void Storage::destroy(Storage* s) {
  size_t block = kHeader;
  switch (s->kind) {
    case Kind::kInline:
      block += static_cast<size_t>(s->nbytes);
      memory::detail::count_storage(-s->nbytes);
      break;
    case Kind::kBlock:
      memory::detail::free_data(s->data, static_cast<size_t>(s->nbytes));
      memory::detail::count_storage(-s->nbytes);
      break;
    case Kind::kForeign:
      if (s->deleter) {
        (*s->deleter)(s->data);
        delete s->deleter;
      }
      break;
    case Kind::kMeta:
    case Kind::kPending:
      break;
  }
  s->~Storage();
  memory::detail::free_object(s, block);
}

}  // namespace tandem
