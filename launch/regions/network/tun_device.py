"""TUN devices and network namespaces of this process, by the kernel's own calls: no program is needed for them.

Numbers are those of linux/if_tun.h, linux/sockios.h, linux/if.h, linux/rtnetlink.h and linux/sched.h.
"""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

TUN = Path("/dev/net/tun")
MTU = 9_000
"""Bytes of the longest packet. Each costs the carrier the same time, so long ones carry more."""
QUEUE = 10_000
"""Packets that wait while the carrier has no CPU; with the kernel's 500 a busy machine would lose some."""
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _TUNSETPERSIST, _TUNSETQUEUE = 0x400454CA, 0x400454CB, 0x400454D9
_IFF_TUN, _IFF_NO_PI, _IFF_MULTI_QUEUE, _IFF_DETACH_QUEUE = 0x0001, 0x1000, 0x0100, 0x0400
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
_SIOCSIFMTU = 0x8922
_NETLINK_ROUTE, _RTM_NEWLINK, _NLM_F_REQUEST_ACK, _IFLA_TXQLEN = 0, 16, 0x5, 13
_HEADER = struct.Struct("=IHHII")
"""A nlmsghdr."""
_IFF_UP = 0x1
_LIBC = ctypes.CDLL(None, use_errno=True)

Result = TypeVar("Result")


def in_own_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread that ends with it: a thread that enters a namespace leaves all others where they are."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(work).result()


def enter_new_namespace() -> int:
    """Move this thread into a new network namespace, and return a descriptor that keeps it. Raises OSError."""
    _checked(_LIBC.unshare(_CLONE_NEWNET), "unshare")
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def enter_namespace(path: str) -> None:
    """Move this thread into the namespace. Raises OSError."""
    namespace = os.open(path, os.O_RDONLY)
    try:
        _checked(_LIBC.setns(namespace, _CLONE_NEWNET), "setns")
    finally:
        os.close(namespace)


def open_tun(name: str, *, is_shared: bool = False) -> int:
    """Return the device of that name in this thread's namespace, made if it is not there; read and written without
    waiting. `is_shared`: others may hold it too (`hold_device`). Raises OSError.
    """
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    flags = _IFF_TUN | _IFF_NO_PI | (_IFF_MULTI_QUEUE if is_shared else 0)
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    except OSError:
        os.close(device)
        raise
    return device


def hold_device(device: int) -> None:
    """Keep the shared device for as long as it is open here; whoever else has it open gets its packets."""
    fcntl.ioctl(device, _TUNSETQUEUE, struct.pack("16xH22x", _IFF_DETACH_QUEUE))


def keep_device(device: int) -> None:
    """Keep the device until its namespace goes, also while nobody has it open."""
    fcntl.ioctl(device, _TUNSETPERSIST, 1)


def set_up(name: str, address: str) -> None:
    """Give the device its address, in a network of 256, and switch it on. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for call, value in (
            (_SIOCSIFADDR, _internet(address)),
            (_SIOCSIFNETMASK, _internet("255.255.255.0")),
            (_SIOCSIFMTU, struct.pack("i", MTU)),
        ):
            fcntl.ioctl(any_socket, call, struct.pack("16s24s", name.encode(), value))
    _set_queue(name)
    switch_on(name)


def _set_queue(name: str) -> None:
    """Set the queue's length by a message of rtnetlink(7): the older call for it wants root, also in a network of the
    user's own."""
    attribute = struct.pack("=HHI", 8, _IFLA_TXQLEN, QUEUE)
    link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0)
    length = _HEADER.size + len(link) + len(attribute)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as kernel:
        kernel.send(_HEADER.pack(length, _RTM_NEWLINK, _NLM_F_REQUEST_ACK, 1, 0) + link + attribute)
        (number,) = struct.unpack_from("=i", kernel.recv(4_096), _HEADER.size)
    if number != 0:
        raise OSError(-number, os.strerror(-number), name)


def switch_on(name: str) -> None:
    """Switch the device on. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16s24x", name.encode()))
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags | _IFF_UP))


def _internet(address: str) -> bytes:
    """Return a sockaddr_in."""
    return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


def _checked(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), call)
