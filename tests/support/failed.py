"""Runs the tests that failed last once more, one after another, and names those that pass now."""

import json
import subprocess
import sys
from pathlib import Path

MOST = 5
_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    failed = sorted(json.loads(_FAILED.read_text())) if _FAILED.exists() else []
    if not failed:
        print("No test is known to have failed: what went wrong is said above.", file=sys.stderr)
        return 1
    if len(failed) > MOST:
        print(f"{len(failed)} tests failed. At most {MOST} are tried again.", file=sys.stderr)
        return 1
    code = subprocess.run([sys.executable, "-m", "pytest", "--numprocesses", "0", *failed], check=False).returncode
    if code == 0:
        print("FAILED BESIDE OTHERS, PASSED ALONE:", *failed, sep="\n  ", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
