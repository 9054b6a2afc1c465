#include "constrained_dynamics/formulations/kane_nonminimal.hpp"

#include "row_scratch.hpp"

namespace constrained_dynamics
{

namespace
{

class KaneData : public RowScratch
{
public:
  KaneData(int n, int m)
  : RowScratch(n, m), mass(n, n), mass_a2(n, n), reduced(n), force(n), independent(n)
  {
    mass.setZero();
  }

  Eigen::MatrixXd mass;     // Q in partition order
  Eigen::MatrixXd mass_a2;  // Q A2ᵀ in partition order (n × p)
  ReducedInertia reduced;   // A2 Q A2ᵀ (p × p)
  Eigen::VectorXd force;
  Eigen::VectorXd independent;  // ẇ
};

}  // namespace

std::unique_ptr<FormulationData> KaneNonminimal::make_data(int speed_count, int max_row_count) const
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
  auto reduced = data.reduced.matrix(p);
  auto w = data.independent.head(p);
  mass_a2 = data.mass.rightCols(p);
  data.force.noalias() -= data.mass.leftCols(r) * data.beta();
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
  if (!data.reduced.factor(p))
  {
    return Status::kSingularInertia;
  }
  data.reduced.solve(w);
  data.expand(w);
  data.force_from_motion(problem);
  return data.finish(problem, options, rank_status, solution);
}

}  // namespace constrained_dynamics
