#include "common/data/torch_pickle.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"

namespace dpreduce {
namespace {

struct PickledValue;
using Pickled = std::shared_ptr<const PickledValue>;  // shared: what is remembered may be in many tuples

enum class Kind { kOther, kMark, kNumber, kText, kName, kTuple, kDictionary, kStorage, kTensor };

struct PickledValue {
  Kind kind = Kind::kOther;
  std::int64_t number = 0;
  std::string text{};            // of a text or a name
  std::vector<Pickled> items{};  // of a dictionary keys and values in turn; of a storage or a tensor what it is made of
  std::size_t depth = 0;
};

// Reads a pickle from left to right, with the stack that its instructions work on.
class PickleReader {
 public:
  PickleReader(std::span<const std::byte> pickle, const std::string& name)
      : text_(reinterpret_cast<const char*>(pickle.data()), pickle.size()), name_(name) {}

  std::vector<StoredTensor> read() {
    while (true) {
      const char code = bytes(1).front();
      if (code == '.') break;
      const auto found = instructions().find(code);
      if (found == instructions().end()) fail(fmt::format("instruction {:#04x}", static_cast<unsigned char>(code)));
      found->second(*this);
    }
    const Pickled root = popped();
    if (root->kind == Kind::kTensor) return {tensor_of(*root, "")};
    std::vector<StoredTensor> tensors;
    for (std::size_t k = 0; root->kind == Kind::kDictionary && k + 1 < root->items.size(); k += 2) {
      const Pickled& key = root->items[k];
      const Pickled& value = root->items[k + 1];
      if (value->kind == Kind::kTensor) tensors.push_back(tensor_of(*value, expect(key, Kind::kText)->text));
    }
    return tensors;
  }

 private:
  using Instruction = void (*)(PickleReader&);

  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput(
        fmt::format("{}: holds more than tensors ({}), and nothing of that is run; save a tensor, or a dictionary of "
                    "tensors, by torch.save, or an array by numpy.save",
                    name_, what));
  }

  std::string_view bytes(std::size_t count) {
    if (count > text_.size() - position_) fail("it ends in the middle");
    return text_.substr(std::exchange(position_, position_ + count), count);
  }

  std::uint64_t number_of(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view digits = bytes(std::min<std::size_t>(count, 8));
    for (std::size_t k = 0; k < digits.size(); ++k)
      value |= std::uint64_t{static_cast<unsigned char>(digits[k])} << 8 * k;
    return value;
  }

  std::string line() {
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    const std::string word(bytes(end - position_));
    bytes(1);
    return word;
  }

  // No value is nested deeper than those of tensors, so that nothing recurses far. Few bytes may ask for many values.
  void push(PickledValue value) {
    constexpr std::size_t kDeepest = 16;
    constexpr std::size_t kMostItems = 1 << 20;
    for (const Pickled& item : value.items) value.depth = std::max(value.depth, item->depth + 1);
    if (value.depth > kDeepest) fail("values that are nested too deeply");
    items_ += value.items.size();
    if (items_ > kMostItems) fail("too many values");
    stack_.push_back(std::make_shared<const PickledValue>(std::move(value)));
  }
  void push_number(std::uint64_t number) { push({Kind::kNumber, static_cast<std::int64_t>(number)}); }
  void push_text(std::size_t count) { push({Kind::kText, 0, std::string(bytes(count))}); }
  void push_tuple(std::vector<Pickled> items) { push({Kind::kTuple, 0, {}, std::move(items)}); }

  const Pickled& top() const {
    if (stack_.empty()) fail("an instruction without a value");
    return stack_.back();
  }

  const Pickled& expect(const Pickled& value, Kind kind) const {
    if (value->kind != kind) fail("a value where another is due");
    return value;
  }

  Pickled popped() {
    Pickled value = top();
    stack_.pop_back();
    return value;
  }
  Pickled popped(Kind kind) { return expect(popped(), kind); }

  std::vector<Pickled> popped_values(std::size_t count) {
    std::vector<Pickled> values(count);
    for (auto value = values.rbegin(); value != values.rend(); ++value) *value = popped();
    return values;
  }

  std::vector<Pickled> popped_to_mark() {
    const auto mark =
        std::find_if(stack_.rbegin(), stack_.rend(), [](const Pickled& v) { return v->kind == Kind::kMark; });
    std::vector<Pickled> values = popped_values(static_cast<std::size_t>(mark - stack_.rbegin()));
    popped(Kind::kMark);
    return values;
  }

  void add_items(const std::vector<Pickled>& added) {
    PickledValue dictionary = *popped(Kind::kDictionary);
    dictionary.items.insert(dictionary.items.end(), added.begin(), added.end());
    push(std::move(dictionary));
  }

  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("a reference to nothing");
    stack_.push_back(found->second);
  }

  void push_name() {
    const std::string module = line();
    push({Kind::kName, 0, module + "." + line()});
  }

  void call() {
    const Pickled given = popped(Kind::kTuple);
    const Pickled called = popped(Kind::kName);
    if (called->text == "collections.OrderedDict" && given->items.empty()) return push({Kind::kDictionary});
    if (called->text != "torch._utils._rebuild_tensor_v2") fail("a call of " + in_quotes(called->text));
    push({Kind::kTensor, 0, {}, given->items});
  }

  std::vector<std::uint64_t> extents_of(const Pickled& tuple) const {
    std::vector<std::uint64_t> extents;
    for (const Pickled& item : expect(tuple, Kind::kTuple)->items) {
      if (expect(item, Kind::kNumber)->number < 0) fail("a negative extent");
      extents.push_back(static_cast<std::uint64_t>(item->number));
    }
    return extents;
  }

  // Of (("storage", type, key, device, elements), offset, shape, strides, ...).
  StoredTensor tensor_of(const PickledValue& value, const std::string& name) const {
    if (value.items.size() < 4) fail("a tensor of too few parts");
    const std::vector<Pickled>& storage = expect(value.items[0], Kind::kStorage)->items;
    if (storage.size() < 3) fail("a storage of too few parts");
    StoredTensor tensor{.name = name,
                        .storage = expect(storage[1], Kind::kName)->text,
                        .key = expect(storage[2], Kind::kText)->text,
                        .offset = static_cast<std::uint64_t>(expect(value.items[1], Kind::kNumber)->number),
                        .shape = extents_of(value.items[2]),
                        .strides = extents_of(value.items[3])};
    if (tensor.shape.size() != tensor.strides.size()) fail("as many strides as extents are due");
    return tensor;
  }

  static const std::map<char, Instruction>& instructions() {
    static const std::map<char, Instruction> all{
        {'\x80', [](PickleReader& r) { r.bytes(1); }},                                  // PROTO
        {'(', [](PickleReader& r) { r.push({Kind::kMark}); }},                          // MARK
        {'N', [](PickleReader& r) { r.push({}); }},                                     // NONE
        {'\x88', [](PickleReader& r) { r.push({}); }},                                  // NEWTRUE
        {'\x89', [](PickleReader& r) { r.push({}); }},                                  // NEWFALSE
        {'G', [](PickleReader& r) { r.bytes(8), r.push({}); }},                         // BINFLOAT
        {'K', [](PickleReader& r) { r.push_number(r.number_of(1)); }},                  // BININT1
        {'M', [](PickleReader& r) { r.push_number(r.number_of(2)); }},                  // BININT2
        {'J', [](PickleReader& r) { r.push_number(r.number_of(4)); }},                  // BININT
        {'\x8a', [](PickleReader& r) { r.push_number(r.number_of(r.number_of(1))); }},  // LONG1
        {'X', [](PickleReader& r) { r.push_text(r.number_of(4)); }},                    // BINUNICODE
        {'c', [](PickleReader& r) { r.push_name(); }},                                  // GLOBAL
        {'q', [](PickleReader& r) { r.memo_[r.number_of(1)] = r.top(); }},              // BINPUT
        {'r', [](PickleReader& r) { r.memo_[r.number_of(4)] = r.top(); }},              // LONG_BINPUT
        {'h', [](PickleReader& r) { r.recall(r.number_of(1)); }},                       // BINGET
        {'j', [](PickleReader& r) { r.recall(r.number_of(4)); }},                       // LONG_BINGET
        {')', [](PickleReader& r) { r.push_tuple({}); }},                               // EMPTY_TUPLE
        {'\x85', [](PickleReader& r) { r.push_tuple(r.popped_values(1)); }},            // TUPLE1
        {'\x86', [](PickleReader& r) { r.push_tuple(r.popped_values(2)); }},            // TUPLE2
        {'\x87', [](PickleReader& r) { r.push_tuple(r.popped_values(3)); }},            // TUPLE3
        {'t', [](PickleReader& r) { r.push_tuple(r.popped_to_mark()); }},               // TUPLE
        {'}', [](PickleReader& r) { r.push({Kind::kDictionary}); }},                    // EMPTY_DICT
        {'s', [](PickleReader& r) { r.add_items(r.popped_values(2)); }},                // SETITEM
        {'u', [](PickleReader& r) { r.add_items(r.popped_to_mark()); }},                // SETITEMS
        {'Q',
         [](PickleReader& r) {
           r.push({Kind::kStorage, 0, {}, r.popped(Kind::kTuple)->items});
         }},                                        // BINPERSID
        {'R', [](PickleReader& r) { r.call(); }}};  // REDUCE
    return all;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t position_ = 0;
  std::size_t items_ = 0;  // in all values so far
  std::vector<Pickled> stack_;
  std::map<std::uint64_t, Pickled> memo_;
};

}  // namespace

std::vector<StoredTensor> tensors_of_pickle(std::span<const std::byte> pickle, const std::string& name) {
  return PickleReader(pickle, name).read();
}

}  // namespace dpreduce
