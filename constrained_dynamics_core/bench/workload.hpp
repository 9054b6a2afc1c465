// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics::bench
{

/// A frame fixed to a link of the robot, or to the "world".
struct Place
{
  std::string link;
  Pose pose;
};

/// What a peer that knows points and welds alone puts in place of the constraints.
struct Closure
{
  enum class Kind
  {
    kPoint,  ///< the origins of a and b coincide
    kWeld,   ///< the frames coincide
  };
  Kind kind = Kind::kPoint;
  Place a;
  Place b;
};

/// One system with constraints at one state on its manifold, for the library and for its peers.
struct Workload
{
  std::string name;
  std::string text;        ///< one line for the table
  std::string family;      ///< e.g. "W4a" of W4a_20; empty where there is one size
  int size = 0;            ///< N of the family
  SceneDescription scene;  ///< one robot; its joints' damping is not applied
  std::shared_ptr<const RigidBodySystem> system;
  std::vector<std::shared_ptr<const Constraint>> constraints;
  State state;
  Eigen::VectorXd inputs;  ///< τ
  Eigen::VectorXd force;   ///< G τ
  int rank = 0;            ///< of the rows, known by construction
  std::vector<Closure> closures;
  bool planar = false;       ///< moves in the plane x z: a point closure has a row without effect
  bool redundant = false;    ///< every constraint is given twice
  bool is_stand_in = false;  ///< the closures only cost alike; they are not the constraints

  ConstraintSet constraint_set() const { return ConstraintSet(system, constraints); }
};

}  // namespace constrained_dynamics::bench
