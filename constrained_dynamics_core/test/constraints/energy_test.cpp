// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/energy.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "constrained_dynamics/model/analytic_system.hpp"
#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

/// An arm with everything that stores or loses energy.
std::shared_ptr<const System> sprung_arm()
{
  SceneDescription scene;
  RobotDescription arm;
  arm.text =
    "<robot name='arm'><link name='base'/><link name='upper'><inertial><origin xyz='0.1 0.05 "
    "-0.3'/>"
    "<mass value='2'/><inertia ixx='0.03' iyy='0.04' izz='0.05' ixy='0.001' ixz='0' iyz='0'/>"
    "</inertial></link><link name='slider'><inertial><origin xyz='0 0.1 0.2'/><mass value='1'/>"
    "<inertia ixx='0.01' iyy='0.02' izz='0.02' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    "<joint name='swing' type='continuous'><parent link='base'/><child link='upper'/>"
    "<axis xyz='0 1 0'/><dynamics damping='0.7'/></joint>"
    "<joint name='slide' type='prismatic'><parent link='upper'/><child link='slider'/>"
    "<origin xyz='0.2 0 -0.4' rpy='0.3 0.2 0.1'/><axis xyz='0 0.6 0.8'/>"
    "<limit lower='-9' upper='9' effort='1' velocity='1'/></joint></robot>";
  scene.robots.push_back(arm);
  scene.springs = {{"slide", 30.0, 0.1}};
  scene.dampers = {{"slide", 2.0}};
  scene.armature = {{"swing", 0.2}};
  scene.gravity = {0.5, -1.0, -9.0};
  return std::make_shared<const RigidBodySystem>(scene);
}

std::shared_ptr<const AnalyticSystem> rheonomic_pendulum()
{
  AnalyticDescription description;
  description.coordinates = {"theta", "r"};
  description.parameters = {{"m", 1.5}, {"k", 20.0}, {"g", 9.81}};
  description.definitions = {{"wind", "0.3*sin(2*t)"}};
  description.kinetic = "m/2*((r*dtheta + wind)^2 + dr^2)";
  description.potential = "-m*g*r*cos(theta) + k/2*(r - 1)^2";
  description.speeds = {{"v", "r*dtheta"}, {"w", "dr + wind"}};
  description.force = {{"theta", "-0.4*dtheta"}};
  description.regular_coordinates = Eigen::Vector2d(0.3, 1.0);
  return make_analytic_system(description);
}

std::vector<ConformanceCase> cases(EnergyKind kind)
{
  const auto make = [kind](const System & system)
  { return std::make_shared<Energy>("c", system, kind, 0.7); };
  std::vector<ConformanceCase> result;
  for (const NamedSystem & robot : robots())
  {
    result.push_back(on(robot.name, robot.system, make));
  }
  result.push_back(on("sprung_arm", sprung_arm(), make));
  result.push_back(on(
    "skate", analytic_skate(),
    [kind](const System & system) { return make_energy_constraint("c", system, kind, 0.7); }));
  return result;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  TotalEnergy, ConstraintConformance, testing::ValuesIn(cases(EnergyKind::kTotal)), case_name);
INSTANTIATE_TEST_SUITE_P(
  KineticEnergy, ConstraintConformance, testing::ValuesIn(cases(EnergyKind::kKinetic)), case_name);

/// ψ is what the system says; A is uᵀ Q; with its own accelerations dE/dt = uᵀ (G τ − dampers).
TEST(Energy, when_robot_moves_by_itself_expect_power_of_inputs_and_dampers)
{
  const auto shared = sprung_arm();
  const auto & system = dynamic_cast<const RigidBodySystem &>(*shared);
  for (unsigned seed = 1; seed <= 10; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const std::unique_ptr<SystemData> data = system.make_data();
    ASSERT_EQ(system.update_kinematics(s.time, s.q, s.u, *data), Status::kOk);
    ASSERT_EQ(system.update_dynamics(*data), Status::kOk);
    const SystemTerms & terms = data->terms;
    const double total = system.kinetic_energy(*data) + system.potential_energy(*data);
    Evaluation evaluation(make_energy_constraint("c", system, EnergyKind::kTotal, 0.7));
    const RowStorage & rows = evaluation.at(s.time, s.q, s.u);
    EXPECT_NEAR(rows.velocity(0), total - 0.7, 1e-12);
    const Eigen::VectorXd momentum = terms.mass_matrix * s.u;
    EXPECT_TRUE(rows.jacobian.row(0).transpose().isApprox(momentum, 1e-13));
    const Eigen::Vector2d torque(0.8, -1.7);
    const Eigen::VectorXd acceleration =
      terms.mass_matrix.ldlt().solve(terms.force + terms.input_matrix * torque);
    const double power = s.u.dot(torque) - s.u.dot(system.damping().cwiseProduct(s.u));
    EXPECT_NEAR(rows.jacobian.row(0).dot(acceleration) - rows.bias(0), power, 1e-12);
  }
}

/// A textbook system whose energies contain the time, with speeds of its own.
TEST(Energy, when_system_is_a_textbook_one_expect_its_energies)
{
  const auto system = rheonomic_pendulum();
  const std::unique_ptr<SystemData> data = system->make_data();
  const Eigen::Vector2d q(0.4, 1.2);
  const Eigen::Vector2d u(-0.7, 0.3);
  ASSERT_EQ(system->update_kinematics(0.6, q, u, *data), Status::kOk);
  ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
  const double kinetic = system->kinetic_energy(*data);
  Evaluation kinetic_row(make_energy_constraint("c", *system, EnergyKind::kKinetic, 1e-30));
  Evaluation total_row(make_energy_constraint("c", *system, EnergyKind::kTotal, -3.5));
  EXPECT_NEAR(kinetic_row.at(0.6, q, u).velocity(0), kinetic, 1e-14);
  EXPECT_NEAR(
    total_row.at(0.6, q, u).velocity(0), kinetic + system->potential_energy(*data) + 3.5, 1e-13);
  EXPECT_EQ(total_row.constraint().rows()[0].label, "energy");
}

TEST(Energy, when_built_from_nonsense_expect_messages)
{
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(
    message_of_invalid_argument(
      [&] { make_energy_constraint("e", *robot("arm_6"), EnergyKind::kTotal, nan); }),
    HasSubstr("'e': value"));
  EXPECT_THAT(
    message_of_invalid_argument(
      [&] { make_energy_constraint("e", *analytic_skate(), EnergyKind::kTotal, nan); }),
    HasSubstr("'e': value"));
  EXPECT_THAT(
    message_of_invalid_argument([] { Energy("e", *analytic_skate(), EnergyKind::kTotal); }),
    HasSubstr("RigidBodySystem"));
  EXPECT_THAT(
    message_of_invalid_argument(
      [] { make_energy_constraint("e", *analytic_rotation(), EnergyKind::kTotal); }),
    HasSubstr("C++ functions"));
}

}  // namespace constrained_dynamics::test
