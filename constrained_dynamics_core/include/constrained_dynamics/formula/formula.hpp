// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// Formulas as data: parsed once at setup, then evaluated with derivatives by automatic
/// differentiation.
///
///     FormulaContext names;
///     names.add_variable("x");                       // variable 0
///     names.add_variable("y");                       // variable 1
///     names.add_parameter("length", 0.5);
///     names.add_definition("radius", "hypot(x, y)");
///     const FormulaProgram program(names, {"radius - length", "x^2*sin(y)"});
///
/// Grammar, from loosest to tightest: `a + b`, `a - b`; `a * b`, `a / b`; `-a`, `+a`; `a ^ b` (from
/// the right; -x^2 is -(x^2), and 2^-1 works); numbers (1, 1.5e-3, .5), names, `pi`, parentheses
/// and calls. Names are letters, digits and `_`, not starting with a digit; any other name is
/// written in backquotes: `` `left-knee/joint` ``. White space and line ends separate.
///
/// Functions: sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs sign step (0 below 0, else
/// 1) of one argument; atan2(y, x) pow min max hypot of two. dual.hpp defines the derivatives at
/// kinks.
///
/// Limits: 65536 characters per formula, nesting of 200, 20000 nodes per program (with
/// definitions), 1024 outputs per program. Violations throw std::invalid_argument, whose message
/// shows the formula with a caret at the position. Constant parts are computed at set-up and must
/// be finite.

namespace constrained_dynamics
{

/// Longest formula, in characters.
inline constexpr int kMaxFormulaLength = 65536;
/// Deepest nesting of parentheses, calls, signs and powers.
inline constexpr int kMaxFormulaDepth = 200;
/// Largest number of nodes of a context's definitions, or of a program with definitions.
inline constexpr int kMaxFormulaNodes = 20000;
/// Largest number of outputs of a program.
inline constexpr int kMaxFormulaOutputs = 1024;
/// Largest number of variables.
inline constexpr int kMaxFormulaVariables = 100000;
/// Longest name, in bytes.
inline constexpr int kMaxFormulaName = 255;

namespace detail
{
struct FormulaContextData;
struct FormulaCompiler;

/// One operation of a tape.
struct FormulaNode
{
  int operation;    // a FormulaOperation of formula_graph.hpp
  int a;            // first operand, or the index of a variable
  int b;            // second operand
  double constant;  // value of a constant, or a constant exponent
};
}  // namespace detail

/// The names that formulas may use. Setup only: may allocate and throw.
///
/// Every name is declared once; names of functions, `pi`, `nan` and `inf` are reserved. A name is
/// any text of 1 to 255 bytes without backquotes and control characters; names that are not
/// identifiers must be in backquotes in formulas. All `add_` methods throw std::invalid_argument
/// and then leave the context as it was.
class CONSTRAINED_DYNAMICS_EXPORT FormulaContext
{
public:
  /// Maps `function(argument)`, such as `px(tool)`, to a variable index; nullopt when there is no
  /// such argument. May make a variable on demand. A std::invalid_argument that it throws is
  /// rethrown with the position in the formula.
  using IndexedFunction =
    std::function<std::optional<int>(const std::string & function, const std::string & argument)>;

  FormulaContext();
  FormulaContext(const FormulaContext & other);
  FormulaContext & operator=(const FormulaContext & other);
  ~FormulaContext();

  /// Declares the next variable; returns its index, which is variable_count() before the call.
  int add_variable(const std::string & name);
  /// Declares a name for the variable at `index` (0 to 99999); several names may share one.
  void add_variable(const std::string & name, int index);
  /// Declares a constant; must be finite.
  void add_parameter(const std::string & name, double value);
  /// Declares a name for an expression of previously declared names. Parsed immediately.
  void add_definition(const std::string & name, const std::string & expression);
  /// Declares a function whose argument is a name, resolved by `resolve` at each use in a formula.
  void add_indexed_function(const std::string & name, IndexedFunction resolve);

  /// One more than the largest variable index declared or used by a definition.
  int variable_count() const noexcept;
  /// Index of a declared variable; nullopt when `name` is something else or unknown.
  std::optional<int> find_variable(const std::string & name) const;
  /// True when the name is declared or reserved.
  bool contains(const std::string & name) const;
  /// True for `pi`, `nan`, `inf` and the names of functions, which cannot be declared.
  static bool is_reserved(const std::string & name);
  /// True when the name can be written without backquotes.
  static bool is_identifier(const std::string & name);

private:
  friend struct detail::FormulaCompiler;
  std::unique_ptr<detail::FormulaContextData> data_;
};

/// Several formulas over one vector of variables, compiled to one tape with common parts shared.
///
/// Constant after construction and shareable by threads. All scratch memory is the caller's: `tape`
/// and `adjoint` hold tape_size() scalars, `variables` and `gradient` variable_count(), `outputs`
/// output_count(). S is double, Dual, Jet2 or HyperDual forward; double, Dual or HyperDual in
/// reverse.
///
/// With x the variables, v a direction and f one output:
/// - evaluate<double>: f(x);
/// - evaluate<Dual>, x seeded with v: f and ∇f·v;
/// - evaluate<Jet2>, x seeded with ẋ, ẍ: f, ḟ = ∇f·ẋ and f̈ = ẋᵀ∇²f ẋ + ∇f·ẍ;
/// - forward<double>, reverse<double>: ∇f;
/// - forward<Dual>, reverse<Dual>, x seeded with v: ∇f and the Hessian-vector product ∇²f v;
/// - forward<HyperDual>, reverse<HyperDual>, x seeded with v, w and z: ∇f, ∇²f v, ∇²f w and
///   ∇³f v w + ∇²f z.
///
/// Sharing and constant folding do not change results, not even by round-off.
class CONSTRAINED_DYNAMICS_EXPORT FormulaProgram
{
public:
  /// A program without outputs.
  FormulaProgram() = default;
  /// Parses one expression per output. @throw std::invalid_argument
  FormulaProgram(const FormulaContext & context, const std::vector<std::string> & expressions);

  /// Size of the variable vector: covers the context's variables and any made on demand by indexed
  /// functions.
  int variable_count() const noexcept CD_NONBLOCKING { return variable_count_; }
  int output_count() const noexcept CD_NONBLOCKING { return static_cast<int>(outputs_.size()); }
  int tape_size() const noexcept CD_NONBLOCKING { return static_cast<int>(nodes_.size()); }

  /// True when the variable occurs in the output (after constant folding); false for indices out of
  /// range.
  bool depends_on(int output, int variable) const noexcept CD_NONBLOCKING;
  /// For each of the `count` variables from `first` on, those among them (as indices from 0,
  /// ascending) with which the output may have a second derivative other than zero. This depends
  /// only on the operations, not on values. Precondition: 0 <= output < output_count(), variables
  /// that exist. Setup only: allocates.
  std::vector<std::vector<int>> coupled_variables(int output, int first, int count) const;
  /// The variables that occur in the output, ascending. Precondition: 0 <= output < output_count().
  const std::vector<int> & variables_of(int output) const noexcept CD_NONBLOCKING
  {
    return outputs_[static_cast<std::size_t>(output)].variables;
  }

  /// All outputs; `tape` is ready for reverse() afterwards. Real-time safe.
  template <class S>
  void evaluate(const S * variables, S * tape, S * outputs) const noexcept CD_NONBLOCKING;

  /// Fills the tape. Real-time safe.
  template <class S>
  void forward(const S * variables, S * tape) const noexcept CD_NONBLOCKING;

  /// One output from a filled tape. Precondition: 0 <= output < output_count(). Real-time safe.
  template <class S>
  const S & output(const S * tape, int output) const noexcept CD_NONBLOCKING
  {
    return tape[outputs_[static_cast<std::size_t>(output)].node];
  }

  /// Gradient of one output with respect to all variables from a filled tape, which stays as it is,
  /// so that one forward() serves any number of outputs. Evaluates only what the output depends on,
  /// so that singularities of other outputs have no effect. An output out of range gives NaN.
  /// Real-time safe.
  template <class S>
  void reverse(const S * tape, S * adjoint, int output, S * gradient) const noexcept CD_NONBLOCKING;

  /// forward() and reverse() of one output. Real-time safe.
  template <class S>
  void gradient(const S * variables, S * tape, S * adjoint, int output, S * gradient) const noexcept
    CD_NONBLOCKING;

private:
  friend struct detail::FormulaCompiler;

  struct Output
  {
    int node;
    std::vector<int> used;       // nodes that the output depends on, ascending, itself last
    std::vector<int> variables;  // variables among them, ascending
  };

  std::vector<detail::FormulaNode> nodes_;  // operands come before their users
  std::vector<Output> outputs_;
  int variable_count_ = 0;
};

}  // namespace constrained_dynamics
