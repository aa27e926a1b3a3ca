"""Reinforcement learning and meta-reinforcement learning: train by the command line, and act in NumPy.

`train` begins a run, `metrics` reads what one has written, and `load` gives its policy, which acts without anything
but NumPy.
"""

from importlib.metadata import PackageNotFoundError, version

from ._error import Error
from ._load import load
from ._meta import ContextPolicy, TrialPolicy
from ._metrics import metrics
from ._policy import Policy
from ._spaces import Box, Discrete, MultiDiscrete
from ._training import Training, train

try:
    __version__ = version("quickstudy")
except PackageNotFoundError:  # the folder, without an installation
    __version__ = "0"

__all__ = [
    "Box",
    "Discrete",
    "ContextPolicy",
    "Error",
    "MultiDiscrete",
    "Policy",
    "Training",
    "TrialPolicy",
    "__version__",
    "load",
    "metrics",
    "train",
]
