// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/variant.h>

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/constraints/joint_constraint.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constrained_dynamics/model/force_element.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "dynamics/owned_workspace.hpp"

namespace constrained_dynamics::python
{

namespace
{

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

std::vector<ForceElementState> force_element_states(const OwnedWorkspace & w)
{
  const System & system = w.owner->system();
  const RigidBodySystem * robot = system.underlying().as_robot();
  std::vector<ForceElementState> states;
  if (robot == nullptr)
  {
    return states;
  }
  const SystemData & data = w.workspace.system_data();
  for (std::size_t i = 0; i < robot->force_elements().size(); ++i)
  {
    states.push_back(robot->force_element_state(
      robot != &system ? ControlStateSystem::wrapped_data(data) : data, static_cast<int>(i)));
  }
  return states;
}

nb::dict joint_coordinates(const OwnedWorkspace & w)
{
  nb::dict values;
  const ConstraintSet & set = w.owner->constraints();
  for (int i = 0; i < set.size(); ++i)
  {
    const JointCoordinates * joint = JointCoordinates::of(set[i]);
    for (std::size_t k = 0; joint != nullptr && k < joint->coordinate_names().size(); ++k)
    {
      const std::string name = set[i].name() + "/" + joint->coordinate_names()[k];
      values[name.c_str()] = joint->coordinate(w.workspace.system_data(), static_cast<int>(k));
    }
  }
  return values;
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
      "force_elements", &force_element_states,
      "Copies of the ForceElementState of each force element at the state.")
    .def_prop_ro(
      "joint_coordinates", &joint_coordinates,
      "Angles and displacements at the state of joints that are constraints, by\n"
      "'<constraint>/<coordinate>'.")
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

/// The workspace that was given, or one that is made at a state.
class OptionalWorkspace
{
public:
  OptionalWorkspace(const Dynamics & dynamics, const State & state, OwnedWorkspace * given)
  : dynamics_(dynamics), given_(given)
  {
    if (given == nullptr)
    {
      made_.emplace(dynamics, state);
    }
  }
  Workspace & get() { return given_ != nullptr ? given_->of(dynamics_) : made_->workspace; }

private:
  const Dynamics & dynamics_;
  OwnedWorkspace * given_;
  std::optional<OwnedWorkspace> made_;
};

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
      "solve",
      [size](
        const Dynamics & d, const VectorArgument & q, const VectorArgument & u,
        const std::optional<VectorArgument> & inputs, double time)
      {
        const System & s = size(d);
        const InputArgument tau(inputs, s.input_count());
        const State state{
          time, checked(q, s.coordinate_count(), "q"), checked(u, s.speed_count(), "u")};
        OwnedWorkspace w(d, state);
        require_output(d.solve(time, state.q, state.u, tau.view(), w.workspace), "solve");
        return w;
      },
      "q"_a, "u"_a, "inputs"_a = nb::none(), nb::kw_only(), "time"_a = 0.0, nb::keep_alive<0, 1>(),
      "Without a workspace: one is made at the state and returned with the solution, which takes\n"
      "longer. Raises RuntimeError with the status where there is no solution.")
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
      [size](const Dynamics & d, const VectorArgument & q, OwnedWorkspace * w, double time)
      {
        Eigen::VectorXd out = checked(q, size(d).coordinate_count(), "q");
        const State state{time, out, Eigen::VectorXd::Zero(size(d).speed_count())};
        require_output(
          d.project_position(time, out, OptionalWorkspace(d, state, w).get()), "project_position");
        return out;
      },
      "q"_a, nb::kw_only(), "workspace"_a = nb::none(), "time"_a = 0.0,
      "q moved to φ(q, t) = 0 by the physically smallest correction. Raises RuntimeError with the\n"
      "status where that fails.")
    .def(
      "project_velocity",
      [size](
        const Dynamics & d, const VectorArgument & q, const VectorArgument & u, OwnedWorkspace * w,
        double time)
      {
        Eigen::VectorXd out = checked(u, size(d).speed_count(), "u");
        const State state{time, checked(q, size(d).coordinate_count(), "q"), out};
        require_output(
          d.project_velocity(time, state.q, out, OptionalWorkspace(d, state, w).get()),
          "project_velocity");
        return out;
      },
      "q"_a, "u"_a, nb::kw_only(), "workspace"_a = nb::none(), "time"_a = 0.0,
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
        const RigidBodySystem * robot = d.system().as_robot();
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

void bind_dynamics(nb::module_ & module)
{
  bind_formulations(module);
  bind_dynamics_results(module);
  bind_joint_reactions(module);
  bind_dynamics_class(module);
  bind_workspace(module);
  bind_force_drawing(module);
}

}  // namespace constrained_dynamics::python
