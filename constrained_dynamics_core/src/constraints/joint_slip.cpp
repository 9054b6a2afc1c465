// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_slip.hpp"

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/joint_pairs.hpp"

namespace constrained_dynamics
{

JointSlip::JointSlip(std::string name, const System & system, const std::string & joint)
: Constraint(
    std::move(name), "joint_slip", system,
    {{joint, RowLevel::kVelocity, are_angles(system, {system.coordinate_index(joint)})}},
    joint_pairs(system, {system.coordinate_index(joint)})),
  coordinate_(system.coordinate_index(joint)),
  speed_(system.speed_index("d" + joint))
{
  set_speed_support({speed_});
}

Status JointSlip::do_evaluate(
  const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept CD_NONBLOCKING
{
  rows.position(0) = 0.0;
  rows.velocity(0) = data.terms.speeds(speed_);
  rows.jacobian.setZero();
  rows.jacobian(0, speed_) = 1.0;
  rows.bias(0) = 0.0;
  return Status::kOk;
}

void JointSlip::do_wrenches(
  const SystemData & data, ConstraintScratch &, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  fill_joint_pair(system(), data, coordinate_, multipliers(0), *out);
}

ConstraintDescription JointSlip::description()
{
  ConstraintDescription description;
  description.type = "joint_slip";
  description.python_name = "JointSlip";
  description.text =
    "The speed of a joint with one degree of freedom. Joint friction acts on it; while it is "
    "enforced, the joint is locked.";
  description.equation = "dq = 0";
  description.rows = "the name of the joint (velocity)";
  description.keys = {
    describe_key("joint", KeyKind::kCoordinate, "a coordinate whose rate is a speed")};
  description.make = [](const ConstraintArguments & given)
  { return std::make_shared<const JointSlip>(given.name, given.system, given.keys.text("joint")); };
  return description;
}

}  // namespace constrained_dynamics
