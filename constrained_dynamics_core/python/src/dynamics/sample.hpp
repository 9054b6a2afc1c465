// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// One instant as one vector: recordings and live views read a cycle in a single call.

namespace constrained_dynamics::python
{

/// Names and sizes of the parts of a sample, in their order.
std::vector<std::pair<std::string, int>> sample_layout(const Dynamics & dynamics);

/// The instant of the last solve in a workspace.
/// @param inputs τ that it was solved with.
Eigen::VectorXd take_sample(
  const Dynamics & dynamics, const Workspace & workspace, Status status,
  const Eigen::Ref<const Eigen::VectorXd> & inputs);

}  // namespace constrained_dynamics::python
