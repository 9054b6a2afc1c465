// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "constrained_dynamics/formulations/dynamics_options.hpp"
#include "constrained_dynamics/formulations/projection.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constraints/gain_argument.hpp"
#include "python_function.hpp"

namespace constrained_dynamics::python
{

namespace
{

void bind_options(nb::module_ & module)
{
  nb::class_<Stabilisation> stabilisation(
    module, "Stabilisation",
    "How the drift of rows is removed: none, Baumgarte (in every solve) or projection (after each\n"
    "step of a simulation).");
  nb::enum_<Stabilisation::Kind>(stabilisation, "Kind")
    .value("NONE", Stabilisation::Kind::kNone)
    .value("BAUMGARTE", Stabilisation::Kind::kBaumgarte)
    .value("PROJECTION", Stabilisation::Kind::kProjection);
  stabilisation.def_ro("kind", &Stabilisation::kind)
    .def_static("none", &Stabilisation::none)
    .def_static(
      "projection",
      [](bool keep_independent)
      {
        return keep_independent ? Stabilisation::projection_of_dependent()
                                : Stabilisation::projection();
      },
      "keep_independent"_a = false,
      "keep_independent: leave the independent speeds of the formulation alone.")
    .def_static(
      "baumgarte",
      [](
        const GainArgument & velocity, const GainArgument & position,
        const GainArgument & nonholonomic)
      { return Stabilisation::baumgarte(gain(velocity), gain(position), gain(nonholonomic)); },
      "velocity"_a, "position"_a, "nonholonomic"_a = 0.0,
      "φ̈ = velocity · φ̇ + position · φ, ψ̇ = nonholonomic · ψ: numbers ≤ 0 or matrices.")
    .def_static(
      "baumgarte_for_step", &Stabilisation::baumgarte_for_step, "step"_a, "rate_per_step"_a = 0.05,
      "Critically damped gains that follow the step.");

  const RankOptions rank;
  nb::class_<RankOptions>(module, "RankOptions", "Tolerances of decisions about rank.")
    .def(
      "__init__",
      [](RankOptions * self, double singular, double redundancy, double consistency, double limit) {
        new (self) RankOptions{singular, redundancy, consistency, limit};
      },
      nb::kw_only(), "singular_tolerance"_a = rank.singular_tolerance,
      "redundancy_tolerance"_a = rank.redundancy_tolerance,
      "consistency_tolerance"_a = rank.consistency_tolerance,
      "partition_limit"_a = rank.partition_limit)
    .def_ro("singular_tolerance", &RankOptions::singular_tolerance)
    .def_ro("redundancy_tolerance", &RankOptions::redundancy_tolerance)
    .def_ro("consistency_tolerance", &RankOptions::consistency_tolerance)
    .def_ro("partition_limit", &RankOptions::partition_limit);
}

/// A complement N of the rows by a Python function of time, coordinates and speeds.
class PythonComplement : public Complement
{
public:
  PythonComplement(int row_count, nb::callable function)
  : row_count_(row_count), function_(std::move(function))
  {
    if (!(row_count > 0))
    {
      throw std::invalid_argument(
        "row_count is " + std::to_string(row_count) + "; allowed: 1 or more");
    }
  }
  int row_count() const override { return row_count_; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  Status evaluate(const SystemData & system, Scratch &, MatrixRef out) const noexcept
    CD_NONBLOCKING override
  {
    const nb::gil_scoped_acquire acquire;
    return guarded(
      "complement",
      [&]
      {
        const SystemTerms & terms = system.terms;
        const Eigen::MatrixXd n = matrix(nb::cast<MatrixArgument>(function_.function(
          terms.time, Eigen::VectorXd(terms.coordinates), Eigen::VectorXd(terms.speeds))));
        if (n.rows() != out.rows() || n.cols() != out.cols())
        {
          throw std::invalid_argument(
            "the complement is " + std::to_string(n.rows()) + " × " + std::to_string(n.cols()) +
            "; it must be " + std::to_string(out.rows()) + " × " + std::to_string(out.cols()));
        }
        out = n;
        return n.allFinite() ? Status::kOk : Status::kNonFiniteResult;
      });
  }

private:
  int row_count_;
  HeldFunction function_;
};

/// Solves one problem without a system.
RowSolution solve_row_problem(
  const Formulation & formulation, const MatrixArgument & mass_matrix, const VectorArgument & force,
  const MatrixArgument & rows, const VectorArgument & bias, const RankOptions & options)
{
  const Eigen::MatrixXd q = matrix(mass_matrix);
  const Eigen::MatrixXd a = matrix(rows);
  const Eigen::Index n = force.size();
  const Eigen::Index m = bias.size();
  if (q.rows() != n || q.cols() != n || a.rows() != m || a.cols() != n)
  {
    throw std::invalid_argument(
      "mass_matrix must be " + std::to_string(n) + " × " + std::to_string(n) +
      " as force has that many elements, rows must be " + std::to_string(m) + " × " +
      std::to_string(n) + " as bias has");
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(m);
  const RowFormulation & form = formulation.row_form();
  const std::unique_ptr<FormulationData> data =
    form.make_data(static_cast<int>(n), static_cast<int>(m));
  // Full row rank is nominal; the rank found is in `rank`.
  const Eigen::VectorXd sizes = a.rowwise().norm();
  const Eigen::VectorXd scale = (sizes.array() > 0.0).select(sizes.cwiseInverse(), 1.0);
  const RowProblem problem{
    q, view(force), a, view(bias), scale, ones, static_cast<int>(std::min(n, m))};
  RowSolution solution;
  solution.resize(n, m);
  require_output(form.solve(problem, options, *data, solution), formulation.name());
  return solution;
}

}  // namespace

void bind_formulations(nb::module_ & module)
{
  bind_options(module);
  nb::class_<RowSolution> solution(module, "RowSolution", "What a formulation gives.");
  def_view(solution, "acceleration", &RowSolution::acceleration, "u̇ (n)");
  def_view(solution, "constraint_force", &RowSolution::constraint_force, "F^c (n)");
  def_view(solution, "multipliers", &RowSolution::multipliers, "λ (m)");
  def_view(solution, "redundancy", &RowSolution::redundancy, "0: irreplaceable, 1: redundant");
  solution.def_ro("rank", &RowSolution::rank)
    .def_ro("condition", &RowSolution::condition)
    .def_ro("inconsistency", &RowSolution::inconsistency);

  nb::class_<Formulation>(
    module, "Formulation", "A way from rows to accelerations and forces; all agree to rounding.")
    .def_prop_ro("name", [](const Formulation & f) { return std::string(f.name()); })
    .def(
      "solve_row_problem", &solve_row_problem, "mass_matrix"_a, "force"_a, "rows"_a, "bias"_a,
      "options"_a = RankOptions(),
      "u̇ and λ of Q u̇ = h + Aᵀ λ, A u̇ = b for given Q, h, A, b. Raises RuntimeError with the\n"
      "status where there is none.")
    .def(
      "__repr__",
      [](const Formulation & f) { return "<Formulation '" + std::string(f.name()) + "'>"; });
  module.def(
    "formulation_names", [] { return formulation_names(); },
    "Ids of the formulations that solve every problem.");
  module.def("all_formulation_names", &all_formulation_names, "Ids that make_formulation knows.");
  module.def("make_formulation", &make_formulation, "name"_a, "A formulation by its id.");

  nb::class_<CoordinatePartition, Formulation> partition(
    module, "CoordinatePartition", "Coordinate partitioning with a choice of independent speeds.");
  nb::enum_<CoordinatePartition::Mode>(partition, "Mode")
    .value("FULL_COORDINATES", CoordinatePartition::Mode::kFullCoordinates)
    .value("EVERY_STEP", CoordinatePartition::Mode::kEveryStep)
    .value("SELECTED", CoordinatePartition::Mode::kSelected);
  partition.def(
    nb::init<CoordinatePartition::Mode, std::vector<int>>(),
    "mode"_a = CoordinatePartition::Mode::kEveryStep, "independent_speeds"_a = std::vector<int>());
  nb::class_<Projection, Formulation>(
    module, "Projection", "The projection method, with a complement N Aᵀ = 0 of the user (E12).")
    .def(
      "__init__", [](Projection * self) { new (self) Projection(); }, "N from a QR of the rows.")
    .def(
      "__init__",
      [](Projection * self, int row_count, nb::callable function) {
        new (self) Projection(std::make_shared<PythonComplement>(row_count, std::move(function)));
      },
      "row_count"_a, "complement"_a,
      "complement(t, q, u) returns N (row_count × n), row_count = n − rank. For offline use.");
}

}  // namespace constrained_dynamics::python
