#include "constrained_dynamics/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/dense_output_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/util/unwrap_reference.hpp>

#include "contact/contact_runtime.hpp"
#include "output_times.hpp"

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

void check_positive(const char * name, double value)
{
  if (!(value > 0.0 && std::isfinite(value)))
  {
    std::ostringstream message;
    message << name << " is " << value << "; allowed: finite and above 0";
    throw std::invalid_argument(message.str());
  }
}

/// Leaves Boost.odeint where an evaluation fails.
struct EvaluationFailed
{
  Status status;
};

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
  workspace_(*dynamics_),
  contacts_(std::make_unique<ContactRuntime>(
    *dynamics_, contacts ? std::move(contacts)
                         : std::make_shared<const ContactSet>(
                             dynamics_->constraints(), std::vector<Contact>{})))
{
  check_positive("step", options_.step);
  check_positive("absolute_tolerance", options_.absolute_tolerance);
  check_positive("relative_tolerance", options_.relative_tolerance);
  check_positive("largest_step", options_.largest_step);
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
  events_.reserve(kEventCapacity);
  const bool is_adaptive = options_.integrator == Integrator::kDopri5;
  contacts_->set_step(is_adaptive ? 0.0 : options_.step);
  // The direction of a slip as small as the tolerance is one of errors.
  contacts_->set_least_creep(is_adaptive ? 10.0 * options_.absolute_tolerance : 0.0);
  contacts_->reset(workspace_);
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
  start_time_ = state.time;
  step_index_ = 0;
  events_.clear();
  lost_events_ = 0;
  next_change_ = 0;
  const RankReport report = dynamics_->analyse(state, workspace_);
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
  const Status status = contacts_->is_empty() ? dynamics_->update_kinematics(time, q, u, workspace_)
                                              : dynamics_->update_rows(time, q, u, workspace_);
  if (status != Status::kOk || !input_law_)
  {
    return status;
  }
  input_law_->observe(workspace_);
  return input_law_->evaluate(dynamics_->system(), workspace_.system_data(), input_values_);
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
  status = contacts_->is_empty() ? dynamics_->solve_updated(input_values_, workspace_)
                                 : contacts_->solve(input_values_, workspace_);
  if (!has_output(status))
  {
    return status;
  }
  counts_.singular_evaluations += status == Status::kSingular ? 1 : 0;
  counts_.inconsistent_evaluations += status == Status::kInconsistent ? 1 : 0;
  x_dot.head(nq) = workspace_.terms().rates;
  x_dot.tail(n) = workspace_.solution().acceleration;
  return status;
}

Status Simulation::stage_derivative(double time, const ConstVectorRef & x, VectorRef x_dot) noexcept
  CD_NONBLOCKING
{
  // Largest change of a coordinate: the mean is right to its square, the accelerations beside the
  // singular position to ε divided by it.
  constexpr double kDistance = 1e-4;
  // Slower than this the motion says nothing about the branch.
  constexpr double kSlowest = 1e-6;
  const Status status = derivative(time, x, x_dot);
  const System & system = dynamics_->system();
  const Eigen::Index nq = system.coordinate_count();
  const double speed = status == Status::kSingular ? x_dot.head(nq).cwiseAbs().maxCoeff() : 0.0;
  if (speed < kSlowest)
  {
    return status;
  }
  const double tolerance = dynamics_->options().rank.singular_tolerance;
  mean_acceleration_.setZero();
  for (const double sign : {-1.0, 1.0})
  {
    const double shift = sign * kDistance / speed;
    auto q = beside_.head(nq);
    auto u = beside_.tail(x.size() - nq);
    q = x.head(nq) + shift * x_dot.head(nq);
    u = x.tail(x.size() - nq);
    system.normalise(q);
    if (
      dynamics_->project_position(time + shift, q, workspace_, tolerance) != Status::kOk ||
      dynamics_->project_velocity(time + shift, q, u, workspace_, tolerance) != Status::kOk ||
      derivative(time + shift, beside_, beside_slope_) != Status::kOk)
    {
      return status;  // nothing better than the bounded solution
    }
    mean_acceleration_ += 0.5 * beside_slope_.tail(u.size());
  }
  x_dot.tail(mean_acceleration_.size()) = mean_acceleration_;
  return status;
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
    const int opened = dynamics_->update_rows(time, q, u, workspace_) == Status::kOk
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
  const auto project = [&]() noexcept { return dynamics_->project_position(time, q, workspace_); };
  Status position = project();
  while (position == Status::kNotConverged && contacts_->has_rows() && open_surplus())
  {
    position = project();
  }
  position = position == Status::kNotConverged ? meet_rows(project) : position;
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
  const Status status =
    contacts_->is_empty() ? integrate_step(time, next_time) : step_with_contacts(next_time);
  counts_.steps += has_output(status) ? 1 : 0;
  return status;
}

Status Simulation::integrate_step(double time, double next_time) noexcept CD_NONBLOCKING
{
  const Scheme & scheme =
    options_.integrator == Integrator::kKuttaMerson ? kKuttaMersonScheme : kRk4Scheme;
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

RunResult Simulation::run(double until, double output_interval, const Observer & observer)
{
  check_positive("output interval", output_interval);
  if (!(until >= state_.time && std::isfinite(until)))
  {
    std::ostringstream message;
    message << "end of the run is " << until << " s; allowed: finite and not before " << state_.time
            << " s";
    throw std::invalid_argument(message.str());
  }
  counts_ = RunResult{};
  // Events may take memory here, and not in steps outside of a run, however this one ends.
  struct Growth
  {
    explicit Growth(bool & of) : allowed(of) { allowed = true; }
    ~Growth() { allowed = false; }
    bool & allowed;
  };
  const Growth growth(may_grow_);
  if (options_.integrator != Integrator::kDopri5)
  {
    return run_fixed(until, output_interval, observer);
  }
  return contacts_->is_empty() && schedule_.empty() ? run_adaptive(until, output_interval, observer)
                                                    : run_events(until, output_interval, observer);
}

RunResult Simulation::finish(Status status, bool completed)
{
  counts_.status = status;
  counts_.completed = completed;
  counts_.time = state_.time;
  return counts_;
}

RunResult Simulation::run_fixed(double until, double output_interval, const Observer & observer)
{
  start_time_ = state_.time;
  step_index_ = 0;
  OutputTimes output(state_.time, until, output_interval);
  Status status = apply_due_changes();
  status = has_output(status) ? worse(status, evaluate()) : status;
  if (!has_output(status))
  {
    return finish(status, false);
  }
  if (!observer(*this))
  {
    return finish(Status::kOk, true);
  }
  const double slack = 1e-9 * options_.step;
  while (state_.time < until - slack)
  {
    // The grid of steps, with a shorter step where the end lies between.
    double next_time = start_time_ + static_cast<double>(step_index_ + 1) * options_.step;
    if (next_time > until - slack)
    {
      next_time = until;
    }
    status = fixed_step(state_.time, next_time);
    if (!has_output(status))
    {
      return finish(status, false);
    }
    ++step_index_;
    status = apply_due_changes();
    if (!has_output(status))
    {
      return finish(status, false);
    }
    // Output belongs to the first step that reaches its time.
    if (state_.time >= output.next() - slack)
    {
      while (output.next() < until && state_.time >= output.next() - slack)
      {
        output.advance();
      }
      status = evaluate();
      if (!has_output(status))
      {
        return finish(status, false);
      }
      if (!observer(*this))
      {
        return finish(Status::kOk, true);
      }
    }
  }
  return finish(Status::kOk, true);
}

RunResult Simulation::run_adaptive(double until, double output_interval, const Observer & observer)
{
  // Relative to the time: below it a step is a few roundings of the clock.
  constexpr double kSmallestStep = 1e-14;
  using StateVector = std::vector<double>;
  namespace odeint = boost::numeric::odeint;
  const auto view = [](StateVector & x)
  { return Eigen::Map<Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())); };
  StateVector x(static_cast<std::size_t>(x_.size()));
  view(x).head(state_.q.size()) = state_.q;
  view(x).tail(state_.u.size()) = state_.u;

  const auto system = [&](const StateVector & at, StateVector & slope, double time)
  {
    slope.resize(at.size());
    const Eigen::Map<const Eigen::VectorXd> in(at.data(), static_cast<Eigen::Index>(at.size()));
    const Status status = stage_derivative(time, in, view(slope));
    if (!has_output(status))
    {
      throw EvaluationFailed{status};
    }
  };
  Status status = evaluate();
  if (!has_output(status))
  {
    return finish(status, false);
  }
  if (!observer(*this) || state_.time >= until)
  {
    return finish(Status::kOk, true);
  }
  auto stepper = odeint::make_dense_output(
    options_.absolute_tolerance, options_.relative_tolerance, options_.largest_step,
    odeint::runge_kutta_dopri5<StateVector>());
  OutputTimes output(state_.time, until, output_interval);
  stepper.initialize(x, state_.time, std::min(options_.step, options_.largest_step));
  try
  {
    while (true)
    {
      const std::pair<double, double> span = stepper.do_step(system);
      ++counts_.steps;
      if (!(span.second - span.first > kSmallestStep * std::max(1.0, std::abs(span.second))))
      {
        return finish(Status::kNotConverged, false);
      }
      while (span.second >= output.next())
      {
        const double time = output.next();
        stepper.calc_state(time, x);
        status = settle(time, view(x));
        if (!has_output(status))
        {
          return finish(status, false);
        }
        store(time, view(x));
        status = evaluate();
        if (!has_output(status))
        {
          return finish(status, false);
        }
        if (!observer(*this) || time >= until)
        {
          return finish(Status::kOk, true);
        }
        output.advance();
      }
      x = stepper.current_state();
      status = settle(span.second, view(x));
      if (!has_output(status))
      {
        return finish(status, false);
      }
      if (x != stepper.current_state())
      {
        stepper.initialize(x, span.second, stepper.current_time_step());
      }
    }
  }
  catch (const EvaluationFailed & failure)
  {
    return finish(failure.status, false);
  }
  catch (const odeint::odeint_error &)
  {
    return finish(Status::kNotConverged, false);
  }
}

}  // namespace constrained_dynamics
