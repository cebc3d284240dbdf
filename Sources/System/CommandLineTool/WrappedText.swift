/// Returns the lines of a paragraph, broken between words so that each fits into `width` columns.
///
/// A word that is wider gets a line of its own, uncut: it may be a path or a command to copy. Runs
/// of spaces within a line are kept.
///
/// - Parameter columns: Returns the columns that a text takes; by default one for each character.
package func wrapped(_ text: String, width: Int, columns: (Substring) -> Int = { $0.count }) -> [String] {
    var lines: [String] = []
    var start = text.startIndex
    var end = start
    for word in text.split(separator: " ") {
        if end > text.startIndex, columns(text[start..<word.endIndex]) > width {
            lines.append(String(text[start..<end]))
            start = word.startIndex
        }
        end = word.endIndex
    }
    return lines + [String(text[start..<end])]
}
