// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/model/system.hpp"

/// @file
/// What every constraint must satisfy, whatever its kind. A kind joins with one line of its test:
///
///     INSTANTIATE_TEST_SUITE_P(PointOnPlane, ConstraintConformance, testing::ValuesIn(on_robots(
///       [](const System & system, const std::string & a, const std::string & b)
///       { return std::make_shared<PointOnPlane>("c", system, a, b, Vector3d(1, 2, 3), 0.1); })),
///       case_name);

namespace constrained_dynamics::test
{

using ConstraintPtr = std::shared_ptr<const Constraint>;

/// One constraint on one system.
struct ConformanceCase
{
  std::string name;
  std::shared_ptr<const System> system;
  /// Builds the constraint; called more than once.
  std::function<ConstraintPtr(const System &)> make;
};

std::ostream & operator<<(std::ostream & out, const ConformanceCase & c);

/// Names the tests of a case.
std::string case_name(const testing::TestParamInfo<ConformanceCase> & info);

/// Robots with frames "frame_a" and "frame_b" on two bodies of theirs and a frame "fixed" on the
/// world: two planar arms, an arm of six joints (one prismatic), two floating bodies, a mobile base
/// with arm and wheel.
struct NamedSystem
{
  std::string name;
  std::shared_ptr<const System> system;
};
const std::vector<NamedSystem> & robots();
/// One of them by name: planar_2r, planar_3r, arm_6, two_bodies, mobile.
std::shared_ptr<const System> robot(const std::string & name);
/// x, y, theta with the speeds v (forward), s (sideways) and w; formulas.
std::shared_ptr<const System> analytic_skate();
/// x, y with speeds that contain the time: D ≠ 0.
std::shared_ptr<const System> analytic_rheonomic();
/// Unit quaternion e0 … e3 with the speeds w1 w2 w3: more coordinates than speeds.
std::shared_ptr<const System> analytic_rotation();
/// The three of them.
const std::vector<NamedSystem> & analytic_systems();

using MakeBetweenFrames = std::function<ConstraintPtr(
  const System & system, const std::string & frame_a, const std::string & frame_b)>;

/// A constraint between frames on all robots, with B moving, fixed, and the world.
std::vector<ConformanceCase> on_robots(const MakeBetweenFrames & make);
/// A constraint on one system.
ConformanceCase on(
  const std::string & name, std::shared_ptr<const System> system,
  std::function<ConstraintPtr(const System &)> make);

/// Rows with storage of their own.
struct RowStorage
{
  explicit RowStorage(const Constraint & constraint, double fill = 0.0);
  RowBlock block();
  bool operator==(const RowStorage & other) const;

  Eigen::VectorXd position;
  Eigen::VectorXd velocity;
  Eigen::MatrixXd jacobian;
  Eigen::VectorXd bias;
};

/// Scratch of exactly the needed size, filled with NaN.
ConstraintScratch make_scratch(const Constraint & constraint);

/// A state and everything that is needed to evaluate a constraint there.
class Evaluation
{
public:
  explicit Evaluation(ConstraintPtr constraint);

  /// Rows at a state; a status other than kOk is a test failure.
  const RowStorage & at(double time, const Eigen::VectorXd & q, const Eigen::VectorXd & u);
  /// The same, without complaint.
  Status try_at(
    double time, const Eigen::VectorXd & q, const Eigen::VectorXd & u, RowStorage & rows);
  /// Wrenches for multipliers at the last state.
  std::vector<WrenchPair> wrenches(const Eigen::VectorXd & multipliers);

  const Constraint & constraint() const { return *constraint_; }
  const System & system() const { return constraint_->system(); }
  const SystemData & data() const { return *data_; }
  const SystemTerms & terms() const { return data_->terms; }

private:
  ConstraintPtr constraint_;
  std::unique_ptr<SystemData> data_;
  ConstraintScratch scratch_;
  RowStorage rows_;
};

/// A random state.
struct TestState
{
  double time = 0.0;
  Eigen::VectorXd q;
  Eigen::VectorXd u;
};
TestState random_state(const System & system, unsigned seed);

/// Pose and velocity of one of the "two_bodies": frames "left" and "right", whose speeds are in the
/// body's own axes.
struct BodyState
{
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::AngleAxisd rotation{0.0, Eigen::Vector3d::UnitZ()};
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();          ///< world axes
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  ///< world axes
};
TestState two_bodies_state(const BodyState & left, const BodyState & right = {});

/// Message of the std::invalid_argument that `f` throws; a test failure if it does not.
std::string message_of_invalid_argument(const std::function<void()> & f);

/// The suite.
class ConstraintConformance : public testing::TestWithParam<ConformanceCase>
{
};

}  // namespace constrained_dynamics::test
