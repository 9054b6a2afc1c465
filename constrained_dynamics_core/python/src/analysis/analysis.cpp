// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/complex.h>

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/analysis/integrability.hpp"
#include "constrained_dynamics/analysis/linearisation.hpp"
#include "constrained_dynamics/analysis/underactuation.hpp"
#include "constrained_dynamics/dynamics/assembly.hpp"
#include "dynamics/owned_workspace.hpp"
#include "simulation/simulation.hpp"

namespace constrained_dynamics::python
{

namespace
{

void bind_derivatives(nb::module_ & module)
{
  using D = SolutionDerivatives;
  nb::class_<D> binding(
    module, "SolutionDerivatives",
    "Derivatives of a solution (E17). Columns of …_q are directions of the coordinates: column k "
    "is\n"
    "the change along δq = C e_k.");
  def_view(binding, "acceleration_q", &D::acceleration_q, "of u̇ (n × n)");
  def_view(binding, "acceleration_u", &D::acceleration_u, "∂u̇/∂u (n × n)");
  def_view(binding, "acceleration_input", &D::acceleration_input, "∂u̇/∂τ (n × l)");
  def_view(binding, "acceleration_force", &D::acceleration_force, "∂u̇ by a generalized force");
  def_view(binding, "multipliers_q", &D::multipliers_q, "of λ (m × n)");
  def_view(binding, "multipliers_u", &D::multipliers_u, "∂λ/∂u (m × n)");
  def_view(binding, "multipliers_input", &D::multipliers_input, "∂λ/∂τ (m × l)");
  def_view(binding, "constraint_force_q", &D::constraint_force_q, "of F^c (n × n)");
  def_view(binding, "constraint_force_u", &D::constraint_force_u, "∂F^c/∂u (n × n)");
  def_view(binding, "constraint_force_input", &D::constraint_force_input, "∂F^c/∂τ (n × l)");
  def_view(binding, "transport", &D::transport, "T of δ̇ = T δ + δu (E18)");
  def_view(binding, "position_q", &D::position_q, "of φ (m × n)");
  def_view(binding, "velocity_q", &D::velocity_q, "of φ̇ or ψ (m × n)");
  def_view(binding, "velocity_u", &D::velocity_u, "∂φ̇/∂u or ∂ψ/∂u (m × n)");
  binding.def_ro("system_is_analytic", &D::system_is_analytic)
    .def_ro("constraint_is_analytic", &D::constraint_is_analytic);
  module.def(
    "differentiate",
    [](
      const Dynamics & d, const VectorArgument & q, const VectorArgument & u,
      const std::optional<VectorArgument> & inputs, OwnedWorkspace & w, double time,
      bool force_differences)
    {
      const System & s = d.system();
      const InputArgument tau(inputs, s.input_count());
      D out;
      require_output(
        differentiate(
          d, time, checked(q, s.coordinate_count(), "q"), checked(u, s.speed_count(), "u"),
          tau.view(), w.of(d), out, DerivativeOptions{force_differences}),
        "differentiate");
      return out;
    },
    "dynamics"_a, "q"_a, "u"_a, "inputs"_a = nb::none(), nb::kw_only(), "workspace"_a,
    "time"_a = 0.0, "force_differences"_a = false,
    "Solves at a state and differentiates the solution by q, u and τ.");
}

void bind_linearisation(nb::module_ & module)
{
  nb::class_<LinearModel> model(
    module, "LinearModel",
    "Small deviations x = (δ, δu) from a motion (E20): ẋ = F x + B δτ, on the manifold\n"
    "ẏ = Nᵀ F N y + Nᵀ B δτ.");
  def_view(model, "inputs", &LinearModel::inputs, "τ at the state");
  def_view(model, "acceleration", &LinearModel::acceleration, "u̇ at the state");
  def_view(model, "state_matrix", &LinearModel::state_matrix, "F (2n × 2n)");
  def_view(model, "input_matrix", &LinearModel::input_matrix, "B (2n × l)");
  def_view(model, "constraint_matrix", &LinearModel::constraint_matrix, "K (2m × 2n)");
  def_view(model, "basis", &LinearModel::basis, "N (2n × s)");
  def_view(model, "reduced_matrix", &LinearModel::reduced_matrix, "Nᵀ F N (s × s)");
  def_view(model, "reduced_input_matrix", &LinearModel::reduced_input_matrix, "Nᵀ B (s × l)");
  model.def_ro("state", &LinearModel::state)
    .def_ro("derivatives", &LinearModel::derivatives)
    .def_prop_ro(
      "eigenvalues", [](const LinearModel & m) { return Eigen::VectorXcd(m.eigenvalues); },
      "of F, by falling real part")
    .def_prop_ro(
      "reduced_eigenvalues",
      [](const LinearModel & m) { return Eigen::VectorXcd(m.reduced_eigenvalues); }, "of Nᵀ F N")
    .def_ro("variation", &LinearModel::variation, "[1/s]; 0 where eigenvalues speak of stability")
    .def_ro("is_equilibrium", &LinearModel::is_equilibrium)
    .def_ro("is_steady", &LinearModel::is_steady);
  module.def(
    "linearise",
    [](
      const Dynamics & d, const State & state, const std::optional<VectorArgument> & inputs,
      OwnedWorkspace & w)
    {
      const InputArgument tau(inputs, d.system().input_count());
      if (
        state.q.size() != d.system().coordinate_count() ||
        state.u.size() != d.system().speed_count())
      {
        throw std::invalid_argument("the state has other sizes than the system");
      }
      LinearModel out;
      require_output(
        linearise(d, state, Eigen::VectorXd(tau.view()), nullptr, w.of(d), out), "linearise");
      return out;
    },
    "dynamics"_a, "state"_a, "inputs"_a = nb::none(), nb::kw_only(), "workspace"_a,
    "Linear model about the motion through a state, inputs kept.");

  nb::class_<LyapunovResult>(module, "LyapunovResult", "Growth of deviations along a run.")
    .def_ro("status", &LyapunovResult::status)
    .def_ro("completed", &LyapunovResult::completed)
    .def_ro("time", &LyapunovResult::time)
    .def_ro("exponent", &LyapunovResult::exponent, "mean rate of growth [1/s]")
    .def_ro("first_half", &LyapunovResult::first_half)
    .def_ro("second_half", &LyapunovResult::second_half)
    .def_ro("sample_time", &LyapunovResult::sample_time)
    .def_ro("sample_exponent", &LyapunovResult::sample_exponent);
  const LyapunovOptions options;
  module.def(
    "largest_lyapunov_exponent",
    [](SimulationHandle & handle, double until, double transient, int sample_count)
    {
      const SimulationHandle::Use use(handle);
      const nb::gil_scoped_release release;
      return largest_lyapunov_exponent(
        *handle.simulation, until, handle.law.get(), LyapunovOptions{transient, sample_count});
    },
    "simulation"_a, "until"_a, nb::kw_only(), "transient"_a = options.transient,
    "sample_count"_a = options.sample_count, "Largest Lyapunov exponent (Benettin) of a run.");
}

std::vector<bool> flags(
  const std::vector<std::string> & held, const std::vector<std::string> & names, const char * what)
{
  std::vector<bool> out(names.size(), false);
  for (const std::string & name : held)
  {
    bool found = false;
    for (std::size_t i = 0; i < names.size(); ++i)
    {
      if (names[i] == name)
      {
        out[i] = true;
        found = true;
      }
    }
    if (!found)
    {
      throw std::invalid_argument("hold: there is no " + std::string(what) + " '" + name + "'");
    }
  }
  return out;
}

void require_assembled(const AssemblyResult & result, const char * what)
{
  if (!result.converged)
  {
    throw std::runtime_error(
      std::string(what) + ": the rows cannot be met; row " + result.worst_row + " is left at " +
      std::to_string(result.residual));
  }
}

void bind_assembly(nb::module_ & module)
{
  using Strings = std::vector<std::string>;
  module.def(
    "assemble_position",
    [](
      const Dynamics & d, const VectorArgument & q, const Strings & hold, OwnedWorkspace * w,
      double time, double tolerance)
    {
      Eigen::VectorXd out = checked(q, d.system().coordinate_count(), "q");
      const std::vector<bool> held = flags(hold, d.system().coordinate_names(), "coordinate");
      Workspace own = Workspace::unanalysed(d);
      require_assembled(
        assemble_position(d, time, out, held, w != nullptr ? w->of(d) : own, tolerance),
        "assemble_position");
      return out;
    },
    "dynamics"_a, "q"_a, "hold"_a = Strings(), nb::kw_only(), "workspace"_a.none() = nb::none(),
    "time"_a = 0.0, "tolerance"_a = 1e-12,
    "q moved, but for the coordinates named in `hold`, until φ(q, t) = 0; from far away, too.\n"
    "workspace: whose active constraints count; None: all. Raises RuntimeError naming the worst "
    "row.");
  module.def(
    "assemble_velocity",
    [](
      const Dynamics & d, const VectorArgument & q, const VectorArgument & u, const Strings & hold,
      OwnedWorkspace * w, double time, double tolerance)
    {
      Workspace own = Workspace::unanalysed(d);
      Eigen::VectorXd out = checked(u, d.system().speed_count(), "u");
      const std::vector<bool> held = flags(hold, d.system().speed_names(), "speed");
      require_assembled(
        assemble_velocity(
          d, time, Eigen::VectorXd(checked(q, d.system().coordinate_count(), "q")), out, held,
          w != nullptr ? w->of(d) : own, tolerance),
        "assemble_velocity");
      return out;
    },
    "dynamics"_a, "q"_a, "u"_a, "hold"_a = Strings(), nb::kw_only(),
    "workspace"_a.none() = nb::none(), "time"_a = 0.0, "tolerance"_a = 1e-12,
    "u likewise, until φ̇ = 0 and ψ = 0.");
}

void bind_integrability(nb::module_ & module)
{
  nb::enum_<Answer>(module, "Answer")
    .value("NO", Answer::kNo)
    .value("YES", Answer::kYes)
    .value("UNKNOWN", Answer::kUnknown);
  nb::class_<RowIntegrability>(module, "RowIntegrability", "What kind of row this is.")
    .def_ro("name", &RowIntegrability::name)
    .def_ro("level", &RowIntegrability::level)
    .def_ro("linear", &RowIntegrability::linear)
    .def_ro("homogeneous", &RowIntegrability::homogeneous)
    .def_ro("exact", &RowIntegrability::exact)
    .def_ro("integrable_alone", &RowIntegrability::integrable_alone)
    .def_ro("integrating_factor", &RowIntegrability::integrating_factor)
    .def_ro("reason", &RowIntegrability::reason);
  nb::class_<IntegrabilityReport>(module, "IntegrabilityReport")
    .def_ro("rows", &IntegrabilityReport::rows)
    .def_ro("integrable", &IntegrabilityReport::integrable)
    .def_ro("reason", &IntegrabilityReport::reason)
    .def_ro("rank", &IntegrabilityReport::rank)
    .def_ro("bracket_growth", &IntegrabilityReport::bracket_growth);
  const IntegrabilityOptions options;
  module.def(
    "analyse_integrability",
    [](
      const Dynamics & d, const VectorArgument & q, double time, int points, double spread,
      std::uint32_t seed)
    {
      Workspace workspace = Workspace::unanalysed(d);
      const PositionProjection project = [&](double t, Eigen::VectorXd & at)
      { return has_output(d.project_position(t, at, workspace)); };
      return analyse_integrability(
        d.constraints(), time, view(q), project, IntegrabilityOptions{points, spread, seed});
    },
    "dynamics"_a, "q"_a, "time"_a = 0.0, nb::kw_only(), "points"_a = options.points,
    "spread"_a = options.spread, "seed"_a = options.seed,
    "Which rows are exact and whether the set is integrable, numerically near q.");
}

void bind_underactuation(nb::module_ & module)
{
  using Report = UnderactuationReport;
  nb::class_<Report> report(
    module, "UnderactuationReport", "What no input can change at a state (E27): W (Q u̇ − P) = 0.");
  def_view(report, "motions", &Report::motions, "W (p − g × n)");
  def_view(report, "inertia", &Report::inertia, "W Q (p − g × n)");
  def_view(report, "force", &Report::force, "W P (p − g)");
  report.def_ro("degrees_of_freedom", &Report::degrees_of_freedom, "p")
    .def_ro("input_rank", &Report::input_rank, "g");
  module.def(
    "analyse_underactuation",
    [](const Dynamics & d, const State & state, OwnedWorkspace & w)
    { return analyse_underactuation(d, state, w.of(d)); },
    "dynamics"_a, "state"_a, "workspace"_a);
}

}  // namespace

void bind_analysis(nb::module_ & module)
{
  bind_derivatives(module);
  bind_linearisation(module);
  bind_assembly(module);
  bind_integrability(module);
  bind_underactuation(module);
}

}  // namespace constrained_dynamics::python
