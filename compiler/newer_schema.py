"""Tables of the schema that the `tflite` package lacks, written like its generated classes."""

from typing import Any

import flatbuffers
import numpy as np
from flatbuffers.number_types import Int32Flags, UOffsetTFlags
from numpy.typing import NDArray

_BRANCHES = 4  # Where the vtable has the offset of the first field.


class StablehloCaseOptions:
    """Numbers of the subgraphs among which STABLEHLO_CASE chooses."""

    def Init(self, buffer: Any, position: int) -> None:
        self._tab = flatbuffers.table.Table(buffer, position)

    def BranchSubgraphIndices(self, place: int) -> int:
        return int(self.BranchSubgraphIndicesAsNumpy()[place])

    def BranchSubgraphIndicesAsNumpy(self) -> NDArray[np.int32]:
        offset = UOffsetTFlags.py_type(self._tab.Offset(_BRANCHES))
        if not offset:
            return np.empty(0, np.int32)
        return np.asarray(self._tab.GetVectorAsNumpy(Int32Flags, offset), np.int32)

    def BranchSubgraphIndicesLength(self) -> int:
        offset = UOffsetTFlags.py_type(self._tab.Offset(_BRANCHES))
        return int(self._tab.VectorLen(offset)) if offset else 0


def StablehloCaseOptionsStart(builder: Any) -> None:
    builder.StartObject(1)


def StablehloCaseOptionsAddBranchSubgraphIndices(builder: Any, indices: int) -> None:
    builder.PrependUOffsetTRelativeSlot(0, indices, 0)


def StablehloCaseOptionsEnd(builder: Any) -> int:
    return int(builder.EndObject())
