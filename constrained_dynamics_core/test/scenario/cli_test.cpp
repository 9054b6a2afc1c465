// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

extern char ** environ;

namespace constrained_dynamics
{
namespace
{

using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace fs = std::filesystem;

struct Output
{
  int exit_code = -1;  // or −signal
  std::string out;
  std::string err;
};

/// Runs cdyn and waits for its end. @param reads whether somebody reads its standard output.
/// @param signal sent as soon as the file `watched` holds something; 0: none.
Output cdyn(
  const std::vector<std::string> & arguments, bool reads = true, int signal = 0,
  const std::string & watched = "")
{
  std::vector<std::string> words = {CDYN_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> argv;
  for (std::string & word : words)
  {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  std::array<std::array<int, 2>, 2> pipes{};
  for (auto & pipe : pipes)
  {
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes[0][1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes[1][1], STDERR_FILENO);
  if (!reads)
  {
    ::close(pipes[0][0]);
  }
  pid_t child = 0;
  Output output;
  EXPECT_EQ(posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  std::array<pollfd, 2> open{};
  std::array<std::string *, 2> texts = {&output.out, &output.err};
  for (std::size_t i = 0; i < 2; ++i)
  {
    ::close(pipes[i][1]);
    open[i] = {reads || i == 1 ? pipes[i][0] : -1, POLLIN, 0};
  }
  while (open[0].fd >= 0 || open[1].fd >= 0)
  {
    ::poll(open.data(), 2, signal != 0 ? 20 : -1);
    std::error_code error;
    if (signal != 0 && fs::file_size(watched, error) > 0 && !error)
    {
      EXPECT_EQ(::kill(child, signal), 0);
      signal = 0;
    }
    for (std::size_t i = 0; i < 2; ++i)
    {
      std::array<char, 4096> buffer{};
      if (open[i].fd >= 0 && open[i].revents != 0)
      {
        const ssize_t count = ::read(open[i].fd, buffer.data(), buffer.size());
        if (count > 0)
        {
          texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
        }
        else
        {
          ::close(open[i].fd);
          open[i].fd = -1;
        }
      }
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return output;
}

const char * const kPendulum = R"yaml(
name: pendulum
description: a point mass on a rod
parameters: {m: 1.0, l: 1.0, g: 9.81}
system:
  coordinates: [x, y]
  kinetic: m/2*(dx^2 + dy^2)
  potential: m*g*y
  inputs: {push: {x: 1}}
constraints:
  - {name: rod, type: formula, level: position, rows: ["(x^2 + y^2 - l^2)/(2*l)"]}
initial: {q: {x: -l, y: 0}}
run: {until: 1, step: 0.01}
observe: {angle: "atan2(x, -y)", tension: "-lambda(`rod/row_1`)", "odd,name": t}
)yaml";

/// Stops at t = 0.5, where the force has no value any more.
const char * const kEnding = R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, force: {x: sqrt(0.5 - t)}}
run: {until: 1, step: 0.01}
)yaml";

/// A file in the tests' own folder.
std::string file(const std::string & name, const std::string & text = "")
{
  const fs::path folder = fs::path(CD_TEST_OUTPUT) / "cli_test" / std::to_string(::getpid());
  fs::create_directories(folder);
  if (!text.empty())
  {
    std::ofstream(folder / name) << text;
  }
  return (folder / name).string();
}

std::string read_file(const std::string & path)
{
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string & text)
{
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
  {
    lines.push_back(line);
  }
  return lines;
}

TEST(Cli, when_asked_for_help_or_version_expect_success)
{
  EXPECT_EQ(cdyn({"--help"}).exit_code, 0);
  EXPECT_THAT(cdyn({"run", "--help"}).out, HasSubstr("--set"));
  const Output version = cdyn({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("cdyn "));
}

TEST(Cli, when_usage_is_bad_expect_two_and_the_word)
{
  const std::string scenario = file("usage.yaml", kPendulum);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
    {{}, "subcommand is missing"},
    {{"fly"}, "fly: no such command"},
    {{"linearise", scenario}, "did you mean 'linearize'?"},
    {{"run", "four_bra"}, "did you mean 'four_bar'?"},
    {{"run"}, "scenario"},
    {{"run", "no_such_example"}, "no_such_example"},
    {{"run", scenario, "--bogus"}, "--bogus"},
    {{"run", scenario, "--set"}, "--set"},
    {{"run", scenario, "--set", "run.untl=3"}, "until"},
    {{"run", scenario, "--until", "soon"}, "soon"},
    {{"run", scenario, "--step", "nan"}, "nan"},
    {{"run", scenario, "--step", "-1"}, "-1"},
    {{"run", scenario, "--formulation", "newton"}, "newton"},
    {{"run", scenario, "--csv", "/nonexistent/a.csv"}, "/nonexistent/a.csv"},
    {{"run", scenario, "--json", "/nonexistent/a.json"}, "/nonexistent/a.json"},
    {{"run", scenario, "--csv", scenario}, "overwrite"},
    {{"solve", scenario, "--json", "/nonexistent/a.json"}, "/nonexistent/a.json"},
    {{"solve", scenario, "--set", "initial.q.y=0.5"}, "rod/row_1"},
    {{"check", "/"}, "folder"},
    {{"compare", scenario, "--until", "soon"}, "soon"},
    {{"compare", scenario, "--json", scenario}, "overwrite"},
    {{"compare", "no_such_example"}, "no_such_example"},
    {{"bench", scenario, "--json", "/nonexistent/a.json"}, "/nonexistent/a.json"},
    {{"linearize", scenario, "--at", "nan"}, "--at"},
    {{"linearize", scenario, "--at", "-1"}, "-1"},
    {{"linearize", scenario, "--size", "0"}, "--size"},
    {{"linearize", scenario, "--json", scenario}, "overwrite"},
    {{"examples", "no_such_example"}, "no_such_example"},
    {{"examples", "--show"}, "NAME"},
  };
  for (const auto & [arguments, expected] : cases)
  {
    const Output output = cdyn(arguments);
    EXPECT_EQ(output.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(output.err, HasSubstr(expected)) << ::testing::PrintToString(arguments);
    EXPECT_EQ(output.out, "") << ::testing::PrintToString(arguments);
  }
  EXPECT_EQ(read_file(scenario), kPendulum);
}

TEST(Cli, when_output_cannot_be_written_expect_no_run)
{
  const std::string scenario = file("long.yaml", kPendulum);
  const Output output = cdyn({"run", scenario, "--until", "1e6", "--json", "/nonexistent/a.json"});
  EXPECT_EQ(output.exit_code, 2);
}

TEST(Cli, when_one_path_is_bad_expect_the_other_files_untouched)
{
  const std::string scenario = file("intact.yaml", kPendulum);
  const std::string csv = file("intact.csv", "precious\n");
  const std::string made = file("made.csv");
  EXPECT_EQ(cdyn({"run", scenario, "--csv", csv, "--json", "/nonexistent/a.json"}).exit_code, 2);
  EXPECT_EQ(cdyn({"run", scenario, "--csv", csv, "--events", "/nonexistent/a.csv"}).exit_code, 2);
  EXPECT_EQ(read_file(csv), "precious\n");
  EXPECT_EQ(cdyn({"run", scenario, "--csv", made, "--json", "/nonexistent/a.json"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(made));
  // One file by two names.
  const std::string other = file("other.csv");
  fs::remove(other);
  fs::create_symlink(csv, other);
  const Output same = cdyn({"run", scenario, "--csv", csv, "--json", other});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_THAT(same.err, HasSubstr("same file"));
  EXPECT_EQ(read_file(csv), "precious\n");
  // A longer file is emptied before it is written.
  std::ofstream(made) << std::string(100000, 'x');
  EXPECT_EQ(cdyn({"run", scenario, "--csv", made}).exit_code, 0);
  EXPECT_THAT(read_file(made), ::testing::Not(HasSubstr("xxx")));
}

TEST(Cli, when_a_signal_comes_expect_files_summary_and_its_code)
{
  const std::string scenario = file("endless.yaml", kPendulum);
  for (const auto & [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}})
  {
    for (const char * const integrator : {"rk4", "dopri5"})
    {
      const std::string csv = file("endless.csv");
      const std::string json = file("endless.json");
      fs::remove(csv);
      const Output output = cdyn(
        {"run", scenario, "--until", "1e6", "--set", "run.output_interval=1", "--set",
         std::string("run.integrator=") + integrator, "--csv", csv, "--json", json},
        true, signal, csv);
      EXPECT_EQ(output.exit_code, code) << output.err;
      EXPECT_THAT(output.out, HasSubstr("energy balance"));
      EXPECT_THAT(output.err, HasSubstr("interrupted"));
      const YAML::Node report = YAML::LoadFile(json);
      EXPECT_EQ(report["status"].as<std::string>(), "interrupted");
      EXPECT_FALSE(report["completed"].as<bool>());
      const std::vector<std::string> lines = lines_of(read_file(csv));
      ASSERT_GT(lines.size(), 1U);
      EXPECT_EQ(
        std::stod(lines.back().substr(0, lines.back().find(','))), report["time"].as<double>());
      EXPECT_EQ(
        std::count(lines.back().begin(), lines.back().end(), ','),
        std::count(lines[1].begin(), lines[1].end(), ','));
    }
  }
}

TEST(Cli, when_script_of_completion_is_sourced_expect_words_completed)
{
  const Output output = cdyn({"completion"});
  ASSERT_EQ(output.exit_code, 0);
  const std::string script = file("completion.bash", output.out);
  const auto complete = [&](const std::string & words, int place)
  {
    const std::string text = "PATH=" + fs::path(CDYN_PROGRAM).parent_path().string() +
                             ":$PATH; source " + script + "; COMP_WORDS=(cdyn " + words +
                             "); COMP_CWORD=" + std::to_string(place) +
                             "; _cdyn; echo \"${COMPREPLY[*]}\"";
    const std::string command = "bash -c '" + text + "'";
    std::string result;
    FILE * const pipe = ::popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;)
    {
      result += static_cast<char>(c);
    }
    EXPECT_EQ(pipe != nullptr ? ::pclose(pipe) : 1, 0);
    return result;
  };
  EXPECT_EQ(complete("ru", 1), "run\n");
  EXPECT_EQ(complete("run --rea", 2), "--reactions\n");
  EXPECT_EQ(complete("solve --rea", 2), "\n");
  EXPECT_EQ(complete("run x --formulation kane_m", 4), "kane_minimal\n");
  EXPECT_THAT(complete("check four_bar_gr", 2), HasSubstr("four_bar_gripper"));
}

TEST(Cli, when_reactions_are_wanted_expect_them_in_table_json_and_csv)
{
  // A pendulum of 2 kg at rest: its joint carries its weight.
  const std::string scenario = file(
    "hanging.yaml",
    "system:\n  urdf: |\n"
    "    <robot name='p'><link name='ceiling'/><link name='bob'><inertial><origin xyz='0 0 -1'/>\n"
    "    <mass value='2'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/>\n"
    "    </inertial></link><joint name='swing' type='continuous'><parent link='ceiling'/>\n"
    "    <child link='bob'/><axis xyz='0 1 0'/></joint></robot>\n"
    "run: {until: 0.1}\n");
  const std::string json = file("hanging.json");
  const std::string csv = file("hanging.csv");
  const Output output = cdyn({"run", scenario, "--reactions", "--json", json, "--csv", csv});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("joint reactions"));
  EXPECT_THAT(output.out, HasSubstr("|force| swing"));
  const YAML::Node swing = YAML::LoadFile(json)["reactions"]["swing"];
  EXPECT_NEAR(swing["force"]["min"].as<double>(), 19.62, 1e-12);
  EXPECT_NEAR(swing["force"]["max"].as<double>(), 19.62, 1e-12);
  EXPECT_NEAR(swing["torque"]["max"].as<double>(), 0.0, 1e-12);
  EXPECT_THAT(read_file(csv), HasSubstr("reaction.swing.force.z"));
  EXPECT_FALSE(YAML::LoadFile(json)["reactions"]["other"]);

  ASSERT_EQ(cdyn({"run", scenario, "--json", json}).exit_code, 0);
  EXPECT_FALSE(YAML::LoadFile(json)["reactions"]);
  const Output refused = cdyn({"run", file("pendulum.yaml", kPendulum), "--reactions"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no joints"));
}

TEST(Cli, when_a_description_states_more_than_is_applied_expect_every_command_to_say_so)
{
  const std::string scenario = file(
    "floats.yaml",
    "system:\n"
    "  mjcf: '<mujoco><option gravity=\"0 0 -1\"/><worldbody><body name=\"a\"><joint name=\"j\""
    " axis=\"0 1 0\"/><inertial mass=\"1\" pos=\"0 0 -1\" diaginertia=\".1 .1 .1\"/></body>"
    "</worldbody></mujoco>'\n");
  const std::string json = file("floats.json");
  for (const char * command : {"solve", "linearize", "bench"})
  {
    const Output output = cdyn({command, scenario, "--json", json});
    EXPECT_EQ(output.exit_code, 0);
    EXPECT_THAT(output.err, HasSubstr("warning: robot (system.mjcf): <option gravity>")) << command;
  }
  ASSERT_EQ(cdyn({"solve", scenario, "--json", json}).exit_code, 0);
  EXPECT_EQ(YAML::LoadFile(json)["warnings"].size(), 1U);
}

TEST(Cli, when_steps_are_too_large_expect_inaccurate_three_and_a_remedy)
{
  const std::string scenario = file("large.yaml", kPendulum);
  const std::string json = file("large.json");
  const Output output = cdyn({"run", scenario, "--step", "0.5", "--until", "20", "--json", json});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("inaccurate"));
  EXPECT_THAT(output.err, HasSubstr("run.step"));
  EXPECT_THAT(output.out, HasSubstr("warning"));
  const YAML::Node report = YAML::LoadFile(json);
  EXPECT_EQ(report["status"].as<std::string>(), "inaccurate");
  EXPECT_TRUE(report["completed"].as<bool>());
  EXPECT_FALSE(report["accurate"].as<bool>());
  EXPECT_EQ(report["warnings"].size(), 1U);
  // As many steps as it takes, whatever the step.
  const Output one = cdyn({"run", scenario, "--step", "1e9", "--until", "1", "--json", json});
  EXPECT_EQ(one.exit_code, 3);
}

TEST(Cli, when_numbers_overflow_expect_nothing_that_is_not_finite)
{
  const std::string scenario = file("overflow.yaml", R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, force: {x: 1e6*dx}}
initial: {u: {dx: 1}}
run: {until: 1, step: 1e-4, output_interval: 1e-4}
observe: {root: sqrt(0.00005 - t), one: 1}
)yaml");
  const std::string csv = file("overflow.csv");
  const std::string json = file("overflow.json");
  const Output output = cdyn({"run", scenario, "--csv", csv, "--json", json});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("non_finite_result"));
  for (const std::string & text : {read_file(csv), read_file(json), output.out})
  {
    EXPECT_THAT(text, ::testing::Not(HasSubstr("inf")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("nan")));
  }
}

TEST(Cli, when_an_open_contact_is_inside_expect_its_violation)
{
  // It is seen to be inside at the end of the first step only.
  const std::string scenario = file("inside.yaml", R"yaml(
system: {coordinates: [x], kinetic: dx^2/2}
constraints: [{name: wall, type: formula, level: position, rows: [x], unilateral: {side: below}}]
initial: {q: {x: 1e-3}, tolerance: 1}
run: {until: 0.1, step: 0.1}
)yaml");
  const std::string json = file("inside.json");
  const Output output = cdyn({"run", scenario, "--json", json});
  const YAML::Node violation = YAML::LoadFile(json)["violation"];
  EXPECT_NEAR(violation["position"].as<double>(), 1e-3, 1e-9) << output.err;
  EXPECT_EQ(violation["position_row"].as<std::string>(), "wall/row_1");
}

TEST(Cli, when_rows_contradict_in_a_run_expect_their_names)
{
  const std::string scenario = file("contradiction.yaml", R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2}
constraints:
  - {name: a, type: formula, level: position, rows: ["x - sin(t)"]}
  - {name: b, type: formula, level: position, rows: ["x - sin(t) - 0.1*t^3"]}
run: {until: 2, step: 0.01}
)yaml");
  const Output output = cdyn({"run", scenario});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("inconsistent"));
  EXPECT_THAT(output.err, HasSubstr("rows a/row_1 and b/row_1 contradict each other"));
}

TEST(Cli, when_an_open_contact_is_below_its_surface_expect_that_as_violation)
{
  // The floor jumps by 1 cm at 50.5 ms, past a point that goes up: it is 3.9 mm below at 51 ms, on
  // its way out, and nothing holds it there.
  const std::string scenario = file("below.yaml", R"yaml(
system: {coordinates: [y], kinetic: dy^2/2, potential: 0*y}
constraints:
  - {name: floor, type: formula, level: position,
     rows: ["y - 0.005*(1 + tanh((t - 0.0505)/1.0e-6))"], unilateral: {side: above}}
initial: {q: {y: 0.001}, u: {dy: 0.1}}
run: {until: 0.06, step: 0.001, output_interval: 0.001}
)yaml");
  const std::string json = file("below.json");
  const Output output = cdyn({"run", scenario, "--json", json});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node report = YAML::LoadFile(json);
  EXPECT_NEAR(report["violation"]["position"].as<double>(), 3.9e-3, 1e-12);
  EXPECT_EQ(report["violation"]["position_row"].as<std::string>(), "floor/row_1");
}

TEST(Cli, when_run_completes_expect_table_and_files)
{
  const std::string scenario = file("run.yaml", kPendulum);
  const std::string csv = file("run.csv");
  const std::string json = file("run.json");
  const Output output = cdyn({"run", scenario, "--csv", csv, "--json", json});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("rod/row_1"));
  EXPECT_THAT(output.out, HasSubstr("energy"));
  for (const char * const line :
       {"scenario          pendulum\n", "0 s to 1 s", "units", "τ push", "energy balance",
        "step error", "status            ok\n"})
  {
    EXPECT_THAT(output.out, HasSubstr(line));
  }
  const std::vector<std::string> lines = lines_of(read_file(csv));
  ASSERT_EQ(lines.size(), 102U);
  EXPECT_EQ(
    lines[0],
    "time,q.x,q.y,u.dx,u.dy,udot.dx,udot.dy,input.push,lambda.rod/row_1,phi.rod/row_1,"
    "psi.rod/row_1,energy.kinetic,energy.potential,energy.total,rank,status,observe.angle,"
    "observe.tension,\"observe.odd,name\"");
  const YAML::Node report = YAML::LoadFile(json);
  EXPECT_TRUE(report["completed"].as<bool>());
  EXPECT_EQ(report["status"].as<std::string>(), "ok");
  EXPECT_EQ(report["steps"].as<long>(), 100);
  EXPECT_EQ(report["outputs"].as<long>(), 101);
  EXPECT_EQ(report["initial"]["q"]["x"].as<double>(), -1.0);
  EXPECT_EQ(report["violation"]["position_row"].as<std::string>(), "rod/row_1");
  // Tension m (θ̇² l + g cos θ) = 3 m g cos θ at the end, by energy; RK4 with this step gives 1e-6.
  const double angle = report["final"]["observe"]["angle"].as<double>();
  EXPECT_NEAR(report["observe"]["tension"]["end"].as<double>(), 3 * 9.81 * std::cos(angle), 1e-5);
  // The last line of the CSV is the final state, to the last bit.
  const std::string & last = lines.back();
  EXPECT_EQ(
    std::strtod(last.c_str() + last.find(',') + 1, nullptr),
    report["final"]["q"]["x"].as<double>());
  EXPECT_EQ(cdyn({"run", scenario, "--quiet"}).out, "");
  const Output piped = cdyn({"run", scenario, "--json", "-"});
  EXPECT_EQ(YAML::Load(piped.out)["scenario"].as<std::string>(), "pendulum");
}

TEST(Cli, when_a_servo_law_drives_expect_errors_statuses_and_tasks_in_table_json_and_csv)
{
  // One push for two tasks of one priority: none is met; of two priorities the first is.
  const std::string scenario = file("servo.yaml", R"yaml(
system: {coordinates: [x, y], kinetic: dx^2 + dy^2 + dx*dy, inputs: {push: {x: 1}}}
servo:
  - {name: way, type: formula, level: position, rows: {x: x}, reference: {kind: constant, value: 0.2}}
  - {name: side, type: formula, level: velocity, rows: {dy: dy}, priority: 1}
servo_law: {limits: {effort: 3}}
initial: {q: {x: 0.1}}
run: {until: 0.5, step: 0.01}
)yaml");
  const std::string csv = file("servo.csv");
  const Output output = cdyn({"run", scenario, "--csv", csv, "--json", "-"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node servo = YAML::Load(output.out)["servo"];
  for (const char * key :
       {"metric", "status", "solution", "rank", "null_dimension", "condition", "ideal",
        "evaluations", "singular_evaluations", "inconsistent_evaluations", "limited_evaluations",
        "stopped_evaluations", "limits_reached", "tasks"})
  {
    EXPECT_TRUE(servo[key]) << key;
  }
  EXPECT_EQ(servo["metric"].as<std::string>(), "moore_penrose");
  EXPECT_EQ(servo["status"].as<std::string>(), "ok");
  EXPECT_GT(servo["limited_evaluations"].as<long>(), 0);
  EXPECT_TRUE(servo["tasks"]["side"]["relaxed"].as<bool>());
  const YAML::Node error = servo["tasks"]["way"]["error"]["x"];
  EXPECT_DOUBLE_EQ(error["start"].as<double>(), -0.1);
  EXPECT_LT(std::abs(error["end"].as<double>()), 0.01);
  const std::vector<std::string> lines = lines_of(read_file(csv));
  EXPECT_THAT(
    lines[0], HasSubstr("servo.error.way/x,servo.error.side/dy,servo.residual.way/x,"
                        "servo.residual.side/dy,servo.solution,servo.status"));
  EXPECT_THAT(lines[1], HasSubstr("limited"));
  EXPECT_THAT(lines.back(), HasSubstr(",one,ok"));
  const Output table = cdyn({"run", scenario, "--set", "servo.side.priority=0"});
  EXPECT_THAT(table.out, HasSubstr("relaxed           way, side"));
  EXPECT_THAT(table.out, HasSubstr("solutions: none"));
  const Output bad = cdyn({"run", scenario, "--set", "servo_law.limits={effort: -1}"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("push"));
}

TEST(Cli, when_contacts_strike_expect_events_in_table_json_and_csv)
{
  const std::string csv = file("events.csv");
  const std::string json = file("events.json");
  const std::string ball = CD_CONFIG "/scenarios/bouncing_ball.yaml";
  const Output output =
    cdyn({"run", ball, "--until", "1.5", "--events", csv, "--json", json, "--set", "e=0.5"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("impact"));
  const YAML::Node report = YAML::LoadFile(json);
  ASSERT_GE(report["events"].size(), 3U);
  const YAML::Node first = report["events"][0];
  EXPECT_EQ(first["kind"].as<std::string>(), "impact");
  EXPECT_EQ(first["constraint"].as<std::string>(), "floor");
  EXPECT_NEAR(first["time"].as<double>(), std::sqrt(2.0 / 9.81), 1e-10);
  EXPECT_NEAR(first["impulse"].as<double>(), 1.5 * std::sqrt(2.0 * 9.81), 1e-9);
  const std::vector<std::string> lines = lines_of(read_file(csv));
  ASSERT_EQ(lines.size(), report["events"].size() + 1);
  EXPECT_THAT(lines[0], StartsWith("time,constraint,kind,impulse,"));
  EXPECT_THAT(lines[1], HasSubstr(",floor,impact,"));
  const Output paradox = cdyn({"run", CD_CONFIG "/scenarios/painleve_rod.yaml", "--set", "mu=2"});
  EXPECT_EQ(paradox.exit_code, 3);
  EXPECT_THAT(paradox.err, HasSubstr("no_unique_solution: a rigid contact with this much dry"));
  EXPECT_EQ(cdyn({"run", ball, "--events", csv, "--csv", csv}).exit_code, 2);
}

TEST(Cli, when_contacts_act_at_the_start_expect_them_in_every_command)
{
  const std::string ball = CD_CONFIG "/scenarios/bouncing_ball.yaml";
  const std::string rod = CD_CONFIG "/scenarios/painleve_rod.yaml";
  const std::string block = CD_CONFIG "/scenarios/rocking_block.yaml";
  // A ball that lies on the floor does not fall.
  const YAML::Node rest = YAML::Load(cdyn({"solve", ball, "--set", "h=0"}).out);
  EXPECT_EQ(rest["udot"]["dy"].as<double>(), 0.0);
  EXPECT_NEAR(rest["multipliers"]["floor/height"].as<double>(), 9.81, 1e-14);
  EXPECT_TRUE(rest["residuals"]["floor/height"]["active"].as<bool>());
  EXPECT_EQ(rest["rank"].as<int>(), 1);
  EXPECT_EQ(rest["degrees_of_freedom"].as<int>(), 0);
  // A rod that slides: x = m g/(A_n Q⁻¹ (A_n − μ s A_t)ᵀ) at 45°,
  // with A_n Q⁻¹ A_nᵀ = 2.5, A_n Q⁻¹ A_tᵀ = −1.5 and s = −1.
  const YAML::Node slides = YAML::Load(cdyn({"solve", rod, "--set", "mu=0.5"}).out);
  EXPECT_NEAR(slides["multipliers"]["tip/height"].as<double>(), 9.81 / (2.5 - 0.5 * 1.5), 1e-12);
  EXPECT_NEAR(
    slides["multipliers"]["slip/along"].as<double>(), 0.5 * 9.81 / (2.5 - 0.5 * 1.5), 1e-12);
  const Output paradox = cdyn({"solve", rod, "--set", "mu=2"});
  EXPECT_EQ(paradox.exit_code, 3);
  EXPECT_EQ(YAML::Load(paradox.out)["status"].as<std::string>(), "no_unique_solution");
  EXPECT_THAT(cdyn({"check", rod}).out, HasSubstr("row tip/height: position, comes and goes"));
  const Output linear = cdyn({"linearize", rod});
  EXPECT_EQ(linear.exit_code, 2);
  EXPECT_THAT(linear.err, HasSubstr("sliding friction"));
  // Every formulation rocks the same block, with the same losses.
  const Output compared = cdyn({"compare", block, "--until", "0.6", "--quiet", "--json", "-"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  const YAML::Node report = YAML::Load(compared.out);
  for (const std::string & name : formulation_names())
  {
    const YAML::Node one = report["formulations"][name];
    EXPECT_LE(one["deviation"]["multipliers"].as<double>(), 1e-10) << name;
    EXPECT_LE(one["run"]["end_deviation"].as<double>(), 1e-7) << name;
    EXPECT_GE(one["run"]["energy"]["largest_change"].as<double>(), 0.1) << name;  // impacts
  }
}

TEST(Cli, when_run_twice_expect_identical_files)
{
  const std::string scenario = file("twice.yaml", kPendulum);
  const std::string first = file("first.csv");
  const std::string second = file("second.csv");
  ASSERT_EQ(cdyn({"run", scenario, "--quiet", "--csv", first}).exit_code, 0);
  ASSERT_EQ(cdyn({"run", scenario, "--quiet", "--csv", second}).exit_code, 0);
  EXPECT_GT(read_file(first).size(), 1000U);
  EXPECT_EQ(read_file(first), read_file(second));
}

TEST(Cli, when_options_are_set_expect_them_used)
{
  const std::string scenario = file("set.yaml", kPendulum);
  const YAML::Node report =
    YAML::Load(cdyn({"run", scenario, "--json", "-", "--until", "0.5", "--step", "0.05", "--set",
                     "run.integrator=kutta_merson", "--set", "initial.q={x: 0, y: -l}",
                     "--formulation", "auto"})
                 .out);
  EXPECT_EQ(report["steps"].as<long>(), 10);
  EXPECT_EQ(report["integrator"].as<std::string>(), "kutta_merson");
  EXPECT_EQ(report["formulation"].as<std::string>(), "auto");
  EXPECT_NEAR(report["observe"]["tension"]["max"].as<double>(), 9.81, 1e-12);
}

TEST(Cli, when_run_cannot_be_completed_expect_three_and_the_partial_csv)
{
  const std::string scenario = file("ending.yaml", kEnding);
  const std::string csv = file("ending.csv");
  const std::string json = file("ending.json");
  const Output output = cdyn({"run", scenario, "--csv", csv, "--json", json});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("non_finite_result"));
  EXPECT_THAT(output.err, HasSubstr("last state: t = 0.5"));
  EXPECT_THAT(output.err, HasSubstr("dx = "));
  EXPECT_EQ(lines_of(read_file(csv)).size(), 52U);
  const YAML::Node report = YAML::LoadFile(json);
  EXPECT_FALSE(report["completed"].as<bool>());
  EXPECT_EQ(report["status"].as<std::string>(), "non_finite_result");
  EXPECT_NEAR(report["time"].as<double>(), 0.5, 1e-12);
}

TEST(Cli, when_state_is_solved_expect_json_that_gives_the_same_doubles)
{
  const std::string scenario = file("solve.yaml", kPendulum);
  const std::vector<std::string> overrides = {
    "initial.q={x: 1/3}", "initial.u.dx=0.7", "inputs.push=2.5"};
  const Output output =
    cdyn({"solve", scenario, "--set", overrides[0], "--set", overrides[1], "--set", overrides[2]});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node json = YAML::Load(output.out);
  const Scenario same = Scenario::load(scenario, overrides);
  const auto simulation = same.make_simulation();
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  const Solution & solution = simulation->workspace().solution();
  EXPECT_EQ(json["status"].as<std::string>(), "ok");
  EXPECT_EQ(json["q"]["x"].as<double>(), 1.0 / 3.0);
  EXPECT_EQ(json["q"]["y"].as<double>(), same.initial().q(1));
  EXPECT_EQ(json["u"]["dy"].as<double>(), same.initial().u(1));
  EXPECT_EQ(json["rates"]["x"].as<double>(), 0.7);
  EXPECT_EQ(json["udot"]["dx"].as<double>(), solution.acceleration(0));
  EXPECT_EQ(json["multipliers"]["rod/row_1"].as<double>(), solution.multipliers(0));
  EXPECT_EQ(json["constraint_force"]["dy"].as<double>(), solution.constraint_force(1));
  EXPECT_EQ(json["inputs"]["push"].as<double>(), 2.5);
  EXPECT_EQ(json["rank"].as<int>(), 1);
  EXPECT_EQ(json["degrees_of_freedom"].as<int>(), 1);
  EXPECT_EQ(json["row_count"].as<int>(), 1);
  EXPECT_EQ(json["residuals"]["rod/row_1"]["level"].as<std::string>(), "position");
  EXPECT_EQ(
    json["energy"]["total"].as<double>(),
    simulation->kinetic_energy() + simulation->potential_energy());
  EXPECT_EQ(json["wrenches"].size(), 0U);
}

TEST(Cli, when_state_is_raw_expect_it_unchanged)
{
  const std::string scenario = file("raw.yaml", kPendulum);
  const Output output = cdyn({"solve", scenario, "--raw-state", "--set", "initial.q={x: 3, y: 4}"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node json = YAML::Load(output.out);
  EXPECT_EQ(json["q"]["y"].as<double>(), 4.0);
  EXPECT_EQ(json["residuals"]["rod/row_1"]["position"].as<double>(), 12.0);
}

TEST(Cli, when_rows_contradict_expect_three_and_json)
{
  const std::string scenario = file(
    "contradiction.yaml",
    "system: {coordinates: [x, y], kinetic: dx^2 + dy^2}\n"
    "constraints: [{name: c, type: formula, level: acceleration, rows: [ddx, ddx - 1]}]\n");
  const Output output = cdyn({"solve", scenario});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("inconsistent"));
  EXPECT_EQ(YAML::Load(output.out)["status"].as<std::string>(), "inconsistent");
}

TEST(Cli, when_rows_repeat_expect_their_dependency)
{
  const std::string scenario = file(
    "redundant.yaml",
    "system: {coordinates: [x, y], kinetic: dx^2 + dy^2}\n"
    "constraints:\n"
    "  - {name: a, type: formula, level: velocity, rows: [dx, 2*dx]}\n"
    "  - {name: b, type: formula, level: velocity, rows: [dx - y*dy], active: false}\n");
  const Output output = cdyn({"check", scenario, "--json", "-"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node json = YAML::Load(output.out);
  EXPECT_TRUE(json["valid"].as<bool>());
  EXPECT_EQ(json["nominal_rank"].as<int>(), 1);
  EXPECT_EQ(json["row_count"].as<int>(), 2);
  EXPECT_EQ(json["degrees_of_freedom"].as<int>(), 1);
  ASSERT_EQ(json["dependencies"].size(), 1U);
  const std::string row = json["dependencies"][0]["row"].as<std::string>();
  const std::string other = row == "a/row_1" ? "a/row_2" : "a/row_1";
  EXPECT_NEAR(
    json["dependencies"][0]["terms"][other].as<double>(), row == "a/row_1" ? 0.5 : 2.0, 1e-9);
  EXPECT_EQ(json["redundant_rows"][0].as<std::string>(), row);
  EXPECT_EQ(json["rows"]["a/row_1"]["exact"].as<std::string>(), "yes");
  EXPECT_FALSE(json["rows"]["b/row_1"]["active"].as<bool>());
  EXPECT_EQ(json["integrable"].as<std::string>(), "yes");
  EXPECT_THAT(cdyn({"check", scenario}).out, HasSubstr("redundant: " + row));
}

TEST(Cli, when_inputs_do_not_act_on_all_expect_the_rows_that_they_leave)
{
  const std::string scenario = file(
    "cart_and_pole.yaml",
    "system: {coordinates: [x, a], kinetic: dx^2 + dx*da*cos(a) + da^2, potential: -cos(a),\n"
    "         inputs: {f: {x: 1}}}\n"
    "initial: {q: {a: pi/3}}\n");
  const Output output = cdyn({"check", scenario, "--json", "-"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node report = YAML::Load(output.out)["underactuation"];
  EXPECT_EQ(report["input_rank"].as<int>(), 1);
  ASSERT_EQ(report["rows"].size(), 1U);
  EXPECT_NEAR(report["rows"][0]["motion"]["da"].as<double>(), 1.0, 1e-12);
  EXPECT_NEAR(report["rows"][0]["motion"]["dx"].as<double>(), 0.0, 1e-12);
  EXPECT_NEAR(report["rows"][0]["inertia"]["dx"].as<double>(), 0.5, 1e-12);
  EXPECT_NEAR(report["rows"][0]["inertia"]["da"].as<double>(), 2.0, 1e-12);
  EXPECT_NEAR(report["rows"][0]["force"].as<double>(), -std::sqrt(0.75), 1e-12);
  EXPECT_THAT(
    cdyn({"check", scenario}).out,
    HasSubstr("inputs act on 1 of 2 degrees of freedom; 1 second-order row"));
}

TEST(Cli, when_formulations_are_compared_expect_agreement_times_drift_and_energy)
{
  const std::string scenario = file("compare.yaml", kPendulum);
  const std::string json = file("compare.json");
  const Output output = cdyn({"compare", scenario, "--json", json});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node report = YAML::LoadFile(json);
  EXPECT_EQ(report["reference"].as<std::string>(), "auto");
  EXPECT_EQ(report["states"].as<int>(), 101);
  ASSERT_EQ(report["formulations"].size(), formulation_names().size());
  // What `run` reports of the same motion.
  const YAML::Node run = YAML::Load(cdyn({"run", scenario, "--json", "-"}).out);
  for (const std::string & name : formulation_names())
  {
    SCOPED_TRACE(name);
    EXPECT_THAT(output.out, HasSubstr("\n" + name + " "));
    const YAML::Node one = report["formulations"][name];
    EXPECT_TRUE(one["exists"].as<bool>());
    EXPECT_EQ(one["status"].as<std::string>(), "ok");
    for (const char * quantity : {"udot", "multipliers", "constraint_force"})
    {
      EXPECT_LE(one["deviation"][quantity].as<double>(), 1e-11);
    }
    EXPECT_EQ(one["deviation"]["statuses"].as<int>(), 0);
    const YAML::Node times = one["microseconds"];
    EXPECT_GT(times["rows"].as<double>(), 0.0);
    EXPECT_GT(times["solve"].as<double>(), 0.0);
    EXPECT_GE(times["cycle"].as<double>(), 0.5 * times["solve"].as<double>());
    EXPECT_TRUE(one["run"]["completed"].as<bool>());
    EXPECT_EQ(one["run"]["steps"].as<long>(), 100);
    EXPECT_LE(one["run"]["end_deviation"].as<double>(), 1e-11);
    EXPECT_LE(one["run"]["violation"]["position"].as<double>(), 1e-12);
    EXPECT_NEAR(
      one["run"]["energy"]["largest_change"].as<double>(),
      run["energy"]["largest_change"].as<double>(), 1e-11);
    // Without projection the pendulum leaves its circle by what RK4 loses.
    EXPECT_GT(one["run_without_stabilisation"]["violation"]["position"].as<double>(), 1e-10);
  }
  for (const std::string & line : lines_of(output.out))
  {
    // Characters; dots above letters (U+0300 to U+037F) take no room.
    const auto width = std::count_if(
      line.begin(), line.end(),
      [](char c)
      {
        const auto byte = static_cast<unsigned char>(c);
        return (byte & 0xC0U) != 0x80U && byte != 0xCCU && byte != 0xCDU;
      });
    EXPECT_LE(width, 120) << line;
  }
  const YAML::Node none = YAML::Load(
    cdyn({"compare", scenario, "--set", "stabilisation.kind=none", "--until", "0.1", "--json", "-"})
      .out);
  EXPECT_EQ(none["until"].as<double>(), 0.1);
  EXPECT_TRUE(none["formulations"]["auto"]["run_without_stabilisation"].IsNull());
  EXPECT_EQ(cdyn({"compare", scenario, "--until", "0.1", "--quiet"}).out, "");
}

TEST(Cli, when_the_recursion_is_named_expect_it_used_or_refused_with_the_reason)
{
  const std::string linkage = CD_CONFIG "/scenarios/four_bar.yaml";
  const Output solved = cdyn({"solve", linkage, "--formulation", "articulated_body"});
  ASSERT_EQ(solved.exit_code, 0) << solved.err;
  const YAML::Node one = YAML::Load(solved.out);
  const YAML::Node other =
    YAML::Load(cdyn({"solve", linkage, "--formulation", "kane_minimal"}).out);
  EXPECT_EQ(one["formulation"].as<std::string>(), "articulated_body");
  EXPECT_NEAR(
    one["multipliers"]["loop/x"].as<double>(), other["multipliers"]["loop/x"].as<double>(), 1e-9);
  // A textbook system has no tree of bodies.
  const std::string pendulum = file("recursion.yaml", kPendulum);
  const Output refused = cdyn({"check", pendulum, "--set", "formulation=articulated_body"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("formulation articulated_body: the system is no tree"));
  // Compared where it applies.
  const Output compared = cdyn({"compare", linkage, "--until", "0.05", "--quiet", "--json", "-"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  const YAML::Node report = YAML::Load(compared.out)["formulations"];
  EXPECT_EQ(report.size(), formulation_names().size() + 1);
  EXPECT_LE(report["articulated_body"]["deviation"]["udot"].as<double>(), 1e-11);
  EXPECT_TRUE(report["articulated_body"]["run"]["completed"].as<bool>());
}

TEST(Cli, when_the_recursion_declines_a_state_expect_its_status_and_what_solves_it)
{
  // A ball that slides: friction is a given multiplier.
  const std::string ball = CD_CONFIG "/scenarios/sliding_ball.yaml";
  const Output run = cdyn({"run", ball, "--formulation", "articulated_body", "--quiet"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("declined: this formulation leaves the state to others"));
  const Output compared = cdyn({"compare", ball, "--until", "0.05"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("articulated_body"));
  EXPECT_THAT(compared.out, HasSubstr("declined"));
}

TEST(Cli, when_inertia_is_singular_expect_compare_to_name_what_does_not_exist)
{
  // The mass is that of x alone; y follows x.
  const std::string scenario = file(
    "semidefinite.yaml",
    "system: {coordinates: [x, y], kinetic: dx^2/2, force: {y: -1}}\n"
    "constraints: [{name: c, type: formula, level: velocity, rows: [dy - 2*dx]}]\n"
    "stabilisation: {kind: none}\nrun: {until: 0.1, step: 0.01}\n");
  const Output output = cdyn({"compare", scenario});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node report = YAML::Load(cdyn({"compare", scenario, "--json", "-"}).out);
  int missing = 0;
  for (const std::string & name : formulation_names())
  {
    const YAML::Node one = report["formulations"][name];
    if (!one["exists"].as<bool>())
    {
      ++missing;
      EXPECT_EQ(one["status"].as<std::string>(), "singular_inertia") << name;
      EXPECT_TRUE(one["run"].IsNull()) << name;
      EXPECT_TRUE(one["microseconds"].IsNull()) << name;
      EXPECT_TRUE(one["deviation"].IsNull()) << name;
    }
  }
  EXPECT_EQ(missing, 3);  // canonical_inversion, udwadia_kalaba, projection
  EXPECT_THAT(output.out, HasSubstr("does not exist here: singular_inertia"));
}

TEST(Cli, when_masses_are_impossible_expect_check_to_name_motion_and_value)
{
  const std::string plain =
    "parameters: {m: 1, I: 2}\n"
    "system: {coordinates: [x, y, a], kinetic: m/2*dx^2 + dy^2 + I/2*(da - dx)^2}\n";
  const std::string scenario = file("masses.yaml", plain);
  EXPECT_EQ(cdyn({"check", scenario}).exit_code, 0);
  const auto refusal = [&](const std::string & path, const std::vector<std::string> & overrides)
  {
    std::vector<std::string> arguments = {"check", path, "--json", "-"};
    for (const std::string & assignment : overrides)
    {
      arguments.insert(arguments.end(), {"--set", assignment});
    }
    const Output output = cdyn(arguments);
    EXPECT_EQ(output.exit_code, 2);
    EXPECT_EQ(output.out, "");
    return output.err;
  };
  EXPECT_THAT(
    refusal(scenario, {"parameters.m=0"}),
    HasSubstr("at the initial state: the motion dx 1, da 1 has the inertia 0"));
  EXPECT_THAT(
    refusal(scenario, {"parameters.m=-1"}),
    testing::ContainsRegex("dx [0-9.]+.* has the inertia -"));
  EXPECT_THAT(
    refusal(scenario, {"parameters.I=0"}), HasSubstr("the motion da 1 has the inertia 0"));
  // Units do not matter: what is small is not missing.
  EXPECT_EQ(
    cdyn({"check",
          file("units.yaml", "system: {coordinates: [x, y], kinetic: 1e-20*dx^2 + 1e20*dy^2}\n")})
      .exit_code,
    0);
  EXPECT_THAT(
    refusal(
      file(
        "turning_negative.yaml",
        "system: {coordinates: [x, y], kinetic: dx^2 + (y + 1.0e-4)*dy^2}\n"),
      {}),
    HasSubstr("close to the initial state: the motion dy 1 has the inertia -"));
  // No inertia of its own, but rows that carry it along.
  const std::string carried =
    "system: {coordinates: [x, y], kinetic: dx^2/2}\n"
    "constraints: [{name: c, type: formula, level: velocity, rows: [dy - 2*dx]}]\n";
  EXPECT_EQ(cdyn({"check", file("carried.yaml", carried)}).exit_code, 0);
  EXPECT_THAT(
    refusal(file("carried.yaml", carried), {"constraints.c.active=false"}),
    HasSubstr("the motion dy 1 has the inertia 0"));
}

TEST(Cli, when_a_compared_run_stops_expect_three_and_the_table)
{
  const std::string scenario = file("compare_ending.yaml", kEnding);
  const Output output = cdyn({"compare", scenario});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("kane_minimal stopped at t = 0.5 s: status non_finite_result"));
  EXPECT_THAT(output.out, HasSubstr("kane_minimal: the run stopped at t = 0.5 s"));
  const std::string hopeless =
    file("hopeless.yaml", "system: {coordinates: [x], kinetic: 0*dx^2}\nrun: {until: 1}\n");
  for (const char * command : {"compare", "bench"})
  {
    const Output none = cdyn({command, hopeless});
    EXPECT_EQ(none.exit_code, 3) << command;
    EXPECT_THAT(none.err, HasSubstr("singular_inertia")) << command;
  }
}

TEST(Cli, when_formulations_are_timed_expect_every_stage)
{
  const std::string scenario = file("bench.yaml", kPendulum);
  const Output output = cdyn({"bench", scenario, "--json", "-"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node report = YAML::Load(output.out);
  EXPECT_GT(report["kinematics"].as<double>(), 0.0);
  EXPECT_GT(report["dynamics"].as<double>(), 0.0);
  EXPECT_EQ(report["formulations"].size(), formulation_names().size());
  EXPECT_GT(report["formulations"]["auto"]["microseconds"]["cycle"].as<double>(), 0.0);
  EXPECT_THAT(cdyn({"bench", scenario}).out, HasSubstr("kinematics alone"));
}

TEST(Cli, when_body_is_held_expect_its_wrench_in_json)
{
  const std::string scenario = file(
    "body.yaml",
    "system: {bodies: [{name: ball, mass: 2, inertia: [1, 1, 1]}]}\n"
    "constraints: [{name: floor, type: point_on_plane, frame_a: ball, normal: [0, 0, 1]}]\n"
    "run: {until: 0.1}\n");
  const YAML::Node json = YAML::Load(cdyn({"solve", scenario}).out);
  ASSERT_EQ(json["wrenches"].size(), 1U);
  const YAML::Node wrench = json["wrenches"][0];
  EXPECT_EQ(wrench["constraint"].as<std::string>(), "floor");
  EXPECT_EQ(wrench["body_a"].as<std::string>(), "ball");
  EXPECT_EQ(wrench["body_b"].as<std::string>(), "world");
  EXPECT_NEAR(wrench["on_a"]["force"][2].as<double>(), 2 * 9.81, 1e-11);
  EXPECT_NEAR(wrench["on_b"]["force"][2].as<double>(), -2 * 9.81, 1e-11);
  const std::string csv = file("body.csv");
  ASSERT_EQ(cdyn({"run", scenario, "--quiet", "--csv", csv}).exit_code, 0);
  EXPECT_THAT(
    lines_of(read_file(csv))[0],
    HasSubstr("force.floor.x,force.floor.y,force.floor.z,torque.floor.x"));
}

TEST(Cli, when_a_pendulum_is_linearised_expect_its_frequency_and_damping_of_nothing)
{
  const std::string scenario = file("linear.yaml", kPendulum);
  const std::vector<std::string> hanging = {
    "linearize", scenario, "--set", "initial.q={x: 0, y: -l}", "--set", "initial.solve=none"};
  const Output text = cdyn(hanging);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("an equilibrium"));
  EXPECT_THAT(text.out, HasSubstr("+- 3.13209195 i"));  // sqrt(9.81)

  std::vector<std::string> as_json = hanging;
  as_json.insert(as_json.end(), {"--lyapunov", "--json", "-"});
  const Output output = cdyn(as_json);
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node json = YAML::Load(output.out);
  EXPECT_EQ(json["status"].as<std::string>(), "ok");
  EXPECT_TRUE(json["equilibrium"].as<bool>());
  EXPECT_EQ(json["states"][0].as<std::string>(), "delta.dx");
  EXPECT_EQ(json["state_matrix"].size(), 4u);
  EXPECT_EQ(json["state_matrix"][0].size(), 4u);
  EXPECT_EQ(json["basis"].size(), 4u);
  EXPECT_EQ(json["reduced_eigenvalues"].size(), 2u);
  EXPECT_NEAR(json["reduced_eigenvalues"][0]["imag"].as<double>(), std::sqrt(9.81), 1e-12);
  EXPECT_EQ(json["derivatives"]["constraints"]["rod"].as<std::string>(), "analytic");
  EXPECT_TRUE(json["linear_step"]["position"].IsDefined());
  EXPECT_TRUE(json["lyapunov"]["completed"].as<bool>());
}

TEST(Cli, when_linearised_later_expect_the_state_of_that_time)
{
  const std::string scenario = file("later.yaml", kPendulum);
  const Output output = cdyn({"linearize", scenario, "--at", "0.5", "--json", "-"});
  ASSERT_EQ(output.exit_code, 0) << output.err;
  const YAML::Node json = YAML::Load(output.out);
  EXPECT_EQ(json["time"].as<double>(), 0.5);
  EXPECT_FALSE(json["steady"].as<bool>());
  const Output ending = cdyn({"linearize", file("ending_linear.yaml", kEnding), "--at", "0.9"});
  EXPECT_EQ(ending.exit_code, 3);
  EXPECT_THAT(ending.err, HasSubstr("non_finite_result"));
}

TEST(Cli, when_nobody_reads_expect_no_crash)
{
  const std::string scenario = file("pipe.yaml", kPendulum);
  for (const std::vector<std::string> & arguments :
       {std::vector<std::string>{"run", scenario},
        {"solve", scenario},
        {"check", scenario},
        {"compare", scenario}})
  {
    EXPECT_EQ(cdyn(arguments, false).exit_code, 0) << arguments[0];
  }
}

TEST(Cli, when_a_robot_profile_is_checked_expect_what_its_drive_adds)
{
  const std::string good =
    file("robot.yaml", "profile: arm\njoints: [{name: j}]\ncommand: {adds: [gravity, friction]}\n");
  const Output checked = cdyn({"check", good});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("the drive adds gravity, friction"));
  EXPECT_THAT(checked.out, HasSubstr("contents of a measured effort: not stated"));
  const Output json = cdyn({"check", good, "--json", "-"});
  EXPECT_EQ(YAML::Load(json.out)["command_adds"].as<std::string>(), "gravity, friction");
  const std::string bad = file("bad_robot.yaml", "profile: arm\njoints: [{name: j, efforts: 1}]\n");
  const Output refused = cdyn({"check", bad});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("joints.j.efforts"));
  EXPECT_EQ(cdyn({"check", good, "--set", "rate=1"}).exit_code, 2);
}

TEST(Cli, when_examples_are_asked_for_expect_those_of_the_folder)
{
  const fs::path folder = fs::path(file("examples")).parent_path() / "examples";
  fs::create_directories(folder);
  std::ofstream(folder / "one.yaml") << kPendulum;
  std::ofstream(folder / "two.yaml") << kEnding;
  ::setenv("CDYN_EXAMPLES", folder.c_str(), 1);
  const Output list = cdyn({"examples"});
  const Output one = cdyn({"examples", "one", "--show"});
  const Output run = cdyn({"run", "one", "--until", "0.1", "--quiet"});
  ::unsetenv("CDYN_EXAMPLES");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.out, "one  a point mass on a rod\ntwo  \n");
  EXPECT_EQ(one.out, kPendulum);
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

}  // namespace
}  // namespace constrained_dynamics
