// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <gmock/gmock.h>

#include <Eigen/Geometry>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <constrained_dynamics/scenario/scenario.hpp>

#include "constrained_dynamics_ros/force_messages.hpp"
#include "constrained_dynamics_ros/servo_messages.hpp"
#include "support/allocation_counter.hpp"

using constrained_dynamics::Scenario;
using constrained_dynamics::Simulation;
using constrained_dynamics::Status;
using constrained_dynamics::test::allocation_count;
using namespace constrained_dynamics_ros;  // NOLINT: what is under test
using testing::AllOf;
using testing::HasSubstr;

namespace
{

const std::string kScenarios = std::string(CD_CONFIG_DIR) + "/scenarios/";

/// A scenario that has run for a moment, with its last solution.
struct Moment
{
  explicit Moment(const std::string & name, double until = 0.3)
  : scenario(Scenario::load(kScenarios + name)), simulation(scenario.make_simulation())
  {
    const auto result = simulation->run(until, until, [](const auto &) { return true; });
    EXPECT_TRUE(result.completed);
    EXPECT_TRUE(has_output(simulation->evaluate()));
  }
  Scenario scenario;
  std::unique_ptr<Simulation> simulation;
};

const rclcpp::Time kStamp(12, 345, RCL_ROS_TIME);

template <typename Message>
Eigen::Vector3d vector(const Message & message)
{
  return {message.x, message.y, message.z};
}

TEST(ForceMessage, when_written_expect_the_numbers_of_the_solution)
{
  const Moment moment("four_bar.yaml");
  const auto & dynamics = moment.simulation->dynamics();
  const auto & solution = moment.simulation->workspace().solution();
  auto message = make_force_message(dynamics, "map");
  write_forces(kStamp, 7, Status::kOk, dynamics, moment.simulation->workspace(), message);

  EXPECT_EQ(message.header.frame_id, "map");
  EXPECT_EQ(message.header.stamp.sec, 12);
  EXPECT_EQ(message.header.stamp.nanosec, 345U);
  EXPECT_EQ(message.sequence, 7U);
  EXPECT_EQ(message.status, "ok");
  ASSERT_EQ(message.constraints.size(), 1U);
  const auto & loop = message.constraints[0];
  EXPECT_EQ(loop.name, "loop");
  EXPECT_EQ(loop.type, "frame_coincidence");
  EXPECT_TRUE(loop.active);
  EXPECT_FALSE(loop.redundant);
  ASSERT_EQ(loop.rows.size(), 2U);
  EXPECT_EQ(loop.rows[1].label, "z");
  EXPECT_EQ(loop.rows[0].multiplier, solution.multipliers(0));
  EXPECT_EQ(loop.rows[1].multiplier, solution.multipliers(1));
  EXPECT_GT(std::abs(loop.rows[0].multiplier), 1.0);
  EXPECT_LT(std::abs(loop.rows[0].position_residual), 1e-9);
  ASSERT_EQ(loop.wrenches.size(), 1U);
  const auto & wrench = loop.wrenches[0];
  EXPECT_EQ(wrench.link_a, "coupler_tip");
  EXPECT_EQ(wrench.frame_b, "rocker_tip");
  EXPECT_EQ(vector(wrench.on_a.force), solution.wrenches[0].on_a.force);
  EXPECT_EQ(vector(wrench.on_b.force), -vector(wrench.on_a.force));
  EXPECT_EQ(vector(wrench.point), solution.wrenches[0].on_a.point);
  EXPECT_EQ(message.names, dynamics.system().speed_names());
  ASSERT_EQ(message.generalized_forces.size(), 3U);
  EXPECT_EQ(message.generalized_forces[2], solution.constraint_force(2));
  EXPECT_EQ(message.rank, 2U);
  EXPECT_EQ(message.active_row_count, 2U);
  EXPECT_EQ(message.condition, solution.condition);
}

TEST(ForceMessage, when_constraints_move_no_energy_in_expect_zero_power)
{
  // Bilateral constraints that do not move exert no power: the wrenches of the message say so.
  const Moment moment("four_bar.yaml");
  const auto & simulation = *moment.simulation;
  auto message = make_force_message(simulation.dynamics(), "world");
  write_forces(kStamp, 1, Status::kOk, simulation.dynamics(), simulation.workspace(), message);
  double power = 0.0;
  double size = 0.0;
  const auto & wrench = message.constraints[0].wrenches[0];
  for (const auto & [frame, force] :
       {std::pair{wrench.frame_a, wrench.on_a}, std::pair{wrench.frame_b, wrench.on_b}})
  {
    constrained_dynamics::FrameKinematics motion;
    const auto & system = simulation.dynamics().system();
    system.frame_kinematics(
      simulation.workspace().system_data(), system.frame_index(frame), motion);
    power += motion.velocity.dot(vector(force.force));
    power += motion.angular_velocity.dot(vector(force.torque));
    size += motion.velocity.norm() * vector(force.force).norm();
  }
  EXPECT_GT(size, 1.0);
  EXPECT_LT(std::abs(power), 1e-9 * size);
}

TEST(ForceMessage, when_rows_are_redundant_expect_it_said)
{
  // Two wheels on one axle: their lateral rows say the same.
  const Moment moment("mobile_arm.yaml", 0.05);
  auto message = make_force_message(moment.simulation->dynamics(), "world");
  write_forces(
    kStamp, 1, Status::kOk, moment.simulation->dynamics(), moment.simulation->workspace(), message);
  ASSERT_EQ(message.constraints.size(), 2U);
  EXPECT_TRUE(message.constraints[0].redundant);
  EXPECT_EQ(message.rank, 3U);
  EXPECT_EQ(message.active_row_count, 4U);
}

TEST(ForceMessage, when_a_solve_failed_expect_status_and_the_last_numbers)
{
  const Moment moment("four_bar.yaml");
  const auto & simulation = *moment.simulation;
  auto message = make_force_message(simulation.dynamics(), "world");
  write_forces(kStamp, 1, Status::kOk, simulation.dynamics(), simulation.workspace(), message);
  const double before = message.constraints[0].rows[0].multiplier;
  write_forces(
    kStamp, 2, Status::kSingularInertia, simulation.dynamics(), simulation.workspace(), message);
  EXPECT_EQ(message.status, "singular_inertia");
  EXPECT_EQ(message.sequence, 2U);
  EXPECT_EQ(message.constraints[0].rows[0].multiplier, before);
}

TEST(ForceMessage, when_written_in_a_cycle_expect_no_allocation)
{
  const Moment moment("four_bar.yaml");
  const auto & simulation = *moment.simulation;
  auto message = make_force_message(simulation.dynamics(), "world");
  auto copy = message;  // as a publisher keeps one
  auto wrench = make_wrench_message(simulation.dynamics(), 0);
  const long before = allocation_count();
  for (const Status status :
       {Status::kOk, Status::kUserFunctionFailed, Status::kSingularKinematics, Status::kSingular})
  {
    write_forces(kStamp, 3, status, simulation.dynamics(), simulation.workspace(), message);
    write_wrench(kStamp, simulation.dynamics(), simulation.workspace(), 0, wrench);
    copy = message;
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(copy.status, "singular");
}

TEST(WrenchMessage, when_written_expect_force_in_axes_of_its_link_and_torque_about_its_origin)
{
  const Moment moment("four_bar.yaml");
  const auto & simulation = *moment.simulation;
  const auto & system = simulation.dynamics().system();
  auto message = make_wrench_message(simulation.dynamics(), 0);
  EXPECT_EQ(message.header.frame_id, "coupler_tip");
  write_wrench(kStamp, simulation.dynamics(), simulation.workspace(), 0, message);

  const auto moment_about_world = [](const Eigen::Vector3d & p, const auto & f, const auto & t)
  { return Eigen::Vector3d(t + p.cross(f)); };
  const auto & expected = simulation.workspace().solution().wrenches[0].on_a;
  // From the other end of the coupler it is the same wrench.
  for (const char * link : {"coupler_tip", "coupler_rod"})
  {
    message.header.frame_id = link;
    write_wrench(kStamp, simulation.dynamics(), simulation.workspace(), 0, message);
    constrained_dynamics::FrameKinematics frame;
    system.frame_kinematics(simulation.workspace().system_data(), system.frame_index(link), frame);
    const Eigen::Vector3d force = frame.rotation * vector(message.wrench.force);
    const Eigen::Vector3d torque = frame.rotation * vector(message.wrench.torque);
    EXPECT_TRUE(force.isApprox(expected.force, 1e-12));
    EXPECT_TRUE(
      moment_about_world(frame.position, force, torque)
        .isApprox(moment_about_world(expected.point, expected.force, expected.torque), 1e-12));
  }
  EXPECT_GT(std::abs(message.wrench.torque.y), 1.0);
}

TEST(WrenchMessage, when_frame_a_is_no_link_expect_the_link_it_is_fixed_to)
{
  const Scenario scenario = Scenario::from_text(
    "system: {urdf: four_bar.urdf, frames: [{name: hook, parent: crank_rod, pose: {xyz: "
    "[1,0,0]}}]}\n"
    "constraints:\n"
    "  - {name: hang, type: distance, frame_a: hook, length: 1}\n"
    "  - {name: turned, type: point_on_plane, frame_a: world, frame_b: hook, normal: [0, 0, 1]}\n"
    "  - {name: sum, type: formula, level: position, rows: [crank - rocker]}\n",
    {}, std::string(CD_CONFIG_DIR) + "/robots", {false});
  EXPECT_EQ(make_wrench_message(*scenario.dynamics(), 0).header.frame_id, "crank_rod");
  EXPECT_EQ(make_wrench_message(*scenario.dynamics(), 1, "map").header.frame_id, "map");
  EXPECT_THROW((void)make_wrench_message(*scenario.dynamics(), 2), std::invalid_argument);
  EXPECT_THROW((void)make_wrench_message(*scenario.dynamics(), 3), std::invalid_argument);
}

// ---- servo -------------------------------------------------------------------------------------

struct ServoMoment
{
  ServoMoment()
  : scenario(Scenario::load(kScenarios + "mobile_arm.yaml")),
    law(scenario.servo_law()),
    servo(*law, scenario.initial())
  {
    servo.reference(0).position(0) += 0.01;
    servo.external_null_vector().setConstant(0.5);
    status = law->evaluate(0.0, scenario.initial().q, scenario.initial().u, servo);
    EXPECT_TRUE(has_output(status));
  }
  Scenario scenario;
  std::shared_ptr<const constrained_dynamics::ServoLaw> law;
  constrained_dynamics::ServoWorkspace servo;
  Status status = Status::kOk;
};

TEST(ServoMessage, when_written_expect_the_numbers_of_the_result)
{
  ServoMoment moment;
  auto message = make_servo_message(*moment.law);
  const auto & result = moment.servo.result();
  const Eigen::VectorXd commanded = 0.5 * result.inputs;
  ServoCycle cycle;
  cycle.sequence = 9;
  cycle.status = moment.status;
  cycle.compute_time = 1e-4;
  write_servo(kStamp, cycle, *moment.law, moment.servo, commanded, message);
  EXPECT_EQ(message.sequence, 9U);
  EXPECT_EQ(message.mode, "follow");
  EXPECT_EQ(message.status, to_string(moment.status));
  EXPECT_EQ(message.solution, to_string(result.solution));
  EXPECT_EQ(message.names, moment.scenario.system().input_names());
  ASSERT_EQ(message.torques.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i)
  {
    const auto k = static_cast<Eigen::Index>(i);
    EXPECT_EQ(message.torques[i], result.inputs(k));
    EXPECT_EQ(message.commanded[i], commanded(k));
    EXPECT_NEAR(message.torques[i], message.particular[i] + message.null_part[i], 1e-9);
    EXPECT_EQ(message.at_bound[i], result.at_bound[i]);
  }
  EXPECT_EQ(message.rank, static_cast<unsigned>(result.rank));
  ASSERT_EQ(message.tasks.size(), 2U);
  EXPECT_EQ(message.tasks[0].name, "hand");
  EXPECT_EQ(message.tasks[0].type, "pose");
  EXPECT_EQ(message.tasks[1].rows.size(), 2U);
  EXPECT_NEAR(Eigen::Vector3d::Map(message.tasks[0].error.data()).norm(), 0.01, 1e-9);
  EXPECT_EQ(message.tasks[1].error[1], result.error(7));
  EXPECT_TRUE(message.tasks[1].enabled);
}

TEST(ServoMessage, when_written_in_a_cycle_expect_no_allocation)
{
  ServoMoment moment;
  auto message = make_servo_message(*moment.law);
  auto copy = message;
  const Eigen::VectorXd commanded = moment.servo.result().inputs;
  const long before = allocation_count();
  for (const Status status : {Status::kOk, Status::kUserFunctionFailed, Status::kLimited})
  {
    ServoCycle cycle;
    cycle.mode = "twenty-four characters !";
    cycle.status = status;
    write_servo(kStamp, cycle, *moment.law, moment.servo, commanded, message);
    copy = message;
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(copy.status, "limited");
}

TEST(References, when_names_are_asked_for_expect_those_of_values_and_rates)
{
  const ServoMoment moment;
  const auto & tasks = moment.law->tasks();
  EXPECT_THAT(
    tasks[0].constraint->value_names(),
    testing::ElementsAre("x", "y", "z", "qx", "qy", "qz", "qw"));
  EXPECT_THAT(
    tasks[0].constraint->rate_names(), testing::ElementsAre("x", "y", "z", "rx", "ry", "rz"));
  EXPECT_THAT(tasks[1].constraint->value_names(), testing::ElementsAre("arm_1", "arm_3"));
}

/// What is wrong with a message, without bounds.
std::string check_references(
  const constrained_dynamics_msgs::msg::ServoReferences & message,
  const constrained_dynamics::ServoLaw & law, const std::string & world_frame)
{
  std::vector<ReadReference> read;
  return read_references(message, law, {}, world_frame, read);
}

TEST(References, when_a_message_fits_expect_no_complaint)
{
  const ServoMoment moment;
  constrained_dynamics_msgs::msg::ServoReferences message;
  EXPECT_EQ(check_references(message, *moment.law, "world"), "");
  message.header.frame_id = "world";
  auto & hand = message.references.emplace_back();
  hand.name = "hand";
  hand.position = {0.5, 0.1, 0.6, 0.0, 0.0, 0.6, 0.8};
  hand.velocity.assign(6, 0.1);
  auto & shape = message.references.emplace_back();
  shape.name = "shape";
  shape.position = {0.1, 0.2};
  message.null_space_names = {"arm_1"};
  message.null_space = {0.3};
  EXPECT_EQ(check_references(message, *moment.law, "world"), "");
}

TEST(References, when_values_are_empty_or_out_of_bounds_expect_resumption_or_refusal)
{
  const ServoMoment moment;
  std::vector<constrained_dynamics::ReferenceBounds> bounds;
  for (const auto & task : moment.law->tasks())
  {
    bounds.emplace_back(*task.constraint);
  }
  constrained_dynamics_msgs::msg::ServoReferences message;
  message.references.resize(2);
  message.references[0].name = "shape";
  message.references[1].name = "hand";
  std::vector<ReadReference> read;
  EXPECT_EQ(read_references(message, *moment.law, bounds, "world", read), "");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].task, 1);
  EXPECT_TRUE(read[0].resumes);
  message.references[0].position = {0.1, 90.0};
  EXPECT_THAT(
    read_references(message, *moment.law, bounds, "world", read),
    AllOf(HasSubstr("'shape'"), HasSubstr("'arm_3' is 90"), HasSubstr("allowed: ")));
}

TEST(References, when_a_message_does_not_fit_expect_what_is_wrong)
{
  const ServoMoment moment;
  constrained_dynamics_msgs::msg::ServoReferences good;
  auto & hand = good.references.emplace_back();
  hand.name = "hand";
  hand.position = {0.5, 0.1, 0.6, 0.0, 0.0, 0.0, 1.0};
  const auto complaint = [&](const auto & change)
  {
    auto message = good;
    change(message);
    return check_references(message, *moment.law, "world");
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(complaint([](auto &) {}), "");
  EXPECT_THAT(
    complaint([](auto & m) { m.header.frame_id = "tool"; }),
    AllOf(HasSubstr("'tool'"), HasSubstr("'world'")));
  EXPECT_THAT(
    complaint([](auto & m) { m.references[0].name = "hend"; }),
    AllOf(HasSubstr("'hend'"), HasSubstr("hand, shape")));
  EXPECT_THAT(
    complaint([](auto & m) { m.references.push_back(m.references[0]); }),
    AllOf(HasSubstr("'hand'"), HasSubstr("twice")));
  EXPECT_THAT(
    complaint([](auto & m) { m.references[0].position.resize(6); }),
    AllOf(HasSubstr("'hand'"), HasSubstr("6 values"), HasSubstr("7")));
  EXPECT_THAT(
    complaint([](auto & m) { m.references[0].velocity.resize(7); }),
    AllOf(HasSubstr("velocity"), HasSubstr("7 values"), HasSubstr("6")));
  EXPECT_THAT(
    complaint([](auto & m) { m.references[0].acceleration.resize(1); }), HasSubstr("acceleration"));
  EXPECT_THAT(
    complaint([&](auto & m) { m.references[0].position[2] = nan; }),
    AllOf(HasSubstr("'z'"), HasSubstr("nan"), HasSubstr("finite")));
  EXPECT_THAT(
    complaint([](auto & m) { m.references[0].position[6] = 0.0; }),
    AllOf(HasSubstr("quaternion"), HasSubstr("allowed: 1")));
  EXPECT_THAT(
    complaint([](auto & m) { m.null_space = {1.0}; }), HasSubstr("null_space has 1 values"));
  const auto with_null_space = [&](std::vector<std::string> names, std::vector<double> values)
  {
    return complaint(
      [&](auto & m)
      {
        m.null_space_names = names;
        m.null_space = values;
      });
  };
  EXPECT_THAT(with_null_space({"elbow"}, {1.0}), AllOf(HasSubstr("'elbow'"), HasSubstr("arm_1")));
  EXPECT_THAT(with_null_space({"arm_1"}, {nan}), AllOf(HasSubstr("'arm_1'"), HasSubstr("nan")));
  EXPECT_THAT(with_null_space({"arm_1", "arm_1"}, {1.0, 1.0}), HasSubstr("twice"));
}

}  // namespace
