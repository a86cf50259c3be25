#include "common/data/array_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/base/paths.hpp"
#include "common/base/text.hpp"
#include "common/data/array_formats.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kBlockBytes = 4 << 20;
constexpr std::uint64_t kIntegersAtOnce = 1 << 16;

// The places of ones among the zeros and ones of one row, into its slots.
void fill_slots(std::span<const std::int64_t> entries, std::span<std::int32_t> slots) {
  std::size_t found = 0;
  std::fill(slots.begin(), slots.end(), kNoLabel);
  for (std::size_t c = 0; c < entries.size(); ++c) {
    if (entries[c] == 0) continue;
    if (found < slots.size()) slots[found] = static_cast<std::int32_t>(c);
    ++found;
  }
  if (found <= slots.size()) return;
  std::fill(slots.begin(), slots.end(), kNoLabel);
  slots.front() = -static_cast<std::int32_t>(found);
}

// Advice for a class index that is out of range. Labels that count from 1 have the last class plus one as an index.
std::string cure_of(std::string_view label, std::uint64_t classes) {
  if (label.starts_with('-')) return "; labels are 0 and above: of two classes -1 and 1, write 0 and 1";
  if (label != std::to_string(classes)) return "; correct it, or fit with more classes (--classes)";
  return fmt::format(
      ": labels count from 0; if yours count from 1, subtract 1 from each, or save names instead and list them with "
      "--class-names FILE; for more than {} classes, fit with a larger --classes",
      classes);
}

[[noreturn]] void refuse_index(const std::string& file, std::uint64_t row, std::string_view label,
                               std::uint64_t classes) {
  throw BadInput("{}: row {} has label {}, outside 0 to {}{}{}", file, row, label, classes - 1, cure_of(label, classes),
                 kForOwnerOnly);
}

// `seen` says which label shows it, for the owner; it may be empty.
[[noreturn]] void refuse_names(const std::string& file, const std::string& seen = {}) {
  throw BadInput(
      "{}: labels are names{}; list all classes in a file, one name a line, and give it to fit as "
      "--class-names FILE, or save class indices as int64; numbers to predict are given as targets{}",
      file, seen, seen.empty() ? "" : kForOwnerOnly);
}

// Throws BadInput about a label that is no integer: one that is missing, one that pandas wrote as a float, or a name.
[[noreturn]] void refuse_cell(const std::string& file, std::uint64_t row, std::string_view cell) {
  if (cell.empty())
    throw BadInput("{}: row {} has no label; write one, or leave the row out{}", file, row, kForOwnerOnly);
  if (cell.ends_with(".0")) {
    throw BadInput("{}: row {} has label {}, which is no integer; write {}{}", file, row, in_quotes(cell),
                   cell.substr(0, cell.size() - 2), kForOwnerOnly);
  }
  refuse_names(file, fmt::format(": row {} has {}", row, in_quotes(cell)));
}

// NumPy's NaT (not a time) as an integer.
constexpr std::int64_t kNoPerson = std::numeric_limits<std::int64_t>::min();

// In lower case.
constexpr std::array<std::string_view, 9> kNobody = {
    "nan", "nat", "none", "na", "<na>", "n/a", "#n/a", "null", "-9223372036854775808"};

char in_lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Unicode's White_Space.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// The bytes of `text` between the first character that is no white space and the last one.
std::string_view trimmed(std::string_view text) {
  std::size_t first = text.size();
  std::size_t end = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t place = text.size() - rest.size();
    if (is_white_space(take_code_point(rest))) continue;
    first = std::min(first, place);
    end = text.size() - rest.size();
  }
  return end == 0 ? std::string_view() : text.substr(first, end - first);
}

// The first byte decides for nearly all identifiers.
bool may_name_nobody(unsigned char first) {
  return first <= ' ' || first >= 0x80 || first == 'n' || first == 'N' || first == '<' || first == '#' || first == '-';
}

// Returns whether the text is what tables write for a missing identifier: nothing or white space alone, and nan, NaT,
// None, NA, <NA>, N/A, #N/A and null, in upper or lower case and with white space around them; also the digits of
// kNoPerson. All rows that have one would otherwise be one person's.
bool names_no_person(std::string_view identifier) {
  if (identifier.empty()) return true;
  if (!may_name_nobody(static_cast<unsigned char>(identifier.front()))) return false;
  const std::string_view word = trimmed(identifier);
  return word.empty() || std::ranges::any_of(kNobody, [&](std::string_view nobody) {
           return std::ranges::equal(word, nobody, {}, in_lower_case);
         });
}

}  // namespace

ArrayFile::ArrayFile(std::string name, DType dtype, ByteOrder byte_order, Shape shape, std::size_t element_bytes)
    : name_(std::move(name)),
      dtype_(dtype),
      byte_order_(byte_order),
      shape_(std::move(shape)),
      element_bytes_(element_bytes) {
  if (shape_.empty()) {
    throw BadInput("{}: holds a single number; give an array with one row per record", name_);
  }
  byte_size(shape_, dtype_, element_bytes_, name_);
  for (std::size_t axis = 1; axis < shape_.size(); ++axis) columns_ *= shape_[axis];
}

void ArrayFile::require_holds_features() const {
  if (!is_float(dtype_)) {
    throw BadInput(
        "{}: features are {}; convert them to float32 (if these are labels, the files are "
        "swapped)",
        name_, to_string(dtype_));
  }
  if (shape_.size() != 2) {
    throw BadInput("{}: features have shape {}; reshape them to two dimensions, one row a record{}", name_,
                   to_string(shape_), kForOwnerOnly);
  }
  if (shape_[1] == 0) throw BadInput("{}: rows have no features; write the file again", name_);
}

void ArrayFile::require_holds_weights() const {
  if (is_float(dtype_) && shape_.size() <= 2 && columns_ == 1) return;
  throw BadInput("{}: weights are {} of shape {}; give one float32 or float64 a row, shape (n,){}", name_,
                 to_string(dtype_), to_string(shape_), kForOwnerOnly);
}

void ArrayFile::require_holds_targets() const {
  if (is_string(dtype_)) {
    throw BadInput("{}: targets are strings; give numbers, or classes by name as --train-y", name_);
  }
  if (shape_.size() <= 2 && columns_ >= 1 && columns_ <= kMostTargets) return;
  throw BadInput("{}: targets have shape {}; give one number a row, shape (n,), or up to {}, shape (n, m){}", name_,
                 to_string(shape_), kMostTargets, kForOwnerOnly);
}

void ArrayFile::require_holds_labels(const NamedClasses* names) const {
  if (is_float(dtype_)) {
    throw BadInput(
        "{}: labels are {}; convert them to int64 class indices, or give numbers to predict as targets (if "
        "these are features, the files are swapped)",
        name_, to_string(dtype_));
  }
  // Only its rows show that a table of text holds names, and a reader may not reveal rows to others.
  if (is_string(dtype_) && names == nullptr && !is_text()) refuse_names(name_);
  if (is_string(dtype_) && (shape_.size() > 2 || columns_ != 1)) {
    throw BadInput(
        "{}: labels are names of shape {}; give one name a row, shape (n,), or for rows of several classes "
        "zeros and ones, one column a class{}",
        name_, to_string(shape_), kForOwnerOnly);
  }
  if (shape_.size() > 2 || columns_ == 0) {
    throw BadInput(
        "{}: labels have shape {}; give one class index a row, shape (n,) or (n, 1), or zeros and ones for "
        "each class, shape (n, K){}",
        name_, to_string(shape_), kForOwnerOnly);
  }
}

void ArrayFile::require_holds_persons() {
  const bool is_one_a_row = shape_.size() <= 2 && columns_ == 1;
  if (is_float(dtype_) && is_one_a_row) refuse_float_persons();
  if (is_float(dtype_) || dtype_ == DType::kBool) {
    throw BadInput("{}: identifiers of persons are {}; convert them to integers or strings, one a row", name_,
                   to_string(dtype_));
  }
  if (is_one_a_row) return;
  throw BadInput("{}: identifiers of persons have shape {}; give one a row, shape (n,) or (n, 1){}", name_,
                 to_string(shape_), kForOwnerOnly);
}

template <typename Visit>
void ArrayFile::for_each_block(std::uint64_t first_row, std::uint64_t count, const Visit& visit, std::uint64_t most) {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  const std::uint64_t at_once =
      std::clamp<std::uint64_t>(kBlockBytes / std::max<std::uint64_t>(1, row_bytes()), 1, most);
  for (std::uint64_t done = 0; done < count; done += at_once) {
    const std::uint64_t block = std::min(at_once, count - done);
    visit(done, block, stored_rows(first_row + done, block, scratch_));
  }
}

template <typename Visit>
void ArrayFile::for_integers(std::uint64_t first_row, std::uint64_t count, const Visit& visit, std::uint64_t most) {
  std::vector<std::int64_t> integers;
  const auto visit_block = [&](std::uint64_t done, std::uint64_t block, std::span<const std::byte> stored) {
    for (std::uint64_t row = 0; row < block; row += integers.size()) {
      integers.resize(std::min(kIntegersAtOnce, block - row));
      const auto elements = stored.subspan(row * element_bytes_, integers.size() * element_bytes_);
      convert_integers(elements, dtype_, byte_order_, integers);
      visit(first_row + done + row, integers);
    }
  };
  for_each_block(first_row, count, visit_block, most);
}

// Unsigned numbers of 2^63 and more are converted to 2^64 less.
std::string ArrayFile::decimal(std::int64_t integer) const {
  return dtype_ == DType::kUint64 ? std::to_string(static_cast<std::uint64_t>(integer)) : std::to_string(integer);
}

void ArrayFile::read_features(std::uint64_t first_row, std::uint64_t count, std::span<float> out) {
  DPREDUCE_ASSERT(is_float(dtype_));
  DPREDUCE_ASSERT(out.size() == count * columns_);
  for_each_block(first_row, count, [&](std::uint64_t done, std::uint64_t block, std::span<const std::byte> stored) {
    convert_features(stored, dtype_, byte_order_, out.subspan(done * columns_, block * columns_));
  });
}

void ArrayFile::read_targets(std::uint64_t first_row, std::uint64_t count, std::span<double> out, bool takes_bad) {
  DPREDUCE_ASSERT(!is_string(dtype_) && out.size() == count * columns_);
  for_each_block(first_row, count, [&](std::uint64_t done, std::uint64_t block, std::span<const std::byte> stored) {
    const std::span<double> targets = out.subspan(done * columns_, block * columns_);
    convert_numbers(stored, dtype_, byte_order_, targets);
    const auto bad = std::ranges::find_if(targets, [](double target) { return !std::isfinite(target); });
    if (takes_bad || bad == targets.end()) return;
    const std::uint64_t row = first_row + done + static_cast<std::uint64_t>(bad - targets.begin()) / columns_;
    throw BadInput("{}: row {} has target {}; give a finite number, leave the row out, or use --bad-rows zero{}", name_,
                   row, *bad, kForOwnerOnly);
  });
}

void ArrayFile::read_labels(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                            std::span<std::int32_t> out, const NamedClasses* names, UnlistedLabels unlisted) {
  DPREDUCE_ASSERT(!is_float(dtype_) && columns_ >= 1);
  DPREDUCE_ASSERT(names == nullptr || names->size() == classes);
  if (columns_ > 1) return read_label_sets(first_row, count, classes, out);
  DPREDUCE_ASSERT(out.size() == count);
  if (names != nullptr && (is_string(dtype_) || is_text())) {
    return read_named_labels(first_row, count, *names, out, unlisted);
  }
  if (is_string(dtype_)) return read_cells_as_classes(first_row, count, classes, out, unlisted);
  read_integer_labels(first_row, count, classes, out, unlisted);
}

void ArrayFile::read_integer_labels(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                                    std::span<std::int32_t> out, UnlistedLabels unlisted) {
  for_integers(first_row, count, [&](std::uint64_t first, std::span<const std::int64_t> labels) {
    DPREDUCE_ASSERT(classes >= 1 && classes <= std::numeric_limits<std::int32_t>::max());
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const bool is_class = static_cast<std::uint64_t>(labels[k]) < classes;
      if (!is_class && unlisted == UnlistedLabels::kRefused) {
        refuse_index(name_, first + k, decimal(labels[k]), classes);
      }
      out[first - first_row + k] = is_class ? static_cast<std::int32_t>(labels[k]) : kUnlistedLabel;
    }
  });
}

void ArrayFile::read_cells_as_classes(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                                      std::span<std::int32_t> out, UnlistedLabels unlisted) {
  DPREDUCE_ASSERT(is_text());
  std::optional<std::string> heading;  // in row 0, perhaps a line of names: a cell below it says more about the fault
  visit_names(first_row, count, [&](std::uint64_t row, std::string_view cell) {
    const std::optional<std::int64_t> integer = usual_integer(cell);
    const bool is_class = integer && *integer >= 0 && static_cast<std::uint64_t>(*integer) < classes;
    if (!is_class && unlisted == UnlistedLabels::kRefused) {
      if (integer) refuse_index(name_, row, cell, classes);
      const bool is_name = !cell.empty() && !cell.ends_with(".0");
      if (is_name && row > 0 && heading) refuse_cell(name_, 0, *heading);
      if (!is_name || row > 0) refuse_cell(name_, row, cell);
      heading = cell;
    }
    out[row - first_row] = is_class ? static_cast<std::int32_t>(*integer) : kUnlistedLabel;
  });
  if (heading) refuse_cell(name_, 0, *heading);
}

void ArrayFile::read_named_labels(std::uint64_t first_row, std::uint64_t count, const NamedClasses& names,
                                  std::span<std::int32_t> out, UnlistedLabels unlisted) {
  visit_names(first_row, count, [&](std::uint64_t row, std::string_view name) {
    const std::optional<std::int32_t> found = is_text() ? names.find_cell(name) : names.find(name);
    if (!found && unlisted == UnlistedLabels::kRefused) {
      throw BadInput("{}: row {} has {}{}", name_, row, names.refusal(name), kForOwnerOnly);
    }
    out[row - first_row] = found.value_or(kUnlistedLabel);
  });
}

void ArrayFile::visit_names(std::uint64_t first_row, std::uint64_t count, const VisitName& visit) {
  if (!is_string(dtype_)) {  // of a text table
    return for_integers(first_row, count, [&](std::uint64_t first, std::span<const std::int64_t> integers) {
      for (std::size_t k = 0; k < integers.size(); ++k) visit(first + k, std::to_string(integers[k]));
    });
  }
  std::string buffer;
  for_each_block(first_row, count, [&](std::uint64_t done, std::uint64_t block, std::span<const std::byte> stored) {
    for (std::uint64_t row = 0; row < block; ++row) {
      const auto element = stored.subspan(row * element_bytes_, element_bytes_);
      visit(first_row + done + row, stored_name(element, dtype_, byte_order_, buffer));
    }
  });
}

void ArrayFile::read_label_sets(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                                std::span<std::int32_t> out) {
  if (columns_ != classes) {
    throw BadInput("{}: labels have {} columns of zeros and ones for {} classes; give one column a class", name_,
                   columns_, classes);
  }
  const std::uint64_t per_row = count == 0 ? 1 : out.size() / count;
  DPREDUCE_ASSERT(out.size() == count * per_row && per_row >= 1);
  std::vector<std::int64_t> entries(columns_);
  for_each_block(first_row, count, [&](std::uint64_t done, std::uint64_t block, std::span<const std::byte> stored) {
    for (std::uint64_t row = 0; row < block; ++row) {
      convert_integers(stored.subspan(row * row_bytes(), row_bytes()), dtype_, byte_order_, entries);
      const auto bad = std::ranges::find_if(entries, [](std::int64_t entry) { return entry != 0 && entry != 1; });
      if (bad != entries.end()) {
        throw BadInput("{}: row {} has entry {} for class {}; an array of labels holds 0 and 1 only{}", name_,
                       first_row + done + row, decimal(*bad), bad - entries.begin(), kForOwnerOnly);
      }
      fill_slots(entries, out.subspan((done + row) * per_row, per_row));
    }
  });
}

// Floats are what tables make of integers where some are missing: the first row that is no integer is what to look at.
void ArrayFile::refuse_float_persons() {
  std::vector<float> values;
  const auto visit_block = [&](std::uint64_t done, std::uint64_t block, std::span<const std::byte> stored) {
    values.resize(block);
    convert_features(stored, dtype_, byte_order_, values);
    const auto bad =
        std::ranges::find_if_not(values, [](float one) { return std::isfinite(one) && one == std::trunc(one); });
    if (bad == values.end()) return;
    throw BadInput("{}: row {} has the identifier {}, a {}; give each row a person, as an integer or a string{}", name_,
                   done + static_cast<std::uint64_t>(bad - values.begin()), *bad, to_string(dtype_), kForOwnerOnly);
  };
  for_each_block(0, rows(), visit_block, kIntegersAtOnce);
  if (rows() == 0) return;
  throw BadInput(
      "{}: row 0 and the rows after it have identifiers of persons that are {}; convert them to "
      "integers or strings",
      name_, to_string(dtype_));
}

void ArrayFile::refuse_missing_person(std::uint64_t row, std::string_view identifier) const {
  if (identifier.empty()) {
    throw BadInput("{}: row {} has no identifier of a person; give each row one{}", name_, row, kForOwnerOnly);
  }
  throw BadInput(
      "{}: row {} has the identifier {}, which means a missing one; give the row its person, or rename a "
      "person with that name{}",
      name_, row, in_quotes(identifier), kForOwnerOnly);
}

void ArrayFile::visit_persons(std::uint64_t first_row, std::uint64_t count, const VisitPersons& visit) {
  if (is_string(dtype_)) {
    visit_names(first_row, count, [&](std::uint64_t row, std::string_view name) {
      if (names_no_person(name)) refuse_missing_person(row, name);
      visit.name(name);
    });
    return;
  }
  const bool has_sign = number_type(dtype_).code.front() == 'i';
  const auto visit_integers = [&](std::uint64_t first, std::span<const std::int64_t> integers) {
    if (const auto missing = std::ranges::find(integers, kNoPerson); has_sign && missing != integers.end()) {
      refuse_missing_person(first + static_cast<std::uint64_t>(missing - integers.begin()), decimal(kNoPerson));
    }
    if (has_sign || std::ranges::all_of(integers, [](std::int64_t integer) { return integer >= 0; })) {
      return visit.integers(integers);
    }
    for (const std::int64_t integer : integers) visit.name(decimal(integer));
  };
  for_integers(first_row, count, visit_integers, kIntegersAtOnce);
}

void ArrayFile::read_stored(std::uint64_t first_row, std::uint64_t count, std::span<std::byte> out) {
  DPREDUCE_ASSERT(out.size() == count * row_bytes());
  for_each_block(first_row, count, [&](std::uint64_t done, std::uint64_t, std::span<const std::byte> stored) {
    std::ranges::copy(stored, out.subspan(done * row_bytes()).begin());
  });
  if (byte_order_ == ByteOrder::kLittle) return;
  const auto element = static_cast<std::ptrdiff_t>(element_bytes_);
  for (auto first = out.begin(); first != out.end(); first += element) std::reverse(first, first + element);
}

std::unique_ptr<ArrayFile> open_array(const std::string& path, ArrayRole role) {
  const ArrayPath parts = split_array_path(path);
  if (parts.dataset.starts_with('/')) return open_hdf5(parts.file, parts.dataset);
  MappedFile file(parts.file);
  if (is_csv(parts.file)) {
    refuse_other_formats(file.bytes(), parts.file);
    return open_csv(std::move(file), parts, role);
  }
  if (parts.file.ends_with(".safetensors")) return open_safetensors(std::move(file), parts.file, parts.dataset);
  if (is_zip(file.bytes())) return open_archive(std::move(file), parts.file, parts.dataset);
  if (parts.dataset.empty()) return open_npy(whole(std::move(file)), parts.file, parts.file);
  throw BadInput("{}: is not a zip file as numpy.savez writes it; give its plain name, or write it again", parts.file);
}

}  // namespace dpreduce
