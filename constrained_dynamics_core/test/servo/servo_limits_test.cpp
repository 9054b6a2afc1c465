// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/pose_servo.hpp"
#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "support/allocation_counter.hpp"
#include "support/row_problems.hpp"

// Position and velocity limits of the robot's description under a servo law (R23).

namespace constrained_dynamics::test
{
namespace
{

using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A chain of links with joints about random axes, with limits of position and velocity.
std::shared_ptr<const RigidBodySystem> random_chain(Random & random, int joints)
{
  std::ostringstream urdf;
  urdf.precision(17);
  urdf << "<robot name='chain'><link name='base'/>";
  std::string parent = "base";
  for (int i = 0; i < joints; ++i)
  {
    const std::string id = std::to_string(i);
    const bool slides = random.integer(0, 4) == 0;
    const double mass = random.between(0.5, 3.0);
    const double inertia = random.between(0.01, 0.05) * mass;
    const double length = random.between(0.2, 0.5);
    const Eigen::Vector3d axis = random.vector(3).normalized();
    urdf << "<link name='link" << id << "'><inertial><origin xyz='0 0 " << 0.5 * length
         << "'/><mass value='" << mass << "'/><inertia ixx='" << inertia << "' iyy='" << inertia
         << "' izz='" << 0.6 * inertia << "' ixy='0' ixz='0' iyz='0'/></inertial></link>"
         << "<joint name='joint" << id << "' type='" << (slides ? "prismatic" : "revolute")
         << "'><parent link='" << parent << "'/><child link='link" << id << "'/><origin xyz='0 0 "
         << (i == 0 ? 0.0 : length) << "'/><axis xyz='" << axis.transpose() << "'/><limit lower='"
         << -random.between(0.2, 1.5) << "' upper='" << random.between(0.2, 1.5) << "' velocity='"
         << random.between(0.5, 3.0) << "' effort='" << random.between(50.0, 200.0)
         << "'/></joint>";
    parent = "link" + id;
  }
  urdf << "</robot>";
  return RigidBodySystem::from_urdf_text(urdf.str());
}

/// How far a state is beyond the limits of the description, as a fraction of them.
double excess(const RigidBodySystem & robot, const VectorXd & q, const VectorXd & u)
{
  double largest = 0.0;
  for (Eigen::Index i = 0; i < q.size(); ++i)
  {
    const RigidBodySystem::Limits & limits = robot.limits()[static_cast<std::size_t>(i)];
    largest = std::max(
      {largest, q(i) - limits.upper, limits.lower - q(i), std::abs(u(i)) / limits.velocity - 1.0});
  }
  return largest;
}

/// A state from which every joint can be stopped: half of what the limits allow.
State random_state(const RigidBodySystem & robot, Random & random)
{
  State state{0.0, robot.neutral_coordinates(), VectorXd::Zero(robot.speed_count())};
  for (Eigen::Index i = 0; i < state.q.size(); ++i)
  {
    const RigidBodySystem::Limits & limits = robot.limits()[static_cast<std::size_t>(i)];
    state.q(i) = random.between(0.6 * limits.lower, 0.6 * limits.upper);
    const double a = limits.velocity / MotionLimits::kStopTime;
    const double way = std::min(limits.upper - state.q(i), state.q(i) - limits.lower);
    state.u(i) = random.between(-0.5, 0.5) * std::min(limits.velocity, std::sqrt(a * way));
  }
  return state;
}

struct Outcome
{
  double excess = 0.0;
  long limited = 0;
  long stopped = 0;
  bool completed = false;
  bool held = false;
};

/// One random task on one random robot: what it does to the limits.
Outcome try_random_task(Random & random, bool keep)
{
  const int joints = random.integer(1, 5);
  const auto robot = random_chain(random, joints);
  std::vector<std::shared_ptr<const Constraint>> passive;
  if (joints > 2 && random.integer(0, 4) == 0)
  {
    // Two joints that go together: the passive row leaves the law fewer directions.
    passive.push_back(std::make_shared<JointCoupling>(
      "pair", *robot,
      std::vector<CouplingTerm>{{"joint0", 1.0}, {"joint1", random.between(0.5, 2.0)}}, 0.0));
  }
  const auto dynamics = std::make_shared<const Dynamics>(ConstraintSet(robot, passive));
  State state = random_state(*robot, random);
  if (!passive.empty())
  {
    state.q.head<2>().setZero();
    state.u.setZero();
  }
  std::vector<ServoTask> tasks;
  ServoDrive drive;
  const auto gains = ErrorDynamics::from_stiffness(random.between(20.0, 400.0));
  const int kind = random.integer(0, 2);
  if (kind != 1)
  {
    const auto tip = std::make_shared<PoseServo>(
      "tip", *robot, "link" + std::to_string(joints - 1), "world",
      std::vector<std::string>{"x", "y", "z"});
    VectorXd goal(7);
    goal << random.vector(3), 0.0, 0.0, 0.0, 1.0;
    tasks.push_back({tip, gains, 0});
    drive.references.push_back(make_constant_reference(*tip, goal));
  }
  if (kind != 0)
  {
    // Swings beyond the limits, and faster than them.
    std::vector<CoordinateValue> zeros;
    Oscillation swing;
    swing.amplitude = 1.5 * random.vector(joints);
    swing.rate = VectorXd::Constant(joints, random.between(0.5, 6.0));
    swing.phase = random.vector(joints);
    swing.centre = VectorXd::Zero(joints);
    for (int i = 0; i < joints; ++i)
    {
      zeros.push_back({"joint" + std::to_string(i), 0.0});
    }
    const auto all = std::make_shared<RowServo>(
      std::make_shared<JointPosition>("joints", *robot, zeros), StartReference::kMeasured);
    tasks.push_back({all, gains, kind == 2 ? 1 : 0});
    drive.references.push_back(make_lissajous(*all, swing));
  }
  ServoOptions options;
  options.metric = random.integer(0, 3) == 0 ? ServoMetric::kIdeal : ServoMetric::kMoorePenrose;
  options.motion_limits.enabled = keep;
  if (random.integer(0, 2) == 0)
  {
    const double most = random.between(5.0, 200.0);  // some are too weak to stop in time
    options.limits.upper = VectorXd::Constant(joints, most);
    options.limits.lower = -options.limits.upper;
  }
  if (random.integer(0, 1) == 0)
  {
    drive.period = options.period = 0.002;
  }
  const auto law = std::make_shared<const ServoLaw>(dynamics, tasks, options);
  const auto inputs = std::make_shared<ServoInputLaw>(law, drive);
  SimulationOptions settings;
  settings.step = 0.002;
  Simulation simulation(dynamics, settings, inputs);
  simulation.start(state);
  Outcome outcome;
  const auto result = simulation.run(
    1.0, 0.004,
    [&](const Simulation & now)
    {
      outcome.excess = std::max(outcome.excess, excess(*robot, now.state().q, now.state().u));
      return true;
    });
  outcome.completed = result.completed;
  outcome.held = drive.period > 0.0;
  outcome.limited = inputs->counts().limited + inputs->counts().singular;
  outcome.stopped = inputs->counts().stopped;
  return outcome;
}

TEST(MotionLimits, when_tasks_are_random_expect_none_exceeded_without_a_report)
{
  const bool campaign = std::getenv("CD_CAMPAIGN") != nullptr;
  const int count = campaign ? 10000 : 150;
  constexpr unsigned kSeed = 91;
  std::cout << "seed " << kSeed << std::endl;
  // Limits are approached and not crossed. Held for 2 ms, the controls keep a limit of velocity but
  // for what the motion changes meanwhile.
  constexpr double kTolerance = 1e-6;
  constexpr double kHeldTolerance = 5e-3;
  Random random(kSeed);
  int reached = 0;
  int stopped = 0;
  int incomplete = 0;
  double worst = 0.0;
  double worst_stopped = 0.0;
  for (int i = 0; i < count; ++i)
  {
    const Outcome outcome = try_random_task(random, true);
    reached += outcome.limited > 0 ? 1 : 0;
    stopped += outcome.stopped > 0 ? 1 : 0;
    incomplete += outcome.completed ? 0 : 1;
    (outcome.stopped > 0 ? worst_stopped : worst) =
      std::max(outcome.stopped > 0 ? worst_stopped : worst, outcome.excess);
    if (outcome.stopped == 0)
    {
      EXPECT_LE(outcome.excess, outcome.held ? kHeldTolerance : kTolerance) << "task " << i;
    }
    EXPECT_TRUE(outcome.excess <= 0.0 || outcome.limited > 0) << "task " << i;
  }
  std::cout << count << " tasks: " << reached << " reached a limit, largest excess " << worst
            << "; " << stopped << " could only stop, largest excess " << worst_stopped << "; "
            << incomplete << " not completed\n";
  EXPECT_GT(reached, count / 4);
  EXPECT_EQ(incomplete, 0);
  // The tasks would leave the limits: a test of limits that nothing reaches would test nothing.
  Random again(kSeed);
  int left = 0;
  for (int i = 0; i < 20; ++i)
  {
    left += try_random_task(again, false).excess > 0.05 ? 1 : 0;
  }
  EXPECT_GT(left, 10);
}

/// A slider of 2 kg between −1 and 1 m, at most 2 m/s.
struct Slider
{
  explicit Slider(ServoOptions options, double goal = 3.0)
  : robot(RigidBodySystem::from_urdf_text(
      "<robot name='s'><link name='base'/><link name='cart'><inertial><mass value='2'/><inertia "
      "ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='x' "
      "type='prismatic'><parent link='base'/><child link='cart'/><axis xyz='1 0 0'/><limit "
      "lower='-1' upper='1' velocity='2' effort='100'/></joint></robot>")),
    law(
      std::make_shared<const Dynamics>(ConstraintSet(robot)),
      {{std::make_shared<RowServo>(
          std::make_shared<JointPosition>("x", *robot, std::vector<CoordinateValue>{{"x", goal}})),
        ErrorDynamics{}, 0}},
      std::move(options)),
    servo(law, {0.0, VectorXd::Zero(1), VectorXd::Zero(1)})
  {
  }
  Status at(double q, double u)
  {
    return law.evaluate(0.0, VectorXd::Constant(1, q), VectorXd::Constant(1, u), servo);
  }
  double acceleration() const { return servo.dynamics().solution().acceleration(0); }

  std::shared_ptr<const RigidBodySystem> robot;
  ServoLaw law;
  ServoWorkspace servo;
};

TEST(MotionLimits, when_no_limit_is_near_expect_the_same_bits)
{
  Random random(92);
  for (int i = 0; i < 50; ++i)
  {
    const auto robot = random_chain(random, 4);
    const auto dynamics = std::make_shared<const Dynamics>(ConstraintSet(robot));
    const auto tip = std::make_shared<PoseServo>(
      "tip", *robot, "link3", "world", std::vector<std::string>{"x", "y", "z"});
    ServoOptions options;
    if (i % 2 == 0)
    {
      options.limits.upper = VectorXd::Constant(4, 1.0);  // bind
      options.limits.lower = -options.limits.upper;
    }
    // Far enough away for whatever the task asks.
    options.motion_limits.lower = VectorXd::Constant(4, -1e6);
    options.motion_limits.upper = VectorXd::Constant(4, 1e6);
    options.motion_limits.velocity = VectorXd::Constant(4, 1e6);
    const ServoLaw with(dynamics, {{tip, ErrorDynamics{}, 0}}, options);
    options.motion_limits.enabled = false;
    const ServoLaw without(dynamics, {{tip, ErrorDynamics{}, 0}}, options);
    const State state = random_state(*robot, random);
    ServoWorkspace a(with, state), b(without, state);
    for (int k = 0; k < 5; ++k)
    {
      const State now = random_state(*robot, random);
      ASSERT_EQ(with.evaluate(0.0, now.q, now.u, a), without.evaluate(0.0, now.q, now.u, b));
      EXPECT_EQ(a.result().inputs, b.result().inputs);
      EXPECT_TRUE(a.result().motion_limits_met);
    }
  }
}

TEST(MotionLimits, when_a_limit_is_near_expect_the_stated_deceleration_and_the_name)
{
  ServoOptions options;
  options.motion_limits.deceleration = VectorXd::Constant(1, 4.0);
  Slider slider(options);
  EXPECT_EQ(slider.at(-0.5, 0.0), Status::kLimited);  // 350 m/s² desired: the speed is the limit
  EXPECT_NEAR(slider.acceleration(), 100.0 * 2.0, 1e-6);
  EXPECT_TRUE(slider.servo.result().at_motion_limit[0]);
  EXPECT_TRUE(slider.servo.result().relaxed[0]);
  // On the parabola u² = 2 a d (less half of the last part): braking with a.
  const double last = 4.0 / (25.0 * 25.0);
  EXPECT_EQ(slider.at(0.6, std::sqrt(4.0 * (2.0 * 0.4 - last))), Status::kLimited);
  EXPECT_NEAR(slider.acceleration(), -4.0, 1e-6);
  // At the limit, at rest; and beyond it: back.
  EXPECT_EQ(slider.at(1.0, 0.0), Status::kLimited);
  EXPECT_NEAR(slider.acceleration(), 0.0, 1e-8);
  EXPECT_EQ(slider.at(1.1, 0.0), Status::kLimited);
  EXPECT_LT(slider.acceleration(), -1.0);
  EXPECT_TRUE(slider.servo.result().motion_limits_met);
  // Away from the limits nothing is limited.
  Slider near(options, 0.1);
  EXPECT_EQ(near.at(0.0, 0.0), Status::kOk);
  EXPECT_NEAR(near.acceleration(), 10.0, 1e-9);
  EXPECT_FALSE(near.servo.result().at_motion_limit[0]);
}

TEST(MotionLimits, when_efforts_are_too_weak_to_stop_in_time_expect_a_stop_and_words)
{
  ServoOptions options;
  options.limits.upper = VectorXd::Constant(1, 3.0);  // 1.5 m/s²
  options.limits.lower = -options.limits.upper;
  Slider slider(options);
  EXPECT_EQ(slider.at(0.98, 1.0), Status::kLimited);
  EXPECT_FALSE(slider.servo.result().motion_limits_met);
  EXPECT_NEAR(slider.servo.result().inputs(0), -3.0, 1e-9);
  EXPECT_TRUE(slider.servo.result().at_bound[0]);
  EXPECT_EQ(slider.at(-0.98, -1.0), Status::kLimited);
  EXPECT_NEAR(slider.servo.result().inputs(0), 3.0, 1e-9);
}

TEST(MotionLimits, when_a_passive_row_drives_a_joint_out_expect_it_reported)
{
  // The slider's speed is not the law's to choose.
  const auto robot = Slider(ServoOptions{}).robot;
  const auto pinned =
    std::make_shared<JointPosition>("pinned", *robot, std::vector<CoordinateValue>{{"x", 0.5}});
  const auto dynamics = std::make_shared<const Dynamics>(
    ConstraintSet(robot, {std::static_pointer_cast<const Constraint>(pinned)}));
  ServoOptions options;
  options.motion_limits.upper = VectorXd::Constant(1, 0.4);
  options.motion_limits.lower = VectorXd::Constant(1, -0.4);
  const ServoLaw law(
    dynamics,
    {{std::make_shared<RowServo>(
        std::make_shared<JointPosition>("x", *robot, std::vector<CoordinateValue>{{"x", 0.5}})),
      ErrorDynamics{}, 0}},
    options);
  const VectorXd q = VectorXd::Constant(1, 0.5);
  const VectorXd u = VectorXd::Zero(1);
  ServoWorkspace servo(law, {0.0, q, u});
  const Status status = law.evaluate(0.0, q, u, servo);
  EXPECT_TRUE(has_output(status)) << to_string(status);
  EXPECT_TRUE(servo.result().limited);
  EXPECT_FALSE(servo.result().motion_limits_met);
  EXPECT_TRUE(servo.result().inputs.allFinite());
}

TEST(MotionLimits, when_limits_bind_expect_no_allocation)
{
  Random random(93);
  for (const double effort : {kInfinity, 1.0})
  {
    const auto robot = random_chain(random, 5);
    const auto dynamics = std::make_shared<const Dynamics>(ConstraintSet(robot));
    const auto tip = std::make_shared<PoseServo>(
      "tip", *robot, "link4", "world", std::vector<std::string>{"x", "y", "z"});
    ServoOptions options;
    options.limits.upper = VectorXd::Constant(5, effort);
    options.limits.lower = -options.limits.upper;
    const ServoLaw law(dynamics, {{tip, ErrorDynamics{}, 0}}, options);
    ServoWorkspace servo(law, random_state(*robot, random));
    servo.reference(0).position.head<3>().setConstant(2.0);
    int limited = 0;
    int stopped = 0;
    for (int k = 0; k < 100; ++k)
    {
      State state = random_state(*robot, random);
      state.q *= 1.6;
      state.u *= 3.0;
      const long allocations = allocation_count();
      const Status status = law.evaluate(0.0, state.q, state.u, servo);
      ASSERT_EQ(allocation_count(), allocations) << to_string(status);
      limited += servo.result().limited ? 1 : 0;
      stopped += servo.result().motion_limits_met ? 0 : 1;
    }
    EXPECT_GT(limited, 50);
    EXPECT_TRUE(effort == kInfinity || stopped > 0);
  }
}

TEST(MotionLimits, when_given_nonsense_expect_words)
{
  const auto refusal = [](const MotionLimits & limits) -> std::string
  {
    ServoOptions options;
    options.motion_limits = limits;
    try
    {
      Slider slider(options);
    }
    catch (const std::invalid_argument & error)
    {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  const auto one = [](double value) { return VectorXd::Constant(1, value); };
  const VectorXd none;
  EXPECT_EQ(refusal({true, one(-1.0), one(1.0), one(1.0), one(1.0)}), "");
  EXPECT_THAT(refusal({true, one(1.0), one(0.5), none, none}), HasSubstr("'x': lower 1 and upper"));
  EXPECT_THAT(refusal({true, one(std::nan("")), none, none, none}), HasSubstr("lower nan"));
  EXPECT_THAT(refusal({true, none, none, one(0.0), none}), HasSubstr("velocity 0"));
  EXPECT_THAT(refusal({true, none, none, none, one(-2.0)}), HasSubstr("deceleration -2"));
  EXPECT_THAT(refusal({true, none, none, none, one(kInfinity)}), HasSubstr("deceleration inf"));
  EXPECT_THAT(
    refusal({true, VectorXd::Zero(3), none, none, none}), HasSubstr("has 3 values; allowed: one"));
}

}  // namespace
}  // namespace constrained_dynamics::test
