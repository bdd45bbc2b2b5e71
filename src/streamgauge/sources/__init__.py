"""Where rows come from: files of several formats, packets, and a synthetic plant that writes them."""
