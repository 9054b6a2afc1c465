#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "constrained_dynamics/formulation.hpp"

namespace constrained_dynamics
{

FormulationData::~FormulationData() = default;
Formulation::~Formulation() = default;

namespace
{

class KaneData : public FormulationData
{
public:
  KaneData(int n, int m)
  : factorisation(n, m),
    mass(n, n),
    mass_a2(n, n),
    reduced(n, n),
    reduced_copy(n, n),
    lu(n),
    force(n),
    particular(n),
    independent(n),
    acceleration(n),
    constraint_force(n),
    multipliers(m)
  {
    mass.setZero();
  }

  RowFactorisation factorisation;
  Eigen::MatrixXd mass;          // Q in partition order
  Eigen::MatrixXd mass_a2;       // Q A2ᵀ in partition order (n × p)
  Eigen::MatrixXd reduced;       // A2 Q A2ᵀ (p × p)
  Eigen::MatrixXd reduced_copy;  // the same bordered by an identity, for the LU
  Eigen::PartialPivLU<Eigen::MatrixXd> lu;
  Eigen::VectorXd force;
  Eigen::VectorXd particular;   // β, later Q [β; 0]
  Eigen::VectorXd independent;  // ẇ
  Eigen::VectorXd acceleration;
  Eigen::VectorXd constraint_force;
  Eigen::VectorXd multipliers;
};

/// Solves (A2 Q A2ᵀ) ẇ = w in place: Cholesky where the matrix is symmetric positive definite, LU
/// where accelerations in active forces made it unsymmetric. False where it is singular.
bool solve_reduced(KaneData & data, Eigen::Index p)
{
  const double smallest = static_cast<double>(p) * std::numeric_limits<double>::epsilon();
  auto reduced = data.reduced.topLeftCorner(p, p);
  auto x = data.independent.head(p);
  const double size = reduced.cwiseAbs().maxCoeff();
  if (!(size > 0.0) || !std::isfinite(size))
  {
    return false;
  }
  double asymmetry = 0.0;
  for (Eigen::Index j = 0; j < p; ++j)
  {
    for (Eigen::Index i = j + 1; i < p; ++i)
    {
      asymmetry = std::max(asymmetry, std::abs(reduced(i, j) - reduced(j, i)));
    }
  }
  // Rounding of the products leaves some n ε; real asymmetry is far above.
  if (asymmetry <= 1e-12 * size)
  {
    data.reduced_copy.topLeftCorner(p, p) = reduced;
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(reduced);
    if (cholesky.info() != Eigen::Success)
    {
      return false;
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      // Scale-free: what is left of the diagonal after elimination.
      const double left = reduced(i, i) * reduced(i, i);
      if (!(left > smallest * data.reduced_copy(i, i)))
      {
        return false;
      }
    }
    cholesky.solveInPlace(x);
    return true;
  }
  data.reduced_copy.setIdentity();
  data.reduced_copy.topLeftCorner(p, p) = reduced;
  data.lu.compute(data.reduced_copy);
  for (Eigen::Index i = 0; i < p; ++i)
  {
    if (!(std::abs(data.lu.matrixLU()(i, i)) > smallest * size))
    {
      return false;
    }
  }
  data.independent.tail(data.independent.size() - p).setZero();
  data.force = data.independent;  // scratch: solve must not alias
  data.independent = data.lu.permutationP() * data.force;
  data.lu.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(data.independent);
  data.lu.matrixLU().triangularView<Eigen::Upper>().solveInPlace(data.independent);
  return true;
}

}  // namespace

std::unique_ptr<FormulationData> KaneNonminimal::make_data(
  int speed_count, int max_row_count) const
{
  return std::make_unique<KaneData>(speed_count, max_row_count);
}

const RowFactorisation & KaneNonminimal::factorisation(const FormulationData & data)
{
  return static_cast<const KaneData &>(data).factorisation;
}

Status KaneNonminimal::do_solve(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  // Letters of the seeds: Q, h, A, b; n speeds, m rows, r dependent and p independent speeds.
  KaneData & data = static_cast<KaneData &>(formulation_data);
  const ConstMatrixRef & Q = problem.mass_matrix;
  const Eigen::Index n = Q.rows();
  const Eigen::Index m = problem.rows.rows();
  if (!Q.allFinite() || !problem.force.allFinite() || !problem.bias.allFinite())
  {
    return Status::kNonFiniteInput;
  }

  const Status rank_status =
    data.factorisation.factor(problem.rows, problem.row_scale, problem.nominal_rank, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  const RowFactorisation & factorisation = data.factorisation;
  const Eigen::Index r = factorisation.rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = factorisation.order();
  const auto K = factorisation.dependency();

  auto beta = data.particular.head(r);
  data.factorisation.particular(problem.bias, beta);  // (E4)

  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (Eigen::Index i = 0; i < n; ++i)
    {
      data.mass(i, j) = Q(order(i), order(j));
    }
    data.force(j) = problem.force(order(j));
  }

  // Q A2ᵀ with A2 = [Kᵀ I] in partition order (E5), then A2 Q A2ᵀ and A2 (h − Q [β; 0]).
  auto mass_a2 = data.mass_a2.leftCols(p);
  auto reduced = data.reduced.topLeftCorner(p, p);
  auto w = data.independent.head(p);
  mass_a2 = data.mass.rightCols(p);
  data.force.noalias() -= data.mass.leftCols(r) * beta;
  w = data.force.tail(p);
  if (r > 0)
  {
    mass_a2.noalias() += data.mass.leftCols(r) * K;
    reduced.noalias() = K.transpose() * mass_a2.topRows(r);
    reduced += mass_a2.bottomRows(p);
    w.noalias() += K.transpose() * data.force.head(r);
  }
  else
  {
    reduced = mass_a2.bottomRows(p);
  }
  if (p > 0 && !solve_reduced(data, p))
  {
    return Status::kSingularInertia;
  }

  for (Eigen::Index i = 0; i < r; ++i)
  {
    double dependent = beta(i);
    for (Eigen::Index j = 0; j < p; ++j)
    {
      dependent += K(i, j) * data.independent(j);
    }
    data.acceleration(order(i)) = dependent;
  }
  for (Eigen::Index i = 0; i < p; ++i)
  {
    data.acceleration(order(r + i)) = data.independent(i);
  }

  data.constraint_force = -problem.force;
  data.constraint_force.noalias() += Q * data.acceleration;  // (E7)
  auto multipliers = data.multipliers.head(m);
  data.factorisation.multipliers(
    data.constraint_force, problem.multiplier_weight, multipliers);  // (E8)

  if (
    !data.acceleration.allFinite() || !data.constraint_force.allFinite() ||
    !multipliers.allFinite())
  {
    return Status::kNonFiniteResult;
  }

  // How far the rows are missed, contradictions and dropped directions alike.
  double missed = 0.0;
  double bias_size = 0.0;
  double row_size = 0.0;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    const double scale = problem.row_scale(i);
    double row_acceleration = 0.0;
    for (Eigen::Index j = 0; j < n; ++j)
    {
      const double element = scale * problem.rows(i, j);
      row_acceleration += element * data.acceleration(j);
      row_size += element * element;
    }
    const double wanted = scale * problem.bias(i);
    missed += (row_acceleration - wanted) * (row_acceleration - wanted);
    bias_size += wanted * wanted;
  }
  const double size = std::sqrt(bias_size) + std::sqrt(row_size) * data.acceleration.norm();
  solution.acceleration = data.acceleration;
  solution.constraint_force = data.constraint_force;
  solution.multipliers.head(m) = multipliers;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    solution.redundancy(i) = factorisation.redundancy(static_cast<int>(i));
  }
  solution.rank = factorisation.rank();
  solution.condition = factorisation.condition();
  solution.inconsistency = size > 0.0 ? std::sqrt(missed) / size : 0.0;
  if (rank_status != Status::kOk)
  {
    return rank_status;
  }
  return solution.inconsistency <= options.consistency_tolerance ? Status::kOk
                                                                 : Status::kInconsistent;
}

}  // namespace constrained_dynamics
