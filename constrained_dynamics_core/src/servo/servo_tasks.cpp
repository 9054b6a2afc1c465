// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <stdexcept>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/servo/pose_servo.hpp"
#include "constrained_dynamics/servo/servo_description.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

/// A frame A that follows a frame in B, in some of its six rows.
ServoTaskDescription describe_pose(
  const std::string & type, const std::string & text, const std::string & values,
  const std::vector<std::string> & rows, bool needs_frame_b)
{
  const KeyDescription frame_b = describe_key("frame_b", KeyKind::kFrame, "frame B");
  ServoTaskDescription description;
  description.type = type;
  description.text = text;
  description.values = values;
  description.keys = {
    describe_key("frame_a", KeyKind::kFrame, "frame A"),
    needs_frame_b ? frame_b : frame_b.with_default("world"),
    describe_key("rows", KeyKind::kNames, "along and about the axes of the desired frame", rows)
      .with_default(rows)};
  description.make = [type, rows](const ServoTaskArguments & given)
  {
    for (const std::string & row : given.keys.names("rows"))
    {
      try
      {
        index_of_name("row of type " + type, row, rows);
      }
      catch (const std::invalid_argument & error)
      {
        throw KeyError("rows", error.what());
      }
    }
    return std::make_shared<const PoseServo>(
      given.name, given.passive.system(), given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.names("rows"));
  };
  return description;
}

ServoTaskDescription describe_force()
{
  ServoTaskDescription description;
  description.type = "force";
  description.text =
    "Multipliers of a passive constraint follow a reference: the normal force of a contact, the "
    "internal force of a closed loop. `reference` is required.";
  description.values = "multipliers, with the signs that are reported";
  description.keys = {
    describe_key("constraint", KeyKind::kName, "name of a passive constraint"),
    describe_key("rows", KeyKind::kNames, "labels of its rows; default: all").optional()};
  description.make = [](const ServoTaskArguments & given)
  {
    return std::make_shared<const ForceServo>(
      given.name, given.passive, given.keys.text("constraint"),
      given.keys.has("rows") ? given.keys.names("rows") : std::vector<std::string>{});
  };
  return description;
}

}  // namespace

/// A new type of servo task is one entry in this list.
const std::vector<ServoTaskDescription> & servo_task_descriptions()
{
  const std::string pose =
    "`x y z` and `roll pitch yaw` (6), or `x y z` and a quaternion `x y z w` (7)";
  const std::vector<std::string> rows = FrameCoincidence::all_rows();
  static const std::vector<ServoTaskDescription> all = {
    describe_pose("pose", "Frame A follows a frame that moves in B.", pose, rows, false),
    describe_pose(
      "position", "The origin of A follows a point that moves in B.", "`x y z` (3), or as `pose`",
      {"x", "y", "z"}, false),
    describe_pose(
      "orientation", "The axes of A follow those of a frame that rotates in B.",
      "`roll pitch yaw` (3), a quaternion (4), or as `pose`", {"rx", "ry", "rz"}, false),
    describe_pose(
      "relative_pose", "As `pose`, between two arms: B moves as well.", "as `pose`", rows, true),
    describe_force(),
  };
  return all;
}

const ServoTaskDescription & servo_task_description(const std::string & type)
{
  const std::vector<ServoTaskDescription> & all = servo_task_descriptions();
  std::vector<std::string> types;
  for (const ServoTaskDescription & description : all)
  {
    types.push_back(description.type);
  }
  return all[static_cast<std::size_t>(index_of_name("type of servo task", type, types))];
}

std::shared_ptr<const ServoConstraint> make_servo_task(
  const std::string & type, const std::string & name, const ConstraintSet & passive, KeyValues keys)
{
  const ServoTaskDescription & description = servo_task_description(type);
  try
  {
    keys.complete(description.keys);
    return description.make({name, passive, keys});
  }
  catch (const KeyError & error)
  {
    throw std::invalid_argument(
      "servo task '" + name + "': " + (error.key().empty() ? "" : error.key() + ": ") +
      error.what());
  }
}

}  // namespace constrained_dynamics
