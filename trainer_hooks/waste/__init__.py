"""What interruptions cost: how often to save, what is lost all the same, and what it comes to.

``interval`` and ``choice`` are the theory, ``estimate`` measures what they need, ``montecarlo`` and
``replay`` hold them against chance and against what clouds have really done, ``plan`` is the face.
Nothing here imports torch.
"""
