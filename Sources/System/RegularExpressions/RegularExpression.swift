import CPCRE2

/// A regular expression in the syntax of RE2, matched against text from others.
///
/// PCRE2 does the matching. What RE2 does not have (backreferences, lookaround, atomic groups,
/// possessive quantifiers, recursion, verbs) is refused, and `\d`, `\w`, `\s` and `\b` are ASCII, as
/// in RE2. Syntax: https://github.com/google/re2/wiki/Syntax
///
/// Work is bounded: whether a whole text matches is decided without backtracking, and the other
/// methods give up after `matchLimit` steps.
package final class RegularExpression: Sendable {
    /// The longest pattern in bytes of UTF-8.
    package static let patternLimit = 1500
    /// The most steps that a search may take.
    package static let matchLimit: UInt32 = 1_000_000

    /// The pattern as it was given.
    package let pattern: String
    // The compiled pattern is immutable; PCRE2 allows matching it on several threads at once.
    private nonisolated(unsafe) let code: OpaquePointer

    /// Compiles a pattern.
    ///
    /// - Throws: `RegularExpressionError` for a pattern that is not in RE2's syntax, longer than
    ///   `patternLimit`, or too large when compiled.
    package init(_ pattern: String) throws(RegularExpressionError) {
        let bytes = Array(pattern.utf8)
        guard bytes.count <= Self.patternLimit else {
            throw RegularExpressionError(
                "the regular expression is longer than \(Self.patternLimit) bytes", offset: Self.patternLimit)
        }
        try RE2Syntax.check(bytes)
        var number: CInt = 0
        var offset = 0
        let options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C
        guard let code = pcre2_compile_8(bytes, bytes.count, options, &number, &offset, nil) else {
            throw RegularExpressionError(Self.message(of: number), offset: offset)
        }
        self.pattern = pattern
        self.code = code
    }

    deinit { pcre2_code_free_8(code) }

    /// Returns whether the whole of `text` matches.
    ///
    /// - Throws: `RegularExpressionError` if that cannot be decided within the limits.
    package func matchesWhole(_ text: String) throws(RegularExpressionError) -> Bool {
        let text = Array(text.utf8)
        let options = PCRE2_ANCHORED | PCRE2_ENDANCHORED
        let status = withMatchState { context, data in
            withUnsafeTemporaryAllocation(of: CInt.self, capacity: Self.workspaceSize) { workspace in
                pcre2_dfa_match_8(
                    code, text, text.count, 0, options, data, context, workspace.baseAddress, Self.workspaceSize)
            }
        }
        // 0 says that the match has more ways than the state holds positions for.
        if status >= 0 { return true }
        guard status == PCRE2_ERROR_NOMATCH else { throw Self.error(status) }
        return false
    }

    /// Returns the UTF-8 offsets of the matches in `text`, from left to right, not overlapping, the
    /// leftmost first alternative of each, as RE2's `Replace` finds them.
    ///
    /// - Throws: `RegularExpressionError` if the search exceeds the limits.
    package func ranges(in text: String) throws(RegularExpressionError) -> [Range<Int>] {
        let text = Array(text.utf8)
        var found: [Range<Int>] = []
        var start = 0
        while start <= text.count {
            var range: Range<Int>?
            let status = withMatchState { context, data in
                let status = pcre2_match_8(code, text, text.count, start, 0, data, context)
                if status >= 0, let vector = pcre2_get_ovector_pointer_8(data), vector[0] <= vector[1] {
                    range = vector[0]..<vector[1]
                }
                return status
            }
            guard let match = range else {
                guard status == PCRE2_ERROR_NOMATCH else { throw Self.error(status) }
                break
            }
            // An empty match right after another one is part of that.
            if !match.isEmpty || found.last?.upperBound != match.lowerBound { found.append(match) }
            start = match.isEmpty ? Self.next(after: match.upperBound, in: text) : match.upperBound
        }
        return found
    }

    private static let workspaceSize = 4096

    /// Returns the offset of the character after the one at `offset`.
    private static func next(after offset: Int, in text: [UInt8]) -> Int {
        var next = offset + 1
        while next < text.count, text[next] & 0xC0 == 0x80 { next += 1 }
        return next
    }

    private func withMatchState(_ body: (_ context: OpaquePointer?, _ data: OpaquePointer?) -> CInt) -> CInt {
        guard let context = pcre2_match_context_create_8(nil) else { return PCRE2_ERROR_NOMEMORY }
        defer { pcre2_match_context_free_8(context) }
        pcre2_set_match_limit_8(context, Self.matchLimit)
        pcre2_set_heap_limit_8(context, 8 << 10)
        guard let data = pcre2_match_data_create_8(8, nil) else { return PCRE2_ERROR_NOMEMORY }
        defer { pcre2_match_data_free_8(data) }
        return body(context, data)
    }

    private static func error(_ status: CInt) -> RegularExpressionError {
        RegularExpressionError("the regular expression is too costly here: \(message(of: status))", offset: nil)
    }

    private static func message(of number: CInt) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let count = pcre2_get_error_message_8(number, buffer.baseAddress, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(Int(count)), as: UTF8.self) : "error \(number)"
        }
    }
}

/// A pattern that is no regular expression, or a match that exceeded the limits.
package struct RegularExpressionError: Error, CustomStringConvertible {
    /// The mistake, as part of a sentence.
    package let message: String
    /// The offset in the pattern's UTF-8; nil if it is not the pattern that is wrong.
    package let offset: Int?

    init(_ message: String, offset: Int?) {
        self.message = message
        self.offset = offset
    }

    package var description: String { offset.map { "\(message), at byte \($0) of the pattern" } ?? message }
}
