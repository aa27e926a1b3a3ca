TERMINATED, TRUNCATED, FAILED = 1, 2, 4
LARGEST_NUMBER = 3.4e38  # of single precision, in which policies compute
ATTEMPTS = 3  # to replace an environment, each with another seed


class Fatal(Exception):
    """An environment that cannot be replaced: the worker is of no use any more."""


def number(reward):
    """A reward as a number; also one in an array."""
    try:
        return float(reward)
    except TypeError:
        pass
    try:
        return float(reward.item())
    except Exception:
        raise TypeError(f"the reward is no number: {reward!r:.100}") from None


class Batch:
    """Environments that are stepped together, their episodes, and the numbers of the last reply."""

    def __init__(self, source, count, horizon, first):
        import numpy as np

        self.np, self.source, self.n, self.horizon, self.first = np, source, count, horizon, first
        self.envs = [source.make(first + i) for i in range(count)]
        self.tasks = [None] * count
        self.lengths = [0] * count
        # Copies: an environment may use its array again, also one that it shares with the others.
        self.rows = [None] * count
        self.errors = []
        self.pictures = [None] * count if source.draws else None
        n, width = count, source.observations
        # Header, reward f64[n], observation f64[n·O], flags u8[n], success u8[n], padding; final f64[k·O].
        flags = 8 + 8 * n + 8 * n * width
        self.head = flags + 2 * n + -2 * n % 8
        self.reply = memoryview(bytearray(self.head + 8 * n * width))
        numbers = np.frombuffer(self.reply, np.uint8)
        self.numbers = numbers[8:flags].view(np.float64)
        self.reward, self.seen = self.numbers[:n], self.numbers[n:]
        self.flags, self.success = self.reply[flags : flags + n], self.reply[flags + n : flags + 2 * n]
        self.final = numbers[self.head :].view(np.float64)
        self.rewards = struct.Struct(f"={n}d")

    def set_tasks(self, body):
        """Gives each environment its task, from the next reset on."""
        tasks = self.np.frombuffer(body, self.np.float64, offset=4).reshape(self.n, -1)
        self.tasks = [task.copy() for task in tasks]
        for i, task in enumerate(self.tasks):
            self.envs[i] = self.source.set_task(self.envs[i], task)
        reply(SET_TASKS)

    def seeds(self, body):
        """The seeds of a message; they are read when one is asked for."""
        return body[4 : 4 + 4 * self.n].cast("I")

    def reset(self, body):
        """Begins new episodes everywhere."""
        for i, seed in enumerate(self.seeds(body)):
            try:
                self.begin(i, seed)
            except BaseException as error:
                self.replace(i, seed, error)
            self.draw(i)
        self.send([0.0] * self.n, bytearray(self.n), bytearray(self.n), [], self.seeds(body))

    def begin(self, i, seed):
        """Begins an episode in an environment."""
        begun = self.envs[i].reset(seed=seed)
        if not (isinstance(begun, tuple) and len(begun) == 2):
            raise TypeError(f"reset() gave {type(begun).__name__} instead of an observation and infos")
        self.rows[i] = self.source.flat(begun[0]).copy()
        self.lengths[i] = 0

    def draw(self, i):
        """Keeps a picture of an environment, where pictures are asked for."""
        if self.pictures is not None:
            self.pictures[i] = self.np.array(self.envs[i].render())  # a copy, as of observations

    def replace(self, i, seed, error):
        """Puts a new environment in the place of one that failed, and begins an episode there."""
        self.errors.append(described(error, i))
        for attempt in range(ATTEMPTS):
            try:
                old, self.envs[i] = self.envs[i], self.source.make(self.first + i)
                self.source.close(old)
                if self.tasks[i] is not None:
                    self.envs[i] = self.source.set_task(self.envs[i], self.tasks[i])
                # Not the seed again that it may have failed by.
                self.begin(i, (seed + (attempt + 1) * 0x3C6EF372) & 0x7FFFFFFF)
                if self.odd(self.rows[i]).any():
                    raise ValueError(f"the first observation holds {self.oddest(self.rows[i])}")
                return
            except BaseException as second:
                last = second
        raise Fatal from last

    def odd(self, numbers):
        """Which numbers are NaN, infinite, or too large for single precision."""
        return ~(self.np.abs(self.np.asarray(numbers, self.np.float64)) <= LARGEST_NUMBER)

    def oddest(self, row):
        """The first such number of a row."""
        return self.np.asarray(row, self.np.float64)[self.odd(row)][0]

    def step(self, body):
        """Makes a step everywhere, and begins new episodes where some ended."""
        np, n, source, rows, lengths = self.np, self.n, self.source, self.rows, self.lengths
        offset = 4 + 4 * n + 4 * n % 8
        actions = source.split(np.frombuffer(body, np.float64, n * source.actions, offset), n)
        seeds, flat, key = self.seeds(body), source.flat, source.success
        horizon, draws, plain, ndarray = self.horizon, self.pictures is not None, source.plain, np.ndarray
        rewards, flags, success, final = [0.0] * n, bytearray(n), bytearray(n), []
        for i, (env, action) in enumerate(zip(self.envs, actions)):
            try:
                seen, reward, terminated, truncated, info = env.step(action)
                rows[i] = row = (seen if type(seen) is ndarray and seen.shape == plain else flat(seen)).copy()
                rewards[i] = reward if type(reward) is float else number(reward)
                lengths[i] = length = lengths[i] + 1
                if draws:
                    self.draw(i)
                if key is not None and succeeded(info, key):
                    success[i] = 1
                if terminated or truncated or length >= horizon:
                    flags[i] = TERMINATED if terminated else TRUNCATED
                    final.append(row)
                    self.begin(i, seeds[i])
            except BaseException as error:
                if not flags[i]:
                    final.append(None)
                    flags[i] = FAILED
                    rewards[i], success[i] = 0.0, 0
                self.replace(i, seeds[i], error)
        self.send(rewards, flags, success, final, seeds)

    def send(self, rewards, flags, success, final, seeds):
        """Sends the outcome, after a look at its numbers."""
        np, n, width = self.np, self.n, self.source.observations
        self.rewards.pack_into(self.reply, 8, *rewards)
        np.concatenate(self.rows, out=self.seen, casting="unsafe")
        # The sum of the squares is small only if all numbers are, and is had in a third of the time.
        if not self.numbers.dot(self.numbers) < LARGEST_NUMBER:
            for i in np.flatnonzero(self.odd(self.reward)).tolist():
                self.blame(i, f"the reward is {rewards[i]}", flags, success, final, seeds)
            np.concatenate(self.rows, out=self.seen, casting="unsafe")
            odd = self.odd(self.seen.reshape(n, width)).any(axis=1)
            for i in np.flatnonzero(odd).tolist():
                self.blame(i, f"the observation holds {self.oddest(self.rows[i])}", flags, success, final, seeds)
            np.concatenate(self.rows, out=self.seen, casting="unsafe")
        k, at = len(final), 0
        for i in range(n) if k else ():
            if flags[i]:
                last, place = final[at], self.final[at * width : (at + 1) * width]
                at += 1
                if last is not None:
                    place[:] = last
                    if self.odd(place).any():
                        self.errors.append(described(ValueError(f"the observation holds {self.oddest(last)}"), i))
                        flags[i], success[i], self.reward[i], last = FAILED, 0, 0.0, None
                if last is None:
                    place[:] = 0.0
        self.flags[:], self.success[:] = flags, success
        errors = json.dumps(self.errors).encode() if self.errors else b""
        self.errors = []
        end = self.head + 8 * k * width
        struct.pack_into("<IBxxx", self.reply, 0, end + len(errors) - 4, OUTCOME)
        write(self.reply[:end])
        if errors:
            write(memoryview(errors))

    def blame(self, i, problem, flags, success, final, seeds):
        """Counts a step with a number that is none as failed."""
        if not flags[i]:
            final.insert(sum(1 for flag in flags[:i] if flag), None)
        else:
            final[sum(1 for flag in flags[:i] if flag)] = None
        flags[i], success[i], self.reward[i] = FAILED, 0, 0.0
        self.replace(i, seeds[i], ValueError(problem))

    def render(self, message):
        """Sends the last picture of an environment: height, width, and three bytes for each pixel."""
        picture = self.np.asarray(self.pictures[int.from_bytes(message[4:8], "little")])
        if picture.ndim != 3 or picture.shape[2] not in (3, 4):
            raise ValueError(f"render() gave an array {picture.shape} instead of a picture [height, width, 3]")
        picture = self.np.ascontiguousarray(picture[:, :, :3].astype(self.np.uint8))
        reply(RENDER, struct.pack("<II", picture.shape[0], picture.shape[1]) + picture.tobytes())
