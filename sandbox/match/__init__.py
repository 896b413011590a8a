"""The worker's side of a match. ``peck run`` uses it too.

``attempt.play`` plays a whole match. ``loans`` borrows boxes. ``referee`` plays one episode, and
``match_record`` joins a mirrored pair. ``clock`` has the allowances, ``move_cost`` the cost of a
move. ``seat`` asks one agent within its deadline.
"""
