// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/estimate_messages.hpp"

#include <algorithm>
#include <cstddef>

#include "constrained_dynamics_ros/force_messages.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::Status;
using constrained_dynamics_msgs::msg::ExternalForces;
using constrained_dynamics_msgs::msg::ForceObservability;

namespace
{

// Longer than every status, so that copies of a message have room for each.
const char * const kNoStatus = "no cycle has been made yet";

template <typename Message>
void write_header(
  const rclcpp::Time & stamp, std::uint64_t sequence, Status status, Message & message) noexcept
{
  message.header.stamp = to_message(stamp);
  message.sequence = sequence;
  message.status = to_string(status);
}

}  // namespace

ExternalForces make_external_forces_message(
  const constrained_dynamics::System & system, const std::vector<std::string> & frames,
  const std::string & world_frame)
{
  ExternalForces message;
  message.header.frame_id = world_frame;
  message.status = kNoStatus;
  message.names = system.speed_names();
  message.force.resize(message.names.size(), 0.0);
  message.deviation.resize(message.names.size(), 0.0);
  message.independent.resize(message.names.size(), false);
  for (const std::string & frame : frames)
  {
    message.wrenches.emplace_back();
    message.wrenches.back().frame = frame;
  }
  return message;
}

void write_external_forces(
  const rclcpp::Time & stamp, std::uint64_t sequence, Status status,
  const constrained_dynamics::MomentumObserver & observer, ExternalForces & message) noexcept
{
  write_header(stamp, sequence, status, message);
  if (!has_output(status))
  {
    return;
  }
  message.contact = observer.has_contact();
  for (std::size_t i = 0; i < message.force.size(); ++i)
  {
    const auto k = static_cast<Eigen::Index>(i);
    message.force[i] = observer.force()(k);
    message.deviation[i] = observer.deviation()(k);
    message.independent[i] = observer.independent()(k) != 0;
  }
  message.has_wrenches = !message.wrenches.empty() && observer.has_wrenches();
  for (std::size_t i = 0; i < message.wrenches.size() && message.has_wrenches; ++i)
  {
    const Eigen::Index first = 6 * static_cast<Eigen::Index>(i);
    write_wrench_vector(observer.wrenches().segment<6>(first), message.wrenches[i].wrench);
    for (Eigen::Index k = 0; k < 36; ++k)
    {
      message.wrenches[i].covariance[static_cast<std::size_t>(k)] =
        observer.wrench_covariance()(first + k / 6, first + k % 6);
    }
  }
}

ForceObservability make_observability_message(
  const constrained_dynamics::ForceCertificate & certificate, const std::string & world_frame)
{
  ForceObservability message;
  message.header.frame_id = world_frame;
  message.status = kNoStatus;
  message.names = certificate.names();
  message.observable.resize(message.names.size(), false);
  message.estimate.resize(message.names.size(), 0.0);
  message.variance.resize(message.names.size(), 0.0);
  return message;
}

void write_observability(
  const rclcpp::Time & stamp, std::uint64_t sequence, Status status,
  const constrained_dynamics::ForceCertificate & certificate, ForceObservability & message) noexcept
{
  write_header(stamp, sequence, status, message);
  if (!has_output(status))
  {
    return;
  }
  message.rank = static_cast<std::uint32_t>(std::max(0, certificate.rank()));
  message.nominal_rank = static_cast<std::uint32_t>(std::max(0, certificate.nominal_rank()));
  for (std::size_t i = 0; i < message.names.size(); ++i)
  {
    const auto k = static_cast<Eigen::Index>(i);
    message.observable[i] = certificate.observable()(k) != 0;
    message.estimate[i] = certificate.estimate()(k);
    message.variance[i] = certificate.covariance()(k, k);
  }
}

}  // namespace constrained_dynamics_ros
