// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/constraint_description.hpp"

#include "names.hpp"

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

/// The equation without what only a picture fills in.
std::string plain_equation(const std::string & equation)
{
  return equation.substr(0, equation.find("; rows {rows}"));
}

}  // namespace

std::vector<KeyDescription> with_frames(const std::vector<KeyDescription> & more)
{
  std::vector<KeyDescription> keys = {
    describe_key("frame_a", KeyKind::kFrame, "frame A"),
    describe_key("frame_b", KeyKind::kFrame, "frame B").with_default("world")};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

const ConstraintDescription & constraint_description(const std::string & type)
{
  const std::vector<ConstraintDescription> & all = constraint_descriptions();
  std::vector<std::string> types;
  for (const ConstraintDescription & description : all)
  {
    types.push_back(description.type);
  }
  return all[static_cast<std::size_t>(index_of_name("type of constraint", type, types))];
}

std::shared_ptr<const Constraint> make_constraint(
  const std::string & type, const std::string & name, const System & system, KeyValues keys,
  const FormulaNames & formula_names)
{
  const ConstraintDescription & description = constraint_description(type);
  try
  {
    keys.complete(description.keys);
    return description.make({name, system, keys, formula_names});
  }
  catch (const KeyError & error)
  {
    throw std::invalid_argument(
      "constraint '" + name + "': " + (error.key().empty() ? "" : error.key() + ": ") +
      error.what());
  }
}

std::string constraint_documentation(const std::vector<ConstraintDescription> & descriptions)
{
  std::string text;
  for (const ConstraintDescription & description : descriptions)
  {
    text += "### `" + description.type + "`\n\n" + wrapped(description.text) + "\n";
    text += wrapped(
      "Equation: " + plain_equation(description.equation) + ". Rows: " + description.rows + ".");
    text += "\n" + key_table(description.keys) + "\n";
  }
  return text;
}

}  // namespace constrained_dynamics
