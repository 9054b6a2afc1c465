// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <set>
#include <string>

#include "random.hpp"
#include "result.hpp"

namespace invariance
{

/// How many new units make an old one: 1000 for mm, g, ms.
struct Units
{
  double length = 1.0;
  double mass = 1.0;
  double time = 1.0;

  double force() const { return mass * length / (time * time); }
  double torque() const { return force() * length; }
  double inertia() const { return mass * length * length; }
};

Units random_units(Random & random);
std::string text(const Units & units);

/// What is a length, not an angle.
struct Lengths
{
  std::set<std::string> coordinates;
  std::set<std::string> speeds;
};

/// Values in the old units.
void convert_back(Result & result, const Lengths & lengths, const Units & units);

/// Times of a run.
void convert_run(YAML::Node scenario, const Units & units);

}  // namespace invariance
