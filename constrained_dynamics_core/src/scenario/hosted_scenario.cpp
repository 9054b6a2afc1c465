// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/hosted_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace constrained_dynamics
{

namespace
{

constexpr double kTimeTolerance = 1e-9;  // of a step

std::string list(const std::vector<std::string> & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none, this system has no bodies" : text;
}

std::string quoted(const std::string & text) { return "'" + text + "'"; }

bool is_change(ContactEventKind kind)
{
  return kind == ContactEventKind::kSwitchOn || kind == ContactEventKind::kSwitchOff ||
         kind == ContactEventKind::kImpulse;
}

}  // namespace

HostedScenario::HostedScenario(
  const std::string & path, const std::vector<std::string> & overrides, double until)
: scenario_(Scenario::load(path, overrides)),
  until_(until > 0.0 ? until : scenario_.run().until),
  step_size_(scenario_.run().integration.step),
  is_adaptive_(is_adaptive(scenario_.run().integration.integrator))
{
  reset();
}

void HostedScenario::reset()
{
  simulation_ = scenario_.make_simulation();
  failure_ = Status::kOk;
  remainder_ = 0.0;
  solve();
}

void HostedScenario::solve()
{
  // The status is kept by the simulation.
  static_cast<void>(simulation_->evaluate());
}

bool HostedScenario::has_ended() const
{
  return has_failed() || time() >= until_ - kTimeTolerance * step_size_;
}

void HostedScenario::advance(double duration)
{
  if (has_ended() || !(duration > 0.0))
  {
    return;
  }
  const double wanted = std::min(duration + remainder_, until_ - time());
  if (is_adaptive_)
  {
    run(time() + wanted);
    return;
  }
  const double steps = std::floor(wanted / step_size_ + kTimeTolerance);
  remainder_ = std::max(wanted - steps * step_size_, 0.0);
  if (steps > 0.0)
  {
    make_steps(static_cast<std::int64_t>(steps));
  }
  else if (time() + wanted >= until_)
  {
    make_steps(1);  // the last one, which the end of the run cuts short
  }
}

void HostedScenario::step(std::uint32_t count)
{
  std::ostringstream message;
  if (count < 1 || count > kMostSteps)
  {
    message << "steps is " << count << "; allowed: 1 to " << kMostSteps;
    throw RequestError(message.str());
  }
  const auto ended = [&](const char * advice)
  {
    message << "the simulation ended at " << time() << " s with status "
            << quoted(to_string(failure_)) << advice;
    return RequestError(message.str());
  };
  if (has_failed())
  {
    throw ended("; reset starts it anew");
  }
  if (is_adaptive_)
  {
    run(time() + count * step_size_);
  }
  else
  {
    make_steps(count);
  }
  if (has_failed())
  {
    throw ended("");
  }
}

void HostedScenario::make_steps(std::int64_t count)
{
  Status status = Status::kOk;
  for (std::int64_t i = 0; i < count && has_output(status); ++i)
  {
    status = simulation_->step();
  }
  failure_ = has_output(status) ? Status::kOk : status;
  solve();
}

void HostedScenario::run(double until)
{
  if (!(until > time()))
  {
    return;  // less than rounding
  }
  const RunResult result =
    simulation_->run(until, until - time(), [](const Simulation &) { return true; });
  failure_ = result.completed ? Status::kOk : result.status;
  solve();
}

double HostedScenario::set_active(const std::string & name, bool active)
{
  int index = 0;
  try
  {
    index = dynamics().constraints().index(name);
  }
  catch (const std::invalid_argument & error)
  {
    throw RequestError(error.what());
  }
  if (scenario_.contacts()->manages(index))
  {
    throw RequestError(
      "constraint " + quoted(name) +
      " is a contact or its friction: the simulation switches it itself");
  }
  if (simulation_->workspace().is_active(index) == active)
  {
    return 0.0;
  }
  return make_change(
           [&] { return simulation_->switch_constraint(index, active); },
           "constraint " + quoted(name) + " could not be switched " + (active ? "on" : "off"))
    .impulse;
}

double HostedScenario::push(const Push & push)
{
  const Eigen::VectorXd impulse = frame_impulse(push) + speed_impulse(push);
  if (push.frame.empty() && push.names.empty())
  {
    throw RequestError("nothing to push: give a frame with force and torque, or names with values");
  }
  if (impulse.isZero(0.0))
  {
    return 0.0;
  }
  return make_change(
           [&] { return simulation_->apply_impulse(impulse); }, "the impulse could not be applied")
    .energy_change;
}

Eigen::VectorXd HostedScenario::frame_impulse(const Push & push) const
{
  const System & system = dynamics().system();
  const std::vector<std::string> & frames = system.frame_names();
  if (!push.force.allFinite() || !push.torque.allFinite())
  {
    std::ostringstream message;
    const Eigen::IOFormat row(Eigen::StreamPrecision, Eigen::DontAlignCols, ", ", ", ");
    message << "force and torque are [" << push.force.transpose().format(row) << ", "
            << push.torque.transpose().format(row) << "]; allowed: finite values";
    throw RequestError(message.str());
  }
  if (push.frame.empty())
  {
    if (!push.force.isZero(0.0) || !push.torque.isZero(0.0))
    {
      throw RequestError("force or torque is given, but no frame; allowed: " + list(frames));
    }
    return Eigen::VectorXd::Zero(system.speed_count());
  }
  const auto found = std::find(frames.begin(), frames.end(), push.frame);
  if (found == frames.end())
  {
    throw RequestError("frame " + quoted(push.frame) + " does not exist; allowed: " + list(frames));
  }
  Matrix6X jacobian(6, system.speed_count());
  system.frame_jacobian(
    simulation_->workspace().system_data(), static_cast<int>(found - frames.begin()), jacobian);
  return jacobian.topRows<3>().transpose() * push.force +
         jacobian.bottomRows<3>().transpose() * push.torque;
}

Eigen::VectorXd HostedScenario::speed_impulse(const Push & push) const
{
  const System & system = dynamics().system();
  if (push.names.size() != push.values.size())
  {
    throw RequestError(
      "there are " + std::to_string(push.names.size()) + " names and " +
      std::to_string(push.values.size()) + " values; allowed: as many");
  }
  if (push.names.size() > system.speed_names().size())
  {
    throw RequestError(
      "there are " + std::to_string(push.names.size()) + " names; allowed: up to " +
      std::to_string(system.speed_names().size()) + ", one a speed");
  }
  Eigen::VectorXd impulse = Eigen::VectorXd::Zero(system.speed_count());
  for (std::size_t i = 0; i < push.names.size(); ++i)
  {
    if (!std::isfinite(push.values[i]))
    {
      throw RequestError(
        "the value of " + quoted(push.names[i]) + " is " + std::to_string(push.values[i]) +
        "; allowed: finite values");
    }
    try
    {
      impulse(system.speed_index(push.names[i])) += push.values[i];
    }
    catch (const std::invalid_argument & error)
    {
      throw RequestError(error.what());
    }
  }
  return impulse;
}

template <typename Change>
ContactEvent HostedScenario::make_change(const Change & change, const std::string & what)
{
  const std::size_t before = simulation_->events().size();
  const Status status = change();
  solve();
  if (!has_output(status))
  {
    throw RequestError(what + ": status " + quoted(to_string(status)));
  }
  failure_ = Status::kOk;  // the cause of the failure may be gone now
  const std::vector<ContactEvent> & events = simulation_->events();
  const auto found = std::find_if(
    events.begin() + static_cast<std::ptrdiff_t>(before), events.end(),
    [](const ContactEvent & event) { return is_change(event.kind); });
  return found == events.end() ? ContactEvent{} : *found;
}

}  // namespace constrained_dynamics
