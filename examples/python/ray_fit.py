"""A private classifier from a Ray dataset, whose rows stay where Ray has put them.

    python3 ray_fit.py rows.parquet ledger.jsonl model.safetensors

Blocks have a column `features` (n x d) and a column `label` (0 to classes - 1). Tasks are retried by Ray: a block counts
once.
"""
import sys

import dpreduce

_SUMMED_AT_ONCE = 8


def fit_blocks(ray, blocks, features, ledger=None, **options):
    """dpreduce.fit on `blocks`, references to pairs (x, y) of arrays. `ray` is the module."""
    plan = dpreduce.Plan(features, **options)
    session = plan.start(ledger, range(len(blocks)))

    @ray.remote(max_retries=5)
    def partial(plan, task, block, place):
        x, y = block
        return plan.partial(x, y, place, task)

    @ray.remote(max_retries=5)
    def total(*parts):
        return sum(parts[1:], parts[0])

    there = ray.put(plan)
    while session.task is not None:
        task = ray.put(session.task)
        parts = [partial.remote(there, task, block, place) for place, block in enumerate(blocks)]
        while len(parts) > 1:
            parts = [total.remote(*parts[first:first + _SUMMED_AT_ONCE]) for first in range(0, len(parts), _SUMMED_AT_ONCE)]
        session.step(ray.get(parts[0]))
    return session.result()


if __name__ == "__main__":
    import numpy as np
    import ray
    rows, ledger, model = sys.argv[1:]
    ray.init()

    @ray.remote
    def arrays_of(block):
        columns = block.to_pydict()
        return np.asarray(columns["features"], np.float32), np.asarray(columns["label"], np.int64)

    blocks = [arrays_of.remote(block) for block in ray.data.read_parquet(rows).to_arrow_refs()]
    run = fit_blocks(ray, blocks, ray.get(blocks[0])[0].shape[1], ledger, classes=10, epsilon=1, delta=1e-6)
    run.save(model)
    print(run)
