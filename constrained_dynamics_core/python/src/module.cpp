// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cstdlib>
#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/version.hpp"
#include "scenario/real_robots.hpp"

namespace constrained_dynamics::python
{

Eigen::Map<const Eigen::VectorXd> view(const VectorArgument & vector, const char * name)
{
  if (vector.is_column())
  {
    const std::string n = std::to_string(vector.size());
    throw std::invalid_argument(
      std::string(name) + " has the shape (" + n + ", 1); allowed: one dimension, (" + n +
      ",), as of a.ravel()");
  }
  return {vector.array().data(), vector.size()};
}

Eigen::Map<const Eigen::VectorXd> checked(
  const VectorArgument & vector, Eigen::Index size, const char * name)
{
  if (vector.size() != size)
  {
    throw std::invalid_argument(
      std::string(name) + " has " + std::to_string(vector.size()) + " elements; " +
      std::to_string(size) + " are needed");
  }
  return view(vector, name);
}

Eigen::MatrixXd matrix(const MatrixArgument & matrix)
{
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(
    matrix.array().data(), static_cast<Eigen::Index>(matrix.array().shape(0)),
    static_cast<Eigen::Index>(matrix.array().shape(1)));
}

InputArgument::InputArgument(const std::optional<VectorArgument> & given, int count)
: data_(nullptr), count_(count)
{
  if (given)
  {
    data_ = checked(*given, count, "inputs").data();
  }
  else
  {
    zeros_.setZero(count);
    data_ = zeros_.data();
  }
}

void require_output(Status status, const char * what)
{
  if (!has_output(status))
  {
    throw std::runtime_error(std::string(what) + ": status " + to_string(status));
  }
}

void bind_basics(nb::module_ & module)
{
  nb::enum_<Status>(
    module, "Status",
    "What happened in a function of the control cycle. Outputs are written for OK, SINGULAR,\n"
    "INCONSISTENT, LIMITED and INACCURATE only (see has_output).")
    .value("OK", Status::kOk, "The asked-for thing happened.")
    .value("SINGULAR", Status::kSingular, "The rank of the rows fell below their nominal rank.")
    .value("INCONSISTENT", Status::kInconsistent, "The rows contradict each other.")
    .value(
      "LIMITED", Status::kLimited,
      "Limits of the controls bind: outputs are for the closest motion within them.")
    .value(
      "INACCURATE", Status::kInaccurate,
      "A run reached its end, but its energy balance or step error exceeds the tolerance.")
    .value("NON_FINITE_INPUT", Status::kNonFiniteInput, "An input is NaN or infinite.")
    .value("NON_FINITE_RESULT", Status::kNonFiniteResult, "A result would be NaN or infinite.")
    .value("SIZE_MISMATCH", Status::kSizeMismatch, "A vector has the wrong size.")
    .value(
      "SINGULAR_INERTIA", Status::kSingularInertia,
      "The inertia that the constraints leave is not positive definite.")
    .value(
      "SINGULAR_KINEMATICS", Status::kSingularKinematics,
      "The speeds do not determine the rates of the coordinates here.")
    .value("NOT_CONVERGED", Status::kNotConverged, "An iteration reached its bound.")
    .value(
      "USER_FUNCTION_FAILED", Status::kUserFunctionFailed, "A user's function raised an exception.")
    .value(
      "NO_UNIQUE_SOLUTION", Status::kNoUniqueSolution,
      "Dry friction leaves no or more than one motion (Painlevé).")
    .value("INFEASIBLE", Status::kInfeasible, "No values meet all limits and rows at once.")
    .value("INTERRUPTED", Status::kInterrupted, "A run was asked to end.")
    .value("NO_STATE", Status::kNoState, "The workspace is at no state.")
    .value("DECLINED", Status::kDeclined, "The formulation does not answer this problem.")
    .value("FOREIGN_WORKSPACE", Status::kForeignWorkspace, "Made for another Dynamics.");
  module.def(
    "has_output", [](Status status) { return has_output(status); }, "status"_a,
    "Whether a function that returned this status wrote its outputs.");
  module.def(
    "status_name", [](Status status) { return std::string(to_string(status)); }, "status"_a,
    "Stable name of a status, as `cdyn` prints it: 'ok', 'singular', …");

  nb::enum_<RowLevel>(module, "RowLevel", "At which level a row is given.")
    .value("POSITION", RowLevel::kPosition, "φ(q, t) = 0")
    .value("VELOCITY", RowLevel::kVelocity, "ψ(q, u, t) = 0, linear or nonlinear in u")
    .value("ACCELERATION", RowLevel::kAcceleration, "A u̇ + c0 = 0");
}

}  // namespace constrained_dynamics::python

NB_MODULE(_core, module)
{
  using namespace constrained_dynamics::python;
  module.doc() = "Constrained robot dynamics: systems, constraints, forces, simulation.";
  // A function at the top of a script refers to the names of the script, and the constraint made
  // from it refers to the function. Only the operating system frees such a cycle at exit; that is
  // no error.
  nanobind::set_leak_warnings(std::getenv("CD_LEAK_WARNINGS") != nullptr);
  bind_basics(module);
  bind_systems(module);
  bind_constraints(module);
  bind_python_constraints(module);
  bind_dynamics(module);
  bind_contacts(module);
  bind_servo(module);
  bind_simulation(module);
  bind_analysis(module);
  bind_scenario(module);
  bind_hosted_scenario(module);
  bind_real_robots(module);
  module.attr("__version__") = constrained_dynamics::version();
}
