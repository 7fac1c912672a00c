"""The documentation site: README, docs/ and deploy/ as they are, in one searchable place.

Every page is a Markdown file that reads as well on a forge. What only a site has, the order of
its pages, is here and not in them. `make docs` builds it; a link that leads nowhere fails it.
"""

from pathlib import Path
from typing import Any, Protocol

project = "Reprieve"
project_copyright = "the Reprieve maintainers"

root_doc = "README"
"""The page that a newcomer reads first on a forge, too."""

extensions = ["myst_parser"]
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/**.md",
    "deploy/**.md",
    "tests/data/*/SOURCE.md",
]
exclude_patterns = [".*", "**/.*", "build", "demo-out", "watcher", "trainer_hooks", "bench"]
"""Folders that Sphinx need not walk through; a virtual environment has ten thousand files."""

myst_heading_anchors = 4
myst_all_links_external = False
highlight_language = "text"
"""Of indented blocks: commands, and what they print."""

html_theme = "pydata_sphinx_theme"
html_title = "Reprieve"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["reprieve.css"]
templates_path = ["templates"]
html_additional_pages = {"index": "forward.html"}
html_sidebars = {"**": ["chapters"]}
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}

CHAPTERS = {
    "Start": [
        "docs/quickstart-vm",
        "docs/quickstart-eks",
        "docs/quickstart-gke",
        "docs/quickstart-aks",
        "docs/quickstart-slurm",
        "docs/how-it-works",
        "docs/faq",
        "docs/comparison",
    ],
    "Operate": [
        "deploy/systemd/README",
        "deploy/debian/README",
        "deploy/daemonset/README",
        "deploy/trainer/README",
        "deploy/jobset/README",
        "deploy/slurm/README",
        "deploy/checkpoints/README",
        "deploy/monitoring/README",
        "docs/monitoring",
        "docs/runbook",
        "docs/checkpoints",
        "docs/drill",
        "docs/actions",
        "docs/policy",
        "docs/threat-model",
    ],
    "Clouds": [
        "docs/aws",
        "docs/gcp",
        "docs/azure",
        "docs/kubernetes",
        "docs/command",
        "deploy/aws/README",
        "deploy/gcp/README",
        "docs/simulator",
        "docs/simulator-gcp",
        "docs/simulator-azure",
    ],
    "Train": [
        "docs/data",
        "docs/elastic",
        "docs/guards",
        "docs/waste",
        "docs/verify-resume",
        "docs/schedulers",
        "docs/lightning",
        "docs/transformers",
        "docs/accelerate",
        "docs/torchtitan",
        "docs/ray",
        "docs/skypilot",
    ],
    "Understand": [
        "docs/agreement",
        "docs/commit-protocol",
        "docs/benchmarks",
        "docs/contracts",
        "docs/settings",
    ],
    "Project": [
        "CONTRIBUTING",
        "SECURITY",
        "docs/licences",
        "CHANGELOG",
        "What the tests play of AWS <tests/data/aws/SOURCE>",
        "What the tests play of Google Cloud <tests/data/gcp/SOURCE>",
        "What the tests play of Azure <tests/data/azure/SOURCE>",
        "What the tests play of Kubernetes <tests/data/kubernetes/SOURCE>",
    ],
}
"""What stands in which chapter. A page that nobody has put anywhere is in a last one."""


ROOT = Path(__file__).parents[2]


class Project(Protocol):
    """What is used of Sphinx's, so that reading this file needs none."""

    docnames: set[str]


class Application(Protocol):
    """Likewise."""

    project: Project

    def connect(self, event: str, callback: object) -> int:
        """Have an event call back."""


def setup(app: Application) -> None:
    """Have pages changed as Sphinx reads them, and not where they lie."""
    app.connect("source-read", add_chapters)
    app.connect("doctree-read", name_folders)


def add_chapters(app: Application, page: str, source: list[str]) -> None:
    """Append the table of contents to the first page, which then does without one of its own."""
    if page != root_doc:
        return
    named = {entry.rpartition("<")[2].rstrip(">") for pages in CHAPTERS.values() for entry in pages}
    unnamed = sorted(app.project.docnames - named - {root_doc})
    for chapter, pages in [*CHAPTERS.items(), *([("More", unnamed)] if unnamed else [])]:
        entries = "\n".join(pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {chapter}\n\n{entries}\n```\n"


def name_folders(_app: Application, doctree: Any) -> None:  # noqa: ANN401  # docutils' document
    """Leave the words of a link to a folder: a forge shows folders, a site has none to show."""
    for link in [node for node in doctree.findall() if node.tagname == "pending_xref"]:
        page = ROOT / f"{link['refdoc']}.md"
        if (page.parent / link["reftarget"]).is_dir():
            link.replace_self(link.children)
