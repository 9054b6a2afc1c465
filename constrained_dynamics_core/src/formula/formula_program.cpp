// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "constrained_dynamics/formula/formula.hpp"
#include "formula/formula_graph.hpp"
#include "formula/sized.hpp"

namespace constrained_dynamics
{

namespace
{

using detail::FormulaNode;

/// Derivative of a function of one argument, f = f(x), times w; 0 for other operations.
template <class S>
S pulled_back(const FormulaNode & node, const S & w, const S & f, const S & x) noexcept
{
  using namespace detail;  // NOLINT: operations and functions of doubles
  using std::cos, std::cosh, std::sin, std::sinh, std::sqrt;
  switch (node.operation)
  {
    case kConstantPower:
      return w * (node.constant * pow(x, node.constant - 1.0));
    case kSin:
      return w * cos(x);
    case kCos:
      return -(w * sin(x));
    case kTan:
      return w * (1.0 + f * f);
    case kAsin:
      return w / sqrt((1.0 - x) * (1.0 + x));
    case kAcos:
      return -(w / sqrt((1.0 - x) * (1.0 + x)));
    case kAtan:
      return w / (1.0 + x * x);
    case kSinh:
      return w * cosh(x);
    case kCosh:
      return w * sinh(x);
    case kTanh:
    {
      const S sech = 1.0 / cosh(x);
      return w * (sech * sech);
    }
    case kExp:
      return w * f;
    case kLog:
      return x >= 0.0 ? w / x : S(kNaN);
    case kSqrt:
      return w * (0.5 / f);
    case kAbs:
      return w * sign(x);
    case kSign:
    case kStep:
      return f == f ? S(0.0) : w * f;
    default:
      return S(0.0);
  }
}

/// Adds to the adjoints of a node's operands: adjoint of the node times the partial derivative.
template <class S>
void pull_back(const FormulaNode & node, int i, const S * tape, S * adjoint) noexcept
{
  using namespace detail;  // NOLINT: operations and functions of doubles
  using std::hypot, std::log;
  if (node.operation == kConstant || node.operation == kVariable) return;
  const S w = adjoint[i];
  const S & f = tape[i];
  const S & x = tape[node.a];
  const S & y = tape[node.b];
  S & wx = adjoint[node.a];
  S & wy = adjoint[node.b];
  switch (node.operation)
  {
    case kAdd:
      wx += w;
      wy += w;
      break;
    case kSubtract:
      wx += w;
      wy -= w;
      break;
    case kMultiply:
      wx += w * y;
      wy += w * x;
      break;
    case kDivide:
      wx += w / y;
      wy -= w * (f / y);
      break;
    case kNegate:
      wx -= w;
      break;
    case kPower:
      wx += w * (y * pow(x, y - 1.0));
      wy += w * (x >= 0.0 ? f * log(x) : S(kNaN));
      break;
    case kAtan2:  // of (y, x) as usually named: here x is the opposite side
    {
      const S h = hypot(x, y);
      wx += w * (y / h / h);
      wy -= w * (x / h / h);
      break;
    }
    case kMin:
    case kMax:
      if (!(x <= y) && !(y < x))
      {
        wx += w * f;  // NaN
        wy += w * f;
      }
      else if (node.operation == kMin ? y < x : x < y)
      {
        wy += w;
      }
      else
      {
        wx += w;
      }
      break;
    case kHypot:
      wx += w * (x / f);
      wy += w * (y / f);
      break;
    default:
      wx += pulled_back(node, w, f, x);
  }
}

}  // namespace

bool FormulaProgram::depends_on(int output, int variable) const noexcept CD_NONBLOCKING
{
  if (output < 0 || output >= output_count()) return false;
  const std::vector<int> & variables = variables_of(output);
  return std::binary_search(variables.begin(), variables.end(), variable);
}

namespace
{

/// Sets of small numbers, one a row.
class IndexSets
{
public:
  IndexSets(std::size_t sets, std::size_t numbers)
  : words_((numbers + kBits - 1) / kBits), bits_(sets * words_, 0)
  {
  }
  void insert(std::size_t set, std::size_t number)
  {
    bits_[set * words_ + number / kBits] |= std::uint64_t{1} << (number % kBits);
  }
  bool has(std::size_t set, std::size_t number) const
  {
    return ((bits_[set * words_ + number / kBits] >> (number % kBits)) & 1U) != 0;
  }
  /// set ← set ∪ other
  void unite(std::size_t set, const IndexSets & others, std::size_t other)
  {
    for (std::size_t w = 0; w < words_; ++w)
    {
      bits_[set * words_ + w] |= others.bits_[other * words_ + w];
    }
  }

private:
  static constexpr std::size_t kBits = 64;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Operations of which only the first derivatives differ from zero.
bool is_piecewise_linear(int operation)
{
  using namespace detail;  // NOLINT: operations
  return operation == kAdd || operation == kSubtract || operation == kNegate || operation == kAbs ||
         operation == kSign || operation == kStep || operation == kMin || operation == kMax;
}

bool has_two_operands(int operation)
{
  using namespace detail;  // NOLINT: operations
  return operation == kAdd || operation == kSubtract || operation == kMultiply ||
         operation == kDivide || operation == kPower || operation == kAtan2 || operation == kMin ||
         operation == kMax || operation == kHypot;
}

}  // namespace

std::vector<std::vector<int>> FormulaProgram::coupled_variables(
  int output, int first, int count) const
{
  const auto size = static_cast<std::size_t>(count);
  IndexSets occurring(nodes_.size(), size);  // in each node
  IndexSets coupled(size, size);
  const auto couple = [&](int a, int b)
  {
    for (std::size_t k = 0; k < size; ++k)
    {
      if (occurring.has(static_cast<std::size_t>(a), k))
      {
        coupled.unite(k, occurring, static_cast<std::size_t>(b));
      }
    }
  };
  for (const int i : outputs_[static_cast<std::size_t>(output)].used)
  {
    const auto at = static_cast<std::size_t>(i);
    const FormulaNode & node = nodes_[at];
    if (node.operation == detail::kConstant)
    {
      continue;
    }
    if (node.operation == detail::kVariable)
    {
      if (first <= node.a && node.a < first + count)
      {
        occurring.insert(at, static_cast<std::size_t>(node.a - first));
      }
      continue;
    }
    occurring.unite(at, occurring, static_cast<std::size_t>(node.a));
    if (has_two_operands(node.operation))
    {
      occurring.unite(at, occurring, static_cast<std::size_t>(node.b));
    }
    if (node.operation == detail::kMultiply || node.operation == detail::kDivide)
    {
      couple(node.a, node.b);
      couple(node.b, node.a);
      if (node.operation == detail::kDivide)
      {
        couple(node.b, node.b);
      }
    }
    else if (!is_piecewise_linear(node.operation))
    {
      couple(i, i);
    }
  }
  std::vector<std::vector<int>> result(size);
  for (std::size_t k = 0; k < size; ++k)
  {
    for (std::size_t l = 0; l < size; ++l)
    {
      if (coupled.has(k, l))
      {
        result[k].push_back(static_cast<int>(l));
      }
    }
  }
  return result;
}

template <class S>
void FormulaProgram::forward(const S * variables, S * tape) const noexcept CD_NONBLOCKING
{
  const int size = tape_size();
  for (int i = 0; i < size; ++i)
  {
    const FormulaNode & node = nodes_[static_cast<std::size_t>(i)];
    if (node.operation == detail::kConstant)
    {
      tape[i] = S(node.constant);
    }
    else if (node.operation == detail::kVariable)
    {
      tape[i] = variables[node.a];
    }
    else
    {
      tape[i] = detail::apply(node.operation, tape[node.a], tape[node.b], node.constant);
    }
  }
}

template <class S>
void FormulaProgram::evaluate(const S * variables, S * tape, S * outputs) const noexcept
  CD_NONBLOCKING
{
  forward(variables, tape);
  for (int i = 0; i < output_count(); ++i) outputs[i] = output(tape, i);
}

template <class S>
void FormulaProgram::reverse(const S * tape, S * adjoint, int output, S * gradient) const noexcept
  CD_NONBLOCKING
{
  const bool exists = 0 <= output && output < output_count();
  std::fill(gradient, gradient + variable_count_, S(exists ? 0.0 : detail::kNaN));
  if (!exists) return;
  const Output & out = outputs_[static_cast<std::size_t>(output)];
  for (const int i : out.used) adjoint[i] = S(0.0);
  adjoint[out.node] = S(1.0);
  for (std::size_t k = out.used.size(); k-- > 0;)
  {
    const int i = out.used[k];
    const FormulaNode & node = nodes_[static_cast<std::size_t>(i)];
    if (node.operation == detail::kVariable)
    {
      gradient[node.a] = adjoint[i];
    }
    else
    {
      pull_back(node, i, tape, adjoint);
    }
  }
}

template <class S>
void FormulaProgram::gradient(const S * variables, S * tape, S * adjoint, int output, S * gradient)
  const noexcept CD_NONBLOCKING
{
  forward(variables, tape);
  reverse(tape, adjoint, output, gradient);
}

#define CONSTRAINED_DYNAMICS_FORWARD(S)                                                   \
  template CONSTRAINED_DYNAMICS_EXPORT void FormulaProgram::forward(const S *, S *)       \
    const noexcept CD_NONBLOCKING;                                                        \
  template CONSTRAINED_DYNAMICS_EXPORT void FormulaProgram::evaluate(const S *, S *, S *) \
    const noexcept CD_NONBLOCKING;
#define CONSTRAINED_DYNAMICS_REVERSE(S)                                                       \
  template CONSTRAINED_DYNAMICS_EXPORT void FormulaProgram::reverse(const S *, S *, int, S *) \
    const noexcept CD_NONBLOCKING;                                                            \
  template CONSTRAINED_DYNAMICS_EXPORT void FormulaProgram::gradient(                         \
    const S *, S *, S *, int, S *) const noexcept CD_NONBLOCKING;
CONSTRAINED_DYNAMICS_FORWARD(double)
CONSTRAINED_DYNAMICS_FORWARD(Dual)
CONSTRAINED_DYNAMICS_FORWARD(Jet2)
CONSTRAINED_DYNAMICS_FORWARD(HyperDual)
CONSTRAINED_DYNAMICS_FORWARD(detail::Sized)
CONSTRAINED_DYNAMICS_REVERSE(double)
CONSTRAINED_DYNAMICS_REVERSE(Dual)
CONSTRAINED_DYNAMICS_REVERSE(HyperDual)
CONSTRAINED_DYNAMICS_REVERSE(detail::Sized)

}  // namespace constrained_dynamics
