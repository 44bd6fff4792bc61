"""Signals as values: held back while the block lasts, and taken one at a time by `wait`.

A handler would run between any two instructions, also in the middle of stopping everything.
"""

import signal

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class HeldSignals:
    """Holds back what asks us to stop, and SIGCHLD, which only ends a wait early."""

    def __enter__(self) -> "HeldSignals":
        """Hold the signals back, but for those we are to ignore (`nohup`, `&` in a script)."""
        self._held = {signal.SIGCHLD}
        self._held |= {s for s in STOPPING if signal.getsignal(s) is not signal.SIG_IGN}
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, self._held)
        return self

    def __exit__(self, *_: object) -> None:
        """Let signals through again, and drop those that came meanwhile: they had their effect."""
        while signal.sigtimedwait(self._held, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def wait(self, timeout_s: float) -> bool:
        """Wait for a signal; True where it asks us to stop, False for an ended child or none."""
        taken = signal.sigtimedwait(self._held, max(timeout_s, 0))
        return taken is not None and taken.si_signo in STOPPING
