// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "servo/servo_cycle.hpp"

// Levels of priority one after the other, and the null space of all of them (E15).

namespace constrained_dynamics
{

void ServoCycle::begin_levels() noexcept
{
  m_.solver.begin(effort_metric());
  m_.rank = 0;
  m_.condition = 1.0;
  m_.damped = false;
  // Before the usual sizes are known, rows without effect must not pass for small ones.
  m_.smallest_size =
    std::max(kServoRounding * m_.S_transpose.norm(), std::numeric_limits<double>::min());
}

const Eigen::MatrixXd * ServoCycle::effort_metric() const noexcept
{
  return is_ideal_metric() ? &m_.reduction.effort_metric() : nullptr;
}

Eigen::Index ServoCycle::level_begin(int level) const noexcept
{
  return level > 0 ? m_.level_ends[static_cast<std::size_t>(level) - 1] : 0;
}

void ServoCycle::find_gram(Eigen::Index count) noexcept
{
  const auto A = m_.level_A.leftCols(count);
  auto response = m_.response.leftCols(count);
  m_.reduction.respond(A, response);
  m_.gram.topLeftCorner(count, count).noalias() = A.transpose() * response;
}

void ServoCycle::solve_level(int level) noexcept
{
  const Eigen::Index begin = level_begin(level);
  const bool ideal = is_ideal_metric();
  Eigen::Index m = 0;
  bool forces = false;
  for (const int task : law_.levels()[static_cast<std::size_t>(level)])
  {
    const std::size_t i = static_cast<std::size_t>(task);
    if (!m_.enabled[i])
    {
      continue;
    }
    const Eigen::Index count = law_.tasks()[i].constraint->row_count();
    const Eigen::Index offset = law_.row_offset(task);
    m_.ordered_S_transpose.middleCols(begin + m, count) = m_.S_transpose.middleCols(offset, count);
    m_.ordered_z.segment(begin + m, count) = m_.z.segment(offset, count);
    if (ideal)
    {
      m_.level_A.middleCols(m, count) = m_.rows.jacobian.middleRows(offset, count).transpose();
    }
    for (Eigen::Index k = 0; k < count; ++k)
    {
      const double usual = m_.row_size(offset + k);
      m_.ordered_size(begin + m + k) =
        usual > 0.0 ? usual : std::max(m_.S_transpose.col(offset + k).norm(), m_.smallest_size);
    }
    const double weight = m_.weights_of_tasks[i];
    if (weight != 1.0)
    {
      const double root = std::sqrt(weight);
      m_.ordered_S_transpose.middleCols(begin + m, count) *= root;
      m_.ordered_z.segment(begin + m, count) *= root;
      m_.ordered_size.segment(begin + m, count) *= root;
    }
    forces = forces || !law_.tasks()[i].constraint->force_rows().empty();
    m += count;
  }
  m_.level_ends[static_cast<std::size_t>(level)] = static_cast<int>(begin + m);
  m_.level_ranks[static_cast<std::size_t>(level)] = 0;
  if (m == 0)
  {
    return;
  }
  const int nominal = m_.is_prepared() ? m_.nominal_rank[static_cast<std::size_t>(level)] : -1;
  LevelSolver::Rows rows{
    m_.ordered_S_transpose.middleCols(begin, m), m_.ordered_z.segment(begin, m),
    m_.ordered_size.segment(begin, m), std::min(nominal, static_cast<int>(m)), nullptr};
  if (ideal && !forces && nominal < m)
  {
    // Gauss: an error of the rows counts by the smallest change of the motion that it stands for.
    find_gram(m);
    rows.error_metric = &m_.gram;
  }
  const LevelSolver::Level found = m_.solver.solve(rows, law_.options().singular_tolerance);
  m_.level_ranks[static_cast<std::size_t>(level)] = found.rank;
  m_.rank += found.rank;
  m_.condition = std::max(m_.condition, found.condition);
  m_.damped = m_.damped || found.damped;
}

void ServoCycle::add_null_part() noexcept
{
  m_.y = m_.external_null_vector;
  if (!law_.options().null_space.empty())
  {
    m_.force.setZero();
    for (const std::shared_ptr<const NullSpaceTerm> & term : law_.options().null_space)
    {
      term->add(m_.passive.system_data(), m_.force);
    }
    m_.y.noalias() += m_.passive.terms().input_matrix.transpose() * m_.force;
  }
  if ((m_.y.array() == 0.0).all())
  {
    m_.null_part.setZero();
  }
  else
  {
    m_.solver.null_part(m_.y, m_.null_part);
  }
  m_.tau = m_.solver.solution() + m_.null_part;
}

void ServoCycle::weigh_levels() noexcept
{
  for (std::size_t level = 0; is_ideal_metric() && level < law_.levels().size(); ++level)
  {
    weigh_level(static_cast<int>(level));
  }
}

void ServoCycle::weigh_level(int level) noexcept
{
  const Eigen::Index begin = level_begin(level);
  Eigen::Index m = 0;
  for (const int task : law_.levels()[static_cast<std::size_t>(level)])
  {
    const std::size_t i = static_cast<std::size_t>(task);
    if (!m_.enabled[i])
    {
      continue;
    }
    if (!law_.tasks()[i].constraint->force_rows().empty())
    {
      return;  // errors of forces are no change of the motion
    }
    const Eigen::Index count = law_.tasks()[i].constraint->row_count();
    m_.level_A.middleCols(m, count) =
      m_.rows.jacobian.middleRows(law_.row_offset(task), count).transpose();
    m += count;
  }
  if (m == 0)
  {
    return;
  }
  find_gram(m);
  m_.solver.weigh(
    m_.gram, m_.ordered_S_transpose.middleCols(begin, m), m_.ordered_z.segment(begin, m));
}

bool ServoCycle::is_ideal() noexcept
{
  constexpr double kTolerance = 1e-7;
  constexpr double kRegularisation = 1e-14;
  Eigen::Index m = 0;
  for (std::size_t i = 0; i < law_.tasks().size(); ++i)
  {
    const Eigen::Index count = law_.tasks()[i].constraint->row_count();
    if (m_.enabled[i])
    {
      m_.level_A.middleCols(m, count) =
        m_.rows.jacobian.middleRows(law_.row_offset(static_cast<int>(i)), count).transpose();
      m += count;
    }
  }
  m_.motion.noalias() = m_.reduction.input_response() * m_.tau;
  const double size = m_.motion.norm();
  if (m == 0 || size == 0.0)
  {
    return size == 0.0;
  }
  auto A = m_.level_A.leftCols(m);
  auto response = m_.response.leftCols(m);
  auto gram = m_.gram.topLeftCorner(m, m);
  auto weights = m_.weights.head(m);
  find_gram(m);
  gram.diagonal().array() += kRegularisation * gram.trace();
  weights.noalias() = A.transpose() * m_.motion;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(gram);
  if (cholesky.info() != Eigen::Success)
  {
    return false;
  }
  cholesky.solveInPlace(weights);
  m_.motion.noalias() -= response * weights;
  return m_.motion.norm() <= kTolerance * size;
}

}  // namespace constrained_dynamics
