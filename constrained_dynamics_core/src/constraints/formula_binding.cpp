// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/formula_binding.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "formula/formula_text.hpp"

namespace constrained_dynamics
{

namespace
{

const char * describe(FormulaLevel level)
{
  switch (level)
  {
    case FormulaLevel::kTime:
      return "time";
    case FormulaLevel::kPosition:
      return "a position";
    case FormulaLevel::kVelocity:
      return "a velocity";
    case FormulaLevel::kAcceleration:
      return "an acceleration";
  }
  return "unknown";
}

const char * describe_allowed(FormulaLevel level)
{
  switch (level)
  {
    case FormulaLevel::kTime:
      return "only t, parameters and definitions of them are allowed";
    case FormulaLevel::kPosition:
      return "only t and positions are allowed";
    case FormulaLevel::kVelocity:
      return "only t, positions and velocities are allowed";
    case FormulaLevel::kAcceleration:
      return "";
  }
  return "";
}

}  // namespace

FormulaLevel FormulaBinding::level_of(Kind kind)
{
  switch (kind)
  {
    case Kind::kCoordinate:
    case Kind::kFramePosition:
      return FormulaLevel::kPosition;
    case Kind::kRate:
    case Kind::kSpeed:
    case Kind::kFrameVelocity:
    case Kind::kFrameAngularVelocity:
      return FormulaLevel::kVelocity;
    case Kind::kCoordinateAcceleration:
    case Kind::kSpeedAcceleration:
      return FormulaLevel::kAcceleration;
    case Kind::kTime:
    case Kind::kUnused:
      break;
  }
  return FormulaLevel::kTime;
}

std::vector<FormulaBinding::Variable> FormulaBinding::all_variables(const System & system)
{
  std::vector<Variable> result;
  std::set<std::string> taken;
  const auto add = [&](Kind kind, int index, const std::string & name)
  {
    if (!FormulaContext::is_reserved(name) && taken.insert(name).second)
    {
      result.push_back({kind, index, 0, name});
    }
  };
  const auto add_all = [&](Kind kind, const std::vector<std::string> & names, const char * prefix)
  {
    for (std::size_t i = 0; i < names.size(); ++i)
    {
      add(kind, static_cast<int>(i), prefix + names[i]);
    }
  };
  add(Kind::kTime, 0, "t");
  add_all(Kind::kCoordinate, system.coordinate_names(), "");
  add_all(Kind::kSpeed, system.speed_names(), "");
  add_all(Kind::kRate, system.coordinate_names(), "d");
  add_all(Kind::kSpeedAcceleration, system.speed_names(), "d");
  add_all(Kind::kCoordinateAcceleration, system.coordinate_names(), "dd");
  return result;
}

/// Finds the variables that formulas use and compiles them with those alone.
class FormulaBinding::Compiler
{
public:
  Compiler(const System & system, const FormulaNames & names, const std::string & owner)
  : system_(system), names_(names), owner_(owner), all_(all_variables(system))
  {
    named_count_ = all_.size();
    for (const auto * group : {&system.coordinate_names(), &system.speed_names()})
    {
      if (std::find(group->begin(), group->end(), "t") != group->end())
      {
        throw std::invalid_argument(
          owner + ": the system calls a coordinate or speed 't', which formulas need for the time");
      }
    }
  }

  /// The first pass finds out what is used, the second leaves out the rest.
  void compile(const std::vector<std::string> & formulas, FormulaLevel level, FormulaBinding & out)
  {
    const std::vector<std::size_t> used = find_used(formulas, level);
    place_of_unused_ = static_cast<int>(used.size());
    places_.assign(all_.size(), place_of_unused_);
    for (std::size_t i = 0; i < used.size(); ++i)
    {
      places_[used[i]] = static_cast<int>(i);
      out.variables_.push_back(all_[used[i]]);
    }
    out.program_ = compile_all(formulas);
    out.variables_.resize(static_cast<std::size_t>(out.program_.variable_count()));
  }

private:
  /// Index of a variable of `all_` in the program being compiled. In the first pass each variable
  /// has its own; in the second all unused variables share one.
  int place(std::size_t i) const
  {
    const bool is_first = place_of_unused_ < 0;
    return is_first ? static_cast<int>(i) : i < places_.size() ? places_[i] : place_of_unused_;
  }

  /// Frame quantities become variables when a formula first uses them.
  std::optional<int> resolve(const std::string & function, const std::string & argument)
  {
    const std::vector<std::string> & frames = system_.frame_names();
    const auto found = std::find(frames.begin(), frames.end(), argument);
    if (found == frames.end())
    {
      throw std::invalid_argument(
        "'" + function + "' knows no frame '" + argument + "'" +
        detail::suggestion(argument, frames));
    }
    const Kind kind = function[0] == 'p'   ? Kind::kFramePosition
                      : function[0] == 'v' ? Kind::kFrameVelocity
                                           : Kind::kFrameAngularVelocity;
    const int frame = static_cast<int>(found - frames.begin());
    const int component = function[1] - 'x';
    const auto inserted =
      frame_variables_.insert({{static_cast<int>(kind), frame, component}, all_.size()});
    if (inserted.second)
    {
      all_.push_back({kind, frame, component, function + "(" + argument + ")"});
    }
    return place(inserted.first->second);
  }

  FormulaProgram compile_all(const std::vector<std::string> & formulas)
  {
    FormulaContext context;
    for (std::size_t i = 0; i < named_count_; ++i)
    {
      context.add_variable(all_[i].name, place(i));
    }
    if (!system_.frame_names().empty())
    {
      for (const char * function : {"px", "py", "pz", "vx", "vy", "vz", "wx", "wy", "wz"})
      {
        if (!context.contains(function))
        {
          context.add_indexed_function(
            function, [this](const std::string & f, const std::string & argument)
            { return resolve(f, argument); });
        }
      }
    }
    for (const auto & parameter : names_.parameters)
    {
      context.add_parameter(parameter.first, parameter.second);
    }
    for (const auto & definition : names_.definitions)
    {
      context.add_definition(definition.first, definition.second);
    }
    return FormulaProgram(context, formulas);
  }

  /// Indices of the variables in use, those of one frame side by side.
  std::vector<std::size_t> find_used(const std::vector<std::string> & formulas, FormulaLevel level)
  {
    FormulaProgram everything;
    try
    {
      everything = compile_all(formulas);
    }
    catch (const std::invalid_argument & error)
    {
      throw std::invalid_argument(owner_ + ": " + error.what());
    }
    std::vector<std::size_t> used;
    for (int output = 0; output < everything.output_count(); ++output)
    {
      for (const int variable : everything.variables_of(output))
      {
        const Variable & v = all_[static_cast<std::size_t>(variable)];
        if (level_of(v.kind) > level)
        {
          throw std::invalid_argument(
            owner_ + ": formula '" + formulas[static_cast<std::size_t>(output)] + "' uses '" +
            v.name + "', " + describe(level_of(v.kind)) + "; " + describe_allowed(level));
        }
        used.push_back(static_cast<std::size_t>(variable));
      }
    }
    std::sort(
      used.begin(), used.end(),
      [this](std::size_t a, std::size_t b)
      { return std::make_pair(frame_of(a), a) < std::make_pair(frame_of(b), b); });
    used.erase(std::unique(used.begin(), used.end()), used.end());
    return used;
  }

  /// The frame of a variable; −1 without one.
  int frame_of(std::size_t i) const
  {
    const bool has_frame = all_[i].kind == Kind::kFramePosition ||
                           all_[i].kind == Kind::kFrameVelocity ||
                           all_[i].kind == Kind::kFrameAngularVelocity;
    return has_frame ? all_[i].index : -1;
  }

  const System & system_;
  const FormulaNames & names_;
  const std::string & owner_;
  std::vector<Variable> all_;
  std::size_t named_count_ = 0;  // of `all_`; frame quantities follow
  std::map<std::tuple<int, int, int>, std::size_t> frame_variables_;
  std::vector<int> places_;
  int place_of_unused_ = -1;  // in the first pass
};

FormulaBinding::FormulaBinding(
  const System & system, const FormulaNames & names, FormulaLevel level,
  const std::vector<std::string> & formulas, const std::string & owner)
: system_(&system), formulas_(formulas)
{
  Compiler(system, names, owner).compile(formulas, level, *this);
}

const std::string & FormulaBinding::variable_name(int i) const
{
  return variables_[static_cast<std::size_t>(i)].name;
}

FormulaLevel FormulaBinding::variable_level(int i) const
{
  return level_of(variables_[static_cast<std::size_t>(i)].kind);
}

bool FormulaBinding::uses(int output, FormulaLevel level) const
{
  const std::vector<int> & variables = program_.variables_of(output);
  return std::any_of(
    variables.begin(), variables.end(), [&](int i) { return variable_level(i) == level; });
}

}  // namespace constrained_dynamics
