// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Random starts of falling, standing and stacked bodies: every run reaches its end or reports why
// not, none takes much longer than the others, nothing penetrates the ground, and no event adds
// energy.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

/// Numbers of one random start.
class Draws
{
public:
  explicit Draws(unsigned seed) : random_(seed) {}
  double between(double low, double high)
  {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  /// x, y, z, w; any turn, or one of at most an angle.
  Eigen::Vector4d turn(double largest = -1.0)
  {
    std::normal_distribution<double> normal;
    if (largest < 0.0)
    {
      return Eigen::Vector4d(normal(random_), normal(random_), normal(random_), normal(random_))
        .normalized();
    }
    const Eigen::Vector3d axis(normal(random_), normal(random_), normal(random_));
    const double angle = between(0.0, largest);
    Eigen::Vector4d q;
    q << std::sin(0.5 * angle) * axis.normalized(), std::cos(0.5 * angle);
    return q;
  }

private:
  std::mt19937_64 random_;
};

std::string list(const Eigen::VectorXd & values)
{
  std::ostringstream out;
  out.precision(17);
  out << '[';
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    out << (i > 0 ? ", " : "") << values(i);
  }
  out << ']';
  return out.str();
}

/// A box with all its corners above the ground.
std::string box(Draws & draw)
{
  const double mass = draw.between(0.5, 2.0);
  const Eigen::Vector3d half(
    draw.between(0.1, 0.5), draw.between(0.1, 0.5), draw.between(0.05, 0.3));
  const Eigen::Vector3d square = half.cwiseProduct(half);
  const Eigen::Vector3d inertia =
    mass / 3.0 *
    Eigen::Vector3d(square(1) + square(2), square(0) + square(2), square(0) + square(1));
  const Eigen::Vector4d turn = draw.turn();
  Eigen::VectorXd place(7);
  place << 0.0, 0.0, draw.between(0.8, 1.2), turn;
  Eigen::VectorXd speeds(6);
  for (Eigen::Index i = 0; i < 6; ++i)
  {
    speeds(i) = draw.between(-1.0, 1.0) * (i < 3 ? 2.0 : 3.0);
  }
  const double friction = draw.between(0.1, 1.0);
  const double restitution = std::max(0.0, draw.between(-0.6, 0.6));
  std::ostringstream out;
  out.precision(17);
  out << "system:\n  bodies: [{name: box, mass: " << mass << ", inertia: " << list(inertia)
      << "}]\n  frames:\n"
      << "    - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: \"c${i}${j}${k}\", parent: "
      << "box, pose: {xyz: [\"(2*${i} - 1)*" << half(0) << "\", \"(2*${j} - 1)*" << half(1)
      << "\", \"(2*${k} - 1)*" << half(2) << "\"]}}\n"
      << "constraints:\n"
      << "  - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: \"f${i}${j}${k}\", type: "
      << "contact, frame_a: \"c${i}${j}${k}\", restitution: " << restitution
      << ", friction: " << friction << "}\n"
      << "initial: {q: {box: " << list(place) << "}, u: {box: " << list(speeds) << "}}\n"
      << "run: {until: 3, step: 0.001}\n";
  return out.str();
}

struct Quadruped
{
  std::string urdf;
  std::vector<std::string> legs;      // hind legs are the last two
  std::vector<std::string> joints;    // of a leg
  std::string foot;                   // its frame
  std::vector<double> front_posture;  // of the joints
  std::vector<double> hind_posture;
  double height;
  double stiffness;
  double damping;
};

/// Dropped with a tilt, its joints held by springs and dampers.
std::string quadruped(const Quadruped & robot, Draws & draw)
{
  const Eigen::Vector4d turn = draw.turn(0.3);
  Eigen::VectorXd place(7);
  place << 0.0, 0.0, robot.height + draw.between(0.02, 0.1), turn;
  Eigen::VectorXd speeds(6);
  for (Eigen::Index i = 0; i < 6; ++i)
  {
    speeds(i) = draw.between(-0.5, 0.5);
  }
  std::ostringstream out;
  out.precision(17);
  out << "system: {urdf: \"" << robot.urdf << "\", base: floating}\nconstraints:\n";
  for (const std::string & leg : robot.legs)
  {
    out << "  - {name: " << leg << ", type: contact, frame_a: " << leg << robot.foot
        << ", friction: 0.7}\n";
  }
  out << "inputs:\n";
  std::ostringstream start;
  start.precision(17);
  for (std::size_t i = 0; i < robot.legs.size(); ++i)
  {
    const std::vector<double> & posture = i < 2 ? robot.front_posture : robot.hind_posture;
    for (std::size_t k = 0; k < robot.joints.size(); ++k)
    {
      const std::string joint = robot.legs[i] + robot.joints[k];
      out << "  " << joint << ": " << robot.stiffness << "*(" << posture[k] << " - " << joint
          << ") - " << robot.damping << "*d" << joint << "\n";
      start << ", " << joint << ": " << posture[k] + draw.between(-0.4, 0.4);
    }
  }
  out << "initial: {q: {base: " << list(place) << start.str() << "}, u: {base: " << list(speeds)
      << "}}\nrun: {until: 3, step: 0.001}\n";
  return out.str();
}

std::string solo12(Draws & draw)
{
  static const Quadruped robot = {
    "example-robot-data:solo_description/robots/solo12.urdf",
    {"FL_", "FR_", "HL_", "HR_"},
    {"HAA", "HFE", "KFE"},
    "FOOT",
    {0.0, 0.8, -1.6},
    {0.0, -0.8, 1.6},
    0.33,
    8.0,
    0.25};
  return quadruped(robot, draw);
}

std::string go2(Draws & draw)
{
  static const Quadruped robot = {
    "example-robot-data:go2_description/urdf/go2.urdf",
    {"FL_", "FR_", "RL_", "RR_"},
    {"hip_joint", "thigh_joint", "calf_joint"},
    "foot",
    {0.0, 0.8, -1.6},
    {0.0, 0.8, -1.6},
    0.36,
    80.0,
    3.0};
  return quadruped(robot, draw);
}

/// Boxes above each other, the lower corners of each on the upper face of the one below.
template <int kBoxes>
std::string stack(Draws & draw)
{
  std::ostringstream out;
  out.precision(17);
  std::ostringstream constraints;
  std::ostringstream places;
  std::ostringstream speeds;
  constraints.precision(17);
  out << "system:\n  bodies:\n";
  double height = 0.0;
  std::ostringstream frames;
  for (int i = 0; i < kBoxes; ++i)
  {
    const std::string name = "b" + std::to_string(i);
    out << "    - {name: " << name << ", mass: 1, inertia: [0.0109, 0.0167, 0.0209]}\n";
    frames << "    - {name: top" << i << ", parent: " << name << ", pose: {xyz: [0, 0, 0.1]}}\n"
           << "    - {repeat: {i: [0, 1], j: [0, 1]}, name: \"" << name
           << "c${i}${j}\", parent: " << name
           << ", pose: {xyz: [\"(2*${i} - 1)*0.2\", \"(2*${j} - 1)*0.15\", -0.1]}}\n";
    constraints << "  - {repeat: {i: [0, 1], j: [0, 1]}, name: \"" << name
                << "f${i}${j}\", type: contact, frame_a: \"" << name << "c${i}${j}\""
                << (i > 0 ? ", frame_b: top" + std::to_string(i - 1) : "")
                << ", friction: " << draw.between(0.2, 0.9) << "}\n";
    height += 0.115 + draw.between(0.0, 0.005);
    Eigen::VectorXd place(7);
    place << draw.between(-0.02, 0.02), draw.between(-0.02, 0.02), height, draw.turn(0.05);
    height += 0.1;
    Eigen::VectorXd speed(6);
    for (Eigen::Index k = 0; k < 6; ++k)
    {
      speed(k) = draw.between(-0.2, 0.2);
    }
    places << (i > 0 ? ", " : "") << name << ": " << list(place);
    speeds << (i > 0 ? ", " : "") << name << ": " << list(speed);
  }
  out << "  frames:\n"
      << frames.str() << "constraints:\n"
      << constraints.str() << "initial: {q: {" << places.str() << "}, u: {" << speeds.str()
      << "}}\nrun: {until: 1, step: 0.001}\n";
  return out.str();
}

struct Kind
{
  const char * name;
  std::string (*text)(Draws &);
  int few;   // in make test
  int many;  // in make campaign
  bool needs_robots;
};

class RandomStarts : public testing::TestWithParam<std::pair<Kind, const char *>>
{
};

TEST_P(RandomStarts, when_run_expect_an_end_within_measure_and_no_energy_from_events)
{
  const auto & [kind, integrator] = GetParam();
  if (kind.needs_robots && std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const bool is_slow = std::string(kind.name) == "stack" && std::string(integrator) == "dopri5";
  if (is_slow && !is_campaign())
  {
    GTEST_SKIP() << "skipped: five boxes with located events take 20 s a start; see make campaign";
  }
  const int count = is_campaign() ? kind.many : kind.few;
  const unsigned first = 1000;
  std::vector<long> evaluations;
  std::map<std::string, int> reasons;
  int completed = 0;
  double depth = 0.0;
  double gain = 0.0;
  double imbalance = 0.0;
  for (int k = 0; k < count; ++k)
  {
    const unsigned seed = first + static_cast<unsigned>(k);
    Draws draw(seed);
    const std::string text = kind.text(draw);
    const Scenario scenario =
      Scenario::from_text(text, {std::string("run.integrator=") + integrator});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    double energy = 0.0;
    const double until = scenario.run().until;
    const RunResult result = simulation->run(
      until, 0.01,
      [&](const Simulation & now)
      {
        energy = std::max(energy, now.kinetic_energy());
        for (const Contact & contact : scenario.contacts()->contacts())
        {
          const int row = scenario.dynamics()->constraints().row_offset(contact.constraint);
          depth = std::max(depth, contact.side * now.workspace().rows().position(row));
        }
        return true;
      });
    for (const ContactEvent & event : simulation->events())
    {
      const double given = event.energy_change / energy;
      gain = std::max(gain, given);
      EXPECT_LE(given, 1e-9) << kind.name << ", seed " << seed << ", " << to_string(event.kind)
                             << " at " << event.time << " s";
    }
    evaluations.push_back(result.evaluations);
    imbalance = std::max(imbalance, result.energy.relative_error());
    completed += result.completed ? 1 : 0;
    if (!result.completed)
    {
      ++reasons[to_string(result.status)];
      std::printf(
        "%s, %s, seed %u: %s at %.6f s\n", kind.name, integrator, seed, to_string(result.status),
        result.time);
    }
  }
  std::vector<long> sorted = evaluations;
  std::sort(sorted.begin(), sorted.end());
  const long median = sorted[sorted.size() / 2];
  std::printf(
    "%s, %s: seeds %u to %u, %d of %d complete; evaluations: median %ld, most %ld (%.1f times); "
    "depth %.1e m; largest gain of an event %.1e, imbalance of energy %.1e\n",
    kind.name, integrator, first, first + static_cast<unsigned>(count) - 1, completed, count,
    median, sorted.back(), static_cast<double>(sorted.back()) / static_cast<double>(median), depth,
    gain, imbalance);
  for (std::size_t k = 0; k < evaluations.size(); ++k)
  {
    EXPECT_LE(evaluations[k], 20 * median) << kind.name << ", seed " << first + k;
  }
  EXPECT_LE(depth, 1e-8);
  if (std::string(integrator) == "dopri5")
  {
    // Nothing stops or starts without an impulse that is booked.
    EXPECT_LE(imbalance, 1e-6);
  }
  // What does not come to its end is Painlevé's.
  EXPECT_EQ(completed + reasons[to_string(Status::kNoUniqueSolution)], count);
  EXPECT_LE(count - completed, count / 20);
}

constexpr Kind kBox = {"box", box, 20, 500, false};
constexpr Kind kSolo12 = {"solo12", solo12, 4, 100, true};
constexpr Kind kGo2 = {"go2", go2, 4, 100, true};
constexpr Kind kTwoBoxes = {"two_boxes", stack<2>, 4, 100, false};
constexpr Kind kThreeBoxes = {"three_boxes", stack<3>, 2, 30, false};
constexpr Kind kStack = {"stack", stack<5>, 1, 100, false};

INSTANTIATE_TEST_SUITE_P(
  All, RandomStarts,
  testing::Values(
    std::make_pair(kBox, "rk4"), std::make_pair(kBox, "dopri5"), std::make_pair(kSolo12, "rk4"),
    std::make_pair(kSolo12, "dopri5"), std::make_pair(kGo2, "rk4"), std::make_pair(kGo2, "dopri5"),
    std::make_pair(kTwoBoxes, "rk4"), std::make_pair(kTwoBoxes, "dopri5"),
    std::make_pair(kThreeBoxes, "rk4"), std::make_pair(kThreeBoxes, "dopri5"),
    std::make_pair(kStack, "rk4"), std::make_pair(kStack, "dopri5")),
  [](const auto & of) { return std::string(of.param.first.name) + "_" + of.param.second; });

}  // namespace
}  // namespace constrained_dynamics::test
