// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/record.hpp"

#include <limits>

#include "common.hpp"

namespace constrained_dynamics::python
{

Record::Record(std::shared_ptr<const Dynamics> recorded, Extras extras)
: dynamics(std::move(recorded)), extras_(std::move(extras))
{
  const System & system = dynamics->system();
  const ConstraintSet & set = dynamics->constraints();
  const auto width = [](Channel & channel, int count)
  { channel.width = static_cast<std::size_t>(count); };
  width(q, system.coordinate_count());
  width(u, system.speed_count());
  width(acceleration, system.speed_count());
  width(inputs, system.input_count());
  width(multipliers, set.row_count());
  width(constraint_force, system.speed_count());
  width(position, set.row_count());
  width(velocity, set.row_count());
  width(active, set.size());
  for (Channel * channel : {&wrench_point, &wrench_force, &wrench_torque})
  {
    width(*channel, 3 * set.wrench_count());
  }
  width(observables, static_cast<int>(extras_.names.size()));
  observed_.resize(static_cast<Eigen::Index>(extras_.names.size()));
}

void Record::add(const Simulation & simulation)
{
  const Workspace & workspace = simulation.workspace();
  const Solution & solution = workspace.solution();
  time.add(simulation.state().time);
  q.add(simulation.state().q);
  u.add(simulation.state().u);
  acceleration.add(solution.acceleration);
  inputs.add(simulation.inputs());
  multipliers.add(solution.multipliers);
  constraint_force.add(solution.constraint_force);
  for (const WrenchPair & pair : solution.wrenches)
  {
    wrench_point.add(pair.on_a.point);
    wrench_force.add(pair.on_a.force);
    wrench_torque.add(pair.on_a.torque);
  }
  position.add(workspace.rows().position);
  velocity.add(workspace.rows().velocity);
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    active.add(workspace.is_active(i) ? 1.0 : 0.0);
  }
  kinetic_energy.add(simulation.kinetic_energy());
  potential_energy.add(simulation.potential_energy());
  status.push_back(static_cast<std::uint8_t>(simulation.last_status()));
  rank.push_back(solution.rank);
  if (extras_.observe)
  {
    if (extras_.observe(workspace, simulation.inputs(), observed_) != Status::kOk)
    {
      observed_.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
    observables.add(observed_);
  }
}

namespace
{

/// An array of a record without a copy; the record is its owner.
nb::ndarray<nb::numpy, const double> array(
  const Record::Channel & channel, std::size_t count, nb::handle owner)
{
  return nb::ndarray<nb::numpy, const double>(channel.values.data(), {count, channel.width}, owner);
}

}  // namespace

void bind_record(nb::module_ & module)
{
  nb::class_<EnergyBalance>(
    module, "EnergyBalance",
    "Energy of a run against the work done on it [J]; what projections change is error, not work.")
    .def_ro("available", &EnergyBalance::available, "False: the system does not know its energy")
    .def_ro("start", &EnergyBalance::start)
    .def_ro("end", &EnergyBalance::end)
    .def_prop_ro(
      "work",
      [](const EnergyBalance & balance)
      {
        nb::dict work;
        for (std::size_t k = 0; k < kWorkKinds; ++k)
        {
          work[to_string(static_cast<Work>(k))] = balance.work[k];
        }
        return work;
      },
      "by kind: inputs, external, forces, dampers, friction, contacts, potential, driven,\n"
      "moving_rows, inhomogeneous_rows, stabilisation, impacts")
    .def_ro("error", &EnergyBalance::error, "end - start - all work")
    .def_ro("largest_error", &EnergyBalance::largest_error, "the largest |error| at any step")
    .def_ro("time_of_largest_error", &EnergyBalance::time_of_largest_error)
    .def_ro("scale", &EnergyBalance::scale, "the largest of kinetic energy and ∫ |power| dt")
    .def_prop_ro("relative_error", &EnergyBalance::relative_error, "largest_error/scale");

  nb::class_<RowTrouble>(module, "RowTrouble", "Rows that a status is about.")
    .def_ro("time", &RowTrouble::time, "when it was first so [s]")
    .def_ro("rows", &RowTrouble::rows, "their indices");

  nb::enum_<LimitKind>(module, "LimitKind")
    .value("LOWER", LimitKind::kLower)
    .value("UPPER", LimitKind::kUpper)
    .value("VELOCITY", LimitKind::kVelocity);
  nb::class_<ExceededLimit>(module, "ExceededLimit", "A limit that a run went beyond.")
    .def_ro("coordinate", &ExceededLimit::coordinate, "its index")
    .def_ro("kind", &ExceededLimit::kind)
    .def_ro("limit", &ExceededLimit::limit)
    .def_ro("value", &ExceededLimit::value, "the furthest beyond")
    .def_ro("first_time", &ExceededLimit::first_time, "[s]");

  nb::class_<RunResult>(module, "RunResult", "How a run ended.")
    .def_ro("status", &RunResult::status, "OK, INACCURATE, or why it ended early")
    .def_ro("completed", &RunResult::completed)
    .def_ro("energy", &RunResult::energy, "the EnergyBalance")
    .def_ro(
      "step_error", &RunResult::step_error,
      "estimate of what all steps did wrong, relative to the largest speeds and displacements")
    .def_ro("is_accurate", &RunResult::is_accurate, "both are within error_tolerance")
    .def_ro(
      "has_stalled", &RunResult::has_stalled,
      "adaptive steps or events came without progress in time")
    .def_ro("singular_rows", &RunResult::singular_rows)
    .def_ro("inconsistent_rows", &RunResult::inconsistent_rows)
    .def_ro("unmet_rows", &RunResult::unmet_rows)
    .def_ro("exceeded_limits", &RunResult::exceeded_limits)
    .def_ro("time", &RunResult::time, "of the last good state [s]")
    .def_ro("steps", &RunResult::steps)
    .def_ro("evaluations", &RunResult::evaluations)
    .def_ro("singular_evaluations", &RunResult::singular_evaluations)
    .def_ro("inconsistent_evaluations", &RunResult::inconsistent_evaluations);

  nb::class_<Record> binding(
    module, "Record",
    "A run as read-only arrays over its T output times, without copies. Wrenches are those on "
    "body\n"
    "A of each pair, world axes, about wrench_point; body B gets the opposite.");
  const auto scalar =
    [&binding](const char * name, Record::Channel Record::*member, const char * doc)
  {
    binding.def_prop_ro(
      name,
      [member](const Record & r)
      {
        const Record::Channel & channel = r.*member;
        return nb::ndarray<nb::numpy, const double>(channel.values.data(), {r.size()}, nb::find(r));
      },
      doc);
  };
  const auto vectors =
    [&binding](const char * name, Record::Channel Record::*member, const char * doc)
  {
    binding.def_prop_ro(
      name, [member](const Record & r) { return array(r.*member, r.size(), nb::find(r)); }, doc);
  };
  const auto triples =
    [&binding](const char * name, Record::Channel Record::*member, const char * doc)
  {
    binding.def_prop_ro(
      name,
      [member](const Record & r)
      {
        const Record::Channel & channel = r.*member;
        return nb::ndarray<nb::numpy, const double>(
          channel.values.data(), {r.size(), channel.width / 3, 3}, nb::find(r));
      },
      doc);
  };
  scalar("time", &Record::time, "(T) [s]");
  vectors("q", &Record::q, "(T, nq)");
  vectors("u", &Record::u, "(T, n)");
  vectors("acceleration", &Record::acceleration, "u̇ (T, n)");
  vectors("inputs", &Record::inputs, "τ (T, l)");
  vectors("multipliers", &Record::multipliers, "λ (T, m)");
  vectors("constraint_force", &Record::constraint_force, "F^c (T, n)");
  triples("wrench_point", &Record::wrench_point, "(T, w, 3) [m]");
  triples("wrench_force", &Record::wrench_force, "(T, w, 3) [N]");
  triples("wrench_torque", &Record::wrench_torque, "(T, w, 3) [N m]");
  vectors("position", &Record::position, "φ (T, m)");
  vectors("velocity", &Record::velocity, "φ̇ or ψ (T, m)");
  vectors("active", &Record::active, "whether each constraint is in force, 1 or 0 (T, c)");
  scalar("kinetic_energy", &Record::kinetic_energy, "(T) [J]");
  scalar("potential_energy", &Record::potential_energy, "(T) [J]");
  vectors("observables", &Record::observables, "(T, k), in the order of observable_names");
  binding.def("__len__", &Record::size)
    .def_prop_ro(
      "energy",
      [](const Record & r)
      {
        const auto size = static_cast<Eigen::Index>(r.size());
        using Map = Eigen::Map<const Eigen::VectorXd>;
        return Eigen::VectorXd(
          Map(r.kinetic_energy.values.data(), size) + Map(r.potential_energy.values.data(), size));
      },
      "(T) kinetic and potential [J]")
    .def_prop_ro(
      "status",
      [](const Record & r)
      {
        std::vector<Status> out;
        for (const std::uint8_t status : r.status)
        {
          out.push_back(static_cast<Status>(status));
        }
        return out;
      },
      "Status of each evaluation (a list)")
    .def_prop_ro(
      "rank",
      [](const Record & r)
      { return nb::ndarray<nb::numpy, const int>(r.rank.data(), {r.size()}, nb::find(r)); },
      "(T)")
    .def_ro("events", &Record::events)
    .def_prop_ro(
      "contacts", [](const Record & record) { return record.extras().contacts; },
      "the ContactSet of the scenario; None without one")
    .def_ro("result", &Record::result)
    .def_prop_ro("dynamics", [](const Record & r) { return r.dynamics; })
    .def_prop_ro("observable_names", [](const Record & record) { return record.extras().names; })
    .def_prop_ro(
      "coordinate_names", [](const Record & r) { return r.dynamics->system().coordinate_names(); })
    .def_prop_ro("speed_names", [](const Record & r) { return r.dynamics->system().speed_names(); })
    .def_prop_ro(
      "input_names", [](const Record & r) { return r.dynamics->system().input_names(); });
}

}  // namespace constrained_dynamics::python
