// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "robot_report.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

std::string format(double value, int digits)
{
  if (!std::isfinite(value))
  {
    return "n/a";
  }
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value + 0.0);  // no -0
  return buffer;
}

std::string csv_number(double value) { return std::isfinite(value) ? format(value, 17) : ""; }

std::string pad(const std::string & text, std::size_t width)
{
  // Width in characters, not bytes; dots above a letter (U+0300 to U+037F) take none.
  const auto count = static_cast<std::size_t>(std::count_if(
    text.begin(), text.end(),
    [](char c)
    {
      const auto byte = static_cast<unsigned char>(c);
      return (byte & 0xC0U) != 0x80U && byte != 0xCCU && byte != 0xCDU;
    }));
  return text + std::string(count < width ? width - count : 1, ' ');
}

void write_out(const std::string & text)
{
  std::size_t done = 0;
  while (done < text.size())
  {
    const ssize_t written = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (written > 0)
    {
      done += static_cast<std::size_t>(written);
    }
    else if (written < 0 && errno == EPIPE)
    {
      return;
    }
    else if (written < 0 && errno != EINTR && errno != EAGAIN)
    {
      throw std::runtime_error(
        std::string("the standard output cannot be written: ") + std::strerror(errno));
    }
  }
}

OutputFile::OutputFile(
  const std::string & path, const std::string & option, const std::string & forbidden)
: path_(path), option_(option)
{
  if (path.empty() || path == "-")
  {
    return;
  }
  std::error_code error;
  if (std::filesystem::equivalent(path, forbidden, error))
  {
    throw std::invalid_argument(option + " " + path + ": would overwrite the scenario itself");
  }
  // Without O_TRUNC: a later option may be refused.
  const int flags = O_WRONLY | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), flags | O_CREAT | O_EXCL, 0666);
  is_new_ = descriptor >= 0;
  descriptor =
    is_new_ || errno != EEXIST ? descriptor : ::open(path.c_str(), flags | O_CREAT, 0666);
  file_ = descriptor >= 0 ? ::fdopen(descriptor, "wb") : nullptr;
  if (file_ == nullptr)
  {
    throw std::invalid_argument(
      option + " " + path + ": cannot be written" +
      (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()));
  }
}

OutputFile::~OutputFile()
{
  if (file_ != nullptr)
  {
    std::fclose(file_);
  }
  if (is_new_ && !has_begun_)
  {
    ::unlink(path_.c_str());
  }
}

void OutputFile::check_differs(const OutputFile & other) const
{
  struct stat one
  {
  };
  struct stat two
  {
  };
  if (
    file_ != nullptr && other.file_ != nullptr && ::fstat(::fileno(file_), &one) == 0 &&
    ::fstat(::fileno(other.file_), &two) == 0 && S_ISREG(one.st_mode) && one.st_dev == two.st_dev &&
    one.st_ino == two.st_ino)
  {
    throw std::invalid_argument(option_ + " and " + other.option_ + " name the same file " + path_);
  }
}

void OutputFile::begin()
{
  // What is no regular file has no length.
  if (file_ != nullptr && !has_begun_ && ::ftruncate(::fileno(file_), 0) != 0 && errno != EINVAL)
  {
    throw std::runtime_error(path_ + ": cannot be emptied: " + std::strerror(errno));
  }
  has_begun_ = true;
}

void OutputFile::write(const std::string & text)
{
  if (path_ == "-")
  {
    write_out(text);
  }
  else if (file_ != nullptr)
  {
    begin();
    std::fwrite(text.data(), 1, text.size(), file_);
  }
}

void OutputFile::close()
{
  if (file_ == nullptr)
  {
    return;
  }
  const bool has_failed = std::ferror(file_) != 0;
  const bool is_closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (has_failed || !is_closed)
  {
    throw std::runtime_error(path_ + ": not everything could be written");
  }
}

std::string wrench_name(const cd::ConstraintSet & set, int constraint, int pair)
{
  const cd::Constraint & one = set[constraint];
  return one.wrench_bodies().size() > 1 ? one.name() + "[" + std::to_string(pair) + "]"
                                        : one.name();
}

std::string describe(const cd::ConstraintSet & set, const cd::RankReport::Dependency & dependency)
{
  std::string text = set.row_name(dependency.row) + " =";
  if (dependency.others.empty())
  {
    return text + " 0";
  }
  for (std::size_t i = 0; i < dependency.others.size(); ++i)
  {
    text += (i > 0 ? " + " : " ") + format(dependency.coefficients[i], 4) + "·" +
            set.row_name(dependency.others[i]);
  }
  return text;
}

void write_dependencies(
  cd::JsonWriter & json, const cd::ConstraintSet & set, const cd::RankReport & report)
{
  json.key("redundant_rows").begin_array();
  for (const cd::RankReport::Dependency & dependency : report.dependencies)
  {
    json.value(set.row_name(dependency.row));
  }
  json.end_array();
  json.key("dependencies").begin_array();
  for (const cd::RankReport::Dependency & dependency : report.dependencies)
  {
    json.begin_object().entry("row", set.row_name(dependency.row)).key("terms").begin_object();
    for (std::size_t i = 0; i < dependency.others.size(); ++i)
    {
      json.entry(set.row_name(dependency.others[i]), dependency.coefficients[i]);
    }
    json.end_object().end_object();
  }
  json.end_array();
}

namespace
{

void write_wrenches(
  cd::JsonWriter & json, const cd::ConstraintSet & set, const cd::Workspace & workspace)
{
  json.key("wrenches").begin_array();
  for (int i = 0; i < set.size(); ++i)
  {
    const std::vector<cd::WrenchBodies> & pairs = set[i].wrench_bodies();
    for (std::size_t k = 0; k < pairs.size(); ++k)
    {
      const cd::WrenchPair & wrench =
        workspace.solution().wrenches[static_cast<std::size_t>(set.wrench_offset(i)) + k];
      json.begin_object()
        .entry("constraint", set[i].name())
        .entry("body_a", pairs[k].body_a)
        .entry("frame_a", pairs[k].frame_a)
        .entry("body_b", pairs[k].body_b)
        .entry("frame_b", pairs[k].frame_b)
        .entry("point", wrench.on_a.point);
      json.key("on_a").begin_object();
      json.entry("force", wrench.on_a.force).entry("torque", wrench.on_a.torque).end_object();
      json.key("on_b").begin_object();
      json.entry("force", wrench.on_b.force).entry("torque", wrench.on_b.torque).end_object();
      json.end_object();
    }
  }
  json.end_array();
}

}  // namespace

std::string list(const std::vector<std::string> & words)
{
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
  {
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

std::string list_rows(const cd::ConstraintSet & set, const std::vector<int> & rows)
{
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i)
  {
    names.push_back(set.row_name(rows[i]));
  }
  if (rows.size() > kMost)
  {
    names.push_back(std::to_string(rows.size() - kMost) + " more");
  }
  return list(names);
}

std::string advice(cd::Status status)
{
  switch (status)
  {
    case cd::Status::kNoUniqueSolution:
      return ": a rigid contact with this much dry friction admits no motion or several "
             "(Painleve); with less friction, or with a force law, a motion exists";
    case cd::Status::kNotConverged:
      return ": an iteration, the step size control or a sequence of events did not converge; "
             "check the last events, the tolerances and the step";
    case cd::Status::kDeclined:
      return ": this formulation leaves the state to others (rows or inertia that are not clearly "
             "regular, sliding or compliant contacts); formulation auto solves it";
    default:
      return "";
  }
}

namespace
{

void write_nulls(cd::JsonWriter & json, std::initializer_list<const char *> keys)
{
  for (const char * key : keys)
  {
    json.null_entry(key);
  }
}

void write_solution(
  cd::JsonWriter & json, const cd::Scenario & scenario, const SolvedState & solved)
{
  const cd::System & system = scenario.system();
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  const cd::Workspace & workspace = solved.workspace;
  const cd::Solution & solution = workspace.solution();
  std::vector<std::string> rows;
  for (int row = 0; row < set.row_count(); ++row)
  {
    rows.push_back(set.row_name(row));
  }
  json.entry("rates", system.coordinate_names(), workspace.terms().rates);
  json.entry("udot", system.speed_names(), solution.acceleration);
  json.entry("inputs", system.input_names(), solved.inputs);
  json.entry("multipliers", rows, solution.multipliers);
  json.key("residuals").begin_object();
  for (int row = 0; row < set.row_count(); ++row)
  {
    json.key(set.row_name(row))
      .begin_object()
      .entry("level", cd::to_string(set.row(row).level))
      .entry("position", workspace.rows().position(row))
      .entry("velocity", workspace.rows().velocity(row))
      .entry("active", workspace.is_active(set.constraint_of_row(row)))
      .end_object();
  }
  json.end_object();
  json.entry("constraint_force", system.speed_names(), solution.constraint_force);
  write_wrenches(json, set, workspace);
  RobotReport(scenario, false).write(json, workspace);
  json.entry("rank", solution.rank);
}

void write_rank(cd::JsonWriter & json, const cd::ConstraintSet & set, const cd::RankReport & rank)
{
  json.entry("nominal_rank", rank.nominal_rank)
    .entry("row_count", rank.row_count)
    .entry("degrees_of_freedom", rank.degrees_of_freedom);
  write_dependencies(json, set, rank);
  json.entry("condition", rank.condition);
}

void write_energy(cd::JsonWriter & json, const cd::System & system, const cd::SystemData & data)
{
  const double kinetic = system.kinetic_energy(data);
  const double potential = system.potential_energy(data);
  json.key("energy")
    .begin_object()
    .entry("kinetic", kinetic)
    .entry("potential", potential)
    .entry("total", kinetic + potential)
    .end_object();
}

}  // namespace

void write_state(cd::JsonWriter & json, const cd::Scenario & scenario, const SolvedState & solved)
{
  const cd::System & system = scenario.system();
  const cd::Workspace & workspace = solved.workspace;
  const bool has_output = cd::has_output(solved.status);
  json.entry("status", cd::to_string(solved.status)).entry("time", solved.state.time);
  json.entry("q", system.coordinate_names(), solved.state.q);
  json.entry("u", system.speed_names(), solved.state.u);
  if (has_output)
  {
    write_solution(json, scenario, solved);
  }
  else
  {
    write_nulls(
      json, {"rates", "udot", "inputs", "multipliers", "residuals", "constraint_force", "wrenches",
             "force_elements", "joint_reactions", "rank"});
  }
  if (solved.rank != nullptr)
  {
    write_rank(json, scenario.dynamics()->constraints(), *solved.rank);
  }
  else
  {
    write_nulls(
      json, {"nominal_rank", "row_count", "degrees_of_freedom", "redundant_rows", "dependencies",
             "condition"});
  }
  if (has_output)
  {
    json.entry("inconsistency", workspace.solution().inconsistency);
    write_energy(json, system, workspace.system_data());
  }
  else
  {
    write_nulls(json, {"inconsistency", "energy"});
  }
  Eigen::VectorXd observed = Eigen::VectorXd::Constant(
    static_cast<Eigen::Index>(scenario.observable_names().size()), std::nan(""));
  // Observables without a value are written as null.
  if (!has_output || scenario.observe(workspace, solved.inputs, observed) != cd::Status::kOk)
  {
    observed.setConstant(std::nan(""));
  }
  json.entry("observe", scenario.observable_names(), observed);
}

}  // namespace cdyn
