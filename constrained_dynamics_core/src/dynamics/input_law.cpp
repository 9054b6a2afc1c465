// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/input_law.hpp"

namespace constrained_dynamics
{

InputLaw::~InputLaw() = default;

void InputLaw::start(const State & /*state*/) {}

void InputLaw::begin_step(double /*time*/) noexcept CD_NONBLOCKING {}

void InputLaw::observe(const Workspace & /*workspace*/) noexcept CD_NONBLOCKING {}

}  // namespace constrained_dynamics
