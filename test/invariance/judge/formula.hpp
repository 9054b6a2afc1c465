// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "algebra.hpp"

namespace invariance
{

/// A feature that the judge does not support; the message names it.
struct Unsupported : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

/// A formula as a tree.
struct Expression
{
  enum class Kind
  {
    kNumber,
    kName,  ///< parameter, definition or variable; `px(f)` is a variable of that name
    kCall,  ///< operators are calls of + - * / ^ and "negate"
  };
  Kind kind = Kind::kNumber;
  Real number = 0;
  std::string name;
  std::vector<Expression> arguments;
};

/// @throw std::invalid_argument with the text and the place where it cannot be read.
Expression parse_formula(const std::string & text);

/// What formulas may use besides variables.
struct Names
{
  std::map<std::string, Real> parameters;
  std::map<std::string, Expression> definitions;
};

/// A formula over parameters and definitions of parameters alone.
/// @throw Unsupported for anything else.
Real number_of(const std::string & text, const Names & names);

/// Names of the variables that a formula needs, through the definitions, each once.
std::vector<std::string> variables_of(const Expression & formula, const Names & names);

/// A value with its first and second derivatives. Each has a size: the value that it could have,
/// with absolute values in every sum and every variable as large as its own size.
struct Jet
{
  Real value = 0;
  Real size = 0;
  Vector gradient;
  Vector gradient_size;
  Matrix hessian;
  Matrix hessian_size;
};

/// A variable of a formula.
struct Argument
{
  Real value = 0;
  Real size = 0;
};

/// Evaluates a formula whose variables are `variables`, in that order.
Jet evaluate(
  const Expression & formula, const Names & names, const std::vector<std::string> & variables,
  const std::vector<Argument> & arguments);

}  // namespace invariance
