// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "random.hpp"
#include "result.hpp"
#include "scenario_edit.hpp"

namespace invariance
{

/// The expected result of the changed case.
enum class Expected
{
  kSame,       ///< the result of the twin
  kSameOrNot,  ///< that, or another status (rows between round-off and the singular
               ///< tolerance)
  kNotOk,      ///< rows that contradict each other: any status but ok
  kJudge       ///< another motion: the judge decides
};

/// A case written in another way.
struct Changed
{
  Case changed;
  /// Brings a result of the changed case into the terms of its twin; empty: they are the same.
  std::function<void(Result &)> undo;
  Expected expected = Expected::kSame;
  bool multipliers = true;  ///< those of independent rows are the same (after `undo`)
  bool wrenches = true;
  bool rank = true;
  /// A status that is accepted because the formulation does not exist for the system; empty: none.
  std::string allowed_status;
  std::string detail;  ///< what was drawn, for the report
};

/// A way to write the same system differently.
struct Transformation
{
  std::string kind;
  std::string applies_to;  ///< and why not to the rest
  std::string rule;        ///< how the result changes
  /// Empty if it does not apply to the case.
  std::function<std::optional<Changed>(const Case &, const Result & twin, Random &)> apply;
};

/// The case with another mechanism, run as before.
Changed rewritten(const Case & original, const std::shared_ptr<const Mechanism> & mechanism);

/// All of them.
const std::vector<Transformation> & transformations();

// By subject, one file each.
std::vector<Transformation> world_transformations();
std::vector<Transformation> row_transformations();
std::vector<Transformation> loop_transformations();
std::vector<Transformation> small_row_transformations();
std::vector<Transformation> writing_transformations();
std::vector<Transformation> unit_transformations();
std::vector<Transformation> robot_file_transformations();

/// Whether something else names the constraint, and so means its multipliers or its slip.
bool is_named(const YAML::Node & scenario, const std::string & name);

}  // namespace invariance
