// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formulation_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>

#include "constrained_dynamics/formulations/evaluation.hpp"
#include "constrained_dynamics/formulations/multiplier_formulation.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "progress.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

/// One formulation that solves at given states, with the scenario's inputs and contacts.
class Solver
{
public:
  Solver(const cd::Scenario & scenario, std::shared_ptr<const cd::Dynamics> dynamics)
  : simulation_(
      std::move(dynamics), scenario.run().integration, scenario.make_input_law(),
      scenario.contacts()),
    law_(scenario.make_input_law()),
    inputs_(Eigen::VectorXd::Zero(scenario.system().input_count()))
  {
    scenario.switch_constraints(simulation_.workspace());
    start(scenario.initial());
  }

  cd::Status solve(const cd::State & state)
  {
    if (simulation_.has_contacts())
    {
      start(state);  // finds their modes there
      const cd::Status status = simulation_.evaluate();
      inputs_ = simulation_.inputs();
      return status;
    }
    cd::Status status = dynamics().set_state(state.time, state.q, state.u, workspace());
    if (status == cd::Status::kOk && law_ != nullptr)
    {
      status = law_->evaluate(dynamics().system(), workspace().change_system_data(), inputs_);
    }
    return status == cd::Status::kOk ? dynamics().solve(inputs_, workspace()) : status;
  }

  const cd::Dynamics & dynamics() const { return simulation_.dynamics(); }
  const cd::Solution & solution() const { return simulation_.workspace().solution(); }
  const Eigen::VectorXd & inputs() const { return inputs_; }
  cd::Workspace & workspace() { return simulation_.workspace(); }

private:
  void start(const cd::State & state)
  {
    try
    {
      simulation_.start(state);
    }
    catch (const std::invalid_argument &)
    {
      // A solve says why as a status.
    }
  }

  cd::Simulation simulation_;
  std::shared_ptr<cd::InputLaw> law_;
  Eigen::VectorXd inputs_;
};

// ---- times ----

double thread_microseconds()
{
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

/// Least time of a call over the rounds; a round repeats it so often that the clock does not count.
class Stopwatch
{
public:
  template <typename Call>
  void round(const Call & call)
  {
    constexpr double kShortestRound = 500.0;  // [µs]
    while (true)
    {
      const double start = thread_microseconds();
      for (long i = 0; i < repetitions_; ++i)
      {
        call();
      }
      const double time = thread_microseconds() - start;
      if (time >= kShortestRound)
      {
        least_ = std::min(least_, time / static_cast<double>(repetitions_));
        return;
      }
      repetitions_ *= 2;
    }
  }
  double least() const { return least_; }

private:
  long repetitions_ = 1;
  double least_ = std::numeric_limits<double>::infinity();
};

// ---- agreement ----

/// Largest deviation from a reference, relative to the largest size of the reference.
class Deviation
{
public:
  void add(const Eigen::VectorXd & x, const Eigen::VectorXd & reference)
  {
    difference_ = std::max(difference_, (x - reference).norm());
    size_ = std::max(size_, reference.norm());
  }
  double relative() const { return size_ > 0.0 ? difference_ / size_ : difference_; }

private:
  double difference_ = 0.0;
  double size_ = 0.0;
};

/// At most `count` of the states, evenly, with the first and the last.
std::vector<cd::State> sample(const std::vector<cd::State> & states, std::size_t count)
{
  if (states.size() <= count)
  {
    return states;
  }
  std::vector<cd::State> samples;
  for (std::size_t i = 0; i < count; ++i)
  {
    samples.push_back(states[i * (states.size() - 1) / (count - 1)]);
  }
  return samples;
}

void compare_solutions(
  const cd::Scenario & scenario, const std::vector<cd::State> & states,
  const ComparedFormulation & reference, ComparedFormulation & other)
{
  Solver first(scenario, reference.dynamics);
  Solver second(scenario, other.dynamics);
  Deviation acceleration;
  Deviation multipliers;
  Deviation constraint_force;
  for (const cd::State & state : states)
  {
    const cd::Status expected = first.solve(state);
    const cd::Status status = second.solve(state);
    other.status_differences += status != expected ? 1 : 0;
    if (cd::has_output(expected) && cd::has_output(status))
    {
      acceleration.add(second.solution().acceleration, first.solution().acceleration);
      multipliers.add(second.solution().multipliers, first.solution().multipliers);
      constraint_force.add(second.solution().constraint_force, first.solution().constraint_force);
    }
  }
  other.acceleration = acceleration.relative();
  other.multipliers = multipliers.relative();
  other.constraint_force = constraint_force.relative();
}

// ---- runs ----

/// @param states every output state is added to it, unless null.
ComparedRun run_with(
  const cd::Scenario & scenario, std::shared_ptr<const cd::Dynamics> dynamics, Progress & progress,
  std::vector<cd::State> * states)
{
  cd::Simulation simulation(
    std::move(dynamics), scenario.run().integration, scenario.make_input_law(),
    scenario.contacts());
  scenario.switch_constraints(simulation.workspace());
  simulation.schedule(scenario.scheduled_changes());
  simulation.start(scenario.initial());
  ComparedRun run(scenario);
  const Eigen::VectorXd unobserved = Eigen::VectorXd::Constant(
    static_cast<Eigen::Index>(scenario.observable_names().size()), std::nan(""));
  run.result = simulation.run(
    scenario.run().until, scenario.run().output_interval,
    [&](const cd::Simulation & now)
    {
      run.statistics.add(now, unobserved);
      if (states != nullptr)
      {
        states->push_back(now.state());
      }
      progress.show(now.state().time);
      return true;
    });
  run.end = simulation.state();
  return run;
}

void compare_ends(const ComparedRun & reference, ComparedRun & run)
{
  if (!reference.result.completed || !run.result.completed)
  {
    run.end_deviation = std::nan("");
    return;
  }
  const auto largest = [](const Eigen::VectorXd & a, const Eigen::VectorXd & b)
  { return a.size() > 0 ? (a - b).cwiseAbs().maxCoeff() : 0.0; };
  run.end_deviation =
    std::max(largest(run.end.q, reference.end.q), largest(run.end.u, reference.end.u));
}

std::shared_ptr<const cd::Dynamics> without_stabilisation(
  const std::shared_ptr<const cd::Dynamics> & dynamics)
{
  cd::DynamicsOptions options = dynamics->options();
  options.stabilisation = cd::Stabilisation::none();
  const std::shared_ptr<const cd::Formulation> formulation(dynamics, &dynamics->formulation());
  return std::make_shared<cd::Dynamics>(dynamics->constraints(), options, formulation);
}

}  // namespace

const ComparedFormulation * FormulationComparison::reference() const
{
  const auto first = std::find_if(
    formulations.begin(), formulations.end(),
    [](const ComparedFormulation & formulation) { return formulation.exists(); });
  return first == formulations.end() ? nullptr : &*first;
}

FormulationComparison try_formulations(const cd::Scenario & scenario)
{
  FormulationComparison comparison;
  const std::shared_ptr<const cd::Dynamics> & own = scenario.dynamics();
  const cd::ConstrainedSystem system(own->constraints(), own->options());
  for (const std::string & name : cd::formulation_names(system))
  {
    std::shared_ptr<const cd::Formulation> other = cd::make_formulation(name);
    if (const auto forces = own->formulation().multiplier_forces())
    {
      other = std::make_shared<cd::MultiplierFormulation>(other, forces);
    }
    if (!other->refusal(system).empty())
    {
      continue;
    }
    ComparedFormulation formulation;
    formulation.name = name;
    formulation.dynamics =
      name == own->formulation().name()
        ? own
        : std::make_shared<cd::Dynamics>(own->constraints(), own->options(), std::move(other));
    formulation.status = Solver(scenario, formulation.dynamics).solve(scenario.initial());
    comparison.formulations.push_back(std::move(formulation));
  }
  return comparison;
}

void time_formulations(const cd::Scenario & scenario, FormulationComparison & comparison)
{
  constexpr int kRounds = 15;
  struct Lane
  {
    ComparedFormulation * formulation;
    std::unique_ptr<Solver> solver;
    Stopwatch rows;
    Stopwatch solve;
    Stopwatch cycle;
  };
  std::vector<Lane> lanes;
  const cd::State & state = scenario.initial();
  for (ComparedFormulation & formulation : comparison.formulations)
  {
    if (formulation.exists())
    {
      lanes.push_back(
        {&formulation, std::make_unique<Solver>(scenario, formulation.dynamics), {}, {}, {}});
      lanes.back().solver->solve(state);  // finds the inputs and what the partition starts with
    }
  }
  const cd::System & system = scenario.system();
  const std::unique_ptr<cd::SystemData> data = system.make_data();
  Stopwatch kinematics;
  Stopwatch dynamics;
  // That the calls succeed was seen above; what they return is of no interest here.
  for (int round = 0; round < kRounds; ++round)
  {
    kinematics.round([&]()
                     { (void)system.update_kinematics(state.time, state.q, state.u, *data); });
    dynamics.round([&]() { (void)system.update_dynamics(*data); });
    for (Lane & lane : lanes)
    {
      const cd::Dynamics & with = lane.solver->dynamics();
      const Eigen::VectorXd & inputs = lane.solver->inputs();
      cd::Workspace & workspace = lane.solver->workspace();
      lane.rows.round([&]() { (void)with.evaluate_rows(state.time, state.q, state.u, workspace); });
      lane.solve.round(
        [&]()
        {
          (void)workspace.change_system_data();  // terms are evaluated again
          (void)with.solve(inputs, workspace);
        });
      lane.cycle.round([&]()
                       { (void)with.solve(state.time, state.q, state.u, inputs, workspace); });
    }
  }
  comparison.kinematics = kinematics.least();
  comparison.dynamics = dynamics.least();
  for (Lane & lane : lanes)
  {
    lane.formulation->times = {lane.rows.least(), lane.solve.least(), lane.cycle.least()};
  }
}

void run_formulations(const cd::Scenario & scenario, bool quiet, FormulationComparison & comparison)
{
  constexpr std::size_t kMostSamples = 101;
  const ComparedFormulation * const reference = comparison.reference();
  const bool stabilised =
    scenario.dynamics()->options().stabilisation.kind != cd::Stabilisation::Kind::kNone;
  std::vector<cd::State> states;
  for (ComparedFormulation & formulation : comparison.formulations)
  {
    if (!formulation.exists())
    {
      continue;
    }
    const bool is_reference = &formulation == reference;
    Progress progress(scenario.initial().time, scenario.run().until, quiet, formulation.name);
    formulation.run.emplace(
      run_with(scenario, formulation.dynamics, progress, is_reference ? &states : nullptr));
    compare_ends(*reference->run, *formulation.run);
    if (stabilised)
    {
      formulation.unstabilised.emplace(
        run_with(scenario, without_stabilisation(formulation.dynamics), progress, nullptr));
      compare_ends(*reference->unstabilised, *formulation.unstabilised);
    }
    progress.finish();
    if (is_reference)
    {
      states = sample(states, kMostSamples);
    }
    compare_solutions(scenario, states, *reference, formulation);
  }
  comparison.samples = static_cast<int>(states.size());
}

}  // namespace cdyn
