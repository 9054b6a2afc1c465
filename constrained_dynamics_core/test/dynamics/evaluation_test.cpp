// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// All values read from a workspace belong to its state or are NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/evaluation.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{
namespace
{

std::vector<std::string> all_formulations()
{
  std::vector<std::string> names = formulation_names();
  names.emplace_back("articulated_body");
  return names;
}

template <typename Numbers>
bool is_blank(const Numbers & numbers)
{
  return numbers.size() > 0 && numbers.array().isNaN().all();
}

class EvaluationOf : public testing::TestWithParam<std::string>
{
protected:
  EvaluationOf()
  : system(RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf")),
    dynamics(
      ConstraintSet(
        system,
        {std::make_shared<FrameCoincidence>(
          "loop", *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"})}),
      {}, make_formulation(GetParam())),
    inputs(Eigen::VectorXd::Constant(system->input_count(), 1.5))
  {
    Workspace workspace = Workspace::unanalysed(dynamics);
    for (const double crank : {0.3, 0.5})
    {
      State state{0.0, Eigen::Vector3d(crank, 1.2, 2.2), Eigen::Vector3d(1.0, 0.0, 0.0)};
      EXPECT_EQ(dynamics.project_position(0.0, state.q, workspace), Status::kOk);
      EXPECT_EQ(dynamics.project_velocity(0.0, state.q, state.u, workspace), Status::kOk);
      states.push_back(state);
    }
  }

  Status solve(const State & state, Workspace & workspace) const
  {
    return dynamics.solve(state.time, state.q, state.u, inputs, workspace);
  }
  Status set(const State & state, Workspace & workspace) const
  {
    return dynamics.set_state(state.time, state.q, state.u, workspace);
  }

  std::shared_ptr<const RigidBodySystem> system;
  Dynamics dynamics;
  Eigen::VectorXd inputs;
  std::vector<State> states;
};

TEST_P(EvaluationOf, when_parts_are_asked_for_after_a_solve_expect_those_of_a_fresh_workspace)
{
  Workspace workspace(dynamics, states[0]);
  for (const State & state : {states[1], states[0], states[1]})
  {
    ASSERT_EQ(solve(state, workspace), Status::kOk);
    const Solution solution = workspace.solution();
    ASSERT_EQ(dynamics.evaluate_rows(workspace), Status::kOk);
    ASSERT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
    Workspace fresh = Workspace::unanalysed(dynamics);
    ASSERT_EQ(set(state, fresh), Status::kOk);
    ASSERT_EQ(dynamics.evaluate_rows(fresh), Status::kOk);
    ASSERT_EQ(dynamics.evaluate_terms(fresh), Status::kOk);
    EXPECT_EQ(workspace.rows().jacobian, fresh.rows().jacobian);
    EXPECT_EQ(workspace.rows().position, fresh.rows().position);
    EXPECT_EQ(workspace.rows().velocity, fresh.rows().velocity);
    EXPECT_EQ(workspace.rows().bias, fresh.rows().bias);
    EXPECT_EQ(workspace.terms().mass_matrix, fresh.terms().mass_matrix);
    EXPECT_EQ(workspace.terms().force, fresh.terms().force);
    EXPECT_EQ(workspace.terms().input_matrix, fresh.terms().input_matrix);
    EXPECT_EQ(workspace.terms().rates, fresh.terms().rates);
    EXPECT_EQ(workspace.solution().acceleration, solution.acceleration);
  }
}

TEST_P(EvaluationOf, when_a_state_is_set_expect_nan_until_parts_are_asked_for)
{
  Workspace workspace(dynamics, states[0]);
  ASSERT_EQ(solve(states[0], workspace), Status::kOk);
  ASSERT_EQ(dynamics.evaluate_rows(workspace), Status::kOk);
  ASSERT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
  ASSERT_EQ(set(states[1], workspace), Status::kOk);
  EXPECT_EQ(workspace.terms().coordinates, states[1].q);
  EXPECT_TRUE(is_blank(workspace.rows().position));
  EXPECT_TRUE(is_blank(workspace.rows().jacobian));
  EXPECT_TRUE(is_blank(workspace.terms().mass_matrix));
  EXPECT_TRUE(is_blank(workspace.terms().input_matrix));
  EXPECT_TRUE(is_blank(workspace.solution().acceleration));
  EXPECT_TRUE(is_blank(workspace.solution().multipliers));
  EXPECT_TRUE(is_blank(workspace.solution().wrenches[0].on_a.force));

  // Along the tree A and Q are not needed, so they are not there.
  ASSERT_EQ(dynamics.solve(inputs, workspace), Status::kOk);
  EXPECT_TRUE(workspace.rows().position.allFinite());
  EXPECT_TRUE(workspace.solution().acceleration.allFinite());
  EXPECT_EQ(is_blank(workspace.rows().jacobian), workspace.solution().along_tree);
  EXPECT_EQ(is_blank(workspace.terms().mass_matrix), workspace.solution().along_tree);
}

TEST_P(EvaluationOf, when_inputs_or_wrenches_change_expect_the_solution_of_a_fresh_workspace)
{
  Workspace workspace(dynamics, states[0]);
  ASSERT_EQ(solve(states[1], workspace), Status::kOk);
  const Eigen::VectorXd other = -3.0 * inputs;
  ASSERT_EQ(dynamics.solve(other, workspace), Status::kOk);
  Workspace fresh(dynamics, states[0]);
  ASSERT_EQ(dynamics.solve(0.0, states[1].q, states[1].u, other, fresh), Status::kOk);
  const double size = fresh.solution().acceleration.norm();
  EXPECT_LE(
    (workspace.solution().acceleration - fresh.solution().acceleration).norm(), 1e-13 * size);
}

TEST_P(EvaluationOf, when_a_state_is_refused_expect_the_former_one)
{
  Workspace workspace(dynamics, states[0]);
  ASSERT_EQ(solve(states[1], workspace), Status::kOk);
  const Eigen::VectorXd acceleration = workspace.solution().acceleration;
  State bad = states[0];
  bad.q(1) = std::nan("");
  EXPECT_EQ(set(bad, workspace), Status::kNonFiniteInput);
  EXPECT_EQ(workspace.terms().coordinates, states[1].q);
  EXPECT_EQ(workspace.solution().acceleration, acceleration);
  bad = states[0];
  bad.u.resize(2);
  EXPECT_EQ(set(bad, workspace), Status::kSizeMismatch);
  EXPECT_EQ(workspace.solution().acceleration, acceleration);
}

TEST_P(EvaluationOf, when_there_is_no_state_expect_a_status_and_nan)
{
  Workspace workspace(dynamics, states[0]);
  Eigen::VectorXd q = states[1].q;
  ASSERT_EQ(dynamics.project_position(0.0, q, workspace), Status::kOk);
  EXPECT_TRUE(is_blank(workspace.terms().coordinates));
  EXPECT_TRUE(is_blank(workspace.rows().position));
  EXPECT_EQ(dynamics.evaluate_rows(workspace), Status::kNoState);
  EXPECT_EQ(dynamics.evaluate_terms(workspace), Status::kNoState);
  EXPECT_EQ(dynamics.solve(inputs, workspace), Status::kNoState);
  Reduction reduction(dynamics);
  EXPECT_EQ(dynamics.reduce(workspace, reduction), Status::kNoState);
  ASSERT_EQ(set(states[0], workspace), Status::kOk);
  ASSERT_EQ(dynamics.reduce(workspace, reduction), Status::kOk);
  ASSERT_EQ(dynamics.solve(inputs, reduction, workspace), Status::kOk);
  ASSERT_EQ(set(states[1], workspace), Status::kOk);
  EXPECT_EQ(dynamics.solve(inputs, reduction, workspace), Status::kNoState)
    << "the reduction is of another state";
}

INSTANTIATE_TEST_SUITE_P(Formulations, EvaluationOf, testing::ValuesIn(all_formulations()));

TEST(Evaluation, when_rows_and_terms_are_there_expect_auto_to_use_them)
{
  const auto system =
    RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf");
  const Dynamics dynamics(ConstraintSet(
    system, {std::make_shared<FrameCoincidence>(
              "loop", *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"})}));
  State state{0.0, Eigen::Vector3d(0.3, 1.2, 2.2), Eigen::Vector3d::Zero()};
  Workspace workspace(dynamics, state);
  ASSERT_EQ(dynamics.project_position(0.0, state.q, workspace), Status::kOk);
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system->input_count());
  ASSERT_EQ(dynamics.solve(0.0, state.q, state.u, inputs, workspace), Status::kOk);
  EXPECT_TRUE(workspace.solution().along_tree);
  const Eigen::VectorXd along = workspace.solution().acceleration;
  ASSERT_EQ(dynamics.evaluate_rows(0.0, state.q, state.u, workspace), Status::kOk);
  ASSERT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
  ASSERT_EQ(dynamics.solve(inputs, workspace), Status::kOk);
  EXPECT_FALSE(workspace.solution().along_tree);
  EXPECT_LE((workspace.solution().acceleration - along).norm(), 1e-12 * along.norm());
}

TEST(Evaluation, when_a_row_is_redundant_expect_the_articulated_body_to_decline_and_auto_to_answer)
{
  const auto system =
    RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf");
  const auto loop = [&](const char * name)
  {
    return std::make_shared<FrameCoincidence>(
      name, *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "y", "z"});
  };
  const ConstraintSet set(system, {loop("loop")});
  State state{0.0, Eigen::Vector3d(0.3, 1.2, 2.2), Eigen::Vector3d::Zero()};
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system->input_count());
  const Dynamics tree(set, {}, make_formulation("articulated_body"));
  Workspace unknown = Workspace::unanalysed(tree);
  ASSERT_EQ(tree.project_position(0.0, state.q, unknown), Status::kOk);
  EXPECT_EQ(tree.solve(0.0, state.q, state.u, inputs, unknown), Status::kDeclined);
  EXPECT_TRUE(is_blank(unknown.solution().acceleration));
  const Dynamics both(set);
  Workspace workspace(both, state);
  EXPECT_EQ(workspace.rank_report().nominal_rank, 2);
  EXPECT_EQ(both.solve(0.0, state.q, state.u, inputs, workspace), Status::kOk);
}

TEST(Evaluation, when_the_workspace_is_of_another_dynamics_expect_refusal_and_no_change)
{
  const auto system =
    RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf");
  const ConstraintSet set(
    system, {std::make_shared<FrameCoincidence>(
              "loop", *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"})});
  const Dynamics dynamics(set);
  const Dynamics copy = dynamics;
  const Dynamics other(set);  // of equal sizes
  State state{0.0, Eigen::Vector3d(0.3, 1.2, 2.2), Eigen::Vector3d::Zero()};
  Workspace workspace(dynamics, state);
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system->input_count());
  ASSERT_EQ(dynamics.project_position(0.0, state.q, workspace), Status::kOk);
  ASSERT_EQ(copy.solve(0.0, state.q, state.u, inputs, workspace), Status::kOk);
  const Eigen::VectorXd before = workspace.solution().acceleration;
  Reduction reduction(other);
  EXPECT_EQ(other.set_state(0.0, state.q, state.u, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.evaluate_rows(workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.evaluate_rows(0.0, state.q, state.u, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.evaluate_terms(workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.solve(inputs, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.solve(0.0, state.q, state.u, inputs, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.reduce(workspace, reduction), Status::kForeignWorkspace);
  EXPECT_EQ(other.solve(inputs, reduction, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.project_position(0.0, state.q, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(other.project_velocity(0.0, state.q, state.u, workspace), Status::kForeignWorkspace);
  EXPECT_EQ(workspace.solution().acceleration, before);
  Reduction small{Dynamics(ConstraintSet(system))};
  EXPECT_EQ(dynamics.reduce(workspace, small), Status::kSizeMismatch);
}

TEST(Evaluation, when_the_formulation_cannot_solve_the_system_expect_refusal_that_says_why)
{
  const auto tree = make_formulation("articulated_body");
  const auto robot =
    RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf");
  const auto refusal = [&](const ConstraintSet & set, const DynamicsOptions & options)
  {
    try
    {
      const Dynamics dynamics(set, options, tree);
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  const ConstraintSet set(robot);
  EXPECT_EQ(refusal(set, {}), "");
  EXPECT_EQ(formulation_names(ConstrainedSystem(set, {})).back(), "articulated_body");
  DynamicsOptions loose;
  loose.rank.singular_tolerance = 1e-3;
  EXPECT_EQ(
    refusal(set, loose),
    "formulation articulated_body: the singular tolerance is 0.001; allowed: up to 1e-05");
  const ConstraintSet with_states(make_control_state_system(robot));
  EXPECT_EQ(
    refusal(with_states, {}),
    "formulation articulated_body: the system is no tree of bodies; allowed: systems of robots "
    "and bodies whose controls are no states");
  EXPECT_EQ(formulation_names(ConstrainedSystem(with_states, {})), formulation_names());
}

TEST(Evaluation, when_the_state_does_not_fit_expect_refusal_that_names_it)
{
  const auto system =
    RigidBodySystem::from_urdf_file(std::string(CD_CONFIG) + "/robots/four_bar.urdf");
  const Dynamics dynamics{ConstraintSet(system)};
  EXPECT_THROW(Workspace(dynamics, State{}), std::invalid_argument);
  const State bad{0.0, Eigen::Vector3d::Constant(std::nan("")), Eigen::Vector3d::Zero()};
  EXPECT_THROW(Workspace(dynamics, bad), std::invalid_argument);
}

}  // namespace
}  // namespace constrained_dynamics
