// Files of NumPy and of tensors, read: .npy, .npz and .safetensors.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/data/array_formats.hpp"
#include "common/data/safetensors.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// First bytes of files of other formats, and what to do about them.
struct OtherFormat {
  std::string_view magic;
  std::string_view advice;  // after the file's name, which {0} stands for
  std::size_t place = 0;    // of the magic
};

constexpr OtherFormat kOtherFormats[] = {
    {"\x89HDF\r\n\x1a\n", "is an HDF5 file; name a dataset in it, as in {0}:/features"},
    {"PAR1", "is a Parquet file; convert it: numpy.save('x.npy', pandas.read_parquet('{0}').to_numpy('float32'))"},
    {"ARROW1",
     "is an Arrow (Feather) file; convert it: numpy.save('x.npy', "
     "pandas.read_feather('{0}').to_numpy('float32'))"},
    {"FEA1", "is a Feather file; convert it: numpy.save('x.npy', pandas.read_feather('{0}').to_numpy('float32'))"},
    {"\x80",
     "is a Python pickle, which is never read, since reading one runs its code; save the array with numpy.save"},
    {"cnumpy",
     "is a Python pickle, which is never read, since reading one runs its code; save the array with numpy.save"},
    {"\x1f\x8b", "is packed by gzip; unpack it with gunzip"},
    {"\x28\xb5\x2f\xfd", "is packed by zstd; unpack it with unzstd"},
    {"BZh", "is packed by bzip2; unpack it with bunzip2"},
    {std::string_view("\xfd\x37zXZ", 5), "is packed by xz; unpack it with unxz"},
    {"ustar", "is a tar archive; unpack it with tar xf, and name the files in it", 257},
    {"MATLAB 5.0", "is a file of MATLAB; convert it: numpy.save('x.npy', scipy.io.loadmat('{0}')['NAME'])"},
    {"\x89PNG", "is a picture; an encoder makes features of pictures, one row of numbers each: save these"},
    {"\xff\xd8\xff", "is a picture; an encoder makes features of pictures, one row of numbers each: save these"},
    {"%PDF", "is a PDF document; an encoder makes features of texts, one row of numbers each: save these"},
    {"SQLite format 3", "is an SQLite database; export a table as .csv"},
    {"\xd0\xcf\x11\xe0", "is a workbook or document of Office; save the sheet as .csv"}};
constexpr std::size_t kMaxTextLength = 64 * 1024;  // NumPy itself warns from 10,000; a plain array needs about 120
constexpr std::size_t kMaxCharacters = 65536;      // of a string: a class name is shorter
constexpr std::size_t kMaxDimensions = 32;         // NumPy 1's own limit

// Reads the text from left to right; `position_` never passes its end.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(ArrayLayout& header) {
    expect("{");
    std::set<std::string_view> missing{"descr", "fortran_order", "shape"};
    while (!accept("}")) {
      const std::string_view key = quoted();
      expect(":");
      if (missing.erase(key) == 0) fail(fmt::format("key {} is unknown, or appears twice", in_quotes(key)));
      if (key == "descr") {
        descr(header);
      } else if (key == "fortran_order") {
        header.memory_order = boolean() ? MemoryOrder::kFortran : MemoryOrder::kC;
      } else {
        header.shape = shape();
      }
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) fail("text after the dictionary");
    if (!missing.empty()) fail(fmt::format("key '{}' is missing", *missing.begin()));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput("{}: damaged .npy header: {} (at byte {} of its text); write the file again with numpy.save", name_,
                   what, position_);
  }

  void skip_space() { position_ = std::min(text_.find_first_not_of(" \n\t\r", position_), text_.size()); }

  bool accept(std::string_view wanted) {
    skip_space();
    if (!text_.substr(position_).starts_with(wanted)) return false;
    position_ += wanted.size();
    return true;
  }

  void expect(std::string_view wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}' expected", wanted));
  }

  std::string_view quoted() {
    const char quote = accept("'") ? '\'' : '"';
    if (quote == '"' && !accept("\"")) fail("a quoted word expected");
    const std::size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) fail("a quote does not end");
    const std::string_view word = text_.substr(position_, end - position_);
    position_ = end + 1;
    return word;
  }

  bool boolean() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    fail("True or False expected");
  }

  std::uint64_t extent() {
    skip_space();
    const std::string_view rest = text_.substr(position_);
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    const std::optional<std::uint64_t> value = plain_number<std::uint64_t>(digits);
    if (!value) fail("an extent expected, from 0 to 2^64 - 1");
    position_ += digits.size() + (rest.substr(digits.size()).starts_with('L') ? 1 : 0);  // written by Python 2
    return *value;
  }

  // "()", "(3,)", "(3, 4)", "(3, 4,)"; but not "(3)", which is no tuple.
  Shape shape() {
    Shape extents;
    expect("(");
    bool comma = true;
    while (!accept(")")) {
      if (!comma) fail("',' or ')' expected");
      if (extents.size() == kMaxDimensions) fail(fmt::format("more than {} extents", kMaxDimensions));
      extents.push_back(extent());
      comma = accept(",");
    }
    if (extents.size() == 1 && !comma) fail("a shape that is not a tuple");
    return extents;
  }

  void descr(ArrayLayout& header) {
    if (accept("[")) {
      throw BadInput(
          "{}: holds records with named fields; save one plain array of float32 features, "
          "integer labels, or identifiers of persons as integers or strings instead",
          name_);
    }
    const std::string_view word = quoted();
    const char order = word.empty() ? ' ' : word.front();
    const bool is_known = !word.empty() && accept_type(word.substr(1), header);
    const bool has_no_order = header.dtype == DType::kBytes || header.element_bytes == 1;
    if (!is_known || !(order == '<' || order == '>' || order == '=' || (order == '|' && has_no_order))) {
      throw BadInput(
          "{}: holds elements of type {}; save features as float16, float32 or float64, labels as "
          "integers, or as names of classes by numpy.save(file, labels.astype(str)), and identifiers of "
          "persons as integers or strings, e.g. ids.astype(str)",
          name_, in_quotes(word));
    }
    header.byte_order = order == '<' ? ByteOrder::kLittle : order == '>' ? ByteOrder::kBig : kNativeByteOrder;
  }

  // "f4"; "S12": 12 bytes; "U12": 12 code points of 4 bytes.
  static bool accept_type(std::string_view code, ArrayLayout& header) {
    const auto number = std::ranges::find(kNumberTypes, code, &NumberType::code);
    if (number != kNumberTypes.end()) {
      header.dtype = number->dtype;
      header.element_bytes = number->bytes;
      return true;
    }
    if (!code.starts_with('S') && !code.starts_with('U')) return false;
    const std::size_t length = plain_number<std::size_t>(code.substr(1)).value_or(0);
    header.dtype = code.front() == 'U' ? DType::kUnicode : DType::kBytes;
    header.element_bytes = length * (code.front() == 'U' ? sizeof(char32_t) : 1);
    return length > 0 && length <= kMaxCharacters;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t position_ = 0;
};

constexpr std::string_view kSuffix = ".npy";

// The place of `name` among `names`; of an empty name that of the only one.
std::size_t place_of_array(const std::vector<std::string>& names, const std::string& path, const std::string& name) {
  if (names.empty()) {
    throw BadInput("{}: has no array; unpack what else it holds, or write arrays with numpy.savez", path);
  }
  if (name.empty() && names.size() == 1) return 0;
  const auto found = std::ranges::find(names, name);
  if (!name.empty() && found != names.end()) return static_cast<std::size_t>(found - names.begin());
  constexpr std::size_t kMostListed = 8;
  std::string told;
  for (std::size_t k = 0; k < std::min(names.size(), kMostListed); ++k) {
    told += (k == 0 ? "" : ", ") + in_quotes(names[k]);
  }
  if (names.size() > kMostListed) told += ", ...";
  throw BadInput("{}: {}; it has {}: name one, as in {}:NAME", path,
                 name.empty() ? "has several arrays" : "there is no array " + in_quotes(name), told, path);
}

bool has_member(const ZipFile& archive, const std::string& name) {
  return std::ranges::any_of(archive.members(), [&](const ZipFile::Member& member) {
    return member.name == name || member.name.ends_with("/" + name);
  });
}

}  // namespace

void refuse_other_formats(std::span<const std::byte> file, const std::string& name) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  for (const OtherFormat& other : kOtherFormats) {
    if (bytes.size() < other.place || !bytes.substr(other.place).starts_with(other.magic)) continue;
    throw BadInput("{}: {}", name, fmt::format(fmt::runtime(other.advice), name));
  }
}

ArrayLayout parse_npy_header(std::span<const std::byte> file, const std::string& name) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  refuse_other_formats(file, name);
  if (!bytes.starts_with(kMagic)) {
    throw BadInput(
        "{}: is not an .npy file; save the array with numpy.save; supported are .npy, .npz, .safetensors, "
        "tables with commas named .csv, and HDF5 as file.h5:/dataset",
        name);
  }
  const auto cut = [&]() -> BadInput {
    return BadInput("{}: ends inside its .npy header; write or copy it again", name);
  };
  if (bytes.size() < kMagic.size() + 2) throw cut();
  const auto byte_at = [&](std::size_t offset) { return std::to_integer<std::size_t>(file[offset]); };
  const std::size_t major = byte_at(kMagic.size());
  const std::size_t minor = byte_at(kMagic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    throw BadInput("{}: .npy version {}.{}; versions 1.0, 2.0 and 3.0 are read: save it again with numpy.save", name,
                   major, minor);
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t text_offset = kMagic.size() + 2 + length_bytes;
  if (bytes.size() < text_offset) throw cut();
  std::size_t text_length = 0;
  for (std::size_t digit = 0; digit < length_bytes; ++digit) {
    text_length |= byte_at(kMagic.size() + 2 + digit) << (8 * digit);
  }
  if (text_length > kMaxTextLength) {
    throw BadInput("{}: .npy header of {} bytes; a plain array needs about 120: write it again with numpy.save", name,
                   text_length);
  }
  if (text_length > bytes.size() - text_offset) throw cut();

  ArrayLayout header;
  HeaderText(bytes.substr(text_offset, text_length), name).parse(header);
  header.data_offset = text_offset + text_length;
  return header;
}

std::unique_ptr<ArrayFile> open_npy(StoredBytes bytes, const std::string& name, const std::string& path) {
  const ArrayLayout layout = parse_npy_header(bytes.bytes(), name);
  return open_elements(std::move(bytes), name, path, layout);
}

std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name) {
  ZipFile archive(std::move(file), path);
  if (has_member(archive, "workbook.xml") || has_member(archive, "content.xml")) {
    throw BadInput("{}: is a workbook or document of Office; save the sheet as .csv", path);
  }
  if (has_member(archive, "data.pkl")) {
    throw BadInput(
        "{}: is a file of torch.save; convert it: numpy.save('x.npy', torch.load('{}', "
        "map_location='cpu', weights_only=True){}.numpy())",
        path, path, name.empty() ? "" : fmt::format("['{}']", name));
  }
  std::vector<std::string> names;
  std::vector<ZipFile::Member> members;
  for (const ZipFile::Member& member : archive.members()) {
    if (!member.name.ends_with(kSuffix)) continue;
    names.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
    members.push_back(member);
  }
  const std::size_t place = place_of_array(names, path, name);
  return open_npy(std::move(archive).take(members[place]), path + ":" + names[place], path);
}

std::unique_ptr<ArrayFile> open_safetensors(MappedFile file, const std::string& path, const std::string& name) {
  const SafetensorsHeader header = safetensors_header(file.bytes(), path);
  std::vector<std::string> names;
  for (const auto& [own, entry] : header.entries) names.push_back(own);
  const std::string& own = names[place_of_array(names, path, name)];
  const TensorEntry& entry = header.entries.at(own);
  StoredBytes stored{
      .file = std::move(file), .offset = header.data_offset + entry.begin, .length = entry.end - entry.begin};
  return open_elements(std::move(stored), path + ":" + own, path,
                       {.dtype = entry.type, .element_bytes = size_of(entry.type), .shape = entry.shape});
}

}  // namespace dpreduce
