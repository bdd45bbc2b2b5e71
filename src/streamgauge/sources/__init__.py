"""Where rows come from: files of several formats, packets, and a plant that writes its own."""
