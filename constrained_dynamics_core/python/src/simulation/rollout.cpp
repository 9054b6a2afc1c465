// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/rollout.hpp"

#include <nanobind/stl/variant.h>

#include <atomic>
#include <chrono>
#include <future>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "simulation/simulation.hpp"

namespace constrained_dynamics::python
{

namespace
{

/// What Python holds of a batch.
struct Rollout
{
  std::shared_ptr<const Dynamics> dynamics;
  RolloutResult result;
  std::size_t runs = 0;

  std::size_t kept() const { return static_cast<std::size_t>(result.times.size()); }
};

using RolloutInputs =
  std::variant<std::monostate, ArrayArgument<3>, MatrixArgument, VectorArgument>;

/// Inputs as rows, in place. @throw std::invalid_argument for another shape.
Eigen::Map<const RowMatrix> input_rows(
  const RolloutInputs & inputs, const Dynamics & dynamics, std::size_t runs, long steps)
{
  const Eigen::Index width = dynamics.system().input_count();
  const double * data = nullptr;
  Eigen::Index rows = 0;
  std::ostringstream shape;
  bool fits = true;
  const auto take = [&](const auto & array, const std::vector<std::size_t> & allowed)
  {
    shape << "(";
    rows = 1;
    for (std::size_t k = 0; k < array.ndim(); ++k)
    {
      shape << (k > 0 ? ", " : "") << array.shape(k);
      fits = fits && array.shape(k) == allowed[k];
      rows *= k + 1 < array.ndim() ? static_cast<Eigen::Index>(array.shape(k)) : 1;
    }
    shape << ")";
    data = array.data();
  };
  const auto l = static_cast<std::size_t>(width);
  if (const auto * same = std::get_if<VectorArgument>(&inputs))
  {
    take(same->array(), {l});
  }
  else if (const auto * constant = std::get_if<MatrixArgument>(&inputs))
  {
    take(constant->array(), {runs, l});
  }
  else if (const auto * all = std::get_if<ArrayArgument<3>>(&inputs))
  {
    take(all->array(), {runs, static_cast<std::size_t>(steps), l});
  }
  if (!fits)
  {
    std::ostringstream message;
    message << "rollout: inputs have the shape " << shape.str() << "; allowed: (" << l << "), ("
            << runs << ", " << l << ") and (" << runs << ", " << steps << ", " << l
            << "), which are the inputs, (runs, inputs) and (runs, steps, inputs)";
    throw std::invalid_argument(message.str());
  }
  return {data, rows, width};
}

/// Runs without the interpreter's lock; Ctrl-C stops it.
RolloutResult run_interruptibly(
  const std::shared_ptr<const Dynamics> & dynamics, const Eigen::Map<const RowMatrix> & states,
  const Eigen::Map<const RowMatrix> & inputs, long steps, RolloutOptions options)
{
  std::atomic<bool> stop{false};
  options.stop = &stop;
  bool raised = false;
  std::future<RolloutResult> result;
  {
    const nb::gil_scoped_release release;
    result = std::async(
      std::launch::async, [&] { return rollout(dynamics, states, inputs, steps, options); });
    while (result.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready)
    {
      const nb::gil_scoped_acquire acquire;
      raised = raised || PyErr_CheckSignals() != 0;
      stop = raised;
    }
  }
  if (raised)
  {
    throw nb::python_error();
  }
  return result.get();
}

std::shared_ptr<Rollout> make_rollout(
  const std::shared_ptr<const Dynamics> & dynamics, const MatrixArgument & states,
  const RolloutInputs & inputs, long steps, const RolloutOptions & options)
{
  auto batch = std::make_shared<Rollout>();
  batch->dynamics = dynamics;
  batch->runs = states.array().shape(0);
  const Eigen::Map<const RowMatrix> starts(
    states.array().data(), static_cast<Eigen::Index>(states.array().shape(0)),
    static_cast<Eigen::Index>(states.array().shape(1)));
  batch->result = run_interruptibly(
    dynamics, starts, input_rows(inputs, *dynamics, batch->runs, steps), steps, options);
  return batch;
}

/// Columns of a matrix with the rows of all runs, as (runs, K, width), without a copy.
nb::ndarray<nb::numpy, const double> columns(
  const Rollout & batch, const RowMatrix & matrix, Eigen::Index first, Eigen::Index width)
{
  const auto stride = static_cast<std::int64_t>(matrix.cols());
  return nb::ndarray<nb::numpy, const double>(
    matrix.data() + first, {batch.runs, batch.kept(), static_cast<std::size_t>(width)},
    nb::find(batch), {static_cast<std::int64_t>(batch.kept()) * stride, stride, 1});
}

}  // namespace

void bind_rollout(nb::module_ & module)
{
  nb::class_<Rollout>(
    module, "Rollout",
    "A batch of runs, of which K states each were kept. Arrays are views without copies.")
    .def_prop_ro(
      "time",
      [](const Rollout & r) {
        return nb::ndarray<nb::numpy, const double>(r.result.times.data(), {r.kept()}, nb::find(r));
      },
      "of the states that were kept (K) [s]")
    .def_prop_ro(
      "states",
      [](const Rollout & r) { return columns(r, r.result.states, 0, r.result.states.cols()); },
      "q and u (runs, K, nq + n); beyond the end of a run that failed, its last state")
    .def_prop_ro(
      "q",
      [](const Rollout & r)
      { return columns(r, r.result.states, 0, r.dynamics->system().coordinate_count()); },
      "(runs, K, nq)")
    .def_prop_ro(
      "u",
      [](const Rollout & r)
      {
        const System & system = r.dynamics->system();
        return columns(r, r.result.states, system.coordinate_count(), system.speed_count());
      },
      "(runs, K, n)")
    .def_prop_ro(
      "multipliers",
      [](const Rollout & r) -> nb::object
      {
        if (r.result.multipliers.rows() == 0)
        {
          return nb::none();
        }
        return nb::cast(columns(r, r.result.multipliers, 0, r.result.multipliers.cols()));
      },
      "λ (runs, K, m); None unless requested")
    .def_prop_ro(
      "status", [](const Rollout & r) { return r.result.status; },
      "of each run: the worst of its steps, or why it ended (a list)")
    .def_prop_ro(
      "steps",
      [](const Rollout & r)
      { return nb::ndarray<nb::numpy, const long>(r.result.steps.data(), {r.runs}, nb::find(r)); },
      "of each run: how many were made (runs)");

  const RolloutOptions options;
  module.def(
    "rollout",
    [](
      const std::shared_ptr<const Dynamics> & dynamics, const MatrixArgument & states,
      const RolloutInputs & inputs, long steps, int threads, Integrator integrator, double step,
      double time, long every, std::shared_ptr<const ContactSet> contacts, bool multipliers)
    {
      return make_rollout(
        dynamics, states, inputs, steps,
        {integrator, step, time, every, threads, multipliers, std::move(contacts), nullptr});
    },
    "dynamics"_a, "states"_a, "inputs"_a.none() = nb::none(), nb::kw_only(), "steps"_a,
    "threads"_a = options.threads, "integrator"_a = options.integrator, "step"_a = options.step,
    "time"_a = options.time, "every"_a = options.every, "contacts"_a = nb::none(),
    "multipliers"_a = options.with_multipliers,
    "Integrates many runs of one system with fixed steps, without the interpreter's lock.\n"
    "states: q and u at the start (runs, nq + n). inputs: τ, held in each step; None (zeros), "
    "(l),\n"
    "(runs, l) or (runs, steps, l). threads: 0: one per processor; results are the same, bit for\n"
    "bit, for any number. every: states are kept after every k-th step. multipliers: whether λ is\n"
    "kept too, by one more solve for each state. A run that fails ends without affecting the "
    "others.");
}

}  // namespace constrained_dynamics::python
