"""Evaluations that pycma takes to f <= 1e-10 in ten dimensions, medians over 11 seeds.

    python -m venv /tmp/pycma && /tmp/pycma/bin/pip install cma==4.5.0
    /tmp/pycma/bin/python tests/peers/pycma_evaluations.py

The numbers stand in core/src/algo/search/cma_es/tests.rs.
"""

import statistics
import warnings

warnings.filterwarnings('ignore')
import cma  # noqa: E402
import numpy as np  # noqa: E402

N = 10
FUNCTIONS = {
    'sphere': (0.5, lambda x: float(np.sum(x * x))),
    'ellipsoid': (0.5, lambda x: float(np.sum(1e6 ** (np.arange(N) / (N - 1)) * x * x))),
    'rosenbrock': (0.0, lambda x: float(np.sum(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2))),
}


def evaluations(x0, f, options):
    options = dict(options, ftarget=1e-10, verbose=-9, maxfevals=100_000, tolfun=0, tolfunhist=0, tolx=0)
    es = cma.CMAEvolutionStrategy(N * [x0], 0.3, options)
    es.optimize(f)
    return es.result.evaluations if es.result.fbest <= 1e-10 else None


for separable in (False, True):
    for name, (x0, f) in FUNCTIONS.items():
        if separable and name == 'rosenbrock':
            continue
        counts = [evaluations(x0, f, {'seed': seed, 'CMA_diagonal': separable}) for seed in range(1, 12)]
        reached = [count for count in counts if count]
        print(
            'separable' if separable else 'full',
            name,
            statistics.median(reached),
            [min(reached), max(reached)],
            len(counts) - len(reached),
            'failed',
        )
