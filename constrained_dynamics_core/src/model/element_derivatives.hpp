// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "constrained_dynamics/model/system.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

/// Memory of differentiate_element.
struct ElementMemory
{
  FrameDerivatives a;
  FrameDerivatives b;
  std::vector<Dual> scratch;
};

/// Subtracts the derivatives of a force element's generalized force from residual_q and residual_u
/// of `out`, after `System::differentiate` has prepared the derivatives of frames. Returns false if
/// the element cannot be evaluated here.
bool differentiate_element(
  const System & system, const TreeData & data, const TreeElement & element,
  const ForceElementState & state, ElementMemory & memory, SystemDerivatives & out);

}  // namespace constrained_dynamics
