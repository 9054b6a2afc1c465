// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <random>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/analysis/integrability.hpp"

// With n speeds the permitted motions have the frame X_0 = ∂t + D·∂q, X_i = C e_i·∂q (i = 1 … n) on
// the space of (t, q). A row ψ = A u + ψ0 that is linear in u is the one-form with ω(X_0) = ψ0 and
// ω(X_i) = A_i, and
//     dω(X_i, X_j) = X_i ω(X_j) − X_j ω(X_i) − ω([X_i, X_j]).
// Only values along curves in the directions of the frame are needed, whatever the coordinates.

namespace constrained_dynamics
{

/// Relative sizes of differences that count as zero and as nonzero; between them the answer is
/// unknown.
inline constexpr double kZeroDifference = 1e-6;
inline constexpr double kNonzeroDifference = 1e-4;
/// Samples that may fail for each one that is wanted.
inline constexpr int kTriesPerPoint = 40;

/// A point of (t, q).
struct FormPoint
{
  double time = 0.0;
  Eigen::VectorXd q;
};

/// Values at a point: the rows in the frame, and the frame.
struct FormValues
{
  Eigen::MatrixXd forms;  // m × (n + 1): ψ0, A
  Eigen::MatrixXd frame;  // nq × (n + 1): D, C
};

/// Values and first derivatives at a point.
struct LocalForms
{
  FormPoint point;
  FormValues values;
  std::vector<Eigen::MatrixXd> exterior;  // dω of each row in the frame, (n + 1) × (n + 1)
  std::vector<double> scale;              // what dω of each row is compared with
};

/// The rows of a set as one-forms at random points near a state.
class OneForms
{
public:
  OneForms(
    const ConstraintSet & set, const FormPoint & centre, const PositionProjection & project,
    const IntegrabilityOptions & options);

  Eigen::Index row_count() const { return m_; }
  Eigen::Index speed_count() const { return n_; }
  /// Whether all rows are on position level, so that d(dφ) = 0 and no derivatives are needed.
  bool is_holonomic() const { return is_holonomic_; }
  /// Terms at the state that evaluate() was last called with.
  const SystemTerms & terms() const { return data_->terms; }
  /// Excludes a row that is not a one-form; it counts as zero from then on.
  void exclude(int row) { usable_[static_cast<std::size_t>(row)] = false; }

  /// A random number in [−1, 1].
  double random() { return uniform_(random_); }
  /// A random point near the centre; false where it cannot be brought onto the position rows.
  bool sample(bool on_manifold, FormPoint & out);
  /// As many random points as wanted, with their values and derivatives, or fewer.
  std::vector<LocalForms> samples(bool on_manifold, int count);

  /// ψ (or φ̇) and A of all rows; NaN in the rows of constraints that fail. False where the system
  /// fails.
  bool evaluate(
    const FormPoint & point, const Eigen::VectorXd & u, Eigen::VectorXd & psi,
    Eigen::MatrixXd & jacobian);

private:
  bool values(const FormPoint & point, FormValues & out);
  bool local(const FormPoint & point, LocalForms & out);
  bool derivatives(const LocalForms & at, std::vector<FormValues> & out);
  FormPoint move(const FormPoint & from, const Eigen::VectorXd & direction, double distance) const;

  const ConstraintSet & set_;
  const System & system_;
  FormPoint centre_;
  const PositionProjection & project_;
  IntegrabilityOptions options_;
  std::unique_ptr<SystemData> data_;
  ConstraintScratch scratch_;
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
  std::vector<bool> usable_;  // rows that are one-forms
  Eigen::Index n_;
  Eigen::Index m_;
  bool is_holonomic_ = true;
};

}  // namespace constrained_dynamics
