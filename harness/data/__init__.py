"""The bytes of messages, cells, frames and files, computed apart from the generator, so that they can check it."""
