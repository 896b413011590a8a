"""The worker's side of a match. ``peck run`` uses it too.

``attempt.play`` plays a whole match. ``seat_loans`` and ``loans`` borrow boxes. ``mirrored_pairs``
plays one or two episodes and ``referee`` plays one. ``clock`` has the allowances, ``move_cost`` the
cost of a move. ``seat`` asks one agent within its deadline.
"""
