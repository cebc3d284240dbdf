"""Unit tests of shape.py."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import shape


def body(*lines):
    return " {\n" + "".join(line + "\n" for line in lines) + "}\n"


class ShapeTest(unittest.TestCase):
    def problems(self, *sources, target="Sample"):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / target
            path.mkdir()
            for number, source in enumerate(sources):
                (path / f"{number}.swift").write_text(source)
            return shape.problems(path, shape.types(path))

    def test_lines_of_each_type_with_its_extensions(self):
        def of(name, count, kind="struct"):
            return f"{kind} {name}" + body(*["let a = 1"] * (count - 2))

        self.assertEqual(self.problems(of("Small", shape.TYPE_LINES - 1)), [])
        # Not only the largest one counts.
        found = self.problems(of("One", 800), of("Two", 500), of("Two", 300, "extension"))
        self.assertEqual([line.split(" has")[0] for line in found], ["Sample: One", "Sample: Two"])

    def test_circles(self):
        def ring(count):
            return "".join(f"class T{n}" + body(f"let next: T{(n + 1) % count}?") for n in range(count))

        self.assertEqual(self.problems(ring(shape.CYCLE)), [])
        found = self.problems(ring(shape.CYCLE + 1))
        self.assertEqual(found, [f"Sample: {shape.CYCLE + 1} types in a circle; at most {shape.CYCLE}: T0 T1 T2 T3 T4"])
        # A name in a comment or a string is no call.
        cut = ring(shape.CYCLE + 1).replace("let next: T0?", 'let next = "T0" // T0')
        self.assertEqual(self.problems(cut), [])

    def test_lines_of_the_server(self):
        source = "struct A" + body() + "\n" * shape.SERVER_LINES
        self.assertEqual(len(self.problems(source, target="FerryServer")), 1)
        self.assertEqual(self.problems(source), [])


if __name__ == "__main__":
    unittest.main()
