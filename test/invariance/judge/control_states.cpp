// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>

#include "system.hpp"

namespace invariance
{
namespace
{

/// A textbook system whose controls are states: those of `first` are speeds without a coordinate
/// after the system's own, those of `second` coordinates of the system. Inputs are those that are
/// left, the rates of the first and the second derivatives of the second. Their accelerations are
/// what the inputs say: the row of Q is replaced.
class ControlStates : public System
{
public:
  ControlStates(const Document & document, const State & state)
  {
    const YAML::Node controls = document.system["control_states"];
    require_known(controls, "system.control_states", {"first", "second"});
    const auto list = [&](const char * key)
    {
      return controls[key] ? controls[key].as<std::vector<std::string>>()
                           : std::vector<std::string>();
    };
    const std::vector<std::string> first = list("first");
    const std::vector<std::string> second = list("second");
    const std::size_t extra = first.size();
    const std::size_t rest = extra + second.size();  // inputs that are derivatives
    if (state.u.size() < extra || state.inputs.size() < rest)
    {
      throw std::invalid_argument("the state does not fit the control states");
    }
    State inner = state;
    inner.u.resize(state.u.size() - extra);
    inner.inputs.clear();
    const std::size_t left = state.inputs.size() - rest;
    std::vector<std::string> coordinates_of_controls = control_coordinates(document);
    for (const auto & entry : document.system["inputs"])
    {
      const std::string name = entry.first.as<std::string>();
      const auto in_first = std::find(first.begin(), first.end(), name);
      const auto in_second = std::find(second.begin(), second.end(), name);
      if (in_first != first.end())
      {
        inner.inputs.push_back(
          state.u[inner.u.size() + static_cast<std::size_t>(in_first - first.begin())]);
      }
      else if (in_second != second.end())
      {
        const auto place =
          std::find(coordinates_of_controls.begin(), coordinates_of_controls.end(), name);
        inner.inputs.push_back(
          state.q[static_cast<std::size_t>(place - coordinates_of_controls.begin())]);
      }
      else
      {
        if (inputs.size() >= left)
        {
          throw std::invalid_argument("the state has too few inputs");
        }
        inner.inputs.push_back(state.inputs[inputs.size()]);
        inputs.push_back(name);
      }
    }
    system_ = make_textbook(document, inner);
    coordinates = system_->coordinates;
    speeds = system_->speeds;
    driven.assign(speeds.size(), false);
    accelerations_.assign(speeds.size(), Real(0));
    std::size_t input = left;
    for (const std::string & name : first)
    {
      const bool taken = has(coordinates, name) || has(speeds, name) ||
                         (name[0] == 'd' && has(coordinates, name.substr(1)));
      speeds.push_back(taken ? "tau_" + name : name);
      values_.push_back(state.u[inner.u.size() + values_.size()]);
      inputs.push_back("d" + name);
      driven.push_back(true);
      accelerations_.push_back(state.inputs[input++]);
    }
    for (const std::string & name : second)
    {
      const auto speed = std::find(speeds.begin(), speeds.end(), "d" + name);
      if (speed == speeds.end())
      {
        throw Unsupported("control state '" + name + "', whose rate is no speed");
      }
      const std::size_t index = static_cast<std::size_t>(speed - speeds.begin());
      inputs.push_back("dd" + name);
      driven[index] = true;
      accelerations_[index] = state.inputs[input++];
    }
  }

  Variable variable(const std::string & name) const override
  {
    const std::size_t own = system_->speeds.size();
    const auto control = std::find(speeds.begin(), speeds.end(), name);
    const std::size_t index = static_cast<std::size_t>(control - speeds.begin());
    Variable out;
    if (control != speeds.end() && index >= own)
    {
      out.level = 1;
      out.value = values_[index - own];
      out.value_size = abs(out.value);
      out.row.resize(speeds.size());
      out.row[index] = 1;
      out.row_size = out.row;
      return out;
    }
    out = system_->variable(name);
    out.row.resize(speeds.size());
    out.row_size.resize(speeds.size());
    return out;
  }

  Terms terms() const override
  {
    const Terms inner = system_->terms();
    const int own = system_->size();
    const int n = size();
    Terms out{Matrix(n, n), Matrix(n, n), inner.force, inner.force_size};
    out.force.resize(driven.size());
    out.force_size.resize(driven.size());
    for (int i = 0; i < n; ++i)
    {
      const std::size_t k = static_cast<std::size_t>(i);
      if (driven[k])
      {
        out.inertia(i, i) = 1;
        out.force[k] = accelerations_[k];
        out.force_size[k] = abs(accelerations_[k]);
        continue;
      }
      for (int j = 0; j < own; ++j)
      {
        out.inertia(i, j) = inner.inertia(i, j);
        out.inertia_size(i, j) = inner.inertia_size(i, j);
      }
    }
    return out;
  }

  bool add_rows(
    const YAML::Node & item, const std::string & name, const std::string & type,
    std::vector<Row> & rows) const override
  {
    const std::size_t before = rows.size();
    const bool known = system_->add_rows(item, name, type, rows);
    for (std::size_t i = before; i < rows.size(); ++i)
    {
      rows[i].a.resize(speeds.size());
      rows[i].a_size.resize(speeds.size());
    }
    return known;
  }

  bool is_angle(const std::string & coordinate) const override
  {
    return system_->is_angle(coordinate);
  }

private:
  static bool has(const std::vector<std::string> & names, const std::string & name)
  {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  std::unique_ptr<System> system_;
  Vector values_;         // of the controls of first order
  Vector accelerations_;  // of driven speeds
};

}  // namespace

std::vector<std::string> control_coordinates(const Document & document)
{
  std::vector<std::string> out = document.system["coordinates"].as<std::vector<std::string>>();
  const YAML::Node controls = document.system["control_states"];
  if (controls && controls["second"])
  {
    for (const std::string & name : controls["second"].as<std::vector<std::string>>())
    {
      if (std::find(out.begin(), out.end(), name) == out.end())
      {
        out.push_back(name);
      }
    }
  }
  return out;
}

std::unique_ptr<System> make_control_states(const Document & document, const State & state)
{
  return std::make_unique<ControlStates>(document, state);
}

}  // namespace invariance
