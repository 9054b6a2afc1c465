// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario.hpp"

#include <filesystem>
#include <utility>

#include "scenario/scenario_parts.hpp"
#include "scenario/scenario_tree.hpp"
#include "text_file.hpp"

namespace constrained_dynamics
{

struct Scenario::Impl : ScenarioParts
{
};

Scenario::Scenario(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Scenario::Scenario(const Scenario &) = default;
Scenario & Scenario::operator=(const Scenario &) = default;
Scenario::Scenario(Scenario &&) noexcept = default;
Scenario & Scenario::operator=(Scenario &&) noexcept = default;
Scenario::~Scenario() = default;

Scenario Scenario::load(
  const std::string & path, const std::vector<std::string> & overrides,
  const ScenarioLoadOptions & options)
{
  auto impl = std::make_shared<Impl>();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  build_scenario(
    read_text_file(path, kMaxScenarioSize), path,
    folder.empty() ? std::filesystem::path(".") : folder, overrides, options, *impl);
  return Scenario(std::move(impl));
}

Scenario Scenario::from_text(
  const std::string & text, const std::vector<std::string> & overrides, const std::string & folder,
  const ScenarioLoadOptions & options)
{
  auto impl = std::make_shared<Impl>();
  build_scenario(text, "scenario", folder, overrides, options, *impl);
  return Scenario(std::move(impl));
}

const std::string & Scenario::name() const { return impl_->name; }
const std::string & Scenario::description() const { return impl_->description; }
const std::vector<std::pair<std::string, double>> & Scenario::parameters() const
{
  return impl_->parameters;
}
const std::shared_ptr<const Dynamics> & Scenario::dynamics() const { return impl_->dynamics; }
const System & Scenario::system() const { return impl_->dynamics->system(); }
const std::shared_ptr<const ContactSet> & Scenario::contacts() const { return impl_->contacts; }
const std::vector<ScheduledChange> & Scenario::scheduled_changes() const { return impl_->changes; }
const RobotProfile * Scenario::profile() const
{
  return impl_->profile ? &*impl_->profile : nullptr;
}
const State & Scenario::initial() const { return impl_->initial; }
const RunSettings & Scenario::run() const { return impl_->run; }
const std::vector<std::string> & Scenario::warnings() const { return impl_->warnings; }
const std::vector<std::string> & Scenario::observable_names() const
{
  return impl_->observable_names;
}

bool Scenario::is_active(int constraint) const
{
  return impl_->active.at(static_cast<std::size_t>(constraint));
}

void Scenario::switch_constraints(Workspace & workspace) const
{
  for (std::size_t i = 0; i < impl_->active.size(); ++i)
  {
    workspace.set_active(static_cast<int>(i), impl_->active[i]);
  }
}

ConstraintSet Scenario::active_constraints() const
{
  std::vector<std::shared_ptr<const Constraint>> constraints;
  for (std::size_t i = 0; i < impl_->active.size(); ++i)
  {
    if (impl_->active[i])
    {
      constraints.push_back(impl_->constraints[i]);
    }
  }
  return ConstraintSet(impl_->dynamics->constraints().shared_system(), std::move(constraints));
}

std::shared_ptr<const ServoLaw> Scenario::servo_law() const
{
  return impl_->servo ? impl_->servo->law : nullptr;
}

const ServoDrive * Scenario::servo_drive() const
{
  return impl_->servo ? &impl_->servo->drive : nullptr;
}

std::shared_ptr<InputLaw> Scenario::make_input_law() const
{
  std::shared_ptr<InputLaw> formulas;
  if (impl_->input_signals)
  {
    formulas = std::make_shared<FormulaInputLaw>(impl_->input_signals, impl_->wrenches);
  }
  if (!impl_->servo)
  {
    return formulas;
  }
  ServoDrive drive = impl_->servo->drive;
  drive.outside = std::move(formulas);
  auto law = std::make_shared<ServoInputLaw>(impl_->servo->law, std::move(drive));
  switch_constraints(law->servo().dynamics());
  law->start(impl_->initial);
  return law;
}

std::unique_ptr<Simulation> Scenario::make_simulation() const
{
  auto simulation = std::make_unique<Simulation>(
    impl_->dynamics, impl_->run.integration, make_input_law(), impl_->contacts);
  switch_constraints(simulation->workspace());
  simulation->schedule(impl_->changes);
  simulation->start(impl_->initial);
  return simulation;
}

Status Scenario::observe(
  const Workspace & workspace, const Eigen::VectorXd & inputs, Eigen::VectorXd & out) const
{
  if (impl_->observable_names.empty())
  {
    return Status::kOk;
  }
  SignalProgram::Scratch scratch = impl_->observables.make_scratch();
  const Status status =
    impl_->observables.evaluate(workspace.system_data(), &workspace.solution(), &inputs, scratch);
  if (status == Status::kOk)
  {
    out = scratch.values;
  }
  return status;
}

}  // namespace constrained_dynamics
