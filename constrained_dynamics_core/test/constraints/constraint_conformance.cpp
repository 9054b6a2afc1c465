// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraints/constraint_conformance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

namespace
{

// Central differences with step h of smooth functions of size 1: truncation h² and rounding ε/h.
constexpr double kStep = 1e-5;
constexpr double kFirstTolerance = 1e-7;   // of A and φ̇
constexpr double kSecondTolerance = 1e-6;  // of b, relative
constexpr double kRounding = 1e-11;        // sums of some ten products of size 1 to 10
constexpr int kStates = 10;

struct JointText
{
  std::string type;
  std::string axis;
  std::string xyz;
  std::string rpy;
};

std::string inertial()
{
  return "<inertial><origin xyz='0.1 0.05 -0.02'/><mass value='1.5'/>"
         "<inertia ixx='0.03' iyy='0.04' izz='0.05' ixy='0.001' ixz='0.002' iyz='-0.001'/>"
         "</inertial>";
}

/// A serial chain link0, j1, link1, j2, … ; the root gets an inertia if it moves.
std::string chain_urdf(const std::vector<JointText> & joints, bool massive_root)
{
  std::string text = "<robot name='chain'><link name='link0'>" +
                     (massive_root ? inertial() : std::string()) + "</link>";
  for (std::size_t i = 0; i < joints.size(); ++i)
  {
    const std::string child = std::to_string(i + 1);
    const JointText & joint = joints[i];
    text += "<link name='link" + child + "'>" + inertial() + "</link>";
    text += "<joint name='j" + child + "' type='" + joint.type + "'><parent link='link" +
            std::to_string(i) + "'/><child link='link" + child + "'/><origin xyz='" + joint.xyz +
            "' rpy='" + joint.rpy + "'/><axis xyz='" + joint.axis +
            "'/><limit lower='-10' upper='10' effort='100' velocity='10'/></joint>";
  }
  return text + "</robot>";
}

Pose pose(double x, double y, double z, double roll, double pitch, double yaw)
{
  Pose result;
  result.xyz = {x, y, z};
  result.rpy = {roll, pitch, yaw};
  return result;
}

SceneDescription scene_with_frames(const std::string & body_a, const std::string & body_b)
{
  SceneDescription scene;
  scene.frames = {
    {"frame_a", body_a, pose(0.4, -0.1, 0.2, 0.3, -0.5, 0.7)},
    {"frame_b", body_b, pose(-0.2, 0.3, 0.1, -0.4, 0.2, 1.1)},
    {"fixed", "world", pose(0.5, -0.4, 0.3, 0.9, 0.4, -0.6)}};
  return scene;
}

SceneDescription chain_scene(
  const std::vector<JointText> & joints, const std::string & body_a, const std::string & body_b,
  Base base = Base::kFixed)
{
  SceneDescription scene = scene_with_frames(body_a, body_b);
  RobotDescription chain;
  chain.name = "mobile";
  chain.base = base;
  chain.text = chain_urdf(joints, base != Base::kFixed);
  scene.robots.push_back(chain);
  return scene;
}

SceneDescription two_bodies_scene()
{
  SceneDescription scene = scene_with_frames("left", "right");
  for (const char * name : {"left", "right"})
  {
    FreeBody body;
    body.name = name;
    body.mass = 2.0;
    body.com = {0.1, -0.05, 0.02};
    body.inertia = Eigen::Vector3d(0.1, 0.12, 0.15).asDiagonal();
    scene.bodies.push_back(body);
  }
  return scene;
}

std::vector<NamedSystem> make_robots()
{
  const JointText z{"revolute", "0 0 1", "0.5 0 0", "0 0 0"};
  const JointText y{"revolute", "0 1 0", "0 0 0.4", "0 0 0"};
  const JointText skew{"revolute", "0.6 0 0.8", "0.1 0.3 0.2", "0.4 -0.3 0.8"};
  const JointText slide{"prismatic", "0 0.8 0.6", "0.2 0 0.1", "-0.5 0.1 0.3"};
  const JointText wheel{"continuous", "0 1 0", "0.1 0.3 0", "0 0 0"};
  const auto build = [](const SceneDescription & scene)
  { return std::make_shared<const RigidBodySystem>(scene); };
  return {
    {"planar_2r", build(chain_scene({z, z}, "link2", "link1"))},
    {"planar_3r", build(chain_scene({y, y, y}, "link3", "link1"))},
    {"arm_6", build(chain_scene({z, y, skew, slide, skew, y}, "link6", "link2"))},
    {"two_bodies", build(two_bodies_scene())},
    {"mobile", build(chain_scene({z, y, wheel}, "link3", "link1", Base::kPlanar))}};
}

/// Generalized force of a wrench on the body that `frame` belongs to.
Eigen::VectorXd generalized_force(
  const Evaluation & evaluation, const std::string & frame, const Wrench & wrench)
{
  const System & system = evaluation.system();
  const int index = system.frame_index(frame);
  FrameKinematics motion;
  system.frame_kinematics(evaluation.data(), index, motion);
  Matrix6X jacobian(6, system.speed_count());
  system.frame_jacobian(evaluation.data(), index, jacobian);
  const Eigen::Vector3d torque =
    wrench.torque + (wrench.point - motion.position).cross(wrench.force);
  return jacobian.topRows<3>().transpose() * wrench.force +
         jacobian.bottomRows<3>().transpose() * torque;
}

/// Power of a wrench on the body that `frame` belongs to.
double power(const Evaluation & evaluation, const std::string & frame, const Wrench & wrench)
{
  const System & system = evaluation.system();
  FrameKinematics motion;
  system.frame_kinematics(evaluation.data(), system.frame_index(frame), motion);
  const Eigen::Vector3d velocity =
    motion.velocity + motion.angular_velocity.cross(wrench.point - motion.position);
  return wrench.force.dot(velocity) + wrench.torque.dot(motion.angular_velocity);
}

double largest(const Eigen::MatrixXd & m) { return m.cwiseAbs().maxCoeff(); }

}  // namespace

std::ostream & operator<<(std::ostream & out, const ConformanceCase & c) { return out << c.name; }

std::string case_name(const testing::TestParamInfo<ConformanceCase> & info)
{
  return info.param.name;
}

const std::vector<NamedSystem> & robots()
{
  static const std::vector<NamedSystem> all = make_robots();
  return all;
}

std::shared_ptr<const System> robot(const std::string & name)
{
  for (const NamedSystem & candidate : robots())
  {
    if (candidate.name == name)
    {
      return candidate.system;
    }
  }
  throw std::invalid_argument("no test robot is called " + name);
}

std::shared_ptr<const System> analytic_skate()
{
  AnalyticDescription description;
  description.coordinates = {"x", "y", "theta"};
  description.kinetic = "dx^2 + dy^2 + 0.3*dtheta^2";
  description.speeds = {
    {"v", "dx*cos(theta) + dy*sin(theta)"},
    {"s", "-dx*sin(theta) + dy*cos(theta)"},
    {"w", "dtheta"}};
  return make_analytic_system(description);
}

std::shared_ptr<const System> analytic_rheonomic()
{
  AnalyticDescription description;
  description.coordinates = {"x", "y"};
  description.kinetic = "dx^2 + dy^2";
  description.speeds = {{"u1", "dx - y*cos(t)"}, {"u2", "(2 + sin(x))*dy + dx + t^2"}};
  return make_analytic_system(description);
}

std::shared_ptr<const System> analytic_rotation()
{
  AnalyticFunctions functions;
  functions.coordinates = {"e0", "e1", "e2", "e3"};
  functions.speeds = {"w1", "w2", "w3"};
  functions.rates = [](const Dual &, const Dual * e, const Dual * w, Dual * rate)
  {
    rate[0] = -0.5 * (e[1] * w[0] + e[2] * w[1] + e[3] * w[2]);
    rate[1] = 0.5 * (e[0] * w[0] - e[3] * w[1] + e[2] * w[2]);
    rate[2] = 0.5 * (e[3] * w[0] + e[0] * w[1] - e[1] * w[2]);
    rate[3] = 0.5 * (-e[2] * w[0] + e[1] * w[1] + e[0] * w[2]);
  };
  functions.mass_matrix = [](double, const ConstVectorRef &, MatrixRef out)
  { out = Eigen::Vector3d(1.0, 2.0, 3.0).asDiagonal(); };
  return make_analytic_system(std::move(functions));
}

const std::vector<NamedSystem> & analytic_systems()
{
  static const std::vector<NamedSystem> all{
    {"skate", analytic_skate()},
    {"rheonomic", analytic_rheonomic()},
    {"rotation", analytic_rotation()}};
  return all;
}

std::vector<ConformanceCase> on_robots(const MakeBetweenFrames & make)
{
  std::vector<ConformanceCase> cases;
  for (const NamedSystem & robot : robots())
  {
    for (const char * frame_b : {"frame_b", "fixed", "world"})
    {
      cases.push_back(
        {robot.name + "_" + frame_b, robot.system,
         [make, frame_b](const System & system) { return make(system, "frame_a", frame_b); }});
    }
    cases.push_back({robot.name + "_swapped", robot.system, [make](const System & system) {
                       return make(system, "fixed", "frame_b");
                     }});
  }
  return cases;
}

ConformanceCase on(
  const std::string & name, std::shared_ptr<const System> system,
  std::function<ConstraintPtr(const System &)> make)
{
  return {name, std::move(system), std::move(make)};
}

RowStorage::RowStorage(const Constraint & constraint, double fill)
{
  const Eigen::Index m = constraint.row_count();
  const Eigen::Index n = constraint.system().speed_count();
  position.setConstant(m, fill);
  velocity.setConstant(m, fill);
  jacobian.setConstant(m, n, fill);
  bias.setConstant(m, fill);
}

RowBlock RowStorage::block() { return RowBlock{position, velocity, jacobian, bias}; }

bool RowStorage::operator==(const RowStorage & other) const
{
  return position == other.position && velocity == other.velocity && jacobian == other.jacobian &&
         bias == other.bias;
}

ConstraintScratch make_scratch(const Constraint & constraint)
{
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Eigen::Index n = constraint.system().speed_count();
  ConstraintScratch scratch(n, constraint.scratch_size());
  scratch.jacobian_a.setConstant(kNaN);
  scratch.jacobian_b.setConstant(kNaN);
  scratch.buffer.setConstant(kNaN);
  return scratch;
}

Evaluation::Evaluation(ConstraintPtr constraint)
: constraint_(std::move(constraint)),
  data_(constraint_->system().make_data()),
  scratch_(make_scratch(*constraint_)),
  rows_(*constraint_)
{
}

Status Evaluation::try_at(
  double time, const Eigen::VectorXd & q, const Eigen::VectorXd & u, RowStorage & rows)
{
  const Status status = system().update_kinematics(time, q, u, *data_);
  if (status != Status::kOk)
  {
    return status;
  }
  RowBlock block = rows.block();
  return constraint_->evaluate(*data_, scratch_, block);
}

const RowStorage & Evaluation::at(double time, const Eigen::VectorXd & q, const Eigen::VectorXd & u)
{
  const Status status = try_at(time, q, u, rows_);
  EXPECT_EQ(status, Status::kOk) << to_string(status);
  return rows_;
}

std::vector<WrenchPair> Evaluation::wrenches(const Eigen::VectorXd & multipliers)
{
  std::vector<WrenchPair> result(constraint_->wrench_bodies().size());
  constraint_->wrenches(*data_, scratch_, multipliers, result.data());
  return result;
}

TestState random_state(const System & system, unsigned seed)
{
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> angle(-1.5, 1.5);
  std::uniform_real_distribution<double> speed(-1.0, 1.0);
  std::uniform_real_distribution<double> time(0.0, 2.0);
  TestState state;
  state.time = time(generator);
  state.q = system.neutral_coordinates();
  state.u.setZero(system.speed_count());
  for (double & x : state.q)
  {
    x += angle(generator);
  }
  for (double & x : state.u)
  {
    x = speed(generator);
  }
  system.normalise(state.q);
  return state;
}

TestState two_bodies_state(const BodyState & left, const BodyState & right)
{
  TestState state;
  state.q.resize(14);
  state.u.resize(12);
  Eigen::Index body = 0;
  for (const BodyState * b : {&left, &right})
  {
    const Eigen::Matrix3d rotation = b->rotation.toRotationMatrix();
    state.q.segment<3>(7 * body) = b->position;
    state.q.segment<4>(7 * body + 3) = Eigen::Quaterniond(b->rotation).coeffs();
    state.u.segment<3>(6 * body) = rotation.transpose() * b->velocity;
    state.u.segment<3>(6 * body + 3) = rotation.transpose() * b->angular_velocity;
    ++body;
  }
  return state;
}

std::string message_of_invalid_argument(const std::function<void()> & f)
{
  try
  {
    f();
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConstraintConformance);

/// Position rows: A = ∂φ/∂q C, also off the manifold.
TEST_P(ConstraintConformance, when_coordinates_move_expect_jacobian_of_phi)
{
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  const int n = system.speed_count();
  for (unsigned seed = 1; seed <= kStates; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const RowStorage rows = evaluation.at(s.time, s.q, s.u);
    const Eigen::MatrixXd C = evaluation.terms().kinematic_matrix;
    for (int i = 0; i < n; ++i)
    {
      Eigen::VectorXd forth = s.q + kStep * C.col(i);
      Eigen::VectorXd back = s.q - kStep * C.col(i);
      system.normalise(forth);
      system.normalise(back);
      const Eigen::VectorXd phi_forth = evaluation.at(s.time, forth, s.u).position;
      const Eigen::VectorXd phi_back = evaluation.at(s.time, back, s.u).position;
      for (int row = 0; row < evaluation.constraint().row_count(); ++row)
      {
        if (
          evaluation.constraint().rows()[static_cast<std::size_t>(row)].level ==
          RowLevel::kPosition)
        {
          EXPECT_NEAR(
            (phi_forth(row) - phi_back(row)) / (2.0 * kStep), rows.jacobian(row, i),
            kFirstTolerance * std::max(1.0, largest(rows.jacobian)))
            << "row " << row << ", speed " << i;
        }
        else
        {
          EXPECT_EQ(rows.position(row), 0.0);
        }
      }
    }
  }
}

/// Derivatives of A u̇ − b, of φ̇ (ψ) and of Aᵀ λ, where the kind and the system have them (E17).
TEST_P(ConstraintConformance, when_rows_have_derivatives_expect_differences)
{
  // Fourth-order differences, because close to half turns rows bend strongly; with a small step,
  // because there some change their sign.
  constexpr double kTolerance = 1e-7;
  const System & system = *GetParam().system;
  const ConstraintPtr constraint = GetParam().make(system);
  Evaluation evaluation(constraint);
  const std::unique_ptr<SystemData> data = system.make_data();
  ConstraintScratch scratch = make_scratch(*constraint);
  const Eigen::Index n = system.speed_count();
  const Eigen::Index m = constraint->row_count();
  for (unsigned seed = 1; seed <= kStates; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const Eigen::VectorXd acceleration = random_state(system, seed + 1000).u;
    const Eigen::VectorXd multipliers = Eigen::VectorXd::LinSpaced(m, 0.7, -1.1);
    const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system.input_count());
    ASSERT_EQ(system.update_kinematics(s.time, s.q, s.u, *data), Status::kOk);
    ASSERT_EQ(system.update_dynamics(*data), Status::kOk);
    SystemDerivatives derivatives;
    Eigen::MatrixXd residual_q = Eigen::MatrixXd::Zero(m, n);
    Eigen::MatrixXd residual_u = Eigen::MatrixXd::Zero(m, n);
    Eigen::MatrixXd velocity_q = Eigen::MatrixXd::Zero(m, n);
    Eigen::MatrixXd force_q = Eigen::MatrixXd::Zero(n, n);
    Eigen::MatrixXd force_u = Eigen::MatrixXd::Zero(n, n);
    RowDerivatives rows{residual_q, residual_u, velocity_q, force_q, force_u};
    if (
      !system.differentiate(*data, acceleration, inputs, derivatives) ||
      !constraint->differentiate(*data, derivatives, multipliers, scratch, rows))
    {
      return;  // derivatives.hpp takes differences of these
    }
    Eigen::MatrixXd expected(2 * m + n, 2 * n);
    expected << residual_q, residual_u, velocity_q, evaluation.at(s.time, s.q, s.u).jacobian,
      force_q, force_u;
    for (Eigen::Index row = 0; row < m; ++row)
    {
      if (constraint->rows()[static_cast<std::size_t>(row)].level == RowLevel::kAcceleration)
      {
        expected.row(m + row).setZero();
      }
    }
    const Eigen::MatrixXd C = data->terms.kinematic_matrix;
    Eigen::MatrixXd found(2 * m + n, 2 * n);
    for (Eigen::Index k = 0; k < 2 * n; ++k)
    {
      const auto at = [&](double length)
      {
        Eigen::VectorXd q = s.q;
        Eigen::VectorXd u = s.u;
        if (k < n)
        {
          q += length * C.col(k);
          system.normalise(q);
        }
        else
        {
          u(k - n) += length;
        }
        const RowStorage & moved = evaluation.at(s.time, q, u);
        Eigen::VectorXd values(2 * m + n);
        values << moved.jacobian * acceleration - moved.bias, moved.velocity,
          moved.jacobian.transpose() * multipliers;
        return values;
      };
      const Eigen::VectorXd near = at(kStep) - at(-kStep);
      const Eigen::VectorXd far = at(2.0 * kStep) - at(-2.0 * kStep);
      found.col(k) = (8.0 * near - far) / (12.0 * kStep);
    }
    EXPECT_LE(largest(found - expected), kTolerance * std::max(1.0, largest(expected)));
  }
}

/// φ̇ = A u + ∂φ/∂q D + ∂φ/∂t.
TEST_P(ConstraintConformance, when_time_passes_expect_rate_of_phi)
{
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  for (unsigned seed = 1; seed <= kStates; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const RowStorage rows = evaluation.at(s.time, s.q, s.u);
    const Eigen::VectorXd D = evaluation.terms().kinematic_drift;
    const Eigen::VectorXd forth = evaluation.at(s.time + kStep, s.q + kStep * D, s.u).position;
    const Eigen::VectorXd back = evaluation.at(s.time - kStep, s.q - kStep * D, s.u).position;
    const Eigen::VectorXd rate = rows.jacobian * s.u + (forth - back) / (2.0 * kStep);
    for (int row = 0; row < evaluation.constraint().row_count(); ++row)
    {
      const RowLevel level = evaluation.constraint().rows()[static_cast<std::size_t>(row)].level;
      if (level == RowLevel::kPosition)
      {
        EXPECT_NEAR(
          rows.velocity(row), rate(row), kFirstTolerance * std::max(1.0, std::abs(rate(row))))
          << "row " << row;
      }
      else if (level == RowLevel::kAcceleration)
      {
        EXPECT_EQ(rows.velocity(row), 0.0);
      }
    }
  }
}

/// A = ∂φ̇/∂u and ∂ψ/∂u.
TEST_P(ConstraintConformance, when_speeds_change_expect_jacobian_of_velocity_rows)
{
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  for (unsigned seed = 1; seed <= kStates; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const RowStorage rows = evaluation.at(s.time, s.q, s.u);
    for (int i = 0; i < system.speed_count(); ++i)
    {
      const Eigen::VectorXd step = kStep * Eigen::VectorXd::Unit(system.speed_count(), i);
      const Eigen::VectorXd forth = evaluation.at(s.time, s.q, s.u + step).velocity;
      const Eigen::VectorXd back = evaluation.at(s.time, s.q, s.u - step).velocity;
      for (int row = 0; row < evaluation.constraint().row_count(); ++row)
      {
        if (
          evaluation.constraint().rows()[static_cast<std::size_t>(row)].level !=
          RowLevel::kAcceleration)
        {
          EXPECT_NEAR(
            (forth(row) - back(row)) / (2.0 * kStep), rows.jacobian(row, i),
            kFirstTolerance * std::max(1.0, largest(rows.jacobian)))
            << "row " << row << ", speed " << i;
        }
      }
    }
  }
}

/// b = −d/dt (φ̇ or ψ) along the motion with u̇ = 0.
TEST_P(ConstraintConformance, when_moving_with_constant_speeds_expect_bias)
{
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  for (unsigned seed = 1; seed <= kStates; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const RowStorage rows = evaluation.at(s.time, s.q, s.u);
    const Eigen::VectorXd rates = evaluation.terms().rates;
    Eigen::VectorXd q_forth = s.q + kStep * rates;
    Eigen::VectorXd q_back = s.q - kStep * rates;
    system.normalise(q_forth);
    system.normalise(q_back);
    const Eigen::VectorXd forth = evaluation.at(s.time + kStep, q_forth, s.u).velocity;
    const Eigen::VectorXd back = evaluation.at(s.time - kStep, q_back, s.u).velocity;
    for (int row = 0; row < evaluation.constraint().row_count(); ++row)
    {
      if (
        evaluation.constraint().rows()[static_cast<std::size_t>(row)].level !=
        RowLevel::kAcceleration)
      {
        EXPECT_NEAR(
          rows.bias(row), -(forth(row) - back(row)) / (2.0 * kStep),
          kSecondTolerance * std::max(1.0, std::abs(rows.bias(row))))
          << "row " << row;
      }
    }
  }
}

/// J_Aᵀ w_A + J_Bᵀ w_B = Aᵀ λ, the same as power, and actio = reactio.
TEST_P(ConstraintConformance, when_multipliers_act_expect_wrenches_with_the_same_force_and_power)
{
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  const std::vector<WrenchBodies> & bodies = evaluation.constraint().wrench_bodies();
  if (bodies.empty())
  {
    return;  // the rows do not say on which bodies they act
  }
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> draw(-10.0, 10.0);
  for (unsigned seed = 1; seed <= kStates; ++seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TestState s = random_state(system, seed);
    const RowStorage rows = evaluation.at(s.time, s.q, s.u);
    Eigen::VectorXd multipliers(evaluation.constraint().row_count());
    for (double & x : multipliers)
    {
      x = draw(generator);
    }
    const std::vector<WrenchPair> pairs = evaluation.wrenches(multipliers);
    Eigen::VectorXd force = Eigen::VectorXd::Zero(system.speed_count());
    double total_power = 0.0;
    for (std::size_t i = 0; i < pairs.size(); ++i)
    {
      const WrenchPair & pair = pairs[i];
      force += generalized_force(evaluation, bodies[i].frame_a, pair.on_a) +
               generalized_force(evaluation, bodies[i].frame_b, pair.on_b);
      total_power += power(evaluation, bodies[i].frame_a, pair.on_a) +
                     power(evaluation, bodies[i].frame_b, pair.on_b);
      EXPECT_EQ(pair.on_a.point, pair.on_b.point);
      EXPECT_EQ(pair.on_a.force, -pair.on_b.force);
      EXPECT_EQ(pair.on_a.torque, -pair.on_b.torque);
      EXPECT_EQ(system.body_of_frame(system.frame_index(bodies[i].frame_a)), bodies[i].body_a);
      EXPECT_EQ(system.body_of_frame(system.frame_index(bodies[i].frame_b)), bodies[i].body_b);
    }
    const Eigen::VectorXd expected = rows.jacobian.transpose() * multipliers;
    const double size = std::max(1.0, largest(expected));
    EXPECT_LE(largest(force - expected), 10.0 * kRounding * size);
    EXPECT_NEAR(total_power, expected.dot(s.u), 10.0 * kRounding * size);
  }
}

/// NaN or infinity anywhere: a status, and untouched rows.
TEST_P(ConstraintConformance, when_input_is_not_finite_expect_status_and_untouched_rows)
{
  constexpr double kSentinel = 42.0;
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  const RowStorage untouched(evaluation.constraint(), kSentinel);
  const TestState s = random_state(system, 1);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
  {
    RowStorage rows = untouched;
    EXPECT_EQ(evaluation.try_at(bad, s.q, s.u, rows), Status::kNonFiniteInput);
    for (Eigen::Index i = 0; i < s.q.size(); ++i)
    {
      Eigen::VectorXd q = s.q;
      q(i) = bad;
      EXPECT_EQ(evaluation.try_at(s.time, q, s.u, rows), Status::kNonFiniteInput);
    }
    for (Eigen::Index i = 0; i < s.u.size(); ++i)
    {
      Eigen::VectorXd u = s.u;
      u(i) = bad;
      EXPECT_EQ(evaluation.try_at(s.time, s.q, u, rows), Status::kNonFiniteInput);
    }
    EXPECT_TRUE(rows == untouched);
  }
}

/// Speeds whose squares overflow: never kOk with a number that is not finite.
TEST_P(ConstraintConformance, when_numbers_overflow_expect_status_and_untouched_rows)
{
  constexpr double kSentinel = 42.0;
  const System & system = *GetParam().system;
  Evaluation evaluation(GetParam().make(system));
  const RowStorage untouched(evaluation.constraint(), kSentinel);
  for (const double size : {1e100, 1e160, 1e200, 1e300})
  {
    const TestState s = random_state(system, 2);
    RowStorage rows = untouched;
    const Status status = evaluation.try_at(s.time, s.q, size * s.u, rows);
    if (status == Status::kOk)
    {
      EXPECT_TRUE(
        rows.position.allFinite() && rows.velocity.allFinite() && rows.jacobian.allFinite() &&
        rows.bias.allFinite());
    }
    else
    {
      EXPECT_EQ(status, Status::kNonFiniteResult) << to_string(status);
      EXPECT_TRUE(rows == untouched);
    }
  }
}

TEST_P(ConstraintConformance, when_evaluated_expect_no_allocation)
{
  const System & system = *GetParam().system;
  const ConstraintPtr constraint = GetParam().make(system);
  const std::unique_ptr<SystemData> data = system.make_data();
  ConstraintScratch scratch = make_scratch(*constraint);
  RowStorage rows(*constraint);
  std::vector<WrenchPair> pairs(constraint->wrench_bodies().size());
  const Eigen::VectorXd multipliers = Eigen::VectorXd::Ones(constraint->row_count());
  const TestState s = random_state(system, 3);
  ASSERT_EQ(system.update_kinematics(s.time, s.q, s.u, *data), Status::kOk);
  RowBlock block = rows.block();

  const long before = allocation_count();
  const Status status = constraint->evaluate(*data, scratch, block);
  constraint->wrenches(*data, scratch, multipliers, pairs.data());
  const long after = allocation_count();

  EXPECT_EQ(status, Status::kOk);
  EXPECT_EQ(after - before, 0);
}

/// A second constraint made alike gives bit for bit the same rows, also inside a larger matrix,
/// and touches nothing around them.
TEST_P(ConstraintConformance, when_built_twice_expect_the_same_rows_and_untouched_neighbours)
{
  constexpr double kSentinel = 42.0;
  const System & system = *GetParam().system;
  Evaluation first(GetParam().make(system));
  const ConstraintPtr second = GetParam().make(system);
  const TestState s = random_state(system, 4);
  const RowStorage & expected = first.at(s.time, s.q, s.u);

  const Eigen::Index m = second->row_count();
  const Eigen::Index n = system.speed_count();
  Eigen::MatrixXd vectors = Eigen::MatrixXd::Constant(m + 2, 3, kSentinel);
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Constant(m + 2, n, kSentinel);
  RowBlock block{
    vectors.col(0).segment(1, m), vectors.col(1).segment(1, m), matrix.middleRows(1, m),
    vectors.col(2).segment(1, m)};
  ConstraintScratch scratch = make_scratch(*second);
  ASSERT_EQ(second->evaluate(first.data(), scratch, block), Status::kOk);

  EXPECT_EQ(vectors.col(0).segment(1, m), expected.position);
  EXPECT_EQ(vectors.col(1).segment(1, m), expected.velocity);
  EXPECT_EQ(matrix.middleRows(1, m), expected.jacobian);
  EXPECT_EQ(vectors.col(2).segment(1, m), expected.bias);
  EXPECT_TRUE((vectors.row(0).array() == kSentinel).all());
  EXPECT_TRUE((vectors.row(m + 1).array() == kSentinel).all());
  EXPECT_TRUE((matrix.row(0).array() == kSentinel).all());
  EXPECT_TRUE((matrix.row(m + 1).array() == kSentinel).all());
}

TEST(AllocationCounter, when_memory_is_taken_expect_it_counted)
{
  if (!counts_allocations())
  {
    GTEST_SKIP() << "the sanitizer has an allocator of its own";
  }
  const long before = allocation_count();
  const std::unique_ptr<Eigen::VectorXd> vector = std::make_unique<Eigen::VectorXd>(100);
  EXPECT_EQ(allocation_count() - before, 2);  // operator new, and malloc by Eigen
  EXPECT_EQ(vector->size(), 100);
}

}  // namespace constrained_dynamics::test
