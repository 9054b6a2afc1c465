// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/constraint_description.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

namespace
{

const KeyDescription & key_of(const ConstraintDescription & description, const std::string & name)
{
  for (const KeyDescription & key : description.keys)
  {
    if (key.name == name)
    {
      return key;
    }
  }
  throw std::invalid_argument("no key " + name);
}

TEST(ConstraintDescription, when_listed_expect_unique_types_with_texts)
{
  std::set<std::string> types;
  std::set<std::string> names;
  for (const ConstraintDescription & description : constraint_descriptions())
  {
    SCOPED_TRACE(description.type);
    EXPECT_TRUE(types.insert(description.type).second);
    EXPECT_TRUE(names.insert(description.python_name).second);
    EXPECT_FALSE(description.text.empty());
    EXPECT_FALSE(description.equation.empty());
    EXPECT_FALSE(description.rows.empty());
    EXPECT_TRUE(description.make);
    std::set<std::string> keys;
    for (const KeyDescription & key : description.keys)
    {
      EXPECT_TRUE(keys.insert(key.name).second) << key.name;
      EXPECT_FALSE(key.text.empty()) << key.name;
      if (key.default_value)
      {
        EXPECT_FALSE(key.required) << key.name;
        EXPECT_EQ(key_problem(key, *key.default_value), "") << key.name;
      }
    }
  }
}

TEST(ConstraintDescription, when_made_from_keys_expect_the_type_with_its_defaults)
{
  const auto system = robot("two_bodies");
  const ConstraintDescription & description = constraint_description("point_on_plane");
  KeyValues keys;
  keys.give(key_of(description, "frame_a"), "left");
  keys.give(key_of(description, "normal"), Eigen::Vector3d(0.0, 0.0, 2.0));
  const auto plane = make_constraint("point_on_plane", "floor", *system, keys);
  EXPECT_EQ(plane->type(), "point_on_plane");
  EXPECT_EQ(plane->wrench_bodies().at(0).frame_b, "world");
  const std::vector<DrawnPart> drawing = plane->drawing();
  ASSERT_EQ(drawing.size(), 1U);
  EXPECT_STREQ(to_string(drawing[0].kind), "plane");
  EXPECT_EQ(drawing[0].direction, Eigen::Vector3d::UnitZ());
  EXPECT_EQ(drawing[0].offset, 0.0);
  EXPECT_NE(plane->as_frame_constraint(), nullptr);
  EXPECT_EQ(plane->as_compliant_row(), nullptr);
}

TEST(ConstraintDescription, when_keys_do_not_fit_expect_message_with_name_and_key)
{
  const auto system = robot("two_bodies");
  const auto message = [&](const std::string & type, const KeyValues & keys)
  {
    try
    {
      const auto unused = make_constraint(type, "c", *system, keys);
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message("distance", {}), "constraint 'c': the key 'frame_a' is missing");
  EXPECT_NE(message("spring", {}).find("knife_edge"), std::string::npos);
  const ConstraintDescription & joint = constraint_description("joint");
  KeyValues both;
  both.give(key_of(joint, "joints"), NamedNumbers{{"hinge", 0.0}});
  both.give(key_of(joint, "value"), 1.0);
  EXPECT_EQ(
    message("joint", both),
    "constraint 'c': value: belongs to 'joint'; write joints: {name: value, …}");
}

TEST(KeyDescription, when_number_is_out_of_range_expect_what_is_allowed)
{
  const KeyDescription any = describe_key("x", KeyKind::kNumber, "");
  EXPECT_EQ(key_problem(any, -1e9), "");
  EXPECT_EQ(key_problem(any, std::nan("")), "allowed: a finite number");
  EXPECT_EQ(key_problem(any.above(0.0), 0.0), "allowed: a number above 0");
  EXPECT_EQ(key_problem(any.above(0.0), 1e-300), "");
  EXPECT_EQ(key_problem(any.at_least(0.0), -1e-9), "allowed: a number not below 0");
  EXPECT_EQ(key_problem(any.at_least(0.0), 0.0), "");
  EXPECT_EQ(key_problem(any.at_least(0.0).at_most(1.0), 1.1), "allowed: a number from 0 to 1");
  EXPECT_EQ(key_problem(describe_key("x", KeyKind::kChoice, "", {"a", "b"}), "c"), "allowed: a, b");
}

TEST(KeyDescription, when_written_expect_type_and_default)
{
  const KeyDescription number = describe_key("x", KeyKind::kNumber, "");
  EXPECT_EQ(key_type_text(number.above(0.0)), "number > 0");
  EXPECT_EQ(key_type_text(number.at_least(0.0).at_most(1.0)), "number, 0 to 1");
  EXPECT_EQ(key_default_text(number), "required");
  EXPECT_EQ(key_default_text(number.optional()), "optional");
  EXPECT_EQ(key_default_text(number.with_default(0.5)), "`0.5`");
  EXPECT_EQ(
    key_default_text(
      describe_key("v", KeyKind::kVector, "").with_default(Eigen::Vector3d(0.0, 0.0, 1.0))),
    "`[0, 0, 1]`");
}

}  // namespace

}  // namespace constrained_dynamics::test
