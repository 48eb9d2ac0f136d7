// Each launcher's variables, and what each misuse is told.
#include "transports/bootstrap/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transports/bootstrap/root_address.h"
#include "transports/bootstrap/slurm_nodes.h"

namespace peal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Launch launch(const Environment& environment) { return launch_from(Settings::from(environment), environment); }

std::string refusal(const Environment& environment) {
  try {
    launch(environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
    return error.what();
  }
  return "no error";
}

struct Case {
  std::string name;
  Environment environment;
  std::string source;
  int rank, size, local_size;
  std::string root_prefix;
};

class Launchers : public ::testing::TestWithParam<Case> {};

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

TEST_P(Launchers, SayWhoWeAre) {
  const Case& expected = GetParam();
  Launch found = launch(expected.environment);
  EXPECT_EQ(found.source, expected.source);
  EXPECT_EQ(found.rank, expected.rank);
  EXPECT_EQ(found.size, expected.size);
  EXPECT_EQ(found.local_size, expected.local_size);
  EXPECT_THAT(found.root, StartsWith(expected.root_prefix));
  EXPECT_EQ(found.root.empty(), expected.root_prefix.empty());
}

const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                              {"PMIX_RANK", "2"},
                              {"PMIX_NAMESPACE", "prterun-host-17@1"}};

INSTANTIATE_TEST_SUITE_P(
    All, Launchers,
    ::testing::Values(
        Case{"alone", {}, "alone", 0, 1, 0, ""},
        Case{
            "explicit", {{"PEAL_RANK", "1"}, {"PEAL_SIZE", "3"}, {"PEAL_ROOT", "unix:x"}}, "PEAL_*", 1, 3, 3, "unix:x"},
        Case{"explicit_tcp",
             {{"PEAL_RANK", "0"}, {"PEAL_SIZE", "2"}, {"PEAL_ROOT", "10.0.0.1:99"}},
             "PEAL_*",
             0,
             2,
             0,
             "10.0.0.1:99"},
        Case{"key_alone", {{"PEAL_RANK", "1"}, {"PEAL_SIZE", "3"}, {"PEAL_KEY", "k"}}, "PEAL_*", 1, 3, 3, "unix:peal-"},
        Case{"one", {{"PEAL_RANK", "0"}, {"PEAL_SIZE", "1"}}, "PEAL_*", 0, 1, 0, ""},
        Case{"torchrun",
             {{"RANK", "3"},
              {"WORLD_SIZE", "8"},
              {"LOCAL_WORLD_SIZE", "4"},
              {"MASTER_ADDR", "node1"},
              {"MASTER_PORT", "29500"}},
             "torchrun",
             3,
             8,
             4,
             "node1:29501"},
        Case{"torchrun_v6",
             {{"RANK", "3"},
              {"WORLD_SIZE", "8"},
              {"LOCAL_WORLD_SIZE", "4"},
              {"MASTER_ADDR", "fd00::1"},
              {"MASTER_PORT", "29500"}},
             "torchrun",
             3,
             8,
             4,
             "[fd00::1]:29501"},
        Case{"torchrun_one_host",
             {{"RANK", "0"},
              {"WORLD_SIZE", "4"},
              {"LOCAL_WORLD_SIZE", "4"},
              {"MASTER_ADDR", "localhost"},
              {"MASTER_PORT", "29500"}},
             "torchrun",
             0,
             4,
             4,
             "unix:peal-"},
        Case{"openmpi", kOpenMpi, "Open MPI", 2, 4, 4, "unix:peal-"},
        Case{"hydra", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}}, "PMI", 1, 2, 2, "unix:peal-"},
        Case{"pmix",
             {{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "slurm.pmix.5.0"}, {"SLURM_NTASKS", "2"}, {"SLURM_NNODES", "1"}},
             "PMIx",
             1,
             2,
             2,
             "unix:peal-"},
        Case{"slurm",
             {{"SLURM_PROCID", "5"},
              {"SLURM_NTASKS", "8"},
              {"SLURM_JOB_ID", "77"},
              {"SLURM_STEP_ID", "0"},
              {"SLURM_NNODES", "2"},
              {"SLURM_STEP_NODELIST", "gpu[03-04]"}},
             "Slurm",
             5,
             8,
             0,
             "gpu03:"},
        Case{"slurm_one_node",
             {{"SLURM_PROCID", "1"},
              {"SLURM_NTASKS", "2"},
              {"SLURM_JOB_ID", "77"},
              {"SLURM_STEP_ID", "0"},
              {"SLURM_NNODES", "1"}},
             "Slurm",
             1,
             2,
             2,
             "unix:peal-"},
        Case{"peal_wins",
             {{"PEAL_RANK", "0"}, {"PEAL_SIZE", "2"}, {"PEAL_ROOT", "unix:y"}, {"RANK", "5"}, {"WORLD_SIZE", "9"}},
             "PEAL_*",
             0,
             2,
             2,
             "unix:y"}),
    case_name);

TEST(Launch, RanksOfOneJobAgreeAndJobsDiffer) {
  Environment other_rank = kOpenMpi, other_job = kOpenMpi;
  other_rank["OMPI_COMM_WORLD_RANK"] = "0";
  other_job["PMIX_NAMESPACE"] = "prterun-host-18@1";
  EXPECT_EQ(launch(kOpenMpi).root, launch(other_rank).root);
  EXPECT_EQ(launch(kOpenMpi).key, launch(other_rank).key);
  EXPECT_NE(launch(kOpenMpi).root, launch(other_job).root);
  EXPECT_NE(launch(kOpenMpi).key, launch(other_job).key);
  EXPECT_FALSE(launch(kOpenMpi).key_is_secret);
}

TEST(Launch, TheKeyIsASecretOnlyWhenGiven) {
  Environment environment = {{"PEAL_RANK", "1"}, {"PEAL_SIZE", "3"}, {"PEAL_ROOT", "unix:x"}, {"PEAL_KEY", "secret"}};
  EXPECT_TRUE(launch(environment).key_is_secret);
  EXPECT_EQ(launch(environment).key, parse_key("secret"));
}

TEST(Launch, PublicKeysDontDependOnHowTheRootsHostIsWritten) {
  Environment one = {{"PEAL_RANK", "0"}, {"PEAL_SIZE", "3"}, {"PEAL_ROOT", "0.0.0.0:4000"}};
  Environment other = {{"PEAL_RANK", "1"}, {"PEAL_SIZE", "3"}, {"PEAL_ROOT", "node1:4000"}};
  EXPECT_EQ(launch(one).key, launch(other).key);
}

TEST(Launch, MisuseIsNamed) {
  EXPECT_THAT(refusal({{"PEAL_RANK", "4"}, {"PEAL_SIZE", "4"}, {"PEAL_ROOT", "unix:x"}}),
              AllOf(HasSubstr("PEAL_RANK=4"), HasSubstr("PEAL_SIZE=4")));
  EXPECT_THAT(refusal({{"PEAL_SIZE", "0"}, {"PEAL_RANK", "0"}}), HasSubstr("PEAL_SIZE=0"));
  EXPECT_THAT(refusal({{"PEAL_RANK", "1"}}), HasSubstr("PEAL_SIZE"));
  EXPECT_THAT(refusal({{"PEAL_SIZE", "2"}}), HasSubstr("PEAL_RANK"));
  EXPECT_THAT(refusal({{"RANK", "1"}}), AllOf(HasSubstr("RANK"), HasSubstr("WORLD_SIZE")));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "4"}}), HasSubstr("OMPI_COMM_WORLD_RANK"));
  EXPECT_THAT(refusal({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is \"one\""));
  EXPECT_THAT(refusal({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK=2"));
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "65535"}}),
              HasSubstr("MASTER_PORT is 65535"));
}

TEST(Launch, RanksOnSeveralHostsNeedARoot) {
  EXPECT_THAT(refusal({{"PEAL_RANK", "1"}, {"PEAL_SIZE", "3"}}), HasSubstr("PEAL_ROOT"));
  Environment two_hosts = kOpenMpi;
  two_hosts["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_THAT(refusal(two_hosts), AllOf(HasSubstr("PEAL_ROOT"), HasSubstr("Open MPI")));
  two_hosts["PEAL_ROOT"] = "node1:4000";
  EXPECT_EQ(launch(two_hosts).root, "node1:4000");
}

TEST(Launch, AManyRankAllocationWithoutSrunIsNotLonely) {
  EXPECT_THAT(refusal({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1"}}), HasSubstr("srun"));
  EXPECT_EQ(launch({{"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1"}}).size, 1);  // an allocation's shell
}

TEST(Roots, ThreeForms) {
  EXPECT_EQ(parse_root("unix:a b").unix_name, "a b");
  EXPECT_EQ(parse_root("node-1:4000").host, "node-1");
  EXPECT_EQ(parse_root("node-1:4000").port, 4000);
  EXPECT_EQ(parse_root("[fd00::1]:4000").host, "fd00::1");
  for (const char* text : {"", "unix:", "node", "node:", ":4000", "node:0", "node:70000", "node:4000x", "fd00::1:4000",
                           "[]:40", "[fd00::1]"}) {
    try {
      parse_root(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), HasSubstr("unix:NAME")) << text;
    }
  }
}

TEST(Slurm, FirstNode) {
  EXPECT_EQ(first_slurm_node("n1"), "n1");
  EXPECT_EQ(first_slurm_node("n1,n2"), "n1");
  EXPECT_EQ(first_slurm_node("gpu[03-05,9],cpu1"), "gpu03");
  EXPECT_EQ(first_slurm_node("a[7,9]-ib,b"), "a7-ib");
  EXPECT_THROW(first_slurm_node(""), Error);
  EXPECT_THROW(first_slurm_node(",b"), Error);
}

TEST(Keys, HexIsTakenAsItIsAndTextIsHashed) {
  std::string hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";
  EXPECT_EQ(parse_key(hex)[1], 1);
  EXPECT_EQ(parse_key(hex)[31], 0xff);
  EXPECT_NE(parse_key("one"), parse_key("two"));
  EXPECT_EQ(parse_key("one"), parse_key("one"));
  EXPECT_NE(random_key_text(), random_key_text());
  EXPECT_EQ(random_key_text().size(), 64u);
  EXPECT_THAT(random_unix_root(), StartsWith("unix:peal-"));
  EXPECT_NE(random_unix_root(), random_unix_root());
}

}  // namespace
}  // namespace peal
