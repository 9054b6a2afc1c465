// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formula/formula.hpp"
#include "constrained_dynamics/model/force_element.hpp"

namespace constrained_dynamics
{

/// How the effort of a spring depends on its value x (length or angle), its rate and time: linear,
///     effort = stiffness (x − rest) + damping ẋ,
/// or by a formula.
struct SpringLaw
{
  double stiffness = 0.0;  ///< [N/m, N m/rad], ≥ 0
  double damping = 0.0;    ///< [N s/m, N m s/rad], ≥ 0
  double rest = 0.0;       ///< x without force [m, rad]
  /// If not empty, the effort as a formula over x (`length` or `angle`), `rate`, `t` and
  /// `parameters`; stiffness, damping and rest must then be 0.
  std::string formula;
  /// Constants of the formula. Where a parameter has the name of a variable, the variable applies.
  std::vector<std::pair<std::string, double>> parameters;
};

/// A checked SpringLaw with its compiled formula.
class CONSTRAINED_DYNAMICS_EXPORT SpringEffort
{
public:
  /// @param owner for messages, e.g. "force element 'strut'".
  /// @param variable name of x in formulas: "length" or "angle".
  /// @throw std::invalid_argument for values out of range and formulas that cannot be parsed.
  SpringEffort(const std::string & owner, const std::string & variable, const SpringLaw & law);

  bool is_linear() const noexcept CD_NONBLOCKING { return is_linear_; }
  double stiffness() const noexcept CD_NONBLOCKING { return stiffness_; }
  double damping() const noexcept CD_NONBLOCKING { return damping_; }
  double rest() const noexcept CD_NONBLOCKING { return rest_; }
  /// Number of scratch scalars that `formula` needs.
  int scratch_size() const noexcept CD_NONBLOCKING;
  /// Value of the formula. @pre !is_linear(). Real-time safe: yes.
  template <class S>
  S formula(const S & x, const S & rate, double time, S * scratch) const noexcept CD_NONBLOCKING;

private:
  bool is_linear_;
  double stiffness_;
  double damping_;
  double rest_;
  FormulaProgram program_;
};

/// A spring and damper between the origins of A and B. Type id "spring". With p the position of A
/// in B, l = |p|, e = p/l:
///     (E40) tension F = stiffness (l − rest) + damping l̇, or a formula;   force on A: −F e.
/// A cable only pulls. A linear one is slack (F = 0) at l ≤ rest and never pushes: F ← max(F, 0).
/// A formula is cut off at 0 at every length.
///
/// Where the points coincide (l ≤ 1e-12 m) e is undefined. A linear spring with rest 0 then has the
/// limit along the motion, −stiffness p − damping ṗ, and an element without tension has no force.
/// Otherwise the status is kNonFiniteResult.
class CONSTRAINED_DYNAMICS_EXPORT Spring : public ForceElement
{
public:
  /// @param cable whether it only pulls.
  /// @throw std::invalid_argument for negative or non-finite values and bad formulas.
  Spring(
    const std::string & name, const std::string & frame_a, const std::string & frame_b,
    const SpringLaw & law, bool cable = false);

  /// Its keys and documentation.
  static ForceElementDescription description();

protected:
  Status do_evaluate(
    const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
    ForceElementState & state) const noexcept CD_NONBLOCKING override;
  Status do_evaluate_along(
    const RelativeMotionOf<Dual> & motion, Dual * scratch,
    ElementWrenchOf<Dual> & wrench) const noexcept CD_NONBLOCKING override;

private:
  template <class S>
  Status find(
    const RelativeMotionOf<S> & motion, S * scratch, ElementWrenchOf<S> & wrench,
    ForceElementState * state) const noexcept;

  SpringEffort effort_;
  bool cable_;
};

/// A torsion spring and damper between the axes of A and B. Type id "torsion_spring". With (η, ε)
/// the unit quaternion of the rotation of A in B, η ≥ 0, and ω the angular velocity of A in B:
///
/// About an axis a that is fixed in B, the value is the twist of the rotation about a, which is the
/// angle of a hinge if A turns about a only. s = a · ε:
///     (E41) θ = 2 atan2(s, η),  θ̇ = g · ω,  g = (η² a + η ε × a + s ε)/(η² + s²)
///           torque on A: −M g,  M = stiffness x + damping θ̇,  x = θ − rest, taken to [−π, π].
/// Turns are not counted. At x = ±π the torque changes its sign, and the energy is continuous. If
/// A is turned by 180° about an axis across a (η² + s² ≤ 1e-12), θ is undefined: kNonFiniteResult.
///
/// Without axis, the value is the angle |r| of the rotation vector r of A in B:
///     (E42) torque on A: −stiffness r − damping ω,   energy ½ stiffness |r|².
/// At |r| = π the torque changes its sign.
class CONSTRAINED_DYNAMICS_EXPORT TorsionSpring : public ForceElement
{
public:
  /// @param axis in B, of any nonzero length; none: all three axes, with a linear law and rest 0.
  /// @throw std::invalid_argument for negative or non-finite values, bad formulas, and laws that
  /// need an axis.
  TorsionSpring(
    const std::string & name, const std::string & frame_a, const std::string & frame_b,
    const SpringLaw & law, const std::optional<Eigen::Vector3d> & axis);

  /// Its keys and documentation.
  static ForceElementDescription description();

protected:
  Status do_evaluate(
    const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
    ForceElementState & state) const noexcept CD_NONBLOCKING override;
  Status do_evaluate_along(
    const RelativeMotionOf<Dual> & motion, Dual * scratch,
    ElementWrenchOf<Dual> & wrench) const noexcept CD_NONBLOCKING override;

private:
  template <class S>
  Status find(
    const RelativeMotionOf<S> & motion, S * scratch, ElementWrenchOf<S> & wrench,
    ForceElementState * state) const noexcept;

  SpringEffort effort_;
  std::optional<Eigen::Vector3d> axis_;
};

}  // namespace constrained_dynamics
