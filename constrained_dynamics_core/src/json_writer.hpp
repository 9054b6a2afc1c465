// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace constrained_dynamics
{

/// Writes JSON with two blanks per level. Numbers have 17 significant digits, so that reading gives
/// the same double; numbers that are not finite become null.
class JsonWriter
{
public:
  JsonWriter & begin_object() { return open('{'); }
  JsonWriter & end_object() { return close('}'); }
  JsonWriter & begin_array() { return open('['); }
  JsonWriter & end_array() { return close(']'); }

  JsonWriter & key(const std::string & name)
  {
    separate();
    text_ += quote(name) + ": ";
    after_key_ = true;
    return *this;
  }

  JsonWriter & value(double x) { return raw(number(x)); }
  JsonWriter & value(long x) { return raw(std::to_string(x)); }
  JsonWriter & value(int x) { return raw(std::to_string(x)); }
  JsonWriter & value(bool flag) { return raw(flag ? "true" : "false"); }
  JsonWriter & value(const std::string & string) { return raw(quote(string)); }
  JsonWriter & value(const char * string) { return raw(quote(string)); }
  /// A JSON value that is written already, with its line ends.
  JsonWriter & value_as_is(const std::string & json)
  {
    separate();
    for (const char c : json)
    {
      text_ += c;
      if (c == '\n')
      {
        text_.append(2 * empty_.size(), ' ');
      }
    }
    while (!text_.empty() && (text_.back() == ' ' || text_.back() == '\n'))
    {
      text_.pop_back();
    }
    return json.empty() ? raw_null() : *this;
  }
  JsonWriter & null() { return raw("null"); }
  JsonWriter & value(const Eigen::Vector3d & vector)
  {
    return raw(
      "[" + number(vector.x()) + ", " + number(vector.y()) + ", " + number(vector.z()) + "]");
  }
  /// A list of rows, one per line.
  JsonWriter & value(const Eigen::MatrixXd & matrix)
  {
    begin_array();
    for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    {
      std::string row;
      for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      {
        row += (j == 0 ? "" : ", ") + number(matrix(i, j));
      }
      raw("[" + row + "]");
    }
    return end_array();
  }
  JsonWriter & value(const std::vector<std::string> & strings)
  {
    begin_array();
    for (const std::string & string : strings)
    {
      value(string);
    }
    return end_array();
  }

  /// key and value in one.
  template <class T>
  JsonWriter & entry(const std::string & name, const T & x)
  {
    return key(name).value(x);
  }
  JsonWriter & null_entry(const std::string & name) { return key(name).null(); }
  /// A map name → number.
  JsonWriter & entry(
    const std::string & name, const std::vector<std::string> & names, const Eigen::VectorXd & x)
  {
    key(name).begin_object();
    for (std::size_t i = 0; i < names.size(); ++i)
    {
      entry(names[i], x(static_cast<Eigen::Index>(i)));
    }
    return end_object();
  }

  /// The text so far.
  const std::string & text() const { return text_; }

private:
  static std::string number(double x)
  {
    if (!std::isfinite(x))
    {
      return "null";
    }
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.17g", x);
    return buffer;
  }

  static std::string quote(const std::string & string)
  {
    std::string result = "\"";
    for (const char c : string)
    {
      const auto code = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\')
      {
        result += '\\';
        result += c;
      }
      else if (code < 0x20 || code == 0x7F)
      {
        char buffer[8];
        std::snprintf(buffer, sizeof(buffer), "\\u%04x", code);
        result += buffer;
      }
      else
      {
        result += c;
      }
    }
    return result + "\"";
  }

  JsonWriter & raw_null()
  {
    text_ += " null";
    return *this;
  }

  void separate()
  {
    if (after_key_)
    {
      after_key_ = false;
      return;
    }
    if (!empty_.empty())
    {
      text_ += empty_.back() ? "\n" : ",\n";
      empty_.back() = false;
      text_.append(2 * empty_.size(), ' ');
    }
  }

  JsonWriter & raw(const std::string & text)
  {
    separate();
    text_ += text;
    return *this;
  }

  JsonWriter & open(char bracket)
  {
    separate();
    text_ += bracket;
    empty_.push_back(true);
    return *this;
  }

  JsonWriter & close(char bracket)
  {
    const bool was_empty = empty_.back();
    empty_.pop_back();
    if (!was_empty)
    {
      text_ += '\n';
      text_.append(2 * empty_.size(), ' ');
    }
    text_ += bracket;
    if (empty_.empty())
    {
      text_ += '\n';
    }
    return *this;
  }

  std::string text_;
  std::vector<bool> empty_;  // one a level: nothing written yet
  bool after_key_ = false;
};

}  // namespace constrained_dynamics
