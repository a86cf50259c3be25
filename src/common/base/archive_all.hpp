// How a struct says once what it is made of, for whatever writes and reads it.
#pragma once

namespace dpreduce {

/// Archives `members`, for the serialize of a struct.
template <typename Archive, typename... Member>
void archive_all(Archive& archive, Member&... members) {
  (void)(archive & ... & members);
}

/// Defines serialize of the struct `Type`, whose members are all named, in their order: where one is left out, it does
/// not compile.
#define DPREDUCE_ARCHIVE(Type, ...)                                  \
  template <typename Archive>                                        \
  void serialize(Archive& archive, Type& archived_value, unsigned) { \
    auto& [__VA_ARGS__] = archived_value;                            \
    ::dpreduce::archive_all(archive, __VA_ARGS__);                   \
  }

}  // namespace dpreduce
