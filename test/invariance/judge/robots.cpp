// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "frame_rows.hpp"
#include "robots.hpp"
#include "urdf.hpp"

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Real largest_of(const Rotation & inertia)
{
  // Frobenius' norm: the same in all axes.
  return sqrt(
    dot(inertia[0], inertia[0]) + dot(inertia[1], inertia[1]) + dot(inertia[2], inertia[2]));
}

Rotation rotated(const Rotation & axes, const Rotation & inertia)
{
  return axes * (inertia * transpose(axes));
}

MovingRotation from_quaternion(const std::array<Real, 4> & xyzw)
{
  const Real length =
    sqrt(xyzw[0] * xyzw[0] + xyzw[1] * xyzw[1] + xyzw[2] * xyzw[2] + xyzw[3] * xyzw[3]);
  if (!(length > 0))
  {
    throw std::invalid_argument("a quaternion of length 0");
  }
  const RealTriple e{{xyzw[0] / length, xyzw[1] / length, xyzw[2] / length}};
  const Real w = xyzw[3] / length;
  Rotation out;
  for (int j = 0; j < 3; ++j)  // v + 2 w (e × v) + 2 e × (e × v)
  {
    const RealTriple v = unit3(j);
    const RealTriple once = cross(e, v);
    out[j] = v + Real(2 * w) * once + Real(2) * cross(e, once);
  }
  return still(out);
}

/// Turns with the angular velocity ω in axes of the moved frame: Ṙ = R [ω]×.
void set_turning(MovingRotation & r, const RealTriple & omega)
{
  const Rotation now = value(r);
  for (int j = 0; j < 3; ++j)
  {
    const RealTriple change = now * cross(omega, unit3(j));
    for (int i = 0; i < 3; ++i)
    {
      r[j][i].rate = change[i];
    }
  }
}

}  // namespace

// ---- reading -----------------------------------------------------------------------------------

Robots::Robots(const Document & document, const State & state) : document_(document)
{
  const YAML::Node & system = document.system;
  require_known(
    system, "system", {"urdf",     "name",           "prefix",   "base",        "pose",
                       "locked",   "robots",         "bodies",   "attachments", "frames",
                       "gravity",  "springs",        "dampers",  "armature",    "model_damping",
                       "actuated", "model_friction", "external", "parameters",  "definitions"});
  time_ = state.time;
  gravity_ = document.triple(system, "gravity", {{Real(0), Real(0), Real(-9.81)}});
  frames_["world"] = {-1, Placement()};
  model_damping_ = document.truth(system, "model_damping", true);
  model_friction_ = document.truth(system, "model_friction", true);
  if (system["urdf"])
  {
    add_robot(system, true);
  }
  for (const YAML::Node & robot : document.items(system["robots"]))
  {
    require_known(robot, "robot", {"urdf", "name", "prefix", "base", "pose", "locked"});
    add_robot(robot, false);
  }
  for (const YAML::Node & body : document.items(system["bodies"]))
  {
    require_known(body, "body", {"name", "mass", "inertia", "com", "base", "pose"});
    add_body(body);
  }
  for (const YAML::Node & tool : document.items(system["attachments"]))
  {
    // May stand on frames, and frames on attachments.
    require_known(tool, "attachment", {"name", "parent", "pose", "mass", "com", "inertia"});
    waiting_.push_back({tool, true});
  }
  for (const YAML::Node & frame : document.items(system["frames"]))
  {
    require_known(frame, "frame", {"name", "parent", "pose"});
    waiting_.push_back({frame, false});
  }
  place_waiting();
  add_joint_terms(system);
  choose_inputs(system);
  if (
    state.q.size() != coordinates.size() || state.u.size() != speeds.size() ||
    state.inputs.size() != inputs.size())
  {
    throw std::invalid_argument(
      "the state has " + std::to_string(state.q.size()) + " coordinates, " +
      std::to_string(state.u.size()) + " speeds and " + std::to_string(state.inputs.size()) +
      " inputs; the system has " + std::to_string(coordinates.size()) + ", " +
      std::to_string(speeds.size()) + " and " + std::to_string(inputs.size()));
  }
  q_ = state.q;
  u_ = state.u;
  tau_ = state.inputs;
  move();
}

int Robots::add_joint(Joint joint)
{
  joint.q = static_cast<int>(coordinates.size());
  joint.u = static_cast<int>(speeds.size());
  const std::string & j = joint.name;
  switch (joint.type)
  {
    case JointType::kRevolute:
    case JointType::kPrismatic:
      coordinates.push_back(j);
      speeds.push_back("d" + j);
      break;
    case JointType::kPlanar:
      for (const char * suffix : {"_x", "_y", "_theta"})
      {
        coordinates.push_back(j + suffix);
      }
      for (const char * suffix : {"_vx", "_vy", "_wz"})
      {
        speeds.push_back(j + suffix);
      }
      break;
    default:
      for (const char * suffix : {"_x", "_y", "_z", "_qx", "_qy", "_qz", "_qw"})
      {
        coordinates.push_back(j + suffix);
      }
      for (const char * suffix : {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"})
      {
        speeds.push_back(j + suffix);
      }
  }
  joint_damping_.resize(speeds.size());
  armature_.resize(speeds.size());
  joints_.push_back(std::move(joint));
  return static_cast<int>(joints_.size()) - 1;
}

void Robots::add_robot(const YAML::Node & item, bool alone)
{
  const std::string name = text_of(item, "name", "");
  const std::string prefix = text_of(item, "prefix", alone ? "" : name + "_");
  const std::string base = text_of(item, "base", "fixed");
  if (!item["urdf"])
  {
    throw Unsupported("a robot that is no URDF");
  }
  const UrdfRobot robot = read_urdf(document_.description(item["urdf"].as<std::string>()));
  std::map<std::string, Real> locked;
  const YAML::Node locks = item["locked"];
  if (locks && locks.IsMap())
  {
    for (const auto & entry : locks)
    {
      locked[entry.first.as<std::string>()] = document_.number(entry.second);
    }
  }
  else if (locks)
  {
    for (const YAML::Node & entry : locks)
    {
      locked[entry.as<std::string>()] = 0;
    }
  }

  Attached root{-1, document_.pose(item, "pose")};
  if (base == "planar" || base == "floating")
  {
    Joint joint;
    joint.name = name.empty() ? "base" : name;
    joint.type = base == "planar" ? JointType::kPlanar : JointType::kFloating;
    joint.placement = root.placement;
    root = {add_joint(joint), Placement()};
  }
  else if (base != "fixed")
  {
    throw Unsupported("base " + base);
  }

  // Depth first; siblings in the order of their joints' names.
  const std::function<void(const std::string &, const Attached &)> walk =
    [&](const std::string & link, const Attached & place)
  {
    const bool is_world = link == "world" && prefix.empty();
    if (!is_world)
    {
      frames_[prefix + link] = place;
    }
    const UrdfLink & content = robot.links.at(link);
    if (content.has_inertia && place.joint >= 0)
    {
      const Placement com = place.placement * content.inertial;
      masses_.push_back(
        {place.joint, content.mass, com.position, rotated(com.rotation, content.inertia)});
    }
    for (const auto & [joint_name, stated] : robot.joints)  // sorted by name
    {
      if (stated.parent != link)
      {
        continue;
      }
      Attached here{place.joint, place.placement * stated.origin};
      const bool simple =
        stated.type == "revolute" || stated.type == "continuous" || stated.type == "prismatic";
      const auto lock = locked.find(joint_name);
      if (stated.type == "fixed" || lock != locked.end())
      {
        if (stated.type != "fixed")
        {
          Placement frozen;
          if (stated.type == "prismatic")
          {
            frozen.position = lock->second * stated.axis;
          }
          else
          {
            frozen.rotation = value(about(stated.axis, Moving(lock->second)));
          }
          here.placement = here.placement * frozen;
        }
        walk(stated.child, here);
        continue;
      }
      Joint joint;
      joint.name = prefix + joint_name;
      joint.parent = here.joint;
      joint.placement = here.placement;
      joint.axis = stated.axis;
      if (simple)
      {
        joint.type = stated.type == "prismatic" ? JointType::kPrismatic : JointType::kRevolute;
      }
      else if (stated.type == "floating")
      {
        joint.type = JointType::kFloating;
      }
      else
      {
        throw Unsupported("URDF joint type " + stated.type);
      }
      const int added = add_joint(joint);
      const int speed = joints_[at(added)].u;
      if (simple)
      {
        if (model_damping_)
        {
          joint_damping_[at(speed)] += stated.damping;
        }
        if (stated.friction > 0 && model_friction_)
        {
          throw Unsupported("dry friction of joint " + joint.name);
        }
        if (robot.joints.count(stated.mimic) != 0)  // else it mimics nothing and is free
        {
          if (locked.count(stated.mimic) != 0)
          {
            throw Unsupported("joint " + joint.name + ", which mimics a locked one");
          }
          mimics_.insert(joint.name);
          couplings_.push_back(
            {joint.name + "_mimic",
             {{joint.name, Real(1)}, {prefix + stated.mimic, -stated.multiplier}},
             stated.offset});
        }
      }
      walk(stated.child, {added, Placement()});
    }
  };
  walk(robot.root, root);
}

void Robots::add_body(const YAML::Node & item)
{
  Joint joint;
  joint.name = item["name"].as<std::string>();
  joint.type =
    text_of(item, "base", "floating") == "planar" ? JointType::kPlanar : JointType::kFloating;
  joint.placement = document_.pose(item, "pose");
  const int added = add_joint(joint);
  frames_[joint.name] = {added, Placement()};
  masses_.push_back(
    {added, document_.number(item["mass"]), document_.triple(item, "com", zero3()),
     inertia_of(item["inertia"])});
}

Rotation Robots::inertia_of(const YAML::Node & node) const
{
  Rotation out{{zero3(), zero3(), zero3()}};
  if (!node)
  {
    return out;
  }
  if (node.IsSequence())
  {
    for (int i = 0; i < 3; ++i)
    {
      out[i][i] = document_.number(node[i]);
    }
    return out;
  }
  require_known(node, "inertia", {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"});
  const char * const keys[3][3] = {
    {"ixx", "ixy", "ixz"}, {"ixy", "iyy", "iyz"}, {"ixz", "iyz", "izz"}};
  for (int i = 0; i < 3; ++i)
  {
    for (int j = 0; j < 3; ++j)
    {
      out[i][j] = document_.number(node, keys[i][j], 0);
    }
  }
  return out;
}

void Robots::place_waiting()
{
  while (!waiting_.empty())
  {
    std::vector<std::pair<YAML::Node, bool>> later;
    for (const auto & [item, massive] : waiting_)
    {
      const std::string parent = text_of(item, "parent", "world");
      const auto found = frames_.find(parent);
      if (found == frames_.end())
      {
        later.push_back({item, massive});
        continue;
      }
      const Attached place{
        found->second.joint, found->second.placement * document_.pose(item, "pose")};
      frames_[item["name"].as<std::string>()] = place;
      if (massive && place.joint >= 0)
      {
        masses_.push_back(
          {place.joint, document_.number(item, "mass", 0),
           (place.placement * Placement{identity3(), document_.triple(item, "com", zero3())})
             .position,
           rotated(place.placement.rotation, inertia_of(item["inertia"]))});
      }
    }
    if (later.size() == waiting_.size())
    {
      throw std::invalid_argument(
        "frame '" + text_of(later.front().first, "name", "") + "' has an unknown parent");
    }
    waiting_ = std::move(later);
  }
}

const Joint & Robots::simple_joint(const std::string & name) const
{
  for (const Joint & joint : joints_)
  {
    if (
      joint.name == name &&
      (joint.type == JointType::kRevolute || joint.type == JointType::kPrismatic))
    {
      return joint;
    }
  }
  throw Unsupported("joint '" + name + "', which is not a joint with one degree of freedom");
}

void Robots::add_joint_terms(const YAML::Node & system)
{
  for (const auto & entry : system["dampers"])
  {
    joint_damping_[at(simple_joint(entry.first.as<std::string>()).u)] +=
      document_.number(entry.second);
  }
  for (const auto & entry : system["armature"])
  {
    armature_[at(simple_joint(entry.first.as<std::string>()).u)] += document_.number(entry.second);
  }
  for (const auto & entry : system["springs"])
  {
    const Joint & joint = simple_joint(entry.first.as<std::string>());
    Spring spring{joint.q, joint.u, 0, 0};
    if (entry.second.IsMap())
    {
      require_known(entry.second, "spring", {"stiffness", "rest"});
      spring.stiffness = document_.number(entry.second["stiffness"]);
      spring.rest = document_.number(entry.second, "rest", 0);
    }
    else
    {
      spring.stiffness = document_.number(entry.second);
    }
    springs_.push_back(spring);
  }
}

void Robots::choose_inputs(const YAML::Node & system)
{
  const YAML::Node chosen = system["actuated"];
  if (chosen && chosen.IsSequence())
  {
    for (const YAML::Node & entry : chosen)
    {
      const std::string name = entry.as<std::string>();
      const auto speed = std::find(speeds.begin(), speeds.end(), name);
      inputs.push_back(name);
      actuated_.push_back(
        speed != speeds.end() ? static_cast<int>(speed - speeds.begin()) : simple_joint(name).u);
    }
    return;
  }
  if (chosen && chosen.as<std::string>() == "none")
  {
    return;
  }
  for (const Joint & joint : joints_)
  {
    const bool simple = joint.type == JointType::kRevolute || joint.type == JointType::kPrismatic;
    if (simple && mimics_.count(joint.name) == 0)
    {
      inputs.push_back(joint.name);
      actuated_.push_back(joint.u);
    }
  }
}

// ---- motion ------------------------------------------------------------------------------------

void Robots::move()
{
  columns_.resize(speeds.size());
  poses_.resize(joints_.size());
  for (std::size_t i = 0; i < joints_.size(); ++i)
  {
    const Joint & joint = joints_[i];
    BodyPose pose;
    pose.rotation = still(joint.placement.rotation);
    pose.position = still(joint.placement.position);
    if (joint.parent >= 0)
    {
      const BodyPose & parent = poses_[at(joint.parent)];
      pose.position = parent.rotation * pose.position + parent.position;
      pose.rotation = parent.rotation * pose.rotation;
      pose.columns = parent.columns;
    }
    const int q = joint.q;
    const int u = joint.u;
    const Real reach = joint.parent >= 0 ? norm(joint.placement.position) : Real(0);
    const auto add_column =
      [&](int index, bool angular, MovingTriple axis, MovingTriple origin, Real way)
    {
      columns_[at(index)] = {
        angular, std::move(axis), std::move(origin), static_cast<int>(i), std::move(way)};
      pose.columns.push_back(index);
    };
    switch (joint.type)
    {
      case JointType::kRevolute:
        add_column(u, true, pose.rotation * still(joint.axis), pose.position, reach);
        pose.rotation = pose.rotation * about(joint.axis, Moving(q_[at(q)], u_[at(u)]));
        break;
      case JointType::kPrismatic:
      {
        const MovingTriple axis = pose.rotation * still(joint.axis);
        pose.position = pose.position + Moving(q_[at(q)], u_[at(u)]) * axis;
        add_column(u, false, axis, pose.position, reach + abs(q_[at(q)]));
        break;
      }
      default:
      {
        const bool planar = joint.type == JointType::kPlanar;
        const RealTriple velocity{{u_[at(u)], u_[at(u + 1)], planar ? Real(0) : u_[at(u + 2)]}};
        const RealTriple omega = planar ? RealTriple{{Real(0), Real(0), u_[at(u + 2)]}}
                                        : RealTriple{{u_[at(u + 3)], u_[at(u + 4)], u_[at(u + 5)]}};
        MovingRotation turn =
          planar ? about(unit3(2), Moving(q_[at(q + 2)]))
                 : from_quaternion({q_[at(q + 3)], q_[at(q + 4)], q_[at(q + 5)], q_[at(q + 6)]});
        set_turning(turn, omega);
        const RealTriple drift = value(turn) * velocity;
        MovingTriple place;
        for (int k = 0; k < 3; ++k)
        {
          place[k] = Moving(planar && k == 2 ? Real(0) : q_[at(q + k)], drift[k]);
        }
        pose.position = pose.rotation * place + pose.position;
        pose.rotation = pose.rotation * turn;
        // The way from the origin of a base does not count: only what lies beyond it turns with it.
        const int linear = planar ? 2 : 3;
        for (int k = 0; k < linear; ++k)
        {
          add_column(u + k, false, pose.rotation[k], pose.position, 0);
        }
        for (int k = planar ? 2 : 0; k < 3; ++k)
        {
          add_column(u + (planar ? k : 3 + k), true, pose.rotation[k], pose.position, 0);
        }
        if (joint.parent >= 0)
        {
          columns_[at(u)].way = reach + norm(value(place));
        }
      }
    }
    poses_[i] = std::move(pose);
  }
}

PointMotion Robots::point(int joint, const RealTriple & offset) const
{
  PointMotion out;
  out.position = still(offset);
  if (joint < 0)
  {
    return out;
  }
  const BodyPose & pose = poses_[at(joint)];
  out.position = pose.rotation * out.position + pose.position;
  out.columns = pose.columns;
  const std::size_t count = out.columns.size();
  out.linear.resize(count);
  out.angular.resize(count);
  out.linear_size.resize(count);
  out.angular_size.resize(count);

  // From the tip to the root: the way from each joint to the point, in absolute values.
  Real way = norm(offset);
  int last_joint = -1;
  Vector ways(count);
  for (std::size_t k = count; k-- > 0;)
  {
    const Column & column = columns_[at(out.columns[k])];
    if (last_joint >= 0 && column.joint != last_joint)
    {
      for (std::size_t i = k + 1; i < count && columns_[at(out.columns[i])].joint == last_joint;
           ++i)
      {
        way += columns_[at(out.columns[i])].way;
      }
    }
    last_joint = column.joint;
    ways[k] = way;
  }
  out.reach = way;

  Real turning = 0;  // Σ |ω| of the joints so far
  Vector turnings(count);
  for (std::size_t k = 0; k < count; ++k)
  {
    const Column & column = columns_[at(out.columns[k])];
    if (k == 0 || columns_[at(out.columns[k - 1])].joint != column.joint)
    {
      for (std::size_t i = k; i < count && columns_[at(out.columns[i])].joint == column.joint; ++i)
      {
        if (columns_[at(out.columns[i])].angular)
        {
          turning += abs(u_[at(out.columns[i])]);
        }
      }
    }
    turnings[k] = turning;
    if (column.angular)
    {
      out.linear[k] = cross(column.axis, out.position - column.origin);
      out.angular[k] = column.axis;
      out.linear_size[k] = ways[k];
      out.angular_size[k] = 1;
    }
    else
    {
      out.linear[k] = column.axis;
      out.linear_size[k] = 1;
    }
    const Real speed = abs(u_[at(out.columns[k])]);
    out.velocity = out.velocity + Moving(u_[at(out.columns[k])]) * out.linear[k];
    out.omega = out.omega + Moving(u_[at(out.columns[k])]) * out.angular[k];
    out.velocity_size += speed * out.linear_size[k];
    out.omega_size += speed * out.angular_size[k];
  }
  // Sizes of the accelerations at u̇ = 0: of (a × r)˙ = ȧ × r + a × ṙ, and of ȧ of a slide.
  Real beyond = 0;  // Σ |u_k| ‖J_k‖ of the joints further out
  for (std::size_t k = count; k-- > 0;)
  {
    const Real speed = abs(u_[at(out.columns[k])]);
    const bool angular = out.angular_size[k] != 0;
    const Real changing = angular ? Real(2 * turnings[k] * ways[k] + beyond) : turnings[k];
    out.acceleration_size += speed * changing;
    if (angular)
    {
      out.alpha_size += speed * turnings[k];
    }
    beyond += speed * out.linear_size[k];
  }
  return out;
}

const Robots::Attached & Robots::attached(const std::string & frame) const
{
  const auto found = frames_.find(frame);
  if (found == frames_.end())
  {
    throw std::invalid_argument("unknown frame '" + frame + "'");
  }
  return found->second;
}

FrameMotion Robots::frame(const std::string & name) const
{
  const Attached & place = attached(name);
  FrameMotion out;
  static_cast<PointMotion &>(out) = point(place.joint, place.placement.position);
  out.rotation = still(place.placement.rotation);
  if (place.joint >= 0)
  {
    out.rotation = poses_[at(place.joint)].rotation * out.rotation;
  }
  return out;
}

// ---- what the system knows ----------------------------------------------------------------------

bool Robots::is_angle(const std::string & coordinate) const
{
  for (const Joint & joint : joints_)
  {
    if (joint.type == JointType::kRevolute && joint.name == coordinate)
    {
      return true;
    }
    if (joint.type == JointType::kPlanar && joint.name + "_theta" == coordinate)
    {
      return true;
    }
  }
  return false;
}

Variable Robots::coordinate(int index) const
{
  const Joint * owner = nullptr;
  for (const Joint & joint : joints_)
  {
    owner = joint.q <= index ? &joint : owner;
  }
  const int u = owner->u;
  const int k = index - owner->q;
  std::vector<std::pair<int, Moving>> c;  // the row of C
  if (owner->type == JointType::kRevolute || owner->type == JointType::kPrismatic)
  {
    c.push_back({u, Moving(1)});
  }
  else if (owner->type == JointType::kPlanar)
  {
    if (k == 2)
    {
      c.push_back({u + 2, Moving(1)});
    }
    else
    {
      const MovingRotation turn = about(unit3(2), Moving(q_[at(owner->q + 2)], u_[at(u + 2)]));
      c = {{u, turn[0][k]}, {u + 1, turn[1][k]}};
    }
  }
  else
  {
    const RealTriple omega{{u_[at(u + 3)], u_[at(u + 4)], u_[at(u + 5)]}};
    const int q = owner->q;
    const RealTriple e{{q_[at(q + 3)], q_[at(q + 4)], q_[at(q + 5)]}};
    const Real w = q_[at(q + 6)];
    if (k < 3)
    {
      MovingRotation turn = from_quaternion({e[0], e[1], e[2], w});
      set_turning(turn, omega);
      c = {{u, turn[0][k]}, {u + 1, turn[1][k]}, {u + 2, turn[2][k]}};
    }
    else
    {
      // ė = ½ e ⊗ (ω, 0): the vector part is ½ (w ω + e × ω), the scalar part −½ e · ω.
      const RealTriple e_rate = Real(0.5) * (w * omega + cross(e, omega));
      const Real w_rate = -dot(e, omega) / 2;
      for (int i = 0; i < 3; ++i)
      {
        const RealTriple axis = unit3(i);
        Moving entry;
        if (k < 6)
        {
          const RealTriple now = w * axis + cross(e, axis);
          const RealTriple change = w_rate * axis + cross(e_rate, axis);
          entry = Moving(now[k - 3] / 2, change[k - 3] / 2);
        }
        else
        {
          entry = Moving(-e[i] / 2, -e_rate[i] / 2);
        }
        c.push_back({u + 3 + i, entry});
      }
    }
  }
  Variable out;
  out.value = q_[at(index)];
  out.value_size = std::max<Real>(abs(out.value), 1);
  out.row.resize(speeds.size());
  out.row_size.resize(speeds.size());
  for (const auto & [speed, entry] : c)
  {
    const Real & rate_of_speed = u_[at(speed)];
    out.row[at(speed)] = entry.value;
    out.row_size[at(speed)] = 1;
    out.rate += entry.value * rate_of_speed;
    out.second += entry.rate * rate_of_speed;
    out.rate_size += abs(rate_of_speed);
    for (const auto & other : c)
    {
      out.second_size += c.size() == 1 ? Real(0) : Real(abs(rate_of_speed * u_[at(other.first)]));
    }
  }
  if (owner->type == JointType::kPlanar && k < 2)
  {
    out.second_size = out.rate_size * abs(u_[at(u + 2)]);
  }
  if (owner->type == JointType::kFloating && k < 3)
  {
    out.second_size =
      out.rate_size * (abs(u_[at(u + 3)]) + abs(u_[at(u + 4)]) + abs(u_[at(u + 5)]));
  }
  return out;
}

Variable Robots::variable(const std::string & name) const
{
  Variable out;
  const std::size_t n = speeds.size();
  const auto index_of = [](const std::vector<std::string> & names, const std::string & wanted)
  {
    const auto found = std::find(names.begin(), names.end(), wanted);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  };
  const auto differentiated = [](Variable x)
  {
    ++x.level;
    x.value = x.rate;
    x.value_size = x.rate_size;
    x.rate = x.second;
    x.rate_size = x.second_size;
    x.second = 0;
    x.second_size = 0;
    return x;
  };
  if (name == "t")
  {
    out.value = time_;
    out.value_size = abs(out.value);
    out.rate = 1;
    out.rate_size = 1;
    out.row.resize(n);
    out.row_size.resize(n);
    return out;
  }
  const int q = index_of(coordinates, name);
  if (q >= 0)
  {
    return coordinate(q);
  }
  const int u = index_of(speeds, name);
  if (u >= 0)
  {
    out.level = 1;
    out.value = u_[at(u)];
    out.value_size = abs(out.value);
    out.row.resize(n);
    out.row_size.resize(n);
    out.row[at(u)] = 1;
    out.row_size[at(u)] = 1;
    return out;
  }
  if (name.size() > 1 && name[0] == 'd')
  {
    const int rate_of = index_of(coordinates, name.substr(1));
    if (rate_of >= 0)
    {
      return differentiated(coordinate(rate_of));
    }
    const int acceleration_of = name[1] == 'd' ? index_of(coordinates, name.substr(2)) : -1;
    if (acceleration_of >= 0)
    {
      return differentiated(differentiated(coordinate(acceleration_of)));
    }
  }
  if (name.size() > 4 && name[2] == '(')
  {
    const FrameMotion motion = frame(name.substr(3, name.size() - 4));
    const int axis = name[1] - 'x';
    const bool angular = name[0] == 'w';
    out.row.resize(n);
    out.row_size.resize(n);
    for (std::size_t k = 0; k < motion.columns.size(); ++k)
    {
      const std::size_t column = at(motion.columns[k]);
      out.row[column] = (angular ? motion.angular[k] : motion.linear[k])[axis].value;
      out.row_size[column] = angular ? motion.angular_size[k] : motion.linear_size[k];
    }
    const Moving & moved = (angular ? motion.omega : motion.velocity)[axis];
    out.value = motion.position[axis].value;
    out.value_size = std::max<Real>(abs(out.value), motion.reach);
    out.rate = moved.value;
    out.rate_size = angular ? motion.omega_size : motion.velocity_size;
    out.second = moved.rate;
    out.second_size = angular ? motion.alpha_size : motion.acceleration_size;
    return name[0] == 'p' ? out : differentiated(out);
  }
  throw Unsupported("name '" + name + "' in a formula of robots");
}

Terms Robots::terms() const
{
  const int n = size();
  Terms out{Matrix(n, n), Matrix(n, n), Vector(at(n)), Vector(at(n))};
  for (const Mass & mass : masses_)
  {
    const PointMotion centre = point(mass.joint, mass.centre);
    const Rotation inertia = rotated(value(poses_[at(mass.joint)].rotation), mass.inertia);
    const Real inertia_size = largest_of(inertia);
    const RealTriple omega = value(centre.omega);
    // What the motion at u̇ = 0 and gravity ask for.
    const RealTriple force = mass.mass * (gravity_ - rate(centre.velocity));
    const RealTriple torque =
      Real(-1) * (inertia * rate(centre.omega) + cross(omega, inertia * omega));
    const Real force_size = mass.mass * (norm(gravity_) + centre.acceleration_size);
    const Real torque_size =
      inertia_size * (centre.alpha_size + centre.omega_size * centre.omega_size);
    const std::size_t count = centre.columns.size();
    for (std::size_t i = 0; i < count; ++i)
    {
      const int row = centre.columns[i];
      const RealTriple linear = value(centre.linear[i]);
      const RealTriple angular = value(centre.angular[i]);
      const bool turns = centre.angular_size[i] != 0;
      out.force[at(row)] += dot(linear, force);
      out.force_size[at(row)] += centre.linear_size[i] * force_size;
      RealTriple momentum = zero3();
      if (turns)
      {
        out.force[at(row)] += dot(angular, torque);
        out.force_size[at(row)] += torque_size;
        momentum = inertia * angular;
      }
      for (std::size_t j = 0; j <= i; ++j)
      {
        const int column = centre.columns[j];
        Real entry = mass.mass * dot(linear, value(centre.linear[j]));
        Real entry_size = mass.mass * centre.linear_size[i] * centre.linear_size[j];
        if (turns && centre.angular_size[j] != 0)
        {
          entry += dot(momentum, value(centre.angular[j]));
          entry_size += inertia_size;
        }
        out.inertia(row, column) += entry;
        out.inertia_size(row, column) += entry_size;
        if (i != j)
        {
          out.inertia(column, row) += entry;
          out.inertia_size(column, row) += entry_size;
        }
      }
    }
  }
  for (int i = 0; i < n; ++i)
  {
    out.inertia(i, i) += armature_[at(i)];
    out.inertia_size(i, i) += armature_[at(i)];
    out.force[at(i)] -= joint_damping_[at(i)] * u_[at(i)];
    out.force_size[at(i)] += joint_damping_[at(i)] * abs(u_[at(i)]);
  }
  for (const Spring & spring : springs_)
  {
    out.force[at(spring.u)] -= spring.stiffness * (q_[at(spring.q)] - spring.rest);
    out.force_size[at(spring.u)] +=
      abs(spring.stiffness) * (abs(q_[at(spring.q)]) + abs(spring.rest));
  }
  for (std::size_t i = 0; i < actuated_.size(); ++i)
  {
    out.force[at(actuated_[i])] += tau_[i];
    out.force_size[at(actuated_[i])] += abs(tau_[i]);
  }
  for (const YAML::Node & item : document_.items(document_.system["external"]))
  {
    add_external(item, out);
  }
  return out;
}

void Robots::add_external(const YAML::Node & item, Terms & out) const
{
  require_known(item, "external", {"name", "frame", "expressed_in", "force", "torque"});
  const FrameMotion motion = frame(item["frame"].as<std::string>());
  const bool in_frame = text_of(item, "expressed_in", "world") == "frame";
  const auto wrench = [&](const char * key)
  {
    RealTriple given = zero3();
    if (item[key])
    {
      for (int i = 0; i < 3; ++i)
      {
        given[i] =
          evaluate(parse_formula(item[key][i].as<std::string>()), document_.names, *this).jet.value;
      }
    }
    return in_frame ? value(motion.rotation) * given : given;
  };
  const RealTriple force = wrench("force");
  const RealTriple torque = wrench("torque");
  for (std::size_t k = 0; k < motion.columns.size(); ++k)
  {
    const std::size_t column = at(motion.columns[k]);
    out.force[column] +=
      dot(value(motion.linear[k]), force) + dot(value(motion.angular[k]), torque);
    out.force_size[column] +=
      motion.linear_size[k] * norm(force) + motion.angular_size[k] * norm(torque);
  }
}

bool Robots::add_rows(
  const YAML::Node & item, const std::string & name, const std::string & type,
  std::vector<Row> & rows) const
{
  if (type == "energy" || type == "kinetic_energy")
  {
    require_known(item, type, {"name", "type", "active", "value"});
    rows.push_back(energy_row(name, type == "energy", document_.number(item, "value", 0)));
    return true;
  }
  if (type == "centre_of_mass")
  {
    require_known(item, type, {"name", "type", "active", "rows", "position"});
    add_centre_of_mass(item, name, rows);
    return true;
  }
  return add_frame_rows(item, name, type, document_, *this, time_, rows);
}

Row Robots::energy_row(const std::string & name, bool total, const Real & wanted) const
{
  const int n = size();
  Moving energy(-wanted);
  Real size_of_rate = 0;
  const Terms terms_now = terms();
  for (const Mass & mass : masses_)
  {
    const PointMotion centre = point(mass.joint, mass.centre);
    const MovingRotation & axes = poses_[at(mass.joint)].rotation;
    const MovingTriple omega = transposed_times(axes, centre.omega);  // in axes of the body
    energy = energy + Moving(Real(mass.mass / 2)) * dot(centre.velocity, centre.velocity) +
             Moving(Real(0.5)) * dot(omega, still(mass.inertia) * omega);
    size_of_rate += mass.mass * centre.velocity_size * (centre.acceleration_size + norm(gravity_)) +
                    largest_of(mass.inertia) * centre.omega_size *
                      (centre.alpha_size + centre.omega_size * centre.omega_size);
    if (total)
    {
      energy = energy - Moving(mass.mass) * dot(still(gravity_), centre.position);
      // d/dt of the position is the velocity that the Jacobian gives, by construction.
    }
  }
  for (int i = 0; i < n; ++i)
  {
    energy = energy + Moving(Real(armature_[at(i)] * u_[at(i)] * u_[at(i)] / 2));
  }
  if (total)
  {
    for (const Spring & spring : springs_)
    {
      const Moving stretch(q_[at(spring.q)] - spring.rest, u_[at(spring.u)]);
      energy = energy + Moving(Real(spring.stiffness / 2)) * stretch * stretch;
      size_of_rate += abs(spring.stiffness * stretch.value * stretch.rate);
    }
  }
  Row row;
  row.name = name + "/energy";
  row.level = 1;
  row.velocity = energy.value;
  row.a = terms_now.inertia * u_;
  Vector speed(u_.size());
  std::transform(
    u_.begin(), u_.end(), speed.begin(), [](const Real & x) -> Real { return abs(x); });
  row.a_size = terms_now.inertia_size * speed;
  row.b = -energy.rate;
  row.b_size = size_of_rate;
  return row;
}

void Robots::add_centre_of_mass(
  const YAML::Node & item, const std::string & name, std::vector<Row> & rows) const
{
  std::vector<std::string> axes = {"x", "y", "z"};
  if (item["rows"])
  {
    axes = item["rows"].as<std::vector<std::string>>();
  }
  const RealTriple wanted = document_.triple(item, "position", zero3());
  Real total = 0;
  for (const Mass & mass : masses_)
  {
    total += mass.mass;
  }
  for (const std::string & label : axes)
  {
    const int axis = label[0] - 'x';
    Row row;
    row.name = name + "/" + label;
    row.position = -wanted[axis];
    row.a.resize(speeds.size());
    row.a_size.resize(speeds.size());
    for (const Mass & mass : masses_)
    {
      const PointMotion centre = point(mass.joint, mass.centre);
      const Real share = mass.mass / total;
      row.position += share * centre.position[axis].value;
      row.velocity += share * centre.velocity[axis].value;
      row.b -= share * centre.velocity[axis].rate;
      row.b_size += share * centre.acceleration_size;
      for (std::size_t k = 0; k < centre.columns.size(); ++k)
      {
        row.a[at(centre.columns[k])] += share * centre.linear[k][axis].value;
        row.a_size[at(centre.columns[k])] += share * centre.linear_size[k];
      }
    }
    rows.push_back(row);
  }
}

std::unique_ptr<System> make_robots(const Document & document, const State & state)
{
  return std::make_unique<Robots>(document, state);
}

}  // namespace invariance
