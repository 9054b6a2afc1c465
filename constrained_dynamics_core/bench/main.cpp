// Times every method on every workload with Google Benchmark.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "method.hpp"

namespace constrained_dynamics::bench
{
namespace
{

int run(int argc, char ** argv)
{
  bool quick = false;
  std::vector<char *> rest;
  for (int i = 0; i < argc; ++i)
  {
    if (std::strcmp(argv[i], "--quick") == 0)
    {
      quick = true;
    }
    else
    {
      rest.push_back(argv[i]);
    }
  }
  int rest_count = static_cast<int>(rest.size());
  benchmark::Initialize(&rest_count, rest.data());

  MethodList methods = library_methods();
  for (MethodEntry & entry : pinocchio_constraint_methods())
  {
    methods.push_back(std::move(entry));
  }
  std::vector<std::unique_ptr<Method>> alive;
  for (const WorkloadEntry & entry : all_workloads(quick, CD_EXAMPLE_ROBOT_DATA))
  {
    const Workload workload = entry.make();
    Eigen::VectorXd reference;
    for (const MethodEntry & method : methods)
    {
      alive.push_back(method.make(workload));
      Method * instance = alive.back().get();
      instance->run();
      instance->run();
      const Eigen::VectorXd acceleration = instance->acceleration();
      if (reference.size() == 0)
      {
        reference = acceleration;
      }
      const double error =
        (acceleration - reference).lpNorm<Eigen::Infinity>() / reference.lpNorm<Eigen::Infinity>();
      std::fprintf(
        stderr, "%s %s n %d: %.1e\n", entry.name.c_str(), method.name.c_str(),
        static_cast<int>(reference.size()), error);
      benchmark::RegisterBenchmark(
        (entry.name + "/" + method.name).c_str(),
        [instance](benchmark::State & state)
        {
          for (auto _ : state)
          {
            instance->run();
          }
        });
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace constrained_dynamics::bench

int main(int argc, char ** argv) { return constrained_dynamics::bench::run(argc, argv); }
