// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <filesystem>

#include "random_mechanism.hpp"
#include "sources.hpp"

namespace invariance
{

namespace
{

// ---- linkages in the plane x z: joints count counterclockwise about −y, rods lie along x at 0
// -----

Inertia rod(double length, double mass)
{
  constexpr double kRadius = 0.02;
  const double across = mass * length * length / 12.0;
  Inertia inertia;
  inertia.mass = mass;
  inertia.com = Eigen::Vector3d(length / 2.0, 0.0, 0.0);
  inertia.about_com = Eigen::Vector3d(mass * kRadius * kRadius / 2.0, across, across).asDiagonal();
  return inertia;
}

class Linkage
{
public:
  Linkage()
  {
    Robot ground;
    ground.name = "bench";
    mechanism->robots.push_back(ground);
  }

  /// −1 is the ground. Returns the index of the link.
  int add(int parent, double x, double angle, const Inertia & inertia)
  {
    Link link;
    const std::string number = std::to_string(mechanism->links.size());
    link.parent = parent;
    link.name = "bench_rod" + number;
    link.joint = "bench_joint" + number;
    link.origin.xyz = Eigen::Vector3d(x, 0.0, 0.0);
    link.axis = Eigen::Vector3d(0.0, -1.0, 0.0);
    link.inertia = inertia;
    link.q = angle;
    link.input = 2.0 * std::cos(1.0 + static_cast<double>(mechanism->links.size()));
    mechanism->links.push_back(link);
    return static_cast<int>(mechanism->links.size()) - 1;
  }

  /// A hinge between a point of a rod and where that point is on another rod or on the ground.
  void close(int a, double x, int b, bool twice)
  {
    const std::string number = std::to_string(mechanism->frames.size());
    Frame on_a{"a" + number, a, {}};
    on_a.pose.xyz = Eigen::Vector3d(x, 0.0, 0.0);
    Frame on_b{"b" + number, b < 0 ? -1 : b, {}};
    on_b.pose.xyz =
      (mechanism->body_pose(on_b.link).inverse() * mechanism->frame_pose(on_a)).translation();
    mechanism->frames.push_back(on_a);
    mechanism->frames.push_back(on_b);
    for (int i = 0; i < (twice ? 2 : 1); ++i)
    {
      YAML::Node constraint;
      constraint["name"] = "closure" + number + (i == 0 ? "" : "_again");
      constraint["type"] = "frame_coincidence";
      constraint["frame_a"] = on_a.name;
      constraint["frame_b"] = on_b.name;
      constraint["rows"] = flow_list({"x", "z"});
      mechanism->constraints.push_back(constraint);
    }
    if (!twice)
    {
      mechanism->closures.push_back(
        {Closure::Kind::kPlanarHinge, "closure" + number, on_a.name, on_b.name});
    }
  }

  Case finish(const std::string & name, Random & random)
  {
    set_speeds(*mechanism, random);
    Case result;
    result.source = "workload " + name;
    result.scenario = mechanism->scenario();
    result.arguments = {"--raw-state"};
    result.mechanism = mechanism;
    return result;
  }

  std::shared_ptr<Mechanism> mechanism = std::make_shared<Mechanism>();
};

/// W1, and W6a with every constraint twice.
Case four_bar(bool twice, Random & random)
{
  Linkage linkage;
  const double length = std::sqrt(13.0);
  const int crank = linkage.add(-1, 0.0, 0.0, rod(1.0, 1.0));
  const int coupler = linkage.add(crank, 1.0, M_PI_2, rod(2.0, 2.0));
  const int rocker = linkage.add(coupler, 2.0, -M_PI_2 - std::atan(2.0 / 3.0), rod(length, 4.0));
  linkage.close(rocker, length, -1, twice);
  return linkage.finish(twice ? "W6a" : "W1", random);
}

/// W4a: cranks side by side, couplers between their tips.
Case side_by_side(int count, Random & random)
{
  Linkage linkage;
  const double angle = random.uniform(0.3, 1.3);
  std::vector<int> cranks;
  std::vector<int> couplers;
  for (int i = 0; i <= count; ++i)
  {
    cranks.push_back(linkage.add(-1, i, angle, rod(1.0, 1.0)));
    couplers.push_back(i < count ? linkage.add(cranks.back(), 1.0, -angle, rod(1.0, 1.0)) : -1);
  }
  for (std::size_t i = 0; i + 1 < cranks.size(); ++i)
  {
    linkage.close(couplers[i], 1.0, cranks[i + 1], false);
  }
  return linkage.finish("W4a", random);
}

/// W4b: one chain of rods, bent to a polygon, its end pinned to the world.
Case closed_loop(int count, Random & random)
{
  Linkage linkage;
  const double turn = 2.0 * M_PI / (count + 1);
  int last = -1;
  for (int i = 0; i < count; ++i)
  {
    last =
      linkage.add(last, i == 0 ? 0.0 : 1.0, turn * (1.0 + 0.3 * std::sin(1.0 + i)), rod(1.0, 1.0));
  }
  linkage.close(last, 1.0, -1, false);
  return linkage.finish("W4b", random);
}

/// W4c: four-bar cells, each carried by the coupler of the one before.
Case tower(int count, Random & random)
{
  constexpr double kBase = 1.0;
  constexpr double kCrank = 0.5;
  constexpr double kRocker = 0.6;
  Linkage linkage;
  int carrier = -1;
  for (int i = 0; i < count; ++i)
  {
    // Where the circles about the crank's tip and about the rocker's pivot meet, on the upper side.
    const double angle = 1.3 + 0.3 * std::sin(1.0 + i);
    const Eigen::Vector2d tip(kCrank * std::cos(angle), kCrank * std::sin(angle));
    const Eigen::Vector2d pivot(kBase, 0.0);
    const Eigen::Vector2d between = pivot - tip;
    const double d = between.norm();
    const double along = (d * d + kBase * kBase - kRocker * kRocker) / (2.0 * d);
    const double across = std::sqrt(kBase * kBase - along * along);
    const Eigen::Vector2d meeting =
      tip + between / d * along + Eigen::Vector2d(-between.y(), between.x()) / d * across;
    const Eigen::Vector2d on_coupler = meeting - tip;
    const Eigen::Vector2d on_rocker = meeting - pivot;
    const int crank = linkage.add(carrier, 0.0, angle, rod(kCrank, 1.0));
    const int coupler = linkage.add(
      crank, kCrank, std::atan2(on_coupler.y(), on_coupler.x()) - angle, rod(kBase, 1.0));
    linkage.add(carrier, kBase, std::atan2(on_rocker.y(), on_rocker.x()), rod(kRocker, 1.0));
    linkage.close(coupler, kBase, coupler + 1, false);
    carrier = coupler;
  }
  return linkage.finish("W4c", random);
}

// ---- W5: a base on two wheels with an arm
// ---------------------------------------------------------

Case wheeled_arm(Random & random)
{
  constexpr double kRadius = 0.1;
  constexpr double kHalfTrack = 0.25;
  Mechanism mechanism;
  Robot platform;
  platform.name = "base";
  platform.base = Base::kPlanar;
  platform.position = Eigen::Vector3d(0.2, -0.3, random.uniform(-3.0, 3.0));
  platform.inertia.mass = 20.0;
  platform.inertia.com = Eigen::Vector3d(-0.05, 0.0, 0.1);
  platform.inertia.about_com = Eigen::Vector3d(0.8, 0.9, 1.2).asDiagonal();
  mechanism.robots.push_back(platform);
  const auto add = [&](
                     const std::string & name, int parent, const Eigen::Vector3d & at,
                     const Eigen::Vector3d & axis, double mass, const Eigen::Vector3d & com,
                     const Eigen::Vector3d & inertia)
  {
    Link link;
    link.name = "base_" + name;
    link.joint = "base_" + name + "_joint";
    link.parent = parent;
    link.origin.xyz = at;
    link.axis = axis;
    link.inertia.mass = mass;
    link.inertia.com = com;
    link.inertia.about_com = inertia.asDiagonal();
    link.q = random.uniform(-1.0, 1.0);
    link.input = random.uniform(-2.0, 2.0);
    mechanism.links.push_back(link);
  };
  const Eigen::Vector3d wheel(0.004, 0.0075, 0.004);
  for (const double side : {1.0, -1.0})
  {
    add(
      side > 0.0 ? "left" : "right", -1, Eigen::Vector3d(0.0, side * kHalfTrack, 0.0),
      Eigen::Vector3d::UnitY(), 1.5, Eigen::Vector3d::Zero(), wheel);
  }
  for (int i = 1; i <= 7; ++i)
  {
    add(
      "arm" + std::to_string(i), i == 1 ? -1 : i, Eigen::Vector3d(0.02, 0.01, 0.2),
      i % 2 == 1 ? Eigen::Vector3d::UnitZ() : Eigen::Vector3d::UnitY(), 3.0 - 0.3 * i,
      Eigen::Vector3d(0.01, 0.02, 0.1), Eigen::Vector3d(0.02, 0.025, 0.01));
  }
  mechanism.frames.push_back({"floor", -1, {}});
  mechanism.frames.back().pose.xyz.z() = -kRadius;
  mechanism.u.resize(mechanism.speed_count());
  for (Eigen::Index i = 0; i < mechanism.u.size(); ++i)
  {
    mechanism.u(i) = random.uniform(-1.0, 1.0);
  }
  Case result;
  result.source = "workload W5";
  result.scenario = mechanism.scenario();
  for (const char * side : {"left", "right"})
  {
    YAML::Node rolling;
    rolling["name"] = std::string(side) + "_wheel";
    rolling["type"] = "rolling";
    rolling["frame_a"] = std::string("base_") + side;
    rolling["frame_b"] = "floor";
    rolling["radius"] = text(kRadius);
    rolling["axis"] = node(Eigen::Vector3d(0.0, 1.0, 0.0));
    rolling["keep_contact"] = "false";
    result.scenario["constraints"].push_back(rolling);
  }
  // The speeds are not on the manifold yet.
  result.scenario["initial"]["solve"] = flow_list(mechanism.speeds());
  return result;
}

}  // namespace

Case workload(const Settings &, const Cdyn &, Random & random, const std::string &)
{
  // Now and then a long one; the judge then takes seconds.
  const int size = random.chance(0.1) ? 3 : 1;
  switch (random.integer(0, 5))
  {
    case 0:
      return four_bar(false, random);
    case 1:
      return four_bar(true, random);
    case 2:
      return side_by_side(random.integer(1, 6 * size), random);
    case 3:
      return closed_loop(random.integer(3, 12 * size), random);
    case 4:
      return tower(random.integer(1, 5 * size), random);
    default:
      return wheeled_arm(random);
  }
}

}  // namespace invariance
