// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/servo_input_law.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace constrained_dynamics
{

namespace
{

std::shared_ptr<const ServoLaw> not_null(std::shared_ptr<const ServoLaw> law)
{
  if (!law)
  {
    throw std::invalid_argument("a servo drive needs a servo law");
  }
  return law;
}

void check_time(const std::string & name, double value)
{
  if (!(value >= 0.0 && std::isfinite(value)))
  {
    std::ostringstream message;
    message << "servo " << name << " is " << value << "; allowed: finite and not negative";
    throw std::invalid_argument(message.str());
  }
}

std::vector<int> known_constraints(int count, const std::vector<int> & unknown)
{
  for (const int i : unknown)
  {
    if (i < 0 || i >= count)
    {
      std::ostringstream message;
      message << "servo drive has an unknown constraint " << i << "; allowed: 0 to " << count - 1;
      throw std::invalid_argument(message.str());
    }
  }
  std::vector<int> known;
  for (int i = 0; i < count; ++i)
  {
    if (std::find(unknown.begin(), unknown.end(), i) == unknown.end())
    {
      known.push_back(i);
    }
  }
  return known;
}

}  // namespace

ServoInputLaw::ServoInputLaw(std::shared_ptr<const ServoLaw> law, ServoDrive drive)
: law_(not_null(std::move(law))), drive_(std::move(drive)), workspace_(*law_)
{
  const std::size_t count = law_->tasks().size();
  const auto check_size = [&](const char * name, std::size_t size)
  {
    if (size != 0 && size != count)
    {
      std::ostringstream message;
      message << "servo drive has " << size << " " << name << "; allowed: none, or one a task, "
              << count;
      throw std::invalid_argument(message.str());
    }
  };
  check_size("references", drive_.references.size());
  check_size("smooth starts", drive_.smooth_start.size());
  check_time("period", drive_.period);
  known_ = known_constraints(law_->passive().constraints().size(), drive_.unknown);
  drive_.references.resize(count);
  drive_.smooth_start.resize(count, 0.0);
  starts_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
  {
    check_time(
      "smooth_start of '" + law_->tasks()[i].constraint->name() + "'", drive_.smooth_start[i]);
    if (drive_.references[i] && drive_.smooth_start[i] > 0.0)
    {
      starts_[i] = std::make_unique<SmoothStart>(drive_.references[i], drive_.smooth_start[i]);
    }
  }
}

ServoInputLaw::~ServoInputLaw() = default;

void ServoInputLaw::start(const State & state)
{
  for (const int i : drive_.unknown)
  {
    workspace_.dynamics().set_active(i, false);
  }
  law_->reset(state, workspace_);
  for (std::size_t i = 0; i < starts_.size(); ++i)
  {
    const int task = static_cast<int>(i);
    const ServoConstraint & constraint = *law_->tasks()[i].constraint;
    if (!drive_.references[i] && constraint.start_reference() == StartReference::kMeasured)
    {
      // A motion at the start is to be stopped.
      const Status status = law_->hold(task, workspace_);
      if (status != Status::kOk)
      {
        throw std::invalid_argument(
          "servo-constraint '" + constraint.name() + "' cannot be held at the start: status " +
          to_string(status));
      }
    }
    if (starts_[i])
    {
      Status status = law_->measure(task, workspace_);
      if (status == Status::kOk)
      {
        status = starts_[i]->start(state.time, workspace_.reference(task));
      }
      if (status != Status::kOk)
      {
        throw std::invalid_argument(
          "the reference of servo-constraint '" + constraint.name() +
          "' cannot be joined at the start: status " + to_string(status));
      }
    }
  }
  counts_ = Counts{};
  last_status_ = Status::kOk;
  start_time_ = state.time;
  samples_ = 0;
  due_ = true;
}

void ServoInputLaw::begin_step(double time) noexcept CD_NONBLOCKING
{
  // Steps need not divide the period: the first step after a sample's time takes it.
  constexpr double kRounding = 1e-9;
  if (
    drive_.period > 0.0 &&
    time - start_time_ >= (static_cast<double>(samples_) - kRounding) * drive_.period)
  {
    due_ = true;
    samples_ = static_cast<long>(std::floor((time - start_time_) / drive_.period + kRounding)) + 1;
  }
}

void ServoInputLaw::observe(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  for (const int i : known_)
  {
    workspace_.dynamics().set_active(i, workspace.is_active(i));
  }
}

Status ServoInputLaw::follow(double time) noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < starts_.size(); ++i)
  {
    ServoReference & reference = workspace_.reference(static_cast<int>(i));
    Status status = Status::kOk;
    if (starts_[i])
    {
      status = starts_[i]->evaluate(time, reference);
    }
    else if (drive_.references[i])
    {
      status = drive_.references[i]->evaluate(time, reference);
    }
    if (status != Status::kOk)
    {
      return status;
    }
  }
  return Status::kOk;
}

Status ServoInputLaw::evaluate(const System & system, SystemData & data, VectorRef inputs) noexcept
  CD_NONBLOCKING
{
  if (drive_.outside)
  {
    const Status status = drive_.outside->evaluate(system, data, inputs);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  if (drive_.period == 0.0 || due_)
  {
    const SystemTerms & terms = data.terms;
    last_status_ = follow(terms.time);
    if (last_status_ == Status::kOk)
    {
      last_status_ = law_->evaluate(terms.time, terms.coordinates, terms.speeds, workspace_);
    }
    if (!has_output(last_status_))
    {
      return last_status_;
    }
    due_ = false;
    ++counts_.evaluations;
    counts_.singular += last_status_ == Status::kSingular ? 1 : 0;
    counts_.inconsistent += last_status_ == Status::kInconsistent ? 1 : 0;
    counts_.limited += last_status_ == Status::kLimited ? 1 : 0;
    counts_.stopped += workspace_.result().motion_limits_met ? 0 : 1;
  }
  inputs = workspace_.result().inputs;
  return Status::kOk;
}

}  // namespace constrained_dynamics
