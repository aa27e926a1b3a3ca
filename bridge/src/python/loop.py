MAKE, RESET, STEP, SET_TASKS, RENDER, OUTCOME, SPEC, ERROR = range(1, 9)


class Server:
    """Answers the parent's messages."""

    def __init__(self):
        self.source, self.made, self.batch = None, None, None

    def make(self, ask):
        """Makes environments, and says what they are."""
        key = {name: value for name, value in ask.items() if name not in ("count", "horizon", "first", "made")}
        if self.made != key:
            import random

            random.seed(ask["first"])
            try:
                import numpy

                numpy.random.seed(ask["first"])
            except ModuleNotFoundError:  # the source needs it too, and says so
                pass
            self.batch, self.made = None, None
            self.source = SOURCES[ask["source"]](ask)
            self.made = key
        if ask["count"]:
            if self.batch is not None:
                self.source.spare = self.batch.envs[: ask["count"]]
            self.batch = Batch(self.source, ask["count"], ask["horizon"], ask["first"])
        reply(SPEC, json.dumps(self.source.spec).encode())

    def answer(self, message):
        kind = message[0]
        if kind == STEP:
            self.batch.step(message)
        elif kind == RESET:
            self.batch.reset(message)
        elif kind == SET_TASKS:
            self.batch.set_tasks(message)
        elif kind == RENDER:
            self.batch.render(message)
        elif kind == MAKE:
            self.make(json.loads(bytes(message[4:])))
        else:
            raise ValueError(f"a message of kind {kind} is unknown")

    def close(self):
        """Closes all environments, as far as there is time: the parent ends this process after a second."""
        for env in [*(self.batch.envs if self.batch else ()), *getattr(self.source, "spare", ())]:
            self.source.close(env)


def main():
    server, requests = Server(), Requests()
    while True:
        try:
            message = requests.next()
        except ParentGone:
            return server.close()
        try:
            server.answer(message)
        except Fatal as error:
            reply(ERROR, json.dumps(described(error.__cause__)).encode())
        except BaseException as error:  # also SystemExit and KeyboardInterrupt of an environment
            reply(ERROR, json.dumps(described(error)).encode())


main()
