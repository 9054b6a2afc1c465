// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Fuzz target for libFuzzer: formulas are untrusted text.
//
//   clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined formula_fuzz.cpp formula.cpp
//     formula_parser.cpp formula_program.cpp, with the include folders of the core
//
// formula.dict is its dictionary. The input is definitions d0, d1, ... separated by '|', and last
// the output. Whatever the text, it is refused with std::invalid_argument or evaluates in every way
// without touching foreign memory, and the ways agree on the value.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "constrained_dynamics/formula/formula.hpp"

namespace
{

using constrained_dynamics::Dual;
using constrained_dynamics::FormulaContext;
using constrained_dynamics::FormulaProgram;
using constrained_dynamics::Jet2;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void require(bool condition)
{
  if (!condition) std::abort();
}

FormulaContext make_context()
{
  FormulaContext context;
  context.add_variable("x");
  context.add_variable("y");
  context.add_variable("left-knee");
  context.add_parameter("a", 2.5);
  context.add_parameter("zero", 0.0);
  context.add_indexed_function(
    "p",
    [](const std::string &, const std::string & argument) -> std::optional<int>
    {
      if (argument == "none") return std::nullopt;
      if (argument == "bad") return -1;
      if (argument == "throws") throw std::invalid_argument("no such frame");
      return 3 + static_cast<int>(argument.size() % 5);
    });
  return context;
}

template <class S>
std::vector<S> evaluate(const FormulaProgram & program, bool reverse)
{
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  std::vector<S> variables(size(program.variable_count()));
  for (std::size_t i = 0; i < variables.size(); ++i)
  {
    variables[i] = S(0.75 - 0.5 * static_cast<double>(i));
  }
  std::vector<S> tape(size(program.tape_size()));
  std::vector<S> outputs(size(program.output_count()));
  program.evaluate(variables.data(), tape.data(), outputs.data());
  if constexpr (!std::is_same_v<S, Jet2>)
  {
    std::vector<S> adjoint(tape.size());
    std::vector<S> gradient(variables.size());
    for (int k = 0; reverse && k < program.output_count(); ++k)
    {
      program.reverse(tape.data(), adjoint.data(), k, gradient.data());
      for (std::size_t i = 0; i < gradient.size(); ++i)
      {
        require(program.depends_on(k, static_cast<int>(i)) || gradient[i] == S(0.0));
      }
    }
  }
  return outputs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const FormulaContext base = make_context();
  FormulaContext context = base;
  std::string text(reinterpret_cast<const char *>(data), size);
  try
  {
    for (int i = 0; text.find('|') != std::string::npos; ++i)
    {
      const std::size_t end = text.find('|');
      context.add_definition("d" + std::to_string(i), text.substr(0, end));
      text.erase(0, end + 1);
    }
    const FormulaProgram program(context, {text, "x*(" + text + ")"});
    const std::vector<double> plain = evaluate<double>(program, true);
    const std::vector<Dual> dual = evaluate<Dual>(program, true);
    const std::vector<Jet2> jet = evaluate<Jet2>(program, false);
    for (std::size_t k = 0; k < plain.size(); ++k)
    {
      require(same(plain[k], dual[k].value));
      require(same(plain[k], jet[k].value));
    }
  }
  catch (const std::invalid_argument & error)
  {
    require(std::string(error.what()).size() < 2000);
  }
  return 0;
}
