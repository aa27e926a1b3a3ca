// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm bodies`, which also checks that it is up to date.

/** The environments of bodies. */
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
];

/** Algorithms that train on them. */
export const TRAIN_BODIES: readonly string[] = [
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
];
