"""Comparison with published chat templates: the definition of "correct" for a format.

A renderer is correct where its text equals what transformers renders from the published template,
and where it refuses what the template raises on. transformers is needed only here, and imported on
first use.

    cases = crossed(conversations(2))
    print(compare(renderer, Published.from_file("chat_template.jinja"), cases).as_text())
"""

from templc.verify.compare import compare as compare
from templc.verify.errors import PublishedError as PublishedError
from templc.verify.errors import VerifyError as VerifyError
from templc.verify.published import Published as Published
from templc.verify.recorded import Recorded as Recorded
from templc.verify.report import Example as Example
from templc.verify.report import Outcome as Outcome
from templc.verify.report import Report as Report
from templc.verify.shapes import CORE as CORE
from templc.verify.shapes import SHAPES as SHAPES
from templc.verify.shapes import TOOLS as TOOLS
from templc.verify.shapes import Case as Case
from templc.verify.shapes import conversations as conversations
from templc.verify.shapes import count as count
from templc.verify.shapes import crossed as crossed
from templc.verify.shapes import describe as describe
from templc.verify.shapes import option_grid as option_grid
