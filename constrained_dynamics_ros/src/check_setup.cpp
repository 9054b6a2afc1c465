// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// check_setup: description, scenario and parameters of a robot, looked at together before anything
// moves. It starts no node.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <constrained_dynamics/scenario/setup_check.hpp>

#include "constrained_dynamics_ros/scenario_parameters.hpp"

namespace
{

namespace cd = constrained_dynamics;

const char * const kUsage =
  "usage: check_setup --description FILE --controllers FILE [--scenario FILE]\n"
  "  --description  robot description with its <ros2_control> tag: URDF, or xacro (*.xacro)\n"
  "  --controllers  parameters of controller_manager and the controllers\n"
  "  --scenario     constraints and tasks, in place of those that the controllers name\n"
  "FILE is a path or package://<package>/<path>. Exit codes: 0 all is well, 1 errors were found,\n"
  "2 wrong usage or a file that cannot be read.\n";

std::string read_text(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf()))
  {
    throw std::invalid_argument("'" + path + "' cannot be read; allowed: a file");
  }
  return text.str();
}

/// The path as one word of a shell.
std::string quoted(const std::string & path)
{
  std::string text = "'";
  for (const char c : path)
  {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

std::string read_description(const std::string & path)
{
  const std::string ending = ".xacro";
  const std::string text = read_text(path);
  if (path.size() < ending.size() || path.substr(path.size() - ending.size()) != ending)
  {
    return text;
  }
  const auto close = [](std::FILE * pipe) { return pipe != nullptr ? ::pclose(pipe) : 0; };
  std::FILE * pipe = ::popen(("xacro " + quoted(path)).c_str(), "r");
  std::string out;
  char buffer[4096];
  for (std::size_t count = 0;
       pipe != nullptr && (count = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
  {
    out.append(buffer, count);
  }
  if (close(pipe) != 0 || out.empty())
  {
    throw std::invalid_argument("'" + path + "': xacro failed; its message is above");
  }
  return out;
}

/// What generate_parameter_library was told about the controllers, where they are installed.
void read_known_parameters(cd::SetupFiles & files)
{
  const std::map<std::string, std::string> own = {
    {"ServoConstraintController", "servo_constraint_controller_parameters"},
    {"ConstraintForceBroadcaster", "constraint_force_broadcaster_parameters"},
    {"ExternalForceBroadcaster", "external_force_broadcaster_parameters"}};
  for (const auto & [kind, name] : own)
  {
    std::vector<cd::TextTree> trees;
    for (const std::string & part : {name, std::string("model_parameters")})
    {
      const std::string path = constrained_dynamics_ros::resolve_uri(
        "package://constrained_dynamics_controllers/parameters/" + part + ".yaml");
      const cd::TextTree root = cd::read_yaml(read_text(path), path);
      trees.push_back(root.children.at(0));
    }
    files.known_parameters[kind] = trees;
  }
}

int run(const std::map<std::string, std::string> & arguments)
{
  cd::SetupFiles files;
  const auto resolve = [](const std::string & uri)
  { return constrained_dynamics_ros::resolve_uri(uri); };
  files.resolve = resolve;
  files.description = read_description(resolve(arguments.at("--description")));
  files.parameters_name = resolve(arguments.at("--controllers"));
  files.parameters = read_text(files.parameters_name);
  const auto scenario = arguments.find("--scenario");
  files.scenario = scenario != arguments.end() ? scenario->second : "";
  try
  {
    read_known_parameters(files);
  }
  catch (const std::invalid_argument & error)
  {
    std::cout << "note: names and ranges of parameters are not checked: " << error.what() << "\n";
  }
  int errors = 0;
  int warnings = 0;
  for (const cd::SetupFinding & finding : cd::check_setup(files))
  {
    errors += finding.severity == cd::SetupFinding::Severity::kError ? 1 : 0;
    warnings += finding.severity == cd::SetupFinding::Severity::kWarning ? 1 : 0;
    std::cout << cd::to_string(finding.severity) << ": " << finding.thing << ": " << finding.message
              << "\n";
  }
  std::cout << "check_setup: " << errors << " errors, " << warnings << " warnings\n";
  return errors > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  std::map<std::string, std::string> arguments;
  for (int i = 1; i < argc; ++i)
  {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h")
    {
      std::cout << kUsage;
      return 0;
    }
    const bool known = name == "--description" || name == "--controllers" || name == "--scenario";
    if (!known || i + 1 == argc)
    {
      std::cerr << "check_setup: '" << name << "' " << (known ? "needs a value" : "is no option")
                << "\n"
                << kUsage;
      return 2;
    }
    arguments[name] = argv[++i];
  }
  if (arguments.count("--description") == 0 || arguments.count("--controllers") == 0)
  {
    std::cerr << "check_setup: --description and --controllers are needed\n" << kUsage;
    return 2;
  }
  try
  {
    return run(arguments);
  }
  catch (const std::exception & error)
  {
    std::cerr << "check_setup: " << error.what() << "\n";
    return 2;
  }
}
