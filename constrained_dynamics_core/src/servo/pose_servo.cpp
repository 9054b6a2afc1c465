// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/pose_servo.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Geometry>

#include "constraints/coincidence_rows.hpp"
#include "model/kinematic_tree.hpp"
#include "model/relate.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr int kPositionSize = 7;
constexpr int kVelocitySize = 6;
// Motion of the target as numbers: R, p, v, ω, v̇, ω̇.
constexpr int kTargetSize = 9 + 15;

void store(const FrameKinematics & target, double * out) noexcept
{
  Eigen::Map<Eigen::Matrix3d> rotation(out);
  Eigen::Map<Eigen::Matrix<double, 3, 5>> rest(out + 9);
  rotation = target.rotation;
  rest.col(0) = target.position;
  rest.col(1) = target.velocity;
  rest.col(2) = target.angular_velocity;
  rest.col(3) = target.acceleration_bias;
  rest.col(4) = target.angular_acceleration_bias;
}

void load(const double * numbers, FrameKinematics & out) noexcept
{
  const Eigen::Map<const Eigen::Matrix3d> rotation(numbers);
  const Eigen::Map<const Eigen::Matrix<double, 3, 5>> rest(numbers + 9);
  out.rotation = rotation;
  out.position = rest.col(0);
  out.velocity = rest.col(1);
  out.angular_velocity = rest.col(2);
  out.acceleration_bias = rest.col(3);
  out.angular_acceleration_bias = rest.col(4);
}

}  // namespace

/// Coincidence of A with the frame T, whose motion in B comes through the scratch buffer: rows of a
/// FrameConstraint are constant otherwise.
class PoseServo::Target : public FrameConstraint
{
public:
  Target(
    const std::string & name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const std::vector<std::string> & rows)
  : FrameConstraint(
      name, "pose", system, frame_a, frame_b,
      CoincidenceAxes::describe("servo-constraint '" + name + "'", rows), kTargetSize),
    axes_(rows)
  {
  }

protected:
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override
  {
    FrameKinematics target;
    load(scratch.buffer.data(), target);
    FrameKinematics a;
    a.rotation = motion.rotation;
    a.position = motion.position;
    a.velocity = motion.velocity;
    a.angular_velocity = motion.angular_velocity;
    a.acceleration_bias = motion.acceleration_bias;
    a.angular_acceleration_bias = motion.angular_acceleration_bias;
    RelativeMotion error;
    error.time = motion.time;
    relate(a, target, false, false, error);
    const Status status = coincidence_rows(error, axes_, out);
    for (int i = 0; i < row_count() && status == Status::kOk; ++i)
    {
      // From axes of T to those of B.
      FrameRow & row = out.row[static_cast<std::size_t>(i)];
      row.linear = target.rotation * row.linear;
      row.angular = target.rotation * row.angular;
    }
    return status;
  }

private:
  CoincidenceAxes axes_;
};

PoseServo::PoseServo(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const std::vector<std::string> & rows)
: PoseServo(name, system, std::make_unique<const Target>(name, system, frame_a, frame_b, rows))
{
}

PoseServo::PoseServo(std::string name, const System & system, std::unique_ptr<const Target> target)
: ServoConstraint(
    std::move(name), "pose", system, target->rows(), kPositionSize, kVelocitySize,
    target->scratch_size()),
  target_(std::move(target)),
  has_rotation_rows_(std::any_of(
    this->rows().begin(), this->rows().end(),
    [](const RowDescription & row) { return row.rotational; }))
{
}

PoseServo::~PoseServo() = default;

int PoseServo::frame_a() const { return target_->frame_a(); }
int PoseServo::frame_b() const { return target_->frame_b(); }

Status PoseServo::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const Eigen::Vector4d coefficients = reference.position.tail<4>();
  const double length = coefficients.stableNorm();
  if (!(length >= kShortestQuaternion && std::isfinite(length)))
  {
    return Status::kNonFiniteInput;
  }
  FrameKinematics target;
  target.rotation = Eigen::Quaterniond(Eigen::Vector4d(coefficients / length)).toRotationMatrix();
  target.position = reference.position.head<3>();
  target.velocity = reference.velocity.head<3>();
  target.angular_velocity = reference.velocity.tail<3>();
  target.acceleration_bias = reference.acceleration.head<3>();
  target.angular_acceleration_bias = reference.acceleration.tail<3>();
  store(target, scratch.buffer.data());
  return target_->evaluate(data, scratch, rows);
}

Status PoseServo::do_measure(
  const SystemData & data, ConstraintScratch & /*scratch*/, RowBlock & /*rows*/,
  ServoReference & out) const noexcept CD_NONBLOCKING
{
  RelativeMotion motion;
  target_->relative_motion(data, motion);
  do_reset(out);
  out.velocity.setZero();
  out.acceleration.setZero();
  out.position.head<3>() = motion.position;
  out.velocity.head<3>() = motion.velocity;
  if (has_rotation_rows_)
  {
    out.position.tail<4>() = Eigen::Quaterniond(motion.rotation).coeffs();
    out.velocity.tail<3>() = motion.angular_velocity;
  }
  return Status::kOk;
}

void PoseServo::do_reset(ServoReference & reference) const
{
  reference.position.tail<4>() = Eigen::Quaterniond::Identity().coeffs();
}

}  // namespace constrained_dynamics
