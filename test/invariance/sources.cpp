// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "sources.hpp"

#include <algorithm>
#include <filesystem>

#include "random_mechanism.hpp"

namespace invariance
{

std::vector<Eigen::Isometry3d> observed_poses(
  const Case & c, const std::vector<std::string> & frames, const Cdyn & cdyn,
  const std::string & file)
{
  // `cdyn` tells positions: those of the frame and of points on its axes.
  Case draft = c;
  draft.scenario.remove("constraints");
  for (std::size_t i = 0; i < frames.size(); ++i)
  {
    for (int axis = -1; axis < 3; ++axis)
    {
      const std::string name = "observed_" + std::to_string(i) + "_" + std::to_string(axis + 1);
      Pose pose;
      pose.xyz =
        axis < 0 ? Eigen::Vector3d(0.0, 0.0, 0.0) : Eigen::Vector3d(Eigen::Vector3d::Unit(axis));
      add_frame(draft.scenario, name, frames[i], pose);
      for (const char * component : {"px", "py", "pz"})
      {
        draft.scenario["observe"][name + component] = std::string(component) + "(" + name + ")";
      }
    }
  }
  const Result result = cdyn.solve(draft, file);
  std::filesystem::remove(file);
  std::vector<Eigen::Isometry3d> poses;
  for (std::size_t i = 0; i < frames.size() && result.observe.values.size() > 0; ++i)
  {
    const auto point = [&](int k)
    {
      const std::string name = "observed_" + std::to_string(i) + "_" + std::to_string(k);
      return Eigen::Vector3d(
        result.observe.at(name + "px"), result.observe.at(name + "py"),
        result.observe.at(name + "pz"));
    };
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() = point(0);
    for (int axis = 0; axis < 3; ++axis)
    {
      X.linear().col(axis) = point(axis + 1) - point(0);
    }
    poses.push_back(X);
  }
  return poses;
}

Case published_scenario(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file)
{
  std::vector<std::filesystem::path> files;
  for (const auto & entry : std::filesystem::directory_iterator(settings.config + "/scenarios"))
  {
    if (entry.path().extension() == ".yaml")
    {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  const std::filesystem::path chosen = random.pick(files);
  Case result;
  result.source = "scenario " + chosen.stem().string();
  result.scenario = load_scenario(chosen.string());
  if (random.chance(0.6))
  {
    Case later = result;
    const double until = random.magnitude(0.01, 0.5);
    later.scenario["run"]["until"] = text(until);
    later.scenario["run"].remove("output_interval");
    const Result end = cdyn.run(later, file);
    std::filesystem::remove(file);
    if (end.ok() && end.q.values.size() > 0 && !later.scenario["initial"]["time"])
    {
      set_state(result.scenario, end);
      result.scenario["run"].remove("until");
    }
  }
  return result;
}

Case draw_case(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file)
{
  const std::string source = !settings.source.empty() ? settings.source
                             : random.chance(0.5)     ? "tree"
                             : random.chance(0.4)     ? "scenario"
                             : random.chance(0.3)     ? "workload"
                             : random.chance(0.5)     ? "robot"
                                                      : "contact";
  return source == "scenario"   ? published_scenario(settings, cdyn, random, file)
         : source == "workload" ? workload(settings, cdyn, random, file)
         : source == "robot"    ? published_robot(settings, cdyn, random, file)
         : source == "contact"  ? random_contacts(random)
                                : random_tree(random);
}

}  // namespace invariance
