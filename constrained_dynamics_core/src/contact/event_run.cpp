// The parts of Simulation that deal with constraints that come and go.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/dense_output_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/util/unwrap_reference.hpp>

#include "constrained_dynamics/simulation.hpp"
#include "contact/contact_runtime.hpp"
#include "output_times.hpp"

namespace constrained_dynamics
{

namespace odeint = boost::numeric::odeint;

/// What the contacts see of a simulation.
class Simulation::Host : public ContactHost
{
public:
  explicit Host(Simulation & simulation) : simulation_(simulation) {}
  Status update(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept override
  {
    return simulation_.update(time, q, u);
  }
  const Eigen::VectorXd & input_values() const noexcept override
  {
    return simulation_.input_values_;
  }
  void record(const ContactEvent & event) noexcept override { simulation_.record(event); }

private:
  Simulation & simulation_;
};

void Simulation::record(const ContactEvent & event) noexcept CD_NONBLOCKING
{
  if (events_.size() < events_.capacity())
  {
    events_.push_back(event);
    return;
  }
  if (may_grow_)
  {
    try
    {
      events_.push_back(event);
      return;
    }
    catch (...)
    {
      // counted below
    }
  }
  ++lost_events_;
}

Status Simulation::decide() noexcept CD_NONBLOCKING
{
  Host host(*this);
  return contacts_->decide(state_.time, state_.q, state_.u, workspace_, host);
}

Status Simulation::after_step() noexcept CD_NONBLOCKING
{
  Status status = apply_due_changes();
  if (!has_output(status) || contacts_->is_empty())
  {
    return status;
  }
  const Status solved = evaluate();
  if (!has_output(solved))
  {
    return solved;
  }
  contacts_->commit(workspace_);
  bool any = false;
  const int contacts = static_cast<int>(contacts_->contacts().contacts().size());
  for (int i = 0; i < contacts_->event_count(); ++i)
  {
    bool has_ended =
      contacts_->event_function(i, workspace_) < -contacts_->event_tolerance(i, workspace_);
    if (i < contacts && contacts_->is_open(i))
    {
      has_ended = has_ended && contacts_->is_closing(i, workspace_);
    }
    contacts_->fired()[static_cast<std::size_t>(i)] = has_ended;
    any = any || has_ended;
  }
  if (!any)
  {
    return worse(status, solved);
  }
  status = worse(status, decide());
  if (has_output(status))
  {
    x_.head(state_.q.size()) = state_.q;
    x_.tail(state_.u.size()) = state_.u;
    const Status settled = settle(state_.time, x_);
    if (settled == Status::kOk)
    {
      store(state_.time, x_);
    }
  }
  return status;
}

// ---- changes from outside
// ------------------------------------------------------------------------------

Status Simulation::switch_constraint(int constraint, bool active) noexcept CD_NONBLOCKING
{
  if (
    constraint < 0 || constraint >= dynamics_->constraints().size() ||
    contacts_->contacts().manages(constraint))
  {
    return Status::kSizeMismatch;
  }
  if (workspace_.is_active(constraint) == active)
  {
    return Status::kOk;
  }
  Host host(*this);
  Status status = Status::kOk;
  bool has_velocity = false;  // rows on acceleration level come into force without a jump
  for (const RowDescription & row : dynamics_->constraints()[constraint].rows())
  {
    has_velocity = has_velocity || row.level != RowLevel::kAcceleration;
  }
  if (active && has_velocity)
  {
    status =
      contacts_->jump(state_.time, state_.q, state_.u, no_impulse_, constraint, workspace_, host);
    if (!has_output(status))
    {
      return status;
    }
  }
  else
  {
    ContactEvent event;
    event.time = state_.time;
    event.kind = active ? ContactEventKind::kSwitchOn : ContactEventKind::kSwitchOff;
    event.constraint = constraint;
    record(event);
  }
  workspace_.set_active(constraint, active);
  return contacts_->is_empty() ? status : worse(status, decide());
}

Status Simulation::apply_impulse(const ConstVectorRef & impulse) noexcept CD_NONBLOCKING
{
  if (impulse.size() != no_impulse_.size())
  {
    return Status::kSizeMismatch;
  }
  Host host(*this);
  const Status status =
    contacts_->jump(state_.time, state_.q, state_.u, impulse, -1, workspace_, host);
  return !has_output(status) || contacts_->is_empty() ? status : worse(status, decide());
}

void Simulation::schedule(std::vector<ScheduledChange> changes)
{
  for (const ScheduledChange & change : changes)
  {
    std::ostringstream message;
    const int count = dynamics_->constraints().size();
    if (!std::isfinite(change.time))
    {
      message << "a scheduled change has the time " << change.time << "; allowed: finite";
    }
    else if (
      change.constraint < -1 || change.constraint >= count ||
      (change.constraint >= 0 && contacts_->contacts().manages(change.constraint)))
    {
      message << "a scheduled change names constraint " << change.constraint << "; allowed: -1 to "
              << count - 1 << ", without those of contacts and frictions";
    }
    else if (
      change.constraint < 0 &&
      (change.impulse.size() != no_impulse_.size() || !change.impulse.allFinite()))
    {
      message << "a scheduled impulse has " << change.impulse.size()
              << " elements; allowed: " << no_impulse_.size() << " finite ones";
    }
    if (!message.str().empty())
    {
      throw std::invalid_argument(message.str());
    }
  }
  std::stable_sort(
    changes.begin(), changes.end(),
    [](const ScheduledChange & a, const ScheduledChange & b) { return a.time < b.time; });
  schedule_ = std::move(changes);
  next_change_ = 0;
}

Status Simulation::apply_due_changes() noexcept CD_NONBLOCKING
{
  Status worst = Status::kOk;
  const double slack = 1e-12 * std::max(1.0, std::abs(state_.time));
  while (next_change_ < schedule_.size() && schedule_[next_change_].time <= state_.time + slack)
  {
    const ScheduledChange & change = schedule_[next_change_];
    const Status status = change.constraint >= 0
                            ? switch_constraint(change.constraint, change.active)
                            : apply_impulse(change.impulse);
    if (!has_output(status))
    {
      return status;
    }
    worst = worse(worst, status);
    ++next_change_;
  }
  return worst;
}

// ---- event-accurate runs
// ------------------------------------------------------------------------------

namespace
{

using StateVector = std::vector<double>;

Eigen::Map<Eigen::VectorXd> view(StateVector & x)
{
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

/// Leaves the integrator where an evaluation fails.
struct EvaluationFailed
{
  Status status;
};

}  // namespace

/// Looks for the first end of a mode within a step, on its dense output.
class Simulation::EventSearch
{
public:
  explicit EventSearch(Simulation & simulation)
  : simulation_(simulation),
    contacts_(*simulation.contacts_),
    before_(static_cast<std::size_t>(contacts_.event_count()), 0.0),
    now_(before_),
    x_(static_cast<std::size_t>(simulation.x_.size()))
  {
  }

  /// Values at the start of a phase.
  void begin(double time, StateVector & x)
  {
    evaluate(time, x);
    values(before_);
    time_ = time;
  }

  /// The first event in (start, end]; +∞: none. `state(t, x)` is the dense output. Fires.
  template <typename DenseState>
  double find(double end, const DenseState & state)
  {
    constexpr int kSamples = 4;
    const double start = time_;
    for (int k = 1; k <= kSamples; ++k)
    {
      const double time = k == kSamples ? end : start + k * (end - start) / kSamples;
      state(time, x_);
      evaluate(time, x_);
      values(now_);
      double first = std::numeric_limits<double>::infinity();
      for (int i = 0; i < contacts_.event_count(); ++i)
      {
        const auto index = static_cast<std::size_t>(i);
        root_[index] = std::numeric_limits<double>::infinity();
        if (now_[index] < -contacts_.event_tolerance(i, simulation_.workspace_))
        {
          suspects_.push_back(i);
        }
      }
      for (const int i : suspects_)
      {
        root_[static_cast<std::size_t>(i)] = locate(i, time_, time, state);
        first = std::min(first, root_[static_cast<std::size_t>(i)]);
      }
      suspects_.clear();
      if (std::isfinite(first))
      {
        const double slack = 1e-12 * std::max(1.0, std::abs(first));
        for (std::size_t i = 0; i < root_.size(); ++i)
        {
          contacts_.fired()[i] = root_[i] <= first + slack;
        }
        return first;
      }
      before_ = now_;
      time_ = time;
    }
    contacts_.commit(simulation_.workspace_);
    return std::numeric_limits<double>::infinity();
  }

private:
  void evaluate(double time, StateVector & x)
  {
    const Status status = simulation_.derivative(time, view(x), simulation_.beside_slope_);
    if (!has_output(status))
    {
      throw EvaluationFailed{status};
    }
  }
  void values(std::vector<double> & out)
  {
    root_.resize(out.size());
    for (int i = 0; i < contacts_.event_count(); ++i)
    {
      out[static_cast<std::size_t>(i)] = contacts_.event_function(i, simulation_.workspace_);
    }
  }

  /// Where function i comes to its end between two times; +∞: it does not.
  template <typename DenseState>
  double locate(int i, double low, double high, const DenseState & state)
  {
    const auto function = [&](double time)
    {
      state(time, x_);
      evaluate(time, x_);
      return contacts_.event_function(i, simulation_.workspace_);
    };
    // Below this a gap may be rounding of 0 [m].
    constexpr double kTouching = 1e-12;
    const int contacts = static_cast<int>(contacts_.contacts().contacts().size());
    double at_low = before_[static_cast<std::size_t>(i)];
    const double at_high = now_[static_cast<std::size_t>(i)];
    if (i < contacts && contacts_.is_open(i) && !(at_low > kTouching))
    {
      // It touches: is it on the way back from a hop that is shorter than the step?
      static_cast<void>(function(low));
      const double hop = contacts_.hop(i, simulation_.workspace_);
      if (!(hop > 0.0) && !contacts_.is_closing(i, simulation_.workspace_))
      {
        static_cast<void>(function(high));
        return contacts_.is_closing(i, simulation_.workspace_)
                 ? low
                 : std::numeric_limits<double>::infinity();
      }
      const double middle = low + std::min(hop, 0.5 * (high - low));
      const double there = hop > 0.0 ? function(middle) : -1.0;
      if (!(there > 0.0))
      {
        return low + hop;
      }
      low = middle;
      at_low = there;
    }
    if (!(at_low > 0.0))
    {
      return low;
    }
    std::uintmax_t iterations = 100;
    const auto close = boost::math::tools::eps_tolerance<double>(50);
    const std::pair<double, double> bracket =
      boost::math::tools::toms748_solve(function, low, high, at_low, at_high, close, iterations);
    return bracket.second;
  }

  Simulation & simulation_;
  ContactRuntime & contacts_;
  std::vector<double> before_;
  std::vector<double> now_;
  std::vector<double> root_;
  std::vector<int> suspects_;
  StateVector x_;
  double time_ = 0.0;
};

RunResult Simulation::run_events(double until, double output_interval, const Observer & observer)
{
  // Events that follow each other without time passing: beyond this nothing will change any more.
  constexpr int kMostAtOnce = 200;
  may_grow_ = true;
  const auto finish = [&](Status status, bool completed)
  {
    may_grow_ = false;
    counts_.status = status;
    counts_.completed = completed;
    counts_.time = state_.time;
    return counts_;
  };
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
  Status status = apply_due_changes();
  status = has_output(status) ? worse(status, evaluate()) : status;
  if (!has_output(status))
  {
    return finish(status, false);
  }
  if (!observer(*this) || state_.time >= until)
  {
    return finish(Status::kOk, true);
  }
  OutputTimes output(state_.time, until, output_interval);
  StateVector x(static_cast<std::size_t>(x_.size()));
  StateVector begin(x.size());
  const auto load = [&](StateVector & to)
  {
    view(to).head(state_.q.size()) = state_.q;
    view(to).tail(state_.u.size()) = state_.u;
  };
  const auto accept = [&](double time, StateVector & at)
  {
    const Status settled = settle(time, view(at));
    if (!has_output(settled))
    {
      throw EvaluationFailed{settled};
    }
    store(time, view(at));
  };
  EventSearch search(*this);
  double step = std::min(options_.step, options_.largest_step);
  int at_once = 0;
  try
  {
    while (true)  // one phase
    {
      auto stepper = odeint::make_dense_output(
        options_.absolute_tolerance, options_.relative_tolerance, options_.largest_step,
        odeint::runge_kutta_dopri5<StateVector>());
      load(x);
      stepper.initialize(x, state_.time, step);
      search.begin(state_.time, x);
      bool ends = false;
      while (!ends)
      {
        begin = stepper.current_state();
        const double start = stepper.current_time();
        const double change = next_change_ < schedule_.size()
                                ? schedule_[next_change_].time
                                : std::numeric_limits<double>::infinity();
        const std::pair<double, double> span = stepper.do_step(system);
        ++counts_.steps;
        if (!(span.second > span.first))
        {
          return finish(Status::kNotConverged, false);
        }
        const double limit = std::min({span.second, until, change});
        const double event =
          search.find(limit, [&](double time, StateVector & to) { stepper.calc_state(time, to); });
        const double stop = std::min(event, limit);
        while (output.next() < stop)
        {
          stepper.calc_state(output.next(), x);
          accept(output.next(), x);
          status = evaluate();
          if (!has_output(status))
          {
            return finish(status, false);
          }
          if (!observer(*this))
          {
            return finish(Status::kOk, true);
          }
          output.advance();
        }
        ends = event <= limit || limit < span.second || limit >= change || limit >= until;
        if (!ends)
        {
          x = stepper.current_state();
          accept(span.second, x);
          if (x != stepper.current_state())
          {
            stepper.initialize(x, span.second, stepper.current_time_step());
          }
          continue;
        }
        // The state at the end of the phase, with the order of the integrator and not that of its
        // dense output.
        x = begin;
        if (stop > start)
        {
          odeint::runge_kutta_dopri5<StateVector> whole;
          whole.do_step(system, begin, start, x, stop - start);
        }
        accept(stop, x);
        at_once = stop > start + 1e-13 * std::max(1.0, std::abs(start)) ? 0 : at_once + 1;
        if (at_once > kMostAtOnce)
        {
          return finish(Status::kNotConverged, false);
        }
        if (event <= limit)
        {
          status = decide();
          if (!has_output(status))
          {
            return finish(status, false);
          }
        }
        status = apply_due_changes();
        if (!has_output(status))
        {
          return finish(status, false);
        }
        // What came to be in force is met exactly from here on.
        load(x);
        accept(stop, x);
        if (stop >= until || output.next() <= stop)
        {
          status = evaluate();
          if (!has_output(status))
          {
            return finish(status, false);
          }
          if (!observer(*this) || stop >= until)
          {
            return finish(Status::kOk, true);
          }
          output.advance();
        }
        step = std::min(options_.step, options_.largest_step);
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
