// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario_types.hpp"

#include <stdexcept>

#include "constrained_dynamics/model/force_element.hpp"
#include "constrained_dynamics/servo/servo_description.hpp"
#include "scenario/scenario_contacts.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr std::size_t kLineWidth = 120;

/// Breaks a paragraph at blanks. Columns are counted as characters, not bytes.
std::string wrapped(const std::string & paragraph)
{
  std::string result;
  std::size_t column = 0;
  std::size_t begin = 0;
  while (begin < paragraph.size())
  {
    const std::size_t end = std::min(paragraph.find(' ', begin), paragraph.size());
    const std::string word = paragraph.substr(begin, end - begin);
    std::size_t width = 0;
    for (const char c : word)
    {
      width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    }
    if (column > 0 && column + 1 + width > kLineWidth)
    {
      result += "\n";
      column = 0;
    }
    result += (column > 0 ? " " : "") + word;
    column += (column > 0 ? 1 : 0) + width;
    begin = end + 1;
  }
  return result + "\n";
}

/// The equation without the placeholder that only pictures fill in.
std::string plain_equation(const std::string & equation)
{
  return equation.substr(0, equation.find("; rows {rows}"));
}

std::string section_of(
  const std::string & name, const std::string & text, const std::string & rows,
  const std::vector<KeyDescription> & keys)
{
  return "### `" + name + "`\n\n" + wrapped(text) + "\n" +
         (rows.empty() ? "" : wrapped(rows) + "\n") + (keys.empty() ? "" : key_table(keys) + "\n");
}

std::string section_of(const ConstraintDescription & description)
{
  return section_of(
    description.type, description.text,
    "Equation: " + plain_equation(description.equation) + ". Rows: " + description.rows + ".",
    description.keys);
}

std::string section_of(const ForceElementDescription & description)
{
  return section_of(
    description.type, description.text, "Equation: " + description.equation + ".",
    description.keys);
}

std::string section_of(const ServoTaskDescription & description)
{
  return section_of(
    description.type, description.text, "Values of the reference: " + description.values + ".",
    description.keys);
}

std::string section_of(const NullSpaceDescription & description)
{
  return section_of(description.kind, description.text, "", description.keys);
}

}  // namespace

const std::vector<ConstraintDescription> & scenario_constraint_types()
{
  static const std::vector<ConstraintDescription> all = []
  {
    std::vector<ConstraintDescription> types = constraint_descriptions();
    types.push_back(describe_contact());
    return types;
  }();
  return all;
}

std::string types_page()
{
  std::string page =
    "# Types and their keys\n\n"
    "Printed by `cdyn types` from the descriptions in the sources; do not edit. `cdyn types TYPE`\n"
    "prints one of them. A vector is a list of three numbers; a direction may have any nonzero "
    "length.\n\n"
    "## Constraints\n\n"
    "Every item of `constraints` also has `name`, `type`, `active` and `repeat`\n"
    "([scenario.md](scenario.md), section 5). In Python each type is a function with the same\n"
    "keys: `cd.KnifeEdge(name, system, …)`, or `cd.constraint(\"knife_edge\", name, system, "
    "…)`.\n\n";
  for (const ConstraintDescription & description : scenario_constraint_types())
  {
    page += section_of(description);
  }
  page +=
    "## Force elements\n\n"
    "Every item of `system.force_elements` also has `name`, `type` and `repeat`. Efforts are\n"
    "positive if they resist an increase of the length or angle. In Python each type is a "
    "function\n"
    "with the same keys: `cd.Spring(name, …)`.\n\n";
  for (const ForceElementDescription & description : force_element_descriptions())
  {
    page += section_of(description);
  }
  page +=
    "## Servo tasks\n\n"
    "Any constraint above except `contact` is also a servo task. Every item of `servo` also has\n"
    "`name`, `type`, `reference`, `priority`, `weight` and the gains\n"
    "([scenario.md](scenario.md), section 6a). In Python: `cd.servo_task(\"pose\", name, "
    "constraints, …)`.\n\n";
  for (const ServoTaskDescription & description : servo_task_descriptions())
  {
    page += section_of(description);
  }
  page +=
    "## Null-space terms\n\n"
    "Items of `servo_law.null_space` with the key `kind`: generalized forces f that act where the\n"
    "tasks leave the controls free. In Python: `cd.null_space_term(\"damping\", system, …)`.\n\n";
  for (const NullSpaceDescription & description : null_space_descriptions())
  {
    page += section_of(description);
  }
  page.pop_back();  // the empty line at the end
  return page;
}

std::string type_section(const std::string & type)
{
  std::string known;
  std::string found;
  const auto look = [&](const std::string & name, const auto & description)
  {
    known += (known.empty() ? "" : ", ") + name;
    found += name == type ? section_of(description) : "";
  };
  for (const ConstraintDescription & description : scenario_constraint_types())
  {
    look(description.type, description);
  }
  for (const ForceElementDescription & description : force_element_descriptions())
  {
    look(description.type, description);
  }
  for (const ServoTaskDescription & description : servo_task_descriptions())
  {
    look(description.type, description);
  }
  for (const NullSpaceDescription & description : null_space_descriptions())
  {
    look(description.kind, description);
  }
  if (found.empty())
  {
    throw std::invalid_argument(type + ": no such type; types: " + known);
  }
  return found;
}

}  // namespace constrained_dynamics
