// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Robots under a servo law: published torques of a four-bar, an arm that moves on a wall and
// pushes, two arms with one box, a humanoid on two feet.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "servo/servo_run.hpp"
#include "support/dense_algebra.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Names = std::vector<std::string>;

bool has_robot_data() { return !std::string(CD_EXAMPLE_ROBOT_DATA).empty(); }

const RigidBodySystem & robot(const Scenario & scenario)
{
  return dynamic_cast<const RigidBodySystem &>(scenario.system());
}

double largest_error(const ServoRun & run, int row, int count)
{
  double largest = 0.0;
  for (const ServoSample & sample : run.samples)
  {
    largest = std::max(largest, sample.error.segment(row, count).cwiseAbs().maxCoeff());
  }
  return largest;
}

// ---- benchmark 14: four-bar inverse dynamics
// -------------------------------------------------------

struct PublishedTorque
{
  double time, exact, adams;
};
const std::vector<PublishedTorque> kFourBarTorques = {
  {0.0, 66.0116666667, 66.00326},
  {0.5, 24.7597562669, 24.75275},
  {1.0, -16.8751538593, -16.87076},
  {2.0, -36.1141425254, -36.10798},
  {3.0, 64.217648137, 64.20942}};

TEST(FourBarInverse, when_the_crank_follows_expect_published_torques_in_both_metrics)
{
  for (const char * metric : {"moore_penrose", "ideal"})
  {
    SCOPED_TRACE(metric);
    const Scenario scenario =
      load_scenario("four_bar_inverse", {std::string("servo_law.metric=") + metric});
    const ServoRun run = record_servo(scenario, 3.0, 0.001);
    for (const PublishedTorque & row : kFourBarTorques)
    {
      SCOPED_TRACE(row.time);
      const double torque = run.observe(run.at(row.time), "torque");
      EXPECT_NEAR(torque, row.exact, 1e-9 * std::max(1.0, std::abs(row.exact)));
      EXPECT_NEAR(torque, row.adams, 8.5e-3);  // 8.4e-3 of the source, and its last digit
    }
    EXPECT_LT(largest_error(run, 0, 1), 1e-10);
    EXPECT_EQ(run.counts.singular + run.counts.inconsistent + run.counts.limited, 0);
    expect_energy_balance(run, robot(scenario).damping(), 1e-6);
  }
}

TEST(FourBarInverse, when_the_same_motion_is_a_passive_constraint_expect_the_same_forces)
{
  const ServoRun servo = record_servo(load_scenario("four_bar_inverse"), 3.0, 0.1);
  const Scenario driven = load_scenario("four_bar_driven");
  std::vector<double> times;
  for (const ServoSample & sample : servo.samples)
  {
    times.push_back(sample.time);
  }
  const std::vector<Snapshot> passive = run_to(driven, times);
  for (std::size_t i = 0; i < times.size(); ++i)
  {
    SCOPED_TRACE(times[i]);
    // Rows loop/x, loop/z and, in the passive twin, drive/crank.
    expect_close(
      servo.samples[i].multipliers.head(2), VectorXd(passive[i].multipliers.head(2)), 1e-8, "loop");
    expect_close(servo.samples[i].inputs(0), passive[i].multipliers(2), 1e-8, "torque");
  }
}

// ---- an arm at a wall
// ------------------------------------------------------------------------------

TEST(PandaWall, when_it_writes_and_pushes_expect_curve_orientation_and_force)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = load_scenario("panda_wall");
  const ServoLaw & law = *scenario.servo_law();
  const VectorXd & effort = law.options().limits.upper;
  ASSERT_TRUE(effort.allFinite());
  const ServoRun run = record_servo(scenario, 3.0, 0.001);
  const double curve = largest_error(run, law.row_offset(law.task_index("curve")), 2);
  const double hand = largest_error(run, law.row_offset(law.task_index("hand")), 3);
  const double push = largest_error(run, law.row_offset(law.task_index("push")), 1);
  std::cout << "largest errors: curve " << curve << " m, hand " << hand << ", push " << push << " N"
            << std::endl;
  EXPECT_LT(curve, 1e-9);
  EXPECT_LT(hand, 1e-9);
  EXPECT_LT(push, 1e-10);
  for (const ServoSample & sample : run.samples)
  {
    ASSERT_TRUE((sample.inputs.array().abs() <= effort.array()).all()) << sample.time;
    // Not from the law's own report: the plant's multiplier against the desired force, and the curve.
    const double t = sample.time;
    ASSERT_NEAR(run.observe(sample, "wall_push"), 20.0 + 5.0 * std::sin(2.0 * t), 1e-9) << t;
    if (t > 1.0)  // joined
    {
      ASSERT_NEAR(run.observe(sample, "tip_y"), 0.18 * std::sin(0.8 * t), 1e-9) << t;
      ASSERT_NEAR(run.observe(sample, "tip_z"), 0.70 + 0.06 * std::sin(1.6 * t), 1e-9) << t;
    }
  }
  EXPECT_EQ(run.counts.singular + run.counts.inconsistent + run.counts.limited, 0);
  expect_energy_balance(run, robot(scenario).damping(), 1e-5, 0.0, 1.0);
}

TEST(PandaWall, when_the_whole_run_is_made_expect_limits_of_the_description_kept)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  // The posture of the file, and one from which the curve leads to the limits: there the joint that
  // is left open gives way, while the tasks do not.
  for (const Names & posture :
       {Names{},
        Names{"servo_law.null_space=[{kind: damping, damping: 4}]", "initial.q.panda_joint6=3.2"}})
  {
    const Scenario scenario = load_scenario("panda_wall", posture);
    const ServoLaw & law = *scenario.servo_law();
    const ServoRun run = record_servo(scenario, 8.0, 0.01);
    EXPECT_LT(largest_error(run, law.row_offset(law.task_index("curve")), 2), 1e-8);
    EXPECT_LT(largest_error(run, law.row_offset(law.task_index("hand")), 3), 1e-8);
    EXPECT_EQ(run.counts.stopped, 0);
    EXPECT_EQ(run.counts.limited > 0, !posture.empty());
    for (const ServoSample & sample : run.samples)
    {
      for (Eigen::Index i = 0; i < 7; ++i)
      {
        const auto & limits = robot(scenario).limits()[static_cast<std::size_t>(i)];
        ASSERT_LE(sample.q(i), limits.upper + 1e-9) << i << " at " << sample.time;
        ASSERT_GE(sample.q(i), limits.lower - 1e-9) << i << " at " << sample.time;
        ASSERT_LE(std::abs(sample.u(i)), limits.velocity + 1e-9) << i << " at " << sample.time;
      }
    }
  }
}

TEST(PandaWall, when_torque_limits_are_tight_expect_them_kept_and_the_tasks_named)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  // The limits of the arm, with half of what joint 2 and joint 4 need to carry it.
  const Scenario model = load_scenario("panda_wall");
  const ServoRun free = record_servo(model, 0.0, 0.1);
  VectorXd effort = model.servo_law()->options().limits.upper;
  for (const int joint : {1, 3})
  {
    effort(joint) = 0.5 * std::abs(free.samples.front().inputs(joint));
    EXPECT_GT(effort(joint), 1.0);
  }
  std::string limits;
  for (int i = 0; i < 7; ++i)
  {
    limits += (i > 0 ? ", " : "") + model.system().input_names()[static_cast<std::size_t>(i)] +
              ": " + set("", effort(i)).substr(1);
  }
  const Scenario scenario =
    load_scenario("panda_wall", {"servo_law.limits={effort: {" + limits + "}}"});
  bool relaxed = false;
  const ServoRun run = record_servo(
    scenario, 0.3, 0.002, nullptr,
    [&](const ServoWorkspace & servo)
    {
      const ServoResult & result = servo.result();
      EXPECT_TRUE((result.inputs.array().abs() <= effort.array()).all());
      relaxed = relaxed || result.relaxed[0] || result.relaxed[1] || result.relaxed[2];
      EXPECT_TRUE(!result.limited || result.at_bound[1] || result.at_bound[3]);
    });
  EXPECT_GT(run.counts.limited, 0);
  EXPECT_TRUE(relaxed);
}

TEST(PandaWall, when_joints_are_near_their_bounds_expect_a_push_away_that_leaves_the_rows_alone)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = load_scenario(
    "panda_wall", {"servo_law.null_space=[{kind: away_from_limits, margin: 0.5, force: 8}]"});
  record_servo(
    scenario, 0.2, 0.02, nullptr,
    [&](const ServoWorkspace & servo)
    {
      const VectorXd & q = servo.dynamics().terms().coordinates;
      for (int i = 0; i < 7; ++i)
      {
        // Margins of half the range meet in the middle: f = ± force · (way from it/half range)².
        const auto & limits = robot(scenario).limits()[static_cast<std::size_t>(i)];
        const double middle = 0.5 * (limits.lower + limits.upper);
        const double way = (q(i) - middle) / (0.5 * (limits.upper - limits.lower));
        EXPECT_NEAR(servo.null_vector()(i), -8.0 * way * std::abs(way), 1e-9) << i;
      }
      EXPECT_GT(servo.result().null_part.norm(), 1e-3);
      EXPECT_LT(servo.result().residual.norm(), 1e-9);
    });
}

// ---- two arms with one box
// -------------------------------------------------------------------------

TEST(TwoArms, when_they_carry_a_box_expect_its_pose_and_the_desired_squeeze)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  // Elbows that nothing but damping holds move fast: a small step for the energy balance.
  const Scenario scenario = load_scenario("two_arms", {"run.step=0.0005"});
  const ServoLaw & law = *scenario.servo_law();
  const ServoRun run = record_servo(scenario, 1.3, 0.0005);
  const double pose = largest_error(run, law.row_offset(law.task_index("box")), 6);
  std::cout << "largest error of the box " << pose << std::endl;
  EXPECT_LT(pose, 1e-8);
  for (const ServoSample & sample : run.samples)
  {
    const double t = sample.time;
    ASSERT_NEAR(run.observe(sample, "squeeze"), -15.0, 1e-9) << t;
    if (t > 1.0)
    {
      ASSERT_NEAR(run.observe(sample, "box_x"), 0.5 + 0.05 * std::sin(1.5 * t), 1e-8) << t;
      ASSERT_NEAR(run.observe(sample, "box_y"), 0.08 * std::sin(t), 1e-8) << t;
      ASSERT_NEAR(run.observe(sample, "box_z"), 0.5 + 0.08 * std::sin(2.0 * t), 1e-8) << t;
    }
  }
  EXPECT_EQ(run.counts.singular + run.counts.inconsistent, 0);
  expect_energy_balance(run, robot(scenario).damping(), 1e-4, 0.1, 1.0);
}

TEST(TwoArms, when_the_squeeze_changes_expect_the_same_motion)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  // The internal force is open to choice: it does nothing to the motion of the box. (The arms'
  // posture differs: what is left is damped.)
  const ServoRun gentle = record_servo(load_scenario("two_arms", {"squeeze=5"}), 0.5, 0.05);
  const ServoRun firm = record_servo(load_scenario("two_arms", {"squeeze=60"}), 0.5, 0.05);
  for (std::size_t i = 0; i < gentle.samples.size(); ++i)
  {
    for (const char * name : {"box_x", "box_y", "box_z"})
    {
      expect_close(
        gentle.observe(gentle.samples[i], name), firm.observe(firm.samples[i], name), 1e-8, name);
    }
  }
  EXPECT_GT((gentle.samples[0].inputs - firm.samples[0].inputs).norm(), 1.0);
}

// ---- a humanoid on two feet
// ------------------------------------------------------------------------

/// Whether some split of the contact forces at the last evaluation lies in the cones, but for
/// `slack` [N].
bool has_split_in_cones(const ServoWorkspace & servo, const ServoLaw & law, double slack)
{
  const Workspace & workspace = servo.dynamics();
  const ConstraintSet & set = law.passive().constraints();
  const MatrixXd A = workspace.rows().jacobian;
  const int m = static_cast<int>(A.rows());
  MatrixXd C(0, m);
  VectorXd lower(0);
  const auto add = [&](int normal, double slope, int tangent, double sign, double least)
  {
    C.conservativeResize(C.rows() + 1, Eigen::NoChange);
    lower.conservativeResize(C.rows());
    C.row(C.rows() - 1).setZero();
    C(C.rows() - 1, normal) = slope;
    if (tangent >= 0)
    {
      C(C.rows() - 1, tangent) = sign;
    }
    lower(C.rows() - 1) = least;
  };
  for (const FrictionCone & cone : law.options().cones)
  {
    const int offset = set.row_offset(set.index(cone.constraint));  // rows x y z
    add(offset + 2, 1.0, -1, 0.0, cone.least_push);
    for (const int tangent : {offset, offset + 1})
    {
      add(offset + 2, cone.coefficient / std::sqrt(2.0), tangent, 1.0, 0.0);
      add(offset + 2, cone.coefficient / std::sqrt(2.0), tangent, -1.0, 0.0);
    }
  }
  // λ + N ν with the same force; the smallest sum of squared violations, by Gauss-Newton steps over
  // the rows that are violated, each halved until it helps.
  const MatrixXd N = kernel_of(A.transpose());
  VectorXd x = workspace.solution().multipliers;
  const auto violations = [&](const VectorXd & at) -> VectorXd
  { return (lower - C * at).cwiseMax(0.0); };
  for (int i = 0; i < 500 && violations(x).norm() > 0.0; ++i)
  {
    const VectorXd miss = violations(x);
    MatrixXd J = C * N;
    for (Eigen::Index k = 0; k < miss.size(); ++k)
    {
      J.row(k) *= miss(k) > 0.0 ? 1.0 : 0.0;
    }
    const VectorXd step = N * solve_least_squares(J, miss);
    double length = 1.0;
    while (length > 1e-6 &&
           violations(x + length * step).norm() > (1.0 - 1e-4 * length) * miss.norm())
    {
      length *= 0.5;
    }
    x += length * step;
  }
  return violations(x).maxCoeff() <= slack;
}

TEST(TalosBalance, when_it_sways_expect_centre_of_mass_torque_limits_and_cones)
{
  if (!has_robot_data())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = load_scenario("talos_balance");
  const ServoLaw & law = *scenario.servo_law();
  const VectorXd & effort = law.options().limits.upper;
  int checked = 0;
  double weight = 0.0;
  const ServoRun run = record_servo(
    scenario, 1.5, 0.01, nullptr,
    [&](const ServoWorkspace & servo)
    {
      const VectorXd & tau = servo.result().inputs;
      ASSERT_TRUE((tau.array().abs() <= effort.array()).all());
      ASSERT_TRUE(servo.result().cones_met);
      if (checked++ % 10 == 0)
      {
        EXPECT_TRUE(has_split_in_cones(servo, law, 1e-6)) << servo.dynamics().terms().time;
      }
    });
  const double balance = largest_error(run, law.row_offset(law.task_index("balance")), 3);
  const double trunk = largest_error(run, law.row_offset(law.task_index("trunk")), 3);
  std::cout << "largest errors: centre of mass " << balance << " m, trunk " << trunk << "; "
            << run.counts.limited << " of " << run.counts.evaluations << " evaluations limited"
            << std::endl;
  EXPECT_LT(balance, 1e-7);
  EXPECT_LT(trunk, 1e-7);
  EXPECT_EQ(run.counts.singular + run.counts.inconsistent, 0);
  EXPECT_GT(run.counts.limited, 0);
  // The ground carries m (g + z̈): the centre of mass follows its reference.
  for (const ServoSample & sample : run.samples)
  {
    const double t = sample.time;
    weight = run.observe(sample, "weight");
    if (t > 1.0)
    {
      const double mass = robot(scenario).total_mass();
      const double acceleration = -0.5 * 0.02 * 9.0 * std::cos(3.0 * t);
      EXPECT_NEAR(weight, mass * (9.81 + acceleration), 1e-6 * mass * 9.81) << t;
    }
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
