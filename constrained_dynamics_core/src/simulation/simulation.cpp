// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "contact/contact_runtime.hpp"
#include "simulation/run_book.hpp"

namespace constrained_dynamics
{

namespace
{

/// One explicit Runge-Kutta scheme: y ← y + h Σ weight_i k_i, k_i = f(y + h Σ_{j<i} stage_ij k_j).
struct Scheme
{
  static constexpr int kMostStages = 5;
  int stages;
  double time[kMostStages];
  double stage[kMostStages][kMostStages];
  double weight[kMostStages];
};

constexpr Scheme kRk4Scheme = {
  4,
  {0.0, 0.5, 0.5, 1.0, 0.0},
  {{0.0, 0.0, 0.0, 0.0, 0.0},
   {0.5, 0.0, 0.0, 0.0, 0.0},
   {0.0, 0.5, 0.0, 0.0, 0.0},
   {0.0, 0.0, 1.0, 0.0, 0.0},
   {0.0, 0.0, 0.0, 0.0, 0.0}},
  {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0, 0.0}};

constexpr Scheme kKuttaMersonScheme = {
  5,
  {0.0, 1.0 / 3.0, 1.0 / 3.0, 0.5, 1.0},
  {{0.0, 0.0, 0.0, 0.0, 0.0},
   {1.0 / 3.0, 0.0, 0.0, 0.0, 0.0},
   {1.0 / 6.0, 1.0 / 6.0, 0.0, 0.0, 0.0},
   {1.0 / 8.0, 0.0, 3.0 / 8.0, 0.0, 0.0},
   {0.5, 0.0, -1.5, 2.0, 0.0}},
  {1.0 / 6.0, 0.0, 0.0, 2.0 / 3.0, 1.0 / 6.0}};

const Scheme & scheme_of(Integrator integrator) noexcept
{
  return integrator == Integrator::kKuttaMerson ? kKuttaMersonScheme : kRk4Scheme;
}

void check_positive(const char * name, double value)
{
  if (!(value > 0.0 && std::isfinite(value)))
  {
    std::ostringstream message;
    message << name << " is " << value << "; allowed: finite and above 0";
    throw std::invalid_argument(message.str());
  }
}

}  // namespace

InputLaw::~InputLaw() = default;

void InputLaw::start(const State & /*state*/) {}

void InputLaw::begin_step(double /*time*/) noexcept CD_NONBLOCKING {}

void InputLaw::observe(const Workspace & /*workspace*/) noexcept CD_NONBLOCKING {}

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
  }
  return "unknown";
}

Simulation::Simulation(
  std::shared_ptr<const Dynamics> dynamics, SimulationOptions options,
  std::shared_ptr<InputLaw> inputs, std::shared_ptr<const ContactSet> contacts)
: dynamics_(
    dynamics ? std::move(dynamics) : throw std::invalid_argument("a simulation needs dynamics")),
  options_(options),
  input_law_(std::move(inputs)),
  workspace_(Workspace::unanalysed(*dynamics_)),
  contacts_(std::make_unique<ContactRuntime>(
    *dynamics_, contacts ? std::move(contacts)
                         : std::make_shared<const ContactSet>(
                             dynamics_->constraints(), std::vector<Contact>{})))
{
  check_positive("step", options_.step);
  check_positive("absolute_tolerance", options_.absolute_tolerance);
  check_positive("relative_tolerance", options_.relative_tolerance);
  check_positive("largest_step", options_.largest_step);
  check_positive("error_tolerance", options_.error_tolerance);
  const System & system = dynamics_->system();
  const Eigen::Index size = system.coordinate_count() + system.speed_count();
  state_.q = system.neutral_coordinates();
  state_.u.setZero(system.speed_count());
  input_values_.setZero(system.input_count());
  x_.setZero(size);
  stage_.setZero(size);
  beside_.setZero(size);
  beside_slope_.setZero(size);
  mean_acceleration_.setZero(system.speed_count());
  slopes_.assign(Scheme::kMostStages, Eigen::VectorXd::Zero(size));
  no_impulse_.setZero(system.speed_count());
  trouble_state_.fill(Eigen::VectorXd::Zero(size));
  events_.reserve(kEventCapacity);
  const bool is_adaptive = options_.integrator == Integrator::kDopri5;
  contacts_->set_step(is_adaptive ? 0.0 : options_.step);
  // The direction of a slip as small as the tolerance is one of errors.
  contacts_->set_least_creep(is_adaptive ? 10.0 * options_.absolute_tolerance : 0.0);
  contacts_->reset(workspace_);
  run_book_ = std::make_unique<RunBook>(*dynamics_, contacts_->contacts());
}

Simulation::~Simulation() = default;

RankReport Simulation::start(const State & state)
{
  const System & system = dynamics_->system();
  if (state.q.size() != system.coordinate_count() || state.u.size() != system.speed_count())
  {
    std::ostringstream message;
    message << "the state has " << state.q.size() << " coordinates and " << state.u.size()
            << " speeds; allowed: " << system.coordinate_count() << " and " << system.speed_count();
    throw std::invalid_argument(message.str());
  }
  contacts_->reset(workspace_);
  state_ = state;
  mode_status_ = Status::kOk;
  counts_ = RunResult{};
  run_book_->forget();
  start_time_ = state.time;
  step_index_ = 0;
  events_.clear();
  lost_events_ = 0;
  next_change_ = 0;
  const RankReport report = workspace_.reset(state);
  if (input_law_)
  {
    input_law_->observe(workspace_);
    input_law_->start(state);
  }
  if (!contacts_->is_empty())
  {
    const Status status = decide();
    // Without a unique motion evaluations and runs say so themselves.
    if (!has_output(status) && status != Status::kNoUniqueSolution)
    {
      throw std::invalid_argument(
        std::string("the contacts have no motion at this state: status ") + to_string(status));
    }
  }
  return report;
}

Status Simulation::update(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
  CD_NONBLOCKING
{
  // Contacts look at the rows of what is open, too.
  const Status status = contacts_->is_empty() ? dynamics_->set_state(time, q, u, workspace_)
                                              : dynamics_->evaluate_rows(time, q, u, workspace_);
  if (status != Status::kOk || !input_law_)
  {
    return status;
  }
  input_law_->observe(workspace_);
  return input_law_->evaluate(dynamics_->system(), workspace_.change_system_data(), input_values_);
}

Status Simulation::derivative(double time, const ConstVectorRef & x, VectorRef x_dot) noexcept
  CD_NONBLOCKING
{
  const System & system = dynamics_->system();
  const Eigen::Index nq = system.coordinate_count();
  const Eigen::Index n = system.speed_count();
  ++counts_.evaluations;
  Status status = update(time, x.head(nq), x.tail(n));
  if (status != Status::kOk)
  {
    return status;
  }
  status = contacts_->is_empty() ? dynamics_->solve(input_values_, workspace_)
                                 : contacts_->solve(input_values_, workspace_);
  if (!has_output(status))
  {
    return status;
  }
  counts_.singular_evaluations += status == Status::kSingular ? 1 : 0;
  counts_.inconsistent_evaluations += status == Status::kInconsistent ? 1 : 0;
  if (status == Status::kSingular || status == Status::kInconsistent)
  {
    remember_trouble(
      status == Status::kSingular ? kSingularTrouble : kInconsistentTrouble, time, x, false);
  }
  x_dot.head(nq) = workspace_.terms().rates;
  x_dot.tail(n) = workspace_.solution().acceleration;
  return status;
}

void Simulation::remember_trouble(
  Trouble kind, double time, const ConstVectorRef & x, bool ends) noexcept CD_NONBLOCKING
{
  if (book_ == nullptr || (naming_[kind] != Naming::kNothing && !ends))
  {
    return;
  }
  trouble_state_[kind] = x;
  trouble_time_[kind] = time;
  naming_[kind] = Naming::kDue;
  trouble_rank_ = kind == kSingularTrouble ? workspace_.solution().rank : trouble_rank_;
}

Status Simulation::stage_derivative(double time, const ConstVectorRef & x, VectorRef x_dot) noexcept
  CD_NONBLOCKING
{
  // Changes of a coordinate: the mean is right to their square, so the smallest that leads to
  // regular neighbours is taken.
  constexpr double kDistance = 1e-4;
  constexpr int kDoublings = 3;
  // Slower than this the motion says nothing about the branch.
  constexpr double kSlowest = 1e-6;
  // Rounding of the accelerations is ε times the condition; over a step of some milliseconds that
  // is less by about this factor. Above the tolerance adaptive steps would shrink forever.
  constexpr double kStepFactor = 20.0;
  const double largest_condition =
    kStepFactor * options_.relative_tolerance / std::numeric_limits<double>::epsilon();
  const Status status = derivative(time, x, x_dot);
  if (book_ != nullptr && has_output(status))
  {
    book_->measure(input_values_, workspace_);
  }
  const Eigen::Index nq = dynamics_->system().coordinate_count();
  const bool is_noisy = options_.integrator == Integrator::kDopri5 && status == Status::kOk &&
                        workspace_.solution().condition > largest_condition;
  const double speed =
    is_noisy || status == Status::kSingular ? x_dot.head(nq).cwiseAbs().maxCoeff() : 0.0;
  if (speed < kSlowest)
  {
    return status;
  }
  double shift = kDistance / speed;
  for (int i = 0; i <= (is_noisy ? kDoublings : 0); ++i, shift *= 2.0)
  {
    const double worst = mean_beside(time, x, x_dot, shift);
    if (worst <= largest_condition || (status == Status::kSingular && std::isfinite(worst)))
    {
      x_dot.tail(mean_acceleration_.size()) = mean_acceleration_;
      break;
    }
  }
  return status;  // with nothing better than the bounded solution where no neighbour is regular
}

double Simulation::mean_beside(
  double time, const ConstVectorRef & x, const ConstVectorRef & x_dot,
  double shift) noexcept CD_NONBLOCKING
{
  const Eigen::Index nq = dynamics_->system().coordinate_count();
  const double tolerance = dynamics_->options().rank.singular_tolerance;
  double condition = 0.0;
  mean_acceleration_.setZero();
  for (const double step : {-shift, shift})
  {
    auto q = beside_.head(nq);
    auto u = beside_.tail(x.size() - nq);
    q = x.head(nq) + step * x_dot.head(nq);
    u = x.tail(x.size() - nq);
    dynamics_->system().normalise(q);
    if (
      dynamics_->project_position(time + step, q, workspace_, tolerance) != Status::kOk ||
      dynamics_->project_velocity(time + step, q, u, workspace_, tolerance) != Status::kOk ||
      derivative(time + step, beside_, beside_slope_) != Status::kOk)
    {
      return std::numeric_limits<double>::infinity();
    }
    condition = std::max(condition, workspace_.solution().condition);
    mean_acceleration_ += 0.5 * beside_slope_.tail(u.size());
  }
  return condition;
}

/// Projects on all rows in force. Contacts may close at places that cannot be met at once (what is
/// clamped harder than it is wide): then the others are met, and contacts stay where they are.
template <typename Project>
Status Simulation::meet_rows(const Project & project) noexcept CD_NONBLOCKING
{
  const Status status = project();
  if (status != Status::kNotConverged || !contacts_->has_rows())
  {
    return status;
  }
  contacts_->withdraw_rows(workspace_);
  const Status without = project();
  contacts_->switch_rows(workspace_);
  if (without != Status::kOk)
  {
    return without;
  }
  ++counts_.inconsistent_evaluations;
  return Status::kInconsistent;
}

Status Simulation::settle(double time, VectorRef x) noexcept CD_NONBLOCKING
{
  const Status status = project(time, x);
  if (status == Status::kNotConverged || status == Status::kInconsistent)
  {
    remember_trouble(kUnmetTrouble, time, x, status == Status::kNotConverged);
  }
  return status;
}

Status Simulation::project(double time, VectorRef x) noexcept CD_NONBLOCKING
{
  const System & system = dynamics_->system();
  auto q = x.head(system.coordinate_count());
  auto u = x.tail(system.speed_count());
  system.normalise(q);
  if (dynamics_->options().stabilisation.kind != Stabilisation::Kind::kProjection)
  {
    return Status::kOk;
  }
  // Of contacts that cannot all be met the surplus ones open.
  const auto open_surplus = [&]() noexcept
  {
    ContactEvent event;
    const int opened = dynamics_->evaluate_rows(time, q, u, workspace_) == Status::kOk
                         ? contacts_->open_surplus(workspace_)
                         : -1;
    if (opened < 0)
    {
      return false;
    }
    event.time = time;
    event.kind = ContactEventKind::kRelease;
    event.constraint =
      contacts_->contacts().contacts()[static_cast<std::size_t>(opened)].constraint;
    record(event);
    return true;
  };
  const auto project_position = [&]() noexcept
  { return dynamics_->project_position(time, q, workspace_); };
  Status position = project_position();
  while (position == Status::kNotConverged && contacts_->has_rows() && open_surplus())
  {
    position = project_position();
  }
  position = position == Status::kNotConverged ? meet_rows(project_position) : position;
  if (!has_output(position))
  {
    return position;
  }
  const Status velocity =
    meet_rows([&]() noexcept { return dynamics_->project_velocity(time, q, u, workspace_); });
  return worse(position, velocity);
}

void Simulation::store(double time, const ConstVectorRef & x) noexcept CD_NONBLOCKING
{
  state_.time = time;
  state_.q = x.head(state_.q.size());
  state_.u = x.tail(state_.u.size());
}

Status Simulation::fixed_step(double time, double next_time) noexcept CD_NONBLOCKING
{
  if (input_law_)
  {
    input_law_->begin_step(time);
  }
  Status status = Status::kOk;
  if (contacts_->is_empty())
  {
    status = integrate_step(time, next_time);
    book_step(time, status);
  }
  else
  {
    status = step_with_contacts(next_time);
  }
  counts_.steps += has_output(status) ? 1 : 0;
  return status;
}

void Simulation::book_step(double time, Status status) noexcept CD_NONBLOCKING
{
  if (book_ != nullptr && has_output(status) && state_.time > time)
  {
    const Scheme & scheme = scheme_of(options_.integrator);
    book_->add_step(state_.time - time, scheme.weight, scheme.stages);
  }
}

Status Simulation::integrate_step(double time, double next_time) noexcept CD_NONBLOCKING
{
  const Scheme & scheme = scheme_of(options_.integrator);
  const double h = next_time - time;
  Status worst = Status::kOk;
  x_.head(state_.q.size()) = state_.q;
  x_.tail(state_.u.size()) = state_.u;
  for (int i = 0; i < scheme.stages; ++i)
  {
    stage_ = x_;
    for (int j = 0; j < i; ++j)
    {
      if (scheme.stage[i][j] != 0.0)
      {
        stage_ += h * scheme.stage[i][j] * slopes_[static_cast<std::size_t>(j)];
      }
    }
    const Status status =
      stage_derivative(time + scheme.time[i] * h, stage_, slopes_[static_cast<std::size_t>(i)]);
    if (!has_output(status))
    {
      return status;
    }
    worst = worse(worst, status);
    if (book_ != nullptr)
    {
      book_->keep_stage(i, input_values_);
    }
    if (book_ != nullptr && i == 0)
    {
      book_->reach(time, stage_, slopes_[0], workspace_);
    }
  }
  for (int i = 0; i < scheme.stages; ++i)
  {
    if (scheme.weight[i] != 0.0)
    {
      x_ += h * scheme.weight[i] * slopes_[static_cast<std::size_t>(i)];
    }
  }
  const Status status = settle(next_time, x_);
  if (!has_output(status))
  {
    return status;
  }
  if (!x_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  store(next_time, x_);
  return worse(worst, status);
}

Status Simulation::step() noexcept CD_NONBLOCKING
{
  if (!has_output(mode_status_))
  {
    return mode_status_;
  }
  // Times are multiples of the step, not sums of it.
  const double next_time = start_time_ + static_cast<double>(step_index_ + 1) * options_.step;
  Status status = fixed_step(state_.time, next_time);
  if (has_output(status))
  {
    ++step_index_;
    status = worse(status, apply_due_changes());
  }
  return status;
}

Status Simulation::evaluate() noexcept CD_NONBLOCKING
{
  stage_.head(state_.q.size()) = state_.q;
  stage_.tail(state_.u.size()) = state_.u;
  const Status status = derivative(state_.time, stage_, slopes_[0]);
  last_status_ = has_output(mode_status_) ? status : mode_status_;
  return last_status_;
}

double Simulation::kinetic_energy() const
{
  return dynamics_->system().kinetic_energy(workspace_.system_data());
}

double Simulation::potential_energy() const
{
  return dynamics_->system().potential_energy(workspace_.system_data());
}

}  // namespace constrained_dynamics
