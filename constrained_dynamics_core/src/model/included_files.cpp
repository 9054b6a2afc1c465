// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/included_files.hpp"

#include <algorithm>
#include <filesystem>

#include "model/robot_xml.hpp"

namespace constrained_dynamics
{

namespace fs = std::filesystem;

namespace
{

constexpr int kMaxIncludeDepth = 8;

/// Whether a resolved path is below a resolved folder.
bool is_below(const fs::path & path, const fs::path & folder)
{
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

void IncludedFiles::insert(tinyxml2::XMLDocument & document)
{
  collect(*document.RootElement(), robot_.folder, 1);
  while (!open_.empty())
  {
    const Open next = open_.front();
    open_.pop_front();
    insert_file(next);
  }
}

// Depth first without recursion: documents may be as deep as tinyxml2 reads them.
void IncludedFiles::collect(tinyxml2::XMLElement & element, const std::string & folder, int depth)
{
  std::list<tinyxml2::XMLElement *> left = {&element};
  while (!left.empty())
  {
    tinyxml2::XMLElement * next = left.front();
    left.pop_front();
    if (std::string(next->Name()) == "include")
    {
      open_.push_back({next, folder, depth});
    }
    for (auto * child = next->FirstChildElement(); child; child = child->NextSiblingElement())
    {
      left.push_back(child);
    }
  }
}

std::string IncludedFiles::find(const std::string & name, const std::string & folder) const
{
  const std::string who = "<include> of '" + name + "'";
  if (robot_.folder.empty())
  {
    xml_.fail(who + ": the document is not a file, so that no folder is known to look for it");
  }
  std::error_code error;
  const fs::path root = fs::canonical(robot_.folder, error);
  for (const std::string & from : {robot_.folder, folder})
  {
    const fs::path path = fs::canonical(fs::path(from) / name, error);
    if (error || !fs::is_regular_file(path, error))
    {
      continue;
    }
    if (!is_below(path, root))
    {
      xml_.fail(
        who +
        ": it is outside of the folder of the document; allowed are files in that folder "
        "and below it");
    }
    return path.string();
  }
  xml_.fail(who + ": there is no such file in the folder of the document");
}

std::string IncludedFiles::read(
  const std::string & name, const std::string & folder, int depth, std::string & path)
{
  if (depth > kMaxIncludeDepth)
  {
    xml_.fail(
      "<include> of '" + name + "': files are included more than " +
      std::to_string(kMaxIncludeDepth) + " deep; that many are allowed");
  }
  path = find(name, folder);
  const std::string text = read_document_file(path);
  bytes_ += text.size();
  if (bytes_ > kMaxDocumentBytes)
  {
    xml_.fail(
      "<include> of '" + name + "': the document with its included files has " +
      std::to_string(bytes_) + " bytes; at most 10 MB are read");
  }
  return text;
}

void IncludedFiles::insert_file(const Open & open)
{
  tinyxml2::XMLElement & element = *open.element;
  const std::string name = xml_.name(element, "file", "<include>");
  if (!element.NoChildren())
  {
    xml_.fail("<include> of '" + name + "' has elements inside; none are allowed");
  }
  std::string path;
  const std::string text = read(name, open.folder, open.depth, path);
  if (!read_.insert(path).second)
  {
    xml_.fail("<include> of '" + name + "': the file is included twice; once is allowed");
  }
  tinyxml2::XMLDocument document;
  const tinyxml2::XMLElement & root =
    XmlReader(describe(robot_) + ": in '" + name + "'").parse(text, document);
  names_.push_back(name);
  tinyxml2::XMLNode * last = &element;
  tinyxml2::XMLNode & parent = *element.Parent();
  for (const auto * child = root.FirstChildElement(); child; child = child->NextSiblingElement())
  {
    last = parent.InsertAfterChild(last, child->DeepClone(element.GetDocument()));
    last->SetUserData(&names_.back());
    collect(*last->ToElement(), fs::path(path).parent_path().string(), open.depth + 1);
  }
  parent.DeleteChild(&element);
}

}  // namespace constrained_dynamics
