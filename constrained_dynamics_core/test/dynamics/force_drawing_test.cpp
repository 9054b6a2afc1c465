// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/force_drawing.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/allocation_counter.hpp"

using testing::HasSubstr;

namespace constrained_dynamics
{
namespace
{

class ForceDrawingOf : public testing::Test
{
protected:
  ForceDrawingOf()
  : system(RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf")),
    dynamics(ConstraintSet(
      system,
      {std::make_shared<FrameCoincidence>(
        "loop", *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"})})),
    workspace(dynamics, state())
  {
    solve();
  }

  static State state()
  {
    return {
      0.0, Eigen::Vector3d(0.0, 1.5707963267948966, 2.5535900500422257), Eigen::Vector3d::Zero()};
  }
  void solve()
  {
    const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system->input_count());
    EXPECT_TRUE(has_output(dynamics.solve(0.0, state().q, state().u, inputs, workspace)));
  }
  ForceDrawing draw(const ForceStyle & style) const
  {
    ForceDrawing drawing(dynamics, style);
    drawing.update(workspace);
    return drawing;
  }
  static const DrawnShape & find(
    const ForceDrawing & drawing, const std::string & group, int id = 0)
  {
    const auto & shapes = drawing.shapes();
    const auto found = std::find_if(
      shapes.begin(), shapes.end(),
      [&](const DrawnShape & shape) { return shape.group == group && shape.id == id; });
    if (found == shapes.end())
    {
      throw std::runtime_error("no shape " + group);
    }
    return *found;
  }
  const Wrench & wrench() const { return workspace.solution().wrenches[0].on_a; }

  std::shared_ptr<RigidBodySystem> system;
  Dynamics dynamics;
  Workspace workspace;
};

TEST_F(ForceDrawingOf, when_drawn_expect_arrow_from_the_point_along_the_force)
{
  ForceStyle style;
  style.force_scale = 0.002;
  const ForceDrawing drawing = draw(style);
  const DrawnShape & force = find(drawing, "force");
  EXPECT_EQ(force.kind, ShapeKind::kArrow);
  EXPECT_TRUE(force.is_visible);
  EXPECT_EQ(force.position, wrench().point);
  EXPECT_TRUE((force.tip - force.position).isApprox(0.002 * wrench().force, 1e-12));
  EXPECT_EQ(force.colour, style.force_colour);
  EXPECT_FALSE(find(drawing, "torque").is_visible);  // points carry none
  EXPECT_EQ(find(drawing, "point").position, wrench().point);
  char expected[64];
  std::snprintf(expected, sizeof(expected), "loop %.3g N", wrench().force.norm());
  EXPECT_EQ(find(drawing, "name").text, expected);
  // The name is at the tip, not on the frames at the point.
  EXPECT_NEAR((find(drawing, "name").position - force.tip).norm(), style.text_height, 1e-12);
  std::snprintf(expected, sizeof(expected), "largest force: %.4g N, loop", wrench().force.norm());
  EXPECT_EQ(find(drawing, "legend", 2).text, expected);
}

TEST_F(ForceDrawingOf, when_an_arrow_is_long_expect_it_cut_and_a_text_that_says_so)
{
  ForceStyle style;
  style.force_scale = 1.0;
  style.largest_length = 0.5;
  const ForceDrawing drawing = draw(style);
  const DrawnShape & force = find(drawing, "force");
  EXPECT_NEAR((force.tip - force.position).norm(), 0.5, 1e-12);
  EXPECT_THAT(find(drawing, "name").text, testing::EndsWith(" N (cut)"));
}

TEST_F(ForceDrawingOf, when_a_surface_pushes_expect_the_arrow_to_end_at_the_point)
{
  const auto floor = std::make_shared<PointOnPlane>(
    "floor", *system, "coupler_tip", "world", Eigen::Vector3d::UnitZ(), 0.3);
  const Dynamics on_floor(ConstraintSet(system, {floor}));
  Workspace other(on_floor, state());
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system->input_count());
  ASSERT_TRUE(has_output(on_floor.solve(0.0, state().q, state().u, inputs, other)));
  const Wrench & pushed = other.solution().wrenches[0].on_a;
  ASSERT_GT(pushed.force.norm(), 1.0);
  ForceStyle style;
  style.force_scale = 1e-3;
  ForceDrawing drawing(on_floor, style);
  drawing.update(other);
  const DrawnShape & force = find(drawing, "force");
  EXPECT_TRUE(force.tip.isApprox(pushed.point, 1e-12));
  EXPECT_TRUE((force.tip - force.position).isApprox(1e-3 * pushed.force, 1e-9));
}

TEST_F(ForceDrawingOf, when_a_constraint_is_inactive_expect_its_colour_and_no_arrow)
{
  workspace.set_active(0, false);
  solve();
  const ForceStyle style;
  const ForceDrawing drawing = draw(style);
  EXPECT_FALSE(find(drawing, "force").is_visible);
  EXPECT_EQ(find(drawing, "point").colour, style.inactive_colour);
  EXPECT_EQ(find(drawing, "legend", 2).text, "largest force: none");
}

TEST_F(ForceDrawingOf, when_nothing_was_drawn_yet_expect_no_visible_text_without_letters)
{
  const ForceDrawing drawing(dynamics, {});
  for (const DrawnShape & shape : drawing.shapes())
  {
    EXPECT_TRUE(
      !shape.is_visible || shape.kind != ShapeKind::kText ||
      shape.text.find_first_not_of(' ') != std::string::npos)
      << shape.group << " " << shape.id;
  }
}

TEST_F(ForceDrawingOf, when_updated_in_a_cycle_expect_no_allocation)
{
  ForceStyle style;
  style.force_scale = 1e6;  // the longest texts
  ForceDrawing drawing(dynamics, style);
  const long before = test::allocation_count();
  for (int i = 0; i < 3; ++i)
  {
    drawing.update(workspace);
  }
  EXPECT_EQ(test::allocation_count(), before);
}

TEST_F(ForceDrawingOf, when_the_style_cannot_be_expect_refusal_that_names_it)
{
  const auto refusal = [&](const auto & change)
  {
    ForceStyle style;
    change(style);
    try
    {
      const ForceDrawing drawing(dynamics, style);
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
  EXPECT_THAT(refusal([&](auto & s) { s.text_height = nan; }), HasSubstr("text_height: nan"));
  EXPECT_THAT(refusal([](auto & s) { s.force_colour[1] = 2.0F; }), HasSubstr("force_colour: 2"));
  EXPECT_THAT(refusal([&](auto & s) { s.legend_position[0] = nan; }), HasSubstr("legend_position"));
}

}  // namespace
}  // namespace constrained_dynamics
