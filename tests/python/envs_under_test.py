"""Environments of Gymnasium for the tests: they show what they are given, and fail in every way."""

import ctypes
import itertools
import multiprocessing
import os
import signal
import sys
import tempfile
import time

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import register


class Mission(spaces.Space):
    """A space of a stranger, which has none of the optional properties: that of the base class raises."""

    def sample(self, mask=None, probability=None):
        return "go to the door"


SPACES = {
    "box": spaces.Box(-1, 1, (3,), np.float32),
    "box64": spaces.Box(-1, 1, (2, 2), np.float64),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "tenth": spaces.Box(-0.1, 0.1, (1,), np.float64),
    "uneven": spaces.Box(np.array([0.1, -0.3]), np.array([0.7, 0.3]), dtype=np.float64),
    "half": spaces.Box(-0.1, 0.1, (1,), np.float16),
    "few": spaces.Box(-2, 2, (1,), np.int64),
    "int8": spaces.Box(-128, 127, (2,), np.int8),
    "uint8": spaces.Box(0, 255, (1,), np.uint8),
    "int32": spaces.Box(-(2**31), 2**31 - 1, (1,), np.int32),
    "int64": spaces.Box(-(2**63), 2**63 - 1, (1,), np.int64),
    "uint64": spaces.Box(0, 2**64 - 1, (1,), np.uint64),
    "huge": spaces.Box(-1e300, 1e300, (1,), np.float64),
    "widest": spaces.Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,), np.float32),
    "narrow": spaces.Box(0.1, 0.1 + 1e-12, (1,), np.float64),
    "fixed": spaces.Box(np.array([-1.0, 0.5]), np.array([1.0, 0.5]), dtype=np.float64),
    "fixed_byte": spaces.Box(3, 3, (1,), np.uint8),
    "lonely": spaces.Box(2**53, 2**53 + 1, (1,), np.int64),
    "lonely_float": spaces.Box(1.0, 1.0 + 1e-12, (1,), np.float64),
    "discrete": spaces.Discrete(3),
    "shifted": spaces.Discrete(3, start=-1),
    "multidiscrete": spaces.MultiDiscrete([2, 3]),
    "square": spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    "offset": spaces.MultiDiscrete([2, 3], start=np.array([5, -1])),
    "narrow_type": spaces.MultiDiscrete([2, 3], dtype=np.int32),
    "multibinary": spaces.MultiBinary(3),
    "binaries": spaces.MultiBinary((2, 2)),
    "number": spaces.Box(-1, 1, (), np.float32),
    "nested": spaces.Dict(
        {"z": spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(0, 1, (1,))}), "c": spaces.Discrete(2)}
    ),
    "dict": spaces.Dict({"b": spaces.Box(0, 1, (2,), np.float32), "a": spaces.Discrete(3)}),
    "tuple": spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (1,), np.float32))),
    "picture": spaces.Box(0, 255, (4, 4, 3), np.uint8),
    "large": spaces.Box(0, 255, (96, 96, 3), np.uint8),
    "large_floats": spaces.Box(0, 1, (120, 120, 3), np.float32),
    "large_vector": spaces.Box(0, 1, (20_000,), np.float32),
    "huge_discrete": spaces.Discrete(10**12),
    "huge_multidiscrete": spaces.MultiDiscrete([10**9, 10**9]),
    "huge_multibinary": spaces.MultiBinary(10**9),
    "huge_dict": spaces.Dict({"a": spaces.Discrete(10**9), "b": spaces.Discrete(2)}),
    "sequence": spaces.Sequence(spaces.Discrete(2)),
    "text": spaces.Text(3),
    "mission": Mission((), None),
    "missions": spaces.Dict(
        {"a": Mission((), None), "b": spaces.Tuple((Mission((), None), spaces.Sequence(spaces.Discrete(2))))}
    ),
    "partly": spaces.Dict(
        {
            "mission": Mission((), None),
            "z": spaces.Dict({"path": spaces.Sequence(spaces.Discrete(2)), "a": spaces.Box(0, 1, (2,), np.float32)}),
            "pair": spaces.Tuple((spaces.Discrete(2), Mission((), None), spaces.Discrete(3))),
        }
    ),
}


class Echo(gymnasium.Env):
    """Sees the action that it was given last, behind the number of its type: 0 int, 1 int64, 2 int8, 3 f32, 4 f64."""

    TYPES = [np.dtype(np.int64), np.dtype(np.int8), np.dtype(np.float32), np.dtype(np.float64)]

    def __init__(self, action="discrete", ends=0):
        self.action_space, self.ends = SPACES[action], ends
        shape = getattr(self.action_space, "shape", ()) or (1,)
        self.size = int(np.prod(shape))
        self.observation_space = spaces.Box(-np.inf, np.inf, (1 + self.size,), np.float64)

    def seen(self, action):
        kind = 0 if type(action) is int else 1 + self.TYPES.index(action.dtype)
        return np.concatenate([[kind], np.ravel(action)]).astype(np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.full(1 + self.size, self.np_random.random()), {}

    def step(self, action):
        self.steps += 1
        over = bool(self.ends) and self.steps >= self.ends
        return self.seen(action), float(self.steps), over, over, {"is_success": over}


class Within(gymnasium.Env):
    """Refuses actions outside of its space, and sees the first number of the last one."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def __init__(self, action):
        self.action_space = SPACES[action]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1), {}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is outside of {self.action_space}"
        first = float(action.flat[0])
        return np.array([first]), 1.0 - abs(first) / 1e30, False, False, {}


class Sample(gymnasium.Env):
    """Sees samples of a space."""

    def __init__(self, space):
        self.observation_space, self.action_space = SPACES[space], spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


def segfault():
    ctypes.string_at(0)


def fork():
    """Dies, and leaves a child behind that holds its pipes."""
    if os.fork() == 0:
        time.sleep(600)
    os.kill(os.getpid(), signal.SIGKILL)


def copy():
    """Goes on in two processes: both would read and answer, and one stays where nobody waits for it."""
    if os.fork() == 0 and os.fork() == 0:
        time.sleep(600)


def helper():
    """Leaves a process of multiprocessing behind, and goes on."""
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,), daemon=True).start()


def spin():
    while True:
        pass


def count():
    """Holds the interpreter's lock in a loop of C code."""
    sum(itertools.repeat(0))


def fail():
    raise RuntimeError("the simulator has lost its way")


class Faulty(gymnasium.Env):
    """Walks on a line, and fails now and then: in the ways that `kinds` names, each with the chance `chance`.

    Making it takes `slow` seconds, as an import may.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(2)
    made = 0

    ACTS = {
        "raise": fail,
        "exit": sys.exit,
        "interrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt()),
        "_exit": lambda: os._exit(7),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "segfault": segfault,
        "hang": lambda: time.sleep(600),
        "spin": spin,
        "count": count,
        "copy": copy,
        "helper": helper,
        "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "fork": fork,
        "print": lambda: print("noise " * 1000, flush=True),
        "shell": lambda: os.system("echo a child shell prints"),
    }
    OUTCOMES = {
        "nan": lambda seen: (seen * np.nan, 0.0),
        "inf_reward": lambda seen: (seen, np.inf),
        "huge": lambda seen: (seen * 1e39 + 1e39, 0.0),
        "half": lambda seen: (seen, "\ud800"),
        "shape": lambda seen: (seen[:1], 0.0),
        "scalar": lambda seen: (0.5, 0.0),
        "none": lambda seen: (None, 0.0),
        "none_reward": lambda seen: (seen, None),
    }

    def __init__(self, kinds="raise", chance=0.1, at=0, in_reset=0.0, in_init=0, slow=0):
        self.kinds, self.chance, self.at, self.in_reset = kinds.split(","), chance, at, in_reset
        time.sleep(slow)
        # So many processes of one parent die, but not in the first one, which is made to see what there is.
        deaths = os.path.join(tempfile.gettempdir(), f"quickstudy-deaths-{os.getppid()}")
        if Faulty.made and in_init and (not os.path.exists(deaths) or os.path.getsize(deaths) < in_init):
            with open(deaths, "a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        Faulty.made += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed != 0 and self.np_random.random() < self.in_reset:
            raise RuntimeError("this seed has no first state")
        self.place, self.steps = self.np_random.random(), 0
        return np.array([self.place, 0.0]), {}

    def step(self, action):
        self.steps += 1
        self.place += action - 0.5
        seen = np.array([self.place, self.steps], dtype=np.float64)
        # Not in the first step, which is made to see what there is.
        if self.steps > 1 and (self.steps == self.at or self.np_random.random() < self.chance):
            kind = self.kinds[self.np_random.integers(len(self.kinds))]
            if kind in self.OUTCOMES:
                seen, reward = self.OUTCOMES[kind](seen)
                return seen, reward, False, False, {}
            self.ACTS[kind]()
        return seen, 1.0, self.steps >= 40, False, {}


class Unlimited(Faulty):
    """Says nothing of a time limit."""

    def __init__(self):
        super().__init__(chance=0.0)


class Broken(Faulty):
    """Cannot be reset."""

    def reset(self, *, seed=None, options=None):
        raise OSError("the licence has run out")


class OldStep(Faulty):
    """Has the step of Gym before 0.26."""

    def step(self, action):
        return super().step(action)[:4]


class OldReset(Faulty):
    """Has the reset of Gym before 0.26."""

    def reset(self):
        return super().reset()[0]


class Unknown(Faulty):
    """Has numbers that are none from the first step on."""

    def __init__(self, where):
        super().__init__(chance=0.0)
        self.where = where

    def reset(self, *, seed=None, options=None):
        seen, info = super().reset(seed=seed)
        return seen * (np.nan if self.where == "reset" else 1.0), info

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen * (np.inf if self.where == "step" else 1.0), np.nan if self.where == "reward" else reward, *rest


class Strange(Faulty):
    """Raises where others have what not each environment has, and has infos that are no numbers."""

    @property
    def metadata(self):
        raise NotImplementedError

    def __init__(self):
        super().__init__(chance=0.0)

    def step(self, action):
        return *super().step(action)[:4], {"success": "not yet", "is_success": [0, 1], 3: object()}


class Fussy(Faulty):
    """Cannot be made in several ways."""

    def __init__(self, way):
        if way == "assert":
            assert self.kinds_of(way) == 3
        elif way == "numpy":
            np.zeros(2).reshape(3)
        elif way == "cause":
            try:
                {}["size"]
            except KeyError as error:
                raise TypeError("there is no size") from error

    def kinds_of(self, way):
        return len(way) - 4


class Shared(gymnasium.Env):
    """Sees a random bit, and is rewarded for it as the action. All write into one array of the class, also pictures."""

    observation_space, action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32), spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"]}
    SEEN, PICTURE = np.zeros(1, np.float32), np.zeros((4, 4, 3), np.uint8)

    def __init__(self, own=False, render_mode=None):
        self.render_mode = render_mode
        self.array = np.zeros(1, np.float32) if own else self.SEEN

    def seen(self):
        self.bit = int(self.np_random.integers(2))
        self.array[0] = self.bit
        return self.array

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.seen(), {}

    def step(self, action):
        reward = float(action == self.bit)
        return self.seen(), reward, False, False, {}

    def render(self):
        self.PICTURE[:] = 200 * self.bit
        return self.PICTURE


class Nothing(gymnasium.Env):
    """Does nothing, for measurements of what is around a step."""

    action_space, observation_space = spaces.Discrete(2), spaces.Box(-1, 1, (4,), np.float32)
    SEEN, INFO = np.zeros(4, np.float32), {}

    def reset(self, *, seed=None, options=None):
        return self.SEEN, self.INFO

    def step(self, action):
        return self.SEEN, 1.0, False, False, self.INFO


register("Echo-v0", Echo, max_episode_steps=50)
register("Within-v0", Within, max_episode_steps=50)
register("Sample-v0", Sample, max_episode_steps=50)
register("Faulty-v0", Faulty, max_episode_steps=30)
register("Unlimited-v0", Unlimited)
register("Broken-v0", Broken, max_episode_steps=30)
register("OldStep-v0", OldStep, max_episode_steps=30, order_enforce=False)
register("OldReset-v0", OldReset, max_episode_steps=30)
register("Unknown-v0", Unknown, max_episode_steps=30)
register("Strange-v0", Strange, max_episode_steps=30)
register("Fussy-v0", Fussy, max_episode_steps=30)
register("Shared-v0", Shared, max_episode_steps=20)
register("Nothing-v0", Nothing, max_episode_steps=1000)
