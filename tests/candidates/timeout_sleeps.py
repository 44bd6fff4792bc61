"""TimedOut: right for the first case, and then never answers.

class: 53
cases: two
reason: call_limit
says: in case 1 (1 of 2 cases passed): no answer within
"""

import time
from reference import ref_kernel

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    while calls > 3:
        time.sleep(60)
    return ref_kernel(data)
