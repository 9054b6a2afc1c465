// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Blajer's rolling disk in the three ways of the paper: six speeds with reactions (6.11, 6.12),
// five independent coordinates (6.17 to 6.19) and three independent quasi-velocities (6.26
// to 6.28), against the printed formulas. Where a printed formula is wrong, the number of the
// correction (B1 to B17) is given.

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/formulations/projection.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr unsigned kSeed = 611;
constexpr int kStates = 100;

/// Mass, radius, inertia about a diameter (not that of a uniform disk, so that no formula can hold
/// by accident), gravity.
struct Disk
{
  double m, r, J, g;
};

/// A scenario with a workspace, and a disk and states at random.
class DiskCase
{
public:
  DiskCase(
    const std::string & name, std::mt19937 & generator,
    const std::vector<std::string> & overrides = {})
  : generator_(generator),
    disk{in(0.5, 3.0), in(0.2, 1.5), in(0.05, 0.8), in(5.0, 12.0)},
    scenario(load_scenario(
      name, overrides +
              std::vector<std::string>{
                set("m", disk.m), set("r", disk.r), set("J", disk.J), set("g", disk.g)})),
    workspace(Workspace::unanalysed(*scenario.dynamics()))
  {
  }

  double in(double low, double high)
  {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }

  VectorXd random(int size, double scale)
  {
    return VectorXd::NullaryExpr(size, [&] { return in(-scale, scale); });
  }

  void solve(const VectorXd & q, const VectorXd & u)
  {
    ASSERT_EQ(scenario.dynamics()->solve(0.0, q, u, VectorXd(0), workspace), Status::kOk);
    ASSERT_EQ(scenario.dynamics()->evaluate_rows(workspace), Status::kOk);
    ASSERT_EQ(scenario.dynamics()->evaluate_terms(workspace), Status::kOk);
  }

  const MatrixXd & Q() const { return workspace.terms().mass_matrix; }
  const VectorXd & P() const { return workspace.terms().force; }
  const Rows & rows() const { return workspace.rows(); }

private:
  std::mt19937 & generator_;

public:
  Disk disk;
  Scenario scenario;
  Workspace workspace;
};

void expect_matrix(const MatrixXd & actual, const MatrixXd & expected, const std::string & what)
{
  ASSERT_EQ(actual.rows(), expected.rows()) << what;
  ASSERT_EQ(actual.cols(), expected.cols()) << what;
  const double size = std::max(1.0, expected.cwiseAbs().maxCoeff());
  EXPECT_LE((actual - expected).cwiseAbs().maxCoeff(), 1e-12 * size) << what << " is\n"
                                                                     << actual << "\nnot\n"
                                                                     << expected;
}

MatrixXd complement_of(const DiskCase & disk)
{
  const auto & projection =
    dynamic_cast<const Projection &>(disk.scenario.dynamics()->formulation());
  MatrixXd N(projection.complement()->row_count(), disk.scenario.system().speed_count());
  const auto scratch = projection.complement()->make_scratch();
  EXPECT_EQ(
    projection.complement()->evaluate(disk.workspace.system_data(), *scratch, N), Status::kOk);
  return N;
}

TEST(BlajerDisk, when_in_six_speeds_expect_the_printed_equations_and_reactions)
{
  std::cout << "seed " << kSeed << std::endl;
  std::mt19937 generator(kSeed);
  for (int trial = 0; trial < kStates; ++trial)
  {
    DiskCase disk("blajer_disk", generator);
    const auto [m, r, J, g] = disk.disk;
    VectorXd q = disk.random(6, 3.0);
    q(4) = disk.in(-1.3, 1.3);
    const VectorXd v = disk.random(6, 3.0);
    disk.solve(q, v);
    const double s = std::sin(q(4)), c = std::cos(q(4)), t = std::tan(q(4));
    const double v1 = v(0), v2 = v(1), v3 = v(2), v4 = v(3), v5 = v(4), v6 = v(5);

    MatrixXd C(3, 6), D(3, 6);
    C << 1, 0, 0, 0, 0, r, 0, 1, 0, 0, 0, 0, 0, 0, 1, -r, 0, 0;  // (6.7)
    D << -r, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, r, 1, 0, 0;  // (6.8)
    VectorXd M(6), h(6);
    M << m, m, m, J, J, 2 * J;  // (6.9)
    h << m * v5 * (v2 * t - v3), m * (v4 * v3 - v5 * v1 * t - g * c),
      m * (v5 * v1 - v4 * v2 - g * s), J * v5 * (v5 * t - 2 * v6), J * v4 * (2 * v6 - v5 * t),
      0;  // (6.10)
    expect_matrix(disk.rows().jacobian, C, "C");
    expect_matrix(disk.rows().bias, VectorXd::Zero(3), "b");
    expect_matrix(complement_of(disk), D, "D");
    expect_matrix(disk.Q(), M.asDiagonal(), "M");
    expect_matrix(disk.P(), h, "h*");

    MatrixXd left(3, 6);
    VectorXd right(3), lambda(3);
    left << -m * r, 0, 0, 0, 0, 2 * J, 0, 0, 0, 0, J, 0, 0, 0, m * r, J, 0, 0;
    right << -m * r * v5 * (v2 * t - v3), J * v4 * (2 * v6 - v5 * t),
      m * r * (v5 * v1 - v4 * v2 - g * s) + J * v5 * (v5 * t - 2 * v6);  // (6.11), B3
    expect_matrix(D * disk.Q(), left, "left side of (6.11)");
    expect_matrix(D * disk.P(), right, "right side of (6.11)");
    const Solution & solution = disk.workspace.solution();
    expect_matrix(left * solution.acceleration, right, "(6.11)");
    const double mu1 = 2 * m * J / (m * r * r + 2 * J), mu2 = m * J / (m * r * r + J);
    lambda << mu1 * v5 * (v2 * t - v3), m * (v4 * v3 - v5 * v1 * t - g * c),
      mu2 * (v5 * v1 - v4 * v2 - g * s - r * v5 * (v5 * t - 2 * v6));
    expect_matrix(solution.multipliers, -lambda, "(6.12)");  // B4, B5
  }
}

TEST(BlajerDisk, when_in_independent_coordinates_expect_the_printed_equations)
{
  std::cout << "seed " << kSeed << std::endl;
  std::mt19937 generator(kSeed);
  for (int trial = 0; trial < kStates; ++trial)
  {
    DiskCase disk("blajer_disk_coordinates", generator);
    const auto [m, r, J, g] = disk.disk;
    const VectorXd q = disk.random(5, 3.0), u = disk.random(5, 3.0);
    disk.solve(q, u);
    const double sp = std::sin(q(2)), cp = std::cos(q(2)), s = std::sin(q(3)), c = std::cos(q(3));
    const double phd = u(2), thd = u(3), psd = u(4);

    MatrixXd Md(5, 5), C(2, 5), D(3, 5);
    Md << m, 0, -m * r * s * cp, -m * r * c * sp, 0,    // (6.17)
      0, m, -m * r * s * sp, m * r * c * cp, 0,         //
      0, 0, (m * r * r + J) * s * s + J, 0, 2 * J * s,  //
      0, 0, 0, m * r * r + J, 0,                        //
      0, 0, 0, 0, 2 * J;
    const MatrixXd symmetric = Md.selfadjointView<Eigen::Upper>();
    VectorXd h(5), c0(2);
    h << -m * r * ((phd * phd + thd * thd) * s * sp - 2 * phd * thd * c * cp),
      m * r * ((phd * phd + thd * thd) * s * cp + 2 * phd * thd * c * sp),
      -2 * (m * r * r + J) * phd * thd * s * c - 2 * J * psd * thd * c,
      (m * r * r - J) * phd * phd * s * c + 2 * J * phd * (psd + phd * s) * c + m * g * r * s,
      -2 * J * phd * thd * c;                                      // (6.18), B6
    C << 1, 0, 0, 0, r * cp, 0, 1, 0, 0, r * sp;                   // (6.22)
    c0 << -r * phd * psd * sp, r * phd * psd * cp;                 // (6.23)
    D << 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -r * cp, -r * sp, 0, 0, 1;  // (6.24)
    expect_matrix(disk.Q(), symmetric, "M_d");
    expect_matrix(disk.P(), h, "h_u*");
    expect_matrix(disk.rows().jacobian, C, "C");
    expect_matrix(disk.rows().bias, -c0, "b");
    expect_matrix(complement_of(disk), D, "D");
  }
}

TEST(BlajerDisk, when_only_the_height_is_held_expect_the_printed_reaction)
{
  std::cout << "seed " << kSeed << std::endl;
  std::mt19937 generator(kSeed);
  for (int trial = 0; trial < kStates; ++trial)
  {
    DiskCase disk(
      "blajer_disk", generator,
      {"formulation=projection", "observe={}",
       "constraints=[{name: height, type: formula, level: position, rows: [zP]}]"});
    const auto [m, r, J, g] = disk.disk;
    VectorXd q = disk.random(6, 3.0);
    q(2) = 0.0;
    q(4) = disk.in(-1.3, 1.3);
    const VectorXd rates = disk.random(6, 3.0);
    // v = B ẋ with dzP = 0 (6.3).
    const double sp = std::sin(q(3)), cp = std::cos(q(3)), s = std::sin(q(4)), c = std::cos(q(4));
    const double phd = rates(3), thd = rates(4), psd = rates(5);
    VectorXd v(6);
    v << rates(0) * cp + rates(1) * sp - r * phd * s, (-rates(0) * sp + rates(1) * cp) * s,
      (rates(0) * sp - rates(1) * cp) * c - r * thd, -thd, phd * c, phd * s + psd;
    disk.solve(q, v);
    EXPECT_LE(std::abs(disk.rows().velocity(0)), 1e-13);
    MatrixXd C(1, 6);
    C << 0, c, s, -r * s, 0, 0;
    expect_matrix(disk.rows().jacobian, C, "(6.15)");
    EXPECT_NEAR(disk.rows().bias(0), -thd * (rates(0) * sp - rates(1) * cp), 1e-12) << "(6.16)";
    const double lambda = m * J / (J + m * r * r * s * s) *
                          (g - r * thd * thd * c - r * phd * s * c * (phd * s + 2 * psd));
    EXPECT_NEAR(
      disk.workspace.solution().multipliers(0), lambda, 1e-12 * std::max(1.0, std::abs(lambda)))
      << "(6.19), B7";
  }
}

TEST(BlajerDisk, when_in_independent_quasi_velocities_expect_the_printed_equations)
{
  std::cout << "seed " << kSeed << std::endl;
  std::mt19937 generator(kSeed);
  for (int trial = 0; trial < kStates; ++trial)
  {
    DiskCase disk("blajer_disk_speeds", generator);
    const auto [m, r, J, g] = disk.disk;
    const VectorXd q = disk.random(5, 3.0);
    VectorXd u = VectorXd::Zero(5);  // no slip
    u.head(3) = disk.random(3, 3.0);
    disk.solve(q, u);
    const double s = std::sin(q(3)), c = std::cos(q(3));
    const double w1 = u(0), w2 = u(1), w3 = u(2);
    const double a = m * r * r + J, b = m * r * r + 2 * J;

    MatrixXd Mw(3, 3);
    VectorXd h(3);
    Mw << a * s * s + J, 0, b * s, 0, a, 0, b * s, 0, b;  // (6.27), B8
    h << -2 * w2 * c * (a * w1 * s + J * w3), a * w1 * w1 * s * c + b * w1 * w3 * c + m * g * r * s,
      -2 * a * w1 * w2 * c;  // (6.28), B9 to B11
    const MatrixXd N = complement_of(disk);
    expect_matrix(N * disk.Q() * N.transpose(), Mw, "M_w");
    expect_matrix(N * disk.P(), h, "h_w*");
    const Solution & solution = disk.workspace.solution();
    expect_matrix(Mw * solution.acceleration.head(3), h, "(6.26)");
    // (6.29), B17: q̇ = Dᵀ w with D of (6.24).
    VectorXd rates(5);
    rates << -r * std::cos(q(2)) * w3, -r * std::sin(q(2)) * w3, w1, w2, w3;
    expect_matrix(disk.workspace.terms().rates, rates, "(6.29)");
  }
}

TEST(BlajerDisk, when_set_up_in_three_ways_expect_one_motion_and_one_contact_force)
{
  const std::vector<double> times = {0.0, 0.5, 1.0, 2.0, 4.0};
  const auto full = run_to(load_scenario("blajer_disk", accurately()), times);
  const auto qr = run_to(
    load_scenario("blajer_disk", accurately() + std::vector<std::string>{"formulation=projection"}),
    times);
  double worst = 0.0;
  for (const char * name : {"blajer_disk_coordinates", "blajer_disk_speeds"})
  {
    SCOPED_TRACE(name);
    const auto run = run_to(load_scenario(name, accurately()), times);
    for (std::size_t i = 0; i < times.size(); ++i)
    {
      SCOPED_TRACE("at " + std::to_string(times[i]) + " s");
      VectorXd q(5), rates(5);
      q << full[i].q.head(2), full[i].q.tail(3);
      rates << full[i].rates.head(2), full[i].rates.tail(3);
      expect_close(run[i].q, q, 1e-9, "q");
      expect_close(run[i].rates, rates, 1e-9, "rates");
      expect_close(run[i].energy, full[i].energy, 1e-10, "energy");
      for (const char * force : {"force_along", "force_lateral"})
      {
        expect_close(run[i].observed(force), full[i].observed(force), 1e-8, force);
      }
      worst = std::max(worst, (run[i].q - q).cwiseAbs().maxCoeff());
      expect_workless(run[i]);
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i)
  {
    expect_close(full[i].q, qr[i].q, 1e-9, "q with a complement from a QR");
    expect_close(full[i].multipliers, qr[i].multipliers, 1e-8, "reactions");
  }
  std::cout << "  largest difference of a coordinate " << worst << std::endl;
}

}  // namespace
}  // namespace constrained_dynamics::test
