// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/pose_servo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constraints/constraint_conformance.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

using Eigen::AngleAxisd;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using testing::HasSubstr;

namespace
{

using RowNames = std::vector<std::string>;

constexpr double kStep = 1e-5;       // of central differences: truncation h², rounding ε/h
constexpr double kTolerance = 1e-6;  // of them
constexpr unsigned kStates = 10;

Vector3d draw_vector(std::mt19937 & generator)
{
  std::uniform_real_distribution<double> draw(-1.0, 1.0);
  Vector3d result;
  for (double & x : result)
  {
    x = draw(generator);
  }
  return result;
}

/// A target that moves and turns about two axes at a time, with exact derivatives.
struct MovingTarget
{
  Vector3d p0, v0, a0;
  Quaterniond start;
  Vector3d axis_1, axis_2;

  explicit MovingTarget(unsigned seed)
  {
    std::mt19937 generator(seed);
    p0 = draw_vector(generator);
    v0 = draw_vector(generator);
    a0 = draw_vector(generator);
    axis_1 = draw_vector(generator).normalized();
    axis_2 = draw_vector(generator).normalized();
    start = Quaterniond(AngleAxisd(0.7, draw_vector(generator).normalized()));
  }

  void at(double t, ServoReference & out) const
  {
    const double f = std::sin(1.3 * t), f1 = 1.3 * std::cos(1.3 * t), f2 = -1.69 * f;
    const double g = 0.4 * t * t, g1 = 0.8 * t, g2 = 0.8;
    const Quaterniond first(AngleAxisd(f, axis_1));
    const Vector3d turned = first * axis_2;
    const Quaterniond q = first * Quaterniond(AngleAxisd(g, axis_2)) * start;
    out.position << p0 + t * v0 + 0.5 * t * t * a0, 2.5 * q.coeffs();  // of any length
    out.velocity << v0 + t * a0, f1 * axis_1 + g1 * turned;
    out.acceleration << a0, f2 * axis_1 + g2 * turned + f1 * g1 * axis_1.cross(turned);
  }
};

/// A servo-constraint with everything that is needed to evaluate it.
class ServoEvaluation
{
public:
  explicit ServoEvaluation(const ServoConstraint & servo)
  : servo_(servo), data_(servo.system().make_data()), reference(servo.make_reference())
  {
    const Eigen::Index m = servo.row_count();
    const Eigen::Index n = servo.system().speed_count();
    scratch_ = ConstraintScratch(n, servo.scratch_size());
    scratch_.jacobian_a.setConstant(NAN);
    scratch_.jacobian_b.setConstant(NAN);
    scratch_.buffer.setConstant(NAN);
    position.setZero(m);
    velocity.setZero(m);
    jacobian.setZero(m, n);
    bias.setZero(m);
  }

  Status evaluate()
  {
    RowBlock block{position, velocity, jacobian, bias};
    return servo_.evaluate(*data_, scratch_, reference, block);
  }
  Status measure(ServoReference & out)
  {
    RowBlock block{position, velocity, jacobian, bias};
    return servo_.measure(*data_, scratch_, block, out);
  }
  void move_to(double time, const Eigen::VectorXd & q, const Eigen::VectorXd & u)
  {
    ASSERT_EQ(servo_.system().update_kinematics(time, q, u, *data_), Status::kOk);
  }
  const SystemTerms & terms() const { return data_->terms; }

private:
  const ServoConstraint & servo_;
  std::unique_ptr<SystemData> data_;
  ConstraintScratch scratch_;

public:
  ServoReference reference;
  Eigen::VectorXd position;
  Eigen::VectorXd velocity;
  Eigen::MatrixXd jacobian;
  Eigen::VectorXd bias;
};

double largest(const Eigen::MatrixXd & m) { return m.cwiseAbs().maxCoeff(); }

const std::vector<RowNames> & row_choices()
{
  static const std::vector<RowNames> choices = {
    FrameCoincidence::all_rows(), {"x", "y", "z"}, {"rx", "ry", "rz"}, {"z", "rx", "ry"}, {"rz"}};
  return choices;
}

/// Every robot, with the target in a moving, a fixed frame and the world, for every choice of rows.
void for_all_servos(const std::function<void(const PoseServo &)> & check)
{
  for (const NamedSystem & robot : robots())
  {
    for (const char * frame_b : {"frame_b", "fixed", "world"})
    {
      for (const RowNames & rows : row_choices())
      {
        SCOPED_TRACE(robot.name + " in " + frame_b + ", rows from " + rows.front());
        check(PoseServo("hand", *robot.system, "frame_a", frame_b, rows));
      }
    }
  }
}

}  // namespace

/// ė = de/dt and A u̇ − b = dė/dt along motions of robot and target, with any u̇.
TEST(PoseServo, when_robot_and_target_move_expect_derivatives_of_the_error)
{
  for_all_servos(
    [](const PoseServo & servo)
    {
      const System & system = servo.system();
      ServoEvaluation now(servo);
      ServoEvaluation moved(servo);
      for (unsigned seed = 1; seed <= kStates; ++seed)
      {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const TestState s = random_state(system, seed);
        const Eigen::VectorXd acceleration = random_state(system, seed + 1000).u;
        const MovingTarget target(seed);
        now.move_to(s.time, s.q, s.u);
        target.at(s.time, now.reference);
        ASSERT_EQ(now.evaluate(), Status::kOk);
        const auto at = [&](double h)
        {
          Eigen::VectorXd q = s.q + h * now.terms().rates;
          system.normalise(q);
          moved.move_to(s.time + h, q, s.u + h * acceleration);
          target.at(s.time + h, moved.reference);
          EXPECT_EQ(moved.evaluate(), Status::kOk);
          Eigen::MatrixXd values(servo.row_count(), 2);
          values << moved.position, moved.velocity;
          return values;
        };
        const Eigen::MatrixXd rate = (at(kStep) - at(-kStep)) / (2.0 * kStep);
        const Eigen::VectorXd second = now.jacobian * acceleration - now.bias;
        EXPECT_LE(
          largest(rate.col(0) - now.velocity), kTolerance * std::max(1.0, largest(now.velocity)));
        EXPECT_LE(largest(rate.col(1) - second), kTolerance * std::max(1.0, largest(second)));
      }
    });
}

/// The reference that is measured has no error, whatever the axes of the rows.
TEST(PoseServo, when_reference_is_measured_expect_no_error_and_no_rate)
{
  for_all_servos(
    [](const PoseServo & servo)
    {
      ServoEvaluation now(servo);
      for (unsigned seed = 1; seed <= kStates; ++seed)
      {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const TestState s = random_state(servo.system(), seed);
        now.move_to(s.time, s.q, s.u);
        ASSERT_EQ(now.measure(now.reference), Status::kOk);
        EXPECT_EQ(now.reference.acceleration, Eigen::VectorXd::Zero(6));
        ASSERT_EQ(now.evaluate(), Status::kOk);
        EXPECT_LE(largest(now.position), 1e-14);
        EXPECT_LE(largest(now.velocity), 1e-14);
      }
    });
}

/// A target that rests where frame "fixed" is: the rows of the passive constraint.
TEST(PoseServo, when_target_rests_expect_rows_of_frame_coincidence)
{
  for (const NamedSystem & robot : robots())
  {
    for (const RowNames & rows : row_choices())
    {
      SCOPED_TRACE(robot.name + ", rows from " + rows.front());
      const PoseServo servo("hand", *robot.system, "frame_a", "world", rows);
      ServoEvaluation now(servo);
      Evaluation passive(
        std::make_shared<FrameCoincidence>("weld", *robot.system, "frame_a", "fixed", rows));
      const TestState s = random_state(*robot.system, 5);
      const RowStorage & expected = passive.at(s.time, s.q, s.u);
      FrameKinematics fixed;
      robot.system->frame_kinematics(passive.data(), robot.system->frame_index("fixed"), fixed);
      now.move_to(s.time, s.q, s.u);
      now.reference.position << fixed.position, Quaterniond(fixed.rotation).coeffs();
      ASSERT_EQ(now.evaluate(), Status::kOk);
      EXPECT_LE(largest(now.position - expected.position), 1e-13);
      EXPECT_LE(largest(now.velocity - expected.velocity), 1e-13);
      EXPECT_LE(largest(now.jacobian - expected.jacobian), 1e-13);
      EXPECT_LE(largest(now.bias - expected.bias), 1e-12);
    }
  }
}

TEST(PoseServo, when_target_is_turned_expect_rows_along_its_axes)
{
  const auto system = robot("two_bodies");
  const PoseServo servo("hand", *system, "left", "world");
  EXPECT_EQ(servo.type(), "pose");
  EXPECT_EQ(servo.position_size(), 7);
  EXPECT_EQ(servo.velocity_size(), 6);
  EXPECT_EQ(servo.make_reference().position(6), 1.0);
  ServoEvaluation now(servo);
  BodyState left;
  left.position = {1.0, 2.0, 3.0};
  const TestState s = two_bodies_state(left);
  now.move_to(0.0, s.q, s.u);
  now.reference.position << 1.0, 1.0, 3.0, 0.0, 0.0, std::sqrt(0.5), std::sqrt(0.5);
  now.reference.velocity << 0.0, 0.5, 0.0, 0.0, 0.0, 0.0;
  ASSERT_EQ(now.evaluate(), Status::kOk);
  // T's x is B's y: it is 1 behind and moves ahead with 0.5; A is turned back by 90° about z.
  Eigen::VectorXd error(6), rate(6);
  error << 1.0, 0.0, 0.0, 0.0, 0.0, -std::sqrt(2.0);
  rate << -0.5, 0.0, 0.0, 0.0, 0.0, 0.0;
  EXPECT_LE(largest(now.position - error), 1e-15);
  EXPECT_LE(largest(now.velocity - rate), 1e-15);
}

/// Rows of position alone stay along the axes of B, whatever the orientation of A.
TEST(PoseServo, when_position_alone_is_measured_expect_axes_of_b)
{
  const auto system = robot("arm_6");
  const PoseServo servo("tip", *system, "frame_a", "world", {"y", "z"});
  ServoEvaluation now(servo);
  const TestState s = random_state(*system, 3);
  now.move_to(s.time, s.q, s.u);
  ASSERT_EQ(now.measure(now.reference), Status::kOk);
  EXPECT_EQ(now.reference.position.tail<4>(), Eigen::Vector4d::UnitW());
  EXPECT_EQ(now.reference.velocity.tail<3>(), Vector3d::Zero());
  now.reference.position.head<3>() -= Vector3d(0.1, 0.2, 0.3);
  ASSERT_EQ(now.evaluate(), Status::kOk);
  EXPECT_LE(largest(now.position - Eigen::Vector2d(0.2, 0.3)), 1e-15);
}

TEST(PoseServo, when_reference_is_bad_expect_status_and_untouched_rows)
{
  const auto system = robot("arm_6");
  const PoseServo servo("hand", *system, "frame_a");
  ServoEvaluation now(servo);
  const TestState s = random_state(*system, 3);
  now.move_to(s.time, s.q, s.u);
  now.position.setConstant(42.0);
  const ServoReference good = now.reference;
  const auto expect = [&](Status status)
  {
    EXPECT_EQ(now.evaluate(), status);
    EXPECT_EQ(now.position, Eigen::VectorXd::Constant(6, 42.0));
    now.reference = good;
  };
  now.reference.position.tail<4>().setZero();
  expect(Status::kNonFiniteInput);
  now.reference.position.tail<4>().setConstant(1e-200);
  expect(Status::kNonFiniteInput);
  now.reference.position.tail<4>().setConstant(1.7e308);
  expect(Status::kNonFiniteInput);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
  {
    now.reference.position(2) = bad;
    expect(Status::kNonFiniteInput);
    now.reference.velocity(4) = bad;
    expect(Status::kNonFiniteInput);
    now.reference.acceleration(5) = bad;
    expect(Status::kNonFiniteInput);
  }
  now.reference.position.resize(6);
  expect(Status::kSizeMismatch);
  now.reference.acceleration.resize(0);
  expect(Status::kSizeMismatch);
  now.reference.velocity.setConstant(1e300);
  expect(Status::kNonFiniteResult);
  now.reference.position.head<3>() << 1.7e308, -1.7e308, 0.0;
  now.reference.velocity.tail<3>().setConstant(10.0);
  expect(Status::kNonFiniteResult);
  ServoReference small;
  EXPECT_EQ(now.measure(small), Status::kSizeMismatch);
}

TEST(PoseServo, when_evaluated_and_measured_expect_no_allocation)
{
  const auto system = robot("arm_6");
  const PoseServo servo("hand", *system, "frame_a", "frame_b");
  ServoEvaluation now(servo);
  const TestState s = random_state(*system, 3);
  now.move_to(s.time, s.q, s.u);
  MovingTarget(3).at(s.time, now.reference);
  const long before = allocation_count();
  const Status evaluated = now.evaluate();
  const Status measured = now.measure(now.reference);
  const long after = allocation_count();
  EXPECT_EQ(evaluated, Status::kOk);
  EXPECT_EQ(measured, Status::kOk);
  EXPECT_EQ(after - before, 0);
}

TEST(PoseServo, when_built_from_nonsense_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto message = [&](const std::string & a, const std::string & b, const RowNames & rows)
  { return message_of_invalid_argument([&] { PoseServo("hand", *system, a, b, rows); }); };
  EXPECT_THAT(message("left", "world", {}), HasSubstr("'hand'"));
  EXPECT_THAT(message("left", "world", {"x", "x"}), HasSubstr("'x'"));
  EXPECT_THAT(message("left", "world", {"roll"}), HasSubstr("'roll'"));
  EXPECT_THAT(message("nobody", "world", {"x"}), HasSubstr("'nobody'"));
  EXPECT_THAT(message("left", "left", {"x"}), HasSubstr("one body"));
  EXPECT_THAT(
    message_of_invalid_argument([&] { PoseServo("", *system, "left"); }), HasSubstr("name"));
  EXPECT_THAT(
    message_of_invalid_argument([&] { PoseServo("hand", *analytic_skate(), "x"); }),
    HasSubstr("no frames"));
}

}  // namespace constrained_dynamics::test
