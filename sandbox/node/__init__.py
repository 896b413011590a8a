"""The node daemon: ``lending`` speaks with workers, ``pool`` keeps the boxes."""
