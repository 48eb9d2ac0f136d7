"""quoted_example.py ROOT: docs/adding_a_transport.md quotes the example between its marks in the test that runs it."""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
source = (root / "tests/transports/example_transport_test.cc").read_text().split("// [example]\n")
assert len(source) == 3, "the marks // [example] must stand before and after the example"
if source[1].strip() not in (root / "docs/adding_a_transport.md").read_text():
    sys.exit("docs/adding_a_transport.md does not quote tests/transports/example_transport_test.cc as it is")
print("the quoted example is the one that runs")
