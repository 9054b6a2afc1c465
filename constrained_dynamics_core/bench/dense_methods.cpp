// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <Eigen/Cholesky>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "method.hpp"
#include "workload.hpp"

namespace constrained_dynamics::bench
{

namespace
{

/// What one writes first: the terms of the library and
///     [Q Aᵀ; A 0] [u̇; −λ] = [P + G τ; b]
/// by Eigen's LDLᵀ, which gives a solution for redundant rows as well.
class DenseKkt : public Method
{
public:
  explicit DenseKkt(const Workload & workload)
  : dynamics_(workload.constraint_set()),
    workspace_(Workspace::unanalysed(dynamics_)),
    state_(workload.state),
    inputs_(workload.inputs)
  {
    const Eigen::Index size =
      dynamics_.system().speed_count() + dynamics_.constraints().row_count();
    matrix_.setZero(size, size);
    right_side_.resize(size);
    solution_.resize(size);
    factorisation_ = Eigen::LDLT<Eigen::MatrixXd>(size);
  }

  void run() override
  {
    Status status = dynamics_.evaluate_rows(state_.time, state_.q, state_.u, workspace_);
    status = worse(status, dynamics_.evaluate_terms(workspace_));
    const Terms terms = workspace_.terms();
    const Rows & rows = workspace_.rows();
    const Eigen::Index n = terms.mass_matrix.rows();
    const Eigen::Index m = rows.jacobian.rows();
    // LDLᵀ reads the lower triangle alone.
    matrix_.topLeftCorner(n, n) = terms.mass_matrix;
    matrix_.bottomLeftCorner(m, n) = rows.jacobian;
    right_side_.head(n) = terms.force;
    right_side_.head(n).noalias() += terms.input_matrix * inputs_;
    right_side_.tail(m) = rows.bias;
    factorisation_.compute(matrix_);
    solution_ = factorisation_.solve(right_side_);
    succeeded_ = status == Status::kOk;
  }

  bool succeeded() const override { return succeeded_; }
  Eigen::VectorXd acceleration() const override
  {
    return solution_.head(dynamics_.system().speed_count());
  }

private:
  Dynamics dynamics_;
  Workspace workspace_;
  State state_;
  Eigen::VectorXd inputs_;
  Eigen::MatrixXd matrix_;
  Eigen::VectorXd right_side_;
  Eigen::VectorXd solution_;
  Eigen::LDLT<Eigen::MatrixXd> factorisation_;
  bool succeeded_ = false;
};

}  // namespace

MethodList dense_methods() { return {{"dense_kkt", make_method<DenseKkt>}}; }

}  // namespace constrained_dynamics::bench
