// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/prescribed_motion.hpp"

#include <algorithm>
#include <utility>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/joint_pairs.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

const std::vector<std::string> & axis_names()
{
  static const std::vector<std::string> names{"x", "y", "z"};
  return names;
}

std::vector<std::string> formulas_of(const std::vector<PrescribedComponent> & components)
{
  std::vector<std::string> result;
  for (const PrescribedComponent & component : components)
  {
    result.push_back(component.formula);
  }
  return result;
}

std::vector<RowDescription> describe(
  const std::string & name, const std::vector<PrescribedComponent> & components)
{
  std::vector<RowDescription> result;
  for (const PrescribedComponent & component : components)
  {
    index_of_name("constraint '" + name + "': axis", component.axis, axis_names());
    result.push_back({component.axis, RowLevel::kPosition, false});
  }
  return result;
}

}  // namespace

PrescribedCoordinate::PrescribedCoordinate(
  std::string name, const System & system, const std::string & coordinate,
  const std::string & formula, const FormulaNames & names)
: PrescribedCoordinate(
    name, system, coordinate,
    FormulaBinding(system, names, FormulaLevel::kTime, {formula}, "constraint '" + name + "'"))
{
}

PrescribedCoordinate::PrescribedCoordinate(
  std::string name, const System & system, const std::string & coordinate, FormulaBinding formula)
: Constraint(
    name, "prescribed_motion", system,
    {{coordinate, RowLevel::kPosition, are_angles(system, {system.coordinate_index(coordinate)})}},
    joint_pairs(system, {system.coordinate_index(coordinate)}),
    std::max(formula.jet_scratch_size(), system.coordinate_count())),
  formula_(std::move(formula)),
  coordinate_(system.coordinate_index(coordinate))
{
  set_speed_support(speeds_of_coordinates(system, {coordinate_}));
}

Status PrescribedCoordinate::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const Jet2 * f = formula_.evaluate_jets(data, scratch.buffer.data());
  if (!f)
  {
    return Status::kNonFiniteResult;
  }
  const SystemTerms & terms = data.terms;
  rows.position(0) = terms.coordinates(coordinate_) - f->value;
  rows.velocity(0) = terms.rates(coordinate_) - f->first;
  rows.jacobian.row(0) = terms.kinematic_matrix.row(coordinate_);
  rows.bias(0) = f->second - terms.acceleration_bias(coordinate_);
  return Status::kOk;
}

void PrescribedCoordinate::do_wrenches(
  const SystemData & data, ConstraintScratch &, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  if (!wrench_bodies().empty())
  {
    fill_joint_pair(system(), data, coordinate_, multipliers(0), *out);
  }
}

bool PrescribedCoordinate::do_differentiate(
  const SystemData & data, const SystemDerivatives & derivatives,
  const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
{
  auto force = scratch.buffer.head(system().coordinate_count());
  force.setZero();
  differentiate_coordinate_term(derivatives, coordinate_, 1.0, multipliers(0), 0, out, force);
  system().add_coordinate_force_derivatives(data, force, out.force_q);
  return true;
}

PrescribedPosition::PrescribedPosition(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const std::vector<PrescribedComponent> & components, const FormulaNames & names)
: PrescribedPosition(
    name, system, frame_a, frame_b, components,
    FormulaBinding(
      system, names, FormulaLevel::kTime, formulas_of(components), "constraint '" + name + "'"))
{
}

PrescribedPosition::PrescribedPosition(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const std::vector<PrescribedComponent> & components, FormulaBinding formulas)
: FrameConstraint(
    name, "prescribed_motion", system, frame_a, frame_b, describe(name, components),
    formulas.jet_scratch_size()),
  formulas_(std::move(formulas))
{
  for (const PrescribedComponent & component : components)
  {
    axes_.push_back(index_of_name("axis", component.axis, axis_names()));
  }
}

Status PrescribedPosition::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch & scratch,
  FrameRows & out) const noexcept CD_NONBLOCKING
{
  const Jet2 * f = formulas_.evaluate_jets(motion.time, scratch.buffer.data());
  if (!f)
  {
    return Status::kNonFiniteResult;
  }
  for (std::size_t i = 0; i < axes_.size(); ++i)
  {
    FrameRow & row = out.row[i];
    row.position = motion.position(axes_[i]) - f[i].value;
    row.velocity = motion.velocity(axes_[i]) - f[i].first;
    row.linear = Eigen::Vector3d::Unit(axes_[i]);
    row.bias = f[i].second - motion.acceleration_bias(axes_[i]);
  }
  return Status::kOk;
}

// Time is constant here, so the functions of time do not change.
bool PrescribedPosition::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  for (std::size_t i = 0; i < axes_.size(); ++i)
  {
    FrameRowOf<Dual> & row = out.row[i];
    row.position = motion.position(axes_[i]);
    row.velocity = motion.velocity(axes_[i]);
    row.linear = Eigen::Vector3d::Unit(axes_[i]).cast<Dual>();
    row.bias = -motion.acceleration_bias(axes_[i]);
  }
  return true;
}

namespace
{

std::shared_ptr<const Constraint> make_prescribed_motion(const ConstraintArguments & given)
{
  const KeyValues & keys = given.keys;
  const NamedFormulas & motion = keys.formulas("motion");
  const bool is_one_formula = motion.size() == 1 && motion[0].first.empty();
  if (keys.has("coordinate"))
  {
    if (keys.is_given("frame_a") || keys.is_given("frame_b"))
    {
      throw KeyError("", "allowed: either 'coordinate' or 'frame_a' (and 'frame_b')");
    }
    if (!is_one_formula)
    {
      throw KeyError("motion", "allowed: a formula");
    }
    return std::make_shared<const PrescribedCoordinate>(
      given.name, given.system, keys.text("coordinate"), motion[0].second, given.formula_names);
  }
  if (!keys.has("frame_a"))
  {
    throw KeyError("", "the key 'coordinate' or 'frame_a' is missing");
  }
  if (is_one_formula)
  {
    throw KeyError("motion", "allowed: a map with keys from x, y, z");
  }
  std::vector<PrescribedComponent> components;
  for (const auto & [axis, formula] : motion)
  {
    components.push_back({axis, formula});
  }
  return std::make_shared<const PrescribedPosition>(
    given.name, given.system, keys.text("frame_a"), keys.text("frame_b"), components,
    given.formula_names);
}

}  // namespace

ConstraintDescription describe_prescribed_motion()
{
  ConstraintDescription description;
  description.type = "prescribed_motion";
  description.python_name = "PrescribedMotion";
  description.text =
    "A coordinate, or the origin of A in B, follows functions of time (rheonomic). Give either "
    "`coordinate` with one formula, or `frame_a` with a map.";
  description.equation = "q = motion(t)";
  description.rows = "the name of the coordinate, or the chosen axes (position)";
  description.keys = {
    describe_key("coordinate", KeyKind::kCoordinate, "the coordinate").optional(),
    describe_key("frame_a", KeyKind::kFrame, "frame A").optional(),
    describe_key("frame_b", KeyKind::kFrame, "frame B").with_default("world"),
    describe_key(
      "motion", KeyKind::kFormulaOrMap, "over `t`, parameters and definitions [m or rad]",
      {"x", "y", "z"})};
  description.make = make_prescribed_motion;
  return description;
}

}  // namespace constrained_dynamics
