# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The node scenario_host: any scenario file in real time, without rclcpp.

    scenario_host --ros-args -p scenario:=four_bar -p real_time_factor:=0.5

Topics, services, types, QoS and parameters are those of the C++ node scenario_player (doc/ros.md).
Everything happens in one thread; requests are handled between two cycles.
"""

import math
import signal
import sys
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

import constrained_dynamics as cd
from constrained_dynamics_msgs.msg import ConstraintEvent, ConstraintForces
from constrained_dynamics_msgs.srv import ApplyImpulse, SetConstraintActive, StepSimulation

from . import messages
from .markers import STYLE_NAMES, Markers, make_style, style_default

# Most simulated time per cycle, in periods. A slow machine drops the rest, so that it still answers
# requests.
MOST_PERIODS = 5.0
DIAGNOSTICS_PERIOD = 1.0  # [s]


class ScenarioHost(Node):
    """Runs a scenario and publishes it."""

    def __init__(self, **arguments):
        super().__init__("scenario_host", **arguments)
        self._declare()
        self._hosted = cd.HostedScenario(
            find_scenario(self._value("scenario")), self._value("set"), self._value("until")
        )
        for warning in self._hosted.scenario.warnings:
            self.get_logger().warning(warning)
        self._sequence = 0
        self._paused = self._value("paused")
        self._loop = self._value("loop")
        self._factor = self._value("real_time_factor")
        self._period = 1.0 / self._value("rate")
        self._has_clock = self._value("publish_clock") or self._value("use_sim_time")
        self._last_cycle = time.monotonic()
        self._lost_events = 0
        self._make_messages()
        self._make_publishers()
        self._make_services()
        self._cycle_timer = self.create_timer(self._period, self._cycle)
        self._start_diagnostics()
        self.add_on_set_parameters_callback(self._change_parameters)
        self._publish()

    # ---- parameters --------------------------------------------------------------------------------

    def _declare(self):
        fixed = {
            "scenario": ("", "scenario file: path, package://…, or the name of an example"),
            "set": ([""], 'changes of the scenario, "path=value" each, as after cdyn --set'),
            "rate": (100.0, "messages per second"),
            "until": (0.0, "end of the simulation [s]; 0: that of the scenario, .inf: none"),
            "loop": (False, "start anew at the end; else the last state stays"),
            "paused": (False, "start paused"),
            "world_frame": ("world", "name of the world in messages"),
            "publish_clock": (
                False,
                "publish /clock, and stamp with the time of the simulation; use_sim_time does the same",
            ),
            "publish_tf": (True, "publish the poses of all links on /tf"),
            "markers.rate": (30.0, "marker messages a second; 0: none"),
            "markers.lifetime": (1.0, "[s] after which what is not renewed vanishes; 0: never"),
        }
        for name, (default, text) in fixed.items():
            self.declare_parameter(name, default, ParameterDescriptor(description=text, read_only=True))
        for name in STYLE_NAMES:
            self.declare_parameter(
                "markers." + name,
                style_default(name),
                ParameterDescriptor(description="appearance of forces: see ForceStyle", read_only=True),
            )
        self.declare_parameter(
            "real_time_factor",
            1.0,
            ParameterDescriptor(description="simulated seconds per second; may change at any time"),
        )
        self._check_number("rate", 0.0, 10e3)
        self._check_number("markers.rate", -1e-300, 10e3)
        if not self._value("until") >= 0.0:
            raise ValueError(f"until: {self._value('until')}; allowed: 0 or more, .inf")
        if not self._value("world_frame"):
            raise ValueError("world_frame: ''; allowed: the name of a frame")
        if problem := factor_problem(self._value("real_time_factor")):
            raise ValueError(problem)

    def _value(self, name):
        value = self.get_parameter(name).value
        return [text for text in value if text] if name == "set" else value

    def _check_number(self, name, above, most):
        value = self._value(name)
        if not above < value <= most:
            raise ValueError(f"{name}: {value}; allowed: above {max(above, 0.0):g} to {most:g}")

    def _change_parameters(self, parameters):
        for parameter in parameters:
            if parameter.name == "real_time_factor":
                problem = (
                    factor_problem(parameter.value)
                    if parameter.type_ == Parameter.Type.DOUBLE
                    else "real_time_factor must be a floating-point number"
                )
                if problem:
                    return SetParametersResult(successful=False, reason=problem)
        for parameter in parameters:
            if parameter.name == "real_time_factor":
                self._factor = parameter.value
        return SetParametersResult(successful=True)

    # ---- topics and services -----------------------------------------------------------------------

    def _make_messages(self):
        hosted, frame = self._hosted, self._value("world_frame")
        self._frame = frame
        self._forces = messages.ForceMessage(hosted, frame)
        self._joints = messages.JointMessages(hosted)
        self._transforms = messages.TransformMessage(hosted, frame)
        style = make_style({name: self._value("markers." + name) for name in STYLE_NAMES})
        self._markers = Markers(hosted.dynamics, style, frame, self._value("markers.lifetime"))

    def _make_publishers(self):
        stream = QoSProfile(depth=10)  # reliable, as all of them
        self._force_publisher = self.create_publisher(ConstraintForces, "~/constraint_forces", stream)
        self._torque_publisher = self.create_publisher(JointState, "~/torques", stream)
        self._joint_publisher = self.create_publisher(JointState, "joint_states", stream)
        self._event_publisher = self.create_publisher(ConstraintEvent, "~/events", QoSProfile(depth=1000))
        self._diagnostic_publisher = self.create_publisher(DiagnosticArray, "/diagnostics", stream)
        self._tf_publisher = self._clock_publisher = self._marker_publisher = None
        if self._value("publish_tf") and self._transforms.links:
            self._tf_publisher = self.create_publisher(TFMessage, "/tf", QoSProfile(depth=100))
        if self._has_clock:
            self._clock_publisher = self.create_publisher(Clock, "/clock", stream)
        if self._value("markers.rate") > 0.0:
            self._marker_publisher = self.create_publisher(MarkerArray, "~/markers", stream)
        self._marker_cycles = max(1, round(self._value("rate") / (self._value("markers.rate") or 1.0)))

    def _make_services(self):
        def serve(kind, name, answer):
            self.create_service(kind, name, answer)

        serve(SetBool, "~/pause", self._pause)
        serve(StepSimulation, "~/step", self._step)
        serve(Trigger, "~/reset", self._reset)
        serve(SetConstraintActive, "~/set_constraint_active", self._set_constraint_active)
        serve(ApplyImpulse, "~/push", self._push)

    # ---- cycle -------------------------------------------------------------------------------------

    def _cycle(self):
        now = time.monotonic()
        elapsed, self._last_cycle = now - self._last_cycle, now
        if not self._paused:
            self._advance(self._factor * min(elapsed, MOST_PERIODS * self._period))
        self._busy += time.monotonic() - now
        self._publish()

    def _advance(self, duration):
        hosted = self._hosted
        if hosted.failure is None and hosted.has_ended and self._loop:
            self._publish_events()
            hosted.reset()
            return
        failed_before = hosted.failure
        before = hosted.time
        hosted.advance(duration)
        self._simulated += hosted.time - before
        if hosted.failure is not None and failed_before is None:
            status = cd.status_name(hosted.failure)
            self.get_logger().error(
                f"the simulation ended at {hosted.time:.6g} s with status '{status}'; ~/reset starts it anew"
            )

    def _stamp(self, simulated=None):
        """Stamp of the current or of a simulated time; wall clock unless this node is the clock."""
        if self._has_clock:
            return messages.to_time(self._hosted.time if simulated is None else simulated)
        now = self.get_clock().now().nanoseconds * 1e-9
        return messages.to_time(now if simulated is None else now - (self._hosted.time - simulated))

    def _publish(self):
        hosted = self._hosted
        self._publish_events()
        stamp = self._stamp()
        if self._clock_publisher:
            self._clock_publisher.publish(Clock(clock=stamp))
        self._force_publisher.publish(self._forces.write(hosted, stamp, self._sequence))
        self._joints.write(hosted, stamp)
        self._joint_publisher.publish(self._joints.state)
        self._torque_publisher.publish(self._joints.torques)
        # Transform listeners complain about repeated stamps.
        if self._tf_publisher and stamp != self._last_tf_stamp:
            self._last_tf_stamp = stamp
            self._tf_publisher.publish(self._transforms.write(hosted, stamp))
        if self._marker_publisher and self._sequence % self._marker_cycles == 0:
            self._marker_publisher.publish(self._markers.write(hosted, stamp))
        self._sequence += 1

    def _publish_events(self):
        events, lost = self._hosted.take_events()
        self._lost_events += lost
        for event in events:
            self._event_publisher.publish(
                messages.event_message(event, self._hosted, self._stamp(event.time), self._frame)
            )

    # ---- diagnostics -------------------------------------------------------------------------------

    def _start_diagnostics(self):
        self._last_tf_stamp = None
        self._busy = self._simulated = 0.0
        self._last_report = time.monotonic()
        self._diagnostics_timer = self.create_timer(DIAGNOSTICS_PERIOD, self._report)

    def _report(self):
        now = time.monotonic()
        elapsed, self._last_report = now - self._last_report, now
        level, text = self._health(self._simulated / elapsed)
        hosted = self._hosted
        values = [
            ("scenario", hosted.scenario.name),
            ("time", f"{hosted.time:.6g}"),
            ("paused", self._paused),
            ("status", self._forces.message.status),
            ("rank", self._forces.message.rank),
            ("active rows", self._forces.message.active_row_count),
            ("condition", f"{self._forces.message.condition:.4g}"),
            ("real-time factor", f"{self._simulated / elapsed:.3g}"),
            ("busy", f"{self._busy / elapsed:.3g}"),
            ("lost events", self._lost_events),
        ]
        self._busy = self._simulated = 0.0
        self._diagnostic_publisher.publish(
            messages.diagnostic_message(
                self.get_name() + ": simulation", self.get_clock().now().to_msg(), level, text, values
            )
        )

    def _health(self, factor):
        hosted = self._hosted
        if hosted.failure is not None:
            return DiagnosticStatus.ERROR, f"ended with status '{cd.status_name(hosted.failure)}'"
        if not cd.has_output(hosted.status):
            return DiagnosticStatus.ERROR, f"status '{self._forces.message.status}'"
        if self._paused:
            return DiagnosticStatus.OK, "paused"
        if hosted.has_ended and not self._loop:
            return DiagnosticStatus.OK, "at its end"
        if hosted.status != cd.Status.OK:
            return DiagnosticStatus.WARN, f"status '{self._forces.message.status}'"
        if factor < 0.9 * self._factor:
            return DiagnosticStatus.WARN, f"too slow: {factor:.3g} instead of {self._factor:g} seconds a second"
        return DiagnosticStatus.OK, "running"

    # ---- services ----------------------------------------------------------------------------------

    def _pause(self, request, response):
        self._paused = request.data
        response.success = True
        response.message = f"{'paused' if self._paused else 'running'} at {self._hosted.time:.6g} s"
        return response

    def _step(self, request, response):
        return self._answer(response, self._make_steps, request)

    def _make_steps(self, request, response):
        if not self._paused:
            raise cd.RequestError("the simulation runs; ~/pause it first")
        try:
            self._hosted.step(request.steps)
        finally:
            response.time = self._hosted.time
            self._publish()

    def _reset(self, _request, response):
        self._publish_events()
        self._hosted.reset()
        response.success = True
        response.message = f"at {self._hosted.time:.6g} s"
        self._publish()
        return response

    def _set_constraint_active(self, request, response):
        def switch(request, response):
            response.impulse = self._hosted.set_active(request.name, request.active)
            self._publish()

        return self._answer(response, switch, request)

    def _push(self, request, response):
        def push(request, response):
            response.energy_change = self._hosted.push(
                request.frame,
                [request.force.x, request.force.y, request.force.z],
                [request.torque.x, request.torque.y, request.torque.z],
                request.names,
                list(request.values),
            )
            self._publish()

        return self._answer(response, push, request)

    def _answer(self, response, action, request):
        try:
            action(request, response)
        except cd.RequestError as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, f"at {self._hosted.time:.6g} s"
        return response


def factor_problem(value):
    """What is wrong with a real_time_factor; empty: nothing."""
    if math.isfinite(value) and 0.0 <= value <= 1000.0:
        return ""
    return f"real_time_factor: {value}; allowed: 0 to 1000"


def find_scenario(name):
    """The path of a scenario: a path, package://…, file://…, or an example."""
    if not name:
        raise ValueError(
            "scenario: ''; allowed: the path of a scenario file, package://…, or one of " + ", ".join(cd.examples())
        )
    if name.startswith("package://"):
        package, _, path = name[len("package://") :].partition("/")
        from ament_index_python.packages import get_package_share_directory

        return str(Path(get_package_share_directory(package), path))
    if name.startswith("file://"):
        return name[len("file://") :]
    return name if Path(name).suffix or "/" in name else cd.example(name)


def main(arguments=None):
    """Exit codes as cdyn: 0, 2 for bad input."""
    # With rclpy's own handlers an interrupt may surface anywhere; here it ends the loop.
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    try:
        host = ScenarioHost()
    except Exception as error:  # rclpy has its own for parameters of the wrong type
        print(f"scenario_host: {error}", file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    executor = SingleThreadedExecutor()
    executor.add_node(host)
    while not stopped:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    host.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
