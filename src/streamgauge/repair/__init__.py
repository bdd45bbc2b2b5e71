"""A data directory looked through: what is damaged, what that means, what can be repaired."""
