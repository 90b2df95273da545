"""Threads that read or compare beside the one that was asked."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache


@cache
def helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(4, os.cpu_count() or 1), thread_name_prefix="memorist-scan")
