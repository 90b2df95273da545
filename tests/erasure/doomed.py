"""What a process does that is killed in the middle of an erasure."""

import os
import signal
from typing import Any

from memorist.bootstrap import open_core
from memorist.platform.values import Principal, Role
from tests.support.stores import bare


def purge_and_die(url: str, tenant: str, steps: int) -> None:
    """Begin to purge ada; after so many steps of the store, this process is killed. Where it lives on, it is done."""
    core = open_core(bare(url), background=False)
    # The audit log begins with the first write of a tenant, whatever that is.
    core.audit._salt(tenant)
    left = steps

    def counted(step: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            result = step(*arguments, **options)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in ("write", "scrub", "search_files"):
        setattr(core.store, name, counted(getattr(core.store, name)))
    core.erasure.purge_user(Principal(tenant, Role.USER, "ada"))
    core.close()
