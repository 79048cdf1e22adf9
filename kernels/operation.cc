#include "kernels/operation.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "kernels/document.h"
#include "kernels/launch_file.h"
#include "kernels/operation_file.h"
#include "kernels/structure_file.h"
#include "kernels/template.h"

namespace pawl {
namespace {

// Where a package's files come from: a folder, or bytes kept elsewhere. Names are relative:
// "cuda/a.toml".
struct Files {
  std::vector<std::string> names;  // sorted
  std::function<Result<std::string>(const std::string&)> read;

  bool Has(const std::string& name) const {
    return std::binary_search(names.begin(), names.end(), name);
  }
};

// `#include "name"` gives the name.
std::optional<std::string> QuotedInclude(std::string_view line) {
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  const auto skip = [&](std::string_view word) {
    skip_blanks();
    if (line.substr(0, word.size()) != word) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!skip("#") || !skip("include") || !skip("\"")) return std::nullopt;
  const std::size_t end = line.find('"');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  return std::string(line.substr(0, end));
}

class Loader {
 public:
  Loader(Files files, std::string folder) : files_(std::move(files)) {
    operation_.folder = std::move(folder);
  }

  Result<Operation> Load() {
    Result<Operation> operation = LoadAll();
    if (!operation) return Error{OneLine(operation.error().message)};
    return operation;
  }

 private:
  Result<Operation> LoadAll() {
    if (!files_.Has("operation.toml")) {
      return Error{operation_.folder + ": no operation.toml; it says what the operation computes"};
    }
    const Result<std::shared_ptr<Table>> table = Toml("operation.toml");
    if (!table) return table.error();
    if (const Status read = ReadOperationFile(**table, operation_); !read) return read.error();
    for (const std::string& name : files_.names) {
      const std::size_t slash = name.find('/');
      const bool toml = name.size() > 5 && name.compare(name.size() - 5, 5, ".toml") == 0;
      if (slash == std::string::npos || !toml || name.find('/', slash + 1) != std::string::npos)
        continue;
      const std::string backend = name.substr(0, slash);
      if (operation_.FindBackend(backend) != nullptr) continue;
      if (!IsName(backend)) {
        return Error{Path(name) + ": '" + backend + "' cannot be the name of a backend"};
      }
      if (const Status read = ReadBackend(backend); !read) return read.error();
    }
    if (const Status reference = ReadReference(); !reference) return reference.error();
    return std::move(operation_);
  }

  std::string Path(const std::string& name) const { return operation_.folder + "/" + name; }

  // The file's bytes, kept in the operation from then on.
  Result<std::string> Bytes(const std::string& name) {
    Result<std::string> bytes = files_.read(name);
    if (bytes) operation_.files[name] = *bytes;
    return bytes;
  }
  Result<std::shared_ptr<Table>> Toml(const std::string& name) {
    const Result<std::string> bytes = Bytes(name);
    if (!bytes) return bytes.error();
    return ParseToml(*bytes, Path(name));
  }
  Result<std::string> Source(const std::string& name, const Place& place) {
    if (files_.Has(name)) return Bytes(name);
    return Error{place.Text() + ": source '" + name.substr(name.find('/') + 1) +
                 "' is not there (" + Path(name) + ")"};
  }

  Status ReadBackend(const std::string& name);
  Status ReadHeaders(const std::string& backend, const std::string& name, const std::string& text);
  Status ReadReference();

  Files files_;
  Operation operation_;
};

Status Loader::ReadBackend(const std::string& name) {
  Backend backend;
  backend.name = name;
  const std::string prefix = name + "/";
  for (const std::string& file : files_.names) {
    if (file.compare(0, prefix.size(), prefix) != 0 || file == prefix + "committed.toml") continue;
    const std::string stem = std::filesystem::path(file).stem().string();
    if (file != prefix + stem + ".toml") continue;
    if (!IsName(stem))
      return Error{Path(file) + ": '" + stem + "' cannot be the name of a structure"};
    Structure structure;
    structure.name = stem;
    structure.backend = name;
    structure.file = file;
    structure.letters = operation_.letters;
    const Result<std::shared_ptr<Table>> table = Toml(file);
    if (!table) return table.error();
    if (const Status read = ReadStructure(**table, structure); !read) return read;
    if (const Status named = CheckLaunches(structure.plan, operation_); !named) return named;
    if (!structure.source.empty()) {
      const Result<std::string> text = Source(structure.source, structure.places.at("source"));
      if (!text) return text.error();
      Result<std::vector<std::string>> used =
          CheckTemplate(structure, *text, Path(structure.source));
      if (!used) return used.error();
      structure.used_derived = std::move(*used);
      if (const Status read = ReadHeaders(name, structure.source, *text); !read) return read;
    }
    backend.structures.push_back(std::move(structure));
  }
  if (files_.Has(prefix + "committed.toml")) {
    const Result<std::shared_ptr<Table>> table = Toml(prefix + "committed.toml");
    if (!table) return table.error();
    if (const Status read = ReadCommitted(**table, operation_.letters, backend); !read) return read;
    const Place place{Path(prefix + "committed.toml"), 0};
    for (const Committed& committed : backend.committed) {
      if (const Status named = CheckLaunches(committed.plan, operation_); !named) return named;
      if (committed.source.empty()) continue;
      const Result<std::string> text = Source(committed.source, committed.place);
      if (!text) return text.error();
      if (const Status read = ReadHeaders(name, committed.source, *text); !read) return read;
    }
    for (const Rival& rival : backend.rivals) {
      const Result<std::string> text = Source(rival.source, place);
      if (!text) return text.error();
    }
  }
  operation_.backends.push_back(std::move(backend));
  return {};
}

// The headers that a cuda source names in quotes, and theirs. A file of the package, or
// pawl_device.h.
Status Loader::ReadHeaders(const std::string& backend, const std::string& name,
                           const std::string& text) {
  if (backend != "cuda") return {};
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::optional<std::string> header = QuotedInclude(text.substr(begin, end - begin));
    begin = end + 1;
    ++line;
    if (!header) continue;
    const std::string file = backend + "/" + *header;
    if (*header == kDeviceHeaderName && !files_.Has(file)) {
      // A ledger's own bytes, where they come from one: what was compiled then.
      Result<std::string> kept = files_.Has(*header) ? files_.read(*header) : DeviceHeader();
      if (!kept) return kept.error();
      operation_.files[kDeviceHeaderName] = std::move(*kept);
      continue;
    }
    if (!files_.Has(file)) {
      return Error{Place{Path(name), line}.Text() + ": includes \"" + *header +
                   "\", which is not in this folder; a header beside the source or \"" +
                   kDeviceHeaderName + "\" is wanted"};
    }
    if (operation_.files.contains(file)) continue;
    const Result<std::string> bytes = Bytes(file);
    if (!bytes) return bytes.error();
    if (const Status read = ReadHeaders(backend, file, *bytes); !read) return read;
  }
  return {};
}

Status Loader::ReadReference() {
  if (files_.Has("reference.h")) {
    const Result<std::string> text = Bytes("reference.h");
    if (!text) return text.error();
    for (const Tensor& tensor : operation_.tensors) {
      const std::string function = "reference_" + tensor.name + "(";
      if (tensor.role == BufferRole::kOutput && text->find(function) == std::string::npos) {
        return Error{Path("reference.h") + ": no function reference_" + tensor.name +
                     ", which gives an element of the output " + tensor.name + " in float64"};
      }
    }
    return {};
  }
  for (const Backend& backend : operation_.backends) {
    for (const Structure& structure : backend.structures) {
      if (structure.source.empty()) continue;
      return Error{Path("reference.h") + ": no such file; " + structure.file +
                   " has a source, and what is built is checked against the reference"};
    }
  }
  return {};
}

Result<double> AtShape(const std::string& text, const char* what, const Operation& operation,
                       const std::vector<Scalar>& shape) {
  Scope scope;
  std::vector<std::int64_t> values;
  for (const Scalar& scalar : shape) {
    scope.Add(scalar.name);
    values.push_back(scalar.value);
  }
  const Place place{operation.folder + "/operation.toml: " + what, 0};
  const Result<Expression> expression = Expression::Parse(text, scope, place);
  if (!expression) return expression.error();
  const Result<std::int64_t> value = expression->Evaluate(values);
  if (!value) return value.error();
  return static_cast<double>(*value);
}

std::string WholeText(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

// A tensor's fill where its expressions have their values. `elements`: of the tensor.
Result<Fill> FillAt(const Operation& operation, const Tensor& tensor,
                    const std::vector<Scalar>& shape, std::int64_t elements) {
  Fill fill = tensor.fill;
  const auto wrong = [&](const std::string& what) {
    return Error{operation.folder + "/operation.toml: tensor " + tensor.name + ": " + what};
  };
  const bool pointers = fill.kind == FillKind::kRowPointers;
  const auto [least, most] = RangeOf(tensor.dtype, fill.kind);
  for (const std::size_t i : {0, 1}) {
    const std::string& text = tensor.fill_texts[i];
    if (text.empty()) continue;
    const Result<double> value = AtShape(text, tensor.name.c_str(), operation, shape);
    if (!value) return value.error();
    if (*value < least || *value > most) {
      return wrong("the fill's '" + text + "' = " + WholeText(*value) + " at this shape; " +
                   WholeText(least) + " to " + WholeText(most) + " is wanted");
    }
    (i == 0 ? fill.a : fill.b) = *value;
  }
  if (fill.kind == FillKind::kIntegers && fill.a > fill.b) {
    return wrong("fill has low " + WholeText(fill.a) + " above high " + WholeText(fill.b) +
                 " at this shape");
  }
  if (pointers && elements < 2) {
    return wrong(
        "one row pointer; 2 and more are wanted, where the first row begins and the last ends");
  }
  return fill;
}

}  // namespace

const std::string& DeviceHeader() {
  static const std::string header =
#include "kernels/pawl_device_text.inc"
      ;
  return header;
}

const Backend* Operation::FindBackend(std::string_view backend) const {
  for (const Backend& candidate : backends) {
    if (candidate.name == backend) return &candidate;
  }
  return nullptr;
}

const Structure* Operation::FindStructure(std::string_view backend,
                                          std::string_view structure) const {
  const Backend* found = FindBackend(backend);
  if (found == nullptr) return nullptr;
  for (const Structure& candidate : found->structures) {
    if (candidate.name == structure) return &candidate;
  }
  return nullptr;
}

std::map<std::string, Digest> Operation::Digests() const {
  std::map<std::string, Digest> digests;
  for (const auto& [file, content] : files) digests[file] = Sha256(content);
  return digests;
}

Result<Operation> LoadOperation(const std::string& folder) {
  const std::filesystem::path root(folder);
  std::error_code failed;
  if (!std::filesystem::is_directory(root, failed)) {
    std::string message = folder + ": no such operation";
    const std::filesystem::path stem = root.has_filename() ? root : root.parent_path();
    const std::vector<std::string> there = ListOperations(stem.parent_path().string());
    const std::string nearest = Nearest(stem.filename().string(), there);
    if (!nearest.empty()) message += "; nearest is '" + nearest + "'";
    for (const std::string& name : there) {
      message += (&name == &there.front() ? "; there are " : ", ") + name;
    }
    return Error{message};
  }
  Files files;
  using Iterator = std::filesystem::recursive_directory_iterator;
  for (Iterator entry(root, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::error_code of_file;  // a link that leads nowhere, or round in a ring, is no file
    if (entry->is_directory(of_file) && (entry.depth() > 0 || name.front() == '.')) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(of_file) && name.front() != '.') {
      files.names.push_back(entry->path().lexically_relative(root).generic_string());
    }
  }
  if (failed) return Error{folder + ": cannot be read: " + failed.message()};
  std::sort(files.names.begin(), files.names.end());
  files.read = [root](const std::string& name) { return ReadText((root / name).string()); };
  Result<Operation> operation = Loader(std::move(files), folder).Load();
  if (!operation) return operation;
  const std::string base = std::filesystem::weakly_canonical(root, failed).filename().string();
  if (operation->name != base) {
    return Error{folder + "/operation.toml: name is '" + operation->name + "' in the folder '" +
                 base + "'; they are to be the same"};
  }
  return operation;
}

Result<Operation> LoadOperation(const std::map<std::string, std::string>& bytes,
                                const std::string& folder) {
  Files files;
  for (const auto& [name, text] : bytes) files.names.push_back(name);
  files.read = [&bytes](const std::string& name) -> Result<std::string> { return bytes.at(name); };
  return Loader(std::move(files), folder).Load();
}

std::vector<std::string> ListOperations(const std::string& root) {
  std::vector<std::string> names;
  std::error_code failed;
  const std::filesystem::path folder = root.empty() ? "." : root;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code unreadable;
    if (std::filesystem::exists(entry->path() / "operation.toml", unreadable)) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<Scalar>> CheckShape(const Operation& operation, const std::vector<Scalar>& given,
                                       const Place& place) {
  const std::string where = place.file.empty() ? "" : place.Text() + ": ";
  std::set<std::string> seen;
  for (const Scalar& scalar : given) {
    const auto letter = std::find(operation.letters.begin(), operation.letters.end(), scalar.name);
    if (letter == operation.letters.end()) {
      std::string message = where + operation.name + " has no shape letter '" + scalar.name + "'";
      for (const std::string& known : operation.letters) {
        message += (&known == &operation.letters.front() ? "; its letters are " : ", ") + known;
      }
      return Error{message};
    }
    if (!seen.insert(scalar.name).second) {
      return Error{where + "shape letter '" + scalar.name + "' is given twice"};
    }
    if (scalar.value < 1 || scalar.value > kLargestValue) {
      return Error{where + "shape letter '" + scalar.name + "' is " + std::to_string(scalar.value) +
                   "; at least 1 is wanted"};
    }
  }
  std::vector<Scalar> shape;
  for (const std::string& letter : operation.letters) {
    const auto scalar = std::find_if(given.begin(), given.end(),
                                     [&](const Scalar& other) { return other.name == letter; });
    if (scalar == given.end()) return Error{where + "shape letter '" + letter + "' is missing"};
    shape.push_back(*scalar);
  }
  return shape;
}

namespace {

// "17179869184 elements at this shape (68.7 GB)"
std::string CountText(double elements, double bytes) {
  char text[128];
  std::snprintf(text, sizeof text, "%.0f elements at this shape (%.1f GB)", elements, bytes / 1e9);
  return text;
}

// Errors: more than an order may have.
Status CheckElements(const std::vector<Buffer>& buffers) {
  const std::string most = "; at most " + std::to_string(kMostElements) + " are taken";
  const Buffer* largest = nullptr;
  double elements = 0, bytes = 0, most_of_one = 0;
  for (const Buffer& buffer : buffers) {
    double own = 1;
    for (const std::int64_t extent : buffer.extents) own *= static_cast<double>(extent);
    const double own_bytes = own * static_cast<double>(SizeOf(buffer.dtype));
    if (own > static_cast<double>(kMostElements)) {
      return Error{"tensor " + buffer.name + " has " + CountText(own, own_bytes) + most};
    }
    if (own > most_of_one) {
      largest = &buffer;
      most_of_one = own;
    }
    elements += own;
    bytes += own_bytes;
  }
  if (elements <= static_cast<double>(kMostElements)) return {};
  return Error{"the tensors together have " + CountText(elements, bytes) + ", the largest is " +
               largest->name + most};
}

}  // namespace

Result<std::vector<Buffer>> BuffersAt(const Operation& operation,
                                      const std::vector<Scalar>& shape) {
  std::vector<Buffer> buffers;
  for (const Tensor& tensor : operation.tensors) {
    Buffer buffer{tensor.name, tensor.dtype, tensor.role, {}, tensor.fill};
    for (const std::string& text : tensor.extents) {
      const Result<double> extent = AtShape(text, tensor.name.c_str(), operation, shape);
      if (!extent) return extent.error();
      const auto side = static_cast<std::int64_t>(*extent);
      if (side < 1) {
        return Error{operation.folder + "/operation.toml: tensor " + tensor.name +
                     " has the extent '" + text + "' = " + std::to_string(side) +
                     " at this shape; at least 1 is wanted"};
      }
      buffer.extents.push_back(side);
    }
    buffers.push_back(std::move(buffer));
  }
  if (Status taken = CheckElements(buffers); !taken) return taken.error();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Result<Fill> fill = FillAt(operation, operation.tensors[i], shape, buffers[i].Elements());
    if (!fill) return fill.error();
    buffers[i].fill = *fill;
  }
  return buffers;
}

Result<double> FlopsAt(const Operation& operation, const std::vector<Scalar>& shape) {
  return AtShape(operation.flops, "flops", operation, shape);
}

Result<double> BytesAt(const Operation& operation, const std::vector<Scalar>& shape) {
  return AtShape(operation.bytes, "bytes", operation, shape);
}

Result<double> AbsoluteToleranceAt(const Operation& operation, const std::vector<Scalar>& shape) {
  if (operation.atol_times.empty()) return operation.atol;
  const Result<double> times = AtShape(operation.atol_times, "atol_times", operation, shape);
  if (!times) return times.error();
  if (*times < 1) {
    return Error{operation.folder + "/operation.toml: atol_times '" + operation.atol_times +
                 "' = " + WholeText(*times) + " at this shape; 1 and more is wanted"};
  }
  return operation.atol * *times;
}

Result<const Committed*> CommittedAt(const Operation& operation, const Backend& backend,
                                     const std::vector<Scalar>& shape) {
  for (const Committed& committed : backend.committed) {
    if (committed.when.empty()) return &committed;
    const Result<double> holds = AtShape(committed.when, "committed", operation, shape);
    if (!holds) return holds.error();
    if (*holds != 0) return &committed;
  }
  std::string message = operation.folder + "/" + backend.name + "/committed.toml: ";
  message +=
      backend.committed.empty() ? "no committed kernel" : "no committed kernel covers the shape";
  for (const Scalar& scalar : shape) {
    message += (&scalar == &shape.front() ? " (" : ", ") + scalar.name + " = " +
               std::to_string(scalar.value);
  }
  return Error{message + "); one without 'when' covers every shape"};
}

}  // namespace pawl
