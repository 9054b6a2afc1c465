// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The servo law in difficult cases: singular states, starts at rest, invalid numbers, and real-time
// safety in all of them.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Two links of length 1 in the plane with point masses, driven at both joints; three of them with
/// a task of two rows leaves one open.
struct Arm
{
  Arm()
  : scenario(Scenario::from_text(
      "name: arm\nsystem:\n  coordinates: [a, b]\n"
      "  kinetic: 0.5*(2*da^2 + (da + db)^2 + 2*da*(da + db)*cos(b)) + 0.05*(da^2 + db^2)\n"
      "  potential: 9.81*(2*sin(a) + sin(a + b))\n"
      "  inputs: {shoulder: {a: 1}, elbow: {b: 1}}\ninitial: {q: {a: 0.3, b: 0.9}}\n"))
  {
  }
  ServoTask tip() const
  {
    return {
      std::make_shared<RowServo>(
        std::make_shared<FormulaConstraint>(
          "tip", scenario.system(), RowLevel::kPosition,
          std::vector<std::string>{"cos(a) + cos(a + b)", "sin(a) + sin(a + b)"}),
        StartReference::kMeasured),
      ErrorDynamics{}, 0};
  }
  ServoTask energy() const
  {
    return {
      std::make_shared<RowServo>(std::make_shared<FormulaConstraint>(
        "energy", scenario.system(), RowLevel::kVelocity,
        std::vector<std::string>{"da^2 + db^2 + da*db - 1"})),
      ErrorDynamics{}, 0};
  }
  State at(double a, double b, double da = 0.0, double db = 0.0) const
  {
    State state;
    state.q = Eigen::Vector2d(a, b);
    state.u = Eigen::Vector2d(da, db);
    return state;
  }
  Scenario scenario;
};

ServoOptions with(ServoMetric metric)
{
  ServoOptions options;
  options.metric = metric;
  return options;
}

TEST(ServoSafety, when_sweeping_through_a_stretched_arm_expect_bounded_torques_and_true_statuses)
{
  const Arm arm;
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    for (const double start : {0.9, 1e-2, 0.0})  // prepared at a regular and at singular states
    {
      SCOPED_TRACE(std::string(to_string(metric)) + ", prepared at " + std::to_string(start));
      const ServoLaw law(arm.scenario.dynamics(), {arm.tip()}, with(metric));
      ServoWorkspace servo(law, arm.at(0.3, start));
      VectorXd last;
      double largest = 0.0;
      double jump = 0.0;
      std::set<Status> seen;
      const auto visit = [&](double b, bool sweep)
      {
        const State state = arm.at(0.3, b);
        const Status status = law.evaluate(0.0, state.q, state.u, servo);
        ASSERT_TRUE(has_output(status));
        seen.insert(status);
        const ServoResult & result = servo.result();
        ASSERT_EQ(result.damped, status == Status::kSingular) << b;
        if (status == Status::kOk)
        {
          ASSERT_LT(result.residual.norm(), 1e-7) << b;
        }
        largest = std::max(largest, result.inputs.norm());
        jump = sweep && last.size() > 0 ? std::max(jump, (result.inputs - last).norm()) : jump;
        last = result.inputs;
      };
      servo.reference(0).position << 0.0, 0.0;
      servo.reference(0).velocity.setZero();
      servo.reference(0).acceleration << 1.0, -0.5;
      servo.error_dynamics(0) = ErrorDynamics::from_gains(-1e-9, -1e-9, -1e-9);
      for (int i = -20000; i <= 20000; ++i)
      {
        visit(i * 1e-6, true);
      }
      last.resize(0);
      for (double distance = 1e-1; distance >= 1e-12; distance *= 0.97)
      {
        visit(distance, false);
        visit(-distance, false);
      }
      std::cout << to_string(metric) << ", prepared at " << start << ": largest torque " << largest
                << " N m, largest step " << jump << " N m" << std::endl;
      EXPECT_EQ(seen.count(Status::kSingular), 1U);
      EXPECT_EQ(seen.count(Status::kInconsistent), 0U);
      // 1.2/ε units of some N m, where 1/distance would have given 1e12.
      EXPECT_LT(largest, 3e4);
      EXPECT_LT(jump, 0.05 * largest + 1.0);
    }
  }
}

TEST(ServoSafety, when_prepared_at_rest_with_a_task_that_vanishes_there_expect_it_to_work_moving)
{
  const Arm arm;
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    const ServoLaw law(arm.scenario.dynamics(), {arm.energy()}, with(metric));
    ServoWorkspace servo(law, arm.at(0.3, 0.9));
    const State rest = arm.at(0.3, 0.9);
    EXPECT_EQ(law.evaluate(0.0, rest.q, rest.u, servo), Status::kSingular);
    EXPECT_TRUE(servo.result().inputs.isZero(1e-9));
    const State moving = arm.at(0.3, 0.9, 0.4, -0.7);
    EXPECT_EQ(law.evaluate(0.0, moving.q, moving.u, servo), Status::kOk);
    EXPECT_LT(std::abs(servo.result().residual(0)), 1e-9);
    EXPECT_EQ(servo.result().rank, 1);
    EXPECT_EQ(servo.result().null_dimension, 1);
  }
}

/// Everything that may be wrong with a number.
const std::vector<double> kBad = {
  std::numeric_limits<double>::quiet_NaN(),
  std::numeric_limits<double>::infinity(),
  -std::numeric_limits<double>::infinity(),
  1e308,
  -1e308,
  std::numeric_limits<double>::denorm_min()};

bool is_blank(const VectorXd & numbers) { return numbers.array().isNaN().all(); }

/// Every number finite; of the passive system none, where the workspace is at a state without a
/// solution.
bool is_clean(const ServoWorkspace & servo, bool has_solution)
{
  const ServoResult & result = servo.result();
  const Solution & solution = servo.dynamics().solution();
  const bool is_solved = solution.acceleration.allFinite() && solution.multipliers.allFinite() &&
                         solution.constraint_force.allFinite();
  return result.inputs.allFinite() && result.particular.allFinite() &&
         result.null_part.allFinite() && result.error.allFinite() &&
         result.error_rate.allFinite() && result.residual.allFinite() &&
         std::isfinite(result.condition) &&
         (is_solved || (!has_solution && is_blank(solution.acceleration)));
}

TEST(ServoSafety, when_numbers_are_hostile_expect_refusal_and_outputs_untouched)
{
  const Arm arm;
  ServoOptions options;
  options.null_space = {std::make_shared<JointDamping>(arm.scenario.system(), 1.0)};
  for (const bool limited : {false, true})
  {
    if (limited)
    {
      options.limits.lower = VectorXd::Constant(2, -30.0);
      options.limits.upper = VectorXd::Constant(2, 30.0);
    }
    for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
    {
      options.metric = metric;
      const ServoLaw law(arm.scenario.dynamics(), {arm.tip()}, options);
      const State good = arm.at(0.3, 0.9, 0.2, 0.1);
      ServoWorkspace servo(law, good);
      const ServoReference reference = servo.reference(0);
      const ErrorDynamics gains = servo.error_dynamics(0);
      for (const double bad : kBad)
      {
        for (int place = 0; place < 14; ++place)
        {
          SCOPED_TRACE(std::to_string(bad) + " at place " + std::to_string(place));
          servo.reference(0) = reference;
          servo.error_dynamics(0) = gains;
          servo.external_null_vector().setZero();
          ASSERT_TRUE(has_output(law.evaluate(0.0, good.q, good.u, servo)));
          const VectorXd tau = servo.result().inputs;
          const VectorXd motion = servo.dynamics().solution().acceleration;
          State state = good;
          double time = 0.0;
          switch (place)
          {
            case 0:
            case 1:
              state.q(place) = bad;
              break;
            case 2:
            case 3:
              state.u(place - 2) = bad;
              break;
            case 4:
            case 5:
              servo.reference(0).position(place - 4) = bad;
              break;
            case 6:
            case 7:
              servo.reference(0).velocity(place - 6) = bad;
              break;
            case 8:
            case 9:
              servo.reference(0).acceleration(place - 8) = bad;
              break;
            case 10:
              servo.external_null_vector()(0) = bad;
              break;
            case 11:
              servo.error_dynamics(0).position = bad;
              servo.reference(0).position(0) += 0.1;
              break;
            case 12:
              servo.error_dynamics(0).velocity = MatrixXd(MatrixXd::Constant(2, 2, bad));
              servo.reference(0).velocity(0) += 0.1;
              break;
            default:
              time = bad;
          }
          Status status = Status::kOk;
          const long allocations = allocation_count();
          const long locks = lock_count();
          status = law.evaluate(time, state.q, state.u, servo);
          ASSERT_EQ(allocation_count(), allocations);
          ASSERT_EQ(lock_count(), locks);
          ASSERT_TRUE(is_clean(servo, has_output(status))) << to_string(status);
          ASSERT_TRUE(std::isfinite(bad) || !has_output(status)) << to_string(status);
          if (!has_output(status))
          {
            ASSERT_EQ(servo.result().inputs, tau);
            const VectorXd & now = servo.dynamics().solution().acceleration;
            ASSERT_TRUE(now == motion || is_blank(now));
          }
        }
      }
    }
  }
}

TEST(ServoSafety, when_sizes_are_wrong_expect_a_status)
{
  const Arm arm;
  const ServoLaw law(arm.scenario.dynamics(), {arm.tip()});
  const State good = arm.at(0.3, 0.9);
  const auto fresh = [&] { return ServoWorkspace(law, good); };
  ServoWorkspace servo = fresh();
  EXPECT_EQ(law.evaluate(0.0, VectorXd::Zero(3), good.u, servo), Status::kSizeMismatch);
  EXPECT_EQ(law.evaluate(0.0, good.q, VectorXd::Zero(1), servo), Status::kSizeMismatch);
  servo.external_null_vector().setZero(5);
  EXPECT_EQ(law.evaluate(0.0, good.q, good.u, servo), Status::kSizeMismatch);
  servo = fresh();
  servo.error_dynamics(0).position = MatrixXd(MatrixXd::Identity(3, 3));
  EXPECT_EQ(law.evaluate(0.0, good.q, good.u, servo), Status::kSizeMismatch);
  servo = fresh();
  servo.reference(0).position.setZero(7);
  EXPECT_EQ(law.evaluate(0.0, good.q, good.u, servo), Status::kSizeMismatch);
  servo = fresh();
  servo.reference(0).acceleration.resize(0);
  EXPECT_EQ(law.evaluate(0.0, good.q, good.u, servo), Status::kSizeMismatch);
  // The workspace of a law with other rows.
  const ServoLaw other(arm.scenario.dynamics(), {arm.energy()});
  ServoWorkspace foreign(other, good);
  EXPECT_EQ(law.evaluate(0.0, good.q, good.u, foreign), Status::kSizeMismatch);
}

TEST(ServoSafety, when_a_law_is_built_from_nonsense_expect_words)
{
  const Arm arm;
  const Arm twin;
  const auto dynamics = arm.scenario.dynamics();
  const auto refusal = [&](std::vector<ServoTask> tasks, ServoOptions options) -> std::string
  {
    try
    {
      const ServoLaw law(dynamics, std::move(tasks), std::move(options));
    }
    catch (const std::invalid_argument & error)
    {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal({}, {}), HasSubstr("at least one"));
  EXPECT_THAT(refusal({ServoTask{}}, {}), HasSubstr("no servo-constraint"));
  EXPECT_THAT(refusal({twin.tip()}, {}), HasSubstr("another system"));
  EXPECT_THAT(refusal({arm.tip(), arm.tip()}, {}), HasSubstr("tip"));
  ServoOptions options;
  options.singular_tolerance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal({arm.tip()}, options), HasSubstr("singular_tolerance"));
  options = {};
  options.limits.lower = VectorXd::Constant(2, 1.0);
  options.limits.upper = VectorXd::Constant(2, -1.0);
  EXPECT_THAT(refusal({arm.tip()}, options), HasSubstr("shoulder"));
  options = {};
  options.limits.rate = VectorXd::Constant(2, 1.0);
  EXPECT_THAT(refusal({arm.tip()}, options), HasSubstr("period"));
  options = {};
  options.limits.upper = VectorXd::Zero(3);
  EXPECT_THAT(refusal({arm.tip()}, options), HasSubstr("one an input, 2"));
  options = {};
  options.cones = {{"floor", "z", {}, 0.5, 0.0, -1.0}};
  EXPECT_THAT(refusal({arm.tip()}, options), HasSubstr("floor"));
  ServoTask task = arm.tip();
  task.error_dynamics.position = MatrixXd(-MatrixXd::Identity(3, 3));
  EXPECT_THAT(refusal({task}, {}), HasSubstr("3 × 3"));
}

// One motor moves three masses: a task asks for 1 N, a cone for 1e6 N, and with these the third mass
// overflows. The solution for 1 N, which the cone was checked with, must not be taken for the result.
TEST(ServoSafety, when_limited_controls_overflow_expect_no_solution)
{
  const Scenario scenario = Scenario::from_text(
    "name: overflow\nsystem:\n  coordinates: [x, y, z, p]\n"
    "  kinetic: (dx^2 + dy^2 + dz^2 + dp^2)/2\n  inputs: {motor: {x: 1, y: exp(p), z: 1}}\n"
    "constraints: [{name: wall, type: formula, level: position, rows: {n: z}}]\n"
    "initial: {q: {x: 0, y: 0, z: 0, p: 0}}\n");
  const auto law_with = [&](double least_push)
  {
    ServoOptions options;
    options.cones = {{"wall", "n", {}, 0.5, least_push, 1.0}};
    const ServoTask task{
      std::make_shared<RowServo>(std::make_shared<FormulaConstraint>(
        "x", scenario.system(), RowLevel::kPosition, std::vector<std::string>{"x"})),
      ErrorDynamics{}, 0};
    return std::make_unique<ServoLaw>(scenario.dynamics(), std::vector<ServoTask>{task}, options);
  };
  State state = scenario.initial();
  state.q(3) = 698.0;  // e^698 = 1.4e303
  for (const double least_push : {0.5, 1e6})
  {
    const auto law = law_with(least_push);
    ServoWorkspace servo(*law, scenario.initial());
    servo.reference(0).acceleration << 1.0;
    const Status status = law->evaluate(0.0, state.q, state.u, servo);
    const Solution & solution = servo.dynamics().solution();
    if (least_push < 1.0)
    {
      ASSERT_EQ(status, Status::kOk);
      EXPECT_NEAR(solution.multipliers(0), -1.0, 1e-12);
      EXPECT_NEAR(servo.result().inputs(0), 1.0, 1e-12);
      continue;
    }
    EXPECT_EQ(status, Status::kNonFiniteResult);
    EXPECT_TRUE(solution.acceleration.array().isNaN().all()) << solution.acceleration.transpose();
    EXPECT_TRUE(solution.multipliers.array().isNaN().all()) << solution.multipliers.transpose();
    EXPECT_EQ(servo.result().inputs(0), 0.0);
  }
}

TEST(ServoSafety, when_cycling_in_all_modes_expect_no_allocation_and_no_lock)
{
  if (!counts_allocations())
  {
    GTEST_SKIP() << "allocations are not counted in this build";
  }
  const Arm arm;
  std::set<Status> seen;
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    for (int mode = 0; mode < 8; ++mode)
    {
      ServoOptions options = with(metric);
      if (mode % 2 == 1)
      {
        options.limits.lower = VectorXd::Constant(2, -5.0);
        options.limits.upper = VectorXd::Constant(2, 5.0);
        options.limits.rate = VectorXd::Constant(2, 100.0);
        options.period = 1e-3;
      }
      std::vector<ServoTask> tasks = {arm.tip()};
      if (mode >= 2)
      {
        tasks.push_back(arm.energy());  // three rows on two controls
        tasks.back().priority = mode >= 4 ? 1 : 0;
      }
      const ServoLaw law(arm.scenario.dynamics(), tasks, options);
      ServoWorkspace servo(law, arm.at(0.3, 0.9, 0.3, -0.2));
      for (int i = 0; i < 60; ++i)
      {
        // Through the stretched arm, tasks on and off.
        const State state = arm.at(0.3, 0.9 - 0.03 * i, 0.3, -0.2);
        if (mode >= 6)
        {
          servo.set_enabled(i % 2, i % 3 != 0);
        }
        const long allocations = allocation_count();
        const long locks = lock_count();
        const Status status = law.evaluate(0.01 * i, state.q, state.u, servo);
        const Status held = law.hold(0, servo);
        ASSERT_EQ(allocation_count(), allocations) << to_string(status) << ", mode " << mode;
        ASSERT_EQ(lock_count(), locks);
        ASSERT_EQ(held, Status::kOk);
        ASSERT_TRUE(is_clean(servo, has_output(status)));
        seen.insert(status);
      }
    }
  }
  EXPECT_TRUE(seen.count(Status::kOk) == 1 && seen.count(Status::kSingular) == 1);
  EXPECT_TRUE(seen.count(Status::kLimited) == 1 && seen.count(Status::kInconsistent) == 1);
}

}  // namespace
}  // namespace constrained_dynamics::test
