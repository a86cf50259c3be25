// How a struct says once what it is made of, for whatever writes and reads it.
#pragma once

namespace dpreduce {

/// For serialize(archive, T&, unsigned) of a struct: archives `members`. Bind them by `auto& [a, b] = value`, which
/// does not compile where one is left out.
template <typename Archive, typename... Member>
void archive_all(Archive& archive, Member&... members) {
  (void)(archive & ... & members);
}

}  // namespace dpreduce
