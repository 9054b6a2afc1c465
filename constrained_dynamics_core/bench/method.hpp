// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace constrained_dynamics::bench
{

struct Workload;

/// One way to constrained forward dynamics, ready to run on one workload. All memory is taken when
/// it is made.
class Method
{
public:
  Method() = default;
  Method(const Method &) = delete;
  Method & operator=(const Method &) = delete;
  virtual ~Method() = default;

  /// Kinematics, inertia, bias, rows, accelerations and multipliers at the workload's state.
  virtual void run() = 0;
  /// Whether the last run gave a result.
  virtual bool succeeded() const { return true; }
  /// Accelerations of the last run in the order of the system's speeds.
  virtual Eigen::VectorXd acceleration() const = 0;
  /// Derivatives of the accelerations along the directions of the speeds and by the speeds
  /// (n × 2n), in the order of the system's speeds; empty where the method has none.
  virtual Eigen::MatrixXd by_state() const { return {}; }
};

/// A method by name; `make` gives none where the method cannot express the workload.
struct MethodEntry
{
  std::string name;
  std::function<std::unique_ptr<Method>(const Workload &)> make;
};

using MethodList = std::vector<MethodEntry>;

template <typename Type>
std::unique_ptr<Method> make_method(const Workload & workload)
{
  return std::make_unique<Type>(workload);
}

MethodList library_methods();               ///< every formulation of the library
MethodList dense_methods();                 ///< dense KKT with the library's terms
MethodList pinocchio_constraint_methods();  ///< constraintDynamics, derivatives, aba
MethodList pinocchio_pv_methods();          ///< pv, constrainedABA
MethodList pinocchio_lcaba_methods();       ///< lcaba
MethodList derivative_methods();            ///< solution and derivatives of the library
MethodList mujoco_methods();                ///< mj_forward
MethodList simbody_methods();               ///< realize(Acceleration)

/// What Method::by_state should be, by differences of the terms.
Eigen::MatrixXd reference_by_state(const Workload & workload);

}  // namespace constrained_dynamics::bench
