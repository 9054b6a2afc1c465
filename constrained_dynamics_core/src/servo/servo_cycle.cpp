// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/servo_scratch.hpp"

// A cycle of a ServoLaw.

namespace constrained_dynamics
{

namespace
{

/// bias += Θ values.
void add_gain(const Gain & gain, const ConstVectorRef & values, VectorRef bias) noexcept
{
  if (gain.is_matrix())
  {
    bias.noalias() += gain.matrix() * values;
  }
  else
  {
    bias += gain.scalar() * values;
  }
}

/// What the first m columns of A_sᵀ, taken as forces, do to the motion, and A_s times that.
template <typename Scratch>
void find_gram(Reduction & reduction, Eigen::Index m, Scratch & work) noexcept
{
  const auto A = work.level_A.leftCols(m);
  auto response = work.response.leftCols(m);
  reduction.respond(A, response);
  work.gram.topLeftCorner(m, m).noalias() = A.transpose() * response;
}

/// Whether the controls bring a limited coordinate's acceleration to its bound, or beyond.
template <typename Scratch>
bool binds(const Scratch & work, int i) noexcept
{
  constexpr double kNear = 1e-6;
  const double value = work.motion_rows.row(i).dot(work.tau) + work.motion_offset(i);
  const double near = kNear * (1.0 + std::abs(value));
  return value >= work.motion_bounds->upper()(i) - near ||
         value <= work.motion_bounds->lower()(i) + near;
}

}  // namespace

bool ServoLaw::fits(const ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  const auto matches = [](const Gain & gain, Eigen::Index rows) noexcept
  { return !gain.is_matrix() || (gain.matrix().rows() == rows && gain.matrix().cols() == rows); };
  if (
    workspace.gains_.size() != tasks_.size() || workspace.rows_.bias.size() != row_count_ ||
    workspace.external_null_vector_.size() != passive_->system().input_count())
  {
    return false;
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const ErrorDynamics & gains = workspace.gains_[i];
    const Eigen::Index rows = tasks_[i].constraint->row_count();
    if (
      !matches(gains.velocity, rows) || !matches(gains.position, rows) ||
      !matches(gains.first_order, rows))
    {
      return false;
    }
  }
  return true;
}

Status ServoLaw::evaluate_rows(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  Rows & rows = workspace.rows_;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    if (!workspace.enabled_[i])
    {
      continue;
    }
    const ServoConstraint & constraint = *tasks_[i].constraint;
    const Eigen::Index offset = offsets_[i];
    const Eigen::Index count = constraint.row_count();
    RowBlock block{
      rows.position.segment(offset, count), rows.velocity.segment(offset, count),
      rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
    const Status status = constraint.evaluate(
      workspace.workspace_.system_data(), workspace.scratch_, workspace.references_[i], block);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  return Status::kOk;
}

Status ServoLaw::form(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  Workspace & passive = workspace.workspace_;
  Reduction & reduction = workspace.reduction_;
  Status status = passive_->set_state(time, q, u, passive);
  if (status != Status::kOk)
  {
    return status;
  }
  const Status reduced = passive_->reduce(
    passive, reduction, {options_.metric == ServoMetric::kIdeal, uses_forces_});
  if (!has_output(reduced))
  {
    return reduced;
  }
  status = evaluate_rows(workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  // (E14), with the wished motion of the errors (E23) in b_s.
  ServoWorkspace::Scratch & work = *workspace.work_;
  Rows & rows = workspace.rows_;
  work.z = rows.bias;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const ServoConstraint & constraint = *tasks_[i].constraint;
    const ErrorDynamics & gains = workspace.gains_[i];
    const Eigen::Index offset = offsets_[i];
    const Eigen::Index count = constraint.row_count();
    auto z = work.z.segment(offset, count);
    auto S = work.S.middleRows(offset, count);
    if (!workspace.enabled_[i])
    {
      z.setZero();
      S.setZero();
      continue;
    }
    if (const ForceServo * force = force_of_[i])
    {
      for (Eigen::Index k = 0; k < count; ++k)
      {
        const int row = force->passive_rows()[static_cast<std::size_t>(k)];
        S.row(k) = reduction.multiplier_response().row(row);
        z(k) = workspace.references_[i].position(k) - reduction.free_multipliers()(row);
      }
      continue;
    }
    // Levels are told by which of e and ė belongs to a row; the other gain meets a zero.
    bool position = false;
    bool velocity = false;
    for (const RowDescription & row : constraint.rows())
    {
      position = position || row.level == RowLevel::kPosition;
      velocity = velocity || row.level == RowLevel::kVelocity;
    }
    if (position)
    {
      add_gain(gains.velocity, rows.velocity.segment(offset, count), z);
      add_gain(gains.position, rows.position.segment(offset, count), z);
    }
    else if (velocity)
    {
      add_gain(gains.first_order, rows.velocity.segment(offset, count), z);
    }
    const auto A = rows.jacobian.middleRows(offset, count);
    multiply(A, reduction.input_response(), S);
    z.noalias() -= A * reduction.free_acceleration();
  }
  if (!is_finite(work.S) || !work.z.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  return reduced;
}

void ServoLaw::begin_levels(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const bool ideal = options_.metric == ServoMetric::kIdeal;
  work.solver.begin(ideal ? &workspace.reduction_.effort_metric() : nullptr);
  work.rank = 0;
  work.condition = 1.0;
  work.damped = false;
  // Of workspaces that were not prepared: rows without effect must not pass for small ones.
  work.smallest_size = std::max(kServoRounding * work.S.norm(), std::numeric_limits<double>::min());
}

void ServoLaw::solve_level(int level, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const Eigen::Index begin = level > 0 ? work.level_ends[static_cast<std::size_t>(level) - 1] : 0;
  const bool ideal = options_.metric == ServoMetric::kIdeal;
  Eigen::Index m = 0;
  bool forces = false;
  for (const int task : levels_[static_cast<std::size_t>(level)])
  {
    const std::size_t i = static_cast<std::size_t>(task);
    if (!workspace.enabled_[i])
    {
      continue;
    }
    const Eigen::Index count = tasks_[i].constraint->row_count();
    const Eigen::Index offset = offsets_[i];
    work.ordered_S.middleRows(begin + m, count) = work.S.middleRows(offset, count);
    work.ordered_z.segment(begin + m, count) = work.z.segment(offset, count);
    if (ideal)
    {
      work.level_A.middleCols(m, count) =
        workspace.rows_.jacobian.middleRows(offset, count).transpose();
    }
    for (Eigen::Index k = 0; k < count; ++k)
    {
      const double usual = workspace.row_size_(offset + k);
      const double now = work.S.row(offset + k).norm();
      work.ordered_size(begin + m + k) = usual > 0.0 ? usual : std::max(now, work.smallest_size);
    }
    forces = forces || force_of_[i] != nullptr;
    m += count;
  }
  work.level_ends[static_cast<std::size_t>(level)] = static_cast<int>(begin + m);
  if (m == 0)
  {
    return;
  }
  const int nominal =
    workspace.is_prepared() ? workspace.nominal_rank_[static_cast<std::size_t>(level)] : -1;
  LevelSolver::Rows rows{
    work.ordered_S.middleRows(begin, m), work.ordered_z.segment(begin, m),
    work.ordered_size.segment(begin, m), std::min(nominal, static_cast<int>(m)), nullptr};
  if (ideal && !forces && nominal < m)
  {
    // Gauss: an error of the rows counts by the smallest change of the motion that it stands for.
    find_gram(workspace.reduction_, m, work);
    rows.error_metric = &work.gram;
  }
  const LevelSolver::Level found = work.solver.solve(rows, options_.singular_tolerance);
  work.rank += found.rank;
  work.condition = std::max(work.condition, found.condition);
  work.damped = work.damped || found.damped;
}

void ServoLaw::weigh_level(int level, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const Eigen::Index begin = level > 0 ? work.level_ends[static_cast<std::size_t>(level) - 1] : 0;
  Eigen::Index m = 0;
  for (const int task : levels_[static_cast<std::size_t>(level)])
  {
    const std::size_t i = static_cast<std::size_t>(task);
    if (!workspace.enabled_[i])
    {
      continue;
    }
    if (force_of_[i] != nullptr)
    {
      return;  // errors of forces are no change of the motion
    }
    const Eigen::Index count = tasks_[i].constraint->row_count();
    work.level_A.middleCols(m, count) =
      workspace.rows_.jacobian.middleRows(offsets_[i], count).transpose();
    m += count;
  }
  if (m == 0)
  {
    return;
  }
  find_gram(workspace.reduction_, m, work);
  work.solver.weigh(
    work.gram, work.ordered_S.middleRows(begin, m), work.ordered_z.segment(begin, m));
}

void ServoLaw::add_null_part(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  workspace.y_ = workspace.external_null_vector_;
  if (!options_.null_space.empty())
  {
    work.force.setZero();
    for (const std::shared_ptr<const NullSpaceTerm> & term : options_.null_space)
    {
      term->add(workspace.workspace_.system_data(), work.force);
    }
    workspace.y_.noalias() += workspace.workspace_.terms().input_matrix.transpose() * work.force;
  }
  if ((workspace.y_.array() == 0.0).all())
  {
    work.null_part.setZero();
  }
  else
  {
    work.solver.null_part(workspace.y_, work.null_part);
  }
  work.tau = work.solver.solution() + work.null_part;
}

void ServoLaw::weigh_levels(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  if (work.weighed)
  {
    return;
  }
  work.weighed = true;
  if (work.damped)
  {
    // What the damped controls do is wished, not what would take unbounded ones.
    work.ordered_z.noalias() = work.ordered_S * work.solver.solution();
  }
  for (std::size_t level = 0; options_.metric == ServoMetric::kIdeal && level < levels_.size();
       ++level)
  {
    weigh_level(static_cast<int>(level), workspace);
  }
}

void ServoLaw::limit(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  work.limited = false;
  work.cones_met = true;
  work.weighed = false;
  const Reduction & reduction = workspace.reduction_;
  if (work.limits)
  {
    work.limits->begin(workspace.has_last_ ? &workspace.last_ : nullptr);
  }
  if (work.limits && !work.limits->admits(work.tau, reduction, workspace.workspace_))
  {
    weigh_levels(workspace);
    const bool ideal = options_.metric == ServoMetric::kIdeal;
    const Status status = work.limits->solve(
      {work.ordered_S, work.ordered_z, work.level_ends, static_cast<int>(levels_.size()),
       workspace.y_, ideal ? &reduction.effort_metric() : nullptr},
      reduction, workspace.workspace_, work.tau);
    work.limited = true;
    work.cones_met = status == Status::kOk;
  }
  work.motion_limited = false;
  work.motion_met = true;
  if (work.motion_limits)
  {
    work.motion_bounds->update(workspace.workspace_.system_data().terms);
    if (!keeps_motion_limits(workspace))
    {
      limit_motion(workspace);
    }
  }
}

bool ServoLaw::keeps_motion_limits(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const MotionBounds & bounds = *work.motion_bounds;
  const Terms terms = workspace.workspace_.terms();
  work.motion_acceleration = workspace.reduction_.free_acceleration();
  work.motion_acceleration.noalias() += workspace.reduction_.input_response() * work.tau;
  for (int i = 0; i < bounds.count(); ++i)
  {
    const int coordinate = bounds.coordinate(i);
    const double value = terms.kinematic_matrix.row(coordinate).dot(work.motion_acceleration) +
                         terms.acceleration_bias(coordinate);
    if (!(value >= bounds.lower()(i) && value <= bounds.upper()(i)))
    {
      return false;
    }
  }
  return true;
}

void ServoLaw::limit_motion(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const Reduction & reduction = workspace.reduction_;
  const Terms terms = workspace.workspace_.terms();
  const MotionBounds & bounds = *work.motion_bounds;
  LimitedControls & limits = *work.motion_limits;
  // q̈ = C (u̇_0 + Y τ) + q̈_0 of the coordinates with limits.
  for (int i = 0; i < bounds.count(); ++i)
  {
    const int coordinate = bounds.coordinate(i);
    const auto C = terms.kinematic_matrix.row(coordinate);
    work.motion_rows.row(i).noalias() = C * reduction.input_response();
    work.motion_offset(i) =
      C.dot(reduction.free_acceleration()) + terms.acceleration_bias(coordinate);
  }
  work.motion_lower = bounds.lower() - work.motion_offset;
  work.motion_upper = bounds.upper() - work.motion_offset;
  limits.begin(workspace.has_last_ ? &workspace.last_ : nullptr);
  const bool possible = limits.set_motion(work.motion_rows, work.motion_lower, work.motion_upper);
  weigh_levels(workspace);
  const Eigen::MatrixXd * metric =
    options_.metric == ServoMetric::kIdeal ? &reduction.effort_metric() : nullptr;
  work.limited = true;
  work.motion_limited = true;
  work.motion_met = possible;
  const Status status = limits.solve(
    {work.ordered_S, work.ordered_z, work.level_ends, static_cast<int>(levels_.size()),
     workspace.y_, metric},
    reduction, workspace.workspace_, work.tau);
  if (status == Status::kOk)
  {
    return;
  }
  // No controls keep the limits: those that miss them least, and among these a stop.
  work.motion_met = false;
  if (limits.relax_motion(work.tau))
  {
    work.motion_lower = bounds.brake() - work.motion_offset;  // now the wish
    const Status stopped = limits.solve(
      {work.motion_rows, work.motion_lower, work.motion_ends, 1, workspace.y_, metric}, reduction,
      workspace.workspace_, work.tau);
    work.cones_met = work.cones_met && (options_.cones.empty() || stopped == Status::kOk);
  }
}

bool ServoLaw::is_ideal(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  // (E15'): what the controls do to the motion is what forces along A_sᵀ would do.
  constexpr double kTolerance = 1e-7;
  constexpr double kRegularisation = 1e-14;
  ServoWorkspace::Scratch & work = *workspace.work_;
  Eigen::Index m = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const Eigen::Index count = tasks_[i].constraint->row_count();
    if (workspace.enabled_[i])
    {
      work.level_A.middleCols(m, count) =
        workspace.rows_.jacobian.middleRows(offsets_[i], count).transpose();
      m += count;
    }
  }
  work.motion.noalias() = workspace.reduction_.input_response() * work.tau;
  const double size = work.motion.norm();
  if (m == 0 || size == 0.0)
  {
    return size == 0.0;
  }
  auto A = work.level_A.leftCols(m);
  auto response = work.response.leftCols(m);
  auto gram = work.gram.topLeftCorner(m, m);
  auto weights = work.weights.head(m);
  find_gram(workspace.reduction_, m, work);
  gram.diagonal().array() += kRegularisation * gram.trace();
  weights.noalias() = A.transpose() * work.motion;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(gram);
  if (cholesky.info() != Eigen::Success)
  {
    return false;
  }
  cholesky.solveInPlace(weights);
  work.motion.noalias() -= response * weights;
  return work.motion.norm() <= kTolerance * size;
}

void ServoLaw::judge(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  ServoResult & result = workspace.result_;
  result.inputs = work.tau;
  result.particular = work.limited ? work.tau : work.solver.solution();
  result.null_part = work.null_part;
  if (work.limited)
  {
    result.null_part.setZero();
  }
  result.limited = work.limited;
  result.cones_met = work.cones_met;
  const LimitedControls * limits =
    work.motion_limited ? work.motion_limits.get() : work.limits.get();
  for (std::size_t i = 0; i < result.at_bound.size(); ++i)
  {
    result.at_bound[i] = work.limited && limits->at_bound(static_cast<int>(i));
  }
  result.motion_limits_met = work.motion_met;
  for (int i = 0; i < work.motion_bounds->count(); ++i)
  {
    result.at_motion_limit[static_cast<std::size_t>(work.motion_bounds->coordinate(i))] =
      work.motion_limited && binds(work, i);
  }
  result.error = workspace.rows_.position;
  result.error_rate = workspace.rows_.velocity;
  result.residual = work.residual;
  result.rank = work.rank;
  result.null_dimension = work.solver.open_dimension();
  result.condition = work.condition;
  result.damped = work.damped;
  const double tau_size = work.tau.norm();
  bool missed = false;
  bool realised = true;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const Eigen::Index offset = offsets_[i];
    const Eigen::Index count = tasks_[i].constraint->row_count();
    if (!workspace.enabled_[i])
    {
      result.gave_way[i] = false;
      result.error.segment(offset, count).setZero();
      result.error_rate.segment(offset, count).setZero();
      result.residual.segment(offset, count).setZero();
      continue;
    }
    const double size =
      work.z.segment(offset, count).norm() + work.S.middleRows(offset, count).norm() * tau_size;
    const double rest = result.residual.segment(offset, count).norm();
    // What rounding leaves of z where its terms cancel, as at rest, is no error.
    constexpr double kRoundings = 64.0 * std::numeric_limits<double>::epsilon();
    const auto terms = [&]() noexcept
    {
      return workspace.rows_.bias.segment(offset, count).norm() +
             workspace.rows_.jacobian.middleRows(offset, count).norm() *
               workspace.reduction_.free_acceleration().norm();
    };
    result.gave_way[i] = rest > options_.consistency_tolerance * size &&
                         rest > kRoundings * work.condition * (size + terms());
    realised = realised && !result.gave_way[i];
    // Levels behind the first may give way: that is what levels are for.
    const std::vector<int> & first = levels_.front();
    missed = missed || (result.gave_way[i] &&
                        std::find(first.begin(), first.end(), static_cast<int>(i)) != first.end());
    if (const ForceServo * force = force_of_[i])
    {
      for (Eigen::Index k = 0; k < count; ++k)
      {
        const int row = force->passive_rows()[static_cast<std::size_t>(k)];
        result.error(offset + k) =
          workspace.workspace_.solution().multipliers(row) - workspace.references_[i].position(k);
      }
    }
    else
    {
      // e of velocity rows is an error of its own, not a rate.
      for (Eigen::Index k = 0; k < count; ++k)
      {
        if (tasks_[i].constraint->rows()[static_cast<std::size_t>(k)].level == RowLevel::kVelocity)
        {
          result.error(offset + k) = result.error_rate(offset + k);
        }
      }
    }
  }
  result.ideal = options_.metric == ServoMetric::kIdeal && realised && is_ideal(workspace);
  result.solution = missed                      ? ServoSolution::kNone
                    : result.null_dimension > 0 ? ServoSolution::kMany
                                                : ServoSolution::kOne;
}

Status ServoLaw::evaluate(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  if (!fits(workspace))
  {
    return Status::kSizeMismatch;
  }
  if (!workspace.external_null_vector_.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status passive = form(time, q, u, workspace);
  if (!has_output(passive))
  {
    return passive;
  }
  begin_levels(workspace);
  for (std::size_t level = 0; level < levels_.size(); ++level)
  {
    solve_level(static_cast<int>(level), workspace);
  }
  add_null_part(workspace);
  limit(workspace);
  ServoWorkspace::Scratch & work = *workspace.work_;
  work.residual = -work.z;
  work.residual.noalias() += work.S * work.tau;
  if (!work.tau.allFinite() || !work.residual.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  const Status solved =
    passive_->solve(work.tau, workspace.reduction_, workspace.workspace_);
  if (!has_output(solved))
  {
    return solved;
  }
  judge(workspace);
  workspace.set_last_inputs(work.tau);
  const ServoResult & result = workspace.result_;
  const Status law = result.damped                             ? Status::kSingular
                     : result.limited                          ? Status::kLimited
                     : result.solution == ServoSolution::kNone ? Status::kInconsistent
                                                               : Status::kOk;
  return law == Status::kOk ? solved : law;
}

}  // namespace constrained_dynamics
