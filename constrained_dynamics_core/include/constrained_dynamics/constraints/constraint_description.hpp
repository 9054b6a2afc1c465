// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/key_description.hpp"

namespace constrained_dynamics
{

/// Arguments from which a constraint is built.
struct ConstraintArguments
{
  const std::string & name;
  const System & system;
  const KeyValues & keys;              ///< checked against the description
  const FormulaNames & formula_names;  ///< parameters and definitions that formulas may use
};

/// Description of a type of constraint. The reader of scenario files, the Python function, the
/// documentation and the equations of the gallery are derived from it. Constraint::drawing defines
/// how a constraint is drawn.
///
/// A class has a static member `description()`; src/constraints/registry.cpp lists them.
struct CONSTRAINED_DYNAMICS_EXPORT ConstraintDescription
{
  std::string type;         ///< stable id, e.g. "knife_edge"
  std::string python_name;  ///< e.g. "KnifeEdge"
  std::string text;         ///< what it does, one or two sentences
  /// The equation of its rows, on one line. `{rows}` stands for the chosen rows.
  std::string equation;
  std::string rows;  ///< labels and levels of the rows, e.g. "`lateral` (velocity)"
  std::vector<KeyDescription> keys;
  /// Makes one. @throw std::invalid_argument, also KeyError, for keys that do not fit.
  std::function<std::shared_ptr<const Constraint>(const ConstraintArguments &)> make;
};

/// All types that exist, in the order of the documentation.
CONSTRAINED_DYNAMICS_EXPORT const std::vector<ConstraintDescription> & constraint_descriptions();

/// One of them. @throw std::invalid_argument naming the unknown type and those that exist.
CONSTRAINED_DYNAMICS_EXPORT const ConstraintDescription & constraint_description(
  const std::string & type);

/// Makes a constraint of a type that is known only at run time.
/// @param keys values that were given; defaults are added here.
/// @throw std::invalid_argument for an unknown type and for keys that are missing or do not fit.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const Constraint> make_constraint(
  const std::string & type, const std::string & name, const System & system, KeyValues keys,
  const FormulaNames & formula_names = {});

}  // namespace constrained_dynamics
