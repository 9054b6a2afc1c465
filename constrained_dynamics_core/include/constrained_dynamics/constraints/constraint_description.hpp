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

/// What a constraint is made from.
struct ConstraintArguments
{
  const std::string & name;
  const System & system;
  const KeyValues & keys;              ///< checked against the description
  const FormulaNames & formula_names;  ///< parameters and definitions that formulas may use
};

/// A type of constraint, described once: the reader of scenario files, the Python function, the
/// documentation and the equations of the gallery follow from it. How a constraint is drawn is told
/// by Constraint::drawing.
///
/// A class has a static member `description()`; src/constraints/registry.cpp lists them.
struct CONSTRAINED_DYNAMICS_EXPORT ConstraintDescription
{
  std::string type;         ///< stable id, e.g. "knife_edge"
  std::string python_name;  ///< e.g. "KnifeEdge"
  std::string text;         ///< what it does, one or two sentences
  /// What its rows say, on one line. `{rows}` stands for the chosen rows.
  std::string equation;
  std::string rows;  ///< labels and levels of the rows, e.g. "`lateral` (velocity)"
  std::vector<KeyDescription> keys;
  /// Makes one. @throw std::invalid_argument, also KeyError, for keys that do not fit.
  std::function<std::shared_ptr<const Constraint>(const ConstraintArguments &)> make;
};

/// The keys `frame_a` and `frame_b` (default world), then `more`.
CONSTRAINED_DYNAMICS_EXPORT std::vector<KeyDescription> with_frames(
  const std::vector<KeyDescription> & more);

/// All types that exist, in the order of the documentation.
CONSTRAINED_DYNAMICS_EXPORT const std::vector<ConstraintDescription> & constraint_descriptions();

/// One of them. @throw std::invalid_argument naming the unknown type and those that exist.
CONSTRAINED_DYNAMICS_EXPORT const ConstraintDescription & constraint_description(
  const std::string & type);

/// Makes a constraint of a type, e.g. from a program that is told types at run time.
/// @param keys values that were given; defaults are added here.
/// @throw std::invalid_argument for an unknown type and for keys that are missing or do not fit.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const Constraint> make_constraint(
  const std::string & type, const std::string & name, const System & system, KeyValues keys,
  const FormulaNames & formula_names = {});

}  // namespace constrained_dynamics
