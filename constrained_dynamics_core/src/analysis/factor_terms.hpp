// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

// The simple functions that integrating factors are made of, and their text.

namespace constrained_dynamics
{

/// One function f of the library; μ = Π exp(c f). Where f = ln|base| the factor is base^c.
struct FactorTerm
{
  std::string text;  // of the base, or of f
  bool logarithm;    // f = ln|text|, otherwise f = text
  bool signed_base;  // the base may be negative
  double cost;       // preference among equals
  /// Adds the gradient of f.
  std::function<void(const Eigen::VectorXd & x, Eigen::VectorXd & gradient)> gradient;
};

/// The functions of the coordinates whose indices are given.
std::vector<FactorTerm> factor_terms(
  const std::vector<std::string> & names, const std::vector<Eigen::Index> & active);

/// A product of terms with their exponents.
struct FactorCandidate
{
  std::vector<Eigen::Index> terms;
  Eigen::VectorXd exponents;
  double cost = 0.0;
};

/// The nearest fraction with a small denominator, if it is near enough.
std::optional<std::pair<int, int>> simple_fraction(double value);

/// A number without superfluous digits.
std::string decimal(double value);

/// The formula of a product.
std::string text_of(const std::vector<FactorTerm> & terms, const FactorCandidate & candidate);

}  // namespace constrained_dynamics
