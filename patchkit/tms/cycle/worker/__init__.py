"""What runs in the Python that trains: child.py is started there and finds the rest beside it, without patchkit."""
