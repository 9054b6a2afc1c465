// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>

#include "contact/contact_view.hpp"

/// @file
/// Whether modes agree with the motion that was solved with them. Real-time safe: yes.

namespace constrained_dynamics
{

enum class Holding : std::uint8_t
{
  kYes,
  kIfShared,  ///< perhaps with other shares of redundant loads, see ConeModes::holds
  kNo,
};

/// Whether no closed contact pulls and no friction that sticks exceeds its bound.
Holding forces_hold(const ContactView & view) noexcept;

/// Whether slips that begin are accelerated along their directions.
bool slips_follow(const ContactView & view) noexcept;

}  // namespace constrained_dynamics
