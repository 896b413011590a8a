"""Says how lucky the medals of a finished contest were, from Kaggle's published tables. Pure.

``contest_tables`` reads the tables, ``medal_odds`` fits all results at once, and ``odds_drawing``
draws the board.
"""
