"""Lines between silos and a coordinator on one machine, for launch/simulate-silos --network: each connection is delayed by half a
round trip either way, and each direction carries so many bits a second. TCP's own start, and packets that get lost, are left out."""
import asyncio
import threading

CHUNK = 1 << 16
MOST_ON_ITS_WAY = 1 << 26  # bytes of a direction; a line of 1 Gbit/s holds 25 MB at 200 ms


class Lines:
    def __init__(self, port, round_trip, rate):
        """To `port` of this machine; `round_trip` in seconds, `rate` in bits a second."""
        self.target, self.delay, self.rate = port, round_trip / 2, rate
        self.bytes = 0  # in both directions, of all lines
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.connect, "127.0.0.1", 0), self.loop).result()
        self.port = self.server.sockets[0].getsockname()[1]

    def close(self):
        async def end():
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def connect(self, reader, writer):
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self.carry(reader, other_writer), self.carry(other_reader, writer))

    async def carry(self, reader, writer):
        """What comes leaves in order: one after the other at the rate, and half a round trip later."""
        on_its_way = asyncio.Queue(maxsize=MOST_ON_ITS_WAY // CHUNK)
        writing = asyncio.ensure_future(self.write(on_its_way, writer))
        free = 0.0
        try:
            while chunk := await reader.read(CHUNK):
                self.bytes += len(chunk)
                free = max(free, self.loop.time()) + 8 * len(chunk) / self.rate
                await on_its_way.put((free + self.delay, chunk))
        except ConnectionError:
            pass
        await on_its_way.put((0.0, b""))
        await writing

    async def write(self, on_its_way, writer):
        clock = 1e-3  # timers are late by up to so much
        while True:
            arrives, chunk = await on_its_way.get()
            if not chunk:
                break
            wait = arrives - self.loop.time()
            if wait > clock:
                await asyncio.sleep(wait - clock)
            while self.loop.time() < arrives:
                await asyncio.sleep(0)
            try:
                writer.write(chunk)
                await writer.drain()
            except ConnectionError:
                break
        writer.close()
