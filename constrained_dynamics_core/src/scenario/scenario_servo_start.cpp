// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_servo_start.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

namespace
{

/// The errors of a servo-constraint, for one reference, as rows.
class ServoRowsAtStart : public Constraint
{
public:
  ServoRowsAtStart(std::shared_ptr<const ServoConstraint> servo, ServoReference reference)
  : Constraint(
      "servo " + servo->name(), servo->type(), servo->system(), servo->rows(), {},
      servo->scratch_size()),
    servo_(std::move(servo)),
    reference_(std::move(reference))
  {
  }

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override
  {
    return servo_->evaluate(data, scratch, reference_, rows);
  }

private:
  std::shared_ptr<const ServoConstraint> servo_;
  ServoReference reference_;
};

}  // namespace

std::vector<std::shared_ptr<const Constraint>> servo_rows_at_start(
  const ScenarioReader & names, const std::optional<ScenarioServo> & servo, double time)
{
  if (!servo)
  {
    names.fail_here("there are no servo-constraints; allowed only with the section servo");
  }
  const std::vector<ServoTask> & tasks = servo->law->tasks();
  std::vector<std::string> known;
  for (const ServoTask & task : tasks)
  {
    known.push_back(task.constraint->name());
  }
  const bool is_list = names.node().is_list();
  if (!is_list && names.name() != "all")
  {
    names.fail("allowed: a list of servo-constraints, all");
  }
  std::vector<std::shared_ptr<const Constraint>> result;
  for (const std::string & name : is_list ? names.names() : known)
  {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
    {
      names.fail_here("no servo-constraint '" + name + "'" + suggest(name, known));
    }
    const std::size_t i = static_cast<std::size_t>(found - known.begin());
    const auto & reference = servo->drive.references[i];
    if (!tasks[i].constraint->force_rows().empty() || !reference)
    {
      if (!is_list)
      {
        continue;
      }
      names.fail_here(
        "'" + name +
        "' is a force task or has no reference; allowed: motion tasks with a reference "
        "or a value");
    }
    ServoReference at_start = tasks[i].constraint->make_reference();
    const Status status = reference->evaluate(time, at_start);
    if (status != Status::kOk)
    {
      names.fail_here(
        "the reference of '" + name + "' has no value at the start: status " + to_string(status));
    }
    result.push_back(std::make_shared<const ServoRowsAtStart>(tasks[i].constraint, at_start));
  }
  return result;
}

}  // namespace constrained_dynamics
