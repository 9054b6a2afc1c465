// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <new>

namespace constrained_dynamics::detail
{

/// Makes `count` scalars of type S in the doubles at `memory`.
template <class S>
S * scalars_at(double * memory, int count) noexcept
{
  constexpr int kDoubles = static_cast<int>(sizeof(S) / sizeof(double));
  for (int i = 0; i < count; ++i)
  {
    ::new (static_cast<void *>(memory + kDoubles * i)) S();
  }
  return std::launder(reinterpret_cast<S *>(memory));
}

}  // namespace constrained_dynamics::detail
