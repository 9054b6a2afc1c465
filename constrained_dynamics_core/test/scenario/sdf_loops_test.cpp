// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: joints that close loops, screws, universal joints and gearboxes.
#include <cmath>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/file_constraints.hpp"
#include "scenario/file_scenarios.hpp"

namespace constrained_dynamics
{
namespace
{

using test::expect_same;
using test::sdf_joint;
using test::sdf_link;
using test::sdf_model;
using test::sdf_scenario;
using test::Solved;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A four-bar linkage whose coupler is the child of the crank and of the rocker.
std::string sdf_linkage(const std::string & first, const std::string & second)
{
  return sdf_model(
    sdf_link("crank", "0 0 0 0 0.2 0", 1.5) + sdf_link("coupler", "0 0 1 0 -0.4 0", 2.0) +
    sdf_link("rocker", "2 0 0 0 0.1 0", 1.1) + sdf_joint("turn", "revolute", "world", "crank") +
    sdf_joint("swing", "revolute", "world", "rocker") + first + second);
}

TEST(SdfLoops, when_link_has_two_parents_expect_the_second_joint_as_constraint)
{
  const std::string bend = sdf_joint("bend", "revolute", "crank", "coupler");
  const std::string close = sdf_joint(
    "close", "revolute", "rocker", "coupler",
    "<pose relative_to='coupler'>2 0 0.1 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>");
  const std::string moving = "initial: {u: {dturn: 1.1}}";
  const Scenario file = sdf_scenario(sdf_linkage(bend, close), "", moving);
  const Constraint & loop = file.dynamics()->constraints()[0];
  EXPECT_EQ(loop.name(), "close");
  EXPECT_EQ(loop.row_count(), 5);
  EXPECT_EQ(loop.wrench_bodies()[0].body_a, "coupler");
  EXPECT_EQ(loop.wrench_bodies()[0].body_b, "rocker");
  // Closed as the document draws it.
  EXPECT_LE(file.initial().q.norm(), 1e-12);
  std::ostringstream frames;
  const auto turn = [](double angle)
  { return Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitY()).toRotationMatrix(); };
  const Eigen::Vector3d point =
    turn(-0.1) *
    (Eigen::Vector3d(0, 0, 1) + turn(-0.4) * Eigen::Vector3d(2, 0, 0.1) - Eigen::Vector3d(2, 0, 0));
  frames.precision(17);
  frames << "  file_constraints: ignore\n  frames:\n"
         << "    - {name: a, parent: coupler, pose: {xyz: [2, 0, 0.1], rpy: [-pi/2, 0, 0]}}\n"
         << "    - {name: b, parent: rocker, pose: {xyz: [" << point.x() << ", 0, " << point.z()
         << "], rpy: [-pi/2, 0, 0]}}\n";
  const Scenario hand = sdf_scenario(
    sdf_linkage(bend, close), frames.str(),
    "constraints: [{name: close, type: frame_coincidence, frame_a: a, frame_b: b, rows: [x, y, z, "
    "rx, ry]}]\n" +
      moving);
  expect_same(file, hand, 1e-11);
}

TEST(SdfLoops, when_joints_are_exchanged_expect_the_first_of_the_document_in_the_tree)
{
  const std::string bend = sdf_joint("z_first", "revolute", "crank", "coupler");
  const std::string ball = sdf_joint("a_second", "ball", "rocker", "coupler", "");
  EXPECT_EQ(
    sdf_scenario(sdf_linkage(bend, ball), "", "").dynamics()->constraints()[0].name(), "a_second");
  EXPECT_EQ(
    sdf_scenario(sdf_linkage(ball, bend), "", "").dynamics()->constraints()[0].name(), "z_first");
}

TEST(SdfLoops, when_links_are_far_from_the_root_expect_the_shorter_way_in_the_tree)
{
  // end is reached by one joint and by two.
  const Scenario file = sdf_scenario(
    sdf_model(
      sdf_link("a", "0 0 0 0 0 0") + sdf_link("b", "0 0 1 0 0 0") + sdf_link("end", "1 0 0 0 0 0") +
      sdf_joint("one", "revolute", "world", "a") + sdf_joint("two", "revolute", "a", "b") +
      sdf_joint("long", "ball", "b", "end", "") + sdf_joint("short", "prismatic", "a", "end")),
    "", "");
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "long");
}

TEST(SdfLoops, when_slide_and_weld_close_loops_expect_their_rows)
{
  const auto rows = [](const std::string & type)
  {
    const Scenario file = sdf_scenario(
      sdf_linkage(
        sdf_joint("bend", "ball", "crank", "coupler", ""),
        sdf_joint("close", type, "rocker", "coupler")),
      "", "");
    std::string labels;
    for (const RowDescription & row : file.dynamics()->constraints()[0].rows())
    {
      labels += row.label + " ";
    }
    return labels;
  };
  EXPECT_EQ(rows("prismatic"), "x y rx ry rz ");
  EXPECT_EQ(rows("fixed"), "x y z rx ry rz ");
  EXPECT_EQ(rows("continuous"), "x y z rx ry ");
}

TEST(SdfLoops, when_screw_falls_expect_closed_form)
{
  // (I + m k²) θ̈ = −m g k with the travel k of a radian.
  const double k = 0.05 / (2.0 * std::acos(-1.0));
  for (const std::string pitch :
       {"<screw_thread_pitch>0.05</screw_thread_pitch>",
        "<thread_pitch>-125.66370614359172</thread_pitch>"})
  {
    const Scenario file = sdf_scenario(
      sdf_model(
        sdf_link("nut", "0 0 1 0 0 0", 3.0) +
        sdf_joint("drive", "screw", "world", "nut", "<axis><xyz>0 0 1</xyz></axis>" + pitch)),
      "", "initial: {u: {ddrive: 2}}");
    EXPECT_THAT(file.system().coordinate_names(), ElementsAre("drive", "drive_slide"));
    EXPECT_THAT(file.system().input_names(), ElementsAre("drive"));
    EXPECT_EQ(file.dynamics()->constraints()[0].name(), "drive_screw");
    const Solved solved(file);
    ASSERT_EQ(solved.status, Status::kOk);
    EXPECT_NEAR(solved.solution().acceleration(0), -3.0 * 9.81 * k / (0.04 + 3.0 * k * k), 1e-9);
    EXPECT_NEAR(file.initial().u(1), 2.0 * k, 1e-12);
  }
}

TEST(SdfLoops, when_joint_is_universal_expect_two_coordinates)
{
  const Scenario file = sdf_scenario(
    sdf_model(
      sdf_link("fork", "0 0 -0.5 0 0 0", 2.0) +
      sdf_joint(
        "cross", "universal", "world", "fork",
        "<pose>0 0 0.5 0 0 0</pose><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>")),
    "", "initial: {q: {cross_axis: 0.3}}");
  EXPECT_THAT(file.system().coordinate_names(), ElementsAre("cross_axis", "cross_axis2"));
  const Solved solved(file);
  // A pendulum about x, whose moment is that of the link about x with its distance.
  EXPECT_NEAR(
    solved.solution().acceleration(0), -2.0 * 9.81 * 0.5 * std::sin(0.3) / (0.02 + 2.0 * 0.25),
    1e-9);
  EXPECT_NEAR(solved.solution().acceleration(1), 0.0, 1e-9);
}

/// Accelerations of the two hinges at the world, which are in the tree whatever closes the loop.
Eigen::Vector2d hinge_accelerations(const Scenario & file)
{
  const Solved solved(file);
  EXPECT_EQ(solved.status, Status::kOk);
  const System & system = file.system();
  const Eigen::VectorXd & a = solved.solution().acceleration;
  return {a(system.speed_index("dturn")), a(system.speed_index("dswing"))};
}

TEST(SdfLoops, when_universal_joint_closes_the_loop_expect_the_motion_with_it_in_the_tree)
{
  const std::string ball = sdf_joint("bend", "ball", "crank", "coupler", "");
  const std::string cross = sdf_joint(
    "cross", "universal", "rocker", "coupler",
    "<pose relative_to='coupler'>2 0 0.1 0.3 0.2 0</pose><axis><xyz>0 1 0</xyz></axis>"
    "<axis2><xyz>0.6 0 0.8</xyz></axis2>");
  const std::string moving = "initial: {u: {dturn: 1.1}}";
  const Scenario closing = sdf_scenario(sdf_linkage(ball, cross), "", moving);
  const Constraint & loop = closing.dynamics()->constraints()[0];
  EXPECT_EQ(loop.name(), "cross");
  EXPECT_EQ(loop.type(), "universal");
  EXPECT_EQ(loop.row_count(), 4);
  EXPECT_EQ(loop.wrench_bodies()[0].body_a, "coupler");
  const Scenario in_tree = sdf_scenario(sdf_linkage(cross, ball), "", moving);
  EXPECT_EQ(in_tree.dynamics()->constraints()[0].name(), "bend");
  // The same bodies with the same joints; both start in the drawing.
  EXPECT_EQ(in_tree.system().speed_count(), 4);
  const Eigen::Vector2d expected = hinge_accelerations(in_tree);
  EXPECT_GT(expected.norm(), 0.1);
  EXPECT_LE((hinge_accelerations(closing) - expected).norm(), 1e-9 * expected.norm());
}

TEST(SdfLoops, when_screw_closes_the_loop_expect_the_motion_with_it_in_the_tree)
{
  const std::string ball = sdf_joint("bend", "ball", "crank", "coupler", "");
  const std::string drive = sdf_joint(
    "drive", "screw", "rocker", "coupler",
    "<pose relative_to='coupler'>2 0 0.1 0 0 0</pose><axis><xyz>0.6 0.8 0</xyz></axis>"
    "<screw_thread_pitch>0.3</screw_thread_pitch>");
  const auto linkage = [](const std::string & first, const std::string & second)
  {
    return sdf_scenario(
      sdf_model(
        sdf_link("crank", "0 0 0 0 0.2 0", 1.5) + sdf_link("coupler", "0 0 1 0 -0.4 0", 2.0) +
        sdf_link("rocker", "2 0 0 0 0.1 0", 1.1) + sdf_joint("turn", "revolute", "world", "crank") +
        sdf_joint("swing", "ball", "world", "rocker", "") + first + second),
      "  gravity: [3, 1, -9.81]", "initial: {}");
  };
  const auto accelerations = [](const Scenario & file)
  {
    const Solved solved(file);
    EXPECT_EQ(solved.status, Status::kOk);
    EXPECT_EQ(solved.workspace.rank_report().degrees_of_freedom, 2);
    Eigen::Vector4d found;
    int i = 0;
    for (const char * name : {"dturn", "swing_wx", "swing_wy", "swing_wz"})
    {
      found(i++) = solved.solution().acceleration(file.system().speed_index(name));
    }
    return found;
  };
  const Scenario closing = linkage(ball, drive);
  ASSERT_EQ(closing.dynamics()->constraints().size(), 1);
  EXPECT_EQ(closing.dynamics()->constraints()[0].name(), "drive");
  EXPECT_EQ(closing.dynamics()->constraints()[0].type(), "screw");
  const Scenario in_tree = linkage(drive, ball);
  EXPECT_EQ(in_tree.dynamics()->constraints().size(), 2);  // the ball and the thread
  const Eigen::Vector4d expected = accelerations(in_tree);
  EXPECT_GT(expected.norm(), 0.1);
  EXPECT_LE((accelerations(closing) - expected).norm(), 1e-9 * expected.norm());
}

TEST(SdfLoops, when_gearbox_couples_wheels_expect_ratio_and_torque)
{
  const std::string wheels =
    sdf_link("frame", "0 0 0 0 0 0") + sdf_link("in", "0 0 0 0 0 0") +
    sdf_link("out", "1 0 0 0 3.141592653589793 0") + sdf_joint("hold", "fixed", "world", "frame") +
    sdf_joint("first", "revolute", "frame", "in", "<axis><xyz>0 0 1</xyz></axis>") +
    sdf_joint("second", "revolute", "frame", "out", "<axis><xyz>0 0 1</xyz></axis>");
  const Scenario file = sdf_scenario(
    sdf_model(
      wheels + sdf_joint(
                 "gear", "gearbox", "in", "out",
                 "<axis><xyz expressed_in='__model__'>0 0 1</xyz></axis><axis2><xyz "
                 "expressed_in='__model__'>0 0 1</xyz></axis2><gearbox_ratio>3</gearbox_ratio>"
                 "<gearbox_reference_body>frame</gearbox_reference_body>")),
    "", "inputs: {first: 1.5}");
  const Constraint & gear = file.dynamics()->constraints()[0];
  EXPECT_EQ(gear.name(), "gear");
  // theta2 = −3 theta1 about z of the model; the second joint turns about −z.
  Workspace workspace(*file.dynamics(), file.initial());
  const Eigen::Vector2d torque(1.5, 0.0);
  ASSERT_EQ(
    file.dynamics()->solve(0.0, file.initial().q, file.initial().u, torque, workspace),
    Status::kOk);
  const Eigen::VectorXd & a = workspace.solution().acceleration;
  EXPECT_NEAR(a(0), 1.5 / (0.04 + 9.0 * 0.04), 1e-9);
  EXPECT_NEAR(a(1), 3.0 * a(0), 1e-9);
}

}  // namespace
}  // namespace constrained_dynamics
