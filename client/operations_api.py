"""OperationsClient: the queue and the workers over HTTP."""

from typing import cast
from urllib.parse import quote

from client.transport import Transport
from client.wire_service import QueueView, Worker, Workers


class OperationsClient(Transport):
    """How one service is."""

    def queue(self) -> QueueView:
        """Return how many jobs wait, and for how long."""
        request = self._http.build_request("GET", f"{self.url}/v1/queue")
        return cast(QueueView, self._json(request))

    def workers(self) -> Workers:
        """Return the live workers."""
        request = self._http.build_request("GET", f"{self.url}/v1/workers")
        return cast(Workers, self._json(request))

    def drain(self, worker: str) -> Worker:
        """Have a worker take no further job and end."""
        path = f"/v1/workers/{quote(worker, safe='')}/drain"
        return cast(Worker, self._json(self._http.build_request("POST", self.url + path)))
