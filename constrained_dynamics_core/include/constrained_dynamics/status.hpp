// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>

#include "constrained_dynamics/export.hpp"

/// Marks a function that the control cycle may call: it allocates nothing, locks nothing and throws
/// nothing. Compilers that know the attribute check it (`-Wfunction-effects`, RealtimeSanitizer).
#if defined(__clang__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::nonblocking)
#define CD_NONBLOCKING [[clang::nonblocking]]
#endif
#endif
#ifndef CD_NONBLOCKING
#define CD_NONBLOCKING
#endif

namespace constrained_dynamics
{

/// What happened in a real-time function, or how a run ended. Everything but kOk, kSingular,
/// kInconsistent, kLimited and kInaccurate leaves the outputs untouched.
enum class Status : std::uint8_t
{
  /// The asked-for thing happened.
  kOk,
  /// The rank of the active rows fell below their nominal rank (or within tolerance of falling):
  /// outputs are written, bounded, and belong to the rows that are left.
  kSingular,
  /// The rows contradict each other: outputs are written for the nearest rows that do not.
  kInconsistent,
  /// Limits of the controls bind: outputs are written for the closest motion within them.
  kLimited,
  /// A run reached its end, but its energy balance or the error of its steps exceeds the tolerance
  /// (SimulationOptions::error_tolerance).
  kInaccurate,
  /// An input is NaN or infinite.
  kNonFiniteInput,
  /// A result would be NaN or infinite; the formulas or the sizes of the numbers are to blame.
  kNonFiniteResult,
  /// A vector has the wrong size.
  kSizeMismatch,
  /// The inertia that is left after the constraints is not positive definite.
  kSingularInertia,
  /// The generalized speeds do not determine the rates of the coordinates here.
  kSingularKinematics,
  /// An iteration reached its bound before its tolerance.
  kNotConverged,
  /// A user function threw an exception.
  kUserFunctionFailed,
  /// Dry friction leaves no or more than one motion (Painlevé's paradox).
  kNoUniqueSolution,
  /// No values meet all limits and rows at once.
  kInfeasible,
  /// A run was asked to end (Simulation::request_stop).
  kInterrupted,
  /// The workspace is at no state: none was set, or the last one could not be evaluated.
  kNoState,
  /// The formulation does not answer this problem; others may (see ArticulatedBody).
  kDeclined,
  /// The workspace was made for another Dynamics.
  kForeignWorkspace,
};

/// Stable name of a status, as printed by `cdyn` ("ok", "singular", …). Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(Status status) noexcept CD_NONBLOCKING;

/// Whether a function that returned `status` wrote its outputs. Real-time safe: yes.
constexpr bool has_output(Status status) noexcept
{
  return status == Status::kOk || status == Status::kSingular || status == Status::kInconsistent ||
         status == Status::kLimited || status == Status::kInaccurate;
}

/// The worse of two statuses, where having no output is worse than having one.
constexpr Status worse(Status a, Status b) noexcept
{
  return static_cast<std::uint8_t>(a) >= static_cast<std::uint8_t>(b) ? a : b;
}

}  // namespace constrained_dynamics
