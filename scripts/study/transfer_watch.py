"""Limits of time on a transfer, kept by a thread outside the HTTP parser.

A socket's timeout ends one wait for one packet. A server that sends a byte now and then, or `100 Continue` without end,
keeps `http.client` in a status line, a header, a chunk's extension or a trailer for as long as it likes. The thread
counts only time and bytes of the file. Past a limit it shuts the connection down, and the parser meets the end of its
input. Two waits are not covered, since there is no connection yet: the look-up of a name, which the resolver ends, and
the attempt to connect, which ends after its own timeout for each address of the host.
"""

import contextlib
import socket
import threading
import time

from requests.adapters import HTTPAdapter


class TransferStopped(Exception):
    """The watch shut a transfer down; its text says which limit was passed."""


class TransferWatch:
    """A context that ends with `TransferStopped` where a limit was exceeded.

    Attributes:
        fault: the limit that was passed, in words; None so far.
    """

    def __init__(self, head, stall, rate, whole):
        """Set the limits.

        Args:
            head: seconds from a request to the end of its answer's headers, TLS handshake included.
            stall: length of the windows in which the body's rate is measured, in seconds.
            rate: least bytes of the file per second in a window; nothing else in the body counts.
            whole: seconds for all of it, redirects included.
        """
        self.head, self.stall, self.rate, self.whole = head, stall, rate, whole
        self.fault, self._over, self._sockets = None, False, []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self):
        """Start the clock."""
        self._end = time.monotonic() + self.whole
        self.asked()
        self._thread.start()
        return self

    def __exit__(self, kind, error, traceback):
        """Stop the thread; replace the parser's result of its cut input by `TransferStopped`."""
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()
        for connection in self._sockets:
            connection.close()
        if self.fault and (kind is None or issubclass(kind, Exception)):
            raise TransferStopped(self.fault) from error

    def asked(self):
        """Begin to wait for the headers of an answer."""
        self._begin(self.head, waiting=True)

    def answered(self):
        """Begin to measure the rate of the body: the headers have come."""
        self._begin(self.stall, waiting=False)

    def received(self, count):
        """Count bytes of the file."""
        with self._changed:
            self._count += count

    def attach(self, connection):
        """Take a connected socket under watch.

        The descriptor is duplicated, as TLS takes the socket's own away; both are one connection.

        Raises:
            TransferStopped: a limit was passed while it connected.
        """
        with self._changed:
            if self.fault:
                connection.close()
                raise TransferStopped(self.fault)
            self._sockets.append(connection.dup())

    def adapter(self):
        """Return an adapter for a `requests.Session` whose connections are under this watch."""
        return _Adapter(self)

    def _begin(self, seconds, waiting):
        with self._changed:
            self._waiting, self._count = waiting, 0
            self._due = time.monotonic() + seconds
            self._changed.notify()

    def _keep(self):
        """Sleep until the next limit, judge, and shut the connections down at the first that is passed."""
        with self._changed:
            while not self._over and not self.fault:
                now = time.monotonic()
                self.fault = self._judged(now)
                self._changed.wait(0 if self.fault else min(self._due, self._end) - now)
            for connection in self._sockets if self.fault else ():
                # The other side may have closed it.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _judged(self, now):
        """Return the limit that is passed, or None; open the next window where the last one sufficed."""
        if now >= self._end:
            return f"too slow: not over after {self.whole:g} s, the longest that a transfer may take"
        if now < self._due:
            return None
        if self._waiting:
            return f"too slow: no complete status and headers within {self.head:g} s"
        if self._count < self.rate * self.stall:
            return f"too slow: {self._count} bytes of the file in {self.stall:g} s, fewer than {self.rate} per second"
        self._count, self._due = 0, now + self.stall
        return None


class _Adapter(HTTPAdapter):
    """Connections of requests, also through proxies, each attached to a watch before its TLS handshake."""

    def __init__(self, watch):
        self._watch = watch
        super().__init__()

    def get_connection_with_tls_context(self, *arguments, **options):
        """Return the pool of a request's host; `ConnectionCls` is where urllib3 lets its connections be replaced."""
        pool, watch = super().get_connection_with_tls_context(*arguments, **options), self._watch

        class Watched(type(pool).ConnectionCls):
            def _new_conn(self):
                connection = super()._new_conn()
                watch.attach(connection)
                return connection

        pool.ConnectionCls = Watched
        return pool
