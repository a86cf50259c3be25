"""Types of the keywords of a fit. Written by docs/generator/option_types.py."""
import os
import typing

class RegressorOptions(typing.TypedDict, total=False):
    rows_per_person: int | None
    weight_bound: float | None
    bad_rows: typing.Literal["fail", "zero"] | None
    gram_share: float | None
    rounds: int | None
    feature_range: typing.Sequence[float] | typing.Literal["private", "none"] | None
    normalize: typing.Literal["l2", "none"] | None
    clip: float | None
    center: typing.Literal["none", "dp", "public", "moments"] | None
    center_share: float | None
    pca: int | None
    pca_share: float | None
    pool: int | None
    rho: float | None
    mu: float | None
    accountant: typing.Literal["gdp", "zcdp", "rdp", "pld"] | None
    non_private: bool | None
    adjacency: typing.Literal["add-remove", "replace-one"] | None
    budget_epsilon: float | None
    budget_delta: float | None
    resume: bool | None
    silos_per_person: float | None
    threads: int | None
    memory: int | None

class EstimatorOptions(RegressorOptions, total=False):
    imbalance_ratio: float | None
    imbalance_seed: int | None
    objective: typing.Literal["accuracy", "balanced"] | None
    metric: typing.Literal["cosine", "euclidean"] | None
    auto: bool | None
    expected_rows: float | None
    smallest_share: float | None
    top_k: int | None
    d_min: float | None
    d_max: float | None
    shared_gram: bool | None
    alpha: float | typing.Literal["auto"] | None
    lambda_: float | typing.Literal["auto"] | None
    isotropy_share: float | None
    local_steps: int | None
    batch: float | None
    loss: typing.Literal["softmax", "sigmoid", "square"] | None
    iterate: typing.Literal["last", "average"] | None
    learning_rate: float | None
    radius: float | None
    warm_start: bool | None
    warm_start_share: float | None
    select: int | None
    select_by: typing.Literal["distance", "t"] | None
    select_share: float | None
    choose: bool | None
    choose_share: float | None

class FitOptions(EstimatorOptions, total=False):
    target_range: typing.Sequence[float] | typing.Literal["private"] | None
    classes: int | None
    max_labels: int | None
    method: typing.Literal["auto", "mean", "public", "ls", "fc", "gd", "adam", "newton", "fisher", "prototypes", "coinpress", "global-adapt", "fedavg", "fc-one-step"] | None
    epsilon: float | None
    delta: float | None
    seed: int | None
