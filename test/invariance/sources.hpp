// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "random.hpp"
#include "runner.hpp"
#include "scenario_edit.hpp"

namespace invariance
{

/// A case of one of the sources; its scenario is null if there is none. `file`: for drafts that are
/// shown to `cdyn` on the way.
Case draw_case(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file);

/// A scenario of config/scenarios, at its start or some way into its run.
Case published_scenario(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file);

/// A workload of the benchmark: linkages in the plane, a wheeled base with an arm, the Panda and a
/// humanoid.
Case workload(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file);

/// A published robot in a random posture: links welded, held at a point, kept in a plane; wheels
/// roll.
Case published_robot(
  const Settings & settings, const Cdyn & cdyn, Random & random, const std::string & file);

/// Bodies that touch planes: boxes on an inclined plane, and trees with loops and contacts.
Case random_contacts(Random & random);

/// Where a frame is in the world at the state of a case, as `cdyn` observes it: one pose per frame;
/// none if it fails.
std::vector<Eigen::Isometry3d> observed_poses(
  const Case & c, const std::vector<std::string> & frames, const Cdyn & cdyn,
  const std::string & file);

}  // namespace invariance
