"""A page read by its tags."""

from __future__ import annotations

from html.parser import HTMLParser


class Reader(HTMLParser):
    """What a page says, and whether its tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "wbr"):
            self.open.append(tag)
        for name, value in attrs:
            self.ids += [value] if name == "id" and value else []
            self.links += [value] if name in ("href", "src") and value else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    # Nothing from elsewhere, and every link leads somewhere.
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    assert "<script" not in text
    assert "@import" not in text
    assert "url(" not in text
    return reader
