import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "training: needs torch and onnx, see training/requirements.txt")
