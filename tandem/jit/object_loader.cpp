#include "tandem/jit/object_loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tandem/jit/functions.h"

// Of libgcc: makes exceptions pass through code that it does not know otherwise.
extern "C" void __register_frame(void*);

namespace tandem::jit {
namespace {

constexpr size_t kStubBytes = 16;

// Everything is checked against the end of the object: it may come from a damaged file.
class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {}

  void* load(std::string_view symbol, std::string* why) {
    void* result = nullptr;
    if (read_sections() && place() && relocate()) result = find(symbol);
    if (result == nullptr) {
      if (error_ == nullptr) error_ = "the symbol is not there";
      if (why != nullptr) *why = error_;
      if (memory_ != nullptr) munmap(memory_, size_);
      return nullptr;
    }
    if (mprotect(memory_, size_, PROT_READ | PROT_EXEC) != 0) {
      if (why != nullptr) *why = "the memory could not be made executable";
      munmap(memory_, size_);
      return nullptr;
    }
    if (frames_ != nullptr) __register_frame(frames_);
    return result;
  }

 private:
  struct Section {
    Elf64_Shdr header;
    unsigned char* memory = nullptr;  // null: not loaded
  };

  bool fail(const char* why) {
    error_ = why;
    return false;
  }
  bool inside(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  template <class T>
  bool read(uint64_t offset, T* to) const {
    if (!inside(offset, sizeof(T))) return false;
    std::memcpy(to, bytes_.data() + offset, sizeof(T));
    return true;
  }
  std::string_view text(const Section& table, uint64_t at) const {
    const uint64_t offset = table.header.sh_offset, size = table.header.sh_size;
    if (!inside(offset, size) || at >= size) return {};
    const char* from = bytes_.data() + offset + at;
    return {from, strnlen(from, size - at)};
  }

  bool read_sections() {
    Elf64_Ehdr h;
    if (!read(0, &h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_REL || h.e_machine != EM_X86_64 ||
        h.e_shentsize != sizeof(Elf64_Shdr))
      return fail("it is not an object of this machine");
    for (uint64_t i = 0; i < h.e_shnum; ++i) {
      Section s;
      if (!read(h.e_shoff + i * sizeof(Elf64_Shdr), &s.header)) return fail("it is cut off");
      if (s.header.sh_type != SHT_NOBITS && !inside(s.header.sh_offset, s.header.sh_size))
        return fail("it is cut off");
      sections_.push_back(s);
    }
    for (Section& s : sections_) {
      if (s.header.sh_type != SHT_SYMTAB) continue;
      if (s.header.sh_link >= sections_.size()) return fail("its symbols have no names");
      names_ = &sections_[s.header.sh_link];
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.header.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        if (!read(s.header.sh_offset + at, &symbol)) return fail("it is cut off");
        symbols_.push_back(symbol);
      }
    }
    if (names_ == nullptr || h.e_shstrndx >= sections_.size()) return fail("it has no symbols");
    section_names_ = &sections_[h.e_shstrndx];
    return true;
  }

  bool loaded(const Section& s) const {
    return (s.header.sh_flags & SHF_ALLOC) != 0 && s.header.sh_size > 0 &&
           (s.header.sh_type == SHT_PROGBITS || s.header.sh_type == SHT_X86_64_UNWIND ||
            s.header.sh_type == SHT_NOBITS);
  }

  // One mapping: sections that are loaded, then a stub for each function outside.
  bool place() {
    uint64_t at = 0;
    std::vector<uint64_t> offsets;
    for (const Section& s : sections_) {
      if (loaded(s)) {
        const uint64_t align = s.header.sh_addralign > 0 ? s.header.sh_addralign : 1;
        if (align > 4096 || (align & (align - 1)) != 0 || s.header.sh_size > (1u << 28))
          return fail("a section is out of bounds");
        at = (at + align - 1) & ~(align - 1);
        offsets.push_back(at);
        // The unwinder's list ends with a zero.
        at += s.header.sh_size + 8;
      } else {
        offsets.push_back(0);
      }
    }
    at = (at + kStubBytes - 1) & ~uint64_t{kStubBytes - 1};
    const uint64_t stubs = at;
    at += symbols_.size() * kStubBytes;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    size_ = (at + page - 1) & ~(page - 1);
    if (size_ == 0) return fail("it is empty");
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return fail("there is no memory for it");
    memory_ = static_cast<unsigned char*>(memory);
    stubs_ = memory_ + stubs;
    for (size_t i = 0; i < sections_.size(); ++i) {
      Section& s = sections_[i];
      if (!loaded(s)) continue;
      s.memory = memory_ + offsets[i];
      if (s.header.sh_type != SHT_NOBITS)
        std::memcpy(s.memory, bytes_.data() + s.header.sh_offset, s.header.sh_size);
      if (text(*section_names_, s.header.sh_name) == ".eh_frame") frames_ = s.memory;
    }
    return true;
  }

  // Where a symbol lies; functions outside by a stub, which reaches any address.
  bool address_of(uint64_t index, unsigned char** to) {
    if (index >= symbols_.size()) return fail("a symbol is out of bounds");
    const Elf64_Sym& s = symbols_[index];
    if (s.st_shndx != SHN_UNDEF) {
      if (s.st_shndx >= sections_.size() || sections_[s.st_shndx].memory == nullptr ||
          s.st_value > sections_[s.st_shndx].header.sh_size)
        return fail("a symbol is out of bounds");
      *to = sections_[s.st_shndx].memory + s.st_value;
      return true;
    }
    void* function = find_function(text(*names_, s.st_name));
    if (function == nullptr) return fail("it calls a function that there is not");
    unsigned char* stub = stubs_ + index * kStubBytes;
    // jmp [rip + 0], then the address
    const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
    std::memcpy(stub, jump, sizeof(jump));
    std::memcpy(stub + sizeof(jump), &function, sizeof(function));
    *to = stub;
    return true;
  }

  bool relocate() {
    for (const Section& table : sections_) {
      if (table.header.sh_type != SHT_RELA) continue;
      if (table.header.sh_info >= sections_.size()) return fail("a relocation is out of bounds");
      const Section& target = sections_[table.header.sh_info];
      if (target.memory == nullptr) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.header.sh_size;
           at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        if (!read(table.header.sh_offset + at, &r)) return fail("it is cut off");
        if (!apply(r, target)) return false;
      }
    }
    return true;
  }

  bool apply(const Elf64_Rela& r, const Section& target) {
    unsigned char* to = nullptr;
    if (!address_of(ELF64_R_SYM(r.r_info), &to)) return false;
    const uint32_t type = ELF64_R_TYPE(r.r_info);
    const uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    if (r.r_offset > target.header.sh_size || width > target.header.sh_size - r.r_offset)
      return fail("a relocation is out of bounds");
    unsigned char* place = target.memory + r.r_offset;
    const int64_t value = reinterpret_cast<int64_t>(to) + r.r_addend;
    const int64_t relative = value - reinterpret_cast<int64_t>(place);
    switch (type) {
      case R_X86_64_64:
        std::memcpy(place, &value, 8);
        return true;
      case R_X86_64_PC64:
        std::memcpy(place, &relative, 8);
        return true;
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        if (relative < std::numeric_limits<int32_t>::min() ||
            relative > std::numeric_limits<int32_t>::max())
          return fail("a relocation does not reach");
        const auto narrow = static_cast<int32_t>(relative);
        std::memcpy(place, &narrow, 4);
        return true;
      }
      default:
        return fail("it has a relocation of an unknown kind");
    }
  }

  void* find(std::string_view symbol) {
    for (const Elf64_Sym& s : symbols_) {
      if (s.st_shndx == SHN_UNDEF || text(*names_, s.st_name) != symbol) continue;
      if (s.st_shndx >= sections_.size() || sections_[s.st_shndx].memory == nullptr ||
          s.st_value >= sections_[s.st_shndx].header.sh_size)
        return nullptr;
      return sections_[s.st_shndx].memory + s.st_value;
    }
    return nullptr;
  }

  std::string_view bytes_;
  const char* error_ = nullptr;
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
  const Section* names_ = nullptr;
  const Section* section_names_ = nullptr;
  unsigned char* memory_ = nullptr;
  unsigned char* stubs_ = nullptr;
  unsigned char* frames_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

void* load_object(std::string_view object, std::string_view symbol, std::string* why) {
  return Object(object).load(symbol, why);
}

}  // namespace tandem::jit
