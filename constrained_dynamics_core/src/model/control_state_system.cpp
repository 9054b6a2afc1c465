// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/control_state_system.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

class ControlStateData : public SystemData
{
public:
  ControlStateData(
    int coordinate_count, int speed_count, int input_count, std::unique_ptr<SystemData> data)
  : SystemData(coordinate_count, speed_count, input_count),
    wrapped(std::move(data)),
    inputs(Eigen::VectorXd::Zero(wrapped->terms.input_matrix.cols())),
    frame_jacobian(Matrix6X::Zero(6, wrapped->terms.speeds.size()))
  {
    derivatives.resize(wrapped->terms.coordinates.size(), wrapped->terms.speeds.size());
    frame_derivatives.resize(wrapped->terms.speeds.size());
  }

  std::unique_ptr<SystemData> wrapped;
  Eigen::VectorXd inputs;           // of the wrapped system
  mutable Matrix6X frame_jacobian;  // data belong to one thread
  SystemDerivatives derivatives;    // of the wrapped system
  mutable FrameDerivatives frame_derivatives;
};

/// Name of the speed that an input becomes.
std::string state_name(const System & system, const std::string & input)
{
  const auto is_taken = [&](const std::string & name)
  {
    return contains(system.coordinate_names(), name) || contains(system.speed_names(), name) ||
           (name.size() > 1 && name[0] == 'd' &&
            contains(system.coordinate_names(), name.substr(1)));
  };
  return is_taken(input) ? "tau_" + input : input;
}

/// The speed that is the rate of a coordinate.
int speed_of_coordinate(const System & system, const std::string & coordinate)
{
  index_of_name("coordinate", coordinate, system.coordinate_names());
  if (!contains(system.speed_names(), "d" + coordinate))
  {
    throw std::invalid_argument(
      "control state '" + coordinate + "' (second) is a coordinate without a speed 'd" +
      coordinate + "'; allowed: coordinates whose rate is a speed");
  }
  return system.speed_index("d" + coordinate);
}

}  // namespace

ControlStateSystem::ControlStateSystem(std::shared_ptr<const System> wrapped, ControlStates states)
: wrapped_(std::move(wrapped))
{
  if (!wrapped_)
  {
    throw std::invalid_argument("control states of a null system; a system is needed");
  }
  if (!wrapped_->driven_speeds().empty())
  {
    throw std::invalid_argument(
      "control states of a system that already has driven speeds; allowed: a system without driven "
      "speeds");
  }
  check_names("control state (first)", states.first);
  check_names("control state (second)", states.second);
  std::vector<std::string> speeds = wrapped_->speed_names();
  std::vector<std::string> rates;
  for (const std::string & name : states.first)
  {
    first_.push_back(index_of_name("input", name, wrapped_->input_names()));
    speeds.push_back(state_name(*wrapped_, name));
    rates.push_back("d" + speeds.back());
  }
  for (const std::string & name : states.second)
  {
    imposed_.push_back(speed_of_coordinate(*wrapped_, name));
    rates.push_back("d" + wrapped_->speed_names()[static_cast<std::size_t>(imposed_.back())]);
  }
  std::vector<std::string> inputs;
  for (int i = 0; i < wrapped_->input_count(); ++i)
  {
    if (std::find(first_.begin(), first_.end(), i) == first_.end())
    {
      kept_.push_back(i);
      inputs.push_back(wrapped_->input_names()[static_cast<std::size_t>(i)]);
    }
  }
  inputs.insert(inputs.end(), rates.begin(), rates.end());
  set_names(wrapped_->coordinate_names(), speeds, inputs, wrapped_->frame_names());
  std::vector<int> driven = imposed_;
  for (int i = wrapped_->speed_count(); i < speed_count(); ++i)
  {
    driven.push_back(i);
  }
  set_driven_speeds(std::move(driven));
}

ControlStateSystem::~ControlStateSystem() = default;

SystemData & ControlStateSystem::wrapped_data(SystemData & data) noexcept CD_NONBLOCKING
{
  return *static_cast<ControlStateData &>(data).wrapped;
}

const SystemData & ControlStateSystem::wrapped_data(const SystemData & data) noexcept CD_NONBLOCKING
{
  return *static_cast<const ControlStateData &>(data).wrapped;
}

std::unique_ptr<SystemData> ControlStateSystem::do_make_data() const
{
  return std::make_unique<ControlStateData>(
    coordinate_count(), speed_count(), input_count(), wrapped_->make_data());
}

Status ControlStateSystem::do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING
{
  SystemTerms & to = data.terms;
  SystemData & inner = wrapped_data(data);
  const Eigen::Index n = inner.terms.speeds.size();
  const Status status =
    wrapped_->update_kinematics(to.time, to.coordinates, to.speeds.head(n), inner);
  if (status != Status::kOk)
  {
    return status;
  }
  const SystemTerms & from = inner.terms;
  to.kinematic_matrix.leftCols(n) = from.kinematic_matrix;  // the rest stays 0
  to.kinematic_drift = from.kinematic_drift;
  to.rates = from.rates;
  to.acceleration_bias = from.acceleration_bias;
  return Status::kOk;
}

Status ControlStateSystem::do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING
{
  SystemTerms & to = data.terms;
  SystemData & inner = wrapped_data(data);
  const Status status = wrapped_->update_dynamics(inner);
  if (status != Status::kOk)
  {
    return status;
  }
  const SystemTerms & from = inner.terms;
  const Eigen::Index n = from.speeds.size();
  const Eigen::Index kept = static_cast<Eigen::Index>(kept_.size());
  const Eigen::Index first = static_cast<Eigen::Index>(first_.size());
  to.mass_matrix.topLeftCorner(n, n) = from.mass_matrix;
  to.force.head(n) = from.force;
  to.input_matrix.setZero();
  for (Eigen::Index k = 0; k < kept; ++k)
  {
    to.input_matrix.col(k).head(n) = from.input_matrix.col(kept_[static_cast<std::size_t>(k)]);
  }
  for (Eigen::Index k = 0; k < first; ++k)
  {
    to.force.head(n) +=
      from.input_matrix.col(first_[static_cast<std::size_t>(k)]) * to.speeds(n + k);
    to.mass_matrix(n + k, n + k) = 1.0;
    to.input_matrix(n + k, kept + k) = 1.0;
  }
  // The inertia force of an imposed motion moves to the right-hand side, −Q_fd ü.
  for (std::size_t k = 0; k < imposed_.size(); ++k)
  {
    const Eigen::Index input = kept + first + static_cast<Eigen::Index>(k);
    to.input_matrix.col(input).head(n) = -from.mass_matrix.col(imposed_[k]);
  }
  for (std::size_t k = 0; k < imposed_.size(); ++k)
  {
    const Eigen::Index speed = imposed_[k];
    to.mass_matrix.row(speed).setZero();
    to.mass_matrix.col(speed).setZero();
    to.mass_matrix(speed, speed) = 1.0;
    to.force(speed) = 0.0;
    to.input_matrix.row(speed).setZero();
    to.input_matrix(speed, kept + first + static_cast<Eigen::Index>(k)) = 1.0;
  }
  return Status::kOk;
}

void ControlStateSystem::do_normalise(VectorRef q) const noexcept CD_NONBLOCKING
{
  wrapped_->normalise(q);
}

Eigen::VectorXd ControlStateSystem::do_neutral_coordinates() const
{
  return wrapped_->neutral_coordinates();
}

std::string ControlStateSystem::do_body_of_frame(int frame) const
{
  return wrapped_->body_of_frame(frame);
}

void ControlStateSystem::do_frame_kinematics(
  const SystemData & data, int frame, FrameKinematics & out) const noexcept CD_NONBLOCKING
{
  wrapped_->frame_kinematics(wrapped_data(data), frame, out);
}

void ControlStateSystem::do_frame_jacobian(
  const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
{
  Matrix6X & inner = static_cast<const ControlStateData &>(data).frame_jacobian;
  wrapped_->frame_jacobian(wrapped_data(data), frame, inner);
  out.leftCols(inner.cols()) = inner;
  out.rightCols(out.cols() - inner.cols()).setZero();
}

void ControlStateSystem::do_frame_reach(
  const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
{
  Matrix6X & inner = static_cast<const ControlStateData &>(data).frame_jacobian;
  wrapped_->frame_reach(wrapped_data(data), frame, inner);
  out.leftCols(inner.cols()) = inner;
  out.rightCols(out.cols() - inner.cols()).setZero();
}

bool ControlStateSystem::do_has_joint(int coordinate) const
{
  return wrapped_->has_joint(coordinate);
}

std::pair<std::string, std::string> ControlStateSystem::do_joint_bodies(int coordinate) const
{
  return wrapped_->joint_bodies(coordinate);
}

void ControlStateSystem::do_joint_wrench(
  const SystemData & data, int coordinate, Wrench & out) const noexcept CD_NONBLOCKING
{
  wrapped_->joint_wrench(wrapped_data(data), coordinate, out);
}

std::vector<int> ControlStateSystem::do_speeds_of_coordinate(int coordinate) const
{
  return wrapped_->speeds_of_coordinate(coordinate);
}

double ControlStateSystem::do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING
{
  return wrapped_->kinetic_energy(wrapped_data(data));
}

double ControlStateSystem::do_potential_energy(const SystemData & data) const noexcept
  CD_NONBLOCKING
{
  return wrapped_->potential_energy(wrapped_data(data));
}

bool ControlStateSystem::do_power(
  SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
  const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING
{
  SystemData & inner = wrapped_data(data);
  Eigen::VectorXd & all = static_cast<ControlStateData &>(data).inputs;
  fill_inputs(data, inputs, all);
  const SystemTerms & terms = inner.terms;
  const Eigen::Index n = terms.speeds.size();
  if (!wrapped_->power(inner, acceleration.head(n), all, constraint_force.head(n), out))
  {
    return false;
  }
  // A drive exerts what the other forces lack to produce the imposed acceleration of its speed.
  for (const int speed : imposed_)
  {
    // A row of a matrix without columns has no address.
    const double applied = all.size() > 0 ? terms.input_matrix.row(speed).dot(all) : 0.0;
    out.driven += terms.speeds(speed) * (terms.mass_matrix.row(speed).dot(acceleration.head(n)) -
                                         terms.force(speed) - applied);
  }
  return true;
}

/// The inputs of the wrapped system: the remaining inputs, and those that have become states.
void ControlStateSystem::fill_inputs(
  const SystemData & data, const ConstVectorRef & inputs,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  const Eigen::Index n = wrapped_->speed_count();
  for (std::size_t k = 0; k < kept_.size(); ++k)
  {
    out(kept_[k]) = inputs(static_cast<Eigen::Index>(k));
  }
  for (std::size_t k = 0; k < first_.size(); ++k)
  {
    out(first_[k]) = data.terms.speeds(n + static_cast<Eigen::Index>(k));
  }
}

bool ControlStateSystem::do_differentiate(
  SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
  SystemDerivatives & out) const
{
  SystemData & inner = wrapped_data(data);
  const Eigen::Index n = wrapped_->speed_count();
  Eigen::VectorXd & all = static_cast<ControlStateData &>(data).inputs;
  SystemDerivatives & part = static_cast<ControlStateData &>(data).derivatives;
  fill_inputs(data, inputs, all);
  if (!wrapped_->differentiate(inner, acceleration.head(n), all, part))
  {
    return false;
  }
  out.resize(coordinate_count(), speed_count());
  out.acceleration = acceleration;
  out.coordinate_acceleration = part.coordinate_acceleration;
  out.residual_q.topLeftCorner(n, n) = part.residual_q;
  out.residual_u.topLeftCorner(n, n) = part.residual_u;
  out.rate_q.leftCols(n) = part.rate_q;
  out.coordinate_acceleration_q.leftCols(n) = part.coordinate_acceleration_q;
  out.coordinate_acceleration_u.leftCols(n) = part.coordinate_acceleration_u;
  out.transport.topLeftCorner(n, n) = part.transport;
  for (std::size_t k = 0; k < first_.size(); ++k)
  {
    out.residual_u.col(n + static_cast<Eigen::Index>(k)).head(n) =
      -inner.terms.input_matrix.col(first_[k]);
  }
  for (const int speed : imposed_)
  {
    out.residual_q.row(speed).setZero();
    out.residual_u.row(speed).setZero();
  }
  return true;
}

void ControlStateSystem::do_frame_derivatives(
  const SystemData & data, int frame, FrameDerivatives & out) const
{
  FrameDerivatives & part = static_cast<const ControlStateData &>(data).frame_derivatives;
  const Eigen::Index n = wrapped_->speed_count();
  wrapped_->frame_derivatives(wrapped_data(data), frame, part);
  out.resize(speed_count());
  out.acceleration = part.acceleration;
  out.angular_acceleration = part.angular_acceleration;
  out.jacobian.leftCols(n) = part.jacobian;
  out.velocity_q.leftCols(n) = part.velocity_q;
  out.acceleration_q.leftCols(n) = part.acceleration_q;
  out.acceleration_u.leftCols(n) = part.acceleration_u;
}

void ControlStateSystem::do_add_frame_force_derivatives(
  const SystemData & data, int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque,
  MatrixRef out) const
{
  const Eigen::Index n = wrapped_->speed_count();
  wrapped_->add_frame_force_derivatives(
    wrapped_data(data), frame, force, torque, out.topLeftCorner(n, n));
}

void ControlStateSystem::do_add_coordinate_force_derivatives(
  const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
{
  const Eigen::Index n = wrapped_->speed_count();
  wrapped_->add_coordinate_force_derivatives(wrapped_data(data), y, out.topLeftCorner(n, n));
}

std::shared_ptr<const ControlStateSystem> make_control_state_system(
  std::shared_ptr<const System> system)
{
  ControlStates states;
  if (system)
  {
    states.first = system->input_names();
  }
  return std::make_shared<const ControlStateSystem>(std::move(system), std::move(states));
}

void add_control_coordinates(
  const std::vector<std::string> & controls, AnalyticDescription & description)
{
  Eigen::VectorXd & regular = description.regular_coordinates;
  for (const std::string & name : controls)
  {
    if (contains(description.coordinates, name))
    {
      continue;
    }
    description.coordinates.push_back(name);
    if (!description.speeds.empty())
    {
      description.speeds.push_back({"d" + name, "d" + name});
    }
    if (regular.size() > 0)
    {
      regular.conservativeResizeLike(Eigen::VectorXd::Zero(regular.size() + 1));
    }
    const auto input = std::find_if(
      description.inputs.begin(), description.inputs.end(),
      [&](const AnalyticInput & one) { return one.name == name; });
    if (input != description.inputs.end())
    {
      for (const NamedFormula & coefficient : input->coefficients)
      {
        description.force.push_back({coefficient.name, "(" + coefficient.formula + ")*" + name});
      }
      description.inputs.erase(input);
    }
  }
}

std::shared_ptr<const ControlStateSystem> make_control_state_system(
  AnalyticDescription description, ControlStates states)
{
  add_control_coordinates(states.second, description);
  return std::make_shared<const ControlStateSystem>(
    make_analytic_system(description), std::move(states));
}

}  // namespace constrained_dynamics
