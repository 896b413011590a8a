"""The node daemon: ``lender`` talks to workers, ``box_pool`` keeps the boxes."""
