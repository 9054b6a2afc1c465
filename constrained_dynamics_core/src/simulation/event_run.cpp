// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Event-accurate runs of Simulation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>
#include "constrained_dynamics/simulation/simulation.hpp"
#include "contact/contact_runtime.hpp"
#include "simulation/output_times.hpp"
#include "simulation/phase_stepper.hpp"
#include "simulation/run_book.hpp"

namespace constrained_dynamics
{

namespace
{

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

/// The motion of a phase as the integrators see it.
class Simulation::Motion
{
public:
  explicit Motion(Simulation & simulation)
  : simulation_(simulation), contacts_(*simulation.contacts_)
  {
  }

  void derive(const StateVector & x, StateVector & slope, double time)
  {
    slope.resize(x.size());
    check(simulation_.stage_derivative(time, view(x), view(slope)));
    simulation_.book_->record_stage(view(slope));
  }
  /// The next derivative is the first of a step that shares none with the one before.
  void begin_step() { simulation_.book_->expect_first(); }

  /// ∂f/∂x and ∂f/∂t by differences. The directions of slip are held meanwhile: how they turn with
  /// the state, by dψ/|ψ|, is far beyond any difference where slip is slow, and is put in exactly.
  void jacobian(
    const StateVector & x, const StateVector & slope, double time, Eigen::MatrixXd & by_state,
    Eigen::VectorXd & by_time)
  {
    // Rounding of 1e-16 and curvature are both 1e-8 of a derivative then.
    constexpr double kDifference = 1e-8;
    constexpr double kTurn = 1e-6;  // [rad]; the motion is linear in it but for its square
    const auto n = static_cast<Eigen::Index>(x.size());
    const Workspace & workspace = simulation_.workspace_;
    const auto f = view(slope);
    moved_ = x;
    changed_.resize(x.size());
    evaluate(time);
    contacts_.hold_directions(workspace);
    struct Release
    {
      ContactRuntime & contacts;
      ~Release() { contacts.release_directions(); }
    } const release{contacts_};
    slides_.clear();
    for (const int i : contacts_.planar_slides())
    {
      Slide slide;
      slide.friction = i;
      double s[2];
      contacts_.slide_direction(i, workspace, s);
      slide.across[0] = -s[1];
      slide.across[1] = s[0];
      slide.speed = contacts_.turning_speed(i, workspace);
      slide.slip = contacts_.slip_along(i, slide.across, workspace);
      slide.by_turn.setZero(n);
      slides_.push_back(slide);
    }
    const auto across_of = [&](const Slide & slide)
    { return contacts_.slip_along(slide.friction, slide.across, workspace) - slide.slip; };
    for (Slide & slide : slides_)
    {
      contacts_.turn_direction(slide.friction, kTurn);
      evaluate(time);
      slide.by_turn = (view(changed_) - f) / kTurn;
      const Eigen::VectorXd acceleration = slide.by_turn.tail(simulation_.state_.u.size());
      contacts_.set_turning(
        slide.friction,
        -contacts_.slip_change_along(slide.friction, slide.across, acceleration, workspace),
        workspace);
    }
    contacts_.turn_direction(-1, 0.0);
    for (Eigen::Index i = 0; i <= n; ++i)
    {
      auto column = i < n ? by_state.col(i) : Eigen::Ref<Eigen::VectorXd>(by_time);
      double size = kDifference;
      if (i < n)
      {
        const double here = x[static_cast<std::size_t>(i)];
        moved_[static_cast<std::size_t>(i)] = here + kDifference * std::max(1.0, std::abs(here));
        size = moved_[static_cast<std::size_t>(i)] - here;
      }
      evaluate(i < n ? time : time + size);
      column = (view(changed_) - f) / size;
      for (const Slide & slide : slides_)
      {
        column += across_of(slide) / (size * slide.speed) * slide.by_turn;
      }
      if (i < n)
      {
        moved_[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(i)];
      }
    }
  }

  /// What decides between the integrators, of the slips that begin with a phase. @pre solve.
  void measure_turning(const StateVector & x, double time)
  {
    constexpr double kTurn = 1e-6;
    const Workspace & workspace = simulation_.workspace_;
    if (contacts_.planar_slides().empty())
    {
      return;
    }
    moved_ = x;
    changed_.resize(x.size());
    evaluate(time);
    const Eigen::VectorXd before = workspace.solution().acceleration;
    contacts_.hold_directions(workspace);
    const std::vector<int> slides = contacts_.planar_slides();
    for (const int i : slides)
    {
      double s[2];
      contacts_.turn_direction(-1, 0.0);
      contacts_.slide_direction(i, workspace, s);
      const double across[2] = {-s[1], s[0]};
      contacts_.turn_direction(i, kTurn);
      evaluate(time);
      const Eigen::VectorXd change = (workspace.solution().acceleration - before) / kTurn;
      contacts_.set_turning(
        i, -contacts_.slip_change_along(i, across, change, workspace), workspace);
    }
    contacts_.release_directions();
  }

private:
  struct Slide
  {
    int friction = -1;
    double across[2] = {0.0, 0.0};
    double speed = 0.0;
    double slip = 0.0;
    Eigen::VectorXd by_turn;
  };

  static Eigen::Map<const Eigen::VectorXd> view(const StateVector & x)
  {
    return {x.data(), static_cast<Eigen::Index>(x.size())};
  }
  static Eigen::Map<Eigen::VectorXd> view(StateVector & x)
  {
    return {x.data(), static_cast<Eigen::Index>(x.size())};
  }
  static void check(Status status)
  {
    if (!has_output(status))
    {
      throw EvaluationFailed{status};
    }
  }
  void evaluate(double time) { check(simulation_.derivative(time, view(moved_), view(changed_))); }

  Simulation & simulation_;
  ContactRuntime & contacts_;
  StateVector moved_;
  StateVector changed_;
  std::vector<Slide> slides_;
};

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
  OutputTimes output(state_.time, until, output_interval);
  StateVector x(static_cast<std::size_t>(x_.size()));
  StateVector begin(x.size());
  StateVector slope(x.size());
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
  Motion motion(*this);
  PhaseStepper<Motion> stepper(
    motion, options_.absolute_tolerance, options_.relative_tolerance, options_.largest_step,
    x.size());
  const double step = std::min(options_.step, options_.largest_step);
  int at_once = 0;
  int events = 0;
  const double least_advance = kLeastPart * (until - state_.time);
  double advanced_from = state_.time;
  try
  {
    while (true)  // one phase
    {
      load(x);
      stepper.initialize(x, state_.time, step);
      motion.measure_turning(x, state_.time);
      search.begin(state_.time, x);
      bool ends = false;
      while (!ends)
      {
        if (is_interrupted(observer))
        {
          return finish(Status::kInterrupted, false);
        }
        const double start = stepper.current_time();
        const double change = next_change_ < schedule_.size()
                                ? schedule_[next_change_].time
                                : std::numeric_limits<double>::infinity();
        const std::pair<double, double> span = stepper.do_step(contacts_->turning_rate(workspace_));
        ++counts_.steps;
        if (!(span.second - span.first > kSmallestStep * std::max(1.0, std::abs(span.second))))
        {
          return finish(Status::kNotConverged, false);
        }
        const double limit = std::min({span.second, until, change});
        const double event =
          search.find(limit, [&](double time, StateVector & to) { stepper.calc_state(time, to); });
        const double stop = std::min(event, limit);
        begin = stepper.begin_state();
        const auto book_until = [&](double time)
        {
          if (!stepper.is_stiff())
          {
            book_->add_dopri_step(start, span.second, time, view(begin), workspace_);
            return;
          }
          motion.begin_step();
          for (const double at : {start, 0.5 * (start + time), time})
          {
            stepper.calc_state(at, x);
            motion.derive(x, slope, at);
          }
          book_->add_sampled_step(start, time, view(begin), stepper.stiff_error(), workspace_);
        };
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
          }
          continue;
        }
        if (stop > start)
        {
          if (stepper.is_stiff())
          {
            book_until(stop);
          }
          stepper.step_to(stop, x);
          if (!stepper.is_stiff())
          {
            book_->add_dopri_step(start, stop, stop, view(begin), workspace_);
          }
        }
        else
        {
          load(x);
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
        book_->add_events(events_, std::min(first_event, events_.size()));
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
      }
    }
  }
  catch (const EvaluationFailed & failure)
  {
    return finish(failure.status, false);
  }
  catch (const boost::numeric::odeint::odeint_error &)
  {
    return finish(Status::kNotConverged, false);
  }
}

}  // namespace constrained_dynamics
