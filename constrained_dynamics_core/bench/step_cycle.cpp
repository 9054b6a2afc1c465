// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Steps of batches beside one solve of the same system, and steps of a quadruped on four feet.
// run_step_bench.py runs it, and mujoco.rollout on the same quadruped.
//
//     cd_step_bench [options of Google Benchmark]
//     cd_step_bench --batch THREADS    prints steps a second of a batch of the humanoid W3
//     cd_step_bench --stand            prints state and torques of the quadruped that stands
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/rollout.hpp"
#include "workloads.hpp"

namespace constrained_dynamics::bench
{
namespace
{

constexpr long kSteps = 400;
constexpr int kRuns = 4;

std::shared_ptr<const Dynamics> dynamics_of(const Workload & workload, Stabilisation stabilisation)
{
  DynamicsOptions options;
  options.stabilisation = std::move(stabilisation);
  return std::make_shared<const Dynamics>(workload.constraint_set(), options);
}

/// A workload at rest on its rows, `runs` times.
RowMatrix starts(const Workload & workload, const Dynamics & dynamics, int runs)
{
  Workspace workspace(dynamics, workload.state);
  Eigen::VectorXd q = workload.state.q;
  if (dynamics.project_position(0.0, q, workspace) != Status::kOk)
  {
    throw std::runtime_error(workload.name + ": no start on the rows");
  }
  Eigen::VectorXd state(q.size() + workload.state.u.size());
  state << q, Eigen::VectorXd::Zero(workload.state.u.size());
  return state.transpose().replicate(runs, 1);
}

void solve(benchmark::State & state, const Workload & workload)
{
  const auto dynamics = dynamics_of(workload, Stabilisation::baumgarte_for_step(1e-3));
  Workspace workspace(*dynamics, workload.state);
  Status status = Status::kOk;
  for (auto _ : state)
  {
    status = dynamics->solve(
      workload.state.time, workload.state.q, workload.state.u, workload.inputs, workspace);
  }
  if (!has_output(status))
  {
    state.SkipWithError(to_string(status));
  }
}

struct Batch
{
  std::shared_ptr<const Dynamics> dynamics;
  RowMatrix states;
  RowMatrix inputs;
  RolloutOptions options;
  long steps = kSteps;

  void run() const
  {
    const RolloutResult result = rollout(dynamics, states, inputs, steps, options);
    for (const Status status : result.status)
    {
      if (!has_output(status))
      {
        throw std::runtime_error(std::string("a run ended with status ") + to_string(status));
      }
    }
  }
};

/// Of the processor.
double seconds_of(const Batch & batch)
{
  const std::clock_t start = std::clock();
  batch.run();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Time of a step: what longer runs take more. Counter `start`: the start of a run [steps].
void time_steps(benchmark::State & state, const Batch & batch)
{
  Batch shorter = batch;
  shorter.steps = batch.steps / 2;
  shorter.options.every = shorter.steps;
  const double count = static_cast<double>(shorter.steps * batch.states.rows());
  double less = std::numeric_limits<double>::infinity();
  double more = less;
  for (auto _ : state)
  {
    less = std::min(less, seconds_of(shorter));
    more = std::min(more, seconds_of(batch));
  }
  state.counters["step"] = (more - less) / count;
  state.counters["start"] = static_cast<double>(shorter.steps) * (less / (more - less) - 1.0);
}

Batch batch_of(const Workload & workload, Integrator integrator, Stabilisation stabilisation)
{
  Batch batch;
  batch.dynamics = dynamics_of(workload, std::move(stabilisation));
  batch.states = starts(workload, *batch.dynamics, kRuns);
  batch.inputs = workload.inputs.transpose();
  batch.options.integrator = integrator;
  batch.options.every = kSteps;
  return batch;
}

/// A quadruped that has come to rest on its four feet, with the torques that hold it.
Batch standing(Integrator integrator)
{
  const Scenario scenario = Scenario::load(
    std::string(CD_CONFIG) + "/scenarios/solo12_drop.yaml", {"run.integrator=moreau"});
  const auto simulation = scenario.make_simulation();
  if (!simulation->run(3.0, 1e9, [](const Simulation &) { return true; }).completed)
  {
    throw std::runtime_error("solo12_drop does not come to its end");
  }
  Batch batch;
  batch.dynamics = scenario.dynamics();
  batch.options.contacts = scenario.contacts();
  batch.options.integrator = integrator;
  batch.options.every = kSteps;
  const State & state = simulation->state();
  Eigen::VectorXd start(state.q.size() + state.u.size());
  start << state.q, state.u;
  batch.states = start.transpose().replicate(kRuns, 1);
  batch.inputs = simulation->inputs().transpose();
  return batch;
}

void register_all()
{
  for (const WorkloadEntry & entry : all_workloads(quick_sizes(), CD_EXAMPLE_ROBOT_DATA))
  {
    if (entry.name != "W1" && entry.name != "W2b" && entry.name != "W3")
    {
      continue;
    }
    const auto workload = std::make_shared<const Workload>(entry.make());
    const auto add = [&](const std::string & name, const Batch & batch)
    {
      benchmark::RegisterBenchmark(
        (entry.name + "/" + name).c_str(),
        [batch](benchmark::State & state) { time_steps(state, batch); });
    };
    benchmark::RegisterBenchmark(
      (entry.name + "/solve").c_str(),
      [workload](benchmark::State & state) { solve(state, *workload); });
    const auto gains = Stabilisation::baumgarte_for_step(1e-3);
    add("moreau_baumgarte", batch_of(*workload, Integrator::kMoreau, gains));
    add("moreau_projection", batch_of(*workload, Integrator::kMoreau, Stabilisation::projection()));
    add("rk4_baumgarte", batch_of(*workload, Integrator::kRk4, gains));
    add("rk4_projection", batch_of(*workload, Integrator::kRk4, Stabilisation::projection()));
  }
  for (const Integrator integrator : {Integrator::kMoreau, Integrator::kRk4})
  {
    const Batch batch = standing(integrator);
    benchmark::RegisterBenchmark(
      (std::string("solo12/") + to_string(integrator)).c_str(),
      [batch](benchmark::State & state) { time_steps(state, batch); });
  }
}

/// Steps a second and thread of a batch of the humanoid.
int run_batch(int threads)
{
  for (const WorkloadEntry & entry : all_workloads(quick_sizes(), CD_EXAMPLE_ROBOT_DATA))
  {
    if (entry.name != "W3")
    {
      continue;
    }
    const Workload workload = entry.make();
    Batch batch = batch_of(workload, Integrator::kMoreau, Stabilisation::baumgarte_for_step(1e-3));
    batch.options.threads = threads;
    batch.states = RowMatrix(batch.states.topRows(1).replicate(32 * threads, 1));
    batch.run();
    const auto start = std::chrono::steady_clock::now();
    batch.run();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::cout << static_cast<double>(batch.steps * batch.states.rows()) / time.count() << "\n";
    return 0;
  }
  std::cerr << "cd_step_bench: there are no robots\n";
  return 1;
}

void print_stand()
{
  const Batch batch = standing(Integrator::kMoreau);
  std::cout.precision(17);
  const Eigen::IOFormat list(
    Eigen::FullPrecision, Eigen::DontAlignCols, ", ", ", ", "", "", "[", "]");
  std::cout << "{\"state\": " << batch.states.topRows(1).format(list)
            << ", \"torques\": " << batch.inputs.format(list) << ", \"urdf\": \""
            << CD_EXAMPLE_ROBOT_DATA << "/solo_description/robots/solo12.urdf\"}\n";
}

}  // namespace
}  // namespace constrained_dynamics::bench

int main(int argc, char ** argv)
{
  namespace bench = constrained_dynamics::bench;
  try
  {
    const std::string first = argc > 1 ? argv[1] : "";
    if (first == "--stand")
    {
      bench::print_stand();
      return 0;
    }
    if (first == "--batch" && argc > 2)
    {
      return bench::run_batch(std::max(1, std::atoi(argv[2])));
    }
    bench::register_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
    {
      return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
  }
  catch (const std::exception & error)
  {
    std::cerr << "cd_step_bench: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
