// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/text_tree.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics
{

namespace
{

constexpr std::size_t kMostNodes = 100000;

[[noreturn]] void fail(
  const std::string & source, const YAML::Mark & mark, const std::string & what)
{
  throw std::invalid_argument(
    source + ":" + std::to_string(mark.is_null() ? 1 : mark.line + 1) + ": " + what);
}

/// Copies what yaml-cpp read; aliases become copies, so that a change at one place stays there.
class Copier
{
public:
  explicit Copier(const std::string & source) : source_(source) {}

  TextTree copy(const YAML::Node & node)
  {
    if (++count_ > kMostNodes)
    {
      fail(source_, node.Mark(), "more than " + std::to_string(kMostNodes) + " nodes");
    }
    TextTree tree;
    switch (node.Type())
    {
      case YAML::NodeType::Scalar:
        return TextTree::value(node.Scalar());
      case YAML::NodeType::Sequence:
        tree = TextTree::list();
        for (const YAML::Node & item : node)
        {
          tree.children.push_back(copy(item));
        }
        return tree;
      case YAML::NodeType::Map:
        tree = TextTree::map();
        for (const auto & entry : node)
        {
          add(entry.first, entry.second, tree);
        }
        return tree;
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        break;
    }
    return tree;
  }

private:
  void add(const YAML::Node & key, const YAML::Node & value, TextTree & map)
  {
    if (!key.IsScalar())
    {
      fail(source_, key.Mark(), "a key that is not a string");
    }
    if (map.find(key.Scalar()) != nullptr)
    {
      fail(source_, key.Mark(), "the key '" + key.Scalar() + "' appears twice");
    }
    map.keys.push_back(key.Scalar());
    map.children.push_back(copy(value));
  }

  const std::string & source_;
  std::size_t count_ = 0;
};

/// A text in double quotes, as JSON and YAML read it.
std::string quote(const std::string & text)
{
  std::string result = "\"";
  for (const char c : text)
  {
    switch (c)
    {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        {
          char code[8];
          std::snprintf(code, sizeof(code), "\\x%02x", static_cast<unsigned>(c));
          result += code;
        }
        else
        {
          result += c;
        }
    }
  }
  return result + "\"";
}

void write(const TextTree & tree, const std::string & indent, std::string & out)
{
  if (tree.is_null())
  {
    out += " ~\n";
  }
  else if (tree.is_value())
  {
    out += " " + quote(tree.text) + "\n";
  }
  else if (tree.children.empty())
  {
    out += tree.is_list() ? " []\n" : " {}\n";
  }
  else
  {
    out += "\n";
    for (std::size_t i = 0; i < tree.children.size(); ++i)
    {
      out += indent + (tree.is_list() ? "-" : quote(tree.keys[i]) + ":");
      write(tree.children[i], indent + "  ", out);
    }
  }
}

}  // namespace

TextTree TextTree::value(std::string text)
{
  TextTree tree;
  tree.kind = Kind::kValue;
  tree.text = std::move(text);
  return tree;
}

const TextTree * TextTree::find(const std::string & key) const
{
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &children[static_cast<std::size_t>(found - keys.begin())];
}

TextTree * TextTree::find(const std::string & key)
{
  return const_cast<TextTree *>(std::as_const(*this).find(key));
}

TextTree & TextTree::at(const std::string & key)
{
  if (TextTree * child = find(key))
  {
    return *child;
  }
  keys.push_back(key);
  return children.emplace_back();
}

void TextTree::erase(const std::string & key)
{
  const auto found = std::find(keys.begin(), keys.end(), key);
  if (found != keys.end())
  {
    children.erase(children.begin() + (found - keys.begin()));
    keys.erase(found);
  }
}

TextTree read_yaml(const std::string & text, const std::string & source)
{
  try
  {
    return Copier(source).copy(YAML::Load(text));
  }
  catch (const YAML::Exception & error)
  {
    fail(source, error.mark, "not readable as YAML: " + error.msg);
  }
}

std::string write_yaml(const TextTree & tree)
{
  std::string out;
  write(tree, "", out);
  return out.substr(out.find_first_not_of(" \n"));
}

}  // namespace constrained_dynamics
