"""`just docker`: the images of the Dockerfile, and the checks in containers that may do no more than each of them
needs.

`engine.py` speaks to the engine, `base.py` makes the base image where none can be pulled, `images.py` builds,
`steps.py` runs the checks, `settings.py` hands the host's package sources to a build; `with-host-settings` and
`stepwise-serve` go into images.
"""
