"""One scrape: the page that all collectors fill, and its text in the forms that clients ask for.

All of it is done in short turns on the loop, or beside it: with ten thousand partitions a page is megabytes.
"""

import asyncio
import time
import zlib
from typing import NamedTuple

from tidelog.metrics.collectors import Collectors
from tidelog.metrics.page import Page
from tidelog.metrics.text_format import text_of
from tidelog.server.http.cooperative import Turns

GZIP_LEVEL = 1
_GZIP_WINDOW = 31  # zlib's largest window, with gzip's header


class Form(NamedTuple):
    open_metrics: bool
    gzip: bool


class Scrape:
    """Begins at once. Several clients may ask for its text, in the same form or in different ones."""

    def __init__(self, collectors: Collectors) -> None:
        self._turns = Turns()
        self._packing_seconds = 0.0
        self._page = asyncio.ensure_future(self._fill(collectors))
        self._texts: dict[Form, asyncio.Future[list[bytes]]] = {}

    @property
    def is_collecting(self) -> bool:
        return not self._page.done()

    @property
    def cpu_seconds(self) -> float:
        return self._turns.busy_seconds + self._packing_seconds

    async def text(self, form: Form) -> list[bytes]:
        """Returns the text in pieces."""
        text = self._texts.get(form)
        if text is None:
            text = self._texts[form] = asyncio.ensure_future(self._text(form))
        return await asyncio.shield(text)  # a client that leaves takes nothing from the others

    async def _fill(self, collectors: Collectors) -> Page:
        page = Page()
        await self._turns.run(collectors.fill(page))
        return page

    async def _text(self, form: Form) -> list[bytes]:
        if form.gzip:
            return await asyncio.to_thread(self._packed, await self.text(form._replace(gzip=False)))
        page = await asyncio.shield(self._page)
        pieces = text_of(page, open_metrics=form.open_metrics)
        return await self._turns.run(piece.encode() for piece in pieces)

    def _packed(self, pieces: list[bytes]) -> list[bytes]:
        """Runs on a thread: zlib lets the loop go on meanwhile."""
        began = time.thread_time()
        packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        packed = [packer.compress(piece) for piece in pieces]
        packed.append(packer.flush())
        self._packing_seconds += time.thread_time() - began
        return [piece for piece in packed if piece]
