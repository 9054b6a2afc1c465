#include "constrained_dynamics/formulations/kane_minimal.hpp"

#include "row_scratch.hpp"

namespace constrained_dynamics
{

namespace
{

class KaneMinimalData : public RowScratch
{
public:
  KaneMinimalData(int n, int m)
  : RowScratch(n, m),
    reduced(n),
    mass_dd(Eigen::MatrixXd::Zero(n, n)),
    mass_id(Eigen::MatrixXd::Zero(n, n)),
    momentum(Eigen::MatrixXd::Zero(n, n)),
    force(Eigen::VectorXd::Zero(n)),
    independent(Eigen::VectorXd::Zero(n))
  {
  }

  ReducedInertia reduced;
  Eigen::MatrixXd mass_dd;   // Q_DD (r × r)
  Eigen::MatrixXd mass_id;   // Q_ID (p × r)
  Eigen::MatrixXd momentum;  // Q_DI + Q_DD K (r × p)
  Eigen::VectorXd force;     // h_D − Q_DD β
  Eigen::VectorXd independent;
};

}  // namespace

std::unique_ptr<FormulationData> KaneMinimal::make_data(int speed_count, int max_row_count) const
{
  return std::make_unique<KaneMinimalData>(speed_count, max_row_count);
}

Status KaneMinimal::do_solve(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  // Letters of the seeds: Q, h; r dependent (D) and p independent (I) speeds.
  KaneMinimalData & data = static_cast<KaneMinimalData &>(formulation_data);
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  const ConstMatrixRef & Q = problem.mass_matrix;
  const Eigen::Index n = Q.rows();
  const Eigen::Index r = data.rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = data.factorisation.order();
  const auto K = data.factorisation.dependency();
  auto Q_DD = data.mass_dd.topLeftCorner(r, r);
  auto Q_ID = data.mass_id.topLeftCorner(p, r);
  auto momentum = data.momentum.topLeftCorner(r, p);
  auto reduced = data.reduced.matrix(p);
  auto force = data.force.head(r);
  auto independent = data.independent.head(p);
  for (Eigen::Index j = 0; j < r; ++j)
  {
    for (Eigen::Index i = 0; i < r; ++i)
    {
      Q_DD(i, j) = Q(order(i), order(j));
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      Q_ID(i, j) = Q(order(r + i), order(j));
    }
    force(j) = problem.force(order(j));
  }
  for (Eigen::Index j = 0; j < p; ++j)
  {
    for (Eigen::Index i = 0; i < r; ++i)
    {
      momentum(i, j) = Q(order(i), order(r + j));
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      reduced(i, j) = Q(order(r + i), order(r + j));
    }
    independent(j) = problem.force(order(r + j));
  }
  if (r > 0 && p > 0)
  {
    momentum.noalias() += Q_DD * K;
    reduced.noalias() += Q_ID * K;
    reduced.noalias() += K.transpose() * momentum;
    force.noalias() -= Q_DD * data.beta();
    independent.noalias() -= Q_ID * data.beta();
    independent.noalias() += K.transpose() * force;
  }
  if (!data.reduced.factor(p))
  {
    return Status::kSingularInertia;
  }
  data.reduced.solve(independent);
  data.expand(independent);
  data.force_from_motion(problem);
  return data.finish(problem, options, rank_status, solution);
}

}  // namespace constrained_dynamics
