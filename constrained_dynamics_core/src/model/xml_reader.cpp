// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/xml_reader.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>

#include <tinyxml2.h>

#include "model/robot_tree.hpp"

namespace constrained_dynamics
{
namespace
{

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Texts in messages are short and printable.
std::string quote(const std::string & text)
{
  std::string shown = "'";
  for (const char c : text.substr(0, 60))
  {
    shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return shown + (text.size() > 60 ? "…'" : "'");
}

void check_attributes(const XmlReader & reader, const tinyxml2::XMLElement & element)
{
  std::set<std::string> names;
  for (const tinyxml2::XMLAttribute * a = element.FirstAttribute(); a != nullptr; a = a->Next())
  {
    if (!names.insert(a->Name()).second)
    {
      reader.fail(
        "line " + std::to_string(element.GetLineNum()) + ": attribute '" + a->Name() + "' of <" +
        element.Name() + "> is given twice");
    }
  }
}

/// The next node of a depth-first walk below `top`, without recursion.
const tinyxml2::XMLNode * next_node(const tinyxml2::XMLNode * node, const tinyxml2::XMLNode * top)
{
  if (node->FirstChild() != nullptr)
  {
    return node->FirstChild();
  }
  while (node != top && node->NextSibling() == nullptr)
  {
    node = node->Parent();
  }
  return node == top ? nullptr : node->NextSibling();
}

std::string trimmed(const std::string & text)
{
  std::size_t first = 0;
  std::size_t last = text.size();
  while (first < last && is_space(text[first]))
  {
    ++first;
  }
  while (first < last && is_space(text[last - 1]))
  {
    --last;
  }
  return text.substr(first, last - first);
}

/// The finite numbers that a text consists of; nothing if one of its words is no such number.
std::optional<std::vector<double>> parse_numbers(const std::string & text)
{
  std::vector<double> result;
  std::size_t begin = 0;
  while (begin < text.size())
  {
    if (is_space(text[begin]))
    {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && !is_space(text[end]))
    {
      ++end;
    }
    const std::optional<double> number = parse_number(text.substr(begin, end - begin));
    if (!number)
    {
      return std::nullopt;
    }
    result.push_back(*number);
    begin = end;
  }
  return result;
}

/// Whether one of the words of a text is what C libraries read as not finite.
bool has_non_finite_word(const std::string & text)
{
  static const std::set<std::string> words = {"nan", "inf", "infinity"};
  std::string word;
  for (const char c : text + " ")
  {
    if (!is_space(c))
    {
      word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      continue;
    }
    if (!word.empty() && (word[0] == '-' || word[0] == '+'))
    {
      word.erase(0, 1);
    }
    if (words.count(word) > 0)
    {
      return true;
    }
    word.clear();
  }
  return false;
}

}  // namespace

std::optional<double> parse_number(const std::string & text)
{
  const char * first = text.data();
  const char * last = first + text.size();
  while (first != last && is_space(*first))
  {
    ++first;
  }
  while (first != last && is_space(*(last - 1)))
  {
    --last;
  }
  if (last - first > 1 && *first == '+' && *(first + 1) != '-')
  {
    ++first;
  }
  double value = 0.0;
  const std::from_chars_result result = std::from_chars(first, last, value);
  if (result.ec != std::errc() || result.ptr != last || !std::isfinite(value))
  {
    return std::nullopt;
  }
  return value;
}

std::string show(double value)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << value;
  return text.str();
}

void XmlReader::fail(const std::string & message) const
{
  throw std::invalid_argument(who_ + ": " + message);
}

std::string XmlReader::place(const tinyxml2::XMLElement & element)
{
  for (const tinyxml2::XMLNode * node = &element; node != nullptr; node = node->Parent())
  {
    if (const void * file = node->GetUserData())
    {
      return "in '" + *static_cast<const std::string *>(file) + "': ";
    }
  }
  return "line " + std::to_string(element.GetLineNum()) + ": ";
}

const tinyxml2::XMLElement & XmlReader::parse(
  const std::string & text, tinyxml2::XMLDocument & document) const
{
  if (text.size() > kMaxDocumentBytes)
  {
    fail("the document has " + std::to_string(text.size()) + " bytes; at most 10 MB are read");
  }
  if (text.find('\0') != std::string::npos)
  {
    fail("the document contains a zero byte");
  }
  if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
  {
    std::string reason = tinyxml2::XMLDocument::ErrorIDToName(document.ErrorID());
    if (document.ErrorID() == tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED)
    {
      reason += ": more elements within each other than tinyxml2 reads (" +
                std::to_string(TINYXML2_MAX_ELEMENT_DEPTH) + ")";
    }
    fail(
      std::string("line ") + std::to_string(document.ErrorLineNum()) + ": not well-formed XML (" +
      reason + ")");
  }
  const tinyxml2::XMLElement * root = document.RootElement();
  if (root == nullptr)
  {
    fail("the document has no root element");
  }
  if (root->NextSiblingElement() != nullptr)
  {
    fail(
      std::string("the document has two root elements, <") + root->Name() + "> and <" +
      root->NextSiblingElement()->Name() + ">; one is allowed");
  }
  for (const tinyxml2::XMLNode * node = document.FirstChild(); node != nullptr;
       node = next_node(node, &document))
  {
    if (node->ToUnknown() != nullptr)
    {
      fail(
        "line " + std::to_string(node->GetLineNum()) +
        ": DTDs and entity declarations (<!…>) are not allowed");
    }
    if (node->ToElement() != nullptr)
    {
      check_attributes(*this, *node->ToElement());
    }
  }
  return *root;
}

void XmlReader::refuse_non_finite(
  const tinyxml2::XMLElement & root, const std::set<std::string> & names) const
{
  for (const tinyxml2::XMLNode * node = &root; node != nullptr; node = next_node(node, &root))
  {
    const tinyxml2::XMLElement * element = node->ToElement();
    const tinyxml2::XMLAttribute * a = element ? element->FirstAttribute() : nullptr;
    for (; a != nullptr; a = a->Next())
    {
      if (names.count(a->Name()) == 0 && has_non_finite_word(a->Value()))
      {
        fail(
          place(*element) + "attribute '" + a->Name() + "' of <" + element->Name() + "> '" +
          text(*element, "name").value_or("") + "' is " + quote(a->Value()) +
          "; finite numbers are allowed");
      }
    }
  }
}

std::optional<std::string> XmlReader::text(
  const tinyxml2::XMLElement & element, const char * name) const
{
  const char * value = element.Attribute(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string XmlReader::name(
  const tinyxml2::XMLElement & element, const char * attribute, const std::string & where) const
{
  const std::optional<std::string> value = text(element, attribute);
  if (!value || value->empty())
  {
    fail(
      place(element) + where + ": <" + element.Name() + "> needs the attribute '" + attribute +
      "', not empty");
  }
  return *value;
}

std::optional<std::vector<double>> XmlReader::numbers(
  const tinyxml2::XMLElement & element, const char * name, const std::string & where) const
{
  const std::optional<std::string> value = text(element, name);
  if (!value)
  {
    return std::nullopt;
  }
  std::optional<std::vector<double>> result = parse_numbers(*value);
  if (!result)
  {
    fail(
      where + ": attribute '" + name + "' of <" + element.Name() + "> is " + quote(*value) +
      "; finite numbers of double precision are allowed");
  }
  return result;
}

double XmlReader::number(
  const tinyxml2::XMLElement & element, const char * name, const std::string & where,
  std::optional<double> fallback) const
{
  const std::optional<std::vector<double>> values = numbers(element, name, where);
  if (!values)
  {
    if (!fallback)
    {
      fail(where + ": <" + element.Name() + "> needs the attribute '" + name + "', a number");
    }
    return *fallback;
  }
  if (values->size() != 1)
  {
    fail(
      where + ": attribute '" + name + "' of <" + element.Name() + "> is " +
      quote(*text(element, name)) + "; one finite number is allowed");
  }
  return values->front();
}

Eigen::Vector3d XmlReader::vector3(
  const tinyxml2::XMLElement & element, const char * name, const std::string & where,
  const Eigen::Vector3d & fallback) const
{
  const std::optional<std::vector<double>> values = numbers(element, name, where);
  if (!values)
  {
    return fallback;
  }
  if (values->size() != 3)
  {
    fail(
      where + ": attribute '" + name + "' of <" + element.Name() + "> is " +
      quote(*text(element, name)) + "; three finite numbers are allowed");
  }
  return Eigen::Vector3d((*values)[0], (*values)[1], (*values)[2]);
}

std::string XmlReader::content(
  const tinyxml2::XMLElement & element, const std::string & where) const
{
  std::string text;
  for (const tinyxml2::XMLNode * node = element.FirstChild(); node; node = node->NextSibling())
  {
    if (node->ToElement() != nullptr)
    {
      fail(
        where + ": <" + element.Name() + "> has the element <" + node->Value() +
        "> inside; only text is allowed");
    }
    text += node->ToText() != nullptr ? node->Value() : "";
  }
  return trimmed(text);
}

std::vector<double> XmlReader::content_numbers(
  const tinyxml2::XMLElement & element, const std::string & where) const
{
  const std::string value = content(element, where);
  const std::optional<std::vector<double>> result = parse_numbers(value);
  if (!result)
  {
    fail(
      where + ": <" + element.Name() + "> is " + quote(value) +
      "; finite numbers of double precision are allowed");
  }
  return *result;
}

double XmlReader::content_number(
  const tinyxml2::XMLElement & element, const std::string & where) const
{
  const std::vector<double> values = content_numbers(element, where);
  if (values.size() != 1)
  {
    fail(
      where + ": <" + element.Name() + "> is " + quote(content(element, where)) +
      "; one finite number is allowed");
  }
  return values.front();
}

const tinyxml2::XMLElement * XmlReader::child(
  const tinyxml2::XMLElement & element, const char * name, const std::string & where) const
{
  const tinyxml2::XMLElement * found = element.FirstChildElement(name);
  if (found != nullptr && found->NextSiblingElement(name) != nullptr)
  {
    fail(where + ": there are several <" + name + "> elements; one is allowed");
  }
  return found;
}

Eigen::Vector3d XmlReader::unit(const Eigen::Vector3d & axis, const std::string & where) const
{
  const double length = axis.stableNorm();
  if (!(length > 1e-9) || !std::isfinite(length))
  {
    fail(
      where + ": the axis is (" + show(axis.x()) + ", " + show(axis.y()) + ", " + show(axis.z()) +
      "); its length must be finite and above 0");
  }
  return axis / length;
}

double XmlReader::not_negative(double value, const std::string & what) const
{
  if (!(value >= 0.0))
  {
    fail(what + " is " + show(value) + "; it must not be negative");
  }
  return value;
}

}  // namespace constrained_dynamics
