// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "random_mechanism.hpp"
#include "sources.hpp"

namespace invariance
{

namespace
{

YAML::Node contact(const std::string & name, const std::string & frame, Random & random)
{
  YAML::Node result;
  result["name"] = name;
  result["type"] = "contact";
  result["frame_a"] = frame;
  if (random.chance(0.3))
  {
    result["restitution"] = text(random.uniform(0.0, 1.0));
  }
  if (random.chance(0.8))
  {
    const double coefficient = random.magnitude(0.05, 2.0);
    if (random.chance(0.3))
    {
      result["friction"]["coefficient"] = text(coefficient);
      result["friction"]["static"] = text(coefficient * random.uniform(1.0, 1.5));
    }
    else
    {
      result["friction"] = text(coefficient);
    }
  }
  return result;
}

/// Corners of a box that lies, slides or tips over on an inclined plane.
Case box_on_plane(Random & random)
{
  auto mechanism = std::make_shared<Mechanism>();
  Robot body;
  body.name = "box";
  body.is_body = true;
  body.base = Base::kFloating;
  body.inertia.mass = random.magnitude(0.1, 10.0);
  const Eigen::Vector3d half(
    random.uniform(0.1, 0.5), random.uniform(0.1, 0.5), random.uniform(0.05, 0.5));
  body.inertia.about_com = body.inertia.mass / 3.0 *
                           (half.squaredNorm() * Eigen::Matrix3d::Identity() -
                            Eigen::Matrix3d(half.cwiseProduct(half).asDiagonal()));
  body.position = Eigen::Vector3d(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), half.z());
  body.orientation =
    Eigen::Quaterniond(Eigen::AngleAxisd(random.uniform(-3.0, 3.0), Eigen::Vector3d::UnitZ()));
  mechanism->robots.push_back(body);
  const double slope = random.uniform(0.0, 1.0);
  mechanism->gravity = 9.81 * Eigen::Vector3d(std::sin(slope), 0.0, -std::cos(slope));
  mechanism->u = Eigen::VectorXd::Zero(6);
  if (random.chance(0.6))
  {
    mechanism->u.head<2>() = random.vector(1.0).head<2>();
    mechanism->u(5) = random.uniform(-3.0, 3.0);
  }
  Case result;
  result.source = "contact box";
  result.scenario = mechanism->scenario();
  const double coefficient = random.magnitude(0.05, 2.0);
  for (int i = 0; i < 4; ++i)
  {
    Pose corner;
    corner.xyz = half.cwiseProduct(Eigen::Vector3d(i % 2 == 0 ? 1.0 : -1.0, i < 2 ? 1 : -1, -1.0));
    const std::string name = "corner" + std::to_string(i);
    add_frame(result.scenario, name, "box", corner);
    YAML::Node item;
    item["name"] = "touch" + std::to_string(i);
    item["type"] = "contact";
    item["frame_a"] = name;
    item["friction"] = text(coefficient);
    result.scenario["constraints"].push_back(item);
  }
  return result;
}

}  // namespace

Case random_contacts(Random & random)
{
  if (random.chance(0.3))
  {
    Case box = box_on_plane(random);
    box.arguments = {"--raw-state"};
    return box;
  }
  Case result = random_tree(random);
  result.source = "contact tree";
  const Mechanism & mechanism = *result.mechanism;
  const int count = random.integer(1, 3);
  const auto draw_body = [&]
  {
    const int links = static_cast<int>(mechanism.links.size());
    const int robots = static_cast<int>(mechanism.robots.size());
    const int drawn = random.integer(-robots, links - 1);
    return drawn < 0 ? drawn - 1 : drawn;
  };
  for (int i = 0; i < count; ++i)
  {
    // A point of a body, and a plane through it in the world or on another body.
    const std::string number = std::to_string(i);
    const int body = draw_body();
    const Pose pose = random_pose(random);
    add_frame(result.scenario, "touching" + number, mechanism.body_name(body), pose);
    Eigen::Vector3d point = (mechanism.body_pose(body) * pose.isometry()).translation();
    YAML::Node item = contact("touch" + number, "touching" + number, random);
    const int other = random.chance(0.3) ? draw_body() : -1;
    if (other != -1 && other != body)
    {
      const Pose place = random_pose(random);
      add_frame(result.scenario, "touched" + number, mechanism.body_name(other), place);
      item["frame_b"] = "touched" + number;
      point = (mechanism.body_pose(other) * place.isometry()).inverse() * point;
    }
    const Eigen::Vector3d normal = random.direction();
    const double radius = random.chance(0.3) ? random.uniform(0.05, 0.5) : 0.0;
    item["normal"] = node(normal);
    item["radius"] = text(radius);
    item["offset"] = text(normal.dot(point) - radius);
    result.scenario["constraints"].push_back(item);
  }
  // Names, units and signs of contacts are not rewritten.
  result.mechanism.reset();
  return result;
}

}  // namespace invariance
