// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "mechanism.hpp"
#include "transformation.hpp"

namespace invariance
{

namespace
{

using Labels = std::vector<std::string>;

/// Two or three points instead of frames.
void close_by_points(YAML::Node & scenario, int index, const std::vector<Eigen::Vector3d> & points)
{
  const YAML::Node old = YAML::Clone(scenario["constraints"][index]);
  scenario["constraints"].remove(static_cast<std::size_t>(index));
  for (std::size_t k = 0; k < points.size(); ++k)
  {
    YAML::Node constraint = YAML::Clone(old);
    constraint["name"] = old["name"].as<std::string>() + "_point" + std::to_string(k);
    constraint["rows"] = flow_list({"x", "y", "z"});
    for (const char * key : {"frame_a", "frame_b"})
    {
      const std::string frame = unused_name(scenario, std::string("point_") + key);
      Pose pose;
      pose.xyz = points[k];
      add_frame(scenario, frame, old[key].as<std::string>(), pose);
      constraint[key] = frame;
    }
    scenario["constraints"].push_back(constraint);
  }
}

/// A loop in other rows that leave the same motion.
std::optional<Changed> write_loop(const Case & original, Random & random)
{
  if (!original.mechanism || original.mechanism->closures.empty())
  {
    return std::nullopt;
  }
  const Closure closure = random.pick(original.mechanism->closures);
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const int index = constraint_index(scenario, closure.constraint);
  YAML::Node constraint = scenario["constraints"][index];
  const double d = random.uniform(0.1, 1.0);
  switch (closure.kind)
  {
    case Closure::Kind::kPlanarHinge:
      constraint["rows"] =
        flow_list(random.pick<Labels>({{"x", "z"}, {"x", "y", "z"}, {"x", "y", "z", "rx", "rz"}}));
      break;
    case Closure::Kind::kPlanarWeld:
      constraint["rows"] =
        flow_list(random.pick<Labels>({{"x", "z", "ry"}, {"x", "y", "z", "rx", "ry", "rz"}}));
      break;
    case Closure::Kind::kHinge:
      close_by_points(scenario, index, {{0.0, d, 0.0}, {0.0, -0.5 * d, 0.0}});
      break;
    case Closure::Kind::kWeld:
      close_by_points(scenario, index, {{d, 0.0, 0.0}, {0.0, d, 0.0}, {0.0, 0.0, d}});
      break;
  }
  // The forces at the points depend on each other, and so do those out of the plane.
  result.multipliers = false;
  result.wrenches = false;
  result.detail = closure.constraint;
  return result;
}

}  // namespace

std::vector<Transformation> loop_transformations()
{
  return {
    {"loop in other rows",
     "generated trees: hinges and cuts in the plane (2, 3, 5; 3, 6 rows), in space "
     "(5, two points; 6, three points)",
     "u̇, F^c, rank the same",
     [](const Case & c, const Result &, Random & random) { return write_loop(c, random); }},
  };
}

}  // namespace invariance
