"""Settings: flag over environment over file over default, and every bad value says where it came from."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import InvalidSetting
from memorist.settings import ENVIRONMENT_PREFIX, Loaded, Settings, load_settings

# A value that differs from the default, where 7 is not allowed.
UNUSUAL = {
    "body_limit": "4096",
    "embedder": "off",
    "embedder_url": "http://127.0.0.1:8080/v1",
    "index_memory_mb": "64",
    "log_format": "text",
    "log_level": "debug",
    "recall_min_score": "0.5",
    "reranker": "off",
    "reranker_url": "https://rerank.example/v1",
    "tool_output_preview": "700",
}


@pytest.fixture
def load(tmp_path: Path):
    """Load with a settings file of the given text, and nothing of the real environment."""

    def call(toml: str = "", flags: dict[str, Any] | None = None, **environment: str) -> Loaded:
        file = tmp_path / "config.toml"
        file.write_text(toml)
        return load_settings(flags, {"MEMORIST_CONFIG": str(file), **environment})

    return call


def test_defaults_need_neither_file_nor_environment(tmp_path: Path) -> None:
    loaded = load_settings(environment={"XDG_CONFIG_HOME": str(tmp_path)})
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.warnings == ()
    assert (loaded.settings.host, loaded.settings.port) == ("127.0.0.1", 8377)
    assert loaded.settings.data == Path("~/.local/share/memorist").expanduser()
    assert loaded.settings.database_url() == str(loaded.settings.data / "memorist.db")


def test_flag_wins_over_environment_over_file_over_default(load, tmp_path: Path) -> None:
    toml = "port = 1\npool_size = 1\nbody_limit = 2000"
    loaded = load(toml, {"port": 3}, MEMORIST_PORT="2", MEMORIST_POOL_SIZE="2")
    settings, origins = loaded.settings, loaded.origins
    assert (settings.port, origins["port"]) == (3, "flag")
    assert (settings.pool_size, origins["pool_size"]) == (2, "MEMORIST_POOL_SIZE")
    assert (settings.body_limit, origins["body_limit"]) == (2000, str(tmp_path / "config.toml"))
    assert (settings.log_level, origins["log_level"]) == ("info", "default")


def test_flag_that_was_not_given_does_not_count(load) -> None:
    assert load("", {"port": None}, MEMORIST_PORT="2").settings.port == 2


def test_false_looking_flag_counts(load) -> None:
    loaded = load("port = 9", {"port": 0, "agent": ""}, MEMORIST_AGENT="coder")
    assert (loaded.settings.port, loaded.settings.agent) == (0, "")


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_every_setting_can_be_set_in_every_way(load, setting) -> None:
    value = UNUSUAL.get(setting.name, "7")
    variable = ENVIRONMENT_PREFIX + setting.name.upper()
    by_flag = load("", {setting.name: value})
    by_variable = load("", None, **{variable: value})
    is_number = setting.type in (int, float)
    by_file = load(f"{setting.name} = {value}" if is_number else f'{setting.name} = "{value}"')
    found = {getattr(loaded.settings, setting.name) for loaded in (by_flag, by_variable, by_file)}
    assert found == {setting.type(value)}
    assert by_flag.origins[setting.name] == "flag"
    assert by_variable.origins[setting.name] == variable


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_every_setting_says_what_it_is_for(setting) -> None:
    assert setting.metadata["help"].endswith(".")
    assert len(setting.metadata["help"]) > 15


@pytest.mark.parametrize(
    "number", [setting for setting in fields(Settings) if setting.type is int], ids=lambda s: s.name
)
@pytest.mark.parametrize("bad", ["", "x", "1.5", "0x10", "-1", "99999999999999999999", "1e3", "None"])
def test_bad_number_is_refused_with_its_origin(load, number, bad: str) -> None:
    variable = ENVIRONMENT_PREFIX + number.name.upper()
    with pytest.raises(InvalidSetting, match=f"{number.name} .from {variable}. must be") as caught:
        load("", None, **{variable: bad})
    assert caught.value.field == number.name
    assert bad in str(caught.value)


@pytest.mark.parametrize("bad", ["1.5", "true", '"x"', "[1]", "2026-01-01", "nan"])
def test_bad_number_in_the_file_is_refused_with_its_path(load, bad: str) -> None:
    with pytest.raises(InvalidSetting, match=r"port .from .*config\.toml. must be a whole number"):
        load(f"port = {bad}")


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("port", 0, 65535),
        ("body_limit", 1024, 1_073_741_824),
        ("busy_timeout_ms", 0, 600_000),
        ("pool_size", 1, 1000),
        ("pool_timeout_s", 1, 600),
        ("model_timeout_s", 1, 600),
        ("model_threads", 0, 64),
        ("index_inline", 0, 1000),
        ("index_memory_mb", 16, 1_000_000),
        ("tool_output_preview", 200, 100_000),
    ],
)
def test_number_is_taken_up_to_its_limits(load, name: str, low: int, high: int) -> None:
    for good in (low, high):
        assert getattr(load("", {name: good}).settings, name) == good
    for bad in (low - 1, high + 1):
        with pytest.raises(InvalidSetting, match=f"must be between {low} and {high}, not {bad}"):
            load("", {name: bad})


@pytest.mark.parametrize(
    ("name", "bad", "complaint"),
    [
        ("log_level", "loud", "must be one of debug, info, warning, error"),
        ("log_format", "xml", "must be one of json, text"),
        ("database", "mysql://localhost/x", "must be a postgresql:// URL or the path of a file"),
        ("data", "~no-such-user-here/x", "must be a path"),
        ("data", "a\x00b", "must be a path"),
        ("data", "", "must be a path"),
        ("user", "a\x00b", "must be a text"),
    ],
)
def test_bad_text_is_refused(load, name: str, bad: str, complaint: str) -> None:
    with pytest.raises(InvalidSetting, match=rf"{name} \(from flag\) {complaint}"):
        load("", {name: bad})


def test_text_that_is_no_text_is_refused(load) -> None:
    with pytest.raises(InvalidSetting, match=r"host .* must be a text, not 5"):
        load("host = 5")


def test_unknown_name_in_the_file_is_refused_with_a_suggestion(load) -> None:
    with pytest.raises(InvalidSetting, match=r"sets 'pool_sise', which is no setting\. Did you mean pool_size\?"):
        load("pool_sise = 5")


def test_unknown_variable_is_warned_about_with_a_suggestion(load) -> None:
    warnings = load("", None, MEMORIST_PROT="1", MEMORIST_TEST_DATABASE_URL="x", OTHER="y").warnings
    assert warnings == ("MEMORIST_PROT is no setting of Memorist. Did you mean MEMORIST_PORT?",)


@pytest.mark.parametrize("broken", ["port =", "[", "port = 1\nport = 2"])
def test_file_that_is_no_toml_is_refused(load, broken: str) -> None:
    with pytest.raises(InvalidSetting, match="not valid TOML"):
        load(broken)


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSetting, match="not valid TOML"):
        load_settings(environment={"MEMORIST_CONFIG": str(file)})


def test_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read: No such file"):
        load_settings(environment={"MEMORIST_CONFIG": str(tmp_path / "missing.toml")})


def test_folder_is_no_settings_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read"):
        load_settings(environment={"MEMORIST_CONFIG": str(tmp_path)})


def test_file_in_the_users_configuration_is_found(tmp_path: Path) -> None:
    (tmp_path / "memorist").mkdir()
    (tmp_path / "memorist" / "config.toml").write_text("port = 5")
    assert load_settings(environment={"XDG_CONFIG_HOME": str(tmp_path)}).settings.port == 5


def test_database_wins_over_the_data_folder() -> None:
    assert Settings(data=Path("/x")).database_url() == "/x/memorist.db"
    assert Settings(data=Path("/x"), database="postgresql://h/d").database_url() == "postgresql://h/d"


def test_only_keys_are_secret() -> None:
    secret = [setting.name for setting in fields(Settings) if setting.metadata["secret"]]
    assert secret == ["api_key", "embedder_api_key", "reranker_api_key"]


@pytest.mark.parametrize("name", ["embedder_api_key", "reranker_api_key", "api_key"])
def test_secret_is_not_shown_where_it_is_refused(load, name: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        load("", {name: "hunter2\x00"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["embedder_url", "reranker_url"])
@pytest.mark.parametrize("bad", ["127.0.0.1:8080", "ftp://host", "file:///etc/passwd"])
def test_model_address_that_is_none_is_refused(load, name: str, bad: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{name} .from flag. must be an http:// or https:// address"):
        load("", {name: bad})


@pytest.mark.parametrize("name", ["embedder", "reranker"])
def test_model_is_local_or_off(load, name: str) -> None:
    with pytest.raises(InvalidSetting, match="must be one of local, off"):
        load("", {name: "remote"})


@pytest.mark.parametrize(
    "number", [setting for setting in fields(Settings) if setting.type is float], ids=lambda s: s.name
)
@pytest.mark.parametrize("bad", ["", "x", "-0.1", "nan", "inf", "101"])
def test_bad_fraction_is_refused(load, number, bad: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{number.name} .from flag. must be"):
        load("", {number.name: bad})
