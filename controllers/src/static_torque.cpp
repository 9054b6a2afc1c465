#include "constrained_dynamics_controllers/static_torque.hpp"

#include <algorithm>
#include <utility>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;

StaticTorque::StaticTorque(std::shared_ptr<const constrained_dynamics::Dynamics> dynamics)
: dynamics_(std::move(dynamics)), workspace_(*dynamics_), reduction_(*dynamics_)
{
  const Eigen::Index n = dynamics_->system().speed_count();
  const Eigen::Index l = dynamics_->system().input_count();
  no_speeds_.setZero(n);
  force_.setZero(n);
  inputs_.setZero(l);
  metric_.setIdentity(l, l);
  factor_ = Eigen::LDLT<Eigen::MatrixXd>(l);
  factor_.compute(metric_);
}

Status StaticTorque::find(
  double time, const constrained_dynamics::ConstVectorRef & q,
  const constrained_dynamics::Workspace & active,
  constrained_dynamics::VectorRef out) noexcept CD_NONBLOCKING
{
  // Directions that the inputs hardly move at all get no input.
  constexpr double kRegularisation = 1e-10;
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    if (workspace_.is_active(i) != active.is_active(i))
    {
      workspace_.set_active(i, active.is_active(i));
    }
  }
  Status status = dynamics_->update_rows(time, q, no_speeds_, workspace_);
  if (status != Status::kOk)
  {
    return status;
  }
  status = dynamics_->reduce(workspace_, reduction_, true);
  if (!constrained_dynamics::has_output(status))
  {
    return status;
  }
  // min ‖u̇_0 + Y τ‖ in the norm of Q:  H τ = −Yᵀ Q u̇_0,  H = Yᵀ Q Y  (E24)
  force_.noalias() = workspace_.terms().mass_matrix * reduction_.free_acceleration();
  inputs_.noalias() = -reduction_.input_response().transpose() * force_;
  metric_ = reduction_.effort_metric();
  const double size = std::max(metric_.diagonal().cwiseAbs().maxCoeff(), 1e-300);
  metric_.diagonal().array() += kRegularisation * size;
  factor_.compute(metric_);
  factor_.solveInPlace(inputs_);
  if (!inputs_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  out = inputs_;
  return status;
}

}  // namespace constrained_dynamics_controllers
