// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <map>

#include "system.hpp"

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A system from formulas of its energies.
class Textbook : public System
{
public:
  Textbook(const Document & document, const State & state) : document_(document), time_(state.time)
  {
    const YAML::Node & system = document.system;
    require_known(
      system, "system",
      {"coordinates", "kinetic", "potential", "speeds", "force", "inputs", "parameters",
       "definitions", "control_states"});
    coordinates = control_coordinates(document);
    n_ = static_cast<int>(coordinates.size());
    kinetic_ = parse_formula(system["kinetic"].as<std::string>());
    if (system["potential"])
    {
      potential_ = parse_formula(system["potential"].as<std::string>());
    }
    std::vector<Expression> speed_formulas;
    for (const auto & entry : system["speeds"])
    {
      speeds.push_back(entry.first.as<std::string>());
      speed_formulas.push_back(parse_formula(entry.second.as<std::string>()));
    }
    if (speeds.empty() || system["control_states"])
    {
      for (std::size_t i = speeds.size(); i < coordinates.size(); ++i)
      {
        const std::string & coordinate = coordinates[i];
        speeds.push_back("d" + coordinate);
        speed_formulas.push_back(parse_formula("`d" + coordinate + "`"));
      }
    }
    for (const auto & entry : system["inputs"])
    {
      inputs.push_back(entry.first.as<std::string>());
    }
    if (
      state.q.size() != coordinates.size() || state.u.size() != coordinates.size() ||
      speeds.size() != coordinates.size() || state.inputs.size() != inputs.size())
    {
      throw std::invalid_argument(
        "the state does not fit the " + std::to_string(n_) + " coordinates and " +
        std::to_string(inputs.size()) + " inputs of the system");
    }
    q_ = state.q;
    u_ = state.u;
    tau_ = state.inputs;
    find_rates(speed_formulas);
  }

  bool is_angle(const std::string &) const override { return false; }

  Variable variable(const std::string & name) const override
  {
    const auto index_of = [&](const std::vector<std::string> & names, const std::string & wanted)
    {
      const auto found = std::find(names.begin(), names.end(), wanted);
      return found == names.end() ? -1 : static_cast<int>(found - names.begin());
    };
    Variable out;
    out.row.resize(at(n_));
    out.row_size.resize(at(n_));
    if (name == "t")
    {
      out.value = time_;
      out.value_size = abs(time_);
      out.rate = 1;
      out.rate_size = 1;
      return out;
    }
    const int speed = index_of(speeds, name);
    if (speed >= 0)
    {
      out.level = 1;
      out.value = u_[at(speed)];
      out.value_size = abs(out.value);
      out.row[at(speed)] = 1;
      out.row_size[at(speed)] = 1;
      return out;
    }
    int level = 0;
    int index = index_of(coordinates, name);
    while (index < 0 && level < 2 && name.size() > at(level) + 1 && name[at(level)] == 'd')
    {
      ++level;
      index = index_of(coordinates, name.substr(at(level)));
    }
    if (index < 0)
    {
      throw Unsupported("name '" + name + "' in a formula of a textbook system");
    }
    const Argument values[3] = {
      {q_[at(index)], std::max<Real>(abs(q_[at(index)]), 1)},
      {rates_[at(index)], rate_sizes_[at(index)]},
      {seconds_[at(index)], second_sizes_[at(index)]}};
    out.level = level;
    out.value = values[level].value;
    out.value_size = values[level].size;
    if (level < 2)
    {
      out.rate = values[level + 1].value;
      out.rate_size = values[level + 1].size;
    }
    if (level < 1)
    {
      out.second = values[2].value;
      out.second_size = values[2].size;
    }
    for (int j = 0; j < n_; ++j)
    {
      out.row[at(j)] = c_(index, j);
      out.row_size[at(j)] = c_size_(index, j);
    }
    return out;
  }

  /// M = ∂²T/∂q̇²,  P_q = F − ∂V/∂q + ∂T/∂q − ∂²T/∂q̇∂q q̇ − ∂²T/∂q̇∂t;  Q = Cᵀ M C,  P = Cᵀ (P_q − M
  /// q̈₀).
  Terms terms() const override
  {
    Matrix m(n_, n_);
    Matrix m_size(n_, n_);
    Vector p(at(n_));
    Vector p_size(at(n_));
    const std::vector<std::string> names = names_of_state();
    const std::vector<Argument> arguments = arguments_of_state(rates_, rate_sizes_);
    const Jet t = evaluate(kinetic_, document_.names, names, arguments);
    const Jet v = evaluate(potential_, document_.names, names, arguments);
    for (int i = 0; i < n_; ++i)
    {
      const int rate_i = n_ + i;
      p[at(i)] = t.gradient[at(i)] - v.gradient[at(i)] - t.hessian(rate_i, 2 * n_);
      p_size[at(i)] =
        t.gradient_size[at(i)] + v.gradient_size[at(i)] + t.hessian_size(rate_i, 2 * n_);
      for (int j = 0; j < n_; ++j)
      {
        m(i, j) = t.hessian(rate_i, n_ + j);
        m_size(i, j) = t.hessian_size(rate_i, n_ + j);
        p[at(i)] -= t.hessian(rate_i, j) * rates_[at(j)] + m(i, j) * seconds_[at(j)];
        p_size[at(i)] +=
          t.hessian_size(rate_i, j) * rate_sizes_[at(j)] + m_size(i, j) * second_sizes_[at(j)];
      }
    }
    Terms out{Matrix(n_, n_), Matrix(n_, n_), Vector(at(n_)), Vector(at(n_))};
    for (int i = 0; i < n_; ++i)
    {
      for (int k = 0; k < n_; ++k)
      {
        if (c_size_(k, i) == 0)
        {
          continue;
        }
        out.force[at(i)] += c_(k, i) * p[at(k)];
        out.force_size[at(i)] += c_size_(k, i) * p_size[at(k)];
        for (int l = 0; l < n_; ++l)
        {
          for (int j = 0; j < n_ && m_size(k, l) != 0; ++j)
          {
            out.inertia(i, j) += c_(k, i) * m(k, l) * c_(l, j);
            out.inertia_size(i, j) += c_size_(k, i) * m_size(k, l) * c_size_(l, j);
          }
        }
      }
    }
    for (const auto & entry : document_.system["force"])
    {
      add_force(entry.first.as<std::string>(), entry.second.as<std::string>(), 1, out);
    }
    std::size_t input = 0;
    for (const auto & entry : document_.system["inputs"])
    {
      for (const auto & effect : entry.second)
      {
        add_force(
          effect.first.as<std::string>(), effect.second.as<std::string>(), tau_[input], out);
      }
      ++input;
    }
    return out;
  }

  bool add_rows(
    const YAML::Node & item, const std::string & name, const std::string & type,
    std::vector<Row> & rows) const override
  {
    if (type != "energy" && type != "kinetic_energy")
    {
      return false;
    }
    require_known(item, type, {"name", "type", "active", "value"});
    const std::vector<std::string> names = names_of_state();
    const std::vector<Argument> arguments = arguments_of_state(rates_, rate_sizes_);
    Row row;
    row.name = name + "/energy";
    row.level = 1;
    row.a.resize(at(n_));
    row.a_size.resize(at(n_));
    row.velocity = -document_.number(item, "value", 0);
    const auto add = [&](const Expression & formula)
    {
      const Jet e = evaluate(formula, document_.names, names, arguments);
      row.velocity += e.value;
      row.b -= e.gradient[at(2 * n_)];
      row.b_size += e.gradient_size[at(2 * n_)];
      for (int k = 0; k < n_; ++k)
      {
        row.b -= e.gradient[at(k)] * rates_[at(k)] + e.gradient[at(n_ + k)] * seconds_[at(k)];
        row.b_size += e.gradient_size[at(k)] * rate_sizes_[at(k)] +
                      e.gradient_size[at(n_ + k)] * second_sizes_[at(k)];
        for (int j = 0; j < n_; ++j)
        {
          row.a[at(j)] += e.gradient[at(n_ + k)] * c_(k, j);
          row.a_size[at(j)] += e.gradient_size[at(n_ + k)] * c_size_(k, j);
        }
      }
    };
    add(kinetic_);
    if (type == "energy")
    {
      add(potential_);
    }
    rows.push_back(row);
    return true;
  }

private:
  /// Coordinates, rates, t.
  std::vector<std::string> names_of_state() const
  {
    std::vector<std::string> out = coordinates;
    for (const std::string & coordinate : coordinates)
    {
      out.push_back("d" + coordinate);
    }
    out.push_back("t");
    return out;
  }
  std::vector<Argument> arguments_of_state(const Vector & rates, const Vector & sizes) const
  {
    std::vector<Argument> out;
    for (const Real & x : q_)
    {
      out.push_back({x, std::max<Real>(abs(x), 1)});
    }
    for (std::size_t i = 0; i < rates.size(); ++i)
    {
      out.push_back({rates[i], sizes[i]});
    }
    out.push_back({time_, abs(time_)});
    return out;
  }

  /// u = W q̇ + w0:  C = W⁻¹,  q̇ = C (u − w0),  q̈₀ = −C (∂u/∂q q̇ + ∂u/∂t).
  void find_rates(const std::vector<Expression> & formulas)
  {
    const std::vector<std::string> names = names_of_state();
    const Vector zeros(at(n_));
    Matrix w(n_, n_);
    Vector rest = u_;
    Vector rest_size(at(n_));
    for (int i = 0; i < n_; ++i)
    {
      const Jet speed =
        evaluate(formulas[at(i)], document_.names, names, arguments_of_state(zeros, zeros));
      rest[at(i)] -= speed.value;
      rest_size[at(i)] = abs(u_[at(i)]) + abs(speed.value);
      for (int j = 0; j < n_; ++j)
      {
        w(i, j) = speed.gradient[at(n_ + j)];
      }
    }
    c_ = Matrix(n_, n_);
    for (int i = 0; i < n_; ++i)
    {
      c_(i, i) = 1;
    }
    if (!solve(w, c_))
    {
      throw Unsupported("speeds that do not determine the rates at the state");
    }
    c_size_ = c_;
    for (Real & x : c_size_.element)
    {
      x = abs(x);
    }
    rates_ = c_ * rest;
    rate_sizes_ = c_size_ * rest_size;
    Vector change(at(n_));
    Vector change_size(at(n_));
    for (int i = 0; i < n_; ++i)
    {
      const Jet speed =
        evaluate(formulas[at(i)], document_.names, names, arguments_of_state(rates_, rate_sizes_));
      change[at(i)] = speed.gradient[at(2 * n_)];
      change_size[at(i)] = speed.gradient_size[at(2 * n_)];
      for (int j = 0; j < n_; ++j)
      {
        change[at(i)] += speed.gradient[at(j)] * rates_[at(j)];
        change_size[at(i)] += speed.gradient_size[at(j)] * rate_sizes_[at(j)];
      }
    }
    seconds_ = c_ * change;
    for (Real & x : seconds_)
    {
      x = -x;
    }
    second_sizes_ = c_size_ * change_size;
  }

  /// factor · formula acts on a coordinate or a speed; F = F₀ + F₁ q̈ may contain accelerations:
  /// Q ← Q − … F₁ C,  P ← P + … (F₀ + F₁ q̈₀).
  void add_force(
    const std::string & target, const std::string & formula, const Real & factor, Terms & out) const
  {
    const EvaluatedFormula f = evaluate(parse_formula(formula), document_.names, *this);
    Vector act(at(n_));  // row of Cᵀ
    Vector act_size(at(n_));
    const auto coordinate = std::find(coordinates.begin(), coordinates.end(), target);
    const auto speed = std::find(speeds.begin(), speeds.end(), target);
    if (coordinate != coordinates.end())
    {
      for (int j = 0; j < n_; ++j)
      {
        act[at(j)] = c_(static_cast<int>(coordinate - coordinates.begin()), j);
        act_size[at(j)] = abs(act[at(j)]);
      }
    }
    else if (speed != speeds.end())
    {
      act[static_cast<std::size_t>(speed - speeds.begin())] = 1;
      act_size = act;
    }
    else
    {
      throw Unsupported("force on '" + target + "'");
    }
    // The variables of level 2 have their values at u̇ = 0, which is F₁ q̈₀.
    for (int i = 0; i < n_; ++i)
    {
      out.force[at(i)] += factor * act[at(i)] * f.jet.value;
      out.force_size[at(i)] += abs(factor) * act_size[at(i)] * f.jet.size;
      for (std::size_t k = 0; k < f.variables.size(); ++k)
      {
        if (f.variables[k].level != 2)
        {
          continue;
        }
        for (int j = 0; j < n_; ++j)
        {
          out.inertia(i, j) -= factor * act[at(i)] * f.jet.gradient[k] * f.variables[k].row[at(j)];
          out.inertia_size(i, j) +=
            abs(factor) * act_size[at(i)] * f.jet.gradient_size[k] * f.variables[k].row_size[at(j)];
        }
      }
    }
  }

  const Document & document_;
  Real time_;
  int n_ = 0;
  Expression kinetic_;
  Expression potential_;
  Vector q_;
  Vector u_;
  Vector tau_;
  Matrix c_;
  Matrix c_size_;
  Vector rates_;  // q̇
  Vector rate_sizes_;
  Vector seconds_;  // q̈ at u̇ = 0
  Vector second_sizes_;
};

}  // namespace

std::unique_ptr<System> make_textbook(const Document & document, const State & state)
{
  return std::make_unique<Textbook>(document, state);
}

}  // namespace invariance
