// Event-accurate runs of Simulation.
#include <algorithm>
#include <cmath>
#include <limits>
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
#include "run_book.hpp"

namespace constrained_dynamics
{

namespace odeint = boost::numeric::odeint;

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
        const bool leaves = contacts_.is_pulled_apart(i, simulation_.workspace_);
        static_cast<void>(function(high));
        if (!contacts_.is_closing(i, simulation_.workspace_))
        {
          return std::numeric_limits<double>::infinity();
        }
        return leaves ? locate_return(i, low, high, state) : low;
      }
      const double middle = low + std::min(hop, 0.5 * (high - low));
      const double there = hop > 0.0 ? function(middle) : -1.0;
      if (!(there > 0.0))
      {
        return std::min(low + hop, high);
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

  /// When an open contact that leaves at `low` comes back, which it does until `high`.
  template <typename DenseState>
  double locate_return(int i, double low, double high, const DenseState & state)
  {
    constexpr int kHalvings = 40;
    for (int k = 0; k < kHalvings; ++k)
    {
      const double middle = 0.5 * (low + high);
      state(middle, x_);
      evaluate(middle, x_);
      (contacts_.is_closing(i, simulation_.workspace_) ? high : low) = middle;
    }
    return high;
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
  // So many events take at least this part of the run, or it would hardly ever end.
  constexpr int kManyEvents = 100000;
  constexpr double kLeastPart = 1e-4;
  // Relative to the time: below it a step is a few roundings of the clock.
  constexpr double kSmallestStep = 1e-14;
  const auto system = [&](const StateVector & at, StateVector & slope, double time)
  {
    slope.resize(at.size());
    const Eigen::Map<const Eigen::VectorXd> in(at.data(), static_cast<Eigen::Index>(at.size()));
    const Status status = stage_derivative(time, in, view(slope));
    if (!has_output(status))
    {
      throw EvaluationFailed{status};
    }
    book_->record_stage(view(slope));
  };
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
    watch_limits();
  };
  EventSearch search(*this);
  double step = std::min(options_.step, options_.largest_step);
  int at_once = 0;
  int events = 0;
  const double least_advance = kLeastPart * (until - state_.time);
  double advanced_from = state_.time;
  try
  {
    while (true)  // one phase
    {
      auto stepper = odeint::make_dense_output(
        options_.absolute_tolerance, options_.relative_tolerance, options_.largest_step,
        odeint::runge_kutta_dopri5<StateVector>());
      load(x);
      stepper.initialize(x, state_.time, step);
      book_->expect_first();
      search.begin(state_.time, x);
      bool ends = false;
      while (!ends)
      {
        if (is_interrupted(observer))
        {
          return finish(Status::kInterrupted, false);
        }
        begin = stepper.current_state();
        const double start = stepper.current_time();
        const double change = next_change_ < schedule_.size()
                                ? schedule_[next_change_].time
                                : std::numeric_limits<double>::infinity();
        const std::pair<double, double> span = stepper.do_step(system);
        ++counts_.steps;
        if (!(span.second - span.first > kSmallestStep * std::max(1.0, std::abs(span.second))))
        {
          return finish(Status::kNotConverged, false);
        }
        const double limit = std::min({span.second, until, change});
        const double event =
          search.find(limit, [&](double time, StateVector & to) { stepper.calc_state(time, to); });
        const double stop = std::min(event, limit);
        const auto book_until = [&](double time)
        { book_->add_dopri_step(start, span.second, time, view(begin), workspace_); };
        bool goes_on = true;
        Status status = Status::kOk;
        while (output.next() < stop)
        {
          stepper.calc_state(output.next(), x);
          accept(output.next(), x);
          status = show(observer, goes_on);
          if (!has_output(status))
          {
            return finish(status, false);
          }
          if (!goes_on)
          {
            book_until(output.next());
            return finish(Status::kOk, true);
          }
          output.advance();
        }
        ends = event <= limit || limit < span.second || limit >= change || limit >= until;
        if (!ends)
        {
          book_until(span.second);
          x = stepper.current_state();
          accept(span.second, x);
          name_rows();
          if (x != stepper.current_state())
          {
            stepper.initialize(x, span.second, stepper.current_time_step());
            book_->expect_first();
          }
          continue;
        }
        // The state at the end of the phase, with the order of the integrator and not that of its
        // dense output.
        x = begin;
        if (stop > start)
        {
          odeint::runge_kutta_dopri5<StateVector> whole;
          book_->expect_first();
          whole.do_step(system, begin, start, x, stop - start);
          book_->add_dopri_step(start, stop, stop, view(begin), workspace_);
        }
        const std::size_t first_event = events_.size();
        accept(stop, x);
        at_once = stop > start + 1e-13 * std::max(1.0, std::abs(start)) ? 0 : at_once + 1;
        if (++events == kManyEvents)
        {
          if (stop - advanced_from < least_advance)
          {
            return finish(Status::kNotConverged, false);
          }
          events = 0;
          advanced_from = stop;
        }
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
        book_->add_events(events_, std::min(first_event, events_.size()), stop);
        name_rows();
        if (stop >= until || output.next() <= stop)
        {
          status = show(observer, goes_on);
          if (!has_output(status))
          {
            return finish(status, false);
          }
          if (!goes_on || stop >= until)
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
