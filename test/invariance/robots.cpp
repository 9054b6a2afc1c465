// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <filesystem>

#include "sources.hpp"

namespace invariance
{

namespace
{

struct PublishedRobot
{
  const char * file;
  const char * base;
};

/// Arms, hands, wheeled bases, quadrupeds, humanoids.
const std::vector<PublishedRobot> & published_robots()
{
  static const std::vector<PublishedRobot> robots = {
    {"panda_description/urdf/panda.urdf", "fixed"},
    {"ur_description/urdf/ur5_robot.urdf", "fixed"},
    {"ur_description/urdf/ur10_robot.urdf", "fixed"},
    {"kinova_description/robots/kinova.urdf", "fixed"},
    {"xarm_description/urdf/xarm7.urdf", "fixed"},
    {"z1_description/urdf/z1.urdf", "fixed"},
    {"so_arm_description/urdf/so100.urdf", "fixed"},
    {"double_pendulum_description/urdf/double_pendulum.urdf", "fixed"},
    {"finger_edu_description/robots/finger_edu.urdf", "fixed"},
    {"allegro_hand_description/urdf/allegro_right_hand.urdf", "fixed"},
    {"talos_data/robots/talos_left_arm.urdf", "fixed"},
    {"tiago_description/robots/tiago_no_hand.urdf", "planar"},
    {"solo_description/robots/solo12.urdf", "floating"},
    {"bolt_description/robots/bolt.urdf", "floating"},
    {"go2_description/urdf/go2.urdf", "floating"},
    {"anymal_b_simple_description/robots/anymal.urdf", "floating"},
    {"hyq_description/robots/hyq_no_sensors.urdf", "floating"},
    {"quadruped_description/urdf/quadruped.urdf", "floating"},
    {"hextilt_description/urdf/hextilt_flying_arm_5.urdf", "floating"},
    {"talos_data/robots/talos_reduced.urdf", "floating"},
    {"icub_description/robots/icub_reduced.urdf", "floating"},
  };
  return robots;
}

bool ends_with(const std::string & name, const std::string & end)
{
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

/// Random coordinates: angles and positions within 1, a unit quaternion.
void random_state(
  YAML::Node scenario, const std::vector<std::string> & coordinates,
  const std::vector<std::string> & speeds, Random & random)
{
  YAML::Node q(YAML::NodeType::Map);
  const Eigen::Quaterniond orientation(random.rotation());
  for (const std::string & name : coordinates)
  {
    q[name] = text(
      ends_with(name, "_qx")   ? orientation.x()
      : ends_with(name, "_qy") ? orientation.y()
      : ends_with(name, "_qz") ? orientation.z()
      : ends_with(name, "_qw") ? orientation.w()
                               : random.uniform(-1.0, 1.0));
  }
  YAML::Node u(YAML::NodeType::Map);
  const double size = random.chance(0.3) ? 0.0 : 1.0;
  for (const std::string & name : speeds)
  {
    u[name] = text(size * random.uniform(-1.0, 1.0));
  }
  scenario["initial"]["q"] = q;
  scenario["initial"]["u"] = u;
}

void hold(
  YAML::Node & scenario, const std::string & frame, const Eigen::Isometry3d & X, int i,
  Random & random)
{
  YAML::Node constraint;
  const std::string number = std::to_string(i);
  constraint["name"] = "hold" + number;
  constraint["frame_a"] = frame;
  if (random.chance(0.3))
  {
    const Eigen::Vector3d normal = random.direction();
    constraint["type"] = "point_on_plane";
    constraint["normal"] = node(normal);
    constraint["offset"] = text(normal.dot(X.translation()));
  }
  else
  {
    constraint["type"] = "frame_coincidence";
    constraint["frame_b"] = "held" + number;
    add_frame(scenario, "held" + number, "world", pose_of(X));
    if (random.chance(0.5))
    {
      constraint["rows"] = flow_list({"x", "y", "z"});
    }
  }
  scenario["constraints"].push_back(constraint);
}

}  // namespace

Case published_robot(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file)
{
  const PublishedRobot & robot = random.pick(published_robots());
  if (!std::filesystem::exists(settings.robots + "/" + robot.file))
  {
    return {};
  }
  Case result;
  result.source = std::string("robot ") + std::filesystem::path(robot.file).stem().string();
  result.scenario["system"]["urdf"] = std::string("example-robot-data:") + robot.file;
  result.scenario["system"]["base"] = robot.base;
  if (result.source == "robot panda")
  {
    // Its fingers mimic each other, and a random state would not.
    result.scenario["system"]["locked"] = flow_list({"panda_finger_joint1", "panda_finger_joint2"});
  }
  // Dry friction in the joints makes decisions of its own.
  result.scenario["system"]["model_friction"] = "false";
  const std::vector<std::string> coordinates = cdyn.names(result, file, "coordinates");
  const std::vector<std::string> speeds = cdyn.names(result, file, "speeds");
  const std::vector<std::string> frames = cdyn.names(result, file, "frames");
  std::filesystem::remove(file);
  if (frames.size() < 3)
  {
    return {};
  }
  random_state(result.scenario, coordinates, speeds, random);
  result.arguments = {"--raw-state"};
  // Where the wheels are upright the robot rolls; the others are held by one to three frames.
  if (result.source == "robot tiago_no_hand")
  {
    for (const char * side : {"left", "right"})
    {
      YAML::Node rolling;
      rolling["name"] = std::string(side) + "_wheel";
      rolling["type"] = "rolling";
      rolling["frame_a"] = std::string("wheel_") + side + "_link";
      rolling["radius"] = "0.0985";
      rolling["axis"] = node(Eigen::Vector3d(0.0, 0.0, 1.0));
      rolling["keep_contact"] = "false";
      result.scenario["constraints"].push_back(rolling);
    }
  }
  else
  {
    std::vector<std::string> held;
    const int count = random.integer(1, std::string(robot.base) == "floating" ? 3 : 2);
    for (int i = 0; i < count; ++i)
    {
      held.push_back(frames[static_cast<std::size_t>(
        random.integer(static_cast<int>(frames.size()) / 2, static_cast<int>(frames.size()) - 1))]);
    }
    const std::vector<Eigen::Isometry3d> poses = observed_poses(result, held, cdyn, file);
    if (poses.empty())
    {
      return {};
    }
    for (std::size_t i = 0; i < held.size(); ++i)
    {
      hold(result.scenario, held[i], poses[i], static_cast<int>(i), random);
    }
  }
  // From here on the speeds are brought to the manifold by `cdyn`.
  result.arguments.clear();
  result.scenario["initial"]["solve"] = flow_list(speeds);
  return result;
}

}  // namespace invariance
