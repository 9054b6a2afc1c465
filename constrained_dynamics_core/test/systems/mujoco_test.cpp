// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// MuJoCo as an independent plant: first that both have the same robot, then control loops of our
// laws around it.
#include <cmath>
#include <functional>
#include <iostream>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "support/row_problems.hpp"
#include "systems/mujoco/mujoco_plant.hpp"

namespace constrained_dynamics
{
namespace
{

using test::MujocoPlant;
using test::MujocoScene;
using test::MujocoShape;
using test::Random;

const char * const kPanda = CD_EXAMPLE_ROBOT_DATA "/panda_description/urdf/panda.urdf";
const char * const kTalos = CD_EXAMPLE_ROBOT_DATA "/talos_data/robots/talos_reduced.urdf";
const char * const kMobileArm = CD_CONFIG "/robots/mobile_arm.urdf";
constexpr bool kHasRobots = sizeof(CD_EXAMPLE_ROBOT_DATA) > 1;

/// A state with quaternions of length one.
State random_state(const System & system, Random & random)
{
  State state;
  state.q = random.vector(system.coordinate_count());
  state.u = random.vector(system.speed_count());
  system.normalise(state.q);
  return state;
}

/// Q and u̇ of both at random states, relative to the largest element.
void expect_same_robot(const MujocoScene & scene, const std::shared_ptr<const System> & system)
{
  Random random(21);
  MujocoPlant plant(scene, system);
  const std::unique_ptr<SystemData> data = system->make_data();
  double inertia_error = 0.0;
  double motion_error = 0.0;
  double state_error = 0.0;
  for (int i = 0; i < 50; ++i)
  {
    const State state = random_state(*system, random);
    const Eigen::VectorXd inputs = 10.0 * random.vector(system->input_count());
    ASSERT_EQ(system->update_kinematics(0.0, state.q, state.u, *data), Status::kOk);
    ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
    const SystemTerms & terms = data->terms;
    const Eigen::VectorXd ours =
      terms.mass_matrix.ldlt().solve(terms.force + terms.input_matrix * inputs);
    plant.set_state(state);
    const State back = plant.state();
    state_error = std::max({state_error, (back.q - state.q).norm(), (back.u - state.u).norm()});
    const Eigen::MatrixXd inertia = plant.mass_matrix();
    const Eigen::VectorXd theirs = plant.acceleration(inputs);
    inertia_error = std::max(
      inertia_error, (inertia - terms.mass_matrix).cwiseAbs().maxCoeff() /
                       terms.mass_matrix.cwiseAbs().maxCoeff());
    // The forces that the difference stands for: accelerations of light links magnify rounding.
    motion_error = std::max(
      motion_error,
      (terms.mass_matrix * (theirs - ours)).cwiseAbs().maxCoeff() /
        (terms.force.cwiseAbs() + (terms.input_matrix * inputs).cwiseAbs()).maxCoeff());
  }
  std::cout << "Q " << inertia_error << ", forces of the accelerations " << motion_error << '\n';
  EXPECT_LE(state_error, 1e-12);
  EXPECT_LE(inertia_error, 1e-10);
  EXPECT_LE(motion_error, 1e-10);
}

std::shared_ptr<RigidBodySystem> make_system(const MujocoScene & scene)
{
  SceneDescription description;
  description.robots.push_back(load_robot_description(scene.urdf));
  description.robots.back().base = scene.base;
  for (const std::string & joint : scene.locked)
  {
    description.robots.back().locked[joint] = 0.0;
  }
  description.attachments = scene.attachments;
  description.armature = scene.armature;
  description.use_model_damping = scene.model_damping;
  return std::make_shared<RigidBodySystem>(description);
}

/// As in config/scenarios/panda_wall.yaml.
MujocoScene panda_with_cutter()
{
  MujocoScene scene;
  scene.urdf = kPanda;
  scene.locked = {"panda_finger_joint1", "panda_finger_joint2"};
  Attachment cutter;
  cutter.name = "cutter";
  cutter.parent = "panda_hand";
  cutter.pose.xyz << 0.0, 0.0, 0.1034;
  cutter.pose.rpy << 0.0, 0.0, -M_PI / 2.0;
  cutter.mass = 0.3;
  cutter.com << 0.0, 0.0, 0.04;
  cutter.inertia.diagonal() << 4.0e-4, 4.0e-4, 2.0e-5;
  scene.attachments.push_back(cutter);
  for (int i = 1; i <= 7; ++i)
  {
    scene.armature["panda_joint" + std::to_string(i)] = 0.1;
  }
  return scene;
}

MujocoScene mobile_arm()
{
  MujocoScene scene;
  scene.urdf = kMobileArm;
  scene.base = Base::kFloating;
  return scene;
}

MujocoScene talos()
{
  MujocoScene scene;
  scene.urdf = kTalos;
  scene.base = Base::kFloating;
  return scene;
}

TEST(MujocoPeer, when_the_arm_carries_a_tool_expect_the_same_inertia_and_accelerations)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  expect_same_robot(panda_with_cutter(), make_system(panda_with_cutter()));
}

TEST(MujocoPeer, when_a_base_has_wheels_and_an_arm_expect_the_same_inertia_and_accelerations)
{
  expect_same_robot(mobile_arm(), make_system(mobile_arm()));
}

TEST(MujocoPeer, when_a_humanoid_floats_expect_the_same_inertia_and_accelerations)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  expect_same_robot(talos(), make_system(talos()));
}

// ---- closed loops
// --------------------------------------------------------------------------------

constexpr double kPeriod = 1e-3;  // of the controllers [s]
/// MuJoCo's soft contacts have taken up the forces by then [s].
constexpr double kSettled = 0.1;

/// Torques for a measured state.
using Controller = std::function<Status(const State & state, Eigen::VectorXd & inputs)>;

/// Root mean square and largest value of what is added.
struct Spread
{
  void add(double value)
  {
    largest = std::max(largest, std::abs(value));
    square += value * value;
    ++count;
  }
  double mean() const { return count > 0 ? std::sqrt(square / count) : 0.0; }

  double largest = 0.0;
  double square = 0.0;
  int count = 0;
};

std::ostream & operator<<(std::ostream & out, const Spread & spread)
{
  return out << "rms " << spread.mean() << ", largest " << spread.largest;
}

/// Each period: MuJoCo's state, torques of the controller for it, MuJoCo with these torques; then
/// `observe`, when MuJoCo's forces and those of the controller belong to the same state and
/// torques.
void close_loop(
  MujocoPlant & plant, const Controller & controller, double until, double period,
  const std::function<void(const State & state)> & observe)
{
  State state = plant.state();
  Eigen::VectorXd inputs;
  const long cycles = std::lround((until - state.time) / period);
  for (long i = 0; i < cycles; ++i)
  {
    state = plant.state();
    const Status status = controller(state, inputs);
    ASSERT_TRUE(has_output(status)) << to_string(status) << " at t = " << state.time;
    ASSERT_TRUE(inputs.allFinite());
    plant.advance(inputs, period);
    observe(state);
  }
}

/// The servo law of a scenario as a controller.
class ServoController
{
public:
  explicit ServoController(const Scenario & scenario)
  : system_(scenario.system()),
    data_(system_.make_data()),
    law_(std::dynamic_pointer_cast<ServoInputLaw>(scenario.make_input_law()))
  {
  }

  Status operator()(const State & state, Eigen::VectorXd & inputs)
  {
    inputs.resize(system_.input_count());
    const Status status = system_.update_kinematics(state.time, state.q, state.u, *data_);
    if (status != Status::kOk)
    {
      return status;
    }
    law_->begin_step(state.time);
    const Status result = law_->evaluate(system_, *data_, inputs);
    return has_output(result) ? law_->last_status() : result;
  }

  const ServoInputLaw & law() const { return *law_; }
  const ServoResult & result() const { return law_->servo().result(); }
  /// λ of a row "constraint/label".
  double multiplier(const std::string & constraint, int row) const
  {
    const ConstraintSet & set = law_->law().passive().constraints();
    return law_->servo().dynamics().solution().multipliers(
      set.row_offset(set.index(constraint)) + row);
  }

private:
  const System & system_;
  std::unique_ptr<SystemData> data_;
  std::shared_ptr<ServoInputLaw> law_;
};

TEST(MujocoLoop, when_the_arm_holds_a_posture_by_gravity_and_springs_expect_it_to_settle)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  const MujocoScene scene = panda_with_cutter();
  const std::shared_ptr<RigidBodySystem> system = make_system(scene);
  const std::unique_ptr<SystemData> data = system->make_data();
  MujocoPlant plant(scene, system);
  Eigen::VectorXd desired(7);
  desired << 0.3, -0.4, 0.2, -2.0, 0.1, 1.8, 0.5;
  State start;
  start.q = desired.array() + 0.1;
  start.u.setZero(7);
  plant.set_state(start);
  Eigen::VectorXd gravity(7);
  const auto controller = [&](const State & state, Eigen::VectorXd & inputs)
  {
    const Status status = system->update_kinematics(state.time, state.q, state.u, *data);
    system->gravity_torque(*data, gravity);
    inputs = gravity + 100.0 * (desired - state.q) - 20.0 * state.u;
    return status;
  };
  close_loop(plant, controller, 4.0, kPeriod, [](const State &) {});
  // Gravity of both agrees to rounding, so there is nothing left to deviate.
  const State end = plant.state();
  EXPECT_LE((end.q - desired).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LE(end.u.cwiseAbs().maxCoeff(), 1e-6);
}

TEST(MujocoLoop, when_the_cutter_follows_a_curve_on_the_wall_expect_path_and_desired_force)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  // With the hand straight on, where torques that are held keep the rigid contact closed. That
  // joint 6 leaves its range there is no matter for the plant.
  const Scenario scenario = Scenario::load(
    CD_CONFIG "/scenarios/panda_wall.yaml",
    {"initial.q.panda_joint6=3.474005", "initial.solve=[panda_joint2, panda_joint4, panda_joint6]",
     "servo_law.null_space=[{kind: damping, damping: 4}]",
     "servo_law.limits={effort: model, position: none, velocity: none}"});
  constexpr double kWall = 0.64;
  constexpr double kTip = 0.005;
  MujocoScene scene = panda_with_cutter();
  MujocoShape tip;
  tip.name = "tip";
  tip.body = "cutter";
  tip.pose.xyz << 0.0, 0.0, 0.1;
  tip.size.setConstant(kTip);
  MujocoShape wall;
  wall.name = "wall";
  wall.kind = MujocoShape::Kind::kPlane;
  wall.pose.xyz << kWall + kTip, 0.0, 0.0;
  wall.pose.rpy << 0.0, -M_PI / 2.0, 0.0;  // out of it: −x
  wall.size << 1.0, 1.0, 0.01;
  scene.shapes = {tip, wall};
  MujocoPlant plant(
    scene, std::shared_ptr<const System>(std::shared_ptr<void>(), &scenario.system()));
  plant.set_state(scenario.initial());
  ServoController servo(scenario);
  Spread path;
  Spread orientation;
  Spread desired;
  Spread force;
  double penetration = 0.0;
  close_loop(
    plant, std::ref(servo), 8.0, kPeriod,
    [&](const State & state)
    {
      if (state.time < kSettled)
      {
        return;
      }
      const double theirs = -plant.contact_force("tip").x();
      path.add(servo.result().error.head<2>().norm());
      orientation.add(servo.result().error.segment<3>(2).norm());
      desired.add(theirs - (20.0 + 5.0 * std::sin(2.0 * state.time)));
      force.add(theirs - servo.multiplier("wall", 0));
      penetration = std::max(penetration, plant.penetration());
    });
  std::cout << "path [m]: " << path << "\norientation [rad]: " << orientation
            << "\ndesired force against MuJoCo's [N]: " << desired
            << "\nour force against MuJoCo's [N]: " << force << "\npenetration [m]: " << penetration
            << '\n';
  // What is left is due to torques that are held for a millisecond (see the wheels below) and to
  // MuJoCo's step: half of it, half the difference of the forces.
  EXPECT_LE(path.largest, 1e-4);
  EXPECT_LE(orientation.largest, 3e-4);
  EXPECT_LE(desired.largest, 0.01);
  EXPECT_LE(force.largest, 0.01);
  EXPECT_LE(penetration, 5e-6);
}

struct Drive
{
  Spread position;
  Spread orientation;
  Spread traction;    // ours
  Spread difference;  // MuJoCo's less ours
};

void drive_mobile_arm(double period, Drive & drive)
{
  const Scenario scenario = Scenario::load(CD_CONFIG "/scenarios/mobile_arm.yaml");
  // The base is free in MuJoCo: it rests on balls of the wheels' radius, which touch where the
  // wheels would, and on casters without friction.
  MujocoScene scene = mobile_arm();
  MujocoShape ground;
  ground.name = "ground";
  ground.kind = MujocoShape::Kind::kPlane;
  ground.size << 5.0, 5.0, 0.01;
  scene.shapes.push_back(ground);
  for (const char * side : {"left", "right"})
  {
    MujocoShape wheel;
    wheel.name = side;
    wheel.body = std::string(side) + "_wheel";
    wheel.size.setConstant(0.1);
    wheel.friction = 1.0;
    scene.shapes.push_back(wheel);
  }
  for (const double x : {-0.25, 0.25})
  {
    MujocoShape caster;
    caster.name = x < 0.0 ? "back" : "front";
    caster.body = "base_link";
    caster.pose.xyz << x, 0.0, 0.05;
    caster.size.setConstant(0.05);
    scene.shapes.push_back(caster);
  }
  MujocoPlant plant(
    scene, std::shared_ptr<const System>(std::shared_ptr<void>(), &scenario.system()));
  plant.set_state(scenario.initial());
  ServoController servo(scenario);
  close_loop(
    plant, std::ref(servo), 8.0, period,
    [&](const State & state)
    {
      if (state.time < kSettled)
      {
        return;
      }
      drive.position.add(servo.result().error.head<3>().norm());
      drive.orientation.add(servo.result().error.segment<3>(3).norm());
      const double angle = state.q(2);
      const Eigen::Vector3d heading(std::cos(angle), std::sin(angle), 0.0);
      for (const char * side : {"left", "right"})
      {
        drive.difference.add(plant.contact_force(side).dot(heading) - servo.multiplier(side, 0));
        drive.traction.add(servo.multiplier(side, 0));
      }
    });
  std::cout << "period " << period << " s\nhand [m]: " << drive.position
            << "\nhand [rad]: " << drive.orientation << "\ntraction, ours [N]: " << drive.traction
            << "\nMuJoCo's less ours [N]: " << drive.difference << '\n';
}

TEST(MujocoLoop, when_a_base_on_wheels_carries_the_arm_expect_the_hand_on_its_curve)
{
  Drive drive;
  drive_mobile_arm(kPeriod, drive);
  EXPECT_LE(drive.position.largest, 5e-5);
  EXPECT_LE(drive.orientation.largest, 3e-3);
  EXPECT_LE(drive.difference.largest, 2e-3);
  // Torques that are held are the reason for what is left (damping stops the light hand within 2
  // ms): half of the period, half of the error.
  Drive twice_as_fast;
  drive_mobile_arm(kPeriod / 2.0, twice_as_fast);
  EXPECT_NEAR(twice_as_fast.orientation.mean() / drive.orientation.mean(), 0.5, 0.1);
}

TEST(MujocoLoop, when_the_humanoid_balances_on_its_feet_expect_its_centre_of_mass_on_the_curve)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  const Scenario scenario = Scenario::load(CD_CONFIG "/scenarios/talos_balance.yaml");
  MujocoScene scene = talos();
  scene.step = 2e-4;
  MujocoShape ground;
  ground.name = "ground";
  ground.kind = MujocoShape::Kind::kPlane;
  ground.size << 5.0, 5.0, 0.01;
  scene.shapes.push_back(ground);
  for (const char * side : {"left", "right"})
  {
    MujocoShape foot;
    foot.name = side;
    foot.body = std::string(side) + "_sole_link";
    foot.kind = MujocoShape::Kind::kBox;
    foot.pose.xyz << 0.0, 0.0, 0.01;
    foot.size << 0.1, 0.06, 0.01;
    foot.friction = 0.8;
    scene.shapes.push_back(foot);
  }
  MujocoPlant plant(
    scene, std::shared_ptr<const System>(std::shared_ptr<void>(), &scenario.system()));
  plant.set_state(scenario.initial());
  ServoController servo(scenario);
  Spread balance;
  Spread push;
  Spread size;
  double penetration = 0.0;
  close_loop(
    plant, std::ref(servo), 4.0, kPeriod,
    [&](const State & state)
    {
      if (state.time < kSettled)
      {
        return;
      }
      balance.add(servo.result().error.head<3>().norm());
      for (const char * side : {"left", "right"})
      {
        double ours = 0.0;
        for (int corner = 1; corner <= 4; ++corner)
        {
          ours += servo.multiplier(std::string(1, side[0]) + std::to_string(corner), 2);
        }
        push.add(plant.contact_force(side).z() - ours);
        size.add(ours);
      }
      penetration = std::max(penetration, plant.penetration());
    });
  const ServoInputLaw::Counts & counts = servo.law().counts();
  std::cout << "centre of mass [m]: " << balance << "\npush of a foot, ours [N]: " << size
            << "\nagainst MuJoCo's [N]: " << push << "\npenetration [m]: " << penetration << "\n"
            << counts.evaluations << " cycles, limited " << counts.limited << ", inconsistent "
            << counts.inconsistent << ", singular " << counts.singular << '\n';
  EXPECT_LE(balance.largest, 5e-5);
  EXPECT_LE(push.largest, 5e-3);
  EXPECT_LE(penetration, 5e-6);
}

}  // namespace
}  // namespace constrained_dynamics
