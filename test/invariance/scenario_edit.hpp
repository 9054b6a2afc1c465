// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include <Eigen/Geometry>

namespace invariance
{

struct Mechanism;

/// A node that is copied like a value. (Copies of a YAML::Node share what they hold, and an
/// assignment changes all of them.)
class OwnNode : public YAML::Node
{
public:
  OwnNode() = default;
  OwnNode(const YAML::Node & node) : YAML::Node(YAML::Clone(node)) {}
  OwnNode(const OwnNode & other) : YAML::Node(YAML::Clone(other)) {}
  OwnNode & operator=(const OwnNode & other)
  {
    return *this = static_cast<const YAML::Node &>(other);
  }
  OwnNode & operator=(const YAML::Node & node)
  {
    reset(YAML::Clone(node));
    return *this;
  }
};

/// A scenario with its state, as it is given to `cdyn`.
struct Case
{
  std::string source;  ///< where it comes from: "tree", "scenario four_bar", …
  OwnNode scenario;
  std::vector<std::string> arguments;          ///< of `cdyn solve`, besides the file
  std::shared_ptr<const Mechanism> mechanism;  ///< of generated cases, else null
};

/// A pose as scenario files and URDF write it.
struct Pose
{
  Eigen::Vector3d xyz = Eigen::Vector3d::Zero();
  Eigen::Vector3d rpy = Eigen::Vector3d::Zero();

  Eigen::Isometry3d isometry() const;
};

Pose pose_of(const Eigen::Isometry3d & isometry);

// ---- nodes -------------------------------------------------------------------------------------

/// 17 significant digits.
std::string text(double value);
YAML::Node node(const Eigen::Vector3d & vector);
YAML::Node node(const Pose & pose);
YAML::Node flow_list(const std::vector<std::string> & words);

/// Numbers of a node of a generated scenario or of a published one without formulas.
/// @throw YAML::Exception where it is a formula
Eigen::Vector3d vector_from(const YAML::Node & node);
Pose pose_from(const YAML::Node & node);  ///< missing keys are zeros

/// Whether all numbers in the node are plain numbers, not formulas.
bool is_plain(const YAML::Node & node);

std::string string_of(const YAML::Node & map, const char * key, const std::string & otherwise);
std::vector<std::string> strings_of(const YAML::Node & list);

// ---- scenarios ---------------------------------------------------------------------------------

/// Reads a scenario file; names of robot files become absolute; keys that only observe are removed.
YAML::Node load_scenario(const std::string & file);

/// Writes it.
void write_scenario(const YAML::Node & scenario, const std::string & file);

/// Adds a frame to the system; the parent may be `world`.
void add_frame(
  YAML::Node & scenario, const std::string & name, const std::string & parent, const Pose & pose);

/// A name that does not occur in the text of the scenario.
std::string unused_name(const YAML::Node & scenario, const std::string & stem);

/// Whether any string of the node has this word.
bool mentions(const YAML::Node & node, const std::string & word);

/// Replaces an identifier in all the strings (values, not keys) below the node.
void replace_word(YAML::Node node, const std::string & word, const std::string & by);

/// The index of the constraint with a name, −1: none.
int constraint_index(const YAML::Node & scenario, const std::string & name);

/// The constraints' rows (labels), as the documentation of scenario files states them; empty for a
/// type that is not known here.
std::vector<std::string> row_labels(const YAML::Node & constraint);

}  // namespace invariance
