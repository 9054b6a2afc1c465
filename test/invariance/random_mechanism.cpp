// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "random_mechanism.hpp"

#include <algorithm>

namespace invariance
{

namespace
{

/// Of point masses, so that it is one that a body can have.
Inertia random_inertia(Random & random)
{
  Inertia inertia;
  inertia.mass = random.magnitude(0.1, 10.0);
  inertia.com = random.chance(0.2) ? Eigen::Vector3d::Zero() : random.vector(0.3);
  inertia.about_com.setZero();
  for (int i = 0; i < 5; ++i)
  {
    const Eigen::Vector3d r = random.vector(0.3);
    inertia.about_com +=
      inertia.mass / 5.0 * (r.squaredNorm() * Eigen::Matrix3d::Identity() - r * r.transpose());
  }
  return inertia;
}

Eigen::Vector3d random_axis(Random & random)
{
  return random.chance(0.5)
           ? Eigen::Vector3d(random.sign() * Eigen::Vector3d::Unit(random.integer(0, 2)))
           : random.direction();
}

/// What a robot's joints have in common.
struct Style
{
  bool planar = false;
  Eigen::Vector3d normal = Eigen::Vector3d::UnitY();  ///< of the plane, in all link frames
};

/// A rotation about the normal, as written.
Eigen::Vector3d rpy_about(const Eigen::Vector3d & normal, double angle)
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = Eigen::AngleAxisd(angle, normal).toRotationMatrix();
  for (int i = 0; i < 3; ++i)
  {
    if (std::abs(normal(i)) == 1.0)
    {
      return angle * normal;  // exact: one of roll, pitch, yaw
    }
  }
  return pose_of(X).rpy;
}

void add_links(Mechanism & mechanism, int robot, const Style & style, Random & random)
{
  const int first = static_cast<int>(mechanism.links.size());
  const int count = random.integer(2, style.planar ? 6 : 7);
  for (int i = 0; i < count; ++i)
  {
    Link link;
    link.robot = robot;
    link.parent = i == 0 || random.chance(0.15) ? -1
                  : random.chance(0.75)         ? first + i - 1
                                                : first + random.integer(0, i - 1);
    link.name = mechanism.robots[static_cast<std::size_t>(robot)].name + "_l" + std::to_string(i);
    link.joint = mechanism.robots[static_cast<std::size_t>(robot)].name + "_j" + std::to_string(i);
    link.prismatic = random.chance(style.planar ? 0.15 : 0.2);
    link.inertia = random_inertia(random);
    link.q = random.uniform(-2.0, 2.0);
    if (style.planar)
    {
      link.axis = random.sign() * style.normal;
      if (link.prismatic)
      {
        link.axis = style.normal.cross(random.direction()).normalized();
      }
      link.origin.xyz = random.vector(0.8);
      if (random.chance(0.3))
      {
        link.origin.rpy = rpy_about(style.normal, random.uniform(-3.0, 3.0));
      }
    }
    else
    {
      link.axis = random_axis(random);
      link.origin = random_pose(random);
      if (random.chance(0.15))
      {
        link.origin.xyz.setZero();
      }
    }
    link.input = random.chance(0.5) ? random.uniform(-5.0, 5.0) : 0.0;
    if (random.chance(0.15))
    {
      link.stiffness = random.magnitude(0.1, 100.0);
      link.rest = random.uniform(-1.0, 1.0);
    }
    link.damping = random.chance(0.15) ? random.magnitude(0.01, 10.0) : 0.0;
    mechanism.links.push_back(link);
  }
}

void add_robot(Mechanism & mechanism, Random & random, const Style & style)
{
  Robot robot;
  robot.name = "r" + std::to_string(mechanism.robots.size());
  robot.base = random.chance(0.6)   ? Base::kFixed
               : random.chance(0.5) ? Base::kPlanar
                                    : Base::kFloating;
  robot.pose = random.chance(0.5) ? Pose() : random_pose(random);
  robot.position = random.vector(1.0);
  robot.orientation = Eigen::Quaterniond(random.rotation());
  robot.inertia = random_inertia(random);
  mechanism.robots.push_back(robot);
  add_links(mechanism, static_cast<int>(mechanism.robots.size()) - 1, style, random);
}

void add_body(Mechanism & mechanism, Random & random)
{
  Robot body;
  body.name = "b" + std::to_string(mechanism.robots.size());
  body.is_body = true;
  body.base = random.chance(0.3) ? Base::kPlanar : Base::kFloating;
  body.pose = random.chance(0.7) ? Pose() : random_pose(random);
  body.position = random.vector(1.0);
  body.orientation = Eigen::Quaterniond(random.rotation());
  body.inertia = random_inertia(random);
  mechanism.robots.push_back(body);
}

/// Every body that a frame may be on; −1, the world, among them.
std::vector<int> bodies_of(const Mechanism & mechanism, int robot)
{
  std::vector<int> bodies;
  for (std::size_t i = 0; i < mechanism.links.size(); ++i)
  {
    if (robot < 0 || mechanism.links[i].robot == robot)
    {
      bodies.push_back(static_cast<int>(i));
    }
  }
  for (std::size_t r = 0; r < mechanism.robots.size(); ++r)
  {
    if (robot < 0 || static_cast<int>(r) == robot)
    {
      bodies.push_back(-2 - static_cast<int>(r));
    }
  }
  return bodies;
}

std::string add_frame_on(Mechanism & mechanism, int body, const Eigen::Isometry3d & world)
{
  Frame frame;
  frame.name = "f" + std::to_string(mechanism.frames.size());
  frame.link = body;
  frame.pose = pose_of(mechanism.body_pose(body).inverse() * world);
  mechanism.frames.push_back(frame);
  return frame.name;
}

YAML::Node coincidence(
  const std::string & name, const std::string & a, const std::string & b,
  const std::vector<std::string> & rows)
{
  YAML::Node constraint;
  constraint["name"] = name;
  constraint["type"] = "frame_coincidence";
  constraint["frame_a"] = a;
  constraint["frame_b"] = b;
  constraint["rows"] = flow_list(rows);
  return constraint;
}

/// Closes a loop between two bodies; a hinge's axis is y of both frames.
void close_loop(Mechanism & mechanism, int a, int b, const Style & style, Random & random)
{
  const bool weld = random.chance(0.3);
  Eigen::Isometry3d on_a = Eigen::Isometry3d::Identity();
  on_a.translation() = random.vector(0.6);
  if (style.planar)
  {
    on_a.linear() =
      Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitY(), style.normal)
        .toRotationMatrix() *
      Eigen::AngleAxisd(
        random.chance(0.5) ? 0.0 : random.uniform(-3.0, 3.0), Eigen::Vector3d::UnitY())
        .toRotationMatrix();
  }
  else if (random.chance(0.7))
  {
    on_a.linear() = random.rotation();
  }
  const std::string frame_a = "f" + std::to_string(mechanism.frames.size());
  mechanism.frames.push_back({frame_a, a, pose_of(on_a)});
  Eigen::Isometry3d world = mechanism.frame_pose(mechanism.frames.back());
  if (!weld && random.chance(0.5))
  {
    world.rotate(Eigen::AngleAxisd(random.uniform(-1.5, 1.5), Eigen::Vector3d::UnitY()));
  }
  const std::string frame_b = add_frame_on(mechanism, b, world);

  Closure closure;
  closure.constraint = "loop" + std::to_string(mechanism.constraints.size());
  closure.frame_a = frame_a;
  closure.frame_b = frame_b;
  closure.kind = style.planar ? (weld ? Closure::Kind::kPlanarWeld : Closure::Kind::kPlanarHinge)
                              : (weld ? Closure::Kind::kWeld : Closure::Kind::kHinge);
  const std::vector<std::string> all = {"x", "y", "z", "rx", "ry", "rz"};
  const std::vector<std::string> hinge = {"x", "y", "z", "rx", "rz"};
  const std::vector<std::string> point = {"x", "y", "z"};
  std::vector<std::string> rows;
  switch (closure.kind)
  {
    case Closure::Kind::kPlanarHinge:
      rows = random.pick<std::vector<std::string>>({{"x", "z"}, point, hinge});
      break;
    case Closure::Kind::kPlanarWeld:
      rows = random.pick<std::vector<std::string>>({{"x", "z", "ry"}, all});
      break;
    case Closure::Kind::kHinge:
      rows = hinge;
      break;
    case Closure::Kind::kWeld:
      rows = all;
      break;
  }
  mechanism.constraints.push_back(coincidence(closure.constraint, frame_a, frame_b, rows));
  if (closure.kind == Closure::Kind::kHinge && random.chance(0.5))
  {
    // A ball joint, or a point on a line: nothing that could be written in other rows.
    mechanism.constraints.back()["rows"] =
      flow_list(random.pick<std::vector<std::string>>({point, point, {"x", "z"}, {"y"}}));
    return;
  }
  mechanism.closures.push_back(closure);
}

/// A constraint that is no loop; the frames go through what the state has.
void add_other(Mechanism & mechanism, int body, Random & random)
{
  YAML::Node constraint;
  constraint["name"] = "rule" + std::to_string(mechanism.constraints.size());
  const std::string frame = "f" + std::to_string(mechanism.frames.size());
  mechanism.frames.push_back({frame, body, random_pose(random)});
  const Eigen::Vector3d p = mechanism.frame_pose(mechanism.frames.back()).translation();
  switch (random.integer(0, mechanism.links.empty() ? 3 : 5))
  {
    case 0:
    {
      const Eigen::Vector3d normal = random_axis(random);
      constraint["type"] = "point_on_plane";
      constraint["frame_a"] = frame;
      constraint["normal"] = node(normal);
      constraint["offset"] = text(normal.dot(p));
      break;
    }
    case 1:
    {
      Eigen::Isometry3d line = Eigen::Isometry3d::Identity();
      line.linear() = random.rotation();
      const Eigen::Vector3d direction = random_axis(random);
      line.translation() = p - random.uniform(-1.0, 1.0) * (line.linear() * direction);
      constraint["type"] = "point_on_line";
      constraint["frame_a"] = frame;
      constraint["frame_b"] = add_frame_on(mechanism, -1, line);
      constraint["direction"] = node(direction);
      break;
    }
    case 2:
    {
      Eigen::Isometry3d anchor = Eigen::Isometry3d::Identity();
      anchor.translation() = p + random.magnitude(0.1, 3.0) * random.direction();
      constraint["type"] = "distance";
      constraint["frame_a"] = frame;
      constraint["frame_b"] = add_frame_on(mechanism, -1, anchor);
      constraint["length"] = text((p - anchor.translation()).norm());
      break;
    }
    case 3:
      constraint["type"] = "knife_edge";
      constraint["frame_a"] = frame;
      constraint["axis"] = node(random_axis(random));
      break;
    default:
    {
      // Joint angles in proportion, or one of them held.
      double offset = 0.0;
      const int count = random.integer(1, std::min(3, static_cast<int>(mechanism.links.size())));
      std::vector<Link> links = mechanism.links;
      random.shuffle(links);
      constraint["type"] = "joint_coupling";
      for (int i = 0; i < count; ++i)
      {
        const double coefficient = random.sign() * random.magnitude(0.1, 10.0);
        constraint["terms"][links[static_cast<std::size_t>(i)].joint] = text(coefficient);
        offset += coefficient * links[static_cast<std::size_t>(i)].q;
      }
      constraint["offset"] = text(offset);
    }
  }
  mechanism.constraints.push_back(constraint);
}

}  // namespace

Pose random_pose(Random & random)
{
  Pose pose;
  pose.xyz = random.vector(1.0);
  if (random.chance(0.7))
  {
    pose.rpy = random.vector(3.0);
  }
  return pose;
}

Case random_tree(Random & random)
{
  auto mechanism = std::make_shared<Mechanism>();
  mechanism->gravity = random.chance(0.6) ? Eigen::Vector3d(0.0, 0.0, -9.81) : random.vector(10.0);
  std::vector<Style> styles;
  const int robots = random.chance(0.8) ? 1 : 2;
  for (int r = 0; r < robots; ++r)
  {
    Style style;
    style.planar = random.chance(0.5);
    style.normal =
      random.chance(0.6) ? Eigen::Vector3d::Unit(random.integer(0, 2)) : random.direction();
    styles.push_back(style);
    add_robot(*mechanism, random, style);
  }
  if (random.chance(0.2))
  {
    add_body(*mechanism, random);
  }
  // Constraints while they leave a motion; now and then one that leaves none.
  const int wanted = random.integer(1, 4);
  for (int i = 0; i < wanted; ++i)
  {
    const Mechanism before = *mechanism;
    const int robot = random.integer(0, robots - 1);
    const Style & style = styles[static_cast<std::size_t>(robot)];
    if (random.chance(0.65))
    {
      std::vector<int> bodies = bodies_of(*mechanism, style.planar ? robot : -1);
      const bool fixed = mechanism->robots[static_cast<std::size_t>(robot)].base == Base::kFixed;
      if (!style.planar || fixed)
      {
        bodies.push_back(-1);
      }
      random.shuffle(bodies);
      close_loop(
        *mechanism, bodies[0] == -1 ? bodies[1] : bodies[0],
        bodies[0] == -1 ? bodies[0] : bodies[1], style, random);
    }
    else if (random.chance(0.3))
    {
      add_formula(*mechanism, random);
    }
    else
    {
      add_other(*mechanism, random.pick(bodies_of(*mechanism, -1)), random);
    }
    if (free_motions(*mechanism).cols() == 0 && !random.chance(0.1))
    {
      *mechanism = before;
    }
  }
  set_speeds(*mechanism, random);
  if (random.chance(0.3))
  {
    mechanism->u.setZero();
  }
  if (random.chance(0.15))
  {
    add_motion(*mechanism, random);
  }
  Case result;
  result.source = "tree";
  result.scenario = mechanism->scenario();
  result.arguments = {"--raw-state"};
  result.mechanism = mechanism;
  return result;
}

}  // namespace invariance
