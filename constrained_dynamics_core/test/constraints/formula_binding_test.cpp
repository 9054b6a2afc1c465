// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/formula_binding.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

TEST(FormulaBinding, when_few_variables_are_used_expect_only_those)
{
  const auto system = robot("arm_6");
  const FormulaBinding binding(
    *system, {}, FormulaLevel::kVelocity, {"j2 + vx(frame_a)", "wz(frame_a)*t"}, "input");
  std::vector<std::string> names;
  for (int i = 0; i < binding.variable_count(); ++i)
  {
    if (!binding.variable_name(i).empty())
    {
      names.push_back(binding.variable_name(i));
    }
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("j2", "vx(frame_a)", "wz(frame_a)", "t"));
  EXPECT_TRUE(binding.uses(0, FormulaLevel::kPosition));
  EXPECT_FALSE(binding.uses(1, FormulaLevel::kPosition));
  EXPECT_TRUE(binding.uses(1, FormulaLevel::kVelocity));
}

TEST(FormulaBinding, when_evaluated_expect_the_state_and_no_allocation)
{
  const auto system = robot("two_bodies");
  FormulaNames names;
  names.parameters = {{"gain", 3.0}};
  const FormulaBinding binding(
    *system, names, FormulaLevel::kVelocity,
    {"t", "left_x", "left_vx", "dleft_x", "px(left)", "vy(left)", "wz(left)", "-gain*wz(left)"},
    "input");
  BodyState left;
  left.position = {1.0, 2.0, 3.0};
  left.rotation = Eigen::AngleAxisd(std::acos(-1.0) / 2.0, Eigen::Vector3d::UnitZ());
  left.velocity = {4.0, 5.0, 6.0};
  left.angular_velocity = {0.0, 0.0, 7.0};
  const TestState s = two_bodies_state(left);
  const auto data = system->make_data();
  ASSERT_EQ(system->update_kinematics(0.25, s.q, s.u, *data), Status::kOk);
  std::vector<double> scratch(static_cast<std::size_t>(binding.value_scratch_size()));
  std::vector<double> out(8);
  const long before = allocation_count();
  const Status status = binding.evaluate(*data, scratch.data(), out.data());
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_EQ(status, Status::kOk);
  const std::vector<double> expected{0.25, 1.0, 5.0, 4.0, 1.0, 5.0, 7.0, -21.0};
  for (std::size_t i = 0; i < expected.size(); ++i)
  {
    EXPECT_NEAR(out[i], expected[i], 1e-14) << i;
  }
}

TEST(FormulaBinding, when_value_does_not_exist_expect_status_and_untouched_output)
{
  const auto system = robot("planar_2r");
  const FormulaBinding binding(*system, {}, FormulaLevel::kPosition, {"t", "log(j1)"}, "input");
  const auto data = system->make_data();
  const Eigen::Vector2d q(-1.0, 0.0);
  ASSERT_EQ(system->update_kinematics(0.0, q, q, *data), Status::kOk);
  std::vector<double> scratch(static_cast<std::size_t>(binding.value_scratch_size()));
  std::vector<double> out{42.0, 42.0};
  EXPECT_EQ(binding.evaluate(*data, scratch.data(), out.data()), Status::kNonFiniteResult);
  EXPECT_EQ(out, (std::vector<double>{42.0, 42.0}));
}

TEST(FormulaBinding, when_definitions_use_more_than_the_formula_expect_only_what_the_formula_uses)
{
  const auto system = robot("planar_2r");
  FormulaNames names;
  names.definitions = {{"energy", "dj1^2 + px(link2)"}, {"twice", "2*t"}};
  const FormulaBinding binding(*system, names, FormulaLevel::kTime, {"twice + 1"}, "motion");
  std::vector<double> scratch(static_cast<std::size_t>(binding.jet_scratch_size()));
  const Jet2 * out = binding.evaluate_jets(3.0, scratch.data());
  ASSERT_NE(out, nullptr);
  EXPECT_DOUBLE_EQ(out->value, 7.0);
  EXPECT_DOUBLE_EQ(out->first, 2.0);
  EXPECT_DOUBLE_EQ(out->second, 0.0);
}

TEST(FormulaBinding, when_names_are_wrong_expect_messages)
{
  const auto system = robot("planar_2r");
  const auto message = [&](FormulaLevel level, const std::string & text)
  {
    return message_of_invalid_argument(
      [&] { FormulaBinding(*system, {}, level, {text}, "input 'motor'"); });
  };
  EXPECT_THAT(message(FormulaLevel::kVelocity, "px(hand)"), HasSubstr("hand"));
  EXPECT_THAT(message(FormulaLevel::kVelocity, "ddj1"), HasSubstr("'ddj1', an acceleration"));
  EXPECT_THAT(message(FormulaLevel::kPosition, "vx(link2)"), HasSubstr("'vx(link2)', a velocity"));
  EXPECT_THAT(message(FormulaLevel::kTime, "j1"), HasSubstr("input 'motor'"));
  EXPECT_THAT(message(FormulaLevel::kVelocity, "shoulder"), HasSubstr("shoulder"));
}

}  // namespace constrained_dynamics::test
