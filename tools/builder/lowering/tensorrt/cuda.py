"""The few calls of CUDA's driver that running a plan takes, by ctypes: where there is a GPU, there is libcuda."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
_DEVICE = 2  # CU_MEMORYTYPE_DEVICE


class CudaError(RuntimeError):
    """There is no GPU, or its driver refuses a call."""


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D: rows of `width` bytes from one pitched area of memory to another."""

    _fields_ = [
        *((f"{end}_{name}", kind) for end in ("source", "target") for name, kind in (
            ("x", c_size_t), ("y", c_size_t), ("type", c_int), ("host", c_void_p), ("device", c_ulonglong),
            ("array", c_void_p), ("pitch", c_size_t))),
        ("width", c_size_t),
        ("height", c_size_t),
    ]  # fmt: skip


class Cuda:
    """A stream on one GPU and the memory that was taken on it. All copies are in the stream's order."""

    def __init__(self, device: int = 0) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CudaError(f"no driver of an NVIDIA GPU is installed: {error}") from None
        self._call("cuInit", c_uint(0))
        handle, context, stream = c_int(), c_void_p(), c_void_p()
        self._call("cuDeviceGet", ctypes.byref(handle), c_int(device))
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self._call("cuCtxSetCurrent", context)
        self._call("cuStreamCreate", ctypes.byref(stream), c_uint(0))
        self._stream = stream

    @property
    def stream(self) -> int:
        """The stream's handle, as TensorRT takes it."""
        return int(self._stream.value or 0)

    def allocate(self, size: int) -> int:
        """The address of `size` bytes of zeros, which live as long as the process."""
        address = c_ulonglong()
        self._call("cuMemAlloc_v2", ctypes.byref(address), c_size_t(max(size, 1)))
        self._call("cuMemsetD8Async", address, ctypes.c_ubyte(0), c_size_t(max(size, 1)), self._stream)
        return int(address.value)

    def upload(self, address: int, array: Array) -> None:
        """Copies a contiguous array to the GPU; the array may be changed afterwards."""
        if array.nbytes:
            size = c_size_t(array.nbytes)
            self._call("cuMemcpyHtoDAsync_v2", c_ulonglong(address), c_void_p(array.ctypes.data), size, self._stream)
            self.synchronize()

    def download(self, address: int, array: Array) -> None:
        """Fills a contiguous array from the GPU, once all that was begun is done."""
        if array.nbytes:
            size = c_size_t(array.nbytes)
            self._call("cuMemcpyDtoHAsync_v2", c_void_p(array.ctypes.data), c_ulonglong(address), size, self._stream)
        self.synchronize()

    def copy(self, target: int, source: int, size: int) -> None:
        """Copies within the GPU; the two may not overlap."""
        self._call("cuMemcpyDtoDAsync_v2", c_ulonglong(target), c_ulonglong(source), c_size_t(size), self._stream)

    def copy_rows(self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, rows: int) -> None:
        """Copies `rows` rows of `width` bytes within the GPU; pitches are the distances of their beginnings."""
        copy = _Copy2D(
            source_type=_DEVICE, source_device=source, source_pitch=source_pitch, target_type=_DEVICE,
            target_device=target, target_pitch=target_pitch, width=width, height=rows,
        )  # fmt: skip
        self._call("cuMemcpy2DAsync_v2", ctypes.byref(copy), self._stream)

    def synchronize(self) -> None:
        """Waits until all that was begun is done."""
        self._call("cuStreamSynchronize", self._stream)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(c_int(code), ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")


class Memory:
    """A piece of a GPU's memory that grows as it is asked for more."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda, self._size, self.address = cuda, 0, 0

    def of(self, size: int) -> int:
        """The address of at least `size` bytes; what they held is lost when it grows."""
        if size > self._size or not self.address:
            self.address, self._size = self._cuda.allocate(size), size
        return self.address
