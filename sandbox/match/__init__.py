"""The worker's side of a match; ``peck run`` plays with it too.

``attempt.play`` plays a whole match: ``lineup`` and ``loans`` borrow boxes, ``pairs`` plays one or
two episodes, ``referee`` plays one. ``clock`` has the allowances, ``charge`` what a move costs,
``seat`` asks one agent within its deadline.
"""
