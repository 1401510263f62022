"""Printers of the compiler's intermediate forms: `lines(compilation)` of a module here prints one stage.

The result is None where the compilation did not get that far.
"""

PRINTERS: dict[str, str] = {
    "source": "templc.cli.stages.source",
    "spec": "templc.cli.stages.merged",
    "model": "templc.cli.stages.model",
    "ir": "templc.cli.stages.program",
    "python": "templc.cli.stages.python",
}
