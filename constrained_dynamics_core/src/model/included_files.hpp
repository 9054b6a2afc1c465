// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <list>
#include <set>
#include <string>

#include <tinyxml2.h>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{

/// Files that a document includes. Only files of the folder of the document and those below it are
/// read; all of them together have at most kMaxDocumentBytes, and they include each other at most 8
/// deep. MJCF: it must outlive the document, because XmlReader::place shows the names of the files.
class IncludedFiles
{
public:
  IncludedFiles(const XmlReader & xml, const RobotDescription & robot)
  : xml_(xml), robot_(robot), bytes_(robot.text.size())
  {
  }

  /// MJCF: puts the elements of the files in the place of every `<include>`. A file may be included
  /// once.
  void insert(tinyxml2::XMLDocument & document);

  /// The text of a file that an element names.
  /// @param folder of the file that the element stands in. @param depth in files, from 1.
  /// @param path gets the resolved path of the file.
  std::string read(
    const std::string & name, const std::string & folder, int depth, std::string & path);

private:
  /// An `<include>` with the folder of the file that it stands in, and how deep that was included.
  struct Open
  {
    tinyxml2::XMLElement * element;
    std::string folder;
    int depth;
  };

  void insert_file(const Open & open);
  /// The file that an element names: in the folder of the document or, as MuJoCo allows it, in that
  /// of the file that the element stands in. Symbolic links are resolved.
  std::string find(const std::string & name, const std::string & folder) const;
  void collect(tinyxml2::XMLElement & element, const std::string & folder, int depth);

  const XmlReader & xml_;
  const RobotDescription & robot_;
  std::list<Open> open_;
  std::list<std::string> names_;
  std::set<std::string> read_;
  std::size_t bytes_;
};

}  // namespace constrained_dynamics
