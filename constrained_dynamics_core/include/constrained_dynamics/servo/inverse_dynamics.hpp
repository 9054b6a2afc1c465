// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Computes the inputs that give a constrained system a desired acceleration. If no inputs achieve
/// it, the result comes closest in the norm of the inertia. With zero speeds and acceleration, the
/// inputs hold the system at rest against gravity and springs. Allocates only in the constructor;
/// use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT InverseDynamics
{
public:
  explicit InverseDynamics(std::shared_ptr<const Dynamics> dynamics);
  ~InverseDynamics();
  InverseDynamics(InverseDynamics &&) noexcept;
  InverseDynamics & operator=(InverseDynamics &&) noexcept;

  /// @param acceleration u̇ (n). @param active workspace that says which constraints are active.
  /// @param out τ (l); untouched unless has_output(status).
  /// Statuses: those of Dynamics::set_state and Dynamics::reduce, kNonFiniteResult.
  /// Real-time safe: yes.
  [[nodiscard]] Status find(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    const ConstVectorRef & acceleration, const Workspace & active,
    VectorRef out) noexcept CD_NONBLOCKING;
  /// The same for zero speeds and acceleration. Real-time safe: yes.
  [[nodiscard]] Status find_at_rest(
    double time, const ConstVectorRef & q, const Workspace & active,
    VectorRef out) noexcept CD_NONBLOCKING;

  /// Workspace at the state of the last `find` with output, with terms evaluated.
  const Workspace & workspace() const;

private:
  struct Memory;

  std::shared_ptr<const Dynamics> dynamics_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace constrained_dynamics
