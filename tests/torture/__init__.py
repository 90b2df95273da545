"""What must hold under the worst. `make torture` runs it at length, tests/torture/test_short.py a short form."""
