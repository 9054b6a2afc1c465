// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <string>
#include <vector>

namespace tinyxml2
{
class XMLElement;
}  // namespace tinyxml2

namespace constrained_dynamics
{

/// What an element of a format may hold. All that the format allows is named, whether it is read or
/// not: names that are left over are misspelt.
struct KnownElement
{
  std::vector<std::string> attributes;
  /// Elements inside, with the entry of the vocabulary that describes each; empty: what is inside
  /// is not read, so that its names do not matter.
  std::map<std::string, std::string> children;
};

/// The elements of a format by entry. An entry has the name of its element, or "around/name" where
/// elements of one name differ.
using Vocabulary = std::map<std::string, KnownElement>;

/// One entry for each line "entry: attribute … > child …". A child is described by the entry
/// "entry/child" if there is one, otherwise by "child", otherwise it is not entered.
Vocabulary make_vocabulary(const std::vector<std::string> & lines);

/// The elements of MJCF and SDF that are read.
const Vocabulary & mjcf_vocabulary();
const Vocabulary & sdf_vocabulary();

/// Warnings that name the attributes and elements below `root` that the format does not know, each
/// name once, and what may have been meant. Names with a prefix ("drake:joint", "xmlns:gz") belong
/// to others and are left alone.
std::vector<std::string> warn_of_unknown_names(
  const tinyxml2::XMLElement & root, const std::string & entry, const Vocabulary & known);

}  // namespace constrained_dynamics
