// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm bodies`, which also checks that it is up to date.

/** The environments of the second module: bodies and machines. */
export const BODIES = [
{
  "spec": {
    "name": "half-cheetah",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "bthigh", "low": -Infinity, "high": Infinity },
      { "name": "bshin", "low": -Infinity, "high": Infinity },
      { "name": "bfoot", "low": -Infinity, "high": Infinity },
      { "name": "fthigh", "low": -Infinity, "high": Infinity },
      { "name": "fshin", "low": -Infinity, "high": Infinity },
      { "name": "ffoot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -Infinity, "high": Infinity },
      { "name": "rootz_dot", "low": -Infinity, "high": Infinity },
      { "name": "rooty_dot", "low": -Infinity, "high": Infinity },
      { "name": "bthigh_dot", "low": -Infinity, "high": Infinity },
      { "name": "bshin_dot", "low": -Infinity, "high": Infinity },
      { "name": "bfoot_dot", "low": -Infinity, "high": Infinity },
      { "name": "fthigh_dot", "low": -Infinity, "high": Infinity },
      { "name": "fshin_dot", "low": -Infinity, "high": Infinity },
      { "name": "ffoot_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "bthigh", "low": -1.0, "high": 1.0 },
        { "name": "bshin", "low": -1.0, "high": 1.0 },
        { "name": "bfoot", "low": -1.0, "high": 1.0 },
        { "name": "fthigh", "low": -1.0, "high": 1.0 },
        { "name": "fshin", "low": -1.0, "high": 1.0 },
        { "name": "ffoot", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 1000,
    "dt": 0.05,
    "solved_at": 4800.0,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.1",
      "meaning": "cost per squared action"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.1",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "1000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "hopper",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "thigh", "low": -Infinity, "high": Infinity },
      { "name": "leg", "low": -Infinity, "high": Infinity },
      { "name": "foot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -10.0, "high": 10.0 },
      { "name": "rootz_dot", "low": -10.0, "high": 10.0 },
      { "name": "rooty_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_dot", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "thigh", "low": -1.0, "high": 1.0 },
        { "name": "leg", "low": -1.0, "high": 1.0 },
        { "name": "foot", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 1000,
    "dt": 0.008,
    "solved_at": 3800.0,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.001",
      "meaning": "cost per squared action"
    },
    {
      "name": "healthy_reward",
      "default": "1",
      "meaning": "reward of each step that ends healthy"
    },
    {
      "name": "terminate_when_unhealthy",
      "default": "true",
      "meaning": "whether an episode ends where it falls"
    },
    {
      "name": "healthy_state_range",
      "default": "-100..100",
      "meaning": "where all other numbers of its state are while it is healthy"
    },
    {
      "name": "healthy_z_range",
      "default": "0.7..inf",
      "meaning": "heights at which it is healthy, without both bounds"
    },
    {
      "name": "healthy_angle_range",
      "default": "-0.2..0.2",
      "meaning": "angles of the torso at which it is healthy"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.005",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "1000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "walker2d",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "thigh", "low": -Infinity, "high": Infinity },
      { "name": "leg", "low": -Infinity, "high": Infinity },
      { "name": "foot", "low": -Infinity, "high": Infinity },
      { "name": "thigh_left", "low": -Infinity, "high": Infinity },
      { "name": "leg_left", "low": -Infinity, "high": Infinity },
      { "name": "foot_left", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -10.0, "high": 10.0 },
      { "name": "rootz_dot", "low": -10.0, "high": 10.0 },
      { "name": "rooty_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_left_dot", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "thigh", "low": -1.0, "high": 1.0 },
        { "name": "leg", "low": -1.0, "high": 1.0 },
        { "name": "foot", "low": -1.0, "high": 1.0 },
        { "name": "thigh_left", "low": -1.0, "high": 1.0 },
        { "name": "leg_left", "low": -1.0, "high": 1.0 },
        { "name": "foot_left", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 1000,
    "dt": 0.008,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.001",
      "meaning": "cost per squared action"
    },
    {
      "name": "healthy_reward",
      "default": "1",
      "meaning": "reward of each step that ends healthy"
    },
    {
      "name": "terminate_when_unhealthy",
      "default": "true",
      "meaning": "whether an episode ends where it falls"
    },
    {
      "name": "healthy_z_range",
      "default": "0.8..2",
      "meaning": "heights at which it is healthy, without both bounds"
    },
    {
      "name": "healthy_angle_range",
      "default": "-1..1",
      "meaning": "angles of the torso at which it is healthy"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.005",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "1000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "swimmer",
    "observation": [
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "mid", "low": -Infinity, "high": Infinity },
      { "name": "back", "low": -Infinity, "high": Infinity },
      { "name": "rootz_dot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -Infinity, "high": Infinity },
      { "name": "rooty_dot", "low": -Infinity, "high": Infinity },
      { "name": "mid_dot", "low": -Infinity, "high": Infinity },
      { "name": "back_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "mid", "low": -1.0, "high": 1.0 },
        { "name": "back", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 1000,
    "dt": 0.04,
    "solved_at": 360.0,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.0001",
      "meaning": "cost per squared action"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.1",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "1000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "half-cheetah-vel",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "bthigh", "low": -Infinity, "high": Infinity },
      { "name": "bshin", "low": -Infinity, "high": Infinity },
      { "name": "bfoot", "low": -Infinity, "high": Infinity },
      { "name": "fthigh", "low": -Infinity, "high": Infinity },
      { "name": "fshin", "low": -Infinity, "high": Infinity },
      { "name": "ffoot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -Infinity, "high": Infinity },
      { "name": "rootz_dot", "low": -Infinity, "high": Infinity },
      { "name": "rooty_dot", "low": -Infinity, "high": Infinity },
      { "name": "bthigh_dot", "low": -Infinity, "high": Infinity },
      { "name": "bshin_dot", "low": -Infinity, "high": Infinity },
      { "name": "bfoot_dot", "low": -Infinity, "high": Infinity },
      { "name": "fthigh_dot", "low": -Infinity, "high": Infinity },
      { "name": "fshin_dot", "low": -Infinity, "high": Infinity },
      { "name": "ffoot_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "bthigh", "low": -1.0, "high": 1.0 },
        { "name": "bshin", "low": -1.0, "high": 1.0 },
        { "name": "bfoot", "low": -1.0, "high": 1.0 },
        { "name": "fthigh", "low": -1.0, "high": 1.0 },
        { "name": "fshin", "low": -1.0, "high": 1.0 },
        { "name": "ffoot", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.05,
    "solved_at": null,
    "task": [
      { "name": "velocity", "low": 0.0, "high": 3.0 }
    ],
    "plane": null,
    "course": 0,
    "legend": "green: the velocity that is asked for; blue: its own"
  },
  "parameters": [
    {
      "name": "velocity_range",
      "default": "0..3",
      "meaning": "velocities that tasks ask for, in m/s"
    },
    {
      "name": "observe_torso",
      "default": "false",
      "meaning": "whether the torso's place is seen too, as in garage's and PEARL's"
    },
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.05",
      "meaning": "cost per squared action"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.1",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "half-cheetah-dir",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "bthigh", "low": -Infinity, "high": Infinity },
      { "name": "bshin", "low": -Infinity, "high": Infinity },
      { "name": "bfoot", "low": -Infinity, "high": Infinity },
      { "name": "fthigh", "low": -Infinity, "high": Infinity },
      { "name": "fshin", "low": -Infinity, "high": Infinity },
      { "name": "ffoot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -Infinity, "high": Infinity },
      { "name": "rootz_dot", "low": -Infinity, "high": Infinity },
      { "name": "rooty_dot", "low": -Infinity, "high": Infinity },
      { "name": "bthigh_dot", "low": -Infinity, "high": Infinity },
      { "name": "bshin_dot", "low": -Infinity, "high": Infinity },
      { "name": "bfoot_dot", "low": -Infinity, "high": Infinity },
      { "name": "fthigh_dot", "low": -Infinity, "high": Infinity },
      { "name": "fshin_dot", "low": -Infinity, "high": Infinity },
      { "name": "ffoot_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "bthigh", "low": -1.0, "high": 1.0 },
        { "name": "bshin", "low": -1.0, "high": 1.0 },
        { "name": "bfoot", "low": -1.0, "high": 1.0 },
        { "name": "fthigh", "low": -1.0, "high": 1.0 },
        { "name": "fshin", "low": -1.0, "high": 1.0 },
        { "name": "ffoot", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.05,
    "solved_at": null,
    "task": [
      { "name": "direction", "low": -1.0, "high": 1.0 }
    ],
    "plane": null,
    "course": 0,
    "legend": "green: the direction that is asked for; blue: its own velocity"
  },
  "parameters": [
    {
      "name": "observe_torso",
      "default": "false",
      "meaning": "whether the torso's place is seen too, as in garage's and PEARL's"
    },
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.05",
      "meaning": "cost per squared action"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.1",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "walker2d-vel",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "thigh", "low": -Infinity, "high": Infinity },
      { "name": "leg", "low": -Infinity, "high": Infinity },
      { "name": "foot", "low": -Infinity, "high": Infinity },
      { "name": "thigh_left", "low": -Infinity, "high": Infinity },
      { "name": "leg_left", "low": -Infinity, "high": Infinity },
      { "name": "foot_left", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -10.0, "high": 10.0 },
      { "name": "rootz_dot", "low": -10.0, "high": 10.0 },
      { "name": "rooty_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_left_dot", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "thigh", "low": -1.0, "high": 1.0 },
        { "name": "leg", "low": -1.0, "high": 1.0 },
        { "name": "foot", "low": -1.0, "high": 1.0 },
        { "name": "thigh_left", "low": -1.0, "high": 1.0 },
        { "name": "leg_left", "low": -1.0, "high": 1.0 },
        { "name": "foot_left", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.016,
    "solved_at": null,
    "task": [
      { "name": "velocity", "low": 0.0, "high": 10.0 }
    ],
    "plane": null,
    "course": 0,
    "legend": "green: the velocity that is asked for; blue: its own"
  },
  "parameters": [
    {
      "name": "velocity_range",
      "default": "0..10",
      "meaning": "velocities that tasks ask for, in m/s"
    },
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.001",
      "meaning": "cost per squared action"
    },
    {
      "name": "healthy_reward",
      "default": "15",
      "meaning": "reward of each step that ends healthy"
    },
    {
      "name": "terminate_when_unhealthy",
      "default": "true",
      "meaning": "whether an episode ends where it falls"
    },
    {
      "name": "healthy_z_range",
      "default": "0.8..2",
      "meaning": "heights at which it is healthy, without both bounds"
    },
    {
      "name": "healthy_angle_range",
      "default": "-1..1",
      "meaning": "angles of the torso at which it is healthy"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.005",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "walker2d-dir",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "thigh", "low": -Infinity, "high": Infinity },
      { "name": "leg", "low": -Infinity, "high": Infinity },
      { "name": "foot", "low": -Infinity, "high": Infinity },
      { "name": "thigh_left", "low": -Infinity, "high": Infinity },
      { "name": "leg_left", "low": -Infinity, "high": Infinity },
      { "name": "foot_left", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -10.0, "high": 10.0 },
      { "name": "rootz_dot", "low": -10.0, "high": 10.0 },
      { "name": "rooty_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_left_dot", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "thigh", "low": -1.0, "high": 1.0 },
        { "name": "leg", "low": -1.0, "high": 1.0 },
        { "name": "foot", "low": -1.0, "high": 1.0 },
        { "name": "thigh_left", "low": -1.0, "high": 1.0 },
        { "name": "leg_left", "low": -1.0, "high": 1.0 },
        { "name": "foot_left", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.016,
    "solved_at": null,
    "task": [
      { "name": "direction", "low": -1.0, "high": 1.0 }
    ],
    "plane": null,
    "course": 0,
    "legend": "green: the direction that is asked for; blue: its own velocity"
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.001",
      "meaning": "cost per squared action"
    },
    {
      "name": "healthy_reward",
      "default": "1",
      "meaning": "reward of each step that ends healthy"
    },
    {
      "name": "terminate_when_unhealthy",
      "default": "true",
      "meaning": "whether an episode ends where it falls"
    },
    {
      "name": "healthy_z_range",
      "default": "0.8..2",
      "meaning": "heights at which it is healthy, without both bounds"
    },
    {
      "name": "healthy_angle_range",
      "default": "-1..1",
      "meaning": "angles of the torso at which it is healthy"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.005",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "swimmer-vel",
    "observation": [
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "mid", "low": -Infinity, "high": Infinity },
      { "name": "back", "low": -Infinity, "high": Infinity },
      { "name": "rootz_dot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -Infinity, "high": Infinity },
      { "name": "rooty_dot", "low": -Infinity, "high": Infinity },
      { "name": "mid_dot", "low": -Infinity, "high": Infinity },
      { "name": "back_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "mid", "low": -1.0, "high": 1.0 },
        { "name": "back", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.04,
    "solved_at": null,
    "task": [
      { "name": "velocity", "low": 0.1, "high": 0.2 }
    ],
    "plane": null,
    "course": 0,
    "legend": "green: the velocity that is asked for; blue: its own"
  },
  "parameters": [
    {
      "name": "velocity_range",
      "default": "0.1..0.2",
      "meaning": "velocities that tasks ask for, in m/s"
    },
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.0001",
      "meaning": "cost per squared action"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.1",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "reacher",
    "observation": [
      { "name": "cos_1", "low": -1.0, "high": 1.0 },
      { "name": "cos_2", "low": -1.0, "high": 1.0 },
      { "name": "sin_1", "low": -1.0, "high": 1.0 },
      { "name": "sin_2", "low": -1.0, "high": 1.0 },
      { "name": "target_x", "low": -0.2, "high": 0.2 },
      { "name": "target_y", "low": -0.2, "high": 0.2 },
      { "name": "angle_1_dot", "low": -Infinity, "high": Infinity },
      { "name": "angle_2_dot", "low": -Infinity, "high": Infinity },
      { "name": "from_target_x", "low": -Infinity, "high": Infinity },
      { "name": "from_target_y", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "joint_1", "low": -1.0, "high": 1.0 },
        { "name": "joint_2", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 50,
    "dt": 0.02,
    "solved_at": -3.75,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "reward_dist_weight",
      "default": "1",
      "meaning": "cost per distance"
    },
    {
      "name": "reward_control_weight",
      "default": "1",
      "meaning": "cost per squared action"
    },
    {
      "name": "time_limit",
      "default": "50",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "hopper-rand-params",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "thigh", "low": -Infinity, "high": Infinity },
      { "name": "leg", "low": -Infinity, "high": Infinity },
      { "name": "foot", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -10.0, "high": 10.0 },
      { "name": "rootz_dot", "low": -10.0, "high": 10.0 },
      { "name": "rooty_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_dot", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "thigh", "low": -1.0, "high": 1.0 },
        { "name": "leg", "low": -1.0, "high": 1.0 },
        { "name": "foot", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.008,
    "solved_at": null,
    "task": [
      { "name": "mass_torso", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_thigh", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_leg", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_foot", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_torso", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_thigh", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_leg", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_foot", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_floor", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_torso", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_thigh", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_leg", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_foot", "low": 0.296296296, "high": 3.375 },
      { "name": "damping_thigh_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_leg_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_foot_joint", "low": 0.455166136, "high": 2.197 }
    ],
    "plane": null
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.001",
      "meaning": "cost per squared action"
    },
    {
      "name": "healthy_reward",
      "default": "1",
      "meaning": "reward of each step that ends healthy"
    },
    {
      "name": "terminate_when_unhealthy",
      "default": "true",
      "meaning": "whether an episode ends where it falls"
    },
    {
      "name": "healthy_state_range",
      "default": "-100..100",
      "meaning": "where all other numbers of its state are while it is healthy"
    },
    {
      "name": "healthy_z_range",
      "default": "0.7..inf",
      "meaning": "heights at which it is healthy, without both bounds"
    },
    {
      "name": "healthy_angle_range",
      "default": "-0.2..0.2",
      "meaning": "angles of the torso at which it is healthy"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.005",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "log_scale_limit",
      "default": "3",
      "meaning": "exponents by which tasks scale its numbers are up to ± this"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "walker2d-rand-params",
    "observation": [
      { "name": "rootz", "low": -Infinity, "high": Infinity },
      { "name": "rooty", "low": -Infinity, "high": Infinity },
      { "name": "thigh", "low": -Infinity, "high": Infinity },
      { "name": "leg", "low": -Infinity, "high": Infinity },
      { "name": "foot", "low": -Infinity, "high": Infinity },
      { "name": "thigh_left", "low": -Infinity, "high": Infinity },
      { "name": "leg_left", "low": -Infinity, "high": Infinity },
      { "name": "foot_left", "low": -Infinity, "high": Infinity },
      { "name": "rootx_dot", "low": -10.0, "high": 10.0 },
      { "name": "rootz_dot", "low": -10.0, "high": 10.0 },
      { "name": "rooty_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_dot", "low": -10.0, "high": 10.0 },
      { "name": "thigh_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "leg_left_dot", "low": -10.0, "high": 10.0 },
      { "name": "foot_left_dot", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "thigh", "low": -1.0, "high": 1.0 },
        { "name": "leg", "low": -1.0, "high": 1.0 },
        { "name": "foot", "low": -1.0, "high": 1.0 },
        { "name": "thigh_left", "low": -1.0, "high": 1.0 },
        { "name": "leg_left", "low": -1.0, "high": 1.0 },
        { "name": "foot_left", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 200,
    "dt": 0.008,
    "solved_at": null,
    "task": [
      { "name": "mass_torso", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_thigh", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_leg", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_foot", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_thigh_left", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_leg_left", "low": 0.296296296, "high": 3.375 },
      { "name": "mass_foot_left", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_torso", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_thigh", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_leg", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_foot", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_thigh_left", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_leg_left", "low": 0.296296296, "high": 3.375 },
      { "name": "inertia_foot_left", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_floor", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_torso", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_thigh", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_leg", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_foot", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_thigh_left", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_leg_left", "low": 0.296296296, "high": 3.375 },
      { "name": "friction_foot_left", "low": 0.296296296, "high": 3.375 },
      { "name": "damping_thigh_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_leg_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_foot_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_thigh_left_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_leg_left_joint", "low": 0.455166136, "high": 2.197 },
      { "name": "damping_foot_left_joint", "low": 0.455166136, "high": 2.197 }
    ],
    "plane": null
  },
  "parameters": [
    {
      "name": "forward_reward_weight",
      "default": "1",
      "meaning": "reward per speed"
    },
    {
      "name": "ctrl_cost_weight",
      "default": "0.001",
      "meaning": "cost per squared action"
    },
    {
      "name": "healthy_reward",
      "default": "1",
      "meaning": "reward of each step that ends healthy"
    },
    {
      "name": "terminate_when_unhealthy",
      "default": "true",
      "meaning": "whether an episode ends where it falls"
    },
    {
      "name": "healthy_z_range",
      "default": "0.8..2",
      "meaning": "heights at which it is healthy, without both bounds"
    },
    {
      "name": "healthy_angle_range",
      "default": "-1..1",
      "meaning": "angles of the torso at which it is healthy"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.005",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "exclude_current_positions_from_observation",
      "default": "true",
      "meaning": "whether the place along the way is not seen"
    },
    {
      "name": "log_scale_limit",
      "default": "3",
      "meaning": "exponents by which tasks scale its numbers are up to ± this"
    },
    {
      "name": "time_limit",
      "default": "200",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "inverted-pendulum",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "angle", "low": -Infinity, "high": Infinity },
      { "name": "x_dot", "low": -Infinity, "high": Infinity },
      { "name": "angle_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "slider", "low": -3.0, "high": 3.0 }
      ]
    },
    "horizon": 1000,
    "dt": 0.04,
    "solved_at": 950.0,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "reset_noise_scale",
      "default": "0.01",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "time_limit",
      "default": "1000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "inverted-double-pendulum",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "sin_1", "low": -1.0, "high": 1.0 },
      { "name": "sin_2", "low": -1.0, "high": 1.0 },
      { "name": "cos_1", "low": -1.0, "high": 1.0 },
      { "name": "cos_2", "low": -1.0, "high": 1.0 },
      { "name": "x_dot", "low": -10.0, "high": 10.0 },
      { "name": "angle_1_dot", "low": -10.0, "high": 10.0 },
      { "name": "angle_2_dot", "low": -10.0, "high": 10.0 },
      { "name": "force", "low": -10.0, "high": 10.0 }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "slider", "low": -1.0, "high": 1.0 }
      ]
    },
    "horizon": 1000,
    "dt": 0.05,
    "solved_at": 9100.0,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "healthy_reward",
      "default": "10",
      "meaning": "reward of standing"
    },
    {
      "name": "reset_noise_scale",
      "default": "0.1",
      "meaning": "how far first states are from rest"
    },
    {
      "name": "time_limit",
      "default": "1000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "ball-on-beam",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "alpha", "low": -Infinity, "high": Infinity },
      { "name": "x_dot", "low": -Infinity, "high": Infinity },
      { "name": "alpha_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "tau", "low": -29.43, "high": 29.43 }
      ]
    },
    "horizon": 500,
    "dt": 0.01,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "ball_mass",
      "default": "0.5",
      "meaning": "mass of the ball in kg"
    },
    {
      "name": "ball_radius",
      "default": "0.1",
      "meaning": "radius of the ball in m"
    },
    {
      "name": "beam_mass",
      "default": "3",
      "meaning": "mass of the beam in kg"
    },
    {
      "name": "beam_length",
      "default": "2",
      "meaning": "length of the beam in m"
    },
    {
      "name": "beam_thickness",
      "default": "0.1",
      "meaning": "thickness of the beam in m"
    },
    {
      "name": "friction_coeff",
      "default": "0.05",
      "meaning": "viscous friction of the ball in N s/m"
    },
    {
      "name": "ang_offset",
      "default": "0",
      "meaning": "error of the angle in rad"
    },
    {
      "name": "dt",
      "default": "0.01",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "500",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "ball-on-beam-discrete",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "alpha", "low": -Infinity, "high": Infinity },
      { "name": "x_dot", "low": -Infinity, "high": Infinity },
      { "name": "alpha_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "discrete",
      "names": [
        "right",
        "rest",
        "left"
      ]
    },
    "horizon": 500,
    "dt": 0.01,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "ball_mass",
      "default": "0.5",
      "meaning": "mass of the ball in kg"
    },
    {
      "name": "ball_radius",
      "default": "0.1",
      "meaning": "radius of the ball in m"
    },
    {
      "name": "beam_mass",
      "default": "3",
      "meaning": "mass of the beam in kg"
    },
    {
      "name": "beam_length",
      "default": "2",
      "meaning": "length of the beam in m"
    },
    {
      "name": "beam_thickness",
      "default": "0.1",
      "meaning": "thickness of the beam in m"
    },
    {
      "name": "friction_coeff",
      "default": "0.05",
      "meaning": "viscous friction of the ball in N s/m"
    },
    {
      "name": "ang_offset",
      "default": "0",
      "meaning": "error of the angle in rad"
    },
    {
      "name": "dt",
      "default": "0.01",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "500",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "mass-spring",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "x_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "force", "low": -30.0, "high": 30.0 }
      ]
    },
    "horizon": 300,
    "dt": 0.02,
    "solved_at": null,
    "task": [],
    "plane": null,
    "legend": "green: the place to hold"
  },
  "parameters": [
    {
      "name": "mass",
      "default": "1",
      "meaning": "mass in kg"
    },
    {
      "name": "stiffness",
      "default": "30",
      "meaning": "stiffness of the spring in N/m"
    },
    {
      "name": "damping",
      "default": "0.5",
      "meaning": "damping in N s/m"
    },
    {
      "name": "goal",
      "default": "0",
      "meaning": "the place to hold in m"
    },
    {
      "name": "dt",
      "default": "0.02",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "300",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "pyrado-pendulum",
    "observation": [
      { "name": "sin_theta", "low": -1.0, "high": 1.0 },
      { "name": "cos_theta", "low": -1.0, "high": 1.0 },
      { "name": "theta_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "tau", "low": -3.5, "high": 3.5 }
      ]
    },
    "horizon": 400,
    "dt": 0.02,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "pole_mass",
      "default": "1",
      "meaning": "mass of the pole in kg"
    },
    {
      "name": "pole_length",
      "default": "1",
      "meaning": "length of the pole in m"
    },
    {
      "name": "pole_damping",
      "default": "0.05",
      "meaning": "damping of the joint in N m s"
    },
    {
      "name": "torque_thold",
      "default": "3.5",
      "meaning": "largest torque in N m"
    },
    {
      "name": "dt",
      "default": "0.02",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "400",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "qube-swing-up",
    "observation": [
      { "name": "sin_theta", "low": -1.0, "high": 1.0 },
      { "name": "cos_theta", "low": -1.0, "high": 1.0 },
      { "name": "sin_alpha", "low": -1.0, "high": 1.0 },
      { "name": "cos_alpha", "low": -1.0, "high": 1.0 },
      { "name": "theta_dot", "low": -Infinity, "high": Infinity },
      { "name": "alpha_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "voltage", "low": -4.5, "high": 4.5 }
      ]
    },
    "horizon": 4000,
    "dt": 0.004,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "motor_resistance",
      "default": "8.4",
      "meaning": "resistance of the motor in Ω"
    },
    {
      "name": "motor_back_emf",
      "default": "0.042",
      "meaning": "constant of the motor in V s/rad"
    },
    {
      "name": "mass_rot_pole",
      "default": "0.095",
      "meaning": "mass of the arm in kg"
    },
    {
      "name": "length_rot_pole",
      "default": "0.085",
      "meaning": "length of the arm in m"
    },
    {
      "name": "damping_rot_pole",
      "default": "0.000005",
      "meaning": "damping of the arm in N m s/rad"
    },
    {
      "name": "mass_pend_pole",
      "default": "0.024",
      "meaning": "mass of the pole in kg"
    },
    {
      "name": "length_pend_pole",
      "default": "0.129",
      "meaning": "length of the pole in m"
    },
    {
      "name": "damping_pend_pole",
      "default": "0.000001",
      "meaning": "damping of the pole in N m s/rad"
    },
    {
      "name": "voltage_thold_neg",
      "default": "0",
      "meaning": "voltages from here do nothing, in V"
    },
    {
      "name": "voltage_thold_pos",
      "default": "0",
      "meaning": "up to here, in V"
    },
    {
      "name": "integrator",
      "default": "rk4",
      "meaning": "rk4, or pyrado: the original's, by the first slope"
    },
    {
      "name": "dt",
      "default": "0.004",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "4000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "qube-stabilise",
    "observation": [
      { "name": "sin_theta", "low": -1.0, "high": 1.0 },
      { "name": "cos_theta", "low": -1.0, "high": 1.0 },
      { "name": "sin_alpha", "low": -1.0, "high": 1.0 },
      { "name": "cos_alpha", "low": -1.0, "high": 1.0 },
      { "name": "theta_dot", "low": -Infinity, "high": Infinity },
      { "name": "alpha_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "voltage", "low": -4.5, "high": 4.5 }
      ]
    },
    "horizon": 500,
    "dt": 0.01,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "motor_resistance",
      "default": "8.4",
      "meaning": "resistance of the motor in Ω"
    },
    {
      "name": "motor_back_emf",
      "default": "0.042",
      "meaning": "constant of the motor in V s/rad"
    },
    {
      "name": "mass_rot_pole",
      "default": "0.095",
      "meaning": "mass of the arm in kg"
    },
    {
      "name": "length_rot_pole",
      "default": "0.085",
      "meaning": "length of the arm in m"
    },
    {
      "name": "damping_rot_pole",
      "default": "0.000005",
      "meaning": "damping of the arm in N m s/rad"
    },
    {
      "name": "mass_pend_pole",
      "default": "0.024",
      "meaning": "mass of the pole in kg"
    },
    {
      "name": "length_pend_pole",
      "default": "0.129",
      "meaning": "length of the pole in m"
    },
    {
      "name": "damping_pend_pole",
      "default": "0.000001",
      "meaning": "damping of the pole in N m s/rad"
    },
    {
      "name": "voltage_thold_neg",
      "default": "0",
      "meaning": "voltages from here do nothing, in V"
    },
    {
      "name": "voltage_thold_pos",
      "default": "0",
      "meaning": "up to here, in V"
    },
    {
      "name": "integrator",
      "default": "rk4",
      "meaning": "rk4, or pyrado: the original's, by the first slope"
    },
    {
      "name": "dt",
      "default": "0.01",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "500",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "qcartpole-stabilise",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "sin_theta", "low": -1.0, "high": 1.0 },
      { "name": "cos_theta", "low": -1.0, "high": 1.0 },
      { "name": "x_dot", "low": -Infinity, "high": Infinity },
      { "name": "theta_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "voltage", "low": -8.0, "high": 8.0 }
      ]
    },
    "horizon": 300,
    "dt": 0.01,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "cart_mass",
      "default": "0.38",
      "meaning": "mass of the cart in kg"
    },
    {
      "name": "rail_length",
      "default": "0.814",
      "meaning": "length of the rail in m"
    },
    {
      "name": "motor_efficiency",
      "default": "0.9",
      "meaning": "efficiency of the motor"
    },
    {
      "name": "gear_efficiency",
      "default": "0.9",
      "meaning": "efficiency of the gearbox"
    },
    {
      "name": "gear_ratio",
      "default": "3.71",
      "meaning": "ratio of the gears"
    },
    {
      "name": "motor_inertia",
      "default": "0.00000039",
      "meaning": "inertia of the rotor in kg m²"
    },
    {
      "name": "pinion_radius",
      "default": "0.00635",
      "meaning": "radius of the pinion in m"
    },
    {
      "name": "motor_resistance",
      "default": "2.6",
      "meaning": "resistance of the motor in Ω"
    },
    {
      "name": "motor_back_emf",
      "default": "0.00767",
      "meaning": "constant of the motor in V s/rad"
    },
    {
      "name": "pole_damping",
      "default": "0.0024",
      "meaning": "damping of the pole in N m s/rad"
    },
    {
      "name": "combined_damping",
      "default": "5.4",
      "meaning": "damping of the cart in N s/m"
    },
    {
      "name": "pole_mass",
      "default": "0.23",
      "meaning": "mass of the pole in kg"
    },
    {
      "name": "pole_length",
      "default": "0.3205",
      "meaning": "half of the pole's length in m"
    },
    {
      "name": "cart_friction_coeff",
      "default": "0.02",
      "meaning": "Coulomb's friction of the cart"
    },
    {
      "name": "voltage_thold_neg",
      "default": "0",
      "meaning": "voltages from here do nothing, in V"
    },
    {
      "name": "voltage_thold_pos",
      "default": "0",
      "meaning": "up to here, in V"
    },
    {
      "name": "simple_dynamics",
      "default": "true",
      "meaning": "the rail does not rub, and no voltage is too small"
    },
    {
      "name": "dt",
      "default": "0.01",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "300",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "qcartpole-swing-up",
    "observation": [
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "sin_theta", "low": -1.0, "high": 1.0 },
      { "name": "cos_theta", "low": -1.0, "high": 1.0 },
      { "name": "x_dot", "low": -Infinity, "high": Infinity },
      { "name": "theta_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "voltage", "low": -8.0, "high": 8.0 }
      ]
    },
    "horizon": 8000,
    "dt": 0.002,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "cart_mass",
      "default": "0.38",
      "meaning": "mass of the cart in kg"
    },
    {
      "name": "rail_length",
      "default": "0.814",
      "meaning": "length of the rail in m"
    },
    {
      "name": "motor_efficiency",
      "default": "0.9",
      "meaning": "efficiency of the motor"
    },
    {
      "name": "gear_efficiency",
      "default": "0.9",
      "meaning": "efficiency of the gearbox"
    },
    {
      "name": "gear_ratio",
      "default": "3.71",
      "meaning": "ratio of the gears"
    },
    {
      "name": "motor_inertia",
      "default": "0.00000039",
      "meaning": "inertia of the rotor in kg m²"
    },
    {
      "name": "pinion_radius",
      "default": "0.00635",
      "meaning": "radius of the pinion in m"
    },
    {
      "name": "motor_resistance",
      "default": "2.6",
      "meaning": "resistance of the motor in Ω"
    },
    {
      "name": "motor_back_emf",
      "default": "0.00767",
      "meaning": "constant of the motor in V s/rad"
    },
    {
      "name": "pole_damping",
      "default": "0.0024",
      "meaning": "damping of the pole in N m s/rad"
    },
    {
      "name": "combined_damping",
      "default": "5.4",
      "meaning": "damping of the cart in N s/m"
    },
    {
      "name": "pole_mass",
      "default": "0.127",
      "meaning": "mass of the pole in kg"
    },
    {
      "name": "pole_length",
      "default": "0.16825",
      "meaning": "half of the pole's length in m"
    },
    {
      "name": "cart_friction_coeff",
      "default": "0.02",
      "meaning": "Coulomb's friction of the cart"
    },
    {
      "name": "voltage_thold_neg",
      "default": "0",
      "meaning": "voltages from here do nothing, in V"
    },
    {
      "name": "voltage_thold_pos",
      "default": "0",
      "meaning": "up to here, in V"
    },
    {
      "name": "simple_dynamics",
      "default": "false",
      "meaning": "the rail does not rub, and no voltage is too small"
    },
    {
      "name": "dt",
      "default": "0.002",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "8000",
      "meaning": "steps of an episode at most"
    }
  ]
},
{
  "spec": {
    "name": "ball-balancer",
    "observation": [
      { "name": "theta_x", "low": -Infinity, "high": Infinity },
      { "name": "theta_y", "low": -Infinity, "high": Infinity },
      { "name": "x", "low": -Infinity, "high": Infinity },
      { "name": "y", "low": -Infinity, "high": Infinity },
      { "name": "theta_x_dot", "low": -Infinity, "high": Infinity },
      { "name": "theta_y_dot", "low": -Infinity, "high": Infinity },
      { "name": "x_dot", "low": -Infinity, "high": Infinity },
      { "name": "y_dot", "low": -Infinity, "high": Infinity }
    ],
    "action": {
      "kind": "box",
      "dims": [
        { "name": "voltage_x", "low": -3.0, "high": 3.0 },
        { "name": "voltage_y", "low": -3.0, "high": 3.0 }
      ]
    },
    "horizon": 500,
    "dt": 0.01,
    "solved_at": null,
    "task": [],
    "plane": null
  },
  "parameters": [
    {
      "name": "gravity_const",
      "default": "9.81",
      "meaning": "gravity in m/s²"
    },
    {
      "name": "ball_mass",
      "default": "0.003",
      "meaning": "mass of the ball in kg"
    },
    {
      "name": "ball_radius",
      "default": "0.019625",
      "meaning": "radius of the ball in m"
    },
    {
      "name": "plate_length",
      "default": "0.275",
      "meaning": "length of the plate in m"
    },
    {
      "name": "arm_radius",
      "default": "0.0254",
      "meaning": "length of the motors' arms in m"
    },
    {
      "name": "gear_ratio",
      "default": "70",
      "meaning": "ratio of the gears"
    },
    {
      "name": "gear_efficiency",
      "default": "0.9",
      "meaning": "efficiency of the gearbox"
    },
    {
      "name": "load_inertia",
      "default": "0.000052822",
      "meaning": "inertia of the load in kg m²"
    },
    {
      "name": "motor_inertia",
      "default": "0.00000046063",
      "meaning": "inertia of a rotor in kg m²"
    },
    {
      "name": "motor_back_emf",
      "default": "0.0077",
      "meaning": "constant of a motor in V s/rad"
    },
    {
      "name": "motor_resistance",
      "default": "2.6",
      "meaning": "resistance of a motor in Ω"
    },
    {
      "name": "motor_efficiency",
      "default": "0.69",
      "meaning": "efficiency of a motor"
    },
    {
      "name": "combined_damping",
      "default": "0.015",
      "meaning": "damping of the load in N m s/rad"
    },
    {
      "name": "ball_damping",
      "default": "0.05",
      "meaning": "friction of the ball in N s/m"
    },
    {
      "name": "voltage_thold_x_pos",
      "default": "0.28",
      "meaning": "voltages up to here do nothing, in V"
    },
    {
      "name": "voltage_thold_x_neg",
      "default": "-0.1",
      "meaning": "from here, in V"
    },
    {
      "name": "voltage_thold_y_pos",
      "default": "0.28",
      "meaning": "of the other motor, up to here"
    },
    {
      "name": "voltage_thold_y_neg",
      "default": "-0.074",
      "meaning": "from here, in V"
    },
    {
      "name": "offset_th_x",
      "default": "0",
      "meaning": "error of a motor's angle in rad"
    },
    {
      "name": "offset_th_y",
      "default": "0",
      "meaning": "of the other motor's"
    },
    {
      "name": "simple_dynamics",
      "default": "true",
      "meaning": "no friction of the ball, no forces of a plate that turns, no voltage is too small"
    },
    {
      "name": "dt",
      "default": "0.01",
      "meaning": "time of a step in s"
    },
    {
      "name": "randomised",
      "default": "false",
      "meaning": "domain parameters differ from task to task"
    },
    {
      "name": "time_limit",
      "default": "500",
      "meaning": "steps of an episode at most"
    }
  ]
},
];

/** Algorithms that train on them. */
export const TRAIN_BODIES: readonly { envs: readonly string[]; algorithms: readonly string[] }[] = [
  {
    envs: [
      "half-cheetah",
      "hopper",
      "walker2d",
      "swimmer",
      "reacher",
      "inverted-pendulum",
      "inverted-double-pendulum",
      "ball-on-beam",
      "mass-spring",
      "pyrado-pendulum",
      "qube-swing-up",
      "qube-stabilise",
      "qcartpole-stabilise",
      "qcartpole-swing-up",
      "ball-balancer",
    ],
    algorithms: [
      "ppo",
      "ppo2",
      "a2c",
      "vpg",
      "trpo",
      "svpg",
      "ddpg",
      "td3",
      "sac",
      "cem",
      "cma-es",
      "openai-es",
      "ars",
      "nop",
      "rl2-ppo",
      "rl2-trpo",
    ],
  },
  {
    envs: [
      "half-cheetah-vel",
      "half-cheetah-dir",
      "walker2d-vel",
      "walker2d-dir",
      "swimmer-vel",
      "hopper-rand-params",
      "walker2d-rand-params",
    ],
    algorithms: [
      "ppo",
      "ppo2",
      "a2c",
      "vpg",
      "trpo",
      "svpg",
      "ddpg",
      "td3",
      "sac",
      "cem",
      "cma-es",
      "openai-es",
      "ars",
      "nop",
      "promp",
      "maml-ppo",
      "maml-vpg",
      "maml-trpo",
      "e-maml",
      "dice-maml",
      "rl2-ppo",
      "rl2-trpo",
      "pearl",
    ],
  },
  {
    envs: [
      "ball-on-beam-discrete",
    ],
    algorithms: [
      "ppo",
      "ppo2",
      "a2c",
      "vpg",
      "trpo",
      "svpg",
      "dqn",
      "dql",
      "sac",
      "cem",
      "cma-es",
      "openai-es",
      "ars",
      "nop",
      "rl2-ppo",
      "rl2-trpo",
    ],
  },
];
