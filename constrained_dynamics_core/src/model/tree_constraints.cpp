// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Constraints that robot descriptions state, as types with keys.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/robot_tree.hpp"

namespace constrained_dynamics
{
namespace
{

/// The sum of two linear forms; terms that cancel are left out.
NamedNumbers sum(NamedNumbers a, const NamedNumbers & b, double factor)
{
  for (const auto & [name, value] : b)
  {
    const auto same = std::find_if(
      a.begin(), a.end(), [&name = name](const auto & term) { return term.first == name; });
    if (same == a.end())
    {
      a.emplace_back(name, factor * value);
    }
    else
    {
      same->second += factor * value;
    }
  }
  a.erase(
    std::remove_if(a.begin(), a.end(), [](const auto & term) { return term.second == 0.0; }),
    a.end());
  return a;
}

NamedNumbers with_prefix(const std::string & prefix, NamedNumbers terms)
{
  for (auto & term : terms)
  {
    term.first = prefix + term.first;
  }
  return terms;
}

bool is_linear(const std::vector<double> & polynomial)
{
  return polynomial.size() <= 2 ||
         std::all_of(polynomial.begin() + 2, polynomial.end(), [](double c) { return c == 0.0; });
}

}  // namespace

std::vector<Eigen::Isometry3d> drawn_poses(const RobotTree & tree)
{
  std::vector<Eigen::Isometry3d> poses;
  for (const TreeNode & node : tree.nodes)
  {
    Eigen::Isometry3d X = node.placement;
    if (node.parent >= 0)
    {
      X = poses[static_cast<std::size_t>(node.parent)] * X;
    }
    poses.push_back(
      X *
      (is_simple(node.kind) ? simple_motion(node.kind, node.axis, node.reference) : node.neutral));
  }
  return poses;
}

FileConstraint file_constraint(
  const std::string & who, const std::string & prefix, const TreeConstraint & constraint)
{
  FileConstraint result;
  result.name = prefix + constraint.name;
  result.active = constraint.active;
  result.source = who + ": " + constraint.source;
  if (!constraint.frame_a.empty())
  {
    result.type = constraint.type.empty() ? "frame_coincidence" : constraint.type;
    result.keys = {
      {"frame_a", prefix + constraint.frame_a}, {"frame_b", prefix + constraint.frame_b}};
    if (constraint.type.empty())
    {
      result.keys.emplace_back("rows", constraint.rows);
    }
    result.keys.insert(result.keys.end(), constraint.keys.begin(), constraint.keys.end());
    return result;
  }
  std::vector<double> c = constraint.polynomial;
  c.resize(kPolynomialSize, 0.0);
  const bool linear = is_linear(c);
  NamedNumbers terms = sum({}, with_prefix(prefix, constraint.terms), 1.0);
  const NamedNumbers of = sum({}, with_prefix(prefix, constraint.of), 1.0);
  if (linear)
  {
    terms = sum(std::move(terms), of, -c[1]);
  }
  if (
    terms.empty() || (!linear && of.empty()) ||
    !std::all_of(c.begin(), c.end(), [](double x) { return std::isfinite(x); }))
  {
    throw std::invalid_argument(
      result.source + ": no joint is left in it, or its numbers are not finite");
  }
  result.keys = {{"terms", terms}};
  if (linear)
  {
    result.type = "joint_coupling";
    result.keys.emplace_back("offset", c[0]);
    return result;
  }
  result.type = "polynomial_coupling";
  result.keys.emplace_back("of", of);
  const char * const powers[kPolynomialSize] = {
    "constant", "linear", "quadratic", "cubic", "quartic"};
  for (std::size_t k = 0; k < kPolynomialSize; ++k)
  {
    result.keys.emplace_back(powers[k], c[k]);
  }
  return result;
}

}  // namespace constrained_dynamics
