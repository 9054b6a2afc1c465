// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/loop_transmission.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include <Eigen/LU>

#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "servo/transmission_side.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr int kIterations = 20;
constexpr int kMostParts = 64;
// Residuals of rows and changes of coordinates below this count as met [rad, m].
constexpr double kMet = 1e-12;
// Positions leave out motions below this fraction of all speeds together: with more, a side would
// not find back from a singular position.
constexpr double kNoMotion = 1e-9;
// A larger change in one iteration would leave the branch [rad, m].
constexpr double kLargestChange = 1.0;

}  // namespace

struct LoopTransmission::Impl
{
  Impl(
    const Dynamics & the_dynamics, const State & state, const std::vector<std::string> & actuator,
    const std::vector<std::string> & joint, const LoopTransmissionOptions & the_options);

  void start(const State & state);
  /// Rows, motions and maps at q_trial. Statuses: kOk, kSingular (of the loops), failures.
  Status update() noexcept;
  /// Newton's method to side.goal.
  Status approach(TransmissionSide & side) noexcept;
  /// Whether the side has not passed a singular position since the last call.
  bool holds_branch(const TransmissionSide & side) noexcept;
  void hold() noexcept;
  Status move(
    TransmissionSide & side, const ConstVectorRef & target, const TransmissionSide & other,
    VectorRef out) noexcept;
  Status check(
    const TransmissionSide & from, const ConstVectorRef & in, const TransmissionSide & to,
    VectorRef out) const noexcept;

  Dynamics dynamics;
  LoopTransmissionOptions options;
  Workspace workspace;
  RowFactorisation rows;
  TransmissionSide actuators;
  TransmissionSide joints;
  Eigen::VectorXd rest;     // u = 0
  Eigen::MatrixXd motions;  // N (n × d)
  Eigen::MatrixXd last_motions;
  Eigen::MatrixXd held_motions;
  Eigen::PartialPivLU<Eigen::MatrixXd> turn;
  Eigen::MatrixXd overlap;
  Eigen::VectorXd q;
  Eigen::VectorXd held;
  Eigen::VectorXd negative;  // −φ
  Eigen::VectorXd beta;
  Eigen::VectorXd speeds;
  Eigen::VectorXd change;
  Eigen::VectorXd w;
  double time = 0.0;
  double worst_row = 0.0;
};

LoopTransmission::Impl::Impl(
  const Dynamics & the_dynamics, const State & state, const std::vector<std::string> & actuator,
  const std::vector<std::string> & joint, const LoopTransmissionOptions & the_options)
: dynamics(the_dynamics),
  options(the_options),
  workspace(Workspace::unanalysed(dynamics)),
  rows(dynamics.system().speed_count(), dynamics.constraints().row_count()),
  actuators(dynamics.system(), actuator, "actuators"),
  joints(dynamics.system(), joint, "joints")
{
  const auto check = [](const char * name, double value, double least)
  {
    if (!(value > least) || !std::isfinite(value))
    {
      std::ostringstream message;
      message << name << " is " << value << "; allowed: finite and above " << least;
      refuse_transmission(message.str());
    }
  };
  check("largest_ratio", options.largest_ratio, 1.0);
  check("largest_step", options.largest_step, 0.0);
  const ConstraintSet & set = dynamics.constraints();
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level != RowLevel::kPosition)
    {
      refuse_transmission(
        "row '" + set.row_name(row) + "' is not one of positions; allowed: position rows");
    }
  }
  const Eigen::Index n = dynamics.system().speed_count();
  rest.setZero(n);
  speeds.setZero(n);
  negative.setZero(set.row_count());
  beta.setZero(n);
  q = dynamics.system().neutral_coordinates();
  held = q;
  change = q;
  start(state);
}

void LoopTransmission::Impl::start(const State & state)
{
  if (state.q.size() != held.size())
  {
    refuse_transmission(
      "the state has " + std::to_string(state.q.size()) +
      " coordinates; allowed: " + std::to_string(held.size()));
  }
  time = state.time;
  State assembled{time, state.q, rest};
  Status status = dynamics.project_position(time, assembled.q, workspace);
  if (status != Status::kOk)
  {
    refuse_transmission(std::string("the state cannot be assembled: status ") + to_string(status));
  }
  workspace.reset(assembled);
  status = dynamics.evaluate_rows(time, assembled.q, rest, workspace);
  if (status != Status::kOk)
  {
    refuse_transmission(std::string("the rows cannot be evaluated: status ") + to_string(status));
  }
  if (workspace.rows().velocity.size() > 0 && workspace.rows().velocity.cwiseAbs().maxCoeff() > 0.0)
  {
    refuse_transmission("a row depends on time; allowed: rows of positions alone");
  }
  const Eigen::Index freedoms =
    dynamics.system().speed_count() - static_cast<Eigen::Index>(workspace.nominal_rank());
  motions.setZero(rest.size(), freedoms);
  held_motions = motions;
  overlap.setZero(freedoms, freedoms);
  turn = Eigen::PartialPivLU<Eigen::MatrixXd>(freedoms);
  w.setZero(freedoms);
  rows.reset_partition();
  for (TransmissionSide * side : {&actuators, &joints})
  {
    if (side->size() < freedoms || freedoms == 0)
    {
      std::ostringstream message;
      message << side->size() << " " << side->role << " for " << freedoms
              << " degrees of freedom; allowed: at least as many, and one or more degrees";
      refuse_transmission(message.str());
    }
    side->resize(freedoms);
  }
  q = assembled.q;
  status = update();
  for (const TransmissionSide * side : {&actuators, &joints})
  {
    if (status != Status::kOk || side->is_singular())
    {
      refuse_transmission(
        "at the state the " + side->role +
        " do not determine the motion: it is singular, or a degree of freedom moves none of them");
    }
  }
  actuators.branch = actuators.orientation;
  joints.branch = joints.orientation;
  hold();
}

Status LoopTransmission::Impl::update() noexcept
{
  Status status = dynamics.evaluate_rows(time, q, rest, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  const Rows & at = workspace.rows();
  status = rows.factor(
    at.jacobian, workspace.row_scale(), workspace.nominal_rank(), dynamics.options().rank);
  if (!has_output(status) || rows.order().size() - rows.rank() != motions.cols())
  {
    return has_output(status) ? Status::kSingular : status;
  }
  const Eigen::Index r = rows.rank();
  motions.setZero();
  for (Eigen::Index j = 0; j < motions.cols(); ++j)
  {
    motions(rows.order()(r + j), j) = 1.0;
    for (Eigen::Index i = 0; i < r; ++i)
    {
      motions(rows.order()(i), j) = rows.dependency()(i, j);
    }
  }
  const Eigen::MatrixXd & kinematic_matrix = workspace.terms().kinematic_matrix;
  actuators.update(kinematic_matrix, motions, options.largest_ratio);
  joints.update(kinematic_matrix, motions, options.largest_ratio);
  worst_row = at.position.size() > 0 ? at.position.cwiseAbs().maxCoeff() : 0.0;
  return status;
}

Status LoopTransmission::Impl::approach(TransmissionSide & side) noexcept
{
  for (int i = 0; i < kIterations; ++i)
  {
    const Status status = update();
    if (status != Status::kOk)
    {
      return status == Status::kSingular ? Status::kNotConverged : status;
    }
    // δ = δ_p + N w with A δ_p = −φ, and the side at its goal in the least-squares sense.
    const Eigen::Index r = rows.rank();
    negative = -workspace.rows().position;
    rows.particular(negative, beta.head(r));
    speeds.setZero();
    for (Eigen::Index k = 0; k < r; ++k)
    {
      speeds(rows.order()(k)) = beta(k);
    }
    const Eigen::MatrixXd & kinematic_matrix = workspace.terms().kinematic_matrix;
    for (Eigen::Index k = 0; k < side.size(); ++k)
    {
      const int coordinate = side.coordinates[static_cast<std::size_t>(k)];
      side.gap(k) = side.goal(k) - q(coordinate) - kinematic_matrix.row(coordinate).dot(speeds);
    }
    side.motion_of(side.gap, kNoMotion * motions.norm(), w);
    speeds.noalias() += motions * w;
    change.noalias() = kinematic_matrix * speeds;
    const double largest = change.cwiseAbs().maxCoeff();
    if (!(largest <= kLargestChange))
    {
      return Status::kNotConverged;
    }
    q += change;
    dynamics.system().normalise(q);
    if (largest <= kMet && worst_row <= kMet)
    {
      // A goal that cannot be reached stays away; contradicting values have a nearest motion.
      const bool is_met = side.size() > motions.cols() || side.gap.cwiseAbs().maxCoeff() <= kMet;
      return is_met ? Status::kOk : Status::kNotConverged;
    }
  }
  return Status::kNotConverged;
}

bool LoopTransmission::Impl::holds_branch(const TransmissionSide & side) noexcept
{
  // N may have another basis than before, of the other orientation.
  overlap.noalias() = last_motions.transpose() * motions;
  turn.compute(overlap);
  const int turned = turn.determinant() < 0.0 ? -1 : 1;
  for (TransmissionSide * each : {&actuators, &joints})
  {
    each->branch *= turned;
  }
  const bool holds = side.is_singular() || side.orientation == side.branch;
  for (TransmissionSide * each : {&actuators, &joints})
  {
    each->branch = each->is_singular() ? each->branch : each->orientation;
  }
  last_motions = motions;
  return holds;
}

void LoopTransmission::Impl::hold() noexcept
{
  held = q;
  held_motions = motions;
  last_motions = motions;
  actuators.held_branch = actuators.branch;
  joints.held_branch = joints.branch;
}

Status LoopTransmission::Impl::check(
  const TransmissionSide & from, const ConstVectorRef & in, const TransmissionSide & to,
  VectorRef out) const noexcept
{
  if (in.size() != from.size() || out.size() != to.size())
  {
    return Status::kSizeMismatch;
  }
  return in.allFinite() ? Status::kOk : Status::kNonFiniteInput;
}

Status LoopTransmission::Impl::move(
  TransmissionSide & side, const ConstVectorRef & target, const TransmissionSide & other,
  VectorRef out) noexcept
{
  const Status checked = check(side, target, other, out);
  if (checked != Status::kOk)
  {
    return checked;
  }
  for (Eigen::Index k = 0; k < side.size(); ++k)
  {
    side.start(k) = held(side.coordinates[static_cast<std::size_t>(k)]);
  }
  side.work = target - side.start;
  const double parts =
    std::max(1.0, std::ceil(side.work.cwiseAbs().maxCoeff() / options.largest_step));
  Status status = parts <= kMostParts ? Status::kOk : Status::kNotConverged;
  q = held;
  for (int part = 1; part <= parts && status == Status::kOk; ++part)
  {
    side.goal = side.start + (part / parts) * side.work;
    status = approach(side);
    status = status == Status::kOk && !holds_branch(side) ? Status::kNotConverged : status;
  }
  if (status != Status::kOk)
  {
    q = held;
    (void)update();
    last_motions = held_motions;
    actuators.branch = actuators.held_branch;
    joints.branch = joints.held_branch;
    return status;
  }
  hold();
  for (Eigen::Index k = 0; k < other.size(); ++k)
  {
    out(k) = held(other.coordinates[static_cast<std::size_t>(k)]);
  }
  return side.is_singular() ? Status::kSingular : Status::kOk;
}

LoopTransmission::LoopTransmission(
  const Dynamics & dynamics, const State & state, const std::vector<std::string> & actuators,
  const std::vector<std::string> & joints, const LoopTransmissionOptions & options)
: impl_(std::make_unique<Impl>(dynamics, state, actuators, joints, options))
{
}

LoopTransmission::~LoopTransmission() = default;
LoopTransmission::LoopTransmission(LoopTransmission &&) noexcept = default;
LoopTransmission & LoopTransmission::operator=(LoopTransmission &&) noexcept = default;

int LoopTransmission::actuator_count() const noexcept CD_NONBLOCKING
{
  return static_cast<int>(impl_->actuators.size());
}

int LoopTransmission::joint_count() const noexcept CD_NONBLOCKING
{
  return static_cast<int>(impl_->joints.size());
}

int LoopTransmission::degrees_of_freedom() const noexcept CD_NONBLOCKING
{
  return static_cast<int>(impl_->motions.cols());
}

const Eigen::VectorXd & LoopTransmission::coordinates() const noexcept CD_NONBLOCKING
{
  return impl_->held;
}

void LoopTransmission::start(const State & state) { impl_->start(state); }

Status LoopTransmission::actuators_to_joints(
  const ConstVectorRef & actuators, VectorRef joints) noexcept CD_NONBLOCKING
{
  return impl_->move(impl_->actuators, actuators, impl_->joints, joints);
}

Status LoopTransmission::joints_to_actuators(
  const ConstVectorRef & joints, VectorRef actuators) noexcept CD_NONBLOCKING
{
  return impl_->move(impl_->joints, joints, impl_->actuators, actuators);
}

namespace
{

/// v_to = N_to N_from⁺ v_from.
Status convert_velocities(
  const TransmissionSide & from, const ConstVectorRef & in, const TransmissionSide & to,
  Eigen::VectorXd & w, VectorRef out) noexcept
{
  from.motion_of(in, from.smallest, w);
  out.noalias() = to.map * w;
  return from.is_singular() ? Status::kSingular : Status::kOk;
}

/// N_toᵀ τ_to = N_fromᵀ τ_from.
Status convert_efforts(
  const TransmissionSide & from, const ConstVectorRef & in, const TransmissionSide & to,
  Eigen::VectorXd & w, VectorRef out) noexcept
{
  w.noalias() = from.map.transpose() * in;
  to.efforts_of(w, out);
  return to.is_singular() ? Status::kSingular : Status::kOk;
}

}  // namespace

Status LoopTransmission::actuator_velocities_to_joints(
  const ConstVectorRef & actuators, VectorRef joints) noexcept CD_NONBLOCKING
{
  const Status status = impl_->check(impl_->actuators, actuators, impl_->joints, joints);
  return status != Status::kOk
           ? status
           : convert_velocities(impl_->actuators, actuators, impl_->joints, impl_->w, joints);
}

Status LoopTransmission::joint_velocities_to_actuators(
  const ConstVectorRef & joints, VectorRef actuators) noexcept CD_NONBLOCKING
{
  const Status status = impl_->check(impl_->joints, joints, impl_->actuators, actuators);
  return status != Status::kOk
           ? status
           : convert_velocities(impl_->joints, joints, impl_->actuators, impl_->w, actuators);
}

Status LoopTransmission::actuator_efforts_to_joints(
  const ConstVectorRef & actuators, VectorRef joints) noexcept CD_NONBLOCKING
{
  const Status status = impl_->check(impl_->actuators, actuators, impl_->joints, joints);
  return status != Status::kOk
           ? status
           : convert_efforts(impl_->actuators, actuators, impl_->joints, impl_->w, joints);
}

Status LoopTransmission::joint_efforts_to_actuators(
  const ConstVectorRef & joints, VectorRef actuators) noexcept CD_NONBLOCKING
{
  const Status status = impl_->check(impl_->joints, joints, impl_->actuators, actuators);
  return status != Status::kOk
           ? status
           : convert_efforts(impl_->joints, joints, impl_->actuators, impl_->w, actuators);
}

}  // namespace constrained_dynamics
