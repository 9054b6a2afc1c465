// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "common.hpp"
#include "constrained_dynamics/key_description.hpp"

namespace constrained_dynamics::python
{

/// Values of described keys from a Python dictionary; None stands for a key that is not given.
/// @throw KeyError for unknown keys and values out of range, TypeError for values of another kind.
KeyValues key_values(const nb::dict & given, const std::vector<KeyDescription> & keys);

/// The same with the owner in front of error messages.
/// @throw std::invalid_argument instead of KeyError.
KeyValues checked_keys(
  const std::string & owner, const nb::dict & given, const std::vector<KeyDescription> & keys);

/// What key_values takes for a key, as an annotation of Python.
const char * python_type(const KeyDescription & key);

/// A value of a key as Python has it.
nb::object python_value(const KeyValue & value);

/// The default of a key, None without one.
nb::object default_of(const KeyDescription & key);

}  // namespace constrained_dynamics::python
