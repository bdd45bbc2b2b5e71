"""The coordinator: hears the agents, shares width out among them, and lands bounds as rows."""
