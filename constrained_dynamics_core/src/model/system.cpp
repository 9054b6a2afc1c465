// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/system.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "is_finite.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

SystemData::SystemData(int coordinate_count, int speed_count, int input_count)
{
  const Eigen::Index nq = coordinate_count;
  const Eigen::Index n = speed_count;
  terms.coordinates.setZero(nq);
  terms.speeds.setZero(n);
  terms.kinematic_matrix.setZero(nq, n);
  terms.kinematic_drift.setZero(nq);
  terms.rates.setZero(nq);
  terms.acceleration_bias.setZero(nq);
  terms.mass_matrix.setZero(n, n);
  terms.force.setZero(n);
  terms.input_matrix.setZero(n, input_count);
}

SystemData::~SystemData() = default;
System::~System() = default;

int System::coordinate_index(const std::string & name) const
{
  return index_of_name("coordinate", name, coordinate_names_);
}

int System::speed_index(const std::string & name) const
{
  return index_of_name("speed", name, speed_names_);
}

int System::input_index(const std::string & name) const
{
  return index_of_name("input", name, input_names_);
}

int System::frame_index(const std::string & name) const
{
  return index_of_name("frame", name, frame_names_);
}

Status System::update_kinematics(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  SystemData & data) const noexcept CD_NONBLOCKING
{
  SystemTerms & terms = data.terms;
  if (q.size() != terms.coordinates.size() || u.size() != terms.speeds.size())
  {
    return Status::kSizeMismatch;
  }
  if (!std::isfinite(time) || !q.allFinite() || !u.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  terms.time = time;
  terms.coordinates = q;
  terms.speeds = u;
  return do_update_kinematics(data);
}

Status System::update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING
{
  const Status status = do_update_dynamics(data);
  if (status != Status::kOk)
  {
    return status;
  }
  const SystemTerms & terms = data.terms;
  const bool finite =
    is_finite(terms.mass_matrix) && is_finite(terms.force) && is_finite(terms.input_matrix);
  return finite ? Status::kOk : Status::kNonFiniteResult;
}

void System::set_names(
  std::vector<std::string> coordinates, std::vector<std::string> speeds,
  std::vector<std::string> inputs, std::vector<std::string> frames)
{
  check_names("coordinate", coordinates);
  check_names("speed", speeds);
  check_names("input", inputs);
  check_names("frame", frames);
  if (speeds.empty())
  {
    throw std::invalid_argument("the system has 0 degrees of freedom; at least 1 is needed");
  }
  coordinate_names_ = std::move(coordinates);
  speed_names_ = std::move(speeds);
  input_names_ = std::move(inputs);
  frame_names_ = std::move(frames);
}

void System::set_driven_speeds(std::vector<int> speeds)
{
  std::sort(speeds.begin(), speeds.end());
  for (std::size_t i = 0; i < speeds.size(); ++i)
  {
    if (speeds[i] < 0 || speeds[i] >= speed_count() || (i > 0 && speeds[i] == speeds[i - 1]))
    {
      throw std::invalid_argument(
        "driven speed " + std::to_string(speeds[i]) + "; allowed: 0 to " +
        std::to_string(speed_count() - 1) + ", each once");
    }
  }
  if (static_cast<int>(speeds.size()) == speed_count())
  {
    throw std::invalid_argument(
      "all " + std::to_string(speed_count()) + " speeds are driven; allowed: at least 1 is not");
  }
  driven_speeds_ = std::move(speeds);
}

std::unique_ptr<SystemData> System::do_make_data() const
{
  return std::make_unique<SystemData>(coordinate_count(), speed_count(), input_count());
}

void System::do_normalise(VectorRef) const noexcept CD_NONBLOCKING {}

Eigen::VectorXd System::do_neutral_coordinates() const
{
  return Eigen::VectorXd::Zero(coordinate_count());
}

std::vector<int> System::do_speeds_of_coordinate(int) const
{
  std::vector<int> all(speed_names_.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string System::do_body_of_frame(int) const { return {}; }

void System::do_frame_kinematics(const SystemData &, int, FrameKinematics & out) const noexcept
  CD_NONBLOCKING
{
  out = FrameKinematics{};
}

void System::do_frame_jacobian(const SystemData &, int, Matrix6X & out) const noexcept
  CD_NONBLOCKING
{
  out.setZero();
}

void System::do_frame_reach(const SystemData & data, int frame, Matrix6X & out) const noexcept
  CD_NONBLOCKING
{
  frame_jacobian(data, frame, out);
  for (Eigen::Index j = 0; j < out.cols(); ++j)
  {
    const double linear = out.col(j).head<3>().norm();
    const double angular = out.col(j).tail<3>().norm();
    out(0, j) = linear;
    out(1, j) = angular;
  }
}

bool System::do_has_joint(int) const { return false; }

std::pair<std::string, std::string> System::do_joint_bodies(int) const { return {}; }

void System::do_joint_wrench(const SystemData &, int, Wrench & out) const noexcept CD_NONBLOCKING
{
  out = Wrench{};
}

double System::do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  double twice = 0.0;
  for (Eigen::Index j = 0; j < terms.speeds.size(); ++j)
  {
    twice += terms.speeds(j) * terms.mass_matrix.col(j).dot(terms.speeds);
  }
  return 0.5 * twice;
}

double System::do_potential_energy(const SystemData &) const noexcept CD_NONBLOCKING { return 0.0; }

bool System::do_power(
  SystemData &, const ConstVectorRef &, const ConstVectorRef &, const ConstVectorRef &,
  SystemPower &) const noexcept CD_NONBLOCKING
{
  return false;
}

bool System::do_differentiate(
  SystemData &, const ConstVectorRef &, const ConstVectorRef &, SystemDerivatives &) const
{
  return false;
}

void System::do_frame_derivatives(const SystemData &, int, FrameDerivatives & out) const
{
  out.resize(speed_count());
}

void System::do_add_frame_force_derivatives(
  const SystemData &, int, const Eigen::Vector3d &, const Eigen::Vector3d &, MatrixRef) const
{
}

void System::do_add_coordinate_force_derivatives(
  const SystemData &, const ConstVectorRef &, MatrixRef) const
{
}

void SystemDerivatives::resize(Eigen::Index coordinate_count, Eigen::Index speed_count)
{
  const Eigen::Index nq = coordinate_count;
  const Eigen::Index n = speed_count;
  acceleration.setZero(n);
  coordinate_acceleration.setZero(nq);
  residual_q.setZero(n, n);
  residual_u.setZero(n, n);
  rate_q.setZero(nq, n);
  coordinate_acceleration_q.setZero(nq, n);
  coordinate_acceleration_u.setZero(nq, n);
  transport.setZero(n, n);
}

void FrameDerivatives::resize(Eigen::Index speed_count)
{
  acceleration.setZero();
  angular_acceleration.setZero();
  for (Matrix6X * matrix : {&jacobian, &velocity_q, &acceleration_q, &acceleration_u})
  {
    matrix->setZero(6, speed_count);
  }
}

}  // namespace constrained_dynamics
