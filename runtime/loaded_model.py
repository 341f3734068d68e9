"""A model on a device: a plan for each signature and input shapes, loaded when first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .cache.variant import Variant
from .execution.execution import Execution
from .execution.session_device import SessionDevice
from .input_shapes import Shapes, choices_for, choices_of, chosen, matching
from .launch.device import Device, Program

if TYPE_CHECKING:
    from .custom_op import CustomOp


class LoadedModel:
    """The executions of a variant, on one device and with the weights there once."""

    def __init__(
        self,
        variant: Variant,
        device: Device,
        store_binaries: bool,
        custom_ops: Mapping[str, CustomOp],
        programs: Sequence[Program] | None = None,
    ) -> None:
        """Load the first plan. The device is released if that fails. Raises as `Session` does.

        `programs` are those of its kernels, if they have been restored.
        """
        self.device = SessionDevice(device)
        self._store_binaries, self._custom_ops = store_binaries, custom_ops
        # None once it is closed: a variant has its files mapped.
        self._variant: Variant | None = variant
        plan = variant.plan
        # Of each plan.
        self._inputs = [plan.inputs, *(item.inputs for item in plan.specializations)]
        self._choices = choices_of(plan)  # The input shapes of each plan, by name.
        try:
            self.first = Execution(
                variant, self.device, store_binaries, custom_ops, programs=programs
            )
        except BaseException:
            device.release()
            raise
        self.device.loaded.append((self.first.parts.clear, None))
        self._loaded: dict[int, Execution] = {0: self.first}  # By their number among the choices.
        # Those of the choices for each signature that has been used.
        self._numbers: dict[str | None, list[int]] = {}

    def choices(self, signature: str | None) -> list[Shapes]:
        """The input shapes of each plan for a signature, by default the first (InputError)."""
        return [self._choices[number] for number in self._for(signature)]

    def for_inputs(self, inputs: Any, signature: str | None) -> Execution:
        """The execution for the shapes of inputs as `Session.run` takes them (InputError)."""
        numbers = self._for(signature)
        if len(numbers) == 1:
            return self.execution(numbers[0])
        found = matching(self.choices(signature), self._inputs[numbers[0]], inputs)
        return self.execution(numbers[found])

    def for_shapes(self, shapes: Mapping[str, Sequence[int]], signature: str | None) -> Execution:
        """The execution for input shapes by name, as `chosen` picks it (InputError)."""
        return self.execution(self._for(signature)[chosen(self.choices(signature), shapes)])

    def first_of(self, signature: str | None) -> Execution:
        """The execution for the first choice of a signature (InputError)."""
        return self.execution(self._for(signature)[0])

    def _for(self, signature: str | None) -> list[int]:
        """The numbers of the choices for a signature (InputError)."""
        found = self._numbers.get(signature)
        if found is None:
            found = self._numbers[signature] = choices_for(self.first.plan, signature)
        return found

    def of_last_run(self) -> Execution:
        """The execution whose run was started last, or the first one."""
        used = self.device.used
        loaded = list(self._loaded.values())  # another thread may be loading
        return next((each for each in loaded if used and each.plan is used[0]), self.first)

    def execution(self, number: int) -> Execution:
        """The execution of a choice, loaded now unless it was before (as `load` raises)."""
        found = self._loaded.get(number)
        if found is None:
            with self.device as device:
                found = self._loaded.get(number) or self._load(number, device)
        return found

    def _load(self, number: int, device: Device) -> Execution:
        assert self._variant is not None
        variant = self._variant.specialized(self.first.plan.specializations[number - 1])
        beside = [each.memory for each in self._loaded.values()]
        with device.scope() as free:
            execution = Execution(
                variant, self.device, self._store_binaries, self._custom_ops, beside
            )
        self.device.loaded.append((free, None))
        self._loaded[number] = execution
        return execution

    def reset(self) -> None:
        with self.device:
            for execution in self._loaded.values():
                execution.reset()

    def close(self) -> None:
        """Release the device, once runs in flight are done."""
        self.device.close()
        self._variant = None
