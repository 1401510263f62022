"""Where clients come from: the surface of a remote service, for models in this process.

service = ServiceClient(folder="runs")                                 # folder: where weights are saved
training = service.create_lora_training_client(base_model="path/of/model", rank=8, seed=0)
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch

from templc.local.policy import Lora, Policy
from templc.local.sampling import SamplingClient
from templc.local.training import TrainingClient, saved


class ServiceClient:
    """Makes clients; weights are saved in `folder`, by default a temporary one.

    threads: of torch, for the whole process. For tiny models 1 is fastest, by far where cores are shared.
    """

    def __init__(self, folder: str | Path | None = None, threads: int | None = None) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self._folder = Path(folder or tempfile.mkdtemp(prefix="templc-local-"))

    def create_lora_training_client(
        self, base_model: str, rank: int = 32, seed: int | None = None, **targets: bool
    ) -> TrainingClient:
        """A new adapter on a model: a folder, or a hub name. targets: train_mlp, train_attn, train_unembed."""
        policy = Policy.load(base_model, Lora(rank=rank, seed=seed, **targets))
        return TrainingClient(policy, self._folder)

    async def create_lora_training_client_async(
        self, base_model: str, **options: Any
    ) -> TrainingClient:
        """As `create_lora_training_client`."""
        return self.create_lora_training_client(base_model, **options)

    def create_sampling_client(
        self, base_model: str, model_path: str | None = None, rank: int = 32
    ) -> SamplingClient:
        """A client that samples from a model, with saved weights of that rank where a path is given."""
        policy = Policy.load(base_model, Lora(rank=rank, seed=0))
        return SamplingClient(policy, saved(model_path)["weights"] if model_path else None)
