// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Bodies of scenarios that no robot description shows.

#include "body_markers.hpp"

#include <string>

#include <gmock/gmock.h>

#include <constrained_dynamics/scenario/scenario.hpp>

namespace constrained_dynamics_ros
{
namespace
{

using constrained_dynamics::Scenario;
using constrained_dynamics::Workspace;
using visualization_msgs::msg::Marker;

const std::string kScenarios = std::string(CD_CONFIG_DIR) + "/scenarios/";

TEST(BodyMarkers, when_a_bicycle_is_drawn_expect_both_wheels_and_a_view_that_stays_with_it)
{
  const Scenario scenario = Scenario::load(kScenarios + "bicycle.yaml");
  const Workspace workspace(*scenario.dynamics(), scenario.initial());
  BodyMarkers bodies(*scenario.dynamics(), "world", 1.0);
  ASSERT_FALSE(bodies.empty());
  const auto & markers =
    bodies.write(builtin_interfaces::msg::Time(), workspace.system_data()).markers;
  ASSERT_EQ(markers.size(), 4U);
  EXPECT_EQ(markers[0].type, Marker::LINE_LIST);
  EXPECT_GE(markers[0].points.size(), 6U);  // three joints
  EXPECT_EQ(markers[1].type, Marker::SPHERE_LIST);
  // Thin wheels of 0.3 and 0.35 m on the ground, their axes lateral.
  for (const auto & [marker, radius] : {std::pair(markers[2], 0.3), std::pair(markers[3], 0.35)})
  {
    EXPECT_EQ(marker.type, Marker::CYLINDER);
    EXPECT_NEAR(marker.scale.x, 2.0 * radius, 1e-12);
    EXPECT_NEAR(marker.pose.position.z, radius, 1e-6);
    const auto & turn = marker.pose.orientation;
    EXPECT_NEAR(std::abs(2.0 * (turn.y * turn.z - turn.x * turn.w)), 1.0, 1e-6);
  }
  EXPECT_GT(bodies.view().transform.translation.x, 0.3);  // between the wheels, 1.02 m apart
  EXPECT_LT(bodies.view().transform.translation.x, 1.0);
}

TEST(BodyMarkers, when_the_robot_is_fixed_expect_the_view_at_the_origin)
{
  const Scenario scenario = Scenario::load(kScenarios + "four_bar.yaml");
  const Workspace workspace(*scenario.dynamics(), scenario.initial());
  BodyMarkers bodies(*scenario.dynamics(), "world", 1.0);
  EXPECT_FALSE(
    bodies.write(builtin_interfaces::msg::Time(), workspace.system_data()).markers.empty());
  EXPECT_EQ(bodies.view().transform.translation.x, 0.0);
}

TEST(BodyMarkers, when_there_are_only_coordinates_expect_nothing)
{
  const Scenario scenario = Scenario::load(kScenarios + "thesis_2_1.yaml");
  EXPECT_TRUE(BodyMarkers(*scenario.dynamics(), "world", 1.0).empty());
}

}  // namespace
}  // namespace constrained_dynamics_ros
