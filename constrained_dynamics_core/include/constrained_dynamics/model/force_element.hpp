// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formula/dual_eigen.hpp"
#include "constrained_dynamics/key_description.hpp"
#include "constrained_dynamics/model/relative_motion.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// The wrench of a force element on body A, about the origin of A and expressed in B. Body B
/// receives the opposite wrench about the same point. S is double, or Dual for derivatives.
template <class S>
struct ElementWrenchOf
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;

  Vector3 force = Vector3::Zero();   ///< [N]
  Vector3 torque = Vector3::Zero();  ///< [N m]
};
using ElementWrench = ElementWrenchOf<double>;

/// A force element at one state.
struct ForceElementState
{
  double value = 0.0;         ///< length [m] or angle [rad]
  double rate = 0.0;          ///< its derivative [m/s, rad/s]
  double effort = 0.0;        ///< tension [N] or torque [N m] that resists an increase of the value
  double energy = 0.0;        ///< stored [J]
  double stored_power = 0.0;  ///< derivative of the energy [W]
  double damper_power = 0.0;  ///< of the damper on both bodies, at most 0 [W]
  double supplied_power = 0.0;  ///< of a formula on both bodies [W]
  Wrench on_a;                  ///< on body A about the origin of A; body B receives the opposite
};

/// A force between frame A and frame B (which may be "world") that follows from their relative
/// motion: springs, dampers, cables. It belongs to a RigidBodySystem (SceneDescription::
/// force_elements), where it is part of P of (E2). Constant after construction.
///
/// Public methods are those that a system calls; derived classes implement the `do_…`.
class CONSTRAINED_DYNAMICS_EXPORT ForceElement
{
public:
  virtual ~ForceElement();
  ForceElement(const ForceElement &) = delete;
  ForceElement & operator=(const ForceElement &) = delete;

  const std::string & name() const { return name_; }
  /// Type id, e.g. "spring".
  const std::string & type() const { return type_; }
  const std::string & frame_a() const { return frame_a_; }
  const std::string & frame_b() const { return frame_b_; }

  /// Number of scratch scalars that the evaluations need.
  int scratch_size() const noexcept CD_NONBLOCKING { return scratch_size_; }

  /// The wrench at a relative motion, and everything of `state` except `on_a`. Statuses: kOk;
  /// kNonFiniteResult if the direction of the force is undefined or a formula is not finite.
  /// Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
    ForceElementState & state) const noexcept CD_NONBLOCKING;

  /// The wrench with its derivative along one direction. Statuses as for `evaluate`. Real-time
  /// safe: yes.
  [[nodiscard]] Status evaluate_along(
    const RelativeMotionOf<Dual> & motion, Dual * scratch,
    ElementWrenchOf<Dual> & wrench) const noexcept CD_NONBLOCKING
  {
    return do_evaluate_along(motion, scratch, wrench);
  }

protected:
  /// @throw std::invalid_argument for an empty name.
  ForceElement(
    std::string name, std::string type, std::string frame_a, std::string frame_b,
    int scratch_size = 0);

  /// Fills the wrench, and value, rate, effort, energy, stored_power and the power that is not
  /// stored; implement both functions by one template.
  virtual Status do_evaluate(
    const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
    ForceElementState & state) const noexcept CD_NONBLOCKING = 0;
  virtual Status do_evaluate_along(
    const RelativeMotionOf<Dual> & motion, Dual * scratch,
    ElementWrenchOf<Dual> & wrench) const noexcept CD_NONBLOCKING = 0;

private:
  std::string name_;
  std::string type_;
  std::string frame_a_;
  std::string frame_b_;
  int scratch_size_;
};

/// What messages call a force element: "force element 'name'".
CONSTRAINED_DYNAMICS_EXPORT std::string force_element_title(const std::string & name);

/// Arguments from which a force element is built.
struct ForceElementArguments
{
  const std::string & name;
  const KeyValues & keys;  ///< checked against the description
  /// Constants that formulas may use.
  const std::vector<std::pair<std::string, double>> & parameters;
};

/// Description of a type of force element. The reader of scenario files, the Python function and
/// the documentation are derived from it. A class has a static member `description()`;
/// src/model/force_element.cpp lists them.
struct CONSTRAINED_DYNAMICS_EXPORT ForceElementDescription
{
  std::string type;         ///< stable id, e.g. "spring"
  std::string python_name;  ///< e.g. "Spring"
  std::string text;         ///< what it does, a few sentences
  std::string equation;     ///< its force, on one line
  std::vector<KeyDescription> keys;
  /// Makes one. @throw std::invalid_argument, also KeyError, for keys that do not fit.
  std::function<std::shared_ptr<const ForceElement>(const ForceElementArguments &)> make;
};

/// All types that exist, in the order of the documentation.
CONSTRAINED_DYNAMICS_EXPORT const std::vector<ForceElementDescription> &
force_element_descriptions();

/// One of them. @throw std::invalid_argument naming the unknown type and those that exist.
CONSTRAINED_DYNAMICS_EXPORT const ForceElementDescription & force_element_description(
  const std::string & type);

/// Makes a force element of a type that is known only at run time.
/// @param keys values that were given; defaults are added here.
/// @throw std::invalid_argument for an unknown type and for keys that are missing or do not fit.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const ForceElement> make_force_element(
  const std::string & type, const std::string & name, KeyValues keys,
  const std::vector<std::pair<std::string, double>> & parameters = {});

}  // namespace constrained_dynamics
