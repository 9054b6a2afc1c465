// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/xml_vocabulary.hpp"

#include <set>
#include <sstream>
#include <utility>

#include <tinyxml2.h>

#include "model/xml_reader.hpp"
#include "names.hpp"

namespace constrained_dynamics
{
namespace
{

using tinyxml2::XMLElement;

/// Of a document with more unknown names than this, the others are not listed.
constexpr std::size_t kMostWarnings = 20;
/// As much of a name as a message shows.
constexpr std::size_t kShown = 60;

bool is_foreign(const std::string & name)
{
  return name.find(':') != std::string::npos || name == "xmlns";
}

/// Collects the warnings of one document.
class NameCheck
{
public:
  explicit NameCheck(const Vocabulary & known) : known_(known) {}

  std::vector<std::string> run(const XMLElement & root, const std::string & entry)
  {
    // Documents may be nested deeply: no recursion.
    open_.emplace_back(&root, &known_.at(entry));
    while (!open_.empty() && warnings_.size() < kMostWarnings)
    {
      const auto [element, as] = open_.back();
      open_.pop_back();
      check_attributes(*element, *as);
      check_children(*element, *as);
    }
    return std::move(warnings_);
  }

private:
  void check_attributes(const XMLElement & element, const KnownElement & as)
  {
    for (const tinyxml2::XMLAttribute * a = element.FirstAttribute(); a; a = a->Next())
    {
      const std::string name = a->Name();
      if (!is_foreign(name) && !contains(as.attributes, name))
      {
        warn(element, element, "attribute '" + shortened(name) + "'", name, as.attributes);
      }
    }
  }

  void check_children(const XMLElement & element, const KnownElement & as)
  {
    if (as.children.empty())
    {
      return;
    }
    std::vector<std::pair<const XMLElement *, const KnownElement *>> inside;
    for (const XMLElement * e = element.FirstChildElement(); e; e = e->NextSiblingElement())
    {
      const std::string name = e->Name();
      const auto found = as.children.find(name);
      if (found == as.children.end())
      {
        if (!is_foreign(name))
        {
          warn(*e, element, "element <" + shortened(name) + ">", name, names_of(as.children));
        }
      }
      else if (!found->second.empty())
      {
        inside.emplace_back(e, &known_.at(found->second));
      }
    }
    open_.insert(open_.end(), inside.rbegin(), inside.rend());
  }

  static std::string shortened(const std::string & name)
  {
    return name.size() > kShown ? name.substr(0, kShown) + "…" : name;
  }

  static std::vector<std::string> names_of(const std::map<std::string, std::string> & children)
  {
    std::vector<std::string> names;
    for (const auto & [name, entry] : children)
    {
      names.push_back(name);
    }
    return names;
  }

  /// Of what stands at `at` in an element.
  void warn(
    const XMLElement & at, const XMLElement & element, const std::string & what,
    const std::string & name, const std::vector<std::string> & allowed)
  {
    const std::string of = element.Name();
    if (warnings_.size() >= kMostWarnings || !seen_.insert(of + " " + what).second)
    {
      return;
    }
    const char * called = element.Attribute("name");
    const std::vector<std::string> near = nearest_names(name, allowed);
    warnings_.push_back(
      XmlReader::place(at) + what + " of <" + of + ">" +
      (called ? " '" + shortened(called) + "'" : "") + " is not known and not read" +
      (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
  }

  const Vocabulary & known_;
  std::vector<std::pair<const XMLElement *, const KnownElement *>> open_;
  std::set<std::string> seen_;
  std::vector<std::string> warnings_;
};

}  // namespace

Vocabulary make_vocabulary(const std::vector<std::string> & lines)
{
  Vocabulary vocabulary;
  std::map<std::string, std::vector<std::string>> children;
  for (const std::string & line : lines)
  {
    const std::size_t colon = line.find(':');
    const std::string entry = line.substr(0, colon);
    std::istringstream words(line.substr(colon + 1));
    bool inside = false;
    for (std::string word; words >> word;)
    {
      if (word == ">")
      {
        inside = true;
      }
      else
      {
        (inside ? children[entry] : vocabulary[entry].attributes).push_back(word);
      }
    }
    static_cast<void>(vocabulary[entry]);
  }
  for (const auto & [entry, names] : children)
  {
    for (const std::string & name : names)
    {
      const std::string own = entry + "/" + name;
      vocabulary[entry].children[name] = vocabulary.count(own) > 0    ? own
                                         : vocabulary.count(name) > 0 ? name
                                                                      : "";
    }
  }
  return vocabulary;
}

std::vector<std::string> warn_of_unknown_names(
  const XMLElement & root, const std::string & entry, const Vocabulary & known)
{
  return NameCheck(known).run(root, entry);
}

}  // namespace constrained_dynamics
