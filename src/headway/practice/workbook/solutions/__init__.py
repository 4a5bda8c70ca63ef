"""One readable solution per part and array library."""
