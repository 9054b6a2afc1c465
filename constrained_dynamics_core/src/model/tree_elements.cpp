// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Force elements of the tree at the state of an update.

#include <algorithm>

#include "model/kinematic_tree.hpp"
#include "model/relate.hpp"

namespace constrained_dynamics
{

void KinematicTree::prepare_elements(TreeData & data) const
{
  int scratch = 0;
  for (const TreeElement & element : elements)
  {
    scratch = std::max(scratch, element.element->scratch_size());
  }
  data.elements.resize(elements.size());
  data.element_scratch.setZero(scratch);
}

Status KinematicTree::update_elements(TreeData & data) const noexcept CD_NONBLOCKING
{
  FrameKinematics a;
  FrameKinematics b;
  RelativeMotion motion;
  motion.time = data.terms.time;
  for (std::size_t i = 0; i < elements.size(); ++i)
  {
    frame_kinematics(data, elements[i].frame_a, a);
    frame_kinematics(data, elements[i].frame_b, b);
    relate(a, b, false, false, motion);
    ElementWrench wrench;
    ForceElementState & state = data.elements[i];
    const Status status =
      elements[i].element->evaluate(motion, data.element_scratch.data(), wrench, state);
    if (status != Status::kOk)
    {
      return status;
    }
    state.on_a.point = a.position;
    state.on_a.force.noalias() = b.rotation * wrench.force;
    state.on_a.torque.noalias() = b.rotation * wrench.torque;
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
