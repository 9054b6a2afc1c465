// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The rattleback (benchmark 18): a rolling ellipsoid against the Newton-Euler equations about its
// contact point, written out here; energy, and reversals of the spin.

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>
#include <Eigen/Geometry>

#include "support/recorded_run.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// Newton and Euler for a body that rolls without slip, in axes of the body: μ is the downward
/// vertical, ω the angular velocity, r from the contact point to the centre of mass,
///     (I − m [r]×²) ω̇ = −ω × I ω − m r × (ω × ṙ + ω × (ω × r) − g μ),   μ̇ = μ × ω.
/// The contact stays, so that v = ω × r at every instant.
class RollingEllipsoid
{
public:
  struct State
  {
    Vector3d mu, omega;
  };

  State rate(const State & s) const
  {
    const Vector3d mu_dot = s.mu.cross(s.omega);
    const Vector3d r = arm(s.mu);
    const Vector3d r_dot = arm_rate(s.mu, mu_dot);
    Matrix3d cross;
    cross << 0, -r.z(), r.y(), r.z(), 0, -r.x(), -r.y(), r.x(), 0;
    const Matrix3d about_contact = inertia - mass * cross * cross;
    const Vector3d right =
      -s.omega.cross(inertia * s.omega) -
      mass * r.cross(s.omega.cross(r_dot) + s.omega.cross(s.omega.cross(r)) - gravity * s.mu);
    return {mu_dot, about_contact.ldlt().solve(right)};
  }

  /// Contact force on the body, in axes of the body.
  Vector3d contact_force(const State & s) const
  {
    const State d = rate(s);
    const Vector3d r = arm(s.mu);
    const Vector3d acceleration =
      d.omega.cross(r) + s.omega.cross(arm_rate(s.mu, d.mu)) + s.omega.cross(s.omega.cross(r));
    return mass * (acceleration - gravity * s.mu);
  }

  double energy(const State & s) const
  {
    const Vector3d r = arm(s.mu);
    return 0.5 * mass * s.omega.cross(r).squaredNorm() + 0.5 * s.omega.dot(inertia * s.omega) -
           mass * gravity * r.dot(s.mu);
  }

  State step(const State & s, double h) const
  {
    const auto ahead = [&](const State & k, double f) {
      return State{s.mu + f * k.mu, s.omega + f * k.omega};
    };
    const State k1 = rate(s), k2 = rate(ahead(k1, h / 2)), k3 = rate(ahead(k2, h / 2)),
                k4 = rate(ahead(k3, h));
    State next;
    next.mu = (s.mu + h / 6 * (k1.mu + 2 * k2.mu + 2 * k3.mu + k4.mu)).normalized();
    next.omega = s.omega + h / 6 * (k1.omega + 2 * k2.omega + 2 * k3.omega + k4.omega);
    return next;
  }

  // Kane and Levinson's parameters.
  const Vector3d semi_axes{0.2, 0.03, 0.02};
  const Vector3d centre{0.0, 0.0, 0.01};
  const double mass = 1.0;
  const double gravity = 9.81;
  const Matrix3d inertia =
    (Matrix3d() << 0.0002, -0.00002, 0, -0.00002, 0.0016, 0, 0, 0, 0.0017).finished();

private:
  // The point of the ellipsoid with outward normal μ is S² μ/|S μ|.
  Vector3d arm(const Vector3d & mu) const
  {
    return centre - semi_axes.cwiseAbs2().cwiseProduct(mu) / semi_axes.cwiseProduct(mu).norm();
  }

  Vector3d arm_rate(const Vector3d & mu, const Vector3d & mu_dot) const
  {
    const Vector3d squares = semi_axes.cwiseAbs2();
    const double size = semi_axes.cwiseProduct(mu).norm();
    const double size_rate = squares.cwiseProduct(mu).dot(mu_dot) / size;
    return -squares.cwiseProduct(mu_dot) / size +
           squares.cwiseProduct(mu) * size_rate / (size * size);
  }
};

TEST(Rattleback, when_at_random_states_expect_accelerations_and_force_of_newton_and_euler)
{
  constexpr unsigned kSeed = 18;
  std::cout << "seed " << kSeed << std::endl;
  std::mt19937 generator(kSeed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  const auto random = [&] { return Vector3d(unit(generator), unit(generator), unit(generator)); };
  const RollingEllipsoid body;
  const Scenario scenario = repository_scenario("rattleback");
  const Dynamics & dynamics = *scenario.dynamics();
  Workspace workspace(dynamics, scenario.initial());
  for (int trial = 0; trial < 200; ++trial)
  {
    const Eigen::Quaterniond orientation =
      Eigen::Quaterniond(unit(generator), unit(generator), unit(generator), unit(generator))
        .normalized();
    const Matrix3d R = orientation.toRotationMatrix();
    const RollingEllipsoid::State state{R.transpose().col(2), 5.0 * random()};
    // Centre of the ellipsoid, with the contact point at the height 0 and at rest.
    const Vector3d x = body.semi_axes.cwiseAbs2().cwiseProduct(state.mu) /
                       body.semi_axes.cwiseProduct(state.mu).norm();
    const Vector3d position(unit(generator), unit(generator), -(R * x).z());
    VectorXd q(7), u(6);
    q << position, orientation.coeffs();
    u << state.omega.cross(-x), state.omega;
    ASSERT_EQ(
      dynamics.solve(0.0, q, u, VectorXd::Zero(dynamics.system().input_count()), workspace),
      Status::kOk);
    ASSERT_LE(workspace.rows().position.cwiseAbs().maxCoeff(), 1e-15);
    ASSERT_LE(workspace.rows().velocity.cwiseAbs().maxCoeff(), 1e-14);
    const RollingEllipsoid::State expected = body.rate(state);
    const Solution & solution = workspace.solution();
    const Vector3d found = solution.acceleration.tail<3>();
    EXPECT_LE((found - expected.omega).norm(), 1e-11 * std::max(1.0, expected.omega.norm()));
    const Vector3d force = R * body.contact_force(state);
    EXPECT_LE(
      (solution.wrenches[0].on_a.force - force).norm(), 1e-11 * std::max(1.0, force.norm()));
    // "normal" is upwards, along −z.
    EXPECT_NEAR(solution.multipliers(0), -force.z(), 1e-11 * std::max(1.0, force.norm()));
  }
}

TEST(Rattleback, when_spun_the_wrong_way_expect_reversals_as_by_newton_and_euler)
{
  constexpr double kUntil = 20.0;
  const RecordedRun run = record(
    repository_scenario(
      "rattleback", {"run.absolute_tolerance=1e-10", "run.relative_tolerance=1e-10"}),
    kUntil, 0.01);
  EXPECT_TRUE(run.result.completed);
  EXPECT_EQ(run.result.singular_evaluations, 0);
  EXPECT_LE(run.position_violation, 1e-12);
  EXPECT_LE(run.velocity_violation, 1e-12);
  EXPECT_LE(run.constraint_power, 1e-12);
  EXPECT_LE(run.energy_change, 1e-8 * run.samples[0].energy);

  const RollingEllipsoid body;
  constexpr double kAngle = 0.5 * M_PI / 180.0;
  RollingEllipsoid::State state{
    Vector3d(
      -std::cos(kAngle) * std::sin(kAngle), std::sin(kAngle), std::cos(kAngle) * std::cos(kAngle)),
    Vector3d(0, 0, -5)};
  const double energy = body.energy(state);
  EXPECT_NEAR(run.samples[0].energy, energy, 1e-13);
  constexpr int kSubsteps = 100;
  double difference = 0.0;  // until past the first reversal
  double later = 0.0;
  double change = 0.0;
  for (const Sample & sample : run.samples)
  {
    const double spin = state.omega.dot(state.mu);
    double & worst = sample.time <= 3.0 ? difference : later;
    worst = std::max(worst, std::abs(run.observe(sample, "spin") - spin));
    change = std::max(change, std::abs(body.energy(state) - energy));
    for (int i = 0; i < kSubsteps; ++i)
    {
      state = body.step(state, 0.01 / kSubsteps);
    }
  }
  std::cout << "  the spin differs by " << difference << " rad/s until 3 s, by " << later
            << " rad/s later; the twin's energy changes by " << change << " J" << std::endl;
  EXPECT_LE(difference, 1e-6);
  EXPECT_LE(later, 1e-5);

  // Between rattling and spin: the mean over half a second reverses twice.
  std::vector<double> reversals;
  constexpr std::size_t kHalf = 25;
  double last = 0.0;
  for (std::size_t i = kHalf; i + kHalf < run.samples.size(); ++i)
  {
    double mean = 0.0;
    for (std::size_t j = i - kHalf; j <= i + kHalf; ++j)
    {
      mean += run.observe(run.samples[j], "spin") / (2 * kHalf + 1);
    }
    if (last * mean < 0.0)
    {
      reversals.push_back(run.samples[i].time);
    }
    last = mean;
  }
  for (const double time : reversals)
  {
    std::cout << "  the spin reverses at " << time << " s" << std::endl;
  }
  ASSERT_EQ(reversals.size(), 2u);
  EXPECT_NEAR(reversals[0], 2.8, 0.1);
  EXPECT_NEAR(reversals[1], 17.4, 0.2);
  EXPECT_GT(run.observe(7.0, "spin"), 5.0);
  // It lifts off nowhere.
  for (const Sample & sample : run.samples)
  {
    EXPECT_GT(run.observe(sample, "normal_force"), 0.0);
  }
}

TEST(Rattleback, when_inertia_is_not_skew_expect_no_reversal)
{
  const RecordedRun run = record(repository_scenario("rattleback", {"D=0"}), 5.0, 0.02);
  for (const Sample & sample : run.samples)
  {
    EXPECT_LT(run.observe(sample, "spin"), -4.0);
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
