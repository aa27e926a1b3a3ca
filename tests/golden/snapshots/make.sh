#!/usr/bin/env bash
# Makes a small run of each algorithm for the folder of a snapshot format: make.sh BINARY FOLDER [ALGORITHM…]
# ALGORITHM-CELL is the algorithm with a memory.
#
#   FOLDER/ALGORITHM/session.safetensors   the run after two iterations, to go on from
#                    policy.safetensors    the policy with the best evaluation
#                    next.safetensors      where two more iterations led
#                    segments/             the rows that session.safetensors names, from format 3 on
#                    returns.csv           what `eval policy.safetensors --episodes 4 --seed 5` says of the policy
#
# A folder is made once, by the first version that writes its format, and is never changed: later versions read it. So
# an algorithm that is new within a format needs none. One without a line below is made by small values of the settings
# that others have too.
set -euo pipefail
binary=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
wanted=" $* "
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cd "$scratch"

made=
# ALGORITHM[-CELL|-episodes|-hindsight|-scaled] ENVIRONMENT STEPS [SETTING…]: STEPS are those of two iterations, of
# whole episodes of two or more.
make() {
  local name=$1 env=$2 steps=$3 settings=() setting
  local algorithm=$name
  made+=" $name "
  [[ $wanted = "  " || $wanted = *" $name "* ]] || return 0
  case $name in *-gru | *-lstm)
    algorithm=${name%-*}
    settings+=(--set "cell=${name##*-}")
    ;;
  *-episodes | *-hindsight | *-scaled) algorithm=${name%-*} ;;
  esac
  for setting in "${@:4}"; do settings+=(--set "$setting"); done
  "$binary" train "$algorithm" --env "$env" --seed 3 --steps "$steps" --threads 1 --eval-episodes 4 --out run \
    "${settings[@]}"
  mkdir "$folder/$name"
  cp run/last.safetensors "$folder/$name/session.safetensors"
  [[ ! -d run/segments ]] || cp -r run/segments "$folder/$name/"
  cp run/best.safetensors "$folder/$name/policy.safetensors"
  "$binary" eval "$folder/$name/policy.safetensors" --episodes 4 --seed 5 --csv "$folder/$name/returns.csv"
  "$binary" train --resume run --steps $((2 * steps)) --threads 1
  if [[ -d run/segments ]]; then "$binary" export run -o "$folder/$name/next.safetensors"
  else cp run/last.safetensors "$folder/$name/next.safetensors"; fi
  rm -r run
}

# Observations and rewards are normalised, and exploration depends on the state.
make ppo pendulum 32 hidden=[4,3] envs=2 horizon=8 minibatches=2 epochs=2 sde=true sde_sample_freq=4 \
  normalise_observations=true normalise_rewards=true
# Memories that begin with what was learned, scaled before the gates.
make ppo-gru cartpole-no-velocities 32 hidden=[4] units=3 envs=2 horizon=8 minibatches=2 epochs=2 learned_start=true \
  layer_norm=true
make a2c-lstm cartpole-no-velocities 32 hidden=[4] units=3 envs=2 horizon=8
# Steps of the value function first, by the moments of all advantages so far; by RMSprop; and last, with momentum.
make ppo2 pendulum 32 hidden=[4,3] envs=2 horizon=8 minibatches=2 epochs=2 critic=first critic_epochs=2 \
  advantage_scope=running
make a2c cartpole 32 hidden=[4,3] envs=2 horizon=8
make vpg pendulum 32 hidden=[4,3] envs=2 horizon=8 optimiser=sgd critic_epochs=2
# Particles, each with a critic that steps apart.
make svpg cartpole 96 hidden=[4,3] envs=2 horizon=8 num_particles=3 critic=last critic_epochs=2
make trpo cartpole 32 hidden=[4,4] envs=2 horizon=8
make dqn cartpole 64 hidden=[4,3] batch_size=4 learning_starts=32 iteration_steps=32 train_freq=4 gradient_steps=2 \
  target_update_interval=3 dueling=true
make dql cartpole 64 hidden=[4] batch_size=4 learning_starts=32 iteration_steps=32 train_freq=4 gradient_steps=2
# A process as noise, transitions of several steps.
make ddpg pendulum 40 hidden=[4,3] batch_size=4 learning_starts=20 iteration_steps=20 noise=ornstein_uhlenbeck n_step=3
# Priorities, and two kinds of updates.
make td3 pendulum 40 hidden=[4,3] batch_size=4 learning_starts=20 iteration_steps=20 prioritised=true
# The memory is full after two iterations, and grows.
make sac pendulum 40 hidden=[4,3] batch_size=4 learning_starts=20 iteration_steps=20
# Searches: STEPS are those of episodes up to the time limit.
make cem cartpole 6000 n_samples=6 best_frac=0.5
make cma-es cartpole 6000 n_samples=6
make openai-es pendulum 2400 n_samples=6
# The statistics of observations that the policy was searched with.
make ars pendulum 2400 n_samples=6 top_directions=2
make nop cartpole 2000 n_samples=2 hidden=[4]
family=(hidden=[4] meta_batch=2 rollouts=2)
make promp point-corner 1600 "${family[@]}"
make maml-ppo point-corner 1600 "${family[@]}" learn_inner_lr=true
make maml-vpg point-corner 1600 "${family[@]}"
make maml-trpo point-corner 1600 "${family[@]}"
make e-maml point-corner 1600 "${family[@]}"
make dice-maml point-corner 1600 "${family[@]}"
# Gates with the reset before and after the product; choices and vectors.
make rl2-ppo bandit 800 units=4 meta_batch=4 episodes=10 minibatches=2 critic=gru reset=after
# Memories apart for policy and value function.
make rl2-ppo-lstm bandit 800 units=4 meta_batch=4 episodes=10 minibatches=2 critic=separate layer_norm=true
make rl2-trpo point-corner 800 units=3 meta_batch=2 episodes=2 reset=before
# A recurrent encoder, by parts of contexts; the first iteration visits both tasks, and the second learns.
make pearl point-robot 120 hidden=[4] encoder=gru encoder_hidden_sizes=[3] latent_dim=2 train_tasks=2 \
  num_tasks_sample=2 num_initial_steps=20 num_steps_prior=20 num_steps_posterior=20 num_extra_rl_steps_posterior=0 \
  num_steps_per_epoch=3 meta_batch=2 batch_size=4 embedding_batch_size=10 embedding_mini_batch_size=5 \
  use_next_obs_in_context=true
# Whole episodes, each iteration of which adds other numbers of rows, to a memory that goes round (from format 4 on).
make dqn-episodes cartpole:time_limit=20 150 hidden=[4,3] envs=2 min_rollouts=4 batch_size=4 learning_starts=10 \
  gradient_steps=3 memory_size=90 n_step=2 prioritised=true target_update_interval=2

# Goals that were reached, with what ended episodes; whole episodes far shorter than their limit; actions in units of
# their bounds (from format 6 on).
make dqn-hindsight bit-flip:bits=3 80 hidden=[4] batch_size=4 learning_starts=20 iteration_steps=40 hindsight=0.8
make ppo-episodes cartpole:time_limit=300 200 hidden=[4] envs=2 min_rollouts=6 minibatches=2 epochs=2
make ppo-scaled pendulum 32 hidden=[4] envs=2 horizon=8 minibatches=2 epochs=2 scale_actions=true

# All others that there are, by their first preset.
small=(hidden=[4] units=4 envs=2 horizon=8 minibatches=2 epochs=2 n_samples=6 meta_batch=2 rollouts=2 batch_size=4
  learning_starts=20 iteration_steps=20)
names() { "$binary" list "$1" | sed -nE '2,$s/^  ([^ ]+) .*/\1/p'; }
for name in $(names algorithms); do
  [[ $made != *" $name "* ]] || continue
  [[ $wanted = "  " || $wanted = *" $name "* ]] || continue
  env=$(names presets | sed -n "s/^$name-//p" | head -n 1)
  own=()
  for setting in "${small[@]}"; do
    ! "$binary" list settings "$name" | grep -q "^  ${setting%%=*} " || own+=("$setting")
  done
  settings=()
  for setting in "${own[@]}"; do settings+=(--set "$setting"); done
  "$binary" train "$name" --env "${env:-cartpole}" --steps 1 --threads 1 --eval-every 0 --out probe "${settings[@]}"
  steps=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time/env_steps") at = i } END { print $at }' \
    probe/metrics.csv)
  rm -r probe
  make "$name" "${env:-cartpole}" $((2 * steps)) "${own[@]}"
done
