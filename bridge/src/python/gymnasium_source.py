LARGEST = 64 * 64 * 3  # numbers of an observation or an action; each option of a choice is one


class Unfit(Exception):
    """A space that cannot be: the text says why."""


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def single(np, bounds, towards):
    """The numbers of single precision next to bounds, in the direction `towards`: the nearest may lie outside."""
    exact = int if bounds.dtype.kind in "biu" else float
    found = []
    for bound in map(exact, bounds):
        number = np.float32(bound)
        if (exact(number) < bound) if towards > 0 else (exact(number) > bound):
            number = np.nextafter(number, np.float32(towards))
        found.append(float(number))
    return np.array(found)


def vectors(np, space):
    """What actions of a Box are, and what hands them over, in its type and within its bounds.

    Policies act in single precision. Whole numbers are the nearest ones to what they say, so that the two at the ends
    are as likely as the others.
    """
    low, high, whole = np.ravel(space.low), np.ravel(space.high), space.dtype.kind in "biu"
    remedy = "for example by gymnasium.wrappers.RescaleAction in a module of your own"
    shown = " ".join(str(space).split())
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise Unfit(f"actions have infinite bounds, {shown}; give them finite ones, {remedy}")
    most = float(np.finfo(np.float32).max)
    for i, (least, last) in enumerate(zip(low.astype(float).tolist(), high.astype(float).tolist())):
        if max(abs(least), abs(last), last - least) > most:
            raise Unfit(
                f"action[{i}] of {shown} has the range {least!r} to {last!r}, which is wider than the numbers of "
                f"single precision, in which policies act; give it smaller bounds, {remedy}"
            )
    least, last = single(np, low, np.inf), single(np, high, -np.inf)
    for i in np.flatnonzero(least > last)[:1].tolist():
        raise Unfit(
            f"action[{i}] of {shown} has the range {low[i]!s} to {high[i]!s}, in which single precision, in which "
            f"policies act, has no number; give it a wider one, {remedy}"
        )
    shape, dtype = space.shape, space.dtype
    if whole:
        low, high = least, last
    low, high = low.astype(float), high.astype(float)
    kind = {"kind": "box", "low": low.tolist(), "high": high.tolist(), "whole": whole}
    limited = whole or (least != low).any() or (last != high).any()

    def split(all, n):
        if whole:
            all = np.floor(all + 0.5)
        if limited:
            all = np.clip(all.reshape(n, -1), least, last)
        return all.reshape((n, *shape)).astype(dtype)

    return kind, split


def count_of(np, spaces, action):
    """How many numbers a policy has for an action: those of a vector, and one for each option of a choice."""
    if isinstance(action, spaces.Discrete):
        return int(action.n)
    if isinstance(action, spaces.MultiDiscrete):
        return sum(map(int, np.ravel(action.nvec)))
    size = 1
    for length in action.shape or ():
        size *= int(length)
    return 2 * size if isinstance(action, spaces.MultiBinary) else size


def form_of(np, spaces, action):
    """The form of actions, where it is not numbers of options from 0, or a vector of a common type."""
    form, start = {}, np.ravel(getattr(action, "start", 0))
    if start.any():
        form["start"] = start.tolist()
    if isinstance(action, spaces.Discrete):
        return form
    if len(action.shape) != 1:
        form["shape"] = list(action.shape)
    plain = np.float32 if action.dtype.kind == "f" else np.int64
    if not isinstance(action, spaces.MultiBinary) and not np.can_cast(plain, action.dtype):
        form["dtype"] = action.dtype.name
    return form


class GymnasiumSource:
    """Makes environments that are registered in Gymnasium, and translates their actions and observations."""

    def __init__(self, ask):
        import gymnasium
        import numpy as np

        self.gym, self.np, self.ask = gymnasium, np, ask
        self.id, self.arguments = ask["id"], dict(ask["arguments"])
        self.draws = bool(ask.get("render"))
        if self.draws:
            self.arguments["render_mode"] = "rgb_array"
            draw_without_display()
        quieten_mujoco(self.entry_point())
        env = self.make(0)
        self.read(env)
        self.probe(env)
        self.spec = self.described(env)
        self.spare = [env]

    def entry_point(self):
        """The class of the environment, as far as the registry tells."""
        try:
            if ":" in self.id:
                __import__(self.id.split(":")[0])
            return str(self.gym.spec(self.id.split(":")[-1]).entry_point)
        except Exception:  # making it will tell
            return ""

    def make(self, number):
        spare = getattr(self, "spare", None)
        if spare:
            return spare.pop()
        return self.gym.make(self.id, disable_env_checker=True, **self.arguments)

    def close(self, env):
        try:
            env.close()
        except BaseException:  # it has failed already
            pass

    def set_task(self, env, task):
        return env

    def read(self, env):
        """Reads the spaces."""
        np, spaces, seen, action = self.np, self.gym.spaces, env.observation_space, env.action_space
        if not seen.is_np_flattenable:
            raise Unfit(f"observations are of the space {type(seen).__name__}, which is no vector of numbers")
        self.space, self.observations = seen, int(spaces.utils.flatdim(seen))
        self.notes = []
        picture = isinstance(seen, spaces.Box) and len(seen.shape) > 1 and seen.dtype == np.uint8
        self.check_size("observations", f"pictures {seen.shape}" if picture else seen, self.observations)
        self.check_size("actions", action, count_of(np, spaces, action))
        if picture:
            self.notes.append(f"pictures {seen.shape} are taken as vectors of {self.observations} numbers")
        if self.observations == 0:
            raise Unfit("observations have no numbers")
        shape = (self.observations,)
        self.plain = None  # the shape of arrays that are taken as they are
        if isinstance(seen, spaces.Box) and seen.shape == shape:
            self.plain = shape

            def flat(row):
                row = np.asarray(row)
                if row.shape != shape:
                    raise ValueError(f"the observation has the shape {row.shape}, expected {shape}")
                return row
        else:
            inner = seen.shape if isinstance(seen, spaces.Box) else None

            def flat(row):
                if inner is not None and np.shape(row) != inner:
                    raise ValueError(f"the observation has the shape {np.shape(row)}, expected {inner}")
                row = np.asarray(spaces.utils.flatten(seen, row))
                if row.shape != shape:
                    raise ValueError(f"the observation has the shape {row.shape} as a vector, expected {shape}")
                return row

        self.flat = flat
        if isinstance(action, spaces.Discrete):
            start, self.actions = int(action.start), 1
            self.kind = {"kind": "discrete", "counts": [int(action.n)]}
            if start:
                self.split = lambda all, n: (all.astype(np.int64) + start).tolist()
            else:
                self.split = lambda all, n: all.astype(np.int64).tolist()
        elif isinstance(action, (spaces.MultiDiscrete, spaces.MultiBinary)):
            binary = isinstance(action, spaces.MultiBinary)
            counts = np.full(action.shape, 2) if binary else action.nvec
            start = 0 if binary else getattr(action, "start", 0)
            self.actions = int(np.prod(action.shape))
            self.kind = {"kind": "multidiscrete", "counts": [int(count) for count in np.ravel(counts)]}
            self.split = lambda all, n: (all.reshape((n, *action.shape)).astype(np.int64) + start).astype(action.dtype)
        elif isinstance(action, spaces.Box):
            self.actions = int(np.prod(action.shape))
            self.kind, self.split = vectors(np, action)
        else:
            raise Unfit(f"actions are of the space {type(action).__name__}, which no policy here can choose from")
        if self.actions == 0:
            raise Unfit("actions have no numbers")
        self.form = form_of(np, spaces, action)

    def check_size(self, what, space, numbers):
        """Refuses what would take minutes and all memory to set up, before any array of that size is made."""
        if numbers > LARGEST:
            shown = " ".join(str(space).split())
            raise Unfit(
                f"{what} are {shown[:100]} of {numbers} numbers, more than {LARGEST}; wrap the environment to make "
                "them smaller"
            )

    def probe(self, env):
        """Plays one step: which infos there are is known only then."""
        self.success = None
        env.action_space.seed(0)
        begun = env.reset(seed=0)
        if not (isinstance(begun, tuple) and len(begun) == 2):
            raise TypeError(f"reset() gave {type(begun).__name__} instead of an observation and infos")
        first = self.flat(begun[0])
        if first.dtype.kind not in "biuf":
            raise Unfit(f"observations are arrays of {first.dtype}, which are no real numbers")
        outcome = env.step(env.action_space.sample())
        if len(outcome) != 5:
            raise ValueError(f"step() gave {len(outcome)} values instead of 5; it is not made for Gymnasium 1.x")
        self.flat(outcome[0])
        number(outcome[1])
        for key in ("success", "is_success"):
            if key in (outcome[4] or {}):
                self.success = key
                break

    def names(self):
        """A name for each number of an observation."""
        spaces = self.gym.spaces

        def named(key, space):
            if isinstance(space, spaces.Dict):
                parts = space.spaces.items()
                return [name for inner, part in parts for name in named(f"{key}.{inner}" if key else inner, part)]
            return [f"{key or 'obs'}[{i}]" for i in range(spaces.utils.flatdim(space))]

        return named("", self.space)

    def described(self, env):
        """All that the parent has to know about the environment."""
        spec, metadata = env.spec, env.metadata or {}
        fps = metadata.get("render_fps")
        return {
            "observations": self.names(),
            "action": self.kind,
            "form": self.form or None,
            "horizon": (spec.max_episode_steps if spec else None) or 0,
            "threshold": finite(spec.reward_threshold if spec else None),
            "dt": 1 / fps if isinstance(fps, (int, float)) and fps > 0 else 0,
            "pictures": "rgb_array" in (metadata.get("render_modes") or []),
            "success": self.success is not None,
            "tasks": [],
            "notes": self.notes,
        }


def finite(number):
    """A number that JSON takes; None for others."""
    try:
        return float(number) if math.isfinite(number) else None
    except TypeError:
        return None


def draw_without_display():
    """Lets MuJoCo and pygame draw where there is no display."""
    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


def quieten_mujoco(entry_point):
    """Lets MuJoCo's warnings go to standard error, each once, instead of into a file in the user's folder."""
    if "mujoco" not in entry_point:
        return
    try:
        import mujoco

        said = set()

        def warn(text):
            text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
            if text not in said:
                said.add(text)
                print(f"MuJoCo: {text}")

        mujoco.set_mju_user_warning(warn)
    except Exception:  # an older version, or none
        pass


SOURCES = {"gymnasium": GymnasiumSource}
