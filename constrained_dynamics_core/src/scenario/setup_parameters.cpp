// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <regex>

#include "constrained_dynamics/scenario/scenario_merge.hpp"
#include "model/xml_reader.hpp"
#include "names.hpp"
#include "scenario/scenario_tree.hpp"
#include "scenario/setup_parts.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr std::array<const char *, 3> kOwn = {
  "ServoConstraintController", "ConstraintForceBroadcaster", "ExternalForceBroadcaster"};

/// The map with one level for each dot in a key.
TextTree nest(const TextTree & tree)
{
  if (!tree.is_map())
  {
    return tree;
  }
  TextTree out = TextTree::map();
  for (std::size_t i = 0; i < tree.keys.size(); ++i)
  {
    TextTree * place = &out;
    const std::string & key = tree.keys[i];
    for (std::size_t begin = 0; begin <= key.size();)
    {
      const std::size_t end = std::min(key.find('.', begin), key.size());
      if (!place->is_map())
      {
        *place = TextTree::map();
      }
      place = &place->at(key.substr(begin, end - begin));
      begin = end + 1;
    }
    const TextTree value = nest(tree.children[i]);
    if (value.is_map() && place->is_map())
    {
      for (std::size_t k = 0; k < value.keys.size(); ++k)
      {
        place->at(value.keys[k]) = value.children[k];
      }
    }
    else
    {
      *place = value;
    }
  }
  return out;
}

// ---- names and ranges, as generate_parameter_library knows them --------------------------------

bool is_leaf(const TextTree & described)
{
  const TextTree * type = described.find("type");
  return type != nullptr && type->is_value();
}

/// What is wrong with a number under a validator such as gt_eq<>: [0.0]; empty: nothing.
std::string refuse_number(const std::string & rule, double bound, double value)
{
  const std::array<std::pair<const char *, bool>, 4> rules = {
    {{"gt<>", value > bound},
     {"gt_eq<>", value >= bound},
     {"lt<>", value < bound},
     {"lt_eq<>", value <= bound}}};
  const std::array<const char *, 4> words = {"above ", "at least ", "below ", "at most "};
  for (std::size_t i = 0; i < rules.size(); ++i)
  {
    if (rule == rules[i].first && !rules[i].second)
    {
      return words[i] + show(bound);
    }
  }
  return {};
}

std::string refuse_by_rule(
  const std::string & rule, const TextTree & arguments, const TextTree & value)
{
  const TextTree * first = arguments.children.empty() ? nullptr : &arguments.children.front();
  if (rule == "one_of<>" && first != nullptr && value.is_value())
  {
    std::vector<std::string> allowed;
    for (const TextTree & item : first->children)
    {
      allowed.push_back(item.text);
    }
    const bool found = std::find(allowed.begin(), allowed.end(), value.text) != allowed.end();
    return found ? std::string() : join_names(allowed);
  }
  if (rule == "fixed_size<>" && first != nullptr && value.is_list())
  {
    const bool fits = std::to_string(value.children.size()) == first->text;
    return fits ? std::string() : "a list of " + first->text;
  }
  if (rule == "not_empty<>" && value.is_value() && value.text.empty())
  {
    return "a text that is not empty";
  }
  const std::optional<double> bound = first != nullptr ? parse_number(first->text) : std::nullopt;
  const std::optional<double> number = value.is_value() ? parse_number(value.text) : std::nullopt;
  return bound && number ? refuse_number(rule, *bound, *number) : std::string();
}

/// What a type allows for a single value; empty if this value is allowed.
std::string refuse_type(const std::string & type, const TextTree & value)
{
  const bool is_array = type.size() > 6 && type.compare(type.size() - 6, 6, "_array") == 0;
  if (is_array != value.is_list())
  {
    return is_array ? "a list" : "a single value (" + type + ")";
  }
  const auto refuse_item = [&](const TextTree & item) -> std::string
  {
    const std::optional<double> number = parse_number(item.text);
    if (type.rfind("double", 0) == 0 && !(item.is_value() && number))
    {
      return "a finite number";
    }
    if (type.rfind("int", 0) == 0 && !(number && item.text.find('.') == std::string::npos))
    {
      return "a whole number";
    }
    if (type.rfind("bool", 0) == 0 && item.text != "true" && item.text != "false")
    {
      return "true or false";
    }
    return {};
  };
  if (!is_array)
  {
    return refuse_item(value);
  }
  for (const TextTree & item : value.children)
  {
    if (const std::string allowed = refuse_item(item); !allowed.empty())
    {
      return "a list of which each is " + allowed;
    }
  }
  return {};
}

std::string as_written(const TextTree & value)
{
  if (!value.is_list())
  {
    return "'" + value.text + "'";
  }
  std::vector<std::string> items;
  for (const TextTree & item : value.children)
  {
    items.push_back(item.text);
  }
  return "[" + (items.empty() ? "" : join_names(items)) + "]";
}

void check_value(
  const std::string & thing, const TextTree & described, const TextTree & value,
  SetupReport & report)
{
  std::string allowed = refuse_type(described.find("type")->text, value);
  if (const TextTree * rules = described.find("validation"))
  {
    for (std::size_t i = 0; allowed.empty() && i < rules->keys.size(); ++i)
    {
      allowed = refuse_by_rule(rules->keys[i], rules->children[i], value);
    }
  }
  if (!allowed.empty())
  {
    report.error(thing, as_written(value) + "; allowed: " + allowed);
  }
}

/// Checks the parameters of a controller, level by level, against one or more descriptions.
void check_parameters(
  const std::string & where, const std::vector<const TextTree *> & described,
  const TextTree & values, bool is_top, SetupReport & report)
{
  std::vector<std::string> known;
  for (const TextTree * tree : described)
  {
    known.insert(known.end(), tree->keys.begin(), tree->keys.end());
  }
  if (is_top)
  {
    const std::vector<std::string> & sections = scenario_sections();
    known.insert(known.end(), sections.begin(), sections.end());
  }
  for (std::size_t i = 0; i < values.keys.size(); ++i)
  {
    const std::string & key = values.keys[i];
    const std::string thing = where + key;
    // Every node and every controller has these parameters.
    if (
      is_top && (contains(scenario_sections(), key) || key == "use_sim_time" || key == "type" ||
                 key == "update_rate" || key == "is_async"))
    {
      continue;
    }
    std::vector<const TextTree *> below;
    for (const TextTree * tree : described)
    {
      if (const TextTree * found = tree->find(key))
      {
        below.push_back(found);
      }
    }
    if (below.empty())
    {
      report.error(thing, "there is no such parameter" + suggest(key, known));
    }
    else if (is_leaf(*below.front()))
    {
      check_value(thing, *below.front(), values.children[i], report);
    }
    else
    {
      check_parameters(thing + ".", below, values.children[i], false, report);
    }
  }
}

// ---- the file ----------------------------------------------------------------------------------

/// Finds strings in lists that rcl would read as booleans.
void find_booleans(const SetupFiles & files, SetupReport & report)
{
  static const std::regex word(R"([\[,]\s*(y|n|Y|N|yes|no|on|off|Yes|No|On|Off)\s*[,\]])");
  std::size_t line_number = 1;
  std::size_t begin = 0;
  while (begin < files.parameters.size())
  {
    const std::size_t end = std::min(files.parameters.find('\n', begin), files.parameters.size());
    const std::string line =
      files.parameters.substr(begin, std::min<std::size_t>(end - begin, 1000));
    std::smatch found;
    if (line.find('[') < line.find('#') && std::regex_search(line, found, word))
    {
      report.warning(
        files.parameters_name + ":" + std::to_string(line_number),
        "ROS reads " + found[1].str() + " as a boolean; allowed: '" + found[1].str() +
          "' with quotes");
    }
    begin = end + 1;
    ++line_number;
  }
}

const TextTree * ros_parameters(const TextTree & root, const std::string & name)
{
  for (const std::string & section : {name, "/" + name, std::string("/**")})
  {
    if (const TextTree * found = root.find(section))
    {
      if (const TextTree * parameters = found->find("ros__parameters"))
      {
        return parameters;
      }
    }
  }
  return nullptr;
}

void add_controller(
  const SetupFiles & files, const TextTree & root, const std::string & name,
  const std::string & kind, std::vector<ConfiguredController> & out, SetupReport & report)
{
  const std::string thing = files.parameters_name + ": " + name;
  const TextTree * parameters = ros_parameters(root, name);
  if (parameters == nullptr || !parameters->is_map())
  {
    report.error(
      thing, "has a type but no parameters; allowed: a section '" + name +
               "' with 'ros__parameters' that has at least 'scenario' or 'constraints'");
    return;
  }
  ConfiguredController controller{name, kind, nest(*parameters)};
  const auto described = files.known_parameters.find(kind);
  if (described != files.known_parameters.end())
  {
    std::vector<const TextTree *> trees;
    for (const TextTree & tree : described->second)
    {
      trees.push_back(&tree);
    }
    check_parameters(thing + ": ", trees, controller.parameters, true, report);
  }
  out.push_back(std::move(controller));
}

}  // namespace

std::string join_names(const std::vector<std::string> & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

std::vector<std::string> texts_of(const TextTree & parameters, const std::string & key)
{
  std::vector<std::string> texts;
  if (const TextTree * found = parameters.find(key))
  {
    for (const TextTree & item : found->children)
    {
      texts.push_back(item.text);
    }
    if (found->is_value())
    {
      texts.push_back(found->text);
    }
  }
  return texts;
}

std::vector<ConfiguredController> read_configured_controllers(
  const SetupFiles & files, SetupReport & report)
{
  std::vector<ConfiguredController> out;
  TextTree root;
  try
  {
    root = read_yaml(files.parameters, files.parameters_name);
  }
  catch (const std::exception & error)
  {
    report.error(files.parameters_name, error.what());
    return out;
  }
  find_booleans(files, report);
  const TextTree * manager = ros_parameters(root, "controller_manager");
  if (manager == nullptr || !manager->is_map())
  {
    report.error(
      files.parameters_name,
      "has no section 'controller_manager' with 'ros__parameters'; it names update_rate and the "
      "type of each controller");
    return out;
  }
  const TextTree managed = nest(*manager);
  const std::vector<std::string> rate = texts_of(managed, "update_rate");
  const std::optional<double> number = rate.empty() ? std::nullopt : parse_number(rate.front());
  if (!(number && *number > 0.0))
  {
    report.warning(
      files.parameters_name + ": controller_manager: update_rate",
      (rate.empty() ? "is missing: the manager takes 100 Hz" : "'" + rate.front() + "'") +
        std::string("; allowed: a whole number above 0, 500 to 1000 for torques"));
  }
  bool any = false;
  for (std::size_t i = 0; i < managed.keys.size(); ++i)
  {
    const TextTree * type = managed.children[i].find("type");
    const std::string name = type != nullptr ? type->text : "";
    const std::string kind = name.substr(name.rfind('/') + 1);
    if (std::find(kOwn.begin(), kOwn.end(), kind) != kOwn.end())
    {
      any = true;
      add_controller(files, root, managed.keys[i], kind, out, report);
    }
  }
  if (!any)
  {
    report.error(
      files.parameters_name + ": controller_manager",
      "names no controller whose type is " + std::string(kOwn[0]) + " or " + kOwn[1]);
  }
  return out;
}

}  // namespace constrained_dynamics
