// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "scenario/scenario_tree.hpp"

namespace constrained_dynamics
{

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
        fail_at(source_, node.line, "a key that is not a name: " + node.preview());
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

}  // namespace

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

}  // namespace constrained_dynamics
