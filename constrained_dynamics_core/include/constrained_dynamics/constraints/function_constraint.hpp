// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Rows given by a C++ function that is generic in its scalar type. Type id "function".
///
///     auto wheel = [](const auto & t, const auto * q, const auto * u, auto * out)
///     {
///       using std::sin; using std::cos;
///       out[0] = u[0] * sin(q[2]) - u[1] * cos(q[2]);
///     };
///     auto constraint = make_function_constraint("wheel", system, RowLevel::kVelocity, 1, wheel);
///
/// The function gets t, the nq coordinates, the n speeds and m outputs, all of one scalar type
/// (Dual or Jet2), and must fill every output. Derivatives by automatic differentiation:
/// - position φ(q, t): column i of A is the derivative in the direction of column i of C;
/// φ, φ̇ and b = −φ̈|u̇=0 by one evaluation along the motion q̇, q̈|u̇=0. Speeds are NaN and must
/// not be used;
/// - velocity ψ(q, u, t), linear in u or not: column i of A is ∂ψ/∂u_i; b = −ψ̇|u̇=0.
/// One evaluation costs n + 1 calls. An exception gives kUserFunctionFailed and leaves the rows
/// untouched. There are no wrenches, because a function does not say on which bodies it acts.
template <class F>
class FunctionConstraint : public Constraint
{
public:
  /// @param labels one per row; empty: "row_1", "row_2", …
  /// @throw std::invalid_argument for a row count below 1, a wrong number of labels, an
  /// acceleration level, or a position function that uses the speeds.
  FunctionConstraint(
    std::string name, const System & system, RowLevel level, int row_count, F function,
    const std::vector<std::string> & labels = {})
  : Constraint(
      name, "function", system, make_rows(name, level, row_count, labels), {},
      needed_scratch(system, row_count)),
    function_(std::move(function)),
    level_(level)
  {
    if (level_ == RowLevel::kPosition && uses_speeds())
    {
      throw std::invalid_argument(
        "constraint '" + name +
        "': a function on position level uses the speeds; state it on velocity level");
    }
  }

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override
  {
    try
    {
      return level_ == RowLevel::kPosition ? evaluate_position(data, scratch, rows)
                                           : evaluate_velocity(data, scratch, rows);
    }
    catch (...)
    {
      return Status::kUserFunctionFailed;
    }
  }

private:
  static std::vector<RowDescription> make_rows(
    const std::string & name, RowLevel level, int row_count,
    const std::vector<std::string> & labels)
  {
    if (level == RowLevel::kAcceleration)
    {
      throw std::invalid_argument(
        "constraint '" + name +
        "': a function has level acceleration; position or velocity are "
        "allowed");
    }
    if (!(row_count >= 1))
    {
      throw std::invalid_argument(
        "constraint '" + name + "': row count is " + std::to_string(row_count) +
        "; at least 1 is needed");
    }
    const std::size_t count = static_cast<std::size_t>(row_count);
    if (!labels.empty() && labels.size() != count)
    {
      throw std::invalid_argument(
        "constraint '" + name + "': " + std::to_string(labels.size()) + " labels for " +
        std::to_string(row_count) + " rows");
    }
    std::vector<RowDescription> rows(count);
    for (std::size_t i = 0; i < count; ++i)
    {
      rows[i].label = labels.empty() ? "row_" + std::to_string(i + 1) : labels[i];
      rows[i].level = level;
    }
    return rows;
  }

  /// Doubles for one set of arguments and results as Jet2, and for A.
  static int needed_scratch(const System & system, int row_count)
  {
    return 3 * (system.coordinate_count() + system.speed_count() + row_count) +
           row_count * system.speed_count();
  }

  /// Arguments and results of one call, in scratch memory.
  template <class S>
  struct Call
  {
    Call(double * memory, int coordinate_count, int speed_count, int row_count)
    : q(make(memory, coordinate_count)),
      u(make(memory + per_scalar() * coordinate_count, speed_count)),
      out(make(memory + per_scalar() * (coordinate_count + speed_count), row_count))
    {
      static_assert(
        std::is_trivially_copyable_v<S> && sizeof(S) % sizeof(double) == 0 &&
        alignof(S) <= alignof(double));
    }
    static constexpr int per_scalar() { return static_cast<int>(sizeof(S) / sizeof(double)); }
    static S * make(double * memory, int count)
    {
      for (int i = 0; i < count; ++i)
      {
        ::new (static_cast<void *>(memory + per_scalar() * i)) S();
      }
      return std::launder(reinterpret_cast<S *>(memory));
    }

    S t;
    S * q;
    S * u;
    S * out;
  };

  template <class S>
  void call(Call<S> & c) const
  {
    constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();
    for (int i = 0; i < row_count(); ++i)
    {
      c.out[i] = S(kUnset);
    }
    function_(
      static_cast<const S &>(c.t), static_cast<const S *>(c.q), static_cast<const S *>(c.u), c.out);
  }

  Status evaluate_position(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows) const
  {
    const SystemTerms & terms = data.terms;
    const int nq = system().coordinate_count();
    const int n = system().speed_count();
    const int m = row_count();
    constexpr double kUnused = std::numeric_limits<double>::quiet_NaN();
    double * memory = scratch.buffer.data();
    Eigen::Map<Eigen::MatrixXd> jacobian(memory + 3 * (nq + n + m), m, n);

    Call<Dual> column(memory, nq, n, m);
    column.t = terms.time;
    for (int i = 0; i < n; ++i)
    {
      column.u[i] = kUnused;
    }
    for (int i = 0; i < n; ++i)
    {
      for (int k = 0; k < nq; ++k)
      {
        column.q[k] = Dual(terms.coordinates(k), terms.kinematic_matrix(k, i));
      }
      call(column);
      for (int row = 0; row < m; ++row)
      {
        jacobian(row, i) = column.out[row].derivative;
      }
    }

    Call<Jet2> motion(memory, nq, n, m);
    motion.t = Jet2(terms.time, 1.0, 0.0);
    for (int k = 0; k < nq; ++k)
    {
      motion.q[k] = Jet2(terms.coordinates(k), terms.rates(k), terms.acceleration_bias(k));
    }
    for (int i = 0; i < n; ++i)
    {
      motion.u[i] = kUnused;
    }
    call(motion);
    bool finite = jacobian.allFinite();
    for (int row = 0; row < m; ++row)
    {
      const Jet2 & phi = motion.out[row];
      finite =
        finite && std::isfinite(phi.value) && std::isfinite(phi.first) && std::isfinite(phi.second);
    }
    if (!finite)
    {
      return Status::kNonFiniteResult;
    }
    for (int row = 0; row < m; ++row)
    {
      rows.position(row) = motion.out[row].value;
      rows.velocity(row) = motion.out[row].first;
      rows.bias(row) = -motion.out[row].second;
    }
    rows.jacobian = jacobian;
    return Status::kOk;
  }

  Status evaluate_velocity(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows) const
  {
    const SystemTerms & terms = data.terms;
    const int nq = system().coordinate_count();
    const int n = system().speed_count();
    const int m = row_count();
    double * memory = scratch.buffer.data();
    Eigen::Map<Eigen::MatrixXd> jacobian(memory + 3 * (nq + n + m), m, n);

    Call<Dual> c(memory, nq, n, m);
    c.t = terms.time;
    for (int k = 0; k < nq; ++k)
    {
      c.q[k] = terms.coordinates(k);
    }
    for (int i = 0; i < n; ++i)
    {
      c.u[i] = terms.speeds(i);
    }
    for (int i = 0; i < n; ++i)
    {
      c.u[i].derivative = 1.0;
      call(c);
      c.u[i].derivative = 0.0;
      for (int row = 0; row < m; ++row)
      {
        jacobian(row, i) = c.out[row].derivative;
      }
    }

    c.t.derivative = 1.0;  // along the motion; the speeds rest
    for (int k = 0; k < nq; ++k)
    {
      c.q[k].derivative = terms.rates(k);
    }
    call(c);
    bool finite = jacobian.allFinite();
    for (int row = 0; row < m; ++row)
    {
      finite = finite && std::isfinite(c.out[row].value) && std::isfinite(c.out[row].derivative);
    }
    if (!finite)
    {
      return Status::kNonFiniteResult;
    }
    for (int row = 0; row < m; ++row)
    {
      rows.position(row) = 0.0;
      rows.velocity(row) = c.out[row].value;
      rows.bias(row) = -c.out[row].derivative;
    }
    rows.jacobian = jacobian;
    return Status::kOk;
  }

  /// Whether an output changes with the speeds; false if the function fails at the neutral
  /// position.
  bool uses_speeds() const
  {
    const int nq = system().coordinate_count();
    const int n = system().speed_count();
    const int m = row_count();
    const Eigen::VectorXd neutral = system().neutral_coordinates();
    std::vector<double> memory(static_cast<std::size_t>(2 * (nq + n + m)));
    Call<Dual> c(memory.data(), nq, n, m);
    std::vector<double> at_rest;
    try
    {
      for (const double speed : {0.0, 1.0})
      {
        for (int k = 0; k < nq; ++k)
        {
          c.q[k] = neutral(k);
        }
        for (int i = 0; i < n; ++i)
        {
          c.u[i] = Dual(speed * (1.0 + 0.1 * i), 1.0);
        }
        call(c);
        for (int row = 0; row < m; ++row)
        {
          if (c.out[row].derivative != 0.0 && std::isfinite(c.out[row].derivative))
          {
            return true;
          }
          if (speed == 0.0)
          {
            at_rest.push_back(c.out[row].value);
          }
          else if (
            std::isfinite(at_rest[static_cast<std::size_t>(row)]) &&
            std::isfinite(c.out[row].value) &&
            at_rest[static_cast<std::size_t>(row)] != c.out[row].value)
          {
            return true;
          }
        }
      }
    }
    catch (...)
    {
      return false;
    }
    return false;
  }

  F function_;
  RowLevel level_;
};

/// Builds a FunctionConstraint; see there for the form of `function` and for what is thrown.
template <class F>
std::shared_ptr<const FunctionConstraint<std::decay_t<F>>> make_function_constraint(
  std::string name, const System & system, RowLevel level, int row_count, F && function,
  const std::vector<std::string> & labels = {})
{
  return std::make_shared<const FunctionConstraint<std::decay_t<F>>>(
    std::move(name), system, level, row_count, std::forward<F>(function), labels);
}

}  // namespace constrained_dynamics
