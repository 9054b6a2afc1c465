// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/frame_coincidence.hpp"

#include <algorithm>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/coincidence_rows.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

CoincidenceAxes::CoincidenceAxes(const std::vector<std::string> & rows)
{
  for (const std::string & row : rows)
  {
    axis.push_back(index_of_name("row", row, FrameCoincidence::all_rows()));
    rotation_count += axis.back() >= 3 ? 1 : 0;
  }
  for (int k = 0; k < 3 && rotation_count == 2; ++k)
  {
    if (std::find(axis.begin(), axis.end(), k + 3) == axis.end())
    {
      free_axis = k;
    }
  }
}

std::vector<RowDescription> CoincidenceAxes::describe(
  const std::string & owner, const std::vector<std::string> & rows)
{
  std::vector<RowDescription> result;
  for (const std::string & row : rows)
  {
    const int axis = index_of_name(owner + ": row", row, FrameCoincidence::all_rows());
    result.push_back({row, RowLevel::kPosition, axis >= 3});
  }
  return result;
}

std::vector<std::string> FrameCoincidence::all_rows() { return {"x", "y", "z", "rx", "ry", "rz"}; }

FrameCoincidence::FrameCoincidence(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const std::vector<std::string> & rows)
: FrameConstraint(
    name, "frame_coincidence", system, frame_a, frame_b,
    CoincidenceAxes::describe("constraint '" + name + "'", rows), 0,
    CoincidenceAxes(rows).rotation_count == 0),
  axes_(rows)
{
}

Status FrameCoincidence::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  return coincidence_rows(motion, axes_, out);
}

bool FrameCoincidence::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return coincidence_rows(motion, axes_, out) == Status::kOk;
}

ConstraintDescription FrameCoincidence::description()
{
  ConstraintDescription description;
  description.type = "frame_coincidence";
  description.python_name = "FrameCoincidence";
  description.text =
    "Frame A coincides with frame B in the chosen rows. Weld: all; ball: `x y z`; hinge about z: "
    "`x y z rx ry`; planar loop: two of `x y z`.";
  description.equation = "R_bᵀ (p_a − p_b) = 0, R_bᵀ R_a = 1; rows {rows}";
  description.rows = "the chosen ones (position)";
  description.keys =
    with_frames({describe_key("rows", KeyKind::kNames, "along and about the axes of B", all_rows())
                   .with_default(all_rows())});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const FrameCoincidence>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.names("rows"));
  };
  return description;
}

}  // namespace constrained_dynamics
