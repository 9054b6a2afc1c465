// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// A whole cycle of a servo law (terms, passive rows, servo rows, torques, forces) beside what every
// controller with a model pays: RNEA and CRBA of the same robot by Pinocchio. run_servo_bench.py
// runs it, and TSID on the same humanoid (tsid_cycle.py).
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody/joint/joint-free-flyer.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/pose_servo.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"

namespace constrained_dynamics::bench
{
namespace
{

const char * const kHumanoid = "talos_data/robots/talos_reduced.urdf";

/// A servo law at the initial state of a scenario.
struct Cycle
{
  Cycle(
    const std::string & name, const std::string & hand,
    const std::vector<std::string> & overrides = {})
  : scenario(Scenario::load(std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml", overrides))
  {
    law = scenario.servo_law();
    if (!law)
    {
      // Six rows for the hand, whatever drives the scenario itself.
      law = std::make_shared<ServoLaw>(
        scenario.dynamics(),
        std::vector<ServoTask>{
          {std::make_shared<PoseServo>("hand", scenario.system(), hand, "world"), {}, 0}});
    }
    workspace = std::make_unique<ServoWorkspace>(*law, scenario.initial());
    scenario.switch_constraints(workspace->dynamics());
    law->reset(scenario.initial(), *workspace);
  }

  void run(benchmark::State & state)
  {
    const State & at = scenario.initial();
    Status status = Status::kOk;
    for (auto _ : state)
    {
      status = law->evaluate(at.time, at.q, at.u, *workspace);
    }
    if (!has_output(status))
    {
      state.SkipWithError(to_string(status));
    }
    state.counters["passive_rows"] = scenario.dynamics()->constraints().row_count();
    state.counters["servo_rows"] = law->row_count();
    state.counters["limited"] = workspace->result().limited ? 1 : 0;
    // Which robot a peer is to load.
    state.SetLabel(std::string(CD_EXAMPLE_ROBOT_DATA) + "/" + kHumanoid);
  }

  Scenario scenario;
  std::shared_ptr<const ServoLaw> law;
  std::unique_ptr<ServoWorkspace> workspace;
};

/// The same robot in Pinocchio, with as many speeds.
struct Terms
{
  Terms(const std::string & urdf, bool floating, const std::vector<std::string> & locked)
  {
    const std::string path = std::string(CD_EXAMPLE_ROBOT_DATA) + "/" + urdf;
    pinocchio::Model whole;
    if (floating)
    {
      pinocchio::urdf::buildModel(path, pinocchio::JointModelFreeFlyer(), whole);
    }
    else
    {
      pinocchio::urdf::buildModel(path, whole);
    }
    std::vector<pinocchio::JointIndex> joints;
    for (const std::string & name : locked)
    {
      joints.push_back(whole.getJointId(name));
    }
    model = locked.empty() ? whole
                           : pinocchio::buildReducedModel(whole, joints, pinocchio::neutral(whole));
    data = std::make_unique<pinocchio::Data>(model);
    q = pinocchio::neutral(model);
    v = Eigen::VectorXd::Constant(model.nv, 0.1);
    a = Eigen::VectorXd::Zero(model.nv);
  }

  void run(benchmark::State & state)
  {
    const Eigen::Ref<const Eigen::VectorXd> rq(q);
    const Eigen::Ref<const Eigen::VectorXd> rv(v);
    const Eigen::Ref<const Eigen::VectorXd> ra(a);
    for (auto _ : state)
    {
      pinocchio::rnea(model, *data, rq, rv, ra);
      pinocchio::crba(model, *data, rq, pinocchio::Convention::WORLD);
      benchmark::ClobberMemory();
    }
    state.counters["speeds"] = model.nv;
  }

  pinocchio::Model model;
  std::unique_ptr<pinocchio::Data> data;
  Eigen::VectorXd q;
  Eigen::VectorXd v;
  Eigen::VectorXd a;
};

}  // namespace
}  // namespace constrained_dynamics::bench

int main(int argc, char ** argv)
{
  using namespace constrained_dynamics::bench;
  benchmark::Initialize(&argc, argv);
  Cycle arm("panda_cutter", "blade");
  Cycle humanoid("talos_balance", "");
  // As the peer: trunk and posture share a level.
  const std::vector<std::string> weighted{
    "servo.posture.priority=1", "servo.trunk.weight=1", "servo.posture.weight=0.1"};
  Cycle two_levels("talos_balance", "", weighted);
  std::vector<std::string> tight = weighted;
  tight.emplace_back("servo_law.limits.effort=40");
  Cycle limited("talos_balance", "", tight);
  Terms arm_terms(
    "panda_description/urdf/panda.urdf", false, {"panda_finger_joint1", "panda_finger_joint2"});
  Terms humanoid_terms(kHumanoid, true, {});
  const auto add = [](const char * name, auto & what)
  {
    benchmark::RegisterBenchmark(name, [&what](benchmark::State & state) { what.run(state); })
      ->Unit(benchmark::kMicrosecond);
  };
  add("panda/servo_cycle", arm);
  add("panda/rnea_and_crba", arm_terms);
  add("talos/servo_cycle", humanoid);
  add("talos/two_levels", two_levels);
  add("talos/limited", limited);
  add("talos/rnea_and_crba", humanoid_terms);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
