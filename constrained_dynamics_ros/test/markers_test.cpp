// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/markers.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <Eigen/Core>

#include <constrained_dynamics/scenario/scenario.hpp>

#include "support/allocation_counter.hpp"

using constrained_dynamics::ForceDrawing;
using constrained_dynamics::Scenario;
using constrained_dynamics::Simulation;
using constrained_dynamics::Wrench;
using constrained_dynamics::test::allocation_count;
using constrained_dynamics_ros::make_markers;
using constrained_dynamics_ros::MarkerStyle;
using constrained_dynamics_ros::write_markers;
using testing::HasSubstr;
using visualization_msgs::msg::Marker;
using visualization_msgs::msg::MarkerArray;

namespace
{

class Markers : public testing::Test
{
protected:
  Markers()
  : scenario_(Scenario::load(std::string(CD_CONFIG_DIR) + "/scenarios/four_bar.yaml")),
    simulation_(scenario_.make_simulation())
  {
    EXPECT_TRUE(has_output(simulation_->evaluate()));
  }

  MarkerArray draw(const MarkerStyle & style) const
  {
    MarkerArray array = make_markers(simulation_->dynamics(), style);
    ForceDrawing drawing(simulation_->dynamics(), style);
    write(drawing, array);
    return array;
  }
  void write(ForceDrawing & drawing, MarkerArray & array) const
  {
    drawing.update(simulation_->workspace());
    write_markers(rclcpp::Time(3, 4), drawing, array);
  }
  const Wrench & wrench() const { return simulation_->workspace().solution().wrenches[0].on_a; }

  static const Marker & find(const MarkerArray & array, const std::string & name_space, int id = 0)
  {
    for (const Marker & marker : array.markers)
    {
      if (marker.ns == name_space && marker.id == id)
      {
        return marker;
      }
    }
    throw std::runtime_error("no marker " + name_space);
  }
  static Eigen::Vector3d vector(const geometry_msgs::msg::Point & p) { return {p.x, p.y, p.z}; }

  Scenario scenario_;
  std::unique_ptr<Simulation> simulation_;
};

TEST_F(Markers, when_drawn_expect_arrow_from_the_point_along_the_force)
{
  MarkerStyle style;
  style.world_frame = "map";
  style.force_scale = 0.002;
  const MarkerArray array = draw(style);
  const Marker & force = find(array, "force");
  EXPECT_EQ(force.type, Marker::ARROW);
  EXPECT_EQ(force.action, Marker::ADD);
  EXPECT_EQ(force.header.frame_id, "map");
  EXPECT_EQ(force.header.stamp.sec, 3);
  EXPECT_EQ(force.pose.orientation.w, 1.0);
  EXPECT_EQ(force.lifetime.sec, 1);
  EXPECT_EQ(force.scale.x, style.shaft_diameter);
  EXPECT_GT(force.scale.y, force.scale.x);
  EXPECT_FLOAT_EQ(force.color.r, style.force_colour[0]);
  ASSERT_EQ(force.points.size(), 2U);
  EXPECT_EQ(vector(force.points[0]), wrench().point);
  const Eigen::Vector3d arrow = vector(force.points[1]) - vector(force.points[0]);
  EXPECT_TRUE(arrow.isApprox(0.002 * wrench().force, 1e-12));
  EXPECT_EQ(vector(find(array, "point").pose.position), wrench().point);
  EXPECT_THAT(find(array, "name").text, testing::StartsWith("loop "));
}

TEST_F(Markers, when_there_is_no_torque_expect_no_arrow)
{
  ASSERT_LT(wrench().torque.norm(), 1e-9);
  const Marker & torque = find(draw({}), "torque");
  EXPECT_EQ(torque.action, Marker::DELETE);
}

TEST_F(Markers, when_nothing_was_written_yet_expect_no_text_without_letters)
{
  // RViz ends with "Vertex Buffer: Out of memory" on a text of spaces.
  for (const Marker & marker : make_markers(*scenario_.dynamics(), {}).markers)
  {
    const bool is_text = marker.type == Marker::TEXT_VIEW_FACING && marker.action == Marker::ADD;
    EXPECT_TRUE(!is_text || marker.text.find_first_not_of(' ') != std::string::npos)
      << marker.ns << " " << marker.id;
  }
  EXPECT_EQ(find(draw({}), "legend", 2).action, Marker::ADD);
}

TEST_F(Markers, when_arrows_are_long_expect_them_cut_and_a_text_that_says_so)
{
  MarkerStyle style;
  style.force_scale = 1.0;
  style.largest_length = 0.5;
  const MarkerArray array = draw(style);
  const Marker & force = find(array, "force");
  const Eigen::Vector3d arrow = vector(force.points[1]) - vector(force.points[0]);
  EXPECT_NEAR(arrow.norm(), 0.5, 1e-12);
  EXPECT_NEAR(arrow.normalized().dot(wrench().force.normalized()), 1.0, 1e-12);
  char expected[64];
  std::snprintf(expected, sizeof(expected), "loop %.3g N (cut)", wrench().force.norm());
  EXPECT_EQ(find(array, "name").text, expected);
}

TEST_F(Markers, when_texts_are_made_expect_sizes_that_rviz_needs)
{
  MarkerStyle style;
  style.text_height = 0.1;
  const MarkerArray array = draw(style);
  for (const Marker & marker : array.markers)
  {
    if (marker.type == Marker::TEXT_VIEW_FACING)
    {
      EXPECT_DOUBLE_EQ(marker.scale.z, 0.1);
      EXPECT_DOUBLE_EQ(marker.scale.x, 0.03);
      EXPECT_GT(marker.color.a, 0.0F);
    }
  }
  EXPECT_EQ(find(array, "legend", 0).text, "force: 1 m = 100 N");
  EXPECT_EQ(find(array, "legend", 1).text, "torque: 1 m = 20 N m");
  EXPECT_FLOAT_EQ(find(array, "legend", 1).color.b, style.torque_colour[2]);
  char expected[64];
  std::snprintf(expected, sizeof(expected), "largest force: %.4g N, loop", wrench().force.norm());
  EXPECT_EQ(find(array, "legend", 2).text, expected);
  style.legend = false;
  EXPECT_THROW((void)find(draw(style), "legend"), std::runtime_error);
}

TEST_F(Markers, when_a_constraint_is_switched_off_expect_grey_and_no_arrow)
{
  ASSERT_TRUE(has_output(simulation_->switch_constraint(0, false)));
  ASSERT_TRUE(has_output(simulation_->evaluate()));
  const MarkerStyle style;
  const MarkerArray array = draw(style);
  EXPECT_EQ(find(array, "force").action, Marker::DELETE);
  EXPECT_FLOAT_EQ(find(array, "point").color.a, style.inactive_colour[3]);
  EXPECT_EQ(find(array, "legend", 2).text, "largest force: none");
}

TEST_F(Markers, when_written_in_a_cycle_expect_no_allocation)
{
  MarkerStyle style;
  style.force_scale = 1.0;
  MarkerArray array = make_markers(simulation_->dynamics(), style);
  MarkerArray copy = array;
  ForceDrawing drawing(simulation_->dynamics(), style);
  const long before = allocation_count();
  for (int i = 0; i < 3; ++i)
  {
    write(drawing, array);
    copy = array;
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_THAT(find(copy, "name").text, HasSubstr("cut"));
}

TEST_F(Markers, when_the_style_cannot_be_expect_refusal_that_names_it)
{
  const auto refusal = [&](const auto & change)
  {
    MarkerStyle style;
    change(style);
    try
    {
      (void)make_markers(simulation_->dynamics(), style);
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal([](auto &) {}), "");
  EXPECT_THAT(refusal([](auto & s) { s.force_scale = 0.0; }), HasSubstr("force_scale: 0"));
  EXPECT_THAT(refusal([&](auto & s) { s.torque_scale = nan; }), HasSubstr("torque_scale: nan"));
  EXPECT_THAT(refusal([](auto & s) { s.lifetime = -1.0; }), HasSubstr("lifetime: -1"));
  EXPECT_THAT(refusal([](auto & s) { s.force_colour[1] = 2.0F; }), HasSubstr("colour: 2"));
  EXPECT_THAT(refusal([&](auto & s) { s.legend_position[0] = nan; }), HasSubstr("legend_position"));
  EXPECT_THAT(refusal([](auto & s) { s.world_frame = ""; }), HasSubstr("world_frame"));
}

}  // namespace
