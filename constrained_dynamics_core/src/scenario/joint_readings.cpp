// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/joint_readings.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "dense_decompositions.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

bool is_among(const std::vector<int> & values, int value)
{
  return std::find(values.begin(), values.end(), value) != values.end();
}

constexpr double kNanoseconds = 1e9;  // of a second

double seconds(JointReadings::Time time) { return static_cast<double>(time) / kNanoseconds; }

}  // namespace

JointReadings::JointReadings(const System & system, double timeout)
: system_(system), timeout_(static_cast<Time>(timeout * kNanoseconds))
{
  for (int i = 0; i < system.coordinate_count(); ++i)
  {
    const int own =
      find_name(system.speed_names(), "d" + system.coordinate_names()[static_cast<std::size_t>(i)]);
    speed_of_coordinate_.push_back(own);
    if (own < 0)
    {
      joint_coordinates_.push_back(i);
      for (const int speed : system.speeds_of_coordinate(i))
      {
        if (!is_among(joint_speeds_, speed))
        {
          joint_speeds_.push_back(speed);
        }
      }
    }
  }
  clear();
}

void JointReadings::clear()
{
  const auto coordinates = static_cast<std::size_t>(system_.coordinate_count());
  const auto speeds = static_cast<std::size_t>(system_.speed_count());
  const auto inputs = static_cast<std::size_t>(system_.input_count());
  positions_.assign(coordinates, {});
  rates_.assign(coordinates, {});
  speeds_.assign(speeds, {});
  efforts_.assign(inputs, {});
  has_position_.assign(coordinates, false);
  has_rate_.assign(coordinates, false);
  has_speed_.assign(speeds, false);
  has_effort_.assign(inputs, false);
  has_values_ = false;
}

std::string JointReadings::check(const JointSample & message, Time stamp, Time now) const
{
  std::ostringstream text;
  const std::size_t size = message.name.size();
  if (size == 0 || size > kMostNames)
  {
    text << "a message has " << size << " names; allowed: 1 to " << kMostNames;
    return text.str();
  }
  const auto wrong = [size](const std::vector<double> & values)
  { return !values.empty() && values.size() != size; };
  if (wrong(message.position) || wrong(message.velocity) || wrong(message.effort))
  {
    text << "a message has " << size << " names, " << message.position.size() << " positions, "
         << message.velocity.size() << " velocities and " << message.effort.size()
         << " efforts; allowed: as many as names, or none";
  }
  else if (stamp < now - timeout_)
  {
    text << "a message is " << seconds(now - stamp) << " s old; allowed: up to "
         << seconds(timeout_) << " s";
  }
  else if (stamp > now + timeout_)
  {
    text << "a message is stamped " << seconds(stamp - now) << " s ahead; allowed: up to "
         << seconds(timeout_) << " s";
  }
  return text.str();
}

std::string JointReadings::add(const JointSample & message, Time now)
{
  const Time stamp = message.time == 0 ? now : message.time;
  std::string problem = check(message, stamp, now);
  if (!problem.empty())
  {
    ++refused_;
    return problem;
  }
  const auto element = [](const std::vector<double> & values, std::size_t i)
  { return values.empty() ? nullptr : &values[i]; };
  for (std::size_t i = 0; i < message.name.size(); ++i)
  {
    add_joint(
      message.name[i], stamp, element(message.position, i), element(message.velocity, i),
      element(message.effort, i));
  }
  ++count_;
  return "";
}

bool JointReadings::is_good(const double * value)
{
  if (value == nullptr)
  {
    return false;
  }
  bad_values_ += std::isfinite(*value) ? 0 : 1;
  return std::isfinite(*value);
}

void JointReadings::add_joint(
  const std::string & name, Time stamp, const double * position, const double * velocity,
  const double * effort)
{
  const int coordinate = find_name(system_.coordinate_names(), name);
  const int speed = find_name(system_.speed_names(), name);
  const int input = find_name(system_.input_names(), name);
  if (coordinate < 0 && speed < 0 && input < 0)
  {
    if (unknown_.size() < kMostUnknown && find_name(unknown_, name) < 0)
    {
      unknown_.push_back(name);
    }
    return;
  }
  if (coordinate >= 0 && is_good(position))
  {
    add_position(static_cast<std::size_t>(coordinate), stamp, *position, velocity);
  }
  if (coordinate < 0 && speed >= 0 && is_good(velocity))
  {
    speeds_[static_cast<std::size_t>(speed)] = {*velocity, stamp};
    has_speed_[static_cast<std::size_t>(speed)] = true;
  }
  if (input >= 0 && is_good(effort))
  {
    efforts_[static_cast<std::size_t>(input)] = {*effort, stamp};
    has_effort_[static_cast<std::size_t>(input)] = true;
  }
}

void JointReadings::add_position(
  std::size_t coordinate, Time stamp, double value, const double * velocity)
{
  const Reading before = positions_[coordinate];
  const bool is_first = !has_position_[coordinate];
  if (!is_first && stamp < before.time)
  {
    return;  // a newer reading came first
  }
  double rate = rates_[coordinate].value;
  if (velocity != nullptr)
  {
    if (!is_good(velocity))
    {
      return;
    }
    rate = *velocity;
  }
  else if (is_first)
  {
    rate = 0.0;
  }
  else if (stamp > before.time)
  {
    rate = (value - before.value) / seconds(stamp - before.time);
  }
  positions_[coordinate] = {value, stamp};
  rates_[coordinate] = {rate, stamp};
  has_position_[coordinate] = true;
  has_rate_[coordinate] = true;
  newest_ = has_values_ ? std::max(newest_, stamp) : stamp;
  has_values_ = true;
}

std::vector<bool> JointReadings::measured_speeds() const
{
  std::vector<bool> measured = has_speed_;
  for (std::size_t i = 0; i < has_rate_.size(); ++i)
  {
    if (has_rate_[i] && speed_of_coordinate_[i] >= 0)
    {
      measured[static_cast<std::size_t>(speed_of_coordinate_[i])] = true;
    }
  }
  // The other speeds follow from the rates if all rates are measured.
  const bool all = std::all_of(
    joint_coordinates_.begin(), joint_coordinates_.end(),
    [this](int i) { return has_rate_[static_cast<std::size_t>(i)]; });
  for (const int speed : joint_speeds_)
  {
    measured[static_cast<std::size_t>(speed)] = measured[static_cast<std::size_t>(speed)] || all;
  }
  return measured;
}

std::string JointReadings::read(Time now, Eigen::VectorXd & q, Eigen::VectorXd & u) const
{
  for (std::size_t i = 0; i < positions_.size(); ++i)
  {
    if (!has_position_[i])
    {
      continue;
    }
    if (now - positions_[i].time > timeout_)
    {
      return system_.coordinate_names()[i];
    }
    q(static_cast<Eigen::Index>(i)) = positions_[i].value;
    if (speed_of_coordinate_[i] >= 0)
    {
      u(speed_of_coordinate_[i]) = rates_[i].value;
    }
  }
  add_speeds_of_rates(q, u);
  for (std::size_t i = 0; i < speeds_.size(); ++i)
  {
    if (has_speed_[i])
    {
      u(static_cast<Eigen::Index>(i)) = speeds_[i].value;
    }
  }
  return "";
}

void JointReadings::add_speeds_of_rates(Eigen::VectorXd & q, Eigen::VectorXd & u) const
{
  const bool all = std::all_of(
    joint_coordinates_.begin(), joint_coordinates_.end(),
    [this](int i) { return has_rate_[static_cast<std::size_t>(i)]; });
  if (joint_coordinates_.empty() || !all)
  {
    return;
  }
  system_.normalise(q);
  const std::unique_ptr<SystemData> data = system_.make_data();
  if (!has_output(system_.update_kinematics(0.0, q, Eigen::VectorXd::Zero(u.size()), *data)))
  {
    return;
  }
  const auto rows = static_cast<Eigen::Index>(joint_coordinates_.size());
  const auto columns = static_cast<Eigen::Index>(joint_speeds_.size());
  Eigen::MatrixXd matrix(rows, columns);
  Eigen::VectorXd rates(rows);
  for (Eigen::Index row = 0; row < rows; ++row)
  {
    const int coordinate = joint_coordinates_[static_cast<std::size_t>(row)];
    rates(row) =
      rates_[static_cast<std::size_t>(coordinate)].value - data->terms.kinematic_drift(coordinate);
    for (Eigen::Index column = 0; column < columns; ++column)
    {
      matrix(row, column) =
        data->terms.kinematic_matrix(coordinate, joint_speeds_[static_cast<std::size_t>(column)]);
    }
  }
  const Eigen::VectorXd speeds = matrix.colPivHouseholderQr().solve(rates);
  for (Eigen::Index column = 0; column < columns; ++column)
  {
    u(joint_speeds_[static_cast<std::size_t>(column)]) = speeds(column);
  }
}

bool JointReadings::read_effort(Time now, Eigen::VectorXd & effort) const
{
  for (std::size_t i = 0; i < efforts_.size(); ++i)
  {
    if (!has_effort_[i] || now - efforts_[i].time > timeout_)
    {
      return false;
    }
  }
  for (std::size_t i = 0; i < efforts_.size(); ++i)
  {
    effort(static_cast<Eigen::Index>(i)) = efforts_[i].value;
  }
  return true;
}

}  // namespace constrained_dynamics
