#pragma once

#include <memory>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <constrained_dynamics/dynamics.hpp>
#include <constrained_dynamics/reduction.hpp>
#include <constrained_dynamics/status.hpp>

namespace constrained_dynamics_controllers
{

/// The inputs that keep a constrained system at rest: against gravity and springs, with the help of
/// the constraints. Where the inputs cannot do it wholly, those that leave the least acceleration
/// in the norm of the inertia. Memory is taken once; one a thread.
class StaticTorque
{
public:
  explicit StaticTorque(std::shared_ptr<const constrained_dynamics::Dynamics> dynamics);

  /// Finds the inputs at (time, q) with the constraints that are active in `active`. `out` is
  /// untouched without output. Statuses: those of Dynamics::update_rows and Dynamics::reduce,
  /// kNonFiniteResult. Real-time safe: yes.
  [[nodiscard]] constrained_dynamics::Status find(
    double time, const constrained_dynamics::ConstVectorRef & q,
    const constrained_dynamics::Workspace & active,
    constrained_dynamics::VectorRef out) noexcept CD_NONBLOCKING;

private:
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics_;
  constrained_dynamics::Workspace workspace_;
  constrained_dynamics::Reduction reduction_;
  Eigen::VectorXd no_speeds_;
  Eigen::VectorXd force_;  // Q u̇_0
  Eigen::VectorXd inputs_;
  Eigen::MatrixXd metric_;  // H
  Eigen::LDLT<Eigen::MatrixXd> factor_;
};

}  // namespace constrained_dynamics_controllers
