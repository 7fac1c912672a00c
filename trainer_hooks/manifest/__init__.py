"""What a scheduler has to be told so that a preemption is one to it, and a crash a crash.

``render`` writes manifests from templates, ``lint`` reads other people's and names their defects.
Neither needs torch.
"""
