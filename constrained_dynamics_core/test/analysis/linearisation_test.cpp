// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Linear models with eigenvalues known by hand, and Lyapunov exponents.
#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/analysis/linearisation.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/dense_algebra.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Complex = std::complex<double>;

struct Linearised
{
  std::unique_ptr<Simulation> simulation;
  std::shared_ptr<InputLaw> law;
  LinearModel model;
};

Linearised linearise_scenario(const Scenario & scenario)
{
  Linearised result;
  result.simulation = scenario.make_simulation();
  result.law = scenario.make_input_law();
  const Status status = linearise(
    *scenario.dynamics(), result.simulation->state(), result.simulation->inputs(), result.law.get(),
    result.simulation->workspace(), result.model);
  EXPECT_EQ(status, Status::kOk) << to_string(status);
  return result;
}

Scenario example(const std::string & name, const std::vector<std::string> & overrides = {})
{
  return Scenario::load(std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml", overrides);
}

/// Every expected value is among those found, each found one used once; what is left is returned.
std::vector<Complex> without(
  const Eigen::VectorXcd & found, const std::vector<Complex> & expected, double tolerance)
{
  std::vector<Complex> left(found.data(), found.data() + found.size());
  for (const Complex & value : expected)
  {
    const auto nearest = std::min_element(
      left.begin(), left.end(),
      [&](const Complex & a, const Complex & b)
      { return std::abs(a - value) < std::abs(b - value); });
    if (nearest == left.end() || !(std::abs(*nearest - value) <= tolerance))
    {
      ADD_FAILURE() << "no eigenvalue at " << value.real() << " + " << value.imag() << " i";
      return left;
    }
    left.erase(nearest);
  }
  return left;
}

void expect_zeros(const std::vector<Complex> & values, std::size_t count, double tolerance)
{
  EXPECT_EQ(values.size(), count);
  for (const Complex & value : values)
  {
    EXPECT_LE(std::abs(value), tolerance);
  }
}

constexpr char kPendulum[] = R"(
name: pendulum
parameters: {m: 2.0, l: 0.7, g: 9.81, c: 0.0}
system:
  coordinates: [x, y]
  kinetic: m/2*(dx^2 + dy^2)
  potential: m*g*y
  force: {x: -c*dx, y: -c*dy}
  inputs: {push: {x: 1}}
constraints:
  - {name: rod, type: formula, level: position, rows: ["x^2 + y^2 - l^2"]}
initial: {q: {x: 0.0, y: -l}}
run: {until: 10, step: 0.002}
)";

TEST(LinearModel, when_a_rod_pendulum_hangs_expect_its_frequency_and_zeros_of_the_row)
{
  const Linearised at = linearise_scenario(Scenario::from_text(kPendulum));
  const LinearModel & model = at.model;
  EXPECT_TRUE(model.is_equilibrium);
  EXPECT_TRUE(model.is_steady);
  const double omega = std::sqrt(9.81 / 0.7);
  const std::vector<Complex> pair{{0.0, omega}, {0.0, -omega}};
  expect_zeros(without(model.reduced_eigenvalues, pair, 1e-12), 0, 0.0);
  expect_zeros(without(model.eigenvalues, pair, 1e-12), 2, 1e-7);
  // x is free, y is not: u̇ = push/m.
  EXPECT_NEAR(model.input_matrix(2, 0), 0.5, 1e-14);
  EXPECT_NEAR(model.input_matrix(3, 0), 0.0, 1e-14);
  EXPECT_LE((model.constraint_matrix * model.state_matrix * model.basis).norm(), 1e-12);
}

TEST(LinearModel, when_rows_are_stabilised_expect_the_roots_of_baumgarte)
{
  const Scenario scenario = Scenario::from_text(
    kPendulum, {"stabilisation={kind: baumgarte, velocity_gain: -5, position_gain: -6}"});
  const LinearModel model = linearise_scenario(scenario).model;
  const double omega = std::sqrt(9.81 / 0.7);
  // s² + 5 s + 6 = (s + 2) (s + 3).
  const std::vector<Complex> all{{0.0, omega}, {0.0, -omega}, {-2.0, 0.0}, {-3.0, 0.0}};
  expect_zeros(without(model.eigenvalues, all, 1e-10), 0, 0.0);
}

TEST(LinearModel, when_an_input_law_feeds_back_expect_it_in_the_state_matrix)
{
  const Scenario scenario =
    Scenario::from_text(std::string(kPendulum) + "inputs: {push: \"-3*x - 0.8*dx\"}\n");
  const LinearModel model = linearise_scenario(scenario).model;
  // m ẍ = −(m g/l + 3) x − 0.8 ẋ.
  const double m = 2.0;
  const Complex root = std::sqrt(Complex(0.8 * 0.8 - 4.0 * m * (m * 9.81 / 0.7 + 3.0)));
  const std::vector<Complex> pair{(-0.8 + root) / (2.0 * m), (-0.8 - root) / (2.0 * m)};
  expect_zeros(without(model.reduced_eigenvalues, pair, 1e-9), 0, 0.0);
}

TEST(LinearModel, when_a_physical_pendulum_has_dependent_coordinates_expect_its_frequency)
{
  const LinearModel model = linearise_scenario(example("lecture_pendulum", {"theta0=0"})).model;
  const double omega = std::sqrt(1.5 * 9.81);
  EXPECT_TRUE(model.is_equilibrium);
  expect_zeros(without(model.reduced_eigenvalues, {{0.0, omega}, {0.0, -omega}}, 1e-12), 0, 0.0);
}

TEST(LinearModel, when_a_motion_is_accelerated_expect_no_claim_of_steadiness)
{
  const LinearModel model = linearise_scenario(example("four_bar")).model;
  EXPECT_FALSE(model.is_equilibrium);
  EXPECT_FALSE(model.is_steady);
}

// The speeds stand still for a moment, and by symmetry so does the model.
TEST(LinearModel, when_a_pendulum_swings_through_the_bottom_expect_no_claim_of_steadiness)
{
  const std::string text = R"(
system: {coordinates: [theta], kinetic: dtheta^2/2, potential: -9.81*cos(theta)}
initial: {u: {dtheta: 1.5}}
)";
  const LinearModel model = linearise_scenario(Scenario::from_text(text)).model;
  EXPECT_LE(std::abs(model.acceleration(0)), 1e-12);
  EXPECT_FALSE(model.is_equilibrium);
  EXPECT_FALSE(model.is_steady);
}

// Stiffness and inertia along the one degree of freedom, by energies alone.
TEST(LinearModel, when_a_four_bar_rests_expect_the_frequency_of_its_energies)
{
  const Scenario scenario = example("four_bar");
  const Dynamics & dynamics = *scenario.dynamics();
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  Workspace & workspace = simulation->workspace();
  State state = scenario.initial();
  state.u.setZero();
  for (int i = 0; i < 20000; ++i)  // down the potential
  {
    ASSERT_EQ(dynamics.solve(0.0, state.q, state.u, simulation->inputs(), workspace), Status::kOk);
    if (workspace.solution().acceleration.cwiseAbs().maxCoeff() < 1e-11)
    {
      break;
    }
    state.q += 0.01 * workspace.solution().acceleration;
    ASSERT_EQ(dynamics.project_position(0.0, state.q, workspace), Status::kOk);
  }
  LinearModel model;
  ASSERT_EQ(
    linearise(dynamics, state, simulation->inputs(), nullptr, workspace, model), Status::kOk);
  EXPECT_TRUE(model.is_equilibrium) << model.largest_acceleration;
  EXPECT_EQ(model.basis.cols(), 2);

  ASSERT_EQ(dynamics.evaluate_rows(0.0, state.q, state.u, workspace), Status::kOk);
  ASSERT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
  const MatrixXd Q = workspace.terms().mass_matrix;
  const VectorXd tangent = test::kernel_of(workspace.rows().jacobian).col(0).normalized();
  const double h = 1e-3;
  double energy[3];
  for (int i = 0; i < 3; ++i)
  {
    VectorXd q = state.q + (i - 1) * h * tangent;
    ASSERT_EQ(dynamics.project_position(0.0, q, workspace), Status::kOk);
    ASSERT_EQ(dynamics.solve(0.0, q, state.u, simulation->inputs(), workspace), Status::kOk);
    energy[i] = dynamics.system().potential_energy(workspace.system_data());
  }
  const double stiffness = (energy[0] - 2.0 * energy[1] + energy[2]) / (h * h);
  const double omega = std::sqrt(stiffness / tangent.dot(Q * tangent));
  EXPECT_NEAR(model.reduced_eigenvalues(0).imag(), omega, 1e-4 * omega);
  EXPECT_NEAR(model.reduced_eigenvalues(0).real(), 0.0, 1e-9);

  LinearStep step;
  ASSERT_EQ(linear_step(model, 0.01, 1e-3, *simulation, step), Status::kOk);
  EXPECT_GT(step.position, 1e-9);
  EXPECT_LT(step.position, 1e-5);
  EXPECT_LE(step.position_of_half / step.position, 0.26);
  EXPECT_LE(step.velocity_of_half / step.velocity, 0.26);
}

// λ² = 4 g/(5 r) − 12 Ω²/5 of the upright disk; it has cyclic coordinates, hence zeros.
TEST(LinearModel, when_a_disk_rolls_upright_expect_the_critical_spin)
{
  const double r = 0.5;
  const double g = 9.81;
  const double critical = std::sqrt(g / (3.0 * r));
  for (const double spin : {0.0, 0.5 * critical, critical, 2.0 * critical})
  {
    const Scenario scenario = example(
      "blajer_disk",
      {"theta0=0", "phi_rate=0", "theta_rate=0", "psi_rate=" + std::to_string(spin)});
    const LinearModel model = linearise_scenario(scenario).model;
    EXPECT_TRUE(model.is_steady) << model.variation;
    EXPECT_EQ(model.basis.cols(), 9);  // 6 coordinates and 3 degrees of freedom
    const double printed = std::stod(std::to_string(spin));
    const Complex root = std::sqrt(Complex(0.8 * g / r - 2.4 * printed * printed));
    if (spin == critical)
    {
      // Zeros in one chain: rounding to the power of a third or so.
      expect_zeros(without(model.reduced_eigenvalues, {}, 0.0), 9, 0.02);
      continue;
    }
    expect_zeros(without(model.reduced_eigenvalues, {root, -root}, 1e-7), 7, 1e-4);
  }
}

// Sleeping top: I1 σ² − I3 Ω σ + m g l = 0 in the world, σ − Ω in axes of the spinning body.
TEST(LinearModel, when_a_top_sleeps_expect_its_precession_and_nutation)
{
  const std::string text = R"(
name: sleeping_top
parameters: {spin: 80.0}
system:
  bodies:
    - {name: top, mass: 1.5, com: [0, 0, 0.1], inertia: [0.004, 0.004, 0.006]}
constraints:
  - {name: tip, type: frame_coincidence, frame_a: top, frame_b: world, rows: [x, y, z]}
initial:
  q: {top: [0, 0, 0, 0, 0, 0, 1]}
  u: {top: [0, 0, 0, 0, 0, spin]}
)";
  const double I1 = 0.004 + 1.5 * 0.01;
  const double I3 = 0.006;
  const double mgl = 1.5 * 9.81 * 0.1;
  for (const double spin : {0.0, 30.0, 80.0})
  {
    const Scenario scenario = Scenario::from_text(text, {"spin=" + std::to_string(spin)});
    const LinearModel model = linearise_scenario(scenario).model;
    EXPECT_TRUE(model.is_steady) << spin;
    EXPECT_EQ(model.is_equilibrium, spin == 0.0);
    EXPECT_EQ(model.basis.cols(), 6);
    const Complex root = std::sqrt(Complex(I3 * I3 * spin * spin - 4.0 * I1 * mgl));
    std::vector<Complex> expected;
    for (const double sign : {-1.0, 1.0})
    {
      const Complex sigma = (I3 * spin + sign * root) / (2.0 * I1) - spin;
      expected.push_back(Complex(0.0, 1.0) * sigma);
      expected.push_back(std::conj(expected.back()));
    }
    // Equal roots at rest are known to the root of rounding only.
    expect_zeros(without(model.reduced_eigenvalues, expected, spin == 0.0 ? 1e-6 : 1e-8), 2, 1e-6);
  }
}

// Eigenvalues of the published linear equations of the benchmark bicycle.
TEST(LinearModel, when_a_bicycle_rolls_upright_expect_the_published_eigenvalues)
{
  const std::vector<std::pair<std::string, std::vector<Complex>>> published = {
    {"4",
     {{-12.1586142658, 0.0},
      {-1.42944427361, 0.0},
      {0.413253315211, 3.07910818603},
      {0.413253315211, -3.07910818603}}},
    {"4.6",
     {{-13.2986395158, 0.0},
      {-0.621212726976, 0.0},
      {-0.377966226278, 3.87284191563},
      {-0.377966226278, -3.87284191563}}},
    {"5",
     {{-14.0783896928, 0.0},
      {-0.322866429004, 0.0},
      {-0.775341882196, 4.46486771379},
      {-0.775341882196, -4.46486771379}}},
    {"8",
     {{-20.2794089439, 0.0},
      {0.143278797657, 0.0},
      {-2.69348683581, 8.46037971397},
      {-2.69348683581, -8.46037971397}}},
  };
  for (const auto & [speed, eigenvalues] : published)
  {
    const Linearised at = linearise_scenario(example("bicycle", {"roll_rate=0", "v=" + speed}));
    EXPECT_TRUE(at.model.is_steady) << speed;
    // Forward speed, position, heading and the spin of the wheels give zeros.
    const std::vector<Complex> left = without(at.model.reduced_eigenvalues, eigenvalues, 1e-8);
    expect_zeros(left, left.size(), 1e-4);
  }
}

TEST(LyapunovExponent, when_a_pendulum_is_damped_expect_half_the_damping)
{
  const Scenario scenario = Scenario::from_text(
    kPendulum, {"c=0.8", "initial.q.x=0.5", "initial.q.y=-sqrt(l^2 - 0.25)", "run.until=30",
                "run.step=0.005"});
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const LyapunovResult result =
    largest_lyapunov_exponent(*simulation, scenario.run().until, nullptr);
  ASSERT_TRUE(result.completed);
  EXPECT_NEAR(result.exponent, -0.8 / (2.0 * 2.0), 0.02);
}

TEST(LyapunovExponent, when_a_motion_is_regular_expect_about_zero)
{
  const Scenario scenario = Scenario::from_text(
    kPendulum,
    {"initial.q.x=0.3", "initial.q.y=-sqrt(l^2 - 0.09)", "run.until=100", "run.step=0.005"});
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const LyapunovResult result =
    largest_lyapunov_exponent(*simulation, scenario.run().until, nullptr);
  ASSERT_TRUE(result.completed);
  EXPECT_NEAR(result.exponent, 0.0, 0.05);
  EXPECT_EQ(result.sample_time.size(), result.sample_exponent.size());
}

/// Growth of the distance to a neighbour that is brought back close again and again.
double neighbour_exponent(const Scenario & scenario, double until, double from)
{
  constexpr double kDistance = 1e-7;
  constexpr int kSteps = 10;
  const Dynamics & dynamics = *scenario.dynamics();
  const Eigen::Index n = dynamics.system().speed_count();
  const std::unique_ptr<Simulation> reference = scenario.make_simulation();
  const std::unique_ptr<Simulation> neighbour = scenario.make_simulation();
  VectorXd x(2 * n);
  for (Eigen::Index i = 0; i < 2 * n; ++i)
  {
    x(i) = std::cos(1.0 + 2.3 * static_cast<double>(i));
  }
  double sum = 0.0;
  double start = -1.0;
  while (reference->state().time < until)
  {
    // Speeds are rates here: δ = q − q₀.
    State beside = reference->state();
    beside.q += kDistance * x.head(n).eval() / x.norm();
    beside.u += kDistance * x.tail(n).eval() / x.norm();
    EXPECT_EQ(dynamics.project_position(0.0, beside.q, neighbour->workspace()), Status::kOk);
    EXPECT_EQ(
      dynamics.project_velocity(0.0, beside.q, beside.u, neighbour->workspace()), Status::kOk);
    VectorXd before(2 * n);
    before << beside.q - reference->state().q, beside.u - reference->state().u;
    neighbour->start(beside);
    for (int i = 0; i < kSteps; ++i)
    {
      EXPECT_EQ(neighbour->step(), Status::kOk);
      EXPECT_EQ(reference->step(), Status::kOk);
    }
    x << neighbour->state().q - reference->state().q, neighbour->state().u - reference->state().u;
    if (reference->state().time > from)
    {
      start = start < 0.0 ? reference->state().time - kSteps * 0.002 : start;
      sum += std::log(x.norm() / before.norm());
    }
  }
  return sum / (reference->state().time - start);
}

TEST(LyapunovExponent, when_a_double_pendulum_is_chaotic_expect_the_growth_of_neighbours)
{
  const std::string text = R"(
name: double_pendulum
parameters: {m: 1.0, l: 1.0, g: 9.81}
system:
  coordinates: [x1, y1, x2, y2]
  kinetic: m/2*(dx1^2 + dy1^2 + dx2^2 + dy2^2)
  potential: m*g*(y1 + y2)
constraints:
  - {name: upper, type: formula, level: position, rows: ["x1^2 + y1^2 - l^2"]}
  - {name: lower, type: formula, level: position, rows: ["(x2 - x1)^2 + (y2 - y1)^2 - l^2"]}
initial: {q: {x1: 0.6, y1: 0.8, x2: 1.6, y2: 0.8}}
run: {until: 20, step: 0.002}
)";
  const Scenario scenario = Scenario::from_text(text);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const LyapunovResult result =
    largest_lyapunov_exponent(*simulation, scenario.run().until, nullptr);
  ASSERT_TRUE(result.completed);
  EXPECT_GT(result.exponent, 0.5);
  const double neighbours = neighbour_exponent(scenario, 20.0, 2.0);
  EXPECT_NEAR(result.exponent, neighbours, 0.02 * neighbours);
}

TEST(LyapunovExponent, when_options_are_out_of_range_expect_refusal)
{
  const Scenario scenario = Scenario::from_text(kPendulum);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  LyapunovOptions options;
  options.transient = 1.0;
  EXPECT_THROW(
    static_cast<void>(largest_lyapunov_exponent(*simulation, 1.0, nullptr, options)),
    std::invalid_argument);
  EXPECT_THROW(
    static_cast<void>(largest_lyapunov_exponent(*simulation, 0.001, nullptr)),
    std::invalid_argument);
}

}  // namespace
}  // namespace constrained_dynamics
