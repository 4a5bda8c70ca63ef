"""Many machines: the server's application in front of engines that Ray starts, and batches over Ray Data (extra: ray)."""
