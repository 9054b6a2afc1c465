// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Kinds of work on a system; the energy balance of a run records each separately (E30).
enum class Work : std::uint8_t
{
  kInputs,             ///< of the inputs τ
  kExternal,           ///< of external wrenches
  kForces,             ///< of active forces of textbook systems and formulas of force elements
  kDampers,            ///< of viscous dampers in joints and between frames
  kFriction,           ///< of dry friction, including its viscous part
  kContacts,           ///< of contacts with a force law
  kPotential,          ///< ∂V/∂t
  kDriven,             ///< of drives that impose motions: driven speeds, t in the kinetic energy
  kMovingRows,         ///< of position rows that contain t: −λᵀ ∂φ/∂t
  kInhomogeneousRows,  ///< of velocity rows that are not homogeneous in u, and of acceleration rows
  kStabilisation,      ///< of Baumgarte's terms: λᵀ φ̇, λᵀ ψ
  kImpacts,            ///< at impacts, applied impulses and switches
};

constexpr std::size_t kWorkKinds = 12;

/// Stable name, as in the JSON of `cdyn run`: "inputs", "external", "forces", "dampers",
/// "friction", "contacts", "potential", "driven", "moving_rows", "inhomogeneous_rows",
/// "stabilisation", "impacts".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(Work kind) noexcept;

/// Energy of a run compared with the work done on it (E30). Energy changes by projections count as
/// error, not work.
struct CONSTRAINED_DYNAMICS_EXPORT EnergyBalance
{
  bool available = false;                 ///< false: the system has no energy function
  double start = 0.0;                     ///< kinetic and potential energy at the start [J]
  double end = 0.0;                       ///< the same at the end [J]
  std::array<double, kWorkKinds> work{};  ///< by kind, in the order of Work [J]
  double error = 0.0;                     ///< end − start − all work [J]
  double largest_error = 0.0;             ///< the largest |error| at any step [J]
  double time_of_largest_error = 0.0;     ///< [s]
  double scale = 0.0;                     ///< the largest of kinetic energy and ∫ |power| dt [J]

  double of(Work kind) const { return work[static_cast<std::size_t>(kind)]; }
  double total_work() const;
  /// largest_error/scale; 0 if nothing moves.
  double relative_error() const { return scale > 0.0 ? largest_error / scale : 0.0; }
};

}  // namespace constrained_dynamics
