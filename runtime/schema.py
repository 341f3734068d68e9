# Generated from plan.fbs by `flatc --python --gen-object-api --gen-onefile`; never edited.

# namespace:

import flatbuffers
from flatbuffers.compat import import_numpy

np = import_numpy()


class Region(object):
    Arena = 0
    Weights = 1
    Input = 2
    Output = 3
    State = 4


class Extent(object):
    __slots__ = ["_tab"]

    @classmethod
    def SizeOf(cls):
        return 12

    # Extent
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Extent
    def X(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint32Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(0),
        )

    # Extent
    def Y(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint32Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(4),
        )

    # Extent
    def Z(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint32Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(8),
        )


def CreateExtent(builder, x, y, z):
    builder.Prep(4, 12)
    builder.PrependUint32(z)
    builder.PrependUint32(y)
    builder.PrependUint32(x)
    return builder.Offset()


class ExtentT(object):
    # ExtentT
    def __init__(self):
        self.x = 0  # type: int
        self.y = 0  # type: int
        self.z = 0  # type: int

    @classmethod
    def InitFromBuf(cls, buf, pos):
        extent = Extent()
        extent.Init(buf, pos)
        return cls.InitFromObj(extent)

    @classmethod
    def InitFromObj(cls, extent):
        x = ExtentT()
        x._UnPack(extent)
        return x

    # ExtentT
    def _UnPack(self, extent):
        if extent is None:
            return
        self.x = extent.X()
        self.y = extent.Y()
        self.z = extent.Z()

    # ExtentT
    def Pack(self, builder):
        return CreateExtent(builder, self.x, self.y, self.z)


class Argument(object):
    __slots__ = ["_tab"]

    @classmethod
    def SizeOf(cls):
        return 24

    # Argument
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Argument
    def Offset(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint64Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(0),
        )

    # Argument
    def Size(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint64Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(8),
        )

    # Argument
    def Index(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint32Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(16),
        )

    # Argument
    def Region(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint8Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(20),
        )

    # Argument
    def Writes(self):
        return self._tab.Get(
            flatbuffers.number_types.BoolFlags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(21),
        )


def CreateArgument(builder, offset, size, index, region, writes):
    builder.Prep(8, 24)
    builder.Pad(2)
    builder.PrependBool(writes)
    builder.PrependUint8(region)
    builder.PrependUint32(index)
    builder.PrependUint64(size)
    builder.PrependUint64(offset)
    return builder.Offset()


class ArgumentT(object):
    # ArgumentT
    def __init__(self):
        self.offset = 0  # type: int
        self.size = 0  # type: int
        self.index = 0  # type: int
        self.region = 0  # type: int
        self.writes = False  # type: bool

    @classmethod
    def InitFromBuf(cls, buf, pos):
        argument = Argument()
        argument.Init(buf, pos)
        return cls.InitFromObj(argument)

    @classmethod
    def InitFromObj(cls, argument):
        x = ArgumentT()
        x._UnPack(argument)
        return x

    # ArgumentT
    def _UnPack(self, argument):
        if argument is None:
            return
        self.offset = argument.Offset()
        self.size = argument.Size()
        self.index = argument.Index()
        self.region = argument.Region()
        self.writes = argument.Writes()

    # ArgumentT
    def Pack(self, builder):
        return CreateArgument(builder, self.offset, self.size, self.index, self.region, self.writes)


class TensorInfo(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = TensorInfo()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsTensorInfo(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def TensorInfoBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # TensorInfo
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # TensorInfo
    def Name(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # TensorInfo
    def Shape(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # TensorInfo
    def ShapeAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint32Flags, o)
        return 0

    # TensorInfo
    def ShapeLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # TensorInfo
    def ShapeIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        return o == 0

    # TensorInfo
    def Dtype(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # TensorInfo
    def Scale(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Float64Flags, o + self._tab.Pos)
        return 0.0

    # TensorInfo
    def ZeroPoint(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Int64Flags, o + self._tab.Pos)
        return 0

    # TensorInfo
    def Open(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(14))
        if o != 0:
            return bool(self._tab.Get(flatbuffers.number_types.BoolFlags, o + self._tab.Pos))
        return False


def TensorInfoStart(builder):
    builder.StartObject(6)


def TensorInfoAddName(builder, name):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(name), 0)


def TensorInfoAddShape(builder, shape):
    builder.PrependUOffsetTRelativeSlot(1, flatbuffers.number_types.UOffsetTFlags.py_type(shape), 0)


def TensorInfoStartShapeVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def TensorInfoAddDtype(builder, dtype):
    builder.PrependUOffsetTRelativeSlot(2, flatbuffers.number_types.UOffsetTFlags.py_type(dtype), 0)


def TensorInfoAddScale(builder, scale):
    builder.PrependFloat64Slot(3, scale, 0.0)


def TensorInfoAddZeroPoint(builder, zeroPoint):
    builder.PrependInt64Slot(4, zeroPoint, 0)


def TensorInfoAddOpen(builder, open):
    builder.PrependBoolSlot(5, open, 0)


def TensorInfoEnd(builder):
    return builder.EndObject()


try:
    from typing import List
except:
    pass


class TensorInfoT(object):
    # TensorInfoT
    def __init__(self):
        self.name = None  # type: str
        self.shape = None  # type: List[int]
        self.dtype = None  # type: str
        self.scale = 0.0  # type: float
        self.zeroPoint = 0  # type: int
        self.open = False  # type: bool

    @classmethod
    def InitFromBuf(cls, buf, pos):
        tensorInfo = TensorInfo()
        tensorInfo.Init(buf, pos)
        return cls.InitFromObj(tensorInfo)

    @classmethod
    def InitFromObj(cls, tensorInfo):
        x = TensorInfoT()
        x._UnPack(tensorInfo)
        return x

    # TensorInfoT
    def _UnPack(self, tensorInfo):
        if tensorInfo is None:
            return
        self.name = tensorInfo.Name()
        if not tensorInfo.ShapeIsNone():
            if np is None:
                self.shape = []
                for i in range(tensorInfo.ShapeLength()):
                    self.shape.append(tensorInfo.Shape(i))
            else:
                self.shape = tensorInfo.ShapeAsNumpy()
        self.dtype = tensorInfo.Dtype()
        self.scale = tensorInfo.Scale()
        self.zeroPoint = tensorInfo.ZeroPoint()
        self.open = tensorInfo.Open()

    # TensorInfoT
    def Pack(self, builder):
        if self.name is not None:
            name = builder.CreateString(self.name)
        if self.shape is not None:
            if np is not None and type(self.shape) is np.ndarray:
                shape = builder.CreateNumpyVector(self.shape)
            else:
                TensorInfoStartShapeVector(builder, len(self.shape))
                for i in reversed(range(len(self.shape))):
                    builder.PrependUint32(self.shape[i])
                shape = builder.EndVector()
        if self.dtype is not None:
            dtype = builder.CreateString(self.dtype)
        TensorInfoStart(builder)
        if self.name is not None:
            TensorInfoAddName(builder, name)
        if self.shape is not None:
            TensorInfoAddShape(builder, shape)
        if self.dtype is not None:
            TensorInfoAddDtype(builder, dtype)
        TensorInfoAddScale(builder, self.scale)
        TensorInfoAddZeroPoint(builder, self.zeroPoint)
        TensorInfoAddOpen(builder, self.open)
        tensorInfo = TensorInfoEnd(builder)
        return tensorInfo


class Kernel(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = Kernel()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsKernel(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def KernelBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # Kernel
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Kernel
    def Name(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Kernel
    def File(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Kernel
    def Sha256(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint8Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 1),
            )
        return 0

    # Kernel
    def Sha256AsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint8Flags, o)
        return 0

    # Kernel
    def Sha256Length(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Kernel
    def Sha256IsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        return o == 0

    # Kernel
    def Group(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            x = o + self._tab.Pos
            obj = Extent()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None


def KernelStart(builder):
    builder.StartObject(4)


def KernelAddName(builder, name):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(name), 0)


def KernelAddFile(builder, file):
    builder.PrependUOffsetTRelativeSlot(1, flatbuffers.number_types.UOffsetTFlags.py_type(file), 0)


def KernelAddSha256(builder, sha256):
    builder.PrependUOffsetTRelativeSlot(
        2, flatbuffers.number_types.UOffsetTFlags.py_type(sha256), 0
    )


def KernelStartSha256Vector(builder, numElems):
    return builder.StartVector(1, numElems, 1)


def KernelAddGroup(builder, group):
    builder.PrependStructSlot(3, flatbuffers.number_types.UOffsetTFlags.py_type(group), 0)


def KernelEnd(builder):
    return builder.EndObject()


try:
    from typing import List, Optional
except:
    pass


class KernelT(object):
    # KernelT
    def __init__(self):
        self.name = None  # type: str
        self.file = None  # type: str
        self.sha256 = None  # type: List[int]
        self.group = None  # type: Optional[ExtentT]

    @classmethod
    def InitFromBuf(cls, buf, pos):
        kernel = Kernel()
        kernel.Init(buf, pos)
        return cls.InitFromObj(kernel)

    @classmethod
    def InitFromObj(cls, kernel):
        x = KernelT()
        x._UnPack(kernel)
        return x

    # KernelT
    def _UnPack(self, kernel):
        if kernel is None:
            return
        self.name = kernel.Name()
        self.file = kernel.File()
        if not kernel.Sha256IsNone():
            if np is None:
                self.sha256 = []
                for i in range(kernel.Sha256Length()):
                    self.sha256.append(kernel.Sha256(i))
            else:
                self.sha256 = kernel.Sha256AsNumpy()
        if kernel.Group() is not None:
            self.group = ExtentT.InitFromObj(kernel.Group())

    # KernelT
    def Pack(self, builder):
        if self.name is not None:
            name = builder.CreateString(self.name)
        if self.file is not None:
            file = builder.CreateString(self.file)
        if self.sha256 is not None:
            if np is not None and type(self.sha256) is np.ndarray:
                sha256 = builder.CreateNumpyVector(self.sha256)
            else:
                KernelStartSha256Vector(builder, len(self.sha256))
                for i in reversed(range(len(self.sha256))):
                    builder.PrependUint8(self.sha256[i])
                sha256 = builder.EndVector()
        KernelStart(builder)
        if self.name is not None:
            KernelAddName(builder, name)
        if self.file is not None:
            KernelAddFile(builder, file)
        if self.sha256 is not None:
            KernelAddSha256(builder, sha256)
        if self.group is not None:
            group = self.group.Pack(builder)
            KernelAddGroup(builder, group)
        kernel = KernelEnd(builder)
        return kernel


class Dispatch(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = Dispatch()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsDispatch(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def DispatchBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # Dispatch
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Dispatch
    def Kernel(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # Dispatch
    def Grid(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            x = o + self._tab.Pos
            obj = Extent()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Dispatch
    def Arguments(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 24
            obj = Argument()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Dispatch
    def ArgumentsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Dispatch
    def ArgumentsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        return o == 0

    # Dispatch
    def Label(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Dispatch
    def Operators(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Int32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # Dispatch
    def OperatorsAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Int32Flags, o)
        return 0

    # Dispatch
    def OperatorsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Dispatch
    def OperatorsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        return o == 0

    # Dispatch
    def Flops(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(14))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # Dispatch
    def Why(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None


def DispatchStart(builder):
    builder.StartObject(7)


def DispatchAddKernel(builder, kernel):
    builder.PrependUint32Slot(0, kernel, 0)


def DispatchAddGrid(builder, grid):
    builder.PrependStructSlot(1, flatbuffers.number_types.UOffsetTFlags.py_type(grid), 0)


def DispatchAddArguments(builder, arguments):
    builder.PrependUOffsetTRelativeSlot(
        2, flatbuffers.number_types.UOffsetTFlags.py_type(arguments), 0
    )


def DispatchStartArgumentsVector(builder, numElems):
    return builder.StartVector(24, numElems, 8)


def DispatchAddLabel(builder, label):
    builder.PrependUOffsetTRelativeSlot(3, flatbuffers.number_types.UOffsetTFlags.py_type(label), 0)


def DispatchAddOperators(builder, operators):
    builder.PrependUOffsetTRelativeSlot(
        4, flatbuffers.number_types.UOffsetTFlags.py_type(operators), 0
    )


def DispatchStartOperatorsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def DispatchAddFlops(builder, flops):
    builder.PrependUint64Slot(5, flops, 0)


def DispatchAddWhy(builder, why):
    builder.PrependUOffsetTRelativeSlot(6, flatbuffers.number_types.UOffsetTFlags.py_type(why), 0)


def DispatchEnd(builder):
    return builder.EndObject()


try:
    from typing import List, Optional
except:
    pass


class DispatchT(object):
    # DispatchT
    def __init__(self):
        self.kernel = 0  # type: int
        self.grid = None  # type: Optional[ExtentT]
        self.arguments = None  # type: List[ArgumentT]
        self.label = None  # type: str
        self.operators = None  # type: List[int]
        self.flops = 0  # type: int
        self.why = None  # type: str

    @classmethod
    def InitFromBuf(cls, buf, pos):
        dispatch = Dispatch()
        dispatch.Init(buf, pos)
        return cls.InitFromObj(dispatch)

    @classmethod
    def InitFromObj(cls, dispatch):
        x = DispatchT()
        x._UnPack(dispatch)
        return x

    # DispatchT
    def _UnPack(self, dispatch):
        if dispatch is None:
            return
        self.kernel = dispatch.Kernel()
        if dispatch.Grid() is not None:
            self.grid = ExtentT.InitFromObj(dispatch.Grid())
        if not dispatch.ArgumentsIsNone():
            self.arguments = []
            for i in range(dispatch.ArgumentsLength()):
                if dispatch.Arguments(i) is None:
                    self.arguments.append(None)
                else:
                    argument_ = ArgumentT.InitFromObj(dispatch.Arguments(i))
                    self.arguments.append(argument_)
        self.label = dispatch.Label()
        if not dispatch.OperatorsIsNone():
            if np is None:
                self.operators = []
                for i in range(dispatch.OperatorsLength()):
                    self.operators.append(dispatch.Operators(i))
            else:
                self.operators = dispatch.OperatorsAsNumpy()
        self.flops = dispatch.Flops()
        self.why = dispatch.Why()

    # DispatchT
    def Pack(self, builder):
        if self.arguments is not None:
            DispatchStartArgumentsVector(builder, len(self.arguments))
            for i in reversed(range(len(self.arguments))):
                self.arguments[i].Pack(builder)
            arguments = builder.EndVector()
        if self.label is not None:
            label = builder.CreateString(self.label)
        if self.operators is not None:
            if np is not None and type(self.operators) is np.ndarray:
                operators = builder.CreateNumpyVector(self.operators)
            else:
                DispatchStartOperatorsVector(builder, len(self.operators))
                for i in reversed(range(len(self.operators))):
                    builder.PrependInt32(self.operators[i])
                operators = builder.EndVector()
        if self.why is not None:
            why = builder.CreateString(self.why)
        DispatchStart(builder)
        DispatchAddKernel(builder, self.kernel)
        if self.grid is not None:
            grid = self.grid.Pack(builder)
            DispatchAddGrid(builder, grid)
        if self.arguments is not None:
            DispatchAddArguments(builder, arguments)
        if self.label is not None:
            DispatchAddLabel(builder, label)
        if self.operators is not None:
            DispatchAddOperators(builder, operators)
        DispatchAddFlops(builder, self.flops)
        if self.why is not None:
            DispatchAddWhy(builder, why)
        dispatch = DispatchEnd(builder)
        return dispatch


class PlacedTensor(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = PlacedTensor()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsPlacedTensor(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def PlacedTensorBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # PlacedTensor
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # PlacedTensor
    def Name(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # PlacedTensor
    def Shape(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # PlacedTensor
    def ShapeAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint32Flags, o)
        return 0

    # PlacedTensor
    def ShapeLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # PlacedTensor
    def ShapeIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        return o == 0

    # PlacedTensor
    def Dtype(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # PlacedTensor
    def Lanes(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def Region(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint8Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def Index(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(14))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def Offset(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def Size(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(18))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def First(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(20))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Int32Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def Last(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(22))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Int32Flags, o + self._tab.Pos)
        return 0

    # PlacedTensor
    def Half(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(24))
        if o != 0:
            return bool(self._tab.Get(flatbuffers.number_types.BoolFlags, o + self._tab.Pos))
        return False


def PlacedTensorStart(builder):
    builder.StartObject(11)


def PlacedTensorAddName(builder, name):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(name), 0)


def PlacedTensorAddShape(builder, shape):
    builder.PrependUOffsetTRelativeSlot(1, flatbuffers.number_types.UOffsetTFlags.py_type(shape), 0)


def PlacedTensorStartShapeVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlacedTensorAddDtype(builder, dtype):
    builder.PrependUOffsetTRelativeSlot(2, flatbuffers.number_types.UOffsetTFlags.py_type(dtype), 0)


def PlacedTensorAddLanes(builder, lanes):
    builder.PrependUint32Slot(3, lanes, 0)


def PlacedTensorAddRegion(builder, region):
    builder.PrependUint8Slot(4, region, 0)


def PlacedTensorAddIndex(builder, index):
    builder.PrependUint32Slot(5, index, 0)


def PlacedTensorAddOffset(builder, offset):
    builder.PrependUint64Slot(6, offset, 0)


def PlacedTensorAddSize(builder, size):
    builder.PrependUint64Slot(7, size, 0)


def PlacedTensorAddFirst(builder, first):
    builder.PrependInt32Slot(8, first, 0)


def PlacedTensorAddLast(builder, last):
    builder.PrependInt32Slot(9, last, 0)


def PlacedTensorAddHalf(builder, half):
    builder.PrependBoolSlot(10, half, 0)


def PlacedTensorEnd(builder):
    return builder.EndObject()


try:
    from typing import List
except:
    pass


class PlacedTensorT(object):
    # PlacedTensorT
    def __init__(self):
        self.name = None  # type: str
        self.shape = None  # type: List[int]
        self.dtype = None  # type: str
        self.lanes = 0  # type: int
        self.region = 0  # type: int
        self.index = 0  # type: int
        self.offset = 0  # type: int
        self.size = 0  # type: int
        self.first = 0  # type: int
        self.last = 0  # type: int
        self.half = False  # type: bool

    @classmethod
    def InitFromBuf(cls, buf, pos):
        placedTensor = PlacedTensor()
        placedTensor.Init(buf, pos)
        return cls.InitFromObj(placedTensor)

    @classmethod
    def InitFromObj(cls, placedTensor):
        x = PlacedTensorT()
        x._UnPack(placedTensor)
        return x

    # PlacedTensorT
    def _UnPack(self, placedTensor):
        if placedTensor is None:
            return
        self.name = placedTensor.Name()
        if not placedTensor.ShapeIsNone():
            if np is None:
                self.shape = []
                for i in range(placedTensor.ShapeLength()):
                    self.shape.append(placedTensor.Shape(i))
            else:
                self.shape = placedTensor.ShapeAsNumpy()
        self.dtype = placedTensor.Dtype()
        self.lanes = placedTensor.Lanes()
        self.region = placedTensor.Region()
        self.index = placedTensor.Index()
        self.offset = placedTensor.Offset()
        self.size = placedTensor.Size()
        self.first = placedTensor.First()
        self.last = placedTensor.Last()
        self.half = placedTensor.Half()

    # PlacedTensorT
    def Pack(self, builder):
        if self.name is not None:
            name = builder.CreateString(self.name)
        if self.shape is not None:
            if np is not None and type(self.shape) is np.ndarray:
                shape = builder.CreateNumpyVector(self.shape)
            else:
                PlacedTensorStartShapeVector(builder, len(self.shape))
                for i in reversed(range(len(self.shape))):
                    builder.PrependUint32(self.shape[i])
                shape = builder.EndVector()
        if self.dtype is not None:
            dtype = builder.CreateString(self.dtype)
        PlacedTensorStart(builder)
        if self.name is not None:
            PlacedTensorAddName(builder, name)
        if self.shape is not None:
            PlacedTensorAddShape(builder, shape)
        if self.dtype is not None:
            PlacedTensorAddDtype(builder, dtype)
        PlacedTensorAddLanes(builder, self.lanes)
        PlacedTensorAddRegion(builder, self.region)
        PlacedTensorAddIndex(builder, self.index)
        PlacedTensorAddOffset(builder, self.offset)
        PlacedTensorAddSize(builder, self.size)
        PlacedTensorAddFirst(builder, self.first)
        PlacedTensorAddLast(builder, self.last)
        PlacedTensorAddHalf(builder, self.half)
        placedTensor = PlacedTensorEnd(builder)
        return placedTensor


class Companion(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = Companion()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsCompanion(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def CompanionBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # Companion
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Companion
    def File(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Companion
    def Sha256(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint8Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 1),
            )
        return 0

    # Companion
    def Sha256AsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint8Flags, o)
        return 0

    # Companion
    def Sha256Length(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Companion
    def Sha256IsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        return o == 0


def CompanionStart(builder):
    builder.StartObject(2)


def CompanionAddFile(builder, file):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(file), 0)


def CompanionAddSha256(builder, sha256):
    builder.PrependUOffsetTRelativeSlot(
        1, flatbuffers.number_types.UOffsetTFlags.py_type(sha256), 0
    )


def CompanionStartSha256Vector(builder, numElems):
    return builder.StartVector(1, numElems, 1)


def CompanionEnd(builder):
    return builder.EndObject()


try:
    from typing import List
except:
    pass


class CompanionT(object):
    # CompanionT
    def __init__(self):
        self.file = None  # type: str
        self.sha256 = None  # type: List[int]

    @classmethod
    def InitFromBuf(cls, buf, pos):
        companion = Companion()
        companion.Init(buf, pos)
        return cls.InitFromObj(companion)

    @classmethod
    def InitFromObj(cls, companion):
        x = CompanionT()
        x._UnPack(companion)
        return x

    # CompanionT
    def _UnPack(self, companion):
        if companion is None:
            return
        self.file = companion.File()
        if not companion.Sha256IsNone():
            if np is None:
                self.sha256 = []
                for i in range(companion.Sha256Length()):
                    self.sha256.append(companion.Sha256(i))
            else:
                self.sha256 = companion.Sha256AsNumpy()

    # CompanionT
    def Pack(self, builder):
        if self.file is not None:
            file = builder.CreateString(self.file)
        if self.sha256 is not None:
            if np is not None and type(self.sha256) is np.ndarray:
                sha256 = builder.CreateNumpyVector(self.sha256)
            else:
                CompanionStartSha256Vector(builder, len(self.sha256))
                for i in reversed(range(len(self.sha256))):
                    builder.PrependUint8(self.sha256[i])
                sha256 = builder.EndVector()
        CompanionStart(builder)
        if self.file is not None:
            CompanionAddFile(builder, file)
        if self.sha256 is not None:
            CompanionAddSha256(builder, sha256)
        companion = CompanionEnd(builder)
        return companion


class Variable(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = Variable()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsVariable(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def VariableBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # Variable
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Variable
    def Name(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Variable
    def Size(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # Variable
    def Content(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # Variable
    def Filled(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return bool(self._tab.Get(flatbuffers.number_types.BoolFlags, o + self._tab.Pos))
        return False


def VariableStart(builder):
    builder.StartObject(4)


def VariableAddName(builder, name):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(name), 0)


def VariableAddSize(builder, size):
    builder.PrependUint64Slot(1, size, 0)


def VariableAddContent(builder, content):
    builder.PrependUint64Slot(2, content, 0)


def VariableAddFilled(builder, filled):
    builder.PrependBoolSlot(3, filled, 0)


def VariableEnd(builder):
    return builder.EndObject()


class VariableT(object):
    # VariableT
    def __init__(self):
        self.name = None  # type: str
        self.size = 0  # type: int
        self.content = 0  # type: int
        self.filled = False  # type: bool

    @classmethod
    def InitFromBuf(cls, buf, pos):
        variable = Variable()
        variable.Init(buf, pos)
        return cls.InitFromObj(variable)

    @classmethod
    def InitFromObj(cls, variable):
        x = VariableT()
        x._UnPack(variable)
        return x

    # VariableT
    def _UnPack(self, variable):
        if variable is None:
            return
        self.name = variable.Name()
        self.size = variable.Size()
        self.content = variable.Content()
        self.filled = variable.Filled()

    # VariableT
    def Pack(self, builder):
        if self.name is not None:
            name = builder.CreateString(self.name)
        VariableStart(builder)
        if self.name is not None:
            VariableAddName(builder, name)
        VariableAddSize(builder, self.size)
        VariableAddContent(builder, self.content)
        VariableAddFilled(builder, self.filled)
        variable = VariableEnd(builder)
        return variable


class HostTensor(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = HostTensor()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsHostTensor(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def HostTensorBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # HostTensor
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # HostTensor
    def Name(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # HostTensor
    def Shape(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # HostTensor
    def ShapeAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint32Flags, o)
        return 0

    # HostTensor
    def ShapeLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # HostTensor
    def ShapeIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        return o == 0

    # HostTensor
    def Dtype(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # HostTensor
    def Input(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Int32Flags, o + self._tab.Pos)
        return -1

    # HostTensor
    def Output(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Int32Flags, o + self._tab.Pos)
        return -1

    # HostTensor
    def Place(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(14))
        if o != 0:
            x = o + self._tab.Pos
            obj = Argument()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # HostTensor
    def Open(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            return bool(self._tab.Get(flatbuffers.number_types.BoolFlags, o + self._tab.Pos))
        return False


def HostTensorStart(builder):
    builder.StartObject(7)


def HostTensorAddName(builder, name):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(name), 0)


def HostTensorAddShape(builder, shape):
    builder.PrependUOffsetTRelativeSlot(1, flatbuffers.number_types.UOffsetTFlags.py_type(shape), 0)


def HostTensorStartShapeVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def HostTensorAddDtype(builder, dtype):
    builder.PrependUOffsetTRelativeSlot(2, flatbuffers.number_types.UOffsetTFlags.py_type(dtype), 0)


def HostTensorAddInput(builder, input):
    builder.PrependInt32Slot(3, input, -1)


def HostTensorAddOutput(builder, output):
    builder.PrependInt32Slot(4, output, -1)


def HostTensorAddPlace(builder, place):
    builder.PrependStructSlot(5, flatbuffers.number_types.UOffsetTFlags.py_type(place), 0)


def HostTensorAddOpen(builder, open):
    builder.PrependBoolSlot(6, open, 0)


def HostTensorEnd(builder):
    return builder.EndObject()


try:
    from typing import List, Optional
except:
    pass


class HostTensorT(object):
    # HostTensorT
    def __init__(self):
        self.name = None  # type: str
        self.shape = None  # type: List[int]
        self.dtype = None  # type: str
        self.input = -1  # type: int
        self.output = -1  # type: int
        self.place = None  # type: Optional[ArgumentT]
        self.open = False  # type: bool

    @classmethod
    def InitFromBuf(cls, buf, pos):
        hostTensor = HostTensor()
        hostTensor.Init(buf, pos)
        return cls.InitFromObj(hostTensor)

    @classmethod
    def InitFromObj(cls, hostTensor):
        x = HostTensorT()
        x._UnPack(hostTensor)
        return x

    # HostTensorT
    def _UnPack(self, hostTensor):
        if hostTensor is None:
            return
        self.name = hostTensor.Name()
        if not hostTensor.ShapeIsNone():
            if np is None:
                self.shape = []
                for i in range(hostTensor.ShapeLength()):
                    self.shape.append(hostTensor.Shape(i))
            else:
                self.shape = hostTensor.ShapeAsNumpy()
        self.dtype = hostTensor.Dtype()
        self.input = hostTensor.Input()
        self.output = hostTensor.Output()
        if hostTensor.Place() is not None:
            self.place = ArgumentT.InitFromObj(hostTensor.Place())
        self.open = hostTensor.Open()

    # HostTensorT
    def Pack(self, builder):
        if self.name is not None:
            name = builder.CreateString(self.name)
        if self.shape is not None:
            if np is not None and type(self.shape) is np.ndarray:
                shape = builder.CreateNumpyVector(self.shape)
            else:
                HostTensorStartShapeVector(builder, len(self.shape))
                for i in reversed(range(len(self.shape))):
                    builder.PrependUint32(self.shape[i])
                shape = builder.EndVector()
        if self.dtype is not None:
            dtype = builder.CreateString(self.dtype)
        HostTensorStart(builder)
        if self.name is not None:
            HostTensorAddName(builder, name)
        if self.shape is not None:
            HostTensorAddShape(builder, shape)
        if self.dtype is not None:
            HostTensorAddDtype(builder, dtype)
        HostTensorAddInput(builder, self.input)
        HostTensorAddOutput(builder, self.output)
        if self.place is not None:
            place = self.place.Pack(builder)
            HostTensorAddPlace(builder, place)
        HostTensorAddOpen(builder, self.open)
        hostTensor = HostTensorEnd(builder)
        return hostTensor


class HostPart(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = HostPart()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsHostPart(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def HostPartBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # HostPart
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # HostPart
    def File(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # HostPart
    def Sha256(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint8Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 1),
            )
        return 0

    # HostPart
    def Sha256AsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint8Flags, o)
        return 0

    # HostPart
    def Sha256Length(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # HostPart
    def Sha256IsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        return o == 0

    # HostPart
    def Before(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # HostPart
    def Inputs(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # HostPart
    def InputsAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint32Flags, o)
        return 0

    # HostPart
    def InputsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # HostPart
    def InputsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        return o == 0

    # HostPart
    def Outputs(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # HostPart
    def OutputsAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint32Flags, o)
        return 0

    # HostPart
    def OutputsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # HostPart
    def OutputsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        return o == 0

    # HostPart
    def Label(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(14))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # HostPart
    def Operators(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Int32Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 4),
            )
        return 0

    # HostPart
    def OperatorsAsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Int32Flags, o)
        return 0

    # HostPart
    def OperatorsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # HostPart
    def OperatorsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        return o == 0


def HostPartStart(builder):
    builder.StartObject(7)


def HostPartAddFile(builder, file):
    builder.PrependUOffsetTRelativeSlot(0, flatbuffers.number_types.UOffsetTFlags.py_type(file), 0)


def HostPartAddSha256(builder, sha256):
    builder.PrependUOffsetTRelativeSlot(
        1, flatbuffers.number_types.UOffsetTFlags.py_type(sha256), 0
    )


def HostPartStartSha256Vector(builder, numElems):
    return builder.StartVector(1, numElems, 1)


def HostPartAddBefore(builder, before):
    builder.PrependUint32Slot(2, before, 0)


def HostPartAddInputs(builder, inputs):
    builder.PrependUOffsetTRelativeSlot(
        3, flatbuffers.number_types.UOffsetTFlags.py_type(inputs), 0
    )


def HostPartStartInputsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def HostPartAddOutputs(builder, outputs):
    builder.PrependUOffsetTRelativeSlot(
        4, flatbuffers.number_types.UOffsetTFlags.py_type(outputs), 0
    )


def HostPartStartOutputsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def HostPartAddLabel(builder, label):
    builder.PrependUOffsetTRelativeSlot(5, flatbuffers.number_types.UOffsetTFlags.py_type(label), 0)


def HostPartAddOperators(builder, operators):
    builder.PrependUOffsetTRelativeSlot(
        6, flatbuffers.number_types.UOffsetTFlags.py_type(operators), 0
    )


def HostPartStartOperatorsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def HostPartEnd(builder):
    return builder.EndObject()


try:
    from typing import List
except:
    pass


class HostPartT(object):
    # HostPartT
    def __init__(self):
        self.file = None  # type: str
        self.sha256 = None  # type: List[int]
        self.before = 0  # type: int
        self.inputs = None  # type: List[int]
        self.outputs = None  # type: List[int]
        self.label = None  # type: str
        self.operators = None  # type: List[int]

    @classmethod
    def InitFromBuf(cls, buf, pos):
        hostPart = HostPart()
        hostPart.Init(buf, pos)
        return cls.InitFromObj(hostPart)

    @classmethod
    def InitFromObj(cls, hostPart):
        x = HostPartT()
        x._UnPack(hostPart)
        return x

    # HostPartT
    def _UnPack(self, hostPart):
        if hostPart is None:
            return
        self.file = hostPart.File()
        if not hostPart.Sha256IsNone():
            if np is None:
                self.sha256 = []
                for i in range(hostPart.Sha256Length()):
                    self.sha256.append(hostPart.Sha256(i))
            else:
                self.sha256 = hostPart.Sha256AsNumpy()
        self.before = hostPart.Before()
        if not hostPart.InputsIsNone():
            if np is None:
                self.inputs = []
                for i in range(hostPart.InputsLength()):
                    self.inputs.append(hostPart.Inputs(i))
            else:
                self.inputs = hostPart.InputsAsNumpy()
        if not hostPart.OutputsIsNone():
            if np is None:
                self.outputs = []
                for i in range(hostPart.OutputsLength()):
                    self.outputs.append(hostPart.Outputs(i))
            else:
                self.outputs = hostPart.OutputsAsNumpy()
        self.label = hostPart.Label()
        if not hostPart.OperatorsIsNone():
            if np is None:
                self.operators = []
                for i in range(hostPart.OperatorsLength()):
                    self.operators.append(hostPart.Operators(i))
            else:
                self.operators = hostPart.OperatorsAsNumpy()

    # HostPartT
    def Pack(self, builder):
        if self.file is not None:
            file = builder.CreateString(self.file)
        if self.sha256 is not None:
            if np is not None and type(self.sha256) is np.ndarray:
                sha256 = builder.CreateNumpyVector(self.sha256)
            else:
                HostPartStartSha256Vector(builder, len(self.sha256))
                for i in reversed(range(len(self.sha256))):
                    builder.PrependUint8(self.sha256[i])
                sha256 = builder.EndVector()
        if self.inputs is not None:
            if np is not None and type(self.inputs) is np.ndarray:
                inputs = builder.CreateNumpyVector(self.inputs)
            else:
                HostPartStartInputsVector(builder, len(self.inputs))
                for i in reversed(range(len(self.inputs))):
                    builder.PrependUint32(self.inputs[i])
                inputs = builder.EndVector()
        if self.outputs is not None:
            if np is not None and type(self.outputs) is np.ndarray:
                outputs = builder.CreateNumpyVector(self.outputs)
            else:
                HostPartStartOutputsVector(builder, len(self.outputs))
                for i in reversed(range(len(self.outputs))):
                    builder.PrependUint32(self.outputs[i])
                outputs = builder.EndVector()
        if self.label is not None:
            label = builder.CreateString(self.label)
        if self.operators is not None:
            if np is not None and type(self.operators) is np.ndarray:
                operators = builder.CreateNumpyVector(self.operators)
            else:
                HostPartStartOperatorsVector(builder, len(self.operators))
                for i in reversed(range(len(self.operators))):
                    builder.PrependInt32(self.operators[i])
                operators = builder.EndVector()
        HostPartStart(builder)
        if self.file is not None:
            HostPartAddFile(builder, file)
        if self.sha256 is not None:
            HostPartAddSha256(builder, sha256)
        HostPartAddBefore(builder, self.before)
        if self.inputs is not None:
            HostPartAddInputs(builder, inputs)
        if self.outputs is not None:
            HostPartAddOutputs(builder, outputs)
        if self.label is not None:
            HostPartAddLabel(builder, label)
        if self.operators is not None:
            HostPartAddOperators(builder, operators)
        hostPart = HostPartEnd(builder)
        return hostPart


class Persistent(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = Persistent()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsPersistent(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def PersistentBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # Persistent
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Persistent
    def Kernel(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # Persistent
    def First(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # Persistent
    def Count(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # Persistent
    def Counters(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint32Flags, o + self._tab.Pos)
        return 0

    # Persistent
    def Arguments(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 24
            obj = Argument()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Persistent
    def ArgumentsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Persistent
    def ArgumentsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        return o == 0


def PersistentStart(builder):
    builder.StartObject(5)


def PersistentAddKernel(builder, kernel):
    builder.PrependUint32Slot(0, kernel, 0)


def PersistentAddFirst(builder, first):
    builder.PrependUint32Slot(1, first, 0)


def PersistentAddCount(builder, count):
    builder.PrependUint32Slot(2, count, 0)


def PersistentAddCounters(builder, counters):
    builder.PrependUint32Slot(3, counters, 0)


def PersistentAddArguments(builder, arguments):
    builder.PrependUOffsetTRelativeSlot(
        4, flatbuffers.number_types.UOffsetTFlags.py_type(arguments), 0
    )


def PersistentStartArgumentsVector(builder, numElems):
    return builder.StartVector(24, numElems, 8)


def PersistentEnd(builder):
    return builder.EndObject()


try:
    from typing import List
except:
    pass


class PersistentT(object):
    # PersistentT
    def __init__(self):
        self.kernel = 0  # type: int
        self.first = 0  # type: int
        self.count = 0  # type: int
        self.counters = 0  # type: int
        self.arguments = None  # type: List[ArgumentT]

    @classmethod
    def InitFromBuf(cls, buf, pos):
        persistent = Persistent()
        persistent.Init(buf, pos)
        return cls.InitFromObj(persistent)

    @classmethod
    def InitFromObj(cls, persistent):
        x = PersistentT()
        x._UnPack(persistent)
        return x

    # PersistentT
    def _UnPack(self, persistent):
        if persistent is None:
            return
        self.kernel = persistent.Kernel()
        self.first = persistent.First()
        self.count = persistent.Count()
        self.counters = persistent.Counters()
        if not persistent.ArgumentsIsNone():
            self.arguments = []
            for i in range(persistent.ArgumentsLength()):
                if persistent.Arguments(i) is None:
                    self.arguments.append(None)
                else:
                    argument_ = ArgumentT.InitFromObj(persistent.Arguments(i))
                    self.arguments.append(argument_)

    # PersistentT
    def Pack(self, builder):
        if self.arguments is not None:
            PersistentStartArgumentsVector(builder, len(self.arguments))
            for i in reversed(range(len(self.arguments))):
                self.arguments[i].Pack(builder)
            arguments = builder.EndVector()
        PersistentStart(builder)
        PersistentAddKernel(builder, self.kernel)
        PersistentAddFirst(builder, self.first)
        PersistentAddCount(builder, self.count)
        PersistentAddCounters(builder, self.counters)
        if self.arguments is not None:
            PersistentAddArguments(builder, arguments)
        persistent = PersistentEnd(builder)
        return persistent


class Memory(object):
    __slots__ = ["_tab"]

    @classmethod
    def SizeOf(cls):
        return 24

    # Memory
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Memory
    def Naive(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint64Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(0),
        )

    # Memory
    def Planned(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint64Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(8),
        )

    # Memory
    def LowerBound(self):
        return self._tab.Get(
            flatbuffers.number_types.Uint64Flags,
            self._tab.Pos + flatbuffers.number_types.UOffsetTFlags.py_type(16),
        )


def CreateMemory(builder, naive, planned, lowerBound):
    builder.Prep(8, 24)
    builder.PrependUint64(lowerBound)
    builder.PrependUint64(planned)
    builder.PrependUint64(naive)
    return builder.Offset()


class MemoryT(object):
    # MemoryT
    def __init__(self):
        self.naive = 0  # type: int
        self.planned = 0  # type: int
        self.lowerBound = 0  # type: int

    @classmethod
    def InitFromBuf(cls, buf, pos):
        memory = Memory()
        memory.Init(buf, pos)
        return cls.InitFromObj(memory)

    @classmethod
    def InitFromObj(cls, memory):
        x = MemoryT()
        x._UnPack(memory)
        return x

    # MemoryT
    def _UnPack(self, memory):
        if memory is None:
            return
        self.naive = memory.Naive()
        self.planned = memory.Planned()
        self.lowerBound = memory.LowerBound()

    # MemoryT
    def Pack(self, builder):
        return CreateMemory(builder, self.naive, self.planned, self.lowerBound)


class Plan(object):
    __slots__ = ["_tab"]

    @classmethod
    def GetRootAs(cls, buf, offset=0):
        n = flatbuffers.encode.Get(flatbuffers.packer.uoffset, buf, offset)
        x = Plan()
        x.Init(buf, n + offset)
        return x

    @classmethod
    def GetRootAsPlan(cls, buf, offset=0):
        """This method is deprecated. Please switch to GetRootAs."""
        return cls.GetRootAs(buf, offset)

    @classmethod
    def PlanBufferHasIdentifier(cls, buf, offset, size_prefixed=False):
        return flatbuffers.util.BufferHasIdentifier(
            buf, offset, b"\x54\x47\x50\x4c", size_prefixed=size_prefixed
        )

    # Plan
    def Init(self, buf, pos):
        self._tab = flatbuffers.table.Table(buf, pos)

    # Plan
    def Compiler(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(4))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Target(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(6))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Precision(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(8))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Profile(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(10))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Model(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(12))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Fingerprint(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(14))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Options(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(16))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Passes(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(18))
        if o != 0:
            return self._tab.String(o + self._tab.Pos)
        return None

    # Plan
    def Inputs(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(20))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = TensorInfo()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def InputsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(20))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def InputsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(20))
        return o == 0

    # Plan
    def Outputs(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(22))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = TensorInfo()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def OutputsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(22))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def OutputsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(22))
        return o == 0

    # Plan
    def ArenaSize(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(24))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # Plan
    def WeightsSize(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(26))
        if o != 0:
            return self._tab.Get(flatbuffers.number_types.Uint64Flags, o + self._tab.Pos)
        return 0

    # Plan
    def WeightsSha256(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(28))
        if o != 0:
            a = self._tab.Vector(o)
            return self._tab.Get(
                flatbuffers.number_types.Uint8Flags,
                a + flatbuffers.number_types.UOffsetTFlags.py_type(j * 1),
            )
        return 0

    # Plan
    def WeightsSha256AsNumpy(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(28))
        if o != 0:
            return self._tab.GetVectorAsNumpy(flatbuffers.number_types.Uint8Flags, o)
        return 0

    # Plan
    def WeightsSha256Length(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(28))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def WeightsSha256IsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(28))
        return o == 0

    # Plan
    def Kernels(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(30))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = Kernel()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def KernelsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(30))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def KernelsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(30))
        return o == 0

    # Plan
    def Dispatches(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(32))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = Dispatch()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def DispatchesLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(32))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def DispatchesIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(32))
        return o == 0

    # Plan
    def Tensors(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(34))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = PlacedTensor()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def TensorsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(34))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def TensorsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(34))
        return o == 0

    # Plan
    def Memory(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(36))
        if o != 0:
            x = o + self._tab.Pos
            obj = Memory()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def Companions(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(38))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = Companion()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def CompanionsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(38))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def CompanionsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(38))
        return o == 0

    # Plan
    def Variables(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(40))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = Variable()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def VariablesLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(40))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def VariablesIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(40))
        return o == 0

    # Plan
    def HostTensors(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(42))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = HostTensor()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def HostTensorsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(42))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def HostTensorsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(42))
        return o == 0

    # Plan
    def Parts(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(44))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = HostPart()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def PartsLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(44))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def PartsIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(44))
        return o == 0

    # Plan
    def Persistent(self, j):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(46))
        if o != 0:
            x = self._tab.Vector(o)
            x += flatbuffers.number_types.UOffsetTFlags.py_type(j) * 4
            x = self._tab.Indirect(x)
            obj = Persistent()
            obj.Init(self._tab.Bytes, x)
            return obj
        return None

    # Plan
    def PersistentLength(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(46))
        if o != 0:
            return self._tab.VectorLen(o)
        return 0

    # Plan
    def PersistentIsNone(self):
        o = flatbuffers.number_types.UOffsetTFlags.py_type(self._tab.Offset(46))
        return o == 0


def PlanStart(builder):
    builder.StartObject(22)


def PlanAddCompiler(builder, compiler):
    builder.PrependUOffsetTRelativeSlot(
        0, flatbuffers.number_types.UOffsetTFlags.py_type(compiler), 0
    )


def PlanAddTarget(builder, target):
    builder.PrependUOffsetTRelativeSlot(
        1, flatbuffers.number_types.UOffsetTFlags.py_type(target), 0
    )


def PlanAddPrecision(builder, precision):
    builder.PrependUOffsetTRelativeSlot(
        2, flatbuffers.number_types.UOffsetTFlags.py_type(precision), 0
    )


def PlanAddProfile(builder, profile):
    builder.PrependUOffsetTRelativeSlot(
        3, flatbuffers.number_types.UOffsetTFlags.py_type(profile), 0
    )


def PlanAddModel(builder, model):
    builder.PrependUOffsetTRelativeSlot(4, flatbuffers.number_types.UOffsetTFlags.py_type(model), 0)


def PlanAddFingerprint(builder, fingerprint):
    builder.PrependUOffsetTRelativeSlot(
        5, flatbuffers.number_types.UOffsetTFlags.py_type(fingerprint), 0
    )


def PlanAddOptions(builder, options):
    builder.PrependUOffsetTRelativeSlot(
        6, flatbuffers.number_types.UOffsetTFlags.py_type(options), 0
    )


def PlanAddPasses(builder, passes):
    builder.PrependUOffsetTRelativeSlot(
        7, flatbuffers.number_types.UOffsetTFlags.py_type(passes), 0
    )


def PlanAddInputs(builder, inputs):
    builder.PrependUOffsetTRelativeSlot(
        8, flatbuffers.number_types.UOffsetTFlags.py_type(inputs), 0
    )


def PlanStartInputsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddOutputs(builder, outputs):
    builder.PrependUOffsetTRelativeSlot(
        9, flatbuffers.number_types.UOffsetTFlags.py_type(outputs), 0
    )


def PlanStartOutputsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddArenaSize(builder, arenaSize):
    builder.PrependUint64Slot(10, arenaSize, 0)


def PlanAddWeightsSize(builder, weightsSize):
    builder.PrependUint64Slot(11, weightsSize, 0)


def PlanAddWeightsSha256(builder, weightsSha256):
    builder.PrependUOffsetTRelativeSlot(
        12, flatbuffers.number_types.UOffsetTFlags.py_type(weightsSha256), 0
    )


def PlanStartWeightsSha256Vector(builder, numElems):
    return builder.StartVector(1, numElems, 1)


def PlanAddKernels(builder, kernels):
    builder.PrependUOffsetTRelativeSlot(
        13, flatbuffers.number_types.UOffsetTFlags.py_type(kernels), 0
    )


def PlanStartKernelsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddDispatches(builder, dispatches):
    builder.PrependUOffsetTRelativeSlot(
        14, flatbuffers.number_types.UOffsetTFlags.py_type(dispatches), 0
    )


def PlanStartDispatchesVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddTensors(builder, tensors):
    builder.PrependUOffsetTRelativeSlot(
        15, flatbuffers.number_types.UOffsetTFlags.py_type(tensors), 0
    )


def PlanStartTensorsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddMemory(builder, memory):
    builder.PrependStructSlot(16, flatbuffers.number_types.UOffsetTFlags.py_type(memory), 0)


def PlanAddCompanions(builder, companions):
    builder.PrependUOffsetTRelativeSlot(
        17, flatbuffers.number_types.UOffsetTFlags.py_type(companions), 0
    )


def PlanStartCompanionsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddVariables(builder, variables):
    builder.PrependUOffsetTRelativeSlot(
        18, flatbuffers.number_types.UOffsetTFlags.py_type(variables), 0
    )


def PlanStartVariablesVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddHostTensors(builder, hostTensors):
    builder.PrependUOffsetTRelativeSlot(
        19, flatbuffers.number_types.UOffsetTFlags.py_type(hostTensors), 0
    )


def PlanStartHostTensorsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddParts(builder, parts):
    builder.PrependUOffsetTRelativeSlot(
        20, flatbuffers.number_types.UOffsetTFlags.py_type(parts), 0
    )


def PlanStartPartsVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanAddPersistent(builder, persistent):
    builder.PrependUOffsetTRelativeSlot(
        21, flatbuffers.number_types.UOffsetTFlags.py_type(persistent), 0
    )


def PlanStartPersistentVector(builder, numElems):
    return builder.StartVector(4, numElems, 4)


def PlanEnd(builder):
    return builder.EndObject()


try:
    from typing import List, Optional
except:
    pass


class PlanT(object):
    # PlanT
    def __init__(self):
        self.compiler = None  # type: str
        self.target = None  # type: str
        self.precision = None  # type: str
        self.profile = None  # type: str
        self.model = None  # type: str
        self.fingerprint = None  # type: str
        self.options = None  # type: str
        self.passes = None  # type: str
        self.inputs = None  # type: List[TensorInfoT]
        self.outputs = None  # type: List[TensorInfoT]
        self.arenaSize = 0  # type: int
        self.weightsSize = 0  # type: int
        self.weightsSha256 = None  # type: List[int]
        self.kernels = None  # type: List[KernelT]
        self.dispatches = None  # type: List[DispatchT]
        self.tensors = None  # type: List[PlacedTensorT]
        self.memory = None  # type: Optional[MemoryT]
        self.companions = None  # type: List[CompanionT]
        self.variables = None  # type: List[VariableT]
        self.hostTensors = None  # type: List[HostTensorT]
        self.parts = None  # type: List[HostPartT]
        self.persistent = None  # type: List[PersistentT]

    @classmethod
    def InitFromBuf(cls, buf, pos):
        plan = Plan()
        plan.Init(buf, pos)
        return cls.InitFromObj(plan)

    @classmethod
    def InitFromObj(cls, plan):
        x = PlanT()
        x._UnPack(plan)
        return x

    # PlanT
    def _UnPack(self, plan):
        if plan is None:
            return
        self.compiler = plan.Compiler()
        self.target = plan.Target()
        self.precision = plan.Precision()
        self.profile = plan.Profile()
        self.model = plan.Model()
        self.fingerprint = plan.Fingerprint()
        self.options = plan.Options()
        self.passes = plan.Passes()
        if not plan.InputsIsNone():
            self.inputs = []
            for i in range(plan.InputsLength()):
                if plan.Inputs(i) is None:
                    self.inputs.append(None)
                else:
                    tensorInfo_ = TensorInfoT.InitFromObj(plan.Inputs(i))
                    self.inputs.append(tensorInfo_)
        if not plan.OutputsIsNone():
            self.outputs = []
            for i in range(plan.OutputsLength()):
                if plan.Outputs(i) is None:
                    self.outputs.append(None)
                else:
                    tensorInfo_ = TensorInfoT.InitFromObj(plan.Outputs(i))
                    self.outputs.append(tensorInfo_)
        self.arenaSize = plan.ArenaSize()
        self.weightsSize = plan.WeightsSize()
        if not plan.WeightsSha256IsNone():
            if np is None:
                self.weightsSha256 = []
                for i in range(plan.WeightsSha256Length()):
                    self.weightsSha256.append(plan.WeightsSha256(i))
            else:
                self.weightsSha256 = plan.WeightsSha256AsNumpy()
        if not plan.KernelsIsNone():
            self.kernels = []
            for i in range(plan.KernelsLength()):
                if plan.Kernels(i) is None:
                    self.kernels.append(None)
                else:
                    kernel_ = KernelT.InitFromObj(plan.Kernels(i))
                    self.kernels.append(kernel_)
        if not plan.DispatchesIsNone():
            self.dispatches = []
            for i in range(plan.DispatchesLength()):
                if plan.Dispatches(i) is None:
                    self.dispatches.append(None)
                else:
                    dispatch_ = DispatchT.InitFromObj(plan.Dispatches(i))
                    self.dispatches.append(dispatch_)
        if not plan.TensorsIsNone():
            self.tensors = []
            for i in range(plan.TensorsLength()):
                if plan.Tensors(i) is None:
                    self.tensors.append(None)
                else:
                    placedTensor_ = PlacedTensorT.InitFromObj(plan.Tensors(i))
                    self.tensors.append(placedTensor_)
        if plan.Memory() is not None:
            self.memory = MemoryT.InitFromObj(plan.Memory())
        if not plan.CompanionsIsNone():
            self.companions = []
            for i in range(plan.CompanionsLength()):
                if plan.Companions(i) is None:
                    self.companions.append(None)
                else:
                    companion_ = CompanionT.InitFromObj(plan.Companions(i))
                    self.companions.append(companion_)
        if not plan.VariablesIsNone():
            self.variables = []
            for i in range(plan.VariablesLength()):
                if plan.Variables(i) is None:
                    self.variables.append(None)
                else:
                    variable_ = VariableT.InitFromObj(plan.Variables(i))
                    self.variables.append(variable_)
        if not plan.HostTensorsIsNone():
            self.hostTensors = []
            for i in range(plan.HostTensorsLength()):
                if plan.HostTensors(i) is None:
                    self.hostTensors.append(None)
                else:
                    hostTensor_ = HostTensorT.InitFromObj(plan.HostTensors(i))
                    self.hostTensors.append(hostTensor_)
        if not plan.PartsIsNone():
            self.parts = []
            for i in range(plan.PartsLength()):
                if plan.Parts(i) is None:
                    self.parts.append(None)
                else:
                    hostPart_ = HostPartT.InitFromObj(plan.Parts(i))
                    self.parts.append(hostPart_)
        if not plan.PersistentIsNone():
            self.persistent = []
            for i in range(plan.PersistentLength()):
                if plan.Persistent(i) is None:
                    self.persistent.append(None)
                else:
                    persistent_ = PersistentT.InitFromObj(plan.Persistent(i))
                    self.persistent.append(persistent_)

    # PlanT
    def Pack(self, builder):
        if self.compiler is not None:
            compiler = builder.CreateString(self.compiler)
        if self.target is not None:
            target = builder.CreateString(self.target)
        if self.precision is not None:
            precision = builder.CreateString(self.precision)
        if self.profile is not None:
            profile = builder.CreateString(self.profile)
        if self.model is not None:
            model = builder.CreateString(self.model)
        if self.fingerprint is not None:
            fingerprint = builder.CreateString(self.fingerprint)
        if self.options is not None:
            options = builder.CreateString(self.options)
        if self.passes is not None:
            passes = builder.CreateString(self.passes)
        if self.inputs is not None:
            inputslist = []
            for i in range(len(self.inputs)):
                inputslist.append(self.inputs[i].Pack(builder))
            PlanStartInputsVector(builder, len(self.inputs))
            for i in reversed(range(len(self.inputs))):
                builder.PrependUOffsetTRelative(inputslist[i])
            inputs = builder.EndVector()
        if self.outputs is not None:
            outputslist = []
            for i in range(len(self.outputs)):
                outputslist.append(self.outputs[i].Pack(builder))
            PlanStartOutputsVector(builder, len(self.outputs))
            for i in reversed(range(len(self.outputs))):
                builder.PrependUOffsetTRelative(outputslist[i])
            outputs = builder.EndVector()
        if self.weightsSha256 is not None:
            if np is not None and type(self.weightsSha256) is np.ndarray:
                weightsSha256 = builder.CreateNumpyVector(self.weightsSha256)
            else:
                PlanStartWeightsSha256Vector(builder, len(self.weightsSha256))
                for i in reversed(range(len(self.weightsSha256))):
                    builder.PrependUint8(self.weightsSha256[i])
                weightsSha256 = builder.EndVector()
        if self.kernels is not None:
            kernelslist = []
            for i in range(len(self.kernels)):
                kernelslist.append(self.kernels[i].Pack(builder))
            PlanStartKernelsVector(builder, len(self.kernels))
            for i in reversed(range(len(self.kernels))):
                builder.PrependUOffsetTRelative(kernelslist[i])
            kernels = builder.EndVector()
        if self.dispatches is not None:
            dispatcheslist = []
            for i in range(len(self.dispatches)):
                dispatcheslist.append(self.dispatches[i].Pack(builder))
            PlanStartDispatchesVector(builder, len(self.dispatches))
            for i in reversed(range(len(self.dispatches))):
                builder.PrependUOffsetTRelative(dispatcheslist[i])
            dispatches = builder.EndVector()
        if self.tensors is not None:
            tensorslist = []
            for i in range(len(self.tensors)):
                tensorslist.append(self.tensors[i].Pack(builder))
            PlanStartTensorsVector(builder, len(self.tensors))
            for i in reversed(range(len(self.tensors))):
                builder.PrependUOffsetTRelative(tensorslist[i])
            tensors = builder.EndVector()
        if self.companions is not None:
            companionslist = []
            for i in range(len(self.companions)):
                companionslist.append(self.companions[i].Pack(builder))
            PlanStartCompanionsVector(builder, len(self.companions))
            for i in reversed(range(len(self.companions))):
                builder.PrependUOffsetTRelative(companionslist[i])
            companions = builder.EndVector()
        if self.variables is not None:
            variableslist = []
            for i in range(len(self.variables)):
                variableslist.append(self.variables[i].Pack(builder))
            PlanStartVariablesVector(builder, len(self.variables))
            for i in reversed(range(len(self.variables))):
                builder.PrependUOffsetTRelative(variableslist[i])
            variables = builder.EndVector()
        if self.hostTensors is not None:
            hostTensorslist = []
            for i in range(len(self.hostTensors)):
                hostTensorslist.append(self.hostTensors[i].Pack(builder))
            PlanStartHostTensorsVector(builder, len(self.hostTensors))
            for i in reversed(range(len(self.hostTensors))):
                builder.PrependUOffsetTRelative(hostTensorslist[i])
            hostTensors = builder.EndVector()
        if self.parts is not None:
            partslist = []
            for i in range(len(self.parts)):
                partslist.append(self.parts[i].Pack(builder))
            PlanStartPartsVector(builder, len(self.parts))
            for i in reversed(range(len(self.parts))):
                builder.PrependUOffsetTRelative(partslist[i])
            parts = builder.EndVector()
        if self.persistent is not None:
            persistentlist = []
            for i in range(len(self.persistent)):
                persistentlist.append(self.persistent[i].Pack(builder))
            PlanStartPersistentVector(builder, len(self.persistent))
            for i in reversed(range(len(self.persistent))):
                builder.PrependUOffsetTRelative(persistentlist[i])
            persistent = builder.EndVector()
        PlanStart(builder)
        if self.compiler is not None:
            PlanAddCompiler(builder, compiler)
        if self.target is not None:
            PlanAddTarget(builder, target)
        if self.precision is not None:
            PlanAddPrecision(builder, precision)
        if self.profile is not None:
            PlanAddProfile(builder, profile)
        if self.model is not None:
            PlanAddModel(builder, model)
        if self.fingerprint is not None:
            PlanAddFingerprint(builder, fingerprint)
        if self.options is not None:
            PlanAddOptions(builder, options)
        if self.passes is not None:
            PlanAddPasses(builder, passes)
        if self.inputs is not None:
            PlanAddInputs(builder, inputs)
        if self.outputs is not None:
            PlanAddOutputs(builder, outputs)
        PlanAddArenaSize(builder, self.arenaSize)
        PlanAddWeightsSize(builder, self.weightsSize)
        if self.weightsSha256 is not None:
            PlanAddWeightsSha256(builder, weightsSha256)
        if self.kernels is not None:
            PlanAddKernels(builder, kernels)
        if self.dispatches is not None:
            PlanAddDispatches(builder, dispatches)
        if self.tensors is not None:
            PlanAddTensors(builder, tensors)
        if self.memory is not None:
            memory = self.memory.Pack(builder)
            PlanAddMemory(builder, memory)
        if self.companions is not None:
            PlanAddCompanions(builder, companions)
        if self.variables is not None:
            PlanAddVariables(builder, variables)
        if self.hostTensors is not None:
            PlanAddHostTensors(builder, hostTensors)
        if self.parts is not None:
            PlanAddParts(builder, parts)
        if self.persistent is not None:
            PlanAddPersistent(builder, persistent)
        plan = PlanEnd(builder)
        return plan
