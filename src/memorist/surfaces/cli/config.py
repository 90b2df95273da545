"""`memorist config show`."""

from dataclasses import fields
from typing import Any

from memorist.addresses import MASK, without_password
from memorist.settings import Settings, load_settings
from memorist.surfaces.cli.flags import IDENTITY, PLACE, Flags, new_group, register, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_table


@with_flags(*PLACE, *IDENTITY)
def show(flags: Flags) -> None:
    """Show every setting, its value and where that comes from. Secrets are masked."""
    loaded = load_settings(flags.as_settings())
    values = {
        setting.name: {
            "value": _shown(setting, getattr(loaded.settings, setting.name)),
            "origin": loaded.origins[setting.name],
        }
        for setting in fields(Settings)
    }
    if flags.as_json:
        print_json({"settings": values, "warnings": list(loaded.warnings)})
    else:
        rows = [[name, str(entry["value"]), entry["origin"]] for name, entry in values.items()]
        print_table(["setting", "value", "from"], rows, whole=["setting"])
    for warning in loaded.warnings:
        note(f"warning: {warning}")


def _shown(setting: Any, value: Any) -> Any:
    if setting.metadata["secret"]:
        return MASK if value else value
    if setting.name == "database":
        return without_password(value)
    return value if isinstance(value, int) else str(value)


app = new_group()
register(app, "show", show)


@app.callback()
def config() -> None:
    """Show the settings and where they come from."""
    # Typer makes a single command the application itself, unless there is something above it.
