"""Options of the tests."""


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="write the files in tests/golden/ anew"
    )
