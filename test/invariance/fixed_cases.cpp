// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What once went wrong, always tried.

#include <algorithm>
#include <filesystem>

#include "process.hpp"
#include "runner.hpp"

namespace invariance
{

namespace
{

// A sanitized `cdyn` takes ten times as long, and its shadow memory has terabytes of addresses.
#ifdef CD_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// A pendulum in Cartesian coordinates with a mass of one's choice.
constexpr char kPendulum[] = R"yaml(
parameters: {m: 1}
system: {coordinates: [x, y], kinetic: "m/2*(dx^2 + dy^2)", potential: "9.81*m*y"}
constraints: [{name: rod, type: formula, level: position, rows: ["x^2 + y^2 - 1"]}]
initial: {q: {x: 1, y: 0}, u: {dx: 0, dy: 0}}
)yaml";

/// Two rows that contradict each other from some time on.
constexpr char kContradiction[] = R"yaml(
system: {coordinates: [x, y], kinetic: "(dx^2 + dy^2)/2"}
constraints:
  - {name: a, type: formula, level: acceleration, rows: ["ddx + sin(t)"]}
  - {name: b, type: formula, level: acceleration, rows: ["ddx + sin(t) - 0.6*t"]}
initial: {time: 1}
)yaml";

Case from_text(const std::string & name, const char * text)
{
  Case result;
  result.source = "fixed " + name;
  result.scenario = YAML::Load(text);
  return result;
}

Case from_file(const Settings & settings, const std::string & name)
{
  Case result;
  result.source = "fixed " + name;
  result.scenario = load_scenario(settings.config + "/scenarios/" + name + ".yaml");
  return result;
}

Finding failure(Outcome outcome, const std::string & reason)
{
  Finding finding;
  finding.outcome = outcome;
  finding.reason = reason;
  return finding;
}

/// What rounding may change, where no neighbour is tried.
Sensitivity rounding_only()
{
  Sensitivity unit;
  unit.decided = true;
  unit.acceleration = unit.force = unit.power = 1e-12;
  return unit;
}

Changed unchanged_but_for(const Case & c, const std::string & detail)
{
  Changed changed;
  changed.changed = c;
  changed.detail = detail;
  return changed;
}

/// A linkage whose base is turned, and its rows replaced where some are given.
Changed turned(
  const Case & straight, const std::vector<std::string> & rows, const Eigen::Vector3d & rpy,
  bool turn_gravity)
{
  Changed changed = unchanged_but_for(
    straight, "base turned by rpy " + text(rpy.x()) + " " + text(rpy.y()) + " " + text(rpy.z()));
  YAML::Node system = changed.changed.scenario["system"];
  Pose pose;
  pose.rpy = rpy;
  system["pose"] = node(pose);
  if (turn_gravity)
  {
    system["gravity"] =
      node(Eigen::Vector3d(pose.isometry().linear() * vector_from(system["gravity"])));
  }
  if (!rows.empty())
  {
    changed.changed.scenario["constraints"][0]["rows"] = flow_list(rows);
  }
  changed.multipliers = false;
  changed.wrenches = false;
  return changed;
}

}  // namespace

std::string Runner::next_fixed_file()
{
  return settings_.folder + "/fixed_" + std::to_string(++fixed_count_) + ".yaml";
}

/// Turning the base of a linkage changes nothing, however its loop is written. Each turned one is
/// compared with the linkage that is not turned.
void Runner::run_turned(
  const std::string & name, const std::vector<std::string> & rows, const Eigen::Vector3d & rpy,
  bool turn_gravity)
{
  const Case straight = from_file(settings_, name);
  const std::string twin_file = next_fixed_file();
  const Result twin = cdyn_.solve(straight, twin_file);
  std::filesystem::remove(twin_file);
  Changed changed = turned(straight, rows, rpy, turn_gravity);
  const std::string file = next_fixed_file();
  const Result result = cdyn_.solve(changed.changed, file);
  finish(kFixedCases, changed, file, 0, judge_case(changed, result, file, &twin, rounding_only()));
  // And it moves: half a second later it is where the other one is.
  const auto run = [&](Case c, const std::string & at)
  {
    c.scenario["run"]["until"] = "0.5";
    return cdyn_.run(c, at);
  };
  const Result twin_end = run(straight, twin_file);
  std::filesystem::remove(twin_file);
  const std::string run_file = next_fixed_file();
  const Result end = run(changed.changed, run_file);
  const double gap = end.u.values.size() > 0 && end.u.values.size() == twin_end.u.values.size()
                       ? (end.u.values - twin_end.u.values).cwiseAbs().maxCoeff()
                       : 1e300;
  changed = unchanged_but_for(changed.changed, changed.detail + ", run");
  finish(
    kFixedCases, changed, run_file, 0,
    !end.ok()     ? failure(Outcome::kNeedless, "status " + end.status + " " + end.message)
    : gap <= 1e-8 ? Finding()
                  : failure(Outcome::kWrongOk, "speeds at the end differ by " + text(gap)),
    "run");
}

/// A row that is rounding noise and nothing else.
void Runner::run_noise_row()
{
  Changed changed =
    turned(from_file(settings_, "four_bar"), {"y"}, Eigen::Vector3d(0.3, 0.2, 0.5), false);
  changed.detail = "a single row of rounding noise";
  Case free = changed.changed;
  free.scenario.remove("constraints");
  free.arguments = changed.changed.arguments = {"--raw-state"};
  const std::string twin_file = next_fixed_file();
  const Result twin = cdyn_.solve(free, twin_file);
  std::filesystem::remove(twin_file);
  const std::string file = next_fixed_file();
  const Result result = cdyn_.solve(changed.changed, file);
  finish(kFixedCases, changed, file, 0, judge_case(changed, result, file, &twin, rounding_only()));
}

/// Rows that contradict each other are told, by name.
void Runner::run_contradiction()
{
  const Case c = from_text("contradiction", kContradiction);
  const std::string file = next_fixed_file();
  const Result result = cdyn_.solve(c, file);
  const bool named = result.message.find("a/row_1") != std::string::npos ||
                     result.message.find("b/row_1") != std::string::npos;
  finish(
    kFixedCases, unchanged_but_for(c, "contradiction"), file, 0,
    result.status != "inconsistent"
      ? failure(result.ok() ? Outcome::kWrongOk : Outcome::kNeedless, "status " + result.status)
    : !named ? failure(Outcome::kNeedless, "inconsistent, and no row is named: " + result.message)
             : failure(Outcome::kRefused, ""),
    "solve");
}

/// Scenarios with states that once failed.
void Runner::run_cases_of_folder()
{
  std::vector<std::filesystem::path> files;
  for (const auto & entry : std::filesystem::directory_iterator(settings_.cases))
  {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path & path : files)
  {
    Case c;
    c.source = "fixed " + path.stem().string();
    c.scenario = load_scenario(path.string());
    c.arguments = {"--raw-state"};
    const std::string file = next_fixed_file();
    const Result result = cdyn_.solve(c, file);
    const Changed changed = unchanged_but_for(c, "a state that once failed");
    finish(kFixedCases, changed, file, 0, judge_case(changed, result, file, nullptr, {}));
  }
}

/// A command that must end well within some seconds of processor time and, where asked for, with
/// the memory of a small computer.
void Runner::run_command(
  const Case & c, const std::string & what, const std::string & verb, double seconds,
  bool small_memory)
{
  const std::string file = next_fixed_file();
  write_scenario(c.scenario, file);
  const std::string limit = small_memory && !kSanitized ? "ulimit -v 4000000; " : "";
  const ProcessResult process = run_process(
    {"/bin/sh", "-c", limit + "exec '" + settings_.run + "' " + verb + " '" + file + "' --json -"},
    kSanitized ? 10.0 * seconds : seconds);
  const std::string reason = "exit " + std::to_string(process.exit_code) + " after " +
                             text(process.seconds) + " s " + process.err;
  finish(
    kFixedCases, unchanged_but_for(c, what + ", " + verb), file, 0,
    process.exit_code == 0 ? Finding() : failure(Outcome::kNeedless, reason), verb);
}

void Runner::run_fixed()
{
  run_turned("four_bar", {"x", "y", "z"}, {0.0, 0.0, 0.5}, false);
  run_turned("four_bar", {"x", "y", "z"}, {0.0, 0.0, 1e-9}, false);
  run_turned("four_bar_hinge", {}, {0.3, 0.0, 0.0}, true);
  run_turned("four_bar_hinge", {}, {0.0, 0.0, 0.3}, false);
  run_noise_row();
  run_contradiction();
  run_cases_of_folder();

  // Systems without inertia are not valid.
  for (const char * mass : {"0", "-1"})
  {
    Case c = from_text("mass", kPendulum);
    c.scenario["parameters"]["m"] = mass;
    const std::string file = next_fixed_file();
    write_scenario(c.scenario, file);
    const ProcessResult process = run_process({settings_.run, "check", file, "--json", "-"}, 60.0);
    finish(
      kFixedCases, unchanged_but_for(c, std::string("check of a mass of ") + mass), file, 0,
      process.exit_code == 0 ? failure(Outcome::kWrongOk, "valid") : failure(Outcome::kRefused, ""),
      "check");
  }

  // A thousand equal rows take seconds, not minutes.
  Case many = from_text("1000 equal rows", kPendulum);
  YAML::Node rows = many.scenario["constraints"][0]["rows"];
  const std::string row = rows[0].as<std::string>();
  while (rows.size() < 1000)
  {
    rows.push_back(row);
  }
  Case linkages = from_file(settings_, "n_four_bar");
  linkages.scenario["parameters"]["N"] = "98";
  many.scenario["run"]["until"] = "0.05";
  linkages.scenario["run"]["until"] = "0.05";
  for (const char * verb : {"check", "solve", "run"})
  {
    run_command(many, "1000 equal rows", verb, 30.0, false);
    run_command(linkages, "98 linkages", verb, 60.0, true);
  }
}

}  // namespace invariance
