// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

const char * to_string(Status status) noexcept CD_NONBLOCKING
{
  switch (status)
  {
    case Status::kOk:
      return "ok";
    case Status::kSingular:
      return "singular";
    case Status::kInconsistent:
      return "inconsistent";
    case Status::kLimited:
      return "limited";
    case Status::kInaccurate:
      return "inaccurate";
    case Status::kNonFiniteInput:
      return "non_finite_input";
    case Status::kNonFiniteResult:
      return "non_finite_result";
    case Status::kSizeMismatch:
      return "size_mismatch";
    case Status::kSingularInertia:
      return "singular_inertia";
    case Status::kSingularKinematics:
      return "singular_kinematics";
    case Status::kNotConverged:
      return "not_converged";
    case Status::kUserFunctionFailed:
      return "user_function_failed";
    case Status::kNoUniqueSolution:
      return "no_unique_solution";
    case Status::kInfeasible:
      return "infeasible";
    case Status::kInterrupted:
      return "interrupted";
    case Status::kNoState:
      return "no_state";
    case Status::kDeclined:
      return "declined";
    case Status::kForeignWorkspace:
      return "foreign_workspace";
  }
  return "unknown";
}

}  // namespace constrained_dynamics
