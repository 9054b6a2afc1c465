// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Every scenario of the gallery × random states on its manifold × every formulation: the same
// motion and distribution of forces, and Gauss' principle. A new scenario in the folder is included
// automatically.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/robot_data.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using test::difference;
using test::Numbers;
using test::Random;

/// A scenario with changed parameters.
struct Member
{
  std::filesystem::path file;
  std::vector<std::string> overrides;
};

std::ostream & operator<<(std::ostream & out, const Member & member)
{
  out << member.file.stem().string();
  for (const std::string & change : member.overrides)
  {
    out << " " << change;
  }
  return out;
}

std::vector<Member> gallery()
{
  std::vector<Member> members;
  for (const auto & entry : std::filesystem::directory_iterator(CD_CONFIG "/scenarios"))
  {
    if (entry.path().extension() == ".yaml")
    {
      members.push_back({entry.path(), {}});
    }
  }
  std::sort(
    members.begin(), members.end(),
    [](const Member & a, const Member & b) { return a.file < b.file; });
  // What has one size in its file and others by parameter.
  for (const char * count : {"N=4", "N=40"})
  {
    members.push_back({CD_CONFIG "/scenarios/n_four_bar.yaml", {count}});
  }
  // A singular Q.
  members.push_back({CD_TEST_DATA "/euler_parameters.yaml", {}});
  return members;
}

std::string name_of(const testing::TestParamInfo<Member> & info)
{
  std::string name = testing::PrintToString(info.param);
  std::replace_if(
    name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// The one rule for how many states: 1 000, and for systems with more than 20 speeds as many as
/// cost the same, but 10 at least; in the campaign always 1 000.
int state_count(int speed_count)
{
  constexpr int kStates = 1000;
  if (test::in_campaign() || speed_count <= 20)
  {
    return kStates;
  }
  return std::max(10, static_cast<int>(kStates * std::pow(20.0 / speed_count, 3)));
}

/// Whether a formulation exists only where Q is symmetric positive definite.
bool needs_positive_inertia(const std::string & id)
{
  return id == "canonical_inversion" || id == "udwadia_kalaba" || id == "projection";
}

enum class Inertia
{
  kPositive,
  kDoubtful,  // rounding decides
  kNot,       // singular, indefinite or unsymmetric
};

Inertia kind_of(const Eigen::MatrixXd & Q)
{
  const double asymmetry = (Q - Q.transpose()).norm() / Q.norm();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Q, Eigen::EigenvaluesOnly);
  const double least = eigen.eigenvalues().minCoeff() / eigen.eigenvalues().maxCoeff();
  if (asymmetry < 1e-13 && least > 1e-11)
  {
    return Inertia::kPositive;
  }
  return asymmetry > 1e-10 || least < 1e-15 ? Inertia::kNot : Inertia::kDoubtful;
}

/// max(1e-11, 100 ε κ(A R⁻¹) κ(Q)^½). Where Q has no root, that of Q + s AᵀA, which has the same
/// motion and is regular wherever the motion is determined.
double bar_of(const Numbers & numbers, Inertia kind, int rank)
{
  if (kind == Inertia::kPositive)
  {
    return test::condition_of(numbers.Q, numbers.A, rank).bar();
  }
  const Eigen::MatrixXd symmetric = 0.5 * (numbers.Q + numbers.Q.transpose());
  const double s = numbers.Q.norm() / std::max(1e-300, numbers.A.squaredNorm());
  return test::condition_of(symmetric + s * numbers.A.transpose() * numbers.A, numbers.A, rank)
    .bar();
}

/// A formulation with its memory, on a scenario.
struct Contender
{
  std::string name;
  std::unique_ptr<Dynamics> dynamics;
  std::unique_ptr<Workspace> workspace;

  const Solution & solution() const { return workspace->solution(); }
};

Eigen::VectorXd wrenches_of(const Solution & solution)
{
  Eigen::VectorXd all(static_cast<Eigen::Index>(6 * solution.wrenches.size()));
  for (std::size_t i = 0; i < solution.wrenches.size(); ++i)
  {
    all.segment<6>(static_cast<Eigen::Index>(6 * i)) << solution.wrenches[i].on_a.force,
      solution.wrenches[i].on_a.torque;
  }
  return all;
}

class Gallery : public testing::TestWithParam<Member>
{
protected:
  void SetUp() override
  {
    if (test::lacks_robot(GetParam().file.stem().string()))
    {
      GTEST_SKIP() << "example-robot-data is not installed";
    }
    scenario_ =
      std::make_unique<Scenario>(Scenario::load(GetParam().file.string(), GetParam().overrides));
    DynamicsOptions options = scenario_->dynamics()->options();
    options.stabilisation = Stabilisation::none();  // states are on the manifold
    for (const std::string & id : formulation_names())
    {
      Contender contender;
      contender.name = id;
      contender.dynamics = std::make_unique<Dynamics>(
        scenario_->dynamics()->constraints(), options, make_formulation(id));
      contender.workspace = std::make_unique<Workspace>(Workspace::unanalysed(*contender.dynamics));
      scenario_->switch_constraints(*contender.workspace);
      contender.workspace->reset(scenario_->initial());
      contenders_.push_back(std::move(contender));
    }
    rows_ = std::make_unique<Workspace>(Workspace::unanalysed(*contenders_.front().dynamics));
  }

  /// Spread of random states [m, rad, m/s, rad/s]. Stiff rods are not stretched by half their
  /// length: forces of 1e5 N would leave the constraint forces as a small difference.
  static double largest_spread()
  {
    return GetParam().file.stem() == "flyball_governor" ? 0.003 : 0.3;
  }

  /// Calls `use(state, inputs)` for random states on the manifold around the initial one.
  template <typename Use>
  void for_random_states(unsigned seed, int wanted, const Use & use)
  {
    Random random(seed);
    const System & system = scenario_->system();
    const Contender & first = contenders_.front();
    int states = 0;
    for (int trial = 0; trial < 10 * wanted && states < wanted; ++trial)
    {
      // Not all perturbed states lead back to the manifold; the perturbation shrinks until they do.
      const double spread = largest_spread() * std::pow(0.7, trial % 10);
      State state = scenario_->initial();
      state.time += random.between(0.0, spread);
      state.q += spread * random.vector(state.q.size());
      state.u += spread * random.vector(state.u.size());
      system.normalise(state.q);
      const auto & dynamics = *first.dynamics;
      if (
        dynamics.project_position(state.time, state.q, *first.workspace) == Status::kOk &&
        dynamics.project_velocity(state.time, state.q, state.u, *first.workspace) == Status::kOk)
      {
        ++states;
        SCOPED_TRACE("state " + std::to_string(states));
        use(random, state, random.vector(system.input_count()));
      }
      if (HasFailure())  // one state says enough
      {
        return;
      }
    }
    EXPECT_EQ(states, wanted);
  }

  /// The active rows at the state, in a workspace that knows of no solve and no driven speeds.
  Numbers numbers(const State & state, const Eigen::VectorXd & inputs) const
  {
    const Contender & first = contenders_.front();
    Workspace & workspace = *rows_;
    EXPECT_EQ(first.dynamics->evaluate_rows(state.time, state.q, state.u, workspace), Status::kOk);
    EXPECT_EQ(first.dynamics->evaluate_terms(workspace), Status::kOk);
    const ConstraintSet & set = first.dynamics->constraints();
    Numbers result;
    result.Q = workspace.terms().mass_matrix;
    result.h = workspace.terms().force + workspace.terms().input_matrix * inputs;
    const std::vector<int> rows = active_rows();
    const auto m = static_cast<Eigen::Index>(rows.size());
    result.A.resize(m, result.Q.cols());
    result.b.resize(m);
    test::unit_sizes(result);
    for (Eigen::Index i = 0; i < m; ++i)
    {
      const int row = rows[static_cast<std::size_t>(i)];
      result.A.row(i) = workspace.rows().jacobian.row(row);
      result.b(i) = workspace.rows().bias(row);
      const double size = result.A.row(i).norm();
      result.scale(i) = size > 0.0 ? 1.0 / size : 1.0;
      result.weight(i) =
        set.row(row).rotational ? 1.0 / first.dynamics->options().characteristic_length : 1.0;
    }
    // What driven speeds do is known to the rows.
    const std::vector<int> & driven = first.dynamics->system().driven_speeds();
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      const double acceleration = result.h(driven[k]) / result.Q(driven[k], driven[k]);
      const auto column = workspace.rows().driven_jacobian.col(static_cast<Eigen::Index>(k));
      result.b -= acceleration * active(column);
    }
    result.nominal_rank = first.workspace->nominal_rank();
    return result;
  }

  std::vector<int> active_rows() const
  {
    const Contender & first = contenders_.front();
    const ConstraintSet & set = first.dynamics->constraints();
    std::vector<int> rows;
    for (int row = 0; row < set.row_count(); ++row)
    {
      if (first.workspace->is_active(set.constraint_of_row(row)))
      {
        rows.push_back(row);
      }
    }
    return rows;
  }

  Eigen::VectorXd active(const Eigen::VectorXd & of_all_rows) const
  {
    const std::vector<int> rows = active_rows();
    return Eigen::VectorXd::NullaryExpr(
      static_cast<Eigen::Index>(rows.size()),
      [&](Eigen::Index i) { return of_all_rows(rows[static_cast<std::size_t>(i)]); });
  }

  std::unique_ptr<Scenario> scenario_;
  std::vector<Contender> contenders_;
  std::unique_ptr<Workspace> rows_;
};

/// Largest deviations, as parts of what is allowed.
struct Worst
{
  double acceleration = 0.0;
  double force = 0.0;
  double dense = 0.0;

  void add(double & worst, double value, double allowed)
  {
    worst = std::max(worst, value / allowed);
  }
};

void expect_same(const Contender & a, const Contender & b, double bar, Worst & worst)
{
  SCOPED_TRACE(a.name + " and " + b.name);
  const Solution & x = a.solution();
  const Solution & y = b.solution();
  EXPECT_EQ(x.rank, y.rank);
  const double acceleration = difference(x.acceleration, y.acceleration);
  const double force = std::max(
    {difference(x.multipliers, y.multipliers), difference(x.constraint_force, y.constraint_force),
     difference(wrenches_of(x), wrenches_of(y))});
  EXPECT_LE(acceleration, bar);
  EXPECT_LE(force, 10.0 * bar);
  worst.add(worst.acceleration, acceleration, bar);
  worst.add(worst.force, force, 10.0 * bar);
}

/// (E11): no other acceleration that satisfies the rows is closer to the free one.
/// @param tangent an orthonormal basis of the accelerations that the rows leave free.
void expect_gauss_minimum(
  const Numbers & numbers, const Eigen::MatrixXd & tangent, const Contender & contender, double bar,
  const Eigen::VectorXd * free, Random & random)
{
  SCOPED_TRACE(contender.name);
  const Eigen::VectorXd & acceleration = contender.solution().acceleration;
  const Eigen::VectorXd inertial = numbers.Q * acceleration;
  const double size = 1.0 + inertial.norm() + numbers.h.norm();
  EXPECT_LE((tangent.transpose() * (inertial - numbers.h)).norm(), 10.0 * bar * size);
  if (free == nullptr || tangent.cols() == 0)
  {
    return;
  }
  const Eigen::VectorXd away = acceleration - *free;
  const Eigen::VectorXd step =
    1e-2 * (1.0 + away.norm()) * (tangent * random.vector(tangent.cols())).normalized();
  const auto gauss = [&](const Eigen::VectorXd & x) { return x.dot(numbers.Q * x); };
  EXPECT_GT(gauss(away + step), gauss(away));
}

TEST_P(Gallery, when_states_are_random_on_the_manifold_expect_every_pair_to_agree)
{
  Worst worst;
  int dense_solutions = 0;
  int refusals = 0;
  const int wanted = state_count(scenario_->system().speed_count());
  for_random_states(
    26, wanted,
    [&](Random & random, const State & state, const Eigen::VectorXd & inputs)
    {
      std::vector<const Contender *> existing;
      std::vector<Status> statuses;
      for (const Contender & contender : contenders_)
      {
        statuses.push_back(
          contender.dynamics->solve(state.time, state.q, state.u, inputs, *contender.workspace));
      }
      ASSERT_TRUE(has_output(statuses.front())) << to_string(statuses.front());
      const Numbers rows = numbers(state, inputs);
      const Inertia kind = kind_of(rows.Q);
      for (std::size_t i = 0; i < contenders_.size(); ++i)
      {
        // A formulation that does not exist for a system returns that as its status.
        const std::string & name = contenders_[i].name;
        const bool may_refuse = kind != Inertia::kPositive && needs_positive_inertia(name);
        const bool must_refuse = kind == Inertia::kNot && needs_positive_inertia(name);
        if (must_refuse || (may_refuse && statuses[i] == Status::kSingularInertia))
        {
          EXPECT_EQ(statuses[i], Status::kSingularInertia) << name;
          ++refusals;
          continue;
        }
        ASSERT_EQ(statuses[i], statuses.front()) << name << ": " << to_string(statuses[i]);
        existing.push_back(&contenders_[i]);
      }
      const Solution & first = existing.front()->solution();
      const double bar = bar_of(rows, kind, first.rank);
      for (std::size_t i = 0; i < existing.size(); ++i)
      {
        for (std::size_t k = 0; k < i; ++k)
        {
          expect_same(*existing[k], *existing[i], bar, worst);
        }
      }
      if (statuses.front() != Status::kOk)
      {
        return;
      }
      const test::DenseSolution dense = test::by_dense_kkt(rows);
      ASSERT_EQ(dense.rank, first.rank);
      const double acceleration = difference(dense.acceleration, first.acceleration);
      const double force = difference(dense.multipliers, active(first.multipliers));
      EXPECT_LE(acceleration, bar);
      EXPECT_LE(force, 10.0 * bar);
      worst.add(worst.dense, acceleration, bar);
      worst.add(worst.dense, force, 10.0 * bar);
      ++dense_solutions;

      Eigen::MatrixXd tangent = Eigen::MatrixXd::Identity(rows.Q.rows(), rows.Q.rows());
      if (first.rank > 0)
      {
        const Eigen::MatrixXd scaled = rows.scale.asDiagonal() * rows.A;
        const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(scaled.transpose());
        tangent = Eigen::MatrixXd(qr.householderQ()).rightCols(rows.Q.rows() - first.rank);
      }
      Eigen::VectorXd free;
      if (kind == Inertia::kPositive)
      {
        free = rows.Q.llt().solve(rows.h);
      }
      for (const Contender * contender : existing)
      {
        expect_gauss_minimum(
          rows, tangent, *contender, bar, free.size() > 0 ? &free : nullptr, random);
      }
    });
  // Singular positions are allowed among the states, not in their place.
  EXPECT_GE(2 * dense_solutions, wanted);
  std::cout << wanted << " states; parts of what is allowed: accelerations " << worst.acceleration
            << ", forces " << worst.force << ", against the dense solution " << worst.dense << "; "
            << refusals << " refusals\n";
}

TEST_P(Gallery, when_rows_are_given_again_in_other_words_expect_the_same_motion)
{
  const int wanted = std::max(10, state_count(scenario_->system().speed_count()) / 5);
  for_random_states(
    27, wanted,
    [&](Random & random, const State & state, const Eigen::VectorXd & inputs)
    {
      const Contender & first = contenders_.front();
      const Status expected =
        first.dynamics->solve(state.time, state.q, state.u, inputs, *first.workspace);
      ASSERT_TRUE(has_output(expected)) << to_string(expected);
      if (expected != Status::kOk)
      {
        return;
      }
      // The rows, some of them once more, and sums of two of them; where there is none, 0 u̇ = 0.
      const Numbers once = numbers(state, inputs);
      const Inertia kind = kind_of(once.Q);
      const double bar = bar_of(once, kind, first.solution().rank);
      const auto m = static_cast<int>(once.A.rows());
      const int added = random.integer(1, std::min(4, m + 1));
      Numbers more = once;
      more.A.conservativeResize(m + added, Eigen::NoChange);
      more.b.conservativeResize(m + added);
      more.A.bottomRows(added).setZero();
      more.b.tail(added).setZero();
      for (int i = 0; i < added && m > 0; ++i)
      {
        const int one = random.integer(0, m - 1);
        const int other = random.integer(0, m - 1);
        const double factor = i % 2 == 0 ? 0.0 : once.scale(other) / once.scale(one);
        more.A.row(m + i) = once.A.row(one) + factor * once.A.row(other);
        more.b(m + i) = once.b(one) + factor * once.b(other);
      }
      test::unit_sizes(more);
      for (int i = 0; i < m + added; ++i)
      {
        const double size = more.A.row(i).norm();
        more.scale(i) = size > 0.0 ? 1.0 / size : 1.0;
      }
      more.nominal_rank = first.solution().rank;
      const test::DenseSolution dense = test::by_dense_kkt(more);
      ASSERT_EQ(dense.rank, first.solution().rank);
      for (const std::string & id : formulation_names())
      {
        SCOPED_TRACE(id);
        const auto formulation = make_formulation(id);
        const RowFormulation & rows = formulation->row_form();
        const auto data = rows.make_data(static_cast<int>(more.Q.rows()), m + added);
        RowSolution solution;
        solution.acceleration.setZero(more.Q.rows());
        solution.constraint_force.setZero(more.Q.rows());
        solution.multipliers.setZero(m + added);
        solution.redundancy.setZero(m + added);
        const Status status =
          rows.solve(more.problem(), first.dynamics->options().rank, *data, solution);
        if (
          status == Status::kSingularInertia && kind != Inertia::kPositive &&
          needs_positive_inertia(id))
        {
          continue;
        }
        ASSERT_EQ(status, Status::kOk) << to_string(status);
        EXPECT_EQ(solution.rank, first.solution().rank);
        EXPECT_LE(difference(solution.acceleration, first.solution().acceleration), bar);
        EXPECT_LE(
          difference(solution.constraint_force, first.solution().constraint_force), 10.0 * bar);
        EXPECT_LE(difference(solution.multipliers, dense.multipliers), 10.0 * bar);
      }
    });
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Gallery, testing::ValuesIn(gallery()), name_of);

}  // namespace
}  // namespace constrained_dynamics
