// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/factor_terms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "constrained_dynamics/formula/formula.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::Index;
using Eigen::VectorXd;

std::string quoted(const std::string & name)
{
  return FormulaContext::is_identifier(name) ? name : "`" + name + "`";
}

/// base^exponent with exponent > 0.
std::string power(const FactorTerm & term, double exponent)
{
  const auto fraction = simple_fraction(exponent);
  const bool integer = fraction && fraction->second == 1;
  std::string base = term.text;
  if (!integer && term.signed_base)
  {
    base = base.front() == '(' ? "abs" + base : "abs(" + base + ")";
  }
  if (integer && fraction->first == 1)
  {
    return base;
  }
  if (integer)
  {
    return base + "^" + std::to_string(fraction->first);
  }
  return base + "^" +
         (fraction
            ? "(" + std::to_string(fraction->first) + "/" + std::to_string(fraction->second) + ")"
            : decimal(exponent));
}

}  // namespace

std::vector<FactorTerm> factor_terms(
  const std::vector<std::string> & names, const std::vector<Index> & active)
{
  std::vector<FactorTerm> result;
  const auto add = [&](
                     std::string text, bool logarithm, bool signed_base, double cost,
                     std::function<void(const VectorXd &, VectorXd &)> gradient) {
    result.push_back({std::move(text), logarithm, signed_base, cost, std::move(gradient)});
  };
  const auto name = [&](Index i) { return quoted(names[static_cast<std::size_t>(i)]); };
  for (const Index i : active)
  {
    add(name(i), true, true, 0.0, [i](const VectorXd & x, VectorXd & g) { g(i) += 1.0 / x(i); });
  }
  for (const Index i : active)
  {
    const std::string n = name(i);
    add(n, false, true, 1.0, [i](const VectorXd &, VectorXd & g) { g(i) += 1.0; });
    add(
      "sin(" + n + ")", true, true, 2.0,
      [i](const VectorXd & x, VectorXd & g) { g(i) += 1.0 / std::tan(x(i)); });
    add(
      "cos(" + n + ")", true, true, 2.0,
      [i](const VectorXd & x, VectorXd & g) { g(i) -= std::tan(x(i)); });
    add(n + "^2", false, false, 3.0, [i](const VectorXd & x, VectorXd & g) { g(i) += 2.0 * x(i); });
    for (const double sign : {1.0, -1.0})
    {
      add(
        std::string("(1 ") + (sign > 0.0 ? "+ " : "- ") + n + ")", true, true, 4.0,
        [i, sign](const VectorXd & x, VectorXd & g) { g(i) += sign / (1.0 + sign * x(i)); });
      add(
        std::string("(1 ") + (sign > 0.0 ? "+ " : "- ") + n + "^2)", true, sign < 0.0, 4.0,
        [i, sign](const VectorXd & x, VectorXd & g)
        { g(i) += 2.0 * sign * x(i) / (1.0 + sign * x(i) * x(i)); });
    }
  }
  for (std::size_t k = 0; k < active.size(); ++k)
  {
    for (std::size_t l = k + 1; l < active.size(); ++l)
    {
      const Index i = active[k];
      const Index j = active[l];
      add(
        "(" + name(i) + "^2 + " + name(j) + "^2)", true, false, 2.0,
        [i, j](const VectorXd & x, VectorXd & g)
        {
          const double r2 = x(i) * x(i) + x(j) * x(j);
          g(i) += 2.0 * x(i) / r2;
          g(j) += 2.0 * x(j) / r2;
        });
      for (const double sign : {1.0, -1.0})
      {
        add(
          "(" + name(i) + (sign > 0.0 ? " + " : " - ") + name(j) + ")", true, true, 3.0,
          [i, j, sign](const VectorXd & x, VectorXd & g)
          {
            const double sum = x(i) + sign * x(j);
            g(i) += 1.0 / sum;
            g(j) += sign / sum;
          });
      }
      add(
        name(i) + "*" + name(j), false, true, 4.0,
        [i, j](const VectorXd & x, VectorXd & g)
        {
          g(i) += x(j);
          g(j) += x(i);
        });
    }
  }
  return result;
}

std::optional<std::pair<int, int>> simple_fraction(double value)
{
  for (int denominator = 1; denominator <= 6; ++denominator)
  {
    const double numerator = std::round(value * denominator);
    if (
      std::abs(numerator) <= 60.0 && numerator != 0.0 &&
      std::abs(value - numerator / denominator) <= 1e-4 * std::max(0.1, std::abs(value)))
    {
      return std::make_pair(static_cast<int>(numerator), denominator);
    }
  }
  return std::nullopt;
}

std::string decimal(double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

std::string text_of(const std::vector<FactorTerm> & terms, const FactorCandidate & candidate)
{
  std::vector<std::string> above;
  std::vector<std::string> below;
  std::string exponent;
  for (std::size_t i = 0; i < candidate.terms.size(); ++i)
  {
    const FactorTerm & term = terms[static_cast<std::size_t>(candidate.terms[i])];
    const double c = candidate.exponents(static_cast<Index>(i));
    if (term.logarithm)
    {
      (c > 0.0 ? above : below).push_back(power(term, std::abs(c)));
      continue;
    }
    const double size = std::abs(c);
    const auto fraction = simple_fraction(size);
    std::string product = term.text;
    if (fraction && fraction->first != 1)
    {
      product = std::to_string(fraction->first) + "*" + product;
    }
    if (fraction && fraction->second != 1)
    {
      product += "/" + std::to_string(fraction->second);
    }
    if (!fraction)
    {
      product = decimal(size) + "*" + product;
    }
    exponent += exponent.empty() ? (c < 0.0 ? "-" : "") : (c < 0.0 ? " - " : " + ");
    exponent += product;
  }
  if (!exponent.empty())
  {
    above.push_back("exp(" + exponent + ")");
  }
  const auto join = [](const std::vector<std::string> & factors)
  {
    std::string result;
    for (const std::string & factor : factors)
    {
      result += (result.empty() ? "" : "*") + factor;
    }
    return result;
  };
  std::string result = above.empty() ? "1" : join(above);
  if (!below.empty())
  {
    result += "/" + (below.size() == 1 ? below.front() : "(" + join(below) + ")");
  }
  return result;
}

}  // namespace constrained_dynamics
