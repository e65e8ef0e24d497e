"""`just docker`: builds the images of the Dockerfile and runs the checks in containers.

Each container may do no more than its check needs. `engine.py` talks to the engine, `base.py` makes the base image
where none can be pulled, and `images.py` builds. `steps.py` runs the checks, and `settings.py` hands the host's package
sources to a build. `with-host-settings` and `stepwise-serve` go into images.
"""
