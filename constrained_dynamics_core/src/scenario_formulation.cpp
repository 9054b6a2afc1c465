#include "scenario_formulation.hpp"

#include <string>
#include <utility>
#include <vector>

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

/// A formulation with options of its own; called where at least one of them is given.
struct Entry
{
  const char * kind;
  std::vector<std::string> options;
  std::shared_ptr<const Formulation> (*make)(
    const ScenarioReader & options, const FormulationScope & scope);
};

const std::vector<Entry> & formulations_with_options()
{
  // The options of a formulation are one line here.
  static const std::vector<Entry> entries = {
    {"projection", {"complement"}, make_projection},
  };
  return entries;
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
    return make_formulation(reader->choice(formulation_names()));
  }
  const std::string kind = reader->at("kind").choice(formulation_names());
  std::vector<std::string> keys = {"kind"};
  for (const Entry & entry : formulations_with_options())
  {
    if (kind == entry.kind)
    {
      keys.insert(keys.end(), entry.options.begin(), entry.options.end());
      reader->allow_keys(keys);
      if (reader->entries().size() > 1)
      {
        return entry.make(*reader, scope);
      }
    }
  }
  reader->allow_keys(keys);
  return make_formulation(kind);
}

void check_formulation(
  const ScenarioReader & reader, const Formulation & formulation, int degrees_of_freedom)
{
  const auto * projection = dynamic_cast<const Projection *>(&formulation);
  if (projection == nullptr || projection->complement() == nullptr)
  {
    return;
  }
  const int rows = projection->complement()->row_count();
  if (rows != degrees_of_freedom)
  {
    reader.at("complement")
      .fail_here(
        std::to_string(rows) + " rows; allowed: " + std::to_string(degrees_of_freedom) +
        ", one for each degree of freedom of the initial state");
  }
}

}  // namespace constrained_dynamics
