// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <nanobind/stl/string.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "common.hpp"
#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// Python functions called from within the core, for offline use: each call takes the interpreter's
/// lock.

namespace constrained_dynamics::python
{

/// Keeps a Python function and releases it with the interpreter's lock held.
struct HeldFunction
{
  explicit HeldFunction(nb::callable callable) : function(std::move(callable)) {}
  ~HeldFunction()
  {
    const nb::gil_scoped_acquire acquire;
    function.reset();
  }
  HeldFunction(const HeldFunction &) = delete;
  HeldFunction & operator=(const HeldFunction &) = delete;

  nb::callable function;
};

/// A number with derivatives that Python returned; anything else is a constant.
template <class S>
S number(nb::handle value)
{
  S out;
  if (nb::try_cast<S>(value, out))
  {
    return out;
  }
  return S(nb::cast<double>(nb::float_(value)));
}

/// Runs code that calls Python, with the lock held; what it raises is printed by
/// sys.unraisablehook, since a status cannot carry it.
/// @param where what is being called, e.g. "constraint 'wheel'".
template <class Code>
Status guarded(const std::string & where, const Code & code) noexcept
{
  try
  {
    return code();
  }
  catch (nb::python_error & error)
  {
    error.discard_as_unraisable(where.c_str());
  }
  catch (const std::exception & error)
  {
    PyErr_SetString(PyExc_ValueError, error.what());
    PyErr_WriteUnraisable(nb::str(where.c_str()).ptr());
  }
  return Status::kUserFunctionFailed;
}

/// Parameters and definitions of formulas from two dictionaries.
inline FormulaNames formula_names(const nb::dict & parameters, const nb::dict & definitions)
{
  FormulaNames names;
  for (const auto & [name, value] : parameters)
  {
    names.parameters.emplace_back(nb::cast<std::string>(name), nb::cast<double>(nb::float_(value)));
  }
  for (const auto & [name, formula] : definitions)
  {
    names.definitions.emplace_back(
      nb::cast<std::string>(name), nb::cast<std::string>(nb::str(formula)));
  }
  return names;
}

}  // namespace constrained_dynamics::python
