LARGEST = 64 * 64 * 3  # numbers of an observation or an action; each option of a choice is one
LONGEST = 2**32 - 1  # steps of an episode


class Unfit(Exception):
    """A space that cannot be: the text says why."""


def optional(read, default=None):
    """Reads a property that not each environment has; one of a stranger may raise instead."""
    try:
        return read()
    except Exception:
        return default


def check_size(what, space, numbers):
    """Refuses what would take minutes and all memory to set up, before any array of that size is made."""
    if numbers > LARGEST:
        shown = " ".join(optional(lambda: str(space), type(space).__name__).split())
        raise Unfit(
            f"{what} are {shown[:100]} of {numbers} numbers, more than {LARGEST}; wrap the environment to make "
            "them smaller"
        )


def succeeded(info, key):
    """Tells whether a step was a success; infos that are neither true nor false say that it was none."""
    try:
        return bool(info.get(key))
    except Exception:
        return False


class Leaf:
    """A space within a space: its name, the keys that lead to it, and its length as a vector, if it is numbers."""

    def __init__(self, spaces, space, name, keys):
        self.space, self.name, self.keys = space, name, keys
        self.length = optional(lambda: int(spaces.utils.flatdim(space)))

    def path(self):
        return ".".join(str(key) for key in self.keys)


def leaves(spaces, space, name="", keys=()):
    """The spaces of which a Dict or a Tuple is made, in order, at any depth; others are the only one."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from leaves(spaces, part, f"{name}.{key}" if name else str(key), (*keys, key))
    elif isinstance(space, spaces.Tuple):
        for number, part in enumerate(space.spaces):
            yield from leaves(spaces, part, name, (*keys, number))
    else:
        yield Leaf(spaces, space, name, keys)


class Observation:
    """How observations of a space become vectors."""

    def __init__(self, np, spaces, space):
        self.np, self.spaces, self.space = np, spaces, space
        found = list(leaves(spaces, space))
        self.leaves = [leaf for leaf in found if leaf.length is not None]
        if not self.leaves:
            raise Unfit(f"observations are of the space {type(space).__name__}, which is no vector of numbers")
        left_out = [f"`{leaf.path()}` ({type(leaf.space).__name__})" for leaf in found if leaf.length is None]
        self.notes = [f"left out of observations, as no numbers: {', '.join(left_out)}"] if left_out else []
        self.length = sum(leaf.length for leaf in self.leaves)
        picture = isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) > 1
        check_size("observations", f"pictures {space.shape}" if picture else space, self.length)
        if picture:
            self.notes.append(f"pictures {space.shape} are taken as vectors of {self.length} numbers")
        if self.length == 0:
            raise Unfit("observations have no numbers")
        self.box = space.shape if isinstance(space, spaces.Box) else None
        # The shape of arrays that are taken as they are.
        self.plain = (self.length,) if self.box == (self.length,) else None

    def flat(self, seen):
        """An observation as a vector."""
        np = self.np
        if self.box is not None and np.shape(seen) != self.box:
            raise ValueError(f"the observation has the shape {np.shape(seen)}, expected {self.box}")
        row = np.asarray(seen) if self.plain else np.concatenate([self.part(leaf, seen) for leaf in self.leaves])
        if row.shape != (self.length,):
            raise ValueError(f"the observation has the shape {row.shape} as a vector, expected {(self.length,)}")
        return row

    def part(self, leaf, seen):
        """The numbers of a leaf."""
        for key in leaf.keys:
            seen = seen[key]
        return self.np.ravel(self.np.asarray(self.spaces.utils.flatten(leaf.space, seen)))

    def names(self):
        """A name for each number: places in a Tuple are counted through."""
        counts = {}
        names = []
        for leaf in self.leaves:
            first = counts.get(leaf.name, 0)
            counts[leaf.name] = first + leaf.length
            names += [f"{leaf.name or 'obs'}[{number}]" for number in range(first, first + leaf.length)]
        return names
