// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/force_drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/drawn_part.hpp"

namespace constrained_dynamics
{

namespace
{

// Order of the shapes of one wrench.
enum
{
  kForce,
  kTorque,
  kPoint,
  kName,
  kPerWrench
};

// Width of a space over the height of a letter; viewers make spaces very wide without one.
constexpr double kTextAspect = 0.3;
// Distance of the lines of the legend over the height of a letter.
constexpr double kLineDistance = 1.2;
// Room for numbers in texts.
constexpr std::size_t kNumbers = 64;

DrawnShape make_shape(
  const char * group, int id, ShapeKind kind, const Eigen::Vector3d & size, const Colour & colour)
{
  DrawnShape shape;
  shape.group = group;
  shape.id = id;
  shape.kind = kind;
  shape.size = size;
  shape.colour = colour;
  return shape;
}

/// "wall 20 N", "wall 20 N, 1.5 N m (cut)": what is long enough to be shown.
void write_name(
  const std::string & name, double force, double torque, const ForceStyle & style,
  std::string & text) noexcept
{
  const double force_length = style.force_scale * force;
  const double torque_length = style.torque_scale * torque;
  char numbers[kNumbers] = "";
  const char * separator = " ";
  std::size_t used = 0;
  const auto add = [&](const char * format, double value, double length)
  {
    if (length >= style.smallest_length)
    {
      const int count =
        std::snprintf(numbers + used, sizeof(numbers) - used, format, separator, value);
      used = std::min(sizeof(numbers) - 1, used + static_cast<std::size_t>(std::max(0, count)));
      separator = ", ";
    }
  };
  add("%s%.3g N", force, force_length);
  add("%s%.3g N m", torque, torque_length);
  text = name;
  text += numbers;
  if (std::max(force_length, torque_length) > style.largest_length)
  {
    text += " (cut)";
  }
}

/// Whether a constraint is the contact with a surface, which pushes from outside.
bool is_contact(const Constraint & constraint)
{
  const std::vector<DrawnPart> parts = constraint.drawing();
  return std::any_of(
    parts.begin(), parts.end(),
    [](const DrawnPart & part)
    {
      return part.kind == DrawnKind::kPlane || part.kind == DrawnKind::kSphere ||
             part.kind == DrawnKind::kDisk || part.kind == DrawnKind::kEllipsoid;
    });
}

std::string describe_scale(const char * kind, const char * unit, double metres)
{
  char text[kNumbers];
  std::snprintf(text, sizeof(text), "%s: 1 m = %.4g %s", kind, 1.0 / metres, unit);
  return text;
}

void demand(const char * name, double value, bool may_be_zero)
{
  if (!std::isfinite(value) || value < 0.0 || (value == 0.0 && !may_be_zero))
  {
    throw std::invalid_argument(
      "markers." + std::string(name) + ": " + std::to_string(value) +
      "; allowed: a number above 0" + (may_be_zero ? ", or 0" : ""));
  }
}

void demand(const char * name, const Colour & colour)
{
  for (const float part : colour)
  {
    if (!(part >= 0.0F && part <= 1.0F))
    {
      throw std::invalid_argument(
        "markers." + std::string(name) + ": " + std::to_string(part) +
        "; allowed: 4 numbers from 0 to 1");
    }
  }
}

}  // namespace

void check(const ForceStyle & style)
{
  demand("force_scale", style.force_scale, false);
  demand("torque_scale", style.torque_scale, false);
  demand("shaft_diameter", style.shaft_diameter, false);
  demand("smallest_length", style.smallest_length, true);
  demand("largest_length", style.largest_length, false);
  demand("text_height", style.text_height, false);
  demand("force_colour", style.force_colour);
  demand("torque_colour", style.torque_colour);
  demand("inactive_colour", style.inactive_colour);
  for (const double position : style.legend_position)
  {
    if (!std::isfinite(position))
    {
      throw std::invalid_argument(
        "markers.legend_position: " + std::to_string(position) + "; allowed: finite numbers");
    }
  }
}

const char * to_string(ShapeKind kind) noexcept CD_NONBLOCKING
{
  switch (kind)
  {
    case ShapeKind::kArrow:
      return "arrow";
    case ShapeKind::kSphere:
      return "sphere";
    case ShapeKind::kText:
      return "text";
  }
  return "unknown";
}

ForceDrawing::ForceDrawing(const Dynamics & dynamics, const ForceStyle & style) : style_(style)
{
  check(style);
  const ConstraintSet & constraints = dynamics.constraints();
  std::size_t longest = 0;
  for (int i = 0; i < constraints.size(); ++i)
  {
    const std::string & name = constraints[i].name();
    longest = std::max(longest, name.size());
    const int count = static_cast<int>(constraints[i].wrench_bodies().size());
    for (int k = 0; k < count; ++k)
    {
      add_wrench(i, constraints.wrench_offset(i) + k, name, is_contact(constraints[i]));
    }
  }
  if (style.legend)
  {
    add_legend(longest);
  }
}

void ForceDrawing::add_wrench(int constraint, int wrench, const std::string & name, bool is_contact)
{
  const double shaft = style_.shaft_diameter;
  // Length of the head: the viewer's own.
  const Eigen::Vector3d arrow(shaft, 2.0 * shaft, 0.0);
  const Eigen::Vector3d letters(kTextAspect * style_.text_height, 0.0, style_.text_height);
  wrenches_.push_back({constraint, static_cast<std::size_t>(wrench), name, is_contact});
  shapes_.push_back(make_shape("force", wrench, ShapeKind::kArrow, arrow, style_.force_colour));
  shapes_.push_back(make_shape("torque", wrench, ShapeKind::kArrow, arrow, style_.torque_colour));
  shapes_.push_back(make_shape(
    "point", wrench, ShapeKind::kSphere, Eigen::Vector3d::Constant(2.0 * shaft),
    style_.force_colour));
  shapes_.push_back(make_shape("name", wrench, ShapeKind::kText, letters, style_.force_colour));
  shapes_.back().text = name + std::string(kNumbers, ' ');
}

void ForceDrawing::add_legend(std::size_t longest_name)
{
  const std::array<std::pair<std::string, Colour>, 3> lines = {
    {{describe_scale("force", "N", style_.force_scale), style_.force_colour},
     {describe_scale("torque", "N m", style_.torque_scale), style_.torque_colour},
     {std::string(kNumbers + longest_name, ' '), style_.force_colour}}};
  const Eigen::Vector3d letters(kTextAspect * style_.text_height, 0.0, style_.text_height);
  for (std::size_t i = 0; i < lines.size(); ++i)
  {
    DrawnShape text =
      make_shape("legend", static_cast<int>(i), ShapeKind::kText, letters, lines[i].second);
    text.text = lines[i].first;
    // RViz ends on a text of spaces: the last line is shown once it is written.
    text.is_visible = i + 1 < lines.size();
    text.position = Eigen::Vector3d::Map(style_.legend_position.data());
    text.position.z() -= kLineDistance * style_.text_height * static_cast<double>(i);
    shapes_.push_back(std::move(text));
  }
}

void ForceDrawing::draw_arrow(
  const Eigen::Vector3d & point, const Eigen::Vector3d & arrow, bool ends_there,
  DrawnShape & shape) const noexcept
{
  const double length = arrow.norm();
  // Also where it is NaN.
  if (!(length >= style_.smallest_length))
  {
    shape.is_visible = false;
    return;
  }
  shape.is_visible = true;
  const Eigen::Vector3d shown = std::min(1.0, style_.largest_length / length) * arrow;
  shape.position = ends_there ? point - shown : point;
  shape.tip = shape.position + shown;
}

void ForceDrawing::draw_wrench(
  const DrawnWrench & drawn, bool is_active, const Wrench & wrench,
  DrawnShape * shapes) const noexcept
{
  const double force = wrench.force.norm();
  const double torque = wrench.torque.norm();
  // Sliding and compliant contacts push without being active.
  const bool acts = is_active || force > 0.0 || torque > 0.0;
  const Colour & colour = acts ? style_.force_colour : style_.inactive_colour;
  // From inside of the body the force of a surface would be hidden by it.
  const DrawnShape & arrow = shapes[kForce];
  draw_arrow(wrench.point, style_.force_scale * wrench.force, drawn.is_contact, shapes[kForce]);
  draw_arrow(wrench.point, style_.torque_scale * wrench.torque, false, shapes[kTorque]);
  shapes[kPoint].is_visible = true;
  shapes[kPoint].position = wrench.point;
  shapes[kPoint].colour = colour;
  shapes[kName].is_visible = true;
  // At the free end of the arrow, away from the frames at the point.
  const Eigen::Vector3d free_end =
    !arrow.is_visible ? wrench.point : (drawn.is_contact ? arrow.position : arrow.tip);
  shapes[kName].position = free_end + Eigen::Vector3d(0.0, 0.0, style_.text_height);
  shapes[kName].colour = colour;
  write_name(drawn.name, force, torque, style_, shapes[kName].text);
}

void ForceDrawing::update(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  const std::vector<WrenchPair> & wrenches = workspace.solution().wrenches;
  const DrawnWrench * largest = nullptr;
  double largest_force = 0.0;
  for (std::size_t i = 0; i < wrenches_.size(); ++i)
  {
    const DrawnWrench & drawn = wrenches_[i];
    const Wrench & wrench = wrenches[drawn.wrench].on_a;
    draw_wrench(
      drawn, workspace.is_active(drawn.constraint), wrench, shapes_.data() + i * kPerWrench);
    if (wrench.force.norm() > largest_force)
    {
      largest_force = wrench.force.norm();
      largest = &drawn;
    }
  }
  if (!style_.legend)
  {
    return;
  }
  DrawnShape & line = shapes_.back();
  line.is_visible = true;
  if (largest == nullptr)
  {
    line.text = "largest force: none";
    return;
  }
  char numbers[kNumbers];
  std::snprintf(numbers, sizeof(numbers), "largest force: %.4g N, ", largest_force);
  line.text = numbers;
  line.text += largest->name;
}

}  // namespace constrained_dynamics
