// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of the constrained system against central differences of the whole solution.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "analysis/derivative_checks.hpp"
#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/constraints/function_constraint.hpp"
#include "constrained_dynamics/model/force_element.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/every_joint.hpp"
#include "support/robot_data.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

using test::Case;
using test::expect_differences;
using test::make_case;
using test::Random;
using test::shake;
using test::stacked;

bool in_campaign() { return std::getenv("CD_CAMPAIGN") != nullptr; }

struct Example
{
  const char * name;
  const char * override_1;
  const char * override_2;
  double width;       // of the random motion of the coordinates
  bool tangent_only;  // redundant rows: λ is defined along the manifold
  bool all_analytic;
};

void PrintTo(const Example & example, std::ostream * out) { *out << example.name; }

class Derivatives : public testing::TestWithParam<Example>
{
};

TEST_P(Derivatives, when_state_is_random_expect_central_differences)
{
  const Example & example = GetParam();
  if (test::lacks_robot(example.name))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  std::vector<std::string> overrides;
  for (const char * text : {example.override_1, example.override_2})
  {
    if (text[0] != '\0')
    {
      overrides.push_back(text);
    }
  }
  const Scenario scenario =
    Scenario::load(std::string(CD_CONFIG) + "/scenarios/" + example.name + ".yaml", overrides);
  Random random(7);
  const int wanted = in_campaign() ? 50 : 3;
  int found = 0;
  for (int trial = 0; trial < 4 * wanted && found < wanted; ++trial)
  {
    Case at = make_case(scenario.dynamics(), scenario.initial());
    scenario.switch_constraints(*at.workspace);
    at.workspace->reset(at.state);
    if (!shake(random, example.width, 0.5, at))
    {
      continue;
    }
    ++found;
    expect_differences(at, example.tangent_only, std::string(example.name));
    SolutionDerivatives d;
    ASSERT_EQ(
      differentiate(
        *at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, d),
      Status::kOk);
    EXPECT_EQ(d.system_is_analytic, example.all_analytic);
    for (const bool analytic : d.constraint_is_analytic)
    {
      EXPECT_EQ(analytic, example.all_analytic);
    }
  }
  EXPECT_GE(found, 1) << "no state could be assembled";
}

constexpr char kBaumgarte[] =
  "stabilisation={kind: baumgarte, velocity_gain: -7, position_gain: -13, nonholonomic_gain: -5}";

INSTANTIATE_TEST_SUITE_P(
  systems, Derivatives,
  testing::Values(
    Example{"thesis_2_1", "", "", 0.3, false, true},
    Example{"thesis_2_2", "", "", 0.3, false, true},
    Example{"thesis_3_1_linear", "", "", 0.3, false, true},
    Example{"thesis_3_1_nonlinear", "", "", 0.1, false, true},
    Example{"thesis_4_1", "", "", 0.2, false, true},
    Example{"thesis_4_3", "", "", 0.2, false, true},
    Example{"blajer_disk", "", "", 0.3, false, true},
    Example{"blajer_disk", kBaumgarte, "", 0.3, false, true},
    Example{"andrews", "", "", 0.02, false, true},
    Example{"constant_speed_particle", "", "", 0.1, false, true},
    Example{"chaplygin_sleigh", "", "", 0.3, false, true},
    Example{"chaplygin_sleigh_robot", "", "", 0.3, false, true},
    Example{"heavy_top", "", "", 0.3, false, true},
    Example{"heavy_top_minimal", "", "", 0.3, false, true},
    Example{"four_bar", "", "", 0.2, false, true},
    Example{"four_bar", kBaumgarte, "", 0.2, false, true},
    Example{"four_bar_driven", "", "", 0.1, false, true},
    Example{"slider_crank", "", "", 0.2, false, true},
    Example{"slider_crank_minimal", "", "", 0.2, false, true},
    Example{"panda_cutter", "", "", 0.05, false, true},
    Example{"panda_cutter", kBaumgarte, "", 0.05, false, true},
    Example{"rolling_coin", "", "", 0.2, false, true},
    Example{"sphere_on_incline", "", "", 0.3, false, true},
    Example{"steady_turn", "", "", 0.2, false, true},
    Example{"n_four_bar", "N=3", "", 0.1, false, true},
    Example{"four_bar_hinge", "", "", 0.2, true, true},
    Example{"bricard", "", "", 0.1, true, true}),
  [](const testing::TestParamInfo<Example> & test)
  { return std::string(test.param.name) + "_" + std::to_string(test.index); });

/// Whether all torsion springs are well away from half a turn: of the rotation, where the torque
/// changes its sign, and of the swing, where |torque|/effort = 1/cos(half the swing) has no bound.
bool torsion_is_smooth(const System & system, const Workspace & workspace)
{
  const RigidBodySystem & robot = *system.as_robot();
  for (std::size_t i = 0; i < robot.force_elements().size(); ++i)
  {
    const ForceElementState & state =
      robot.force_element_state(workspace.system_data(), static_cast<int>(i));
    const bool is_torsion = robot.force_elements()[i]->type() == "torsion_spring";
    if (
      is_torsion && (std::abs(state.value) > 2.9 ||
                     state.on_a.torque.norm() > 5.0 * std::abs(state.effort) + 20.0))
    {
      return false;
    }
  }
  return true;
}

TEST(SolutionDerivatives, when_rows_are_of_any_kind_on_any_joint_expect_central_differences)
{
  const std::vector<std::string> kinds = {
    "",
    "{name: c, type: frame_coincidence, frame_a: tip, frame_b: seat}",
    "{name: c, type: frame_coincidence, frame_a: tip, frame_b: seat, rows: [x, rx, rz]}",
    "{name: c, type: frame_coincidence, frame_a: tip, frame_b: world, rows: [y, ry]}",
    "{name: c, type: point_on_plane, frame_a: tip, frame_b: seat, normal: [1, 2, -1], offset: 0.2}",
    "{name: c, type: point_on_line, frame_a: seat, frame_b: tip, direction: [1, -2, 1]}",
    "{name: c, type: distance, frame_a: tip, frame_b: seat, length: 1.5}",
    "{name: c, type: knife_edge, frame_a: tip, frame_b: seat, axis: [1, 1, -2]}",
    "{name: c, type: rolling, frame_a: tip, frame_b: seat, radius: 0.3, normal: [1, 2, 3]}",
    "{name: c, type: rolling, frame_a: tip, frame_b: seat, radius: 0.3, axis: [1, 0.2, 0.3]}",
    "{name: c, type: prescribed_motion, frame_a: tip, frame_b: seat, motion: {x: sin(3*t), z: "
    "t^2}}",
    "{name: c, type: prescribed_motion, coordinate: cart_x, motion: sin(3*t)}",
    "{name: c, type: prescribed_motion, coordinate: root_qy, motion: 0.1*sin(3*t)}",
    "{name: c, type: joint_coupling, terms: {root_z: 1.0, cart_y: 2.0, yaw: -0.7, ball_qx: 0.3}}",
    "{name: c, type: polynomial_coupling, terms: {root_z: 1.0, cart_y: 2.0}, of: {yaw: -0.7, "
    "ball_qx: 0.3, cart_theta: 1}, linear: 1, quadratic: -0.5, cubic: 0.3, quartic: 0.2}",
    "{name: c, type: formula, level: position, rows: ['px(tip)*sin(yaw) + root_qx*pz(seat)^2 - "
    "cart_x*t', 'cos(cart_theta)*py(tip) - root_y^3']}",
    "{name: c, type: formula, level: velocity, rows: ['vx(tip)^2 + wz(seat)*px(tip) - "
    "droot_x*sin(t)', "
    "'ball_wx*wy(tip) + yaw*dyaw^2 - cart_vx']}",
    "{name: c, type: formula, level: acceleration, rows: ['ddroot_z*px(tip) + dcart_vx*vy(tip) - "
    "yaw^2', 'ddyaw + ddball_qx*root_wx - t']}",
  };
  Random random(11);
  const int count = in_campaign() ? 20 : 2;
  for (const std::string & kind : kinds)
  {
    ScenarioLoadOptions options;
    options.assemble = false;
    const Scenario scenario = Scenario::from_text(
      test::every_joint(kind),
      kind.empty() ? std::vector<std::string>{} : std::vector<std::string>{kBaumgarte}, ".",
      options);
    int found = 0;
    for (int trial = 0; trial < 50 * count && found < count; ++trial)
    {
      Case at = make_case(scenario.dynamics(), scenario.initial());
      const System & system = at.dynamics->system();
      ASSERT_EQ(
        at.dynamics->set_state(at.state.time, at.state.q, at.state.u, *at.workspace), Status::kOk);
      at.state.q +=
        at.workspace->terms().kinematic_matrix * random.vector(system.speed_count(), 0.4);
      system.normalise(at.state.q);
      at.state.u = random.vector(system.speed_count(), 0.8);
      at.inputs = random.vector(system.input_count(), 2.0);
      VectorXd unused = at.inputs;
      ASSERT_EQ(
        scenario.make_input_law()->evaluate(system, at.workspace->change_system_data(), unused),
        Status::kOk);  // sets the wrenches
      ASSERT_TRUE(has_output(
        at.dynamics->solve(at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace)));
      // Close to a half turn, where a weld loses rank and a torsion spring its direction,
      // differences of the solution are worth nothing.
      if (at.workspace->solution().condition < 30.0 && torsion_is_smooth(system, *at.workspace))
      {
        ++found;
        expect_differences(at, false, kind);
      }
    }
    EXPECT_EQ(found, count) << kind;
  }
}

// The other way to the same numbers: the terms by differences, with no analytic derivative in it.
TEST(SolutionDerivatives, when_terms_are_differentiated_by_differences_expect_the_analytic_ones)
{
  for (const char * name : {"four_bar", "rolling_coin", "blajer_disk", "thesis_3_1_nonlinear"})
  {
    const Scenario scenario =
      Scenario::load(std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml");
    Case at = make_case(scenario.dynamics(), scenario.initial());
    at.workspace->reset(at.state);
    SolutionDerivatives analytic;
    SolutionDerivatives differences;
    DerivativeOptions options;
    options.force_differences = true;
    ASSERT_EQ(
      differentiate(
        *at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, analytic),
      Status::kOk);
    ASSERT_EQ(
      differentiate(
        *at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, differences,
        options),
      Status::kOk);
    EXPECT_FALSE(differences.system_is_analytic);
    const auto expect_near = [&](const MatrixXd & a, const MatrixXd & b, const char * what)
    {
      ASSERT_EQ(a.rows(), b.rows());
      if (a.size() > 0)
      {
        const double size = std::max(1.0, a.cwiseAbs().maxCoeff());
        EXPECT_LE((a - b).cwiseAbs().maxCoeff(), 1e-8 * size) << name << " " << what;
      }
    };
    expect_near(stacked(analytic), stacked(differences), "solution");
    expect_near(analytic.transport, differences.transport, "transport");
    expect_near(analytic.velocity_q, differences.velocity_q, "velocity rows");
  }
}

// Kinds without analytic derivatives, mixed with those that have them.
TEST(SolutionDerivatives, when_rows_are_a_user_function_expect_central_differences)
{
  const Scenario scenario =
    Scenario::load(std::string(CD_CONFIG) + "/scenarios/heavy_top_minimal.yaml");
  const std::shared_ptr<const System> system = scenario.dynamics()->constraints().shared_system();
  const auto curve = [](const auto &, const auto * q, const auto *, auto * out)
  {
    using std::sin;
    out[0] = q[0] * q[1] - 0.3 * sin(q[0]) - 0.1;
  };
  auto constraint = make_function_constraint("curve", *system, RowLevel::kPosition, 1, curve);
  auto dynamics = std::make_shared<const Dynamics>(ConstraintSet(system, {constraint}));
  Case at = make_case(dynamics, scenario.initial());
  at.workspace->reset(at.state);
  Random random(3);
  ASSERT_TRUE(shake(random, 0.3, 0.5, at));
  expect_differences(at, false, "function");
  SolutionDerivatives d;
  ASSERT_EQ(
    differentiate(*at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, d),
    Status::kOk);
  EXPECT_TRUE(d.system_is_analytic);
  ASSERT_EQ(d.constraint_is_analytic.size(), 1u);
  EXPECT_FALSE(d.constraint_is_analytic[0]);
}

// A particle in polar coordinates: by hand, ∂/∂r of r̈ = r θ̇² at constant rates.
TEST(SolutionDerivatives, when_coordinates_are_as_many_as_speeds_expect_derivatives_by_coordinates)
{
  const std::string text = R"(
name: polar
parameters: {m: 2.0, k: 5.0}
system:
  coordinates: [r, theta]
  kinetic: m/2*(dr^2 + r^2*dtheta^2)
  potential: k/2*r^2
  speeds: {v: dr, w: r*dtheta}
initial: {q: {r: 0.8, theta: 0.3}, u: {v: 0.4, w: 1.2}}
)";
  const Scenario scenario = Scenario::from_text(text);
  Case at = make_case(scenario.dynamics(), scenario.initial());
  SolutionDerivatives d;
  ASSERT_EQ(
    differentiate(*at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, d),
    Status::kOk);
  // v̇ = w²/r − k r/m, ẇ = −v w/r.
  const double r = 0.8;
  const double v = 0.4;
  const double w = 1.2;
  MatrixXd by_q(2, 2);
  by_q << -w * w / (r * r) - 2.5, 0.0, v * w / (r * r), 0.0;
  MatrixXd by_u(2, 2);
  by_u << 0.0, 2.0 * w / r, -w / r, -v / r;
  EXPECT_LE((by_coordinates(d.acceleration_q, *at.workspace) - by_q).norm(), 1e-13);
  EXPECT_LE((d.acceleration_u - by_u).norm(), 1e-13);
  // δ = (δr, r δθ): δθ̇ = δw/r − w δr/r², so d/dt (r δθ) = δw + (v δ₂ − w δ₁)/r.
  MatrixXd transport(2, 2);
  transport << 0.0, 0.0, -w / r, v / r;
  EXPECT_LE((d.transport - transport).norm(), 1e-13);
}

TEST(SolutionDerivatives, when_coordinates_are_quaternions_expect_no_derivatives_by_coordinates)
{
  const Scenario scenario = Scenario::load(std::string(CD_CONFIG) + "/scenarios/rolling_coin.yaml");
  Workspace workspace = Workspace::unanalysed(*scenario.dynamics());
  EXPECT_THROW(
    static_cast<void>(by_coordinates(MatrixXd::Zero(1, 6), workspace)), std::invalid_argument);
}

TEST(SolutionDerivatives, when_an_input_is_not_finite_expect_status_and_untouched_output)
{
  const Scenario scenario = Scenario::load(std::string(CD_CONFIG) + "/scenarios/four_bar.yaml");
  Case at = make_case(scenario.dynamics(), scenario.initial());
  SolutionDerivatives d;
  VectorXd u = at.state.u;
  u(0) = std::nan("");
  EXPECT_EQ(
    differentiate(*at.dynamics, at.state.time, at.state.q, u, at.inputs, *at.workspace, d),
    Status::kNonFiniteInput);
  EXPECT_EQ(d.acceleration_q.size(), 0);
  EXPECT_EQ(
    differentiate(
      *at.dynamics, at.state.time, at.state.q, VectorXd::Zero(1), at.inputs, *at.workspace, d),
    Status::kSizeMismatch);
}

}  // namespace
}  // namespace constrained_dynamics
