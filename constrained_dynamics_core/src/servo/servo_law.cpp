// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/servo_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "dynamics/refusal.hpp"
#include "names.hpp"
#include "servo/limited_controls.hpp"
#include "servo/motion_bounds.hpp"

namespace constrained_dynamics
{

const char * to_string(ServoMetric metric) noexcept
{
  return metric == ServoMetric::kIdeal ? "ideal" : "moore_penrose";
}

const char * to_string(ServoSolution solution) noexcept
{
  switch (solution)
  {
    case ServoSolution::kOne:
      return "one";
    case ServoSolution::kMany:
      return "many";
    case ServoSolution::kNone:
      return "none";
  }
  return "unknown";
}

namespace
{

void check_option(const char * name, double value, double low, double high)
{
  if (!(value >= low && value <= high))
  {
    std::ostringstream message;
    message << "servo option " << name << " is " << value << "; allowed: " << low << " to " << high;
    throw std::invalid_argument(message.str());
  }
}

void check_gain(const std::string & task, const char * name, const Gain & gain, int rows)
{
  if (gain.is_matrix() && (gain.matrix().rows() != rows || gain.matrix().cols() != rows))
  {
    std::ostringstream message;
    message << "servo-constraint '" << task << "': gain " << name << " is a "
            << gain.matrix().rows() << " × " << gain.matrix().cols()
            << " matrix; allowed: a number or a matrix of size " << rows;
    throw std::invalid_argument(message.str());
  }
}

}  // namespace

bool ServoOptions::has_limits() const
{
  return limits.lower.size() > 0 || limits.upper.size() > 0 || limits.rate.size() > 0 ||
         !cones.empty();
}

ServoLaw::ServoLaw(
  std::shared_ptr<const Dynamics> passive, std::vector<ServoTask> tasks, ServoOptions options)
: passive_(
    passive ? std::move(passive) : throw std::invalid_argument("a servo law needs dynamics")),
  tasks_(std::move(tasks)),
  options_(std::move(options))
{
  refuse_multiplier_forces(*passive_, "a servo law");
  const System & system = passive_->system();
  if (tasks_.empty())
  {
    throw std::invalid_argument("a servo law has no servo-constraints; allowed: at least one");
  }
  if (system.input_count() == 0)
  {
    throw std::invalid_argument(
      "a servo law acts on a system without inputs; allowed: at least one input");
  }
  std::vector<std::string> names;
  std::map<int, std::vector<int>> levels;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const ServoTask & task = tasks_[i];
    if (!task.constraint)
    {
      throw std::invalid_argument(
        "servo task " + std::to_string(i) + " has no servo-constraint; allowed: one of the system");
    }
    const std::string & name = task.constraint->name();
    if (&task.constraint->system() != &system)
    {
      throw std::invalid_argument(
        "servo-constraint '" + name +
        "' was built for another system; allowed: the system of the dynamics");
    }
    const int rows = task.constraint->row_count();
    check_gain(name, "Θ1 (velocity)", task.error_dynamics.velocity, rows);
    check_gain(name, "Θ2 (position)", task.error_dynamics.position, rows);
    check_gain(name, "Θ (first order)", task.error_dynamics.first_order, rows);
    if (!(task.weight >= ServoTask::kLeastWeight && task.weight <= ServoTask::kLargestWeight))
    {
      std::ostringstream message;
      message << "servo-constraint '" << name << "': weight is " << task.weight
              << "; allowed: " << ServoTask::kLeastWeight << " to " << ServoTask::kLargestWeight;
      throw std::invalid_argument(message.str());
    }
    names.push_back(name);
    layouts_.emplace_back(*task.constraint);
    levels[task.priority].push_back(static_cast<int>(i));
    offsets_.push_back(row_count_);
    row_count_ += rows;
  }
  check_names("servo-constraint", names);
  for (auto & [priority, members] : levels)
  {
    levels_.push_back(std::move(members));
  }
  check_option("singular_tolerance", options_.singular_tolerance, 1e-12, 0.5);
  check_option("consistency_tolerance", options_.consistency_tolerance, 1e-15, 1.0);
  check_option("period", options_.period, 0.0, 1e6);
  if (options_.has_limits())
  {
    (void)LimitedControls(passive_->constraints(), options_);  // checks
  }
  (void)MotionBounds(system, options_.motion_limits, options_.period);  // checks
  for (const std::shared_ptr<const NullSpaceTerm> & term : options_.null_space)
  {
    if (!term)
    {
      throw std::invalid_argument("a null-space term is null; allowed: none, or an object");
    }
  }
}

ServoLaw::~ServoLaw() = default;

std::string ServoLaw::row_name(int row) const
{
  std::size_t task = 0;
  while (task + 1 < tasks_.size() && row_offset(static_cast<int>(task) + 1) <= row)
  {
    ++task;
  }
  const ServoConstraint & constraint = *tasks_[task].constraint;
  return constraint.name() + "/" +
         constraint.rows()[static_cast<std::size_t>(row - offsets_[task])].label;
}

int ServoLaw::task_index(const std::string & name) const
{
  std::vector<std::string> names;
  for (const ServoTask & task : tasks_)
  {
    names.push_back(task.constraint->name());
  }
  return index_of_name("servo-constraint", name, names);
}

}  // namespace constrained_dynamics
