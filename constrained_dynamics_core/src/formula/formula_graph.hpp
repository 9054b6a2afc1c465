// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "constrained_dynamics/formula/formula.hpp"

/// @file
/// Inside of formulas: operations, their values, and the graph in which equal parts are one node.

namespace constrained_dynamics::detail
{

enum FormulaOperation : int
{
  kConstant,
  kVariable,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kConstantPower,
  kPower,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kSign,
  kStep,
  kAtan2,
  kMin,
  kMax,
  kHypot,
};

// The same functions for plain numbers as dual.hpp has for its scalars, kinks included.
inline double sign(double x) noexcept { return sign(Dual(x)).value; }
inline double step(double x) noexcept { return step(Dual(x)).value; }
inline double pow(double x, double exponent) noexcept { return power(x, exponent); }
inline double min(double a, double b) noexcept { return smaller(a, b); }
inline double max(double a, double b) noexcept { return larger(a, b); }

/// Value of an operation on its operands; of the unary ones b is not used.
template <class S>
S apply(int operation, const S & a, const S & b, double constant) noexcept
{
  using std::abs, std::acos, std::asin, std::atan, std::atan2, std::cos, std::cosh, std::exp;
  using std::hypot, std::log, std::sin, std::sinh, std::sqrt, std::tan, std::tanh;
  switch (operation)
  {
    case kAdd:
      return a + b;
    case kSubtract:
      return a - b;
    case kMultiply:
      return a * b;
    case kDivide:
      return a / b;
    case kNegate:
      return -a;
    case kConstantPower:
      return pow(a, constant);
    case kPower:
      return pow(a, b);
    case kSin:
      return sin(a);
    case kCos:
      return cos(a);
    case kTan:
      return tan(a);
    case kAsin:
      return asin(a);
    case kAcos:
      return acos(a);
    case kAtan:
      return atan(a);
    case kSinh:
      return sinh(a);
    case kCosh:
      return cosh(a);
    case kTanh:
      return tanh(a);
    case kExp:
      return exp(a);
    case kLog:
      return log(a);
    case kSqrt:
      return sqrt(a);
    case kAbs:
      return abs(a);
    case kSign:
      return sign(a);
    case kStep:
      return step(a);
    case kAtan2:
      return atan2(a, b);
    case kMin:
      return min(a, b);
    case kMax:
      return max(a, b);
    case kHypot:
      return hypot(a, b);
    default:
      return S(kNaN);
  }
}

/// Nodes in the order of their making, each different from all others.
class FormulaGraph
{
public:
  const std::vector<FormulaNode> & nodes() const { return nodes_; }
  int size() const { return static_cast<int>(nodes_.size()); }

  /// Index of the node, made if there is none yet; -1 when the graph is full.
  int add(const FormulaNode & node)
  {
    const auto found = index_.find(node);
    if (found != index_.end()) return found->second;
    if (size() >= kMaxFormulaNodes) return -1;
    nodes_.push_back(node);
    index_.emplace(node, size() - 1);
    return size() - 1;
  }

  /// Forgets all nodes from `size` on.
  void truncate(int size)
  {
    for (; this->size() > size; nodes_.pop_back()) index_.erase(nodes_.back());
  }

private:
  struct Hash
  {
    std::size_t operator()(const FormulaNode & node) const
    {
      std::uint64_t hash = bits(node.constant);
      for (const int part : {node.operation, node.a, node.b})
      {
        hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
      }
      return static_cast<std::size_t>(hash);
    }
  };
  struct Equal
  {
    bool operator()(const FormulaNode & x, const FormulaNode & y) const
    {
      return x.operation == y.operation && x.a == y.a && x.b == y.b &&
             bits(x.constant) == bits(y.constant);
    }
  };
  /// Tells 0 from -0.
  static std::uint64_t bits(double x)
  {
    std::uint64_t result;
    std::memcpy(&result, &x, sizeof(result));
    return result;
  }

  std::vector<FormulaNode> nodes_;
  std::unordered_map<FormulaNode, int, Hash, Equal> index_;
};

/// What a declared name stands for.
struct FormulaSymbol
{
  enum class Kind
  {
    kVariable,
    kParameter,
    kDefinition,
    kIndexedFunction
  };
  Kind kind;
  int index = 0;       // of the variable, or the node of the definition
  double value = 0.0;  // of the parameter
  FormulaContext::IndexedFunction resolve;
};

using FormulaSymbols = std::map<std::string, FormulaSymbol>;

struct FormulaContextData
{
  FormulaSymbols symbols;
  FormulaGraph graph;  // of the definitions
  int variable_count = 0;
  bool parsing = false;
};

}  // namespace constrained_dynamics::detail
