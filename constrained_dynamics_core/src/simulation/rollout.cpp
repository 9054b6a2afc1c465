// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "checked_values.hpp"

namespace constrained_dynamics
{

namespace
{

/// Inputs that are given for each step.
class HeldInputs : public InputLaw
{
public:
  /// @param values of the present step (l); null: 0.
  void hold(const double * values) noexcept { values_ = values; }

  Status evaluate(const System &, SystemData &, VectorRef inputs) noexcept CD_NONBLOCKING override
  {
    if (values_ == nullptr)
    {
      inputs.setZero();
      return Status::kOk;
    }
    inputs = Eigen::Map<const Eigen::VectorXd>(values_, inputs.size());
    return inputs.allFinite() ? Status::kOk : Status::kNonFiniteInput;
  }

private:
  const double * values_ = nullptr;
};

/// A batch that is being computed; threads take runs from it.
class Batch
{
public:
  Batch(
    const std::shared_ptr<const Dynamics> & dynamics, const ConstRowMatrixRef & states,
    const ConstRowMatrixRef & inputs, long steps, const RolloutOptions & options)
  : dynamics_(dynamics), states_(states), inputs_(inputs), steps_(steps), options_(options)
  {
    check();
    const Eigen::Index runs = states.rows();
    const Eigen::Index kept = steps / options.every;
    const Eigen::Index rows = dynamics->constraints().row_count();
    result_.times.resize(kept);
    for (Eigen::Index k = 0; k < kept; ++k)
    {
      result_.times(k) = options.time + static_cast<double>((k + 1) * options.every) * options.step;
    }
    result_.states.setZero(runs * kept, states.cols());
    result_.multipliers.setZero(options.with_multipliers ? runs * kept : 0, rows);
    result_.status.assign(static_cast<std::size_t>(runs), Status::kOk);
    result_.steps.assign(static_cast<std::size_t>(runs), 0);
  }

  /// Computes all runs.
  RolloutResult run()
  {
    const auto runs = static_cast<std::size_t>(states_.rows());
    const unsigned available = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted =
      options_.threads > 0 ? static_cast<std::size_t>(options_.threads) : available;
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(wanted, runs); ++i)
    {
      others.emplace_back([this] { work(); });
    }
    work();
    for (std::thread & other : others)
    {
      other.join();
    }
    if (failure_)
    {
      std::rethrow_exception(failure_);
    }
    return std::move(result_);
  }

private:
  void check() const
  {
    const System & system = dynamics_->system();
    const int size = system.coordinate_count() + system.speed_count();
    const Eigen::Index runs = states_.rows();
    if (states_.cols() != size)
    {
      throw_invalid(
        "rollout", "states have ", states_.cols(), " columns; allowed: ", size, " (",
        system.coordinate_count(), " coordinates and ", system.speed_count(), " speeds)");
    }
    if (steps_ < 1)
    {
      throw_invalid("rollout", "steps is ", steps_, "; allowed: at least 1");
    }
    if (options_.every < 1 || steps_ % options_.every != 0)
    {
      throw_invalid(
        "rollout", "every is ", options_.every, "; allowed: divisors of steps, which is ", steps_);
    }
    const Eigen::Index given = inputs_.rows();
    if (given != 0 && given != 1 && given != runs && given != runs * steps_)
    {
      throw_invalid(
        "rollout", "inputs have ", given, " rows; allowed: 0, 1, ", runs,
        " (one for each run) and ", runs * steps_, " (one for each run and step)");
    }
    if (given != 0 && inputs_.cols() != system.input_count())
    {
      throw_invalid(
        "rollout", "inputs have ", inputs_.cols(), " columns; allowed: ", system.input_count());
    }
    if (options_.threads < 0 || options_.threads > kMostThreads)
    {
      throw_invalid("rollout", "threads is ", options_.threads, "; allowed: 0 to ", kMostThreads);
    }
    if (is_adaptive(options_.integrator))
    {
      throw_invalid(
        "rollout", "integrator is ", to_string(options_.integrator),
        "; allowed: rk4, kutta_merson, moreau");
    }
    if (!std::isfinite(options_.time))
    {
      throw_invalid("rollout", "time is ", options_.time, "; allowed: finite");
    }
  }

  /// What one thread does.
  void work() noexcept
  {
    try
    {
      const auto inputs = std::make_shared<HeldInputs>();
      SimulationOptions options;
      options.integrator = options_.integrator;
      options.step = options_.step;
      for (Eigen::Index run = next_++; run < states_.rows() && !has_failed_; run = next_++)
      {
        // A new one for each run: one that was used before remembers partitions of speeds.
        Simulation simulation(dynamics_, options, inputs, options_.contacts);
        make(run, *inputs, simulation);
      }
    }
    catch (...)
    {
      const std::lock_guard<std::mutex> lock(failure_mutex_);
      failure_ = failure_ ? failure_ : std::current_exception();
      has_failed_ = true;
    }
  }

  const double * inputs_of(Eigen::Index run, long step) const noexcept
  {
    const Eigen::Index given = inputs_.rows();
    if (given == 0)
    {
      return nullptr;
    }
    const Eigen::Index row = given == 1 ? 0 : given == states_.rows() ? run : run * steps_ + step;
    return inputs_.row(row).data();
  }

  /// The status at a state at which a run cannot start.
  static Status reason(Simulation & simulation) noexcept
  {
    const Status status = simulation.evaluate();
    return has_output(status) ? Status::kNotConverged : status;
  }

  void make(Eigen::Index run, HeldInputs & inputs, Simulation & simulation)
  {
    const auto index = static_cast<std::size_t>(run);
    const Eigen::Index nq = dynamics_->system().coordinate_count();
    State state;
    state.time = options_.time;
    state.q = states_.row(run).head(nq).transpose();
    state.u = states_.row(run).tail(states_.cols() - nq).transpose();
    Status status = Status::kOk;
    inputs.hold(inputs_of(run, 0));
    try
    {
      simulation.start(state);
    }
    catch (const std::invalid_argument &)
    {
      status = reason(simulation);
    }
    long made = 0;
    while (has_output(status) && made < steps_)
    {
      if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed))
      {
        status = Status::kInterrupted;
        break;
      }
      inputs.hold(inputs_of(run, made));
      const Status stepped = simulation.step();
      status = worse(status, stepped);
      if (!has_output(stepped))
      {
        break;
      }
      ++made;
      if (made % options_.every == 0)
      {
        status = worse(status, keep(run, made / options_.every - 1, simulation));
      }
    }
    result_.status[index] = status;
    result_.steps[index] = made;
    repeat_last(run, made / options_.every, simulation.state());
  }

  Status keep(Eigen::Index run, Eigen::Index k, Simulation & simulation) noexcept
  {
    const Eigen::Index row = run * result_.times.size() + k;
    write(row, simulation.state());
    if (!options_.with_multipliers)
    {
      return Status::kOk;
    }
    const Status status = simulation.evaluate();
    if (has_output(status))
    {
      result_.multipliers.row(row) = simulation.workspace().solution().multipliers.transpose();
    }
    return status;
  }

  void write(Eigen::Index row, const State & state) noexcept
  {
    result_.states.row(row).head(state.q.size()) = state.q.transpose();
    result_.states.row(row).tail(state.u.size()) = state.u.transpose();
  }

  void repeat_last(Eigen::Index run, Eigen::Index kept, const State & state) noexcept
  {
    for (Eigen::Index k = kept; k < result_.times.size(); ++k)
    {
      write(run * result_.times.size() + k, state);
    }
  }

  static constexpr int kMostThreads = 1024;

  const std::shared_ptr<const Dynamics> & dynamics_;
  const ConstRowMatrixRef & states_;
  const ConstRowMatrixRef & inputs_;
  long steps_;
  const RolloutOptions & options_;
  RolloutResult result_;
  std::atomic<Eigen::Index> next_{0};
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

RolloutResult rollout(
  const std::shared_ptr<const Dynamics> & dynamics, const ConstRowMatrixRef & states,
  const ConstRowMatrixRef & inputs, long steps, const RolloutOptions & options)
{
  if (!dynamics)
  {
    throw_invalid(
      "rollout", "there are no dynamics; allowed: those of a system with its constraints");
  }
  return Batch(dynamics, states, inputs, steps, options).run();
}

}  // namespace constrained_dynamics
