// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/integrating_factor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Cholesky>

#include "analysis/factor_terms.hpp"
#include "dense_decompositions.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A form with more coordinates is not searched: it would take long, and what is found would hardly
/// be simple.
constexpr int kMostActive = 10;
/// Largest number of combinations tried for one number of factors.
constexpr double kMostCombinations = 4e5;

/// The coordinates that a form, or its coefficients, contain.
std::vector<Index> active_coordinates(const std::vector<FactorSample> & samples)
{
  const Index count = samples.front().x.size();
  std::vector<bool> seen(static_cast<std::size_t>(count), false);
  for (const FactorSample & at : samples)
  {
    const MatrixXd inverse = detail::pseudo_inverse(at.frame);
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

/// The linear equations B c = y of d(ln μ) ∧ ω + dω = 0, scaled; one row per pair of frame
/// directions.
struct Equations
{
  MatrixXd b;
  VectorXd y;
};

Equations equations(
  const std::vector<FactorTerm> & terms, const std::vector<FactorSample> & samples)
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

class Search
{
public:
  Search(
    std::vector<FactorTerm> terms, const std::vector<FactorSample> & samples,
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

  std::optional<FactorCandidate> best(int count)
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

  // Preselects by small normal equations. They lose half of the digits, which is good enough here.
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
    FactorCandidate candidate;
    candidate.terms = chosen;
    candidate.exponents = qr.solve(fit_.y);
    VectorXd rounded = candidate.exponents;
    double rounding_cost = 0.0;
    for (Index i = 0; i < n; ++i)
    {
      const auto fraction = simple_fraction(rounded(i));
      rounded(i) = fraction ? static_cast<double>(fraction->first) / fraction->second
                            : std::stod(decimal(rounded(i)));
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

  std::vector<FactorTerm> terms_;
  Equations fit_;
  Equations check_;
  double tolerance_;
  std::vector<Index> useful_;
  MatrixXd gram_;
  VectorXd moment_;
  double square_ = 0.0;
  std::optional<FactorCandidate> best_;
};

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
  const std::vector<FactorTerm> terms = factor_terms(names, active);
  Search search(terms, samples, fresh, tolerance);
  for (int count = 1; count <= 3; ++count)
  {
    if (const std::optional<FactorCandidate> found = search.best(count))
    {
      return text_of(terms, *found);
    }
  }
  return std::nullopt;
}

}  // namespace constrained_dynamics
