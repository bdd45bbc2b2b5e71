"""Agents and a coordinator as processes, with a network between them that fails."""
