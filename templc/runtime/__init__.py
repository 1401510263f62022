"""What generated renderers import, and all that they import."""

from templc.runtime.messages import Call as Call
from templc.runtime.messages import InlineReasoning as InlineReasoning
from templc.runtime.messages import Message as Message
from templc.runtime.messages import MessageRules as MessageRules
from templc.runtime.options import Option as Option
from templc.runtime.renderer import Info as Info
from templc.runtime.renderer import Renderer as Renderer
from templc.runtime.text import after as after
from templc.runtime.text import after_last as after_last
from templc.runtime.text import before as before
from templc.runtime.text import text_or_json as text_or_json
from templc.runtime.text import text_or_python as text_or_python
from templc.runtime.text import to_json as to_json
from templc.runtime.writer import Arguments as Arguments
from templc.runtime.writer import CallId as CallId
from templc.runtime.writer import Content as Content
from templc.runtime.writer import LeadContent as LeadContent
from templc.runtime.writer import Name as Name
from templc.runtime.writer import OptionText as OptionText
from templc.runtime.writer import Reasoning as Reasoning
from templc.runtime.writer import ToolText as ToolText
from templc.runtime.writer import Writer as Writer
