// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_formulation.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "constrained_dynamics/formulations/projection.hpp"
#include "constrained_dynamics/formulations/registry.hpp"

namespace constrained_dynamics
{

namespace
{

/// A complement by formulas of the state, row by row.
class FormulaComplement : public Complement
{
public:
  FormulaComplement(SignalProgram program, int row_count)
  : program_(std::move(program)), row_count_(row_count)
  {
  }

  int row_count() const override { return row_count_; }

  std::unique_ptr<Scratch> make_scratch() const override
  {
    auto scratch = std::make_unique<ProgramScratch>();
    scratch->signals = program_.make_scratch();
    return scratch;
  }

  [[nodiscard]] Status evaluate(const SystemData & system, Scratch & scratch, MatrixRef complement)
    const noexcept CD_NONBLOCKING override
  {
    SignalProgram::Scratch & signals = static_cast<ProgramScratch &>(scratch).signals;
    const Status status = program_.evaluate(system, nullptr, nullptr, signals);
    if (status == Status::kOk)
    {
      for (Eigen::Index i = 0; i < complement.rows(); ++i)
      {
        complement.row(i) =
          signals.values.segment(i * complement.cols(), complement.cols()).transpose();
      }
    }
    return status;
  }

private:
  struct ProgramScratch : Scratch
  {
    SignalProgram::Scratch signals;
  };

  SignalProgram program_;
  int row_count_;
};

std::shared_ptr<const Formulation> make_projection(
  const ScenarioReader & options, const FormulationScope & scope)
{
  const std::vector<ScenarioReader> rows = options.at("complement").items();
  const std::vector<std::string> & speeds = scope.system.speed_names();
  std::vector<std::string> formulas;
  for (const ScenarioReader & row : rows)
  {
    const std::vector<ScenarioReader> entries = row.items();
    if (entries.size() != speeds.size())
    {
      row.fail(
        "allowed: " + std::to_string(speeds.size()) + " formulas, one for each speed" +
        suggest("", speeds));
    }
    for (const ScenarioReader & entry : entries)
    {
      check_formula(scope.names, entry, entry.formula());
      formulas.push_back(entry.formula());
    }
  }
  if (formulas.empty())
  {
    options.at("complement").fail_here("no rows; allowed: one for each degree of freedom");
  }
  return std::make_shared<const Projection>(std::make_shared<const FormulaComplement>(
    scope.names.compile(formulas), static_cast<int>(rows.size())));
}

void check_projection(
  const ScenarioReader & options, const Dynamics &, const State & initial, Workspace & workspace)
{
  const ScenarioReader complement = options.at("complement");
  const std::size_t rows = complement.items().size();
  const int freedoms = workspace.reset(initial).degrees_of_freedom;
  if (rows != static_cast<std::size_t>(freedoms))
  {
    complement.fail_here(
      std::to_string(rows) + " rows; allowed: " + std::to_string(freedoms) +
      ", one for each degree of freedom of the initial state");
  }
}

std::shared_ptr<const Formulation> make_selected_partition(
  const ScenarioReader & options, const FormulationScope & scope)
{
  const ScenarioReader independent = options.at("independent");
  const std::vector<std::string> & names = scope.system.speed_names();
  std::vector<int> speeds;
  for (const ScenarioReader & item : independent.items())
  {
    const auto found = std::find(names.begin(), names.end(), item.name());
    if (found == names.end())
    {
      item.fail("no such speed" + suggest(item.name(), names));
    }
    speeds.push_back(static_cast<int>(found - names.begin()));
  }
  try
  {
    return std::make_shared<const CoordinatePartition>(
      CoordinatePartition::Mode::kSelected, speeds);
  }
  catch (const std::exception & error)
  {
    independent.fail_here(error.what());
  }
}

void check_selected_partition(
  const ScenarioReader & options, const Dynamics & dynamics, const State & initial,
  Workspace & workspace)
{
  const ScenarioReader independent = options.at("independent");
  const int freedoms = workspace.reset(initial).degrees_of_freedom;
  if (independent.items().size() != static_cast<std::size_t>(freedoms))
  {
    independent.fail(
      "allowed: as many speeds as degrees of freedom, which are " + std::to_string(freedoms));
  }
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(dynamics.system().input_count());
  const Status status = dynamics.solve(initial.time, initial.q, initial.u, inputs, workspace);
  const FormulationData & data = workspace.formulation_data();
  if (has_output(status) && CoordinatePartition::factorisation(data).repartition_count() > 0)
  {
    independent.fail_here(
      "allowed: speeds that determine all others; at the initial state these do not");
  }
}

/// A formulation with options of its own. `make` and `check` are called if options are given.
struct Entry
{
  const char * kind;
  std::vector<std::string> options;
  std::shared_ptr<const Formulation> (*make)(
    const ScenarioReader & options, const FormulationScope & scope);
  void (*check)(
    const ScenarioReader & options, const Dynamics & dynamics, const State & initial,
    Workspace & workspace);
};

/// The entry of a kind; null if no options are given. Refuses other keys.
const Entry * find_entry(const ScenarioReader & reader, const std::string & kind)
{
  // Each formulation with options has one line here.
  static const std::vector<Entry> entries = {
    {"projection", {"complement"}, make_projection, check_projection},
    {"coordinate_partition_selected",
     {"independent"},
     make_selected_partition,
     check_selected_partition},
  };
  std::vector<std::string> keys = {"kind"};
  const auto found = std::find_if(
    entries.begin(), entries.end(), [&](const Entry & entry) { return kind == entry.kind; });
  if (found != entries.end())
  {
    keys.insert(keys.end(), found->options.begin(), found->options.end());
  }
  reader.allow_keys(keys);
  return found != entries.end() && reader.entries().size() > 1 ? &*found : nullptr;
}

}  // namespace

std::shared_ptr<const Formulation> build_formulation(
  const std::optional<ScenarioReader> & reader, const FormulationScope & scope)
{
  if (!reader)
  {
    return make_formulation("auto");
  }
  if (!reader->node().is_map())
  {
    return make_formulation(reader->choice(all_formulation_names()));
  }
  const std::string kind = reader->at("kind").choice(all_formulation_names());
  const Entry * entry = find_entry(*reader, kind);
  return entry != nullptr ? entry->make(*reader, scope) : make_formulation(kind);
}

void check_formulation(
  const std::optional<ScenarioReader> & reader, const Dynamics & dynamics, const State & initial,
  Workspace & workspace)
{
  if (reader && reader->node().is_map())
  {
    const Entry * entry = find_entry(*reader, reader->at("kind").string());
    if (entry != nullptr)
    {
      entry->check(*reader, dynamics, initial, workspace);
    }
  }
}

}  // namespace constrained_dynamics
