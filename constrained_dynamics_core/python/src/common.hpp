// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <utility>

#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <Eigen/Core>

#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Shared by all sources of the Python module: vectors in without copies, views out.

namespace constrained_dynamics::python
{

namespace nb = nanobind;
using namespace nb::literals;

/// An array from Python. Row-major arrays of doubles are viewed in place; anything else that numpy
/// can convert (lists, integers, strides) is copied.
template <int kDimensions>
class ArrayArgument
{
public:
  using Array = nb::ndarray<const double, nb::numpy, nb::ndim<kDimensions>, nb::c_contig>;

  ArrayArgument() = default;
  explicit ArrayArgument(Array array) : array_(std::move(array)) {}

  /// A column (n, 1) where a vector (n) is needed: kept for a message that says so.
  static ArrayArgument column(Array array)
  {
    ArrayArgument result(std::move(array));
    result.is_column_ = true;
    return result;
  }

  const Array & array() const { return array_; }
  Eigen::Index size() const { return static_cast<Eigen::Index>(array_.size()); }
  bool is_column() const { return is_column_; }

private:
  Array array_;
  bool is_column_ = false;
};
using VectorArgument = ArrayArgument<1>;
using MatrixArgument = ArrayArgument<2>;

/// The vector in place.
/// @throw std::invalid_argument, naming it, for an array of shape (n, 1).
Eigen::Map<const Eigen::VectorXd> view(
  const VectorArgument & vector, const char * name = "an array");
/// The vector in place, which must have `size` elements.
/// @throw std::invalid_argument naming it.
Eigen::Map<const Eigen::VectorXd> checked(
  const VectorArgument & vector, Eigen::Index size, const char * name);
inline Eigen::Vector3d vector3(const VectorArgument & vector, const char * name)
{
  return checked(vector, 3, name);
}
Eigen::MatrixXd matrix(const MatrixArgument & matrix);

/// Inputs τ: those given, or zeros where Python gave None.
class InputArgument
{
public:
  InputArgument(const std::optional<VectorArgument> & given, int count);
  Eigen::Map<const Eigen::VectorXd> view() const { return {data_, count_}; }

private:
  Eigen::VectorXd zeros_;
  const double * data_;
  Eigen::Index count_;
};

/// A read-only view of a vector or matrix; the owner is kept alive by
/// rv_policy::reference_internal.
template <class Matrix>
Eigen::Map<const Matrix> view(const Matrix & matrix)
{
  return Eigen::Map<const Matrix>(matrix.data(), matrix.rows(), matrix.cols());
}
inline Eigen::Map<const Eigen::VectorXd> view(const Eigen::VectorXd & vector)
{
  return {vector.data(), vector.size()};
}
inline Eigen::Map<const Eigen::Vector3d> view(const Eigen::Vector3d & vector)
{
  return Eigen::Map<const Eigen::Vector3d>(vector.data());
}

/// Defines a read-only property that is a view of a member matrix or vector.
template <class Class, class Owner, class Matrix>
void def_view(Class & binding, const char * name, Matrix Owner::*member, const char * doc)
{
  binding.def_prop_ro(
    name, [member](const Owner & owner) { return view(owner.*member); },
    nb::rv_policy::reference_internal, doc);
}

/// @throw std::runtime_error with the status unless there is output.
void require_output(Status status, const char * what);

// One function per source, ordered so that the types they need exist.
void bind_basics(nb::module_ & module);
void bind_systems(nb::module_ & module);
void bind_constraints(nb::module_ & module);  // calls bind_constraint_types
void bind_constraint_types(nb::module_ & module);
void bind_python_constraints(nb::module_ & module);
void bind_dynamics(nb::module_ & module);  // calls the three below
void bind_formulations(nb::module_ & module);
void bind_dynamics_results(nb::module_ & module);
void bind_joint_reactions(nb::module_ & module);
void bind_force_drawing(nb::module_ & module);
void bind_contacts(nb::module_ & module);
void bind_servo(nb::module_ & module);  // calls the three below
void bind_servo_tasks(nb::module_ & module);
void bind_servo_types(nb::module_ & module);
void bind_references(nb::module_ & module);
void bind_simulation(nb::module_ & module);  // calls the two below
void bind_input_laws(nb::module_ & module);
void bind_record(nb::module_ & module);
void bind_scenario(nb::module_ & module);
void bind_hosted_scenario(nb::module_ & module);
void bind_analysis(nb::module_ & module);

}  // namespace constrained_dynamics::python

namespace nanobind::detail
{

template <int kDimensions>
struct type_caster<constrained_dynamics::python::ArrayArgument<kDimensions>>
{
  using Argument = constrained_dynamics::python::ArrayArgument<kDimensions>;
  NB_TYPE_CASTER(Argument, const_name("numpy.typing.ArrayLike"))

  bool from_python(handle source, uint32_t flags, cleanup_list * cleanup) noexcept
  {
    make_caster<typename Argument::Array> caster;
    const uint32_t as_it_is = flags & ~static_cast<uint32_t>(cast_flags::convert);
    if (caster.from_python(source, as_it_is, cleanup))
    {
      value = Argument(std::move(caster.value));
      return true;
    }
    if (!(flags & static_cast<uint32_t>(cast_flags::convert)))
    {
      return false;
    }
    try
    {
      const object array = module_::import_("numpy").attr("ascontiguousarray")(source, "float64");
      if (caster.from_python(array, as_it_is, cleanup))
      {
        value = Argument(std::move(caster.value));
        return true;
      }
      const bool is_column = kDimensions == 1 && cast<int>(array.attr("ndim")) == 2 &&
                             cast<int>(array.attr("shape")[int_(1)]) == 1;
      if (!is_column || !caster.from_python(array.attr("ravel")(), as_it_is, cleanup))
      {
        return false;
      }
      value = Argument::column(std::move(caster.value));
      return true;
    }
    catch (...)
    {
      return false;  // the overload does not fit: TypeError
    }
  }

  static handle from_cpp(const Argument &, rv_policy, cleanup_list *) noexcept = delete;
};

}  // namespace nanobind::detail
