"""A process of its own that recalls at once: how long the first answer takes from nothing, and what memory it uses.

Reads `{"database", "tenant", "users", "queries"}` from stdin; prints, once there is the first answer, the seconds of
that recall alone, then the resident megabytes after all of them.
"""

import json
import sys
import time
from pathlib import Path

_MEGABYTE = 1024 * 1024


def main() -> None:
    asked = json.loads(sys.stdin.read())
    from memorist.bootstrap import open_core
    from memorist.platform.values import Principal, Role
    from memorist.recall.values import Question
    from memorist.settings_sources import load_settings

    core = open_core(load_settings({"database": asked["database"]}).settings)
    try:
        for number, query in enumerate(asked["queries"]):
            user = asked["users"][number % len(asked["users"])]
            started = time.perf_counter()
            core.recall.recall(Principal(asked["tenant"], Role.USER, user), Question(query, top_k=5))
            if number == 0:
                print("answered", time.perf_counter() - started, flush=True)
        print(resident_megabytes(), flush=True)
    finally:
        core.close()


def resident_megabytes() -> float:
    """What this process holds in memory now; where the system does not tell, the most that it ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
        return round(int(line.split()[1]) / 1024, 1)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (_MEGABYTE if sys.platform == "darwin" else 1024), 1)


if __name__ == "__main__":
    main()
