import CommandLineTool

extension FerryTool {
    /// The manual page ferry-task(7), about the format of task files.
    static var taskFilePage: String {
        Command(
            "ferry-task", summary: "task files of Ferry",
            discussion: """
                A task is a Markdown file. Its name is the title, the directory that it lies in its list; in the tasks directory itself
                it is in the Inbox. Nothing is needed but a name: 'touch "Buy milk.md"' makes a task. Names that begin with a dot are
                left alone.

                Renaming a file renames the task, moving it to another directory moves it to that list, removing it moves it to the
                trash. A copy is a new task. Ferry changes only the bytes of what changed: comments, order of keys, quoting and line
                endings stay, and travel to other machines as they are, be they LF, CRLF or mixed. No id is written into a file.
                """
        ).manualPage(
            section: 7, version: version, date: releaseDate,
            extra: [
                (
                    "Front matter",
                    """
                    YAML between two lines '---' at the beginning of the file. All keys are optional.

                    priority: high, medium or low

                    due: a date, 2026-11-30, or a time, 2026-11-30T17:00+01:00

                    tags: [errands, home]; an empty entry of a list says nothing

                    completed: true

                    title: where a file name cannot be the title, such as AC/DC tickets

                    All other keys travel too and come back as they were written, and so does a value that Ferry does not understand;
                    'ferry show' and 'ferry doctor' mention it.

                    A file whose front matter cannot be parsed is left alone, and 'ferry status' tells of it. It is synced again once
                    it parses.
                    """
                ),
                (
                    "Attachments",
                    """
                    The files in X.files beside X.md. Drop a file there to attach it, remove it to detach it. Names of files that are
                    being written (.part, .crdownload, ~) are left alone.
                    """
                ),
                (
                    "Example",
                    """
                        ---
                        priority: high            # before Friday
                        due: 2026-11-30
                        tags: [errands, home]
                        effort: 2
                        ---
                        Oat milk if they have it.
                    """
                ),
                ("See also", "ferry(1), ferryd(8), ferryd.yaml(5)"),
            ])
    }
}
