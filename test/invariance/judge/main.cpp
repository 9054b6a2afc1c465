// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// invariance_judge SCENARIO.yaml SOLVE.json: the exact answer at the state that `cdyn solve --json`
// reported, beside the reported one.

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "judge.hpp"
#include "solve_json.hpp"

namespace
{

void print(
  const char * title, const std::vector<std::string> & names, const std::vector<double> & exact,
  const std::vector<double> & tolerance, const std::vector<double> & reported)
{
  std::printf("%s\n", title);
  for (std::size_t i = 0; i < exact.size(); ++i)
  {
    std::printf("  %-30s %24.17g ± %-9.2g", names[i].c_str(), exact[i], tolerance[i]);
    if (i < reported.size())
    {
      const bool off = !(std::abs(reported[i] - exact[i]) <= tolerance[i]);
      std::printf(" reported %24.17g%s", reported[i], off ? "  <- differs" : "");
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  if (argc != 3)
  {
    std::fprintf(stderr, "usage: %s SCENARIO.yaml SOLVE.json\n", argv[0]);
    return 2;
  }
  try
  {
    const invariance::Solved solved = invariance::read_solve_json(argv[2]);
    const invariance::Verdict verdict = invariance::judge(argv[1], solved.given);
    std::printf("status reported: %s\n", solved.status.c_str());
    if (!verdict.supported)
    {
      std::printf("not supported: %s\n", verdict.unsupported.c_str());
      return 3;
    }
    std::printf("rows, and what they could be\n");
    std::vector<double> reported_multipliers;
    for (std::size_t i = 0; i < verdict.rows.size(); ++i)
    {
      std::printf("  %-30s %24.17g\n", verdict.rows[i].c_str(), verdict.sizes[i]);
      const auto reported = solved.multipliers.find(verdict.rows[i]);
      if (reported != solved.multipliers.end())
      {
        reported_multipliers.push_back(reported->second);
      }
    }
    if (reported_multipliers.size() != verdict.rows.size())
    {
      reported_multipliers.clear();
    }
    std::printf("singular values");
    for (const double sigma : verdict.singular_values)
    {
      std::printf(" %.3g", sigma);
    }
    std::printf(
      "\nrank %d exact, %d regular, %d nominal; reported %d\n", verdict.rank_exact,
      verdict.rank_regular, verdict.rank_nominal, solved.rank);
    print(
      "accelerations", solved.speeds, verdict.acceleration, verdict.acceleration_tolerance,
      solved.acceleration);
    print(
      "constraint force", solved.speeds, verdict.constraint_force, verdict.force_tolerance,
      solved.constraint_force);
    print(
      "multipliers", verdict.rows, verdict.multipliers, verdict.multiplier_tolerance,
      reported_multipliers);
    std::printf("inconsistency %.3g, power %.17g\n", verdict.inconsistency, verdict.power);
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
