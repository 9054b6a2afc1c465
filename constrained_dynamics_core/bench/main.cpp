// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Times every method on one workload with Google Benchmark; run_bench.py calls it for each.
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "method.hpp"
#include "reference.hpp"
#include "workloads.hpp"

namespace constrained_dynamics::bench
{
namespace
{

constexpr char kUsage[] =
  "usage: cd_bench --list [--quick]                 names of the workloads\n"
  "       cd_bench --workload NAME [--benchmark_...]  all methods on one workload\n";

struct Arguments
{
  bool list = false;
  bool quick = false;
  std::string workload;
  std::vector<char *> benchmark;  ///< what Google Benchmark reads
};

Arguments read(int argc, char ** argv)
{
  Arguments result;
  result.benchmark.push_back(argv[0]);
  for (int i = 1; i < argc; ++i)
  {
    if (std::strcmp(argv[i], "--list") == 0)
    {
      result.list = true;
    }
    else if (std::strcmp(argv[i], "--quick") == 0)
    {
      result.quick = true;
    }
    else if (std::strcmp(argv[i], "--workload") == 0 && i + 1 < argc)
    {
      result.workload = argv[++i];
    }
    else if (std::strncmp(argv[i], "--benchmark_", 12) == 0)
    {
      result.benchmark.push_back(argv[i]);
    }
    else
    {
      throw std::invalid_argument("argument '" + std::string(argv[i]) + "'\n" + kUsage);
    }
  }
  if (!result.list && result.workload.empty())
  {
    throw std::invalid_argument("no workload\n" + std::string(kUsage));
  }
  return result;
}

MethodList all_methods(int speed_count)
{
  // Pinocchio's Data holds tensors of n³ numbers: at 600 speeds some 7 GB for each method.
  constexpr int kLargestPinocchio = 450;
  std::vector<MethodList> lists = {library_methods(), dense_methods(), derivative_methods()};
  if (speed_count <= kLargestPinocchio)
  {
    lists.push_back(pinocchio_constraint_methods());
    lists.push_back(pinocchio_pv_methods());
    lists.push_back(pinocchio_lcaba_methods());
  }
  else
  {
    std::fprintf(stderr, "Pinocchio left out above %d speeds\n", kLargestPinocchio);
  }
  lists.push_back(simbody_methods());
  lists.push_back(mujoco_methods());
  MethodList methods;
  for (const MethodList & list : lists)
  {
    methods.insert(methods.end(), list.begin(), list.end());
  }
  return methods;
}

/// What the table says about the workload itself.
void add_context(const Workload & workload, const Reference & reference)
{
  const auto add = [](const char * key, const std::string & value)
  { benchmark::AddCustomContext(key, value); };
  char limit[32];
  std::snprintf(limit, sizeof(limit), "%.3e", reference.error_limit);
  add("workload", workload.name);
  add("text", workload.text);
  add("family", workload.family);
  add("size", std::to_string(workload.size));
  add("speeds", std::to_string(workload.system->speed_count()));
  add("rows", std::to_string(workload.constraint_set().row_count()));
  add("rank", std::to_string(workload.rank));
  add("stand_in", workload.is_stand_in ? "1" : "0");
  add("error_limit", limit);
  add("compiler", "g++ " __VERSION__);
}

void time_method(benchmark::State & state, Method & method, double error)
{
  for (auto _ : state)
  {
    method.run();
  }
  if (!method.succeeded())
  {
    state.SkipWithError("no result");
  }
  state.counters["error"] = error;
}

Workload find_workload(const Arguments & arguments)
{
  for (const WorkloadEntry & entry : all_workloads(full_sizes(), CD_EXAMPLE_ROBOT_DATA))
  {
    if (entry.name == arguments.workload)
    {
      return entry.make();
    }
  }
  throw std::invalid_argument(
    "workload '" + arguments.workload + "'; allowed are those that --list names");
}

void run(Arguments arguments)
{
  if (arguments.list)
  {
    const FamilySizes sizes = arguments.quick ? quick_sizes() : full_sizes();
    for (const WorkloadEntry & entry : all_workloads(sizes, CD_EXAMPLE_ROBOT_DATA))
    {
      std::printf("%s\n", entry.name.c_str());
    }
    return;
  }
  int count = static_cast<int>(arguments.benchmark.size());
  benchmark::Initialize(&count, arguments.benchmark.data());

  const Workload workload = find_workload(arguments);
  const Reference reference = reference_of(workload);
  add_context(workload, reference);
  const Eigen::MatrixXd expected = reference_by_state(workload);
  std::vector<std::unique_ptr<Method>> methods;
  for (const MethodEntry & entry : all_methods(workload.system->speed_count()))
  {
    std::unique_ptr<Method> method;
    try
    {
      method = entry.make(workload);
    }
    catch (const std::exception & error)
    {
      std::fprintf(stderr, "%s: left out, %s\n", entry.name.c_str(), error.what());
    }
    if (method)
    {
      // The error of a later call: one that starts from what an earlier one left behind.
      method->run();
      method->run();
      const Eigen::MatrixXd by_state = method->by_state();
      const double error =
        by_state.size() == 0
          ? relative_error(method->acceleration(), reference.acceleration)
          : relative_error(
              Eigen::Map<const Eigen::VectorXd>(by_state.data(), by_state.size()),
              Eigen::Map<const Eigen::VectorXd>(expected.data(), expected.size()));
      benchmark::RegisterBenchmark(
        (workload.name + "/" + entry.name).c_str(),
        [instance = method.get(), error](benchmark::State & state)
        { time_method(state, *instance, error); });
      methods.push_back(std::move(method));
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}

}  // namespace
}  // namespace constrained_dynamics::bench

int main(int argc, char ** argv)
{
  try
  {
    constrained_dynamics::bench::run(constrained_dynamics::bench::read(argc, argv));
    return 0;
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "cd_bench: %s\n", error.what());
    return 1;
  }
}
