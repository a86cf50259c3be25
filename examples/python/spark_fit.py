"""A private classifier from a Spark data frame, whose rows stay on the executors.

    spark-submit spark_fit.py rows.parquet ledger.jsonl model.safetensors

The frame has a column `features` (an array of numbers) and a column `label` (0 to classes - 1). Executors have dpreduce of
the driver's version. Tasks may be retried and started twice (spark.speculation): a partition counts once.
"""
import pickle
import sys

import dpreduce


def fit_frame(frame, features, ledger=None, **options):
    """dpreduce.fit on the rows of `frame`, which is cut into the partitions that it has now.

    A partition must hold the same rows whenever it is computed: a frame that was read from files does; checkpoint() one
    that was shuffled."""
    plan = dpreduce.Plan(features, **options)
    frame = frame.select("features", "label")
    partitions = frame.rdd.getNumPartitions()
    session = plan.start(ledger, range(partitions))
    spark = frame.sparkSession.sparkContext
    while session.task is not None:
        work = spark.broadcast(pickle.dumps((plan, session.task)))

        def partial(batches, work=work):  # called once for each partition, also for an empty one
            import numpy as np
            import pyarrow
            from pyspark import TaskContext
            plan, task = pickle.loads(work.value)
            xs, ys = [np.zeros((0, features), np.float32)], [np.zeros(0, np.int64)]
            for batch in batches:
                x = batch.column(0).flatten().to_numpy(zero_copy_only=False)
                xs.append(x.astype(np.float32, copy=False).reshape(batch.num_rows, features))
                ys.append(batch.column(1).to_numpy(zero_copy_only=False))
            part = plan.partial(np.concatenate(xs), np.concatenate(ys), TaskContext.get().partitionId(), task)
            yield pyarrow.RecordBatch.from_pydict({"part": [pickle.dumps(part)]})

        parts = frame.mapInArrow(partial, "part binary").rdd.map(lambda row: pickle.loads(row.part))
        session.step(parts.treeReduce(lambda a, b: a + b))
        work.unpersist()
    return session.result()


if __name__ == "__main__":
    from pyspark.sql import SparkSession
    rows, ledger, model = sys.argv[1:]
    frame = SparkSession.builder.appName("dpreduce").config("spark.speculation", "true").getOrCreate().read.parquet(rows)
    run = fit_frame(frame, len(frame.first()["features"]), ledger, classes=10, epsilon=1, delta=1e-6)
    run.save(model)
    print(run)
