"""Where rows come from: files of several formats, packets, a plant that writes them."""
