// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formula.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <set>

#include <boost/math/constants/constants.hpp>

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

const std::set<std::string> & functions_of_frames()
{
  static const std::set<std::string> names = {"px", "py", "pz", "vx", "vy", "vz", "wx", "wy", "wz"};
  return names;
}

class Parser
{
public:
  explicit Parser(const std::string & text) : text_(text) {}

  Expression all()
  {
    Expression out = sum();
    skip();
    if (position_ != text_.size())
    {
      fail("an operator");
    }
    return out;
  }

private:
  [[noreturn]] void fail(const std::string & expected) const
  {
    throw std::invalid_argument(
      "formula '" + text_ + "', place " + std::to_string(position_ + 1) + ": expected " + expected);
  }
  void skip()
  {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])))
    {
      ++position_;
    }
  }
  bool take(char c)
  {
    skip();
    if (position_ < text_.size() && text_[position_] == c)
    {
      ++position_;
      return true;
    }
    return false;
  }
  static Expression call(const std::string & name, std::vector<Expression> arguments)
  {
    Expression out;
    out.kind = Expression::Kind::kCall;
    out.name = name;
    out.arguments = std::move(arguments);
    return out;
  }
  Expression sum()
  {
    Expression left = product();
    while (true)
    {
      if (take('+'))
      {
        left = call("+", {std::move(left), product()});
      }
      else if (take('-'))
      {
        left = call("-", {std::move(left), product()});
      }
      else
      {
        return left;
      }
    }
  }
  Expression product()
  {
    Expression left = signed_power();
    while (true)
    {
      if (take('*'))
      {
        left = call("*", {std::move(left), signed_power()});
      }
      else if (take('/'))
      {
        left = call("/", {std::move(left), signed_power()});
      }
      else
      {
        return left;
      }
    }
  }
  Expression signed_power()
  {
    if (take('-'))
    {
      return call("negate", {signed_power()});
    }
    if (take('+'))
    {
      return signed_power();
    }
    Expression base = primary();
    if (take('^'))
    {
      return call("^", {std::move(base), signed_power()});
    }
    return base;
  }
  std::string name()
  {
    skip();
    if (take('`'))
    {
      const std::size_t end = text_.find('`', position_);
      if (end == std::string::npos)
      {
        fail("a closing backquote");
      }
      const std::string out = text_.substr(position_, end - position_);
      position_ = end + 1;
      return out;
    }
    const std::size_t begin = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
    {
      ++position_;
    }
    if (begin == position_)
    {
      fail("a name");
    }
    return text_.substr(begin, position_ - begin);
  }
  Expression primary()
  {
    skip();
    if (position_ >= text_.size())
    {
      fail("a number, a name or '('");
    }
    if (take('('))
    {
      Expression inside = sum();
      if (!take(')'))
      {
        fail("')'");
      }
      return inside;
    }
    const char c = text_[position_];
    Expression out;
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.')
    {
      char * end = nullptr;
      out.number = std::strtod(text_.c_str() + position_, &end);
      position_ = static_cast<std::size_t>(end - text_.c_str());
      return out;
    }
    const bool quoted = c == '`';
    out.name = name();
    out.kind = Expression::Kind::kName;
    if (!quoted && take('('))
    {
      if (functions_of_frames().count(out.name) != 0)
      {
        out.name += "(" + name() + ")";
      }
      else
      {
        out.kind = Expression::Kind::kCall;
        out.arguments.push_back(sum());
        while (take(','))
        {
          out.arguments.push_back(sum());
        }
      }
      if (!take(')'))
      {
        fail("')'");
      }
    }
    return out;
  }

  const std::string & text_;
  std::size_t position_ = 0;
};

/// Evaluation. A Jet without gradient is a constant.
class Evaluation
{
public:
  Evaluation(
    const Names & names, const std::vector<std::string> & variables,
    const std::vector<Argument> & arguments)
  : names_(names),
    variables_(variables),
    arguments_(arguments),
    count_(static_cast<int>(variables.size()))
  {
  }

  Jet of(const Expression & e)
  {
    switch (e.kind)
    {
      case Expression::Kind::kNumber:
        return constant(e.number);
      case Expression::Kind::kName:
        return of_name(e.name);
      default:
        return of_call(e);
    }
  }

private:
  static Jet constant(const Real & number)
  {
    Jet out;
    out.value = number;
    out.size = abs(number);
    return out;
  }
  static bool is_constant(const Jet & a) { return a.gradient.empty(); }

  Jet with_room() const
  {
    Jet out;
    out.gradient.resize(at(count_));
    out.gradient_size.resize(at(count_));
    out.hessian = Matrix(count_, count_);
    out.hessian_size = Matrix(count_, count_);
    return out;
  }

  Jet of_name(const std::string & name)
  {
    // A definition, a parameter or a variable; names are unique in a file.
    const auto parameter = names_.parameters.find(name);
    if (parameter != names_.parameters.end())
    {
      return constant(parameter->second);
    }
    const auto known = memory_.find(name);
    if (known != memory_.end())
    {
      return known->second;
    }
    const auto definition = names_.definitions.find(name);
    if (definition != names_.definitions.end())
    {
      return memory_[name] = of(definition->second);
    }
    const auto variable = std::find(variables_.begin(), variables_.end(), name);
    if (variable != variables_.end())
    {
      const std::size_t i = static_cast<std::size_t>(variable - variables_.begin());
      Jet out = with_room();
      out.value = arguments_[i].value;
      out.size = arguments_[i].size;
      out.gradient[i] = 1;
      out.gradient_size[i] = 1;
      return out;
    }
    if (name == "pi")
    {
      return constant(boost::math::constants::pi<Real>());
    }
    throw Unsupported("name '" + name + "' in a formula");
  }

  /// a + sign b.
  Jet sum(const Jet & a, const Jet & b, int sign) const
  {
    Jet out = is_constant(a) && is_constant(b) ? Jet() : with_room();
    out.value = a.value + sign * b.value;
    out.size = a.size + b.size;
    for (std::size_t i = 0; i < out.gradient.size(); ++i)
    {
      if (!is_constant(a))
      {
        out.gradient[i] += a.gradient[i];
        out.gradient_size[i] += a.gradient_size[i];
      }
      if (!is_constant(b))
      {
        out.gradient[i] += sign * b.gradient[i];
        out.gradient_size[i] += b.gradient_size[i];
      }
    }
    for (std::size_t i = 0; i < out.hessian.element.size(); ++i)
    {
      if (!is_constant(a))
      {
        out.hessian.element[i] += a.hessian.element[i];
        out.hessian_size.element[i] += a.hessian_size.element[i];
      }
      if (!is_constant(b))
      {
        out.hessian.element[i] += sign * b.hessian.element[i];
        out.hessian_size.element[i] += b.hessian_size.element[i];
      }
    }
    return out;
  }

  /// A function of one argument from its value and derivatives, and their sizes.
  Jet chain(const Jet & a, const std::array<Real, 3> & f, const std::array<Real, 3> & size) const
  {
    if (is_constant(a))
    {
      Jet out = constant(f[0]);
      out.size = size[0];
      return out;
    }
    Jet out = with_room();
    out.value = f[0];
    out.size = size[0];
    for (int i = 0; i < count_; ++i)
    {
      out.gradient[at(i)] = f[1] * a.gradient[at(i)];
      out.gradient_size[at(i)] = size[1] * a.gradient_size[at(i)];
      for (int j = 0; j < count_; ++j)
      {
        if (a.hessian_size(i, j) != 0)
        {
          out.hessian(i, j) = f[1] * a.hessian(i, j);
          out.hessian_size(i, j) = size[1] * a.hessian_size(i, j);
        }
        if (a.gradient_size[at(i)] != 0 && a.gradient_size[at(j)] != 0)
        {
          out.hessian(i, j) += f[2] * a.gradient[at(i)] * a.gradient[at(j)];
          out.hessian_size(i, j) += size[2] * a.gradient_size[at(i)] * a.gradient_size[at(j)];
        }
      }
    }
    return out;
  }

  /// The same with sizes that follow from a change of a as large as a could be.
  Jet chain(const Jet & a, const Real & f0, const Real & f1, const Real & f2) const
  {
    return chain(
      a, {f0, f1, f2}, {abs(f0) + abs(f1) * a.size, abs(f1) + abs(f2) * a.size, abs(f2)});
  }

  Jet product(const Jet & a, const Jet & b) const
  {
    if (is_constant(a))
    {
      return chain(b, {a.value * b.value, a.value, 0}, {a.size * b.size, a.size, 0});
    }
    if (is_constant(b))
    {
      return product(b, a);
    }
    Jet out = with_room();
    out.value = a.value * b.value;
    out.size = a.size * b.size;
    for (int i = 0; i < count_; ++i)
    {
      const std::size_t p = at(i);
      out.gradient[p] = a.gradient[p] * b.value + a.value * b.gradient[p];
      out.gradient_size[p] = a.gradient_size[p] * b.size + a.size * b.gradient_size[p];
      for (int j = 0; j < count_; ++j)
      {
        const std::size_t q = at(j);
        if (a.hessian_size(i, j) != 0)
        {
          out.hessian(i, j) += a.hessian(i, j) * b.value;
          out.hessian_size(i, j) += a.hessian_size(i, j) * b.size;
        }
        if (b.hessian_size(i, j) != 0)
        {
          out.hessian(i, j) += b.hessian(i, j) * a.value;
          out.hessian_size(i, j) += b.hessian_size(i, j) * a.size;
        }
        if (a.gradient_size[p] != 0 && b.gradient_size[q] != 0)
        {
          out.hessian(i, j) += a.gradient[p] * b.gradient[q];
          out.hessian_size(i, j) += a.gradient_size[p] * b.gradient_size[q];
        }
        if (a.gradient_size[q] != 0 && b.gradient_size[p] != 0)
        {
          out.hessian(i, j) += a.gradient[q] * b.gradient[p];
          out.hessian_size(i, j) += a.gradient_size[q] * b.gradient_size[p];
        }
      }
    }
    return out;
  }

  Jet inverse(const Jet & a) const
  {
    if (a.value == 0)
    {
      throw Unsupported("a formula that divides by zero at the state");
    }
    const Real f = 1 / a.value;
    return chain(a, f, -f * f, 2 * f * f * f);
  }

  Jet root(const Jet & a) const
  {
    if (!(a.value > 0))
    {
      throw Unsupported("a formula with the root of zero or less at the state");
    }
    const Real f = sqrt(a.value);
    return chain(a, f, 1 / (2 * f), -1 / (4 * f * a.value));
  }

  Jet power(const Jet & a, const Jet & b) const
  {
    const bool whole = is_constant(b) && b.value == floor(b.value) && abs(b.value) < 1000;
    if (!whole)
    {
      if (!(a.value > 0))
      {
        throw Unsupported("a formula with a power of zero or less at the state");
      }
      if (is_constant(b))
      {
        const Real f = pow(a.value, b.value);
        return chain(
          a, f, b.value * f / a.value, b.value * (b.value - 1) * f / (a.value * a.value));
      }
      return exponential(product(b, logarithm(a)));
    }
    const int k = b.value.convert_to<int>();
    if (k < 0)
    {
      return inverse(power(a, constant(-b.value)));
    }
    if (k == 0)
    {
      return constant(1);
    }
    const auto derivatives = [k](const Real & x) -> std::array<Real, 3> {
      return {pow(x, k), k * pow(x, k - 1), k > 1 ? Real(k * (k - 1) * pow(x, k - 2)) : Real(0)};
    };
    return chain(a, derivatives(a.value), derivatives(a.size));
  }

  Jet exponential(const Jet & a) const
  {
    const Real f = exp(a.value);
    return chain(a, f, f, f);
  }

  Jet logarithm(const Jet & a) const
  {
    if (!(a.value > 0))
    {
      throw Unsupported("a formula with the logarithm of zero or less at the state");
    }
    const Real f = 1 / a.value;
    return chain(a, log(a.value), f, -f * f);
  }

  /// atan2(y, x): the derivatives are those of the arc tangent of y/x or of −x/y.
  Jet angle(const Jet & y, const Jet & x) const
  {
    if (x.value == 0 && y.value == 0)
    {
      throw Unsupported("a formula with atan2(0, 0) at the state");
    }
    Jet out = abs(x.value) > abs(y.value) ? arc_tangent(product(y, inverse(x)))
                                          : arc_tangent(product(x, inverse(y)));
    if (!(abs(x.value) > abs(y.value)))
    {
      out = product(constant(-1), out);
    }
    out.value = atan2(y.value, x.value);
    return out;
  }

  /// A sine or cosine: neither they nor their derivatives exceed 1, however many turns an angle has
  /// made.
  Jet wave(const Jet & a, const Real & value, const Real & derivative) const
  {
    const auto size = [&](const Real & f, const Real & slope)
    { return std::min<Real>(1, abs(f) + abs(slope) * a.size); };
    return chain(
      a, {value, derivative, -value},
      {size(value, derivative), size(derivative, value), abs(value)});
  }

  Jet arc_tangent(const Jet & a) const
  {
    const Real f1 = 1 / (1 + a.value * a.value);
    return chain(a, atan(a.value), f1, -2 * a.value * f1 * f1);
  }

  /// A function that is a times a constant here.
  Jet multiple(const Jet & a, int factor) const { return product(constant(factor), a); }

  Jet of_call(const Expression & e)
  {
    std::vector<Jet> x;
    for (const Expression & argument : e.arguments)
    {
      x.push_back(of(argument));
    }
    const std::string & f = e.name;
    if (x.size() == 2)
    {
      const Jet & a = x[0];
      const Jet & b = x[1];
      if (f == "+") return sum(a, b, 1);
      if (f == "-") return sum(a, b, -1);
      if (f == "*") return product(a, b);
      if (f == "/") return product(a, inverse(b));
      if (f == "^" || f == "pow") return power(a, b);
      if (f == "atan2") return angle(a, b);
      if (f == "hypot") return root(sum(product(a, a), product(b, b), 1));
      if (f == "min") return a.value < b.value ? a : b;
      if (f == "max") return a.value < b.value ? b : a;
    }
    if (x.size() == 1)
    {
      const Jet & a = x[0];
      const Real & v = a.value;
      if (f == "negate") return multiple(a, -1);
      if (f == "sin") return wave(a, sin(v), cos(v));
      if (f == "cos") return wave(a, cos(v), -sin(v));
      if (f == "tan")
      {
        const Real t = tan(v);
        return chain(a, t, 1 + t * t, 2 * t * (1 + t * t));
      }
      if (f == "asin" || f == "acos")
      {
        if (!(abs(v) < 1))
        {
          throw Unsupported("a formula with " + f + " at or beyond one at the state");
        }
        const Real f1 = 1 / sqrt(1 - v * v);
        const Real f2 = v * f1 * f1 * f1;
        return f == "asin" ? chain(a, asin(v), f1, f2) : chain(a, acos(v), -f1, -f2);
      }
      if (f == "atan") return arc_tangent(a);
      if (f == "sinh") return chain(a, sinh(v), cosh(v), sinh(v));
      if (f == "cosh") return chain(a, cosh(v), sinh(v), cosh(v));
      if (f == "tanh")
      {
        const Real t = tanh(v);
        return chain(a, t, 1 - t * t, -2 * t * (1 - t * t));
      }
      if (f == "exp") return exponential(a);
      if (f == "log") return logarithm(a);
      if (f == "sqrt") return is_constant(a) ? constant(sqrt(v)) : root(a);
      if (f == "abs") return multiple(a, v < 0 ? -1 : 1);
      if (f == "sign") return constant(v < 0 ? -1 : v > 0 ? 1 : 0);
      if (f == "step") return constant(v < 0 ? 0 : 1);
    }
    throw Unsupported(
      "function " + f + " of " + std::to_string(x.size()) + " arguments in a formula");
  }

  const Names & names_;
  const std::vector<std::string> & variables_;
  const std::vector<Argument> & arguments_;
  int count_;
  std::map<std::string, Jet> memory_;
};

}  // namespace

Expression parse_formula(const std::string & text) { return Parser(text).all(); }

Real number_of(const std::string & text, const Names & names)
{
  static const std::vector<std::string> no_variables;
  static const std::vector<Argument> no_arguments;
  return Evaluation(names, no_variables, no_arguments).of(parse_formula(text)).value;
}

std::vector<std::string> variables_of(const Expression & formula, const Names & names)
{
  std::vector<std::string> out;
  std::set<std::string> seen;
  const std::function<void(const Expression &)> walk = [&](const Expression & e)
  {
    if (e.kind == Expression::Kind::kName && seen.insert(e.name).second)
    {
      const auto definition = names.definitions.find(e.name);
      if (names.parameters.count(e.name) != 0)
      {
        return;
      }
      if (definition != names.definitions.end())
      {
        walk(definition->second);
      }
      else if (e.name != "pi")
      {
        out.push_back(e.name);
      }
    }
    for (const Expression & argument : e.arguments)
    {
      walk(argument);
    }
  };
  walk(formula);
  return out;
}

Jet evaluate(
  const Expression & formula, const Names & names, const std::vector<std::string> & variables,
  const std::vector<Argument> & arguments)
{
  Jet out = Evaluation(names, variables, arguments).of(formula);
  if (out.gradient.empty())
  {
    const int count = static_cast<int>(variables.size());
    out.gradient.resize(at(count));
    out.gradient_size.resize(at(count));
    out.hessian = Matrix(count, count);
    out.hessian_size = Matrix(count, count);
  }
  return out;
}

}  // namespace invariance
