// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "common.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics::python
{

/// Scenes and RigidBodySystem.
void bind_rigid_bodies(nb::module_ & module);
/// What of them needs Pinocchio's headers.
void bind_pinocchio(nb::module_ & module);

/// The system of a Model that Pinocchio wrote as text, with a scene added to it.
/// @throw std::invalid_argument if the text is none, and as make_rigid_body_system.
std::shared_ptr<const RigidBodySystem> system_of_model_text(
  const std::string & text, const SceneDescription & scene);

}  // namespace constrained_dynamics::python
