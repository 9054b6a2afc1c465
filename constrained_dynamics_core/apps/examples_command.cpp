// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "ament_prefixes.hpp"
#include "commands.hpp"
#include "constrained_dynamics/scenario/suggestion.hpp"
#include "output.hpp"

namespace cdyn
{

namespace fs = std::filesystem;

namespace
{

/// The folder of examples: that of the environment variable CDYN_EXAMPLES, else the first that
/// exists of the prefix of this program and the prefixes of ROS 2; empty if none does.
fs::path examples_folder()
{
  const char * chosen = std::getenv("CDYN_EXAMPLES");
  if (chosen != nullptr && *chosen != '\0')
  {
    return chosen;
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  std::vector<fs::path> prefixes = constrained_dynamics::ament_prefixes();
  if (!error)
  {
    prefixes.insert(prefixes.begin(), program.parent_path().parent_path());
  }
  for (const fs::path & prefix : prefixes)
  {
    const fs::path folder = prefix / "share" / "constrained_dynamics_config" / "scenarios";
    if (fs::is_directory(folder, error))
    {
      return folder;
    }
  }
  return {};
}

std::vector<fs::path> example_files()
{
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(examples_folder(), error), end; !error && it != end;
       it.increment(error))
  {
    if (it->path().extension() == ".yaml")
    {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

fs::path find_example(const std::string & name)
{
  for (const fs::path & file : example_files())
  {
    if (file.stem() == name)
    {
      return file;
    }
  }
  return {};
}

std::string read_file(const fs::path & path)
{
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// First line of the description. The top-level key is found in the text: examples are listed even
/// where one of them needs a robot that is not there.
std::string one_line(const fs::path & path)
{
  std::istringstream text(read_file(path));
  const std::string key = "description:";
  std::string line;
  while (std::getline(text, line))
  {
    if (line.compare(0, key.size(), key) != 0)
    {
      continue;
    }
    std::string value = line.substr(key.size());
    const auto trim = [](std::string s)
    {
      const std::size_t first = s.find_first_not_of(" \r");
      const std::size_t last = s.find_last_not_of(" \r");
      return first == std::string::npos ? std::string() : s.substr(first, last - first + 1);
    };
    value = trim(value);
    if (value.empty() || value[0] == '>' || value[0] == '|')
    {
      value = std::getline(text, line) ? trim(line) : "";
    }
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
    {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return "";
}

/// What may have been meant by a name that is not there, and all names.
std::string known_examples(const std::string & asked)
{
  std::vector<std::string> names;
  std::string list;
  for (const fs::path & file : example_files())
  {
    names.push_back(file.stem().string());
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const std::string nearest = constrained_dynamics::nearest_name(asked, names);
  return (nearest.empty() ? "" : ", did you mean '" + nearest + "'?") +
         ("; examples: " + (list.empty() ? "there are none" : list));
}

}  // namespace

std::string find_scenario(const std::string & argument)
{
  std::error_code error;
  if (fs::is_regular_file(argument, error))
  {
    return argument;
  }
  const fs::path example = find_example(argument);
  if (!example.empty())
  {
    return example.string();
  }
  if (fs::exists(argument, error))
  {
    return argument;  // the loader says what is wrong with it
  }
  throw std::invalid_argument(
    argument + ": neither a file nor an example" +
    known_examples(fs::path(argument).stem().string()));
}

int examples(const ExamplesArguments & arguments)
{
  if (!arguments.name.empty())
  {
    const fs::path file = find_example(arguments.name);
    if (file.empty())
    {
      throw std::invalid_argument(
        arguments.name + ": no such example" + known_examples(arguments.name));
    }
    write_out(
      arguments.show ? read_file(file)
                     : arguments.name + ": " + one_line(file) + "\n" + file.string() + "\n");
    return kSuccess;
  }
  if (arguments.show)
  {
    throw std::invalid_argument("--show: needs the NAME of an example");
  }
  const std::vector<fs::path> files = example_files();
  if (files.empty())
  {
    throw std::invalid_argument(
      "no examples found in '" + examples_folder().string() +
      "'; install the package constrained_dynamics_config, or name a folder of scenarios in the "
      "environment variable CDYN_EXAMPLES");
  }
  std::size_t width = 0;
  for (const fs::path & file : files)
  {
    width = std::max(width, file.stem().string().size());
  }
  std::ostringstream text;
  for (const fs::path & file : files)
  {
    text << std::left << std::setw(static_cast<int>(width) + 2) << file.stem().string()
         << one_line(file) << "\n";
  }
  write_out(text.str());
  return kSuccess;
}

}  // namespace cdyn
