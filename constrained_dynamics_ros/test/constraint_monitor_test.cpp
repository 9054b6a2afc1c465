// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraint_monitor.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <constrained_dynamics/model/rigid_body_system.hpp>
#include <lifecycle_msgs/msg/state.hpp>

using constrained_dynamics::Scenario;
using constrained_dynamics_msgs::msg::ConstraintForces;
using constrained_dynamics_msgs::srv::SetConstraintActive;
using constrained_dynamics_ros::ConstraintMonitor;
using diagnostic_msgs::msg::DiagnosticArray;
using diagnostic_msgs::msg::DiagnosticStatus;
using lifecycle_msgs::msg::State;
using sensor_msgs::msg::JointState;
using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

using Parameters = std::vector<rclcpp::Parameter>;

std::string file_text(const std::string & path)
{
  std::ifstream file(std::string(CD_CONFIG_DIR) + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The loop of the four-bar by parameters alone, and on which of its two branches it is.
Parameters loop_parameters()
{
  return {
    {"constraints.loop.type", "frame_coincidence"},
    {"constraints.loop.frame_a", "coupler_tip"},
    {"constraints.loop.frame_b", "rocker_tip"},
    {"constraints.loop.rows", std::vector<std::string>{"x", "z"}},
    {"initial.q.coupler", 1.5},
    {"initial.q.rocker", 2.5},
    {"without_effort", "zero"}};
}

/// A monitor, and a node that speaks to it.
class MonitorTest : public testing::Test
{
protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  void SetUp() override
  {
    peer_ = std::make_shared<rclcpp::Node>("peer");
    joints_ = peer_->create_publisher<JointState>("joint_states", 10);
    executor_.add_node(peer_);
    forces_ = peer_->create_subscription<ConstraintForces>(
      "/constraint_monitor/constraint_forces", 10,
      [this](const ConstraintForces & message) { heard_forces_.push_back(message); });
    states_ = peer_->create_subscription<JointState>(
      "/constraint_monitor/joint_states", 10,
      [this](const JointState & message) { heard_states_.push_back(message); });
    diagnostics_ = peer_->create_subscription<DiagnosticArray>(
      "/diagnostics", 10,
      [this](const DiagnosticArray & message) { health_ = message.status.at(0); });
    switch_ =
      peer_->create_client<SetConstraintActive>("/constraint_monitor/set_constraint_active");
  }

  void start(Parameters parameters)
  {
    parameters.emplace_back("rate", 200.0);
    monitor_ =
      std::make_shared<ConstraintMonitor>(rclcpp::NodeOptions().parameter_overrides(parameters));
    executor_.add_node(monitor_->get_node_base_interface());
  }
  void activate()
  {
    ASSERT_EQ(monitor_->configure().id(), State::PRIMARY_STATE_INACTIVE);
    ASSERT_EQ(monitor_->activate().id(), State::PRIMARY_STATE_ACTIVE);
  }

  template <typename Condition>
  bool until(const Condition & condition, double seconds = 20.0)
  {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition() && std::chrono::steady_clock::now() < end)
    {
      executor_.spin_some(std::chrono::milliseconds(10));
      rclcpp::sleep_for(std::chrono::milliseconds(2));
    }
    return condition();
  }

  /// Sends a message with the time of now again and again until something comes true.
  template <typename Condition>
  bool send_until(JointState message, const Condition & condition, double seconds = 20.0)
  {
    return until(
      [&]
      {
        message.header.stamp = peer_->now();
        sent_.push_back(message.header.stamp);
        joints_->publish(message);
        return condition();
      },
      seconds);
  }

  JointState crank_message() const
  {
    JointState message;
    message.name = {"crank"};
    message.position = {four_bar_.initial().q(0)};
    message.velocity = {0.0};
    return message;
  }

  SetConstraintActive::Response ask(const std::string & name, bool active)
  {
    auto request = std::make_shared<SetConstraintActive::Request>();
    request->name = name;
    request->active = active;
    EXPECT_TRUE(until([&] { return switch_->service_is_ready(); }));
    auto future = switch_->async_send_request(request);
    EXPECT_TRUE(
      until([&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return *future.get();
  }

  Scenario four_bar_ = Scenario::load(std::string(CD_CONFIG_DIR) + "/scenarios/four_bar.yaml");
  std::string urdf_ = file_text("/robots/four_bar.urdf");
  rclcpp::executors::SingleThreadedExecutor executor_;
  rclcpp::Node::SharedPtr peer_;
  std::shared_ptr<ConstraintMonitor> monitor_;
  rclcpp::Publisher<JointState>::SharedPtr joints_;
  rclcpp::Subscription<ConstraintForces>::SharedPtr forces_;
  rclcpp::Subscription<JointState>::SharedPtr states_;
  rclcpp::Subscription<DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::Client<SetConstraintActive>::SharedPtr switch_;
  std::vector<builtin_interfaces::msg::Time> sent_;
  std::vector<ConstraintForces> heard_forces_;
  std::vector<JointState> heard_states_;
  DiagnosticStatus health_;
};

TEST_F(MonitorTest, when_crank_is_measured_expect_passive_joints_and_forces_of_the_core)
{
  Parameters parameters = loop_parameters();
  parameters.emplace_back("robot_description", urdf_);
  start(parameters);
  activate();
  ASSERT_TRUE(
    send_until(crank_message(), [&] { return !heard_forces_.empty() && !heard_states_.empty(); }));

  const auto simulation = four_bar_.make_simulation();
  ASSERT_TRUE(has_output(simulation->evaluate()));
  const auto & q = four_bar_.initial().q;
  const JointState & state = heard_states_.back();
  EXPECT_THAT(state.name, ElementsAre("crank", "coupler", "rocker"));
  for (std::size_t i = 0; i < 3; ++i)
  {
    EXPECT_NEAR(state.position[i], q(static_cast<Eigen::Index>(i)), 1e-8) << state.name[i];
  }
  const ConstraintForces & forces = heard_forces_.back();
  EXPECT_EQ(forces.status, "ok");
  EXPECT_EQ(forces.rank, 2U);
  EXPECT_THAT(sent_, testing::Contains(forces.header.stamp));
  const auto & expected = simulation->workspace().solution().multipliers;
  EXPECT_NEAR(forces.constraints.at(0).rows.at(0).multiplier, expected(0), 1e-6);
  EXPECT_NEAR(forces.constraints.at(0).rows.at(1).multiplier, expected(1), 1e-6);
}

TEST_F(MonitorTest, when_a_profile_says_that_efforts_lack_gravity_expect_the_forces_of_the_core)
{
  const Scenario driven = Scenario::load(
    std::string(CD_CONFIG_DIR) + "/scenarios/four_bar.yaml", {"system.actuated=[crank]"});
  constrained_dynamics::Workspace workspace(*driven.dynamics(), driven.initial());
  Eigen::VectorXd weight(3);
  driven.system().as_robot()->gravity_torque(workspace.system_data(), weight);
  const Eigen::VectorXd effort = Eigen::VectorXd::Constant(1, 7.0);
  ASSERT_EQ(driven.dynamics()->solve(effort, workspace), constrained_dynamics::Status::kOk);
  for (const bool has_profile : {true, false})
  {
    heard_forces_.clear();
    Parameters parameters = loop_parameters();
    parameters.emplace_back("robot_description", urdf_);
    parameters.emplace_back("system.actuated", std::vector<std::string>{"crank"});
    if (has_profile)
    {
      parameters.emplace_back(
        "profile", std::string(CD_DATA_DIR) + "/profiles/crank_adds_gravity.yaml");
    }
    start(parameters);
    activate();
    JointState message = crank_message();
    message.effort = {effort(0) - weight(0)};
    ASSERT_TRUE(send_until(message, [&] { return !heard_forces_.empty(); }));
    const double error = heard_forces_.back().constraints.at(0).rows.at(0).multiplier -
                         workspace.solution().multipliers(0);
    EXPECT_EQ(std::abs(error) < 1e-6, has_profile) << error;
    executor_.remove_node(monitor_->get_node_base_interface());
    monitor_.reset();
    until([] { return false; }, 0.5);  // what was on its way
  }
}

TEST_F(MonitorTest, when_description_comes_by_topic_expect_it_to_wait_and_then_work)
{
  start(loop_parameters());
  activate();
  ASSERT_TRUE(until([&] { return health_.level == DiagnosticStatus::ERROR; }));
  EXPECT_THAT(health_.message, HasSubstr("robot_description"));
  EXPECT_FALSE(ask("loop", false).success);
  auto publisher = peer_->create_publisher<std_msgs::msg::String>(
    "robot_description", rclcpp::QoS(1).transient_local());
  std_msgs::msg::String description;
  description.data = "<robot name=\"broken\">";
  publisher->publish(description);
  ASSERT_TRUE(until(
    [&]
    {
      return !health_.message.empty() &&
             health_.message.find("no robot description") == std::string::npos;
    }));
  EXPECT_EQ(health_.level, DiagnosticStatus::ERROR);
  description.data = urdf_;
  publisher->publish(description);
  ASSERT_TRUE(send_until(crank_message(), [&] { return !heard_forces_.empty(); }));
}

TEST_F(MonitorTest, when_joint_states_are_wrong_expect_reports_and_life)
{
  Parameters parameters = loop_parameters();
  parameters.emplace_back("robot_description", urdf_);
  start(parameters);
  activate();
  JointState wrong = crank_message();
  wrong.name = {"crank", "handle"};
  wrong.position = {std::numeric_limits<double>::quiet_NaN(), 1.0};
  wrong.velocity = {0.0, 0.0};
  const auto value = [&](const std::string & key)
  {
    for (const auto & pair : health_.values)
    {
      if (pair.key == key)
      {
        return pair.value;
      }
    }
    return std::string();
  };
  ASSERT_TRUE(send_until(wrong, [&] { return value("unknown joints") == "handle"; }));
  EXPECT_NE(value("values that are not finite"), "0");
  wrong.velocity.pop_back();
  ASSERT_TRUE(send_until(wrong, [&] { return value("last refusal") != ""; }));
  EXPECT_THAT(value("last refusal"), HasSubstr("2 names, 2 positions, 1 velocities"));
  EXPECT_TRUE(heard_forces_.empty());
  EXPECT_EQ(health_.level, DiagnosticStatus::ERROR);
  // Old ones are refused, too.
  JointState old = crank_message();
  old.header.stamp = peer_->now() - rclcpp::Duration::from_seconds(100.0);
  ASSERT_TRUE(until(
    [&]
    {
      joints_->publish(old);
      return value("last refusal").find(" s old") != std::string::npos;
    }));
  // And good ones make it work.
  ASSERT_TRUE(send_until(crank_message(), [&] { return !heard_forces_.empty(); }));
  ASSERT_TRUE(send_until(crank_message(), [&] { return health_.level == DiagnosticStatus::OK; }));
  EXPECT_THAT(value("joints found from constraints"), "coupler, rocker");
}

TEST_F(MonitorTest, when_constraint_is_switched_expect_answers_with_reasons)
{
  Parameters parameters = loop_parameters();
  parameters.emplace_back("robot_description", urdf_);
  start(parameters);
  activate();
  ASSERT_TRUE(send_until(crank_message(), [&] { return !heard_forces_.empty(); }));
  EXPECT_THAT(ask("loops", false).message, HasSubstr("loop"));
  const auto refused = ask("loop", false);
  EXPECT_FALSE(refused.success);
  EXPECT_THAT(refused.message, HasSubstr("coupler"));
  JointState all;
  const auto & q = four_bar_.initial().q;
  all.name = {"crank", "coupler", "rocker"};
  all.position = {q(0), q(1), q(2)};
  all.velocity = {0.0, 0.0, 0.0};
  const std::size_t count = heard_forces_.size();
  ASSERT_TRUE(send_until(all, [&] { return heard_forces_.size() > count + 5; }));
  EXPECT_TRUE(ask("loop", false).success);
  ASSERT_TRUE(send_until(all, [&] { return !heard_forces_.back().constraints.at(0).active; }));
  EXPECT_EQ(heard_forces_.back().active_row_count, 0U);
  EXPECT_TRUE(ask("loop", true).success);
}

TEST_F(MonitorTest, when_parameters_are_bad_expect_no_configuration)
{
  for (const Parameters & bad : std::vector<Parameters>{
         {{"robot_description", "<robot"}},
         {{"robot_description", urdf_}, {"constraints.loop.type", "magic"}},
         {{"scenario", "/nowhere.yaml"}, {"robot_description", urdf_}},
         {{"robot_description", urdf_}, {"timeout", -1.0}},
         {{"robot_description", urdf_}, {"timeout", std::numeric_limits<double>::quiet_NaN()}},
         {{"robot_description", urdf_}, {"without_effort", "guess"}},
         {{"robot_description", urdf_}, {"markers.force_scale", 0.0}}})
  {
    const auto monitor =
      std::make_shared<ConstraintMonitor>(rclcpp::NodeOptions().parameter_overrides(bad));
    EXPECT_EQ(monitor->configure().id(), State::PRIMARY_STATE_UNCONFIGURED)
      << bad.back().get_name();
  }
}

TEST_F(MonitorTest, when_taken_through_its_states_expect_it_to_work_again)
{
  Parameters parameters = loop_parameters();
  parameters.emplace_back("robot_description", urdf_);
  start(parameters);
  for (int i = 0; i < 3; ++i)
  {
    activate();
    heard_forces_.clear();
    ASSERT_TRUE(send_until(crank_message(), [&] { return !heard_forces_.empty(); }));
    ASSERT_EQ(monitor_->deactivate().id(), State::PRIMARY_STATE_INACTIVE);
    until([] { return false; }, 0.2);  // what was on its way
    heard_forces_.clear();
    EXPECT_FALSE(send_until(
      crank_message(), [&] { return !heard_forces_.empty(); }, 0.3));
    ASSERT_EQ(monitor_->cleanup().id(), State::PRIMARY_STATE_UNCONFIGURED);
  }
  ASSERT_EQ(monitor_->shutdown().id(), State::PRIMARY_STATE_FINALIZED);
}

TEST_F(MonitorTest, when_structure_is_changed_live_expect_refusal)
{
  Parameters parameters = loop_parameters();
  parameters.emplace_back("robot_description", urdf_);
  start(parameters);
  activate();
  EXPECT_FALSE(monitor_->set_parameter({"constraints.loop.type", "distance"}).successful);
  EXPECT_FALSE(monitor_->set_parameter({"timeout", 2.0}).successful);
}

}  // namespace
