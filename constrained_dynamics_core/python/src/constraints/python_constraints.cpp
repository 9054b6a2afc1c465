// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/operators.h>

#include <cmath>
#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/function_constraint.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "python_function.hpp"

/// @file
/// Constraints written in Python, for offline use: each evaluation takes the interpreter's lock.

namespace constrained_dynamics::python
{

namespace
{

// ---- numbers with derivatives
// --------------------------------------------------------------------

// numpy applies its functions to arrays of objects by calling the method of that name on each
// element: this makes np.sin(q[0]) and np.sin(q) work on these numbers.
template <class S>
void bind_number(nb::class_<S> & binding)
{
  binding.def(nb::self + nb::self)
    .def(nb::self - nb::self)
    .def(nb::self * nb::self)
    .def(nb::self / nb::self)
    .def(nb::self + double())
    .def(nb::self - double())
    .def(nb::self * double())
    .def(nb::self / double())
    .def(double() + nb::self)
    .def(double() - nb::self)
    .def(double() * nb::self)
    .def(double() / nb::self)
    .def(-nb::self)
    .def("__pos__", [](const S & x) { return x; })
    .def(
      "__pow__", [](const S & x, double y) { return pow(x, y); }, nb::is_operator())
    .def(
      "__pow__", [](const S & x, const S & y) { return pow(x, y); }, nb::is_operator())
    .def(
      "__rpow__", [](const S & y, double x) { return pow(S(x), y); }, nb::is_operator())
    .def("__abs__", [](const S & x) { return abs(x); })
    .def(
      "__lt__", [](const S & x, const S & y) { return x < y; }, nb::is_operator())
    .def(
      "__gt__", [](const S & x, const S & y) { return x > y; }, nb::is_operator())
    .def(
      "__le__", [](const S & x, const S & y) { return x <= y; }, nb::is_operator())
    .def(
      "__ge__", [](const S & x, const S & y) { return x >= y; }, nb::is_operator())
    .def(
      "__lt__", [](const S & x, double y) { return x < y; }, nb::is_operator())
    .def(
      "__gt__", [](const S & x, double y) { return x > y; }, nb::is_operator())
    .def(
      "__le__", [](const S & x, double y) { return x <= y; }, nb::is_operator())
    .def(
      "__ge__", [](const S & x, double y) { return x >= y; }, nb::is_operator())
    .def("sin", [](const S & x) { return sin(x); })
    .def("cos", [](const S & x) { return cos(x); })
    .def("tan", [](const S & x) { return tan(x); })
    .def("arcsin", [](const S & x) { return asin(x); })
    .def("arccos", [](const S & x) { return acos(x); })
    .def("arctan", [](const S & x) { return atan(x); })
    .def("sinh", [](const S & x) { return sinh(x); })
    .def("cosh", [](const S & x) { return cosh(x); })
    .def("tanh", [](const S & x) { return tanh(x); })
    .def("exp", [](const S & x) { return exp(x); })
    .def("log", [](const S & x) { return log(x); })
    .def("sqrt", [](const S & x) { return sqrt(x); })
    .def("square", [](const S & x) { return x * x; })
    .def("arctan2", [](const S & y, const S & x) { return atan2(y, x); })
    .def("arctan2", [](const S & y, double x) { return atan2(y, S(x)); })
    .def("hypot", [](const S & x, const S & y) { return hypot(x, y); })
    .def("hypot", [](const S & x, double y) { return hypot(x, S(y)); })
    .def_ro("value", &S::value);
}

void bind_numbers(nb::module_ & module)
{
  nb::class_<Dual> dual(
    module, "Dual", "A number with its derivative along one direction; what functions are given.");
  dual.def(nb::init<double>(), "value"_a)
    .def_ro("derivative", &Dual::derivative)
    .def(
      "__repr__", [](const Dual & x)
      { return "Dual(" + std::to_string(x.value) + ", " + std::to_string(x.derivative) + ")"; });
  bind_number(dual);
  nb::class_<Jet2> jet(
    module, "Jet2", "A number with its first and second derivative along a motion.");
  jet.def(nb::init<double>(), "value"_a)
    .def_ro("first", &Jet2::first)
    .def_ro("second", &Jet2::second)
    .def(
      "__repr__",
      [](const Jet2 & x)
      {
        return "Jet2(" + std::to_string(x.value) + ", " + std::to_string(x.first) + ", " +
               std::to_string(x.second) + ")";
      });
  bind_number(jet);
}

// ---- rows by a function of the state
// -------------------------------------------------------------

/// Says on stderr (sys.unraisablehook) what Python raised, since a status cannot carry it.
[[noreturn]] void report(nb::python_error & error, const std::string & name)
{
  error.discard_as_unraisable(("constraint '" + name + "'").c_str());
  throw std::runtime_error("constraint '" + name + "' raised an exception");
}

/// Calls a Python function with numbers of any scalar.
class PythonRows
{
public:
  PythonRows(const System & system, int row_count, std::string name, nb::callable function)
  : coordinate_count_(system.coordinate_count()),
    speed_count_(system.speed_count()),
    row_count_(row_count),
    name_(std::move(name)),
    function_(std::make_shared<HeldFunction>(std::move(function)))
  {
  }

  template <class S>
  void operator()(const S & t, const S * q, const S * u, S * out) const
  {
    const nb::gil_scoped_acquire acquire;
    try
    {
      const nb::object array = nb::module_::import_("numpy").attr("array");
      const auto numbers = [&array](const S * first, int count)
      {
        nb::list list;
        for (int i = 0; i < count; ++i)
        {
          list.append(nb::cast(first[i]));
        }
        return array(list, "dtype"_a = "object");
      };
      const nb::object result =
        function_->function(nb::cast(t), numbers(q, coordinate_count_), numbers(u, speed_count_));
      int row = 0;
      for (const nb::handle value : nb::iter(result))
      {
        if (row < row_count_)
        {
          out[row] = number<S>(value);
        }
        ++row;
      }
      if (row != row_count_)
      {
        throw nb::value_error(("the function gave " + std::to_string(row) + " rows; " +
                               std::to_string(row_count_) + " are needed")
                                .c_str());
      }
    }
    catch (nb::python_error & error)
    {
      report(error, name_);
    }
    catch (nb::builtin_exception & error)
    {
      PyErr_SetString(PyExc_ValueError, error.what());
      PyErr_WriteUnraisable(nb::str(("constraint '" + name_ + "'").c_str()).ptr());
      throw std::runtime_error(error.what());
    }
  }

private:
  int coordinate_count_;
  int speed_count_;
  int row_count_;
  std::string name_;
  std::shared_ptr<HeldFunction> function_;
};

using PythonFunctionConstraint = FunctionConstraint<PythonRows>;

// ---- rows by a class
// -----------------------------------------------------------------------------

/// The state as seen by a constraint class written in Python.
struct StateView
{
  const System * system = nullptr;
  const SystemData * data = nullptr;

  const SystemTerms & terms() const
  {
    if (data == nullptr)
    {
      throw std::runtime_error("a state is valid only during the call that it was given to");
    }
    return data->terms;
  }
};

/// A constraint whose rows and wrenches are written in Python.
class CustomConstraint : public Constraint
{
public:
  CustomConstraint(
    const std::string & name, const System & system, const std::vector<std::string> & labels,
    RowLevel level, nb::callable evaluate, std::optional<nb::callable> wrench,
    const std::string & frame_a, const std::string & frame_b)
  : Constraint(
      name, "custom", system, describe(labels, level),
      wrench ? bodies(system, frame_a, frame_b) : std::vector<WrenchBodies>()),
    evaluate_(std::move(evaluate)),
    wrench_(std::move(wrench))
  {
  }
  ~CustomConstraint() override
  {
    const nb::gil_scoped_acquire acquire;
    evaluate_.reset();
    wrench_.reset();
  }

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept
    CD_NONBLOCKING override
  {
    const nb::gil_scoped_acquire acquire;
    return guarded(
      where(),
      [&]
      {
        const nb::object state = nb::cast(StateView{&system(), &data});
        const nb::object result = evaluate_(state);
        nb::cast<StateView &>(state) = StateView{};
        const nb::tuple parts = nb::cast<nb::tuple>(result);
        if (parts.size() != 4)
        {
          throw nb::value_error("evaluate must give four arrays: φ, φ̇ or ψ, A, b");
        }
        const auto m = static_cast<Eigen::Index>(row_count());
        const auto position = nb::cast<VectorArgument>(parts[0]);
        const auto velocity = nb::cast<VectorArgument>(parts[1]);
        const auto jacobian = nb::cast<MatrixArgument>(parts[2]);
        const auto bias = nb::cast<VectorArgument>(parts[3]);
        const Eigen::MatrixXd a = matrix(jacobian);
        if (a.rows() != m || a.cols() != system().speed_count())
        {
          throw nb::value_error("A must have one row a label and one column a speed");
        }
        rows.position = checked(position, m, "φ");
        rows.velocity = checked(velocity, m, "φ̇");
        rows.jacobian = a;
        rows.bias = checked(bias, m, "b");
        const bool finite = rows.position.allFinite() && rows.velocity.allFinite() &&
                            rows.jacobian.allFinite() && rows.bias.allFinite();
        return finite ? Status::kOk : Status::kNonFiniteResult;
      });
  }

  void do_wrenches(
    const SystemData & data, ConstraintScratch &, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING override
  {
    if (!wrench_)
    {
      return;
    }
    const nb::gil_scoped_acquire acquire;
    const Status status = guarded(
      where(),
      [&]
      {
        const nb::object state = nb::cast(StateView{&system(), &data});
        const nb::object result = (*wrench_)(state, nb::cast(Eigen::VectorXd(multipliers)));
        nb::cast<StateView &>(state) = StateView{};
        const nb::tuple parts = nb::cast<nb::tuple>(result);
        if (parts.size() != 3)
        {
          throw nb::value_error("wrench must give three vectors: point, force, torque on A");
        }
        Wrench & on_a = out->on_a;
        on_a.point = vector3(nb::cast<VectorArgument>(parts[0]), "point");
        on_a.force = vector3(nb::cast<VectorArgument>(parts[1]), "force");
        on_a.torque = vector3(nb::cast<VectorArgument>(parts[2]), "torque");
        out->on_b = {on_a.point, -on_a.force, -on_a.torque};
        return Status::kOk;
      });
    if (status != Status::kOk)
    {
      *out = WrenchPair();
    }
  }

private:
  static std::vector<RowDescription> describe(
    const std::vector<std::string> & labels, RowLevel level)
  {
    std::vector<RowDescription> rows;
    for (const std::string & label : labels)
    {
      rows.push_back({label, level, false});
    }
    return rows;
  }
  static std::vector<WrenchBodies> bodies(
    const System & system, const std::string & frame_a, const std::string & frame_b)
  {
    return {
      {system.body_of_frame(system.frame_index(frame_a)), frame_a,
       system.body_of_frame(system.frame_index(frame_b)), frame_b}};
  }

  std::string where() const { return "constraint '" + name() + "'"; }

  nb::callable evaluate_;
  std::optional<nb::callable> wrench_;
};

void bind_state_view(nb::module_ & module)
{
  nb::class_<StateView> binding(
    module, "StateView", "The state of an evaluation; valid only during the call it is given to.");
  binding.def_prop_ro("time", [](const StateView & s) { return s.terms().time; })
    .def(
      "frame",
      [](const StateView & s, const std::string & name)
      {
        FrameKinematics out;
        s.terms();
        s.system->frame_kinematics(*s.data, s.system->frame_index(name), out);
        return out;
      },
      "name"_a, "Motion of a frame.")
    .def(
      "frame_jacobian",
      [](const StateView & s, const std::string & name)
      {
        s.terms();
        Matrix6X out(6, s.system->speed_count());
        s.system->frame_jacobian(*s.data, s.system->frame_index(name), out);
        return Eigen::MatrixXd(out);
      },
      "name"_a, "Jacobian (6 × n): rows 0 to 2 linear, 3 to 5 angular.");
  // Copies, because the memory belongs to the workspace and Python may keep what it gets.
  const auto term = [&binding](const char * name, auto member, const char * doc)
  {
    using Matrix = std::remove_reference_t<decltype(std::declval<SystemTerms &>().*member)>;
    binding.def_prop_ro(
      name, [member](const StateView & s) { return Matrix(s.terms().*member); }, doc);
  };
  term("coordinates", &SystemTerms::coordinates, "q (nq)");
  term("speeds", &SystemTerms::speeds, "u (n)");
  term("rates", &SystemTerms::rates, "q̇ (nq)");
  term("kinematic_matrix", &SystemTerms::kinematic_matrix, "C (nq × n)");
  term("acceleration_bias", &SystemTerms::acceleration_bias, "q̈ at u̇ = 0 (nq)");
}

}  // namespace

void bind_python_constraints(nb::module_ & module)
{
  bind_numbers(module);
  bind_state_view(module);
  nb::class_<PythonFunctionConstraint, Constraint>(
    module, "FunctionConstraint",
    "Rows given by a Python function f(t, q, u) that returns `row_count` numbers, written with\n"
    "ordinary arithmetic and numpy's functions (sin, cos, sqrt, …). Position level: f must not "
    "use\n"
    "u. Exact derivatives by automatic differentiation: q and u are arrays of Dual or Jet2. One\n"
    "evaluation costs n + 1 calls: for offline use. An exception ends the evaluation with\n"
    "Status.USER_FUNCTION_FAILED and is printed by sys.unraisablehook.")
    .def(
      "__init__",
      [](
        PythonFunctionConstraint * self, const std::string & name, const System & system,
        RowLevel level, int row_count, nb::callable function,
        const std::vector<std::string> & labels)
      {
        new (self) PythonFunctionConstraint(
          name, system, level, row_count, PythonRows(system, row_count, name, std::move(function)),
          labels);
      },
      "name"_a, "system"_a, "level"_a, "row_count"_a, "function"_a,
      "labels"_a = std::vector<std::string>(), nb::keep_alive<1, 3>());
  nb::class_<CustomConstraint, Constraint>(
    module, "CustomConstraint",
    "Rows written out in Python: evaluate(state) returns φ (m), φ̇ or ψ (m), A (m × n) and b (m) "
    "of\n"
    "A u̇ = b, with the frames of `state` (StateView) at hand. wrench(state, multipliers), if "
    "given,\n"
    "returns point, force and torque on frame_a's body, world axes; frame_b's gets the opposite.\n"
    "For offline use.")
    .def(
      nb::init<
        const std::string &, const System &, const std::vector<std::string> &, RowLevel,
        nb::callable, std::optional<nb::callable>, const std::string &, const std::string &>(),
      "name"_a, "system"_a, "labels"_a, "level"_a, "evaluate"_a, nb::kw_only(),
      "wrench"_a = nb::none(), "frame_a"_a = "world", "frame_b"_a = "world",
      nb::keep_alive<1, 3>());
}

}  // namespace constrained_dynamics::python
