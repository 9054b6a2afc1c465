// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "cdyn.hpp"

#include "process.hpp"

namespace invariance
{

namespace
{

constexpr double kPatience = 60.0;  // [s] of processor time

std::string first_line(const std::string & text) { return text.substr(0, text.find('\n')); }

/// The JSON that was printed; null: none.
YAML::Node json_of(const ProcessResult & process)
{
  const bool answered = process.exit_code == 0 || process.exit_code == 3;
  return answered && !process.out.empty() ? YAML::Load(process.out) : YAML::Node();
}

}  // namespace

void set_state(YAML::Node scenario, const Result & result)
{
  YAML::Node initial(YAML::NodeType::Map);
  initial["time"] = text(result.time);
  for (std::size_t i = 0; i < result.q.names.size(); ++i)
  {
    initial["q"][result.q.names[i]] = text(result.q.values(static_cast<Eigen::Index>(i)));
  }
  for (std::size_t i = 0; i < result.u.names.size(); ++i)
  {
    initial["u"][result.u.names[i]] = text(result.u.values(static_cast<Eigen::Index>(i)));
  }
  scenario["initial"] = initial;
  // What happened before the state is over.
  YAML::Node ahead(YAML::NodeType::Sequence);
  for (const YAML::Node & event : scenario["events"])
  {
    if (event["time"].as<double>(result.time) > result.time)
    {
      ahead.push_back(event);
    }
  }
  scenario.remove("events");
  if (ahead.size() > 0)
  {
    scenario["events"] = ahead;
  }
}

std::vector<std::string> Cdyn::words(
  const std::string & verb, const Case & c, const std::string & file) const
{
  std::vector<std::string> result = {path_, verb, file, "--json", "-"};
  for (const std::string & argument : c.arguments)
  {
    if (verb == "solve" || (verb == "run" && argument != "--raw-state"))
    {
      result.push_back(argument);
    }
  }
  if (verb == "run")
  {
    result.push_back("--quiet");
  }
  return result;
}

std::string Cdyn::command(const std::string & verb, const Case & c, const std::string & file) const
{
  std::vector<std::string> repeated = words(verb, c, file);
  repeated.front() = name_;
  std::string result;
  for (const std::string & word : repeated)
  {
    result += (result.empty() ? "" : " ") + word;
  }
  return result;
}

Result Cdyn::solve(const Case & c, const std::string & file) const
{
  write_scenario(c.scenario, file);
  const ProcessResult process = run_process(words("solve", c, file), kPatience);
  const YAML::Node json = json_of(process);
  Result result = json.IsMap() ? read_result(json) : Result();
  result.exit_code = process.exit_code;
  result.message = process.timed_out ? "no answer in time" : first_line(process.err);
  return result;
}

Result Cdyn::run(const Case & c, const std::string & file) const
{
  write_scenario(c.scenario, file);
  const ProcessResult process = run_process(words("run", c, file), kPatience);
  const YAML::Node json = json_of(process);
  Result result;
  if (json.IsMap() && json["final"] && json["final"].IsMap())
  {
    result = read_result(json["final"]);
    result.status = json["status"].as<std::string>();
  }
  result.exit_code = process.exit_code;
  result.message = process.timed_out ? "no answer in time" : first_line(process.err);
  return result;
}

std::vector<std::string> Cdyn::names(
  const Case & c, const std::string & file, const char * key) const
{
  write_scenario(c.scenario, file);
  const YAML::Node json = json_of(run_process(words("check", c, file), kPatience));
  return json.IsMap() && json[key] ? strings_of(json[key]) : std::vector<std::string>();
}

}  // namespace invariance
