// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/simulation.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "contact/tolerances.hpp"
#include "dynamics/refusal.hpp"
#include "simulation/fixed_stepper.hpp"
#include "simulation/moreau_step.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

namespace
{

void check_positive(const char * name, double value)
{
  if (!(value > 0.0 && std::isfinite(value)))
  {
    std::ostringstream message;
    message << name << " is " << value << "; allowed: finite and above 0";
    throw std::invalid_argument(message.str());
  }
}

const SimulationOptions & checked(const SimulationOptions & options)
{
  check_positive("step", options.step);
  check_positive("absolute_tolerance", options.absolute_tolerance);
  check_positive("relative_tolerance", options.relative_tolerance);
  check_positive("largest_step", options.largest_step);
  check_positive("error_tolerance", options.error_tolerance);
  return options;
}

std::shared_ptr<const Dynamics> checked(std::shared_ptr<const Dynamics> dynamics)
{
  if (!dynamics)
  {
    throw std::invalid_argument("a simulation needs dynamics");
  }
  return dynamics;
}

std::shared_ptr<const ContactSet> set_or_none(
  const Dynamics & dynamics, std::shared_ptr<const ContactSet> contacts)
{
  return contacts
           ? std::move(contacts)
           : std::make_shared<const ContactSet>(dynamics.constraints(), std::vector<Contact>{});
}

bool is_empty(const std::shared_ptr<const ContactSet> & contacts)
{
  return !contacts || (contacts->contacts().empty() && contacts->frictions().empty());
}

}  // namespace

const char * to_string(Integrator integrator) noexcept
{
  switch (integrator)
  {
    case Integrator::kRk4:
      return "rk4";
    case Integrator::kKuttaMerson:
      return "kutta_merson";
    case Integrator::kDopri5:
      return "dopri5";
    case Integrator::kRodas:
      return "rodas";
    case Integrator::kRadau:
      return "radau";
    case Integrator::kMoreau:
      return "moreau";
  }
  return "unknown";
}

// ---- the inside
// ------------------------------------------------------------------------------

SimulationCore::SimulationCore(
  const Simulation & face, std::shared_ptr<const Dynamics> dynamics,
  const SimulationOptions & options, std::shared_ptr<InputLaw> inputs,
  std::shared_ptr<const ContactSet> contacts)
: face_(face),
  options_(checked(options)),
  controlled_(checked(std::move(dynamics)), std::move(inputs), !is_empty(contacts)),
  model_(
    controlled_.dynamics(), set_or_none(controlled_.dynamics(), std::move(contacts)),
    is_adaptive() ? 0.0 : options.step,
    is_adaptive() ? tolerance::kErrorsOfSlip * options.absolute_tolerance : 0.0),
  forces_(model_),
  decision_(model_),
  decided_(model_),
  modes_(decided_.modes),
  ended_(static_cast<std::size_t>(event_count(model_)), 0),
  run_book_(std::make_unique<RunBook>(controlled_.dynamics(), *model_.set))
{
  if (!model_.is_empty())
  {
    refuse_multiplier_forces(controlled_.dynamics(), "contacts and dry friction");
  }
  const Eigen::Index n = system().speed_count();
  const Eigen::Index size = system().coordinate_count() + n;
  state_.q = system().neutral_coordinates();
  state_.u.setZero(n);
  for (Eigen::VectorXd * x : {&x_, &slope_, &settled_, &beside_, &beside_slope_})
  {
    x->setZero(size);
  }
  interpolated_acceleration_.setZero(n);
  single_change_.impulse.setZero(n);
  trouble_state_.fill(Eigen::VectorXd::Zero(size));
  events_.reserve(Simulation::kEventCapacity);
  fixed_ = std::make_unique<FixedStepper>(*this);
  moreau_ = is_moreau() ? std::make_unique<MoreauStep>(*this) : nullptr;
  workspace().given_multipliers().setZero();
  modes_.enforce(*model_.set, workspace());
}

SimulationCore::~SimulationCore() = default;

RankReport SimulationCore::start(const State & state)
{
  if (state.q.size() != system().coordinate_count() || state.u.size() != system().speed_count())
  {
    std::ostringstream message;
    message << "the state has " << state.q.size() << " coordinates and " << state.u.size()
            << " speeds; allowed: " << system().coordinate_count() << " and "
            << system().speed_count();
    throw std::invalid_argument(message.str());
  }
  modes_.reset();
  std::fill(ended_.begin(), ended_.end(), static_cast<char>(0));
  workspace().given_multipliers().setZero();
  modes_.enforce(*model_.set, workspace());
  state_ = state;
  mode_status_ = Status::kOk;
  mode_time_ = state.time;
  counts_ = RunResult{};
  run_book_->forget();
  fixed_->begin(state.time, options_.step);
  events_.clear();
  lost_events_ = 0;
  next_change_ = 0;
  const RankReport report = controlled_.analyse(state);
  if (controlled_.law() != nullptr)
  {
    controlled_.law()->observe(workspace());
    controlled_.law()->start(state);
  }
  if (is_moreau())
  {
    moreau_->begin();
  }
  else if (!model_.is_empty())
  {
    const Status status = decide_modes();
    // Without a unique motion, or where the formulation declines, evaluations and runs say so
    // themselves.
    if (!has_output(status) && status != Status::kNoUniqueSolution && status != Status::kDeclined)
    {
      throw std::invalid_argument(
        std::string("the contacts have no motion at this state: status ") + to_string(status));
    }
  }
  return report;
}

Status SimulationCore::step() noexcept CD_NONBLOCKING
{
  if (!has_output(mode_status_))
  {
    return mode_status_;
  }
  const double end = fixed_->next_time();
  Status worst = Status::kOk;
  do
  {
    const Advance made = fixed_->make(end);
    worst = worse(worst, pass(*fixed_, made));
  } while (has_output(worst) && state_.time < end);
  return worst;
}

// ---- the face
// ------------------------------------------------------------------------------

Simulation::Simulation(
  std::shared_ptr<const Dynamics> dynamics, SimulationOptions options,
  std::shared_ptr<InputLaw> inputs, std::shared_ptr<const ContactSet> contacts)
: core_(std::make_unique<SimulationCore>(
    *this, std::move(dynamics), options, std::move(inputs), std::move(contacts)))
{
}

Simulation::~Simulation() = default;

RankReport Simulation::start(const State & state) { return core_->start(state); }

Status Simulation::step() noexcept CD_NONBLOCKING { return core_->step(); }

Status Simulation::evaluate() noexcept CD_NONBLOCKING { return core_->evaluate(); }

RunResult Simulation::run(double until, double output_interval, const Observer & observer)
{
  return core_->run(until, output_interval, observer);
}

void Simulation::request_stop() noexcept CD_NONBLOCKING { core_->stop_requested_.store(true); }

Status Simulation::switch_constraint(int constraint, bool active) noexcept CD_NONBLOCKING
{
  if (
    constraint < 0 || constraint >= dynamics().constraints().size() ||
    core_->model_.set->manages(constraint))
  {
    return Status::kSizeMismatch;
  }
  if (workspace().is_active(constraint) == active)
  {
    return Status::kOk;
  }
  core_->single_change_.constraint = constraint;
  core_->single_change_.active = active;
  return core_->change(&core_->single_change_, 1);
}

Status Simulation::apply_impulse(const ConstVectorRef & impulse) noexcept CD_NONBLOCKING
{
  if (impulse.size() != core_->single_change_.impulse.size())
  {
    return Status::kSizeMismatch;
  }
  core_->single_change_.constraint = -1;
  core_->single_change_.impulse = impulse;
  return core_->change(&core_->single_change_, 1);
}

void Simulation::schedule(std::vector<ScheduledChange> changes)
{
  core_->schedule(std::move(changes));
}

const std::vector<ContactEvent> & Simulation::events() const { return core_->events_; }

void Simulation::clear_events() noexcept CD_NONBLOCKING
{
  core_->events_.clear();
  core_->lost_events_ = 0;
}

long Simulation::lost_event_count() const { return core_->lost_events_; }

bool Simulation::has_contacts() const { return !core_->model_.is_empty(); }

bool Simulation::has_law_forces() const { return core_->modes_.has_law_forces(); }

const Dynamics & Simulation::dynamics() const { return core_->dynamics(); }

const State & Simulation::state() const { return core_->state_; }

const Workspace & Simulation::workspace() const { return core_->controlled_.workspace(); }

Workspace & Simulation::workspace() { return core_->workspace(); }

Status Simulation::last_status() const { return core_->last_status_; }

const InputLaw * Simulation::input_law() const { return core_->controlled_.law(); }

const Eigen::VectorXd & Simulation::inputs() const { return core_->controlled_.inputs(); }

double Simulation::kinetic_energy() const
{
  return core_->system().kinetic_energy(workspace().system_data());
}

double Simulation::potential_energy() const
{
  return core_->system().potential_energy(workspace().system_data());
}

}  // namespace constrained_dynamics
