// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The uncontrolled bicycle (benchmark 7): linearisation of the constrained model about upright
// rolling against the published matrices, eigenvalues and self-stable range, and the manoeuvres.

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Eigenvalues>

#include "constrained_dynamics/dynamics/assembly.hpp"
#include "support/recorded_run.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::Matrix2d;
using Eigen::Matrix4d;
using Eigen::Vector2d;
using Eigen::Vector4d;
using Eigen::VectorXd;

constexpr double kGravity = 9.81;

Matrix2d matrix(double a, double b, double c, double d)
{
  Matrix2d result;
  result << a, b, c, d;
  return result;
}

// Meijaard et al. 2007: M q̈ + v C1 q̇ + (g K0 + v² K2) q = f, q = (roll, steer).
const Matrix2d kM = matrix(80.81722, 2.31941332208709, 2.31941332208709, 0.29784188199686);
const Matrix2d kC1 = matrix(0, 33.86641391492494, -0.85035641456978, 1.68540397397560);
const Matrix2d kK0 = matrix(-80.95, -2.59951685249872, -2.59951685249872, -0.80329488458618);
const Matrix2d kK2 = matrix(0, 76.59734589573222, 0, 2.65431523794604);

/// Roll and steer of the constrained bicycle, at small angles about upright rolling at a speed v.
class Bicycle
{
public:
  Bicycle()
  : scenario_(repository_scenario("bicycle")),
    dynamics_(*scenario_.dynamics()),
    workspace_(dynamics_, scenario_.initial()),
    wx_(index(dynamics_.system().speed_names(), "bicycle_wx")),
    steer_speed_(index(dynamics_.system().speed_names(), "dsteer")),
    spin_(index(dynamics_.system().speed_names(), "drear_spin")),
    steer_(index(dynamics_.system().coordinate_names(), "steer")),
    steer_input_(index(dynamics_.system().input_names(), "steer"))
  {
  }

  /// Accelerations of roll and steer at x = (roll, steer, their rates), speed v and steer torque.
  /// Mirrored states have mirrored accelerations, so that what is neglected here (the roll that
  /// closing the contacts changes, the pitch) is of third order.
  Vector2d acceleration(const Vector4d & x, double v, double steer_torque = 0.0)
  {
    VectorXd q = scenario_.initial().q;
    q(3) = std::sin(x(0) / 2);
    q(6) = std::cos(x(0) / 2);
    q(steer_) = x(1);
    EXPECT_EQ(dynamics_.project_position(0.0, q, workspace_), Status::kOk);
    VectorXd u = VectorXd::Zero(dynamics_.system().speed_count());
    u(wx_) = x(2);
    u(steer_speed_) = x(3);
    u(spin_) = v / 0.3;
    std::vector<bool> held(static_cast<std::size_t>(u.size()), false);
    for (const Eigen::Index i : {wx_, steer_speed_, spin_})
    {
      held[static_cast<std::size_t>(i)] = true;
    }
    const AssemblyResult assembled =
      assemble_velocity(dynamics_, 0.0, q, u, held, workspace_, 1e-13);
    EXPECT_LE(assembled.residual, 1e-13);
    VectorXd inputs = VectorXd::Zero(dynamics_.system().input_count());
    inputs(steer_input_) = steer_torque;
    EXPECT_EQ(dynamics_.solve(0.0, q, u, inputs, workspace_), Status::kOk);
    const VectorXd & u_dot = workspace_.solution().acceleration;
    return {u_dot(wx_), u_dot(steer_speed_)};
  }

  /// A of ẋ = A x by central differences of two widths (Richardson), error of order width⁴.
  Matrix4d linearise(double v)
  {
    Matrix4d A = Matrix4d::Zero();
    A.topRightCorner<2, 2>().setIdentity();
    const auto slope = [&](int i, double width)
    {
      const Vector4d step = width * Vector4d::Unit(i);
      return Vector2d((acceleration(step, v) - acceleration(-step, v)) / (2 * width));
    };
    constexpr double kWidth = 1e-3;
    for (int i = 0; i < 4; ++i)
    {
      A.block<2, 1>(2, i) = (4 * slope(i, kWidth) - slope(i, 2 * kWidth)) / 3;
    }
    return A;
  }

  /// The reduced inertia of roll and steer, with the spin of the rear wheel held: N Q Nᵀ with the
  /// permitted speeds N of unit roll and steer rate.
  Matrix2d inertia()
  {
    Eigen::MatrixXd N(2, dynamics_.system().speed_count());
    for (int i = 0; i < 2; ++i)
    {
      acceleration(Vector4d::Unit(2 + i), 0.0);
      N.row(i) = workspace_.terms().speeds.transpose();
    }
    EXPECT_EQ(dynamics_.evaluate_terms(workspace_), Status::kOk);
    return N * workspace_.terms().mass_matrix * N.transpose();
  }

private:
  static Eigen::Index index(const std::vector<std::string> & names, const std::string & name)
  {
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_NE(found, names.end()) << name;
    return found - names.begin();
  }

  Scenario scenario_;
  const Dynamics & dynamics_;
  Workspace workspace_;
  Eigen::Index wx_, steer_speed_, spin_, steer_, steer_input_;
};

double expect_matrix(const Matrix2d & actual, const Matrix2d & expected, double bar)
{
  const double error = (actual - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
  EXPECT_LE(error, bar) << actual << "\nis not\n" << expected;
  return error;
}

std::vector<std::complex<double>> eigenvalues(const Matrix4d & A)
{
  const Eigen::EigenSolver<Matrix4d> solver(A, false);
  std::vector<std::complex<double>> values(4);
  for (int i = 0; i < 4; ++i)
  {
    values[static_cast<std::size_t>(i)] = solver.eigenvalues()(i);
  }
  std::sort(
    values.begin(), values.end(),
    [](const auto & a, const auto & b)
    { return std::make_pair(a.real(), a.imag()) < std::make_pair(b.real(), b.imag()); });
  return values;
}

TEST(Bicycle, when_linearised_about_upright_rolling_expect_the_published_matrices)
{
  Bicycle bicycle;
  const Matrix2d M = bicycle.inertia();
  const double m = expect_matrix(M, kM, 1e-12);
  // The response to a steer torque is a column of M⁻¹.
  const Vector2d response = bicycle.acceleration(Vector4d::Zero(), 0.0, 1.0);
  EXPECT_LE((response - kM.inverse().col(1)).norm(), 1e-11 * response.norm());

  const Matrix4d rest = bicycle.linearise(0.0);
  const double k0 = expect_matrix(-M * rest.bottomLeftCorner<2, 2>() / kGravity, kK0, 1e-9);
  EXPECT_LE(rest.bottomRightCorner(2, 2).cwiseAbs().maxCoeff(), 1e-9);
  double c1 = 0.0;
  double k2 = 0.0;
  for (const double v : {2.0, 4.0, 8.0})
  {
    SCOPED_TRACE("v = " + std::to_string(v));
    const Matrix4d A = bicycle.linearise(v);
    c1 = std::max(c1, expect_matrix(-M * A.bottomRightCorner<2, 2>() / v, kC1, 1e-9));
    k2 = std::max(
      k2, expect_matrix((-M * A.bottomLeftCorner<2, 2>() - kGravity * kK0) / (v * v), kK2, 1e-9));
  }
  std::cout << "  relative errors: M " << m << ", C1 " << c1 << ", K0 " << k0 << ", K2 " << k2
            << std::endl;
}

TEST(Bicycle, when_speeds_are_those_of_the_tables_expect_their_eigenvalues)
{
  using Complex = std::complex<double>;
  const std::vector<std::pair<double, std::array<Complex, 4>>> table = {
    {0.0, {-5.53094371765, -3.13164324791, 3.13164324791, 5.53094371765}},
    {4.0,
     {-12.1586142658, -1.42944427361, Complex(0.413253315211, -3.07910818603),
      Complex(0.413253315211, 3.07910818603)}},
    {4.6,
     {-13.2986395158, -0.621212726976, Complex(-0.377966226278, -3.87284191563),
      Complex(-0.377966226278, 3.87284191563)}},
    {5.0,
     {-14.0783896928, Complex(-0.775341882196, -4.46486771379),
      Complex(-0.775341882196, 4.46486771379), -0.322866429004}},
    {8.0,
     {-20.2794089439, Complex(-2.69348683581, -8.46037971397),
      Complex(-2.69348683581, 8.46037971397), 0.143278797657}}};
  Bicycle bicycle;
  double worst = 0.0;
  for (const auto & [v, expected] : table)
  {
    const std::vector<Complex> found = eigenvalues(bicycle.linearise(v));
    for (std::size_t i = 0; i < 4; ++i)
    {
      EXPECT_LE(std::abs(found[i] - expected[i]), 1e-9) << "v = " << v << ", eigenvalue " << i;
      worst = std::max(worst, std::abs(found[i] - expected[i]));
    }
  }
  std::cout << "  largest error of an eigenvalue " << worst << " 1/s" << std::endl;
}

TEST(Bicycle, when_the_largest_real_part_changes_sign_expect_the_self_stable_range)
{
  Bicycle bicycle;
  const auto growth = [&](double v) { return eigenvalues(bicycle.linearise(v)).back().real(); };
  const auto root = [&](double low, double high)
  {
    const bool rises = growth(low) < 0;
    EXPECT_NE(rises, growth(high) < 0);
    while (high - low > 1e-11)
    {
      const double middle = 0.5 * (low + high);
      ((growth(middle) < 0) == rises ? low : high) = middle;
    }
    return 0.5 * (low + high);
  };
  const double weave = root(4.0, 5.0);
  const double capsize = root(5.0, 8.0);
  std::cout.precision(15);
  std::cout << "  self-stable from " << weave << " to " << capsize << " m/s" << std::endl;
  EXPECT_NEAR(weave, 4.29238253634111, 1e-10);
  EXPECT_NEAR(capsize, 6.02426201538837, 1e-9);
}

/// Runs a manoeuvre and applies the performance rule 100 (max E − min E)/E0 < 1e-3.
RecordedRun manoeuvre(double v, double roll_rate, double until = 5.0)
{
  const RecordedRun run = record(
    repository_scenario(
      "bicycle", {"v=" + std::to_string(v), "roll_rate=" + std::to_string(roll_rate)}),
    until, 0.01);
  EXPECT_TRUE(run.result.completed);
  EXPECT_EQ(run.result.singular_evaluations, 0);
  EXPECT_LE(run.position_violation, 1e-12);
  EXPECT_LE(run.velocity_violation, 1e-12);
  EXPECT_LE(run.constraint_power, 1e-12);
  double low = run.samples[0].energy;
  double high = low;
  for (const Sample & sample : run.samples)
  {
    low = std::min(low, sample.energy);
    high = std::max(high, sample.energy);
  }
  const double rule = 100.0 * (high - low) / run.samples[0].energy;
  std::cout << "  v = " << v << ": 100 (max E - min E)/E0 = " << rule << std::endl;
  EXPECT_LT(rule, 1e-9);  // the benchmark asks for 1e-3
  return run;
}

TEST(Bicycle, when_the_push_is_small_expect_the_motion_of_the_published_linear_equations)
{
  constexpr double kPush = 1e-4;
  for (const double v : {4.0, 4.6, 8.0})
  {
    SCOPED_TRACE("v = " + std::to_string(v));
    const RecordedRun run = manoeuvre(v, kPush);
    Matrix4d A = Matrix4d::Zero();
    A.topRightCorner<2, 2>().setIdentity();
    A.bottomLeftCorner<2, 2>() = -kM.inverse() * (kGravity * kK0 + v * v * kK2);
    A.bottomRightCorner<2, 2>() = -kM.inverse() * v * kC1;
    const Eigen::EigenSolver<Matrix4d> solver(A);
    const Eigen::Matrix4cd modes = solver.eigenvectors();
    const Eigen::Vector4cd parts = modes.lu().solve(Eigen::Vector4cd(0, 0, kPush, 0));
    double size = 0.0;
    double error = 0.0;
    for (const Sample & sample : run.samples)
    {
      const Eigen::Vector4cd growth = (solver.eigenvalues() * sample.time).array().exp();
      const Vector4d x = (modes * growth.cwiseProduct(parts)).real();
      const Vector2d found =
        Vector2d(run.observe(sample, "roll_deg"), run.observe(sample, "steer_deg")) * M_PI / 180;
      size = std::max(size, x.head<2>().norm());
      error = std::max(error, (found - x.head<2>()).norm());
    }
    std::cout << "  largest difference " << error << " rad of " << size << " rad" << std::endl;
    // Third order: the square of the angles, and of the roll rate against v.
    EXPECT_LE(error, 1e-6 * size);
  }
}

/// Largest |roll| in a span of time [deg].
double largest_roll(const RecordedRun & run, double from, double until)
{
  double result = 0.0;
  for (const Sample & sample : run.samples)
  {
    if (sample.time >= from && sample.time <= until)
    {
      result = std::max(result, std::abs(run.observe(sample, "roll_deg")));
    }
  }
  return result;
}

TEST(Bicycle, when_it_is_pushed_expect_weave_decay_and_capsize_at_the_three_speeds)
{
  // Periods of the weave: 2.04 s at 4 m/s, 1.62 s at 4.6 m/s.
  const RecordedRun weave = manoeuvre(4.0, 0.05);
  EXPECT_GT(largest_roll(weave, 2.96, 5.0), 2.0 * largest_roll(weave, 0.92, 2.96));

  const RecordedRun stable = manoeuvre(4.6, 0.5, 20.0);
  EXPECT_LT(largest_roll(stable, 3.38, 5.0), 0.7 * largest_roll(stable, 1.76, 3.38));
  EXPECT_LT(largest_roll(stable, 18.0, 20.0), 0.01);
  // The energy of the push has gone into forward speed: with the mass and the wheels' inertia,
  // v² grows by M11 p²/m.
  constexpr double kMass = 94.0 + 0.12 / 0.09 + 0.28 / 0.1225;
  EXPECT_NEAR(
    stable.observe(20.0, "forward_speed"), std::sqrt(4.6 * 4.6 + kM(0, 0) * 0.25 / kMass), 1e-5);

  const RecordedRun capsize = manoeuvre(8.0, 0.05);
  EXPECT_GT(capsize.observe(5.0, "roll_deg"), 1.3 * capsize.observe(3.0, "roll_deg"));
}

}  // namespace
}  // namespace constrained_dynamics::test
