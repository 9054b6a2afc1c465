// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/wrench_compensation.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

namespace
{

Payload tool()
{
  Payload result;
  result.name = "tool";
  result.frame = "tip";
  result.mass = 1.3;
  result.com = Eigen::Vector3d(0.04, -0.03, 0.12);
  result.inertia << 4e-3, 2e-4, 1e-4, 2e-4, 5e-3, -3e-4, 1e-4, -3e-4, 3e-3;
  return result;
}

/// An arm at a state, with or without the tool.
struct Arm
{
  RigidBodySystem system;
  std::unique_ptr<SystemData> data = system.make_data();

  explicit Arm(bool has_tool) : system(scene(has_tool)) {}

  static SceneDescription scene(bool has_tool)
  {
    SceneDescription scene;
    scene.robots.push_back(load_robot_description(std::string(CD_TEST_DATA) + "/arm_on_wall.urdf"));
    if (has_tool)
    {
      RobotProfile profile;
      profile.payloads.push_back(tool());
      profile.apply(scene);
    }
    return scene;
  }
  void set(const Eigen::Vector4d & q, const Eigen::Vector4d & u)
  {
    ASSERT_EQ(system.update_kinematics(0.0, q, u, *data), Status::kOk);
    ASSERT_EQ(system.update_dynamics(*data), Status::kOk);
  }
  /// Efforts of a motion.
  Eigen::VectorXd efforts(const Eigen::Vector4d & acceleration) const
  {
    return data->terms.mass_matrix * acceleration - data->terms.force;
  }
};

}  // namespace

// What the sensor reads of the tool alone is what the arm needs more with the tool than without.
TEST(WrenchCompensation, when_tool_moves_expect_the_efforts_that_it_costs)
{
  Arm bare(false);
  Arm loaded(true);
  const Eigen::Vector4d q(0.3, 0.8, -0.5, 1.1), u(1.0, -2.0, 1.5, 3.0), a(4.0, -3.0, 2.0, -5.0);
  bare.set(q, u);
  loaded.set(q, u);
  WrenchCompensation sensor(bare.system, tool());
  WrenchVector carried;
  ASSERT_EQ(sensor.compensate(*bare.data, a, Eigen::VectorXd::Zero(6), carried), Status::kOk);
  FrameKinematics frame;
  Matrix6X jacobian(6, 4);
  const int tip = bare.system.frame_index("tip");
  bare.system.frame_kinematics(*bare.data, tip, frame);
  bare.system.frame_jacobian(*bare.data, tip, jacobian);
  const Eigen::VectorXd cost =
    jacobian.topRows<3>().transpose() * (frame.rotation * carried.head<3>()) +
    jacobian.bottomRows<3>().transpose() * (frame.rotation * carried.tail<3>());
  const Eigen::VectorXd expected = loaded.efforts(a) - bare.efforts(a);
  ASSERT_GT(expected.norm(), 5.0);
  EXPECT_LT((cost - expected).norm(), 1e-11 * expected.norm());
}

TEST(WrenchCompensation, when_tared_expect_external_wrench_in_every_pose)
{
  Arm arm(false);
  const Eigen::Vector4d rest = Eigen::Vector4d::Zero();
  WrenchVector offset, external, found;
  offset << 3.0, -2.0, 1.0, 0.1, 0.2, -0.3;
  external << 0.0, 5.0, -20.0, 1.0, 0.0, 0.5;
  WrenchCompensation sensor(arm.system, tool());
  WrenchCompensation exact(arm.system, tool());
  arm.set({0.1, 0.2, 0.3, 0.4}, rest);
  WrenchVector carried;
  ASSERT_EQ(exact.compensate(*arm.data, rest, Eigen::VectorXd::Zero(6), carried), Status::kOk);
  ASSERT_EQ(sensor.tare(*arm.data, rest, offset - carried), Status::kOk);
  EXPECT_LT((sensor.offset() - offset).norm(), 1e-12);
  arm.set({1.0, -0.8, 1.4, -0.6}, {1.0, 2.0, -1.0, 0.5});
  const Eigen::Vector4d acceleration(1.0, 2.0, 3.0, 4.0);
  ASSERT_EQ(
    exact.compensate(*arm.data, acceleration, Eigen::VectorXd::Zero(6), carried), Status::kOk);
  const Eigen::VectorXd reading = external - carried + offset;
  const long before = allocation_count();
  const Status status = sensor.compensate(*arm.data, acceleration, reading, found);
  EXPECT_EQ(allocation_count(), before);
  ASSERT_EQ(status, Status::kOk);
  EXPECT_LT((found - external).norm(), 1e-11);
}

TEST(WrenchCompensation, when_arguments_are_bad_expect_status_and_untouched_output)
{
  Arm arm(false);
  const Eigen::Vector4d rest = Eigen::Vector4d::Zero();
  arm.set(rest, rest);
  WrenchCompensation sensor(arm.system, tool());
  WrenchVector out = WrenchVector::Constant(7.0);
  Eigen::VectorXd bad = Eigen::VectorXd::Zero(6);
  EXPECT_EQ(sensor.compensate(*arm.data, rest, bad.head(5), out), Status::kSizeMismatch);
  EXPECT_EQ(sensor.compensate(*arm.data, bad, bad, out), Status::kSizeMismatch);
  bad(1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sensor.compensate(*arm.data, rest, bad, out), Status::kNonFiniteInput);
  EXPECT_EQ(sensor.tare(*arm.data, rest, bad), Status::kNonFiniteInput);
  EXPECT_EQ(sensor.offset(), WrenchVector::Zero());
  EXPECT_EQ(out, WrenchVector::Constant(7.0));
  Payload nowhere = tool();
  nowhere.frame = "nowhere";
  EXPECT_THROW(WrenchCompensation(arm.system, nowhere), std::invalid_argument);
  nowhere = tool();
  nowhere.mass = -1.0;
  EXPECT_THROW(WrenchCompensation(arm.system, nowhere), std::invalid_argument);
}

}  // namespace constrained_dynamics::test
