// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario_types.hpp"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace constrained_dynamics
{

TEST(ScenarioTypes, when_printed_expect_the_page_of_the_documentation)
{
  std::ifstream file(CD_DOC_DIR "/types.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), types_page()) << "run: cdyn types > doc/types.md";
}

TEST(ScenarioTypes, when_listed_expect_contact_beside_those_of_the_library)
{
  const std::vector<ConstraintDescription> & types = scenario_constraint_types();
  ASSERT_EQ(types.size(), constraint_descriptions().size() + 1);
  EXPECT_EQ(types.back().type, "contact");
  EXPECT_TRUE(types.back().python_name.empty());
}

}  // namespace constrained_dynamics
