// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "sources.hpp"

#include "random_mechanism.hpp"

namespace invariance
{

Case draw_case(const Settings &, Random & random)
{
  return random_tree(random);
}

}  // namespace invariance
