"""ROS 2 over the Python package constrained_dynamics: the node scenario_host."""
