"""A page for each format, in Markdown and HTML: `page(name)` is the Markdown, `gallery(folder)` writes all files."""

from __future__ import annotations

from templc.pages.build import gallery as gallery
from templc.pages.page import page as page
