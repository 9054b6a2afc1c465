// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace tinyxml2
{
class XMLDocument;
class XMLElement;
}  // namespace tinyxml2

namespace constrained_dynamics
{

/// Reads checked numbers out of XML elements. Messages start with `who`.
class XmlReader
{
public:
  explicit XmlReader(std::string who) : who_(std::move(who)) {}

  /// Parses a document and checks its frame: size, one root element, no DTD, no duplicate
  /// attributes.
  const tinyxml2::XMLElement & parse(
    const std::string & text, tinyxml2::XMLDocument & document) const;

  /// @throw std::invalid_argument "who: message".
  [[noreturn]] void fail(const std::string & message) const;

  /// Where an element is, to start a message: "line 7: ", or "in 'legs.xml': " if an element around
  /// it was included from a file.
  static std::string place(const tinyxml2::XMLElement & element);

  /// Refuses an attribute with the word nan or inf anywhere below `root`, but for the `names`.
  void refuse_non_finite(
    const tinyxml2::XMLElement & root, const std::set<std::string> & names) const;

  /// The attribute, or nothing.
  std::optional<std::string> text(const tinyxml2::XMLElement & element, const char * name) const;
  /// The attribute, which must be there and not be empty.
  std::string name(
    const tinyxml2::XMLElement & element, const char * attribute, const std::string & where) const;
  /// All finite numbers of an attribute; nothing if the attribute is missing.
  std::optional<std::vector<double>> numbers(
    const tinyxml2::XMLElement & element, const char * name, const std::string & where) const;
  /// One finite number; `fallback` if the attribute is missing, an error if there is no fallback.
  double number(
    const tinyxml2::XMLElement & element, const char * name, const std::string & where,
    std::optional<double> fallback = std::nullopt) const;
  /// Three finite numbers; `fallback` if the attribute is missing.
  Eigen::Vector3d vector3(
    const tinyxml2::XMLElement & element, const char * name, const std::string & where,
    const Eigen::Vector3d & fallback) const;
  /// The text of an element that has no elements inside, without the white space around it.
  std::string content(const tinyxml2::XMLElement & element, const std::string & where) const;
  /// All finite numbers of the text of an element.
  std::vector<double> content_numbers(
    const tinyxml2::XMLElement & element, const std::string & where) const;
  /// The one finite number of the text of an element.
  double content_number(const tinyxml2::XMLElement & element, const std::string & where) const;
  /// The child element of that name, or null; an error if there are several.
  const tinyxml2::XMLElement * child(
    const tinyxml2::XMLElement & element, const char * name, const std::string & where) const;
  /// A unit vector along `axis`; an error if its length is 0.
  Eigen::Vector3d unit(const Eigen::Vector3d & axis, const std::string & where) const;
  /// `value` if it is not negative.
  double not_negative(double value, const std::string & what) const;

private:
  std::string who_;
};

/// One finite number without anything around it but white space, in the C locale.
std::optional<double> parse_number(const std::string & text);

/// A number as messages show it.
std::string show(double value);

}  // namespace constrained_dynamics
