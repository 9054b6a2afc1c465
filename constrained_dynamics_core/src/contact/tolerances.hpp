// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

/// @file
/// Every tolerance of contacts, impacts and the search for events, with its unit and its reason.
/// "Relative" means: a fraction of the terms that the compared number is made of.

namespace constrained_dynamics::tolerance
{

// ---- gaps, speeds and times of contacts

/// [m, rad] Contacts this close take part when another one strikes: projections leave gaps of 1e-10
/// to 1e-12, and bounces of 1e-9 cannot be distinguished from rest.
constexpr double kTouch = 1e-9;
/// [m, rad] Part of kTouch that a compliant contact must be outside to count as having left.
constexpr double kLeave = 0.5 * kTouch;
/// [m, rad] An open gap up to this may be round-off of 0: the contact touches.
constexpr double kGapRounding = 1e-12;
/// [m/s, rad/s] A contact slower than this after an impact stays closed: impact equations leave
/// speeds of round-off.
constexpr double kRest = 1e-10;
/// [s] Decisions and impacts closer together than this belong to one instant: events are located
/// to 1e-12 relative to the time.
constexpr double kInstant = 1e-10;
/// [s] First distance at which the motion ahead is inspected if modes are decided again at one
/// instant: above kInstant, so that forces that pass through zero have grown out of round-off.
constexpr double kFirstLook = 1e-9;
/// [s] Farthest such distance: the motion is linear over it to 1e-8.
constexpr double kFarthestLook = 1e-4;
/// [1] Growth of that distance from one decision of an instant to the next.
constexpr double kLookGrowth = 4.0;
/// [1] Bounces that last no longer than this many fixed steps are not resolved by them.
constexpr double kUnresolvedSteps = 4.0;

// ---- friction

/// [1] Multiple of the creep speed beyond which a slip counts as moving, so that its end can be
/// detected.
constexpr double kUnderWay = 2.0;
/// [1] Multiple of the creep speed below which a planar slip that stops has ended; a faster one has
/// merely turned by more than a right angle within a step.
constexpr double kEndOfSlip = 1e3;
/// [1] Multiple of the absolute tolerance of an adaptive integrator below which the direction of a
/// slip is determined by errors.
constexpr double kErrorsOfSlip = 10.0;
/// [1] Cosine between a slip that begins and the acceleration of its point: closer is aligned.
constexpr double kAligned = 0.999;
/// [1] Fraction of its bound at which friction of a cone problem slides; above the residual of the
/// solution, kSolved.
constexpr double kAtBound = 1e-9;
/// [1] Determinant of 1 − D (1 without friction) below which the motion of sliding contacts is not
/// unique (Painlevé): round-off of a few unknowns.
constexpr double kUnique = 1e-12;
/// [1] Pivot relative to the largest element below which a matrix of a few unknowns is singular.
constexpr double kPivot = 1e-13;

// ---- forces

/// [1] Forces below this fraction of the largest multiplier are round-off.
constexpr double kForceRounding = 1e-11;
/// [1] The same relative to the applied forces, where no contact presses.
constexpr double kAppliedRounding = 1e-14;
/// [1] Redundancy of a row (see Solution) above which other rows share its load.
constexpr double kRedundant = 1e-6;

// ---- cone problems (ConeProblem)

/// [1] Residual relative to the largest force at which Newton's method has found a solution …
constexpr double kCone = 1e-12;
/// [1] … and up to which the status is ok: the accuracy that is promised.
constexpr double kSolved = 1e-10;
/// [1] Squared: part of a row that is independent of the rows before it, relative to the row.
constexpr double kDependent = 1e-18;
/// [1] Squared: part of a row that is round-off, relative to the size that the row could have
/// (1e3 ε, as in the rank decision).
constexpr double kRoundingOfRow = 5e-26;
/// [1] A row whose part independent of the active ones is smaller than this depends on them: the
/// square root of round-off with a margin of 10.
constexpr double kDependentAngle = 1e-7;
/// [1] A row that depends on others with a coefficient below this takes no load from them.
constexpr double kCoefficient = 1e-9;
/// [1] Violations below this are round-off.
constexpr double kConeRounding = 1e-13;
/// [1] Residual of a dependent row above which it contradicts the others.
constexpr double kContradiction = 1e-12;
/// [1] Motion of a row without force, relative to ConeProblem::size, below which it rests.
constexpr double kConeRest = 1e-10;
/// [1] The same of rows that forces hold; above the residual of the solution, kSolved.
constexpr double kHeld = 1e-9;
/// [1] Change of a sweep relative to the largest force at which sweeps have settled.
constexpr double kSweep = 1e-14;
/// [N] Forces beyond this mean that sweeps diverge.
constexpr double kLargestForce = 1e100;
/// [1] Determinant of two tangential rows relative to its diagonal below which they are parallel.
constexpr double kParallel = 1e-12;
/// [1] Regularisation of Newton's matrix: below it Cholesky's factors are round-off.
constexpr double kLeastShift = 1e-14;
/// [1] Residual of Newton relative to the largest force that is round-off.
constexpr double kResidualRounding = 1e-15;
/// [1] Part of the predicted decrease that a step of Newton must achieve (Armijo).
constexpr double kDecrease = 1e-4;
/// [1] First and last added fraction of the diagonal on the path to a solution: contacts hardly
/// act on each other at the first; Newton converges from the last.
constexpr double kFirstShift = 30.0;
constexpr double kLastShift = 1e-5;

/// [1] Pivot of W relative to its diagonal below which rows are not solved by W: the residual would
/// be above kSolved.
constexpr double kHoldingPivot = 1e-10;

// ---- percussions (Percussion)

/// [m, rad] Depth of a contact that pushes, above which its drift is corrected.
constexpr double kDrift = 1e-8;
/// [1] Relative shift of the diagonal of W of drifted rows, so that redundant ones share.
constexpr double kSharedCorrection = 1e-8;

// ---- impacts (ImpactSolver)

/// [1] Relative; speeds, impulses and energies below this are round-off of an impact.
constexpr double kImpactRounding = 1e-12;
/// [1] Relative; an approach below this is round-off of 0, it would make redundant rows contradict.
constexpr double kApproachRounding = 1e-14;
/// [1] Relative; slips and motions of rows below this vanish after an impact.
constexpr double kImpactRest = 1e-10;
/// [1] Relative; largest |∂φ/∂t| of a row that counts as independent of time.
constexpr double kScleronomic = 1e-10;
/// [1] Sweeps find friction at its bound to this fraction; exact equations decide afterwards.
constexpr double kImpactBound = 1e-8;
/// [1] Relative; largest residual of a contact that pushes.
constexpr double kUnmetTarget = 1e-11;
/// [1] Change of a direction of sliding at which all directions have settled.
constexpr double kDirection = 1e-12;
/// [1] Relative; a velocity row that misses its linear equation by more is nonlinear in u.
constexpr double kNonlinear = 1e-9;
/// [1] A factor of restitution closer to 1 than this does not lower the energy; it is halved.
constexpr double kSameFactor = 1e-9;
/// [1] Margin of that factor, so that round-off does not raise the energy.
constexpr double kFactorMargin = 1e-13;
/// [in units of q] Step of differences of order 4: truncation h⁴ and round-off ε/h are both far
/// below 1e-9 of the derivative.
constexpr double kPositionDifference = 5e-4;

// ---- events in time (simulation/)

/// [1] Relative to the time (at least 1 s); events and changes this close happen together.
constexpr double kSameTime = 1e-12;
/// [1] Relative to the time (at least 1 s); less is no progress between two events.
constexpr double kNoProgress = 1e-13;
/// [1] Relative to the time (at least 1 s); an adaptive step below it is a few round-offs.
constexpr double kSmallestStep = 1e-14;
/// [1] Relative to a fixed step; ends of modes closer than this are one event.
constexpr double kSameEnd = 1e-10;
/// [1] Relative to the step or the output interval; times this close are the same.
constexpr double kGrid = 1e-9;
/// [1] Part of a run that kManyEvents and kManySteps must take, or the latter kLeastStep of the
/// initial step each; otherwise the run would hardly ever end.
constexpr double kLeastPart = 1e-4;
constexpr double kLeastStep = 1e-3;
/// [1] Step of differences for the Jacobian of stiff steps: round-off of 1e-16 and curvature are
/// both 1e-8 of a derivative.
constexpr double kStateDifference = 1e-8;
/// [rad] Turn of a direction of sliding; the motion is linear in it but for its square.
constexpr double kTurn = 1e-6;

}  // namespace constrained_dynamics::tolerance

/// Bounds of all iterations of contacts, impacts and the search for events.
namespace constrained_dynamics::bound
{

/// Impacts of one contact at one instant after which it has no more restitution.
constexpr int kChatterImpacts = 8;
/// Splits of redundant loads that are tried until slip begins along its direction.
constexpr int kSplits = 30;

/// Sweeps of a cone problem, and the number after which Newton's method is tried first.
constexpr int kSweeps = 2000;
constexpr int kSweepsToNewton = 100;
/// Projected steps on the rim of a disc of friction in one sweep.
constexpr int kRimSteps = 8;
constexpr int kNewtonSteps = 40;
constexpr int kNewtonHalvings = 12;

/// Scalings of restitution until the energy of an impact does not increase.
constexpr int kEnergyIterations = 12;
/// The last of these have no restitution.
constexpr int kLastWithoutRestitution = 4;
/// Halvings of the interval in which the factor of restitution of a percussion is searched.
constexpr int kPercussionScalings = 8;
/// Corrections of the modes of an impact, and those where the impulses are a solution already.
constexpr int kModeCorrections = 24;
constexpr int kModeTrials = 3;
constexpr int kDirectionIterations = 60;
/// Steps along the path of an impact with rows nonlinear in u, and corrections at its end.
constexpr int kPathSteps = 32;
constexpr int kPathCorrections = 4;

/// Ends of modes that are located in one fixed step; more are decided together at its end.
constexpr int kEndsOfStep = 8;
/// Trial steps to the first end of a mode in a fixed step.
constexpr int kEndTrials = 60;
/// Samples of the event functions in an adaptive step.
constexpr int kEventSamples = 4;
/// Iterations of root finding, and bisections where only a sign is known.
constexpr int kRootIterations = 100;
constexpr int kHalvings = 40;
/// [bits] Accuracy of a root, of 53.
constexpr int kRootBits = 50;
/// Events without time passing, beyond which nothing will change any more.
constexpr int kEventsAtOnce = 200;
/// Events, and adaptive steps of any end, after which progress is checked.
constexpr int kManyEvents = 100000;
constexpr int kManySteps = 50000;
/// Trials of a stiff step.
constexpr int kStiffTrials = 100;

}  // namespace constrained_dynamics::bound
