// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Motion of A as seen from B, by the formulas of RelativeMotion, from the motions of both in a
/// third frame W. @param b_is_fixed B does not move in W. Real-time safe: yes.
void find_relative_motion(
  const FrameKinematics & a, const FrameKinematics & b, bool b_is_fixed,
  RelativeMotion & out) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
