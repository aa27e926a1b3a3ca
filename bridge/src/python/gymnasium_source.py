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
    shown = " ".join(optional(lambda: str(space), type(space).__name__).split())
    # RescaleAction refuses infinite bounds, and empty ranges.
    box = f"gymnasium.spaces.Box({'0' if space.dtype.kind in 'bu' else '-1'}, 1, {space.shape}, '{space.dtype.name}')"
    remedy, clip = (
        f"in a module of your own, for example gymnasium.wrappers.TransformAction(env, lambda action: {what}, {box})"
        for what in ("action", "action.clip(env.action_space.low, env.action_space.high)")
    )
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise Unfit(f"actions have infinite bounds, {shown}; give them finite ones {remedy}")
    most = float(np.finfo(np.float32).max)
    for i, (least, last) in enumerate(zip(low.astype(float).tolist(), high.astype(float).tolist())):
        if max(abs(least), abs(last), last - least) > most:
            raise Unfit(
                f"action[{i}] of {shown} has the range {least!r} to {last!r}, which is wider than the numbers of "
                f"single precision, in which policies act; give it smaller bounds {remedy}"
            )
    least, last = single(np, low, np.inf), single(np, high, -np.inf)
    for i in np.flatnonzero(low >= high)[:1].tolist():
        raise Unfit(
            f"action[{i}] of {shown} has the range {low[i]!s} to {high[i]!s}, in which there is nothing to choose; "
            f"give it a wider one {clip}"
        )
    for i in np.flatnonzero(least >= last)[:1].tolist():
        has = "no number" if least[i] > last[i] else "only one number"
        raise Unfit(
            f"action[{i}] of {shown} has the range {low[i]!s} to {high[i]!s}, in which single precision, in which "
            f"policies act, has {has}; give it a wider one {clip}"
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
    for length in optional(lambda: action.shape) or ():
        size *= int(length)
    return 2 * size if isinstance(action, spaces.MultiBinary) else size


def form_of(np, spaces, action):
    """The form of actions, where it is not numbers of options from 0, or a vector of a common type."""
    form, start = {}, np.ravel(optional(lambda: action.start, 0))
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


def of_gymnasium_1(env, call, name, count):
    """Calls a method, which has to give as many values as in Gymnasium 1.x.

    Wrappers of `make` take it apart first, with errors that say nothing of it, so one that fails is asked without them.
    """
    error, failed = None, object()
    try:
        values = call(env)
    except Exception as raised:
        error, values = raised, optional(lambda: call(env.unwrapped), failed)
        if values is failed and name == "reset" and isinstance(raised, TypeError):  # Gym before 0.26 takes no seed
            values = optional(lambda: env.unwrapped.reset(), failed)
    fits = isinstance(values, tuple) and len(values) == count
    if error is not None and (fits or values is failed):
        raise error
    if fits:
        return values
    given = f"{len(values)} values" if isinstance(values, tuple) else type(values).__name__
    wanted = "observation, reward, terminated, truncated and infos" if count == 5 else "an observation and infos"
    raise Unfit(
        f"{name}() gave {given} instead of {wanted}: it is not made for Gymnasium 1.x; "
        "its authors may have a newer version, or wrap it in a module of your own"
    )


class GymnasiumSource:
    """Makes environments that are registered in Gymnasium, and translates their actions and observations."""

    def __init__(self, ask):
        import gymnasium
        import numpy as np

        self.gym, self.np, self.ask = gymnasium, np, ask
        self.id, self.arguments = ask["id"], dict(ask["arguments"])
        limit = self.arguments.get("max_episode_steps")
        if isinstance(limit, float) and limit.is_integer():  # 1e3 is one in JSON
            self.arguments["max_episode_steps"] = int(limit)
        self.draws, self.notes = bool(ask.get("render")), []
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
        np, spaces, action = self.np, self.gym.spaces, env.action_space
        self.observation = Observation(np, spaces, env.observation_space)
        self.observations, self.plain, self.flat = (
            self.observation.length,
            self.observation.plain,
            self.observation.flat,
        )
        self.notes += self.observation.notes
        check_size("actions", action, count_of(np, spaces, action))
        if isinstance(action, spaces.Discrete):
            start, self.actions = int(optional(lambda: action.start, 0)), 1
            self.kind = {"kind": "discrete", "counts": [int(action.n)]}
            if start:
                self.split = lambda all, n: (all.astype(np.int64) + start).tolist()
            else:
                self.split = lambda all, n: all.astype(np.int64).tolist()
        elif isinstance(action, (spaces.MultiDiscrete, spaces.MultiBinary)):
            binary = isinstance(action, spaces.MultiBinary)
            counts = np.full(action.shape, 2) if binary else action.nvec
            start = 0 if binary else optional(lambda: action.start, 0)
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

    def probe(self, env):
        """Plays one step: which infos there are is known only then."""
        np = self.np
        optional(lambda: env.action_space.seed(0))
        begun = of_gymnasium_1(env, lambda env: env.reset(seed=0), "reset", 2)
        first = self.flat(begun[0])
        if first.dtype.kind not in "biuf":
            raise Unfit(f"observations are arrays of {first.dtype}, which are no real numbers")
        action = env.action_space.sample()
        seen, reward, _, _, infos = of_gymnasium_1(env, lambda env: env.step(action), "step", 5)
        for what, numbers in (("first observation", first), ("observation of a step", self.flat(seen))):
            odd = numbers[~np.isfinite(numbers.astype(float))]
            if odd.size:
                raise Unfit(f"the {what} holds {odd[0]}; policies see numbers")
        if not math.isfinite(number(reward)):
            raise Unfit(f"the reward of a step is {reward}; policies learn from numbers")
        self.success = None
        for key in ("success", "is_success"):
            told = optional(lambda key=key: [infos[key]], [])
            if told and optional(lambda told=told: number(told[0])) is not None:
                self.success = key
                break
            if told:
                self.notes.append(f"left out of infos, as no number: `{key}` ({type(told[0]).__name__})")

    def described(self, env):
        """All that the parent has to know about the environment."""
        spec = optional(lambda: env.spec)
        fps = optional(lambda: env.metadata.get("render_fps"))
        limit = optional(lambda: spec.max_episode_steps) or 0
        if not 0 <= optional(lambda: int(limit), -1) <= LONGEST:
            raise Unfit(
                f"max_episode_steps is {limit!r:.30}, expected 1 to {LONGEST}; write ?max_episode_steps=N behind it"
            )
        return {
            "observations": self.observation.names(),
            "action": self.kind,
            "form": self.form or None,
            "horizon": int(limit),
            "threshold": finite(optional(lambda: spec.reward_threshold)),
            "dt": (finite(1 / fps) or 0) if isinstance(fps, (int, float)) and fps > 0 else 0,
            "pictures": optional(lambda: "rgb_array" in env.metadata["render_modes"], False),
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
