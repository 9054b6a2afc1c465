// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Models to and from Python. Pinocchio's own module uses another binding library, so its objects
// cannot be passed directly; its text archive can, with every digit.

#include "constrained_dynamics/model/pinocchio.hpp"

#include <stdexcept>

#include <pinocchio/serialization.hpp>

#include "model/rigid_bodies.hpp"

namespace constrained_dynamics::python
{

std::shared_ptr<const RigidBodySystem> system_of_model_text(
  const std::string & text, const SceneDescription & scene)
{
  pinocchio::Model model;
  try
  {
    model.loadFromString(text);
  }
  catch (const std::exception & error)
  {
    throw std::invalid_argument(
      std::string("the model cannot be read (") + error.what() +
      "); it must be what saveToString() of Pinocchio " PINOCCHIO_VERSION " gives");
  }
  ModelOptions options;
  options.scene = scene;
  options.use_damping = scene.use_model_damping;
  return make_rigid_body_system(model, options);
}

void bind_pinocchio(nb::module_ & module)
{
  module.def(
    "_model_text",
    [](const RigidBodySystem & system) { return pinocchio_model(system).saveToString(); },
    "system"_a, "The pinocchio.Model of a system as text; to_pinocchio() makes a Model of it.");
  module.def(
    "to_pinocchio_q",
    [](const RigidBodySystem & system, const VectorArgument & q)
    { return to_pinocchio_q(system, Eigen::VectorXd(view(q))); },
    "system"_a, "q"_a,
    "Pinocchio's configuration of coordinates q. A continuous joint, and the rotation of a planar\n"
    "one, is one angle here and its cosine and sine there. Speeds are the same.");
  module.def(
    "from_pinocchio_q",
    [](const RigidBodySystem & system, const VectorArgument & configuration)
    { return from_pinocchio_q(system, Eigen::VectorXd(view(configuration))); },
    "system"_a, "configuration"_a, "Coordinates q of Pinocchio's configuration.");
}

}  // namespace constrained_dynamics::python
