// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "terminal.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <unistd.h>

#include "output.hpp"

namespace cdyn
{

namespace
{

constexpr const char * kRed = "31";
constexpr const char * kGreen = "32";
constexpr const char * kYellow = "33";
constexpr const char * kBold = "1";

bool has_colours(int descriptor)
{
  const char * off = std::getenv("NO_COLOR");
  const char * terminal = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (off == nullptr || *off == '\0') && terminal != nullptr &&
         std::strcmp(terminal, "dumb") != 0;
}

std::string painted(const std::string & text, const char * colour)
{
  return std::string("\x1b[") + colour + "m" + text + "\x1b[0m";
}

bool begins(const std::string & line, const char * word)
{
  return line.compare(0, std::strlen(word), word) == 0;
}

std::string painted_line(const std::string & line)
{
  if (begins(line, "warning"))
  {
    return painted(line, kYellow);
  }
  if (begins(line, "status "))
  {
    const bool is_ok = line.size() >= 3 && line.compare(line.size() - 3, 3, " ok") == 0;
    return painted(line, is_ok ? kGreen : kRed);
  }
  // Headings of tables of ranges.
  const bool is_heading = line.size() >= 3 && line.compare(line.size() - 3, 3, "rms") == 0;
  return is_heading ? painted(line, kBold) : line;
}

void tell(const std::string & head, const char * colour, const std::string & text)
{
  std::cerr << (has_colours(STDERR_FILENO) ? painted(head, colour) : head) << " " << text << "\n";
}

}  // namespace

void write_report(const std::string & text)
{
  if (!has_colours(STDOUT_FILENO))
  {
    write_out(text);
    return;
  }
  std::string result;
  for (std::size_t begin = 0; begin < text.size();)
  {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += painted_line(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  write_out(result);
}

void complain(const std::string & text) { tell("cdyn:", kRed, text); }

void warn(const std::vector<std::string> & warnings)
{
  for (const std::string & warning : warnings)
  {
    tell("cdyn: warning:", kYellow, warning);
  }
}

}  // namespace cdyn
