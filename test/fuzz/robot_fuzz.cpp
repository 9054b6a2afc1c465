// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Fuzz target: robot descriptions are untrusted text.
//
// robot.dict is its dictionary; test/robots and test/robots/hostile of the core are a good start. The language
// follows from the root element. Whatever the text, it is refused with std::invalid_argument that
// says why, or makes a system, with a fixed and with a floating base, whose terms are finite.

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <Eigen/Core>

#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace
{

using constrained_dynamics::Base;
using constrained_dynamics::RigidBodySystem;
using constrained_dynamics::RobotDescription;
using constrained_dynamics::RobotFormat;
using constrained_dynamics::SceneDescription;
using constrained_dynamics::Status;

RobotFormat format_of(const std::string & text)
{
  const std::size_t none = std::string::npos;
  if (text.find("<mujoco") != none) return RobotFormat::kMjcf;
  return text.find("<sdf") != none ? RobotFormat::kSdf : RobotFormat::kUrdf;
}

void try_base(const std::string & text, Base base)
{
  RobotDescription robot;
  robot.text = text;
  robot.source = "fuzz";
  robot.format = format_of(text);
  robot.base = base;
  SceneDescription scene;
  scene.robots.push_back(robot);
  const RigidBodySystem system(scene);
  const auto data = system.make_data();
  const Eigen::VectorXd u = Eigen::VectorXd::Constant(system.speed_count(), 0.25);
  if (system.update_kinematics(0.0, system.neutral_coordinates(), u, *data) != Status::kOk) return;
  if (system.update_dynamics(*data) != Status::kOk) return;
  if (!data->terms.mass_matrix.allFinite() || !data->terms.force.allFinite()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  const std::string text(reinterpret_cast<const char *>(data), size);
  for (const Base base : {Base::kFixed, Base::kFloating})
  {
    try
    {
      try_base(text, base);
    }
    catch (const std::invalid_argument & error)
    {
      if (std::string(error.what()).empty()) std::abort();
    }
  }
  return 0;
}
