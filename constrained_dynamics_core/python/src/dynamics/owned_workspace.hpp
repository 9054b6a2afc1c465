// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <stdexcept>

#include "constrained_dynamics/dynamics/dynamics.hpp"

namespace constrained_dynamics::python
{

/// A Workspace that knows its owner, so that Python cannot mix them up.
struct OwnedWorkspace
{
  /// Not analysed yet.
  explicit OwnedWorkspace(const Dynamics & dynamics)
  : owner(&dynamics), workspace(Workspace::unanalysed(dynamics))
  {
  }
  OwnedWorkspace(const Dynamics & dynamics, const State & state)
  : owner(&dynamics), workspace(dynamics, state)
  {
  }

  /// @throw std::invalid_argument for the workspace of another Dynamics.
  Workspace & of(const Dynamics & dynamics)
  {
    if (owner != &dynamics)
    {
      throw std::invalid_argument("the workspace was made for another Dynamics");
    }
    return workspace;
  }

  const Dynamics * owner;  // kept alive by Python
  Workspace workspace;
};

}  // namespace constrained_dynamics::python
