// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// What a value of MultiplierForces acts on.
struct MultiplierForceTarget
{
  enum class Kind : std::uint8_t
  {
    kCoordinate,  ///< a force on the rate of coordinate `index`, as in Lagrange's equations
    kSpeed,       ///< a generalized force on speed `index`
    kInput,       ///< the value of input `index`; what is given for it is not used
    kFrame,       ///< a component of a wrench at the origin of frame `index`
  };
  Kind kind = Kind::kCoordinate;
  int index = 0;
  int component = 0;           ///< kFrame: 0 to 2 force x, y, z; 3 to 5 torque x, y, z
  bool in_frame_axes = false;  ///< kFrame: axes of the frame; otherwise of the world
};

/// Forces that depend on constraint forces, such as friction in a loaded guide, creep and belts:
///     (E45) Q u̇ = P + G τ + B y(λ_s, q, u, t) + Aᵀ λ,
/// with λ_s (k) the multipliers of chosen rows and B (n × p) the directions of the targets. A
/// MultiplierFormulation solves for them. Of redundant rows, λ_s is the share of the load that is
/// reported. Constant; threads may share it.
///
/// Public methods are those that the formulation calls; derived classes implement `do_evaluate`.
class CONSTRAINED_DYNAMICS_EXPORT MultiplierForces
{
public:
  virtual ~MultiplierForces();
  MultiplierForces(const MultiplierForces &) = delete;
  MultiplierForces & operator=(const MultiplierForces &) = delete;

  /// Targets of the values y (p).
  const std::vector<MultiplierForceTarget> & targets() const { return targets_; }
  /// The rows whose multipliers λ_s the values depend on (k), as indices of the ConstraintSet.
  const std::vector<int> & rows() const { return rows_; }
  bool has_target(MultiplierForceTarget::Kind kind) const noexcept CD_NONBLOCKING;
  /// Number of scratch doubles that `evaluate` needs.
  int scratch_size() const noexcept CD_NONBLOCKING { return scratch_size_; }

  /// y (p) and ∂y/∂λ_s (p × k) at the state of the last System::update_kinematics on `data`.
  /// @param multipliers λ_s (k). Statuses: kOk, kNonFiniteResult. Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const SystemData & data, const ConstVectorRef & multipliers, double * scratch, VectorRef values,
    MatrixRef derivatives) const noexcept CD_NONBLOCKING
  {
    return do_evaluate(data, multipliers, scratch, values, derivatives);
  }

  /// B (n × p) at a state whose kinematics and terms are evaluated. Uses scratch.jacobian_a.
  /// Real-time safe: yes.
  void directions(
    const System & system, const SystemData & data, ConstraintScratch & scratch,
    MatrixRef out) const noexcept CD_NONBLOCKING;

  /// Adds the power [W] of values y (p) to the kinds of SystemPower that they belong to. Inputs are
  /// left out: they are part of the inputs of the solve. Real-time safe: yes.
  /// @param directions B (n × p) at the same state.
  void add_power(
    const SystemData & data, const ConstVectorRef & values, const ConstMatrixRef & directions,
    SystemPower & power) const noexcept CD_NONBLOCKING;

  /// @throw std::invalid_argument for rows and targets that the system and its constraints do not
  /// have, and for driven speeds.
  void check(const ConstraintSet & constraints) const;

protected:
  MultiplierForces(
    std::vector<MultiplierForceTarget> targets, std::vector<int> rows, int scratch_size);

  virtual Status do_evaluate(
    const SystemData & data, const ConstVectorRef & multipliers, double * scratch, VectorRef values,
    MatrixRef derivatives) const noexcept CD_NONBLOCKING = 0;

private:
  std::vector<MultiplierForceTarget> targets_;
  std::vector<int> rows_;
  int scratch_size_;
};

}  // namespace constrained_dynamics
