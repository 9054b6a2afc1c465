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

/// The inputs that give a constrained system a desired acceleration, with the help of the
/// constraints. Where no inputs reach it, those that come closest in the norm of the inertia. With
/// speeds and acceleration 0 they keep the system at rest against gravity and springs. Memory is
/// taken once; use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT InverseDynamics
{
public:
  explicit InverseDynamics(std::shared_ptr<const Dynamics> dynamics);
  ~InverseDynamics();
  InverseDynamics(InverseDynamics &&) noexcept;
  InverseDynamics & operator=(InverseDynamics &&) noexcept;

  /// @param acceleration u̇ (n). @param active workspace whose active constraints count.
  /// @param out (l), untouched without output.
  /// Statuses: those of Dynamics::set_state and Dynamics::reduce, kNonFiniteResult.
  /// Real-time safe: yes, as `find_at_rest`.
  [[nodiscard]] Status find(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    const ConstVectorRef & acceleration, const Workspace & active,
    VectorRef out) noexcept CD_NONBLOCKING;
  /// For speeds and acceleration 0.
  [[nodiscard]] Status find_at_rest(
    double time, const ConstVectorRef & q, const Workspace & active,
    VectorRef out) noexcept CD_NONBLOCKING;

  /// At the state of the last `find` with output, terms included.
  const Workspace & workspace() const;

private:
  struct Memory;

  std::shared_ptr<const Dynamics> dynamics_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace constrained_dynamics
