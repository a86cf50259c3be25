#include "common/data/archive_array.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"
#include "common/data/npy_array.hpp"
#include "common/data/torch_tensors.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::unique_ptr<ArrayFile> open_npz(ZipFile archive, const std::string& path, const std::string& name) {
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

}  // namespace

std::size_t place_of_array(const std::vector<std::string>& names, const std::string& path, const std::string& name) {
  if (names.empty()) {
    throw BadInput(fmt::format("{}: has no array; write it with numpy.savez, or torch.save of tensors", path));
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

std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name) {
  ZipFile archive(std::move(file), path);
  const auto is_pickle = [](const ZipFile::Member& member) {
    return member.name == "data.pkl" || member.name.ends_with("/data.pkl");
  };
  const auto pickle = std::ranges::find_if(archive.members(), is_pickle);
  if (pickle == archive.members().end()) return open_npz(std::move(archive), path, name);
  return open_tensor(std::move(archive), ZipFile::Member(*pickle), path, name);
}

}  // namespace dpreduce
