"""`just demo`: from the model to live traffic, with figures."""
