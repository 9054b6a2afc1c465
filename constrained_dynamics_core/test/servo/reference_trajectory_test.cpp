// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/reference_trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/energy.hpp"
#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/servo/pose_servo.hpp"
#include "constraints/constraint_conformance.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

using Eigen::AngleAxisd;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;
using testing::HasSubstr;

namespace
{

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

VectorXd numbers(std::initializer_list<double> values)
{
  VectorXd result(static_cast<Eigen::Index>(values.size()));
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

const PoseServo & hand()
{
  static const PoseServo servo("hand", *robot("arm_6"), "frame_a");
  return servo;
}

const PoseServo & point()
{
  static const PoseServo servo("point", *robot("arm_6"), "frame_a", "world", {"x", "y", "z"});
  return servo;
}

const PoseServo & wrist()
{
  static const PoseServo servo("wrist", *robot("arm_6"), "frame_a", "world", {"rx", "ry", "rz"});
  return servo;
}

const RowServo & joints()
{
  static const RowServo servo(std::make_shared<JointPosition>(
    "joints", *robot("arm_6"), std::vector<CoordinateValue>{{"j1", 0.0}, {"j3", 0.0}}));
  return servo;
}

const RowServo & energy()
{
  static const RowServo servo(
    std::make_shared<Energy>("energy", *robot("arm_6"), EnergyKind::kTotal));
  return servo;
}

const ForceServo & push()
{
  static const ConstraintSet set(
    robot("arm_6"), {std::make_shared<PointOnPlane>(
                      "wall", *robot("arm_6"), "frame_a", "world", Vector3d::UnitX(), 0.0)});
  static const ForceServo servo("push", set, "wall");
  return servo;
}

using Evaluate = std::function<Status(double, ServoReference &)>;

/// One of any kind, with the time in which it moves.
struct Kind
{
  std::string name;
  const ServoConstraint * servo;
  ReferencePointer trajectory;
  double until;
};

std::vector<Kind> all_kinds()
{
  const PathTiming timing{0.4, 1.2, 0.3};
  const VectorXd from = numbers({0.1, 0.2, 0.3, 0.1, -0.2, 0.3});
  const VectorXd to = numbers({-0.4, 0.5, 0.1, -1.2, 0.9, 2.0});
  const VectorXd last = numbers({-0.4, 0.1, 0.6, 0.2, 0.1, -0.5});
  return {
    {"constant", &hand(), make_constant_reference(hand(), to), 1.0},
    {"formula_quaternion", &hand(),
     make_formula_reference(
       hand(), {"sin(t)", "t^2/4", "a", "sin(t)", "t/3", "cos(2*t)", "2 + t"}, {{{"a", 0.4}}, {}}),
     2.0},
    {"formula_rpy", &hand(),
     make_formula_reference(hand(), {"0", "cos(t)", "1", "t", "sin(t)", "t^2/2"}), 2.0},
    {"formula_wrist", &wrist(), make_formula_reference(wrist(), {"t", "sin(t)", "t^2/2", "1"}),
     2.0},
    {"minimum_jerk", &hand(), make_minimum_jerk(hand(), from, to, 0.3, 1.5), 2.0},
    {"minimum_jerk_joints", &joints(),
     make_minimum_jerk(joints(), numbers({0.1, 2.0}), numbers({-1.0, 0.3}), 0.2, 1.0), 1.5},
    {"minimum_jerk_energy", &energy(),
     make_minimum_jerk(energy(), numbers({3.0}), numbers({7.0}), 0.2, 1.0), 1.5},
    {"lissajous", &hand(),
     make_lissajous(
       hand(), {from, numbers({0.1, 0.2, 0, 0.3, 0.2, 0.7}), numbers({1, 2, 0, 3, 1, 0.5}),
                numbers({0, 1, 2, 0, 0, 0.3})}),
     3.0},
    {"polyline", &hand(), make_polyline(hand(), {from, to, last, from}, 0.1, timing), 8.0},
    {"polyline_back", &joints(),
     make_polyline(joints(), {numbers({0, 0}), numbers({1, 0}), numbers({0.2, 0})}, 0.2, timing),
     6.0},
    {"polyline_short", &point(),
     make_polyline(point(), {numbers({0, 0, 0}), numbers({0.01, 0, 0})}, 0.2, timing), 1.0},
    {"curve", &point(),
     make_curve(point(), {"cos(s^2)", "sin(s^2)", "r*s"}, 0.3, 2.0, timing, {{{"r", 0.2}}, {}}),
     12.0},
    {"curve_back_with_turns", &hand(),
     make_curve(hand(), {"s", "s^2", "1", "s", "0", "sin(s)"}, 1.0, -1.0, timing), 10.0}};
}

double largest(const VectorXd & v) { return v.size() == 0 ? 0.0 : v.cwiseAbs().maxCoeff(); }

/// Rate of one reference by central differences of its value, in its own layout: positions of rows
/// and origins, and the angular velocity from quaternions.
VectorXd rate_of_position(const ServoReference & a, const ServoReference & b, double time)
{
  if (a.position.size() == a.velocity.size())
  {
    return (b.position - a.position) / time;
  }
  VectorXd rate(6);
  const AngleAxisd turn(
    Quaterniond(b.position.tail<4>().eval()) *
    Quaterniond(a.position.tail<4>().eval()).conjugate());
  rate << (b.position - a.position).head<3>() / time, turn.axis() * turn.angle() / time;
  return rate;
}

/// Velocity is the derivative of position, and acceleration that of velocity.
void expect_consistent(
  const ServoConstraint & servo, const Evaluate & evaluate, double begin, double end)
{
  constexpr double h = 1e-5;
  ServoReference before = servo.make_reference();
  ServoReference now = before;
  ServoReference after = before;
  const bool is_velocity = servo.rows()[0].level == RowLevel::kVelocity;
  for (int i = 0; i <= 400; ++i)
  {
    const double t = begin + (end - begin) * i / 400.0 + 1e-4 * std::sin(7.0 * i);
    ASSERT_EQ(evaluate(t - h, before), Status::kOk);
    ASSERT_EQ(evaluate(t, now), Status::kOk);
    ASSERT_EQ(evaluate(t + h, after), Status::kOk);
    if (!is_velocity)
    {
      const VectorXd rate = rate_of_position(before, after, 2.0 * h);
      ASSERT_LE(largest(rate - now.velocity), 1e-7 * std::max(1.0, largest(rate))) << "t = " << t;
    }
    const VectorXd second = (after.velocity - before.velocity) / (2.0 * h);
    // Where the third derivative jumps the difference is off by h times the jump.
    ASSERT_LE(largest(second - now.acceleration), 1e-4 * std::max(1.0, largest(second)))
      << "t = " << t;
  }
}

/// Largest change of the acceleration from one sample to the next.
double largest_jump(
  const ServoConstraint & servo, const Evaluate & evaluate, double begin, double end, int samples)
{
  ServoReference now = servo.make_reference();
  ServoReference last = now;
  double jump = 0.0;
  for (int i = 0; i <= samples; ++i)
  {
    EXPECT_EQ(evaluate(begin + (end - begin) * i / samples, now), Status::kOk);
    jump = i > 0 ? std::max(jump, largest(now.acceleration - last.acceleration)) : 0.0;
    last = now;
  }
  return jump;
}

Evaluate of(const ReferencePointer & trajectory)
{
  return [trajectory](double t, ServoReference & out) { return trajectory->evaluate(t, out); };
}

std::string message(const std::function<void()> & make)
{
  return message_of_invalid_argument(make);
}

}  // namespace

TEST(ReferenceTrajectory, when_time_passes_expect_consistent_derivatives)
{
  for (const Kind & kind : all_kinds())
  {
    SCOPED_TRACE(kind.name);
    expect_consistent(*kind.servo, of(kind.trajectory), -0.2, kind.until + 0.2);
  }
}

TEST(ReferenceTrajectory, when_sampled_finely_expect_continuous_acceleration)
{
  for (const Kind & kind : all_kinds())
  {
    SCOPED_TRACE(kind.name);
    const Evaluate evaluate = of(kind.trajectory);
    const double coarse = largest_jump(*kind.servo, evaluate, -0.1, kind.until, 4000);
    const double fine = largest_jump(*kind.servo, evaluate, -0.1, kind.until, 16000);
    EXPECT_LE(fine, 0.3 * coarse + 1e-12);  // a jump would stay; a slope becomes a quarter
  }
}

/// Every t has a finite reference, but for formulas that have none.
TEST(ReferenceTrajectory, when_times_are_extreme_expect_rest_or_status)
{
  for (const Kind & kind : all_kinds())
  {
    SCOPED_TRACE(kind.name);
    ServoReference out = kind.servo->make_reference();
    for (const double time : {-1.7e308, -1e308, -1e20, 0.0, 1e20, 1e308, 1.7e308})
    {
      const Status status = kind.trajectory->evaluate(time, out);
      if (kind.name.find("formula") == std::string::npos)
      {
        ASSERT_EQ(status, Status::kOk) << time;
        const bool oscillates = kind.name == "lissajous";
        EXPECT_TRUE(oscillates || std::abs(time) < 1e20 || largest(out.acceleration) == 0.0);
      }
      EXPECT_TRUE(
        out.position.allFinite() && out.velocity.allFinite() && out.acceleration.allFinite());
    }
    const ServoReference untouched = out;
    for (const double time : {kNaN, kInfinity, -kInfinity})
    {
      EXPECT_EQ(kind.trajectory->evaluate(time, out), Status::kNonFiniteInput);
    }
    EXPECT_EQ(out.position, untouched.position);
    ServoReference small;
    EXPECT_EQ(kind.trajectory->evaluate(0.0, small), Status::kSizeMismatch);
  }
}

TEST(ReferenceTrajectory, when_evaluated_expect_no_allocation)
{
  for (const Kind & kind : all_kinds())
  {
    SCOPED_TRACE(kind.name);
    ServoReference out = kind.servo->make_reference();
    const long before = allocation_count();
    const Status status = kind.trajectory->evaluate(0.7, out);
    EXPECT_EQ(allocation_count() - before, 0);
    EXPECT_EQ(status, Status::kOk);
  }
}

TEST(ReferenceTrajectory, when_formula_has_no_value_expect_status_and_untouched_output)
{
  const ReferencePointer trajectory = make_formula_reference(joints(), {"log(t)", "sqrt(t)"});
  ServoReference out = joints().make_reference();
  out.position.setConstant(42.0);
  EXPECT_EQ(trajectory->evaluate(-1.0, out), Status::kNonFiniteResult);
  EXPECT_EQ(trajectory->evaluate(0.0, out), Status::kNonFiniteResult);
  EXPECT_EQ(out.position, VectorXd::Constant(2, 42.0));
  const ReferencePointer flat = make_formula_reference(wrist(), {"t", "0", "0", "0"});
  ServoReference pose = wrist().make_reference();
  EXPECT_EQ(flat->evaluate(0.0, pose), Status::kNonFiniteResult);  // quaternion of length 0
  EXPECT_EQ(flat->evaluate(2.0, pose), Status::kOk);
}

/// Values of velocity rows go where RowServo looks for them, and so do forces.
TEST(ReferenceTrajectory, when_rows_are_of_other_levels_expect_their_layout)
{
  ServoReference out = energy().make_reference();
  ASSERT_EQ(make_formula_reference(energy(), {"3 + t^2"})->evaluate(2.0, out), Status::kOk);
  EXPECT_EQ(out.position(0), 0.0);
  EXPECT_EQ(out.velocity(0), 7.0);
  EXPECT_EQ(out.acceleration(0), 4.0);
  ServoReference force = push().make_reference();
  ASSERT_EQ(make_formula_reference(push(), {"-3 - t"})->evaluate(2.0, force), Status::kOk);
  EXPECT_EQ(force.position(0), -5.0);
  EXPECT_EQ(force.velocity.size(), 0);
}

/// What is measured in motion becomes a reference that holds.
TEST(ReferenceLayout, when_reference_rests_expect_its_values_without_rates)
{
  ServoReference pose = hand().make_reference();
  pose.position << 1, 2, 3, 0, 0, 3, 4;
  pose.velocity.setConstant(5.0);
  pose.acceleration.setConstant(6.0);
  ASSERT_TRUE(ReferenceLayout(hand()).rest(pose));
  EXPECT_LE(largest(pose.position - numbers({1, 2, 3, 0, 0, 0.6, 0.8})), 1e-15);
  EXPECT_EQ(largest(pose.velocity), 0.0);
  EXPECT_EQ(largest(pose.acceleration), 0.0);
  ServoReference row = energy().make_reference();
  row.velocity.setConstant(5.0);
  row.acceleration.setConstant(6.0);
  ASSERT_TRUE(ReferenceLayout(energy()).rest(row));
  EXPECT_EQ(row.velocity(0), 5.0);
  EXPECT_EQ(row.acceleration(0), 0.0);
  row.velocity(0) = kNaN;
  EXPECT_FALSE(ReferenceLayout(energy()).rest(row));
}

TEST(MinimumJerk, when_half_way_expect_hand_values)
{
  const ReferencePointer trajectory =
    make_minimum_jerk(joints(), numbers({1.0, 0.0}), numbers({3.0, -1.0}), 0.5, 2.0);
  ServoReference out = joints().make_reference();
  ASSERT_EQ(trajectory->evaluate(1.5, out), Status::kOk);
  EXPECT_NEAR(out.position(0), 2.0, 1e-15);
  EXPECT_NEAR(out.velocity(0), 1.875 * 2.0 / 2.0, 1e-15);  // 15/8 of the mean speed
  EXPECT_NEAR(out.acceleration(0), 0.0, 1e-14);
  ASSERT_EQ(trajectory->evaluate(2.5, out), Status::kOk);
  EXPECT_EQ(out.position, Eigen::Vector2d(3.0, -1.0));
  EXPECT_EQ(out.velocity, Eigen::Vector2d::Zero());
}

TEST(MinimumJerk, when_quaternions_have_opposite_signs_expect_shortest_rotation)
{
  const Quaterniond a(AngleAxisd(0.2, Vector3d::UnitZ()));
  const Quaterniond b(AngleAxisd(1.2, Vector3d::UnitZ()));
  const ReferencePointer trajectory =
    make_minimum_jerk(wrist(), a.coeffs(), -3.0 * b.coeffs(), 0.0, 1.0);
  ServoReference out = wrist().make_reference();
  ASSERT_EQ(trajectory->evaluate(0.5, out), Status::kOk);
  EXPECT_NEAR(out.velocity(5), 1.875 * 1.0, 1e-14);
  const Quaterniond half(out.position.tail<4>().eval());
  EXPECT_NEAR(half.angularDistance(Quaterniond(AngleAxisd(0.7, Vector3d::UnitZ()))), 0.0, 1e-14);
}

TEST(Lissajous, when_written_as_formula_expect_the_same)
{
  const ReferencePointer wave = make_lissajous(
    joints(),
    {numbers({0.5, -1.0}), numbers({1.2, 0.3}), numbers({2.0, 3.0}), numbers({0.0, 0.4})});
  const ReferencePointer formula =
    make_formula_reference(joints(), {"0.5 + 1.2*sin(2*t)", "-1 + 0.3*sin(3*t + 0.4)"});
  ServoReference a = joints().make_reference();
  ServoReference b = a;
  for (const double t : {-1.0, 0.0, 0.3, 2.0, 100.0})
  {
    ASSERT_EQ(wave->evaluate(t, a), Status::kOk);
    ASSERT_EQ(formula->evaluate(t, b), Status::kOk);
    EXPECT_LE(largest(a.position - b.position), 1e-14);
    EXPECT_LE(largest(a.velocity - b.velocity), 1e-14);
    EXPECT_LE(largest(a.acceleration - b.acceleration), 1e-14);
  }
}

/// A right angle of two straights of 1 m at 0.5 m/s.
TEST(Polyline, when_corner_is_rounded_expect_speed_and_distance_within_bounds)
{
  constexpr double kSpeed = 0.5, kBlend = 0.2, kAcceleration = 1.0;
  const ReferencePointer trajectory = make_polyline(
    point(), {numbers({0, 0, 0}), numbers({1, 0, 0}), numbers({1, 1, 0})}, kBlend,
    {kSpeed, kAcceleration, 1.0});
  const double ramp = 1.5 * kSpeed / kAcceleration;
  const double end = 1.0 + 2.0 / kSpeed + ramp;
  ServoReference out = point().make_reference();
  double fastest = 0.0, hardest = 0.0, nearest = 1.0;
  for (int i = 0; i <= 2000; ++i)
  {
    ASSERT_EQ(trajectory->evaluate(end * i / 2000.0, out), Status::kOk);
    const Vector3d p = out.position.head<3>();
    fastest = std::max(fastest, out.velocity.norm());
    hardest = std::max(hardest, out.acceleration.norm());
    nearest = std::min(nearest, (p - Vector3d::UnitX()).norm());
    const bool on_first = std::abs(p.y()) < 1e-15 && p.x() <= 1.0 - kBlend + 1e-12;
    const bool on_second = std::abs(p.x() - 1.0) < 1e-15 && p.y() >= kBlend - 1e-12;
    const bool in_corner = (p - Vector3d::UnitX()).cwiseAbs().maxCoeff() <= kBlend;
    EXPECT_TRUE(on_first || on_second || in_corner) << p.transpose();
  }
  EXPECT_NEAR(fastest, kSpeed, 1e-12);
  EXPECT_LE(hardest, 1.5 * kSpeed * kSpeed / kBlend);
  // Half of the corner: 2 blend (1/2 − 3/32) of each straight.
  EXPECT_NEAR(nearest, std::sqrt(2.0) * kBlend * 2.0 * 3.0 / 32.0, 1e-6);
  ASSERT_EQ(trajectory->evaluate(end, out), Status::kOk);
  EXPECT_LE((out.position.head<3>() - Vector3d(1, 1, 0)).norm(), 1e-15);
  ASSERT_EQ(trajectory->evaluate(end - 1e-3, out), Status::kOk);
  EXPECT_GT(out.velocity.norm(), 0.0);
  ASSERT_EQ(trajectory->evaluate(1.0, out), Status::kOk);
  EXPECT_EQ(out.velocity.norm(), 0.0);
}

/// A circle whose parameter runs unevenly.
TEST(Curve, when_parameter_is_uneven_expect_constant_speed_on_the_curve)
{
  const ReferencePointer trajectory = make_curve(
    point(), {"0.4 + r*cos(s + s^2)", "r*sin(s + s^2)", "0.3"}, 0.0, 2.0, {0.25, 1.0, 0.0},
    {{{"r", 0.2}}, {}});
  const double ramp = 1.5 * 0.25 / 1.0;
  const double total = 0.2 * 6.0 / 0.25 + ramp;
  ServoReference out = point().make_reference();
  for (int i = 0; i <= 1000; ++i)
  {
    const double t = total * i / 1000.0;
    ASSERT_EQ(trajectory->evaluate(t, out), Status::kOk);
    EXPECT_NEAR((out.position.head<3>() - Vector3d(0.4, 0.0, 0.3)).norm(), 0.2, 1e-15);
    if (t > ramp && t < total - ramp)
    {
      ASSERT_NEAR(out.velocity.norm(), 0.25, 1e-9);
      ASSERT_NEAR(out.acceleration.norm(), 0.25 * 0.25 / 0.2, 1e-6);  // centripetal
    }
  }
  EXPECT_NEAR(out.position(0), 0.4 + 0.2 * std::cos(6.0), 1e-12);
  EXPECT_NEAR(out.position(1), 0.2 * std::sin(6.0), 1e-12);
  EXPECT_LE(out.velocity.norm(), 1e-12);
}

namespace
{

/// Measured states for which a transition is hard: turned by nearly half a turn, fast.
ServoReference measured_pose()
{
  ServoReference measured = hand().make_reference();
  measured.position << 0.3, -0.4, 0.2,
    2.0 * Quaterniond(AngleAxisd(2.9, Vector3d(1, 2, -1).normalized())).coeffs();
  measured.velocity << 0.4, 0.1, -0.3, 0.9, -0.6, 1.4;
  measured.acceleration << 1.0, -2.0, 0.5, 3.0, 1.0, -2.0;
  return measured;
}

double distance(const ServoReference & a, const ServoReference & b)
{
  const bool is_pose = a.position.size() == 7 && a.velocity.size() == 6;
  const double turned =
    is_pose ? Quaterniond(a.position.tail<4>().normalized().eval())
                .angularDistance(Quaterniond(b.position.tail<4>().normalized().eval()))
            : 0.0;
  const Eigen::Index linear = is_pose ? 3 : a.position.size();
  return std::max(
    {turned, largest((a.position - b.position).head(linear)), largest(a.velocity - b.velocity),
     largest(a.acceleration - b.acceleration)});
}

}  // namespace

TEST(SmoothStart, when_started_expect_measured_state_then_the_trajectory)
{
  for (const Kind & kind : all_kinds())
  {
    SCOPED_TRACE(kind.name);
    const bool is_pose = kind.servo->position_size() == 7;
    ServoReference measured = is_pose ? measured_pose() : kind.servo->make_reference();
    if (!is_pose)
    {
      // A velocity row has no value on position level.
      measured.velocity.setConstant(0.7);
      measured.acceleration.setConstant(-0.4);
    }
    SmoothStart start(kind.trajectory, 0.8);
    ServoReference out = kind.servo->make_reference();
    ServoReference expected = out;
    ASSERT_EQ(start.start(0.5, measured), Status::kOk);
    ASSERT_EQ(start.evaluate(0.5, out), Status::kOk);
    EXPECT_LE(distance(out, measured), 1e-13);
    const Evaluate evaluate = [&](double t, ServoReference & o) { return start.evaluate(t, o); };
    expect_consistent(*kind.servo, evaluate, 0.5 + 2e-4, 1.4);
    EXPECT_LE(
      largest_jump(*kind.servo, evaluate, 0.5, 1.5, 16000),
      0.3 * largest_jump(*kind.servo, evaluate, 0.5, 1.5, 4000) + 1e-12);
    for (const double t : {1.3 - 1e-9, 1.3, 1.4, 5.0})
    {
      ASSERT_EQ(start.evaluate(t, out), Status::kOk);
      ASSERT_EQ(kind.trajectory->evaluate(t, expected), Status::kOk);
      EXPECT_LE(distance(out, expected), t < 1.3 ? 1e-5 : 0.0) << t;
    }
    ASSERT_EQ(start.evaluate(0.2, out), Status::kOk);  // rest before the start
    EXPECT_EQ(largest(out.acceleration), 0.0);
  }
}

/// From rest to a constant: the minimum-jerk motion.
TEST(SmoothStart, when_the_desired_motion_rests_expect_minimum_jerk)
{
  const VectorXd to = numbers({1.0, 0.3, -0.2, 0.3, 0.8, -1.0});
  SmoothStart start(make_constant_reference(hand(), to), 2.0);
  ServoReference measured = measured_pose();
  measured.velocity.setZero();
  measured.acceleration.setZero();
  ASSERT_EQ(start.start(1.0, measured), Status::kOk);
  const ReferencePointer expected = make_minimum_jerk(hand(), measured.position, to, 1.0, 2.0);
  ServoReference a = hand().make_reference();
  ServoReference b = a;
  for (const double t : {1.0, 1.2, 1.7, 2.5, 2.99, 3.0, 4.0})
  {
    ASSERT_EQ(start.evaluate(t, a), Status::kOk);
    ASSERT_EQ(expected->evaluate(t, b), Status::kOk);
    EXPECT_LE(distance(a, b), 1e-12) << t;
  }
}

TEST(SmoothStart, when_restarted_under_way_expect_no_jump_and_no_allocation)
{
  const ReferencePointer wave =
    make_formula_reference(hand(), {"sin(t)", "t", "1", "0", "sin(t)", "0"});
  SmoothStart start(wave, 1.0);
  ServoReference now = hand().make_reference();
  ServoReference again = now;
  ServoReference plain = now;
  ASSERT_EQ(start.evaluate(0.3, now), Status::kOk);  // not started: the trajectory itself
  ASSERT_EQ(wave->evaluate(0.3, plain), Status::kOk);
  EXPECT_EQ(distance(now, plain), 0.0);
  ASSERT_EQ(start.start(0.0, measured_pose()), Status::kOk);
  ASSERT_EQ(start.evaluate(0.6, now), Status::kOk);
  const long before = allocation_count();
  const Status restarted = start.start(0.6, now);
  const Status evaluated = start.evaluate(0.6, again);
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_EQ(restarted, Status::kOk);
  EXPECT_EQ(evaluated, Status::kOk);
  EXPECT_LE(distance(now, again), 1e-13);
  ASSERT_EQ(start.evaluate(1.6, again), Status::kOk);
  ASSERT_EQ(wave->evaluate(1.6, plain), Status::kOk);
  EXPECT_EQ(distance(again, plain), 0.0);
}

TEST(SmoothStart, when_input_is_bad_expect_status_and_no_change)
{
  SmoothStart start(make_constant_reference(hand(), numbers({0, 0, 0, 0, 0, 0})), 1.0);
  ServoReference good = measured_pose();
  ASSERT_EQ(start.start(0.0, good), Status::kOk);
  ServoReference bad = good;
  bad.velocity(2) = kNaN;
  EXPECT_EQ(start.start(0.5, bad), Status::kNonFiniteInput);
  bad = good;
  bad.position.tail<4>().setZero();
  EXPECT_EQ(start.start(0.5, bad), Status::kNonFiniteInput);
  EXPECT_EQ(start.start(kNaN, good), Status::kNonFiniteInput);
  bad.position.resize(3);
  EXPECT_EQ(start.start(0.5, bad), Status::kSizeMismatch);
  ServoReference out = hand().make_reference();
  ASSERT_EQ(start.evaluate(0.0, out), Status::kOk);  // the first start holds
  EXPECT_LE(distance(out, good), 1e-13);
  EXPECT_EQ(start.evaluate(kNaN, out), Status::kNonFiniteInput);
  EXPECT_EQ(start.evaluate(1e308, out), Status::kOk);
  EXPECT_EQ(start.evaluate(-1e308, out), Status::kOk);
  EXPECT_EQ(start.evaluate(0.5, bad), Status::kSizeMismatch);
  const SmoothStart none(make_constant_reference(hand(), numbers({0, 0, 0, 0, 0, 0})));
  EXPECT_EQ(none.evaluate(0.0, out), Status::kOk);
  EXPECT_THAT(message([] { SmoothStart(nullptr, 1.0); }), HasSubstr("trajectory"));
  for (const double duration : {-1.0, kNaN, kInfinity})
  {
    EXPECT_THAT(
      message(
        [&] {
          SmoothStart(make_constant_reference(joints(), numbers({0, 0})), duration);
        }),
      HasSubstr("duration"));
  }
}

TEST(ReferenceTrajectory, when_built_from_nonsense_expect_messages)
{
  const PathTiming timing{0.4, 1.2, 0.0};
  const VectorXd two = numbers({0.0, 1.0});
  const VectorXd other = numbers({1.0, 1.0});
  const auto constant = [](const ServoConstraint & servo, const VectorXd & values)
  { return message([&] { make_constant_reference(servo, values); }); };
  EXPECT_THAT(constant(joints(), numbers({1.0})), HasSubstr("'joints'"));
  EXPECT_THAT(constant(joints(), numbers({})), HasSubstr("0 values; allowed: 2"));
  EXPECT_THAT(constant(joints(), numbers({1.0, kNaN})), HasSubstr("value 2"));
  EXPECT_THAT(constant(hand(), numbers({1, 2, 3})), HasSubstr("quaternion (7)"));
  EXPECT_THAT(constant(hand(), numbers({0, 0, 0, 0, 0, 0, 0})), HasSubstr("length"));
  EXPECT_THAT(constant(point(), numbers({1, 2, 3, 4})), HasSubstr("x y z (3)"));
  EXPECT_THAT(constant(wrist(), numbers({1, 2})), HasSubstr("roll pitch yaw (3)"));
  EXPECT_THAT(constant(joints(), VectorXd::Zero(1000)), HasSubstr("1000 values"));

  const auto formula = [](const std::vector<std::string> & formulas)
  { return message([&] { make_formula_reference(joints(), formulas); }); };
  EXPECT_THAT(formula({"1"}), HasSubstr("1 values"));
  EXPECT_THAT(formula({"1", "j1"}), HasSubstr("j1"));
  EXPECT_THAT(formula({"1", "sin("}), HasSubstr("sin("));
  EXPECT_THAT(formula({"1", ""}), HasSubstr("'joints'"));

  for (const double bad : {0.0, -1.0, kNaN, kInfinity})
  {
    EXPECT_THAT(
      message([&] { make_minimum_jerk(joints(), two, other, 0.0, bad); }), HasSubstr("duration"));
    EXPECT_THAT(
      message(
        [&] {
          make_polyline(joints(), {two, other}, 0.1, {bad, 1.0, 0.0});
        }),
      HasSubstr("speed"));
    EXPECT_THAT(
      message(
        [&] {
          make_polyline(joints(), {two, other}, 0.1, {1.0, bad, 0.0});
        }),
      HasSubstr("acceleration"));
    EXPECT_THAT(
      message(
        [&] {
          make_polyline(joints(), {two, other}, bad, timing);
        }),
      HasSubstr("blend"));
  }
  EXPECT_THAT(
    message([&] { make_minimum_jerk(joints(), two, other, kNaN, 1.0); }), HasSubstr("begin"));
  EXPECT_THAT(
    message(
      [&] {
        make_lissajous(joints(), {two, two, two, numbers({1.0})});
      }),
    HasSubstr("phase"));
  EXPECT_THAT(
    message(
      [&] {
        make_lissajous(joints(), {two, two, numbers({1.0, kNaN}), two});
      }),
    HasSubstr("rate"));
  EXPECT_THAT(
    message(
      [&]
      {
        const VectorXd seven = VectorXd::Ones(7);
        make_lissajous(hand(), {seven, seven, seven, seven});
      }),
    HasSubstr("quaternion"));
  const auto line = [&](const std::vector<VectorXd> & points)
  { return message([&] { make_polyline(joints(), points, 0.1, timing); }); };
  EXPECT_THAT(line({}), HasSubstr("number of way-points is 0"));
  EXPECT_THAT(line({two}), HasSubstr("number of way-points is 1"));
  EXPECT_THAT(line({two, other, other}), HasSubstr("way-points 2 and 3 is 0"));
  EXPECT_THAT(line({two, numbers({1.0})}), HasSubstr("way-point 2"));
  EXPECT_THAT(line({numbers({-1.7e308, 0}), numbers({1.7e308, 0})}), HasSubstr("distance"));
  EXPECT_THAT(
    message(
      [&] {
        make_polyline(joints(), {two, other}, 0.1, {1e-300, 1e300, 0.0});
      }),
    HasSubstr("time that the path takes"));

  const auto curve = [&](const std::vector<std::string> & formulas, double from, double to)
  { return message([&] { make_curve(joints(), formulas, from, to, timing); }); };
  EXPECT_THAT(curve({"s", "1"}, 1.0, 1.0), HasSubstr("another number"));
  EXPECT_THAT(curve({"s", "1"}, kNaN, 1.0), HasSubstr("from"));
  EXPECT_THAT(curve({"2", "1"}, 0.0, 1.0), HasSubstr("stands still"));
  EXPECT_THAT(curve({"s^2", "1"}, -1.0, 1.0), HasSubstr("stands still"));
  EXPECT_THAT(curve({"1/s", "1"}, -1.0, 1.0), HasSubstr("no finite derivatives"));
  EXPECT_THAT(curve({"abs(s)", "0"}, 0.0, 1e300), HasSubstr("the curve"));
  EXPECT_THAT(
    message(
      [&] {
        make_curve(wrist(), {"s", "s", "s"}, 0.0, 1.0, timing);
      }),
    HasSubstr("x y z"));
}

}  // namespace constrained_dynamics::test
