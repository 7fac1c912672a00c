"""MicroBatches: what a DataLoader makes of a sampler and an accumulation plan."""

import logging
from collections.abc import Iterator

from torch.utils.data import Sampler

from trainer_hooks.accumulation import AccumulationPlan
from trainer_hooks.data import GlobalBatch, ResumableSampler
from trainer_hooks.errors import ConfigError

log = logging.getLogger(__name__)


class MicroBatches(Sampler[list[int]]):
    """This rank's micro-batches by a plan, one global batch after the other, without end.

    Every rank takes ``plan.micro_batches`` of them in each step, with ``weights``::

        batches = hooks.batches(DataLoader(data, batch_sampler=micro, generator=torch.Generator()))
        for step in hooks.steps(until=10_000):
            for weight in micro.weights:
                (model(next(batches)).mean() * weight).backward()

    The samples of a step are the same at any number of ranks. The position moves on as the last
    one of a step is handed out: a step that is left half-way is done again from its beginning.

    Args:
        sampler: The stream; it is ``TrainState.data``.
        plan: Made for as many ranks as there are.

    Raises:
        ConfigError: It was made for another number of ranks.
    """

    def __init__(self, sampler: ResumableSampler, plan: AccumulationPlan) -> None:
        if plan.world_size != sampler.world_size:
            raise ConfigError(
                f"the accumulation plan is made for {plan.world_size} ranks and the sampler deals "
                f"to {sampler.world_size}: pass plan_accumulation the number there is"
            )
        self.sampler = sampler
        self.plan = plan
        self.weights = plan.weights(sampler.rank)
        """What to multiply the mean loss of each of a step's micro-batches by, in their order."""

    def __iter__(self) -> Iterator[list[int]]:
        """Yield lists of sample ids from the sampler's position on."""
        sampler, batch = self.sampler, self.plan.global_batch
        sizes = self.plan.sizes(sampler.rank)
        start = sampler.position
        while True:
            share = list(range(start + sampler.rank, start + batch, sampler.world_size))
            done = 0
            for size in sizes:
                mine = share[done : done + size] or share[-1:]  # the one that counts for nothing
                yield [sampler.id_at(index) for index in mine]
                done += size
            start += batch

    def begin(self) -> None:
        """Take note of the global batch, as batches begin to be handed out.

        Raises:
            ConfigError: The checkpoint was trained with another one, and nobody has accepted that.
        """
        plan, before = self.plan, self.sampler.global_batch
        was = before.samples if before is not None and before.is_planned else plan.asked_for
        if was != plan.global_batch:
            if not plan.accepts_other_batch:
                raise ConfigError(
                    f"the checkpoint was trained with a global batch of {was} samples, the plan "
                    f"has {plan.global_batch}: plan {was}, or pass accept_other_batch=True"
                )
            if self.sampler.rank == 0:
                log.warning(
                    "the global batch was to be %d samples and is %d, as was accepted: this is "
                    "another training, and the learning rate is as it was",
                    was,
                    plan.global_batch,
                )
        self.sampler.global_batch = GlobalBatch(plan.global_batch, is_planned=True)
