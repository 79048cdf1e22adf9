#include "worker/device/emulated/object_file.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace pawl {
namespace {

// "_ZZ6kernelvE6a_tile" is "kernel()::a_tile": the last name; "a_tile.0" of a C function's is
// "a_tile".
std::string PlainName(const std::string& symbol) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : symbol;
  std::free(demangled);
  if (const std::size_t colons = name.rfind("::"); colons != std::string::npos) {
    name = name.substr(colons + 2);
  }
  return name.substr(0, name.find('.'));
}

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {
    Elf64_Ehdr file;
    if (!At(0, file) || std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0) return;
    for (std::size_t i = 0; i < file.e_shnum; ++i) {
      Elf64_Shdr header;
      if (!At(file.e_shoff + i * file.e_shentsize, header)) return;
      sections_.push_back(header);
    }
    names_ = file.e_shstrndx;
  }

  template <typename T>
  bool At(std::size_t at, T& value) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return true;
  }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string Text(std::size_t table, std::size_t at) const {
    if (table >= sections_.size() || at >= sections_[table].sh_size) return "";
    const std::size_t begin = sections_[table].sh_offset + at;
    if (begin >= bytes_.size()) return "";
    return bytes_.substr(begin, bytes_.find('\0', begin) - begin);
  }
  std::string NameOf(const Elf64_Shdr& section) const { return Text(names_, section.sh_name); }
  template <typename T>
  std::vector<T> Entries(const Elf64_Shdr& section) const {
    std::vector<T> entries;
    T entry;
    for (std::size_t at = 0; at + sizeof entry <= section.sh_size; at += sizeof entry) {
      if (!At(section.sh_offset + at, entry)) break;
      entries.push_back(entry);
    }
    return entries;
  }

 private:
  const std::string& bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t names_ = 0;
};

// Of the place that holds an address.
template <typename T>
std::optional<std::size_t> Holder(const std::vector<T>& sorted, std::size_t at) {
  const auto begin = [](const T& item) {
    if constexpr (std::is_same_v<T, Variable>)
      return item.offset;
    else
      return item.begin;
  };
  const auto end = [](const T& item) {
    if constexpr (std::is_same_v<T, Variable>)
      return item.offset + item.bytes;
    else
      return item.end;
  };
  const auto after =
      std::upper_bound(sorted.begin(), sorted.end(), at,
                       [&](std::size_t value, const T& item) { return value < begin(item); });
  if (after == sorted.begin() || at >= end(*std::prev(after))) return std::nullopt;
  return static_cast<std::size_t>(after - sorted.begin()) - 1;
}

bool IsData(const std::string& section) {
  return (StartsWith(section, ".data") && !StartsWith(section, ".data.rel.ro")) ||
         StartsWith(section, ".bss");
}

// Where the running thread is, the hooks, and what the C run time brings.
bool IsOurs(const std::string& symbol) {
  return StartsWith(symbol, "pawl_") || symbol.find("pawl_unit") != std::string::npos ||
         StartsWith(symbol, "__") || StartsWith(symbol, "_GLOBAL_") ||
         StartsWith(symbol, "_DYNAMIC") || StartsWith(symbol, "completed.");
}

// Of CUDA's atomics, which take and return no structs: "_Z9atomicAddIf...".
bool IsAtomic(const std::string& symbol) {
  const std::size_t name = symbol.find("atomic");
  return StartsWith(symbol, "_Z") && name != std::string::npos &&
         symbol.find_first_not_of("0123456789", 2) == name &&
         symbol.find("PawlIdentity") != std::string::npos;
}

void ReadSymbols(const Reader& reader, const std::vector<Elf64_Sym>& symbols, std::size_t texts,
                 ObjectFile& object) {
  for (const Elf64_Sym& symbol : symbols) {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_size == 0 || symbol.st_shndx >= reader.sections().size()) continue;
    const Elf64_Shdr& section = reader.sections()[symbol.st_shndx];
    const std::string name = reader.Text(texts, symbol.st_name);
    if (type == STT_TLS && symbol.st_shndx != SHN_UNDEF) {
      object.shared.push_back({PlainName(name), symbol.st_value, symbol.st_size});
    } else if (type == STT_FUNC) {
      object.functions.push_back({name, symbol.st_value, symbol.st_value + symbol.st_size, {}, {}});
    } else if (type == STT_OBJECT && IsData(reader.NameOf(section)) && !IsOurs(name)) {
      object.device.push_back({PlainName(name), symbol.st_value, symbol.st_size});
    }
  }
  const auto by_offset = [](const Variable& a, const Variable& b) { return a.offset < b.offset; };
  std::sort(object.shared.begin(), object.shared.end(), by_offset);
  std::sort(object.device.begin(), object.device.end(), by_offset);
  std::sort(object.functions.begin(), object.functions.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
}

// What code and data refer to, by the relocations that the linker has kept.
void ReadReferences(const Reader& reader, const std::vector<Elf64_Sym>& symbols, std::size_t table,
                    ObjectFile& object) {
  for (const Elf64_Shdr& section : reader.sections()) {
    if (section.sh_type != SHT_RELA || section.sh_link != table) continue;
    if (section.sh_info >= reader.sections().size()) continue;
    const Elf64_Shdr& of = reader.sections()[section.sh_info];
    const bool code = (of.sh_flags & SHF_EXECINSTR) != 0;
    if (!code && !StartsWith(reader.NameOf(of), ".data")) continue;
    for (const Elf64_Rela& reference : reader.Entries<Elf64_Rela>(section)) {
      const std::size_t index = ELF64_R_SYM(reference.r_info);
      if (index >= symbols.size()) continue;
      const Elf64_Sym& symbol = symbols[index];
      const std::optional<std::size_t> from = Holder(object.functions, reference.r_offset);
      if (code && !from) continue;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS) {
        const auto variable = Holder(object.shared, symbol.st_value);
        if (code && variable) object.functions[*from].uses.push_back(*variable);
        continue;
      }
      // A call counts from its end, 4 bytes on.
      const std::size_t at =
          symbol.st_value + (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION
                                 ? static_cast<std::size_t>(reference.r_addend) + (code ? 4 : 0)
                                 : 0);
      const std::optional<std::size_t> to = Holder(object.functions, at);
      if (!to) continue;
      if (code)
        object.functions[*from].calls.push_back(*to);
      else
        object.in_data.push_back(*to);
    }
  }
}

}  // namespace

ObjectFile ReadObjectFile(const std::string& bytes) {
  ObjectFile object;
  const Reader reader(bytes);
  for (std::size_t i = 0; i < reader.sections().size(); ++i) {
    const Elf64_Shdr& section = reader.sections()[i];
    if (section.sh_addr != 0 && IsData(reader.NameOf(section))) {
      object.writable.push_back({section.sh_addr, section.sh_addr + section.sh_size});
    }
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto symbols = reader.Entries<Elf64_Sym>(section);
    ReadSymbols(reader, symbols, section.sh_link, object);
    ReadReferences(reader, symbols, i, object);
  }
  return object;
}

std::vector<bool> ObjectFile::ReachedFrom(const std::string& function) const {
  std::vector<bool> reached(functions.size());
  std::vector<std::size_t> next = in_data;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].symbol == function) next.push_back(i);
  }
  while (!next.empty()) {
    const std::size_t at = next.back();
    next.pop_back();
    if (reached[at]) continue;
    reached[at] = true;
    next.insert(next.end(), functions[at].calls.begin(), functions[at].calls.end());
  }
  return reached;
}

std::uint32_t ObjectFile::SharedBytesOf(const std::string& function) const {
  const std::vector<bool> reached = ReachedFrom(function);
  std::vector<bool> used(shared.size());
  std::size_t total = 0;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (!reached[i]) continue;
    for (const std::size_t variable : functions[i].uses) {
      if (!used[variable]) total += shared[variable].bytes;
      used[variable] = true;
    }
  }
  return static_cast<std::uint32_t>(total);
}

bool ObjectFile::CallsOut(const std::string& entry) const {
  std::vector<bool> reached = ReachedFrom(entry);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].symbol != entry) continue;
    reached[i] = false;
    for (const std::size_t kernel : functions[i].calls) reached[kernel] = false;
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (reached[i] && !IsOurs(functions[i].symbol) && !IsAtomic(functions[i].symbol)) return true;
  }
  return false;
}

}  // namespace pawl
