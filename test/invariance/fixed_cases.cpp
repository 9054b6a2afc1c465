// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What once went wrong, always tried.

#include <chrono>
#include <filesystem>

#include "process.hpp"
#include "runner.hpp"

namespace invariance
{

namespace
{

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

}  // namespace

void Runner::run_fixed()
{
  int count = 0;
  const auto next_file = [&]
  { return settings_.folder + "/fixed_" + std::to_string(++count) + ".yaml"; };
  const auto report = [&](
                        const std::string & detail, const Case & c, const std::string & file,
                        const Finding & finding, const std::string & verb)
  {
    Changed changed;
    changed.changed = c;
    changed.detail = detail;
    finish(kFixedCases, changed, file, 0, finding, verb);
  };

  // Turning the base of a linkage changes nothing, however its loop is written. Each turned one is
  // compared with the linkage that is not turned.
  const auto turned = [&](
                        const std::string & name, const std::vector<std::string> & rows,
                        const Eigen::Vector3d & rpy, bool turn_gravity)
  {
    Case straight = from_file(settings_, name);
    const std::string twin_file = next_file();
    const Result twin = cdyn_.solve(straight, twin_file);
    std::filesystem::remove(twin_file);
    Changed changed;
    changed.changed = straight;
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
    changed.detail =
      "base turned by rpy " + text(rpy.x()) + " " + text(rpy.y()) + " " + text(rpy.z());
    Sensitivity unit;
    unit.decided = true;
    unit.acceleration = unit.force = unit.power = 1e-12;
    const std::string file = next_file();
    const Result result = cdyn_.solve(changed.changed, file);
    finish(kFixedCases, changed, file, 0, judge_case(changed, result, file, &twin, unit));
    // And it moves: half a second later it is where the other one is.
    const auto run = [&](Case c, const std::string & at)
    {
      c.scenario["run"]["until"] = "0.5";
      return cdyn_.run(c, at);
    };
    const Result twin_end = run(straight, twin_file);
    std::filesystem::remove(twin_file);
    const std::string run_file = next_file();
    const Result end = run(changed.changed, run_file);
    const double gap = end.u.values.size() == twin_end.u.values.size()
                         ? (end.u.values - twin_end.u.values).cwiseAbs().maxCoeff()
                         : 1e300;
    report(
      changed.detail + ", run", changed.changed, run_file,
      !end.ok()     ? failure(Outcome::kNeedless, "status " + end.status + " " + end.message)
      : gap <= 1e-8 ? Finding()
                    : failure(Outcome::kWrongOk, "speeds at the end differ by " + text(gap)),
      "run");
  };
  turned("four_bar", {"x", "y", "z"}, {0.0, 0.0, 0.5}, false);
  turned("four_bar", {"x", "y", "z"}, {0.0, 0.0, 1e-9}, false);
  turned("four_bar_hinge", {}, {0.3, 0.0, 0.0}, true);
  turned("four_bar_hinge", {}, {0.0, 0.0, 0.3}, false);

  // A row that is rounding noise and nothing else.
  {
    Changed changed;
    changed.changed = from_file(settings_, "four_bar");
    Pose pose;
    pose.rpy = Eigen::Vector3d(0.3, 0.2, 0.5);
    changed.changed.scenario["system"]["pose"] = node(pose);
    changed.changed.scenario["constraints"][0]["rows"] = flow_list({"y"});
    Case free = changed.changed;
    free.scenario.remove("constraints");
    free.arguments = changed.changed.arguments = {"--raw-state"};
    changed.detail = "a single row of rounding noise";
    changed.multipliers = false;
    changed.wrenches = false;
    Sensitivity unit;
    unit.decided = true;
    unit.acceleration = unit.force = unit.power = 1e-12;
    const std::string twin_file = next_file();
    const Result twin = cdyn_.solve(free, twin_file);
    std::filesystem::remove(twin_file);
    const std::string file = next_file();
    const Result result = cdyn_.solve(changed.changed, file);
    finish(kFixedCases, changed, file, 0, judge_case(changed, result, file, &twin, unit));
  }

  // Rows that contradict each other are told, by name.
  {
    const Case c = from_text("contradiction", kContradiction);
    const std::string file = next_file();
    const Result result = cdyn_.solve(c, file);
    const bool named = result.message.find("a/row_1") != std::string::npos ||
                       result.message.find("b/row_1") != std::string::npos;
    report(
      "contradiction", c, file,
      result.status != "inconsistent"
        ? failure(result.ok() ? Outcome::kWrongOk : Outcome::kNeedless, "status " + result.status)
      : !named ? failure(Outcome::kNeedless, "inconsistent, and no row is named: " + result.message)
               : failure(Outcome::kRefused, ""),
      "solve");
  }

  // Systems without inertia are not valid.
  for (const char * mass : {"0", "-1"})
  {
    Case c = from_text("mass", kPendulum);
    c.scenario["parameters"]["m"] = mass;
    const std::string file = next_file();
    write_scenario(c.scenario, file);
    const ProcessResult process = run_process({settings_.cdyn, "check", file, "--json", "-"}, 60.0);
    report(
      std::string("check of a mass of ") + mass, c, file,
      process.exit_code == 0 ? failure(Outcome::kWrongOk, "valid") : failure(Outcome::kRefused, ""),
      "check");
  }

  // A thousand equal rows take seconds, not minutes.
  {
    Case c = from_text("1000 equal rows", kPendulum);
    YAML::Node rows = c.scenario["constraints"][0]["rows"];
    const std::string row = rows[0].as<std::string>();
    while (rows.size() < 1000)
    {
      rows.push_back(row);
    }
    for (const char * verb : {"check", "solve"})
    {
      const std::string file = next_file();
      write_scenario(c.scenario, file);
      const auto start = std::chrono::steady_clock::now();
      const ProcessResult process = run_process({settings_.cdyn, verb, file, "--json", "-"}, 30.0);
      const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      report(
        std::string("1000 equal rows, ") + verb, c, file,
        process.exit_code == 0 ? Finding()
                               : failure(
                                   Outcome::kNeedless, "exit " + std::to_string(process.exit_code) +
                                                         " after " + text(seconds) + " s"),
        verb);
    }
  }

  // Many linkages in a row, with what memory a small computer has.
  {
    Case c = from_file(settings_, "n_four_bar");
    c.scenario["parameters"]["N"] = "98";
    for (const std::string verb : {"check", "solve"})
    {
      const std::string file = next_file();
      write_scenario(c.scenario, file);
      const ProcessResult process = run_process(
        {"/bin/sh", "-c",
         "ulimit -v 4000000; exec '" + settings_.cdyn + "' " + verb + " '" + file + "' --json -"},
        60.0);
      report(
        "98 linkages, " + verb, c, file,
        process.exit_code == 0
          ? Finding()
          : failure(
              Outcome::kNeedless, "exit " + std::to_string(process.exit_code) + " " + process.err),
        verb);
    }
  }
}

}  // namespace invariance
