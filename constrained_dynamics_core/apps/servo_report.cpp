// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo_report.hpp"

#include <sstream>

#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

ServoReport::ServoReport(const cd::Simulation & simulation)
: law_(simulation.input_law() ? simulation.input_law()->as_servo() : nullptr)
{
  if (law_)
  {
    errors_.resize(static_cast<std::size_t>(law_->law().row_count()));
    residuals_.resize(errors_.size());
    relaxed_.assign(law_->law().tasks().size(), false);
    at_limit_.assign(law_->servo().result().at_motion_limit.size(), false);
  }
}

std::vector<std::string> ServoReport::column_names() const
{
  std::vector<std::string> names;
  for (const char * quantity : {"servo.error.", "servo.residual."})
  {
    for (std::size_t row = 0; row < errors_.size(); ++row)
    {
      names.push_back(quantity + law_->law().row_name(static_cast<int>(row)));
    }
  }
  if (law_)
  {
    names.insert(names.end(), {"servo.solution", "servo.status"});
  }
  return names;
}

std::string ServoReport::csv_values() const
{
  std::string text;
  if (!law_)
  {
    return text;
  }
  const cd::ServoResult & result = law_->servo().result();
  for (const Eigen::VectorXd * values : {&result.error, &result.residual})
  {
    for (Eigen::Index i = 0; i < values->size(); ++i)
    {
      text += "," + csv_number((*values)(i));
    }
  }
  return text + "," + cd::to_string(result.solution) + "," + cd::to_string(law_->last_status());
}

void ServoReport::add()
{
  if (!law_)
  {
    return;
  }
  const cd::ServoResult & result = law_->servo().result();
  for (std::size_t row = 0; row < errors_.size(); ++row)
  {
    errors_[row].add(result.error(static_cast<Eigen::Index>(row)));
    residuals_[row].add(result.residual(static_cast<Eigen::Index>(row)));
  }
  for (std::size_t task = 0; task < relaxed_.size(); ++task)
  {
    relaxed_[task] = relaxed_[task] || result.relaxed[task];
  }
  for (std::size_t i = 0; i < at_limit_.size(); ++i)
  {
    at_limit_[i] = at_limit_[i] || result.at_motion_limit[i];
  }
}

std::vector<std::string> ServoReport::limited_coordinates() const
{
  std::vector<std::string> names;
  for (std::size_t i = 0; i < at_limit_.size(); ++i)
  {
    if (at_limit_[i])
    {
      names.push_back(law_->law().passive().system().coordinate_names()[i]);
    }
  }
  return names;
}

std::string ServoReport::describe(std::size_t width) const
{
  std::ostringstream text;
  if (!law_)
  {
    return "";
  }
  const cd::ServoLaw & law = law_->law();
  text << range_heading("servo errors", width);
  for (std::size_t row = 0; row < errors_.size(); ++row)
  {
    text << range_line(law.row_name(static_cast<int>(row)), errors_[row], width);
  }
  const cd::ServoInputLaw::Counts & counts = law_->counts();
  const cd::ServoResult & result = law_->servo().result();
  text << "servo law         " << cd::to_string(law.options().metric)
       << ", solutions: " << cd::to_string(result.solution) << ", rank " << result.rank << " of "
       << law.row_count() << " rows, " << result.null_dimension << " open; of "
       << counts.evaluations << " evaluations " << counts.singular << " singular, "
       << counts.inconsistent << " inconsistent, " << counts.limited << " limited\n";
  std::string missed;
  for (std::size_t task = 0; task < relaxed_.size(); ++task)
  {
    if (relaxed_[task])
    {
      missed += (missed.empty() ? "" : ", ") + law.tasks()[task].constraint->name();
    }
  }
  if (!missed.empty())
  {
    text << "relaxed           " << missed << "\n";
  }
  std::string limited;
  for (const std::string & name : limited_coordinates())
  {
    limited += (limited.empty() ? "" : ", ") + name;
  }
  if (!limited.empty())
  {
    text << "limits reached    " << limited << "\n";
  }
  if (counts.stopped > 0)
  {
    text << "limits not kept   in " << counts.stopped
         << " evaluations: the law could only stop (limits of inputs or passive constraints)\n";
  }
  return text.str();
}

void ServoReport::write(cd::JsonWriter & json) const
{
  if (!law_)
  {
    return;
  }
  const cd::ServoLaw & law = law_->law();
  const cd::ServoInputLaw::Counts & counts = law_->counts();
  const cd::ServoResult & result = law_->servo().result();
  json.key("servo").begin_object();
  json.entry("metric", cd::to_string(law.options().metric))
    .entry("status", cd::to_string(law_->last_status()))
    .entry("solution", cd::to_string(result.solution))
    .entry("rank", result.rank)
    .entry("null_dimension", result.null_dimension)
    .entry("condition", result.condition)
    .entry("ideal", result.ideal)
    .entry("evaluations", counts.evaluations)
    .entry("singular_evaluations", counts.singular)
    .entry("inconsistent_evaluations", counts.inconsistent)
    .entry("limited_evaluations", counts.limited)
    .entry("stopped_evaluations", counts.stopped)
    .entry("limits_reached", limited_coordinates());
  json.key("tasks").begin_object();
  for (std::size_t task = 0; task < relaxed_.size(); ++task)
  {
    json.key(law.tasks()[task].constraint->name()).begin_object();
    json.entry("relaxed", static_cast<bool>(relaxed_[task]));
    json.key("error").begin_object();
    const int offset = law.row_offset(static_cast<int>(task));
    const auto & rows = law.tasks()[task].constraint->rows();
    for (std::size_t k = 0; k < rows.size(); ++k)
    {
      errors_[static_cast<std::size_t>(offset) + k].write(json, rows[k].label, true);
    }
    json.end_object();
    json.end_object();
  }
  json.end_object();
  json.end_object();
}

}  // namespace cdyn
