class MetaWorldSource:
    """Makes environments of Meta-World, each of a task: the number of its class, and that of its goal.

    Tasks are those of the benchmark classes. The ids that Meta-World registers in Gymnasium play the goals of tests.
    """

    CENTRE = (0.0, 0.7, 0.2)  # metres; the hand moves about it
    STEPS = 500  # of an episode, at most

    def __init__(self, ask):
        self.draws, self.success, self.spare, self.notes = bool(ask.get("render")), "success", [], []
        if self.draws:
            draw_without_display()
        quieten_mujoco("mujoco")
        import metaworld
        import numpy as np

        self.metaworld, self.np = metaworld, np
        self.arguments = {"seed": 0, "standardise": True, "reward_scale": 1.0, "one_hot": False}
        self.arguments |= {"max_episode_steps": self.STEPS, "task_per_episode": False}
        for key, value in ask["arguments"].items():
            if key not in self.arguments:
                raise Unfit(f"there is no argument `{key}`; there are {', '.join(self.arguments)}")
            kind = type(self.arguments[key])
            if not (type(value) is kind or kind is float and type(value) is int):
                raise Unfit(f"{key} is {value!r}, expected a value such as {json.dumps(self.arguments[key])}")
            self.arguments[key] = value
        limit = self.arguments["max_episode_steps"]
        if not 1 <= limit <= self.STEPS:
            raise Unfit(f"max_episode_steps is {limit}, expected 1 to {self.STEPS}")
        self.read(ask["id"], ask.get("made"))
        self.observations = 39 + (len(self.names) if self.arguments["one_hot"] else 0)
        self.plain, self.actions = (self.observations,), 4
        self.spec = {
            "observations": self.labels(),
            "action": {"kind": "box", "low": [-1.0] * 4, "high": [1.0] * 4},
            "horizon": limit,
            "threshold": None,
            "dt": 0.0125,
            "pictures": True,
            "success": True,
            "tasks": [["class", 0, len(self.names)], ["goal", 0, max(map(len, self.vectors))]],
            "classes": self.names,
            "goals": [len(goals) for goals in self.vectors],
            "split": self.split_at,
            "made": None if ask.get("made") else self.made(),
            "notes": [],
        }
        self.drawn = not self.partially or self.arguments["task_per_episode"]
        if self.drawn:
            self.spec["tasks"], self.spec["classes"] = [], []

    def read(self, name, made):
        """Finds the classes and goals of a benchmark; `made` has them where another worker has found them."""
        family, _, task = name.partition("-")
        if family in ("ML1", "MT1"):
            if not task:
                raise Unfit(f"{family} is of one task; write for example {family}-reach")
            task = task if task.endswith("-v3") else f"{task}-v3"
            known = sorted(self.metaworld.ML1.ENV_NAMES)
            if task not in known:
                import difflib

                near = difflib.get_close_matches(task, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                raise Unfit(f"there is no task {task}; {hint}")
        elif task or family not in ("ML10", "ML45", "MT10", "MT50"):
            raise Unfit("there is no such benchmark; there are ML1-TASK, ML10, ML45, MT1-TASK, MT10 and MT50")
        self.partially = family.startswith("ML")
        if made is None:
            made = self.find(family, task)
        self.names, self.split_at = made["classes"], made["split"]
        self.vectors = [[self.np.array(goal) for goal in goals] for goals in made["goals"]]

    def find(self, family, task):
        """The goals of each class: those of training, then, behind the place `split`, those of tests."""
        benchmark = getattr(self.metaworld, family)
        seed = int(self.arguments["seed"])
        benchmark = benchmark(task, seed=seed) if task else benchmark(seed=seed)

        def goals(tasks, name):
            return [self.data(one)["rand_vec"].tolist() for one in tasks if one.env_name == name]

        train, test = list(benchmark.train_classes), list(benchmark.test_classes)
        if family in ("ML1", "MT1"):
            first = goals(benchmark.train_tasks, task)
            second = goals(benchmark.test_tasks, task) if family == "ML1" else []
            return {"classes": [task], "goals": [first + second], "split": {"goal": len(first) if second else 0}}
        names = train + test
        tasks = list(benchmark.train_tasks) + list(benchmark.test_tasks)
        split = {"class": len(train) if test else 0}
        return {"classes": names, "goals": [goals(tasks, name) for name in names], "split": split}

    def data(self, task):
        import pickle

        return pickle.loads(task.data)

    def made(self):
        return {
            "classes": self.names,
            "split": self.split_at,
            "goals": [[goal.tolist() for goal in goals] for goals in self.vectors],
        }

    def labels(self):
        parts = ["hand_x", "hand_y", "hand_z", "gripper"] + [f"object[{i}]" for i in range(14)]
        names = parts + [f"last_{part}" for part in parts] + ["goal_x", "goal_y", "goal_z"]
        return names + ([f"is {name}" for name in self.names] if self.arguments["one_hot"] else [])

    def make(self, number):
        if self.spare:
            slot = self.spare.pop()
            slot.own = number % (self.split_at.get("class") or len(self.names))
            return slot
        return Slot(self, number % (self.split_at.get("class") or len(self.names)))

    def close(self, env):
        pass

    def set_task(self, env, task):
        env.set_task(int(task[0]), int(task[1]))
        return env

    def flat(self, row):
        return row

    def split(self, all, n):
        return all.reshape(n, 4).copy()  # the message's place is that of the next one too


class Slot:
    """One environment: it keeps the simulation of the last class that it played, as making one takes 0.1 s."""

    def __init__(self, source, own):
        self.source, self.own, self.number, self.env = source, own, None, None

    def set_task(self, number, goal):
        import pickle

        source = self.source
        name = source.names[number]
        kind = source.metaworld.env_dict.ALL_V3_ENVIRONMENTS[name]
        if number != self.number:
            self.env, self.number = kind(render_mode="rgb_array" if source.draws else None), number
        vector = source.vectors[number][goal]
        data = {"rand_vec": vector, "env_cls": kind, "partially_observable": source.partially}
        self.env.set_task(source.metaworld.Task(env_name=name, data=pickle.dumps(data)))

    def reset(self, *, seed):
        if self.source.drawn:  # the class of this place, and a goal of training that the seed names
            count = self.source.split_at.get("goal") or len(self.source.vectors[self.own])
            self.set_task(self.own, seed % count)
        return self.seen(self.env.reset()[0]), {}

    def step(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        return self.seen(seen), reward * self.source.arguments["reward_scale"], terminated, truncated, info

    def render(self):
        return self.env.render()

    def seen(self, row):
        """The observation: places of the hand in tenths of a metre from its centre, twice, if they are standardised."""
        source = self.source
        if source.arguments["standardise"]:
            row = row.copy()
            row[0:3] = (row[0:3] - source.CENTRE) * 5
            row[18:21] = (row[18:21] - source.CENTRE) * 5
            if not source.partially:
                row[36:39] = (row[36:39] - source.CENTRE) * 5
        if source.arguments["one_hot"]:
            kind = source.np.zeros(len(source.names))
            kind[self.number] = 1
            row = source.np.concatenate([row, kind])
        return row


SOURCES["metaworld"] = MetaWorldSource
