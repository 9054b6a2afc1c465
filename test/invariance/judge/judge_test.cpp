// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "judge.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "solve_json.hpp"
#include "system.hpp"

namespace invariance
{
namespace
{

constexpr double kGravity = 9.81;

/// A scenario file that lives as long as this.
class File
{
public:
  explicit File(const std::string & text)
  {
    static int count = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("judge_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ".yaml");
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File &) = delete;
  File & operator=(const File &) = delete;
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

Verdict judged(const std::string & text, const Given & given)
{
  const File file(text);
  Verdict verdict = judge(file.path(), given);
  EXPECT_TRUE(verdict.supported) << verdict.unsupported;
  verdict.acceleration.resize(given.u.size());
  verdict.constraint_force.resize(given.u.size());
  return verdict;
}

std::string config(const std::string & name)
{
  return std::string(CD_SCENARIOS) + "/" + name + ".yaml";
}

// ---- closed forms ------------------------------------------------------------------------------

TEST(Judge, when_a_pendulum_swings_expect_its_closed_form)
{
  const std::string text = R"yaml(
system:
  dampers: {hinge: 0.3}
  springs: {hinge: {stiffness: 2.0, rest: 0.25}}
  urdf: |
    <robot name="pendulum">
      <link name="ground"/>
      <joint name="hinge" type="continuous">
        <parent link="ground"/><child link="rod"/><axis xyz="0 1 0"/><dynamics damping="0.2"/>
      </joint>
      <link name="rod">
        <inertial><origin xyz="0 0 -0.7"/><mass value="1.5"/>
          <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial>
      </link>
    </robot>
)yaml";
  const double q = 0.5;
  const double u = -1.25;
  const double torque = 0.75;
  const Verdict verdict = judged(text, {0.0, {q}, {u}, {torque}});
  const double inertia = 0.2 + 1.5 * 0.7 * 0.7;
  const double expected =
    (torque - 1.5 * kGravity * 0.7 * std::sin(q) - 0.5 * u - 2.0 * (q - 0.25)) / inertia;
  EXPECT_NEAR(verdict.acceleration[0], expected, 1e-13);
  EXPECT_EQ(verdict.rank_exact, 0);
}

TEST(Judge, when_a_particle_hangs_on_a_rod_expect_the_rods_force)
{
  const std::string text = R"yaml(
parameters: {m: 2.0, l: 0.5, g: 9.81}
system: {coordinates: [x, y], kinetic: m/2*(dx^2 + dy^2), potential: m*g*y}
constraints:
  - {name: rod, type: formula, level: position, rows: ["(x^2 + y^2 - l^2)/(2*l)"]}
)yaml";
  const double angle = 0.75;
  const double speed = 1.5;
  const Verdict verdict = judged(
    text, {0.0,
           {0.5 * std::sin(angle), -0.5 * std::cos(angle)},
           {speed * std::cos(angle), speed * std::sin(angle)},
           {}});
  const double pull = 2.0 * (kGravity * std::cos(angle) + speed * speed / 0.5);
  ASSERT_EQ(verdict.multipliers.size(), 1u);
  EXPECT_NEAR(verdict.multipliers[0], -pull, 1e-13);
  EXPECT_NEAR(verdict.constraint_force[0], -pull * std::sin(angle), 1e-13);
  EXPECT_NEAR(verdict.power, 0.0, 1e-14);
  // Tangential acceleration −g sin, centripetal v²/l.
  const double along =
    verdict.acceleration[0] * std::cos(angle) + verdict.acceleration[1] * std::sin(angle);
  EXPECT_NEAR(along, -kGravity * std::sin(angle), 1e-13);
}

TEST(Judge, when_a_double_pendulum_swings_expect_its_closed_form)
{
  // Two point masses on rods; relative angles as joints.
  const std::string text = R"yaml(
system:
  urdf: |
    <robot name="double">
      <link name="ground"/>
      <joint name="a" type="continuous">
        <parent link="ground"/><child link="one"/><axis xyz="0 1 0"/>
      </joint>
      <link name="one"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
        <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="b" type="continuous">
        <parent link="one"/><child link="two"/><origin xyz="0 0 -1"/><axis xyz="0 1 0"/>
      </joint>
      <link name="two"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
        <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
    </robot>
)yaml";
  const double t1 = 0.5;
  const double t2 = 1.25;  // absolute angles
  const double w1 = -0.75;
  const double w2 = 2.0;
  const Verdict verdict = judged(text, {0.0, {t1, t2 - t1}, {w1, w2 - w1}, {0.0, 0.0}});
  const double m1 = 2.0;
  const double m2 = 1.0;
  const double l1 = 1.0;
  const double l2 = 0.5;
  const double d = t1 - t2;
  // (m1 + m2) l1² a1 + m2 l1 l2 cos d a2 = −m2 l1 l2 sin d w2² − (m1 + m2) g l1 sin t1, and so on.
  const double a11 = (m1 + m2) * l1 * l1;
  const double a12 = m2 * l1 * l2 * std::cos(d);
  const double a22 = m2 * l2 * l2;
  const double f1 =
    -m2 * l1 * l2 * std::sin(d) * w2 * w2 - (m1 + m2) * kGravity * l1 * std::sin(t1);
  const double f2 = m2 * l1 * l2 * std::sin(d) * w1 * w1 - m2 * kGravity * l2 * std::sin(t2);
  const double determinant = a11 * a22 - a12 * a12;
  const double acceleration1 = (f1 * a22 - f2 * a12) / determinant;
  const double acceleration2 = (f2 * a11 - f1 * a12) / determinant;
  EXPECT_NEAR(verdict.acceleration[0], acceleration1, 1e-12);
  EXPECT_NEAR(verdict.acceleration[1], acceleration2 - acceleration1, 1e-12);
}

TEST(Judge, when_a_four_bar_is_a_parallelogram_expect_its_closed_form)
{
  // Scenario n_four_bar with N = 1: φ̈ = κ g/l sin φ, κ = (1 + 1)/(2/3 + 1); the coupler stays
  // level.
  for (const double angle : {0.25, 1.0, 2.5, -0.5})
  {
    const double w = 1.5;
    // Joints of bar0: crank, coupler (relative); bar1: crank. The cranks point up at 0, about −z.
    const Verdict first =
      judge(config("n_four_bar"), {0.0, {angle, -angle, angle}, {w, -w, w}, {0.0, 0.0, 0.0}});
    ASSERT_TRUE(first.supported) << first.unsupported;
    const double expected = 2.0 / (2.0 / 3.0 + 1.0) * kGravity * std::sin(angle);
    EXPECT_NEAR(first.acceleration[0], expected, 1e-12) << angle;
    EXPECT_NEAR(first.acceleration[1], -expected, 1e-12) << angle;
    EXPECT_NEAR(first.acceleration[2], expected, 1e-12) << angle;
    EXPECT_EQ(first.rank_exact, 2);
    EXPECT_EQ(first.rank_regular, 2);
    EXPECT_NEAR(first.power, 0.0, 1e-12);
  }
}

TEST(Judge, when_a_four_bar_is_close_to_its_singular_position_expect_what_data_can_tell)
{
  // The same mechanism where the cranks are almost level: the second direction is as small as the
  // distance, and so is what the data tell about it.
  for (const double distance : {1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-14})
  {
    const double angle = std::acos(0.0) - distance;
    const double w = 1.5;
    const Verdict verdict =
      judge(config("n_four_bar"), {0.0, {angle, -angle, angle}, {w, -w, w}, {0.0, 0.0, 0.0}});
    ASSERT_TRUE(verdict.supported) << verdict.unsupported;
    EXPECT_EQ(verdict.rank_exact, distance > 1e-12 ? 2 : 1) << distance;
    EXPECT_EQ(verdict.rank_regular, distance > 1e-7 / 2 ? 2 : 1) << distance;
    EXPECT_EQ(verdict.rank_nominal, 2) << distance;
    const double expected = 2.0 / (2.0 / 3.0 + 1.0) * kGravity * std::sin(angle);
    EXPECT_NEAR(verdict.acceleration[0], expected, 1e-11) << distance;
    const double tolerance = verdict.acceleration_tolerance[0];
    const double unknown = distance > 1e-12 ? 1e-11 / distance : 1e-10;
    EXPECT_GT(tolerance, unknown / 10) << distance;
    EXPECT_LT(tolerance, unknown * 10) << distance;
  }
}

TEST(Judge, when_bodies_roll_down_a_slope_expect_their_closed_forms)
{
  const std::string bodies = R"yaml(
system:
  gravity: [3.0, 0, -9.0]
  bodies:
    - {name: ball, mass: 2.0, inertia: [0.05, 0.05, 0.05]}
    - {name: disk, mass: 2.0, inertia: [0.0125, 0.03, 0.0125]}
constraints:
  - {name: ball, type: rolling, frame_a: ball, radius: 0.25}
  - {name: disk, type: rolling, frame_a: disk, radius: 0.25, axis: [0, 1, 0]}
)yaml";
  const double w = 1.5;
  const Verdict verdict = judged(
    bodies, {0.0,
             {0, 0, 0.25, 0, 0, 0, 1, 0, 2, 0.25, 0, 0, 0, 1},
             {0.25 * w, 0, 0, 0, w, 0, 0.25 * w, 0, 0, 0, w, 0},
             {}});
  // a = g_x / (1 + I/(m r²)).
  EXPECT_NEAR(verdict.acceleration[0], 3.0 / (1.0 + 0.05 / (2.0 * 0.0625)), 1e-13);
  EXPECT_NEAR(verdict.acceleration[6], 3.0 / (1.0 + 0.03 / (2.0 * 0.0625)), 1e-13);
  EXPECT_EQ(verdict.rank_exact, 6);
  EXPECT_NEAR(verdict.power, 0.0, 1e-13);
  // The plane carries the weight.
  for (const std::size_t row : {std::size_t(0), std::size_t(3)})
  {
    EXPECT_NEAR(verdict.multipliers[row], 18.0, 1e-12) << verdict.rows[row];
  }
}

TEST(Judge, when_redundant_rows_share_a_force_expect_the_least_weighted_norm)
{
  // A bar on three rows that all hold z; the middle one says the same as the others' mean.
  const std::string text = R"yaml(
system:
  bodies: [{name: bar, mass: 3.0, inertia: [1, 1, 1], base: floating}]
  frames:
    - {name: left, parent: bar, pose: {xyz: [-1, 0, 0]}}
    - {name: right, parent: bar, pose: {xyz: [1, 0, 0]}}
constraints:
  - {name: l, type: point_on_plane, frame_a: left, normal: [0, 0, 2]}
  - {name: m, type: point_on_plane, frame_a: bar, normal: [0, 0, 1]}
  - {name: r, type: point_on_plane, frame_a: right, normal: [0, 0, 1]}
)yaml";
  const Verdict verdict = judged(text, {0.0, {0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0}, {}});
  EXPECT_EQ(verdict.rank_exact, 2);
  for (const double multiplier : verdict.multipliers)
  {
    EXPECT_NEAR(multiplier, kGravity, 1e-13);
  }
  EXPECT_EQ(verdict.inconsistency, 0.0);
}

// ---- rank --------------------------------------------------------------------------------------

std::string four_bar(const std::string & rows, const std::string & rpy)
{
  return "system: {urdf: " + std::string(CD_SCENARIOS) +
         "/../robots/four_bar.urdf, pose: {rpy: " + rpy +
         "}}\nconstraints:\n  - {name: loop, type: frame_coincidence, frame_a: rocker_tip, "
         "frame_b: coupler_tip, rows: " +
         rows + "}\n";
}

/// An assembled state of the four-bar linkage at rest.
Given four_bar_state()
{
  return {0.0, {0.3, 1.1448319220167056, 2.4571157261274092}, {0, 0, 0}, {0, 0, 0}};
}

TEST(Judge, when_the_base_of_a_linkage_is_turned_about_gravity_expect_nothing_to_change)
{
  const Verdict plain = judged(four_bar("[x, z]", "[0, 0, 0]"), four_bar_state());
  for (const char * rows : {"[x, z]", "[x, y, z]", "[x, y, z, rx, rz]"})
  {
    const Verdict turned = judged(four_bar(rows, "[0, 0, 0.5]"), four_bar_state());
    EXPECT_EQ(turned.rank_exact, 2) << rows;
    EXPECT_EQ(turned.rank_regular, 2) << rows;
    for (std::size_t i = 0; i < 3; ++i)
    {
      EXPECT_NEAR(turned.acceleration[i], plain.acceleration[i], 1e-12) << rows;
      EXPECT_NEAR(turned.constraint_force[i], plain.constraint_force[i], 1e-12) << rows;
    }
  }
}

TEST(Judge, when_the_only_row_says_nothing_expect_rank_zero)
{
  const Verdict alone = judged(four_bar("[y]", "[0.1, 0.2, 0.5]"), four_bar_state());
  EXPECT_EQ(alone.rank_exact, 0);
  EXPECT_LT(alone.singular_values[0], 1e-15);
}

TEST(Judge, when_a_row_cancels_in_a_driven_speed_expect_it_to_say_nothing)
{
  const std::string text = R"yaml(
system:
  coordinates: [x, y]
  kinetic: (dx^2 + dy^2)/2
  control_states: {second: [length]}
constraints:
  - {name: cable, type: formula, level: position, rows: [x^2 + y^2 - length^2]}
  - {name: nothing, type: formula, level: velocity, rows: [2*dlength - 2*dlength + 1e-16*dy]}
inputs: {ddlength: 0}
)yaml";
  const Verdict verdict = judged(text, {0.0, {0.6, -0.8, 1.0}, {0.4, 0.3, 0.0}, {0.0}});
  EXPECT_EQ(verdict.rank_exact, 1);
  EXPECT_EQ(verdict.rank_regular, 1);
  EXPECT_LT(verdict.singular_values[1], 1e-15);
}

TEST(Judge, when_rows_are_almost_dependent_expect_their_angle)
{
  for (const double angle : {1e-15, 1e-11, 1e-6})
  {
    char text[400];
    std::snprintf(
      text, sizeof(text), R"yaml(
system: {coordinates: [x, y, z], kinetic: (dx^2 + dy^2 + dz^2)/2, force: {x: 1, y: 2}}
constraints:
  - {name: a, type: joint_coupling, terms: {x: 1}}
  - {name: b, type: joint_coupling, terms: {x: 1, y: %.17g}}
)yaml",
      angle);
    const Verdict verdict = judged(text, {0.0, {0, 0, 0}, {0, 0, 0}, {}});
    EXPECT_EQ(verdict.rank_exact, angle > 1e-13 ? 2 : 1) << angle;
    EXPECT_EQ(verdict.rank_regular, angle > 1e-8 ? 2 : 1) << angle;
    EXPECT_NEAR(verdict.singular_values[1], angle / 2, angle / 10) << angle;
    EXPECT_NEAR(verdict.acceleration[1], angle > 1e-13 ? 0.0 : 2.0, 1e-15) << angle;
    EXPECT_LE(verdict.acceleration_tolerance[2], 1e-12) << angle;
    if (angle == 1e-6)
    {
      // λ of b carries 2 / angle, both rows cancel in x.
      EXPECT_NEAR(verdict.multipliers[1], -2.0 / angle, 1e-3);
      EXPECT_GT(verdict.multiplier_tolerance[1], 1e-7);
      EXPECT_LT(verdict.multiplier_tolerance[1], 1e-4);
    }
  }
}

TEST(Judge, when_a_state_is_off_the_manifold_by_rounding_expect_redundant_rows_to_stay_so)
{
  // Bricard's linkage: one of five rows is redundant on the manifold only.
  const double off = 3e-11;
  const Verdict verdict =
    judge(config("bricard"), {0.0, {off, 0, -off, 2 * off, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}});
  ASSERT_TRUE(verdict.supported) << verdict.unsupported;
  EXPECT_EQ(verdict.rank_exact, 4);
  for (std::size_t i = 0; i < 5; ++i)
  {
    EXPECT_NEAR(std::abs(verdict.acceleration[i]), kGravity / 5, 1e-9);
  }
}

TEST(Judge, when_a_key_is_unknown_expect_its_name)
{
  const File file("system: {coordinates: [x], kinetic: dx^2/2, colour: red}");
  const Verdict verdict = judge(file.path(), {0.0, {0.0}, {0.0}, {}});
  EXPECT_FALSE(verdict.supported);
  EXPECT_EQ(verdict.unsupported, "system.colour");
}

// ---- forces ------------------------------------------------------------------------------------

TEST(Judge, when_speeds_are_kept_expect_the_power_of_all_forces_to_be_the_change_of_energy)
{
  // d/dt (T + V) = uᵀ (Q u̇ − h) for a system without dampers and inputs; the row of type energy has
  // b = −d/dt (T + V) at u̇ = 0.
  const File file(R"yaml(
system:
  gravity: [1, -2, -9]
  springs: {slide: {stiffness: 30, rest: 0.1}}
  urdf: |
    <robot name="tree">
      <link name="ground"/>
      <joint name="turn" type="continuous">
        <parent link="ground"/><child link="one"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><axis xyz="1 2 3"/>
      </joint>
      <link name="one"><inertial><origin xyz="0.3 0.1 -0.2" rpy="0.1 0.2 0.3"/><mass value="2"/>
        <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial></link>
      <joint name="slide" type="prismatic">
        <parent link="one"/><child link="two"/><origin xyz="0.5 0 0" rpy="1 0 0"/><axis xyz="0 1 1"/>
      </joint>
      <link name="two"><inertial><origin xyz="0 0.2 0"/><mass value="1"/>
        <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0.01" iyz="0"/></inertial></link>
    </robot>
  bodies:
    - {name: box, mass: 3, inertia: {ixx: 1, iyy: 2, izz: 2.5, ixy: 0.1}, com: [0.1, 0.2, 0.3], pose: {rpy: [1, 2, 3]}}
    - {name: puck, mass: 3, inertia: [1, 2, 2.5], com: [0.1, 0.2, 0.3], base: planar, pose: {rpy: [1, 2, 3]}}
constraints:
  - {name: energy, type: energy, value: 5}
)yaml");
  const Document document(file.path());
  State state;
  for (const double q : {0.3, 0.2, 1.0, 2.0, 3.0, 0.1, 0.3, -0.5, 0.8, 0.5, 0.6, 0.7})
  {
    state.q.push_back(q);
  }
  for (const double u : {0.5, -1.0, 1.0, 2.0, 3.0, -1.5, 0.3, 0.8, 0.4, 0.6, 0.9})
  {
    state.u.push_back(u);
  }
  state.inputs = {0, 0};
  const std::unique_ptr<System> system = make_system(document, state);
  const std::vector<Row> rows = make_rows(document, *system, 0);
  const Terms terms = system->terms();
  ASSERT_EQ(rows.size(), 1u);
  const Real power = dot(terms.force, state.u);
  EXPECT_LE(abs(power - rows[0].b), Real("1e-45") * rows[0].b_size);
  EXPECT_GT(abs(power), 1);
}

// ---- every scenario ----------------------------------------------------------------------------

class Scenarios : public testing::TestWithParam<std::string>
{
};

/// Runs `cdyn solve`.
/// @return whether it wrote its answer.
bool solve_by_command(const std::string & scenario, const std::string & json)
{
  const std::string command = std::string("\"") + CD_CDYN + "\" solve \"" + scenario +
                              "\" --json \"" + json + "\" > /dev/null";
  std::system(command.c_str());
  return std::filesystem::exists(json);
}

struct Rates
{
  Vector position;
  Vector velocity;
};

/// φ and φ̇ (ψ) of all rows.
Rates residuals(const Document & document, const State & state)
{
  const std::unique_ptr<System> system = make_system(document, state);
  Rates out;
  for (const Row & row : make_rows(document, *system, state.time))
  {
    out.position.push_back(row.position);
    out.velocity.push_back(row.velocity);
  }
  return out;
}

/// The state after the time h of motion with constant speeds, to second order.
State moved(const System & system, const State & state, const Real & h)
{
  State out = state;
  out.time += h;
  for (std::size_t i = 0; i < state.q.size(); ++i)
  {
    const Variable x = system.variable(system.coordinates[i]);
    out.q[i] += h * x.rate + h * h / 2 * x.second;
  }
  return out;
}

TEST_P(Scenarios, when_solved_expect_rows_that_are_derivatives_and_the_command_to_agree)
{
  const std::string scenario = GetParam();
  const std::filesystem::path json = std::filesystem::path(testing::TempDir()) /
                                     ("judge_" + std::filesystem::path(scenario).stem().string() +
                                      std::to_string(::getpid()) + ".json");
  ASSERT_TRUE(solve_by_command(scenario, json.string()));
  const Solved solved = read_solve_json(json.string());
  std::filesystem::remove(json);
  const Verdict verdict = judge(scenario, solved.given);
  if (!verdict.supported)
  {
    // MJCF, SDF, contacts that touch, dry friction, joints as constraints, force elements.
    const std::set<std::string> allowed = {"cardan_shaft",     "crank_press",       "five_bar",
                                           "flyball_governor", "heavy_top_minimal", "painleve_rod",
                                           "rimless_wheel",    "rocking_block",     "sliding_ball",
                                           "stewart_platform", "thesis_5_3"};
    ASSERT_EQ(allowed.count(std::filesystem::path(scenario).stem().string()), 1u)
      << verdict.unsupported;
    GTEST_SKIP() << verdict.unsupported;
  }

  // The command and the judge.
  ASSERT_EQ(solved.status, "ok");
  EXPECT_EQ(solved.rank, verdict.rank_exact);
  EXPECT_EQ(solved.rank, verdict.rank_regular);
  ASSERT_EQ(solved.acceleration.size(), verdict.acceleration.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < solved.acceleration.size(); ++i)
  {
    EXPECT_NEAR(solved.acceleration[i], verdict.acceleration[i], verdict.acceleration_tolerance[i])
      << solved.speeds[i];
    EXPECT_NEAR(solved.constraint_force[i], verdict.constraint_force[i], verdict.force_tolerance[i])
      << solved.speeds[i];
    largest = std::max(largest, std::abs(verdict.acceleration[i]));
  }
  // Not blind: no scenario is so badly conditioned that eight digits would not be known.
  for (const double tolerance : verdict.acceleration_tolerance)
  {
    EXPECT_LE(tolerance, 1e-8 * std::max(largest, 1.0));
  }
  for (std::size_t i = 0; i < verdict.rows.size(); ++i)
  {
    ASSERT_EQ(solved.multipliers.count(verdict.rows[i]), 1u) << verdict.rows[i];
    EXPECT_NEAR(
      solved.multipliers.at(verdict.rows[i]), verdict.multipliers[i],
      verdict.multiplier_tolerance[i])
      << verdict.rows[i];
  }

  for (const Wrench & exact : verdict.wrenches)
  {
    const auto reported = std::find_if(
      solved.wrenches.begin(), solved.wrenches.end(),
      [&](const Wrench & w) { return w.constraint == exact.constraint; });
    ASSERT_NE(reported, solved.wrenches.end()) << exact.constraint;
    for (std::size_t k = 0; k < 3; ++k)
    {
      EXPECT_NEAR(reported->point[k], exact.point[k], 1e-12) << exact.constraint;
      EXPECT_NEAR(reported->force[k], exact.force[k], exact.force_tolerance) << exact.constraint;
      EXPECT_NEAR(reported->torque[k], exact.torque[k], exact.torque_tolerance) << exact.constraint;
    }
  }

  // The judge's own invariants, at other speeds.
  const Document document(scenario);
  State state;
  state.time = solved.given.time;
  state.q.assign(solved.given.q.begin(), solved.given.q.end());
  state.inputs.assign(solved.given.inputs.begin(), solved.given.inputs.end());
  std::mt19937_64 random(1);
  for (const double u : solved.given.u)
  {
    state.u.push_back(u + static_cast<double>(random() % 1000) / 1000.0 - 0.5);
  }
  const std::unique_ptr<System> system = make_system(document, state);
  const std::vector<Row> rows = make_rows(document, *system, state.time);
  const Terms terms = system->terms();
  const Real h("1e-18");
  const Real tolerance("1e-20");
  const int n = system->size();
  for (int i = 0; i < n; ++i)
  {
    for (int j = 0; j < i; ++j)
    {
      EXPECT_LE(
        abs(terms.inertia(i, j) - terms.inertia(j, i)), Real("1e-45") * terms.inertia_size(i, j));
    }
  }
  const bool stabilised = document.stabilisation["kind"] &&
                          document.stabilisation["kind"].as<std::string>() == "baumgarte";
  const Rates after = residuals(document, moved(*system, state, h));
  const Rates before = residuals(document, moved(*system, state, -h));
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    const Real velocity = (after.position[i] - before.position[i]) / (2 * h);
    const Real acceleration = (after.velocity[i] - before.velocity[i]) / (2 * h);
    if (rows[i].level == 0)
    {
      EXPECT_LE(abs(velocity - rows[i].velocity), tolerance * (1 + abs(velocity))) << rows[i].name;
    }
    if (rows[i].level < 2 && !stabilised)
    {
      EXPECT_LE(abs(acceleration + rows[i].b), tolerance * (1 + abs(acceleration))) << rows[i].name;
    }
    EXPECT_LE(abs(rows[i].b), rows[i].b_size * (1 + tolerance)) << rows[i].name;
  }
  for (int j = 0; j < n; ++j)
  {
    State faster = state;
    faster.u[static_cast<std::size_t>(j)] += h;
    State slower = state;
    slower.u[static_cast<std::size_t>(j)] -= h;
    const Rates more = residuals(document, faster);
    const Rates less = residuals(document, slower);
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
      if (rows[i].level == 2)
      {
        continue;
      }
      const Real slope = (more.velocity[i] - less.velocity[i]) / (2 * h);
      const Real & entry = rows[i].a[static_cast<std::size_t>(j)];
      EXPECT_LE(abs(slope - entry), tolerance * (1 + abs(entry))) << rows[i].name;
      EXPECT_LE(abs(entry), rows[i].a_size[static_cast<std::size_t>(j)] * (1 + tolerance))
        << rows[i].name;
    }
  }
}

std::vector<std::string> all_scenarios()
{
  std::vector<std::string> out;
  for (const auto & entry : std::filesystem::directory_iterator(CD_SCENARIOS))
  {
    if (entry.path().extension() == ".yaml")
    {
      out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(
  Config, Scenarios, testing::ValuesIn(all_scenarios()),
  [](const testing::TestParamInfo<std::string> & scenario)
  { return std::filesystem::path(scenario.param).stem().string(); });

}  // namespace
}  // namespace invariance
