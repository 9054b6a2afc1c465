// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Springs, dampers, cables and torsion springs between frames.

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/model/spring.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::Vector3d;
using Eigen::VectorXd;
using testing::HasSubstr;

constexpr double kPi = 3.141592653589793;
constexpr double kMass = 2.0;
constexpr double kG = 9.81;

using Element = std::shared_ptr<const ForceElement>;

SpringLaw linear(double stiffness, double damping, double rest)
{
  SpringLaw law;
  law.stiffness = stiffness;
  law.damping = damping;
  law.rest = rest;
  return law;
}

SpringLaw formula(const std::string & text)
{
  SpringLaw law;
  law.formula = text;
  return law;
}

/// Two free bodies "left" and "right" with offset frames "a" and "b".
std::shared_ptr<const RigidBodySystem> two_bodies(const std::vector<Element> & elements)
{
  SceneDescription scene;
  for (const char * name : {"left", "right"})
  {
    FreeBody body;
    body.name = name;
    body.mass = kMass;
    body.com = {0.1, -0.05, 0.02};
    body.inertia = Vector3d(0.1, 0.12, 0.15).asDiagonal();
    scene.bodies.push_back(body);
  }
  scene.frames = {
    {"a", "left", Pose{{0.3, 0.1, -0.2}, {0.2, 0.4, -0.3}}},
    {"b", "right", Pose{{-0.1, 0.2, 0.3}, {-0.5, 0.1, 0.6}}}};
  scene.force_elements = elements;
  return std::make_shared<const RigidBodySystem>(scene);
}

/// A state of both bodies, one unit quaternion each.
struct Both
{
  VectorXd q = VectorXd::Zero(14);
  VectorXd u = VectorXd::Zero(12);
};

Both some_state()
{
  Both state;
  state.q << 0.3, -0.2, 0.5, 0.1, 0.3, -0.2, 0.9, -0.6, 0.4, 0.1, 0.4, -0.1, 0.2, 0.8;
  state.q.segment<4>(3).normalize();
  state.q.segment<4>(10).normalize();
  state.u << 0.5, -0.3, 0.2, 0.7, -0.4, 0.6, -0.2, 0.9, 0.1, -0.5, 0.3, 0.8;
  return state;
}

/// P of the system at a state, minus P of the system without elements.
VectorXd element_force(const std::vector<Element> & elements, const Both & state)
{
  VectorXd force[2];
  for (const int with : {0, 1})
  {
    const auto system = two_bodies(with == 1 ? elements : std::vector<Element>());
    const auto data = system->make_data();
    EXPECT_EQ(system->update_kinematics(0.0, state.q, state.u, *data), Status::kOk);
    EXPECT_EQ(system->update_dynamics(*data), Status::kOk);
    force[with] = data->terms.force;
  }
  return force[1] - force[0];
}

double stored_energy(const RigidBodySystem & system, const VectorXd & q, const VectorXd & u)
{
  const auto data = system.make_data();
  EXPECT_EQ(system.update_kinematics(0.0, q, u, *data), Status::kOk);
  return system.force_element_state(*data, 0).energy;
}

/// A pendulum on a hinge about y at the origin, with a spring and a damper of the joint or between
/// its frames.
std::shared_ptr<const RigidBodySystem> pendulum(
  const std::vector<JointSpring> & springs, double damper, const std::vector<Element> & elements)
{
  SceneDescription scene;
  RobotDescription robot;
  robot.text =
    "<robot name='pendulum'><link name='world'/><link name='rod'><inertial>"
    "<origin xyz='0.1 0.05 -0.4'/><mass value='2'/>"
    "<inertia ixx='0.03' iyy='0.04' izz='0.05' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    "<joint name='j' type='continuous'><parent link='world'/><child link='rod'/>"
    "<axis xyz='0 1 0'/></joint></robot>";
  scene.robots.push_back(robot);
  scene.springs = springs;
  scene.dampers = {{"j", damper}};
  scene.force_elements = elements;
  return std::make_shared<const RigidBodySystem>(scene);
}

double pendulum_force(const RigidBodySystem & system, double angle, double rate)
{
  const auto data = system.make_data();
  EXPECT_EQ(
    system.update_kinematics(0.0, VectorXd::Constant(1, angle), VectorXd::Constant(1, rate), *data),
    Status::kOk);
  EXPECT_EQ(system.update_dynamics(*data), Status::kOk);
  return data->terms.force(0);
}

}  // namespace

TEST(ForceElement, when_torsion_spring_acts_about_a_hinge_expect_the_spring_of_the_joint)
{
  const double k = 3.0;
  const double c = 0.7;
  const double rest = 0.4;
  const auto joint = pendulum({{"j", k, rest}}, c, {});
  const auto between = pendulum(
    {}, 0.0,
    {std::make_shared<TorsionSpring>("t", "rod", "world", linear(k, c, rest), Vector3d(0, 2, 0))});
  for (const double angle : {0.0, 0.4, -2.0, 2.9})
  {
    EXPECT_NEAR(pendulum_force(*between, angle, 1.3), pendulum_force(*joint, angle, 1.3), 1e-13);
  }
  // Turns are not counted: beyond half a turn from rest the torque pulls the other way.
  EXPECT_NEAR(
    pendulum_force(*between, kPi + 0.5, 0.0), pendulum_force(*joint, -kPi + 0.5, 0.0), 1e-13);
  const auto all = pendulum(
    {}, 0.0,
    {std::make_shared<TorsionSpring>("t", "rod", "world", linear(k, c, 0.0), std::nullopt)});
  const auto plain = pendulum({{"j", k, 0.0}}, c, {});
  for (const double angle : {0.0, 1e-9, 1e-3, 1.0, -2.5, 3.14})
  {
    EXPECT_NEAR(pendulum_force(*all, angle, 1.3), pendulum_force(*plain, angle, 1.3), 1e-13);
  }
}

TEST(ForceElement, when_elements_store_energy_expect_forces_that_are_its_gradient)
{
  const Both state = some_state();
  const VectorXd rest = VectorXd::Zero(12);
  const std::vector<Element> elements = {
    std::make_shared<Spring>("s", "a", "b", linear(40.0, 0.0, 0.3)),
    std::make_shared<Spring>("s", "a", "b", linear(40.0, 0.0, 0.3), true),
    std::make_shared<Spring>("s", "a", "world", linear(40.0, 0.0, 0.0)),
    std::make_shared<TorsionSpring>("s", "a", "b", linear(7.0, 0.0, 0.2), Vector3d(1.0, 2.0, -1.0)),
    std::make_shared<TorsionSpring>("s", "a", "b", linear(7.0, 0.0, 0.0), std::nullopt)};
  for (const Element & element : elements)
  {
    const auto system = two_bodies({element});
    const auto data = system->make_data();
    ASSERT_EQ(system->update_kinematics(0.0, state.q, rest, *data), Status::kOk);
    const Eigen::MatrixXd C = data->terms.kinematic_matrix;
    const VectorXd force = element_force({element}, {state.q, rest});
    EXPECT_GT(force.norm(), 0.1);
    for (Eigen::Index k = 0; k < 12; ++k)
    {
      const double h = 1e-5;  // truncation h², rounding 1e-16 · 10 J/h
      const double slope = (stored_energy(*system, state.q + h * C.col(k), rest) -
                            stored_energy(*system, state.q - h * C.col(k), rest)) /
                           (2.0 * h);
      EXPECT_NEAR(force(k), -slope, 1e-7) << element->type() << " " << k;
    }
  }
}

TEST(ForceElement, when_elements_act_expect_powers_that_add_up)
{
  const Both state = some_state();
  const std::vector<Element> elements = {
    std::make_shared<Spring>("s", "a", "b", linear(40.0, 3.0, 0.3)),
    std::make_shared<Spring>("s", "a", "b", linear(40.0, 300.0, 0.3), true),
    std::make_shared<Spring>("s", "a", "b", formula("5*length^2 - 2*rate^3 + cos(t)")),
    std::make_shared<TorsionSpring>("s", "a", "b", linear(7.0, 2.0, 0.2), Vector3d(1.0, 2.0, -1.0)),
    std::make_shared<TorsionSpring>("s", "a", "b", formula("angle^3 + rate"), Vector3d(1, 2, -1)),
    std::make_shared<TorsionSpring>("s", "a", "b", linear(7.0, 2.0, 0.0), std::nullopt)};
  for (const Element & element : elements)
  {
    const auto system = two_bodies({element});
    const auto data = system->make_data();
    ASSERT_EQ(system->update_kinematics(0.0, state.q, state.u, *data), Status::kOk);
    const ForceElementState & at = system->force_element_state(*data, 0);
    const double power = element_force({element}, state).dot(state.u);
    EXPECT_NEAR(power, -at.stored_power + at.damper_power + at.supplied_power, 1e-12)
      << element->type();
    EXPECT_LE(at.damper_power, 0.0);
  }
}

TEST(ForceElement, when_a_body_hangs_on_a_cable_expect_its_weight_and_no_push)
{
  SceneDescription scene;
  FreeBody body;
  body.name = "load";
  body.mass = kMass;
  body.inertia = Vector3d::Constant(0.1).asDiagonal();
  scene.bodies.push_back(body);
  const double k = 500.0;
  const double rest = 0.8;
  scene.force_elements = {
    std::make_shared<Spring>("rope", "load", "world", linear(k, 20.0, rest), true)};
  const auto system = std::make_shared<const RigidBodySystem>(scene);
  const Dynamics dynamics(ConstraintSet(system, {}));
  Workspace workspace = Workspace::unanalysed(dynamics);
  VectorXd q = VectorXd::Zero(7);
  q(6) = 1.0;
  VectorXd u = VectorXd::Zero(6);
  const VectorXd none = VectorXd::Zero(0);
  const auto acceleration = [&](double z, double rate)
  {
    q(2) = z;
    u(2) = rate;
    EXPECT_EQ(dynamics.solve(0.0, q, u, none, workspace), Status::kOk);
    return workspace.solution().acceleration(2);
  };
  EXPECT_NEAR(acceleration(-rest - kMass * kG / k, 0.0), 0.0, 1e-12);
  EXPECT_NEAR(system->force_element_state(workspace.system_data(), 0).effort, kMass * kG, 1e-12);
  EXPECT_NEAR(acceleration(-0.5 * rest, -3.0), -kG, 1e-12);  // slack, whatever the rate
  EXPECT_NEAR(acceleration(-rest - 0.01, 5.0), -kG, 1e-12);  // shortening faster than it pulls
  EXPECT_NEAR(acceleration(-rest - 0.01, -1.0), (5.0 + 20.0) / kMass - kG, 1e-12);
  EXPECT_NEAR(acceleration(0.0, -1.0), -kG, 1e-14);  // the points coincide, and it is slack
}

TEST(ForceElement, when_points_coincide_expect_the_limit_or_a_status)
{
  SceneDescription scene;
  FreeBody body;
  body.name = "ball";
  body.mass = 1.0;
  body.inertia = Vector3d::Constant(0.1).asDiagonal();
  scene.bodies.push_back(body);
  scene.gravity.setZero();
  const VectorXd at = (VectorXd(7) << 0, 0, 0, 0, 0, 0, 1).finished();
  const VectorXd u = (VectorXd(6) << 0.3, -0.4, 0, 0, 0, 0).finished();
  const auto solve = [&](const Element & element, VectorXd & acceleration)
  {
    scene.force_elements = {element};
    const auto system = std::make_shared<const RigidBodySystem>(scene);
    const Dynamics dynamics(ConstraintSet(system, {}));
    Workspace workspace = Workspace::unanalysed(dynamics);
    const Status status = dynamics.solve(0.0, at, u, VectorXd::Zero(0), workspace);
    acceleration = workspace.solution().acceleration;
    return status;
  };
  VectorXd acceleration;
  EXPECT_EQ(
    solve(std::make_shared<Spring>("s", "ball", "world", linear(9.0, 2.0, 0.0)), acceleration),
    Status::kOk);
  EXPECT_LE((acceleration.head<3>() + 2.0 * u.head<3>()).norm(), 1e-14);
  EXPECT_EQ(
    solve(std::make_shared<Spring>("s", "ball", "world", linear(9.0, 0.0, 0.5)), acceleration),
    Status::kNonFiniteResult);
  EXPECT_EQ(
    solve(std::make_shared<Spring>("s", "ball", "world", formula("1 + length")), acceleration),
    Status::kNonFiniteResult);
  EXPECT_EQ(
    solve(
      std::make_shared<Spring>("s", "ball", "world", formula("sqrt(length - 1)")), acceleration),
    Status::kNonFiniteResult);
}

TEST(ForceElement, when_swing_is_half_a_turn_expect_a_status)
{
  const auto system = pendulum(
    {}, 0.0,
    {std::make_shared<TorsionSpring>(
      "t", "rod", "world", linear(1.0, 0.0, 0.0), Vector3d(1, 0, 0))});
  const auto data = system->make_data();
  EXPECT_EQ(
    system->update_kinematics(0.0, VectorXd::Constant(1, kPi), VectorXd::Zero(1), *data),
    Status::kNonFiniteResult);
  EXPECT_EQ(
    system->update_kinematics(0.0, VectorXd::Constant(1, kPi - 0.1), VectorXd::Zero(1), *data),
    Status::kOk);
}

TEST(ForceElement, when_solved_expect_no_allocation)
{
  const auto system = two_bodies(
    {std::make_shared<Spring>("s", "a", "b", formula("5*length^2 + rate"), true),
     std::make_shared<TorsionSpring>("t", "a", "b", linear(7.0, 2.0, 0.0), Vector3d(1, 2, 3))});
  const Dynamics dynamics(ConstraintSet(system, {}));
  const Both state = some_state();
  Workspace workspace(dynamics, {0.0, state.q, state.u});
  const VectorXd none = VectorXd::Zero(0);
  Status status = Status::kOk;
  const long before = allocation_count() + lock_count();
  status = dynamics.solve(0.1, state.q, state.u, none, workspace);
  EXPECT_EQ(allocation_count() + lock_count() - before, 0);
  EXPECT_EQ(status, Status::kOk);
}

TEST(ForceElement, when_values_are_wrong_expect_messages)
{
  const auto message = [](const std::function<void()> & make)
  {
    try
    {
      make();
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(
    message([] { Spring("s", "a", "b", linear(-1.0, 0.0, 0.0)); }),
    HasSubstr("force element 's': stiffness is -1"));
  EXPECT_THAT(
    message([] { Spring("s", "a", "b", linear(1.0, 0.0, -0.1)); }), HasSubstr("rest is -0.1"));
  EXPECT_THAT(
    message([] { Spring("s", "a", "b", formula("speed*2")); }), HasSubstr("over length, rate, t"));
  SpringLaw both = formula("length");
  both.stiffness = 1.0;
  EXPECT_THAT(message([&] { Spring("s", "a", "b", both); }), HasSubstr("replaces stiffness"));
  EXPECT_THAT(
    message([] { TorsionSpring("s", "a", "b", linear(1.0, 0.0, 0.3), std::nullopt); }),
    HasSubstr("without axis"));
  EXPECT_THAT(
    message([] { two_bodies({std::make_shared<Spring>("s", "a", "left", SpringLaw())}); }),
    HasSubstr("belong to one body, 'left'"));
  EXPECT_THAT(
    message([] { two_bodies({std::make_shared<Spring>("s", "a", "nobody", SpringLaw())}); }),
    HasSubstr("nobody"));
  const auto twice = std::make_shared<Spring>("s", "a", "b", SpringLaw());
  EXPECT_THAT(message([&] { two_bodies({twice, twice}); }), HasSubstr("force element"));
}

TEST(ForceElement, when_a_scenario_runs_expect_its_energy_book_to_balance)
{
  const Scenario scenario = Scenario::from_text(
    "parameters: {length: 0.4, k: 30}\n"
    "system:\n"
    "  bodies:\n"
    "    - {name: left, mass: 2, inertia: [0.1, 0.12, 0.15], com: [0.1, 0, 0]}\n"
    "    - {name: right, mass: 1, inertia: [0.1, 0.12, 0.15]}\n"
    "  frames: [{name: eye, parent: left, pose: {xyz: [0.2, 0.1, 0]}}]\n"
    "  force_elements:\n"
    "    - {name: strut, type: spring, frame_a: eye, frame_b: right, stiffness: k, damping: 1, "
    "rest: 0.3}\n"
    "    - {name: rope, type: spring, frame_a: left, stiffness: 80, rest: length, cable: true}\n"
    "    - {name: drive, type: spring, frame_a: right, force: '3*sin(5*t) + 20*length'}\n"
    "    - {name: bush, type: torsion_spring, frame_a: eye, frame_b: right, stiffness: 4, damping: "
    "0.3}\n"
    "initial: {q: {left_x: 0.9, right_z: -0.8}, u: {left_wx: 1}}\n"
    "run: {until: 2, integrator: dopri5}\n");
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(2.0, 0.5, [](const Simulation &) { return true; });
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_LE(result.energy.largest_error, 1e-7);  // dopri5 at 1e-10, energies of some 10 J
  EXPECT_LT(result.energy.of(Work::kDampers), -0.05);
  EXPECT_GT(std::abs(result.energy.of(Work::kForces)), 0.05);
}

TEST(ForceElement, when_a_scenario_is_wrong_expect_the_place)
{
  const auto message = [](const std::string & element)
  {
    try
    {
      Scenario::from_text(
        "system:\n  bodies: [{name: ball, mass: 1, inertia: [1, 1, 1]}]\n  force_elements: [" +
        element + "]\n");
    }
    catch (const std::exception & error)
    {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(
    message("{name: s, type: sprung, frame_a: ball}"),
    HasSubstr("allowed: spring, torsion_spring"));
  EXPECT_THAT(
    message("{name: s, type: spring, frame_a: ball, stiffnes: 3}"), HasSubstr("stiffness"));
  EXPECT_THAT(
    message("{name: s, type: spring, frame_a: ball, stiffness: -3}"),
    HasSubstr("system.force_elements.s.stiffness"));
  EXPECT_THAT(message("{name: s, type: spring, frame_a: bell}"), HasSubstr("bell"));
}

}  // namespace constrained_dynamics::test
