// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/status.hpp"
#include "json_writer.hpp"

namespace cdyn
{

/// A number for people; "n/a" for what is not finite.
std::string format(double value, int digits = 6);

/// A number that reads back as the same double; nothing for what is not finite.
std::string csv_number(double value);

/// Blanks behind a text up to a width in characters, one blank at least.
std::string pad(const std::string & text, std::size_t width);

/// Writes to the standard output. A reader that went away is no error.
/// @throw std::runtime_error if writing fails otherwise.
void write_out(const std::string & text);

/// A file (or "-", the standard output) that is opened before the work starts and keeps what it
/// holds until the first text is written.
class OutputFile
{
public:
  /// @param path empty: nothing is written.
  /// @param option for messages, e.g. "--csv". @param forbidden a file that must not be
  /// overwritten.
  /// @throw std::invalid_argument naming a path that cannot be written.
  OutputFile(const std::string & path, const std::string & option, const std::string & forbidden);
  /// A file that was made and never written to is taken away again.
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile & operator=(const OutputFile &) = delete;

  bool is_open() const { return !path_.empty(); }
  /// @throw std::invalid_argument if both are the same file.
  void check_differs(const OutputFile & other) const;
  /// Empties the file: from here on its old content is gone.
  void begin();
  void write(const std::string & text);
  /// @throw std::runtime_error if something could not be written.
  void close();

private:
  std::string path_;
  std::string option_;
  std::FILE * file_ = nullptr;
  bool is_new_ = false;
  bool has_begun_ = false;
};

/// What was found at one state; the numbers are in the workspace.
struct SolvedState
{
  constrained_dynamics::Status status = constrained_dynamics::Status::kOk;
  const constrained_dynamics::State & state;
  const Eigen::VectorXd & inputs;
  const constrained_dynamics::Workspace & workspace;
  const constrained_dynamics::RankReport * rank = nullptr;
};

/// "a, b and c".
std::string list(const std::vector<std::string> & words);
/// Names of rows, the first eight and how many more.
std::string list_rows(
  const constrained_dynamics::ConstraintSet & set, const std::vector<int> & rows);

/// What to do about a status that ends a run or a solve, beginning with a colon; empty where there
/// is nothing to say.
std::string advice(constrained_dynamics::Status status);

/// The entries of one state, in an object that is open.
void write_state(
  constrained_dynamics::JsonWriter & json, const constrained_dynamics::Scenario & scenario,
  const SolvedState & solved);

/// `redundant_rows` and `dependencies`.
void write_dependencies(
  constrained_dynamics::JsonWriter & json, const constrained_dynamics::ConstraintSet & set,
  const constrained_dynamics::RankReport & report);

/// "row = 2 · other + …" for people.
std::string describe(
  const constrained_dynamics::ConstraintSet & set,
  const constrained_dynamics::RankReport::Dependency & dependency);

/// Name of a wrench pair: the constraint, with an index where it has several.
std::string wrench_name(const constrained_dynamics::ConstraintSet & set, int constraint, int pair);

}  // namespace cdyn
