"""`memorist config show`."""

from memorist.settings_sources import load_settings, shown_settings
from memorist.surfaces.cli.door import tell_warnings
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, new_group, with_flags
from memorist.surfaces.cli.terminal import print_json, print_table


@with_flags(*ANYWHERE, *IDENTITY)
def show(flags: Flags) -> None:
    """Show every setting, its value and where that comes from. Secrets are masked."""
    loaded = load_settings(flags.as_settings())
    values = shown_settings(loaded.settings)
    if flags.as_json:
        records = {name: {"value": value, "origin": loaded.origins[name]} for name, value in values.items()}
        print_json({"settings": records, "warnings": list(loaded.warnings)})
    else:
        rows = [[name, str(value), loaded.origins[name]] for name, value in values.items()]
        print_table(["setting", "value", "from"], rows, whole=["setting"])
    tell_warnings(loaded)


app = new_group({"show": show})


@app.callback()
def config() -> None:
    """Show the settings and where they come from."""
    # Typer makes a single command the application itself, unless there is something above it.
