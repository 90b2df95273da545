"""The `memorist` command. Help and version are answered from a plain table: nothing heavy is imported for them."""

import os
import sys

from memorist.surfaces.cli.commands import COMPLETION_VARIABLE, PROGRAM, help_text

# As a shell reports a program that ended by SIGINT or SIGPIPE.
_INTERRUPTED = 130
_PIPE_CLOSED = 141


def main() -> int:
    """Run the command line of this process and return its exit code. Nothing is raised."""
    try:
        _prepare_streams()
        code = _dispatch(sys.argv[1:])
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _discard_output()
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        _discard_output()
        print(f"error: The output cannot be written: {error.strerror}. [internal]", file=sys.stderr)
        return 1


def _dispatch(arguments: list[str]) -> int:
    if os.environ.get(COMPLETION_VARIABLE):
        from memorist.surfaces.cli.runner import complete

        return complete()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if arguments[0] == "--version":
        from memorist.version import __version__

        print(f"{PROGRAM} {__version__}")
        return 0
    if arguments[0] == "hook" and not {"-h", "--help"} & set(arguments):
        # Whoever waits for a hook should not have to wait for the command line's library.
        from memorist.surfaces.claude_code import main as answer_hook

        code = answer_hook(arguments[1:])
        sys.stdout.flush()
        # Nothing is left to do, and an interpreter that ends in good order takes its time.
        os._exit(code)
    from memorist.surfaces.cli.runner import run

    return run(arguments)


def _prepare_streams() -> None:
    """Data is UTF-8 in pipes and files whatever the locale; a terminal gets what it can show."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # None where the shell closed it, as `>&-` does.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    if sys.stdout.isatty():
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    else:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]


def _discard_output() -> None:
    # Otherwise the interpreter would try, fail and complain once more while it shuts down.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
