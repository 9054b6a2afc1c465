// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

class ServoInputLaw;

/// Inputs τ as a function of the state. Use one object per simulation: it may keep scratch memory.
class CONSTRAINED_DYNAMICS_EXPORT InputLaw
{
public:
  virtual ~InputLaw();

  /// Called when a simulation starts or restarts at a state. Real-time safe: no.
  /// @throw std::invalid_argument if the law cannot start there.
  virtual void start(const State & state);

  /// Called at the beginning of a fixed step: laws that hold their inputs over a period may sample
  /// here. Real-time safe: yes.
  virtual void begin_step(double time) noexcept CD_NONBLOCKING;

  /// Called before each `evaluate`, with the constraints that are active now. Real-time safe: yes.
  virtual void observe(const Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Fills τ (l) at the state of the last System::update_kinematics on `data`. May also set
  /// external wrenches on the system. Real-time safe: yes.
  [[nodiscard]] virtual Status evaluate(
    const System & system, SystemData & data, VectorRef inputs) noexcept CD_NONBLOCKING = 0;

  /// Returns this law if it is a servo law, for the reports of a run; otherwise null.
  virtual const ServoInputLaw * as_servo() const noexcept { return nullptr; }
};

}  // namespace constrained_dynamics
