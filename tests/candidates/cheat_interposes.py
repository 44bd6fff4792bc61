"""Incorrect: puts threads between runner and judge, which turn every answer into done.

The runner says that the kernel raised; the judge hears that all is well, and looks at the outputs.

class: 36
reason: values
says: this element was never written
"""

import os
import socket
import sys
import threading

from worker.protocol import ANSWER_BYTES, Answer, Status


def interpose():
    frame = sys._getframe()
    while "judge" not in frame.f_locals:
        frame = frame.f_back
    number = frame.f_locals["judge"].fileno()
    outside = socket.socket(fileno=os.dup(number))
    inside, runner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.dup2(runner.fileno(), number)
    threading.Thread(target=relay, args=(outside, inside), daemon=True).start()
    threading.Thread(target=improve, args=(inside, outside), daemon=True).start()


def relay(source, target):
    while record := source.recv(4096):
        target.send(record)


def improve(source, target):
    while record := source.recv(ANSWER_BYTES):
        answer = Answer.unpack(record)
        if answer.status is Status.RAISED:
            answer = Answer(answer.token, Status.DONE, event_us=1.0)
        target.send(answer.pack())


interpose()


def custom_kernel(data):
    raise RuntimeError("too much work")
