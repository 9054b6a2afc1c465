// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/key_description.hpp"
#include "constrained_dynamics/servo/null_space.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"

/// @file
/// Descriptions of the types of servo tasks and null-space terms. The reader of scenario files, the
/// Python functions and the documentation are derived from them.

namespace constrained_dynamics
{

/// Arguments from which a servo task is built.
struct ServoTaskArguments
{
  const std::string & name;
  const ConstraintSet & passive;  ///< the constraints of the system
  const KeyValues & keys;         ///< checked against the description
};

/// A type of servo task that is not a constraint; see ConstraintDescription for those that are.
struct CONSTRAINED_DYNAMICS_EXPORT ServoTaskDescription
{
  std::string type;    ///< stable id, e.g. "pose"
  std::string text;    ///< what it does, one or two sentences
  std::string values;  ///< values of its reference
  std::vector<KeyDescription> keys;
  /// Makes one. @throw std::invalid_argument, also KeyError, for keys that do not fit.
  std::function<std::shared_ptr<const ServoConstraint>(const ServoTaskArguments &)> make;
};

/// Arguments from which a null-space term is built.
struct NullSpaceArguments
{
  const System & system;
  const KeyValues & keys;  ///< checked against the description
};

/// A kind of null-space term.
struct CONSTRAINED_DYNAMICS_EXPORT NullSpaceDescription
{
  std::string kind;  ///< stable id, e.g. "posture"
  std::string text;  ///< what it does, one or two sentences
  std::vector<KeyDescription> keys;
  /// Makes one. @throw std::invalid_argument, also KeyError, for keys that do not fit.
  std::function<std::shared_ptr<const NullSpaceTerm>(const NullSpaceArguments &)> make;
};

/// All types of servo tasks that are not constraints.
CONSTRAINED_DYNAMICS_EXPORT const std::vector<ServoTaskDescription> & servo_task_descriptions();

/// All kinds of null-space terms.
CONSTRAINED_DYNAMICS_EXPORT const std::vector<NullSpaceDescription> & null_space_descriptions();

/// Makes a servo task of a type of servo_task_descriptions.
/// @param keys values that were given; defaults are added here.
/// @throw std::invalid_argument for an unknown type and for keys that are missing or do not fit.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const ServoConstraint> make_servo_task(
  const std::string & type, const std::string & name, const ConstraintSet & passive,
  KeyValues keys);

/// Makes a null-space term of a kind. Keys and exceptions as for make_servo_task.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const NullSpaceTerm> make_null_space_term(
  const std::string & kind, const System & system, KeyValues keys);

/// Descriptions by name. @throw std::invalid_argument naming the unknown one and those that exist.
CONSTRAINED_DYNAMICS_EXPORT const ServoTaskDescription & servo_task_description(
  const std::string & type);
CONSTRAINED_DYNAMICS_EXPORT const NullSpaceDescription & null_space_description(
  const std::string & kind);

}  // namespace constrained_dynamics
