// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "run_statistics.hpp"

#include <algorithm>

#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

void Range::add(double value)
{
  if (!std::isfinite(value))
  {
    return;
  }
  first = count == 0 ? value : first;
  last = value;
  min = std::min(min, value);
  max = std::max(max, value);
  squares += value * value;
  ++count;
}

void Range::write(cd::JsonWriter & json, const std::string & name, bool ends) const
{
  json.key(name).begin_object();
  if (ends)
  {
    json.entry("start", first).entry("end", last);
  }
  json.entry("min", min).entry("max", max).entry("rms", rms()).end_object();
}

std::string range_heading(const std::string & title, std::size_t width)
{
  return pad(title, width + 2) + pad("min", 15) + pad("max", 15) + "rms\n";
}

std::string range_line(const std::string & name, const Range & range, std::size_t width)
{
  return "  " + pad(name, width) + pad(format(range.min, 6), 15) + pad(format(range.max, 6), 15) +
         format(range.rms(), 6) + "\n";
}

void Violation::add(double value, int of_row)
{
  if (std::abs(value) > size || row < 0)
  {
    size = std::abs(value);
    row = of_row;
  }
}

Statistics::Statistics(const cd::Scenario & scenario)
: set_(scenario.dynamics()->constraints()),
  contacts_(scenario.contacts()),
  multipliers(static_cast<std::size_t>(set_.row_count())),
  forces(static_cast<std::size_t>(set_.wrench_count())),
  torques(static_cast<std::size_t>(set_.wrench_count())),
  observables(scenario.observable_names().size()),
  inputs(scenario.system().input_names().size()),
  has_limits(!cd::LimitWatch(scenario.system()).is_empty())
{
}

/// Rigid contacts that are open although they are inside what they touch.
void Statistics::add_open_contacts(const cd::Workspace & workspace)
{
  const std::vector<cd::Contact> & contacts = contacts_->contacts();
  for (std::size_t i = 0; i < contacts.size(); ++i)
  {
    const cd::Contact & contact = contacts[i];
    const bool is_rigid = !contacts_->is_compliant(static_cast<int>(i)) && contact.stiffness == 0.0;
    if (is_rigid && !workspace.is_active(contact.constraint))
    {
      const int row = set_.row_offset(contact.constraint);
      position.add(std::max(0.0, contact.side * workspace.rows().position(row)), row);
    }
  }
}

void Statistics::add(const cd::Simulation & simulation, const Eigen::VectorXd & observed)
{
  const cd::Workspace & workspace = simulation.workspace();
  const cd::Solution & solution = workspace.solution();
  for (int row = 0; row < set_.row_count(); ++row)
  {
    multipliers[static_cast<std::size_t>(row)].add(solution.multipliers(row));
    if (!workspace.is_active(set_.constraint_of_row(row)))
    {
      continue;
    }
    if (set_.row(row).level == cd::RowLevel::kPosition)
    {
      position.add(workspace.rows().position(row), row);
    }
    if (set_.row(row).level != cd::RowLevel::kAcceleration)
    {
      velocity.add(workspace.rows().velocity(row), row);
    }
  }
  add_open_contacts(workspace);
  for (std::size_t i = 0; i < forces.size(); ++i)
  {
    forces[i].add(solution.wrenches[i].on_a.force.norm());
    torques[i].add(solution.wrenches[i].on_a.torque.norm());
  }
  for (std::size_t i = 0; i < observables.size(); ++i)
  {
    observables[i].add(observed(static_cast<Eigen::Index>(i)));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
  {
    inputs[i].add(simulation.inputs()(static_cast<Eigen::Index>(i)));
  }
  energy.add(simulation.kinetic_energy() + simulation.potential_energy());
  ++outputs;
}

double Statistics::energy_change() const
{
  return energy.count > 0 ? std::max(energy.max - energy.first, energy.first - energy.min) : 0.0;
}

void Statistics::write_energy(cd::JsonWriter & json) const
{
  json.key("energy")
    .begin_object()
    .entry("start", energy.first)
    .entry("end", energy.last)
    .entry("largest_change", energy_change())
    .end_object();
}

void Statistics::write_violation(cd::JsonWriter & json) const
{
  const auto write = [&](const std::string & name, const Violation & violation)
  {
    if (violation.row < 0)
    {
      json.null_entry(name).null_entry(name + "_row");
      return;
    }
    json.entry(name, violation.size).entry(name + "_row", row_name(violation.row));
  };
  json.key("violation").begin_object();
  write("position", position);
  write("velocity", velocity);
  json.end_object();
}

}  // namespace cdyn
