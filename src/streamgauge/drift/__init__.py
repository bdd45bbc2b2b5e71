"""How values drift, and when a standing answer must be worked out again."""
