// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/simulation.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "constrained_dynamics/dynamics/constraint_record.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "dynamics/owned_workspace.hpp"
#include "dynamics/sample.hpp"
#include "python_function.hpp"

namespace constrained_dynamics::python
{

namespace
{

/// Outputs of a run that does not say how many.
constexpr double kDefaultOutputs = 1000.0;

/// Inputs by a Python function of time, coordinates and speeds.
class PythonInputLaw : public InputLaw
{
public:
  explicit PythonInputLaw(nb::callable function) : function_(std::move(function)) {}

  Status evaluate(const System &, SystemData & data, VectorRef inputs) noexcept
    CD_NONBLOCKING override
  {
    const nb::gil_scoped_acquire acquire;
    return guarded(
      "input law",
      [&]
      {
        const SystemTerms & terms = data.terms;
        // Copies, because Python may keep what it gets.
        const nb::object result = function_.function(
          terms.time, Eigen::VectorXd(terms.coordinates), Eigen::VectorXd(terms.speeds));
        inputs = checked(nb::cast<VectorArgument>(result), inputs.size(), "inputs");
        return inputs.allFinite() ? Status::kOk : Status::kNonFiniteResult;
      });
  }

private:
  HeldFunction function_;
};

/// Constant inputs.
class ConstantInputs : public InputLaw
{
public:
  explicit ConstantInputs(Eigen::VectorXd values) : values_(std::move(values)) {}
  Status evaluate(const System &, SystemData &, VectorRef inputs) noexcept CD_NONBLOCKING override
  {
    inputs = values_;
    return Status::kOk;
  }

private:
  Eigen::VectorXd values_;
};

using InputsArgument =
  std::variant<std::monostate, std::shared_ptr<InputLaw>, VectorArgument, nb::callable>;

std::shared_ptr<InputLaw> make_law(const InputsArgument & inputs, const System & system)
{
  if (const auto * law = std::get_if<std::shared_ptr<InputLaw>>(&inputs))
  {
    return *law;
  }
  if (const auto * values = std::get_if<VectorArgument>(&inputs))
  {
    return std::make_shared<ConstantInputs>(checked(*values, system.input_count(), "inputs"));
  }
  if (const auto * function = std::get_if<nb::callable>(&inputs))
  {
    return std::make_shared<PythonInputLaw>(*function);
  }
  return nullptr;
}

/// Checks for Ctrl-C at most ten times a second; takes the interpreter's lock.
class InterruptCheck
{
public:
  bool interrupted()
  {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_)
    {
      return false;
    }
    next_ = now + std::chrono::milliseconds(100);
    const nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
  }

private:
  std::chrono::steady_clock::time_point next_;
};

}  // namespace

std::shared_ptr<Record> run_recorded(
  SimulationHandle & handle, double until, double output_interval,
  const std::optional<nb::callable> & observer, Record::Extras extras)
{
  const SimulationHandle::Use use(handle);
  auto record = std::make_shared<Record>(handle.dynamics, std::move(extras));
  InterruptCheck interrupt;
  bool raised = false;
  const auto observe = [&](const Simulation & simulation)
  {
    record->add(simulation);
    if (interrupt.interrupted())
    {
      raised = true;
      return false;
    }
    if (!observer)
    {
      return true;
    }
    const nb::gil_scoped_acquire acquire;
    try
    {
      const nb::object answer = (*observer)(simulation.state().time);
      return answer.is_none() || nb::cast<bool>(nb::bool_(answer));
    }
    catch (nb::python_error & error)
    {
      error.restore();
      raised = true;
      return false;
    }
  };
  {
    const nb::gil_scoped_release release;
    record->result = handle.simulation->run(until, output_interval, observe);
  }
  if (raised)
  {
    throw nb::python_error();
  }
  record->events = handle.simulation->events();
  return record;
}

void bind_simulation(nb::module_ & module)
{
  nb::enum_<Integrator>(module, "Integrator")
    .value("RK4", Integrator::kRk4, "classical Runge-Kutta, fixed step, order 4")
    .value("KUTTA_MERSON", Integrator::kKuttaMerson, "five stages, fixed step, order 4")
    .value("DOPRI5", Integrator::kDopri5, "Dormand-Prince 5(4), adaptive, dense output")
    .value("RODAS", Integrator::kRodas, "for stiff systems: Rosenbrock 4(3), adaptive")
    .value("RADAU", Integrator::kRadau, "for stiff systems: Radau IIA of order 9, adaptive")
    .value(
      "MOREAU", Integrator::kMoreau,
      "semi-implicit Euler, fixed step, order 1; contacts by percussions");
  bind_input_laws(module);
  bind_record(module);
  module.def(
    "sample_layout", &sample_layout, "dynamics"_a,
    "Name and size of each part of a sample, in their order; wrenches are nine numbers each: "
    "point,\n"
    "force and torque on A, world axes.");
  module.def(
    "take_sample",
    [](
      const Dynamics & d, OwnedWorkspace & w, Status status,
      const std::optional<VectorArgument> & inputs)
    {
      require_output(status, "take_sample");
      const InputArgument tau(inputs, d.system().input_count());
      return take_sample(d, w.of(d), status, tau.view());
    },
    "dynamics"_a, "workspace"_a, "status"_a, "inputs"_a = nb::none(),
    "As Simulation.sample, of the last Dynamics.solve in a workspace, which returned `status`.");

  const SimulationOptions options;
  nb::class_<SimulationHandle>(
    module, "Simulation",
    "Integrates a constrained system. Runs release the interpreter's lock; one thread at a time "
    "may\n"
    "use a simulation, a second one gets a RuntimeError.")
    .def(
      "__init__",
      [](
        SimulationHandle * self, std::shared_ptr<const Dynamics> dynamics, const State & state,
        Integrator integrator, double step, const InputsArgument & inputs,
        std::shared_ptr<const ContactSet> contacts, double absolute_tolerance,
        double relative_tolerance, double largest_step, double error_tolerance, bool watch_limits)
      {
        const SimulationOptions given{integrator,         step,         absolute_tolerance,
                                      relative_tolerance, largest_step, error_tolerance,
                                      watch_limits};
        auto law = make_law(inputs, dynamics->system());
        auto simulation = std::make_unique<Simulation>(dynamics, given, law, std::move(contacts));
        simulation->start(state);
        new (self) SimulationHandle(std::move(dynamics), std::move(simulation), std::move(law));
      },
      "dynamics"_a, "state"_a, nb::kw_only(), "integrator"_a = options.integrator,
      "step"_a = options.step, "inputs"_a = nb::none(), "contacts"_a = nb::none(),
      "absolute_tolerance"_a = options.absolute_tolerance,
      "relative_tolerance"_a = options.relative_tolerance, "largest_step"_a = options.largest_step,
      "error_tolerance"_a = options.error_tolerance, "watch_limits"_a = options.watch_limits,
      "Starts at a state. inputs: None (zeros), constant values, an InputLaw (such as a\n"
      "ServoInputLaw) for this simulation alone, or a function f(t, q, u) that returns τ (slow: "
      "it\n"
      "takes the interpreter's lock in every evaluation). error_tolerance: relative; a run whose\n"
      "energy balance or step error exceeds it ends with INACCURATE. watch_limits: whether runs\n"
      "look at the limits of robot descriptions.")
    .def(
      "start",
      [](SimulationHandle & self, const State & state)
      {
        const SimulationHandle::Use use(self);
        return self.simulation->start(state);
      },
      "state"_a, "Sets the state and analyses the rank of the rows there.")
    .def(
      "run",
      [](
        SimulationHandle & self, double until, std::optional<double> output_interval,
        const std::optional<nb::callable> & observer)
      {
        const double interval = (until - self.simulation->state().time) / kDefaultOutputs;
        return run_recorded(
          self, until, output_interval.value_or(interval > 0.0 ? interval : 1.0), observer);
      },
      "until"_a, "output_interval"_a = nb::none(), "observer"_a = nb::none(),
      "Integrates until `until` and records the start, every `output_interval` seconds and the "
      "end;\n"
      "by default a thousandth of the run.\n"
      "observer(t), if given, is called at each of them; False stops the run.")
    .def(
      "step",
      [](SimulationHandle & self, long count)
      {
        const SimulationHandle::Use use(self);
        InterruptCheck interrupt;
        Status worst = Status::kOk;
        bool raised = false;
        {
          const nb::gil_scoped_release release;
          for (long i = 0; i < count && has_output(worst) && !raised; ++i)
          {
            worst = worse(worst, self.simulation->step());
            raised = i % 1000 == 999 && interrupt.interrupted();
          }
        }
        if (raised)
        {
          throw nb::python_error();
        }
        return worst;
      },
      "count"_a = 1,
      "Makes `count` fixed steps in one call and returns the worst status; a step that fails is "
      "not\n"
      "made and ends the call.")
    .def(
      "evaluate",
      [](SimulationHandle & self)
      {
        const SimulationHandle::Use use(self);
        return self.simulation->evaluate();
      },
      "Solves at the current state, so that `solution` belongs to it.")
    .def(
      "switch_constraint",
      [](SimulationHandle & self, const std::variant<int, std::string> & constraint, bool active)
      {
        const SimulationHandle::Use use(self);
        const auto * name = std::get_if<std::string>(&constraint);
        return self.simulation->switch_constraint(
          name != nullptr ? self.dynamics->constraints().index(*name) : std::get<int>(constraint),
          active);
      },
      "constraint"_a, "active"_a,
      "Switches a constraint that no contact manages; speeds that violate it jump (E13).")
    .def(
      "apply_impulse",
      [](SimulationHandle & self, const VectorArgument & impulse)
      {
        const SimulationHandle::Use use(self);
        return self.simulation->apply_impulse(
          checked(impulse, self.dynamics->system().speed_count(), "impulse"));
      },
      "impulse"_a, "Applies a generalized impulse (n) at once.")
    .def(
      "schedule",
      [](SimulationHandle & self, const std::vector<ScheduledChange> & changes)
      {
        const SimulationHandle::Use use(self);
        self.simulation->schedule(changes);
      },
      "changes"_a, "Switches and impulses at given times; replaces what was scheduled before.")
    .def(
      "sample",
      [](SimulationHandle & self)
      {
        const SimulationHandle::Use use(self);
        const Status status = self.simulation->evaluate();
        require_output(status, "sample");
        return take_sample(
          *self.dynamics, self.simulation->workspace(), status, self.simulation->inputs());
      },
      "Solves at the current state and returns everything as one vector, whose parts "
      "sample_layout\n"
      "names. Raises RuntimeError with the status where there is no solution.")
    .def(
      "events_since",
      [](SimulationHandle & self, std::size_t count)
      {
        const SimulationHandle::Use use(self);
        const std::vector<ContactEvent> & all = self.simulation->events();
        const auto first = static_cast<std::ptrdiff_t>(std::min(count, all.size()));
        return std::vector<ContactEvent>(all.begin() + first, all.end());
      },
      "count"_a, "What happened after the first `count` events.")
    .def_prop_ro(
      "events",
      [](SimulationHandle & self)
      {
        const SimulationHandle::Use use(self);
        return self.simulation->events();
      })
    .def(
      "take_events",
      [](SimulationHandle & self)
      {
        const SimulationHandle::Use use(self);
        std::vector<ContactEvent> events = self.simulation->events();
        const long lost = self.simulation->lost_event_count();
        self.simulation->clear_events();
        return std::make_pair(std::move(events), lost);
      },
      "The events since the last call, which are forgotten, and how many there was no room for.")
    .def_prop_ro(
      "active",
      [](SimulationHandle & self)
      {
        const SimulationHandle::Use use(self);
        std::vector<bool> active;
        for (int i = 0; i < self.dynamics->constraints().size(); ++i)
        {
          active.push_back(self.simulation->workspace().is_active(i));
        }
        return active;
      },
      "Whether each constraint is in force now (a list).")
    .def_prop_ro("dynamics", [](const SimulationHandle & self) { return self.dynamics; })
    .def_prop_ro(
      "servo",
      [](const SimulationHandle & self)
      { return dynamic_cast<const ServoInputLaw *>(self.simulation->input_law()); },
      nb::rv_policy::reference_internal,
      "The ServoInputLaw that drives it, with its last result; None where there is none.")
    .def_prop_ro(
      "state",
      [](SimulationHandle & self)
      {
        const SimulationHandle::Use use(self);
        return State(self.simulation->state());
      },
      "The current state (a copy).")
    .def_prop_ro(
      "solution",
      [](const SimulationHandle & self) -> const Solution &
      { return self.simulation->workspace().solution(); },
      nb::rv_policy::reference_internal, "Of the last evaluation; read-only views.")
    .def_prop_ro(
      "constraint_records",
      [](const SimulationHandle & self)
      {
        const Simulation & simulation = *self.simulation;
        return constraint_records(simulation.dynamics().constraints(), simulation.workspace());
      },
      "What the last evaluation says about each constraint, as messages have it (copies).")
    .def_prop_ro(
      "rows",
      [](const SimulationHandle & self) -> const Rows &
      { return self.simulation->workspace().rows(); },
      nb::rv_policy::reference_internal, "Of the last evaluation; read-only views.")
    .def_prop_ro(
      "inputs",
      [](const SimulationHandle & self) { return Eigen::VectorXd(self.simulation->inputs()); },
      "τ of the last evaluation.")
    .def_prop_ro(
      "kinetic_energy",
      [](const SimulationHandle & self) { return self.simulation->kinetic_energy(); })
    .def_prop_ro(
      "potential_energy",
      [](const SimulationHandle & self) { return self.simulation->potential_energy(); });
  bind_rollout(module);
}

}  // namespace constrained_dynamics::python
