"""Clients: kept-alive connections that send prepared bodies, and the times that they saw."""

import http.client
import socket
import threading
import time

TIMEOUT_SECONDS = 600


class Sent:
    """What one request came back with."""

    def __init__(self, status, data, milliseconds):
        self.status = status
        self.data = data
        self.milliseconds = milliseconds


class Connection:
    """One kept-alive connection; opened again when the server has closed it between two requests, as servers may."""

    def __init__(self, port, path):
        self.path = path
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        self.reopened = 0
        self.left = False

    def send(self, body, since=None):
        """Times from `since` (default: now), so that a request which had to wait for a free client counts its wait."""
        began = time.perf_counter() if since is None else since
        kept_alive = self.http.sock is not None
        try:
            reply, data = self._round(body)
        except (ConnectionError, http.client.RemoteDisconnected):
            if not kept_alive or self.left:
                raise
            self.http.close()
            self.reopened += 1
            reply, data = self._round(body)
        return Sent(reply.status, data, (time.perf_counter() - began) * 1e3)

    def _round(self, body):
        self.http.request("POST", self.path, body, {"Content-Type": "application/json"})
        reply = self.http.getresponse()
        return reply, reply.read()

    def leave(self):
        """Hangs up, from any thread: a `send` that waits for its reply ends with an error."""
        self.left = True
        sock = self.http.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed meanwhile

    def close(self):
        self.http.close()


class Block:
    """One measured stretch: all requests of one side, in the order in which they were given."""

    def __init__(self, sent, seconds):
        self.sent = sent
        self.seconds = seconds
        self.milliseconds = [one.milliseconds for one in sent]
        self.cached = None     # tokens taken from a cache, where the server says so
        self.computed = None   # tokens or rows computed, where the server says so
        self.others_cpu = 0.0  # CPU seconds that the idle servers used meanwhile


def run(port, path, bodies, clients, interval=0.0):
    """Sends every body once, from `clients` connections at once. With an interval the n-th is due n intervals after the
    start whatever the others do (an open loop); without, each client sends its next when it has its answer."""
    sent = [None] * len(bodies)
    errors = []
    lock = threading.Lock()
    waiting = iter(range(len(bodies)))
    began = time.perf_counter()

    def client():
        connection = Connection(port, path)
        try:
            while True:
                with lock:
                    index = next(waiting, None)
                if index is None or errors:
                    return
                due = None
                if interval:
                    due = began + index * interval
                    time.sleep(max(0.0, due - time.perf_counter()))
                sent[index] = connection.send(bodies[index], due)
        except (OSError, http.client.HTTPException) as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=client, daemon=True) for _ in range(min(clients, len(bodies)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise RuntimeError(f"{path}: {type(errors[0]).__name__}: {errors[0]}")
    for one in sent:
        if one.status != 200:
            raise RuntimeError(f"{path} answered {one.status}: {one.data[:300]!r}")
    return Block(sent, time.perf_counter() - began)
