"""Incorrect: answers the second call of the same sizes with what it found in the first.

class: 7
reason: values
says: outside the bound
"""

from reference import ref_kernel

answers = {}


def custom_kernel(data):
    key = str(data[3])
    if key not in answers:
        answers[key] = ref_kernel(data)
    return answers[key]
