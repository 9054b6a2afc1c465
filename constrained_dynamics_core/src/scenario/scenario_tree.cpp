// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace constrained_dynamics
{

const ScenarioNode * ScenarioNode::find(const std::string & key) const
{
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &children[static_cast<std::size_t>(found - keys.begin())];
}

ScenarioNode * ScenarioNode::find(const std::string & key)
{
  return const_cast<ScenarioNode *>(static_cast<const ScenarioNode *>(this)->find(key));
}

std::string ScenarioNode::preview() const
{
  constexpr std::size_t kLongest = 80;
  switch (kind)
  {
    case Kind::kNull:
      return "(nothing)";
    case Kind::kList:
      return "(a list of " + std::to_string(children.size()) + ")";
    case Kind::kMap:
      return "(a map of " + std::to_string(children.size()) + ")";
    case Kind::kScalar:
      break;
  }
  std::string shown;
  for (const char c : text)
  {
    shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    if (shown.size() >= kLongest)
    {
      // Cut between characters of UTF-8, not inside one.
      while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0U) == 0x80U)
      {
        shown.pop_back();
      }
      if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0x80U)
      {
        shown.pop_back();
      }
      return shown + "…";
    }
  }
  return shown.empty() ? "(empty)" : shown;
}

std::string ScenarioBudget::spend(std::size_t nodes, std::size_t bytes)
{
  nodes_ += nodes;
  bytes_ += bytes;
  if (nodes_ > kMaxScenarioNodes)
  {
    return "more than " + std::to_string(kMaxScenarioNodes) + " nodes";
  }
  if (bytes_ > kMaxScenarioText)
  {
    return "more than " + std::to_string(kMaxScenarioText) + " bytes of text";
  }
  return {};
}

namespace
{

std::pair<std::size_t, std::size_t> size_of(const ScenarioNode & node)
{
  std::size_t nodes = 1;
  std::size_t bytes = node.text.size();
  for (const std::string & key : node.keys)
  {
    bytes += key.size();
  }
  for (const ScenarioNode & child : node.children)
  {
    const auto size = size_of(child);
    nodes += size.first;
    bytes += size.second;
  }
  return {nodes, bytes};
}

[[noreturn]] void fail_at(const std::string & source, int line, const std::string & what)
{
  throw std::invalid_argument(source + ":" + std::to_string(line) + ": " + what);
}

/// Builds the tree from the parser's events, so that nothing is hidden (yaml-cpp's own nodes drop
/// duplicate keys) and nothing grows without bound.
class TreeBuilder : public YAML::EventHandler
{
public:
  explicit TreeBuilder(std::string source) : source_(std::move(source)) {}

  bool has_root() const { return has_root_; }
  ScenarioNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark & mark, YAML::anchor_t anchor) override
  {
    ScenarioNode node;
    node.line = mark.line + 1;
    finish(std::move(node), anchor, true);
  }
  void OnAlias(const YAML::Mark & mark, YAML::anchor_t anchor) override
  {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
    {
      fail_at(source_, mark.line + 1, "an alias to a node that contains it");
    }
    const auto size = size_of(found->second);
    spend(size.first, size.second, mark.line + 1);
    if (static_cast<int>(stack_.size()) + depth_of(found->second) > kMaxScenarioDepth)
    {
      refuse_depth(mark.line + 1);
    }
    finish(ScenarioNode(found->second), 0, false);
  }
  void OnScalar(
    const YAML::Mark & mark, const std::string & tag, YAML::anchor_t anchor,
    const std::string & value) override
  {
    ScenarioNode node;
    node.kind = ScenarioNode::Kind::kScalar;
    node.text = value;
    node.line = mark.line + 1;
    check_tag(tag, node.line);
    finish(std::move(node), anchor, true);
  }
  void OnSequenceStart(
    const YAML::Mark & mark, const std::string & tag, YAML::anchor_t anchor,
    YAML::EmitterStyle::value) override
  {
    push(ScenarioNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { pop(); }
  void OnMapStart(
    const YAML::Mark & mark, const std::string & tag, YAML::anchor_t anchor,
    YAML::EmitterStyle::value) override
  {
    push(ScenarioNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { pop(); }

private:
  struct Level
  {
    ScenarioNode node;
    YAML::anchor_t anchor = 0;
    std::map<std::string, int> lines;  // of the keys
    std::string key;
    bool has_key = false;
  };

  static int depth_of(const ScenarioNode & node)
  {
    int depth = 0;
    for (const ScenarioNode & child : node.children)
    {
      depth = std::max(depth, 1 + depth_of(child));
    }
    return depth;
  }

  void check_tag(const std::string & tag, int line) const
  {
    if (!tag.empty() && tag != "?" && tag != "!")
    {
      fail_at(source_, line, "tag " + tag + ": allowed: values without tags");
    }
  }

  [[noreturn]] void refuse_depth(int line) const
  {
    fail_at(
      source_, line,
      "nested deeper than " + std::to_string(kMaxScenarioDepth) + " levels, the most allowed");
  }

  void spend(std::size_t nodes, std::size_t bytes, int line)
  {
    const std::string problem = budget_.spend(nodes, bytes);
    if (!problem.empty())
    {
      fail_at(source_, line, problem + ", the most allowed");
    }
  }

  void push(
    ScenarioNode::Kind kind, const YAML::Mark & mark, const std::string & tag,
    YAML::anchor_t anchor)
  {
    const int line = mark.line + 1;
    check_tag(tag, line);
    if (static_cast<int>(stack_.size()) >= kMaxScenarioDepth)
    {
      refuse_depth(line);
    }
    if (expects_key())
    {
      fail_at(
        source_, line, "a list or map as a key (or a bracket that is not closed); allowed: a name");
    }
    stack_.emplace_back();
    stack_.back().node.kind = kind;
    stack_.back().node.line = line;
    stack_.back().anchor = anchor;
  }

  void pop()
  {
    Level level = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(level.node), level.anchor, true);
  }

  bool expects_key() const
  {
    return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key;
  }

  void finish(ScenarioNode node, YAML::anchor_t anchor, bool is_new)
  {
    if (is_new)
    {
      spend(1, node.text.size(), node.line);
    }
    if (anchor != 0)
    {
      const auto size = size_of(node);
      spend(size.first, size.second, node.line);
      anchors_[anchor] = node;
    }
    if (stack_.empty())
    {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Level & level = stack_.back();
    if (expects_key())
    {
      if (!node.is_scalar())
      {
        fail_at(source_, node.line, "a key that is no name: " + node.preview());
      }
      const auto inserted = level.lines.insert({node.text, node.line});
      if (!inserted.second)
      {
        fail_at(
          source_, node.line,
          "key '" + node.preview() + "' appears twice, first in line " +
            std::to_string(inserted.first->second));
      }
      level.key = std::move(node.text);
      level.has_key = true;
      return;
    }
    if (level.node.is_map())
    {
      level.node.keys.push_back(std::move(level.key));
      level.has_key = false;
    }
    level.node.children.push_back(std::move(node));
  }

  std::string source_;
  ScenarioBudget budget_;
  std::vector<Level> stack_;
  std::map<YAML::anchor_t, ScenarioNode> anchors_;
  ScenarioNode root_;
  bool has_root_ = false;
};

void refuse_tabs(const std::string & text, const std::string & source)
{
  int line = 1;
  bool indentation = true;
  for (const char c : text)
  {
    if (c == '\n')
    {
      ++line;
      indentation = true;
    }
    else if (c == '\t' && indentation)
    {
      fail_at(source, line, "a tab in the indentation; allowed: blanks");
    }
    else if (c != ' ')
    {
      indentation = false;
    }
  }
}

/// Any one YAML document; null root for an empty one.
ScenarioNode parse_document(const std::string & text, const std::string & source)
{
  try
  {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TreeBuilder builder(source);
    parser.HandleNextDocument(builder);
    ScenarioNode root = builder.take_root();
    TreeBuilder second(source);
    if (parser.HandleNextDocument(second))
    {
      const int line = second.has_root() ? second.take_root().line : root.line;
      fail_at(source, line, "a second YAML document; allowed: one");
    }
    return root;
  }
  catch (const YAML::Exception & error)
  {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const std::string column =
      error.mark.is_null() ? "" : " (column " + std::to_string(error.mark.column + 1) + ")";
    fail_at(source, line, "not readable as YAML: " + error.msg + column);
  }
}

/// The parts of a path; back-quoted parts may contain dots.
std::vector<std::string> split_path(const std::string & path)
{
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : path)
  {
    if (c == '`')
    {
      quoted = !quoted;
    }
    else if (c == '.' && !quoted)
    {
      parts.emplace_back();
    }
    else
    {
      parts.back() += c;
    }
  }
  if (quoted)
  {
    throw std::invalid_argument("a backquote is not closed");
  }
  if (parts.size() > static_cast<std::size_t>(kMaxScenarioDepth))
  {
    throw std::invalid_argument("the path is too long");
  }
  for (const std::string & part : parts)
  {
    if (part.empty())
    {
      throw std::invalid_argument("an empty part in the path");
    }
  }
  return parts;
}

/// Position of the first '=' outside backquotes.
std::size_t find_assignment(const std::string & assignment)
{
  bool quoted = false;
  for (std::size_t i = 0; i < assignment.size(); ++i)
  {
    if (assignment[i] == '`')
    {
      quoted = !quoted;
    }
    else if (assignment[i] == '=' && !quoted)
    {
      return i;
    }
  }
  return std::string::npos;
}

/// An item of a list by its `name` or index.
ScenarioNode & find_item(ScenarioNode & list, const std::string & part, const std::string & path)
{
  std::vector<std::string> names;
  for (ScenarioNode & item : list.children)
  {
    const ScenarioNode * name = item.find("name");
    if (name != nullptr && name->is_scalar())
    {
      if (name->text == part)
      {
        return item;
      }
      names.push_back(name->text);
    }
  }
  const bool is_index =
    part.size() <= 6 && part.find_first_not_of("0123456789") == std::string::npos;
  if (is_index && std::stoul(part) < list.children.size())
  {
    return list.children[std::stoul(part)];
  }
  throw std::invalid_argument(
    "'" + path + "' has no item '" + part + "'" + suggest(part, names) + "; or an index below " +
    std::to_string(list.children.size()));
}

/// Turns `x` and `parameters.x` into the path of the map that holds the parameter.
std::vector<std::string> find_parameter(
  const ScenarioNode & root, const std::vector<std::string> & parts)
{
  const std::vector<std::string> & keys = scenario_keys();
  const bool is_short =
    parts.size() == 1 && std::find(keys.begin(), keys.end(), parts[0]) == keys.end();
  const bool is_top = parts.size() == 2 && parts[0] == "parameters";
  const bool is_system = parts.size() == 3 && parts[0] == "system" && parts[1] == "parameters";
  if (!is_short && !is_top && !is_system)
  {
    return parts;
  }
  const std::string & name = parts.back();
  std::vector<std::string> known;
  const ScenarioNode * system = root.find("system");
  const ScenarioNode * top_map = root.find("parameters");
  const ScenarioNode * system_map = system != nullptr ? system->find("parameters") : nullptr;
  if (top_map != nullptr && top_map->find(name) != nullptr)
  {
    return {"parameters", name};
  }
  if (system_map != nullptr && system_map->find(name) != nullptr)
  {
    return {"system", "parameters", name};
  }
  for (const ScenarioNode * map : {top_map, system_map})
  {
    if (map != nullptr)
    {
      known.insert(known.end(), map->keys.begin(), map->keys.end());
    }
  }
  std::string what = "the file has no parameter '" + name + "'";
  if (is_short)
  {
    what = "'" + name + "' is neither a key of the file nor one of its parameters";
    known.insert(known.end(), keys.begin(), keys.end());
  }
  throw std::invalid_argument(what + suggest(name, known));
}

void set_origin(ScenarioNode & node, const std::shared_ptr<const std::string> & origin)
{
  node.origin = origin;
  for (ScenarioNode & child : node.children)
  {
    set_origin(child, origin);
  }
}

}  // namespace

const std::vector<std::string> & scenario_keys()
{
  static const std::vector<std::string> keys = {
    "name",    "description", "parameters",    "definitions", "system", "constraints",
    "inputs",  "formulation", "stabilisation", "initial",     "run",    "options",
    "observe", "servo",       "servo_law",     "events"};
  return keys;
}

std::string suggest(const std::string & name, const std::vector<std::string> & names)
{
  if (names.empty())
  {
    return "; there are none";
  }
  // Edit distance (Levenshtein), of names of a sensible length.
  const auto distance = [](const std::string & a, const std::string & b)
  {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
    {
      row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i)
    {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= b.size(); ++j)
      {
        const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
      }
    }
    return row[b.size()];
  };
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kMostShown = 30;
  std::string nearest;
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    if (name.size() <= kLongest && names[i].size() <= kLongest)
    {
      const std::size_t d = distance(name, names[i]);
      if (d < best)
      {
        best = d;
        nearest = names[i];
      }
    }
    if (i < kMostShown)
    {
      all += (i > 0 ? ", " : "") + names[i];
    }
    else if (i == kMostShown)
    {
      all += ", … (" + std::to_string(names.size()) + " in all)";
    }
  }
  return (nearest.empty() ? "" : ", did you mean '" + nearest + "'?") + ("; allowed: " + all);
}

ScenarioNode parse_scenario(const std::string & text, const std::string & source)
{
  if (text.size() > kMaxScenarioSize)
  {
    throw std::invalid_argument(
      source + ": " + std::to_string(text.size()) + " bytes; allowed: at most " +
      std::to_string(kMaxScenarioSize));
  }
  refuse_tabs(text, source);
  ScenarioNode root = parse_document(text, source);
  if (root.kind == ScenarioNode::Kind::kNull)
  {
    fail_at(source, 1, "the file is empty; allowed: a map with the key 'system'");
  }
  if (!root.is_map())
  {
    fail_at(source, root.line, root.preview() + ": allowed: a map with the key 'system'");
  }
  return root;
}

void apply_override(ScenarioNode & root, const std::string & assignment)
{
  const auto origin = std::make_shared<const std::string>("--set " + assignment);
  const std::size_t equals = find_assignment(assignment);
  if (equals == std::string::npos || equals == 0)
  {
    throw std::invalid_argument(*origin + ": allowed: PATH=VALUE");
  }
  try
  {
    const std::vector<std::string> parts =
      find_parameter(root, split_path(assignment.substr(0, equals)));
    const std::string text = assignment.substr(equals + 1);
    if (text.size() > kMaxScenarioSize)
    {
      throw std::invalid_argument("the value is too long");
    }
    ScenarioNode value = parse_document(text, "value");
    set_origin(value, origin);

    ScenarioNode * node = &root;
    std::string path;
    for (std::size_t i = 0; i < parts.size(); ++i)
    {
      if (node->is_list())
      {
        node = &find_item(*node, parts[i], path);
      }
      else
      {
        if (node->is_scalar())
        {
          throw std::invalid_argument("'" + path + "' is a value and has no keys");
        }
        node->kind = ScenarioNode::Kind::kMap;
        ScenarioNode * child = node->find(parts[i]);
        if (child == nullptr)
        {
          node->keys.push_back(parts[i]);
          node->children.emplace_back();
          child = &node->children.back();
          child->origin = origin;
        }
        node = child;
      }
      path += (i > 0 ? "." : "") + parts[i];
    }
    *node = std::move(value);
  }
  catch (const std::invalid_argument & error)
  {
    throw std::invalid_argument(*origin + ": " + error.what());
  }
}

}  // namespace constrained_dynamics
