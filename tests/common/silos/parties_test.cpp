#include "common/silos/parties.hpp"

#include <sys/stat.h>

#include "common/base/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::parties_test {

class IdentityTest : public testing::Test {
 protected:
  void write(const std::string& text) const { write_bytes(path_, text); }
  std::string refusal() const {
    return dpreduce::refusal<BadInput>([&] { load_identity(path_, "--identity"); });
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "identity";
};

TEST_F(IdentityTest, AFileKeepsItAndIsItsOwnersAlone) {
  const Identity identity = Identity::generate();
  save_new_identity(identity, path_, "--out");
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(load_identity(path_, "--identity").public_key(), identity.public_key());
}

TEST_F(IdentityTest, IsNeverOverwritten) {
  write("something");
  EXPECT_THROW(save_new_identity(Identity::generate(), path_, "--out"), BadInput);
  EXPECT_EQ(read_bytes(path_), "something");
}

TEST_F(IdentityTest, FilesThatAreNoneAreRefusedByName) {
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened"));
  write("-----BEGIN NOTHING-----\n");
  EXPECT_THAT(refusal(), HasSubstr("chmod 600"));
  ::chmod(path_.c_str(), 0600);
  EXPECT_THAT(refusal(), HasSubstr("Ed25519"));
  write(std::string(5000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("4 KiB"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(refusal(), HasSubstr("regular file"));
}

std::string key(char digit) {
  return std::string(64, digit);
}

std::string member(const std::string& section, const std::string& name, char digit) {
  return "[" + section + "]\nname = \"" + name + "\"\nkey = \"" + key(digit) + "\"\n";
}

const std::string kHead = "dim = 768\nclasses = 10\n";
const std::string kParties =
    member("coordinator", "hub", '0') + member("silo.1", "north", '1') + member("silo.2", "s-2", '2');

std::string refusal(const std::string& text) {
  return dpreduce::refusal<BadInput>([&] { parse_roster(text, "r.toml"); });
}

TEST(Roster, NamesWhoTakesPart) {
  const Roster roster = parse_roster(kHead + kParties, "r.toml");
  EXPECT_EQ(roster.dim, 768U);
  EXPECT_EQ(roster.classes, 10U);
  ASSERT_EQ(roster.silos(), 2U);
  EXPECT_EQ(roster.members[0].name, "hub");
  EXPECT_EQ(roster.members[2].name, "s-2");
  EXPECT_EQ(roster.members[1].key, *public_key_of_hex(key('1')));
}

TEST(Roster, ADigestTellsRostersApart) {
  const Roster roster = parse_roster(kHead + kParties, "r.toml");
  Roster other = roster;
  EXPECT_EQ(other.digest(), roster.digest());
  std::vector<std::function<void(Roster&)>> changes{[](Roster& changed) { changed.members[2].name = "s-3"; },
                                                    [](Roster& changed) { changed.dim = 767; },
                                                    [](Roster& changed) { changed.classes = 9; }};
  for (std::size_t party = 0; party < roster.members.size(); ++party) {
    changes.emplace_back([party](Roster& changed) { changed.members[party].key[31] ^= std::byte{1}; });
  }
  for (const auto& change : changes) {
    other = roster;
    change(other);
    EXPECT_NE(other.digest(), roster.digest());
  }
}

TEST(Roster, FaultsAreNamed) {
  EXPECT_THAT(refusal(kParties), HasSubstr("'dim' is missing"));
  EXPECT_THAT(refusal("dim = 3\n" + kParties), HasSubstr("'classes' is missing"));
  EXPECT_THAT(refusal("dim = -3\nclasses = 2\n" + kParties), HasSubstr("dim = -3"));
  EXPECT_THAT(refusal("dim = 0\nclasses = 2\n" + kParties), HasSubstr("dim = 0"));
  EXPECT_THAT(refusal("size = 1\n" + kHead + kParties), HasSubstr("'size' is unknown"));
  EXPECT_THAT(refusal(kHead + member("silo.1", "a", '1') + member("silo.2", "b", '2')), HasSubstr("[coordinator]"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.4", "d", '4')), HasSubstr("[silo.3] is missing"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.0", "d", '4')), HasSubstr("= 0"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", "north", '4')), HasSubstr("\"north\" appears twice"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", "d", '1')), HasSubstr("key of \"d\" appears twice"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", "a b", '4')), HasSubstr("a name is"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", "d", 'X')), HasSubstr("64 hex digits"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", "d", '4') + "mail = \"x\"\n"),
              HasSubstr("'mail' is unknown"));
  EXPECT_THAT(refusal(kHead + member("coordinator", "hub", '0') + member("silo.1", "a", '1')), HasSubstr("at least 2"));
  EXPECT_THAT(refusal("dim = [1, 2]\n"), HasSubstr("one value"));
  EXPECT_THAT(refusal(kHead + kParties + "[silo.3]\nname = \"d\"\n"), HasSubstr("[silo.3]: 'key' is missing"));
  EXPECT_THAT(refusal(kHead + kParties + "[silo.3]\nkey = \"" + key('4') + "\"\n"),
              HasSubstr("[silo.3]: 'name' is missing"));
  EXPECT_THAT(refusal(kHead + member("silo.1", "a", '1')), HasSubstr("[coordinator]: 'name' is missing"));
  const std::string longest(100, 'a');
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", longest, '4')), HasSubstr("a name is"));
  EXPECT_THAT(refusal(kHead + kParties + member("silo.3", "", '4')), HasSubstr("a name is"));
}

TEST(Roster, AFileThatIsNotThereIsNamed) {
  EXPECT_THROW(read_roster("/nonexistent/r.toml"), BadInput);
}

}  // namespace dpreduce::parties_test
