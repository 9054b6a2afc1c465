// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "judge.hpp"
#include "transformation.hpp"

namespace invariance
{

enum class Outcome
{
  kRight,     ///< ok and right
  kWrongOk,   ///< ok and wrong
  kNeedless,  ///< another status, although a solution exists
  kRefused    ///< another status, correctly
};

struct Finding
{
  Outcome outcome = Outcome::kRight;
  std::string reason;
  std::string status;   ///< reported by `cdyn`
  bool judged = false;  ///< by the judge, not by a twin alone
};

/// Change of the results if the data change by 1e-13: the unit of all comparisons.
struct Sensitivity
{
  bool decided = false;  ///< the perturbed twins were ok as well
  double acceleration = 0.0, force = 0.0, multiplier = 0.0, wrench = 0.0, power = 0.0, input = 0.0;
};

/// Largest differences of two results in the same terms.
Sensitivity difference(const Result & a, const Result & b);

/// Compares a result with the verdict. @pre the verdict is supported.
Finding by_judge(const Result & result, const Verdict & verdict);

/// Inserts a result into the laws of contact; false where the judge does not know the contacts of
/// the file.
bool by_contact_laws(const Result & result, const std::string & file, Finding & finding);

/// Compares the result of a changed case (after `undo`) with that of its twin.
Finding by_twin(
  const Changed & changed, const Result & result, const Result & twin, const Sensitivity & unit);

}  // namespace invariance
