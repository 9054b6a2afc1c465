// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

/// Which rows pass which joints of a tree, where each is eliminated and which others it then meets:
/// all that a TreeSolver knows before it sees a number. Rows stand in the order of elimination,
/// from the tips to the root; a row has a place at each joint that it passes.
class TreePattern
{
protected:
  TreePattern(const ConstraintSet & constraints, const KinematicTree & tree);

  /// The rows of a constraint that passes a joint: places, positions in the order of elimination,
  /// and places at the parent are consecutive.
  struct Run
  {
    int constraint;
    int place;
    int count;
    int position;
    int target;     // at the parent; −1: the world
    int dense_row;  // of the set, where rows have entries of A instead of forces; −1: none
  };
  /// A row below the pivot, and its place on the body where the pivot is eliminated (−1: world).
  struct Below
  {
    int position;
    int place;
  };
  struct FrameTerms
  {
    int constraint;
    const FrameConstraint * frames;
    int body_a;
    int body_b;
    std::vector<int> places_a;  // of each row; −1 where the body is the world
    std::vector<int> places_b;
    std::vector<int> twins;  // earlier ones between the same bodies with as many rows
  };

  ConstraintSet set_;  // keeps system and constraints alive
  const KinematicTree & tree_;
  std::vector<FrameTerms> frame_terms_;
  std::vector<int> dense_constraints_;
  std::vector<int> row_at_;         // row of the set at a position
  std::vector<int> position_of_;    // and the other way round
  std::vector<int> constraint_at_;  // constraint at a position
  std::vector<int> joint_of_body_;  // place in TreeSolverData::joints, −1: simple
  int joint_count_ = 0;
  std::vector<char> is_hinge_;  // of each body
  std::vector<Run> runs_;
  std::vector<int> run_begin_;          // of each body; its end is the next one's begin
  std::vector<int> elimination_begin_;  // positions eliminated on a body; [0] is the world's
  std::vector<int> elimination_end_;
  std::vector<int> elimination_place_;  // of each position; −1: the world
  std::vector<std::vector<Below>> below_;
  int hinge_place_count_ = 0;  // places on hinges, which come first
  int passing_count_ = 0;      // on all joints
  int place_count_ = 0;        // and where rows are eliminated

private:
  using Paths = std::vector<std::vector<int>>;         // joints that a constraint passes
  using PlaceOf = std::map<std::pair<int, int>, int>;  // by (body, position)
  /// The bodies that a constraint touches first, and the body above all of them.
  std::vector<int> find_ends(int constraint, int & above);
  void order_rows(const std::vector<int> & top, const Paths & paths);
  void find_places(
    const std::vector<int> & top, const Paths & paths, PlaceOf & place_of, Paths & passing);
  void find_runs(const Paths & passing, const PlaceOf & place_of);
  void find_fill(const std::vector<int> & top, const Paths & passing, const PlaceOf & place_of);
};

inline std::size_t idx(int i) { return static_cast<std::size_t>(i); }

}  // namespace constrained_dynamics
