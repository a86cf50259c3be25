#include "common/data/archive_array.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"
#include "common/data/npy_array.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kSuffix = ".npy";

// The place of `name` among `names`; of an empty name that of the only one.
std::size_t place_of_array(const std::vector<std::string>& names, const std::string& path, const std::string& name) {
  if (names.empty()) {
    throw BadInput(fmt::format("{}: has no array; write it with numpy.savez", path));
  }
  if (name.empty() && names.size() == 1) return 0;
  const auto found = std::ranges::find(names, name);
  if (!name.empty() && found != names.end()) return static_cast<std::size_t>(found - names.begin());
  constexpr std::size_t kMostToTell = 8;
  std::string told;
  for (std::size_t k = 0; k < std::min(names.size(), kMostToTell); ++k) {
    told += (k == 0 ? "" : ", ") + in_quotes(names[k]);
  }
  if (names.size() > kMostToTell) told += ", ...";
  throw BadInput(fmt::format("{}: {}; it has {}: name one, as in {}:NAME", path,
                             name.empty() ? "has several arrays" : "there is no array " + in_quotes(name), told, path));
}

bool is_of_torch(const ZipFile& archive) {
  return std::ranges::any_of(archive.members(), [](const ZipFile::Member& member) {
    return member.name == "data.pkl" || member.name.ends_with("/data.pkl");
  });
}

}  // namespace

std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name) {
  ZipFile archive(std::move(file), path);
  if (is_of_torch(archive)) {
    throw BadInput(
        fmt::format("{}: is a file of torch.save; convert it: numpy.save('x.npy', torch.load('{}', "
                    "map_location='cpu', weights_only=True){}.numpy())",
                    path, path, name.empty() ? "" : fmt::format("['{}']", name)));
  }
  std::vector<std::string> names;
  std::vector<ZipFile::Member> members;
  for (const ZipFile::Member& member : archive.members()) {
    if (!member.name.ends_with(kSuffix)) continue;
    names.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
    members.push_back(member);
  }
  const std::size_t place = place_of_array(names, path, name);
  return std::make_unique<NpyArray>(std::move(archive).take(members[place]), path + ":" + names[place], path);
}

}  // namespace dpreduce
