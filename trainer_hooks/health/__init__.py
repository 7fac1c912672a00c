"""Guards: what finds a slow rank, a corrupted replica, a loss that leaps, and says so.

Nothing here is on the way of the training: figures are taken by it and judged by a thread of its
own (``desk.py``). One guard a file; all that is pure has no thread, no Store and no clock.
"""
