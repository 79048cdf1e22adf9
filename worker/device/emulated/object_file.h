#pragma once
// What a compiled unit's own tables say (ELF, linked with its relocations kept): where its shared
// memory and its __device__ variables lie, and which of the shared memory a function uses. Pure:
// bytes in, facts out; a file without such tables has none.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pawl {

struct Variable {
  std::string name;        // as the source has it
  std::size_t offset = 0;  // shared memory: in a block's; others: from where the file is loaded
  std::size_t bytes = 0;
};

struct ObjectFile {
  std::vector<Variable> shared;  // by offset, as all below
  // That kernels can write; ours are not among them.
  std::vector<Variable> device;
  // What holds them, from where the file is loaded.
  struct Extent {
    std::size_t begin = 0, end = 0;
  };
  std::vector<Extent> writable;
  // Bytes of static shared memory that a function uses, with all it can call, by its symbol.
  std::uint32_t SharedBytesOf(const std::string& function) const;

  // Whether what a launch's entry point calls, its kernel, can call a function of the source: one
  // that was not compiled as a part of it.
  bool CallsOut(const std::string& entry) const;

  struct Function {
    std::string symbol;
    std::size_t begin = 0, end = 0;
    std::vector<std::size_t> uses;   // in `shared`
    std::vector<std::size_t> calls;  // in `functions`, or takes the address of
  };
  std::vector<Function> functions;
  std::vector<std::size_t> in_data;  // functions whose addresses variables hold: called by anybody

 private:
  // By function: whether one can call it, or is it.
  std::vector<bool> ReachedFrom(const std::string& function) const;
};

ObjectFile ReadObjectFile(const std::string& bytes);

}  // namespace pawl
