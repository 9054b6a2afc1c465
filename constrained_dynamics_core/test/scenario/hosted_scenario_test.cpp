// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/hosted_scenario.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

using testing::HasSubstr;

namespace constrained_dynamics
{

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string path(const std::string & name)
{
  return std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml";
}

Push along(const std::string & speed, double value)
{
  Push push;
  push.names = {speed};
  push.values = {value};
  return push;
}

Push at(const std::string & frame, const Eigen::Vector3d & force)
{
  Push push;
  push.frame = frame;
  push.force = force;
  return push;
}

template <typename Action>
std::string refusal(const Action & action)
{
  try
  {
    action();
  }
  catch (const RequestError & error)
  {
    return error.what();
  }
  return "nothing was refused";
}

TEST(HostedScenario, when_advanced_in_odd_pieces_expect_the_state_of_whole_steps)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0);
  for (int i = 0; i < 37; ++i)
  {
    hosted.advance(0.0027);  // 99.9 ms in all, steps of 1 ms
  }
  EXPECT_NEAR(hosted.time(), 0.099, 1e-12);
  const auto simulation = Scenario::load(path("four_bar")).make_simulation();
  for (int i = 0; i < 99; ++i)
  {
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  EXPECT_EQ(hosted.simulation().state().q, simulation->state().q);
  EXPECT_EQ(hosted.status(), Status::kOk);
}

TEST(HostedScenario, when_end_is_reached_expect_it_to_stay_there)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0105);
  EXPECT_FALSE(hosted.has_ended());
  for (int i = 0; i < 10; ++i)
  {
    hosted.advance(0.005);
  }
  EXPECT_TRUE(hosted.has_ended());
  EXPECT_NEAR(hosted.time(), 0.011, 1e-12);  // to the next whole step
  HostedScenario endless(path("four_bar"), {"run.until=0.01"}, kInfinity);
  endless.advance(0.05);
  EXPECT_NEAR(endless.time(), 0.05, 1e-12);
  EXPECT_FALSE(endless.has_ended());
}

TEST(HostedScenario, when_durations_make_no_sense_expect_no_motion)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0);
  for (const double duration : {0.0, -1.0, kNaN})
  {
    hosted.advance(duration);
    EXPECT_EQ(hosted.time(), 0.0) << duration;
  }
}

TEST(HostedScenario, when_integrator_is_adaptive_expect_events_at_their_instants)
{
  HostedScenario hosted(path("bouncing_ball"), {}, 0.0);
  for (int i = 0; i < 50; ++i)
  {
    hosted.advance(0.01);
  }
  EXPECT_NEAR(hosted.time(), 0.5, 1e-12);
  ASSERT_FALSE(hosted.simulation().events().empty());
  const auto & impact = hosted.simulation().events().front();
  EXPECT_EQ(impact.kind, ContactEventKind::kImpact);
  EXPECT_NEAR(impact.time, 0.451523640986, 1e-9);  // sqrt(2 h/g)
  hosted.clear_events();
  EXPECT_TRUE(hosted.simulation().events().empty());
}

TEST(HostedScenario, when_reset_expect_initial_state_and_constraints)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0);
  const Eigen::VectorXd initial = hosted.simulation().state().q;
  hosted.step(100);
  EXPECT_EQ(hosted.set_active("loop", false), 0.0);
  EXPECT_FALSE(hosted.simulation().workspace().is_active(0));
  hosted.reset();
  EXPECT_EQ(hosted.simulation().state().q, initial);
  EXPECT_TRUE(hosted.simulation().workspace().is_active(0));
}

TEST(HostedScenario, when_switched_on_again_expect_an_impulse_that_meets_the_rows)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0);
  hosted.set_active("loop", false);
  hosted.push(along("dcrank", 1.0));
  EXPECT_GT(hosted.simulation().workspace().rows().velocity.norm(), 1e-3);
  EXPECT_GT(hosted.set_active("loop", true), 1e-3);
  EXPECT_LT(hosted.simulation().workspace().rows().velocity.norm(), 1e-10);
  EXPECT_EQ(hosted.set_active("loop", true), 0.0);
}

TEST(HostedScenario, when_pushed_at_a_frame_expect_the_power_of_the_impulse)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0);
  const Eigen::Vector3d impulse(3.0, 0.0, 1.0);
  const double energy = hosted.push(at("coupler_tip", impulse));
  // From rest: ΔE = ½ I·v⁺, with the velocity of the point that was pushed.
  const auto & system = hosted.dynamics().system();
  FrameKinematics frame;
  system.frame_kinematics(
    hosted.simulation().workspace().system_data(), system.frame_index("coupler_tip"), frame);
  EXPECT_NEAR(energy, 0.5 * impulse.dot(frame.velocity), 1e-12);
  EXPECT_GT(energy, 1e-3);
}

TEST(HostedScenario, when_requests_are_bad_expect_names_values_and_what_is_allowed)
{
  HostedScenario hosted(path("four_bar"), {}, 0.0);
  const Eigen::VectorXd before = hosted.simulation().state().u;
  const auto push = [&](const Push & given) { return refusal([&] { hosted.push(given); }); };
  const Eigen::Vector3d none = Eigen::Vector3d::Zero();
  EXPECT_THAT(push({}), HasSubstr("nothing to push"));
  EXPECT_THAT(push(at("nowhere", none)), HasSubstr("'nowhere' does not exist; allowed: "));
  EXPECT_THAT(push(at("", {1.0, 0.0, 0.0})), HasSubstr("no frame"));
  EXPECT_THAT(push(at("coupler_tip", {kNaN, 0.0, 0.0})), HasSubstr("finite"));
  Push twist = at("coupler_tip", none);
  twist.torque.y() = kInfinity;
  EXPECT_THAT(push(twist), HasSubstr("finite"));
  Push half = along("dcrank", 1.0);
  half.values.clear();
  EXPECT_THAT(push(half), HasSubstr("1 names and 0 values"));
  EXPECT_THAT(push(along("crank", 1.0)), HasSubstr("dcrank"));
  EXPECT_THAT(push(along("dcrank", kNaN)), HasSubstr("'dcrank' is nan"));
  EXPECT_THAT(refusal([&] { hosted.step(0); }), HasSubstr("allowed: 1 to 1000000"));
  EXPECT_THAT(refusal([&] { hosted.step(4000000000U); }), HasSubstr("allowed: 1 to 1000000"));
  EXPECT_THAT(refusal([&] { hosted.set_active("loops", true); }), HasSubstr("loop"));
  EXPECT_EQ(hosted.simulation().state().u, before);
  HostedScenario ball(path("bouncing_ball"), {}, 0.0);
  EXPECT_THAT(refusal([&] { ball.set_active("floor", true); }), HasSubstr("contact"));
  EXPECT_THAT(
    refusal([&] { ball.push(at("tip", Eigen::Vector3d::Zero())); }), HasSubstr("has no bodies"));
}

TEST(HostedScenario, when_the_motion_is_not_determined_expect_its_status_and_no_motion)
{
  HostedScenario hosted(path("painleve_rod"), {"mu=2"}, 0.0);  // Painlevé's paradox
  EXPECT_EQ(hosted.status(), Status::kNoUniqueSolution);
  hosted.advance(0.01);
  EXPECT_TRUE(hosted.has_failed());
  EXPECT_TRUE(hosted.has_ended());
  EXPECT_EQ(hosted.failure(), Status::kNoUniqueSolution);
  EXPECT_EQ(hosted.time(), 0.0);
  EXPECT_THAT(refusal([&] { hosted.step(1); }), HasSubstr("reset starts it anew"));
  hosted.reset();
  EXPECT_FALSE(hosted.has_failed());
}

}  // namespace

}  // namespace constrained_dynamics
