"""Success of policies that learn nothing on the held-out goals of Meta-World's reach: what a learned one stands beside.

metaworld-baselines.py [--seed N] [--steps N]: in a Python with Meta-World. An episode is a success at any step, as
Meta-World counts, or at its last step. The hand is steered by a proportional controller.
"""

import argparse
import warnings

import metaworld
import numpy as np

LOW, HIGH = np.array([-0.1, 0.8, 0.05]), np.array([0.1, 0.9, 0.3])  # where goals of reach lie


def towards(hand, target):
    return np.append(np.clip(10.0 * (target - hand), -1.0, 1.0), 0.0)


def sweep(steps, count=12):
    """Waypoints through the box of goals, as a snake: two wide, two deep, three high."""
    points = [
        LOW + (HIGH - LOW) * np.array([x, y, z])
        for z in (1 / 6, 1 / 2, 5 / 6)
        for x, y in ((0.25, 0.25), (0.75, 0.25), (0.75, 0.75), (0.25, 0.75))
    ]
    return [points[min(step * count // steps, count - 1)] for step in range(steps)]


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="names the goals")
    parser.add_argument("--steps", type=int, default=100, help="of an episode")
    asked = parser.parse_args()
    benchmark = metaworld.ML1("reach-v3", seed=asked.seed)
    env = benchmark.train_classes["reach-v3"]()
    rng = np.random.default_rng(0)
    way = sweep(asked.steps)

    def goal():
        return env._target_pos  # the environment keeps it from policies, not from this script

    policies = {
        "random actions": lambda hand, step: rng.uniform(-1, 1, 4),
        "to the middle of all goals": lambda hand, step: towards(hand, (LOW + HIGH) / 2),
        "a blind sweep of 12 points": lambda hand, step: towards(hand, way[step]),
        "told the goal": lambda hand, step: towards(hand, goal()),
    }
    print(f"{'policy':<30}{'any step':>10}{'last step':>11}   {len(benchmark.test_tasks)} held-out goals")
    for name, policy in policies.items():
        ends, passes = [], []
        for task in benchmark.test_tasks:
            env.set_task(task)
            seen, _ = env.reset()
            successes = []
            for step in range(asked.steps):
                seen, _, _, _, info = env.step(policy(seen[:3], step).astype(np.float32))
                successes.append(bool(info["success"]))
            passes.append(any(successes))
            ends.append(successes[-1])
        print(f"{name:<30}{np.mean(passes):>10.2f}{np.mean(ends):>11.2f}")


if __name__ == "__main__":
    main()
