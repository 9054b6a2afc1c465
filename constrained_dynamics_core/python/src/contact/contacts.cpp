// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/contact/impact.hpp"
#include "dynamics/owned_workspace.hpp"

namespace constrained_dynamics::python
{

namespace
{

void bind_contact_set(nb::module_ & module)
{
  const Contact contact;
  nb::class_<Contact>(
    module, "Contact",
    "A unilateral constraint on one position row (or one CompliantRow): it pushes, never pulls.")
    .def(
      "__init__",
      [](
        Contact * self, int constraint, double side, double tolerance, double restitution,
        double rest_speed, bool adhesive, double stiffness, double damping, double exponent,
        double damping_exponent)
      {
        new (self) Contact{constraint, side,      tolerance, restitution, rest_speed,
                           adhesive,   stiffness, damping,   exponent,    damping_exponent};
      },
      "constraint"_a, nb::kw_only(), "side"_a = contact.side, "tolerance"_a = contact.tolerance,
      "restitution"_a = contact.restitution, "rest_speed"_a = contact.rest_speed,
      "adhesive"_a = contact.adhesive, "stiffness"_a = contact.stiffness,
      "damping"_a = contact.damping, "exponent"_a = contact.exponent,
      "damping_exponent"_a = contact.damping_exponent,
      "constraint: its index (ConstraintSet.index). side: +1: φ ≤ 0 is admissible, −1: φ ≥ 0 is.\n"
      "stiffness above 0: a force law k δⁿ + c δᵐ δ̇ instead of impacts.")
    .def_rw("constraint", &Contact::constraint)
    .def_rw("side", &Contact::side)
    .def_rw("tolerance", &Contact::tolerance)
    .def_rw("restitution", &Contact::restitution)
    .def_rw("rest_speed", &Contact::rest_speed)
    .def_rw("adhesive", &Contact::adhesive)
    .def_rw("stiffness", &Contact::stiffness)
    .def_rw("damping", &Contact::damping)
    .def_rw("exponent", &Contact::exponent)
    .def_rw("damping_exponent", &Contact::damping_exponent);

  const DryFriction friction;
  nb::class_<DryFriction>(
    module, "DryFriction", "Dry friction on one or two velocity rows: stick, or slide.")
    .def(
      "__init__",
      [](
        DryFriction * self, int constraint, int contact_index, double stiction, double kinetic,
        double viscous, double creep_speed, double dahl_stiffness, int coordinate)
      {
        new (self) DryFriction{constraint, contact_index, stiction,       kinetic,
                               viscous,    creep_speed,   dahl_stiffness, coordinate};
      },
      "constraint"_a, nb::kw_only(), "contact"_a = friction.contact,
      "stiction"_a = friction.stiction, "kinetic"_a = friction.kinetic,
      "viscous"_a = friction.viscous, "creep_speed"_a = friction.creep_speed,
      "dahl_stiffness"_a = friction.dahl_stiffness, "coordinate"_a = friction.coordinate,
      "contact: index among the contacts, whose normal force bounds it; −1: none, and the\n"
      "coefficients are the bounds themselves.")
    .def_rw("constraint", &DryFriction::constraint)
    .def_rw("contact", &DryFriction::contact)
    .def_rw("stiction", &DryFriction::stiction)
    .def_rw("kinetic", &DryFriction::kinetic)
    .def_rw("viscous", &DryFriction::viscous);

  nb::class_<ContactSet>(
    module, "ContactSet", "The contacts and frictions of one Dynamics; a Simulation switches them.")
    .def(
      nb::init<const ConstraintSet &, std::vector<Contact>, std::vector<DryFriction>>(),
      "constraints"_a, "contacts"_a, "frictions"_a = std::vector<DryFriction>())
    .def_prop_ro("contacts", &ContactSet::contacts)
    .def_prop_ro("frictions", &ContactSet::frictions);

  nb::enum_<ContactEventKind>(module, "EventKind")
    .value("IMPACT", ContactEventKind::kImpact, "speeds jumped")
    .value("CLOSE", ContactEventKind::kClose)
    .value("RELEASE", ContactEventKind::kRelease)
    .value("STICK", ContactEventKind::kStick)
    .value("SLIP", ContactEventKind::kSlip)
    .value("SWITCH_ON", ContactEventKind::kSwitchOn)
    .value("SWITCH_OFF", ContactEventKind::kSwitchOff)
    .value("IMPULSE", ContactEventKind::kImpulse);
  nb::class_<ContactEvent>(module, "ContactEvent", "Something that happened at an instant.")
    .def_ro("time", &ContactEvent::time)
    .def_ro("kind", &ContactEvent::kind)
    .def_ro("constraint", &ContactEvent::constraint, "index; −1: of none (applied impulses)")
    .def_ro("impulse", &ContactEvent::impulse)
    .def_ro("friction_impulse", &ContactEvent::friction_impulse)
    .def_ro("speed_before", &ContactEvent::speed_before)
    .def_ro("speed_after", &ContactEvent::speed_after)
    .def_ro("energy_change", &ContactEvent::energy_change)
    .def_ro("restitution_scale", &ContactEvent::restitution_scale)
    .def(
      "__repr__",
      [](const ContactEvent & e)
      {
        return "<ContactEvent " + std::string(to_string(e.kind)) + " at " + std::to_string(e.time) +
               " of constraint " + std::to_string(e.constraint) + ">";
      });
  nb::class_<ScheduledChange>(
    module, "ScheduledChange", "A change at a given time: a constraint switched, or an impulse.")
    .def(
      "__init__",
      [](
        ScheduledChange * self, double time, int constraint, bool active,
        const std::optional<VectorArgument> & impulse)
      {
        new (self) ScheduledChange{time, constraint, active, Eigen::VectorXd()};
        if (impulse)
        {
          self->impulse = view(*impulse);
        }
      },
      "time"_a, nb::kw_only(), "constraint"_a = -1, "active"_a = true, "impulse"_a = nb::none());
}

ImpactSolution impact(const Dynamics & dynamics, const ImpactProblem & problem, const State & state)
{
  if (
    problem.roles.size() != static_cast<std::size_t>(dynamics.constraints().size()) ||
    problem.impulse.size() != dynamics.system().speed_count())
  {
    throw std::invalid_argument("the impact problem was made for another Dynamics");
  }
  return solve_impact(dynamics, problem, state);
}

void bind_impacts(nb::module_ & module)
{
  nb::enum_<ImpactRole>(module, "ImpactRole", "What a constraint does in an impact.")
    .value("ABSENT", ImpactRole::kAbsent)
    .value("ENFORCED", ImpactRole::kEnforced)
    .value("IMPACTING", ImpactRole::kImpacting, "two-sided, φ̇⁺ = −e φ̇⁻")
    .value("UNILATERAL", ImpactRole::kUnilateral);
  nb::enum_<ContactOutcome>(module, "ContactOutcome", "What became of a unilateral contact.")
    .value("ABSENT", ContactOutcome::kAbsent)
    .value("SEPARATES", ContactOutcome::kSeparates)
    .value("PUSHES", ContactOutcome::kPushes)
    .value("SLIDES", ContactOutcome::kSlides);
  nb::class_<ImpactContact>(
    module, "ImpactContact", "A constraint that may be unilateral in an impact, with its friction.")
    .def(
      "__init__",
      [](
        ImpactContact * self, int constraint, double side, int friction_constraint, double friction)
      {
        new (self) ImpactContact{constraint, side, friction_constraint, friction};
      },
      "constraint"_a, "side"_a = 1.0, "friction_constraint"_a = -1, "friction"_a = 0.0);

  nb::class_<ImpactProblem>(
    module, "ImpactProblem", "An impact (E13): at first all constraints in force, no impulse.")
    .def(nb::init<const Dynamics &>(), "dynamics"_a)
    .def_rw("roles", &ImpactProblem::roles, "ImpactRole of each constraint; assign a whole list")
    .def_prop_rw(
      "restitution", [](const ImpactProblem & p) { return Eigen::VectorXd(p.restitution); },
      [](ImpactProblem & p, const VectorArgument & e)
      { p.restitution = checked(e, p.restitution.size(), "restitution"); },
      "e of each constraint, 0 to 1; assign a whole vector")
    .def_prop_rw(
      "impulse", [](const ImpactProblem & p) { return Eigen::VectorXd(p.impulse); },
      [](ImpactProblem & p, const VectorArgument & impulse)
      { p.impulse = checked(impulse, p.impulse.size(), "impulse"); },
      "applied generalized impulse (n); assign a whole vector")
    .def_rw("contacts", &ImpactProblem::contacts, "of those that are UNILATERAL");

  nb::class_<ImpactSolution> solution(module, "ImpactSolution", "What happened in an impact.");
  def_view(solution, "speeds", &ImpactSolution::speeds, "u⁺ (n)");
  def_view(solution, "multipliers", &ImpactSolution::multipliers, "impulses of the rows (m)");
  def_view(
    solution, "constraint_impulse", &ImpactSolution::constraint_impulse, "AᵀΛ = Q (u⁺ − u⁻) − I");
  solution.def_ro("wrenches", &ImpactSolution::wrenches, "impulses on the bodies")
    .def_ro("outcomes", &ImpactSolution::outcomes)
    .def_ro("energy_change", &ImpactSolution::energy_change, "[J]")
    .def_ro("restitution_scale", &ImpactSolution::restitution_scale)
    .def_ro("rank", &ImpactSolution::rank)
    .def_ro("path_dependent", &ImpactSolution::path_dependent);
  module.def(
    "solve_impact", &impact, "dynamics"_a, "problem"_a, "state"_a,
    "Speeds after an impact at a state. Raises ValueError where there is no solution.");
}

/// Derivatives of what an impact gives.
struct ImpactDerivatives
{
  Eigen::MatrixXd by_speeds, by_impulse, by_position;
};

ImpactDerivatives differentiate(
  const Dynamics & dynamics, const ImpactProblem & problem, const State & state)
{
  const ImpactSolution checked_by_it = impact(dynamics, problem, state);
  Workspace workspace = Workspace::unanalysed(dynamics);
  ImpactSolver solver(dynamics, problem.contacts.size());
  ImpactSolution solution(dynamics, problem.contacts.size());
  const auto n = checked_by_it.speeds.size();
  ImpactDerivatives out{Eigen::MatrixXd(n, n), Eigen::MatrixXd(n, n), Eigen::MatrixXd(n, n)};
  const char * what = "differentiate_impact";
  require_output(solver.solve(problem, state.time, state.q, state.u, workspace, solution), what);
  require_output(solver.derivatives(problem, out.by_speeds, out.by_impulse), what);
  require_output(
    solver.position_derivative(problem, state.time, state.q, state.u, workspace, out.by_position),
    what);
  return out;
}

void bind_impact_derivatives(nb::module_ & module)
{
  nb::class_<ImpactDerivatives> binding(
    module, "ImpactDerivatives",
    "Derivatives of u⁺ for contacts that push, stick and slide as they do (n × n each).");
  def_view(binding, "by_speeds", &ImpactDerivatives::by_speeds, "∂u⁺/∂u⁻");
  def_view(binding, "by_impulse", &ImpactDerivatives::by_impulse, "∂u⁺/∂I");
  def_view(binding, "by_position", &ImpactDerivatives::by_position, "∂u⁺/∂q · C");
  module.def(
    "differentiate_impact", &differentiate, "dynamics"_a, "problem"_a, "state"_a,
    "Derivatives of solve_impact at a state; not for impacts that depend on the path.");
}

}  // namespace

void bind_contacts(nb::module_ & module)
{
  bind_contact_set(module);
  bind_impacts(module);
  bind_impact_derivatives(module);
}

}  // namespace constrained_dynamics::python
