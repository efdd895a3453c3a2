"""Pure code: bytes in, values out. No file, process, environment, clock or output is touched from here."""
