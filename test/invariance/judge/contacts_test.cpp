// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "judge.hpp"

namespace invariance
{
namespace
{

/// A body of 2 kg whose origin touches the ground, μ = 0.5.
/// @param along gravity along x [m/s²]. @param slip velocity along x. @param lift along z.
ContactVerdict touching(
  double along, double slip, double lift, double udot_x, double udot_z,
  const std::array<double, 3> & force)
{
  const auto file = std::filesystem::path(testing::TempDir()) /
                    ("contacts_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file) << R"yaml(
system:
  gravity: [)yaml" << along
                      << R"yaml(, 0, -10]
  bodies: [{name: body, mass: 2, inertia: [0.1, 0.1, 0.1]}]
constraints: [{name: foot, type: contact, frame_a: body, friction: 0.5}]
)yaml";
  Given given;
  given.q = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
  given.u = {slip, 0.0, lift, 0.0, 0.0, 0.0};
  Answered answered;
  answered.acceleration = {udot_x, 0.0, udot_z, 0.0, 0.0, 0.0};
  answered.forces["foot"] = {0.0, 0.0, force[2]};
  answered.forces["foot_friction"] = {force[0], force[1], 0.0};
  const ContactVerdict verdict = judge_contacts(file.string(), given, answered);
  std::filesystem::remove(file);
  EXPECT_TRUE(verdict.supported) << verdict.unsupported;
  return verdict;
}

TEST(ContactLaws, when_answers_are_right_expect_no_law_violated)
{
  EXPECT_EQ(touching(1.0, 0.0, 0.0, 0.0, 0.0, {-2.0, 0.0, 20.0}).violated, "");   // sticks
  EXPECT_EQ(touching(8.0, 0.0, 0.0, 3.0, 0.0, {-10.0, 0.0, 20.0}).violated, "");  // begins to slip
  EXPECT_EQ(touching(1.0, 2.0, 0.0, -4.0, 0.0, {-10.0, 0.0, 20.0}).violated, "");
  EXPECT_EQ(touching(1.0, -2.0, 0.0, 6.0, 0.0, {10.0, 0.0, 20.0}).violated, "");
  EXPECT_EQ(touching(1.0, 0.0, 2.0, 1.0, -10.0, {0.0, 0.0, 0.0}).violated, "");  // leaves
}

TEST(ContactLaws, when_answers_are_wrong_expect_the_law)
{
  const auto expect = [](const ContactVerdict & verdict, const char * words)
  { EXPECT_NE(verdict.violated.find(words), std::string::npos) << verdict.violated; };
  expect(touching(1.0, 0.0, 0.0, 0.1, 0.0, {-2.0, 0.0, 20.0}), "motion of body_vx");
  expect(touching(8.0, 0.0, 0.0, 0.0, 0.0, {-16.0, 0.0, 20.0}), "exceeds its friction");
  expect(touching(8.0, 0.0, 0.0, 4.0, 0.0, {-8.0, 0.0, 20.0}), "begins to slide");
  expect(touching(1.0, 2.0, 0.0, 6.0, 0.0, {10.0, 0.0, 20.0}), "slides, and friction");
  expect(touching(1.0, 0.0, 0.0, 0.0, -1.0, {-2.0, 0.0, 18.0}), "accelerated into");
  expect(touching(1.0, 0.0, 0.0, 0.0, 1.0, {-2.0, 0.0, 22.0}), "opens and pushes");
  expect(touching(0.0, 0.0, 0.0, 0.0, -15.0, {0.0, 0.0, -10.0}), "pulls");
  expect(touching(0.0, 0.0, 1.0, 0.0, 0.0, {0.0, 0.0, 20.0}), "leaves and pushes");
  expect(touching(0.0, 0.0, -1.0, 0.0, 0.0, {0.0, 0.0, 20.0}), "approaches");
}

}  // namespace
}  // namespace invariance
