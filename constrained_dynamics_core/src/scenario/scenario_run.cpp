// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "scenario/scenario_contacts.hpp"
#include "scenario/scenario_keys.hpp"

namespace constrained_dynamics
{

namespace
{

Stabilisation read_baumgarte(const ScenarioReader & reader, double step)
{
  const auto follow_step = reader.find("follow_step");
  const bool has_gains =
    reader.has("velocity_gain") || reader.has("position_gain") || reader.has("nonholonomic_gain");
  if (has_gains == follow_step.has_value())
  {
    reader.fail_here(
      "allowed: either gains (velocity_gain, position_gain, nonholonomic_gain) or follow_step");
  }
  const auto gain = [&](const std::string & key)
  { return reader.has(key) ? read_gain(reader.at(key)) : Gain(0.0); };
  return make_at(
    reader,
    [&]
    {
      return follow_step
               ? Stabilisation::baumgarte_for_step(step, follow_step->number())
               : Stabilisation::baumgarte(
                   gain("velocity_gain"), gain("position_gain"), gain("nonholonomic_gain"));
    });
}

/// `limits`: a word, or a map with the word as `kind`.
LimitMode read_limit_mode(const ScenarioReader & reader)
{
  const bool is_map = reader.node().is_map();
  if (is_map)
  {
    reader.allow_keys({"kind", "restitution"});
  }
  const std::string word =
    (is_map ? reader.at("kind") : reader).choice({"report", "stop", "ignore"});
  if (is_map && word != "stop" && reader.has("restitution"))
  {
    reader.at("restitution").fail("allowed only with kind: stop");
  }
  return word == "stop"     ? LimitMode::kStop
         : word == "ignore" ? LimitMode::kIgnore
                            : LimitMode::kReport;
}

Integrator read_integrator(const ScenarioReader & reader)
{
  std::vector<std::string> names;
  for (const Integrator one : kIntegrators)
  {
    names.emplace_back(to_string(one));
  }
  const std::string name = reader.choice(names);
  return kIntegrators[static_cast<std::size_t>(
    std::find(names.begin(), names.end(), name) - names.begin())];
}

}  // namespace

std::string format_number(double value)
{
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.6g", value);
  return buffer;
}

Stabilisation read_stabilisation(const ScenarioReader & reader, double step)
{
  reader.allow_keys(
    {"kind", "keep", "velocity_gain", "position_gain", "nonholonomic_gain", "follow_step"});
  const auto kind = reader.find("kind");
  const std::string word = kind ? kind->choice({"projection", "baumgarte", "none"}) : "projection";
  if (word != "baumgarte")
  {
    for (const auto & [key, value] : reader.entries())
    {
      if (key != "kind" && key != "keep")
      {
        value.fail("allowed only with kind: baumgarte");
      }
    }
  }
  if (const auto keep = reader.find("keep"))
  {
    if (word != "projection")
    {
      keep->fail("allowed only with kind: projection");
    }
    if (keep->choice({"nothing", "independent"}) == "independent")
    {
      return Stabilisation::projection_of_dependent();
    }
  }
  if (word == "baumgarte")
  {
    return read_baumgarte(reader, step);
  }
  return word == "none" ? Stabilisation::none() : Stabilisation::projection();
}

DynamicsOptions read_options(const ScenarioReader & reader)
{
  reader.allow_keys(
    {"characteristic_length", "singular_tolerance", "redundancy_tolerance", "consistency_tolerance",
     "partition_limit"});
  DynamicsOptions options;
  const auto fraction = [&](const std::string & key, double & value)
  {
    value = reader.positive_or(key, value);
    if (!(value < 1.0))
    {
      reader.at(key).fail("allowed: a number between 0 and 1");
    }
  };
  options.characteristic_length =
    reader.positive_or("characteristic_length", options.characteristic_length);
  fraction("singular_tolerance", options.rank.singular_tolerance);
  fraction("redundancy_tolerance", options.rank.redundancy_tolerance);
  fraction("consistency_tolerance", options.rank.consistency_tolerance);
  options.rank.partition_limit =
    reader.positive_or("partition_limit", options.rank.partition_limit);
  if (!(options.rank.partition_limit > 1.0))
  {
    reader.at("partition_limit").fail("allowed: a number above 1");
  }
  return options;
}

/// Restitution of the stops that `run.limits` makes.
double read_stop_restitution(const ScenarioReader & root)
{
  const auto run = root.find("run");
  const auto limits = run ? run->find("limits") : run;
  if (!limits || !limits->node().is_map() || !limits->has("restitution"))
  {
    return 0.0;
  }
  const ScenarioReader restitution = limits->at("restitution");
  const double value = restitution.number();
  if (!(value >= 0.0 && value <= 1.0))
  {
    restitution.fail("allowed: 0 to 1");
  }
  return value;
}

RunSettings read_run(const ScenarioReader & reader, double time)
{
  constexpr double kOutputs = 1000.0;
  constexpr double kMostOutputs = 1e7;
  reader.allow_keys(
    {"until", "step", "integrator", "output_interval", "absolute_tolerance", "relative_tolerance",
     "largest_step", "error_tolerance", "limits"});
  RunSettings run;
  run.until = reader.number_or("until", time + 10.0);
  if (!(run.until >= time))
  {
    reader.at("until").fail("allowed: not before initial.time, which is " + format_number(time));
  }
  SimulationOptions & options = run.integration;
  options.step = reader.positive_or("step", options.step);
  options.absolute_tolerance = reader.positive_or("absolute_tolerance", options.absolute_tolerance);
  options.relative_tolerance = reader.positive_or("relative_tolerance", options.relative_tolerance);
  options.largest_step = reader.positive_or("largest_step", options.largest_step);
  options.error_tolerance = reader.positive_or("error_tolerance", options.error_tolerance);
  if (const auto limits = reader.find("limits"))
  {
    run.limits = read_limit_mode(*limits);
  }
  options.watch_limits = run.limits != LimitMode::kIgnore;
  if (const auto integrator = reader.find("integrator"))
  {
    options.integrator = read_integrator(*integrator);
  }
  const double length = run.until - time;
  const bool adaptive = is_adaptive(options.integrator);
  // A thousandth of the run, on the grid of steps; rounding must not add a step.
  const double interval =
    adaptive ? length / kOutputs
             : options.step * std::max(1.0, std::ceil(length / options.step / kOutputs - 1e-9));
  run.output_interval =
    reader.positive_or("output_interval", interval > 0.0 ? interval : options.step);
  if (!(length / run.output_interval <= kMostOutputs))
  {
    reader.fail_here(
      "the output interval " + format_number(run.output_interval) + " s gives more than " +
      format_number(kMostOutputs) + " outputs until " + format_number(run.until) +
      " s; allowed: a longer interval");
  }
  return run;
}

}  // namespace constrained_dynamics
