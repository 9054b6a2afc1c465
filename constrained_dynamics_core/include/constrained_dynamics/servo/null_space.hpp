// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Use of the controls that the servo-constraints leave free: y of (E15). Each term is a desired
/// generalized force f (n), and y = Gᵀ f.

namespace constrained_dynamics
{

/// A part of y. Constant; may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT NullSpaceTerm
{
public:
  virtual ~NullSpaceTerm();
  /// Adds to the generalized force f (n) at the state of `data`. Real-time safe: yes.
  virtual void add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING = 0;
};

/// f = −damping · u for chosen speeds. With controls as states (whose inputs are τ̇) and damping 1,
/// this is y = −τ of the thesis.
class CONSTRAINED_DYNAMICS_EXPORT JointDamping : public NullSpaceTerm
{
public:
  /// @param speeds names; empty: all. @param damping ≥ 0.
  /// @throw std::invalid_argument for unknown names, numbers out of range.
  JointDamping(const System & system, double damping, const std::vector<std::string> & speeds = {});
  void add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING override;

private:
  std::vector<int> speeds_;
  double damping_;
};

/// f = Cᵀ (stiffness (desired − q)) − damping u, for the given coordinates.
class CONSTRAINED_DYNAMICS_EXPORT Posture : public NullSpaceTerm
{
public:
  /// @param desired coordinates with their values. @param stiffness, damping ≥ 0; damping acts on
  /// the rates of the same coordinates.
  /// @throw std::invalid_argument for unknown names, numbers out of range.
  Posture(
    const System & system, const std::vector<std::pair<std::string, double>> & desired,
    double stiffness, double damping);
  void add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING override;

private:
  std::vector<std::pair<int, double>> desired_;
  double stiffness_;
  double damping_;
};

/// A constant generalized force on coordinates. What is measured is given to a ServoRuntime instead
/// (give_null_space), as y itself.
class CONSTRAINED_DYNAMICS_EXPORT GivenForce : public NullSpaceTerm
{
public:
  /// @param forces coordinates with the force on each [N or N m].
  /// @throw std::invalid_argument for unknown names, numbers that are not finite.
  GivenForce(const System & system, const std::vector<std::pair<std::string, double>> & forces);
  void add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING override;

private:
  std::vector<std::pair<int, double>> forces_;
};

/// Pushes coordinates away from the bounds of RigidBodySystem::limits. The force is zero while the
/// coordinate is farther than `margin` times the range from both bounds. Closer to a bound it grows
/// quadratically, and it is `force` at the bound and beyond.
class CONSTRAINED_DYNAMICS_EXPORT AwayFromLimits : public NullSpaceTerm
{
public:
  /// @param margin fraction of the range, above 0 and at most 0.5. @param force at the bound, > 0.
  /// @throw std::invalid_argument for numbers out of range, or a system without bounds.
  AwayFromLimits(const RigidBodySystem & system, double margin, double force);
  void add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING override;

private:
  struct Bound
  {
    int coordinate;
    double lower;
    double upper;
  };
  std::vector<Bound> bounds_;
  double margin_;
  double force_;
};

}  // namespace constrained_dynamics
