// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "formula.hpp"

namespace invariance
{

/// A place: rotation and position in the parent.
struct Placement
{
  Rotation rotation = identity3();
  RealTriple position = zero3();
};
Placement operator*(const Placement & a, const Placement & b);

/// A scenario file with its parameters and definitions; `${…}` and `repeat` are resolved.
class Document
{
public:
  /// @throw Unsupported for keys that the judge does not know.
  explicit Document(const std::string & file);
  /// A scenario in memory; names of robot files are relative to the folder.
  Document(const YAML::Node & root, const std::string & folder);

  YAML::Node system;
  std::vector<YAML::Node> constraints;
  std::vector<YAML::Node> events;
  YAML::Node stabilisation;
  YAML::Node options;
  YAML::Node run;
  Names names;

  Real number(const YAML::Node & node) const;
  Real number(const YAML::Node & map, const std::string & key, const Real & otherwise) const;
  bool truth(const YAML::Node & map, const std::string & key, bool otherwise) const;
  RealTriple triple(const YAML::Node & node) const;
  RealTriple triple(
    const YAML::Node & map, const std::string & key, const RealTriple & otherwise) const;
  Placement pose(const YAML::Node & map, const std::string & key) const;
  /// Items of a list of the system, `repeat` expanded; none where there is no such key.
  std::vector<YAML::Node> items(const YAML::Node & list) const;
  /// The text of a description: the string itself, or the file that it names.
  std::string description(const std::string & text) const;

private:
  YAML::Node substitute(const YAML::Node & node, const Names & names) const;
  std::string folder_;
};

/// @throw Unsupported naming the first key of the map that is not among `known`.
void require_known(
  const YAML::Node & map, const std::string & where, const std::vector<std::string> & known);
std::string text_of(const YAML::Node & map, const std::string & key, const std::string & otherwise);

}  // namespace invariance
