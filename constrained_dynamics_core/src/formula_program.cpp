#include <algorithm>
#include <cmath>

#include "constrained_dynamics/formula.hpp"
#include "formula_graph.hpp"

namespace constrained_dynamics
{

namespace
{

using detail::FormulaNode;

/// Adds to the adjoints of a node's operands: adjoint of the node times the partial derivative.
template <class S>
void pull_back(const FormulaNode & node, int i, const S * tape, S * adjoint) noexcept
{
  using namespace detail;  // NOLINT: operations and functions of doubles
  using std::cos, std::cosh, std::hypot, std::log, std::sin, std::sinh, std::sqrt;
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
    case kConstantPower:
      wx += w * (node.constant * pow(x, node.constant - 1.0));
      break;
    case kPower:
      wx += w * (y * pow(x, y - 1.0));
      wy += w * (x >= 0.0 ? f * log(x) : S(kNaN));
      break;
    case kSin:
      wx += w * cos(x);
      break;
    case kCos:
      wx -= w * sin(x);
      break;
    case kTan:
      wx += w * (1.0 + f * f);
      break;
    case kAsin:
      wx += w / sqrt((1.0 - x) * (1.0 + x));
      break;
    case kAcos:
      wx -= w / sqrt((1.0 - x) * (1.0 + x));
      break;
    case kAtan:
      wx += w / (1.0 + x * x);
      break;
    case kSinh:
      wx += w * cosh(x);
      break;
    case kCosh:
      wx += w * sinh(x);
      break;
    case kTanh:
    {
      const S sech = 1.0 / cosh(x);
      wx += w * (sech * sech);
      break;
    }
    case kExp:
      wx += w * f;
      break;
    case kLog:
      wx += x >= 0.0 ? w / x : S(kNaN);
      break;
    case kSqrt:
      wx += w * (0.5 / f);
      break;
    case kAbs:
      wx += w * sign(x);
      break;
    case kSign:
    case kStep:
      if (!(f == f)) wx += w * f;
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
      break;
  }
}

}  // namespace

bool FormulaProgram::depends_on(int output, int variable) const noexcept CD_NONBLOCKING
{
  if (output < 0 || output >= output_count()) return false;
  const std::vector<int> & variables = variables_of(output);
  return std::binary_search(variables.begin(), variables.end(), variable);
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
CONSTRAINED_DYNAMICS_REVERSE(double)
CONSTRAINED_DYNAMICS_REVERSE(Dual)
CONSTRAINED_DYNAMICS_REVERSE(HyperDual)

}  // namespace constrained_dynamics
