// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/integrating_factor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "constrained_dynamics/formula/formula.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// More coordinates than this in one form: the search would be long and its finds hardly simple.
constexpr int kMostActive = 10;
/// Largest number of combinations tried for one number of factors.
constexpr double kMostCombinations = 4e5;

/// One function f of the library; μ = Π exp(c f). Where f = ln|base| the factor is base^c.
struct Term
{
  std::string text;  // of the base, or of f
  bool logarithm;    // f = ln|text|, otherwise f = text
  bool signed_base;  // the base may be negative
  double cost;       // preference among equals
  std::function<void(const VectorXd & x, VectorXd & gradient)> gradient;  // adds; of f
};

std::string quoted(const std::string & name)
{
  return FormulaContext::is_identifier(name) ? name : "`" + name + "`";
}

std::vector<Term> library(const std::vector<std::string> & names, const std::vector<Index> & active)
{
  std::vector<Term> result;
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

/// The coordinates that a form, or its coefficients, contain.
std::vector<Index> active_coordinates(const std::vector<FactorSample> & samples)
{
  const Index count = samples.front().x.size();
  std::vector<bool> seen(static_cast<std::size_t>(count), false);
  for (const FactorSample & at : samples)
  {
    const MatrixXd inverse = at.frame.completeOrthogonalDecomposition().pseudoInverse();
    const VectorXd form = inverse.transpose() * at.form;
    const MatrixXd exterior = inverse.transpose() * at.exterior * inverse;
    for (Index i = 0; i < count; ++i)
    {
      if (
        std::abs(form(i)) > 1e-8 * form.norm() ||
        exterior.row(i).norm() > 1e-8 * (exterior.norm() + at.scale))
      {
        seen[static_cast<std::size_t>(i)] = true;
      }
    }
  }
  std::vector<Index> result;
  for (Index i = 0; i < count; ++i)
  {
    if (seen[static_cast<std::size_t>(i)])
    {
      result.push_back(i);
    }
  }
  return result;
}

/// The linear equations B c = y of d(ln μ) ∧ ω + dω = 0, scaled; one row a pair of frame
/// directions.
struct Equations
{
  MatrixXd b;
  VectorXd y;
};

Equations equations(const std::vector<Term> & terms, const std::vector<FactorSample> & samples)
{
  const Index frame = samples.front().form.size();
  const Index pairs = frame * (frame - 1) / 2;
  Equations result;
  result.b.setZero(pairs * static_cast<Index>(samples.size()), static_cast<Index>(terms.size()));
  result.y.setZero(result.b.rows());
  for (std::size_t s = 0; s < samples.size(); ++s)
  {
    const FactorSample & at = samples[s];
    const Index first = pairs * static_cast<Index>(s);
    for (Index k = -1; k < result.b.cols(); ++k)
    {
      VectorXd along = VectorXd::Zero(frame);
      if (k >= 0)
      {
        VectorXd gradient = VectorXd::Zero(at.x.size());
        terms[static_cast<std::size_t>(k)].gradient(at.x, gradient);
        along = at.frame.transpose() * gradient;
      }
      Index row = first;
      for (Index i = 0; i < frame; ++i)
      {
        for (Index j = 0; j < i; ++j, ++row)
        {
          if (k < 0)
          {
            result.y(row) = -at.exterior(i, j) / at.scale;
          }
          else
          {
            result.b(row, k) = (along(i) * at.form(j) - along(j) * at.form(i)) / at.scale;
          }
        }
      }
    }
  }
  return result;
}

/// The nearest fraction with a small denominator, if it is near enough.
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

/// A number without superfluous digits.
std::string number(double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

struct Candidate
{
  std::vector<Index> terms;
  VectorXd exponents;
  double cost = 0.0;
};

class Search
{
public:
  Search(
    std::vector<Term> terms, const std::vector<FactorSample> & samples,
    const std::vector<FactorSample> & fresh, double tolerance)
  : terms_(std::move(terms)),
    fit_(equations(terms_, samples)),
    check_(equations(terms_, fresh)),
    tolerance_(tolerance)
  {
    for (Index k = 0; k < fit_.b.cols(); ++k)
    {
      const bool finite = fit_.b.col(k).allFinite() && check_.b.col(k).allFinite();
      if (finite && fit_.b.col(k).norm() > 1e-10 * static_cast<double>(fit_.b.rows()))
      {
        useful_.push_back(k);
      }
      else
      {
        fit_.b.col(k).setZero();
        check_.b.col(k).setZero();
      }
    }
    gram_ = fit_.b.transpose() * fit_.b;
    moment_ = fit_.b.transpose() * fit_.y;
    square_ = fit_.y.squaredNorm();
  }

  std::optional<Candidate> best(int count)
  {
    best_.reset();
    const double n = static_cast<double>(useful_.size());
    const double combinations =
      count == 1 ? n : (count == 2 ? n * (n - 1.0) / 2.0 : n * (n - 1.0) * (n - 2.0) / 6.0);
    if (combinations <= kMostCombinations)
    {
      std::vector<Index> chosen;
      choose(0, count, chosen);
    }
    return best_;
  }

private:
  void choose(std::size_t first, int left, std::vector<Index> & chosen)
  {
    if (left == 0)
    {
      consider(chosen);
      return;
    }
    for (std::size_t i = first; i < useful_.size(); ++i)
    {
      chosen.push_back(useful_[i]);
      choose(i + 1, left - 1, chosen);
      chosen.pop_back();
    }
  }

  // The normal equations of small order sort out; they lose half of the digits, which is enough.
  bool promising(const std::vector<Index> & chosen) const
  {
    Eigen::Matrix3d gram = Eigen::Matrix3d::Identity();  // what is not chosen gets exponent 0
    Eigen::Vector3d moment = Eigen::Vector3d::Zero();
    const Index n = static_cast<Index>(chosen.size());
    for (Index i = 0; i < n; ++i)
    {
      const Index row = chosen[static_cast<std::size_t>(i)];
      moment(i) = moment_(row);
      for (Index j = 0; j < n; ++j)
      {
        gram(i, j) = gram_(row, chosen[static_cast<std::size_t>(j)]);
      }
    }
    const Eigen::LDLT<Eigen::Matrix3d> ldlt(gram);
    if (ldlt.info() != Eigen::Success)
    {
      return false;
    }
    const Eigen::Vector3d c = ldlt.solve(moment);
    return c.allFinite() && std::abs(square_ - c.dot(moment)) <= 1e-6 * square_;
  }

  void consider(const std::vector<Index> & chosen)
  {
    if (!promising(chosen))
    {
      return;
    }
    const Index n = static_cast<Index>(chosen.size());
    MatrixXd b(fit_.b.rows(), n);
    MatrixXd b_check(check_.b.rows(), n);
    for (Index i = 0; i < n; ++i)
    {
      b.col(i) = fit_.b.col(chosen[static_cast<std::size_t>(i)]);
      b_check.col(i) = check_.b.col(chosen[static_cast<std::size_t>(i)]);
    }
    Eigen::ColPivHouseholderQR<MatrixXd> qr(b);
    qr.setThreshold(1e-7);
    if (qr.rank() < n)
    {
      return;
    }
    Candidate candidate;
    candidate.terms = chosen;
    candidate.exponents = qr.solve(fit_.y);
    VectorXd rounded = candidate.exponents;
    double rounding_cost = 0.0;
    for (Index i = 0; i < n; ++i)
    {
      const auto fraction = simple_fraction(rounded(i));
      rounded(i) = fraction ? static_cast<double>(fraction->first) / fraction->second
                            : std::stod(number(rounded(i)));
      rounding_cost += fraction ? 2.0 * (fraction->second - 1) : 20.0;
      candidate.cost += terms_[static_cast<std::size_t>(chosen[static_cast<std::size_t>(i)])].cost +
                        0.1 * std::abs(rounded(i));
    }
    const auto holds = [&](const VectorXd & c)
    {
      return (b * c - fit_.y).cwiseAbs().maxCoeff() <= tolerance_ &&
             (b_check * c - check_.y).cwiseAbs().maxCoeff() <= tolerance_;
    };
    if (holds(rounded))
    {
      candidate.exponents = rounded;
      candidate.cost += rounding_cost;
    }
    else if (holds(candidate.exponents))
    {
      candidate.cost += 20.0 * static_cast<double>(n);
    }
    else
    {
      return;
    }
    if (!best_ || candidate.cost < best_->cost)
    {
      best_ = std::move(candidate);
    }
  }

  std::vector<Term> terms_;
  Equations fit_;
  Equations check_;
  double tolerance_;
  std::vector<Index> useful_;
  MatrixXd gram_;
  VectorXd moment_;
  double square_ = 0.0;
  std::optional<Candidate> best_;
};

/// base^exponent with exponent > 0.
std::string power(const Term & term, double exponent)
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
            : number(exponent));
}

std::string text_of(const std::vector<Term> & terms, const Candidate & candidate)
{
  std::vector<std::string> above;
  std::vector<std::string> below;
  std::string exponent;
  for (std::size_t i = 0; i < candidate.terms.size(); ++i)
  {
    const Term & term = terms[static_cast<std::size_t>(candidate.terms[i])];
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
      product = number(size) + "*" + product;
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

}  // namespace

std::optional<std::string> find_integrating_factor(
  const std::vector<std::string> & names, const std::vector<FactorSample> & samples,
  const std::vector<FactorSample> & fresh, double tolerance)
{
  if (samples.empty() || fresh.empty())
  {
    return std::nullopt;
  }
  const std::vector<Index> active = active_coordinates(samples);
  if (static_cast<int>(active.size()) > kMostActive)
  {
    return std::nullopt;
  }
  const std::vector<Term> terms = library(names, active);
  Search search(terms, samples, fresh, tolerance);
  for (int count = 1; count <= 3; ++count)
  {
    if (const std::optional<Candidate> found = search.best(count))
    {
      return text_of(terms, *found);
    }
  }
  return std::nullopt;
}

}  // namespace constrained_dynamics
