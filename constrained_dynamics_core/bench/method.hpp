#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "workloads.hpp"

namespace constrained_dynamics::bench
{

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
  /// Accelerations of the last run in the order of the system's speeds.
  virtual Eigen::VectorXd acceleration() const = 0;
};

/// A method by name; `make` gives none where the method cannot express the workload.
struct MethodEntry
{
  std::string name;
  std::function<std::unique_ptr<Method>(const Workload &)> make;
};

using MethodList = std::vector<MethodEntry>;

MethodList library_methods();               ///< every formulation of the library
MethodList pinocchio_constraint_methods();  ///< constraintDynamics, aba

}  // namespace constrained_dynamics::bench
