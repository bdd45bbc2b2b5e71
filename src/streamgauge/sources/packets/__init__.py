"""Packets: captures as columns, flows made of them, and the ring that hears an interface."""
