// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "mechanism.hpp"
#include "random.hpp"

namespace invariance
{

/// Random trees with loops and other constraints that hold in the written state: position rows to
/// rounding, and the speeds are on the manifold.
Case random_tree(Random & random);

Pose random_pose(Random & random);

/// A row that is a formula: of a point, of joint angles, or of their rates.
void add_formula(Mechanism & mechanism, Random & random);

/// Imposes the motion of a joint, if the other rows leave it free.
void add_motion(Mechanism & mechanism, Random & random);

/// Rows over the speeds that a constraint of the mechanism has, up to sign and scale.
/// @throw std::invalid_argument for a type that the generator does not make
Eigen::MatrixXd constraint_rows(const Mechanism & mechanism, const YAML::Node & constraint);

/// An orthonormal basis of the motions that all constraints leave.
Eigen::MatrixXd free_motions(const Mechanism & mechanism);

/// Random speeds on the manifold of all constraints.
void set_speeds(Mechanism & mechanism, Random & random);

}  // namespace invariance
