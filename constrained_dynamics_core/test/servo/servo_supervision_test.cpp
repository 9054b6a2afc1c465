// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/servo/given_reference.hpp"
#include "constrained_dynamics/servo/sampled_gains.hpp"
#include "constrained_dynamics/servo/servo_runtime.hpp"
#include "servo/runtime_loop.hpp"
#include "support/allocation_counter.hpp"

// What a runtime notices about its robot: slow sensors, a model that does not fit, commands that are
// not granted, references that cannot be meant.

namespace constrained_dynamics
{

using Eigen::VectorXd;
using test::arm;
using test::arm_limits;
using test::kNan;
using test::kPeriod;
using test::Loop;
using test::quick;

namespace
{

/// Hardware that is read and written more slowly than the controller runs.
class SlowHardware
{
public:
  /// @param least, most cycles between two samples, drawn at random.
  SlowHardware(const ServoRuntimeOptions & options, int least, int most)
  : loop(arm(), options, arm_limits()), cycles_(least, most)
  {
    read();
  }

  ServoCycleReport cycle()
  {
    const bool is_due = --left_ <= 0;
    if (is_due)
    {
      read();
    }
    const ServoCycleReport report = loop.runtime->step(kPeriod, q_, u_);
    changes += report.mode != mode ? 1 : 0;
    mode = report.mode;
    if (is_due)
    {
      loop.plant.inputs() = loop.runtime->command();
    }
    EXPECT_TRUE(has_output(loop.plant.step()));
    return report;
  }

  Loop loop;
  ServoMode mode = ServoMode::kInactive;
  int changes = 0;  // of the mode
  bool is_frozen = false;

private:
  void read()
  {
    left_ = cycles_(random_);
    if (!is_frozen)
    {
      q_ = loop.plant.state().q;
      u_ = loop.plant.state().u;
    }
  }

  std::mt19937 random_{20261117U};
  std::uniform_int_distribution<int> cycles_;
  int left_ = 0;
  VectorXd q_, u_;
};

struct Rates
{
  int least;
  int most;
  double error;  // largest error of the tip that sampling may cause [m]
};

const std::vector<Rates> kRates = {
  {1, 1, 2e-3}, {2, 2, 2e-3}, {10, 10, 6e-3}, {1, 4, 3e-3}, {6, 14, 8e-3}};

std::string message_of(const std::function<void()> & call)
{
  try
  {
    call();
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "nothing";
}

}  // namespace

// ---- samples and cycles ------------------------------------------------------------------------

TEST(ServoSampling, when_hardware_is_slower_than_the_cycle_expect_it_followed_without_a_miss)
{
  for (const bool is_known : {false, true})
  {
    for (const Rates & rates : kRates)
    {
      ServoRuntimeOptions options;
      options.sample_period = is_known ? rates.most * kPeriod : 0.0;
      SlowHardware hardware(options, rates.least, rates.most);
      double error = 0.0;
      for (int i = 0; i < 5000; ++i)
      {
        const ServoCycleReport report = hardware.cycle();
        ASSERT_EQ(report.miss, ServoMiss::kNone)
          << rates.least << " to " << rates.most << ", " << i;
        if (i > 1500)
        {
          error = std::max(error, hardware.loop.runtime->servo().result().error.head(2).norm());
        }
      }
      std::cout << "1:" << rates.least << " to 1:" << rates.most << ": largest error " << error
                << " m, samples every " << hardware.loop.runtime->sample_interval() << " s\n";
      EXPECT_LT(error, rates.error);
      EXPECT_EQ(hardware.changes, 1);
      // Of random intervals the longest of the last sixteen.
      const double interval = hardware.loop.runtime->sample_interval();
      EXPECT_LT(interval, (rates.most + 0.5) * kPeriod);
      EXPECT_GT(interval, (0.75 * rates.most - 0.5) * kPeriod);
    }
  }
}

TEST(ServoSampling, when_slow_hardware_freezes_expect_fallback_after_five_samples)
{
  for (const Rates & rates : kRates)
  {
    SlowHardware hardware({}, rates.least, rates.most);
    for (int i = 0; i < 1500; ++i)
    {
      hardware.cycle();
    }
    ASSERT_EQ(hardware.mode, ServoMode::kFollow);
    hardware.is_frozen = true;
    int cycles = 0;
    while (hardware.cycle().mode != ServoMode::kFallback && cycles < 1000)
    {
      ++cycles;
    }
    EXPECT_GE(cycles, 4 * rates.most - rates.most) << rates.most;
    EXPECT_LE(cycles, 5 * rates.most + 1) << rates.most;
  }
}

TEST(ServoSampling, when_samples_have_never_been_seen_expect_a_quarter_of_a_second_of_patience)
{
  // The robot moves, and nothing has ever changed: 10 Hz hardware is possible, none at all is not.
  Loop loop(arm(), {}, arm_limits());
  const VectorXd q = loop.plant.state().q;
  const VectorXd u = VectorXd::Constant(4, 0.1);
  for (int i = 0; i < 300; ++i)
  {
    const bool is_frozen = loop.runtime->step(kPeriod, q, u).miss == ServoMiss::kFrozen;
    if (i != 250)  // just then the values are 0.25 s old
    {
      ASSERT_EQ(is_frozen, i > 250) << i;
    }
  }
}

// ---- fallback and return -----------------------------------------------------------------------

TEST(ServoRecovery, when_values_are_good_again_expect_return_after_the_recovery_time)
{
  Loop loop(arm(), {}, arm_limits());
  loop.run(700);
  const auto blind = [](VectorXd & q, VectorXd &) { q.setConstant(kNan); };
  for (const int expected : {100, 200})  // doubled for the second fallback in a row
  {
    for (int i = 0; i < 10; ++i)
    {
      loop.cycle(blind);
    }
    int cycles = 0;
    for (ServoCycleReport report = loop.cycle(); report.mode == ServoMode::kFallback;
         report = loop.cycle())
    {
      EXPECT_EQ(report.miss, ServoMiss::kRecovery);
      ASSERT_LT(++cycles, 1000);
    }
    EXPECT_NEAR(cycles, expected, 2);
    loop.run(300);
  }
  // A bad cycle in between counts from the beginning.
  for (int i = 0; i < 10; ++i)
  {
    loop.cycle(blind);
  }
  loop.run(380);
  EXPECT_EQ(loop.cycle(blind).mode, ServoMode::kFallback);
  loop.run(380);
  EXPECT_EQ(loop.cycle().mode, ServoMode::kFallback);
}

TEST(ServoRecovery, when_sensors_come_and_go_expect_modes_not_to_alternate)
{
  // Whatever the rhythm of the failures is, the law returns at most four times.
  for (const int good : {1, 20, 150, 500, 1200})
  {
    Loop loop(arm(), {}, arm_limits());
    loop.run(500);
    int changes = 0;
    ServoMode mode = ServoMode::kFollow;
    ServoCycleReport report;
    for (int i = 0; i < 30000; ++i)
    {
      const bool is_bad = i % (good + 10) < 10;
      report = loop.cycle([&](VectorXd & q, VectorXd &) { q(0) = is_bad ? kNan : q(0); });
      const bool fell = report.mode == ServoMode::kFallback;
      changes += fell != (mode == ServoMode::kFallback) ? 1 : 0;
      mode = report.mode;
    }
    EXPECT_LE(changes, 9) << good;
    EXPECT_EQ(mode, ServoMode::kFallback) << good;
    EXPECT_LE(loop.runtime->counts().restarts, 4u) << good;
    if (changes == 9)
    {
      loop.run(3000);
      EXPECT_EQ(loop.cycle().miss, ServoMiss::kLatched);
      loop.start();
      EXPECT_EQ(loop.cycle().miss, ServoMiss::kNone);
    }
  }
}

TEST(ServoRecovery, when_failures_are_rare_expect_them_forgotten)
{
  ServoRuntimeOptions options;
  options.most_recoveries = 1;
  Loop loop(arm(), options, arm_limits());
  for (int i = 0; i < 3; ++i)
  {
    loop.run(10500);
    for (int k = 0; k < 10; ++k)
    {
      loop.cycle([](VectorXd & q, VectorXd &) { q.setConstant(kNan); });
    }
  }
  loop.run(200);
  EXPECT_EQ(loop.runtime->counts().restarts, 3u);
}

// ---- a model that does not fit -----------------------------------------------------------------

TEST(ServoViolation, when_the_wall_of_the_model_is_elsewhere_expect_it_told_and_start_refused)
{
  const Scenario robot = arm();  // its wall is at 0.6 m
  const Scenario model = arm({"constraints.wall.offset=-0.82"});
  for (const bool refuses : {false, true})
  {
    ServoRuntimeOptions options = quick();
    options.refuse_violation = refuses;
    ServoRuntime runtime(
      *model.servo_law(), *model.servo_drive(), arm_limits(), std::vector<bool>(4, true),
      std::vector<bool>(4, true), options);
    const std::string message = message_of([&] { runtime.start(robot.initial()); });
    if (refuses)
    {
      EXPECT_NE(message.find("wall/normal: 0.22"), std::string::npos) << message;
      EXPECT_NE(message.find("position_tolerance"), std::string::npos) << message;
      continue;
    }
    ASSERT_EQ(message, "nothing");
    ServoCycleReport report;
    for (int i = 0; i < 200; ++i)
    {
      report = runtime.step(kPeriod, robot.initial().q, robot.initial().u);
    }
    EXPECT_EQ(report.mode, ServoMode::kViolated);
    EXPECT_NEAR(report.violation.position, 0.22, 1e-9);
    EXPECT_NEAR(report.violation.ratio, 11.0, 1e-6);
    EXPECT_EQ(model.dynamics()->constraints().row_name(report.violation.row), "wall/normal");
    EXPECT_EQ(runtime.counts().violated, 200u);
  }
}

TEST(ServoViolation, when_a_rate_is_violated_or_the_constraint_is_off_expect_it_told_or_not)
{
  const Scenario model = arm();
  ServoRuntime runtime(
    *model.servo_law(), *model.servo_drive(), arm_limits(), std::vector<bool>(4, true),
    std::vector<bool>(4, true), quick());
  runtime.start(model.initial());
  State moving = model.initial();
  moving.u(1) = 1.0;  // into the wall
  const ServoCycleReport report = runtime.step(kPeriod, moving.q, moving.u);
  EXPECT_GT(report.violation.velocity, 0.2);
  EXPECT_TRUE(report.violation.is_beyond());
  runtime.servo().dynamics().set_active(0, false);
  runtime.enable_forces_of(0, false);
  EXPECT_FALSE(runtime.step(kPeriod, moving.q, moving.u).violation.is_beyond());
}

TEST(ServoViolation, when_the_model_fits_expect_follow)
{
  Loop loop(arm(), quick(), arm_limits());
  loop.run(2000);
  EXPECT_EQ(loop.cycle().mode, ServoMode::kFollow);
  EXPECT_EQ(loop.runtime->counts().violated, 0u);
}

// ---- commands that are not granted -------------------------------------------------------------

TEST(ServoGranted, when_a_limiter_takes_some_of_a_command_expect_limited_and_both_values)
{
  Loop loop(arm(), quick(), arm_limits());
  loop.run(300);
  VectorXd granted = loop.runtime->command();
  loop.runtime->set_granted(granted);
  ServoCycleReport report = loop.cycle();
  EXPECT_FALSE(report.cut);
  EXPECT_EQ(report.status, Status::kOk);
  const VectorXd asked = loop.runtime->command();
  granted = asked;
  granted(1) = 0.5 * asked(1);
  granted(2) = kNan;  // unknown
  loop.runtime->set_granted(granted);
  report = loop.cycle();
  EXPECT_TRUE(report.cut);
  EXPECT_EQ(report.status, Status::kLimited);
  EXPECT_EQ(loop.runtime->requested(), asked);
  EXPECT_EQ(loop.runtime->granted()(1), 0.5 * asked(1));
  EXPECT_EQ(loop.runtime->granted()(2), asked(2));
  EXPECT_EQ(loop.runtime->counts().cut, 1u);
}

TEST(ServoGranted, when_own_limits_relax_the_first_task_expect_no_status_ok)
{
  InputLimits limits = arm_limits();
  limits.upper << 5.0, 12.0, 6.0, 1.0;
  limits.lower = -limits.upper;
  Loop loop(arm(), quick(), limits);
  int relaxed = 0;
  for (int i = 0; i < 1000; ++i)
  {
    const ServoCycleReport report = loop.cycle();
    if (loop.runtime->servo().result().relaxed[0])
    {
      ++relaxed;
      EXPECT_NE(report.status, Status::kOk) << i;
    }
  }
  EXPECT_GT(relaxed, 100);
}

// ---- references that cannot be meant -----------------------------------------------------------

TEST(ServoBounds, when_a_point_is_out_of_reach_or_a_force_out_of_effort_expect_refusal)
{
  Loop loop(arm(), quick(), arm_limits());
  loop.run(300);
  ServoReference point = loop.runtime->servo().reference(0);
  const VectorXd here = point.position;
  EXPECT_TRUE(loop.runtime->give_reference(0, point, true));
  for (const double far : {1e30, 1e5, 5.0})
  {
    point.position(1) = far;
    EXPECT_FALSE(loop.runtime->give_reference(0, point, true)) << far;
    EXPECT_EQ(loop.runtime->last_refusal().task, 0);
  }
  const std::string what = loop.runtime->bounds(0).explain(loop.runtime->last_refusal().what);
  EXPECT_NE(what.find("stretched chain"), std::string::npos) << what;
  ServoReference force = loop.runtime->servo().reference(1);
  force.velocity.setZero();
  force.acceleration.setZero();
  force.position(0) = 20.0;
  EXPECT_TRUE(loop.runtime->give_reference(1, force, true));
  for (const double strong : {1000.0, -1000.0, 1e30})
  {
    force.position(0) = strong;
    EXPECT_FALSE(loop.runtime->give_reference(1, force, true)) << strong;
  }
  const RefusedReference & refusal = loop.runtime->last_refusal();
  EXPECT_EQ(refusal.task, 1);
  force.position(0) = 1000.0;
  EXPECT_FALSE(loop.runtime->give_reference(1, force, true));
  std::cout << loop.runtime->bounds(1).explain(refusal.what) << std::endl;
  EXPECT_EQ(refusal.what.kind, RefusedValue::Kind::kForce);
  EXPECT_GT(refusal.what.upper, 20.0);
  EXPECT_EQ(loop.runtime->counts().refused, 7u);
  loop.run(10);
  EXPECT_LT((loop.runtime->servo().reference(0).position - here).norm(), 1e-2);
}

TEST(ServoBounds, when_a_joint_reference_is_beyond_its_limits_expect_refusal_with_the_range)
{
  const Scenario scenario = Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml");
  const auto joint = std::make_shared<RowServo>(std::make_shared<JointPosition>(
    "posture", scenario.system(), std::vector<CoordinateValue>{{"joint_2", 0.0}}));
  const ReferenceBounds bounds(*joint);
  ServoReference reference = joint->make_reference();
  EXPECT_EQ(bounds.check(reference).kind, RefusedValue::Kind::kNone);
  reference.position(0) = 90.0;
  const std::string what = bounds.explain(bounds.check(reference));
  std::cout << what << std::endl;
  EXPECT_NE(what.find("'joint_2' is 90; allowed: -"), std::string::npos) << what;
  reference.position(0) = 0.1;
  reference.velocity(0) = 1e4;
  EXPECT_EQ(bounds.check(reference).kind, RefusedValue::Kind::kRate);
}

TEST(ServoBounds, when_given_references_jump_expect_them_joined)
{
  for (const bool limited : {true, false})
  {
    ServoRuntimeOptions options;
    options.references.largest_step = limited ? 0.1 : 0.0;
    options.references.timeout = 0.0;
    Loop loop(arm(), options, arm_limits());
    loop.run(1500);
    ServoReference given = loop.runtime->servo().reference(0);
    given.velocity.setZero();
    given.acceleration.setZero();
    given.position.head(3) << 0.6, 0.1, 0.5;
    ASSERT_TRUE(loop.runtime->give_reference(0, given, true));
    loop.run(1500);
    given.position(1) = -0.15;
    ASSERT_TRUE(loop.runtime->give_reference(0, given, true));
    double largest = 0.0;  // step of the reference in one cycle
    VectorXd before = loop.runtime->servo().reference(0).position;
    for (int i = 0; i < 1500; ++i)
    {
      loop.cycle();
      const VectorXd & now = loop.runtime->servo().reference(0).position;
      largest = std::max(largest, (now - before).norm());
      before = now;
    }
    EXPECT_NEAR(before(1), -0.15, 1e-9);
    EXPECT_EQ(largest < 1e-3, limited) << largest;
    EXPECT_EQ(largest > 0.2, !limited) << largest;
  }
}

TEST(GivenReference, when_given_by_row_or_by_pose_expect_the_same_reference)
{
  const Scenario scenario = arm();
  const ServoConstraint & curve = *scenario.servo_law()->tasks()[0].constraint;
  const ReferenceBounds bounds(curve);
  ServoReference by_row = curve.make_reference();
  ServoReference by_pose = curve.make_reference();
  EXPECT_EQ(complete_reference(curve, &bounds, {{0.05, 0.5}, {0.1, 0.2}, {}}, by_row), "");
  EXPECT_EQ(
    complete_reference(
      curve, &bounds, {{0.0, 0.05, 0.5, 0, 0, 0, 1}, {0, 0.1, 0.2, 0, 0, 0}, {}}, by_pose),
    "");
  EXPECT_EQ(by_row.position, by_pose.position);
  EXPECT_EQ(by_row.velocity, by_pose.velocity);
  // In closed loop the tip goes there.
  ServoRuntimeOptions options;
  options.references.timeout = 0.0;
  Loop loop(scenario, options, arm_limits());
  loop.run(100);
  by_row.velocity.setZero();
  ASSERT_TRUE(loop.runtime->give_reference(0, by_row, true));
  loop.run(2500);
  EXPECT_LT(loop.runtime->servo().result().error.head(2).norm(), 1e-3);
  const System & system = scenario.system();
  const auto data = system.make_data();
  FrameKinematics tip;
  ASSERT_EQ(
    system.update_kinematics(0.0, loop.plant.state().q, loop.plant.state().u, *data), Status::kOk);
  system.frame_kinematics(*data, system.frame_index("tip"), tip);
  EXPECT_NEAR(tip.position.y(), 0.05, 1e-3);
  EXPECT_NEAR(tip.position.z(), 0.5, 1e-3);
}

TEST(GivenReference, when_counts_or_values_are_wrong_expect_exact_messages)
{
  const Scenario scenario = arm();
  const auto message = [&](int task, const GivenReference & given)
  {
    const ServoConstraint & servo =
      *scenario.servo_law()->tasks()[static_cast<std::size_t>(task)].constraint;
    ServoReference out = servo.make_reference();
    const ReferenceBounds bounds(servo);
    return complete_reference(servo, &bounds, given, out);
  };
  EXPECT_EQ(
    message(0, {{1.0}, {}, {}}),
    "reference of 'curve': position has 1 values; allowed: none, 2 by row (y z) or 7 (x y z qx qy "
    "qz qw)");
  EXPECT_EQ(
    message(0, {{}, {1.0}, {}}),
    "reference of 'curve': velocity has 1 values; allowed: none, 2 by row (y z) or 6 (x y z rx ry "
    "rz)");
  EXPECT_EQ(
    message(1, {{1.0, 2.0}, {}, {}}),
    "reference of 'push': position has 2 values; allowed: none or 1 (normal)");
  EXPECT_EQ(
    message(0, {{kNan, 0.5}, {}, {}}),
    "reference of 'curve': position: 'y' is nan; allowed: finite numbers");
  EXPECT_EQ(
    message(0, {{0, 0, 0.5, 0, 0, 0, 2}, {}, {}}),
    "reference of 'curve': the quaternion (qx qy qz qw) has the length 2; allowed: 1");
  EXPECT_NE(message(0, {{0.0, 90.0}, {}, {}}).find("m from where the robot"), std::string::npos);
  EXPECT_NE(message(1, {{1e30}, {}, {}}).find("'normal' is 1e+30"), std::string::npos);
}

// ---- gains against the rate --------------------------------------------------------------------

TEST(SampledGains, when_a_sampled_double_integrator_diverges_expect_radius_above_one)
{
  // x'' = a, a held for a period and one period late: simulated, and by the eigenvalues.
  const Scenario scenario = arm();
  const ServoConstraint & servo = *scenario.servo_law()->tasks()[0].constraint;
  for (const double stiffness : {25.0, 400.0, 2500.0})
  {
    for (const double ratio : {0.3, 1.0, 3.0})
    {
      for (const double period : {1e-3, 0.005, 0.02, 0.0213, 0.0214, 0.1})
      {
        const auto gains = ErrorDynamics::from_stiffness(stiffness, ratio);
        const double radius = sampled_spectral_radius(servo, gains, period);
        double x = 1.0, v = 0.0, a = 0.0;
        for (int i = 0; i < 20000 && std::abs(x) < 1e9; ++i)
        {
          const double next = -stiffness * x - 2.0 * ratio * std::sqrt(stiffness) * v;
          x += period * v + 0.5 * period * period * a;
          v += period * a;
          a = next;
        }
        if (std::abs(radius - 1.0) > 2e-3)
        {
          EXPECT_EQ(radius < 1.0, std::abs(x) < 1e-3) << stiffness << " " << ratio << " " << period;
        }
        const double D = 2.0 * ratio * std::sqrt(stiffness) * period;
        const double K = stiffness * period * period;
        EXPECT_EQ(radius < 1.0, D - 0.5 * K < 1.0 && D - 1.5 * K > (D - 0.5 * K) * (D - 0.5 * K));
      }
    }
  }
}

TEST(SampledGains, when_gains_diverge_at_the_rate_expect_refusal_with_what_is_allowed)
{
  const Scenario scenario = arm();
  const auto make = [&](double period, double sample_period)
  {
    ServoRuntimeOptions options;
    options.period = period;
    options.sample_period = sample_period;
    ServoRuntime(
      *scenario.servo_law(), *scenario.servo_drive(), {}, std::vector<bool>(4, true),
      std::vector<bool>(4, true), options);
  };
  EXPECT_EQ(message_of([&] { make(0.001, 0.0); }), "nothing");
  EXPECT_EQ(message_of([&] { make(0.001, 0.01); }), "nothing");
  for (const auto & [period, sample_period] : {std::pair(0.1, 0.0), std::pair(0.001, 0.1)})
  {
    const std::string message = message_of([&, p = period, s = sample_period] { make(p, s); });
    std::cout << message << std::endl;
    EXPECT_NE(message.find("'curve'"), std::string::npos);
    EXPECT_NE(message.find("stiffness 400"), std::string::npos);
    EXPECT_NE(message.find("10 Hz"), std::string::npos);
    EXPECT_NE(message.find("below 18.16"), std::string::npos);
    EXPECT_NE(message.find("above 46.9"), std::string::npos);
  }
}

// ---- tasks, one by one -------------------------------------------------------------------------

TEST(ServoTaskModes, when_one_task_is_silent_expect_its_mode_and_the_way_back)
{
  ServoRuntimeOptions options;
  options.references.timeout = 0.1;
  options.references.smooth_start = 0.3;
  Loop loop(arm(), options, arm_limits());
  loop.run(600);
  const auto mode = [&](int task) { return loop.runtime->reference(task).mode(); };
  EXPECT_EQ(mode(0), TaskMode::kTrajectory);
  ServoReference given = loop.runtime->servo().reference(0);
  given.velocity.setZero();
  given.acceleration.setZero();
  ASSERT_TRUE(loop.runtime->give_reference(0, given, true));
  EXPECT_EQ(loop.cycle().mode, ServoMode::kFollow);
  EXPECT_EQ(mode(0), TaskMode::kGiven);
  loop.run(200);
  EXPECT_EQ(loop.cycle().mode, ServoMode::kFollow);  // the force goes on
  EXPECT_EQ(mode(0), TaskMode::kHold);
  EXPECT_EQ(mode(1), TaskMode::kTrajectory);
  loop.runtime->resume_trajectory(0);
  EXPECT_EQ(mode(0), TaskMode::kTrajectory);
  VectorXd before = loop.runtime->servo().reference(0).position;
  for (int i = 0; i < 600; ++i)
  {
    loop.cycle();
    EXPECT_LT((loop.runtime->servo().reference(0).position - before).norm(), 2e-3);
    before = loop.runtime->servo().reference(0).position;
  }
  const double t = loop.runtime->time();
  EXPECT_NEAR(before(1), 0.1 * std::sin(t), 1e-9);
  EXPECT_NEAR(before(2), 0.55 + 0.05 * std::sin(2.0 * t), 1e-9);
}

TEST(ServoTaskModes, when_stale_references_shall_resume_expect_the_trajectory_again)
{
  ServoRuntimeOptions options;
  options.references.timeout = 0.1;
  options.references.smooth_start = 0.3;
  options.references.resume = true;
  Loop loop(arm(), options, arm_limits());
  loop.run(600);
  ServoReference given = loop.runtime->servo().reference(0);
  given.velocity.setZero();
  given.acceleration.setZero();
  ASSERT_TRUE(loop.runtime->give_reference(0, given, true));
  loop.run(90);
  EXPECT_EQ(loop.runtime->reference(0).mode(), TaskMode::kGiven);
  loop.run(700);
  EXPECT_EQ(loop.runtime->reference(0).mode(), TaskMode::kTrajectory);
  EXPECT_NEAR(
    loop.runtime->servo().reference(0).position(1), 0.1 * std::sin(loop.runtime->time()), 1e-9);
}

TEST(ServoStart, when_prepared_by_another_thread_expect_the_same_cycles)
{
  Loop whole(arm(), quick(), arm_limits());
  Loop parts(arm(), quick(), arm_limits());
  parts.runtime->begin(parts.plant.state());
  EXPECT_EQ(
    parts.runtime->step(kPeriod, parts.plant.state().q, parts.plant.state().u).mode,
    ServoMode::kInactive);
  std::thread other([&] { parts.runtime->prepare(); });
  other.join();
  for (int i = 0; i < 100; ++i)
  {
    whole.cycle();
    parts.cycle();
    ASSERT_EQ(whole.runtime->command(), parts.runtime->command()) << i;
  }
}

TEST(ServoRestEffort, when_asked_expect_efforts_that_keep_the_arm_at_rest)
{
  const Scenario scenario = arm();
  Loop loop(scenario, quick(), arm_limits());
  loop.run(200);
  VectorXd effort = VectorXd::Zero(4);
  const long before = test::allocation_count();
  ASSERT_TRUE(loop.runtime->find_rest_effort(effort));
  EXPECT_EQ(test::allocation_count(), before);
  auto workspace = Workspace::unanalysed(*scenario.dynamics());
  const VectorXd rest = VectorXd::Zero(4);
  ASSERT_EQ(
    scenario.dynamics()->solve(0.0, loop.runtime->q(), rest, effort, workspace), Status::kOk);
  EXPECT_LT(workspace.solution().acceleration.norm(), 1e-6);
}

}  // namespace constrained_dynamics
