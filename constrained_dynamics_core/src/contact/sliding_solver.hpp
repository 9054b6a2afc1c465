// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>

#include <Eigen/Core>

#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Normal forces, or impulses, x of sliding contacts. A unit of x_j causes friction, which changes
/// all normal forces by column j of D:
///     x = x0 + D x.
/// If det(1 − D) changes its sign between zero friction and the present one, there is no motion or
/// more than one (Painlevé: friction presses the bodies together).
///
/// Only the constructor allocates. Everything else is real-time safe.
class SlidingSolver
{
public:
  explicit SlidingSolver(std::size_t most_contacts);

  /// Criterion for a unique motion.
  enum class Uniqueness
  {
    kOrientation,  ///< det(1 − D) > 0
    kSolvable,     ///< det(1 − D) ≠ 0, for redundantly shared loads
    kEachAlone,    ///< 1 − D_jj > 0, and det(1 − D) ≠ 0
  };

  /// Normal forces x0 without friction, to be filled before `solve`.
  double & frictionless(Eigen::Index i) { return frictionless_(i); }
  double frictionless(Eigen::Index i) const { return frictionless_(i); }
  /// x of the last `solve`.
  double normal(Eigen::Index i) const { return normals_(i); }

  /// @param respond Status(j, column): fills column j of D.
  /// Statuses: kOk, kNoUniqueSolution, those of `respond` without output.
  template <typename Respond>
  [[nodiscard]] Status solve(
    Eigen::Index count, Uniqueness uniqueness, const Respond & respond) noexcept
  {
    for (Eigen::Index j = 0; j < count; ++j)
    {
      auto column = matrix_.col(j).head(count);
      const Status status = respond(j, VectorRef(column));
      if (!has_output(status))
      {
        return status;
      }
      column = -column;
      column(j) += 1.0;
      if (uniqueness == Uniqueness::kEachAlone && !(column(j) > 0.0))
      {
        return Status::kNoUniqueSolution;
      }
    }
    return eliminate(count, uniqueness);
  }

private:
  Status eliminate(Eigen::Index count, Uniqueness uniqueness) noexcept;

  Eigen::VectorXd frictionless_;
  Eigen::VectorXd normals_;
  Eigen::MatrixXd matrix_;  // 1 − D
};

}  // namespace constrained_dynamics
