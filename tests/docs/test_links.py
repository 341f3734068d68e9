"""Checks the links between pages and the paths that pages mention."""

import re

import pytest

from docs.pages import PAGES, ROOT, blocks, content, prose

FOLDERS = ("compiler", "litert", "runtime", "templates", "tests", "samples", "docs")


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def links(page: str) -> list[str]:
    """The targets of a page's links, except for those to other sites."""
    found = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [target for target in found if not target.startswith(("http://", "https://"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page: str) -> None:
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        there = file.exists()
        if there and anchor:
            there = anchor in anchors(file.resolve().relative_to(ROOT).as_posix())
        if not there:
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page: str) -> None:
    drawn = [block.text for block in blocks(page) if block.language == "text"]
    text = "\n".join([prose(page), *drawn])
    named = set(re.findall(rf"(?<![\w/.])(?:{'|'.join(FOLDERS)})/[\w./-]*\w", text))
    missing = {name for name in named if not (ROOT / name).exists()}
    assert missing == set()


def test_every_page_is_linked() -> None:
    """All pages can be reached from the README."""
    found, waiting = {"README.md"}, ["README.md"]
    while waiting:
        page = waiting.pop()
        for target in links(page):
            path = ((ROOT / page).parent / target.partition("#")[0]).resolve()
            name = path.relative_to(ROOT).as_posix()
            if name in PAGES and name not in found:
                found.add(name)
                waiting.append(name)
    assert set(PAGES) - found == set()


@pytest.mark.parametrize("page", PAGES)
def test_pages_contain_no_local_paths(page: str) -> None:
    assert re.findall(r"(?<![\w.:/])/(?:home|work|Users|root|mnt|tmp)/\w+", content(page)) == []


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_not_too_long(page: str) -> None:
    """Except for tables and links, which cannot be wrapped."""
    long = [
        number
        for number, line in enumerate(content(page).splitlines(), 1)
        if len(line) > 110 and not line.startswith("|") and "](" not in line
    ]
    assert long == []
