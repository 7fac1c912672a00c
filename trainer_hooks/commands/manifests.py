"""The command that writes manifests: ``manifest``."""

from argparse import Namespace

from trainer_hooks.commands.show import show
from trainer_hooks.manifest.render import Form, render
from trainer_hooks.manifest.request import Request, platform_named


def print_manifest(options: Namespace) -> int:
    """Print a manifest.

    Raises:
        ConfigError: What was asked for can't be.
    """
    form = Form(options.form)
    given = vars(options)
    known = {
        name: given[name]
        for name in ("namespace", "queue", "claim", "mount", "gpu_resource", "max_crashes")
        if name in given
    }
    request = Request(
        name=options.name,
        image=given.get("image", "none"),
        nodes=options.nodes,
        gpus=options.gpus,
        platform=platform_named(given.get("cloud", "other")),
        window_s=options.window,
        script=tuple(options.script),
        **known,
    )
    show(render(form, request).rstrip("\n"))
    return 0
