// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What the formats allow in the elements that are read: MJCF as in MuJoCo from 2.2 on, SDF 1.4 to
// 1.12.

#include "model/xml_vocabulary.hpp"

namespace constrained_dynamics
{

const Vocabulary & mjcf_vocabulary()
{
  static const std::string turn = " quat axisangle xyaxes zaxis euler ";
  static const std::string in_body =
    " > body frame inertial joint freejoint geom site camera light plugin composite flexcomp "
    "replicate attach include";
  static const std::string body =
    " name childclass pos" + turn + "mocap gravcomp sleep simple user";
  static const std::string joint =
    " type group pos axis springdamper limited actuatorfrclimited solreflimit solimplimit "
    "solreffriction solimpfriction stiffness range actuatorfrcrange actuatorgravcomp margin ref "
    "springref armature damping frictionloss user";
  static const std::string geom =
    " type contype conaffinity condim group priority size material friction mass density "
    "shellinertia solmix solref solimp margin gap surfacevel adhesion fromto pos" +
    turn + "hfield mesh fitscale rgba fluidshape fluidcoef user";
  static const std::string site = " type group pos" + turn + "material size fromto rgba user";
  static const std::string equality = " name class active solref solimp";
  static const std::string tendon =
    " name class group limited actuatorfrclimited range actuatorfrcrange solreflimit solimplimit "
    "solreffriction solimpfriction frictionloss springlength width material margin stiffness "
    "damping armature rgba user";
  static const Vocabulary known = make_vocabulary(
    {"mujoco: model > compiler option size statistic visual default extension asset custom "
     "worldbody deformable contact tendon equality actuator sensor keyframe include",
     "compiler: autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate "
     "angle fitaabb eulerseq meshdir texturedir assetdir discardvisual convexhull usethread "
     "fusestatic exactmeshinertia inertiafromgeom inertiagrouprange saveinertial alignfree "
     "conflict "
     "> lengthrange",
     "option: timestep apirate impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance "
     "mpr_tolerance sleep_tolerance gravity wind magnetic density viscosity o_margin o_solref "
     "o_solimp o_friction integrator collision cone jacobian solver iterations ls_iterations "
     "noslip_iterations ccd_iterations mpr_iterations sdf_iterations sdf_initpoints "
     "actuatorgroupdisable > flag",
     "flag: constraint equality frictionloss limit contact passive spring damper gravity clampctrl "
     "warmstart filterparent actuation refsafe sensor midphase eulerdamp autoreset nativeccd "
     "island multiccd override energy fwdinv invdiscrete sensornoise sleep diagexact ipc",
     "default: class > default joint geom site equality mesh material camera light pair tendon "
     "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion "
     "dcmotor",
     "default/joint:" + joint,
     "default/geom:" + geom,
     "default/site:" + site,
     "default/equality: active solref solimp",
     "default/tendon:" + tendon,
     "worldbody:" + body + in_body,
     "body:" + body + in_body,
     "frame: name childclass pos" + turn + in_body,
     "inertial: pos mass diaginertia fullinertia" + turn,
     "joint: name class" + joint,
     "freejoint: name group align",
     "geom: name class" + geom,
     "site: name class" + site,
     "tendon: > fixed spatial",
     "fixed:" + tendon + " > joint",
     "fixed/joint: joint coef",
     "equality: > connect weld joint tendon flex flexvert flexstrain distance",
     "connect:" + equality + " body1 body2 anchor site1 site2",
     "weld:" + equality + " body1 body2 relpose anchor site1 site2 torquescale",
     "equality/joint:" + equality + " joint1 joint2 polycoef",
     "equality/tendon:" + equality + " tendon1 tendon2 polycoef"});
  return known;
}

const Vocabulary & sdf_vocabulary()
{
  static const std::string axis =
    ": > xyz initial_position use_parent_model_frame dynamics limit mimic";
  static const std::string include =
    ": merge > uri name namespace pose static placement_frame plugin model_state";
  static const Vocabulary known = make_vocabulary(
    {"sdf: version > world model actor light include",
     "world: name > audio wind include gravity magnetic_field atmosphere gui physics scene light "
     "frame model actor plugin road spherical_coordinates state population joint",
     "world/include" + include,
     "model: name canonical_link placement_frame namespace > static self_collide "
     "allow_auto_disable enable_wind include model frame pose link joint plugin gripper "
     "model_state",
     "model/include" + include, "pose: relative_to rotation_format degrees frame",
     "frame: name attached_to > pose",
     "link: name > gravity enable_wind self_collide kinematic must_be_base_link velocity_decay "
     "frame pose inertial collision visual sensor projector audio_sink audio_source battery light "
     "particle_emitter plugin",
     "inertial: auto > mass density auto_inertia_params pose frame inertia fluid_added_mass",
     "inertia: > ixx ixy ixz iyy iyz izz",
     "joint: name type > parent child pose frame gearbox_ratio gearbox_reference_body thread_pitch "
     "screw_thread_pitch axis axis2 physics sensor plugin",
     "axis" + axis, "axis2" + axis, "xyz: expressed_in",
     "dynamics: > damping friction spring_reference spring_stiffness",
     "limit: > lower upper effort velocity stiffness dissipation",
     "mimic: joint axis > multiplier offset reference"});
  return known;
}

}  // namespace constrained_dynamics
