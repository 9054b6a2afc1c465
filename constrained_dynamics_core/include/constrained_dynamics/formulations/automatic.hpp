// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/formulations/kane_nonminimal.hpp"

namespace constrained_dynamics
{

/// The fastest robust path, "auto". For a RigidBodySystem `Dynamics::solve` then goes along the
/// tree of bodies: one articulated-body recursion carries the rows from the tips to the root and
/// eliminates each where the joints it touches end (E21, E22). Neither Q nor A is built, and cost
/// grows with the number of bodies where loops are local.
///
/// Where that path finds rows or inertia not clearly regular, or rows that contradict each other,
/// and for all other systems, this is KaneNonminimal, which judges by a factorisation of A itself.
class CONSTRAINED_DYNAMICS_EXPORT Automatic : public KaneNonminimal
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "auto"; }
};

}  // namespace constrained_dynamics
