import CommandLineTool

extension FerryTool {
    /// The manual page ferry-task(7), about the format of task files.
    static var taskFilePage: String {
        Command(
            "ferry-task", summary: "task files of Ferry",
            discussion: """
                A task is a Markdown file. Its name is the title, and its directory is its list; in the tasks directory
                itself it is in the Inbox. Only a name is needed: 'touch "Buy milk.md"' creates a task. Names that begin
                with a dot are ignored.

                Renaming a file renames the task, moving it to another directory moves it to that list, and removing it
                moves it to the trash. A copy is a new task. Ferry changes only the bytes of what changed: comments,
                order of keys, quoting and line endings are kept, and synced to other machines unchanged, whether LF,
                CRLF or mixed. No id is written into a file.
                """
        ).manualPage(
            section: 7, version: version, date: releaseDate,
            extra: [
                (
                    "Front matter",
                    """
                    YAML between two lines '---' at the start of the file. All keys are optional.

                    priority: high, medium or low

                    due: a date, 2026-11-30, or a time, 2026-11-30T17:00+01:00

                    tags: [errands, home]; empty entries are ignored

                    completed: true

                    recurrence: a rule of RFC 5545 by which the task recurs, such as FREQ=WEEKLY;BYDAY=MO

                    complete_instances, skipped_instances: the days of the occurrences that were completed or skipped

                    reminders: a list of times, each with an offset from due or scheduled such as -PT30M, or an
                    absoluteTime; without it a task with a due time reminds then

                    checklist: reset, if completing an occurrence reopens the items '- [x] …' of the notes

                    archive: each, if each completed occurrence stays as a task of its own

                    title: if the title cannot be a file name, such as AC/DC tickets

                    All other keys are synced too and come back unchanged, and so does a value that Ferry does not
                    understand; 'ferry show' and 'ferry doctor' report it.

                    A file with front matter that cannot be parsed is left unchanged, and 'ferry status' reports it. It
                    is synced again when it can be parsed.
                    """
                ),
                (
                    "Attachments",
                    """
                    The files in X.files next to X.md. Put a file there to attach it, remove it to detach it. Names of
                    files that are being written (.part, .crdownload, ~) are ignored.
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
