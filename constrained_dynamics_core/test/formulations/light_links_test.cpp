// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Chains of links of which many have no mass, against their equations of motion with 50 digits:
// what is not singular_inertia must be right.

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using Real = boost::multiprecision::number<
  boost::multiprecision::cpp_bin_float_50::backend_type, boost::multiprecision::et_off>;
using Vector = std::array<Real, 3>;
using Matrix = std::array<Vector, 3>;  // its columns
using Table = std::vector<std::vector<Real>>;

const double kRight = std::acos(0.0);

// [1] An answer: two digits. The status must be singular_inertia where round-off leaves less.
constexpr double kTwoDigits = 1e-2;

Vector operator+(const Vector & a, const Vector & b)
{
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
Vector operator-(const Vector & a, const Vector & b)
{
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Vector operator*(const Matrix & A, const Vector & x)
{
  Vector y{};
  for (std::size_t i = 0; i < 3; ++i)
  {
    y[i] = A[0][i] * x[0] + A[1][i] * x[1] + A[2][i] * x[2];
  }
  return y;
}
Matrix operator*(const Matrix & A, const Matrix & B) { return {A * B[0], A * B[1], A * B[2]}; }
Real dot(const Vector & a, const Vector & b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector & a, const Vector & b)
{
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The turn by an angle about axis 0, 1 or 2.
Matrix turn(std::size_t axis, const Real & angle)
{
  Matrix R{};
  const std::size_t j = (axis + 1) % 3;
  const std::size_t k = (axis + 2) % 3;
  R[axis][axis] = 1;
  R[j][j] = R[k][k] = cos(angle);
  R[j][k] = sin(angle);
  R[k][j] = -R[j][k];
  return R;
}

struct Link
{
  bool slides = false;
  std::size_t axis = 0;
  std::array<double, 3> at{};  // of its joint in the link before [m]
  double mass = 0.0;
  std::array<double, 3> com{};
  std::array<double, 3> inertia{};
};

struct Chain
{
  std::vector<Link> links;
  std::array<double, 3> base{};  // roll, pitch, yaw
  bool has_row = false;          // the end of the chain stays on a plane
  double length = 1.0;           // unit of length, and of mass
  double mass = 1.0;
};

const std::array<double, 3> kNormal = {1.0, 2.0, -1.0};

std::string urdf(const Chain & chain)
{
  std::ostringstream text;
  text.precision(17);
  const auto triple = [&](const std::array<double, 3> & x, double unit)
  { text << "'" << unit * x[0] << " " << unit * x[1] << " " << unit * x[2] << "'"; };
  text << "<robot name='r'><link name='l0'/>";
  for (std::size_t i = 0; i < chain.links.size(); ++i)
  {
    const Link & link = chain.links[i];
    const double moment = chain.mass * chain.length * chain.length;
    text << "<link name='l" << i + 1 << "'>";
    if (link.mass > 0.0)
    {
      text << "<inertial><origin xyz=";
      triple(link.com, chain.length);
      text << "/><mass value='" << chain.mass * link.mass << "'/><inertia ixx='"
           << moment * link.inertia[0] << "' iyy='" << moment * link.inertia[1] << "' izz='"
           << moment * link.inertia[2] << "' ixy='0' ixz='0' iyz='0'/></inertial>";
    }
    text << "</link><joint name='j" << i << "' type='" << (link.slides ? "prismatic" : "continuous")
         << "'><origin xyz=";
    triple(link.at, chain.length);
    text << "/><axis xyz='"
         << (link.axis == 0   ? "1 0 0"
             : link.axis == 1 ? "0 1 0"
                              : "0 0 1")
         << "'/><parent link='l" << i << "'/><child link='l" << i + 1
         << "'/><limit lower='-9' upper='9' effort='1' velocity='9'/></joint>";
  }
  text << "</robot>";
  return text.str();
}

/// Equations of motion at rest: [Q −Aᵀ; A 0] (u̇, λ) = (τ + gravity, 0).
struct Equations
{
  Table matrix;
  std::vector<Real> right;
  Real row = 0;  // the largest element of A
};

Equations equations_of(const Chain & chain, const Eigen::VectorXd & q, const Eigen::VectorXd & tau)
{
  const std::size_t n = chain.links.size();
  const std::size_t size = n + (chain.has_row ? 1 : 0);
  Equations result{Table(size, std::vector<Real>(size)), std::vector<Real>(size), 0};
  Matrix R = turn(2, chain.base[2]) * turn(1, chain.base[1]) * turn(0, chain.base[0]);
  Vector p{};
  std::vector<Vector> axes;
  std::vector<Vector> points;
  const auto velocity = [&](std::size_t j, const Vector & x)
  { return chain.links[j].slides ? axes[j] : cross(axes[j], x - points[j]); };
  for (std::size_t i = 0; i < n; ++i)
  {
    const Link & link = chain.links[i];
    const auto scaled = [&](const std::array<double, 3> & x) {
      return Vector{chain.length * x[0], chain.length * x[1], chain.length * x[2]};
    };
    const Real angle = q(static_cast<Eigen::Index>(i));
    p = p + R * scaled(link.at);
    axes.push_back(R[link.axis]);
    points.push_back(p);
    Vector way{};
    way[link.axis] = link.slides ? angle : Real(0);
    p = p + R * way;
    R = link.slides ? R : R * turn(link.axis, angle);
    result.right[i] += tau(static_cast<Eigen::Index>(i));
    const Real mass = chain.mass * link.mass;
    const Vector com = p + R * scaled(link.com);
    for (std::size_t j = 0; j <= i; ++j)
    {
      const Vector v = velocity(j, com);
      result.right[j] += mass * v[2] * Real(-9.81);
      for (std::size_t k = 0; k <= i; ++k)
      {
        Real sum = mass * dot(v, velocity(k, com));
        for (std::size_t a = 0; a < 3 && !chain.links[j].slides && !chain.links[k].slides; ++a)
        {
          sum += Real(chain.mass * chain.length * chain.length * link.inertia[a]) *
                 dot(axes[j], R[a]) * dot(axes[k], R[a]);
        }
        result.matrix[j][k] += sum;
      }
    }
  }
  result.row = 0;
  for (std::size_t j = 0; j < n && chain.has_row; ++j)
  {
    const Real entry = dot({kNormal[0], kNormal[1], kNormal[2]}, velocity(j, p));
    result.matrix[j][n] = -entry;
    result.matrix[n][j] = entry;
    result.row = std::max<Real>(result.row, abs(entry));
  }
  return result;
}

/// The solution, or nothing where the matrix is singular, by elimination with complete pivoting.
std::vector<Real> solve(Equations equations)
{
  Table & M = equations.matrix;
  std::vector<Real> & b = equations.right;
  const std::size_t n = b.size();
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    order[i] = i;
  }
  for (std::size_t k = 0; k < n; ++k)
  {
    std::size_t row = k;
    std::size_t column = k;
    for (std::size_t i = k; i < n; ++i)
    {
      for (std::size_t j = k; j < n; ++j)
      {
        if (abs(M[i][j]) > abs(M[row][column]))
        {
          row = i;
          column = j;
        }
      }
    }
    if (abs(M[row][column]) < Real("1e-38"))
    {
      return {};
    }
    std::swap(M[row], M[k]);
    std::swap(b[row], b[k]);
    std::swap(order[column], order[k]);
    for (std::vector<Real> & line : M)
    {
      std::swap(line[column], line[k]);
    }
    for (std::size_t i = k + 1; i < n; ++i)
    {
      const Real factor = M[i][k] / M[k][k];
      for (std::size_t j = k; j < n; ++j)
      {
        M[i][j] -= factor * M[k][j];
      }
      b[i] -= factor * b[k];
    }
  }
  std::vector<Real> x(n);
  for (std::size_t k = n; k-- > 0;)
  {
    Real sum = b[k];
    for (std::size_t j = k + 1; j < n; ++j)
    {
      sum -= M[k][j] * x[order[j]];
    }
    x[order[k]] = sum / M[k][k];
  }
  return x;
}

/// The error of all accelerations, relative to their size.
double error_of(const Eigen::VectorXd & found, const std::vector<Real> & exact)
{
  Real error = 0;
  Real size = 0;
  for (Eigen::Index i = 0; i < found.size(); ++i)
  {
    const Real & x = exact[static_cast<std::size_t>(i)];
    error += (Real(found(i)) - x) * (Real(found(i)) - x);
    size += x * x;
  }
  return static_cast<double>(sqrt(error / size));
}

struct Outcome
{
  std::string id;
  Status status = Status::kOk;
  double error = 0.0;
  bool along_tree = false;
};

/// The chain with each of the formulations.
class Bench
{
public:
  Bench(const Chain & chain, const Eigen::VectorXd & regular) : chain_(chain)
  {
    RobotDescription robot;
    robot.text = urdf(chain);
    robot.allow_light_links = true;
    robot.pose.rpy = Eigen::Vector3d(chain.base[0], chain.base[1], chain.base[2]);
    SceneDescription scene;
    scene.robots = {robot};
    auto system = std::make_shared<RigidBodySystem>(scene);
    std::vector<std::shared_ptr<const Constraint>> rows;
    if (chain.has_row)
    {
      rows.push_back(std::make_shared<PointOnPlane>(
        "plane", *system, "l" + std::to_string(chain.links.size()), "world",
        Eigen::Vector3d(kNormal[0], kNormal[1], kNormal[2]), 0.0));
    }
    const State state{0.0, regular, Eigen::VectorXd::Zero(regular.size())};
    DynamicsOptions options;
    options.stabilisation = Stabilisation::none();
    for (const std::string & id : formulation_names())
    {
      ids_.push_back(id);
      dynamics_.push_back(
        std::make_unique<Dynamics>(ConstraintSet(system, rows), options, make_formulation(id)));
      workspaces_.push_back(std::make_unique<Workspace>(*dynamics_.back(), state));
    }
  }

  std::vector<Outcome> solve(const Eigen::VectorXd & q, const Eigen::VectorXd & tau)
  {
    const std::vector<Real> exact = constrained_dynamics::solve(equations_of(chain_, q, tau));
    std::vector<Outcome> results;
    const Eigen::VectorXd u = Eigen::VectorXd::Zero(q.size());
    for (std::size_t i = 0; i < ids_.size(); ++i)
    {
      Outcome outcome;
      outcome.id = ids_[i];
      outcome.status = dynamics_[i]->solve(0.0, q, u, tau, *workspaces_[i]);
      if (has_output(outcome.status))
      {
        const Solution & solution = workspaces_[i]->solution();
        outcome.along_tree = solution.along_tree;
        outcome.error = exact.empty() ? std::numeric_limits<double>::infinity()
                                      : error_of(solution.acceleration, exact);
      }
      results.push_back(outcome);
    }
    return results;
  }

private:
  Chain chain_;
  std::vector<std::string> ids_;
  std::vector<std::unique_ptr<Dynamics>> dynamics_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
};

/// What is not refused is right; returns how many are.
int expect_right(const std::vector<Outcome> & outcomes, const std::string & what)
{
  int right = 0;
  for (const Outcome & outcome : outcomes)
  {
    if (outcome.status == Status::kOk)
    {
      EXPECT_LE(outcome.error, kTwoDigits) << outcome.id << " " << what;
      ++right;
    }
  }
  return right;
}

/// A body that three joints without mass between them hold.
Chain gimbal(std::size_t first, std::size_t second)
{
  Chain chain;
  chain.links.resize(3);
  chain.links[0].axis = chain.links[2].axis = first;
  chain.links[1].axis = second;
  chain.links[2].mass = 1.3;
  chain.links[2].com = {0.05, -0.1, 0.2};
  chain.links[2].inertia = {0.02, 0.03, 0.04};
  return chain;
}

TEST(LightLinks, when_axes_of_a_gimbal_are_nearly_in_line_expect_digits_or_singular_inertia)
{
  const Eigen::Vector3d tau(0.5, -0.3, 0.2);
  for (std::size_t first = 0; first < 3; ++first)
  {
    for (const std::size_t second : {(first + 1) % 3, (first + 2) % 3})
    {
      for (const bool is_turned : {false, true})
      {
        Chain chain = gimbal(first, second);
        chain.base = is_turned ? std::array{0.3, -0.4, 0.7} : std::array{0.0, 0.0, 0.0};
        chain.length = is_turned ? 1e-3 : 1.0;
        chain.mass = is_turned ? 1e2 : 1.0;
        Bench bench(chain, Eigen::Vector3d(0.4, 0.9, -0.8));
        for (double angle = 1e-2; angle > 1e-16; angle /= 2.0)
        {
          const auto outcomes = bench.solve(Eigen::Vector3d(0.4, angle, -0.8), tau);
          const int right = expect_right(outcomes, "angle " + std::to_string(angle));
          if (angle > 2e-6)
          {
            EXPECT_EQ(right, static_cast<int>(outcomes.size())) << angle;
            EXPECT_TRUE(outcomes[0].along_tree) << angle;
          }
          EXPECT_TRUE(angle > 1e-7 || right == 0) << angle;
        }
      }
    }
  }
}

// Round-off that one gimbal close to its line leaves must not look like inertia to the next.
TEST(LightLinks, when_gimbals_follow_each_other_expect_no_inertia_between_them)
{
  for (const double angle : {0.5, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6})
  {
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      for (const double distance : {0.0, 0.3})
      {
        // The second gimbal can turn the link between both about itself, which has no mass.
        Chain chain = gimbal(2, 0);
        Chain outer = gimbal(axis, (axis + 1) % 3);
        outer.links[2].mass = 0.0;
        chain.links[0].at = {0.0, distance, 0.0};
        chain.links.insert(chain.links.begin(), outer.links.begin(), outer.links.end());
        Eigen::VectorXd q(6);
        q << 0.3, angle, 0.7, 0.4, angle, -0.8;
        Bench bench(chain, q);
        const auto outcomes = bench.solve(q, Eigen::VectorXd::LinSpaced(6, -0.5, 0.5));
        EXPECT_EQ(expect_right(outcomes, std::to_string(angle)), 0) << angle << " " << distance;
      }
    }
  }
}

TEST(LightLinks, when_chains_are_drawn_at_random_expect_digits_or_singular_inertia)
{
  test::Random random(41);
  int right = 0;
  const int trials = test::in_campaign() ? 100000 : 1500;
  for (int trial = 0; trial < trials; ++trial)
  {
    Chain chain;
    const int n = random.integer(2, 8);
    chain.links.resize(static_cast<std::size_t>(n));
    chain.has_row = random.integer(0, 3) == 0;
    for (double & angle : chain.base)
    {
      angle = random.integer(0, 1) * random.number();
    }
    chain.length = random.integer(0, 1) == 0 ? 1.0 : 1e-3;
    chain.mass = random.integer(0, 1) == 0 ? 1.0 : 1e2;
    Eigen::VectorXd q(n);
    Eigen::VectorXd regular(n);
    Eigen::VectorXd tau(n);
    for (int i = 0; i < n; ++i)
    {
      Link & link = chain.links[static_cast<std::size_t>(i)];
      link.slides = random.integer(0, 4) == 0;
      link.axis = static_cast<std::size_t>(random.integer(0, 2));
      for (double & x : link.at)
      {
        x = 0.3 * random.integer(-1, 1);
      }
      if (i == n - 1 || random.integer(0, 3) == 0)
      {
        link.mass = 1.3;
        link.inertia = {0.02, 0.03, 0.04};
        for (double & x : link.com)
        {
          x = 0.1 * random.integer(0, 1) * random.number();
        }
      }
      // Mostly close to right angles, where axes are in line.
      const double beside = std::pow(10.0, random.between(-15.0, -2.0));
      q(i) =
        kRight * random.integer(-1, 2) + (random.integer(0, 2) == 0 ? random.number() : beside);
      regular(i) = random.number();
      tau(i) = random.number() * chain.mass * chain.length;
    }
    const Real row = equations_of(chain, q, tau).row;
    chain.has_row = chain.has_row && row > 1e-3 * chain.length;
    Bench bench(chain, regular);
    right += expect_right(bench.solve(q, tau), "trial " + std::to_string(trial));
  }
  EXPECT_GT(right, 2 * trials);
}

// The cross of a universal joint may be without mass; that costs neither digits nor the tree.
TEST(LightLinks, when_a_rope_has_massless_crosses_expect_all_along_the_tree)
{
  test::Random random(42);
  Chain rope;
  const int links = 12;
  for (int i = 0; i < links; ++i)
  {
    Link cross;
    cross.axis = 0;
    cross.at = {0.0, 0.0, i == 0 ? 0.0 : -0.1};
    Link link;
    link.axis = 1;
    link.mass = 0.02;
    link.com = {0.0, 0.0, -0.05};
    link.inertia = {2e-5, 2e-5, 1e-7};
    rope.links.push_back(cross);
    rope.links.push_back(link);
  }
  rope.links.back().mass = 50.0;
  rope.links.back().inertia = {1.0, 1.0, 0.5};
  const Eigen::Index n = 2 * links;
  Bench bench(rope, 0.1 * random.vector(n));
  for (int i = 0; i < 20; ++i)
  {
    const auto outcomes = bench.solve(0.3 * random.vector(n), 0.1 * random.vector(n));
    for (const Outcome & outcome : outcomes)
    {
      EXPECT_EQ(outcome.status, Status::kOk) << outcome.id;
      EXPECT_LE(outcome.error, 1e-7) << outcome.id;
    }
    EXPECT_TRUE(outcomes[0].along_tree);
  }
}

}  // namespace
}  // namespace constrained_dynamics
