#include "common/silos/file_claims.hpp"

#include "common/randomness/secure_bytes.hpp"
#include "tests/testing.hpp"

namespace dpreduce::file_claims_test {

RunId new_run() {
  RunId run{};
  secure_bytes(run);
  return run;
}

FileIdentity array_at(std::uint64_t device, std::uint64_t inode, std::uint64_t place) {
  return {.machine = "", .device = device, .inode = inode, .place = place};
}

const FileIdentity kFile = array_at(7, 12, 0);

TEST(FileClaims, ASiloSeesTheClaimOfOneOfASmallerNumber) {
  const RunId run = new_run();
  FileClaims first(run, 1);
  FileClaims third(run, 3);
  EXPECT_EQ(third.earlier_claimant(kFile), std::nullopt);
  first.claim(kFile);
  third.claim(kFile);
  EXPECT_EQ(third.earlier_claimant(kFile), 1U);
  EXPECT_EQ(first.earlier_claimant(kFile), std::nullopt) << "one of the two tells";
}

TEST(FileClaims, OtherFilesAndDataSetsAreNotTheSame) {
  const RunId run = new_run();
  FileClaims first(run, 1);
  FileClaims second(run, 2);
  first.claim(kFile);
  for (const FileIdentity& other : {array_at(8, 12, 0), array_at(7, 13, 0), array_at(7, 12, 800)}) {
    EXPECT_EQ(second.earlier_claimant(other), std::nullopt);
  }
}

TEST(FileClaims, RunsDoNotSeeEachOther) {
  FileClaims one(new_run(), 1);
  FileClaims other(new_run(), 2);
  one.claim(kFile);
  EXPECT_EQ(other.earlier_claimant(kFile), std::nullopt);
}

TEST(FileClaims, AFileMayBeClaimedTwiceByOneSiloAndClaimsEndWithIt) {
  const RunId run = new_run();
  {
    FileClaims first(run, 1);
    first.claim(kFile);
    EXPECT_NO_THROW(first.claim(kFile));
  }
  EXPECT_EQ(FileClaims(run, 2).earlier_claimant(kFile), std::nullopt);
}

}  // namespace dpreduce::file_claims_test
