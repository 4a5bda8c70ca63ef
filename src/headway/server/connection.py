"""Connections of clients, closed where a client sends or reads nothing."""

from __future__ import annotations

import asyncio
import math

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SILENT_SECONDS = 30.0
"""Time between two looks at a connection; one that is silent from one to the next is closed."""


class Connection(H11Protocol):
    """uvicorn's connection with bounds on the time that a client takes to send a head, and to read what is left of an answer.

    uvicorn itself waits without end for the first head, for the rest of a head, and for unread bytes of a connection that it has closed.
    """

    _timer: asyncio.TimerHandle | None = None
    _seen: object = None
    _unread: float = math.inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Watch a new connection."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch it no longer."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Note that the bytes from now on are others than those of an earlier pause."""
        self._unread = math.inf
        super().pause_writing()

    def _watch(self) -> None:
        self._timer = self.loop.call_later(SILENT_SECONDS, self._look)

    def _look(self) -> None:
        """Close the connection if its client owes the same bytes as at the last look."""
        owed, unread = self._owed(), self._unread_bytes()
        if (owed is not None and owed is self._seen) or (unread and unread >= self._unread):
            self.transport.abort()
            return
        self._seen, self._unread = owed, unread or math.inf
        self._watch()

    def _owed(self) -> object:
        """Return an object that identifies the head that has not arrived; None if the client owes none."""
        return (self.cycle or self) if self.conn.their_state is h11.IDLE else None

    def _unread_bytes(self) -> int:
        """Return the number of bytes that wait for the client, where nothing is added to them."""
        is_final = self.flow.write_paused or self.transport.is_closing()
        return self.transport.get_write_buffer_size() if is_final else 0
