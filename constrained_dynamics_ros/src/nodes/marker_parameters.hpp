// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <constrained_dynamics_ros/markers.hpp>
#include <constrained_dynamics_ros/node_parameters.hpp>

namespace constrained_dynamics_ros
{

/// The parameters of a node as a style. @throw std::invalid_argument as `check`.
MarkerStyle make_marker_style(const node_parameters::Params & parameters);

/// Every how many cycles markers are published; 0: never.
int marker_cycles(const node_parameters::Params & parameters);

}  // namespace constrained_dynamics_ros
