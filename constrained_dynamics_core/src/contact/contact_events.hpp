// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "contact/contact_view.hpp"

/// @file
/// When modes end: one event function for each contact, then one for each friction; below 0 the
/// mode has ended. All need the solution at the state. Real-time safe: yes.

namespace constrained_dynamics
{

inline int event_count(const ContactModel & model) noexcept
{
  return model.contact_count() + model.friction_count();
}

/// Event function i.
double event_function(const ContactView & view, int i) noexcept;

/// Whether function i is about a load that other rows share, see ContactView.
bool shares_load(const ContactView & view, int i) noexcept;

/// Round-off that event function i may contain.
double event_tolerance(const ContactView & view, int i) noexcept;

/// Marks the modes that have ended at the state and fills the values of all functions. Returns
/// whether any has ended.
bool mark_ended(
  const ContactView & view, std::vector<char> & ended, std::vector<double> & values) noexcept;

}  // namespace constrained_dynamics
