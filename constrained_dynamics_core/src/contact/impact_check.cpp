// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Checks the preconditions of ImpactSolver::solve.
#include <cmath>

#include "checked_values.hpp"
#include "contact/impact_data.hpp"

namespace constrained_dynamics
{

namespace
{

void check_friction(const ConstraintSet & set, const ImpactContact & contact)
{
  const std::string & name = set[contact.constraint].name();
  if (!(contact.friction >= 0.0 && std::isfinite(contact.friction)))
  {
    throw_invalid(
      "impact", "friction of '", name, "' is ", contact.friction,
      "; allowed: finite and not negative");
  }
  if (contact.friction_constraint < 0)
  {
    return;
  }
  if (contact.friction_constraint >= set.size())
  {
    throw_invalid(
      "impact", "friction of '", name, "' names constraint ", contact.friction_constraint,
      "; allowed: 0 to ", set.size() - 1);
  }
  const Constraint & slip = set[contact.friction_constraint];
  bool fits = slip.row_count() <= 2;
  for (const RowDescription & row : slip.rows())
  {
    fits = fits && row.level == RowLevel::kVelocity;
  }
  if (!fits)
  {
    throw_invalid(
      "impact", "friction constraint '", slip.name(),
      "' does not consist of one or two velocity rows");
  }
}

void check_contact(const ConstraintSet & set, const ImpactContact & contact)
{
  if (contact.constraint < 0 || contact.constraint >= set.size())
  {
    throw_invalid(
      "impact", "a contact names constraint ", contact.constraint, "; allowed: 0 to ",
      set.size() - 1);
  }
  const Constraint & normal = set[contact.constraint];
  if (normal.row_count() != 1)
  {
    throw_invalid(
      "impact", "unilateral constraint '", normal.name(), "' has ", normal.row_count(),
      " rows; allowed: 1");
  }
  if (contact.side != 1.0 && contact.side != -1.0)
  {
    throw_invalid(
      "impact", "side of '", normal.name(), "' is ", contact.side, "; allowed: 1 and -1");
  }
  check_friction(set, contact);
}

}  // namespace

void ImpactSolver::check(const ImpactProblem & problem) const
{
  const ConstraintSet & set = impl_->dynamics->constraints();
  const int speeds = impl_->dynamics->system().speed_count();
  if (
    problem.roles.size() != static_cast<std::size_t>(set.size()) ||
    problem.restitution.size() != set.size() || problem.impulse.size() != speeds)
  {
    throw_invalid(
      "impact", "roles, restitution and impulse have ", problem.roles.size(), ", ",
      problem.restitution.size(), " and ", problem.impulse.size(),
      " elements; allowed: ", set.size(), ", ", set.size(), " and ", speeds);
  }
  if (problem.contacts.size() > impl_->modes.size())
  {
    throw_invalid(
      "impact", problem.contacts.size(), " contacts; allowed: at most ", impl_->modes.size());
  }
  for (int i = 0; i < set.size(); ++i)
  {
    const double e = problem.restitution(i);
    if (!(e >= 0.0 && e <= 1.0))
    {
      throw_invalid("impact", "restitution of '", set[i].name(), "' is ", e, "; allowed: 0 to 1");
    }
  }
  std::vector<bool> is_contact(static_cast<std::size_t>(set.size()), false);
  for (const ImpactContact & contact : problem.contacts)
  {
    check_contact(set, contact);
    is_contact[static_cast<std::size_t>(contact.constraint)] = true;
  }
  for (int i = 0; i < set.size(); ++i)
  {
    const auto k = static_cast<std::size_t>(i);
    if (problem.roles[k] == ImpactRole::kUnilateral && !is_contact[k])
    {
      throw_invalid(
        "impact", "constraint '", set[i].name(), "' is unilateral but no contact names it");
    }
  }
}

}  // namespace constrained_dynamics
