// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The workloads of `make bench`, without peers and timing: they match their table, and every
// formulation solves them to the accuracy that the benchmark requires.
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../bench/method.hpp"
#include "../bench/reference.hpp"
#include "../bench/workloads.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::bench
{

/// Otherwise GoogleTest prints the bytes.
void PrintTo(const WorkloadEntry & entry, std::ostream * stream) { *stream << entry.name; }

namespace
{

constexpr int kSize = 6;  ///< N of W4a, W4b and W4c

std::vector<WorkloadEntry> small_workloads()
{
  return all_workloads({{kSize}, {kSize}, {kSize}}, CD_EXAMPLE_ROBOT_DATA);
}

class BenchWorkload : public testing::TestWithParam<WorkloadEntry>
{
};

TEST_P(BenchWorkload, when_made_expect_the_stated_sizes_and_a_state_on_the_manifold)
{
  struct Sizes
  {
    int speeds;
    int rows;
    int rank;
  };
  const std::map<std::string, Sizes> stated = {
    {"W1", {3, 2, 2}},
    {"W2a", {7, 1, 1}},
    {"W2b", {7, 6, 6}},
    {"W3", {38, 12, 12}},
    {"W4a_6", {2 * kSize + 1, 2 * kSize, 2 * kSize}},
    {"W4b_6", {kSize, 2, 2}},
    {"W4c_6", {3 * kSize, 2 * kSize, 2 * kSize}},
    {"W5", {12, 3, 3}},
    {"W6a", {3, 4, 2}},
    {"W6b", {7, 12, 6}}};
  const Workload workload = GetParam().make();
  ASSERT_EQ(workload.name, GetParam().name);
  const Sizes & sizes = stated.at(workload.name);
  EXPECT_EQ(workload.system->speed_count(), sizes.speeds);
  const Dynamics dynamics(workload.constraint_set());
  EXPECT_EQ(dynamics.constraints().row_count(), sizes.rows);
  EXPECT_EQ(workload.rank, sizes.rank);

  Workspace workspace = Workspace::unanalysed(dynamics);
  const State & state = workload.state;
  EXPECT_EQ(workspace.reset(state).nominal_rank, sizes.rank);
  ASSERT_EQ(dynamics.evaluate_rows(state.time, state.q, state.u, workspace), Status::kOk);
  EXPECT_LT(workspace.rows().position.lpNorm<Eigen::Infinity>(), 1e-12);
  EXPECT_LT(workspace.rows().velocity.lpNorm<Eigen::Infinity>(), 1e-12);
  EXPECT_GT(state.u.lpNorm<Eigen::Infinity>(), 0.01);
  EXPECT_GT(workload.force.lpNorm<Eigen::Infinity>(), 0.1);
}

TEST_P(BenchWorkload, when_solved_by_any_formulation_expect_the_reference_and_no_allocation)
{
  const Workload workload = GetParam().make();
  const Reference reference = reference_of(workload);
  EXPECT_LT(reference.error_limit, 1e-8);
  for (const MethodEntry & entry : library_methods())
  {
    const std::unique_ptr<Method> method = entry.make(workload);
    method->run();
    const long before = test::allocation_count();
    method->run();
    EXPECT_EQ(test::allocation_count(), before) << entry.name;
    EXPECT_TRUE(method->succeeded()) << entry.name;
    EXPECT_LT(relative_error(method->acceleration(), reference.acceleration), reference.error_limit)
      << entry.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
  All, BenchWorkload, testing::ValuesIn(small_workloads()),
  [](const auto & workload) { return workload.param.name; });

}  // namespace
}  // namespace constrained_dynamics::bench
