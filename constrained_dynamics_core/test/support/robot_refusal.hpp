// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <stdexcept>
#include <string>

#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{
namespace test
{

/// The message with which a scene is refused, or "" if it is not.
inline std::string refusal(const SceneDescription & scene)
{
  try
  {
    RigidBodySystem system(scene);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

/// Likewise for one robot.
inline std::string refusal_of_text(
  const std::string & text, RobotFormat format, Base base = Base::kFixed)
{
  SceneDescription scene;
  scene.robots.resize(1);
  scene.robots[0].text = text;
  scene.robots[0].format = format;
  scene.robots[0].base = base;
  return refusal(scene);
}

}  // namespace test
}  // namespace constrained_dynamics
