// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/servo_runtime.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "servo/runtime_loop.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics
{

using Eigen::VectorXd;
using test::arm;
using test::arm_limits;
using test::four_bar;
using test::kNan;
using test::kPeriod;
using test::Loop;
using test::quick;

TEST(ServoRuntime, when_two_joints_have_no_sensors_expect_published_torques)
{
  // MBDS/multibody-state-estimation: 66.0116666667 N m at t = 0, −36.1141425254 at t = 2.
  Loop loop(four_bar(), quick(), {}, {"coupler", "rocker"});
  loop.cycle();
  EXPECT_NEAR(loop.runtime->command()(0), 66.0116666667, 1e-8);
  EXPECT_EQ(loop.runtime->time(), 0.0);
  loop.run(2000);
  EXPECT_NEAR(loop.runtime->time(), 2.0, 1e-9);
  // Commands are held for a millisecond, so that the motion lags by some of it.
  EXPECT_NEAR(loop.runtime->command()(0), -36.1141425254, 0.1);
  const double crank = 1.2 * (1.0 - std::cos(2.0 * loop.runtime->time()));
  EXPECT_NEAR(loop.plant.state().q(0), crank, 5e-3);
  EXPECT_EQ(loop.runtime->counts().missed, 0u);
}

TEST(ServoRuntime, when_arm_pushes_on_wall_expect_tracking_and_desired_force)
{
  Loop loop(arm());
  loop.run(3000);
  const auto & servo = loop.runtime->servo();
  EXPECT_LT(servo.result().error.head(2).norm(), 2e-3);
  ASSERT_EQ(loop.plant.simulation().evaluate(), Status::kOk);
  const double force = loop.plant.simulation().workspace().solution().multipliers(0);
  EXPECT_NEAR(force, 15.0 + 3.0 * std::sin(2.0 * loop.runtime->time()), 0.05);
}

TEST(ServoRuntime, when_a_panda_cuts_on_a_wall_expect_tracking_and_desired_force)
{
  std::unique_ptr<Loop> loop;
  try
  {
    loop = std::make_unique<Loop>(Scenario::load(CD_CONFIG "/scenarios/panda_wall.yaml"));
  }
  catch (const std::invalid_argument & error)
  {
    if (std::string(error.what()).find("example-robot-data") == std::string::npos)
    {
      throw;
    }
    GTEST_SKIP() << error.what();
  }
  loop->run(3000);
  EXPECT_LT(loop->runtime->servo().result().error.head(5).norm(), 2e-3);
  ASSERT_EQ(loop->plant.simulation().evaluate(), Status::kOk);
  const double force = loop->plant.simulation().workspace().solution().multipliers(0);
  EXPECT_NEAR(force, 20.0 + 5.0 * std::sin(2.0 * loop->runtime->time()), 0.1);
  EXPECT_EQ(loop->runtime->counts().missed, 0u);
}

TEST(ServoRuntime, when_started_while_moving_expect_references_to_begin_with_the_motion)
{
  Loop loop(arm());
  loop.run(700);
  ASSERT_GT(loop.plant.state().u.norm(), 0.05);
  // Nothing to follow: it comes to rest from where it is.
  loop.runtime = std::make_unique<ServoRuntime>(
    *loop.scenario.servo_law(), TaskTrajectories{}, InputLimits{}, std::vector<bool>(4, true),
    std::vector<bool>(4, true), ServoRuntimeOptions{});
  loop.start();
  loop.cycle();
  const auto & result = loop.runtime->servo().result();
  EXPECT_LT(result.error.head(2).norm(), 1e-3);
  EXPECT_LT(result.error_rate.head(2).norm(), 2e-3);
  EXPECT_GT(loop.runtime->servo().reference(0).velocity.norm(), 0.05);
  loop.run(2000);
  EXPECT_LT(loop.runtime->servo().reference(0).velocity.norm(), 1e-4);
  EXPECT_LT(result.error.head(2).norm(), 1e-4);
  EXPECT_LT((loop.plant.state().u.head(1).norm()), 1e-3);
}

TEST(ServoRuntime, when_effort_is_measured_expect_commands_to_begin_with_it)
{
  ServoRuntimeOptions options = quick();
  options.ramp_time = 0.2;
  Loop loop(arm(), options);
  const VectorXd effort = (VectorXd(4) << 1.0, -20.0, -8.0, 0.5).finished();
  loop.start(&effort);
  loop.cycle();
  EXPECT_LT((loop.runtime->command() - effort).norm(), 1e-12);
  EXPECT_EQ(loop.cycle().mode, ServoMode::kRamp);
  loop.run(210);
  EXPECT_EQ(loop.cycle().mode, ServoMode::kFollow);
  EXPECT_LT((loop.runtime->command() - loop.runtime->servo().result().inputs).norm(), 1e-12);
}

TEST(ServoRuntime, when_a_state_is_not_finite_expect_bounded_commands_and_recovery)
{
  const Scenario scenario = arm();
  for (const int cycles : {1, 4, 5, 100})
  {
    for (int element = 0; element < 8; ++element)
    {
      for (const double bad : {kNan, HUGE_VAL, -HUGE_VAL, 1e308, -1e308})
      {
        ServoRuntimeOptions options = quick();
        options.fallback = ServoFallback::kGravity;
        Loop loop(scenario, options, arm_limits());
        loop.run(50);
        for (int i = 1; i <= cycles; ++i)
        {
          const ServoCycleReport report = loop.cycle([&](VectorXd & q, VectorXd & u)
                                                     { (element < 4 ? q : u)(element % 4) = bad; });
          EXPECT_EQ(report.miss, ServoMiss::kState);
          EXPECT_EQ(report.mode, i < 5 ? ServoMode::kHold : ServoMode::kFallback);
          EXPECT_FALSE(report.failed);
        }
        const ServoCycleReport report = loop.cycle();
        EXPECT_EQ(report.miss, ServoMiss::kNone);
        EXPECT_EQ(report.mode, cycles < 5 ? ServoMode::kFollow : ServoMode::kRamp);
        EXPECT_EQ(loop.runtime->counts().missed, static_cast<std::uint64_t>(cycles));
      }
    }
  }
}

TEST(ServoRuntime, when_sensors_fail_for_a_second_at_rest_expect_the_arm_to_stay)
{
  Loop loop(arm(), {}, arm_limits(), {}, {});
  loop.run(3000);  // nothing to follow: it holds
  ASSERT_LT(loop.plant.state().u.norm(), 1e-3);
  const VectorXd q = loop.plant.state().q;
  for (int i = 0; i < 1000; ++i)
  {
    loop.cycle([](VectorXd & q_in, VectorXd & u_in)
               { q_in.setConstant(kNan), u_in.setConstant(kNan); });
  }
  EXPECT_EQ(loop.runtime->counts().fallback, 996u);
  EXPECT_LT((loop.plant.state().q - q).norm(), 0.05);
  loop.run(1000);
  EXPECT_EQ(loop.runtime->counts().restarts, 1u);
  EXPECT_LT(loop.runtime->servo().result().error.head(2).norm(), 1e-3);
}

TEST(ServoRuntime, when_sensors_fail_while_moving_expect_tracking_again_and_time_to_wait)
{
  Loop loop(arm(), {}, arm_limits());
  loop.run(1000);
  for (int i = 0; i < 50; ++i)
  {
    loop.cycle([](VectorXd & q, VectorXd &) { q.setConstant(kNan); });
  }
  EXPECT_NEAR(loop.runtime->time(), 0.999, 1e-9);
  loop.run(2500);
  EXPECT_EQ(loop.runtime->counts().restarts, 1u);
  EXPECT_LT(loop.runtime->servo().result().error.head(2).norm(), 2e-3);
  std::cout << "largest step of a command " << loop.largest_step << " N m" << std::endl;
}

TEST(ServoRuntime, when_denormal_values_arrive_expect_them_taken)
{
  Loop loop(arm(), quick());
  const ServoCycleReport report =
    loop.cycle([](VectorXd & q, VectorXd & u) { q(0) = u(0) = 5e-324; });
  EXPECT_EQ(report.miss, ServoMiss::kNone);
}

TEST(ServoRuntime, when_sensors_freeze_while_moving_expect_fallback_within_five_cycles)
{
  Loop loop(arm(), {}, arm_limits());
  loop.run(700);
  const State frozen = loop.plant.state();
  ASSERT_GT(frozen.u.cwiseAbs().maxCoeff(), 0.01);
  for (int i = 0; i <= 5; ++i)
  {
    const ServoCycleReport report =
      loop.cycle([&](VectorXd & q, VectorXd & u) { q = frozen.q, u = frozen.u; });
    EXPECT_EQ(report.mode == ServoMode::kFallback, i == 5) << i;
  }
  EXPECT_EQ(loop.cycle().miss, ServoMiss::kRecovery);
}

TEST(ServoRuntime, when_robot_rests_expect_unchanging_values_to_be_fine)
{
  Scenario scenario = arm();
  Loop loop(scenario);
  const State still = loop.plant.state();
  for (int i = 0; i < 100; ++i)
  {
    EXPECT_EQ(loop.runtime->step(kPeriod, still.q, still.u).miss, ServoMiss::kNone);
  }
}

TEST(ServoRuntime, when_time_jumps_expect_hold_and_report)
{
  Loop loop(arm(), quick(), arm_limits());
  loop.run(100);
  const auto nothing = [](VectorXd &, VectorXd &) {};
  for (const double period : {0.0, -0.001, 10.0, -1e9, kNan, HUGE_VAL, 0.006})
  {
    const double time = loop.runtime->time();
    const VectorXd command = loop.runtime->command();
    const ServoCycleReport report = loop.cycle(nothing, period);
    EXPECT_EQ(report.miss, ServoMiss::kPeriod) << period;
    EXPECT_EQ(report.mode, ServoMode::kHold) << period;
    EXPECT_EQ(loop.runtime->command(), command) << period;
    EXPECT_EQ(loop.runtime->time(), time) << period;
    EXPECT_EQ(loop.cycle().miss, ServoMiss::kNone);
  }
  // A few missed cycles are no reason to hold.
  const double time = loop.runtime->time();
  EXPECT_EQ(loop.cycle(nothing, 0.004).miss, ServoMiss::kNone);
  EXPECT_NEAR(loop.runtime->time(), time + 0.004, 1e-12);
  // Standing time is no fault, however long.
  for (int i = 0; i < 100; ++i)
  {
    EXPECT_EQ(loop.cycle(nothing, 0.0).mode, ServoMode::kHold);
  }
}

TEST(ServoRuntime, when_state_stays_away_expect_what_the_fallback_says)
{
  const Scenario scenario = arm();
  for (const ServoFallback fallback :
       {ServoFallback::kHold, ServoFallback::kGravity, ServoFallback::kDamp, ServoFallback::kZero,
        ServoFallback::kError})
  {
    ServoRuntimeOptions options = quick();
    options.fallback = fallback;
    Loop loop(scenario, options);
    loop.run(300);
    const VectorXd before = loop.runtime->command();
    ServoCycleReport report;
    for (int i = 0; i < 200; ++i)
    {
      report = loop.cycle([](VectorXd & q_in, VectorXd & u_in)
                          { q_in.setConstant(kNan), u_in.setConstant(kNan); });
    }
    EXPECT_EQ(report.mode, ServoMode::kFallback);
    EXPECT_EQ(report.failed, fallback == ServoFallback::kError);
    if (fallback == ServoFallback::kHold)
    {
      EXPECT_EQ(loop.runtime->command(), before);
    }
    else if (fallback == ServoFallback::kZero)
    {
      EXPECT_EQ(loop.runtime->command().norm(), 0.0);
    }
    else
    {
      // At rest in that position, the torques leave no acceleration along the wall.
      const auto & dynamics = *scenario.dynamics();
      auto workspace = Workspace::unanalysed(dynamics);
      const VectorXd rest = VectorXd::Zero(4);
      ASSERT_EQ(
        dynamics.solve(0.0, loop.runtime->q(), rest, loop.runtime->command(), workspace),
        Status::kOk);
      EXPECT_LT(workspace.solution().acceleration.norm(), 1e-6) << to_string(fallback);
    }
  }
}

TEST(ServoRuntime, when_a_reference_is_given_expect_it_joined_followed_and_held_when_stale)
{
  ServoRuntimeOptions options;
  options.references.smooth_start = 0.3;
  options.references.timeout = 0.1;
  Loop loop(arm(), options, arm_limits());
  loop.run(600);
  ServoReference given = loop.runtime->servo().reference(0);
  ASSERT_EQ(given.position.size(), 7);
  given.position.head(3) << 0.6, 0.05, 0.5;
  given.velocity.setZero();
  given.acceleration.setZero();
  const VectorXd before = loop.runtime->servo().reference(0).position;
  for (int i = 0; i < 800; ++i)
  {
    ASSERT_TRUE(loop.runtime->give_reference(0, given, true));
    loop.cycle();
    if (i == 0)
    {
      EXPECT_LT((loop.runtime->servo().reference(0).position - before).norm(), 1e-3);
    }
  }
  const auto & result = loop.runtime->servo().result();
  EXPECT_LT((loop.runtime->servo().reference(0).position - given.position).norm(), 1e-12);
  EXPECT_LT(result.error.head(2).norm(), 1e-3);
  // It keeps moving, and then no reference is given any more.
  given.velocity(1) = 0.1;
  ASSERT_TRUE(loop.runtime->give_reference(0, given, true));
  ServoMode mode = ServoMode::kFollow;
  for (int i = 0; i < 2000; ++i)
  {
    mode = loop.cycle().mode;
    if (i < 98 || i > 101)
    {
      EXPECT_EQ(loop.runtime->reference(0).is_stale(), i > 100) << i;
    }
  }
  EXPECT_EQ(mode, ServoMode::kFollow);  // the force follows its trajectory
  EXPECT_EQ(loop.runtime->reference(0).mode(), TaskMode::kHold);
  EXPECT_LT(result.error_rate.head(2).norm(), 1e-3);
  // 0.1 m/s dies away within 0.2 s: 0.02 m.
  EXPECT_NEAR(loop.runtime->servo().reference(0).position(1), 0.05 + 0.02, 1e-4);
  EXPECT_LT(result.error.head(2).norm(), 1e-3);
}

TEST(ServoRuntime, when_given_references_are_not_finite_or_of_wrong_size_expect_them_refused)
{
  Loop loop(arm(), quick());
  ServoReference given = loop.runtime->servo().reference(0);
  EXPECT_FALSE(loop.runtime->give_reference(0, given, true));  // not started
  loop.run(10);
  EXPECT_TRUE(loop.runtime->give_reference(0, given, true));
  for (int k = 0; k < 7; ++k)
  {
    ServoReference bad = given;
    bad.position(k) = kNan;
    EXPECT_FALSE(loop.runtime->give_reference(0, bad, true)) << k;
  }
  ServoReference bad = given;
  bad.position.segment(3, 4).setZero();
  EXPECT_FALSE(loop.runtime->give_reference(0, bad, true));
  bad = given;
  bad.velocity.setZero(3);
  EXPECT_FALSE(loop.runtime->give_reference(0, bad, true));
  EXPECT_EQ(loop.cycle().miss, ServoMiss::kNone);
}

TEST(ServoRuntime, when_a_null_space_vector_is_given_expect_motion_of_the_tasks_unchanged)
{
  ServoRuntimeOptions options = quick();
  options.references.timeout = 0.05;
  Loop loop(arm(), options);
  loop.run(500);
  const VectorXd q = loop.plant.state().q;
  const VectorXd u = loop.plant.state().u;
  loop.runtime->give_null_space(0, kNan, true);
  loop.runtime->step(kPeriod, q, u);
  EXPECT_EQ(loop.runtime->servo().external_null_vector().norm(), 0.0);
  loop.runtime->give_null_space(3, 2.0, true);
  loop.runtime->step(kPeriod, q, u);
  const auto & result = loop.runtime->servo().result();
  EXPECT_GT(result.null_part.norm(), 1e-3);
  EXPECT_LT(result.residual.norm(), 1e-8);
  for (int i = 0; i < 2000; ++i)
  {
    loop.cycle();
  }
  EXPECT_LT(loop.runtime->servo().external_null_vector().norm(), 1e-3);  // it grew stale
}

TEST(ServoRuntime, when_the_wall_goes_expect_its_force_task_to_be_off)
{
  Loop loop(arm(), quick());
  loop.run(200);
  loop.runtime->servo().dynamics().set_active(0, false);
  loop.runtime->enable_forces_of(0, false);
  ASSERT_EQ(loop.plant.simulation().switch_constraint(0, false), Status::kOk);
  loop.run(200);
  EXPECT_EQ(loop.runtime->servo().dynamics().solution().multipliers(0), 0.0);
  EXPECT_FALSE(loop.runtime->servo().is_enabled(1));
  EXPECT_EQ(loop.runtime->counts().missed, 0u);
}

TEST(ServoRuntime, when_a_ramp_is_asked_for_at_a_switch_expect_commands_without_a_jump)
{
  // The wall stays and the push on it goes, so that nothing moves by the switch.
  double jump = 0.0;
  for (const bool ramps : {false, true})
  {
    Loop loop(arm(), quick());
    loop.run(200);
    loop.largest_step = 0.0;
    loop.run(100);
    const double usual = loop.largest_step;  // of the motion along the wall, a cycle
    const VectorXd q = loop.plant.state().q;
    const VectorXd u = loop.plant.state().u;
    const VectorXd last = loop.runtime->command();
    const long before = test::allocation_count();
    loop.runtime->servo().set_enabled(1, false);
    if (ramps)
    {
      loop.runtime->ramp();
    }
    const ServoCycleReport report = loop.runtime->step(kPeriod, q, u);
    EXPECT_EQ(test::allocation_count(), before);
    EXPECT_EQ(report.mode == ServoMode::kRamp, ramps);
    const double step = (loop.runtime->command() - last).norm();
    if (!ramps)
    {
      jump = step;
      EXPECT_GT(jump, 1.0);  // [N m]
      continue;
    }
    EXPECT_LT(step, 1e-12);
    loop.largest_step = 0.0;
    loop.run(99);
    EXPECT_LT(loop.largest_step, 2.0 * usual + 0.02 * jump);  // the ramp's steepest is 1.5/100
    loop.run(2);
    EXPECT_EQ(loop.cycle().mode, ServoMode::kFollow);
    EXPECT_LT((loop.runtime->command() - loop.runtime->servo().result().inputs).norm(), 1e-12);
  }
}

TEST(ServoRuntime, when_limits_are_tight_expect_commands_within_them)
{
  InputLimits limits = arm_limits();
  limits.upper << 5.0, 12.0, 6.0, 1.0;
  limits.lower = -limits.upper;
  Loop loop(arm(), quick(), limits);
  loop.run(500);
  EXPECT_GT(loop.runtime->counts().limited, 0u);
}

TEST(ServoRuntime, when_anything_fails_at_random_expect_no_allocation_and_bounded_commands)
{
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random(seed);
  const auto chance = [&](double p) { return std::bernoulli_distribution(p)(random); };
  Loop loop(arm(), {}, arm_limits());
  loop.run(10);
  ServoReference given = loop.runtime->servo().reference(0);
  VectorXd q = loop.plant.state().q;
  VectorXd u = loop.plant.state().u;
  VectorXd last = loop.runtime->command();
  const VectorXd bound = loop.runtime->limits().upper;
  const VectorXd step = kPeriod * loop.runtime->limits().rate * (1.0 + 1e-9);
  long allocations = 0;
  bool bounded = true;
  for (int i = 0; i < 20000; ++i)
  {
    q = loop.plant.state().q;
    u = loop.plant.state().u;
    double period = kPeriod;
    if (chance(0.05))
    {
      (chance(0.5) ? q : u)(static_cast<int>(random() % 4)) = chance(0.5) ? kNan : 1e300;
    }
    if (chance(0.02))
    {
      period = chance(0.5) ? -1.0 : 50.0 * kPeriod;
    }
    given.position(1) = chance(0.1) ? kNan : 0.05;
    const bool gives = chance(0.05);
    const bool gives_references = chance(0.05);
    const long before = test::allocation_count();
    if (gives)
    {
      (void)loop.runtime->give_reference(0, given, true);
    }
    if (gives_references)
    {
      loop.runtime->give_null_space(1, 1.0, true);
    }
    (void)loop.runtime->step(period, q, u);
    allocations += test::allocation_count() - before;
    const VectorXd & command = loop.runtime->command();
    bounded = bounded && command.allFinite() && (command.cwiseAbs().array() <= bound.array()).all();
    bounded = bounded && ((command - last).cwiseAbs().array() <= step.array()).all();
    last = command;
    loop.plant.inputs() = command;
    ASSERT_TRUE(has_output(loop.plant.step()));
  }
  EXPECT_TRUE(bounded);
  EXPECT_EQ(allocations, 0);
  EXPECT_GT(loop.runtime->counts().missed, 100u);
}

TEST(ServoRuntime, when_options_are_out_of_range_expect_their_names_in_the_message)
{
  const Scenario scenario = four_bar();
  const auto message = [&](const auto & spoil)
  {
    ServoRuntimeOptions options;
    spoil(options);
    try
    {
      ServoRuntime(
        *scenario.servo_law(), *scenario.servo_drive(), {}, std::vector<bool>(3, true),
        std::vector<bool>(3, true), options);
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(
    message([](ServoRuntimeOptions & o) { o.period = 0.0; }).find("period of the cycle is 0"),
    std::string::npos);
  EXPECT_NE(
    message([](ServoRuntimeOptions & o) { o.ramp_time = kNan; }).find("ramp_time is nan"),
    std::string::npos);
  EXPECT_NE(
    message([](ServoRuntimeOptions & o) { o.dropout_cycles = 0; }).find("dropout_cycles is 0"),
    std::string::npos);
  EXPECT_NE(
    message([](ServoRuntimeOptions & o) { o.references.stop_time = -1.0; }).find("stop_time is -1"),
    std::string::npos);
  EXPECT_NE(
    message([](ServoRuntimeOptions & o) { o.recovery_time = -1.0; }).find("recovery_time is -1"),
    std::string::npos);
  EXPECT_NE(
    message([](ServoRuntimeOptions & o) { o.most_recoveries = -1; }).find("most_recoveries is -1"),
    std::string::npos);
  EXPECT_THROW((void)servo_fallback("sleep"), std::invalid_argument);
}

TEST(ServoRuntime, when_joints_without_sensors_are_not_determined_expect_error_that_names_them)
{
  const Scenario scenario = arm();
  ServoRuntime runtime(
    *scenario.servo_law(), *scenario.servo_drive(), {}, {true, true, false, false},
    {true, true, false, false}, {});
  try
  {
    runtime.start(scenario.initial());
    FAIL();
  }
  catch (const std::invalid_argument & error)
  {
    std::cout << error.what() << std::endl;
    EXPECT_NE(std::string(error.what()).find("joint_"), std::string::npos);
  }
}

}  // namespace constrained_dynamics
