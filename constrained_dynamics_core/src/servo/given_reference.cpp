// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/given_reference.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace constrained_dynamics
{

namespace
{

using Names = std::vector<std::string>;

std::string join(const Names & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

Names row_labels(const ServoConstraint & servo)
{
  Names labels;
  for (const RowDescription & row : servo.rows())
  {
    labels.push_back(row.label);
  }
  return labels;
}

/// Where each of some names is among others; empty if one is not there.
std::vector<Eigen::Index> places_of(const Names & some, const Names & all)
{
  std::vector<Eigen::Index> places;
  for (const std::string & name : some)
  {
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end())
    {
      return {};
    }
    places.push_back(found - all.begin());
  }
  return places;
}

/// Copies values that are given in full or by row.
std::string spread(
  const std::string & what, const std::vector<double> & given, const Names & all,
  const Names & rows, Eigen::VectorXd & out)
{
  if (given.empty())
  {
    return "";
  }
  // Labels such as x, y are values of a pose, but rx, ry are none of its quaternion.
  const std::vector<Eigen::Index> places = places_of(rows, all);
  const bool is_full = given.size() == all.size();
  const bool is_by_row = !places.empty() && given.size() == rows.size();
  std::ostringstream text;
  if (!is_full && !is_by_row)
  {
    text << what << " has " << given.size() << " values; allowed: none";
    if (!places.empty() && rows.size() != all.size())
    {
      text << ", " << rows.size() << " by row (" << join(rows) << ")";
    }
    text << " or " << all.size() << " (" << join(all) << ")";
    return text.str();
  }
  for (std::size_t i = 0; i < given.size(); ++i)
  {
    if (!std::isfinite(given[i]))
    {
      text << what << ": '" << (is_full ? all : rows)[i] << "' is " << given[i]
           << "; allowed: finite numbers";
      return text.str();
    }
    out(is_full ? static_cast<Eigen::Index>(i) : places[i]) = given[i];
  }
  return "";
}

}  // namespace

std::string complete_reference(
  const ServoConstraint & servo, const ReferenceBounds * bounds, const GivenReference & given,
  ServoReference & out)
{
  const std::string where = "reference of '" + servo.name() + "': ";
  const Names rows = row_labels(servo);
  out = servo.make_reference();
  std::string what = spread("position", given.position, servo.value_names(), rows, out.position);
  if (what.empty())
  {
    what = spread("velocity", given.velocity, servo.rate_names(), rows, out.velocity);
  }
  if (what.empty())
  {
    what = spread("acceleration", given.acceleration, servo.rate_names(), rows, out.acceleration);
  }
  if (what.empty() && servo.has_pose_reference())
  {
    constexpr double kTolerance = 1e-3;
    const double length = out.position.tail<4>().norm();
    if (!(std::abs(length - 1.0) <= kTolerance))
    {
      std::ostringstream text;
      text << "the quaternion (qx qy qz qw) has the length " << length << "; allowed: 1";
      what = text.str();
    }
  }
  if (what.empty() && bounds)
  {
    // Values that are not given stay as they are.
    const RefusedValue refused = bounds->check(out);
    const bool is_given = refused.kind == RefusedValue::Kind::kRate || !given.position.empty();
    what = is_given ? bounds->explain(refused) : "";
  }
  return what.empty() ? "" : where + what;
}

}  // namespace constrained_dynamics
