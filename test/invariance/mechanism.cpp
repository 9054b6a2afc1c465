// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "mechanism.hpp"

#include <sstream>

namespace invariance
{

namespace
{

int base_speed_count(Base base) { return base == Base::kFixed ? 0 : base == Base::kPlanar ? 3 : 6; }

Eigen::Isometry3d root_pose(const Robot & robot)
{
  Eigen::Isometry3d motion = Eigen::Isometry3d::Identity();
  if (robot.base == Base::kFloating)
  {
    motion.translation() = robot.position;
    motion.linear() = robot.orientation.toRotationMatrix();
  }
  else if (robot.base == Base::kPlanar)
  {
    motion.translation() << robot.position.x(), robot.position.y(), 0.0;
    motion.linear() =
      Eigen::AngleAxisd(robot.position.z(), Eigen::Vector3d::UnitZ()).toRotationMatrix();
  }
  return robot.pose.isometry() * motion;
}

std::string triple(const Eigen::Vector3d & v)
{
  return text(v.x()) + " " + text(v.y()) + " " + text(v.z());
}

void write_link(std::ostream & out, const std::string & name, const Inertia & inertia)
{
  const Eigen::Matrix3d & I = inertia.about_com;
  out << "<link name=\"" << name << "\"><inertial><origin xyz=\"" << triple(inertia.com)
      << "\"/><mass value=\"" << text(inertia.mass) << "\"/><inertia ixx=\"" << text(I(0, 0))
      << "\" iyy=\"" << text(I(1, 1)) << "\" izz=\"" << text(I(2, 2)) << "\" ixy=\""
      << text(I(0, 1)) << "\" ixz=\"" << text(I(0, 2)) << "\" iyz=\"" << text(I(1, 2))
      << "\"/></inertial></link>\n";
}

/// Without the robot's prefix.
std::string local_name(const Robot & robot, const std::string & name)
{
  return name.substr(robot.name.size() + 1);
}

std::string urdf(const Mechanism & mechanism, int r)
{
  const Robot & robot = mechanism.robots[static_cast<std::size_t>(r)];
  std::ostringstream out;
  out << "<robot name=\"" << robot.name << "\">\n";
  write_link(out, "root", robot.inertia);
  for (const Link & link : mechanism.links)
  {
    if (link.robot != r)
    {
      continue;
    }
    const std::string parent =
      link.parent < 0
        ? "root"
        : local_name(robot, mechanism.links[static_cast<std::size_t>(link.parent)].name);
    write_link(out, local_name(robot, link.name), link.inertia);
    out << "<joint name=\"" << local_name(robot, link.joint) << "\" type=\""
        << (link.prismatic ? "prismatic" : "revolute") << "\"><parent link=\"" << parent
        << "\"/><child link=\"" << local_name(robot, link.name) << "\"/><origin xyz=\""
        << triple(link.origin.xyz) << "\" rpy=\"" << triple(link.origin.rpy) << "\"/><axis xyz=\""
        << triple(link.axis)
        << "\"/><limit effort=\"1e9\" velocity=\"1e9\" lower=\"-1e9\" upper=\"1e9\"/></joint>\n";
  }
  out << "</robot>\n";
  return out.str();
}

YAML::Node body_node(const Robot & body)
{
  const Eigen::Matrix3d & I = body.inertia.about_com;
  YAML::Node result;
  result["name"] = body.name;
  result["mass"] = text(body.inertia.mass);
  result["com"] = node(body.inertia.com);
  result["inertia"]["ixx"] = text(I(0, 0));
  result["inertia"]["iyy"] = text(I(1, 1));
  result["inertia"]["izz"] = text(I(2, 2));
  result["inertia"]["ixy"] = text(I(0, 1));
  result["inertia"]["ixz"] = text(I(0, 2));
  result["inertia"]["iyz"] = text(I(1, 2));
  result["base"] = body.base == Base::kPlanar ? "planar" : "floating";
  result["pose"] = node(body.pose);
  return result;
}

YAML::Node initial_coordinates(const Mechanism & mechanism)
{
  YAML::Node q(YAML::NodeType::Map);
  for (const Robot & robot : mechanism.robots)
  {
    if (robot.base == Base::kPlanar)
    {
      q[robot.name] = node(robot.position);
    }
    else if (robot.base == Base::kFloating)
    {
      const Eigen::Quaterniond & o = robot.orientation;
      q[robot.name] = flow_list(
        {text(robot.position.x()), text(robot.position.y()), text(robot.position.z()), text(o.x()),
         text(o.y()), text(o.z()), text(o.w())});
    }
  }
  for (const Link & link : mechanism.links)
  {
    q[link.joint] = text(link.q);
  }
  return q;
}

}  // namespace

int Mechanism::speed_count() const { return base_speed(static_cast<int>(robots.size())); }

int Mechanism::base_speed(int robot) const
{
  int count = 0;
  for (int r = 0; r < robot; ++r)
  {
    count += base_speed_count(robots[static_cast<std::size_t>(r)].base);
    for (const Link & link : links)
    {
      count += link.robot == r ? 1 : 0;
    }
  }
  return count;
}

int Mechanism::joint_speed(int link) const
{
  const int robot = links[static_cast<std::size_t>(link)].robot;
  int index = base_speed(robot) + base_speed_count(robots[static_cast<std::size_t>(robot)].base);
  for (int i = 0; i < link; ++i)
  {
    index += links[static_cast<std::size_t>(i)].robot == robot ? 1 : 0;
  }
  return index;
}

std::vector<std::string> Mechanism::speeds() const
{
  std::vector<std::string> names(static_cast<std::size_t>(speed_count()));
  for (std::size_t r = 0; r < robots.size(); ++r)
  {
    const std::vector<std::string> suffixes =
      robots[r].base == Base::kFixed ? std::vector<std::string>{}
      : robots[r].base == Base::kPlanar
        ? std::vector<std::string>{"_vx", "_vy", "_wz"}
        : std::vector<std::string>{"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"};
    for (std::size_t i = 0; i < suffixes.size(); ++i)
    {
      names[static_cast<std::size_t>(base_speed(static_cast<int>(r))) + i] =
        robots[r].name + suffixes[i];
    }
  }
  for (std::size_t i = 0; i < links.size(); ++i)
  {
    names[static_cast<std::size_t>(joint_speed(static_cast<int>(i)))] = "d" + links[i].joint;
  }
  return names;
}

Eigen::Isometry3d Mechanism::body_pose(int link) const
{
  if (link == -1)
  {
    return Eigen::Isometry3d::Identity();
  }
  if (link < -1)
  {
    return root_pose(robots[static_cast<std::size_t>(-2 - link)]);
  }
  const Link & l = links[static_cast<std::size_t>(link)];
  Eigen::Isometry3d motion = Eigen::Isometry3d::Identity();
  if (l.prismatic)
  {
    motion.translation() = l.q * l.axis;
  }
  else
  {
    motion.linear() = Eigen::AngleAxisd(l.q, l.axis).toRotationMatrix();
  }
  return body_pose(l.parent < 0 ? -2 - l.robot : l.parent) * l.origin.isometry() * motion;
}

Eigen::Isometry3d Mechanism::frame_pose(const Frame & frame) const
{
  return body_pose(frame.link) * frame.pose.isometry();
}

std::string Mechanism::body_name(int link) const
{
  return link == -1  ? "world"
         : link < -1 ? robots[static_cast<std::size_t>(-2 - link)].root_name()
                     : links[static_cast<std::size_t>(link)].name;
}

Eigen::Matrix<double, 6, Eigen::Dynamic> Mechanism::jacobian(
  int link, const Eigen::Vector3d & point) const
{
  Eigen::Matrix<double, 6, Eigen::Dynamic> J =
    Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, speed_count());
  const auto turn = [&](int column, const Eigen::Vector3d & axis, const Eigen::Vector3d & through)
  {
    J.col(column).head<3>() = axis.cross(point - through);
    J.col(column).tail<3>() = axis;
  };
  for (; link >= 0;)
  {
    const Link & l = links[static_cast<std::size_t>(link)];
    const Eigen::Isometry3d X = body_pose(link);
    const Eigen::Vector3d axis = X.linear() * l.axis;
    if (l.prismatic)
    {
      J.col(joint_speed(link)).head<3>() = axis;
    }
    else
    {
      turn(joint_speed(link), axis, X.translation());
    }
    link = l.parent < 0 ? -2 - l.robot : l.parent;
  }
  if (link < -1)
  {
    const int r = -2 - link;
    const Base base = robots[static_cast<std::size_t>(r)].base;
    const Eigen::Isometry3d X = body_pose(link);
    const int first = base_speed(r);
    const int moves = base == Base::kFixed ? 0 : base == Base::kPlanar ? 2 : 3;
    for (int i = 0; i < moves; ++i)
    {
      J.col(first + i).head<3>() = X.linear().col(i);
    }
    for (int i = base == Base::kPlanar ? 2 : 0; moves > 0 && i < 3; ++i)
    {
      turn(first + moves + (base == Base::kPlanar ? 0 : i), X.linear().col(i), X.translation());
    }
  }
  return J;
}

YAML::Node Mechanism::scenario() const
{
  YAML::Node result;
  result["name"] = "generated";
  YAML::Node system = result["system"];
  system["gravity"] = node(gravity);
  for (std::size_t r = 0; r < robots.size(); ++r)
  {
    const Robot & robot = robots[r];
    if (robot.is_body)
    {
      system["bodies"].push_back(body_node(robot));
      continue;
    }
    YAML::Node item;
    item["name"] = robot.name;
    item["base"] = robot.base == Base::kFixed    ? "fixed"
                   : robot.base == Base::kPlanar ? "planar"
                                                 : "floating";
    item["pose"] = node(robot.pose);
    item["urdf"] = urdf(*this, static_cast<int>(r));
    system["robots"].push_back(item);
  }
  for (const Frame & frame : frames)
  {
    add_frame(result, frame.name, body_name(frame.link), frame.pose);
  }
  for (const Link & link : links)
  {
    if (link.stiffness > 0.0)
    {
      system["springs"][link.joint]["stiffness"] = text(link.stiffness);
      system["springs"][link.joint]["rest"] = text(link.rest);
    }
    if (link.damping > 0.0)
    {
      system["dampers"][link.joint] = text(link.damping);
    }
    if (link.input != 0.0)
    {
      result["inputs"][link.joint] = text(link.input);
    }
  }
  for (const YAML::Node & constraint : constraints)
  {
    result["constraints"].push_back(YAML::Clone(constraint));
  }
  result["initial"]["time"] = 0;
  result["initial"]["q"] = initial_coordinates(*this);
  const std::vector<std::string> names = speeds();
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    result["initial"]["u"][names[i]] = text(u(static_cast<Eigen::Index>(i)));
  }
  result["options"]["characteristic_length"] = text(characteristic_length);
  return result;
}

Mechanism mirrored(const Mechanism & mechanism)
{
  const Eigen::Vector3d M(1.0, -1.0, 1.0);
  const auto polar = [&](Eigen::Vector3d & v) { v = v.cwiseProduct(M); };
  const auto axial = [&](Eigen::Vector3d & v) { v = -v.cwiseProduct(M); };
  const auto pose = [&](Pose & p)
  {
    polar(p.xyz);
    axial(p.rpy);
  };
  const auto inertia = [&](Inertia & i)
  {
    polar(i.com);
    i.about_com = M.asDiagonal() * i.about_com * M.asDiagonal();
  };
  Mechanism result = mechanism;
  polar(result.gravity);
  for (Robot & robot : result.robots)
  {
    pose(robot.pose);
    inertia(robot.inertia);
    if (robot.base == Base::kPlanar)
    {
      robot.position = robot.position.cwiseProduct(Eigen::Vector3d(1.0, -1.0, -1.0));
    }
    else
    {
      polar(robot.position);
    }
    robot.orientation.vec() = -robot.orientation.vec().cwiseProduct(M).eval();
  }
  for (Link & link : result.links)
  {
    pose(link.origin);
    inertia(link.inertia);
    link.prismatic ? polar(link.axis) : axial(link.axis);
  }
  for (Frame & frame : result.frames)
  {
    pose(frame.pose);
  }
  for (YAML::Node & constraint : result.constraints)
  {
    for (const char * key : {"normal", "direction", "axis"})
    {
      if (constraint[key])
      {
        Eigen::Vector3d v = vector_from(constraint[key]);
        polar(v);
        constraint[key] = node(v);
      }
    }
  }
  // Velocities along y and angular velocities about x and z change their sign (a joint's does not:
  // its axis has changed instead).
  const std::vector<std::string> names = result.speeds();
  for (std::size_t r = 0; r < result.robots.size(); ++r)
  {
    for (std::size_t i = 0; i < names.size(); ++i)
    {
      const std::string suffix = names[i].size() > result.robots[r].name.size()
                                   ? names[i].substr(result.robots[r].name.size())
                                   : "";
      const bool of_base =
        names[i].compare(0, result.robots[r].name.size(), result.robots[r].name) == 0;
      if (of_base && (suffix == "_vy" || suffix == "_wx" || suffix == "_wz"))
      {
        result.u(static_cast<Eigen::Index>(i)) *= -1.0;
      }
    }
  }
  return result;
}

}  // namespace invariance
