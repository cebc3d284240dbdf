"""Unit tests of language.py."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import language


def messages(source):
    return [f"{number}: {message}" for number, message in language.findings(source)]


class LanguageTest(unittest.TestCase):
    def assertBad(self, source, *starts):
        found = messages(source)
        self.assertEqual(len(found), len(starts), found)
        for message, start in zip(found, starts):
            self.assertTrue(message.startswith(start), found)

    def assertGood(self, source):
        self.assertEqual(messages(source), [])

    def test_width(self):
        self.assertBad("// " + "x" * 118, "1: comment is 121 columns")
        self.assertGood("// " + "x" * 117)
        self.assertBad("let a = 1  " + "// " + "x" * 110, "1: comment is 124 columns")
        self.assertGood("let a = \"" + "x" * 150 + "\"")

    def test_first_words_of_documentation(self):
        for text in ["Of the file.", "For tests.", "With its size.", "Under which it is kept.", "In bytes."]:
            self.assertBad(f"/// {text}\nlet a = 1", "1: documentation starts with the preposition")
        for text in ["Answers which.", "Whose file.", "What a file is.", "How to do it.", "Who asked."]:
            self.assertBad(f"    /// {text}\n    let a = 1", "1: documentation starts with '")
        for text in ["The file's size.", "Whether it exists.", "Returns the size.", "In-memory storage.", "Information."]:
            self.assertGood(f"/// {text}\nlet a = 1")

    def test_only_the_first_line_of_documentation(self):
        self.assertGood("/// The size of the file, counted\n/// in bytes.\n///\n/// For tests.\nlet a = 1")
        self.assertGood("// In a directory without names.")
        self.assertBad("/// The size.\nlet a = 1\n/// Of a file.\nlet b = 2", "3: documentation")

    def test_words(self):
        for text in ["so that nobody waits", "Whoever asks", "while it is under way", "made anew", "is told of changes",
                     "tells the client of changes", "ends by itself", "so many bytes", "the condemned objects"]:
            self.assertBad(f"// {text}", "1: '")
            self.assertBad(f"let a = 1  // {text}", "1: '")
        for text in ["stays in touch", "who waits for it", "knows whose it is",
                     "decides whose the file is", "open to everybody", "kept all the same", "the colour", "to recognise",
                     "synchronised writes", "the behaviour"]:
            self.assertBad(f"// {text}", "1: '")
        for text in ["an object whose keys begin with it", "a user who has read permission", "in touching", "the honor"]:
            self.assertGood(f"// {text}")
        self.assertGood("// Calls `anyone` of the parsers.")
        self.assertGood('let a = "nobody // nobody"')

    def test_strings_and_comments_are_told_apart(self):
        self.assertGood('let a = """\n    // nobody\n    """\nlet b = 1')
        self.assertBad('let a = """\n    // x\n    """  // nobody', "3: 'nobody'")
        self.assertGood('let a = #"\\"// nobody"#')
        self.assertBad('let a = "\\""  // nobody', "1: 'nobody'")
        self.assertBad("/* nobody\n   somebody */", "1: 'nobody'", "2: 'somebody'")
        self.assertBad("int quote = '\"';  // nobody", "1: 'nobody'")

    def test_identifiers(self):
        for name, instead in language.IDENTIFIERS.items():
            self.assertBad(f"let {name} = 1", f"1: {name} is called {instead}")
            self.assertGood(f"let my{name}s = 1")


if __name__ == "__main__":
    unittest.main()
