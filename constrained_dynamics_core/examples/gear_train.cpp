// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What selecting the independent speeds once is worth: the epicyclic gear train of Nada and Bashiri
// in full coordinates (FCI), partitioned at every step (GCPI) and with a selected partition (SCPI),
// in rates of Euler parameters and in velocities and angular velocities. Prints the time of their
// functions f1 to f5 and of the whole run.
//
//     example_gear_train [SECONDS [ROUNDS [TABLE.csv]]]
//
// Rounds are interleaved and the smallest time counts; times are those of the processor.
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <constrained_dynamics/formulations/coordinate_partition.hpp>
#include <constrained_dynamics/scenario/scenario.hpp>

namespace cd = constrained_dynamics;

namespace
{

constexpr std::array<const char *, 5> kFunctions = {
  "f1 ODE function", "f2 partition and accelerations", "f3 positions", "f4 velocities, joint rows",
  "f5 velocities, all rows"};

double processor_seconds()
{
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void expect(bool condition, const std::string & what)
{
  if (!condition)
  {
    throw std::runtime_error(what);
  }
}

/// What looking at the clock twice takes.
double clock_seconds()
{
  constexpr int kLooks = 1000;
  const double start = processor_seconds();
  for (int i = 1; i < kLooks; ++i)
  {
    processor_seconds();
  }
  return (processor_seconds() - start) / kLooks;
}

/// Time of one function.
struct Stopwatch
{
  template <typename Function>
  void measure(const Function & function)
  {
    const double start = processor_seconds();
    function();
    seconds += processor_seconds() - start - clock;
    ++calls;
  }
  double microseconds() const { return calls > 0 ? 1e6 * seconds / static_cast<double>(calls) : 0; }

  double seconds = 0.0;
  long calls = 0;
  double clock = clock_seconds();
};

/// A formulation whose solves, f2, are timed.
class TimedFormulation : public cd::RowFormulation
{
public:
  TimedFormulation(std::shared_ptr<const cd::RowFormulation> inner, Stopwatch & watch)
  : inner_(std::move(inner)), watch_(watch)
  {
  }
  const char * name() const noexcept CD_NONBLOCKING override { return inner_->name(); }
  bool has_independent_speeds() const noexcept override { return inner_->has_independent_speeds(); }
  std::unique_ptr<cd::FormulationData> make_data(int n, int m) const override
  {
    return inner_->make_data(n, m);
  }

protected:
  cd::Status do_solve_rows(
    const cd::RowProblem & problem, const cd::RankOptions & options, cd::FormulationData & data,
    cd::RowSolution & solution) const noexcept CD_NONBLOCKING override
  {
    cd::Status status = cd::Status::kOk;
    watch_.measure([&] { status = inner_->solve(problem, options, data, solution); });
    return status;
  }
  cd::Status do_correct(
    const cd::RowProblem & problem, const cd::RankOptions & options, cd::FormulationData & data,
    cd::RowSolution & solution) const noexcept CD_NONBLOCKING override
  {
    return inner_->correct(problem, options, data, solution);
  }

private:
  std::shared_ptr<const cd::RowFormulation> inner_;
  Stopwatch & watch_;
};

struct Times
{
  std::array<Stopwatch, kFunctions.size()> of;
  double whole = 0.0;                  // [s]
  cd::CoordinatePartition::Work work;  // of the accelerations
  double arm_speed = 0.0;              // at the end [rad/s]
};

/// One run: classical Runge-Kutta, then positions and velocities are corrected as in the paper.
class Run
{
public:
  Run(const cd::Scenario & scenario, cd::CoordinatePartition::Mode mode, const char * selected)
  : scenario_(scenario), partitions_(mode != cd::CoordinatePartition::Mode::kFullCoordinates)
  {
    using Mode = cd::CoordinatePartition::Mode;
    std::vector<int> independent;
    if (mode == Mode::kSelected)
    {
      independent.push_back(index_of(selected));
    }
    cd::DynamicsOptions options = scenario.dynamics()->options();
    options.stabilisation =
      partitions_ ? cd::Stabilisation::projection_of_dependent() : cd::Stabilisation::none();
    dynamics_ = std::make_unique<cd::Dynamics>(
      scenario.active_constraints(), options,
      std::make_shared<TimedFormulation>(
        std::make_shared<cd::CoordinatePartition>(mode, independent), times_.of[1]));
    workspace_ = std::make_unique<cd::Workspace>(*dynamics_, scenario.initial());
    joints_ = std::make_unique<cd::Workspace>(*dynamics_, scenario.initial());
    // f4 sees the joints alone.
    joints_->set_active(dynamics_->constraints().size() - 1, false);
    law_ = scenario.make_input_law();
    inputs_.setZero(dynamics_->system().input_count());
  }

  Times run(double until, double step, const std::string & arm_speed)
  {
    cd::State state = scenario_.initial();
    times_ = Times{};
    const double start = processor_seconds();
    const long steps = std::lround(until / step);
    for (long i = 0; i < steps; ++i)
    {
      advance(state, step);
    }
    times_.whole = processor_seconds() - start;
    times_.work = cd::CoordinatePartition::work(workspace_->formulation_data());
    Eigen::VectorXd observed(static_cast<Eigen::Index>(scenario_.observable_names().size()));
    slope(state, rates_[0], accelerations_[0]);
    expect(scenario_.observe(*workspace_, inputs_, observed) == cd::Status::kOk, "observe failed");
    const std::vector<std::string> & names = scenario_.observable_names();
    times_.arm_speed = observed(std::find(names.begin(), names.end(), arm_speed) - names.begin());
    return times_;
  }

private:
  int index_of(const std::string & speed) const
  {
    const std::vector<std::string> & names = scenario_.system().speed_names();
    const auto found = std::find(names.begin(), names.end(), speed);
    expect(found != names.end(), "no speed " + speed);
    return static_cast<int>(found - names.begin());
  }

  void slope(const cd::State & at, Eigen::VectorXd & rates, Eigen::VectorXd & acceleration)
  {
    cd::Status status = cd::Status::kOk;
    const double partition_before = times_.of[1].seconds;
    times_.of[0].measure(
      [&]
      {
        status = dynamics_->set_state(at.time, at.q, at.u, *workspace_);
        if (status == cd::Status::kOk && law_)
        {
          status = law_->evaluate(dynamics_->system(), workspace_->change_system_data(), inputs_);
        }
        if (status == cd::Status::kOk)
        {
          status = dynamics_->solve(inputs_, *workspace_);
        }
        rates = workspace_->terms().rates;
        acceleration = workspace_->solution().acceleration;
      });
    if (partitions_)
    {
      times_.of[0].seconds -= times_.of[1].seconds - partition_before;
    }
    expect(status == cd::Status::kOk, std::string("accelerations: ") + cd::to_string(status));
  }

  void advance(cd::State & state, double h)
  {
    constexpr std::array<double, 4> kNode = {0.0, 0.5, 0.5, 1.0};
    constexpr std::array<double, 4> kWeight = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    cd::State stage = state;
    for (std::size_t i = 0; i < 4; ++i)
    {
      if (i > 0)
      {
        stage.time = state.time + kNode[i] * h;
        stage.q = state.q + kNode[i] * h * rates_[i - 1];
        stage.u = state.u + kNode[i] * h * accelerations_[i - 1];
      }
      slope(stage, rates_[i], accelerations_[i]);
    }
    for (std::size_t i = 0; i < 4; ++i)
    {
      state.q += kWeight[i] * h * rates_[i];
      state.u += kWeight[i] * h * accelerations_[i];
    }
    state.time += h;
    dynamics_->system().normalise(state.q);
    if (partitions_)
    {
      correct(state);
    }
  }

  void correct(cd::State & state)
  {
    std::array<cd::Status, 3> status{};
    const double t = state.time;
    times_.of[2].measure([&] { status[0] = dynamics_->project_position(t, state.q, *workspace_); });
    times_.of[3].measure(
      [&] { status[1] = dynamics_->project_velocity(t, state.q, state.u, *joints_); });
    times_.of[4].measure(
      [&] { status[2] = dynamics_->project_velocity(t, state.q, state.u, *workspace_); });
    for (const cd::Status one : status)
    {
      expect(one == cd::Status::kOk, std::string("correction: ") + cd::to_string(one));
    }
  }

  const cd::Scenario & scenario_;
  bool partitions_;
  Times times_;
  std::unique_ptr<cd::Dynamics> dynamics_;
  std::unique_ptr<cd::Workspace> workspace_;
  std::unique_ptr<cd::Workspace> joints_;
  std::shared_ptr<cd::InputLaw> law_;
  Eigen::VectorXd inputs_;
  std::array<Eigen::VectorXd, 4> rates_;
  std::array<Eigen::VectorXd, 4> accelerations_;
};

constexpr std::array<const char *, 3> kMethods = {"FCI", "GCPI", "SCPI"};
using Table = std::array<Times, kMethods.size()>;

/// The smallest times over interleaved rounds.
Table measure(const cd::Scenario & scenario, const char * selected, double until, int rounds)
{
  using Mode = cd::CoordinatePartition::Mode;
  constexpr std::array<Mode, 3> kModes = {
    Mode::kFullCoordinates, Mode::kEveryStep, Mode::kSelected};
  Table best;
  for (int round = 0; round < rounds; ++round)
  {
    for (std::size_t k = 0; k < kModes.size(); ++k)
    {
      Run run(scenario, kModes[k], selected);
      const Times times = run.run(until, scenario.run().integration.step, "arm_speed");
      if (round == 0)
      {
        best[k] = times;
      }
      for (std::size_t f = 0; f < kFunctions.size(); ++f)
      {
        best[k].of[f].seconds = std::min(best[k].of[f].seconds, times.of[f].seconds);
      }
      best[k].whole = std::min(best[k].whole, times.whole);
    }
  }
  return best;
}

void print(const cd::Scenario & scenario, const char * selected, const Table & table)
{
  std::printf(
    "%s: %d speeds, %d rows, selected speed %s\n", scenario.name().c_str(),
    scenario.system().speed_count(), scenario.dynamics()->constraints().row_count(), selected);
  std::printf(
    "  %-32s %9s %9s %9s  GCPI/SCPI  paper\n", "time of a call [us]", kMethods[0], kMethods[1],
    kMethods[2]);
  for (std::size_t f = 0; f < kFunctions.size(); ++f)
  {
    std::printf("  %-32s", kFunctions[f]);
    for (std::size_t k = 0; k < kMethods.size(); ++k)
    {
      // In full coordinates f1 solves, and nothing is corrected.
      const bool exists = table[k].of[f].calls > 0 && !(k == 0 && f == 1);
      exists ? std::printf(" %9.2f", table[k].of[f].microseconds()) : std::printf(" %9s", "-");
    }
    std::printf(
      "  %9.2f  %s\n", table[1].of[f].seconds / table[2].of[f].seconds, f == 1 ? "> 7" : "");
  }
  std::printf("  %-32s", "whole run [s]");
  for (const Times & times : table)
  {
    std::printf(" %9.4f", times.whole);
  }
  std::printf("  %9.2f  4.2\n", table[1].whole / table[2].whole);
  std::printf(
    "  searches for independent speeds: GCPI %ld, SCPI %ld of %ld solves; pivots chosen %ld times; "
    "%ld multiplications an elimination\n\n",
    table[1].work.searches, table[2].work.searches, table[2].of[1].calls,
    table[2].work.pivot_choices, table[2].work.multiplications);
}

void write(std::ofstream & file, const cd::Scenario & scenario, const Table & table)
{
  for (std::size_t k = 0; k < kMethods.size(); ++k)
  {
    for (std::size_t f = 0; f < kFunctions.size(); ++f)
    {
      file << scenario.name() << ',' << kMethods[k] << ",f" << f + 1 << ','
           << (k == 0 && f == 1 ? 0.0 : table[k].of[f].seconds) << '\n';
    }
    file << scenario.name() << ',' << kMethods[k] << ",whole," << table[k].whole << '\n';
  }
}

}  // namespace

int main(int argument_count, char ** arguments)
{
  const double until = argument_count > 1 ? std::atof(arguments[1]) : 0.5;
  const int rounds = argument_count > 2 ? std::atoi(arguments[2]) : 1;
  std::ofstream file;
  if (!(until > 0.0 && until <= 1000.0) || !(rounds > 0 && rounds <= 1000))
  {
    std::fprintf(
      stderr, "usage: %s [SECONDS up to 1000 [ROUNDS up to 1000 [TABLE.csv]]]\n", *arguments);
    return 2;
  }
  if (argument_count > 3)
  {
    file.open(arguments[3]);
    file << "system,method,function,seconds\n";
  }
  bool right = true;
  try
  {
    for (const auto & [name, selected] :
         {std::pair<const char *, const char *>{"gear_train_euler", "darm_e3"},
          std::pair<const char *, const char *>{"gear_train", "arm_wz"}})
    {
      const auto scenario = cd::Scenario::load(std::string("config/scenarios/") + name + ".yaml");
      const Table table = measure(scenario, selected, until, rounds);
      print(scenario, selected, table);
      write(file, scenario, table);
      for (const Times & times : table)
      {
        // By hand: 0.1 N m on an inertia of 0.4341758517 kg m² seen from the arm.
        right = right && std::abs(times.arm_speed - 0.1 / 0.43417585172425366 * until) < 1e-4;
      }
    }
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return right ? 0 : 1;
}
