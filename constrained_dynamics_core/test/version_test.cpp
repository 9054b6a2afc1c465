// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/version.hpp"

#include <gmock/gmock.h>

using constrained_dynamics::version;

TEST(Version, when_asked_expect_three_numbers)
{
  EXPECT_THAT(version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}
