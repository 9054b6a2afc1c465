// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/variant.h>

#include <sstream>
#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/dynamics/constraint_record.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "constrained_dynamics/formulations/projection.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "dynamics/owned_workspace.hpp"
#include "python_function.hpp"
#include "servo/gain_argument.hpp"

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

/// One problem without a system.
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
  // Rows of full rank are nominal; what the solve finds is in `rank`.
  const Eigen::VectorXd sizes = a.rowwise().norm();
  const Eigen::VectorXd scale = (sizes.array() > 0.0).select(sizes.cwiseInverse(), 1.0);
  const RowProblem problem{
    q, view(force), a, view(bias), scale, ones, static_cast<int>(std::min(n, m))};
  RowSolution solution;
  solution.resize(n, m);
  require_output(form.solve(problem, options, *data, solution), formulation.name());
  return solution;
}

void bind_formulations(nb::module_ & module)
{
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
  module.def("formulation_names", &formulation_names, "Ids that make_formulation knows.");
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

// ---- state, rows, solution
// -----------------------------------------------------------------------

void bind_results(nb::module_ & module)
{
  nb::class_<State> state(module, "State", "Time, coordinates and speeds.");
  state
    .def(
      "__init__",
      [](State * self, const VectorArgument & q, const VectorArgument & u, double time) {
        new (self) State{time, view(q), view(u)};
      },
      "q"_a, "u"_a, "time"_a = 0.0, "Copies q and u.")
    .def_rw("time", &State::time);
  def_view(state, "q", &State::q, "coordinates (nq), a read-only view");
  def_view(state, "u", &State::u, "speeds (n), a read-only view");

  nb::class_<Rows> rows(
    module, "Rows",
    "The rows of all constraints at the state of a workspace; read-only views. NaN: not "
    "evaluated.");
  def_view(rows, "position", &Rows::position, "φ (m)");
  def_view(rows, "velocity", &Rows::velocity, "φ̇ or ψ (m)");
  def_view(rows, "jacobian", &Rows::jacobian, "A (m × n)");
  def_view(rows, "bias", &Rows::bias, "b (m), without stabilisation");

  nb::class_<Wrench> wrench(module, "Wrench", "Force and torque about a point, world axes.");
  wrench.def_ro("point", &Wrench::point, "[m]")
    .def_ro("force", &Wrench::force, "[N]")
    .def_ro("torque", &Wrench::torque, "[N m]");
  nb::class_<WrenchPair>(module, "WrenchPair", "The wrench on body a and on body b.")
    .def_ro("on_a", &WrenchPair::on_a)
    .def_ro("on_b", &WrenchPair::on_b);

  nb::class_<Solution> solution(
    module, "Solution",
    "Accelerations and forces of the last solve at the state of a workspace. Arrays are read-only\n"
    "views: copy what shall outlive the next solve. NaN: no solution at this state.");
  def_view(solution, "acceleration", &Solution::acceleration, "u̇ (n)");
  def_view(solution, "constraint_force", &Solution::constraint_force, "F^c (n) (E7)");
  def_view(solution, "multipliers", &Solution::multipliers, "λ (m) (E8)");
  def_view(
    solution, "redundancy", &Solution::redundancy,
    "of each row, 0: nothing can replace it, 1: redundant");
  solution
    .def_ro(
      "wrenches", &Solution::wrenches,
      "Copies; ConstraintSet.wrench_offset says whose each pair is.")
    .def_ro("active_row_count", &Solution::active_row_count)
    .def_ro("rank", &Solution::rank)
    .def_ro("condition", &Solution::condition)
    .def_ro("inconsistency", &Solution::inconsistency)
    .def_ro("along_tree", &Solution::along_tree, "Found without Q and A.");

  nb::class_<RankReport::Dependency>(module, "RowDependency", "row = Σ coefficient · other row.")
    .def_ro("row", &RankReport::Dependency::row)
    .def_ro("others", &RankReport::Dependency::others)
    .def_ro("coefficients", &RankReport::Dependency::coefficients);
  nb::class_<RankReport>(module, "RankReport", "What the analysis of a workspace found.")
    .def_ro("row_count", &RankReport::row_count, "active rows")
    .def_ro("nominal_rank", &RankReport::nominal_rank, "on the manifold close to the state")
    .def_ro("rank_here", &RankReport::rank_here)
    .def_ro("degrees_of_freedom", &RankReport::degrees_of_freedom)
    .def_ro("condition", &RankReport::condition)
    .def_ro("dependencies", &RankReport::dependencies)
    .def(
      "__repr__",
      [](const RankReport & r)
      {
        std::ostringstream text;
        text << "<RankReport: rank " << r.nominal_rank << " of " << r.row_count << " rows, "
             << r.degrees_of_freedom << " degrees of freedom>";
        return text.str();
      });
}

int constraint_of(const Dynamics & dynamics, const std::variant<int, std::string> & key)
{
  if (const std::string * name = std::get_if<std::string>(&key))
  {
    return dynamics.constraints().index(*name);
  }
  const int i = std::get<int>(key);
  if (!(i >= 0 && i < dynamics.constraints().size()))
  {
    throw std::invalid_argument(
      "constraint " + std::to_string(i) + " does not exist; there are " +
      std::to_string(dynamics.constraints().size()));
  }
  return i;
}

void bind_workspace(nb::module_ & module)
{
  nb::class_<OwnedWorkspace> binding(
    module, "Workspace",
    "Everything that changes: state, terms, rows, solution, active flags. Made once, at a state; "
    "one\n"
    "per thread. Parts that were not evaluated at the present state read NaN.");
  binding
    .def(
      nb::init<const Dynamics &, const State &>(), "dynamics"_a, "state"_a, nb::keep_alive<1, 2>(),
      "Analyses the rows around the state, which need not satisfy the constraints.")
    .def_static(
      "unanalysed", [](const Dynamics & d) { return OwnedWorkspace(d); }, "dynamics"_a,
      nb::keep_alive<0, 1>(),
      "For what needs no ranks: assembling a first state, evaluating rows. Until `reset` "
      "redundant\n"
      "rows count as singular, and solves are slower.")
    .def(
      "reset",
      [](OwnedWorkspace & w, const State & state) { return RankReport(w.workspace.reset(state)); },
      "state"_a,
      "Analyses the active rows around a state again; returns the RankReport. Worth calling after\n"
      "constraints were switched.")
    .def_prop_ro(
      "rank_report", [](const OwnedWorkspace & w) { return RankReport(w.workspace.rank_report()); })
    .def_prop_ro(
      "rows", [](const OwnedWorkspace & w) -> const Rows & { return w.workspace.rows(); },
      nb::rv_policy::reference_internal)
    .def_prop_ro(
      "solution",
      [](const OwnedWorkspace & w) -> const Solution & { return w.workspace.solution(); },
      nb::rv_policy::reference_internal)
    .def_prop_ro(
      "nominal_rank", [](const OwnedWorkspace & w) { return w.workspace.nominal_rank(); });
  const auto term = [&binding](const char * name, auto find, const char * doc)
  {
    binding.def_prop_ro(
      name, [find](const OwnedWorkspace & w) { return view(find(w.workspace.terms())); },
      nb::rv_policy::reference_internal, doc);
  };
  term(
    "mass_matrix", [](const Terms & t) -> const Eigen::MatrixXd & { return t.mass_matrix; },
    "Q (n × n), after evaluate_terms");
  term(
    "force", [](const Terms & t) -> const Eigen::VectorXd & { return t.force; },
    "P (n), after evaluate_terms");
  term(
    "rates", [](const Terms & t) -> const Eigen::VectorXd & { return t.rates; }, "q̇ (nq)");
}

// ---- dynamics
// ------------------------------------------------------------------------------------

using FormulationArgument = std::variant<std::string, std::shared_ptr<const Formulation>>;
using Constraints = std::vector<std::shared_ptr<const Constraint>>;

std::shared_ptr<Dynamics> make_dynamics(
  const ConstraintSet & set, const FormulationArgument & formulation,
  const Stabilisation & stabilisation, const RankOptions & rank, double characteristic_length)
{
  const auto * name = std::get_if<std::string>(&formulation);
  return std::make_shared<Dynamics>(
    set, DynamicsOptions{rank, characteristic_length, stabilisation},
    name != nullptr ? make_formulation(*name)
                    : std::get<std::shared_ptr<const Formulation>>(formulation));
}

void bind_solving(nb::class_<Dynamics> & binding)
{
  const auto size = [](const Dynamics & d) -> const System & { return d.system(); };
  binding
    .def(
      "solve",
      [size](
        const Dynamics & d, const VectorArgument & q, const VectorArgument & u,
        const std::optional<VectorArgument> & inputs, OwnedWorkspace & w, double time)
      {
        const System & s = size(d);
        const InputArgument tau(inputs, s.input_count());
        return d.solve(
          time, checked(q, s.coordinate_count(), "q"), checked(u, s.speed_count(), "u"), tau.view(),
          w.of(d));
      },
      "q"_a, "u"_a, "inputs"_a = nb::none(), nb::kw_only(), "workspace"_a, "time"_a = 0.0,
      "Accelerations, multipliers, forces and wrenches (E1 to E8) at a state into\n"
      "workspace.solution. inputs: None stands for zeros.")
    .def(
      "solve",
      [size](const Dynamics & d, const std::optional<VectorArgument> & inputs, OwnedWorkspace & w)
      {
        const InputArgument tau(inputs, size(d).input_count());
        return d.solve(tau.view(), w.of(d));
      },
      "inputs"_a = nb::none(), nb::kw_only(), "workspace"_a,
      "The same at the state of the workspace: with other inputs or active constraints.")
    .def(
      "set_state",
      [size](
        const Dynamics & d, const VectorArgument & q, const VectorArgument & u, OwnedWorkspace & w,
        double time)
      {
        const System & s = size(d);
        return d.set_state(
          time, checked(q, s.coordinate_count(), "q"), checked(u, s.speed_count(), "u"), w.of(d));
      },
      "q"_a, "u"_a, nb::kw_only(), "workspace"_a, "time"_a = 0.0,
      "Puts the workspace at a state and evaluates the kinematics.")
    .def(
      "evaluate_rows",
      [](const Dynamics & d, OwnedWorkspace & w) { return d.evaluate_rows(w.of(d)); },
      nb::kw_only(), "workspace"_a, "Rows (E3) at the state of the workspace.")
    .def(
      "evaluate_terms",
      [](const Dynamics & d, OwnedWorkspace & w) { return d.evaluate_terms(w.of(d)); },
      nb::kw_only(), "workspace"_a, "Q, P and G at the state of the workspace.")
    .def(
      "evaluate_rows",
      [size](
        const Dynamics & d, const VectorArgument & q, const VectorArgument & u, OwnedWorkspace & w,
        double time)
      {
        const System & s = size(d);
        return d.evaluate_rows(
          time, checked(q, s.coordinate_count(), "q"), checked(u, s.speed_count(), "u"), w.of(d));
      },
      "q"_a, "u"_a, nb::kw_only(), "workspace"_a, "time"_a = 0.0, "set_state, then the rows there.")
    .def(
      "project_position",
      [size](const Dynamics & d, const VectorArgument & q, OwnedWorkspace & w, double time)
      {
        Eigen::VectorXd out = checked(q, size(d).coordinate_count(), "q");
        require_output(d.project_position(time, out, w.of(d)), "project_position");
        return out;
      },
      "q"_a, nb::kw_only(), "workspace"_a, "time"_a = 0.0,
      "q moved to φ(q, t) = 0 by the physically smallest correction. Raises RuntimeError with the\n"
      "status where that fails.")
    .def(
      "project_velocity",
      [size](
        const Dynamics & d, const VectorArgument & q, const VectorArgument & u, OwnedWorkspace & w,
        double time)
      {
        Eigen::VectorXd out = checked(u, size(d).speed_count(), "u");
        require_output(
          d.project_velocity(time, checked(q, size(d).coordinate_count(), "q"), out, w.of(d)),
          "project_velocity");
        return out;
      },
      "q"_a, "u"_a, nb::kw_only(), "workspace"_a, "time"_a = 0.0,
      "u moved to φ̇ = 0 and ψ = 0. Likewise.");
}

void bind_dynamics_class(nb::module_ & module)
{
  nb::class_<Dynamics> binding(
    module, "Dynamics",
    "A constrained system: system, constraints, formulation, options. Constant; may be shared by\n"
    "threads, each with a Workspace of its own.");
  binding
    .def(
      nb::new_(&make_dynamics), "constraints"_a, nb::kw_only(), "formulation"_a = "auto",
      "stabilisation"_a = Stabilisation(), "rank"_a = RankOptions(),
      "characteristic_length"_a = 1.0,
      "Of a ConstraintSet. formulation: an id of formulation_names() or a Formulation.")
    .def(
      nb::new_(
        [](
          std::shared_ptr<const System> system, const Constraints & constraints,
          const FormulationArgument & formulation, const Stabilisation & stabilisation,
          const RankOptions & rank, double characteristic_length)
        {
          return make_dynamics(
            ConstraintSet(std::move(system), constraints), formulation, stabilisation, rank,
            characteristic_length);
        }),
      "system"_a, "constraints"_a = Constraints(), nb::kw_only(), "formulation"_a = "auto",
      "stabilisation"_a = Stabilisation(), "rank"_a = RankOptions(),
      "characteristic_length"_a = 1.0, "Of a system and a list of constraints.")
    .def_prop_ro("system", [](const Dynamics & d) { return d.constraints().shared_system(); })
    .def_prop_ro(
      "constraints", [](const Dynamics & d) -> const ConstraintSet & { return d.constraints(); },
      nb::rv_policy::reference_internal)
    .def_prop_ro(
      "formulation", [](const Dynamics & d) { return std::string(d.formulation().name()); })
    .def(
      "make_workspace",
      [](const Dynamics & d, const State & state) { return OwnedWorkspace(d, state); }, "state"_a,
      nb::keep_alive<0, 1>())
    .def(
      "set_active",
      [](
        const Dynamics & d, const std::variant<int, std::string> & constraint, bool active,
        OwnedWorkspace & w) { w.of(d).set_active(constraint_of(d, constraint), active); },
      "constraint"_a, "active"_a, "workspace"_a,
      "Switches a constraint, by name or index, in a workspace.")
    .def(
      "is_active",
      [](const Dynamics & d, const std::variant<int, std::string> & constraint, OwnedWorkspace & w)
      { return w.of(d).is_active(constraint_of(d, constraint)); },
      "constraint"_a, "workspace"_a)
    .def(
      "set_external_wrench",
      [](
        const Dynamics & d, const std::string & name, const VectorArgument & force,
        const VectorArgument & torque, OwnedWorkspace & w)
      {
        const auto * robot = dynamic_cast<const RigidBodySystem *>(&d.system());
        int index = 0;
        for (const std::string & known :
             robot != nullptr ? robot->external_wrench_names() : std::vector<std::string>())
        {
          if (known == name)
          {
            robot->set_external_wrench(
              w.of(d).change_system_data(), index, vector3(force, "force"),
              vector3(torque, "torque"));
            return;
          }
          ++index;
        }
        throw std::invalid_argument("there is no external wrench '" + name + "'");
      },
      "name"_a, "force"_a, "torque"_a, "workspace"_a,
      "Value of an external wrench of the system, from the next solve in this workspace on.");
  bind_solving(binding);
}

}  // namespace

static void bind_records(nb::module_ & module)
{
  nb::class_<RowRecord>(module, "RowRecord", "One row of a constraint at a solve.")
    .def_ro("multiplier", &RowRecord::multiplier, "λ")
    .def_ro("position_residual", &RowRecord::position_residual, "φ")
    .def_ro("velocity_residual", &RowRecord::velocity_residual, "φ̇ or ψ")
    .def_ro("redundancy", &RowRecord::redundancy, "0: no row can replace it, 1: others do wholly");
  nb::class_<WrenchRecord>(
    module, "WrenchRecord", "The force between two bodies: both wrenches about one point.")
    .def_ro("point", &WrenchRecord::point, "[m]")
    .def_ro("force_on_a", &WrenchRecord::force_on_a, "[N]")
    .def_ro("torque_on_a", &WrenchRecord::torque_on_a, "[N m]")
    .def_ro("force_on_b", &WrenchRecord::force_on_b, "[N]")
    .def_ro("torque_on_b", &WrenchRecord::torque_on_b, "[N m]");
  nb::class_<ConstraintRecord>(module, "ConstraintRecord", "One constraint at a solve.")
    .def_ro("active", &ConstraintRecord::active)
    .def_ro("redundant", &ConstraintRecord::redundant, "other rows can replace one of it")
    .def_ro("rows", &ConstraintRecord::rows)
    .def_ro("wrenches", &ConstraintRecord::wrenches);
}

void bind_dynamics(nb::module_ & module)
{
  bind_records(module);
  bind_options(module);
  bind_formulations(module);
  bind_results(module);
  bind_dynamics_class(module);
  bind_workspace(module);
}

}  // namespace constrained_dynamics::python
