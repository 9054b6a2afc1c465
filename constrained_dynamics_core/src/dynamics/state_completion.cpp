// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/state_completion.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "constrained_dynamics/dynamics/assembly.hpp"
#include "dense_decompositions.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

namespace
{

// Residuals below this count as met, and so do changes of an iteration [rad, m; a second].
constexpr double kResidualFloor = 1e-12;
constexpr double kStepFloor = 1e-10;
// Relative to the largest entry of JᵀJ: keeps steps bounded where a direction is hardly determined.
constexpr double kDamping = 1e-13;
// Singular values below this fraction of the largest determine nothing.
constexpr double kRankTolerance = 1e-8;

std::string joined(const std::vector<std::string> & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

/// Directions of speeds in which coordinates without a sensor move.
std::vector<int> free_directions(const System & system, const std::vector<bool> & measured)
{
  std::vector<int> unmeasured_of(static_cast<std::size_t>(system.speed_count()), -1);
  std::vector<int> measured_of(static_cast<std::size_t>(system.speed_count()), -1);
  for (int i = 0; i < system.coordinate_count(); ++i)
  {
    for (const int speed : system.speeds_of_coordinate(i))
    {
      (measured[static_cast<std::size_t>(i)] ? measured_of
                                             : unmeasured_of)[static_cast<std::size_t>(speed)] = i;
    }
  }
  std::vector<int> directions;
  for (int speed = 0; speed < system.speed_count(); ++speed)
  {
    const int unmeasured = unmeasured_of[static_cast<std::size_t>(speed)];
    const int known = measured_of[static_cast<std::size_t>(speed)];
    if (unmeasured >= 0 && known >= 0)
    {
      const auto & names = system.coordinate_names();
      throw std::invalid_argument(
        "coordinate '" + names[static_cast<std::size_t>(unmeasured)] + "' is not measured, but '" +
        names[static_cast<std::size_t>(known)] +
        "', which the same speed moves, is; allowed: all coordinates of a joint, or none");
    }
    if (unmeasured >= 0)
    {
      directions.push_back(speed);
    }
  }
  return directions;
}

/// Names of the columns that the rows leave open.
std::vector<std::string> undetermined(
  const Eigen::MatrixXd & rows, const std::vector<int> & columns,
  const std::vector<std::string> & names)
{
  const auto count = static_cast<Eigen::Index>(columns.size());
  Eigen::MatrixXd free(rows.rows(), count);
  for (Eigen::Index i = 0; i < count; ++i)
  {
    free.col(i) = rows.col(columns[static_cast<std::size_t>(i)]);
  }
  Eigen::MatrixXd open = Eigen::MatrixXd::Identity(count, count);
  if (free.rows() > 0)
  {
    Eigen::JacobiSVD<Eigen::MatrixXd> svd(free, Eigen::ComputeFullV);
    svd.setThreshold(kRankTolerance);
    open = svd.matrixV().rightCols(count - svd.rank());
  }
  std::vector<std::string> result;
  for (Eigen::Index i = 0; i < count && open.cols() > 0; ++i)
  {
    if (open.row(i).cwiseAbs().maxCoeff() > 1e-6)
    {
      result.push_back(names[static_cast<std::size_t>(columns[static_cast<std::size_t>(i)])]);
    }
  }
  return result;
}

}  // namespace

void StateCompletion::Search::resize()
{
  const auto m = static_cast<Eigen::Index>(rows.size());
  const auto n = static_cast<Eigen::Index>(columns.size());
  jacobian.setZero(m, n);
  residual.setZero(m);
  normal.setZero(n, n);
  factor = Eigen::LLT<Eigen::MatrixXd>(n);
  step.setZero(n);
}

double StateCompletion::Search::solve(
  const Eigen::VectorXd & residuals, const Evaluation & evaluation,
  const std::vector<int> & constraint_of_row) noexcept CD_NONBLOCKING
{
  const Eigen::MatrixXd & a = evaluation.rows.jacobian;
  for (Eigen::Index i = 0; i < residual.size(); ++i)
  {
    const int row = rows[static_cast<std::size_t>(i)];
    const bool active = evaluation.is_active(constraint_of_row[static_cast<std::size_t>(row)]);
    residual(i) = active ? residuals(row) : 0.0;
    for (Eigen::Index k = 0; k < step.size(); ++k)
    {
      jacobian(i, k) = active ? a(row, columns[static_cast<std::size_t>(k)]) : 0.0;
    }
  }
  normal.noalias() = jacobian.transpose() * jacobian;
  const double scale = normal.diagonal().maxCoeff();
  if (!(scale > 0.0) || !std::isfinite(scale))
  {
    return -1.0;
  }
  normal.diagonal().array() += kDamping * scale;
  factor.compute(normal);
  if (factor.info() != Eigen::Success)
  {
    return -1.0;
  }
  step.noalias() = jacobian.transpose() * residual;
  step = -step;
  factor.solveInPlace(step);
  const double largest = step.cwiseAbs().maxCoeff();
  return std::isfinite(largest) ? largest : -1.0;
}

StateCompletion::StateCompletion(
  std::shared_ptr<const Dynamics> dynamics, const std::vector<bool> & measured_coordinates,
  const std::vector<bool> & measured_speeds)
: dynamics_(std::move(dynamics)),
  measured_coordinates_(measured_coordinates),
  measured_speeds_(measured_speeds)
{
  if (!dynamics_)
  {
    throw std::invalid_argument("StateCompletion: the dynamics are null");
  }
  const System & system = dynamics_->system();
  const auto check = [](std::size_t count, int wanted, const char * what)
  {
    if (count != static_cast<std::size_t>(wanted))
    {
      throw std::invalid_argument(
        "StateCompletion: " + std::to_string(count) + " flags for " + std::to_string(wanted) + " " +
        what + "; allowed: one each");
    }
  };
  check(measured_coordinates_.size(), system.coordinate_count(), "coordinates");
  check(measured_speeds_.size(), system.speed_count(), "speeds");

  position_.columns = free_directions(system, measured_coordinates_);
  for (int i = 0; i < system.speed_count(); ++i)
  {
    if (!measured_speeds_[static_cast<std::size_t>(i)])
    {
      velocity_.columns.push_back(i);
    }
  }
  const ConstraintSet & constraints = dynamics_->constraints();
  for (int row = 0; row < constraints.row_count(); ++row)
  {
    constraint_of_row_.push_back(constraints.constraint_of_row(row));
    const RowLevel level = constraints.row(row).level;
    if (level == RowLevel::kPosition)
    {
      position_.rows.push_back(row);
    }
    if (level != RowLevel::kAcceleration)
    {
      velocity_.rows.push_back(row);
    }
  }
  position_.resize();
  velocity_.resize();
  q_ = system.neutral_coordinates();
  u_.setZero(system.speed_count());
}

void StateCompletion::start(State & state, Workspace & workspace, double tolerance) const
{
  const System & system = dynamics_->system();
  const auto require = [&](const AssemblyResult & result, const char * what)
  {
    if (!result.converged && !(result.residual <= tolerance))
    {
      throw std::invalid_argument(
        std::string(what) + " without a sensor cannot be found from those with one: row '" +
        result.worst_row + "' is left at " + std::to_string(result.residual) + ", allowed: up to " +
        std::to_string(tolerance));
    }
  };
  const auto determine = [&](const Search & search, const std::vector<std::string> & names)
  {
    Eigen::MatrixXd rows(static_cast<Eigen::Index>(search.rows.size()), system.speed_count());
    rows.setZero();
    for (std::size_t i = 0; i < search.rows.size(); ++i)
    {
      const int row = search.rows[i];
      if (workspace.is_active(constraint_of_row_[static_cast<std::size_t>(row)]))
      {
        rows.row(static_cast<Eigen::Index>(i)) = workspace.rows().jacobian.row(row);
      }
    }
    const std::vector<std::string> open = undetermined(rows, search.columns, names);
    if (!open.empty())
    {
      throw std::invalid_argument(
        "speeds '" + joined(open) +
        "' have no sensor and no constraint determines them; allowed: "
        "a sensor for each joint that the constraints leave free");
    }
  };
  if (!position_.columns.empty())
  {
    require(
      assemble_position(*dynamics_, state.time, state.q, measured_coordinates_, workspace),
      "coordinates");
  }
  if (!velocity_.columns.empty())
  {
    require(
      assemble_velocity(*dynamics_, state.time, state.q, state.u, measured_speeds_, workspace),
      "speeds");
  }
  const Status status = dynamics_->evaluate_rows(state.time, state.q, state.u, workspace);
  if (status != Status::kOk)
  {
    throw std::invalid_argument(
      std::string("the rows cannot be evaluated at the state: status ") + to_string(status));
  }
  determine(position_, system.speed_names());
  determine(velocity_, system.speed_names());
}

template <typename Evaluate, typename Advance>
Status StateCompletion::find(
  Search & search, const Eigen::VectorXd & residuals, const Evaluation & evaluation,
  const Evaluate & evaluate, const Advance & advance) const noexcept
{
  for (int i = 0; i < kIterations && !search.columns.empty(); ++i)
  {
    const Status status = evaluate();
    if (status != Status::kOk)
    {
      return status;
    }
    const double change = search.solve(residuals, evaluation, constraint_of_row_);
    if (search.residual.size() > 0 && search.residual.cwiseAbs().maxCoeff() <= kResidualFloor)
    {
      return Status::kOk;
    }
    if (change < 0.0)
    {
      return Status::kNotConverged;
    }
    advance();
    if (change <= kStepFloor)
    {
      return Status::kOk;
    }
  }
  return search.columns.empty() ? Status::kOk : Status::kNotConverged;
}

Status StateCompletion::complete(
  double time, VectorRef q, VectorRef u, Workspace & workspace) noexcept CD_NONBLOCKING
{
  if (q.size() != q_.size() || u.size() != u_.size())
  {
    return Status::kSizeMismatch;
  }
  Evaluation & evaluation = WorkspaceAccess::evaluation(workspace);
  q_ = q;
  u_ = u;
  Status status = find(
    position_, evaluation.rows.position, evaluation,
    [&]() noexcept
    {
      const Status set = evaluation.set_rest(time, q_);
      return set == Status::kOk ? evaluation.ask_position_rows() : set;
    },
    [&]() noexcept
    {
      const Eigen::MatrixXd & C = evaluation.system_data->terms.kinematic_matrix;
      for (Eigen::Index k = 0; k < position_.step.size(); ++k)
      {
        q_ += C.col(position_.columns[static_cast<std::size_t>(k)]) * position_.step(k);
      }
      dynamics_->system().normalise(q_);
    });
  if (status != Status::kOk)
  {
    return status;
  }
  status = find(
    velocity_, evaluation.rows.velocity, evaluation,
    [&]() noexcept
    {
      const Status set = evaluation.set_state(time, q_, u_);
      return set == Status::kOk ? evaluation.ask_rows() : set;
    },
    [&]() noexcept
    {
      for (Eigen::Index k = 0; k < velocity_.step.size(); ++k)
      {
        u_(velocity_.columns[static_cast<std::size_t>(k)]) += velocity_.step(k);
      }
    });
  if (status != Status::kOk)
  {
    return status;
  }
  if (!q_.allFinite() || !u_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  q = q_;
  u = u_;
  return Status::kOk;
}

}  // namespace constrained_dynamics
