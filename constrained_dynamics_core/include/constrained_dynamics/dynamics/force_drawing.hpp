// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Red, green, blue and opacity, each from 0 to 1.
using Colour = std::array<float, 4>;

/// How the forces of constraints look in a picture.
struct ForceStyle
{
  double force_scale = 0.01;      ///< arrow length [m] per newton
  double torque_scale = 0.05;     ///< arrow length [m] per newton metre
  double shaft_diameter = 0.01;   ///< [m]
  double smallest_length = 1e-3;  ///< [m]; shorter arrows are not shown
  double largest_length = 1.0;    ///< [m]; longer arrows are cut, with a text that says so
  Colour force_colour{0.85F, 0.2F, 0.15F, 1.0F};
  Colour torque_colour{0.1F, 0.45F, 0.85F, 1.0F};
  Colour inactive_colour{0.6F, 0.6F, 0.6F, 0.4F};
  bool legend = true;                                    ///< scales, colours and the largest force
  double text_height = 0.05;                             ///< [m]
  std::array<double, 3> legend_position{0.0, 0.0, 1.5};  ///< in the world [m]
};

/// @throw std::invalid_argument naming the key that is not finite, negative or 0 where that is not
/// allowed, or a colour outside of 0 to 1.
CONSTRAINED_DYNAMICS_EXPORT void check(const ForceStyle & style);

/// What a shape of a picture is.
enum class ShapeKind
{
  kArrow,   ///< from `position` to `tip`; size: diameter of the shaft, of the head, 0
  kSphere,  ///< about `position`; size: its diameters
  kText,    ///< at `position`, facing the viewer; size: width of a space, 0, height of a letter
};

/// Stable name: "arrow", "sphere", "text".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ShapeKind kind) noexcept CD_NONBLOCKING;

/// One shape of a picture. Group and id never change; everything is expressed in the world.
struct DrawnShape
{
  std::string group;
  int id = 0;
  ShapeKind kind = ShapeKind::kArrow;
  bool is_visible = false;
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  ///< [m]
  Eigen::Vector3d tip = Eigen::Vector3d::Zero();       ///< of an arrow [m]
  Eigen::Vector3d size = Eigen::Vector3d::Zero();      ///< [m], see ShapeKind
  Colour colour{};
  std::string text;
};

/// The forces of all constraints as shapes, which viewers copy into their own terms.
///
/// Groups "force" and "torque" are arrows of the wrench on body A, "point" a sphere where it acts,
/// "name" a text with the magnitudes. Arrows start at the point; forces of contacts with a surface
/// end there, as they push from outside. Their ids are indices of wrenches
/// (ConstraintSet::wrench_offset). Group "legend" has three texts: scale of forces, scale of
/// torques, the largest force.
class CONSTRAINED_DYNAMICS_EXPORT ForceDrawing
{
public:
  /// Takes the memory of all shapes. A text that is not visible yet is as long as it will ever be,
  /// so that copies have room for it, too. Real-time safe: no.
  /// @throw std::invalid_argument as `check`.
  ForceDrawing(const Dynamics & dynamics, const ForceStyle & style);

  /// Draws the last solution of a workspace of the same Dynamics. Real-time safe: yes.
  void update(const Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Their number and order never change.
  const std::vector<DrawnShape> & shapes() const noexcept { return shapes_; }
  const ForceStyle & style() const noexcept { return style_; }

private:
  /// The four shapes of one wrench.
  struct DrawnWrench
  {
    int constraint;
    std::size_t wrench;  // index in Solution::wrenches
    std::string name;    // of the constraint
    bool is_contact;     // with a surface
  };

  void add_wrench(int constraint, int wrench, const std::string & name, bool is_contact);
  void add_legend(std::size_t longest_name);
  void draw_wrench(
    const DrawnWrench & drawn, bool is_active, const Wrench & wrench,
    DrawnShape * shapes) const noexcept;
  void draw_arrow(const Eigen::Vector3d & start, const Eigen::Vector3d & arrow, DrawnShape & shape)
    const noexcept;

  ForceStyle style_;
  std::vector<DrawnWrench> wrenches_;
  std::vector<DrawnShape> shapes_;
};

}  // namespace constrained_dynamics
