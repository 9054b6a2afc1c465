// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>

#include "constrained_dynamics/export.hpp"

/// Marks a function that the control cycle may call: it does not allocate, lock or throw. Compilers
/// that know the attribute check it (`-Wfunction-effects`, RealtimeSanitizer).
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

/// Result of a real-time function, or how a run ended. All statuses except kOk, kSingular,
/// kInconsistent, kLimited and kInaccurate leave the outputs untouched.
enum class Status : std::uint8_t
{
  /// Success.
  kOk,
  /// The rank of the active rows is below their nominal rank, or within tolerance of dropping below
  /// it. The outputs are written, bounded, and satisfy the remaining rows.
  kSingular,
  /// The rows contradict each other. The outputs are written for the nearest consistent rows.
  kInconsistent,
  /// Limits of the controls are active. The outputs are written for the closest motion within them.
  kLimited,
  /// A run reached its end, but the error of its energy balance or of its steps exceeds
  /// SimulationOptions::error_tolerance.
  kInaccurate,
  /// An input is NaN or infinite.
  kNonFiniteInput,
  /// A result would be NaN or infinite: a formula is undefined here, or numbers are too large.
  kNonFiniteResult,
  /// A vector has the wrong size.
  kSizeMismatch,
  /// The inertia of the motions that the constraints allow is not positive definite.
  kSingularInertia,
  /// The generalized speeds do not determine the rates of the coordinates here.
  kSingularKinematics,
  /// An iteration reached its limit of steps before its tolerance.
  kNotConverged,
  /// A user function threw an exception.
  kUserFunctionFailed,
  /// Dry friction or forces that depend on constraint forces admit no motion, or several motions.
  kNoUniqueSolution,
  /// No values satisfy all limits and rows at the same time.
  kInfeasible,
  /// A run was stopped on request (Simulation::request_stop).
  kInterrupted,
  /// The workspace has no state: none was set, or the last one could not be evaluated.
  kNoState,
  /// The formulation does not solve this problem; others may (see ArticulatedBody).
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

/// Returns the worse of two statuses; no output is worse than any output. Real-time safe: yes.
constexpr Status worse(Status a, Status b) noexcept
{
  return static_cast<std::uint8_t>(a) >= static_cast<std::uint8_t>(b) ? a : b;
}

}  // namespace constrained_dynamics
