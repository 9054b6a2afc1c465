// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace invariance
{

namespace
{

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kExact = 1e3 * kEpsilon;  // a direction below says nothing
constexpr double kSingular = 1e-8;         // the singular tolerance of the scenarios
// The size of a row is the largest over samples of the manifold, and samples differ: directions
// within this factor of a limit may be seen on either side of it.
constexpr double kMargin = 4.0;
// Relative contradictions above `consistency_tolerance` (1e-6) must be told.
constexpr double kContradiction = 1e-5;
constexpr double kNoContradiction = 1e-9;

// Data change by 1e-13, rounding by some 1e-16 a step: what differs by more than this many times as
// much is another result.
constexpr double kTolerated = 100.0;
// Where nothing is sensitive: rounding of the largest value itself.
constexpr double kRounding = 1e-12;

double largest(const Eigen::VectorXd & v) { return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0; }

/// Largest difference of the values with the same name.
double distance(const Named & a, const Named & b)
{
  double result = 0.0;
  for (std::size_t i = 0; i < a.names.size(); ++i)
  {
    const int k = b.index(a.names[i]);
    const double gap = k < 0 ? std::numeric_limits<double>::infinity()
                             : std::abs(a.values(static_cast<Eigen::Index>(i)) - b.values(k));
    result = gap <= result ? result : gap;  // NaN is a difference
  }
  return result;
}

/// Of independent rows that both have.
double multiplier_distance(const Result & a, const Result & b)
{
  double result = 0.0;
  for (std::size_t i = 0; i < a.multipliers.names.size(); ++i)
  {
    const std::string & row = a.multipliers.names[i];
    const auto depends = [&](const Result & r)
    {
      return std::find(r.dependent_rows.begin(), r.dependent_rows.end(), row) !=
             r.dependent_rows.end();
    };
    const int k = b.multipliers.index(row);
    if (k < 0 || depends(a) || depends(b))
    {
      continue;
    }
    const double gap =
      std::abs(a.multipliers.values(static_cast<Eigen::Index>(i)) - b.multipliers.values(k));
    result = gap <= result ? result : gap;
  }
  return result;
}

/// Of constraints none of whose rows depends on others.
double wrench_distance(const Result & a, const Result & b)
{
  double result = 0.0;
  for (const ConstraintWrench & x : a.wrenches)
  {
    const auto depends = [&](const Result & r)
    {
      return std::any_of(
        r.dependent_rows.begin(), r.dependent_rows.end(),
        [&](const std::string & row)
        { return row.compare(0, x.constraint.size() + 1, x.constraint + "/") == 0; });
    };
    if (depends(a) || depends(b))
    {
      continue;
    }
    for (const ConstraintWrench & y : b.wrenches)
    {
      if (y.constraint == x.constraint)
      {
        const double gap = std::max(
          (x.force - y.force).cwiseAbs().maxCoeff(), (x.torque - y.torque).cwiseAbs().maxCoeff());
        result = gap <= result ? result : gap;
      }
    }
  }
  return result;
}

double largest_wrench(const Result & r)
{
  double result = 0.0;
  for (const ConstraintWrench & wrench : r.wrenches)
  {
    result =
      std::max({result, wrench.force.cwiseAbs().maxCoeff(), wrench.torque.cwiseAbs().maxCoeff()});
  }
  return result;
}

std::string number(double value)
{
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", value);
  return buffer;
}

}  // namespace

Sensitivity difference(const Result & a, const Result & b)
{
  Sensitivity result;
  result.decided = a.ok() && b.ok() && a.rank == b.rank;
  result.acceleration = distance(a.udot, b.udot);
  result.force = distance(a.force, b.force);
  result.multiplier = multiplier_distance(a, b);
  result.wrench = wrench_distance(a, b);
  result.power = std::abs(a.power() - b.power());
  result.input = distance(a.inputs, b.inputs);
  return result;
}

Finding by_judge(const Result & result, const Verdict & verdict)
{
  const auto above = [&](double limit)
  {
    return static_cast<int>(std::count_if(
      verdict.singular_values.begin(), verdict.singular_values.end(),
      [&](double value) { return value > limit; }));
  };
  const int least = above(kMargin * kExact);
  const int most = above(kExact / kMargin);
  const bool between = above(kMargin * kExact) > above(kSingular / kMargin);
  // In a singular position both the status singular and ok are correct.
  const bool clear =
    most == above(kMargin * kSingular) && verdict.rank_nominal == verdict.rank_regular;
  Finding finding;
  finding.judged = true;
  const auto wrong = [&](const std::string & reason)
  {
    finding.outcome = Outcome::kWrongOk;
    finding.reason = reason;
    return finding;
  };
  std::ostringstream ranks;
  ranks << "rank " << result.rank << ", exact " << verdict.rank_exact << ", regular "
        << verdict.rank_regular;
  if (!result.ok())
  {
    finding.outcome =
      clear && verdict.inconsistency < kNoContradiction ? Outcome::kNeedless : Outcome::kRefused;
    finding.reason = "status " + result.status + ", " + ranks.str() + ", inconsistency " +
                     number(verdict.inconsistency);
    return finding;
  }
  if (between)
  {
    return wrong("ok with directions between 1e3 ε and the singular tolerance: " + ranks.str());
  }
  if (result.rank < least || result.rank > most)
  {
    return wrong("ok with the wrong rank: " + ranks.str());
  }
  if (verdict.inconsistency > kContradiction)
  {
    return wrong("ok with rows that contradict each other by " + number(verdict.inconsistency));
  }
  if (verdict.inconsistency > kNoContradiction || result.rank != verdict.rank_exact)
  {
    return finding;  // the least squares of contradictions that are tolerated; a limit within the
                     // margin
  }
  // Of a system that cannot move even the speeds are rounding, and its accelerations their square.
  const double nothing = kExact * kEpsilon * (1.0 + largest(result.force.values));
  const auto compare = [&](
                         const char * what, const Named & values, const std::vector<double> & right,
                         const std::vector<double> & tolerance)
  {
    for (std::size_t i = 0; i < right.size(); ++i)
    {
      const double gap = std::abs(values.values(static_cast<Eigen::Index>(i)) - right[i]);
      if (!(gap <= std::max(tolerance[i], nothing)))
      {
        wrong(
          std::string(what) + " of " + values.names[i] + " is " +
          text(values.values(static_cast<Eigen::Index>(i))) + " instead of " + text(right[i]) +
          ", tolerance " + number(tolerance[i]) + ", " + ranks.str());
        return;
      }
    }
  };
  compare("udot", result.udot, verdict.acceleration, verdict.acceleration_tolerance);
  if (finding.outcome == Outcome::kRight)
  {
    compare("F^c", result.force, verdict.constraint_force, verdict.force_tolerance);
  }
  return finding;
}

bool by_contact_laws(const Result & result, const std::string & file, Finding & finding)
{
  if (!result.ok())
  {
    return false;
  }
  const auto to_vector = [](const Named & values) {
    return std::vector<double>(values.values.data(), values.values.data() + values.values.size());
  };
  Answered answered;
  answered.acceleration = to_vector(result.udot);
  for (std::size_t i = 0; i < result.multipliers.names.size(); ++i)
  {
    answered.multipliers[result.multipliers.names[i]] =
      result.multipliers.values(static_cast<Eigen::Index>(i));
  }
  for (const ConstraintWrench & wrench : result.wrenches)
  {
    answered.forces[wrench.constraint] = {wrench.force.x(), wrench.force.y(), wrench.force.z()};
  }
  const ContactVerdict verdict = judge_contacts(
    file, {result.time, to_vector(result.q), to_vector(result.u), to_vector(result.inputs)},
    answered);
  if (!verdict.supported)
  {
    return false;
  }
  finding = Finding();
  finding.judged = true;
  if (!verdict.violated.empty())
  {
    finding.outcome = Outcome::kWrongOk;
    finding.reason = "ok against the laws of contact: " + verdict.violated;
  }
  return true;
}

Finding by_twin(
  const Changed & changed, const Result & result, const Result & twin, const Sensitivity & unit)
{
  Finding finding;
  if (!result.ok())
  {
    const bool expected = changed.expected != Expected::kSame || !twin.ok();
    finding.outcome = expected ? Outcome::kRefused : Outcome::kNeedless;
    finding.reason = "status " + (result.status.empty() ? "none" : result.status) +
                     (result.message.empty() ? "" : " (" + result.message + ")") + ", twin " +
                     twin.status;
    return finding;
  }
  const auto wrong = [&](const std::string & reason)
  {
    finding.outcome = Outcome::kWrongOk;
    finding.reason = reason;
    return finding;
  };
  if (changed.expected == Expected::kNotOk)
  {
    return wrong("ok with rows that contradict each other");
  }
  if (!twin.ok())
  {
    return wrong("ok, and the twin " + twin.status);
  }
  if (changed.expected == Expected::kJudge || !unit.decided)
  {
    return finding;
  }
  if (changed.rank && result.rank != twin.rank)
  {
    return wrong("rank " + std::to_string(result.rank) + ", twin " + std::to_string(twin.rank));
  }
  const Sensitivity gap = difference(twin, result);
  const auto check = [&](const char * what, double found, double per_data, double size)
  {
    const double tolerance = kTolerated * per_data + kRounding * size;
    if (finding.outcome == Outcome::kRight && !(found <= tolerance))
    {
      wrong(
        std::string(what) + " differs from the twin's by " + number(found) + ", tolerance " +
        number(tolerance) + ", largest " + number(size));
    }
  };
  // F^c is what Q u̇ and P leave: where there is none it is the rounding of those.
  const double force = std::max(largest(twin.force.values), largest(twin.udot.values));
  check("udot", gap.acceleration, unit.acceleration, largest(twin.udot.values));
  check("F^c", gap.force, unit.force, force);
  check(
    "power", gap.power, unit.power,
    force * largest(twin.u.values) * static_cast<double>(twin.u.values.size()));
  if (changed.changed.scenario["servo"])
  {
    check("input", gap.input, unit.input, largest(twin.inputs.values));
  }
  if (changed.multipliers)
  {
    check("lambda", gap.multiplier, unit.multiplier, largest(twin.multipliers.values));
  }
  if (changed.wrenches)
  {
    check("wrench", gap.wrench, unit.wrench, largest_wrench(twin));
  }
  return finding;
}

}  // namespace invariance
