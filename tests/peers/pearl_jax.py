#!/usr/bin/env python3
"""Times gradient steps of PEARL in JAX on the CPU: pearl_jax.py [--threads N] [--seconds S | --steps N] [sizes].

One step is that of Rakelly et al. 2019, arXiv:1903.08254, algorithm 1, in the order of garage's
`PEARL._optimize_policy`: draw tasks, contexts and transitions, infer beliefs, and update the encoder with both critics,
then the value function, its target and the policy. A chunk of steps is one jitted scan; replay buffers are arrays that
its gathers read, and Python waits for whole chunks only. Defaults are the sizes of cheetah-vel.

What was tried and is not here, for it was slower or within 5 % as fast: both critics as one batched network (`vmap`),
activations as [features, rows], first layers that multiply z once for each task, and vectors of 512 bits
(`--xla_cpu_prefer_vector_width`). `--blocks` is here because blocks of some tasks, whose activations stay in the cache,
are faster than all tasks at once.

`--check FILE` makes the one step of golden file `pearl_update.json` with plain gradient descent instead, and compares
all parameters.
"""

import argparse
import functools
import json
import os
import statistics
import sys
import time
from typing import NamedTuple

REWARD_SCALE, DISCOUNT, KL_LAMBDA, TAU, RATE, REGULARISER = 5.0, 0.99, 0.1, 0.005, 3e-4, 1e-3
NETS = ("encoder", "q1", "q2", "policy", "v")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    option = functools.partial(parser.add_argument, type=int)
    option("--threads", default=1, help="processors that it may use")
    option("--seed", default=0)
    option("--seconds", default=20.0, type=float, help="for as long, at least two chunks")
    option("--steps", help="as many gradient steps, instead of --seconds")
    option("--blocks", default=4, help="that a step's tasks are split into, one after the other")
    option("--chunk", default=10, help="gradient steps of one dispatch")
    option("--obs", default=20)
    option("--act", default=6)
    option("--latent", default=5)
    option("--hidden", default=[300, 300, 300], nargs="+", help="of policy, critics and value function")
    option("--encoder", default=[200, 200, 200], nargs="+", help="hidden layers of the encoder")
    option("--tasks", default=100, help="for training")
    option("--meta-batch", default=16, help="tasks of a step")
    option("--batch", default=256, help="transitions of each task")
    option("--context", default=100, help="transitions that each belief is inferred from")
    option("--rows", default=2000, help="of each task's memory")
    option("--context-rows", default=400, help="of each task's memory of contexts")
    parser.add_argument("--check", metavar="FILE", help="compare one step with pearl_update.json")
    args = parser.parse_args()
    if args.meta_batch % args.blocks:
        parser.error("--blocks does not divide --meta-batch")
    return args


ARGS = arguments()
# Before JAX counts the processors for its pool of threads.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: ARGS.threads])
os.environ["JAX_PLATFORMS"] = "cpu"
if ARGS.threads == 1:
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

# NETWORKS: lists of (weight [in, out], bias), ReLU between them


def make_net(rng, sizes):
    """Xavier's uniform weights and biases of zero, as garage's."""
    bound = [(6 / (i + o)) ** 0.5 for i, o in zip(sizes, sizes[1:])]
    weights = [rng.uniform(-b, b, (i, o)).astype(np.float32) for b, i, o in zip(bound, sizes, sizes[1:])]
    return [(weight, np.zeros(weight.shape[1], np.float32)) for weight in weights]


def mlp(net, *inputs):
    x = jnp.concatenate(inputs, -1)
    for weight, bias in net[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    return x @ net[-1][0] + net[-1][1]


def value(net, *inputs):
    return mlp(net, *inputs)[:, 0]


def belief(encoder, context):
    """Means and variances [tasks, latent] of posteriors: products of the Gaussians of the rows of `context` [tasks,
    rows, columns].
    """
    out = mlp(encoder, context.reshape(-1, context.shape[-1])).reshape(*context.shape[:2], -1)
    mean, rho = jnp.split(out, 2, -1)
    precision = 1 / jnp.maximum(jax.nn.softplus(rho), 1e-7)
    variance = 1 / precision.sum(1)
    return variance * (mean * precision).sum(1), variance


def act(policy, obs, z, noise):
    """A squashed action with its log-density, and the mean, log-deviation and value before tanh."""
    mean, log_std = jnp.split(mlp(policy, obs, z), 2, -1)
    log_std = jnp.clip(log_std, -20, 2)
    before = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(before)
    gaussian = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi).astype(np.float32)
    return action, (gaussian - jnp.log(1 - action**2 + 1e-6)).sum(-1), mean, log_std, before


# ONE GRADIENT STEP


class Batch(NamedTuple):
    context: jax.Array  # [tasks, context, obs + act + 1]
    obs: jax.Array  # [tasks * batch, obs], and so are all below
    action: jax.Array
    reward: jax.Array
    next_obs: jax.Array
    done: jax.Array
    z_noise: jax.Array  # [tasks, latent]
    action_noise: jax.Array


def gradient_step(nets, target_v, batch, descend, mean_std=REGULARISER, pre_activation=0.0, blocks=1):
    """Nets, target and (critics' and KL loss, V loss, policy loss) after a step; `descend(name, net, gradient)` is an
    optimiser's.

    The tasks are split into `blocks`, whose gradients are added up.
    """
    nets = dict(nets)
    tasks = len(batch.context)
    rows = batch._replace(context=None, z_noise=None)
    rows = jax.tree.map(lambda x: x.reshape(blocks, -1, *x.shape[1:]), rows)

    def summed(block_gradient, *inputs):
        """The sum over blocks of a function's first result, and all blocks of its second."""
        zero = jax.tree.map(
            lambda x: jnp.zeros(x.shape), jax.eval_shape(block_gradient, *jax.tree.map(lambda x: x[0], inputs))[0]
        )

        def body(sum_, block):
            part, kept = block_gradient(*block)
            return jax.tree.map(jnp.add, sum_, part), kept

        return jax.lax.scan(body, zero, inputs)

    # THE ENCODER AND BOTH CRITICS
    def inference(encoder):
        mean, variance = belief(encoder, batch.context)
        kl = 0.5 * (mean**2 + variance - 1 - jnp.log(variance)).sum()
        return KL_LAMBDA * kl, (mean + jnp.sqrt(variance) * batch.z_noise).reshape(blocks, tasks // blocks, -1)

    (kl, z), infer_gradient = jax.vjp(inference, nets["encoder"])

    def repeated(z, r):
        return jnp.repeat(z, len(r.obs) // len(z), axis=0)

    def critic_gradients(r, z):
        next_v = value(target_v, r.next_obs, repeated(z, r))
        y = REWARD_SCALE * r.reward + (1 - r.done) * DISCOUNT * next_v

        def loss(critics, z):
            return sum(((value(q, r.obs, r.action, repeated(z, r)) - y) ** 2).mean() for q in critics) / blocks

        loss, (critics, z) = jax.value_and_grad(loss, (0, 1))((nets["q1"], nets["q2"]), z)
        return (loss, critics), z

    (q_loss, critics), z_gradient = summed(critic_gradients, rows, z)
    (encoder,) = infer_gradient((jnp.float32(1), z_gradient))
    for name, gradient in zip(("encoder", "q1", "q2"), (encoder, *critics)):
        nets[name] = descend(name, nets[name], gradient)

    # THE VALUE FUNCTION AND THE POLICY
    def other_gradients(r, z):
        z = repeated(z, r)

        def policy_loss(policy):
            action, log_pi, mean, log_std, before = act(policy, r.obs, z, r.action_noise)
            min_q = jnp.minimum(*(value(nets[q], r.obs, action, z) for q in ("q1", "q2")))
            regulariser = (
                mean_std * ((mean**2).mean() + (log_std**2).mean()) + pre_activation * (before**2).sum(-1).mean()
            )
            return ((log_pi - min_q).mean() + regulariser) / blocks, min_q - log_pi

        (p_loss, v_target), policy = jax.value_and_grad(policy_loss, has_aux=True)(nets["policy"])
        v_loss, v = jax.value_and_grad(lambda v: ((value(v, r.obs, z) - v_target) ** 2).mean() / blocks)(nets["v"])
        return (v_loss, p_loss, v, policy), None

    (v_loss, p_loss, v, policy), _ = summed(other_gradients, rows, z)
    nets["v"] = descend("v", nets["v"], v)
    target_v = jax.tree.map(lambda old, new: old + TAU * (new - old), target_v, nets["v"])
    nets["policy"] = descend("policy", nets["policy"], policy)
    return nets, target_v, jnp.stack([q_loss + kl, v_loss, p_loss])


# MANY OF THEM


def draw(key, memory, contexts):
    """Tasks, and rows of each, uniformly and with replacement."""
    keys = jax.random.split(key, 5)
    o, a = ARGS.obs, ARGS.act
    task = jax.random.randint(keys[0], (ARGS.meta_batch, 1), 0, len(memory))
    context = contexts[task, jax.random.randint(keys[1], (ARGS.meta_batch, ARGS.context), 0, contexts.shape[1])]
    rows = memory[task, jax.random.randint(keys[2], (ARGS.meta_batch, ARGS.batch), 0, memory.shape[1])].reshape(
        -1, memory.shape[2]
    )
    obs, action, reward, next_obs, done = jnp.split(rows, [o, o + a, o + a + 1, o + a + 1 + o], -1)
    z_noise = jax.random.normal(keys[3], (ARGS.meta_batch, ARGS.latent))
    return Batch(
        context, obs, action, reward[:, 0], next_obs, done[:, 0], z_noise, jax.random.normal(keys[4], action.shape)
    )


def adam(moments, step):
    """A `descend` that updates `moments` {net: (first, second)} in place; `step` counts from 1."""
    root = jnp.sqrt(1 - 0.999**step)
    rate = RATE * root / (1 - 0.9**step)

    def descend(name, net, gradient):
        first, second = moments[name]
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, second, gradient)
        moments[name] = first, second
        return jax.tree.map(lambda x, m, s: x - rate * m / (jnp.sqrt(s) + 1e-8 * root), net, first, second)

    return descend


def chunk(state, memory, contexts):
    def body(state, _):
        nets, target_v, moments, step, key = state
        key, now = jax.random.split(key)
        moments, step = dict(moments), step + 1
        nets, target_v, losses = gradient_step(
            nets, target_v, draw(now, memory, contexts), adam(moments, step), blocks=ARGS.blocks
        )
        return (nets, target_v, moments, step, key), losses

    return jax.lax.scan(body, state, None, ARGS.chunk)


# WHAT A STEP COSTS


def flops():
    """Floating-point operations of the matrix products of one step, by what they belong to; a multiply-add is two.

    A layer of i x o weights costs 2io for each row: forward, once more for its weights' gradient, and once more for its
    input's. The first layers' inputs are data, so their gradient is counted only for the columns that need one: z where
    critics train the encoder, the action where they train the policy. Targets need no gradients, and critics none of
    their weights in the policy's loss.
    """
    rows, contexts = ARGS.meta_batch * ARGS.batch, ARGS.meta_batch * ARGS.context

    def cost(rows, inputs, hidden, outputs, weights=True, into=None):
        """Forward, with gradients of the weights, and of `into` columns of the input: None is none, of hidden layers
        either.
        """
        sizes = [inputs, *hidden, outputs]
        layers = [i * o for i, o in zip(sizes, sizes[1:])]
        backward = 0 if into is None else into * sizes[1] + sum(layers[1:])
        return 2 * rows * (sum(layers) * (1 + weights) + backward)

    o, a, z, h = ARGS.obs, ARGS.act, ARGS.latent, ARGS.hidden
    return {
        "encoder": cost(contexts, o + a + 1, ARGS.encoder, 2 * z, into=0),
        "critics": 2 * cost(rows, o + a + z, h, 1, into=z),
        "target of critics": cost(rows, o + z, h, 1, weights=False),
        "policy": cost(rows, o + z, h, 2 * a, into=0),
        "critics of its action": 2 * cost(rows, o + a + z, h, 1, weights=False, into=a),
        "value function": cost(rows, o + z, h, 1, into=0),
    }


def measure():
    rng = np.random.default_rng(ARGS.seed)
    o, a, z, h = ARGS.obs, ARGS.act, ARGS.latent, ARGS.hidden
    inputs = {"encoder": o + a + 1, "q1": o + a + z, "q2": o + a + z, "policy": o + z, "v": o + z}
    outputs = {"encoder": 2 * z, "q1": 1, "q2": 1, "policy": 2 * a, "v": 1}
    nets = {
        name: make_net(rng, [inputs[name], *(ARGS.encoder if name == "encoder" else h), outputs[name]]) for name in NETS
    }
    memory = rng.normal(size=(ARGS.tasks, ARGS.rows, 2 * o + a + 2))
    memory[..., o : o + a] = np.tanh(memory[..., o : o + a])
    memory[..., -1] = rng.random(memory.shape[:2]) < 0.005
    contexts = memory[:, rng.integers(ARGS.rows, size=ARGS.context_rows), : o + a + 1]
    memory, contexts = jnp.asarray(memory, jnp.float32), jnp.asarray(contexts, jnp.float32)
    zeros = {name: jax.tree.map(np.zeros_like, (net, net)) for name, net in nets.items()}
    state = jax.tree.map(jnp.array, (nets, nets["v"], zeros, np.int32(0), jax.random.PRNGKey(ARGS.seed)))

    began = time.perf_counter()
    run = jax.jit(chunk, donate_argnums=0).lower(state, memory, contexts).compile()
    compiled = time.perf_counter() - began
    state, losses = jax.block_until_ready(run(state, memory, contexts))
    before, rates, began = np.asarray(losses[0]), [], time.perf_counter()
    while len(rates) < 2 or (
        len(rates) * ARGS.chunk < ARGS.steps if ARGS.steps else time.perf_counter() - began < ARGS.seconds
    ):
        start = time.perf_counter(), time.process_time()
        state, losses = jax.block_until_ready(run(state, memory, contexts))
        took = time.perf_counter() - start[0], time.process_time() - start[1]
        rates.append([ARGS.chunk / seconds for seconds in took])
    losses = np.asarray(losses[-1])
    assert np.isfinite(losses).all(), losses

    count = flops()
    total = sum(count.values())
    for name, operations in (count | {"one step": total}).items():
        print(f"{name:<22} {operations / 1e9:8.3f} GFLOP")
    print(f"losses of critics, V, policy: {before} at first, {losses} after {int(state[3])} steps")
    print(
        f"{ARGS.threads} threads, jax {jax.__version__}, compiled in {compiled:.1f} s, "
        f"{len(rates)} chunks of {ARGS.chunk} steps"
    )
    # The time of processors leaves out the moments that other programs had them.
    for what, rate in zip(("second", "second of processors"), zip(*rates)):
        middle = statistics.median(rate)
        print(
            f"{middle:.3f} gradient steps ({min(rate):.3f} to {max(rate):.3f}) "
            f"and {middle * total / 1e9:.1f} GFLOP in a {what}"
        )


# THE GOLDEN STEP


def check(path):
    """One step of `path` by plain gradient descent. Its means' and deviations' regularisers have no gradient."""
    with open(path) as file:
        golden = json.load(file)
    config, noise = golden["config"], golden["noise"]
    assert [config[k] for k in ("reward_scale", "discount", "kl_lambda", "soft_target_tau")] == [
        REWARD_SCALE,
        DISCOUNT,
        KL_LAMBDA,
        TAU,
    ]

    def nets(params):
        """In the layout used here; the two output layers of the policy are one."""
        made = {}
        for name, file_name in zip((*NETS, "target_v"), ("encoder", "qf1", "qf2", "policy", "vf", "target_vf")):
            p = {key.split("network.")[-1]: np.array(x, np.float32) for key, x in params[file_name].items()}
            heads = 1 + ("_output_layers.1.linear.bias" in p)
            out = [
                np.concatenate([p[f"_output_layers.{i}.linear.{part}"] for i in range(heads)])
                for part in ("weight", "bias")
            ]
            made[name] = [(p["_layers.0.linear.weight"].T, p["_layers.0.linear.bias"]), (out[0].T, out[1])]
        return made

    def rows(memory, *names):
        """[tasks, rows, columns]"""
        return np.array(
            [np.concatenate([task[name] for name in names], -1) for _, task in sorted(golden[memory].items())],
            np.float32,
        )

    columns = ("observations", "actions", "rewards", "next_observations", "dones")
    flat = [np.concatenate(rows("replay", name)) for name in columns]
    flat[2], flat[4] = flat[2][:, 0], flat[4][:, 0]
    tasks = golden["meta"]["tasks"]
    # The last draw of each task's belief is the one that is used.
    noise = np.array(noise[-1 - tasks : -1], np.float32), np.array(noise[-1], np.float32)
    batch = Batch(rows("context", "observations", "actions", "rewards"), *flat, *noise)

    before, after = nets(golden["params_before"]), nets(golden["params_after"])
    target_v = before.pop("target_v")
    descend = lambda _, net, gradient: jax.tree.map(lambda x, g: x - config["lr"] * g, net, gradient)  # noqa: E731
    failed = False
    for blocks in (1, tasks):
        coefficients = 0.0, config["policy_pre_activation_coeff"]
        made, target, _ = jax.jit(lambda n, t, b: gradient_step(n, t, b, descend, *coefficients, blocks=blocks))(
            before, target_v, batch
        )
        for name, net in after.items():
            old, new = (target_v, target) if name == "target_v" else (before[name], made[name])
            pairs = list(zip(*map(jax.tree.leaves, (net, new, old))))
            error = max(np.abs(want - got).max() for want, got, _ in pairs)
            moved = max(np.abs(want - was).max() for want, _, was in pairs)
            failed |= not error < 1e-3 * moved
            print(f"{blocks} blocks: {name:<8} moved by {moved:.2e} at most, differs by {error:.1e} at most")
    sys.exit("the step differs from the golden one" if failed else 0)


if __name__ == "__main__":
    check(ARGS.check) if ARGS.check else measure()
