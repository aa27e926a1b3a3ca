#!/usr/bin/env bash
# Trains for a long time and watches: resident memory, open files and threads, environment steps per second, size of the
# run folder.
#   scripts/soak.sh [MINUTES [ARGUMENTS OF train]]   an hour of PPO on CartPole, by default
# Ends with figures for docs/benchmarks/building.md, and with 1 where memory grows by more than 1 % an hour after the
# first five minutes (a tenth of the time where that is less), descriptors or threads grow, or speed drifts by more than
# 5 %. On a busy machine speed tells nothing: `QUICKSTUDY_SOAK_SPEED=0` leaves it out. Linux only: it reads /proc.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-60}
shift || true
[[ $# -gt 0 ]] || set -- ppo --env cartpole
program=${QUICKSTUDY:-target/release/quickstudy}
[[ -x $program ]] || cargo build --release
folder=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; rm -rf "$folder"' EXIT

"$program" train "$@" --steps 1000000000000 --eval-every 0 --out "$folder/run" >"$folder/out" 2>&1 &
pid=$!
every=$((minutes >= 20 ? 10 : 2))
end=$((SECONDS + minutes * 60))
while ((SECONDS < end)); do
  sleep "$every"
  [[ -d /proc/$pid ]] || { cat "$folder/out" >&2; echo "the run ended by itself" >&2; exit 1; }
  read -r _ rss < <(grep VmRSS "/proc/$pid/status")
  read -r _ threads < <(grep Threads "/proc/$pid/status")
  rows=$(tail -n 1 "$folder/run/metrics.jsonl" 2>/dev/null || true)
  steps=$(grep -o '"time/env_steps":[0-9]*' <<<"$rows" | cut -d: -f2 || true)
  sps=$(grep -o '"time/sps":[0-9.e+]*' <<<"$rows" | cut -d: -f2 || true)
  descriptors=$(ls "/proc/$pid/fd" | wc -l)
  size=$(du -sk "$folder/run" | cut -f1)
  echo "$SECONDS ${rss%% *} $descriptors $threads ${steps:-0} ${sps:-0} $size" >>"$folder/samples"
done
kill -INT "$pid"
wait "$pid"
"$program" eval "$folder/run" --last --episodes 10

QUICKSTUDY_SOAK_SPEED=${QUICKSTUDY_SOAK_SPEED:-1} awk -v minutes="$minutes" '
  function low(a, from, to,   i, least) {
    least = a[from]
    for (i = from; i <= to; i++) if (a[i] < least) least = a[i]
    return least
  }
  NR == 1 { begin = $1 }
  { warm = minutes * 60 / 10; if (warm > 300) warm = 300 }
  $1 - begin >= warm {
    n++; x = ($1 - begin) / 3600; sx += x; sy += $2; sxx += x * x; sxy += x * $2
    speed[n] = $6; fds[n] = $3; threads[n] = $4
  }
  { steps = $5; last = $2; folder = $7; if ($2 > peak) peak = $2 }
  END {
    if (n < 10) { print "too few samples: " n; exit 1 }
    slope = (n * sxy - sx * sy) / (n * sxx - sx * sx) / (sy / n) * 100
    tenth = int(n / 10)
    # A file that is being written and the thread that writes it come and go: the fewest of a tenth count.
    fd = low(fds, 1, tenth); th = low(threads, 1, tenth)
    if (low(fds, n + 1 - tenth, n) > fd) more = "descriptors grew from " fd
    if (low(threads, n + 1 - tenth, n) > th) more = more " threads grew from " th
    for (i = 1; i <= tenth; i++) { first += speed[i]; final += speed[n + 1 - i] }
    drift = first > 0 ? (final / first - 1) * 100 : 0
    printf "%d minutes, %d steps: ", minutes, steps
    printf "%.1f MiB at the end, %.1f MiB at most, %+.2f %% an hour; ", last / 1024, peak / 1024, slope
    printf "%d descriptors, %d threads; ", fd, th
    printf "speed of the last tenth %+.1f %%; %.1f MiB of files\n", drift, folder / 1024
    if (more) { print more; bad = 1 }
    if (slope > 1) { print "memory grows"; bad = 1 }
    if (ENVIRON["QUICKSTUDY_SOAK_SPEED"] != "0" && (drift > 5 || drift < -5)) { print "speed drifts"; bad = 1 }
    exit bad
  }' "$folder/samples"
