// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/centre_of_mass.hpp"
#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/contact_tangents.hpp"
#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/constraints/energy.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_constraint.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/constraints/joint_slip.hpp"
#include "constrained_dynamics/constraints/knife_edge.hpp"
#include "constrained_dynamics/constraints/point_on_line.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/polynomial_coupling.hpp"
#include "constrained_dynamics/constraints/prescribed_motion.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"

namespace constrained_dynamics
{

/// A new type of constraint is one line in this list.
const std::vector<ConstraintDescription> & constraint_descriptions()
{
  static const std::vector<ConstraintDescription> all = {
    FrameCoincidence::description(),
    JointConstraint::description(JointType::kHinge),
    JointConstraint::description(JointType::kPrismatic),
    JointConstraint::description(JointType::kCylindrical),
    JointConstraint::description(JointType::kPlanar),
    JointConstraint::description(JointType::kScrew),
    UniversalJoint::description(),
    PointOnPlane::description(),
    PointOnLine::description(),
    Distance::description(),
    JointCoupling::description(),
    PolynomialCoupling::description(),
    JointPosition::description(),
    CentreOfMass::description(),
    Energy::description(EnergyKind::kTotal),
    Energy::description(EnergyKind::kKinetic),
    describe_prescribed_motion(),
    KnifeEdge::description(),
    Rolling::description(),
    ContactTangents::description(),
    JointSlip::description(),
    FormulaConstraint::description(),
  };
  return all;
}

}  // namespace constrained_dynamics
