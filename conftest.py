"""How nbval compares notebooks; plain pytest runs are not affected."""

# stderr carries warnings and progress bars. HTML and SVG hold generated ids.
NOT_COMPARED = ("stderr", "text/html", "image/svg+xml")
# nbval waits 5 s for the outputs of a finished cell, too little on a loaded machine.
OUTPUT_TIMEOUT_S = 60


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += NOT_COMPARED


def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "output_timeout"):
            item.output_timeout = OUTPUT_TIMEOUT_S
