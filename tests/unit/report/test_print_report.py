"""Printing the report, with a browser of a few lines: its PDF is not the matter here."""

import stat

import pytest

from common.errors import StudyError
from report import print_report

PAGE = '<p><a href="#answer">Answer</a> <a href="runs.tsv">runs.tsv</a></p>'


def pdf_of(clock):
    return (
        f"%PDF-1.4\n<< /Creator (Chromium) /CreationDate (D:{clock}+00'00')\n/ModDate (D:{clock}+02'00')>>\n"
        f"(printed D:{clock}+00'00')\n%%EOF\n"
    )


def test_nodes_are_numbered_in_their_order_and_no_byte_moves():
    one = b"/ID (node00000081) /K /ID (node00000007) [(node00000081)] (node) (node123)"
    two = b"/ID (node00000090) /K /ID (node00000008) [(node00000090)] (node) (node123)"
    # 7 and 8 are the least, 81 and 90 come after them.
    made = b"/ID (node00000002) /K /ID (node00000001) [(node00000002)] (node) (node123)"
    assert print_report.normalize(one) == print_report.normalize(two) == made


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """Return a function that puts a browser with this shell body on an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(body):
        path = folder / "chromium"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return install


# The browser's arguments: where to print, and at the end which page.
WRITE = "for word; do case $word in --print-to-pdf=*) target=${word#*=};; esac; done; page=${word#file://}"


def test_the_print_holds_no_time_and_keeps_every_offset(browser, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(PAGE)
    prints = []
    for clock in ("20240229120000", "20251231235959"):
        browser(f'{WRITE}\nprintf %s "{pdf_of(clock)}" > $target')
        print_report.main(str(page), str(tmp_path / "report.pdf"))
        prints.append((tmp_path / "report.pdf").read_bytes())
        assert len(prints[-1]) == len(pdf_of(clock))
    # Both dates are fixed; the text, which is no date of the file, stays.
    assert prints[0].count(b"(D:19700101000000+00'00')") == 2
    assert prints[0].replace(b"20240229120000", b"20251231235959") == prints[1]


def test_the_printed_page_links_to_its_own_parts_only(browser, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(PAGE)
    # `read` and `printf` are the shell's own: there is nothing else on the PATH.
    browser(f"{WRITE}\nread -r line < $page\nprintf '%%PDF-1.4\\n%s\\n%%%%EOF\\n' \"$line\" > $target")
    # The page ends without a line end, which makes `read` fail and still fill the variable.
    print_report.main(str(page), str(tmp_path / "report.pdf"))
    printed = (tmp_path / "report.pdf").read_text()
    assert '<a href="#answer">' in printed
    assert 'href="runs.tsv"' not in printed and ">runs.tsv</a>" in printed
    assert page.read_text() == PAGE


def test_a_missing_browser_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StudyError, match="none of chromium, .* is on the PATH: install one"):
        print_report.main(str(tmp_path / "report.html"), str(tmp_path / "report.pdf"))


@pytest.mark.parametrize(
    "body", ["exit 3", f"{WRITE}\nprintf '%%PDF-1.4\\n' > $target; exit 3"], ids=["nothing", "half a file"]
)
def test_a_browser_that_fails_leaves_no_pdf(browser, tmp_path, body):
    (tmp_path / "report.html").write_text(PAGE)
    browser(body)
    with pytest.raises(StudyError, match="status 3"):
        print_report.main(str(tmp_path / "report.html"), str(tmp_path / "report.pdf"))
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_hangs_is_stopped(browser, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text(PAGE)
    monkeypatch.setattr(print_report, "TIMEOUT", 0.5)
    browser("while :; do :; done")
    with pytest.raises(StudyError, match="within 0.5 s"):
        print_report.main(str(tmp_path / "report.html"), str(tmp_path / "report.pdf"))
